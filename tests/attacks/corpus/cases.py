"""Attacks on tests that are data: results whose types lie, forged replies, searches for what is expected."""

from __future__ import annotations

from typing import Any

_FIELDS = {"kind": "cases", "entry_point": "f"}
PROBLEMS_OF_RULES: dict[str, dict[str, Any]] = {
    "equal": {**_FIELDS, "id": "C/equal", "inputs": [[[1, 2]], [[3]]], "expected": [[77, "x"], [[1.5], {"a": [2]}]]},
    "close": {**_FIELDS, "id": "C/close", "inputs": [[1], [2]], "expected": [0.7071, 3.25], "tolerance": 1e-6},
    "set": {
        **_FIELDS,
        "id": "C/set",
        "inputs": [[1], [2]],
        "expected": [[3, 1, 2], ["b", "q"]],
        "comparator": "same-set",
    },
}
"""A problem for each of the rules that do more than compare; all are judged in referee mode."""

HONEST = {
    "equal": "from collections import *\ndef f(x):\n"
    "    return [77, 'x'] if len(x) == 2 else deque([[1.5], defaultdict(list, {'a': [2]})])\n",
    "close": "from fractions import Fraction\ndef f(x):\n    return 0.7071009 if x == 1 else Fraction(13, 4)\n",
    "set": "def f(x):\n    yield from (1, 2, 3, 3) if x == 1 else {'b': 0, 'q': 0}.keys()\n",
}
"""A right program for each problem, whose results are of other types than what is expected."""

_LIE = """class Lie{base}:
    __eq__ = lambda *_: True
    __ne__ = lambda *_: False
    __hash__ = lambda self: 0
    __len__ = lambda self: 2
    __contains__ = __le__ = __lt__ = __ge__ = __gt__ = lambda *_: True
    __sub__ = __rsub__ = lambda *_: 0.0
    __abs__ = __float__ = lambda self: 0.0
"""


def _returning(value: str, head: str = "") -> str:
    return f"{head}def f(x):\n    return {value}\n"


def _lying(base: str, value: str) -> str:
    return _returning(value, _LIE.format(base=base and f"({base})"))


_REPLIES = (
    "{'value': 0}",
    "{'raised': 0}",
    "{'value': None, 'flattened': ('passed',)}",
    "{'large': ('list', 2, b'')}",
    "{'callback': 0, 'args': (), 'kwargs': {}}",
    "{'status': 'passed', 'value': True}",
)
_SAMPLE = "import sys\nm = sys.modules['passcurve.harness.sample']\n"

CASE_ATTACKS: dict[str, str] = {
    "equal to all": _lying("", "Lie()"),
    "equal to all in a list": _lying("", "[Lie(), Lie()]"),
    "equal to all as a key": _lying("", "{Lie(): Lie()}"),
    "equal to all, one by one": _lying("", "iter([Lie(), Lie(), Lie()])"),
    **{f"a lying {base}": _lying(base, f"Lie({argument})") for base, argument in {
        "int": "1", "float": "'nan'", "complex": "0", "str": "''", "bytes": "b''", "list": "[9]", "tuple": "(9, 9)",
        "dict": "", "set": "[9]", "frozenset": "[9]",
    }.items()},
    "a class that says it is another": "class A:\n    __class__ = list\n    __iter__ = lambda self: iter([77, 'x'])\n"
    + _returning("A()"),
    "a metaclass": "class M(type):\n    __eq__ = lambda *_: True\n    __hash__ = type.__hash__\n"
    "    mro = lambda cls: [cls, list, object] if False else type.mro(cls)\nclass A(metaclass=M):\n    pass\n"
    + _returning("A()"),
    "an array that is none": "class ndarray:\n    tolist = lambda self: self\nndarray.__module__ = 'numpy'\n"
    + _returning("ndarray()"),
    **{f"the value {value}": _returning(value) for value in (
        "float('nan')", "[float('nan')] * 2", "float('inf')", "complex('inf+nanj')", "-0.0", "True", "...",
        "NotImplemented", "10 ** 100000", "range(10 ** 18)", "int", "lambda *_: True", "AssertionError()",
        "__import__('os')", "__import__('decimal').Decimal('sNaN')", "[__import__('decimal').Decimal('NaN')] * 2",
        "__import__('decimal').Decimal('1e999999999')",
    )},
    **{f"raising {error}": f"def f(x):\n    raise {error}\n" for error in (
        "SystemExit(0)", "StopIteration([77, 'x'])", "GeneratorExit", "KeyboardInterrupt", "AssertionError",
        "BaseExceptionGroup('a', [SystemExit(0)])", "type('benchmark: ', (Exception,), {})('x')",
    )},
    "an exception of our own": "import passcurve.harness.sample_connection as c\ndef f(x):\n    raise c.CheckStopped\n",
    "an iterator that raises": "def f(x):\n    yield 3\n    raise KeyError\n",
    "a list in itself": "def f(x):\n    y = []\n    y.append(y)\n    return y\n",
    "an exit": "import os\ndef f(x):\n    os._exit(0)\n",
    "an exit while loading": "raise SystemExit(0)\n",
    "the argument": "def f(x):\n    if isinstance(x, list):\n        x[:] = [77, 'x']\n    return x\n",
    "a digest": _SAMPLE + "m.is_large = lambda _: True\nm.make_record = lambda _: ('list', 2, b'')\n" + _returning("[0]"),
    "a digest of nothing": _SAMPLE + "m.is_large = lambda _: True\nm.make_record = lambda _: ('x', 10 ** 9, b'0' * 64)\n"
    + _returning("0"),
    "another encoder": "import passcurve.harness.wire as w\nw.Encoder.encode = lambda *_: b'T'\n" + _returning("1"),
    "replies of its own": "import os\nfrom passcurve.harness.framing import make_frame\n"
    "from passcurve.harness.wire import Encoder\ndef f(x):\n"
    f"    for reply in ({', '.join(_REPLIES)}):\n        for number in range(3, 20):\n            try:\n"
    "                os.write(number, make_frame(Encoder().encode(reply)))\n            except OSError:\n"
    "                pass\n    return 7\n",
    "reports of its own": "import json, os\ndef f(x):\n    for status in ('passed', 'next test', 'compiled'):\n"
    "        d = json.dumps({'status': status, 'number': '', 'read': 0, 'calls': 9, 'code': '', 'token': ''}).encode()\n"
    "        for number in range(3, 20):\n            try:\n"
    "                os.write(number, len(d).to_bytes(4, 'little') + d)\n            except OSError:\n"
    "                pass\n    return 7\n",
    "what is expected in memory": "import gc\ndef f(x):\n    for found in gc.get_objects():\n"
    "        if type(found) is list and len(found) == 2 and found[1:] == ['x' + '']:\n            return found\n",
    "what is expected in frames": "import sys\ndef f(x):\n    frame = sys._getframe()\n    while frame:\n"
    "        for name, value in frame.f_locals.items():\n            if 'expected' in name:\n                return value\n"
    "        frame = frame.f_back\n",
    "a child": "import os\ndef f(x):\n    if os.fork() == 0:\n        os._exit(0)\n",
}  # fmt: skip
"""Programs, each of which is wrong for every problem."""
