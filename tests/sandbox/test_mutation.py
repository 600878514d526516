"""Each wall removed in a copy of the package: an attack then works that is refused otherwise.

Where two walls refuse one attack, both are removed, and each of them alone still holds.  Only the code that runs beside
the samples comes from the copy.  The mount namespace has no test: without it nothing else can be built, and a trial
would mount over the host.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from attempts import ATTEMPTS, FLAG_STREAMS, TRIED
from jailed import IS_ONE, LIMITS, Jailed, descendants, find_isolation, need, read_process, until, zygotes

import passcurve
from passcurve.sandbox import forkserver_client
from passcurve.sandbox.layers.syscalls import numbers

SOURCES = Path(passcurve.__file__).parent
NAMESPACES, RLIMITS = "sandbox/layers/namespaces.py", "sandbox/layers/rlimits.py"
ZYGOTE, MOUNTS = "sandbox/zygote/server.py", "sandbox/layers/mounts.py"
CONFINEMENT, KERNEL = "sandbox/zygote/confinement.py", "sandbox/zygote/kernel.py"
WATCH, LANDLOCK = "sandbox/layers/watch.py", "sandbox/layers/landlock.py"
TEMPLATE = "sandbox/zygote/template.py"

Edit = tuple[str, str, str]


def without(name: str, line: str) -> Edit:
    """Return the edit that removes a line."""
    return name, line, ""


def unlimited(limit: str) -> list[Edit]:
    """Return the edit that leaves one resource without a limit of ours."""
    return [(RLIMITS, f"_set({limit})", "pass")]


LAYERS: dict[str, list[Edit]] = {
    "pid": [without(NAMESPACES, "    | kernel.CLONE_NEWPID\n")],
    "net": [without(NAMESPACES, "    | kernel.CLONE_NEWNET\n")],
    "ipc": [without(NAMESPACES, "    | kernel.CLONE_NEWIPC\n")],
    "uts": [
        without(NAMESPACES, "    | kernel.CLONE_NEWUTS\n"),
        without(NAMESPACES, '    socket.sethostname("sandbox")\n'),
    ],
    "cgroup": [without(NAMESPACES, "    | kernel.CLONE_NEWCGROUP\n")],
    "user": [(NAMESPACES, "kernel.unshare(kernel.CLONE_NEWUSER | _NAMESPACES)", "raise OSError")],
    "own root": [
        (MOUNTS, 'kernel.pivot_root(".", ".")', 'os.mkdir("old"), kernel.pivot_root(".", "old")'),
        without(MOUNTS, '    kernel.unmount(".", MNT_DETACH)\n    os.chdir("/")\n'),
    ],
    "read-only folders": [(MOUNTS, "_bind(fd, new + target, MS_RDONLY)", "_bind(fd, new + target, 0)")],
    "read-only root": [(MOUNTS, "MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID", "MS_REMOUNT | MS_BIND | MS_NOSUID")],
    "bounded scratch": [(MOUNTS, "MS_NOEXEC | MS_NOATIME, options)", 'MS_NOEXEC | MS_NOATIME, "mode=0700")')],
    "noexec scratch": [(MOUNTS, "MS_NODEV | MS_NOEXEC | MS_NOATIME", "MS_NODEV | MS_NOATIME")],
    "landlock": [(LANDLOCK, "_RESTRICT_SELF, rules, 0)", "_RESTRICT_SELF, rules, 0) if False else None")],
    "broad": [(WATCH, "if _can_answer():", "if False:"), (WATCH, "seccomp.install_broad(processes=processes)", "pass")],
    "narrow": [(CONFINEMENT, "else (self._narrow, pid)", "else (None, pid)")],
    "watcher": [(WATCH, "by_zygote = pid ==", "by_zygote = True or pid ==")],
    "capabilities": [(CONFINEMENT, "kernel.drop_capabilities()", "pass")],
    "no new privileges": [(CONFINEMENT, "kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)", "pass")],
    # A change of identity makes a process undumpable as well.
    "not dumpable": [
        (CONFINEMENT, "kernel.prctl(kernel.PR_SET_DUMPABLE, 0)", "kernel.prctl(kernel.PR_SET_DUMPABLE, 1)")
    ],
    "death with the parent": [(KERNEL, "prctl(PR_SET_PDEATHSIG, signal.SIGKILL)", "pass")],
    "address space": unlimited("resource.RLIMIT_DATA if commands else resource.RLIMIT_AS, memory_bytes"),
    "core": unlimited("resource.RLIMIT_CORE, 0"),
    "descriptors": unlimited("resource.RLIMIT_NOFILE, COMMAND_FILES if commands else OPEN_FILES"),
    "locked memory": unlimited("resource.RLIMIT_MEMLOCK, 0"),
    "file size": unlimited("resource.RLIMIT_FSIZE, file_bytes"),
    "message queues": unlimited("resource.RLIMIT_MSGQUEUE, 0"),
    "threads": unlimited("resource.RLIMIT_NPROC, (COMMAND_PROCESSES if commands else PROCESSES) + others"),
    "own streams": [without(TEMPLATE, "    _open_descriptors()\n")],
    "cpu": [(RLIMITS, "resource.prlimit(pid, resource.RLIMIT_CPU, (cpu_s, cpu_s))", "pass")],
}


# What a sample tries from inside: an expression that is refused with OSError as long as the wall stands.

DEFINITIONS = """
import itertools, mmap, threading


def refused_unless(condition):
    if not condition:
        raise OSError(errno.EPERM, "")


def fill(files, size):
    for name in range(files):
        with open(str(name), "wb", buffering=0) as file:
            for _ in range(size):
                if file.write(bytes(1 << 20)) < 1 << 20:
                    raise OSError(errno.ENOSPC, "")


def started(threads):
    threading.stack_size(1 << 18)
    gate = threading.Event()
    try:
        for _ in range(threads):
            threading.Thread(target=gate.wait, daemon=True).start()
    finally:
        gate.set()


def map_executable():
    with open("code", "wb") as file:
        file.write(bytes(4096))
    with open("code", "rb") as file:
        mmap.mmap(file.fileno(), 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)


def raised(kind):
    refused_unless(resource.getrlimit(kind)[1])
    resource.setrlimit(kind, (1, 1))
"""
"""Helpers of the attempts, beside those of TRIED."""


def outside(look: Callable[[int], bool]) -> Callable[[Jailed], str]:
    """Return an attempt that looks from outside at a sample that sleeps."""

    def attempt(jail: Jailed) -> str:
        wait_for_kept_processes(jail)
        # It is killed once it was looked at, and sleeps that long only where the look comes late.
        jail.pool.start(
            0, jail.job("import time\ndef f():\n    time.sleep(2)\n    return 1\n", IS_ONE, allow_kept=False)
        )
        while not (there := samples(jail)):
            if jail.pool.wait(0.01):
                return "refused"  # it could not even begin
        sample = there[0]
        # Its walls are put up right after the fork.
        time.sleep(0.1)
        try:
            seen = look(sample)
        except FileNotFoundError:
            seen = False  # it has ended at the wall that stands
        with contextlib.suppress(OSError):
            os.kill(sample, signal.SIGKILL)
        jail.end()
        return "worked" if seen else "refused"

    return attempt


def wait_for_kept_processes(jail: Jailed) -> None:
    """Run a job: while the processes that are kept are made, there are others that could be taken for a sample."""
    jail.run(jail.job("def f():\n    return 1\n", IS_ONE))


def samples(jail: Jailed) -> list[int]:
    """Return the sample of a jail, told by the bound on its CPU time."""
    there = []
    zygote = zygotes(jail.pool).get("jail")
    for process in descendants(zygote.pid) if zygote is not None else ():
        with contextlib.suppress(OSError):
            if "Max cpu time              unlimited" not in Path(f"/proc/{process.pid}/limits").read_text():
                there.append(process.pid)
    return there


def shares(kind: str) -> Callable[[Jailed], str]:
    """Return an attempt to be in one of our own namespaces."""

    def look(sample: int) -> bool:
        return Path(f"/proc/{sample}/ns/{kind}").readlink() == Path(f"/proc/self/ns/{kind}").readlink()

    return outside(look)


def has_other_status(name: str, *wanted: str) -> Callable[[Jailed], str]:
    """Return an attempt to have another value than ``wanted`` in a line of the sample's /proc status."""

    def look(sample: int) -> bool:
        lines = Path(f"/proc/{sample}/status").read_text().splitlines()
        return next(line.split()[1] for line in lines if line.startswith(f"{name}:")) not in wanted

    return outside(look)


def outlive(victim: str) -> Callable[[Jailed], str]:
    """Return an attempt of what a zygote has started to go on when that was killed."""

    def attempt(jail: Jailed) -> str:
        wait_for_kept_processes(jail)
        jail.pool.start(
            0, jail.job("import time\ndef f():\n    time.sleep(3)\n    return 1\n", IS_ONE, allow_kept=False)
        )
        sample = until(lambda: jail.pool.wait(0.01) or samples(jail), "the sample")[0]
        outer = zygotes(jail.pool)["jail"].pid
        time.sleep(0.1)
        os.kill(outer if victim == "outer" else read_process(sample).parent, signal.SIGKILL)
        time.sleep(0.5)
        # One that nobody has reaped yet is dead as well.
        alive = read_process(sample) is not None
        if alive:
            os.kill(sample, signal.SIGKILL)
        jail.end()
        return "worked" if alive else "refused"

    return attempt


def leave_flags(jail: Jailed) -> str:
    """Have a program set flags of its standard streams; tell whether the next one has them."""
    jail.value("import fcntl, os\ndef f():\n    " + FLAG_STREAMS + "\n")
    flags = jail.value("import fcntl, os\ndef f():\n    return fcntl.fcntl(1, fcntl.F_GETFL) & os.O_NONBLOCK\n")
    return "worked" if flags else "refused"


@dataclass(frozen=True)
class Case:
    """One attempt that must not work, and all walls that refuse it."""

    layers: tuple[str, ...]
    attempt: str | Callable[[Jailed], str]
    level: str = "full"
    root: bool = field(default=False)
    """Only root can look."""


NO_CAPABILITY = "0000000000000000"
CASES = {
    "see a process of the host": Case(("pid",), "os.getsid({supervisor})"),
    "reach the host by network": Case(
        ("net", "broad"), "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))"
    ),
    "find shared memory of the host": Case(("ipc", "broad"), "call({shmget}, {key}, 0, 0)"),
    "share the namespace of names": Case(("uts",), shares("uts"), root=True),
    "share the namespace of control groups": Case(("cgroup",), shares("cgroup"), root=True),
    "share the namespace of users": Case(("user",), shares("user"), root=True),
    "share the namespace of processes": Case(("pid",), shares("pid"), root=True),
    "share the namespace of the network": Case(("net",), shares("net"), root=True),
    "share the namespace of objects": Case(("ipc",), shares("ipc"), root=True),
    "read the host": Case(("own root", "landlock"), "open('/old' + {beyond!r}).read()"),
    "write to a folder of the host": Case(("read-only folders", "landlock"), "open({bound!r} + '/left', 'w')"),
    "leave a file for the next": Case(("read-only root", "landlock"), "open('/left', 'w')"),
    "fill the memory with files": Case(("bounded scratch",), "fill(5, 3)"),
    "make files without end": Case(("bounded scratch",), "[open(str(n), 'w').close() for n in range(400)]"),
    "run code from the scratch": Case(("noexec scratch",), "map_executable()"),
    "read what belongs to the root": Case(("landlock",), "open('/etc/passwd').read()"),
    "read about itself": Case(("landlock",), "open('/proc/self/status').read()"),
    "read the host by name": Case(("landlock",), "open({beyond!r}).read()", level="restricted"),
    "write to the host": Case(("landlock",), "open({bound!r} + '/left', 'w')", level="restricted"),
    "make a socket": Case(("broad",), ATTEMPTS["make an internet socket"]),
    "have hidden memory": Case(("broad",), ATTEMPTS["have memory without a limit"]),
    "start a process": Case(("broad", "narrow"), ATTEMPTS["fork"]),
    "look for the zygote": Case(("broad", "narrow", "landlock"), ATTEMPTS["look for the parent"]),
    "start a process unseen": Case(("watcher",), ATTEMPTS["fork"]),
    "be dumpable": Case(("narrow",), ATTEMPTS["be dumpable"]),
    "mount": Case(("capabilities", "landlock", "watcher"), ATTEMPTS["mount"]),
    "have a capability": Case(("capabilities",), has_other_status("CapEff", NO_CAPABILITY)),
    "have a new privilege": Case(("no new privileges", "narrow"), has_other_status("NoNewPrivs", "1")),
    "run with one filter": Case(("narrow",), has_other_status("Seccomp_filters", "2")),
    "write to the zygote": Case(("not dumpable", "landlock", "capabilities"), ATTEMPTS["open the parent's memory"]),
    "outlive the first process": Case(("death with the parent",), outlive("outer")),
    "outlive the zygote": Case(("death with the parent",), outlive("zygote"), level="restricted"),
    "have more memory": Case(("address space",), "len(bytes({memory} + 1))"),
    "leave a core": Case(("core",), "raised(resource.RLIMIT_CORE)"),
    "open many files": Case(("descriptors",), "[os.dup(0) for _ in range(70)]"),
    "lock memory": Case(("locked memory",), "raised(resource.RLIMIT_MEMLOCK)"),
    "write a large file": Case(("file size", "bounded scratch"), "fill(1, 12)"),
    "queue messages": Case(("message queues",), "raised(12)"),
    "start threads without end": Case(("threads",), "started(70)"),
    "leave flags for the next": Case(("own streams",), leave_flags),
    "date a device": Case(("own streams",), ATTEMPTS["date a device by standard output"]),
    "burn CPU for ever": Case(("cpu",), "refused_unless(resource.getrlimit(resource.RLIMIT_CPU)[1] == -1)"),
}


def plan_cases() -> dict[tuple[str, tuple[str, ...]], dict[str, str]]:
    """Return the expected end of each attempt, by level and removed walls."""
    made: dict[tuple[str, tuple[str, ...]], dict[str, str]] = {}
    for what, case in CASES.items():
        away = {case.layers: "worked", (): "refused"}
        if len(case.layers) > 1:
            away |= {tuple(layer for layer in case.layers if layer != kept): "refused" for kept in case.layers}
        for layers, expected in away.items():
            made.setdefault((case.level, tuple(sorted(layers))), {})[what] = expected
    return made


@dataclass(frozen=True)
class Host:
    """The targets of the attempts on the host."""

    beyond: str
    """A file that everybody may read, of which the jail knows nothing."""
    bound: str
    """A folder that everybody may write, and that the jail is given to read."""
    port: int
    key: int
    """Key of a segment of shared memory."""


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    """Make something of each kind that a sample could reach; none of it lies where the scratch will be."""
    folder = Path(tempfile.mkdtemp(prefix="passcurve-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    (folder / "bound").mkdir()
    (folder / "bound").chmod(0o777)
    (folder / "beyond").write_text("a secret of the host")
    (folder / "beyond").chmod(0o644)
    libc = ctypes.CDLL(None, use_errno=True)
    key = 0x70000000 + os.getpid()
    segment = libc.shmget(key, 4096, 0o1666)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        yield Host(str(folder / "beyond"), str(folder / "bound"), listener.getsockname()[1], key)
    if segment >= 0:
        libc.shmctl(segment, 0, None)
    shutil.rmtree(folder)


class Weakened(Jailed):
    """A jail whose zygotes come from a copy of the package."""

    def __init__(self, level: str, bound: str) -> None:
        # Not that of its parent, which would start zygotes for nothing.
        self.level, self.limits = level, LIMITS
        toolchain, self.probe = find_isolation(level)
        self._open_pool(msgspec.structs.replace(toolchain, folders=(*toolchain.folders, bound)))


def weaken(folder: Path, layers: tuple[str, ...]) -> Path:
    """Copy the package into a folder without these layers."""
    shutil.copytree(SOURCES, folder / "passcurve", ignore=shutil.ignore_patterns("__pycache__", "starter"))
    # What finds the walls broken is taken away as well: it would not go on.
    for name, old, new in [
        (ZYGOTE, "broken = launcher.test_walls(config)", "broken = []"),
        *(e for x in layers for e in LAYERS[x]),
    ]:
        path = folder / "passcurve" / name
        text = path.read_text("utf-8")
        assert old in text, f"{name} no longer has {old!r}"
        path.write_text(text.replace(old, new), "utf-8")
    return folder


IN_CI = 4
"""Cases that continuous integration has; the others are tried at night."""


def make_attempt(jail: Jailed, case: Case, host: Host) -> str:
    """Make an attempt and return 'worked' or the reason why it did not."""
    if callable(case.attempt):
        return case.attempt(jail)
    fields: dict[str, Any] = {
        **numbers(platform.machine()),
        "supervisor": os.getpid(),
        "memory": LIMITS.memory_bytes,
        "beyond": host.beyond,
        "bound": host.bound,
        "port": host.port,
        "key": host.key,
    }
    source = TRIED + DEFINITIONS + "def attempt():\n    " + case.attempt.format(**fields) + "\n"
    return str(jail.value(source).partition(":")[0])


def can_be_shown(what: str) -> bool:
    """Tell whether this machine and this user can show what an attempt does."""
    limits = {"leave a core": resource.RLIMIT_CORE, "lock memory": resource.RLIMIT_MEMLOCK}
    if what in limits and resource.getrlimit(limits[what])[1] == 0:
        return False
    return os.geteuid() == 0 or not CASES[what].root


@pytest.mark.parametrize(
    ("level", "layers"),
    [
        pytest.param(level, layers, marks=pytest.mark.ci if number < IN_CI else pytest.mark.nightly)
        for number, (level, layers) in enumerate(plan_cases())
    ],
    ids=lambda value: value if isinstance(value, str) else "+".join(value),
)
def test_removed_walls(level, layers, host, tmp_path, monkeypatch):
    """An attempt works when every wall against it is removed, and not when one of them is left."""
    need(level)
    expected = {what: answer for what, answer in plan_cases()[level, layers].items() if can_be_shown(what)}
    if not expected:
        pytest.skip("only root can look at this, or the host itself allows none of it")
    root = weaken(Path(tempfile.mkdtemp(dir=Path(host.bound).parent)), layers)
    root.chmod(0o755)
    monkeypatch.setattr(forkserver_client, "PACKAGE", str(root / "passcurve"))
    monkeypatch.setattr(forkserver_client, "BOOT_SCRIPT", str(root / "passcurve/sandbox/zygote/forkserver_boot.py"))
    with Weakened(level, host.bound) as jail:
        answers = {what: make_attempt(jail, CASES[what], host) for what in expected}
    for left in Path(host.bound).iterdir():
        left.unlink()
    assert expected == {what: "worked" if answer == "worked" else "refused" for what, answer in answers.items()}, (
        answers
    )


def test_every_layer_is_removed_once():
    """Each layer that can be removed is in a case."""
    assert set(LAYERS) == {layer for case in CASES.values() for layer in case.layers}


def test_every_layer_is_found():
    """Each line that an edit removes is there: the cases at night need all of them."""
    for name, edits in LAYERS.items():
        for path, old, _ in edits:
            assert old in (SOURCES / path).read_text("utf-8"), (name, old)
