"""What the tests see of a sample through the jail: plain data, handles, mapped exceptions, and nothing that lies."""

# ruff: noqa: E501 - a program on one line is compared more easily than one in five pieces

from __future__ import annotations

import pytest
from jailed import IS_ONE, ONE, Jailed

from passcurve.judging.plan import CheckPlan
from passcurve.types import Verdict


def returns(jail: Jailed, source: str, test: str, **options: object) -> Verdict:
    """Return the verdict on a function whose body returns ``source``."""
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
    """What is nearly plain arrives as the plain value it is made of, and the verdict names the type."""
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
    """Values of numpy arrive as Python's own."""
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
def test_plain_values_there_and_back(jail: Jailed, value: str):
    """A plain value that the tests pass comes back the same, with its type."""
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
    """Live objects stay on their side and work through a stand-in, in both directions."""
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
    "the end of an iteration": ("raise StopIteration(4)", "StopIteration", "StopIteration"),
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
    """An exception is caught as its nearest builtin ancestor; uncaught it fails the sample under its own name."""
    code, caught, name = EXCEPTIONS[what]
    program = f"def f():\n    {code}\n"
    catch = f"def check(candidate):\n    try:\n        candidate()\n    except {caught}:\n        return\n    raise AssertionError\n"
    assert jail.check(program, catch).passed
    verdict = jail.check(program, "def check(candidate):\n    candidate()\n")
    assert ("failed", name) == (verdict.status, verdict.exception)


def test_what_an_exception_carries(jail: Jailed):
    """Message and plain arguments of an exception arrive."""
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
    """An object that claims to equal whatever it is compared with equals nothing, bare or nested."""
    for value, wanted in (("A()", WANTED), ("[[A()]]", NESTED)):
        for test in wanted:
            program = f"{LIARS[liar]}\ndef f():\n    return {value}\n"
            verdict = jail.check(program, f"def check(candidate):\n    {test}\n")
            assert verdict.status in ("failed", "crash", "output"), (test, verdict)


def test_a_lying_module(jail: Jailed):
    """An object that says it is a fraction crosses as the numbers it holds, if they are numbers, and as nothing else."""
    program = (
        "class A:\n    numerator, denominator = {}, 1\n    __eq__ = lambda s, o: True\n"
        "A.__module__, A.__name__ = 'fractions', 'Fraction'\ndef f():\n    return A()\n"
    )
    test = "def check(candidate):\n    assert candidate() == 5\n"
    assert jail.check(program.format(5), test).passed
    assert "failed" == jail.check(program.format(4), test).status
    assert "crash" == jail.check(program.format("'x'"), test).status


def test_true_is_not_one(jail: Jailed):
    """Tests that ask for True itself do not get 1, and a decimal that is no float does not equal it."""
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
    """A value that is cyclic, too deep or too large is output, and the next sample is judged as if nothing was."""
    verdict = jail.check(HUGE[what], IS_ONE)
    assert "output" == verdict.status, verdict
    assert jail.check(ONE, IS_ONE).passed


def test_output_is_counted_over_the_check(jail: Jailed):
    """The cap is on what all calls of a check return together."""
    test = "def check(candidate):\n    for _ in range(8):\n        candidate()\n"
    assert "output" == jail.check("def f():\n    return 'x' * (1 << 20)\n", test).status


LEAVING = {
    "exit at module level": "import os\nos._exit(0)\n",
    "exit in a call": "import os\ndef f():\n    os._exit(0)\n",
    "exit of the library": "import ctypes\ndef f():\n    ctypes.CDLL(None).exit(0)\n",
    "exit in a thread": "import os, threading\ndef f():\n    threading.Thread(target=os._exit, args=(0,)).start()\n    while True: pass\n",
    "exit in a signal": "import os, signal\nsignal.signal(14, lambda *_: os._exit(0))\ndef f():\n    signal.setitimer(0, 0.01)\n    while True: pass\n",
    "exit by tracing": "import os, sys\ndef f():\n    sys.settrace(lambda *_: os._exit(0))\n    return g()\ndef g():\n    return 1\n",
}


@pytest.mark.parametrize("what", LEAVING)
def test_leaving_before_the_tests_end(jail: Jailed, what: str):
    """A program that leaves before the tests have ended is a crash, with whatever code it leaves."""
    assert "crash" == jail.check(LEAVING[what], IS_ONE).status


def test_exit_as_exception(jail: Jailed):
    """sys.exit at module level is an exception that leaves the program before it is loaded."""
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
    """Tests that never call the function pass nobody, and it is the benchmark that is named."""
    verdict = jail.check(ONE, test)
    assert ("failed", "benchmark: the tests never call f", 0) == (verdict.status, verdict.message, verdict.calls)


SWALLOWING = "def check(candidate):\n    for _ in range(3):\n        try:\n            candidate()\n        except{}:\n            pass\n"


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
def test_tests_that_swallow_everything(jail: Jailed, what: str, program: str, status: str):
    """Tests that catch every exception cannot hide that the sample died or sent what cannot be read."""
    assert status == jail.check(program, SWALLOWING.format(what)).status


def test_tests_that_swallow_and_return(jail: Jailed):
    """Nor can tests that return from within a finally, or that call again afterwards and go on."""
    program = "import os\ndef f():\n    os._exit(0)\n"
    for test in (
        "def check(candidate):\n    try:\n        candidate()\n    finally:\n        return\n",
        "import contextlib\ndef check(candidate):\n    with contextlib.suppress(BaseException):\n        candidate()\n",
    ):
        assert "crash" == jail.check(program, test).status


def test_helpers_of_the_prompt(jail: Jailed):
    """Tests that use a function of the prompt get the prompt's own, whatever the sample made of it."""
    prompt = "def twice(x):\n    return 2 * x\n\n\ndef f(x):\n    '''Doubled.'''\n"
    program = "def twice(x):\n    return 0\n\n\ndef f(x):\n    return twice(x)\n"
    test = "def check(candidate):\n    assert candidate(2) == twice(2)\n"
    verdict = jail.check(program, test, prompt=prompt)
    assert "failed" == verdict.status
    assert jail.check(prompt + "    return twice(x)\n", test, prompt=prompt).passed


def test_the_function_by_its_own_name(jail: Jailed):
    """Tests that call the function by name, and not as the argument of check, reach the sample as well."""
    test = "def check(candidate):\n    assert f(3) == 3 == candidate(3)\n"
    assert jail.check("def f(x):\n    return x\n", test, prompt="def f(x):\n").passed
    assert "failed" == jail.check("def f(x):\n    return 3 if x == 4 else 2\n", test, prompt="def f(x):\n").status


def test_patched_libraries_stay_with_the_sample(jail: Jailed):
    """What a program patches is patched for itself alone: the tests have their own library."""
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


def test_tests_that_end_the_process(jail: Jailed):
    """Tests that exit pass nobody."""
    for code in ("import os\n    os._exit(0)", "import sys\n    sys.exit(0)", "raise SystemExit(0)"):
        assert not jail.check(ONE, f"def check(candidate):\n    candidate()\n    {code}\n").passed


MUTATED = (
    "def f(xs, d, s, b):\n    xs.sort()\n    xs.append(9)\n    d['new'] = 1\n    s.clear()\n    b.extend(b'!')\n",
    "def check(candidate):\n    xs, d, s, b = [2, 1], {}, {5}, bytearray(b'x')\n    alias = xs\n    candidate(xs, d, s, b)\n"
    "    assert ([1, 2, 9], {'new': 1}, set(), bytearray(b'x!')) == (xs, d, s, b)\n    assert alias is xs\n",
)


def test_arguments_changed_in_place(jail: Jailed):
    """What a sample does to its arguments reaches the tests when the plan says so, and only then."""
    program, test = MUTATED
    assert "failed" == jail.check(program, test).status
    assert jail.check(program, test, plan=CheckPlan(write_back=True)).passed
    wrong = "def f(xs, d, s, b):\n    pass\n"
    assert "failed" == jail.check(wrong, test, plan=CheckPlan(write_back=True)).status


def test_arguments_that_the_sample_makes_up(jail: Jailed):
    """Arguments handed back are data too: a sample that answers with others of another type changes nothing."""
    program = "def f(xs):\n    xs.__init__([1, 2, 3])\n    return len(xs)\n"
    test = "def check(candidate):\n    xs = [0]\n    assert candidate(xs) == 3\n    assert xs == [1, 2, 3]\n"
    assert jail.check(program, test, plan=CheckPlan(write_back=True)).passed


def test_a_message_without_end(jail: Jailed):
    """An exception with a message of 300 MB is a failure with a bounded message."""
    verdict = jail.check("def f():\n    raise ValueError('x' * (300 << 20))\n", IS_ONE)
    assert verdict.status in ("failed", "memory"), verdict
    assert len(verdict.message) <= 500
    assert verdict.exception in ("ValueError", "MemoryError")
    assert jail.check(ONE, IS_ONE).passed


@pytest.mark.parametrize("mode", ["referee", "shared"])
def test_half_a_surrogate_pair(jail: Jailed, mode: str):
    """A message, a value or a type that is no proper text is a failure like any other, and can be shown."""
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


def test_a_number_too_long_to_show(jail: Jailed):
    """A failing comparison with a number of 10,000 digits is a failure like any other."""
    verdict = jail.check("def f():\n    return 10 ** 10_000\n", "def check(candidate):\n    assert candidate() == 1\n")
    assert ("failed", "AssertionError") == (verdict.status, verdict.exception)
    assert len(verdict.call.outcome) <= 2000


def test_where_and_what(jail: Jailed):
    """A failure names the line of the tests, the last call with its arguments, and what it returned."""
    test = "def check(candidate):\n    assert candidate(1) == 1\n    assert candidate(2, k='v') == 4, 'wrong'\n"
    verdict = jail.check("def f(x, k=None):\n    return x\n", test)
    assert ("failed", "AssertionError: wrong", 2) == (verdict.status, verdict.message, verdict.calls)
    assert "assert candidate(2, k='v') == 4, 'wrong'" == verdict.test_line
    assert (2, "f(2, k='v')", "returned 2") == (verdict.call.index, verdict.call.arguments, verdict.call.outcome)


def test_where_an_exception_arose(jail: Jailed):
    """An exception of the sample names the call that raised it and the line of the tests that made it."""
    verdict = jail.check(
        "def f(x):\n    return 1 // x\n", "def check(candidate):\n    candidate(1)\n    candidate(0)\n"
    )
    assert ("failed", "ZeroDivisionError", "candidate(0)") == (verdict.status, verdict.exception, verdict.test_line)
    assert "f(0)" == verdict.call.arguments
    assert verdict.call.outcome.startswith("raised ZeroDivisionError")


NO_PROGRAMS = {
    "a syntax error": ("def f(:\n", "compile", "SyntaxError"),
    "a null": ("x = '\0'\n", "compile", ""),
    "too deep for the compiler": ("x = " + "(" * 5000 + ")" * 5000 + "\n", "compile", ""),
    "a lone surrogate": ("x = '\ud800'\ndef f():\n    return 1\n", "compile", ""),
    "an error on loading": ("1 / 0\n", "failed", "ZeroDivisionError"),
    "no function": ("def g():\n    return 1\n", "failed", "NameError"),
    "a function that is none": ("f = 3\n", "failed", "TypeError"),
    "memory on loading": ("raise MemoryError\n", "memory", "MemoryError"),
}


@pytest.mark.parametrize("what", NO_PROGRAMS)
def test_programs_that_are_none(jail: Jailed, what: str):
    """A program that does not compile, does not load or lacks the function is not passed, with the reason."""
    program, status, exception = NO_PROGRAMS[what]
    verdict = jail.check(program, IS_ONE)
    assert status == verdict.status, verdict
    assert exception in ("", verdict.exception)
    assert jail.check(ONE, IS_ONE).passed


FORGED = {
    "a reply before the call": "{'loaded': True, 'found': True}, {'value': 1}",
    "an exception that is none": "{'raised': 5}",
    "an exception without parts": "{'raised': {}}",
    "an exception of long numbers": "{'raised': {'type': 10 ** 5000, 'lineage': (), 'message': 10 ** 5000, 'arguments': ()}}",
    "something unsendable": "{'unsendable': 5}",
    "an unknown callback": "{'callback': 77, 'args': (), 'kwargs': {}}",
    "a callback of nothing": "{'callback': None}",
    "a list": "[1]",
    "a verdict": "{'status': 'passed', 'message': '', 'calls': 9, 'token': ''}",
    "strange flattened": "{'loaded': True, 'found': True}, {'value': 2, 'flattened': 5}",
}


@pytest.mark.parametrize("when", ["at module level", "in the call"])
@pytest.mark.parametrize("what", FORGED)
def test_forged_frames(jail: Jailed, what: str, when: str):
    """Frames that a sample writes itself are data at best: the wrong answer stays wrong, and the next one is judged."""
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


def test_random_numbers_are_the_same_for_each_sample(jail: Jailed):
    """Tests that draw random arguments draw the same ones for every sample, whatever an earlier one did."""
    test = "import random\ndef check(candidate):\n    raise RuntimeError(str([random.random(), candidate()]))\n"
    program = "import random\ndef f():\n    return random.random()\n"
    assert jail.check(program, test).message == jail.check(program, test).message


def test_a_check_leaves_nothing_for_the_next(jail: Jailed):
    """Names that the tests set in their own module are new for every sample."""
    test = "seen = []\ndef check(candidate):\n    seen.append(candidate())\n    assert [1] == seen\n"
    assert jail.check(ONE, test).passed
    assert jail.check(ONE, test).passed


def test_tests_that_do_not_compile(jail: Jailed):
    """Tests that are no Python, or define no check, are the benchmark's fault, and pass nobody."""
    for test in ("def check(:\n", "x = 1\n"):
        verdict = jail.check(ONE, test)
        assert "failed" == verdict.status
        assert verdict.message.startswith("benchmark: ")


def test_tests_that_pass_what_cannot_cross(jail: Jailed):
    """Tests that pass an object which cannot cross are named as the reason."""
    test = "class C: pass\ndef check(candidate):\n    candidate(C())\n"
    verdict = jail.check("def f(x):\n    return 1\n", test)
    assert "failed" == verdict.status
    assert "type C" in verdict.message
