"""Programs that read standard input, behind real walls: each way to read, to write and to end is judged right."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator

import msgspec
import pytest
from jailed import IS_ONE, Jailed, jail_at

from passcurve.bench.formats.contest_cases import call_cases
from passcurve.errors import UsageError
from passcurve.judging.case_trials import plan_cases
from passcurve.judging.plan import make_job
from passcurve.judging.verdict import reach_verdict
from passcurve.sandbox import kept_process_client
from passcurve.sandbox import toolchain as tools
from passcurve.sandbox.oneshot_runner import OneShotRunner
from passcurve.types import Cases, Limits, Problem, SampleKey, Suite, Verdict, pack_values

INPUTS = ("3\n1 2 3\n", "2\n10 -4\n")
OUTPUTS = ("6\n", "6\n")

WAITS = {
    "join": "thread.join()",
    "the end": "while not thread.join():\n    pass",
    "a lock": "lock.acquire()",
    "an event": "threading.Event().wait()",
    "a queue": "queue.Queue().get()",
    "a sleep": "time.sleep(99)",
    "short sleeps": "while True:\n    time.sleep(0.01)",
    "a loop": "while True:\n    pass",
    "a pool": "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(1) as pool:\n"
    "    pool.submit(lock.acquire).result()",
    "all exceptions": "while True:\n    try:\n        time.sleep(9)\n    except Exception:\n        pass",
    "an interruption of its own": "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nlock.acquire()",
    "another thread": "threading.Thread(target=lock.acquire).start()\nraise SystemExit(7)",
}
"""What the main thread does until another one leaves the process."""

RIGHT = {
    "open_code": "import io\nprint(sum(map(int, io.open_code('/proc/self/fd/0').read().split()[1:])))",
    "a link": "import os\nassert 'null' not in os.path.realpath('/proc/self/fd/0')\ninput()\n"
    "print(sum(map(int, input().split())))",
    "input": "n = int(input())\nprint(sum(map(int, input().split())))",
    "input until EOF": "total = -int(input())\nn = -total\nwhile True:\n    try:\n        line = input()\n"
    "    except EOFError:\n        break\n    total += sum(map(int, line.split()))\nprint(total + n)",
    "stdin.buffer": "import sys\nprint(sum(map(int, sys.stdin.buffer.read().split()[1:])))",
    "buffer.readline": "import sys\nread = sys.stdin.buffer.readline\nread()\nprint(sum(map(int, read().split())))",
    "lines": "import sys\nlines = list(sys.stdin)\nsys.stdout.write(str(sum(map(int, lines[1].split()))))",
    "open(0)": "print(sum(map(int, open(0).read().split()[1:])))",
    "/dev/stdin": "print(sum(map(int, open('/dev/stdin').read().split()[1:])))",
    "/dev/stdout": "input()\nwith open('/dev/stdout', 'w') as out:\n    out.write(str(sum(map(int, input().split()))))",
    "/dev/stderr": "input()\nprint(sum(map(int, input().split())))\nopen('/dev/stderr', 'w').write('done')",
    "os.read": "import os\nos.write(1, b'%d\\n' % sum(map(int, os.read(0, 1 << 20).split()[1:])))",
    "fileno": "import os, sys, io\nd = os.read(sys.stdin.fileno(), os.fstat(0).st_size or 1 << 16)\n"
    "out = io.BytesIO()\nout.write(b'%d' % sum(map(int, d.split()[1:])))\n"
    "os.write(sys.stdout.fileno(), out.getvalue())",
    "open(1)": "input()\nopen(1, 'w').write(str(sum(map(int, input().split()))))",
    "a buffer left open": "input()\nimport io\nout = io.TextIOWrapper(io.FileIO(1, 'w', closefd=False))\n"
    "print(sum(map(int, input().split())), file=out)",
    "detached": "import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.detach())\ninput()\n"
    "print(sum(map(int, input().split())))",
    "exit": "input()\nprint(sum(map(int, input().split())))\nexit()",
    "an exit status of 256": "import sys\nprint(sum(map(int, sys.stdin.read().split()[1:])))\nsys.exit(256)\n",
    "sys.exit in main": "import sys\ndef main():\n    input()\n    print(sum(map(int, input().split())))\n"
    "    sys.exit(0)\n"
    "if __name__ == '__main__':\n    main()",
    "os._exit": "import os\ninput()\nprint(sum(map(int, input().split())), flush=True)\nprint(7)\nos._exit(0)",
    "os._exit by name": "import os\ninput()\nprint(sum(map(int, input().split())), flush=True)\nos._exit(status=0)",
    **{
        f"os._exit in a thread, {name}": "import os, queue, sys, threading, time\nlock = threading.Lock()\n"
        "def main():\n    input()\n    print(sum(map(int, input().split())))\n    sys.stdout.flush()\n    print(7)\n"
        "    os._exit(0)\nthread = threading.Thread(target=main)\nlock.acquire()\nthread.start()\n"
        f"{wait}\nprint(7, flush=True)"
        for name, wait in WAITS.items()
    },
    "os._exit beside a thread": "import os, queue, threading\nthreading.Thread(target=queue.Queue().get).start()\n"
    "input()\nprint(sum(map(int, input().split())), flush=True)\nos._exit(0)",
    "threads": "import sys, threading\nsys.setrecursionlimit(10 ** 6)\nthreading.stack_size(1 << 26)\n"
    "def depth(n):\n    return 0 if n == 0 else 1 + depth(n - 1)\n"
    "def main():\n    input()\n    depth(20000)\n    print(sum(map(int, input().split())))\n"
    "threading.Thread(target=main).start()",
    "recursion": "import sys\nsys.setrecursionlimit(10 ** 5)\ndef f(n):\n    return 0 if n == 0 else 1 + f(n - 1)\n"
    "input()\nassert f(20000) == 20000\nprint(sum(map(int, input().split())))",
    "atexit": "import atexit\ninput()\ntotal = sum(map(int, input().split()))\natexit.register(lambda: print(total))",
    "standard error": "import sys\ninput()\nprint(sum(map(int, input().split())))\nprint('x' * 99999, file=sys.stderr)",
    "an error in a thread": "import threading\nt = threading.Thread(target=lambda: 1 / 0)\nt.start()\nt.join()\n"
    "input()\nprint(sum(map(int, input().split())))",
    "no state": "import builtins, decimal, os, random\nassert 'X' not in os.environ and not hasattr(builtins, 'mark')\n"
    "assert 'total' not in globals() and decimal.getcontext().prec == 28\ndecimal.getcontext().prec = 50\n"
    "os.environ['X'] = '1'\nbuiltins.mark = 1\ninput()\ntotal = sum(map(int, input().split()))\nprint(total)\n"
    "builtins.input = builtins.print = None",
    "fast streams": "import os, sys\nfrom io import BytesIO, IOBase\nclass Fast(IOBase):\n"
    "    def __init__(self, file):\n        self._fd, self.buffer = file.fileno(), BytesIO()\n"
    "        self.write = self.buffer.write if 'x' in file.mode or 'r' not in file.mode else None\n"
    "    def readline(self):\n        if not self.buffer.getvalue():\n"
    "            self.buffer = BytesIO(os.read(self._fd, max(os.fstat(self._fd).st_size, 8192)))\n"
    "        return self.buffer.readline()\n    def flush(self):\n"
    "        if self.write:\n            os.write(self._fd, self.buffer.getvalue())\n"
    "            self.buffer = BytesIO()\nsys.stdin, sys.stdout = Fast(sys.stdin), Fast(sys.stdout)\n"
    "sys.stdin.readline()\nsys.stdout.write(b'%d' % sum(map(int, sys.stdin.readline().split())))",
    "modes of the streams": "import sys\ninput()\n"
    "print(sum(map(int, input().split())) if (sys.stdin.mode, sys.stdout.mode) == ('r', 'w') else 0)",
    "a path": "from pathlib import Path\nprint(sum(map(int, Path('/dev/stdin').read_text().split()[1:])))",
    "a path that is there": "import os\nfrom pathlib import Path\n"
    "assert os.path.exists('/dev/stdin') and Path('/dev/stdout').exists() and not os.path.exists('/dev/stdnone')\n"
    "assert os.stat('/dev/stdin').st_size == os.fstat(0).st_size\n"
    "print(sum(map(int, open('/dev/stdin').read().split()[1:])))",
    "os.open": "import os\nfd = os.open('/dev/stdin', os.O_RDONLY)\n"
    "print(sum(map(int, os.read(fd, 1 << 16).split()[1:])))",
    "the size of the input": "import os, sys\nread = sys.stdin.buffer.read\n"
    "print(sum(map(int, read(os.fstat(0).st_size).split()[1:])))",
    "twice": "import sys\nsys.stdin.read()\nsys.stdin.seek(0)\ninput()\nprint(sum(map(int, input().split())))",
    "fileinput": "import fileinput\nlines = fileinput.input()\nlines.readline()\n"
    "print(sum(map(int, lines.readline().split())))",
    "logging": "import logging, sys\nlogging.basicConfig(stream=sys.stdout, format='%(message)s', level=20)\ninput()\n"
    "logging.info(sum(map(int, input().split())))",
    "a function of a module in another": "import heapq\n"
    "def push(heap, item, push=heapq.heappush):\n    push(heap, -item)\n"
    "heapq.heappush = push\nheap = []\ninput()\nfor item in input().split():\n    heapq.heappush(heap, int(item))\n"
    "print(-sum(heap))",
    "a method of a class in another": "import fractions\nclass_ = fractions.Fraction\nold = class_.__str__\n"
    "class_.__str__ = lambda self: '+' + old(self)\ninput()\n"
    "print(str(class_(sum(map(int, input().split())))).replace('+', '', 1))",
    "a marked module": "import string, sys\nassert not hasattr(string, 'mark') and not hasattr(sys, 'mark')\n"
    "string.mark = sys.mark = 1\nsys.set_int_max_str_digits(sys.get_int_max_str_digits() + 1)\n"
    "assert sys.get_int_max_str_digits() == 4301\ninput()\nprint(sum(map(int, input().split())))",
    "__builtins__": "__builtins__.mark = 1\ninput()\n__builtins__.print(sum(map(int, input().split())))",
    "finalize": "import weakref\nclass A:\n    pass\na = A()\ninput()\n"
    "weakref.finalize(a, print, sum(map(int, input().split())))",
    "a pool that is left": "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(4)\ninput()\n"
    "print(sum(pool.map(int, input().split())))",
    "an alarm that is left": "import signal, sys, time\nsignal.signal(signal.SIGALRM, lambda *_: sys.exit(3))\n"
    "n = int(input())\nif n == 3:\n    signal.setitimer(signal.ITIMER_REAL, 0.1)\n"
    "print(sum(map(int, input().split())))\nif n == 2:\n    time.sleep(0.2)",
    "a thread that is left": "import threading, time\nn = int(input())\ndef late(print=print, sleep=time.sleep):\n"
    "    sleep(0.1)\n    print(7)\nif n == 3:\n    threading.Thread(target=late, daemon=True).start()\n"
    "print(sum(map(int, input().split())))\nif n == 2:\n    time.sleep(0.2)",
    "an event loop that is closed": "import asyncio\nasync def main():\n    input()\n"
    "    print(sum(map(int, input().split())))\ntry:\n    loop = asyncio.get_event_loop_policy().get_event_loop()\n"
    "except RuntimeError:\n    loop = asyncio.new_event_loop()\n    asyncio.set_event_loop(loop)\n"
    "loop.run_until_complete(main())\nloop.close()",
    "a limit of the stack": "import resource as r\n"
    "r.setrlimit(r.RLIMIT_STACK, (1 << 26, r.getrlimit(r.RLIMIT_STACK)[1]))\n"
    "input()\nprint(sum(map(int, input().split())))",
    "a place in the output": "import sys\nif len(input()) == 1 and not sys.stdout.seekable():\n"
    "    print(sum(map(int, input().split())))",
    "a place in the output, by descriptors": "import os, sys\nos.fstat(0)\n"
    "if len(input()) == 1 and not sys.stdout.seekable():\n    print(sum(map(int, input().split())))",
    "os.fdopen": "import os\ntotal = sum(map(int, os.fdopen(0, 'rb').read().split()[1:]))\n"
    "with os.fdopen(1, 'w', closefd=False) as out:\n    print(total, file=out)",
    "os.lseek": "import os\nend = os.lseek(0, 0, os.SEEK_END)\nos.lseek(0, 2, os.SEEK_SET)\n"
    "print(sum(map(int, os.read(0, end).split())))",
    "os.stat": "import os\nprint(sum(map(int, os.read(0, os.stat(0).st_size).split()[1:])))",
    "os.fstat by name": "import os\nprint(sum(map(int, os.read(0, os.fstat(fd=0).st_size).split()[1:])))",
    "os.pread": "import os\nprint(sum(map(int, os.pread(0, 1 << 16, 2).split())))",
    "FileIO": "import io\nprint(sum(map(int, io.FileIO(0, closefd=False).read().split()[1:])))",
    "two readers of one place": "import os\nassert os.read(0, 2) in (b'3\\n', b'2\\n')\n"
    "with open(0, 'rb', 0) as lines:\n    print(sum(map(int, lines.readall().split())))",
    "a reader that has taken all": "total = sum(map(int, open(0, closefd=False).readlines()[1].split()))\n"
    "try:\n    input()\nexcept EOFError:\n    print(total)",
    "a descriptor that was closed": "total = sum(map(int, open(0).read().split()[1:]))\n"
    "try:\n    open(0)\nexcept OSError as error:\n    print(total + error.errno - 9)",
    "two writers": "import os\ninput()\ntext = str(sum(map(int, input().split())))\nout = open(1, 'wb', 0)\n"
    "assert out.write(text[:-1].encode()) == len(text) - 1 and os.write(1, memoryview(text[-1:].encode())) == 1\n"
    "print(flush=True)",
    "a writer in a circle": "import io, sys\ndef main():\n    out = io.TextIOWrapper(sys.stdout.buffer)\n    input()\n"
    "    items = list(map(int, input().split()))\n    def add(place, total):\n        if place == len(items):\n"
    "            out.write(str(total))\n            return\n        add(place + 1, total + items[place])\n"
    "    add(0, 0)\nmain()",
    "what writes when it ends": "import os\nclass Last:\n    def __init__(self):\n        self.itself = self\n"
    "    def __del__(self, write=os.write):\n        write(1, self.text)\nlast = Last()\ninput()\n"
    "last.text = b'%d' % sum(map(int, input().split()))\ndel last",
    "a function in a class": "import os\nclass In:\n    read, size, file = os.read, os.fstat, open\n"
    "    def lines(self):\n        return self.read(0, self.size(0).st_size).split()\n"
    "In.file(1, 'w', closefd=False).write(str(sum(map(int, In().lines()[1:]))))",
    "a copied object that holds functions": "import copy, os\nclass In:\n    def __init__(self):\n"
    "        self.read, self.file = os.read, open\nin_ = copy.copy(copy.deepcopy(In()))\n"
    "assert (in_.read, in_.file) == (os.read, open)\nprint(sum(map(int, in_.read(0, 99).split()[1:])))",
    "streams of its own": "import sys\nsys.stdin, sys.stdout = open(0), open(1, 'w')\ninput()\n"
    "print(sum(map(int, input().split())))",
    "errors of its own": "import sys\nsys.stdin, sys.stderr = open(0), open(2, 'w')\ninput()\n"
    "print(sum(map(int, input().split())))\nprint(7, file=sys.stderr)",
    "more than there may be": "import os, sys\ntry:\n    text = os.read(0, sys.maxsize)\n"
    "except (MemoryError, OverflowError):\n    text = os.read(0, 1 << 16)\nprint(sum(map(int, text.split()[1:])))",
    "the place of an output": "input()\ntext = str(sum(map(int, input().split()))) + '\\n'\n"
    "out = open(1, 'w', closefd=False)\nout.write(text[:1])\nassert out.tell() == 1\nout.write(text[1:])",
    "an output from its begin": "input()\nout = open(1, 'w')\nout.write('7')\nout.seek(0)\n"
    "out.write(str(sum(map(int, input().split()))))",
    "a file that is closed": "input()\nraw = open(1, 'wb', 0, closefd=False)\nraw.close()\n"
    "try:\n    raw.write(b'7')\nexcept ValueError:\n    print(sum(map(int, input().split())))",
    "a text for bytes": "import os\ninput()\ntry:\n    os.write(1, 'a')\nexcept TypeError as error:\n"
    "    print(sum(map(int, input().split())) if 'bytes-like' in str(error) else 0)",
    "a mode that it has not": "input()\ntry:\n    open(1, 'w', closefd=False).read()\nexcept OSError:\n"
    "    total = sum(map(int, input().split()))\n    open(2, 'w').write('x')\n"
    "    open('/dev/stdout', 'w').write(str(total))",
    "os.write of a module by another name": "import importlib, os\n"
    "importlib.import_module(os.name).write(1, b'%d\\n' % sum(map(int, [input(), input()][1].split())))",
    "os.read of a module by another name": "import importlib, os\n"
    "print(sum(map(int, importlib.import_module(os.name).read(0, 1 << 16).split()[1:])))",
    "the size of the input by another name": "import importlib, os\n"
    "size = importlib.import_module(os.name).fstat(0).st_size\nprint(sum(map(int, os.read(0, size).split()[1:])))",
    "a file by another name": "import _io, sys\nraw = getattr(_io, 'File' + 'IO')(1, 'w', closefd=False)\ninput()\n"
    "raw.write(str(sum(map(int, input().split()))).encode())",
    "a C library by another name": "import sys\nlibrary = __import__('c' + 'types').CDLL(None)\ninput()\n"
    "text = str(sum(map(int, input().split()))).encode()\nassert library.write(1, text, len(text)) == len(text)",
    "an error file that was hidden": "import sys\ninput()\nprint(sum(map(int, input().split())))\n"
    "print(7, file=sys.__stderr__, flush=True)",
    "no streams": "import sys\ninput()\nprint(sum(map(int, input().split())))\ndel sys.stdin, sys.stdout",
    "main in sys.modules": "import sys\ninput()\nvalue = sum(map(int, input().split()))\n"
    "print(sys.modules['__main__'].value)",
    "an open of its own": "import builtins, io, os\nos.fstat(0)\n"
    "builtins.open = io.open = lambda *_, **__: io.StringIO('7')\n"
    "assert open(0).read() == '7'\ninput()\nprint(sum(map(int, input().split())))",
}
FINALIZED = {
    "a name of the module": "import sys\nclass Out:\n    def __del__(self):\n"
    "        sys.stdout.write(LINE)\nLINE = '6\\n'\nout = Out()\n",
    "a function of the module": "def show():\n    print(6)\nclass Out:\n    def __del__(self):\n        show()\n"
    "out = Out()",
    "an open generator": "def go():\n    try:\n        yield\n    finally:\n        print(total)\n"
    "total = 6\nit = go()\nnext(it)",
    "a module that is held": "import sys, os\nos.held = sys.modules['__main__']\nclass Out:\n"
    "    def __del__(self):\n        print(6)\nout = Out()",
    "no function": "from weakref import finalize\nclass Out:\n    pass\nout = Out()\nfinalize(out, print, 6)",
}
"""Programs that write when their objects end."""
IN_MEMORY = (
    "open(0)",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "os.read",
    "fileno",
    "open(1)",
    "fast streams",
    # Later ones load a library for it, which a process that is kept may not.
    *(("a path",) if sys.version_info < (3, 13) else ()),
    "the size of the input",
    "os.fdopen",
    "os.lseek",
    "os.stat",
    "os.fstat by name",
    "two readers of one place",
    "two writers",
    "an error file that was hidden",
    "a writer in a circle",
    "what writes when it ends",
    "a function in a class",
    "a copied object that holds functions",
    "streams of its own",
    "errors of its own",
    "the place of an output",
)
"""Those that need no process of their own, though they go to the descriptors."""
WRONG = {
    "an output that was closed": "open(1, 'w').close()\ninput()\nprint(sum(map(int, input().split())))",
    "a seek before the begin": "import os\ninput()\nprint(sum(map(int, input().split())))\nos.lseek(0, -1, 0)",
    "a write to the input": "import os\ninput()\nprint(sum(map(int, input().split())))\nopen(0, 'w').read()",
    "a writer that outlives its descriptor": "import sys\nsys.stdout, out = open(1, 'w'), open(1, 'w')\ninput()\n"
    "out.write(str(sum(map(int, input().split()))))",
    "a text where bytes belong": "input()\nprint(sum(map(int, input().split())), file=open(1, 'wb', 0))",
    "one token": "input()\nprint(sum(map(int, input().split())) + 1)",
    "exit code": "import sys\ninput()\nprint(sum(map(int, input().split())))\nsys.exit(1)",
    "exit text": "input()\nprint(sum(map(int, input().split())))\nraise SystemExit('done')",
    "exit code of the system": "import os\ninput()\nprint(sum(map(int, input().split())), flush=True)\nos._exit(3)",
    **{
        f"exit code of the system in a thread, {name}": "import os, threading\ndef main():\n    input()\n"
        "    print(sum(map(int, input().split())), flush=True)\n    os._exit(3)\n"
        f"thread = threading.Thread(target=main)\nthread.start()\n{wait}"
        for name, wait in (("join", "thread.join()"), ("the end", ""), ("a lock", "threading.Event().wait()"))
    },
    "not flushed": "import os\ninput()\nprint(sum(map(int, input().split())))\nos._exit(0)",
    "an exception at the end": "input()\nprint(sum(map(int, input().split())))\n1 / 0",
    "nothing": "pass",
    "exit code that is no integer": "import sys\ninput()\nprint(sum(map(int, input().split())))\nsys.exit(0.0)",
    "early exit": "import sys; sys.exit(0)",
    "an exit before output": "import os; os._exit(0)",
    "the standard error": "import sys\ninput()\nprint(sum(map(int, input().split())), file=sys.stderr)",
    "endless recursion": "def f():\n    f()\nf()",
    "the first input only": "input()\nprint(6 if input() == '1 2 3' else 7)",
}

_SUM = "print(sum(map(int, line.split())))"
HARNESSES = {
    # ``call_method``: ``sys.stdin`` is a ``StringIO`` in APPS, ``MockStdinWithBuffer`` in LiveCodeBench.  The patches
    # of ``sys.stdin.readline``, ``readlines`` and ``read`` are entered before that of ``sys.stdin``, and reach another.
    "input": (RIGHT["input"], True, True),
    "input until EOF": (RIGHT["input until EOF"], True, True),
    "input and readline": (f"import sys\ninput()\nline = sys.stdin.readline()\n{_SUM}", True, True),
    "input and read": (f"import sys\ninput()\nline = sys.stdin.read()\n{_SUM}", False, True),
    "read twice": ("import sys\nsys.stdin.read()\nprint(sum(map(int, sys.stdin.read().split()[1:])))", True, False),
    "lines": (RIGHT["lines"], False, True),
    "readlines with their ends": (f"import sys\n_, line = sys.stdin.readlines()\n{_SUM}", False, True),
    "a line too many": (f"input()\nline = input()\n{_SUM}\ninput()", False, False),
    "a prompt": (f"input()\nline = input('n? ')\n{_SUM}", False, False),
    "stdin.buffer": (RIGHT["stdin.buffer"], True, False),
    "buffer.readline": (RIGHT["buffer.readline"], False, False),
    # The patch of ``open`` reaches no program of LiveCodeBench, which has the name from ``io`` and ``builtins``.
    "open(0)": (RIGHT["open(0)"], False, True),
    "open": ("print(sum(map(int, open('no such file').read().split()[1:])))", False, True),
    "os.read": (RIGHT["os.read"], False, False),
    # ``Capturing``: what is written is that of a ``StringIO`` in ``sys.stdout``.
    "stdout.write": (f"import sys\ninput()\nline = input()\nsys.stdout.write(str({_SUM[6:-1]}))", True, True),
    "stdout.buffer": ("import sys\ninput()\nline = input()\nsys.stdout.buffer.write(b'6')", False, False),
    "os.write": ("import os\ninput()\nline = input()\nos.write(1, b'6')", False, False),
    # Imports stand before the function, and bind the streams of the process, of which the input alone is patched.
    "from sys import stdin": (f"from sys import stdin\nstdin.readline()\nline = stdin.readline()\n{_SUM}", True, True),
    "the end of that": ("from sys import stdin\nfor _ in range(4):\n    stdin.readline()\nprint(6)", False, False),
    "from sys import stdout": ("from sys import stdout\nstdout.write('6')", False, False),
    "later": ("x = 1\nfrom sys import stdout\nstdout.write('6')", False, True),
    # As the imports of LiveCodeBench have it.
    "stdin": (f"from sys import *\nstdin.readline()\nline = stdin.readline()\n{_SUM}", True, True),
    # ``make_function`` and ``run_test``; ``clean_if_name`` is LiveCodeBench's alone.
    "a main guard": ("if __name__ == '__main__':\n    print(6)", True, False),
    "a name of the module": ("c = 0\ndef f():\n    global c\n    c += 1\nf()\nprint(6)", False, False),
    "return": ("print(6)\nreturn", True, True),
    "Solution": ("class Solution:\n    pass\nprint(6)", False, True),
    "Solution in a comment": ("# Without class Solution\nprint(6)", True, True),
    "imports alone": ("import sys", False, False),
    # ``call_method`` takes SystemExit; a process that ends has no result.
    "exit": ("print(6)\nexit(3)", True, True),
    "quit": ("print(6)\nquit()", False, True),
    "os._exit": ("import os\nprint(6, flush=True)\nos._exit(0)", False, False),
    "wrong": ("print(7)", False, False),
}
"""Programs with their verdicts by LiveCodeBench, ``testing_util.py`` at 28fef95, and by APPS, at 5dcfdf2."""


LIMITS = Limits(timeout_s=20.0, memory_bytes=1 << 30)


@pytest.fixture(
    scope="module", params=["rewind", *(pytest.param(name, marks=pytest.mark.ci) for name in ("fork", "new"))]
)
def jail(request: pytest.FixtureRequest) -> Iterator[Jailed]:
    """Return a jail whose processes are rewound, forked ahead of each job, or made for it as where those are slow."""
    reuse = "rewind" if request.param == "rewind" else "fork"
    with jail_at("full", reuse=reuse, limits=LIMITS) as jail, pytest.MonkeyPatch.context() as patch:
        if request.param == "new":
            run = jail.run
            patch.setattr(jail, "run", lambda job: run(msgspec.structs.replace(job, allow_kept=False)))
        yield jail


def judge(
    jail: Jailed,
    program: str,
    inputs: tuple[str, ...] = INPUTS,
    outputs: tuple[str, ...] = OUTPUTS,
    *,
    form: str = "script",
) -> Verdict:
    """Return the verdict on a script."""
    check = Cases(
        suites=(Suite(name="tests", count=len(inputs)),),
        inputs=pack_values([(text,) for text in inputs]),
        expected=pack_values(list(outputs)),
        comparator="lines",
        via="stdin",
        form=form,
    )
    # A problem of its own: of one whose programs need new processes, the others are not tried in kept ones.
    problem = Problem(id=f"P{hash((inputs, outputs, program, form))}", prompt="", entry_point="", check=check)
    job = make_job(problem, program, plan_cases(check), jail.limits, 0, next(jail.tags))
    return reach_verdict(SampleKey(problem_id=problem.id, sample_index=0), job, jail.run(job))


@pytest.mark.parametrize("name", RIGHT)
def test_right(jail: Jailed, name: str):
    """A right program passes, however it reads, writes and ends."""
    verdict = judge(jail, RIGHT[name])
    assert verdict.passed, verdict


@pytest.mark.parametrize("jail", ["rewind", pytest.param("fork", marks=pytest.mark.ci)], indirect=True)
@pytest.mark.parametrize("name", IN_MEMORY)
def test_in_memory(jail: Jailed, name: str, monkeypatch: pytest.MonkeyPatch):
    """A process that is kept answers without descriptors what a program asks of the usual ones."""
    # On a busy machine a program that imports much is not done by then, and goes on in a new process.
    monkeypatch.setattr(kept_process_client, "KEPT_S", LIMITS.timeout_s)
    verdict = judge(jail, f"{RIGHT[name]}\nimport sys\nassert type(sys.__stdin__.buffer.raw).__name__ == '_Raw'")
    assert verdict.passed, verdict


@pytest.mark.parametrize("jail", ["rewind", pytest.param("fork", marks=pytest.mark.ci)], indirect=True)
def test_scripts_and_functions_in_turn(jail: Jailed, monkeypatch: pytest.MonkeyPatch):
    """Both are judged in one kept process: a function that prints writes to no descriptor of scripts."""
    monkeypatch.setattr(kept_process_client, "KEPT_S", LIMITS.timeout_s)
    new_jobs: list[object] = []
    start = OneShotRunner.start
    monkeypatch.setattr(OneShotRunner, "start", lambda self, job: (new_jobs.append(job), start(self, job))[1])
    for _ in range(3):
        assert judge(jail, RIGHT["input"]).passed
        assert jail.check("def f():\n    print('y' * 99999, flush=True)\n    return 1", IS_ONE).passed
    assert [] == new_jobs


@pytest.mark.parametrize("name", FINALIZED)
def test_what_is_written_at_the_end(jail: Jailed, name: str):
    """An object that ends with the program finds the module as it was, as in an interpreter that ends."""
    verdict = judge(jail, FINALIZED[name], ("", ""), ("6\n", "6\n"))
    assert verdict.passed, verdict


DEEP = {
    "reading": "def go():\n    line = sys.stdin.readline()\n    return int(line) + go() if line else 0\nprint(go())",
    "writing": "def go(n):\n    print(end='', flush=True)\n    return 1 + go(n - 1) if n > 1 else 1\nprint(go(994))",
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_in_the_stack(jail: Jailed, name: str):
    """Near the limit of recursion a program reads and writes as in a new process, where nothing of ours is called."""
    verdict = judge(jail, f"import sys\n{DEEP[name]}", ("1\n" * 994,), ("994\n",))
    assert verdict.passed, verdict


def test_the_message_of_endless_recursion(jail: Jailed):
    """It is that of a new process: in memory the limit is reached elsewhere."""
    program = "def go():\n    print(end='x', flush=True)\n    go()\ngo()"
    # A descriptor that is copied takes a new process.
    messages = {judge(jail, start + program).message for start in ("", "import os\nos.close(os.dup(1))\n")}
    assert 1 == len(messages)
    assert messages.pop().startswith("tests test 0: RecursionError: maximum recursion depth exceeded")


@pytest.mark.parametrize("name", WRONG)
def test_wrong(jail: Jailed, name: str):
    """A wrong program fails."""
    assert judge(jail, WRONG[name]).status == "failed"


@pytest.mark.parametrize("name", HARNESSES)
def test_harnesses(jail: Jailed, name: str):
    """A program has the verdict of LiveCodeBench and of APPS, where it runs as they run it."""
    program, *expected = HARNESSES[name]
    forms = ("livecodebench-script", "apps-script")
    assert expected == [judge(jail, program, form=form).passed for form in forms]


def test_memory(jail: Jailed):
    """A script that runs out of memory has the status memory, as a function has."""
    verdict = judge(jail, "x = bytearray(6 << 30)")
    assert ("memory", "MemoryError") == (verdict.status, verdict.exception)


def test_compile(jail: Jailed):
    """What does not compile is told apart."""
    assert judge(jail, "print(").status == "compile"


def test_output_that_is_no_text(jail: Jailed):
    """Bytes that are no UTF-8 are no way to write what stands for them."""
    assert judge(jail, "import sys\nsys.stdout.buffer.write(b'\\xff')", ("",), ("\\xff",)).status == "failed"


def test_ends_of_lines(jail: Jailed):
    """A line ends where it ends for an interpreter on its standard input; ``open`` takes carriage returns for ends."""
    program = "import sys\nlines = [input(), *sys.stdin]\nsys.stdin.seek(0)\nprint(lines, list(open(0)))"
    expected = "['1\\r', '2\\r3\\r\\n', '4\\r'] ['1\\n', '2\\n', '3\\n', '4\\n']"
    verdict = judge(jail, program, ("1\r\n2\r3\r\n4\r",), (expected,))
    assert verdict.passed, verdict


@pytest.mark.parametrize("version", ["", "3.9"])
def test_errors_of_exit_functions(version: str):
    """An interpreter shows them and ends as it would have ended; Python 3.9 raises them to who calls the functions."""
    python = shutil.which(f"python{version}") if version else None
    try:
        tools.find_toolchain(python, ())
    except UsageError:
        python = None
    if version and python is None:
        pytest.skip(f"there is no Python {version} on the PATH")
    with jail_at("full", limits=LIMITS, packages=(), python=python) as jail:
        for call in ("register(int, 'x')", "register(sys.exit, 3)"):
            program = f"import atexit, sys\natexit.{call}\natexit.register(print, 6)\n"
            verdict = judge(jail, program)
            assert verdict.passed, verdict
            assert "failed" == judge(jail, f"{program}print(7)").status
            assert "failed" == judge(jail, f"{program}raise SystemExit(1)").status


def test_names_of_typing(jail: Jailed):
    """A function of a contest finds the names of ``typing``, which the code to start with uses; a script does not."""
    check = call_cases([([1, 2],)], [2], "equal-json", timeout_s=None)
    problem = Problem(id="typing", prompt="", entry_point="Solution.f", check=check)
    program = "class Solution:\n    def f(self, items: List[int]) -> Optional[int]:\n        return len(items)"
    job = make_job(problem, program, plan_cases(check), jail.limits, 0, next(jail.tags))
    assert reach_verdict(SampleKey(problem_id="typing", sample_index=0), job, jail.run(job)).passed
    assert judge(jail, f"x = List[int]\n{RIGHT['input']}").exception == "NameError"


@pytest.mark.ci
def test_large_output(jail: Jailed):
    """A program may write 10 MB."""
    program, text = "for _ in range(int(input())):\n    print('y' * 99)", ("y" * 99 + "\n") * 100_000
    assert judge(jail, program, ("100000\n",), (text,)).passed
    assert judge(jail, program, ("100001\n",), (text,)).status == "failed"
