"""Attacks on assertions and on questions about a function: programs and answers that are wrong."""

from __future__ import annotations

from typing import Any

_CODE = "def f(x):\n    return [x, x + 1]\n"

PROBLEMS_OF_KINDS: dict[str, dict[str, Any]] = {
    "assertions": {
        "id": "A/1",
        "kind": "assertions",
        "entry_point": "f",
        "setup": "secret = 7919",
        "tests": ["assert f(1) == 1", "assert f(2) == secret", "assert f([3]) == [3]"],
        "reference": "def f(x):\n    return 7919 if x == 2 else x\n",
    },
    "input": {
        "id": "A/2",
        "kind": "expression",
        "asks": "input",
        "entry_point": "f",
        "code": _CODE,
        "input": "4",
        "output": "[4, 5]",
        "reference": "f(4)",
    },
    "output": {
        "id": "A/3",
        "kind": "expression",
        "asks": "output",
        "entry_point": "f",
        "code": _CODE,
        "input": "4",
        "output": "[4, 5]",
        "reference": "[4, 5]",
    },
    "a function that catches all": {
        "id": "A/4",
        "kind": "expression",
        "asks": "input",
        "entry_point": "f",
        # A bare `except` also catches the BaseException that stops a check.
        "code": "def f(g):\n    try:\n        return g(0)\n    except:\n        return 'x'\n",
        "input": "3",
        "output": "'x'",
        "reference": "f(3)",
    },
    "a function that catches the end of its time": {
        "id": "A/5",
        "kind": "expression",
        "asks": "input",
        "entry_point": "f",
        # It ends on 3 only: nothing that it does after the time limit is its answer.
        "code": "def f(n):\n    try:\n        while n != 3: pass\n    except:\n        n = 3\n    return [n]\n",
        "input": "3",
        "output": "[3]",
        "reference": "f(3)",
    },
    "a function that ends in any case": {
        "id": "A/6",
        "kind": "expression",
        "asks": "input",
        "entry_point": "f",
        "code": "def f(n):\n    try:\n        while n != 3: pass\n    finally:\n        return 'x'\n",
        "input": "3",
        "output": "'x'",
        "reference": "f(3)",
    },
}
"""Problems in the schema for new benchmarks; all are judged in referee mode."""

_EQUAL = "class E(list):\n    def __eq__(self, other):\n        return True\n    __ne__ = __lt__ = None\n"
_REPORT = 'd = b\'{"status": "passed", "token": ""}\'\n'

_ASSERTION_ATTACKS = {
    "exit": "import os\nos._exit(0)\n",
    "exit in a call": "import os\ndef f(x):\n    os._exit(0)\n",
    "SystemExit in a call": "def f(x):\n    raise SystemExit(0)\n",
    "an assertion passes its own error": "def f(x):\n    raise AssertionError\n",
    "equal to all": "class E:\n    def __eq__(self, other):\n        return True\ndef f(x):\n    return E()\n",
    "a list equal to all": _EQUAL + "def f(x):\n    return E([0])\n",
    "frames": "import sys\ndef f(x):\n    frame = sys._getframe()\n    while frame:\n"
    "        if 'secret' in frame.f_globals:\n            return frame.f_globals['secret'] if x == 2 else x\n"
    "        frame = frame.f_back\n    return x\n",
    "objects": "import gc\ndef f(x):\n    for o in gc.get_objects():\n        if type(o) is dict and 'secret' in o:\n"
    "            return o['secret'] if x == 2 else x\n    return x\n",
    "exec replaced": "import builtins\nbuiltins.exec = builtins.compile = lambda *_, **__: None\ndef f(x):\n    return x\n",
    "the name of the tests": "__name__ = 'tests'\nsecret = 2\ndef f(x):\n    global secret\n    return x\n",
    "a report of its own": "import os\ndef f(x):\n    " + _REPORT + "    for n in range(3, 20):\n        try:\n"
    "            os.write(n, len(d).to_bytes(4, 'little') + d)\n        except OSError: pass\n    return x\n",
    "the argument changed": "def f(x):\n    if x == [3]:\n        x.clear()\n    return x\n",
    "an endless value": "def f(x):\n    y = []\n    y.append(y)\n    return y\n",
}

_ANSWER_ATTACKS = {
    "exit": "__import__('os')._exit(0)",
    "SystemExit": "exit()",
    "equal to all": "type('E', (), {'__eq__': lambda *_: True, '__add__': lambda *_: 5})()",
    "a list equal to all": "type('E', (list,), {'__eq__': lambda *_: True})([0])",
    "a number equal to all": "type('E', (int,), {'__eq__': lambda *_: True, '__add__': lambda *_: 5})(0)",
    "an assertion with a message": "[0], 'text'",
    "an alternative": "[0] or True",
    "a comparison": "[0] == [0]",
    "two statements": "[0]\nprint(1)",
    "frames": "__import__('sys')._getframe(4).f_locals.get('expected')",
    "exec": "exec('def f(x): return [0]') or f(0)",
    "a function replaced": "(globals().update(f=lambda x: [4, 5]), 9)[1]",
    "a report of its own": '[__import__(\'os\').write(n, b\'\\x24\\0\\0\\0{"status": "passed", "token": ""}\') '
    "for n in range(3, 20)]",
    "a function": "lambda *_: [4, 5]",
    "nothing": "",
}

_CAUGHT_ATTACKS = {
    "a function that ends the process": "f(lambda _: __import__('os')._exit(0))",
    "a function that returns something else": "f(lambda _: 5)",
}

STATEMENT_ATTACKS: tuple[tuple[str, str, str], ...] = (
    *(("assertions", name, text) for name, text in _ASSERTION_ATTACKS.items()),
    *(("output", name, text) for name, text in _ANSWER_ATTACKS.items()),
    *(("input", name, f"f({text})") for name, text in _ANSWER_ATTACKS.items()),
    *(("input", f"{name}, bare", text) for name, text in _ANSWER_ATTACKS.items()),
    *(("a function that catches all", name, text) for name, text in _CAUGHT_ATTACKS.items()),
    ("a function that catches the end of its time", "an endless loop", "f(4)"),
    ("a function that ends in any case", "an endless loop", "f(4)"),
)
"""Kind, name and text of each attack."""
