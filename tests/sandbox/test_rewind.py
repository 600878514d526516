"""Processes that are rewound: a program can do anything to its own, and leaves nothing to the next program.

Attack and probe run in one worker, one after the other.  A program that changes memory only is rewound; a program that
changes anything in the kernel loses its process, and is judged in a new one.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import msgspec
import pytest
from jailed import IS_ONE, ONE, descendants, zygotes
from jailed import LIMITS as LONG

import passcurve
from passcurve.errors import IsolationError
from passcurve.judging.plan import CheckPlan, make_job
from passcurve.sandbox import forkserver_client
from passcurve.sandbox.job import Job
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.startup import start_sandbox
from passcurve.sandbox.zygote import copy_stub
from passcurve.sandbox.zygote.copy_stub import PAGE
from passcurve.sandbox.zygote.dirty_pages import LEARNING_JOBS, HotPages
from passcurve.sandbox.zygote.memory import Area, read_areas
from passcurve.types import FunctionTests, Problem

LEVELS = ("full", "restricted")
LIMITS = msgspec.structs.replace(LONG, timeout_s=2.0)


class Rewound:
    """A pool of one worker whose processes are rewound; a context manager."""

    def __init__(self, level: str = "full", reuse: str = "rewind", *, may_skip: bool = True) -> None:
        self._context = start_sandbox(LIMITS, level=level, reuse=reuse)
        try:
            self.sandbox = self._context.__enter__()
        except IsolationError as error:
            if not may_skip:
                raise
            pytest.skip(str(error))
        self.pool = Pool(1, self.sandbox)
        self._tag = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.close()
        self._context.__exit__(None, None, None)

    def renew_pool(self) -> None:
        """Replace the pool, and with it the zygotes, by one from the same fork server."""
        self.pool.close()
        self.pool = Pool(1, self.sandbox)

    def job(self, program: str, test: str) -> Job:
        """Return a job that a pair takes."""
        self._tag += 1
        # A problem of its own: of one with several such programs in a row no more are run in kept processes.
        problem = Problem(id=f"T{self._tag}", prompt="", entry_point="f", check=FunctionTests(source=test))
        return make_job(problem, program, CheckPlan(), LIMITS, 0, self._tag)

    def status(self, program: str, test: str = IS_ONE) -> str:
        """Return what the report on a program says."""
        self.pool.start(0, self.job(program, test))
        while not (outcomes := self.pool.wait(30.0)):
            pass
        (outcome,) = outcomes
        return str((outcome.report or {}).get("status")) + ": " + str((outcome.report or {}).get("message"))

    def kept(self) -> list[int]:
        """Return the processes that are traced: those that are rewound."""
        below = [process.pid for zygote in zygotes(self.pool).values() for process in descendants(zygote.pid)]
        return sorted(pid for pid in below if _traced(pid))


def _traced(pid: int) -> bool:
    try:
        return "TracerPid:\t0\n" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.fixture(scope="module", params=LEVELS)
def rewound(request: pytest.FixtureRequest) -> Iterator[Rewound]:
    """Return one worker for all attacks at a level, already past the jobs in which it learns."""
    with Rewound(request.param) as rewound:
        for _ in range(30):
            assert "passed: " == rewound.status(ONE)
        yield rewound


MEMORY: dict[str, tuple[str, str]] = {
    "builtins": (
        "import builtins\ndef f():\n    builtins.abs = lambda _: 42\n    builtins.sorted = None\n    return 1\n",
        "def f():\n    return int(abs(-2) == 2 and sorted([2, 1]) == [1, 2])\n",
    ),
    "a builtin of the harness": (
        "import builtins\ndef f():\n    builtins.len = lambda _: 42\n    return 1\n",
        "def f():\n    return int(len('ab') == 2)\n",
    ),
    "modules": (
        "import math, json, sys, typing\nmath.pi = 3\ntyping.List = None\ndel sys.modules['json']\nsys.path[:] = []\n"
        "def f():\n    return 1\n",
        "import json, math, sys, typing\n"
        "def f():\n    return int(math.pi > 3.1 and typing.List is not None and len(sys.path) > 0)\n",
    ),
    "a small integer": (
        "import ctypes\nctypes.c_uint32.from_address(id(200) + 24).value = 7\ndef f():\n    return 1\n",
        "def f():\n    return int(int('100') + 100 == 200 and str(int('200')) == '200')\n",
    ),
    "code of the library": (
        "import json, heapq\n"
        "def f():\n"
        "    heapq.merge.__code__ = (lambda *_, **__: [1]).__code__\n    json.dumps.__defaults__ = ()\n    return 1\n",
        "import heapq, json\n"
        "def f():\n    return int(list(heapq.merge([3], [2])) == [2, 3] and json.dumps(1) == '1')\n",
    ),
    "code of the harness": (
        "import sys\n"
        "def f():\n"
        "    frame = sys._getframe(1)\n"
        "    while frame.f_back:\n        frame = frame.f_back\n"
        "    for value in list(frame.f_locals.values()) + list(frame.f_globals.values()):\n"
        "        if hasattr(value, '__code__') and value.__name__ in ('describe', 'read_job', 'prepare'):\n"
        "            value.__code__ = (lambda *_: None).__code__\n"
        "    return 1\n",
        "def f():\n    return 1\n",
    ),
    "a type": (
        "import ctypes\n"
        "def f():\n"
        "    ctypes.memmove(id(frozenset) + 24, id(list) + 24, 8)\n"
        "    ctypes.c_size_t.from_address(id(complex) + 32).value = 4096\n    return 1\n",
        "def f():\n    return int(frozenset.__name__ == 'frozenset' and complex.__basicsize__ == 32)\n",
    ),
    "libraries' data": (
        "import ctypes\nlibc = ctypes.CDLL(None)\n"
        "def f():\n    libc.srand(7)\n    libc.setenv(b'PASSCURVE_WAS_HERE', b'1', 1)\n    return 1\n",
        "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.getenv.restype = ctypes.c_char_p\n"
        "def f():\n    return int(libc.getenv(b'PASSCURVE_WAS_HERE') is None and libc.rand() == 1804289383)\n",
    ),
    "the rounding mode": (
        "import ctypes\ndef f():\n    ctypes.CDLL(None).fesetround(0x800)\n    return 1\n",
        "def f():\n    x = 1.0\n    return int(x + 2.0 ** -60 == 1.0 and (x / 3) * 3 == 1.0)\n",
    ),
    "the interpreter's settings": (
        "import sys, gc, random, decimal\n"
        "def f():\n    gc.disable()\n    sys.setswitchinterval(9)\n    sys.setrecursionlimit(5000)\n"
        "    decimal.getcontext().prec = 3\n    random.seed(1)\n    sys.stdout = None\n    return 1\n",
        "import sys, gc, decimal\n"
        "def f():\n    return int(gc.isenabled() and sys.getswitchinterval() < 1 and decimal.getcontext().prec == 28"
        " and sys.stdout is not None)\n",
    ),
}
"""Attacks on memory or registers, each with a program that passes if nothing is left of the attack."""

KERNEL: dict[str, tuple[str, str]] = {
    "a signal handler": (
        "import signal\nsignal.signal(signal.SIGSEGV, signal.SIG_IGN)\ndef f():\n    return 1\n",
        "import ctypes\ndef f():\n    return int(ctypes.CDLL(None).signal(11, ctypes.c_void_p(0)) == 0)\n",
    ),
    "a blocked signal": (
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\ndef f():\n    return 1\n",
        "import signal\ndef f():\n    return int(signal.pthread_sigmask(signal.SIG_BLOCK, []) == set())\n",
    ),
    "a timer": (
        "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.05)\ndef f():\n    return 1\n",
        "import time\ndef f():\n    time.sleep(0.02)\n    return 1\n",
    ),
    "an open file": (
        "import os\nKEPT = [os.open('/dev/null', os.O_RDONLY) for _ in range(5)]\ndef f():\n    return 1\n",
        "import os\n"
        "def f():\n"
        "    first = os.open('/dev/null', os.O_RDONLY)\n    os.close(first)\n"
        "    return int(first == 4 and all(_is_closed(fd) for fd in range(first, 20)))\n"
        "def _is_closed(fd):\n    try:\n        os.fstat(fd)\n    except OSError:\n        return True\n",
    ),
    "a closed line": (
        "import os\ndef f():\n    os.close(0)\n    return 1\n",
        "import os\ndef f():\n    return int(os.read(0, 1) == b'')\n",
    ),
    "the mask of new files": (
        "import os\nos.umask(0o777)\ndef f():\n    return 1\n",
        "import os\ndef f():\n    return int(os.umask(0o022) == 0o022)\n",
    ),
    "the working folder": (
        "import os\nos.chdir('/')\ndef f():\n    return 1\n",
        "import os\ndef f():\n    return int(os.getcwd() != '/')\n",
    ),
    "a limit": (
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (6, 6))\ndef f():\n    return 1\n",
        "import resource\ndef f():\n    return int(resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 6)\n",
    ),
    "a mapping": (
        "import mmap\nKEPT = mmap.mmap(-1, 1 << 24)\ndef f():\n    return 1\n",
        "def f():\n    return 1\n",
    ),
    "memory from the kernel": (
        "KEPT = [bytes(1 << 20) for _ in range(64)]\ndef f():\n    return 1\n",
        "def f():\n    return int(not any(bytearray(1 << 22)))\n",
    ),
    "a thread": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n"
        "def f():\n    return 1\n",
        "import threading\ndef f():\n    return int(threading.active_count() == 1)\n",
    ),
    "a file in the scratch": (
        "open('left', 'w').write('x')\ndef f():\n    return 1\n",
        "import os\ndef f():\n    return int(os.listdir('.') == [])\n",
    ),
    "a protected page": (
        "import ctypes\n"
        "ctypes.CDLL(None).mprotect(ctypes.c_void_p(id(200) & ~0xFFF), 4096, 1)\ndef f():\n    return 1\n",
        "def f():\n    return int(int('100') + 100 == 200)\n",
    ),
    "pages given back": (
        "import ctypes\n"
        "ctypes.CDLL(None).madvise(ctypes.c_void_p(id(200) & ~0xFFF), 4096, 4)\ndef f():\n    return 1\n",
        "def f():\n    return int(int('100') + 100 == 200)\n",
    ),
    "the name of the process": (
        "import ctypes\nctypes.CDLL(None).prctl(15, b'attacker', 0, 0, 0)\ndef f():\n    return 1\n",
        "import ctypes\n"
        "def f():\n    name = ctypes.create_string_buffer(16)\n    ctypes.CDLL(None).prctl(16, name, 0, 0, 0)\n"
        "    return int(name.value != b'attacker')\n",
    ),
    "its own end": ("import os\ndef f():\n    os._exit(0)\n", ONE),
    "its own death": ("import ctypes\ndef f():\n    ctypes.string_at(0)\n", ONE),
    "a trap": ("import ctypes\ndef f():\n    ctypes.CFUNCTYPE(None)(0x5F0000000000)()\n", ONE),
}
"""Attacks on the state in the kernel, or on the process itself."""

LINE: dict[str, tuple[str, str]] = {
    "an answer on the line": (
        "import os\n"
        "def f():\n"
        "    for fd in range(3, 9):\n"
        "        try:\n            os.write(fd, b'\\x00\\x00\\x00\\x00' * 4)\n"
        "        except OSError:\n            pass\n"
        "    return 1\n",
        ONE,
    ),
    "half an answer": (
        "import os\ndef f():\n    for fd in (3, 4):\n        os.write(fd, b'\\xff\\xff\\x00\\x00half')\n    return 2\n",
        ONE,
    ),
}
"""Attacks on the line of the process, which change nothing of it that is not put back."""


@pytest.mark.parametrize(
    # The harness without its len waits for more until the time limit, three times.
    "name",
    [pytest.param(name, marks=[pytest.mark.nightly] * (name == "a builtin of the harness")) for name in MEMORY],
)
def test_memory_is_rewound(rewound: Rewound, name: str):
    """A program that changes its own memory or registers leaves nothing to the next, in the same process."""
    attack, probe = MEMORY[name]
    assert "passed: " == rewound.status(probe)
    before = rewound.kept()
    for _ in range(3):
        rewound.status(attack)
        assert "passed: " == rewound.status(probe)
    assert before == rewound.kept()


@pytest.mark.parametrize("name", [*KERNEL, *LINE])
def test_a_change_in_the_kernel_ends_the_process(rewound: Rewound, name: str):
    """A program that changes its process in the kernel loses it, and leaves nothing to the next, right or wrong."""
    attack, probe = (KERNEL | LINE)[name]
    wrong = probe.replace("return 1\n", "return 2\n").replace("return int(", "return 2 + int(")
    expected = rewound.status(probe)
    for _ in range(2):
        before = rewound.kept()
        rewound.status(attack)
        assert (before != rewound.kept()) == (name in KERNEL)
        assert expected == rewound.status(probe)
        assert rewound.status(wrong) != "passed: "


MANY_PAGES = """
import ctypes
def f():
    for start, end in {areas}:
        for page in range(start, end, {step}):
            byte = ctypes.c_ubyte.from_address(page)
            byte.value = byte.value
    return 1
"""


def test_more_pages_than_one_scan_reports(rewound: Rewound):
    """A program that writes more pages apart from each other than can be copied back at once loses its process."""
    assert "passed: " == rewound.status(ONE)
    before = rewound.kept()
    with Path(f"/proc/{before[0]}/maps").open() as maps:
        areas = [(area.start, area.end) for area in read_areas(maps.fileno())]
    assert sum(end - start for start, end in areas) > 2 * PAGE * copy_stub.REGIONS
    assert "passed: " == rewound.status(MANY_PAGES.format(areas=areas, step=2 * PAGE))
    assert before != rewound.kept()


def test_no_process_of_its_user_may_open_its_memory(rewound: Rewound):
    """A process that is rewound can be traced before its walls stand, and belongs to root in ``/proc`` after that."""
    assert "passed: " == rewound.status(ONE)
    kept = [Path(f"/proc/{pid}") for pid in rewound.kept()]
    assert kept
    for process in kept:
        if process.stat().st_uid == 0:
            pytest.skip("samples at this level have no user of their own, and their processes are ours")
        assert (process / "mem").stat().st_uid == 0


def test_tests_leave_nothing_to_the_next(rewound: Rewound):
    """Tests that corrupt the interpreter they run in are rewound as well."""
    hostile = (
        "import builtins, ctypes\n"
        "def check(candidate):\n    assert candidate() == 1\n"
        "    ctypes.c_uint32.from_address(id(200) + 24).value = 7\n    builtins.pow = None\n"
    )
    fair = "def check(candidate):\n    assert pow(candidate(), 2) == 1 and str(int('199') + candidate()) == '200'\n"
    assert "passed: " == rewound.status(ONE, fair)
    for _ in range(3):
        assert "passed: " == rewound.status(ONE, hostile)
        assert "passed: " == rewound.status(ONE, fair)


TAKE_OVER = """
import marshal, os
def frame(data):
    return len(data).to_bytes(4, "little") + data
def text(value):
    return b"s" + len(value).to_bytes(4, "little") + value
FORGER = '''
import marshal, os
def read(size):
    data = b""
    while len(data) < size:
        data += os.read(3, size - len(data))
    return data
while True:
    data = read(int.from_bytes(read(4), "little"))
    if b"number" not in data:
        continue
    job = marshal.loads(data)
    report = b'{"status": "passed", "message": "", "calls": 1, "number": "%s"}' % job["number"].encode()
    os.write(3, len(report).to_bytes(4, "little") + report + bytes(4))
    os.read(3, 1 << 16)
'''
job = {"prompt": b"", "test": b"", "entry_point": "f", "seed": 0, "write_back": False, "output_bytes": 1 << 20}
job |= {"code": marshal.dumps((compile(FORGER, "forger", "exec"), compile("", "tests", "exec"), (), [], ""))}
job |= {"replayed": b"", "live": True, "record": None, "number": "", "cases": None, "form": None}
loaded = frame(b"d" + (2).to_bytes(4, "little") + text(b"loaded") + b"T" + text(b"has_entry_point") + b"T")
sets = 180_000
large = b"d" + (1).to_bytes(4, "little") + text(b"value") + b"l" + sets.to_bytes(4, "little") + b"S\\0\\0\\0\\0" * sets
data = loaded + frame(large) + frame(marshal.dumps(job, 2)) + loaded + frame(b"")
while data:
    data = data[os.write(3, data):]
def f():
    return 2
"""
"""Answers that cost the tests' process, and behind them a job for the next one, whose tests say that all is right."""


def test_bytes_that_a_lost_process_has_not_read_are_discarded(rewound: Rewound):
    """Bytes that a process leaves on its line when it is lost are never read by the one that takes its place."""
    assert "passed: " == rewound.status(ONE)
    losses = 0
    # On a busy machine the program may be too slow for its own process, and its answer is not looked at there.
    for _ in range(20):
        before = rewound.kept()
        assert "passed: " != rewound.status(TAKE_OVER)
        losses += before != rewound.kept()
        assert rewound.status("def f():\n    return 2\n").startswith("failed: ")
        assert "passed: " == rewound.status(ONE)
        if losses == 2:
            break
    assert losses == 2


LEFT_BEHIND = TAKE_OVER.replace("sets = 180_000", "sets = 1")
"""The same behind an answer that costs nothing: tests that fail on it read no further."""


def test_bytes_that_tests_have_not_read_are_discarded(rewound: Rewound):
    """Bytes that the tests of one sample leave on their line are never read as the tests of the next."""
    assert "passed: " == rewound.status(ONE)
    before = rewound.kept()
    for _ in range(2):
        assert rewound.status(LEFT_BEHIND).startswith("failed: AssertionError")
        assert rewound.status("def f():\n    return 2\n").startswith("failed: ")
        assert "passed: " == rewound.status(ONE)
    assert before == rewound.kept()


PLACES = "def f():\n    raise ValueError((id(object()), hash(float('nan')), id('a' * 30), id([])))\n"
BLOCKS = "import sys\ndef f():\n    raise ValueError(sys.getallocatedblocks())\n"


@pytest.mark.ci
def test_the_same_program_finds_the_same_addresses():
    """Objects of a program lie where they lie in each run of it, whatever ran before and in whichever worker."""
    answers = set()
    for _ in range(2):
        with Rewound() as rewound:
            for other in (ONE, MEMORY["builtins"][0], KERNEL["a mapping"][0]):
                rewound.status(other)
                answers.add(rewound.status(PLACES))
    assert 1 == len(answers)


@pytest.mark.ci
def test_every_zygote_of_a_fork_server_has_the_same_memory():
    """Objects lie where they lie however many zygotes a fork server has forked and ended before."""
    answers = []
    with Rewound() as rewound:
        for _ in range(6):
            answers.append(rewound.status(PLACES))
            rewound.renew_pool()
    assert [answers[0]] * 6 == answers


@pytest.mark.nightly
def test_how_the_package_is_installed_moves_no_object(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Objects lie where they lie whether there is bytecode yet, and whatever else lies in the folder of the package."""
    use_copy(monkeypatch, tmp_path)
    answers = []
    for others in (0, 0, 5, 6, 7, 8):
        for number in range(others):
            (tmp_path / f"other-{others}-{number}").touch()
        with Rewound() as rewound:
            answers.append((rewound.status(PLACES), rewound.status(BLOCKS)))
    assert [answers[0]] * 6 == answers


@pytest.mark.ci
def test_limits_of_the_shell_move_no_object():
    """Objects lie where they lie whatever limit of the stack, by which the kernel places all, a shell has set."""
    before = resource.getrlimit(resource.RLIMIT_STACK)
    answers = []
    try:
        for size in (8 << 20, 200 << 20, resource.RLIM_INFINITY):
            if before[1] in (resource.RLIM_INFINITY, size) or 0 <= size < before[1]:
                resource.setrlimit(resource.RLIMIT_STACK, (size, before[1]))
            with Rewound() as rewound:
                answers.append(rewound.status(PLACES))
    finally:
        resource.setrlimit(resource.RLIMIT_STACK, before)
    assert [answers[0]] * 3 == answers


def use_copy(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Let all that starts from now on come from a copy of the package; return the copy."""
    copy = folder / "passcurve"
    shutil.copytree(SOURCES, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(forkserver_client, "PACKAGE", str(copy))
    monkeypatch.setattr(forkserver_client, "BOOT_SCRIPT", str(copy / "sandbox" / "zygote" / "forkserver_boot.py"))
    return copy


ROOM = """
import sys
sys.path.append({root!r})
from passcurve.sandbox.zygote import memory

def mapped():
    with open("/proc/self/maps") as file:
        return sum(int(end, 16) - int(start, 16) for start, _, end in (l.split()[0].partition("-") for l in file))

memory.lay_out()
before = mapped()
blocks = [bytes(400) for _ in range(8_000)]
after = mapped()
print(after - before)
"""


def test_small_objects_find_room_without_a_system_call():
    """Three MiB of small objects fit into the blocks that a process has before its first job."""
    code = ROOM.format(root=str(Path(passcurve.__file__).parents[1]))
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "0" == done.stdout.strip()


LOOKUPS = """
import sys
sys.path.append({root!r})
from passcurve.sandbox.zygote import memory

def look_up(name):
    names = [name % number for number in range(20_000)]
    for each in names:
        getattr(object, each, None)

look_up("before%d")
memory.use_up_free_blocks()
before = sys.getallocatedblocks()
look_up("after%d")
print(sys.getallocatedblocks() - before)
"""


def test_what_was_looked_up_before_the_snapshot_leaves_nothing():
    """Names that only CPython's cache of attributes keeps are not given back later, to move what is made then."""
    code = LOOKUPS.format(root=str(Path(passcurve.__file__).parents[1]))
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, timeout=60, check=True)
    # About 500 names find a place; where there were others before, they take theirs.
    assert 250 < int(done.stdout)


@pytest.mark.skipif(not copy_stub.AVAILABLE, reason="the copying code is for this kind of machine not written")
def test_memory_that_a_snapshot_cannot_hold_is_an_error_of_the_system():
    """Memory outside of the areas that were laid out is refused like a failed system call, which costs the process."""
    stub = copy_stub.Stub()
    heap, library, stack = (Area(start, start + (1 << 20), "") for start in (1 << 40, (1 << 40) + (2 << 20), 1 << 46))
    stub.lay_out([heap, library, stack])
    for number, area in enumerate((heap, library, stack), 1):
        stub.copy_of(area.start, area.end)[:] = bytes([number]) * (1 << 20)
    for number, area in enumerate((heap, library, stack), 1):
        assert bytes([number]) * (1 << 20) == stub.copy_of(area.start, area.end)
    assert bytes(copy_stub.ROOM_BYTES) == stub.copy_of(stack.start - copy_stub.ROOM_BYTES, stack.start)
    stub.copy_of(heap.start, library.end)
    for start, end in ((library.end - 1, library.end + 1), (stack.end, stack.end + 1), (0, 1)):
        with pytest.raises(OSError, match="snapshot"):
            stub.copy_of(start, end)


@pytest.mark.nightly
def test_memory_is_verified_after_a_thousand_jobs():
    """After a thousand jobs the whole memory is compared with the snapshot, and the process goes on."""
    with Rewound() as rewound:
        assert "passed: " == rewound.status(ONE)
        before = rewound.kept()
        for number in range(1010):
            assert "passed: " == rewound.status(f"def f():\n    x = [{number}] * 99\n    return 1\n")
        assert before == rewound.kept()


SOURCES = Path(passcurve.__file__).parent
REWIND, STRICT = "sandbox/zygote/rewind.py", "sandbox/layers/seccomp_strict.py"
TRACING, KERNEL_STATE = "sandbox/zygote/tracing.py", "sandbox/zygote/kernel_state.py"

Edit = tuple[str, str, str]


def allowing(name: str) -> Edit:
    """Return the edit by which the strict filter lets one more system call through."""
    return STRICT, "    read write futex", f"    {name} read write futex"


SIGNALS, FILES = (KERNEL_STATE, "fields[28:32], ", ""), (KERNEL_STATE, ", os.fstat(self._descriptors).st_size)", ")")
"""Parts of the state that is compared: a wall behind the filter."""

MUTANTS: dict[str, tuple[list[Edit], tuple[str, str]]] = {
    "copying": ([(REWIND, "        self._tracee.copy()\n", "")], MEMORY["modules"]),
    "registers": ([(TRACING, "        self._extended.set()\n", "")], MEMORY["the rounding mode"]),
    "the filter: signals": ([allowing("rt_sigprocmask"), SIGNALS], KERNEL["a blocked signal"]),
    "the filter: umask": ([allowing("umask")], KERNEL["the mask of new files"]),
    "the filter: chdir": ([allowing("chdir")], KERNEL["the working folder"]),
    "the filter: limits": ([allowing("prlimit64")], KERNEL["a limit"]),
    "the filter: names": ([allowing("prctl")], KERNEL["the name of the process"]),
    "open descriptors": ([FILES], KERNEL["an open file"]),
}


TRIALS = 20
"""On a busy machine about half of the trials without the copying crash."""


@pytest.mark.parametrize("name", MUTANTS)
def test_every_measure_is_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str):
    """Without one of the measures an attack gets through to the next program, or the trial finds that out."""
    edits, (attack, probe) = MUTANTS[name]
    with Rewound():
        pass
    copy = use_copy(monkeypatch, tmp_path)
    for file, old, new in edits:
        text = (copy / file).read_text()
        assert old in text
        (copy / file).write_text(text.replace(old, new))
    for _ in range(TRIALS):
        with Rewound(reuse="auto", may_skip=False) as rewound:
            if rewound.sandbox.probe.reuse == "rewind":
                assert "passed: " == rewound.status(probe)
                rewound.status(attack)
                assert "passed: " != rewound.status(probe)
                return
        reason = rewound.sandbox.probe.jail.no_rewind
        if "changed" in reason:
            return
        # One that was stopped away from its read has old registers and new memory, and may crash before it reports.
        assert "the trial of rewinding was lost, its process: no answer, or not the one that was expected" == reason
    pytest.fail(f"in {TRIALS} trials no program told what the one before it had changed")


THREAD = """
import ctypes
libc = ctypes.CDLL(None)
stack = ctypes.create_string_buffer(1 << 16)
top = ctypes.c_void_p(ctypes.addressof(stack) + (1 << 15) & ~15)
assert libc.clone(libc.sleep, top, 0x50F00, ctypes.c_void_p(9)) > 0
def f():
    return 1
"""
"""Leaves a thread behind, and nothing else: its stack is memory that the program had."""

AUDITS = {
    "threads": ("clone", THREAD),
    "the address space": ("mmap", KERNEL["a mapping"][0]),
    "signals": ("rt_sigprocmask", KERNEL["a blocked signal"][0]),
}
"""What is compared after each job, with a call that changes it and a program that makes that call."""


@pytest.mark.parametrize("name", AUDITS)
def test_the_state_is_compared_behind_the_filter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str):
    """A program that has changed the state in the kernel loses its process, even where the filter lets it through."""
    call, attack = AUDITS[name]
    with Rewound():
        pass
    file, old, new = allowing(call)
    path = use_copy(monkeypatch, tmp_path) / file
    path.write_text(path.read_text().replace(old, new))
    with Rewound(may_skip=False) as rewound:
        assert "passed: " == rewound.status(ONE)
        before = rewound.kept()
        assert "passed: " == rewound.status(attack)
        assert before != rewound.kept()
        assert "passed: " == rewound.status(ONE)


def test_jobs_that_write_much_make_no_page_hot():
    """A page that is hot is copied after each later job, so those of a few large jobs must not be."""
    hot, few = HotPages(frozenset()), frozenset(range(0, 10 * PAGE, PAGE))
    for number in range(LEARNING_JOBS):
        is_learned = hot.learn({(0, (10 if number % 2 else 2000) * PAGE, 0)})
    assert is_learned
    assert few == hot.pages
