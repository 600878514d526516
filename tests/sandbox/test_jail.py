"""The real jail, from inside: each program tries one thing and tells by its return value whether it got through."""

from __future__ import annotations

import os
import platform
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from jailed import IS_ONE, LIMITS, MIB, ONE, Jailed, census, jail_at

import passcurve
from passcurve.judging.plan import CheckPlan
from passcurve.sandbox.layers.seccomp import SAMPLE_CALLS
from passcurve.sandbox.layers.syscalls import numbers

REFUSED = ("EPERM", "EACCES", "ENOENT", "ESRCH", "EROFS", "ENOSYS", "EINVAL", "ENXIO", "EXDEV")
TRIED = '''
import ctypes, errno, fcntl, os, resource, signal, socket, stat, sys, time

libc = ctypes.CDLL(None, use_errno=True)


def call(number, *args):
    """Make a system call by number."""
    result = libc.syscall(ctypes.c_long(number), *(a if isinstance(a, bytes) else ctypes.c_long(a) for a in args))
    if result == -1:
        raise OSError(ctypes.get_errno(), "")
    return result


def tried(attempt):
    try:
        return "worked: %r" % (attempt(),)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    except (ValueError, MemoryError, RuntimeError) as error:
        return type(error).__name__


def f():
    return tried(attempt)
'''

FILES = {
    "read a file of the host": "open({canary!r}).read()",
    "read it through a link": "(os.symlink({canary!r}, 'link'), open('link').read())",
    "read it through the root of process 1": "open('/proc/1/root' + {canary!r}).read()",
    "read it through a hard link": "(os.link({canary!r}, 'hard'), open('hard').read())",
    "list a folder of the host": "os.listdir(os.path.dirname({canary!r}))",
    "move out of the scratch": "(open('mine', 'w').close(), os.rename('mine', {canary!r} + '-moved'))",
    "write beside the scratch": "open(os.path.dirname(os.getcwd()) + '/passcurve-was-here', 'w')",
    "write to the root": "open('/passcurve-was-here', 'w')",
    "write beside a file of the host": "open(os.path.dirname({canary!r}) + '/passcurve-was-here', 'w')",
    "write to a file of the host": "open({canary!r}, 'a')",
    "remove a file of the host": "os.unlink({canary!r})",
    "write to /etc": "open('/etc/passcurve-was-here', 'w')",
    "write to /dev/shm": "open('/dev/shm/passcurve-was-here', 'w')",
    "write to /var/tmp": "open('/var/tmp/passcurve-was-here', 'w')",
    "write to the standard library": "open(os.__file__, 'a')",
    "date a device": "os.utime('/dev/null')",
    "date the standard library": "os.utime(os.__file__)",
    "read the sandbox's own source": "open({ours!r}).read()",
    "read the packages of the sandbox": "open({theirs!r}, 'rb').read()",
    "read the shadow file": "open('/etc/shadow').read()",
    "read a disk": "[open('/dev/' + d, 'rb') for d in ('sda', 'vda', 'nvme0n1', 'mem', 'kmsg')]",
    "open the terminal": "open('/dev/tty')",
    "make a device": "os.mknod('device', 0o600 | stat.S_IFBLK, os.makedev(8, 0))",
    "make a pipe with a name": "os.mkfifo('fifo')",
    "make a socket with a name": "os.mknod('socket', 0o600 | stat.S_IFSOCK)",
    "change the rights of a file of the host": "os.chmod({canary!r}, 0o600)",
    "change the times of a file of the host": "os.utime({canary!r}, (0, 0))",
    "cut a file of the host": "os.truncate({canary!r}, 0)",
    "change the rights of the standard library": "os.fchmod(os.open(os.__file__, os.O_RDONLY), 0o666)",
    "change the times of the standard library": "os.utime(os.open(os.__file__, os.O_RDONLY), (0, 0))",
    "give a file away": "(open('mine', 'w').close(), os.chown('mine', 0, 0))",
    "set an extended attribute": "os.setxattr('.', 'user.left', b'behind')",
}
PROCESSES = {
    "fork": "os.fork()",
    "fork with a terminal": "os.forkpty()",
    "spawn": "os.posix_spawn(sys.executable, ['python'], {{}})",
    "execute": "os.execv(sys.executable, ['python', '-c', 'pass'])",
    "execute from memory": "os.execve(0, ['python'], {{}})",
    "kill the parent": "os.kill(os.getppid(), signal.SIGKILL)",
    "stop the parent": "os.kill(os.getppid(), signal.SIGSTOP)",
    "look for the parent": "os.kill(os.getppid(), 0)",
    "kill process 1": "os.kill(1, signal.SIGKILL)",
    "kill everybody": "os.kill(-1, signal.SIGKILL)",
    "kill its group": "os.kill(0, signal.SIGKILL)",
    "kill a thread of the parent": "call({tkill}, os.getppid(), signal.SIGKILL)",
    "kill the parent by thread": "call({tgkill}, os.getppid(), os.getppid(), signal.SIGKILL)",
    "queue a signal": "call({rt_sigqueueinfo}, os.getppid(), signal.SIGTERM, bytes(128))",
    "hold the parent": "os.pidfd_open(os.getppid())",
    "trace the parent": "call({ptrace}, 16, os.getppid(), 0, 0)",
    "be traced": "call({ptrace}, 0, 0, 0, 0)",
    "read the parent's memory": "call({process_vm_readv}, os.getppid(), bytes(16), 1, bytes(16), 1, 0)",
    "write the parent's memory": "call({process_vm_writev}, os.getppid(), bytes(16), 1, bytes(16), 1, 0)",
    "open the parent's memory": "open('/proc/%d/mem' % os.getppid(), 'r+b')",
    "open the memory of process 1": "open('/proc/1/mem', 'r+b')",
    "read the parent's environment": "open('/proc/%d/environ' % os.getppid(), 'rb').read()",
    "read the parent's map": "open('/proc/%d/maps' % os.getppid()).read()",
    "list the parent's descriptors": "os.listdir('/proc/%d/fd' % os.getppid())",
    "limit the parent": "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (3, 3))",
    "move the parent to another core": "os.sched_setaffinity(os.getppid(), {{0}})",
    "leave its session": "os.setsid()",
    "be first in line": "os.nice(-5)",
}
NETWORK = {
    "make an internet socket": "socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
    "make a datagram socket": "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)",
    "make a unix socket": "socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)",
    "make a netlink socket": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "make a packet socket": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "make a socket to the hypervisor": "socket.socket(40, socket.SOCK_STREAM)",
    "make a pair of datagram sockets": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
    "connect to loopback": "socket.create_connection(('127.0.0.1', {port}), 1)",
    "connect one of a pair": "socket.socketpair()[0].connect({abstract!r})",
    "bind one of a pair": "socket.socketpair()[0].bind(chr(0) + 'passcurve-was-here')",
    "send to an address": "socket.socketpair()[0].sendto(b'x', {abstract!r})",
    "send a descriptor": "socket.send_fds(socket.socketpair()[0], [b'x'], [0])",
}
RIGHTS = {
    "become root": "os.setuid(0)",
    "become somebody else": "os.setresuid(12345, 12345, 12345)",
    "join a group": "os.setgroups([0])",
    "raise its memory": "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
    "raise its files": "resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))",
    "raise its file size": "resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))",
    "mount": "call({mount}, b'tmpfs', b'/tmp', b'tmpfs', 0, 0)",
    "unmount": "call({umount2}, b'/tmp', 2)",
    "change the root": "os.chroot('.')",
    "leave its user namespace": "call({unshare}, 0x10000000)",
    "leave nothing": "call({unshare}, 0)",
    "enter another namespace": "call({setns}, 0, 0)",
    "have memory without a limit": "os.memfd_create('hidden')",
    "have shared memory": "call({shmget}, 0, 4096, 0o1600)",
    "lay another filter": "call({seccomp}, 1, 0, bytes(16))",
    "be dumpable": "call({prctl}, 4, 1, 0, 0, 0)",
    "have a message on death": "call({prctl}, 1, 9, 0, 0, 0)",
    "have capabilities": "call({capset}, bytes(8), bytes(24))",
    "set the clock": "time.clock_settime(time.CLOCK_REALTIME, 0)",
    "name the host": "socket.sethostname('mine')",
}
ATTEMPTS = {**FILES, **PROCESSES, **NETWORK, **RIGHTS}


@pytest.fixture(scope="module")
def listeners() -> Iterator[dict[str, object]]:
    """Listen on loopback and on an abstract name of the host."""
    name = f"\0passcurve-test-{id(object()):x}"
    with socket.create_server(("127.0.0.1", 0)) as inet, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(name)
        unix.listen()
        yield {"port": inet.getsockname()[1], "abstract": name}


@pytest.fixture(scope="module")
def canary(commons: Path) -> Path:
    """Return a file of the host that anybody could read and write if he reached it."""
    path = commons / "canary"
    path.write_text("a secret of the host")
    path.chmod(0o666)
    return path


@pytest.mark.parametrize("what", ATTEMPTS)
def test_attempts(jail: Jailed, what: str, canary: Path, listeners: dict[str, object]):
    """None of these gets through, and the next program in the same worker passes."""
    known = {
        **numbers(platform.machine()),
        **listeners,
        "canary": str(canary),
        "ours": passcurve.harness.wire.__file__,
        "theirs": msgspec.__file__,
    }
    source = TRIED + "def attempt():\n    return " + ATTEMPTS[what].format(**known) + "\n"
    said = jail.value(source)
    assert said in (*REFUSED, "ValueError", "EISCONN", "EOPNOTSUPP"), said
    assert [canary] == list(canary.parent.iterdir())
    assert ("a secret of the host", 0o666) == (canary.read_text(), canary.stat().st_mode & 0o777)
    assert jail.check(ONE, IS_ONE).passed


LOCKS = """
import fcntl, os, struct

def f():
    first, second = open(os.__file__), open(os.__file__)
    for each in (first, second):
        fcntl.flock(each, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(each, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.fcntl(each, 37, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 0, 0))
    return sum(str(os.stat(os.__file__).st_ino) in line for line in open("/proc/locks"))
"""


def test_no_file_is_locked(jail: Jailed):
    """A program gets every lock that it asks for, and holds up nobody: the files it can read are the host's."""
    outcome = jail.run(jail.job(LOCKS))
    said = (outcome.report or {}).get("message", "")
    # Where there is no /proc the last line cannot be tried; the second exclusive lock has shown it.
    assert said == "RuntimeError: 0" or "/proc/locks" in said, outcome


def test_reading_leaves_no_time_behind():
    """When the scratch was last read cannot be seen by the next program."""
    with jail_at("full") as jail:
        when = "import os\ndef f():\n    return os.stat('.').st_atime_ns\n"
        before = jail.value(when)
        assert [] == jail.value("import os\ndef f():\n    return os.listdir('.')\n")
        assert before == jail.value(when)


def test_the_host_has_no_name():
    """In namespaces of its own a program does not learn what the host is called."""
    with jail_at("full") as jail:
        assert "sandbox" == jail.value("import os\ndef f():\n    return os.uname().nodename\n")


PLACES = """
import gc, subprocess, sys
class Own:
    pass
def f():
    {first}
    made = [], {{}}, object(), Own(), 1.5 * len(sys.argv), "a" * len(sys.argv[0]), (len(sys.argv),)
    there = [id(each) for each in made]
    others = set(map(hash, [object() for _ in range(50)]))
    return repr((there, [number % 64 for number in others][:20], sys.getallocatedblocks(), gc.get_count()))
"""


@pytest.mark.parametrize("level", ["full", "restricted"])
def test_every_process_finds_the_same_memory(level: str):
    """Objects have the same addresses in a process that is rewound, that is replaced, and that is new.

    So do they whether the machine let the program run at once or not.
    """
    found = set()
    for reuse in ("rewind", "fork"):
        with jail_at(level, reuse=reuse) as jail:
            for first in ("pass", "import time; time.sleep(0.01)", "pass"):
                for kept in (True, False):
                    found.add((first, jail.value(PLACES.format(first=first), reuse=kept)))
    assert 2 == len(found)


def test_every_other_call_is_refused(jail: Jailed):
    """Every system call that is not on the list for samples is refused when it is made directly."""
    others = {name: number for name, number in numbers(platform.machine()).items() if name not in SAMPLE_CALLS}
    source = TRIED + (
        f"others = {others!r}\n"
        "def f():\n"
        "    answers = {name: tried(lambda: call(number, 0, 0, 0, 0, 0, 0)) for name, number in others.items()}\n"
        "    return {name: answer for name, answer in answers.items() if answer not in ('EPERM', 'ENOSYS')}\n"
    )
    assert {} == jail.value(source)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the code is for x86-64")
@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("the 32-bit gate", "b814000000cd80c3"),
        ("the x32 table", "b8270000400f05c3"),
    ],
)
def test_other_doors_kill(jail: Jailed, what: str, code: str):
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
    started = {each for each in census() if each.parent == os.getpid()}
    outcome = jail.run(jail.job(source, IS_ONE))
    assert ("report", "") == (outcome.ended, outcome.fault)
    assert jail.check(ONE, IS_ONE).passed
    assert started == {each for each in census() if each.parent == os.getpid()}


def test_processes_in_sight(full: Jailed):
    """A program sees itself and the process that made it, and nobody else."""
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
    needed = full.toolchain.folders
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


def test_environment(jail: Jailed, secret: str):
    """The environment of a program holds nothing of the supervisor's."""
    said = jail.value("import os\ndef f():\n    return sorted(os.environ), list(os.environ.values())\n")
    names, values = said
    assert secret not in values
    assert {"HOME", "LANG", "PYTHONHASHSEED"} <= set(names)
    assert set(names) <= {
        *("GLIBC_TUNABLES", "HOME", "LANG", "LC_ALL", "LD_BIND_NOW", "LC_CTYPE", "PYTHONHASHSEED", "TZ"),
        *("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"),
    }


@pytest.mark.parametrize("reuse", [True, False], ids=["kept", "new"])
def test_descriptors(jail: Jailed, reuse: bool):
    """A program holds its line and nothing else: all other descriptors, the three standard ones too, lead nowhere."""
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
    assert ([0, 1, 2, 3], [3], 1) == tuple(jail.value(source, reuse=reuse))


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


def test_threads_are_bounded(full: Jailed):
    """A program that starts threads without end gets some and then none, and harms nobody."""
    assert 1 <= full.value(THREAD_BOMB) <= 64
    assert full.check(ONE, IS_ONE).passed


def test_threads_are_bounded_by_memory(restricted: Jailed):
    """Without a uid of its own it is the limit of memory that ends a thread bomb."""
    assert 1 <= restricted.value(THREAD_BOMB) < 1000
    assert restricted.check(ONE, IS_ONE).passed


THREAD_BOMB = """
import threading
def f():
    gate = threading.Event()
    started = 0
    try:
        while started < 1000:
            threading.Thread(target=gate.wait, daemon=True).start()
            started += 1
    except (RuntimeError, MemoryError):
        pass
    gate.set()
    return started
"""


def test_memory_is_bounded(jail: Jailed):
    """More memory than the limit is a MemoryError, and says so in the verdict."""
    assert "memory" == jail.check("def f():\n    return len(bytearray(2 << 30))\n", IS_ONE).status
    assert "memory" == jail.check("x = bytearray(2 << 30)\n" + ONE, IS_ONE).status


def test_cpu_and_core_files(jail: Jailed):
    """Nothing can be left as a core file, locked in memory or queued as messages."""
    names = ("RLIMIT_CORE", "RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE")
    source = f"import resource\ndef f():\n    return [resource.getrlimit(getattr(resource, n)) for n in {names}]\n"
    assert [(0, 0)] * 3 == jail.value(source)


# The scratch.

CLEAN = """
import os, tempfile
def f():
    found = os.listdir(".")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        with open(path, "w") as file:
            file.write("text")
        with open(path) as file:
            return file.read(), os.path.dirname(folder) == os.getcwd(), found
"""


def test_scratch_is_usable(jail: Jailed):
    """The current folder is where temporary files go, and can be written."""
    assert ("text", True, []) == jail.value(CLEAN)


DIRT = {
    "a file": "open('file', 'w').write('x')",
    "an open file without a name": "globals().update(kept=open('file', 'w')), os.unlink('file')",
    "a hidden folder without rights": "os.makedirs('.a/b/c'), open('.a/b/c/d', 'w').close(), "
    "perhaps(os.chmod, '.a/b', 0), perhaps(os.chmod, '.a', 0)",
    "a folder that cannot be changed": "os.makedirs('a/b'), perhaps(os.chmod, 'a', 0o555)",
    "a file without rights": "open('file', 'w').close(), perhaps(os.chmod, 'file', 0)",
    "links to nowhere and to itself": "os.symlink('/nowhere', 'a'), os.symlink('b', 'b'), os.symlink('/usr', 'c')",
    "names that are no text": r"os.mkdir(b'\xff'), open(b'\xff/\n\x01', 'w').close()",
    "a scratch with other times": "perhaps(os.utime, '.', (0, 0))",
    "a nested tree": "os.makedirs('/'.join('d' * 30))",
    "many files": "[open(str(i), 'w').close() for i in range(150)]",
    "a full disk": "fill()",
}
FILL = """
import os
def perhaps(change, *arguments):
    try:
        change(*arguments)
    except PermissionError:
        pass  # without mounts of its own a program may change no file's mode
def fill():
    try:
        with open("full", "wb") as file:
            while True:
                file.write(bytes(1 << 16))
    except OSError:
        pass
"""


@pytest.mark.parametrize("dirt", DIRT)
def test_scratch_is_clean_for_the_next(jail: Jailed, dirt: str):
    """Whatever a program leaves in the scratch, the next one finds it empty and usable."""
    assert 1 == jail.value(FILL + f"def f():\n    {DIRT[dirt]}\n    return 1\n")
    assert ("text", True, []) == jail.value(CLEAN)


@pytest.mark.parametrize("rights", [0, 0o100, 0o555])
@pytest.mark.parametrize("level", ["full", "restricted"])
def test_rights_of_the_scratch(level: str, rights: int):
    """A program that takes the rights of the scratch away takes them from nobody but itself."""
    program = FILL + f"def f():\n    open('x', 'w').close()\n    perhaps(os.chmod, '.', {rights})\n    return 1\n"
    with jail_at(level) as jail:
        assert 1 == jail.value(program)
        assert ("text", True, []) == jail.value(CLEAN)


@pytest.mark.parametrize(("levels", "name"), [(100, "d"), (1500, "d"), (1100, "d" * 50)])
@pytest.mark.parametrize("level", ["full", "restricted"])
def test_deep_trees(level: str, levels: int, name: str):
    """A tree too deep for open files, for recursion or for a path is no fault of ours and not there for the next."""
    source = (
        "import os\n"
        "def f():\n"
        "    try:\n"
        f"        for _ in range({levels}):\n"
        f"            os.mkdir({name!r})\n"
        f"            os.chdir({name!r})\n"
        "    except OSError:\n"
        "        pass\n"
        "    return 1\n"
    )
    with jail_at(level) as jail:
        outcome = jail.run(jail.job(source, IS_ONE))
        assert "" == outcome.fault
        assert ("text", True, []) == jail.value(CLEAN)


WRITE = """
import errno, os
def f():
    written = 0
    try:
        for name in range({files}):
            with open(str(name), "wb", buffering=0) as file:
                for _ in range({size}):
                    written += file.write(bytes(1 << 20))
    except OSError as error:
        return written >> 20, errno.errorcode[error.errno]
"""


def test_a_file_is_bounded(jail: Jailed):
    """One file ends at the size of the scratch."""
    written, why = jail.value(WRITE.format(files=1, size=100))
    assert written <= LIMITS.scratch_bytes // MIB
    assert why in ("ENOSPC", "EFBIG")


def test_the_scratch_is_bounded(full: Jailed):
    """All files together end at the size of the scratch."""
    written, why = full.value(WRITE.format(files=100, size=3))
    assert LIMITS.scratch_bytes // MIB - 1 <= written <= LIMITS.scratch_bytes // MIB
    assert "ENOSPC" == why


def test_files_are_counted(full: Jailed):
    """No more files fit into the scratch than the limit says."""
    made, why = full.value(
        "import errno, os\n"
        "def f():\n"
        "    made = 0\n"
        "    try:\n"
        "        while made < 10_000:\n"
        "            open(str(made), 'w').close()\n"
        "            made += 1\n"
        "    except OSError as error:\n"
        "        return made, errno.errorcode[error.errno]\n"
    )
    assert LIMITS.scratch_files - 10 <= made < LIMITS.scratch_files
    assert "ENOSPC" == why


FILLS = {
    "bytes": "open('f%d' % i, 'wb').write(bytes(1 << 20))",
    "files": "open('f%d' % i, 'w').close()",
    "folders": "os.mkdir('d%d' % i)",
    "deep folders": "(os.mkdir('d'), os.chdir('d'))",
}


@pytest.mark.parametrize("what", FILLS)
def test_a_scratch_without_a_mount_is_measured(what: str):
    """Where no mount bounds the scratch, a program that fills it is ended and told so; the next has it clean."""
    with jail_at("restricted") as jail:
        loop = f"    for i in range(10**6):\n        {FILLS[what]}\n        time.sleep(0.001)\n"
        program = f"import os, time\ndef f():\n{loop}    return 1\n"
        verdict = jail.check(program, IS_ONE)
        assert ("failed", "more files or bytes than its scratch may hold") == (verdict.status, verdict.message)
        assert [] == jail.value("import os\ndef f():\n    return os.listdir('.')\n")


# The next program in the same worker.

POISON = {
    "the recursion limit": "sys.setrecursionlimit(60)",
    "builtins": "[setattr(builtins, n, None) for n in ('len', 'print', 'sorted', 'isinstance', '__import__')]",
    "operators of the library": "math.sqrt = random.random = lambda *_: 7",
    "the table of modules": "sys.modules.clear()",
    "other modules in the table": "sys.modules.update(math=None, bisect=builtins)",
    "the folder": "os.chdir('/')",
    "the mask of new files": "os.umask(0o777)",
    "the mask of signals": "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 60))",
    "ignored signals": "[signal.signal(n, signal.SIG_IGN) for n in (2, 10, 12, 14, 15)]",
    "an alarm": "signal.alarm(1)",
    "the environment": "os.environ.update(HOME='/nowhere', LEFT='behind')",
    "a lower limit": "resource.setrlimit(resource.RLIMIT_AS, (1 << 26, 1 << 26))",
    "a lower limit of files": "resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5))",
    "a trace function": "sys.settrace(lambda *_: 1 / 0), threading.settrace(lambda *_: 1 / 0)",
    "a hook at the end": "atexit.register(lambda: os._exit(3))",
    "an import hook": "sys.meta_path.insert(0, None), sys.path.clear()",
    "the seed": "random.seed(1)",
    "the source cache": "linecache.cache.clear()",
    "frozen memory": "gc.disable()",
    "the locale": "locale.setlocale(locale.LC_ALL, 'C')",
    "the clock": "time.time = time.monotonic = time.perf_counter = lambda: 0",
}
STATE = """
import bisect, builtins, gc, linecache, locale, math, os, random, resource, signal, sys, threading, time
def f():
    def deep(n):
        return 0 if n == 0 else 1 + deep(n - 1)
    return (
        deep(300), sorted([3, 1, 2]), math.sqrt(4.0), bisect.bisect([1, 2, 3], 2), len(sys.modules) > 40,
        os.getcwd(), os.umask(0o22), sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        [signal.getsignal(n) == signal.SIG_DFL for n in (10, 12, 14)], signal.alarm(0), dict(os.environ),
        resource.getrlimit(resource.RLIMIT_AS), resource.getrlimit(resource.RLIMIT_NOFILE),
        sys.gettrace() is None, len(sys.meta_path), len(sys.path), random.random(), gc.isenabled(),
        locale.setlocale(locale.LC_ALL), time.time() > 1,
    )
"""


@pytest.mark.parametrize("poison", POISON)
def test_the_next_program_is_not_poisoned(jail: Jailed, poison: str):
    """Whatever a program changes in its process, the next one finds everything as the first one of all did."""
    before = jail.value(STATE)
    imports = "import atexit, builtins, gc, linecache, locale, math, os, random, resource, signal, sys, threading, time"
    jail.run(jail.job(f"{imports}\n{POISON[poison]}\ndef f():\n    return 1\n", IS_ONE))
    assert before == jail.value(STATE)


def test_a_program_that_breaks_its_own_line(jail: Jailed):
    """A program that closes every descriptor is a crash, and the next one passes."""
    verdict = jail.check("import os\ndef f():\n    os.closerange(0, 64)\n    return 1\n", IS_ONE)
    assert "crash" == verdict.status
    assert jail.check(ONE, IS_ONE).passed


DEATHS = {
    "exit": ("os._exit(0)", "crash"),
    "exit with a code": ("os._exit(7)", "crash"),
    "abort": ("os.abort()", "crash"),
    "a fault of memory": ("__import__('ctypes').string_at(1)", "crash"),
    "its own kill": ("os.kill(os.getpid(), signal.SIGTERM)", "crash"),
    "its own stop for ever": ("signal.pause()", "timeout"),
    "an endless thread": ("threading.Thread(target=signal.pause).start(), os._exit(0)", "crash"),
}


@pytest.mark.parametrize("death", DEATHS)
def test_deaths(jail: Jailed, death: str):
    """However a program dies, it is its own verdict, and the next one in the same worker passes."""
    code, status = DEATHS[death]
    limits = msgspec.structs.replace(LIMITS, timeout_s=0.3 if status == "timeout" else 20.0)
    source = f"import os, signal, threading\ndef f():\n    {code}\n    return 1\n"
    assert status == jail.check(source, IS_ONE, limits=limits).status
    assert jail.check(ONE, IS_ONE).passed


# What honest programs do.

LEGAL = {
    "threads": (
        "import threading, queue\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "def f():\n"
        "    box = queue.Queue()\n"
        "    thread = threading.Thread(target=box.put, args=(5,))\n"
        "    thread.start(); thread.join()\n"
        "    with ThreadPoolExecutor(4) as pool:\n"
        "        return box.get() + sum(pool.map(lambda x: x * x, range(10)))\n",
        290,
    ),
    "asyncio": (
        "import asyncio\n"
        "async def twice(x):\n"
        "    await asyncio.sleep(0.01)\n"
        "    return 2 * x\n"
        "async def main():\n"
        "    return await asyncio.gather(*(twice(i) for i in range(5)), asyncio.to_thread(lambda: 9))\n"
        "def f():\n"
        "    return asyncio.run(main())\n",
        [0, 2, 4, 6, 8, 9],
    ),
    "deep recursion": ("def f(n=900):\n    return 0 if n == 0 else 1 + f(n - 1)\n", 900),
    "too deep recursion": (
        "def g(n):\n    return g(n + 1)\n"
        "def f():\n    try:\n        g(0)\n    except RecursionError:\n        return 'caught'\n",
        "caught",
    ),
    "much print": ("import sys\ndef f():\n    return [print('x' * 1_000_000) for _ in range(10)] and 1\n", 1),
    "input": (
        "def f():\n    try:\n        return input()\n    except EOFError:\n        return 'nothing'\n",
        "nothing",
    ),
    "its own source": (
        "import inspect\ndef g():\n    return 1  # here\ndef f():\n    return inspect.getsource(g)\n",
        "def g():\n    return 1  # here\n",
    ),
    "its own name": ("x = __name__ == '__main__'\ndef f():\n    return x, __file__ is not None\n", (False, True)),
    "random": (
        "import random\ndef f():\n    random.seed(3)\n    return random.random() == random.Random(3).random()\n",
        True,
    ),
    "entropy": (
        "import os, secrets, uuid\ndef f():\n    return len(os.urandom(8)) + len(secrets.token_bytes(8))\n",
        16,
    ),
    "generators": ("def g():\n    yield from range(3)\ndef f():\n    return list(g())\n", [0, 1, 2]),
    "a signal to itself": (
        "import signal\n"
        "def f():\n"
        "    seen = []\n"
        "    signal.signal(signal.SIGALRM, lambda *_: seen.append(1))\n"
        "    signal.setitimer(signal.ITIMER_REAL, 0.01)\n"
        "    signal.pause()\n"
        "    signal.raise_signal(signal.SIGALRM)\n"
        "    return seen\n",
        [1, 1],
    ),
    "dataclasses and pickles": (
        "import dataclasses, pickle\n"
        "@dataclasses.dataclass\n"
        "class P:\n    x: int = 3\n"
        "def f():\n    return pickle.loads(pickle.dumps(P())).x\n",
        3,
    ),
    "the standard library": (
        "import json, sqlite3, decimal, statistics, hashlib, zlib, csv, unittest, logging, datetime, ssl\n"
        "def f():\n    return sqlite3.connect(':memory:').execute('select 2').fetchone()[0]\n",
        2,
    ),
    "a database in the scratch": (
        "import sqlite3\n"
        "def f():\n"
        "    with sqlite3.connect('a.db') as db:\n"
        "        db.execute('create table t (x)')\n"
        "        db.execute('insert into t values (4)')\n"
        "        return db.execute('select x from t').fetchone()[0]\n",
        4,
    ),
    "reading the library": ("import os\ndef f():\n    return 'def ' in open(os.__file__).read()\n", True),
    "unicode names": ("def größe(ñ):\n    return ñ\ndef f():\n    return größe('é')\n", "é"),
    "time zones": ("import time\ndef f():\n    return time.tzname[0], time.localtime(0).tm_hour\n", ("UTC", 0)),
    "the main guard": ("def f():\n    return 1\nif __name__ == '__main__':\n    raise SystemExit(3)\n", 1),
}


@pytest.mark.parametrize("what", LEGAL)
def test_honest_programs(jail: Jailed, what: str):
    """What honest programs do works as it does outside."""
    source, expected = LEGAL[what]
    assert expected == jail.value(source)


def test_numpy(jail: Jailed):
    """A program may use numpy when it is installed beside its interpreter."""
    if not any(name.startswith("numpy==") for name in jail.sandbox.toolchain.packages):
        pytest.skip("numpy is not installed here")
    source = (
        "import numpy as np\n"
        "def f():\n"
        "    a = np.arange(6.0).reshape(2, 3)\n"
        "    return float(np.linalg.norm(a @ a.T)), int(np.random.default_rng(0).integers(5, 6))\n"
    )
    norm, drawn = jail.value(source)
    assert 50 < norm < 60
    assert 5 == drawn


def test_the_seed_is_fixed(jail: Jailed):
    """Random numbers and hashes of text are the same in every run of the same program."""
    source = "import random\ndef f():\n    return random.random(), hash('text'), list({'a', 'b', 'c'})\n"
    assert jail.value(source) == jail.value(source)


def test_numpy_is_loaded_behind_the_walls(jail: Jailed):
    """No package of the samples is loaded before a sample asks for it."""
    assert not jail.value("import sys\ndef f():\n    return 'numpy' in sys.modules\n")


@pytest.mark.parametrize("plan", [CheckPlan(), CheckPlan(mode="shared")], ids=["referee", "shared"])
def test_shared_programs_stand_behind_the_same_walls(jail: Jailed, plan: CheckPlan, canary: Path):
    """A program that shares its process with the tests reaches no more of the host than one apart from them."""
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
