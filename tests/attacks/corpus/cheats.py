"""Ways to be counted as right without being right: leaving early, patching, and looking at the tests."""

from __future__ import annotations

from corpus.attack import Attack

WRONG = "\n\ndef add(a, b):\n    return 0\n"


def _at_load(name: str, code: str, statuses: tuple[str, ...] = ("failed",), **fields: object) -> Attack:
    """Return an attack that does something when it is loaded, and has a wrong function."""
    return Attack(name=name, program=code + WRONG, statuses=statuses, **fields)  # type: ignore[arg-type]


def _in_call(name: str, code: str, statuses: tuple[str, ...] = ("failed",), **fields: object) -> Attack:
    """Return an attack that does something when it is called, and returns a wrong number."""
    body = "".join(f"    {line}\n" for line in code.splitlines())
    return Attack(name=name, program=f"def add(a, b):\n{body}    return 0\n", statuses=statuses, **fields)  # type: ignore[arg-type]


LEAVING = (
    _at_load("exit at load", "import sys\nsys.exit(0)", message="SystemExit"),
    _at_load("raise SystemExit at load", "raise SystemExit"),
    _at_load("os._exit at load", "import os\nos._exit(0)", ("crash",), message="exit code 0"),
    _at_load("exit of the C library at load", "import ctypes\nctypes.CDLL(None).exit(0)", ("crash",)),
    _at_load("_exit of the C library at load", "import ctypes\nctypes.CDLL(None)._exit(0)", ("crash",)),
    _at_load("exit_group by number", "import ctypes\nctypes.CDLL(None).syscall(231, 0)", ("crash", "failed")),
    _in_call("exit in a call", "import sys\nsys.exit(0)", message="SystemExit"),
    _in_call("exit with text in a call", "raise SystemExit('passed')"),
    _in_call("os._exit in a call", "import os\nos._exit(0)", ("crash",), message="exit code 0"),
    _in_call("KeyboardInterrupt in a call", "raise KeyboardInterrupt"),
    _in_call("GeneratorExit in a call", "raise GeneratorExit"),
    _in_call("StopIteration in a call", "raise StopIteration(a + b)"),
    _in_call("a base exception of its own", "raise type('Done', (BaseException,), {})('passed')"),
    _at_load(
        "exit from atexit",
        "import atexit, os, sys\natexit.register(os._exit, 0)\nsys.exit(1)",
        ("failed",),
    ),
    _at_load("exit from the hook of exceptions", "import os, sys\nsys.excepthook = lambda *_: os._exit(0)\n1 / 0"),
    _at_load(
        "exit from a thread",
        "import os, threading, time\nthreading.Thread(target=lambda: os._exit(0)).start()\ntime.sleep(0.2)",
        ("crash",),
    ),
    _at_load(
        "exit from a timer",
        "import os, threading\nt = threading.Timer(0.0, os._exit, (0,))\nt.daemon = True\nt.start()\nt.join()",
        ("crash",),
    ),
    _at_load(
        "exit from a signal handler",
        "import os, signal\nsignal.signal(signal.SIGUSR1, lambda *_: os._exit(0))\nos.kill(os.getpid(), signal.SIGUSR1)",
        ("crash",),
    ),
    _at_load(
        "exit from an alarm",
        "import os, signal\nsignal.signal(signal.SIGALRM, lambda *_: os._exit(0))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.01)\nsignal.pause()",
        ("crash",),
    ),
    _in_call(
        "exit from a finalizer", "import os\nclass Last:\n    __del__ = lambda self: os._exit(0)\nLast()", ("crash",)
    ),
    _at_load(
        "exit from a fork's child",
        "import os\ntry:\n    child = os.fork()\nexcept OSError:\n    child = 1\nif not child:\n    os._exit(0)",
    ),
    _in_call("end itself by SIGTERM", "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)", ("crash",)),
    _in_call("stop itself", "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", ("timeout",)),
    _in_call("replace its interpreter", "import os, sys\nos.execv(sys.executable, ['python', '-c', 'pass'])"),
    _in_call("raise the assertion of the tests", "raise AssertionError"),
    _in_call("recursion error as the answer", "return add(a, b)", message="RecursionError"),
)

PATCHES = (
    _at_load("patch AssertionError", "import builtins\nbuiltins.AssertionError = type('A', (Warning,), {})"),
    Attack(
        name="patch len and sorted",
        problem="evens",
        program="import builtins\nbuiltins.len = lambda _: 5\nbuiltins.sorted = lambda _: [6, 8]\n"
        "def evens(numbers):\n    return numbers\n",
        statuses=("failed", "crash"),
    ),
    Attack(
        name="patch abs and round",
        problem="mean",
        program="import builtins\nbuiltins.abs = lambda _: 0\nbuiltins.round = lambda *_: 0.15\n"
        "def mean(numbers):\n    return 0.0\n",
    ),
    Attack(
        name="patch abs during a call",
        problem="mean",
        program="def mean(numbers):\n    import builtins, math\n    builtins.abs = lambda _: 0\n"
        "    builtins.round = lambda *_: 0.15\n    math.isclose = lambda *_, **__: True\n    return 3.0\n",
    ),
    Attack(
        name="patch math",
        problem="mean",
        program="import math, builtins\nmath.isclose = lambda *_, **__: True\nbuiltins.abs = lambda _: 0\n"
        "builtins.round = lambda *_: 0.15\ndef mean(numbers):\n    return 3.0\n",
    ),
    Attack(
        name="patch random",
        problem="unfold",
        program="import random\nrandom.choice = lambda _: 'a'\nrandom.randint = lambda *_: 0\n"
        "def unfold(text):\n    return 'xyz'\n",
    ),
    Attack(
        name="seed random in a call",
        problem="unfold",
        program="import random\ndef unfold(text):\n    random.seed(0)\n    random.setstate(random.getstate())\n    return text\n",
    ),
    Attack(
        name="patch __import__",
        problem="mean",
        program="import builtins, types\nfake = types.SimpleNamespace(isclose=lambda *_, **__: True)\n"
        "builtins.__import__ = lambda *_, **__: fake\nbuiltins.abs = lambda _: 0\nbuiltins.round = lambda *_: 0.15\n"
        "def mean(numbers):\n    return 3.0\n",
    ),
    Attack(
        name="replace a module in sys.modules",
        problem="mean",
        program="import builtins, sys, types\n"
        "sys.modules['math'] = types.SimpleNamespace(isclose=lambda *_, **__: True)\n"
        "builtins.abs = lambda _: 0\nbuiltins.round = lambda *_: 0.15\ndef mean(numbers):\n    return 3.0\n",
    ),
    Attack(
        name="a finder of modules ahead of all",
        problem="unfold",
        program="import sys\nclass Finder:\n    @staticmethod\n    def find_spec(*_):\n        raise SystemExit(0)\n"
        "sys.meta_path.insert(0, Finder)\nsys.modules.pop('random', None)\ndef unfold(text):\n    return text\n",
    ),
    _at_load("empty sys.modules", "import sys\nsys.modules.clear()"),
    _at_load("builtins emptied", "import builtins\nvars(builtins).clear()", ("failed", "crash")),
    _at_load("exec and compile patched", "import builtins\nbuiltins.exec = builtins.compile = lambda *_, **__: None"),
    _at_load("isinstance patched", "import builtins\nbuiltins.isinstance = builtins.issubclass = lambda *_: True"),
    _at_load("type patched", "import builtins\nbuiltins.type = builtins.int = lambda *_: bool", ("failed", "crash")),
    _at_load("print of the verdict", "print('passed')\nprint('{\"passed\": true}', flush=True)"),
    _at_load(
        "the verdict on every descriptor",
        "import os\nfor fd in range(64):\n    try:\n        os.write(fd, b'passed\\n')\n    except OSError:\n        pass",
        ("crash", "output"),
    ),
    _at_load(
        "the patch of json",
        "import json\njson.dumps = lambda *_, **__: '{\"status\": \"passed\"}'\njson.loads = lambda *_: {'status': 'passed'}",
    ),
    _at_load("os.write patched", "import os\nos.write = lambda fd, data: len(data)"),
    _at_load("os.read patched", "import os\nos.read = lambda *_: b''\nos._exit = lambda _: None"),
    _at_load(
        "a proxy for multiprocessing",
        "import multiprocessing.queues, multiprocessing.connection\n"
        "multiprocessing.queues.Queue.put = lambda *_: None\n"
        "multiprocessing.connection.Connection.send = lambda *_: None",
    ),
    _at_load("unittest patched", "import unittest\nunittest.TestCase.assertEqual = lambda *_: None"),
    _at_load("asserts switched off", "import sys\nsys.flags.__class__\n__debug__ and None\n", ("failed",)),
)

NAMES = (
    Attack(
        name="helper of the prompt redefined",
        problem="unfold",
        completion="    return text\n\n\ndef fold(text):\n    return text\n",
    ),
    Attack(
        name="helper of the prompt replaced in a call",
        problem="unfold",
        completion="    globals()['fold'] = lambda t: t\n    return text\n",
    ),
    Attack(
        name="helper of the prompt that remembers",
        problem="unfold",
        program="class Same(str):\n    def __eq__(self, other):\n        return True\n    __hash__ = str.__hash__\n\n"
        "def fold(text):\n    return Same(text)\n\ndef unfold(text):\n    return text\n",
    ),
    Attack(name="check defined in the program", program="def check(candidate):\n    pass\n" + WRONG),
    Attack(
        name="check replaced in a call",
        program="def add(a, b):\n    globals()['check'] = lambda _: None\n    return 0\n",
    ),
    Attack(
        name="a decorator at the end of the file",
        program="def add(a, b):\n    return 0\n\n\ndef nothing(_):\n    return lambda *_: None\n\n\n@nothing",
        statuses=("compile",),
    ),
    Attack(
        name="a decorator and a comment at the end",
        completion="    return 0\n\n\n@(lambda _: lambda *_: None)\n#",
        statuses=("compile",),
    ),
    Attack(name="an open string at the end", completion='    return 0\n\n\n"""', statuses=("compile",)),
    Attack(name="an open bracket at the end", completion="    return 0\n\n\nx = (", statuses=("compile",)),
    Attack(name="a backslash at the end", completion="    return 0\n\n\nx = 1 + \\", statuses=("compile",)),
    Attack(name="an if that leaves the tests out", completion="    return 0\n\n\nif False:", statuses=("compile",)),
    Attack(name="a return at module level", completion="    return 0\n\nreturn", statuses=("compile",)),
    Attack(name="no function at all", program="add = None\n"),
    Attack(name="another name", program="def sum_of(a, b):\n    return a + b\n", message="NameError"),
    Attack(name="the function deleted", program="def add(a, b):\n    return a + b\ndel add\n"),
    Attack(
        name="a class in place of the function",
        program="class add:\n    def __init__(self, *_): pass\n    __eq__ = lambda *_: True\n",
    ),
    Attack(
        name="a mock in place of the function",
        program="from unittest.mock import MagicMock\nadd = MagicMock()\nadd.return_value.__eq__ = lambda *_: True\n",
    ),
    Attack(
        name="an entry point that is a property of the module",
        program="import sys, types\nclass Module(types.ModuleType):\n    @property\n    def add(self):\n        raise SystemExit(0)\n"
        "sys.modules[__name__].__class__ = Module\n",
    ),
)

LOOKING = (
    Attack(
        name="frames walked for the expected values",
        program="""
import sys

def add(a, b):
    frame = sys._getframe(1)
    while frame is not None:
        for const in frame.f_code.co_consts:
            if type(const) is str and 'thirty-five' in const:
                source = [c for c in frame.f_code.co_consts if type(c) is int]
                answers = {(1, 2): 3, (-4, 4): 0, (7, 35): 42, (10 ** 20, 5): 10 ** 20 + 5}
                return answers.get((a, b), source and source[0])
        frame = frame.f_back
    return 0
""",
    ),
    Attack(
        name="locals of the callers changed",
        program="""
import ctypes, sys

def add(a, b):
    frame = sys._getframe(1)
    while frame is not None:
        for name in list(frame.f_locals):
            if name in ('candidate', 'check'):
                frame.f_locals[name] = lambda *_: None
                return a + b
        frame = frame.f_back
    return 0
""",
    ),
    Attack(
        name="the tests found by the garbage collector",
        program="""
import gc, types

def add(a, b):
    for each in gc.get_objects():
        if isinstance(each, types.FunctionType) and each.__code__.co_name == 'check':
            return a + b
        if isinstance(each, dict) and callable(each.get('check')) and 'candidate' in each.get('check').__code__.co_varnames:
            return a + b
    return 0
""",
    ),
    Attack(
        name="bytecode of the callers replaced",
        program="""
import sys

def nothing(*_, **__):
    return None

def add(a, b):
    frame = sys._getframe(1)
    while frame is not None:
        for value in list(frame.f_globals.values()) + list(frame.f_locals.values()):
            code = getattr(value, '__code__', None)
            if code is not None and code.co_name in ('check', '_failed', 'run'):
                try:
                    value.__code__ = nothing.__code__
                except (AttributeError, ValueError):
                    pass
        frame = frame.f_back
    return 0
""",
    ),
    Attack(
        name="lines of the tests skipped by a trace function",
        program="""
import sys

def skip(frame, event, arg):
    if frame.f_code.co_name == 'check':
        if event == 'line':
            frame.f_lineno = max(line for _, _, line in frame.f_code.co_lines() if line)
        return skip
    return skip

def add(a, b):
    sys.settrace(skip)
    frame = sys._getframe(1)
    while frame is not None:
        frame.f_trace = skip
        frame = frame.f_back
    return a + b if b == 2 else 0
""",
    ),
    Attack(
        name="a profile function that leaves",
        program="import sys\ndef leave(frame, event, arg):\n    if event == 'return' and frame.f_code.co_name == 'add':\n"
        "        raise SystemExit(0)\nsys.setprofile(leave)\n" + WRONG,
    ),
    Attack(
        name="values of the tests read from the traceback",
        program="""
import sys

def add(a, b):
    try:
        raise KeyError
    except KeyError as error:
        frame = error.__traceback__.tb_frame.f_back
    while frame is not None:
        if frame.f_code.co_name == 'check' or frame.f_code.co_filename == '<tests>':
            return a + b
        frame = frame.f_back
    return 0
""",
    ),
    Attack(
        name="the tests found in modules",
        program="""
import sys

def add(a, b):
    for module in list(sys.modules.values()):
        for value in list(getattr(module, '__dict__', {}).values()):
            if getattr(value, '__name__', '') == 'check' and 'candidate' in getattr(value.__code__, 'co_varnames', ()):
                return a + b
    return 0
""",
    ),
    Attack(
        name="the tests found by the names of files",
        program="""
import glob, linecache, os

def add(a, b):
    for name in list(linecache.cache):
        if any('def check' in line for line in linecache.getlines(name) if 'lookout' not in name and name != __file__):
            return a + b
    for name in glob.glob('/tmp/**', recursive=True) + glob.glob(os.getcwd() + '/**', recursive=True):
        try:
            if b'def check' in open(name, 'rb').read():
                return a + b
        except OSError:
            pass
    return 0
""",
    ),
    Attack(
        name="the tests found in its own memory",
        program="""
import re

def add(a, b):
    word = b'seven and ' + b'thirty-' + b'five'
    try:
        with open('/proc/self/maps') as maps, open('/proc/self/mem', 'rb', 0) as memory:
            for line in maps:
                start, end = (int(part, 16) for part in line.split()[0].split('-'))
                if 'rw' in line and end - start < 1 << 26:
                    memory.seek(start)
                    try:
                        if word in memory.read(end - start).replace(b'seven and thirty-five in ', b''):
                            return a + b
                    except OSError:
                        pass
    except OSError:
        return 'held'
    return 0
""",
    ),
    Attack(
        name="the tests found through ctypes",
        program="""
import ctypes

def add(a, b):
    api = ctypes.pythonapi
    api.PyEval_GetFrame.restype = ctypes.py_object
    frame = api.PyEval_GetFrame()
    while frame is not None:
        if frame.f_code.co_name == 'check':
            return a + b
        frame = frame.f_back
    return 0
""",
    ),
    Attack(
        name="one for True",
        problem="is_leap",
        program="def is_leap(year):\n    return int(year % 4 == 0 and (year % 100 != 0 or year % 400 == 0))\n",
    ),
    Attack(name="a text for True", problem="is_leap", program="def is_leap(year):\n    return 'True'\n"),
    Attack(
        name="a late answer after a limit that was swallowed",
        program="""
import signal, time

def add(a, b):
    end = time.monotonic() + 1.3
    while time.monotonic() < end:
        try:
            time.sleep(5)
        except BaseException:
            pass
    return a + b
""",
        statuses=("timeout",),
        late=True,
    ),
    Attack(
        name="a late answer behind ignored signals",
        program="""
import signal, time

for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass

def add(a, b):
    end = time.monotonic() + 3
    while time.monotonic() < end:
        pass
    return a + b
""",
        statuses=("timeout",),
        late=True,
    ),
    Attack(
        name="time in many short calls",
        program="import time\ndef add(a, b):\n    time.sleep(0.4)\n    return a + b\n",
        statuses=("timeout",),
        slow=True,
    ),
    Attack(
        name="clocks patched",
        program="import time\nfor name in ('time', 'monotonic', 'perf_counter', 'process_time'):\n"
        "    setattr(time, name, lambda: 0.0)\ntime.clock_gettime_ns = lambda _: 0\n"
        "def add(a, b):\n    while True:\n        pass\n",
        statuses=("timeout",),
        slow=True,
    ),
    Attack(
        name="CPU in side threads",
        program="import threading\ndef burn():\n    while True:\n        pass\n"
        "def add(a, b):\n    for _ in range(3):\n        threading.Thread(target=burn, daemon=True).start()\n"
        "    threading.Event().wait()\n",
        statuses=("timeout",),
        late=True,
    ),
)

VALUES_OF_ITS_OWN = """
class Any({base}):
    def __eq__(self, other):
        return True
    __ne__ = lambda self, other: False
    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __eq__
    __hash__ = lambda self: 0
    __bool__ = lambda self: True
    __sub__ = __rsub__ = __abs__ = __round__ = lambda self, *_: 0
    __len__ = lambda self: {length}
    __iter__ = lambda self: iter({items})
    __getitem__ = lambda self, key: 2
    __float__ = lambda self: 2.0
    startswith = lambda self, *_: True
    items = lambda self: [("q", 1)]


def {name}(*_):
    return {value}
"""


def _equal(
    name: str, problem: str, base: str, value: str = "Any()", length: str = "4", items: str = "[6, 8]"
) -> Attack:
    text = VALUES_OF_ITS_OWN.format(base=base, length=length, items=items, name=problem, value=value)
    return Attack(name=name, problem=problem, program=text)


EQUAL = (
    _equal("an object that equals everything", "add", "object"),
    _equal("an int that equals everything", "add", "int", "Any(9)"),
    _equal("a list that equals everything", "evens", "list", length="5"),
    _equal("a list with items that equal everything", "evens", "int", "[Any(), Any()]"),
    _equal("a str that equals everything", "shout", "str"),
    _equal("a float that equals everything", "mean", "float", "Any(9.0)"),
    _equal("a dict that equals everything", "counts", "dict"),
    _equal("a dict of values that equal everything", "counts", "int", "{'a': Any(), 'x': Any()}"),
    _equal("a dict of keys that equal everything", "counts", "str", "{Any('z'): 2}"),
    _equal("a tuple that equals everything", "ends", "tuple"),
    _equal("a tuple of ints that equal everything", "ends", "int", "(Any(), Any())"),
    _equal("an answer to a callback that equals everything", "twice", "object"),
    _equal("a fold that equals everything", "unfold", "str"),
    Attack(
        name="an object that lies about its class",
        program="class Liar:\n    __class__ = int\n    __eq__ = lambda *_: True\n    __hash__ = lambda _: 3\n    __index__ = lambda _: 3\n"
        "def add(a, b):\n    return Liar()\n",
    ),
    Attack(
        name="a metaclass that lies about its module",
        program="class Meta(type):\n    def __eq__(cls, other):\n        return True\n    __hash__ = type.__hash__\n    def mro(cls):\n        return [cls, object]\n"
        "class Thing(metaclass=Meta):\n    __module__ = 'builtins'\n    __eq__ = lambda *_: True\n    __hash__ = None\n"
        "Thing.__name__ = Thing.__qualname__ = 'int'\ndef add(a, b):\n    return Thing()\n",
        statuses=("failed", "output"),
    ),
    Attack(
        name="an object that says it is of numpy",
        program="class Thing:\n    __module__ = 'numpy'\n    def tolist(self):\n        return Thing()\n    __eq__ = lambda *_: True\n"
        "def add(a, b):\n    return Thing()\n",
        statuses=("failed", "output"),
    ),
    Attack(
        name="an object that says it is a Fraction",
        program="class Fraction:\n    __module__ = 'fractions'\n    numerator = denominator = property(lambda self: self)\n    __eq__ = lambda *_: True\n"
        "def add(a, b):\n    return Fraction()\n",
        statuses=("failed", "output"),
    ),
    Attack(
        name="an object that says it is a Decimal",
        program="class Decimal:\n    __module__ = 'decimal'\n    __str__ = lambda _: 'sNaN'\n    __eq__ = lambda *_: True\n"
        "def add(a, b):\n    return Decimal()\n",
        statuses=("failed", "output"),
    ),
    Attack(name="nan", problem="mean", program="def mean(numbers):\n    return float('nan')\n"),
    Attack(name="infinity", problem="mean", program="def mean(numbers):\n    return float('inf')\n"),
    Attack(name="a float that is near", program="def add(a, b):\n    return a + b + 1e-9\n"),
    Attack(
        name="keys that are nan",
        problem="counts",
        program="def counts(words):\n    return {float('nan'): 2, 'a': float('nan')}\n",
    ),
    Attack(
        name="a decimal that is near",
        program="from decimal import Decimal\ndef add(a, b):\n    return Decimal(a + b) + Decimal('0.1')\n",
    ),
    Attack(name="NotImplemented", program="def add(a, b):\n    return NotImplemented\n"),
    Attack(name="a type for a value", program="def add(a, b):\n    return int\n"),
    Attack(
        name="a generator for a list",
        problem="evens",
        program="def evens(numbers):\n    return (n for n in numbers if n % 2 == 0)\n",
    ),
    Attack(
        name="a coroutine for a value",
        program="async def add(a, b):\n    return a + b\nimport warnings\nwarnings.simplefilter('ignore')\n",
    ),
    Attack(
        name="an error that equals the one that is wanted",
        problem="root",
        program="class Meta(type):\n    __instancecheck__ = __subclasscheck__ = lambda *_: True\n"
        "class Error(Exception, metaclass=Meta):\n    __class__ = ValueError\n    __str__ = lambda _: 'below'\n"
        "def root(x):\n    if x < 0:\n        raise Error('below')\n    return int(x ** 0.5)\n",
    ),
    Attack(
        name="a callback that is not called",
        problem="twice",
        program="def twice(f, x):\n    return 7 if x == 1 else x + '!!'\n",
    ),
    Attack(
        name="a callback looked into",
        problem="twice",
        program="def twice(f, x):\n    cell = (f.__closure__ or [None])[0]\n    frame_globals = getattr(f, '__globals__', {})\n"
        "    frame_globals['seen'] = [1, 4]\n    for each in f.__closure__ or ():\n        try:\n"
        "            each.cell_contents[:] = [1, 4]\n        except Exception:\n            pass\n    return 7 if x == 1 else x + '!!'\n",
    ),
)

CHEATS = (*LEAVING, *PATCHES, *NAMES, *LOOKING, *EQUAL)
