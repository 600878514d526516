"""Odd but legal programs, which must pass."""

from __future__ import annotations

from corpus.attack import Control


def _add(name: str, body: str, before: str = "", after: str = "", **fields: object) -> Control:
    """Return a control on the problem ``add``: what stands before the function, its body, and what comes after."""
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    return Control(name=name, program=f"{before}\n\ndef add(a, b):\n{indented}\n\n{after}\n", **fields)  # type: ignore[arg-type]


CONTROLS = (
    _add(
        "prints a lot",
        "print('x' * 100_000)\nreturn a + b",
        "import sys\nfor i in range(20_000):\n    print(i, file=sys.stderr)",
    ),
    _add("prints what looks like a verdict", "print('failed: everything')\nreturn a + b"),
    _add(
        "prints odd letters",
        "print('\\ud83d\\ude00 \\u0000 \\u202e \\x1b[31m'.encode('utf-8', 'replace'))\nreturn a + b",
    ),
    _add("writes to descriptors of output", "os.write(1, b'x')\nos.write(2, b'y')\nreturn a + b", "import os"),
    _add(
        "runs threads",
        "out = []\nthreads = [threading.Thread(target=out.append, args=(n,)) for n in (a, b)]\n[t.start() for t in threads]\n[t.join() for t in threads]\nreturn sum(out)",
        "import threading",
    ),
    _add(
        "uses a pool of threads",
        "with ThreadPoolExecutor(4) as pool:\n    return sum(pool.map(int, (a, b)))",
        "from concurrent.futures import ThreadPoolExecutor",
    ),
    _add(
        "leaves a daemon thread",
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\nreturn a + b",
        "import threading",
    ),
    _add(
        "uses queues and locks",
        "q = queue.Queue()\nwith threading.RLock():\n    q.put(a)\n    q.put(b)\nreturn q.get() + q.get()",
        "import queue, threading",
    ),
    _add(
        "runs asyncio",
        "async def both():\n    await asyncio.sleep(0)\n    return sum(await asyncio.gather(*(asyncio.sleep(0, n) for n in (a, b))))\nreturn asyncio.run(both())",
        "import asyncio",
    ),
    _add(
        "uses asynchronous comprehensions",
        "async def numbers():\n    for n in (a, b):\n        yield n\nasync def total():\n    return sum([n async for n in numbers()])\nreturn asyncio.run(total())",
        "import asyncio",
    ),
    _add("asyncio in a thread", "return asyncio.run(asyncio.to_thread(int.__add__, a, b))", "import asyncio"),
    _add(
        "imports numpy",
        "if abs(a) + abs(b) < 1000:\n    return int(np.sum(np.array([a, b], dtype=np.int64)))\nreturn a + b",
        "import numpy as np",
    ),
    _add(
        "returns a number of numpy",
        "return np.int64(a) + np.int64(b) if abs(a) < 1000 else a + b",
        "import numpy as np",
    ),
    _add("multiplies matrices", "m = np.eye(40) @ np.eye(40)\nreturn a + b + int(m.sum()) - 40", "import numpy as np"),
    Control(
        name="returns an array for a list",
        needs_referee=True,
        problem="evens",
        program="import numpy as np\ndef evens(numbers):\n    kept = np.array(numbers, dtype=int)\n    return kept[kept % 2 == 0]\n",
    ),
    _add(
        "writes temporary files",
        "with tempfile.TemporaryDirectory() as d, tempfile.NamedTemporaryFile('w+', dir=d) as f:\n    f.write(str(a))\n    f.seek(0)\n    return int(f.read()) + b",
        "import tempfile",
    ),
    _add(
        "writes a file where it stands",
        "pathlib.Path('kept.txt').write_text(str(b))\nreturn a + int(pathlib.Path('kept.txt').read_text())",
        "import pathlib",
    ),
    _add(
        "makes and removes folders",
        "os.makedirs('a/b/c', exist_ok=True)\nshutil.rmtree('a')\nreturn a + b",
        "import os, shutil",
    ),
    _add(
        "keeps an archive in memory",
        "box = io.BytesIO()\nwith zipfile.ZipFile(box, 'w') as z:\n    z.writestr('x', str(b))\nreturn a + int(zipfile.ZipFile(box).read('x'))",
        "import io, zipfile",
    ),
    _add(
        "keeps a database in memory",
        "with contextlib.closing(sqlite3.connect(':memory:')) as db:\n    return int(db.execute('select 1').fetchone()[0]) - 1 + a + b",
        "import contextlib, sqlite3",
    ),
    _add(
        "recurses deeply within the limit",
        "def down(n):\n    return a + b if n == 0 else down(n - 1)\nreturn down(900)",
    ),
    _add(
        "raises the limit of recursion",
        "sys.setrecursionlimit(6000)\ndef down(n):\n    return a + b if n == 0 else down(n - 1)\nreturn down(4000)",
        "import sys",
    ),
    _add(
        "catches its recursion",
        "def down():\n    return down()\ntry:\n    return down()\nexcept RecursionError:\n    return a + b",
    ),
    _add("has a main part", "return a + b", after="if __name__ == '__main__':\n    import sys\n    sys.exit(add(1))"),
    _add(
        "has a main function that exits",
        "return a + b",
        after="import sys\ndef main():\n    sys.exit(3)\nif __name__ == '__main__':\n    main()",
    ),
    _add("reads its own source", "assert 'inspect' in inspect.getsource(add)\nreturn a + b", "import inspect"),
    _add("looks at its own frame", "assert sys._getframe().f_code.co_name == 'add'\nreturn a + b", "import sys"),
    _add(
        "reads a traceback",
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    assert 'add' in traceback.format_exc()\nreturn a + b",
        "import traceback",
    ),
    _add("catches what it exits with", "try:\n    sys.exit(1)\nexcept SystemExit:\n    return a + b", "import sys"),
    _add("catches everything", "try:\n    raise KeyboardInterrupt\nexcept BaseException:\n    return a + b"),
    _add(
        "catches a want of memory",
        "try:\n    bytearray(1 << 40)\nexcept MemoryError:\n    return a + b",
    ),
    _add(
        "returns from a finally",
        "for _ in range(3):\n    try:\n        raise KeyError\n    finally:\n        break\nreturn a + b",
        before="import warnings\nwarnings.simplefilter('ignore')",
    ),
    _add(
        "catches groups of errors",
        "try:\n    raise ExceptionGroup('x', [KeyError(), ValueError()])\nexcept* KeyError:\n    pass\nexcept* ValueError:\n    pass\nreturn a + b",
    ),
    Control(
        name="raises an error of its own",
        problem="root",
        program="class Below(ValueError):\n    def __init__(self, number, hint):\n        super().__init__(f'{number} is below zero, {hint}')\ndef root(x):\n    if x < 0:\n        raise Below(x, 'see')\n    return int(x ** 0.5)\n",
    ),
    Control(
        name="raises an error from another",
        problem="root",
        program="def root(x):\n    try:\n        return int(x ** 0.5)\n    except TypeError as error:\n        raise ValueError('below') from error\n",
    ),
    Control(
        name="a class with a method",
        program="class Solution:\n    def add(self, a, b):\n        return a + b\n\nadd = Solution().add\n",
    ),
    Control(
        name="an object that can be called",
        program="class Add:\n    def __call__(self, a, b):\n        return a + b\n\nadd = Add()\n",
    ),
    Control(name="a lambda", program="add = lambda a, b: a + b\n"),
    Control(name="a builtin", program="from operator import add\n"),
    Control(
        name="a partial function",
        program="import functools\ndef three(c, a, b):\n    return a + b + c\nadd = functools.partial(three, 0)\n",
    ),
    Control(name="a function made by exec", program="exec('def add(a, b):\\n    return a + b')\n"),
    Control(
        name="a function defined twice", program="def add(a, b):\n    return 0\n\ndef add(a, b):\n    return a + b\n"
    ),
    Control(
        name="a completion with more functions",
        completion="    return helper(a, b)\n\n\ndef helper(a, b):\n    return a + b\n",
    ),
    Control(
        name="a completion that repeats the prompt",
        completion='    return a + b\n\n\ndef add(a: int, b: int) -> int:\n    """Again."""\n    return b + a\n',
    ),
    Control(name="a completion in tabs", program="def add(a, b):\n\tif a:\n\t\treturn a + b\n\treturn b\n"),
    Control(name="lines that end as on Windows", program="def add(a, b):\r\n    return a + b\r\n"),
    Control(name="no line end at the end", program="def add(a, b):\n    return a + b"),
    Control(name="a coding line", program="# -*- coding: utf-8 -*-\ndef add(a, b):\n    return a + b  # größer\n"),
    Control(name="a program of many lines", program="x = 1\n" * 5000 + "def add(a, b):\n    return a + b\n"),
    _add("letters of other alphabets", "größe, 数 = a, b\nreturn größe + 数"),
    _add("letters beyond the first plane", "𝒂, text = a, '😀'\nreturn 𝒂 + b + len(text) - 1"),
    Control(
        name="text of other alphabets",
        problem="shout",
        program="def shout(text):\n    assert 'ß'.upper() == 'SS' and '😀'.isprintable()\n    return text.upper() + '\\N{EXCLAMATION MARK}'\n",
    ),
    _add(
        "generators",
        "def both():\n    got = yield a\n    yield b + (got or 0)\ng = both()\nfirst = next(g)\nreturn first + g.send(0)",
    ),
    _add(
        "yield from",
        "def inner():\n    yield a\n    return b\ndef outer():\n    rest = yield from inner()\n    yield rest\nreturn sum(outer())",
    ),
    Control(
        name="returns a generator's list",
        problem="evens",
        program="def evens(numbers):\n    def pick():\n        yield from (n for n in numbers if not n & 1)\n    return list(pick())\n",
    ),
    _add(
        "data classes",
        "return Pair(a, b).total",
        "from dataclasses import dataclass, field\n@dataclass(frozen=True, order=True)\nclass Pair:\n    a: int\n    b: int = 0\n    more: list = field(default_factory=list)\n    @property\n    def total(self):\n        return self.a + self.b",
    ),
    _add(
        "enumerations",
        "return Number.of(a) + b",
        "import enum\nclass Number(enum.IntEnum):\n    ONE = 1\n    @classmethod\n    def of(cls, n):\n        return cls.ONE if n == 1 else n",
    ),
    _add(
        "named tuples",
        "return sum(Pair(a, b))",
        "from typing import NamedTuple\nclass Pair(NamedTuple):\n    a: int\n    b: int",
    ),
    Control(
        name="returns a named tuple",
        problem="ends",
        program="from collections import namedtuple\nEnds = namedtuple('Ends', 'low high')\ndef ends(numbers):\n    return Ends(min(numbers), max(numbers))\n",
    ),
    Control(
        name="returns a counter",
        problem="counts",
        program="from collections import Counter\ndef counts(words):\n    return Counter(words)\n",
    ),
    Control(
        name="returns a dict with a default",
        problem="counts",
        program="from collections import defaultdict\ndef counts(words):\n    out = defaultdict(int)\n    for w in words:\n        out[w] += 1\n    return out\n",
    ),
    _add(
        "decimals",
        "return int(Decimal(a).quantize(Decimal(1)) + Decimal(b))",
        "from decimal import Decimal, getcontext\ngetcontext().prec = 50",
    ),
    _add("fractions", "return int(Fraction(a, 3) * 3 + Fraction(b))", "from fractions import Fraction"),
    Control(
        name="returns a fraction",
        problem="ends",
        program="from fractions import Fraction\ndef ends(numbers):\n    return Fraction(min(numbers)), Fraction(max(numbers))\n",
    ),
    Control(
        name="returns a number that is equal",
        program="from fractions import Fraction\ndef add(a, b):\n    return Fraction(a + b)\n",
    ),
    _add(
        "a cache of calls",
        "return total(a, b)",
        "import functools\n@functools.lru_cache(maxsize=None)\ndef total(a, b):\n    return a + b",
    ),
    Control(
        name="a cache around the function itself",
        program="import functools\n@functools.cache\ndef add(a, b):\n    return a + b\n",
    ),
    _add(
        "closures",
        "def outer():\n    total = a\n    def inner():\n        nonlocal total\n        total += b\n        return total\n    return inner\nreturn outer()()",
    ),
    _add(
        "global state",
        "global calls\ncalls += 1\nseen.append(calls)\nassert seen == list(range(1, calls + 1))\nreturn a + b",
        "calls = 0\nseen = []",
    ),
    _add(
        "managers of context",
        "with give(a) as x, contextlib.ExitStack() as stack, contextlib.suppress(KeyError):\n    stack.enter_context(give(b))\n    return x + b",
        "import contextlib\n@contextlib.contextmanager\ndef give(x):\n    yield x",
    ),
    _add(
        "patterns of text",
        "found = re.match(r'(?P<a>-?\\d+) (?P<b>-?\\d+)', f'{a} {b}')\nreturn int(found['a']) + int(found['b'])",
        "import re",
    ),
    _add(
        "JSON and base64",
        "data = json.loads(base64.b64decode(base64.b64encode(json.dumps([a, b]).encode())))\nreturn sum(data)",
        "import base64, json",
    ),
    _add("pickles of its own", "return sum(pickle.loads(pickle.dumps([a, b])))", "import pickle"),
    _add("deep copies", "return sum(copy.deepcopy([a, b]))", "import copy"),
    _add(
        "heaps, bisections and tools of iteration",
        "h = [a, b]\nheapq.heapify(h)\nbisect.insort(h, 0)\nreturn list(itertools.accumulate(itertools.chain(h, [0])))[-1]",
        "import bisect, heapq, itertools",
    ),
    _add(
        "sums of arrays and structures",
        "return struct.unpack('<q', struct.pack('<q', a + b))[0] if abs(a) < 1 << 60 else a + b",
        "import array, struct",
    ),
    _add(
        "generic types",
        "return cast(int, a) + b",
        "from typing import Any, Callable, Generic, Optional, Protocol, TypeVar, Union, cast, overload\nT = TypeVar('T')\nclass Box(Generic[T]):\n    value: Optional[T] = None",
    ),
    _add(
        "annotations that are not looked at",
        "x: 'Nothing that exists' = a\nreturn x + b",
        "from __future__ import annotations\ny: Missing | None = None",
    ),
    _add("the walrus", "return (total := a) + b if (total := 1) else 0"),
    _add(
        "the match statement",
        "match (a, b):\n    case (0, y) | (y, 0):\n        return y\n    case (int(x), y) if True:\n        return x + y",
    ),
    _add("formats within formats", "return int(f'{a + b!r:>{30}}'.strip())"),
    _add(
        "an alarm set and taken back",
        "signal.signal(signal.SIGALRM, lambda *_: None)\nsignal.alarm(5)\nsignal.alarm(0)\nreturn a + b",
        "import signal",
    ),
    _add(
        "an alarm that comes",
        "def ring(*_):\n    raise TimeoutError\nsignal.signal(signal.SIGALRM, ring)\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\ntry:\n    signal.pause()\nexcept TimeoutError:\n    pass\nreturn a + b",
        "import signal",
    ),
    _add(
        "a signal to itself that is handled",
        "signal.signal(signal.SIGUSR1, lambda *_: None)\nsignal.raise_signal(signal.SIGUSR1)\nreturn a + b",
        "import signal",
    ),
    _add("warnings", "warnings.warn('slow', DeprecationWarning, stacklevel=2)\nreturn a + b", "import warnings"),
    _add(
        "logging",
        "logging.getLogger(__name__).error('at %s', a)\nreturn a + b",
        "import logging\nlogging.basicConfig(level=logging.DEBUG)",
    ),
    _add(
        "a reading of the environment",
        "return a + b + int(os.environ.get('NOTHING', '0'))",
        "import os\nos.environ['MINE'] = 'x'\nassert os.getenv('MINE') == 'x'",
    ),
    _add(
        "a look at the machine",
        "assert os.cpu_count() and sys.platform and platform.machine()\nreturn a + b",
        "import os, platform, sys",
    ),
    _add(
        "time and dates",
        "assert time.time() > 0 and datetime.datetime.now() and time.strftime('%Y')\ntime.sleep(0.001)\nreturn a + b",
        "import datetime, time",
    ),
    _add(
        "random numbers",
        "random.seed(a)\nassert random.random() != random.random() and uuid.uuid4() and secrets.token_hex(4)\nreturn a + b",
        "import random, secrets, uuid",
    ),
    _add(
        "subprocess imported and not used",
        "return a + b",
        "import subprocess\ndef run():\n    return subprocess.run(['ls'])",
    ),
    _add(
        "multiprocessing imported and not used",
        "return a + b",
        "import multiprocessing\nfrom concurrent.futures import ProcessPoolExecutor",
    ),
    _add("socket imported and not used", "return a + b", "import http.client, socket, ssl, urllib.request"),
    _add(
        "a pair of sockets",
        "x, y = socket.socketpair()\nwith x, y:\n    x.sendall(str(a).encode())\n    return int(y.recv(100)) + b",
        "import socket",
    ),
    _add(
        "pipes and selectors",
        "r, w = os.pipe()\nos.write(w, b'x')\nwith selectors.DefaultSelector() as s:\n    s.register(r, selectors.EVENT_READ)\n    assert s.select(1)\nos.close(r)\nos.close(w)\nreturn a + b",
        "import os, selectors",
    ),
    _add("mapped memory", "with mmap.mmap(-1, 4096) as m:\n    m[:3] = b'abc'\n    return a + b", "import mmap"),
    _add("ctypes", "return a + b + ctypes.c_int(0).value", "import ctypes"),
    _add(
        "unittest in the program",
        "return a + b",
        "import unittest\nclass Tests(unittest.TestCase):\n    def test(self):\n        self.assertEqual(1, 1)",
    ),
    _add("doctests run at load", "'''\n>>> add(1, 1)\n2\n'''\nreturn a + b", after="import doctest\ndoctest.testmod()"),
    _add(
        "asserts of its own at load",
        "return a + b",
        after="assert add(2, 2) == 4\ndef check(candidate):\n    assert candidate(0, 0) == 0\ncheck(add)",
    ),
    _add("something done at exit", "return a + b", "import atexit\natexit.register(print, 'bye')"),
    _add("a hook of exceptions", "return a + b", "import sys\nsys.excepthook = lambda *_: None"),
    _add("a trace for a moment", "sys.settrace(None)\nreturn a + b", "import sys"),
    _add(
        "weak references and collection",
        "class A: pass\nx = A()\nr = weakref.ref(x)\ndel x\ngc.collect()\nassert r() is None\nreturn a + b",
        "import gc, weakref",
    ),
    _add(
        "a class with slots and a metaclass",
        "return Adder(a).plus(b)",
        "class Meta(type):\n    def __new__(mcls, name, bases, ns):\n        return super().__new__(mcls, name, bases, ns)\nclass Adder(metaclass=Meta):\n    __slots__ = ('n',)\n    def __init__(self, n):\n        self.n = n\n    def plus(self, m):\n        return self.n + m",
    ),
    _add(
        "an abstract class",
        "return Real().value(a, b)",
        "import abc\nclass Base(abc.ABC):\n    @abc.abstractmethod\n    def value(self, a, b): ...\nclass Real(Base):\n    def value(self, a, b):\n        return a + b",
    ),
    _add("a hundred megabytes for a while", "x = bytearray(100 << 20)\ndel x\nreturn a + b"),
    _add("a little work", "assert sum(range(200_000)) > 0\nreturn a + b"),
    _add(
        "long ints as text",
        "sys.set_int_max_str_digits(0)\nassert len(str(10 ** 5000)) == 5001\nreturn a + b",
        "import sys",
    ),
    _add(
        "builtins by another name",
        "return sum_([a, b])",
        "import builtins\nsum_ = builtins.sum\ninput = len\nlist = tuple",
    ),
    _add(
        "the star import",
        "return int(fsum([a, b])) if abs(a) < 1000 else a + b",
        "from math import *\nfrom itertools import *",
    ),
    Control(
        name="helper of the prompt used",
        problem="unfold",
        completion="    for _ in range(len(text) * 200):\n        again = fold(text)\n        if fold(again) == again:\n            break\n    places = fold(''.join(map(chr, range(len(text)))))\n    out = [''] * len(text)\n    for place, letter in zip(places, text):\n        out[ord(place)] = letter\n    return ''.join(out)\n",
    ),
    Control(
        name="a callback in a list of calls",
        problem="twice",
        program="import functools\ndef twice(f, x):\n    return functools.reduce(lambda value, g: g(value), [f] * 2, x)\n",
    ),
    Control(
        name="a callback in a thread",
        problem="twice",
        program="from concurrent.futures import ThreadPoolExecutor\ndef twice(f, x):\n    with ThreadPoolExecutor(1) as pool:\n        return pool.submit(f, pool.submit(f, x).result()).result()\n",
    ),
    Control(
        name="a callback under asyncio",
        problem="twice",
        program="import asyncio\ndef twice(f, x):\n    async def run():\n        loop = asyncio.get_running_loop()\n        y = await loop.run_in_executor(None, f, x)\n        return f(y)\n    return asyncio.run(run())\n",
    ),
    Control(
        name="its arguments changed and returned",
        problem="evens",
        program="def evens(numbers):\n    for n in list(numbers):\n        if n % 2:\n            numbers.remove(n)\n    return numbers\n",
    ),
    Control(
        name="a tuple of ints that are bools",
        problem="ends",
        program="def ends(numbers):\n    low = sorted(numbers)\n    return low[0], low[~False]\n",
    ),
    Control(
        name="a float that is whole",
        problem="mean",
        program="import statistics\ndef mean(numbers):\n    return statistics.fmean(numbers)\n",
    ),
    Control(
        name="a bool of numpy",
        problem="is_leap",
        program="import numpy as np\ndef is_leap(year):\n    return bool(np.bool_(year % 4 == 0) and (year % 100 != 0 or year % 400 == 0))\n",
    ),
    Control(name="the calendar of the library", problem="is_leap", program="from calendar import isleap as is_leap\n"),
)
