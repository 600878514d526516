"""Referee: tests see a sample as plain data, handles and builtin exceptions, and nothing else."""

# ruff: noqa: E501 - a program on one line is compared more easily than one in five pieces

from __future__ import annotations

import pytest
from jailed import IS_ONE, ONE, Jailed

from passcurve.judging.plan import CheckPlan
from passcurve.types import Verdict


def returns(jail: Jailed, source: str, test: str, **options: object) -> Verdict:
    """Return the verdict on a function that returns the value of ``source``."""
    head, _, last = source.rpartition("; ")
    program = f"{head.replace('; ', chr(10))}\ndef f(*a):\n    return {last}\n"
    return jail.check(program, f"def check(candidate):\n    {test}\n", **options)


FLATTENED = {
    "Counter": ("import collections; collections.Counter('aab')", "{'a': 2, 'b': 1}"),
    "OrderedDict": ("import collections; collections.OrderedDict(a=1)", "{'a': 1}"),
    "defaultdict": ("import collections; collections.defaultdict(list, a=[1])", "{'a': [1]}"),
    "deque": ("import collections; collections.deque([1, 2])", "[1, 2]"),
    "P": ("import collections; P = collections.namedtuple('P', 'x y'); P(1, 2)", "(1, 2)"),
    "E": ("import enum; E = enum.IntEnum('E', 'a b'); E.b", "2"),
    "S": ("class S(str): pass; S('x')", "'x'"),
    "I": ("class I(int): pass; I(3)", "3"),
    "F": ("class F(float): pass; F(0.5)", "0.5"),
    "L": ("class L(list): pass; L([1, [2]])", "[1, [2]]"),
    "B": ("class B(bytes): pass; B(b'x')", "b'x'"),
    "Z": ("class Z(frozenset): pass; Z({1})", "frozenset({1})"),
    "dict_keys": ("{'a': 1}.keys()", "{'a'}"),
}


@pytest.mark.parametrize("name", FLATTENED)
def test_flattened(jail: Jailed, name: str):
    """A nearly plain value arrives as plain data, and the verdict names its type."""
    source, plain = FLATTENED[name]
    verdict = returns(jail, source, f"assert type({plain}) is type(candidate()) and {plain} == candidate()")
    assert "passed" == verdict.status, verdict
    assert (name,) == verdict.flattened


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("np.int64(3)", "3"),
        ("np.float64(0.5)", "0.5"),
        ("np.float32(0.5)", "0.5"),
        ("np.bool_(True)", "True"),
        ("np.str_('x')", "'x'"),
        ("np.array([[1, 2], [3, 4]])", "[[1, 2], [3, 4]]"),
        ("np.array([True])", "[True]"),
        ("{'a': [np.int8(1), 2]}", "{'a': [1, 2]}"),
    ],
)
def test_numpy_values(jail: Jailed, source: str, plain: str):
    """Values of numpy arrive as builtin values."""
    if not any(name.startswith("numpy==") for name in jail.sandbox.toolchain.packages):
        pytest.skip("numpy is not installed here")
    test = f"assert type({plain}) is type(candidate()) and {plain} == candidate()"
    verdict = returns(jail, f"import numpy as np; {source}", test)
    assert "passed" == verdict.status, verdict
    assert 1 == len(verdict.flattened)


PLAIN = [
    *("None", "True", "-0.0", "float('inf')", "1j", "'\\ud800'", "b'x'", "bytearray(b'x')", "(1, [2])", "{1: {2}}"),
    *("range(3)", "10 ** 5000", "__import__('fractions').Fraction(1, 3)", "__import__('decimal').Decimal('0.1')"),
]


@pytest.mark.parametrize("value", PLAIN)
def test_plain_values_make_the_round_trip(jail: Jailed, value: str):
    """A plain value of the tests comes back unchanged, with its type."""
    program = "def f(x):\n    return x\n"
    test = f"def check(candidate):\n    v = {value}\n    w = candidate(v)\n    assert type(v) is type(w) and repr_(v) == repr_(w)\n"
    test += "def repr_(v):\n    return v if isinstance(v, int) else repr(v)\n"
    verdict = jail.check(program, test)
    assert ("passed", ()) == (verdict.status, verdict.flattened), verdict


HANDLES = {
    "a generator": ("def f():\n    yield from (1, 2)\n", "assert [1, 2] == list(candidate())"),
    "an endless generator": (
        "import itertools\ndef f():\n    return itertools.count()\n",
        "import itertools\n    assert [0, 1] == list(itertools.islice(candidate(), 2))",
    ),
    "next": ("def f():\n    return iter([5])\n", "i = candidate()\n    assert 5 == next(i) and 0 == next(i, 0)"),
    "two at once": (
        "def f(n):\n    yield n\n    yield n + 1\n",
        "a, b = candidate(1), candidate(5)\n    assert (1, 5, 2, 6) == (next(a), next(b), next(a), next(b))",
    ),
    "a function": ("def f(n):\n    return lambda m: n + m\n", "assert 5 == candidate(2)(3)"),
    "a function of functions": ("def f():\n    return [abs, {'a': len}]\n", "assert 2 == candidate()[1]['a']('ab')"),
    "its own function handed back": (
        "def f(g=None):\n    return f if g is None else g is f\n",
        "assert candidate(candidate()) is True",
    ),
    "an object handed back": (
        "class C:\n    x = 4\ndef f(c=None):\n    return C() if c is None else c.x\n",
        "assert 4 == candidate(candidate())",
    ),
    "a callback": ("def f(g, n):\n    return g(n) + g(n + 1)\n", "assert 5 == candidate(lambda x: 2 * x, 0) + 3"),
    "a callback that calls": (
        "def f(g, n):\n    return g(n)\n",
        "assert 3 == candidate(lambda n: candidate(lambda m: m + 1, n) + 1, 1)",
    ),
    "a callback that raises": (
        "def f(g):\n    try:\n        g()\n    except KeyError as e:\n        return e.args\n",
        "def g():\n        raise KeyError('k')\n    assert ('k',) == candidate(g)",
    ),
    "a callback as key": (
        "def f(xs, k):\n    return sorted(xs, key=k)\n",
        "assert [3, 2] == candidate([2, 3], lambda x: -x)",
    ),
    "an iterator": ("def f(i):\n    return sum(i)\n", "assert 6 == candidate(iter([1, 2, 3]))"),
    "a generator of the tests": (
        "def f(i):\n    return [next(i), list(i)]\n",
        "assert [0, [1, 4]] == candidate(x * x for x in range(3))",
    ),
    "a map": ("def f(i):\n    return list(i)\n", "assert ['1'] == candidate(map(str, [1]))"),
    "arguments by name": ("def f(a, *, b=1):\n    return a - b\n", "assert 1 == candidate(b=2, a=3)"),
}


@pytest.mark.parametrize("what", HANDLES)
def test_handles(jail: Jailed, what: str):
    """A live object stays on its side and works through a proxy, in both directions."""
    program, test = HANDLES[what]
    verdict = jail.check(program, f"def check(candidate):\n    {test}\n")
    assert "passed" == verdict.status, verdict


EXCEPTIONS = {
    "a builtin": ("raise ValueError('x')", "ValueError", "ValueError"),
    "a subclass of a builtin": ("raise type('Mine', (ValueError,), {})('x')", "ValueError", "Mine"),
    "a subclass of two": ("raise type('Mine', (KeyError, ValueError), {})('x')", "LookupError", "Mine"),
    "one of a module": ("import json\n    json.loads('{')", "ValueError", "JSONDecodeError"),
    "an exit": ("raise SystemExit(3)", "SystemExit", "SystemExit"),
    "an exit by function": ("import sys\n    sys.exit()", "SystemExit", "SystemExit"),
    "an interrupt": ("raise KeyboardInterrupt", "KeyboardInterrupt", "KeyboardInterrupt"),
    "the end of an iteration": ("raise StopIteration(4)", "RuntimeError", "RuntimeError"),
    "a bare exception": ("raise type('Mine', (BaseException,), {})()", "BaseException", "Mine"),
    "a recursion": ("return f()", "RecursionError", "RecursionError"),
    "a system error": ("open('/nowhere/x')", "OSError", "FileNotFoundError"),
    "one that cannot be shown": (
        "raise type('Mine', (ValueError,), {'__str__': lambda s: 1 / 0, '__init__': lambda s, *a: None})()",
        "ValueError",
        "Mine",
    ),
    "arguments that are not plain": ("raise ValueError(object())", "ValueError", "ValueError"),
    "one that needs arguments": (
        "b''.decode('ascii') or b'\\xff'.decode('ascii')",
        "UnicodeDecodeError",
        "UnicodeDecodeError",
    ),
}


@pytest.mark.parametrize("what", EXCEPTIONS)
def test_exceptions(jail: Jailed, what: str):
    """The tests can catch an exception as its nearest builtin ancestor; uncaught, it fails the sample."""
    code, caught, name = EXCEPTIONS[what]
    program = f"def f():\n    {code}\n"
    catch = f"def check(candidate):\n    try:\n        candidate()\n    except {caught}:\n        return\n    raise AssertionError\n"
    assert jail.check(program, catch).passed
    verdict = jail.check(program, "def check(candidate):\n    candidate()\n")
    assert ("failed", name) == (verdict.status, verdict.exception)


def test_exception_arguments(jail: Jailed):
    """The message and the plain arguments of an exception arrive."""
    program = "def f():\n    raise ValueError('text', 7)\n"
    test = "def check(candidate):\n    try:\n        candidate()\n    except ValueError as e:\n        assert ('text', 7) == e.args\n"
    assert jail.check(program, test).passed


LIARS = {
    "always equal": "class A:\n    __eq__ = lambda s, o: True\n    __ne__ = lambda s, o: False\n    __hash__ = lambda s: 1",
    "an equal int": "class A(int):\n    __eq__ = lambda s, o: True\n    __ne__ = lambda s, o: False\n    __hash__ = int.__hash__",
    "an equal list": "class A(list):\n    __eq__ = lambda s, o: True\n    __ne__ = lambda s, o: False",
    "an equal float": "class A(float):\n    __eq__ = __le__ = __ge__ = lambda s, o: True\n    __sub__ = __rsub__ = lambda s, o: 0.0",
    "an equal text": "class A(str):\n    __eq__ = lambda s, o: True\n    __hash__ = str.__hash__",
    "a lying class": "class A:\n    __class__ = property(lambda s: int)\n    __eq__ = lambda s, o: True",
    "a reflected one": "class A(tuple):\n    __eq__ = lambda s, o: True\n    __len__ = lambda s: 2\n    __iter__ = lambda s: iter([1, 2])",
    "a lying meta-class": "class M(type):\n    __eq__ = lambda s, o: True\n    __hash__ = type.__hash__\nclass A(metaclass=M):\n    __eq__ = lambda s, o: True",
}
WANTED = [
    "assert candidate() == 5",
    "assert 5 == candidate()",
    "assert not candidate() != 5",
    "assert candidate() in (5, [1, 2], 'x')",
]
NESTED = ["assert candidate()[0] == [5]", "assert [[5]] == candidate()", "assert candidate() == [[7]]"]


@pytest.mark.parametrize("liar", LIARS)
def test_objects_that_equal_everything(jail: Jailed, liar: str):
    """An object that claims to equal everything equals nothing, also inside a collection."""
    for value, wanted in (("A()", WANTED), ("[[A()]]", NESTED)):
        for test in wanted:
            program = f"{LIARS[liar]}\ndef f():\n    return {value}\n"
            verdict = jail.check(program, f"def check(candidate):\n    {test}\n")
            assert verdict.status in ("failed", "crash", "output"), (test, verdict)


def test_false_module_name(jail: Jailed):
    """An object that claims to be a Fraction crosses as the numbers it holds, or not at all."""
    program = (
        "class A:\n    numerator, denominator = {}, 1\n    __eq__ = lambda s, o: True\n"
        "A.__module__, A.__name__ = 'fractions', 'Fraction'\ndef f():\n    return A()\n"
    )
    test = "def check(candidate):\n    assert candidate() == 5\n"
    assert jail.check(program.format(5), test).passed
    assert "failed" == jail.check(program.format(4), test).status
    assert "crash" == jail.check(program.format("'x'"), test).status


def test_true_is_not_one(jail: Jailed):
    """Tests that compare with True are not satisfied by 1, nor those that compare with a decimal by a float."""
    assert returns(jail, "True", "assert candidate() is True").passed
    for wrong in ("1", "1.0", "[True]"):
        assert "failed" == returns(jail, wrong, "assert candidate() is True").status
    assert "failed" == returns(jail, "import decimal; decimal.Decimal('0.1')", "assert candidate() == 0.1").status
    assert returns(jail, "import decimal; decimal.Decimal('0.5')", "assert candidate() == 0.5").passed


HUGE = {
    "a cycle": "def f():\n    x = []\n    x.append(x)\n    return x\n",
    "a deep list": "def f():\n    x = 1\n    for _ in range(900):\n        x = [x]\n    return x\n",
    "more than the limit": "def f():\n    return 'x' * (5 << 20)\n",
    "more than a frame": "def f():\n    return b'x' * (260 << 20)\n",
    "many small ones": "def f():\n    return [''] * (1 << 20)\n",
}


@pytest.mark.parametrize("what", HUGE)
def test_values_that_cannot_cross(jail: Jailed, what: str):
    """A value that is cyclic, too deep or too large has status output; the next sample is judged as usual."""
    verdict = jail.check(HUGE[what], IS_ONE)
    assert "output" == verdict.status, verdict
    assert jail.check(ONE, IS_ONE).passed


def test_output_limit_counts_all_calls(jail: Jailed):
    """The limit of output counts all calls of a check."""
    test = "def check(candidate):\n    for _ in range(8):\n        candidate()\n"
    assert "output" == jail.check("def f():\n    return 'x' * (1 << 20)\n", test).status


EXITS = {
    "exit at module level": "import os\nos._exit(0)\n",
    "exit in a call": "import os\ndef f():\n    os._exit(0)\n",
    "exit of the library": "import ctypes\ndef f():\n    ctypes.CDLL(None).exit(0)\n",
    "exit in a thread": "import os, threading\ndef f():\n    threading.Thread(target=os._exit, args=(0,)).start()\n    while True: pass\n",
    "exit in a signal": "import os, signal\nsignal.signal(14, lambda *_: os._exit(0))\ndef f():\n    signal.setitimer(0, 0.01)\n    while True: pass\n",
    "exit by tracing": "import os, sys\ndef f():\n    sys.settrace(lambda *_: os._exit(0))\n    return g()\ndef g():\n    return 1\n",
}


@pytest.mark.parametrize("what", EXITS)
def test_exit_before_the_tests_end(jail: Jailed, what: str):
    """A program that exits before the tests end has status crash, whatever its exit code."""
    assert "crash" == jail.check(EXITS[what], IS_ONE).status


def test_sys_exit_at_module_level(jail: Jailed):
    """A program that calls sys.exit at module level fails with SystemExit."""
    verdict = jail.check("import sys\ndef f():\n    return 1\nsys.exit(0)\n", IS_ONE)
    assert ("failed", "SystemExit") == (verdict.status, verdict.exception)


@pytest.mark.parametrize(
    "test",
    [
        "def check(candidate):\n    pass\n",
        "def check(candidate):\n    candidate\n",
        "def check(candidate):\n    try:\n        missing()\n    except NameError:\n        pass\n",
        "def check(candidate):\n    assert callable(candidate)\n",
    ],
)
def test_vacuous_tests(jail: Jailed, test: str):
    """Tests that never call the function pass no sample, and the message names the benchmark."""
    verdict = jail.check(ONE, test)
    assert ("failed", "benchmark: the tests never call f", 0) == (verdict.status, verdict.message, verdict.calls)


CATCHING = "def check(candidate):\n    for _ in range(3):\n        try:\n            candidate()\n        except{}:\n            pass\n"


@pytest.mark.parametrize("what", ["", " BaseException", " Exception"])
@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("import os\ndef f():\n    os._exit(0)\n", "crash"),
        ("def f():\n    return 'x' * (5 << 20)\n", "output"),
        ("def f():\n    x = []\n    x.append(x)\n    return x\n", "output"),
        (
            "import os, stat\ndef f():\n    [os.write(n, b'\\1\\0\\0\\0?') for n in range(3, 64) if is_line(n)]\n"
            "def is_line(n):\n    try:\n        return stat.S_ISSOCK(os.fstat(n).st_mode)\n    except OSError:\n        return False\n",
            "crash",
        ),
    ],
    ids=["exit", "huge", "cycle", "nonsense"],
)
def test_tests_that_catch_everything(jail: Jailed, what: str, program: str, status: str):
    """Tests that catch every exception cannot hide that the sample died or sent malformed bytes."""
    assert status == jail.check(program, CATCHING.format(what)).status


def test_tests_that_catch_everything_and_return(jail: Jailed):
    """Tests that return in a finally block cannot hide it either."""
    program = "import os\ndef f():\n    os._exit(0)\n"
    for test in (
        "def check(candidate):\n    try:\n        candidate()\n    finally:\n        return\n",
        "import contextlib\ndef check(candidate):\n    with contextlib.suppress(BaseException):\n        candidate()\n",
    ):
        assert "crash" == jail.check(program, test).status


def test_helpers_of_the_prompt(jail: Jailed):
    """Tests that use a function of the prompt get that of the prompt, not that of the sample."""
    prompt = "def twice(x):\n    return 2 * x\n\n\ndef f(x):\n    '''Doubled.'''\n"
    program = "def twice(x):\n    return 0\n\n\ndef f(x):\n    return twice(x)\n"
    test = "def check(candidate):\n    assert candidate(2) == twice(2)\n"
    verdict = jail.check(program, test, prompt=prompt)
    assert "failed" == verdict.status
    assert jail.check(prompt + "    return twice(x)\n", test, prompt=prompt).passed


def test_a_failure_in_a_call_with_many_long_arguments(jail: Jailed):
    """The status is that of the failure, and the text of the call is cut."""
    arguments = ", ".join(["['%s'] * 40" % ("x" * 60)] * 6)
    verdict = returns(jail, "2", f"assert candidate({arguments}) == 1")
    assert ("failed", ()) == (verdict.status, verdict.suspicious), verdict
    assert verdict.call is not None
    assert ("f(['xxx", "…") == (verdict.call.arguments[:7], verdict.call.arguments[-1])


def test_call_the_function_by_its_name(jail: Jailed):
    """Tests may call the function by its name and not as the argument of check."""
    test = "def check(candidate):\n    assert f(3) == 3 == candidate(3)\n"
    assert jail.check("def f(x):\n    return x\n", test, prompt="def f(x):\n").passed
    assert "failed" == jail.check("def f(x):\n    return 3 if x == 4 else 2\n", test, prompt="def f(x):\n").status


def test_patches_stay_in_the_sample(jail: Jailed):
    """A program that patches a library does not change the library of the tests."""
    program = (
        "import builtins, math, random, sys\n"
        "builtins.abs = builtins.all = builtins.len = lambda *_: True\n"
        "math.isclose = lambda *_, **__: True\n"
        "sys.modules['math'] = None\n"
        "def f():\n    return 2.0\n"
    )
    for test in (
        "import math\n    assert math.isclose(candidate(), 1.0)",
        "assert abs(candidate() - 1.0) < 1e-6",
        "assert all([candidate() == 1])",
    ):
        assert jail.check(program, f"def check(candidate):\n    {test}\n").status in ("failed", "crash")


def test_tests_that_exit(jail: Jailed):
    """Tests that exit pass no sample."""
    for code in ("import os\n    os._exit(0)", "import sys\n    sys.exit(0)", "raise SystemExit(0)"):
        assert not jail.check(ONE, f"def check(candidate):\n    candidate()\n    {code}\n").passed


MUTATED = (
    "def f(xs, d, s, b):\n    xs.sort()\n    xs.append(9)\n    d['new'] = 1\n    s.clear()\n    b.extend(b'!')\n",
    "def check(candidate):\n    xs, d, s, b = [2, 1], {}, {5}, bytearray(b'x')\n    alias = xs\n    candidate(xs, d, s, b)\n"
    "    assert ([1, 2, 9], {'new': 1}, set(), bytearray(b'x!')) == (xs, d, s, b)\n    assert alias is xs\n",
)


def test_write_back_arguments(jail: Jailed):
    """Changes that a sample makes to its arguments reach the tests only if the plan says so."""
    program, test = MUTATED
    assert "failed" == jail.check(program, test).status
    assert jail.check(program, test, plan=CheckPlan(write_back=True)).passed
    wrong = "def f(xs, d, s, b):\n    pass\n"
    assert "failed" == jail.check(wrong, test, plan=CheckPlan(write_back=True)).status


HANDED_BACK = {
    "by a call that raises": (
        "candidate(x, 1)",
        "def f(x, n):\n    x.append(n)\n    raise ValueError\n",
        "def f(x, n):\n    raise ValueError\n",
    ),
    "by name": ("candidate(0, x=x)", "def f(n, x):\n    x.append(1)\n", "def f(n, x):\n    x = [1]\n"),
    "in a tuple": ("candidate((x, 2))", "def f(t):\n    t[0].append(1)\n", "def f(t):\n    t = ([1], 2)\n"),
}


@pytest.mark.parametrize("what", HANDED_BACK)
def test_write_back_everywhere(jail: Jailed, what: str):
    """A change is seen wherever the argument stands, and whether the call returns or raises."""
    call, right, wrong = HANDED_BACK[what]
    head = f"def check(candidate):\n    x = []\n    try:\n        {call}\n    except ValueError:\n        pass\n"
    plan = CheckPlan(write_back=True)
    assert jail.check(right, head + "    assert [1] == x\n", plan=plan).passed
    assert "failed" == jail.check(wrong, head + "    assert [1] == x\n", plan=plan).status
    assert "failed" == jail.check(right, head + "    assert [] == x\n", plan=plan).status


def test_write_back_of_what_was_moved(jail: Jailed):
    """Objects within a collection are not taken for those that stood at their place before."""
    test = "def check(candidate):\n    rows = [[3, 1], [1, 2]]\n    before = list(rows)\n    candidate(rows)\n"
    test += "    assert rows == sorted(before)\n"
    plan = CheckPlan(write_back=True)
    assert jail.check("def f(rows):\n    rows.sort()\n", test, plan=plan).passed
    for wrong in ("rows[:] = [[0]] * len(rows)", "rows[:] = [[] for _ in rows]", "rows.reverse(); rows[0].clear()"):
        assert "failed" == jail.check(f"def f(rows):\n    {wrong}\n", test, plan=plan).status


def test_write_back_of_much_before_an_exception(jail: Jailed):
    """Many arguments come back with an exception as well as with a value."""
    test = "def check(candidate):\n    x = [1 << 40] * 20_000\n    try:\n        candidate(x)\n    except KeyError:\n"
    test += "        assert [] == x\n    else:\n        assert False\n"
    program = "def f(x):\n    x.clear()\n    raise KeyError\n"
    assert jail.check(program, test, plan=CheckPlan(write_back=True)).passed
    kept = "def f(x):\n    raise KeyError\n"
    test = test.replace("assert [] == x", "assert 20_000 == len(x)")
    assert jail.check(kept, test, plan=CheckPlan(write_back=True)).passed


LIMITED = """
import signal

def limited(candidate, number):
    def stop(*_):
        raise {error}
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        return candidate(number)
    except {error}:
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)

def check(candidate):
    assert 4 <= sum(number == limited(candidate, number) for number in range(6))
"""


@pytest.mark.parametrize("error", ["KeyError", "TimeoutError"])
def test_a_call_that_the_tests_interrupt(jail: Jailed, error: str):
    """Its late reply is not taken for that to the next call."""
    # Twice as long as the tests wait for it.
    slow = "import time\ndef f(n):\n    if n == 0:\n        time.sleep(0.4)\n    return n + 1\n"
    verdict = jail.check(slow, LIMITED.format(error=error))
    assert "timeout" == verdict.status, verdict
    assert "interrupted" in verdict.message
    assert jail.check("def f(n):\n    return n\n", LIMITED.format(error=error)).passed


def test_threads_of_the_tests(jail: Jailed):
    """Each thread gets the replies to its own calls."""
    test = "def check(candidate):\n    from concurrent.futures import ThreadPoolExecutor\n"
    test += "    with ThreadPoolExecutor(8) as pool:\n        squares = list(pool.map(candidate, range(200)))\n"
    test += "    assert [n * n for n in range(200)] == squares\n"
    assert jail.check("def f(n):\n    return n * n\n", test).passed


@pytest.mark.parametrize(
    "source",
    [
        "candidate.__code__",
        "candidate.__defaults__",
        "__import__('inspect').signature(candidate)",
        "candidate.__doc__[0]",
    ],
)
def test_the_function_shows_nothing_of_ours(jail: Jailed, source: str):
    """The tests find no code, parameters or docstring of the function that stands for the program's."""
    program = "def f(a, b=1):\n    'x'\n    return a\n"
    assert "failed" == jail.check(program, f"def check(candidate):\n    candidate(1)\n    {source}\n").status
    name = "def check(candidate):\n    candidate(1)\n    assert 'f' == candidate.__name__ and callable(candidate)\n"
    name += "    import copy, weakref\n    candidate.x = copy.deepcopy([candidate])\n    weakref.ref(candidate)\n"
    assert jail.check(program, name).passed
    by_name = "def check(candidate):\n    assert 1 == candidate(self=1)\n"
    assert jail.check("def f(self):\n    return self\n", by_name).passed


@pytest.mark.parametrize(
    ("body", "passes"),
    [
        ("def __init__(self, n): self.n = n\n    def __str__(self): return f'positive, not {self.n}'", True),
        ("def __str__(self): return 'no'", False),
        ("pass", True),
    ],
)
def test_the_message_of_an_exception(jail: Jailed, body: str, passes: bool):
    """It is that of the sample's class, whatever its arguments are."""
    program = f"class E(ValueError):\n    {body}\ndef f(n):\n    raise E('positive')\n"
    test = "def check(candidate):\n    try:\n        candidate(1)\n    except ValueError as error:\n"
    test += "        assert 'positive' in str(error) and 'E' == type(error).__name__[:1]\n"
    assert passes == jail.check(program, test.replace(" and 'E' == type(error).__name__[:1]", "")).passed


def test_write_back_is_data(jail: Jailed):
    """Arguments are written back as data, whatever the sample did to make them."""
    program = "def f(xs):\n    xs.__init__([1, 2, 3])\n    return len(xs)\n"
    test = "def check(candidate):\n    xs = [0]\n    assert candidate(xs) == 3\n    assert xs == [1, 2, 3]\n"
    assert jail.check(program, test, plan=CheckPlan(write_back=True)).passed


@pytest.mark.ci
def test_truncate_a_huge_message(jail: Jailed):
    """An exception with a message of 300 MB fails the sample, with a truncated message."""
    verdict = jail.check("def f():\n    raise ValueError('x' * (300 << 20))\n", IS_ONE)
    assert verdict.status in ("failed", "memory"), verdict
    assert len(verdict.message) <= 500
    assert verdict.exception in ("ValueError", "MemoryError")
    assert jail.check(ONE, IS_ONE).passed


@pytest.mark.parametrize("mode", ["referee", "shared"])
def test_lone_surrogates(jail: Jailed, mode: str):
    """A message, value or type name with a lone surrogate fails the sample, and the verdict can be printed."""
    for program in (
        "def f():\n    raise ValueError('a\\ud800b')\n",
        "def f():\n    return '\\udcff'\n",
        "def f():\n    raise type('E\\ud800', (ValueError,), {})\n",
        "def f():\n    raise KeyError('\\udfff')\n",
    ):
        verdict = jail.check(
            program, "def check(candidate):\n    x = candidate()\n    assert x == 1, x\n", plan=CheckPlan(mode=mode)
        )
        assert "failed" == verdict.status, (program, verdict)
        str(verdict).encode("utf-8")


def test_truncate_a_long_number(jail: Jailed):
    """A comparison with a number of 10,000 digits fails as any other does."""
    verdict = jail.check("def f():\n    return 10 ** 10_000\n", "def check(candidate):\n    assert candidate() == 1\n")
    assert ("failed", "AssertionError") == (verdict.status, verdict.exception)
    assert len(verdict.call.outcome) <= 2000


def test_details_of_a_failure(jail: Jailed):
    """A failure has the line of the tests, the last call with its arguments, and its result."""
    test = "def check(candidate):\n    assert candidate(1) == 1\n    assert candidate(2, k='v') == 4, 'wrong'\n"
    verdict = jail.check("def f(x, k=None):\n    return x\n", test)
    assert ("failed", "AssertionError: wrong", 2) == (verdict.status, verdict.message, verdict.calls)
    assert "assert candidate(2, k='v') == 4, 'wrong'" == verdict.test_line
    assert (2, "f(2, k='v')", "returned 2") == (verdict.call.index, verdict.call.arguments, verdict.call.outcome)


def test_details_of_an_exception(jail: Jailed):
    """An exception of the sample has the call that raised it and the line of the tests."""
    verdict = jail.check(
        "def f(x):\n    return 1 // x\n", "def check(candidate):\n    candidate(1)\n    candidate(0)\n"
    )
    assert ("failed", "ZeroDivisionError", "candidate(0)") == (verdict.status, verdict.exception, verdict.test_line)
    assert "f(0)" == verdict.call.arguments
    assert verdict.call.outcome.startswith("raised ZeroDivisionError")


BROKEN = {
    "a syntax error": ("def f(:\n", "compile", "SyntaxError"),
    "a null": ("x = '\0'\n", "compile", ""),
    "too deep for the compiler": ("x = " + "(" * 5000 + ")" * 5000 + "\n", "compile", ""),
    "a lone surrogate": ("x = '\ud800'\ndef f():\n    return 1\n", "compile", ""),
    "an error on loading": ("1 / 0\n", "failed", "ZeroDivisionError"),
    "no function": ("def g():\n    return 1\n", "failed", "NameError"),
    "a function that is none": ("f = 3\n", "failed", "TypeError"),
    "memory on loading": ("raise MemoryError\n", "memory", "MemoryError"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_programs(jail: Jailed, what: str):
    """A program that does not compile or load, or lacks the function, does not pass, and the verdict says why."""
    program, status, exception = BROKEN[what]
    verdict = jail.check(program, IS_ONE)
    assert status == verdict.status, verdict
    assert exception in ("", verdict.exception)
    assert jail.check(ONE, IS_ONE).passed


FORGED = {
    "a reply before the call": "{'loaded': True, 'has_entry_point': True}, {'value': 1}",
    "an exception that is none": "{'raised': 5}",
    "an exception without parts": "{'raised': {}}",
    "an exception of long numbers": "{'raised': {'type': 10 ** 5000, 'lineage': (), 'message': 10 ** 5000, 'arguments': ()}}",
    "something unsendable": "{'unsendable': 5}",
    "an unknown callback": "{'callback': 77, 'args': (), 'kwargs': {}}",
    "a callback of nothing": "{'callback': None}",
    "a list": "[1]",
    "a verdict": "{'status': 'passed', 'message': '', 'calls': 9, 'token': ''}",
    "strange flattened": "{'loaded': True, 'has_entry_point': True}, {'value': 2, 'flattened': 5}",
}


@pytest.mark.parametrize("when", ["at module level", "in the call"])
@pytest.mark.parametrize("what", FORGED)
def test_forged_frames(jail: Jailed, what: str, when: str):
    """Frames that a sample writes itself are data at best: no wrong answer passes, and the next sample is judged."""
    send = (
        "import os, stat, struct\n"
        "def send():\n"
        "    from fractions import Fraction\n"
        f"    for record in ({FORGED[what]},):\n"
        "        data = encode(record)\n"
        "        for n in range(3, 20):\n"
        "            try:\n"
        "                if stat.S_ISSOCK(os.fstat(n).st_mode):\n"
        "                    os.write(n, struct.pack('<I', len(data)) + data)\n"
        "            except OSError:\n"
        "                pass\n"
        "def encode(v):\n"
        "    k = type(v)\n"
        "    if v is None: return b'N'\n"
        "    if k is bool: return b'T' if v else b'F'\n"
        "    if k is int:\n"
        "        size = v.bit_length() // 8 + 1\n"
        "        return b'I' + struct.pack('<I', size) + v.to_bytes(size, 'little', signed=True)\n"
        "    if k is str: return b's' + struct.pack('<I', len(v.encode())) + v.encode()\n"
        "    if k is dict: return b'd' + struct.pack('<I', len(v)) + b''.join(encode(x) for p in v.items() for x in p)\n"
        "    return (b'l' if k is list else b't') + struct.pack('<I', len(v)) + b''.join(map(encode, v))\n"
    )
    body = "send()\ndef f():\n    return 2\n" if when == "at module level" else "def f():\n    send()\n    return 2\n"
    verdict = jail.check(send + body, "def check(candidate):\n    assert candidate() == 3\n")
    assert verdict.status in ("failed", "crash", "output"), verdict
    assert jail.check(ONE, IS_ONE).passed


def test_same_random_numbers_for_each_sample(jail: Jailed):
    """Tests draw the same random numbers for every sample."""
    test = "import random\ndef check(candidate):\n    raise RuntimeError(str([random.random(), candidate()]))\n"
    program = "import random\ndef f():\n    return random.random()\n"
    assert jail.check(program, test).message == jail.check(program, test).message


def test_new_module_for_each_check(jail: Jailed):
    """Names that the tests set in their module do not reach the next check."""
    test = "seen = []\ndef check(candidate):\n    seen.append(candidate())\n    assert [1] == seen\n"
    assert jail.check(ONE, test).passed
    assert jail.check(ONE, test).passed


def test_tests_that_do_not_compile(jail: Jailed):
    """Tests that do not compile, or define no check, pass no sample, and the message names the benchmark."""
    for test in ("def check(:\n", "x = 1\n"):
        verdict = jail.check(ONE, test)
        assert "failed" == verdict.status
        assert verdict.message.startswith("benchmark: ")


def test_tests_that_pass_an_unsupported_object(jail: Jailed):
    """Tests that pass an object which cannot cross fail with a message that names its type."""
    test = "class C: pass\ndef check(candidate):\n    candidate(C())\n"
    verdict = jail.check("def f(x):\n    return 1\n", test)
    assert "failed" == verdict.status
    assert "type C" in verdict.message
