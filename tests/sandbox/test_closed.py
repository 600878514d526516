"""Closed programs: what may share a process, all that such a program can reach, and that company changes nothing."""

from __future__ import annotations

import builtins
import collections
import importlib
import marshal
import operator
import re
import sys
import types
import typing
from collections.abc import Iterator

import msgspec
import pytest
from jailed import Jailed, jail_at

from passcurve.langs.judge import judge
from passcurve.langs.python import Plan, apart, settles
from passcurve.sandbox import closed, keeper, learned, worker
from passcurve.sandbox.job import Outcome
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.reply import GROWN_BYTES
from passcurve.sandbox.second_look import second_look
from passcurve.types import SampleKey, Verdict

pytestmark = pytest.mark.skipif(sys.version_info[:2] not in closed.VERSIONS, reason="its instructions are not known")

CLOSED = {
    "plain": "def f(x):\n    return x + 1\n",
    "typing": "from typing import List, Optional\ndef f(x: List[int]) -> Optional[int]:\n    return x[0]\n",
    "comprehensions": "def f(x):\n    return {a: [b for b in range(a)] for a in x if a}, {c for c in x}\n",
    "closure": (
        "def f(x):\n    n = 0\n    def g():\n        nonlocal n\n        n += x\n        return n\n    return g()\n"
    ),
    "generator expressions": "def f(x):\n    return sum(i for i in range(x)) + max((i for i in [x]), default=0)\n",
    "modules": (
        "import math, heapq\nfrom collections import defaultdict, deque\nfrom functools import reduce\n"
        "def f(x):\n    return math.sqrt(x), reduce(max, [x]), deque([x]), defaultdict(int)[x]\n"
    ),
    "errors": "def f(x):\n    if x < 0:\n        raise ValueError('less')\n    return 1 / x\n",
    "slices": "def f(x):\n    y = list(range(x))\n    y[1:2] = [3]\n    del y[0]\n    return y[::-1], y[:2]\n",
    "texts": "def f(x):\n    return f'{x!r:>5}' + '%d' % x + ' '.join(['a', 'b']).upper().strip()\n",
    "starred": "def f(*a, **k):\n    x, *y = a\n    return g(*y, **k)\ndef g(*a, **k):\n    return [*a, *k], {**k}\n",
    "globals": "n = 0\ndef f(x):\n    global n\n    n += x\n    return n\n",
    "main": "def f(x):\n    return x\nif __name__ == '__main__':\n    f(1)\n",
    "lambda": "f = lambda x: sorted(x, key=lambda y: -y)\n",
    "assertion": (
        "def f(x):\n    assert x > 0, 'no'\n    while True:\n        if x > 10: break\n"
        "        x += 1\n    else:\n        x = 0\n    return x\n"
    ),
    "a long jump": "def f(x):\n" + "".join(f"    a{n} = x + {n}.5\n" for n in range(400)) + "    return a399\n",
}

OPEN = {
    "another module": "import os\n",
    "a module that is not loaded": "import decimal\n",
    "a module of a module": "import collections.abc\n",
    "all names of a module": "from math import *\n",
    "a name of a module": "from sys import modules\n",
    "an attribute": "import sys\nsys.modules\n",
    "a limit": "import sys\nsys.setrecursionlimit(5000)\n",
    "a patched module": "import math\nmath.sqrt = len\n",
    "a function's attribute": "def f(): pass\nf.a = 1\n",
    "an attribute removed": "import math\ndel math.sqrt\n",
    "an attribute added to": "import math\nmath.pi += 1\n",
    "a class": "class A: pass\n",
    "a class by its maker": "A = type('A', (), {})\n",
    "another way to types": "x = ().__class__\n",
    "a frame": "def f():\n    yield\nf().gi_frame\n",
    "a traceback": "try: 1/0\nexcept Exception as e: e.__traceback__\n",
    "a function's globals": "print.__self__\n",
    "a format that reads attributes": "'{0.__class__}'.format(1)\n",
    "a format by mapping": "'{a.b}'.format_map({})\n",
    "eval": "eval('1')\n",
    "exec": "exec('1')\n",
    "an alias of eval": "x = eval\n",
    "import by name": "__import__('os')\n",
    "the builtins": "__builtins__\n",
    "builtins replaced": "__builtins__ = {}\n",
    "builtins removed": "del __builtins__\n",
    "builtins by global": "def f():\n    global __builtins__\n    __builtins__ = 1\n",
    "getattr": "getattr(1, 'real')\n",
    "setattr": "import math\nsetattr(math, 'pi', 3)\n",
    "vars": "vars()\n",
    "globals": "globals()\n",
    "open": "open('x')\n",
    "input": "input()\n",
    "id": "id(1)\n",
    "hash": "hash(None)\n",
    "breakpoint": "breakpoint()\n",
    "with": "def f(x):\n    with x: pass\n",
    "async": "async def f(): pass\n",
    "an awaiting function": "async def f():\n    await g()\n",
    "an asynchronous generator": "async def f():\n    yield 1\n",
    "match": "def f(x):\n    match x:\n        case int(): pass\n",
    "random": "import random\n",
    "hidden in a lambda": "f = lambda: (lambda: open)\n",
    "hidden in a default": "def f(x=lambda: [y.__class__ for y in ()]): pass\n",
    "behind many names": "".join(f"a{n} = {n}\n" for n in range(300)) + "import os\n",
    "an attribute behind many names": "".join(f"a{n} = {n}\n" for n in range(300)) + "a1.__class__\n",
    "a function that yields": "def g(n):\n    yield n\ndef f(x):\n    return list(g(x))\n",
    "one that yields from": "def g(n):\n    yield from range(n)\n",
    "a lambda that yields": "f = lambda: (yield)\n",
    "what is caught": "def f(x):\n    try:\n        return bytes(1 << 30)\n    except Exception:\n        return 0\n",
    "what is caught by nobody": "try:\n    pass\nfinally:\n    x = 1\n",
    # Each of these led to values of other programs: by an attribute set in a copy, by a class made of a method that is
    # written in Python, by a cache that all share.
    "copies": "import copy\ncopy.deepcopy([], {})\n",
    "a counter": "from collections import Counter\nT = Counter.copy(int)\n",
    "an ordered dict": "from collections import OrderedDict\n",
    "partial": "from functools import partial\npartial[int](print)\n",
    "a cache": "from functools import lru_cache\n@lru_cache\ndef f(x):\n    return x\n",
    "a key that compares": "from functools import cmp_to_key\n",
    "patterns": "import re\nre.search('a', 'A', 2.0)\n",
    "abstract types": "from typing import Mapping\nMapping.get\n",
    "nested too deeply": "f = " + "lambda: " * 60 + "1\n",
}


def compiled(text: str) -> types.CodeType:
    """Return a program's code, as it would run."""
    return compile(text, "p.py", "exec", dont_inherit=True)


@pytest.mark.parametrize("name", CLOSED)
def test_what_keeps_to_plain_values_is_closed(name: str):
    """Ordinary programs are closed."""
    assert closed.is_closed(compiled(CLOSED[name]))


@pytest.mark.parametrize("name", OPEN)
def test_what_reaches_further_is_not(name: str):
    """Each way to something that outlives a program is seen, however deep it hides."""
    if name == "a module that is not loaded":
        sys.modules.pop("decimal", None)
    assert not closed.is_closed(compiled(OPEN[name]))


def test_another_interpreter(monkeypatch: pytest.MonkeyPatch):
    """Where the instructions are not known, nothing is closed."""
    monkeypatch.setattr(closed, "VERSIONS", ())
    assert not closed.is_closed(compiled(CLOSED["plain"]))


def test_no_list_names_what_is_hidden():
    """No attribute is private, nothing that runs text or reads attributes by name is on a list."""
    assert not [name for name in closed.ATTRIBUTES if name.startswith("_")]
    assert not {"format", "format_map", "get_type_hints", "attrgetter", "methodcaller", "modules"} & closed.ATTRIBUTES
    hidden = "compile delattr eval exec getattr globals hasattr id input locals object open setattr super type vars"
    assert not set(hidden.split()) & closed.BUILTINS
    assert not {"STORE_ATTR", "DELETE_ATTR", "LOAD_BUILD_CLASS", "IMPORT_STAR", "BEFORE_WITH"} & closed.INSTRUCTIONS


VALUES = (
    *("a", b"", bytearray(), 1, 1.0, 1j, True, None, [], (), {}, set(), frozenset(), range(3), slice(1), iter([])),
    *((x for x in []), lambda: 0, ValueError(), ExceptionGroup("", [ValueError()]), {}.keys(), {}.items(), {}.values()),
    *(collections.deque(), collections.defaultdict(list), operator.itemgetter(1), iter(len, 0), map(len, ()), zip()),
    *(list[int], typing.List[int], typing.Optional[int], typing.Tuple[int, ...]),  # noqa: UP006, UP045
)
"""One of each kind of value that a closed program can come to hold."""

_LEAVES = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), type(NotImplemented))
_FUNCTIONS = (
    type(re.compile("a").finditer),
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.ClassMethodDescriptorType,
)


def test_all_that_can_be_reached():
    """From every name and value, by every attribute on the list, nothing is reached that could carry a message.

    No collection that all share, no module off the list, no function in Python, which could be given anything.
    """
    todo = [(name, importlib.import_module(name)) for name in closed.MODULES]
    todo += [(name, getattr(builtins, name)) for name in closed.BUILTINS]
    for value in VALUES:
        todo += [(repr(type(value)), getattr(value, name)) for name in closed.ATTRIBUTES if hasattr(value, name)]
    seen: dict[int, object] = {}
    while todo:
        path, reached = todo.pop()
        if id(reached) in seen:
            continue
        seen[id(reached)] = reached
        kind = type(reached)
        if isinstance(reached, _LEAVES):
            continue
        if kind is types.ModuleType:
            assert reached.__name__ in closed.MODULES, path
        elif kind in (types.FunctionType, types.MethodType):
            raise AssertionError(path)
        elif kind in _FUNCTIONS:
            continue
        else:
            assert isinstance(reached, type) or kind.__module__ == "typing" or kind is tuple, (path, kind)
        for name in closed.ATTRIBUTES:
            try:
                todo.append((f"{path}.{name}", getattr(reached, name)))
            except Exception:
                continue
    assert len(seen) > 500


ON_SECOND_LOOK = {
    "a type compared": "def f(x):\n    return type(x) == int or type(x[0]) is not type(x) or int != type(x)\n",
    "a type among others": "def f(x):\n    return [y for y in x if type(y) in (int, float)]\n",
    "a format that stands there": "def f(x):\n    return '{} {:>3} {0!r} {name}'.format(x, x, name=x)\n",
    "a format that is none": "def f(x):\n    return '{'.format(x)\n",
    "what comes after a missing module": (
        "def f(x):\n    return x\n\nfrom django.db import models\nclass A: pass\nopen('x')\n"
    ),
    "a part of a missing module": "import django.db.models\nmodels.Model\n",
}

ON_SECOND_LOOK_OPEN = {
    "a class by its maker": "def f(x):\n    return type('A', (), {}) == x\n",
    "a type kept": "def f(x):\n    y = type(x)\n    return y == int\n",
    "a type called": "def f(x):\n    return type(x)('3') == 3\n",
    "a type of a type called": "def f(x):\n    return type(type(x))('A', (), {})\n",
    "type itself": "def f(x):\n    return type == x\n",
    "a type once compared, once kept": "def f(x):\n    return type(x) == int, type(x)\n",
    "a type of all that is in it": "def f(x):\n    return type(*x) == int\n",
    "a type with words": "def f(x):\n    return type(x, y=1) == int\n",
    "the name of a type": "def f(x):\n    return type(x).__name__ == 'int'\n",
    "a type in a comparison of what it is called with": "def f(x):\n    return x == (lambda t: t)(type)\n",
    "type by another name": "def f(x):\n    t = type\n    return t('A', (), {})\n",
    "type given to another": "def f(x):\n    return list(map(type, x)) == [int]\n",
    "a format of an attribute": "def f(x):\n    return '{0.real}'.format(x)\n",
    "a format of an item": "def f(x):\n    return '{0[0]}'.format(x)\n",
    "a format in a format": "def f(x):\n    return '{:{}}'.format(x, '{0.__class__}')\n",
    "a format of an attribute that goes wrong after it": "def f(x):\n    return '{0.real}{'.format(x)\n",
    "a format of an item that goes wrong after it": "def f(x):\n    return '{0[0]} }'.format(x)\n",
    "a format made": "def f(x):\n    return ('{0.__cl' + 'ass__}').format(x)\n",
    "a format named": "def f(x):\n    y = '{}'\n    return y.format(x)\n",
    "a format kept": "f = '{}'.format\n",
    "a format by another name": "def f(x):\n    return str.format('{0.__class__}', x)\n",
    "a module that may be missing": "def f(x):\n    if x:\n        import django\n    open('x')\n",
    "a missing module that is caught": "try:\n    import django\nexcept ImportError:\n    open('x')\n",
    "before a missing module": "open('x')\nimport django\n",
    "a module before a missing one": "import os, django\n",
    "a module that is there": "import os\nimport django\n",
    "the program itself": "import sample\nclass A: pass\n",
    "a module beside it": "from . import django\nclass A: pass\n",
}


@pytest.mark.parametrize("name", ON_SECOND_LOOK)
def test_a_second_look(name: str, monkeypatch: pytest.MonkeyPatch):
    """Some of what the lists refuse reaches nothing all the same, and does in company what it does apart."""
    monkeypatch.setitem(sys.modules, "sample", types.ModuleType("sample"))
    text = ON_SECOND_LOOK[name]
    assert not closed.is_closed(compiled(text))
    code = second_look(text, "p.py")
    assert code is not None
    for each in (code, compiled(text)):
        names: dict[str, object] = {"__name__": "sample"}
        try:
            exec(each, names)
            came = [_outcome(names["f"], argument) for argument in (1, [2], [[3]])]
        except ModuleNotFoundError as error:
            came = [str(error)]
        if each is code:
            first = came
    assert first == came


def _outcome(function: typing.Any, argument: object) -> object:
    try:
        return function(argument)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", [*ON_SECOND_LOOK_OPEN, *OPEN])
def test_a_second_look_lets_nothing_through(name: str, monkeypatch: pytest.MonkeyPatch):
    """The same names used in any other way, and all that is refused at first sight, stay refused."""
    monkeypatch.setitem(sys.modules, "sample", types.ModuleType("sample"))
    if name == "a module that is not loaded":
        sys.modules.pop("decimal", None)
    assert second_look((ON_SECOND_LOOK_OPEN | OPEN)[name], "p.py") is None


CALLS = [((n,), {}) for n in (3, 0, 5)]
PLAN = Plan(calls=marshal.dumps([marshal.dumps(call, 2) for call in CALLS], 2), whole=True)
TEST = (
    "def check(candidate):\n    assert candidate(3) == 4\n    assert candidate(0) == 1\n    assert candidate(5) == 6\n"
)
RIGHT = "def f(x):\n    return x + 1\n"


@pytest.fixture(scope="module", params=["full", "restricted"])
def together(request: pytest.FixtureRequest) -> Iterator[Jailed]:
    """Return a jail at each level with a commons that is ready."""
    with pytest.MonkeyPatch.context() as patch, jail_at(request.param) as jail:
        patch.setattr(keeper, "WORTH_JOBS", 1)
        # Here a machine that is busy with something else must not part them.
        patch.setattr(worker, "COMPANY_WALL_S", 20.0)
        for _ in range(2000):
            if jail.run(jail.job(RIGHT, TEST, plan=PLAN, company=True)).company:
                break
        else:
            raise AssertionError("no commons came")
        yield jail


def verdicts(jail: Jailed, program: str, test: str = TEST) -> tuple[bool, Verdict, Verdict]:
    """Return whether a program could stay in company, its verdict where it was first, and apart from the start."""
    key = SampleKey(problem_id="T", sample_index=0)
    wanted = jail.job(program, test, plan=PLAN, company=True)
    outcome = jail.run(wanted)
    assert outcome.company
    stayed = settles(outcome)
    if not stayed:
        wanted = apart(wanted, outcome)
        outcome = jail.run(wanted)
    alone = jail.job(program, test, plan=PLAN)
    return stayed, judge(key, wanted, outcome, "referee"), judge(key, alone, jail.run(alone), "referee")


STAYS = {
    "right": RIGHT,
    "wrong at the second call": "def f(x):\n    return x + 1 if x else 0\n",
    "raises": "def f(x):\n    return [x + 1][x]\n",
    "its own error": "def f(x):\n    raise KeyError('a', x)\n",
    "does not compile": "def f(x:\n",
    "not defined": "def g(x):\n    return 1\n",
    "fails on loading": "1 / 0\n",
    "prints": "print('a' * 100)\ndef f(x):\n    print(x)\n    return x + 1\n",
    "returns what is flattened": "from collections import deque\ndef f(x):\n    return deque([x]) or {}.keys()\n",
}

LEAVES = {
    "recursion that it catches": (
        "def d(n):\n    return 1 + d(n + 1)\ndef f(x):\n    try:\n        d(0)\n"
        "    except RecursionError:\n        return x + 1\n"
    ),
    "memory that it catches": (
        "def f(x):\n    try:\n        return len(bytes(961660 << 10)) and x\n"
        "    except Exception:\n        return 'too large'\n"
    ),
    "not closed": "import os\ndef f(x):\n    return x + 1\n",
    "recursion": "def f(x):\n    return f(x)\n",
    "memory": "def f(x):\n    return [0] * (1 << 40)\n",
    "asks to end": "def f(x):\n    raise SystemExit\n",
    "a live object": "def f(x):\n    return (y for y in range(x))\n",
    "a function": "def f(x):\n    return f\n",
    "nested too deeply to be sent": (
        "def f(x):\n    y = []\n    for _ in range(900):\n        y = [y]\n    return y\n"
    ),
    "too much to be sent": "def f(x):\n    return 'a' * (1 << 21)\n",
}


@pytest.mark.parametrize("name", STAYS)
def test_company_changes_no_verdict(together: Jailed, name: str):
    """A closed program gets the verdict that it gets in a process of its own, words and all."""
    stayed, mine, alone = verdicts(together, STAYS[name])
    assert stayed
    assert told(alone) == told(mine)


@pytest.mark.parametrize("name", LEAVES)
def test_what_depends_on_its_process_gets_one(together: Jailed, name: str):
    """What is not closed, or ends in a way that says something of the process, is judged in its own."""
    stayed, mine, alone = verdicts(together, LEAVES[name])
    assert not stayed
    assert told(alone) == told(mine)
    assert verdicts(together, RIGHT)[0], "the next one has company again"


def test_what_is_tried_in_vain_is_tried_no_more(together: Jailed):
    """Where program after program of a problem cannot stay, the next are not tried; of others they are."""
    test = TEST + "assert check\n"
    left = [
        together.run(together.job(LEAVES["not closed"], test, plan=PLAN, company=True)).company
        for _ in range(learned.TRIED_JOBS + 2)
    ]
    assert [True] * learned.TRIED_JOBS + [False] * 2 == left
    assert not together.run(together.job(RIGHT, test, plan=PLAN, company=True)).company
    assert verdicts(together, RIGHT)[0]


def test_workers_learn_from_each_other(together: Jailed):
    """What one worker has tried in vain the others do not try, and each knows whose tests are closed."""
    closed_test, open_test = TEST + "assert 1\n", "import random\n" + TEST
    with Pool(2, together.probe, together.toolchain, together.limits, together.stems) as pool:

        def run(slot: int, program: str, test: str) -> Outcome:
            pool.start(slot, together.job(program, test, plan=PLAN, company=True))
            while not (outcomes := pool.wait(1.0)):
                pass
            return outcomes[0]

        for slot in (0, 1):
            for _ in range(2000):
                if run(slot, RIGHT, closed_test).company:
                    break
            else:
                raise AssertionError("no commons came")
        tried = [run(0, LEAVES["not closed"], open_test) for _ in range(learned.TRIED_JOBS)]
        assert all(outcome.company for outcome in tried)
        assert not run(1, RIGHT, open_test).company
        open_key = dict(pool.idle())[1]
        assert [True, True] == [pool.suits(slot, open_key) for slot in (0, 1)], "both are at open tests"
        assert run(0, RIGHT, closed_test).company
        closed_key = dict(pool.idle())[0]
        assert [True, False] == [pool.suits(slot, closed_key) for slot in (0, 1)]
        assert [False, True] == [pool.suits(slot, open_key) for slot in (0, 1)]
        assert all(pool.suits(slot, "never seen") for slot in (0, 1)), "what nobody knows waits for nobody"


def test_one_that_stays_keeps_the_others_welcome(together: Jailed):
    """Programs that cannot stay count only when there is none between them that can."""
    test = TEST + "assert check is check\n"
    for _ in range(2):
        for program in [LEAVES["not closed"]] * (learned.TRIED_JOBS - 1) + [RIGHT]:
            assert together.run(together.job(program, test, plan=PLAN, company=True)).company


def test_types_that_another_has_written(together: Jailed):
    """What a program writes with ``typing``, by whatever letters, is not what a later one reads."""
    test = "def check(candidate):\n    for x in (3, 0, 5):\n        assert candidate(x) == 'typing.List[1]'\n"
    writes = "from \uff54yping import List\ndef f(x):\n    return repr(List[True])\n"
    reads = "from typing import List\ndef f(x):\n    return repr(List[1])\n"
    (worker_of_all,) = together.pool._workers
    assert verdicts(together, RIGHT)[0]
    line = worker_of_all._keeper._control
    outcomes = [together.run(together.job(each, test, plan=PLAN, company=True)) for each in (writes, reads)]
    assert ["failed", "passed"] == [(outcome.report or {})["status"] for outcome in outcomes]
    assert line is worker_of_all._keeper._control


def test_one_of_a_piece_ends_the_process(together: Jailed):
    """What a loop in C takes with it are the replies of one piece, once: those after go there one by one."""
    looping = "def f(x):\n    return sum(range(10 ** 12))\n"
    plan = msgspec.structs.replace(PLAN, company_s=0.05)
    assert verdicts(together, RIGHT)[0]
    jobs = [together.job(each, TEST, plan=plan, company=True) for each in [RIGHT] * 15 + [looping]]
    together.pool.start(0, *jobs)
    outcomes: list[Outcome] = []
    while len(outcomes) < len(jobs):
        outcomes += together.pool.wait(20.0)
    assert [job.tag for job in jobs] == [outcome.tag for outcome in outcomes]
    assert not settles(outcomes[-1])
    assert sum(settles(outcome) for outcome in outcomes) >= len(jobs) - 2


def test_a_fresh_job_has_no_company(together: Jailed):
    """A job that needs zygotes that have served nothing gets them."""
    assert verdicts(together, RIGHT)[0]
    wanted = together.job(RIGHT, TEST, plan=PLAN, company=True)
    outcome = together.run(msgspec.structs.replace(wanted, fresh=True))
    assert not outcome.company
    assert settles(outcome)


def told(verdict: Verdict) -> tuple[object, ...]:
    """Return all of a verdict but times, memory and addresses."""
    call = None
    if verdict.call is not None:
        call = (verdict.call.index, verdict.call.arguments, re.sub("0x[0-9a-f]+", "", verdict.call.outcome))
    return verdict.status, verdict.message, verdict.exception, verdict.test_line, verdict.calls, verdict.flattened, call


ENDLESS = "def f(x):\n    while True:\n        pass\n"
CRASH = "def f(x):\n    y = ()\n    for _ in range(10 ** 6):\n        y = (y,)\n    return y == y, repr(y)\n"


@pytest.mark.parametrize("program", [ENDLESS, CRASH], ids=["endless", "crash"])
def test_what_ends_the_commons_is_judged_apart(together: Jailed, program: str, monkeypatch: pytest.MonkeyPatch):
    """A program that never ends, or takes the interpreter with it, costs the others nothing but a new commons."""
    monkeypatch.setattr(worker, "COMPANY_WALL_S", 0.3)
    outcome = together.run(together.job(program, TEST, plan=PLAN, company=True))
    assert outcome.company
    assert not settles(outcome)
    monkeypatch.undo()
    for _ in range(200):
        wanted = together.job(RIGHT, TEST, plan=PLAN, company=True)
        outcome = together.run(wanted)
        assert settles(outcome)
        assert "passed" == (outcome.report or {})["status"]
        if outcome.company:
            return
    raise AssertionError("no commons came again")


def test_tests_that_are_not_closed(together: Jailed):
    """Where the tests of the next problem are not closed, another process has them, and the program keeps company."""
    verdicts(together, RIGHT)
    tests = "import random\nx = random.random\n" + TEST
    wanted = together.job(RIGHT, tests, plan=PLAN, company=True)
    outcome = together.run(wanted)
    assert outcome.company
    assert outcome.wall_s < 5
    assert settles(outcome)
    stayed, first, _ = verdicts(together, RIGHT)
    assert stayed
    assert first.passed


def test_a_program_that_grows_the_process(together: Jailed):
    """After a program that used much memory the process is another, so that each is told its own."""
    large = "def f(x):\n    y = 'a' * (24 << 20)\n    return x + len(y) - (24 << 20) + 1\n"
    before = together.run(together.job(large, TEST, plan=PLAN, company=True))
    after = together.run(together.job(RIGHT, TEST, plan=PLAN, company=True))
    assert before.company
    assert after.company
    assert before.memory_bytes > after.memory_bytes + GROWN_BYTES


def test_it_stays_as_long_as_nothing_is_amiss(together: Jailed):
    """One process serves them all: what a program leaves behind is gone, whichever interpreter runs it."""
    together.run(together.job(RIGHT, TEST, plan=PLAN, company=True))
    (worker_of_all,) = together.pool._workers
    line = worker_of_all._keeper._control
    for program in [*STAYS.values()] * 3:
        assert together.run(together.job(program, TEST, plan=PLAN, company=True)).company
    assert line is worker_of_all._keeper._control
