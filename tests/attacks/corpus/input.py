"""Texts that are no programs, or that are too much for a compiler, a stack or an interpreter."""

from __future__ import annotations

from corpus.attack import Attack

WRONG = "\n\ndef add(a, b):\n    return 0\n"


def _text(name: str, program: str, statuses: tuple[str, ...], **fields: object) -> Attack:
    return Attack(name=name, program=program, statuses=statuses, **fields)  # type: ignore[arg-type]


def _dies(name: str, code: str, statuses: tuple[str, ...] = ("crash",), **fields: object) -> Attack:
    body = "".join(f"    {line}\n" for line in code.splitlines())
    return Attack(name=name, program=f"def add(a, b):\n{body}    return 0\n", statuses=statuses, **fields)  # type: ignore[arg-type]


TEXTS = (
    Attack(name="null for a program", completion=None, statuses=("no_code",)),
    Attack(name="a number for a program", completion=7, statuses=("no_code",)),
    Attack(name="true for a program", completion=True, statuses=("no_code",)),
    Attack(name="a list for a program", completion=["    return a + b"], statuses=("no_code",)),
    Attack(name="an object for a program", completion={"code": "    return a + b"}, statuses=("no_code",)),
    Attack(name="an empty program", completion="", statuses=("no_code",)),
    Attack(name="a blank program", completion=" \n\t\n", statuses=("no_code",)),
    Attack(name="a program over the limit", completion="    return a + b\n#" + "x" * (17 << 20), statuses=("no_code",)),
    _text("zeros in the program", "def add(a, b):\n    return a + b\n\0", ("compile",)),
    _text("half a surrogate pair in the program", "x = '\ud800'" + WRONG, ("compile", "failed")),
    _text("half a surrogate pair in a comment", "# \udcff" + WRONG, ("compile", "failed")),
    _text("a coding line that lies", "# -*- coding: utf-7 -*-\n+AGEAcwBz-" + WRONG, ("compile", "failed")),
    _text("a coding line of an unknown name", "# coding: passed" + WRONG, ("compile", "failed")),
    _text("a byte order mark in the middle", "x = 1\n\ufeffy = 2" + WRONG, ("compile",)),
    _text("letters that look like others", "def аdd(a, b):\n    return a + b\n", ("failed",), message="NameError"),
    _text("directions that hide code", "def add(a, b):\n    '''\u202e''' ; return 0 # \u2066\n", ("failed", "compile")),
    _text("an end of text in the program", "def add(a, b):\n    return 0\n\x1a\n    return a + b\n", ("compile",)),
    _text("prose", "Here is the function that you asked for:\n\n    return a + b\n", ("compile",)),
    _text("ten thousand brackets", "x = " + "(" * 10_000 + ")" * 10_000 + WRONG, ("compile", "crash", "memory")),
    _text("ten thousand lists", "x = " + "[" * 10_000 + "]" * 10_000 + WRONG, ("compile", "crash", "memory")),
    _text(
        "a hundred thousand minus signs", "x = " + "-" * 100_000 + "1" + WRONG, ("compile", "crash", "memory", "failed")
    ),
    _text("a hundred thousand sums", "x = 1" + "+1" * 100_000 + WRONG, ("compile", "crash", "memory", "failed")),
    _text("a hundred thousand attributes", "x = a" + ".a" * 100_000 + WRONG, ("compile", "crash", "memory", "failed")),
    _text("a hundred thousand calls", "x = a" + "()" * 100_000 + WRONG, ("compile", "crash", "memory", "failed")),
    _text(
        "a thousand indents",
        "".join(" " * i + "if 1:\n" for i in range(1000)) + " " * 1000 + "pass" + WRONG,
        ("compile", "crash"),
    ),
    _text(
        "a hundred loops in one another",
        "".join("  " * i + "for _ in '':\n" for i in range(60)) + "  " * 60 + "pass" + WRONG,
        ("compile", "crash"),
    ),
    _text(
        "a constant that is folded for ever",
        "x = ((1 << 100000) ** 99) ** 99" + WRONG,
        ("failed", "timeout", "memory", "compile"),
        slow=True,
    ),
    _text(
        "a product of text that is folded", "x = ('x' * 4096) * 99999999999" + WRONG, ("failed", "memory", "compile")
    ),
    _text("an int of ten thousand digits in the source", "x = " + "9" * 10_000 + WRONG, ("compile",)),
    _text("a line of two million letters", "x = '" + "y" * 2_000_000 + "'" + WRONG, ("failed",)),
    _text("fifty thousand lines", "x = 1\n" * 50_000 + WRONG, ("failed", "timeout")),
    _text(
        "a pattern that never ends", "import re\nre.match('(a+)+$', 'a' * 64 + 'b')" + WRONG, ("timeout",), slow=True
    ),
)

DEATHS = (
    _dies("a null pointer", "import ctypes\nctypes.string_at(0)"),
    _dies("a pointer to nowhere", "import ctypes\nctypes.memset(1 << 46, 0, 8)"),
    _dies(
        "a segment fault sent to itself", "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", message="SIGSEGV"
    ),
    _dies("an abort", "import os\nos.abort()", message="SIGABRT"),
    _dies("a kill of itself", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"),
    _dies("a real-time signal to itself", "import os, signal\nos.kill(os.getpid(), signal.SIGRTMAX)"),
    _dies("an illegal instruction", "import os, signal\nos.kill(os.getpid(), signal.SIGILL)", message="SIGILL"),
    _dies("a fatal error of the interpreter", "import ctypes\nctypes.pythonapi.Py_FatalError(b'passed')"),
    _dies(
        "a reference too few",
        "import ctypes\nfor _ in range(9): ctypes.pythonapi.Py_DecRef(ctypes.py_object(object))\nNone",
        ("crash", "failed"),
    ),
    _dies("the interpreter finalized", "import ctypes\nctypes.pythonapi.Py_FinalizeEx()", ("crash", "failed")),
    _dies(
        "the lock of the interpreter given away",
        "import ctypes\nctypes.pythonapi.PyEval_SaveThread()",
        ("crash", "timeout"),
    ),
    _dies(
        "code made up by hand",
        "import types\nc = (lambda: 0).__code__\nreturn types.FunctionType(c.replace(co_code=bytes([125, 255] * 9), co_stacksize=0), {})()",
        ("crash", "failed"),
    ),
    Attack(
        name="a stack of C without an end",
        program="import functools, sys\nsys.setrecursionlimit(1 << 30)\ndef add(a, b):\n    x = ()\n    for _ in range(3_000_000):\n        x = (x,)\n    return repr(x)\n",
        statuses=("crash", "failed", "memory", "timeout"),
        slow=True,
    ),
    Attack(
        name="recursion without an end", program="def add(a, b):\n    return add(b, a) + 1\n", message="RecursionError"
    ),
    Attack(
        name="recursion with the limit raised",
        program="import sys\nsys.setrecursionlimit(1 << 30)\ndef add(a, b):\n    return add(b, a) + 1\n",
        statuses=("crash", "memory", "failed", "timeout"),
        slow=True,
    ),
    Attack(
        name="recursion in a thread with a small stack",
        program="import sys, threading\nsys.setrecursionlimit(1 << 30)\nthreading.stack_size(65536)\ndef down():\n    sorted([1], key=lambda _: down())\ndef add(a, b):\n    t = threading.Thread(target=down)\n    t.start()\n    t.join()\n    return 0\n",
        statuses=("crash",),
    ),
    Attack(
        name="recursion caught at every level",
        program="def add(a, b):\n    try:\n        return add(a, b)\n    except RecursionError:\n        return add(a, b)\n",
        statuses=("timeout", "failed"),
        late=True,
    ),
    Attack(
        name="recursion of equality",
        program="class A:\n    def __eq__(self, other):\n        return self == other\ndef add(a, b):\n    return A() == A()\n",
        message="RecursionError",
    ),
    Attack(
        name="the limit of recursion set to its least",
        program="import sys\ndef add(a, b):\n    sys.setrecursionlimit(5)\n    return 0\n",
        statuses=("failed", "crash"),
    ),
)
