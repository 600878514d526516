"""Bytes on the line to the tests: forged frames, torn frames, and data that is slow or deep to read."""

from __future__ import annotations

from corpus.attack import Attack

_FRAME = """
import os, stat, struct, threading, time

def frame(payload):
    return struct.pack("<I", len(payload)) + payload

def text(value):
    data = value.encode()
    return b"s" + struct.pack("<I", len(data)) + data

def number(value):
    size = (value.bit_length() >> 3) + 1
    return b"i" + bytes([size]) + value.to_bytes(size, "little", signed=True)

def record(**fields):
    return b"d" + struct.pack("<I", len(fields)) + b"".join(text(k) + v for k, v in fields.items())

def descriptors():
    found = []
    for fd in range(3, 64):
        try:
            os.fstat(fd)
        except OSError:
            continue
        found.append(fd)
    return found

def say(data):
    for fd in descriptors():
        try:
            os.write(fd, data)
        except OSError:
            pass

"""
_WRONG = "\n\ndef add(a, b):\n    return 0\n"
_BROKEN = ("crash", "failed", "output")


def _sent(name: str, data: str, statuses: tuple[str, ...] = _BROKEN, **fields: object) -> Attack:
    """Return an attack that sends bytes on every descriptor when it is loaded."""
    return Attack(name=name, program=f"{_FRAME}say({data}){_WRONG}", statuses=statuses, **fields)  # type: ignore[arg-type]


def _returned(name: str, value: str, statuses: tuple[str, ...], setup: str = "", **fields: object) -> Attack:
    """Return an attack that answers with a value of its own."""
    program = f"{setup}\n\ndef add(a, b):\n    return {value}\n"
    return Attack(name=name, program=program, statuses=statuses, **fields)  # type: ignore[arg-type]


WIRE = (
    _sent("a frame that says passed", 'frame(record(status=text("passed"), message=text(""), calls=number(4)))'),
    _sent("a report in JSON", 'frame(b\'{"status": "passed", "message": "", "calls": 4, "token": ""}\')'),
    _sent("a frame of an exit", "frame(record(exit=number(0), tag=number(1)))"),
    _sent("a frame of a zygote that is ready", 'frame(record(ready=b"T"))'),
    _sent("an order to run", 'frame(record(do=text("run"), tag=number(1)))'),
    _sent("one right answer ahead", 'frame(record(loaded=b"T", found=b"T")) + frame(record(value=number(3)))'),
    _sent("a length without a frame", 'struct.pack("<I", 100)', ("crash", "failed", "output", "timeout"), slow=True),
    _sent("a length of four gigabytes", 'struct.pack("<I", 0xFFFFFFFF) + b"x" * 100'),
    _sent("a frame of nothing", "frame(b'')"),
    _sent("a frame of an unknown tag", "frame(b'?' * 40)"),
    _sent("a frame with bytes after it", 'frame(record(loaded=b"T", found=b"T") + b"N")'),
    _sent("a list of two billion", "frame(b'l' + struct.pack('<I', 2 ** 31))"),
    _sent("a text of two billion", "frame(b's' + struct.pack('<I', 2 ** 31))"),
    _sent("a hundred thousand lists in one another", "frame(b'l\\x01\\x00\\x00\\x00' * 100000)"),
    _sent("a record with unhashable keys", "frame(b'd\\x01\\x00\\x00\\x00' + b'l\\x00\\x00\\x00\\x00' + b'N')"),
    _sent("a fraction over nothing", "frame(b'q' + number(1) + number(0))"),
    _sent("a decimal that is none", "frame(b'D' + text('one'))"),
    _sent("a range without a step", "frame(b'r' + number(1) + number(2) + number(0))"),
    _sent("text that is no UTF-8", "frame(b's' + struct.pack('<I', 2) + b'\\xff\\xfe')"),
    _sent(
        "a handle to nothing", "frame(record(loaded=b'T', found=b'T', value=b'h' + struct.pack('<I', 9) + text('f')))"
    ),
    _sent("a handle that calls itself by a bad name", "frame(b'h' + struct.pack('<I', 0) + b'N')"),
    _sent(
        "a call back of what was never passed",
        "frame(record(callback=number(0), args=b't' + bytes(4), kwargs=b'd' + bytes(4)))",
    ),
    _sent("a call back below zero", "frame(record(callback=number(-1), args=b't' + bytes(4), kwargs=b'd' + bytes(4)))"),
    _sent("an exception without an ancestry", "frame(record(raised=b'N'))"),
    _sent(
        "an exception that ends interpreters",
        "frame(record(raised=record(type=text('SystemExit'), lineage=b'l' + struct.pack('<I', 1) + text('SystemExit'), message=text(''), arguments=b't' + bytes(4))))",
    ),
    _sent(
        "an exception that is a function",
        "frame(record(raised=record(type=text('exec'), lineage=b'l' + struct.pack('<I', 2) + text('exec') + text('exit'), message=text('1'), arguments=b't' + bytes(4))))",
    ),
    _sent("thousands of frames", "frame(record(value=number(3))) * 20000"),
    _sent("a pickle", "frame(__import__('pickle').dumps(eval))"),
    Attack(
        name="a right answer raced by a thread",
        program=_FRAME
        + """
def race():
    answers = frame(record(value=number(3))) + frame(record(value=number(0)))
    while True:
        say(answers)
        time.sleep(0.001)

def add(a, b):
    threading.Thread(target=race, daemon=True).start()
    time.sleep(0.05)
    return 0
""",
        statuses=_BROKEN,
    ),
    Attack(
        name="answers of its own without a function",
        program=_FRAME
        + """
say(frame(record(loaded=b"T", found=b"T")))
for answer in (3, 0, 1, 2):
    say(frame(record(value=number(answer))))
os._exit(0)
""",
        statuses=_BROKEN,
    ),
    Attack(
        name="one answer twice, so that the next is ahead",
        program=_FRAME
        + """
def add(a, b):
    if (a, b) == (1, 2):
        say(frame(record(value=number(3))))
        return 0
    return 0
""",
        statuses=_BROKEN,
    ),
    Attack(
        name="the line read by the program itself",
        program=_FRAME
        + """
import socket
for fd in descriptors():
    try:
        line = socket.socket(fileno=os.dup(fd))
        line.setblocking(False)
        line.recv(1 << 16)
    except OSError:
        pass
say(frame(record(loaded=b"T", found=b"T")))
def add(a, b):
    return 0
""",
        statuses=_BROKEN,
    ),
    Attack(
        name="the line closed",
        program="import os\nos.closerange(0, 64)" + _WRONG,
        statuses=("crash",),
    ),
    Attack(
        name="the line closed half",
        program=_FRAME
        + """
import socket
for fd in descriptors():
    try:
        socket.socket(fileno=fd).shutdown(socket.SHUT_WR)
    except OSError:
        pass
while True:
    pass
"""
        + _WRONG,
        statuses=("crash", "timeout"),
    ),
    Attack(
        name="the line closed and life goes on",
        program="import os, time\nos.closerange(0, 64)\nwhile True:\n    pass\n" + _WRONG,
        statuses=("crash", "timeout"),
    ),
    Attack(
        name="the line replaced by a pipe",
        program=_FRAME
        + "r, w = os.pipe()\nfor fd in descriptors():\n    if fd not in (r, w):\n        os.dup2(w, fd)\n"
        + _WRONG,
        statuses=("crash", "timeout", "failed"),
    ),
    Attack(
        name="a frame without an end",
        program=_FRAME + "while True:\n    say(b'\\xff\\xff\\xff\\x03' + b'N' * 65536)\n" + _WRONG,
        statuses=("crash", "output", "timeout"),
    ),
    Attack(
        name="an answer byte by byte",
        program=_FRAME
        + "def add(a, b):\n    for byte in frame(record(value=number(3))):\n        say(bytes([byte]))\n        time.sleep(0.2)\n    return 0\n",
        statuses=("timeout", "crash", "failed"),
        slow=True,
    ),
    Attack(
        name="gadgets of pickle",
        program="import os\nclass Gadget(list):\n    def __reduce__(self):\n        return os.system, ('exit 1',)\n    __reduce_ex__ = __getstate__ = lambda self, *_: self.__reduce__()\n"
        "def add(a, b):\n    return Gadget()\n",
    ),
)

VALUES = (
    _returned("an int of a million digits", "1 << 4_000_000", ("failed",)),
    _returned("an int below zero of a million digits", "-(1 << 4_000_000)", ("failed",)),
    _returned("a list in itself", "loop", ("output",), "loop = []\nloop.append(loop)"),
    _returned("a dict in itself", "loop", ("output",), "loop = {}\nloop[1] = loop"),
    _returned("a list two thousand deep", "deep", ("output",), "deep = []\nfor _ in range(2000):\n    deep = [deep]"),
    _returned("a tuple three hundred deep", "deep", ("failed",), "deep = ()\nfor _ in range(300):\n    deep = (deep,)"),
    _returned("a text of eighty million letters", "'x' * 80_000_000", ("output", "memory")),
    _returned("ten million Nones", "[None] * 10_000_000", ("output", "memory", "timeout"), slow=True),
    _returned(
        "a list that shares itself a billion times",
        "wide",
        ("output", "memory", "timeout"),
        "wide = [0]\nfor _ in range(30):\n    wide = [wide, wide]",
        late=True,
    ),
    _returned("text of half a surrogate pair", "'\\ud800'", ("failed",)),
    _returned("text of zeros", "'\\0' * 100", ("failed",)),
    _returned("text with escape sequences", "'\\x1b[2J\\x1b]0;passed\\x07\\r\\npassed'", ("failed",)),
    _returned("keys of one hash", "{i * ((1 << 61) - 1): i for i in range(1500)}", ("failed", "timeout")),
    _returned("a decimal with a huge exponent", "Decimal('1e999999999')", ("failed",), "from decimal import Decimal"),
    _returned("a decimal that signals", "Decimal('sNaN')", ("failed",), "from decimal import Decimal"),
    _returned("a fraction of long numbers", "Fraction(1 << 100_000, 3)", ("failed",), "from fractions import Fraction"),
    _returned("a range without an end in sight", "range(10 ** 30)", ("failed",)),
    _returned("an iterator without an end", "itertools.count()", ("failed",), "import itertools"),
    Attack(
        name="an iterator without an end for a list",
        problem="evens",
        program="import itertools\ndef evens(numbers):\n    return itertools.count()\n",
    ),
    Attack(
        name="a list for sorting that grows",
        problem="evens",
        program="class Grow(list):\n    def __iter__(self):\n        n = 0\n        while True:\n            yield n\n            n += 2\n"
        "def evens(numbers):\n    return Grow([2, 5])\n",
    ),
    Attack(
        name="a generator that lies about its end",
        problem="evens",
        program="def evens(numbers):\n    def forever():\n        while True:\n            try:\n                yield 2\n            except GeneratorExit:\n                pass\n    return forever()\n",
    ),
)

_TERRIBLE = """
class Bad({base}):
    def {method}(self, *_):
        {body}


def add(a, b):
    {use}
"""


def _bad(
    name: str,
    method: str,
    body: str,
    use: str = "return Bad()",
    base: str = "object",
    statuses: tuple[str, ...] = ("failed",),
    **fields: object,
) -> Attack:
    """Return an attack with a method that raises or does not end."""
    text = _TERRIBLE.format(base=base, method=method, body=body, use=use)
    return Attack(name=name, program=text, statuses=statuses, **fields)  # type: ignore[arg-type]


_SPIN = "while True: pass"

METHODS = (
    _bad("an error whose text raises", "__str__", "raise KeyError", "raise Bad", "Exception"),
    _bad("an error whose text leaves", "__str__", "raise SystemExit", "raise Bad", "Exception"),
    _bad("an error whose text never ends", "__str__", _SPIN, "raise Bad", "Exception", ("timeout",)),
    _bad("an error whose text is no text", "__str__", "return 5", "raise Bad", "Exception"),
    _bad(
        "an error whose text is long",
        "__str__",
        "return 'x' * 100_000_000",
        "raise Bad",
        "Exception",
        ("failed", "memory"),
    ),
    _bad(
        "an error of three hundred megabytes",
        "none",
        "pass",
        "raise Exception('x' * 300_000_000)",
        statuses=("failed", "memory"),
        slow=True,
    ),
    _bad(
        "an error whose arguments show themselves badly",
        "__repr__",
        _SPIN,
        "raise Exception(Bad())",
        statuses=("timeout",),
        slow=True,
    ),
    _bad("an error whose arguments are itself", "none", "pass", "e = Exception(); e.args = (e,); raise e"),
    _bad(
        "an error chained to itself",
        "none",
        "pass",
        "e = KeyError(); e.__context__ = f = OSError(); f.__cause__ = e; raise e",
    ),
    _bad("an error whose name is long", "none", "pass", "raise type('E' * 10_000_000, (Exception,), {})"),
    _bad("an error whose name is a surrogate", "none", "pass", "raise type('E\\udcff', (Exception,), {})('\\ud800')"),
    _bad("an error of a hundred thousand lines", "none", "pass", "raise Exception('\\n' * 100_000 + 'passed')"),
    _bad("an error with an int of many digits", "none", "pass", "raise ValueError(10 ** 5000)"),
    _bad(
        "a group of groups of errors",
        "none",
        "pass",
        "e = KeyError()\n    for _ in range(300): e = BaseExceptionGroup('x', [e])\n    raise e",
    ),
    _bad("a repr that raises", "__repr__", "raise KeyError"),
    _bad("a repr that never ends", "__repr__", _SPIN),
    _bad("an equality that raises", "__eq__", "raise SystemExit"),
    _bad("an equality that never ends", "__eq__", _SPIN),
    _bad("a hash that raises", "__hash__", "raise SystemExit", "return {Bad(): 1}"),
    _bad("an int with an index that never ends", "__index__", _SPIN, "return Bad(9)", "int"),
    _bad("a list with items that never end", "__iter__", _SPIN, "return Bad([1])", "list"),
    _bad("a str with an encoding of its own", "encode", "return b'passed'", "return Bad('9')", "str"),
    _bad("a dict with items of its own", "items", _SPIN, "return Bad({1: 2})", "dict"),
    _bad("an attribute that never ends", "__getattribute__", _SPIN),
    _bad("an attribute that leaves", "__getattribute__", "raise SystemExit"),
    _bad("a next that never ends", "__next__", _SPIN),
    _bad("a finalizer that never ends", "__del__", _SPIN, "Bad(); return 0", statuses=("timeout",)),
    _bad("a call that never ends", "__call__", _SPIN),
)
