"""The real jail, from inside: each program tries one thing, and its return value tells whether that worked."""

from __future__ import annotations

import fcntl
import os
import platform
import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from attempts import ATTEMPTS, FLAG_STREAMS, REFUSED, TRIED
from jailed import IS_ONE, ONE, Jailed, census, jail_at

import passcurve
from passcurve.judging.plan import CheckPlan
from passcurve.sandbox.layers.seccomp import SAMPLE_CALLS
from passcurve.sandbox.layers.syscalls import numbers


@pytest.fixture(scope="module")
def listeners() -> Iterator[dict[str, object]]:
    """Listen on loopback and on an abstract name of the host."""
    name = f"\0passcurve-test-{id(object()):x}"
    with socket.create_server(("127.0.0.1", 0)) as inet, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(name)
        unix.listen()
        yield {"port": inet.getsockname()[1], "abstract": name}


@pytest.fixture(scope="module")
def canary(public_folder: Path) -> Path:
    """Return a file of the host that everybody may read and write, so that only walls protect it."""
    path = public_folder / "canary"
    path.write_text("a secret of the host")
    path.chmod(0o666)
    return path


@pytest.mark.parametrize("what", ATTEMPTS)
def test_an_attempt_is_refused(jail: Jailed, what: str, canary: Path, listeners: dict[str, object]):
    """None of these gets through, and the next program in the same worker passes."""
    fields = {
        **numbers(platform.machine()),
        **listeners,
        "canary": str(canary),
        "ours": passcurve.harness.wire.__file__,
        "theirs": msgspec.__file__,
    }
    source = TRIED + "def attempt():\n    return " + ATTEMPTS[what].format(**fields) + "\n"
    answer = jail.value(source)
    # From 3.15 on CPython has forgotten the number of that error when it raises it.
    numberless = ("[Errno 0] Error",) if what == "fork with a terminal" and sys.version_info >= (3, 15) else ()
    assert answer in (*REFUSED, "ValueError", "EISCONN", "EOPNOTSUPP", *numberless), answer
    assert [canary] == list(canary.parent.iterdir())
    assert ("a secret of the host", 0o666) == (canary.read_text(), canary.stat().st_mode & 0o777)
    assert jail.check(ONE, IS_ONE).passed


PIPES = """
import fcntl, os
def grown(pipe):
    try:
        return fcntl.fcntl(pipe, 1031, 1 << 20)
    except PermissionError:
        return 0
def f():
    pipes = []
    try:
        while True:
            pipes += os.pipe()
    except OSError:
        pass
    return sum(map(grown, pipes)), sum(fcntl.fcntl(pipe, 1032) for pipe in pipes[::2])
"""


def test_pipes_keep_their_size(jail: Jailed):
    """A program has as many pipes as descriptors allow, none larger than new ones are."""
    read, write = os.pipe()
    new = fcntl.fcntl(read, 1032)
    os.close(read)
    os.close(write)
    grown, total = jail.value(PIPES)
    assert 0 == grown
    assert 0 < total <= 32 * new


LOCKS = """
import fcntl, os, struct

def f():
    first, second = open(os.__file__), open(os.__file__)
    for file in (first, second):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 0, 0))
    return sum(str(os.stat(os.__file__).st_ino) in line for line in open("/proc/locks"))
"""


def test_no_file_is_locked(jail: Jailed):
    """A program gets every lock that it asks for, and holds up nobody: the files it can read are the host's."""
    outcome = jail.run(jail.job(LOCKS))
    message = (outcome.report or {}).get("message", "")
    # Without /proc the last line cannot run, but the second exclusive lock was granted.
    assert message == "RuntimeError: 0" or "/proc/locks" in message, outcome


def test_reading_leaves_no_time_behind():
    """The next program cannot see when the scratch was last read."""
    with jail_at("full") as jail:
        when = "import os\ndef f():\n    return os.stat('.').st_atime_ns\n"
        before = jail.value(when)
        assert [] == jail.value("import os\ndef f():\n    return os.listdir('.')\n")
        assert before == jail.value(when)


def test_the_host_has_no_name():
    """A program in namespaces of its own does not see the name of the host."""
    with jail_at("full") as jail:
        assert "sandbox" == jail.value("import os\ndef f():\n    return os.uname().nodename\n")


PLACES = """
import gc, subprocess, sys
class Own:
    pass
def f():
    {first}
    made = [], {{}}, object(), Own(), 1.5 * len(sys.argv), "a" * len(sys.argv[0]), (len(sys.argv),), Own, bytes(1000)
    there = [id(each) for each in made]
    others = set(map(hash, [object() for _ in range(50)]))
    counts = sys.getallocatedblocks(), sys.getrefcount(None), gc.get_count()
    return repr((there, [number % 64 for number in others][:20], counts))
"""


@pytest.mark.parametrize("level", ["full", "restricted"])
def test_every_process_finds_the_same_memory(level: str):
    """Objects have the same addresses in a rewound, a replaced and a new process, however the program was scheduled."""
    seen: dict[str, dict[str, list[str]]] = {}
    for reuse in ("rewind", "fork"):
        with jail_at(level, reuse=reuse) as jail:
            for first in ("pass", "import time; time.sleep(0.01)", "pass"):
                for kept in (True, False):
                    answer = jail.value(PLACES.format(first=first), allow_kept=kept)
                    seen.setdefault(first, {}).setdefault(answer, []).append(f"{reuse}, kept: {kept}")
    for answers in seen.values():
        first, *others = (re.findall(r"\d+", answer) for answer in answers)
        # All answers do not fit into a message: name what differs.
        pairs = [pair for other in others for pair in zip(first, other, strict=True) if pair[0] != pair[1]]
        assert 1 == len(answers), ([*answers.values()], pairs)


def test_every_other_call_is_refused(jail: Jailed):
    """Every system call that is not on the list for samples is refused when it is made directly."""
    others = {name: number for name, number in numbers(platform.machine()).items() if name not in SAMPLE_CALLS}
    source = TRIED + (
        f"others = {others!r}\n"
        "def f():\n"
        "    answers = {name: tried(lambda: call(number, 0, 0, 0, 0, 0, 0)) for name, number in others.items()}\n"
        "    return {name: answer for name, answer in answers.items() if answer not in ('EPERM', 'ENOSYS')}\n"
    )
    # No file has extended attributes, which is no refusal to honest programs.
    readers = ("getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr")
    assert dict.fromkeys(readers, "ENOTSUP") == jail.value(source)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the code is for x86-64")
@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("the 32-bit gate", "b814000000cd80c3"),
        ("the x32 table", "b8270000400f05c3"),
    ],
)
def test_other_tables_of_calls_kill(jail: Jailed, what: str, code: str):
    """A system call through the 32-bit gate or the x32 table ends the program, and is judged a crash."""
    source = (
        "import ctypes, mmap\n"
        "def f():\n"
        "    page = mmap.mmap(-1, 4096, prot=7)\n"
        f"    page.write(bytes.fromhex({code!r}))\n"
        "    return ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()\n"
    )
    verdict = jail.check(source, IS_ONE)
    assert "crash" == verdict.status, verdict
    assert "exit code" not in verdict.message
    assert jail.check(ONE, IS_ONE).passed


def test_signals_of_a_descriptor(jail: Jailed):
    """A descriptor that is told to signal somebody else's process signals nobody outside."""
    source = (
        "import fcntl, os, signal, socket\n"
        "def f():\n"
        "    for owner in (os.getppid(), 1, -os.getppid()):\n"
        "        near, far = socket.socketpair()\n"
        "        try:\n"
        "            fcntl.fcntl(near, fcntl.F_SETOWN, owner)\n"
        "            fcntl.fcntl(near, fcntl.F_SETSIG, signal.SIGKILL)\n"
        "            fcntl.fcntl(near, fcntl.F_SETFL, fcntl.fcntl(near, fcntl.F_GETFL) | os.O_ASYNC)\n"
        "            far.send(b'x')\n"
        "        except OSError:\n"
        "            pass\n"
        "    return 1\n"
    )
    started = {process for process in census() if process.parent == os.getpid()}
    outcome = jail.run(jail.job(source, IS_ONE))
    assert ("report", "") == (outcome.ended, outcome.fault)
    assert jail.check(ONE, IS_ONE).passed
    assert started == {process for process in census() if process.parent == os.getpid()}


def test_no_other_process_is_visible(full: Jailed):
    """A program sees itself and process 1, and no other process."""
    source = (
        "import os\n"
        "def f():\n"
        "    try:\n"
        "        seen = {int(name) for name in os.listdir('/proc') if name.isdigit()}\n"
        "    except OSError:\n"
        "        seen = set()\n"
        "    return sorted(seen - {os.getpid(), 1}), os.getppid()\n"
    )
    assert ([], 1) == full.value(source)


def test_identity_and_folders(full: Jailed):
    """A program is a plain user without the groups of root, and sees no folder of the host but what Python needs."""
    needed = full.sandbox.toolchain.folders
    hosts = [
        p for p in ("/home", "/root", "/var", "/run", "/sys", "/etc/hosts") if not any(n.startswith(p) for n in needed)
    ]
    source = (
        "import os, socket\n"
        "def f():\n"
        f"    there = [name for name in {hosts!r} if os.path.exists(name)]\n"
        "    return os.getresuid(), os.getgroups(), there\n"
    )
    ids, groups, there = full.value(source)
    assert 1 == len(set(ids))
    assert 0 not in ids
    assert 0 not in groups
    assert [] == there


def test_the_environment_is_our_own(jail: Jailed, secret: str):
    """The environment of a program holds nothing of the supervisor's."""
    names, values = jail.value("import os\ndef f():\n    return sorted(os.environ), list(os.environ.values())\n")
    assert secret not in values
    assert {"HOME", "LANG", "PYTHONHASHSEED"} <= set(names)
    assert set(names) <= {
        *("GLIBC_TUNABLES", "HOME", "LANG", "LC_ALL", "LD_BIND_NOW", "LC_CTYPE", "PYTHONHASHSEED", "TZ"),
        *("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"),
    }


@pytest.mark.parametrize("reuse", [True, False], ids=["kept", "new"])
def test_standard_streams_are_its_own(jail: Jailed, reuse: bool):
    """No program sees the flags that another one has set on its standard streams."""
    jail.value("import fcntl, os\ndef f():\n    " + FLAG_STREAMS + "\n", allow_kept=reuse)
    text = "import fcntl\ndef f():\n    return [fcntl.fcntl(n, fcntl.F_GETFL) for n in range(3)]\n"
    assert not any(flags & (os.O_APPEND | os.O_NONBLOCK) for flags in jail.value(text, allow_kept=reuse))


@pytest.mark.parametrize("reuse", [True, False], ids=["kept", "new"])
def test_a_program_holds_its_line_only(jail: Jailed, reuse: bool):
    """A program holds its line; the standard streams lead to /dev/null, and no other descriptor is open."""
    source = (
        "import os, stat\n"
        "def f():\n"
        "    found = {}\n"
        "    for number in range(64):\n"
        "        try:\n"
        "            found[number] = os.fstat(number)\n"
        "        except OSError:\n"
        "            pass\n"
        "    null = os.stat('/dev/null').st_rdev\n"
        "    others = {n: it for n, it in found.items() if it.st_rdev != null}\n"
        "    lines = {it.st_ino for it in others.values() if stat.S_ISSOCK(it.st_mode)}\n"
        "    return list(found), list(others), len(lines)\n"
    )
    assert ([0, 1, 2, 3], [3], 1) == tuple(jail.value(source, allow_kept=reuse))


@pytest.mark.parametrize("reuse", [True, False], ids=["kept", "new"])
def test_deeply_nested_values_end_no_process(jail: Jailed, reuse: bool):
    """They raise RecursionError: from CPython 3.14 on by the size of the stack, which must all be there."""
    source = (
        "def f():\n"
        "    held = []\n"
        "    for _ in range(100_000):\n"
        "        held = [held]\n"
        "    try:\n"
        "        return repr(held)\n"
        "    except RecursionError:\n"
        "        return 1\n"
    )
    assert 1 == jail.value(source, allow_kept=reuse)


@pytest.mark.parametrize("reuse", [True, False], ids=["kept", "new"])
def test_the_kernel_has_no_place_in_its_memory(jail: Jailed, reuse: bool):
    """No area of restartable sequences is registered: where a program describes one, it chooses what runs in it next.

    The kernel goes by the description whenever the process was stopped, and so as well while its memory is put back.
    """
    source = (
        "import ctypes\n"
        "def f():\n"
        "    try:\n"
        "        return ctypes.c_uint.in_dll(ctypes.CDLL(None), '__rseq_size').value\n"
        "    except ValueError:\n"
        "        return 0\n"
    )
    assert 0 == jail.value(source, allow_kept=reuse)


def test_our_own_code_is_not_importable(jail: Jailed):
    """A program can import neither the sandbox nor what only the sandbox needs."""
    source = (
        "import sys\n"
        "def f():\n"
        "    found = [name for name in sys.modules if name.startswith('passcurve')]\n"
        "    for name in ('passcurve', 'passcurve.sandbox', 'msgspec', 'pytest'):\n"
        "        try:\n"
        "            __import__(name)\n"
        "            found.append(name)\n"
        "        except ImportError:\n"
        "            pass\n"
        "    return found\n"
    )
    assert [] == jail.value(source)


@pytest.mark.parametrize("plan", [CheckPlan(), CheckPlan(mode="shared")], ids=["referee", "shared"])
def test_shared_programs_stand_behind_the_same_walls(jail: Jailed, plan: CheckPlan, canary: Path):
    """A program that shares its process with the tests reaches no more of the host than any other."""
    source = (
        "import os\n"
        "def f():\n"
        "    done = []\n"
        f"    for attempt in (lambda: open({str(canary)!r}).close(), os.fork, lambda: os.kill(os.getppid(), 0)):\n"
        "        try:\n"
        "            attempt()\n"
        "            done.append(1)\n"
        "        except OSError:\n"
        "            done.append(0)\n"
        "    return done\n"
    )
    verdict = jail.check(source, "def check(candidate):\n    assert candidate() == [0, 0, 0]\n", plan=plan)
    assert "passed" == verdict.status, verdict


def test_tests_stand_behind_the_same_walls(jail: Jailed, canary: Path):
    """The tests of a problem reach no more of the host than a program does."""
    test = (
        "import os, socket\n"
        "def check(candidate):\n"
        "    candidate()\n"
        f"    for attempt in (lambda: open({str(canary)!r}).close(), os.fork, socket.socket,\n"
        "                    lambda: os.kill(os.getppid(), 0), lambda: open('/passcurve-was-here', 'w')):\n"
        "        try:\n"
        "            attempt()\n"
        "        except OSError:\n"
        "            continue\n"
        "        raise RuntimeError('worked')\n"
    )
    assert "passed" == jail.check(ONE, test).status


def test_python_of_the_samples(jail: Jailed):
    """The interpreter inside is the one that the probe reports."""
    assert jail.probe.jail.python == jail.value("import platform\ndef f():\n    return platform.python_version()\n")
    assert jail.probe.jail.python == "%d.%d.%d" % sys.version_info[:3]


MAPPED = (
    "def check(candidate):\n    for got, want in zip(map(candidate, [1, 2]), [2, 3]):\n        assert got == want\n",
    "def check(candidate):\n    assert all(map(lambda pair: candidate(pair[0]) == pair[1], [(1, 2), (5, 6)]))\n",
    "def check(candidate):\n    assert all(got < 4 for got in map(candidate, [1, 2]))\n",
)


@pytest.mark.parametrize("test", MAPPED)
def test_the_end_of_an_iteration_ends_none_of_the_tests(jail: Jailed, test: str):
    """To `map` an exception of the program that says so would be the end of what is to be called."""
    assert jail.check("def f(x):\n    return x + 1\n", test).passed
    for wrong in ("raise StopIteration", "raise type('End', (StopIteration,), {})"):
        verdict = jail.check(f"def f(x):\n    {wrong}\n", test)
        assert ("failed", "RuntimeError") == (verdict.status, verdict.exception)
    assert jail.check(
        "def f(x):\n    yield x\n", "def check(candidate):\n    assert [3] == list(candidate(3))\n"
    ).passed
