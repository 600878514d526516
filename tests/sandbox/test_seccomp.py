"""The seccomp filters, run by a BPF interpreter of twenty lines."""

from __future__ import annotations

import errno
import platform
import re
import struct
from pathlib import Path
from typing import Any

import pytest

from passcurve.sandbox.kernel import CLONE_PARENT, CLONE_THREAD, ZYGOTE_MARK
from passcurve.sandbox.layers import watch
from passcurve.sandbox.layers.seccomp import (
    SAMPLE_CALLS,
    SUSPICIOUS_CALLS,
    ZYGOTE_CALLS,
    NarrowFilter,
    broad_filter,
)
from passcurve.sandbox.layers.seccomp_strict import STATELESS_CALLS, StrictFilter
from passcurve.sandbox.layers.syscalls import numbers

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOWED, KILLED, HANDED_OVER, PRETENDED = "allowed", "killed", "handed over", "pretended"
PID = 4321
LOWEST = 5
"""The first descriptor that a process which is kept may close."""


def run(code: bytes, number: int, machine: str, arguments: tuple[int, ...], architecture: int | None = None) -> int:
    """Run classic BPF over one system call; return the action."""
    words = [a & (1 << 64) - 1 for a in (*arguments, 0, 0, 0, 0, 0, 0)[:6]]
    data = struct.pack("<IIQ6Q", number, MACHINES[machine] if architecture is None else architecture, 0, *words)
    at = accumulator = 0
    while True:
        operation, if_true, if_false, value = struct.unpack_from("<HBBI", code, at * 8)
        at += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif operation == 0x54:
            accumulator &= value
        elif operation == 0x06:
            return value
        else:
            holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[operation]
            at += if_true if holds else if_false


def name_action(action: int) -> str:
    """Return the name of an action."""
    if action & 0xFFFF0000 == 0x00050000:
        return errno.errorcode[action & 0xFFFF] if action & 0xFFFF else PRETENDED
    return {0x7FFF0000: ALLOWED, 0x80000000: KILLED, 0x7FC00000: HANDED_OVER}[action]


def narrow(machine: str, **options: bool) -> bytes:
    """Return the filter of a child whose pid is PID."""
    made = NarrowFilter(machine, **options)
    for place in made._offsets:
        struct.pack_into("<I", made._code, place, PID)
    return made._code.raw


def strict(machine: str) -> bytes:
    """Return the filter of a process that is kept, which may close descriptors from LOWEST on."""
    made = StrictFilter(machine)
    for place in made._offsets:
        struct.pack_into("<I", made._code, place, LOWEST)
    return made._code.raw


class Filters:
    """The filters of one architecture; calls that they hand over are answered as the watcher answers."""

    def __init__(self, machine: str, *, watched: bool = False, **options: bool) -> None:
        self.machine = machine
        self.watched = watched
        self.table = numbers(machine)
        self._broad = broad_filter(machine, watched=watched)
        self._narrow = narrow(machine, watched=watched, **options)
        self._strict = strict(machine)

    def number(self, call: str | int) -> int:
        """Return the number of a call."""
        return call if isinstance(call, int) else self.table[call]

    def zygote(self, call: str | int, *arguments: int, **options: Any) -> str:
        """Return what the zygote's filter does with a call."""
        answer = name_action(run(self._broad, self.number(call), self.machine, arguments, **options))
        if answer == HANDED_OVER:
            return ALLOWED if call in watch.ZYGOTE_CALLS else "EPERM"
        return answer

    def sample(self, call: str | int, *arguments: int, **options: Any) -> str:
        """Return what both filters do with a call: the stricter action wins."""
        return self._through(self._narrow, call, *arguments, **options)

    def kept(self, call: str | int, *arguments: int, **options: Any) -> str:
        """Return what the broad and the strict filter do with a call of a process that is kept."""
        return self._through(self._strict, call, *arguments, **options)

    def _through(self, second: bytes, call: str | int, *arguments: int, **options: Any) -> str:
        actions = [run(code, self.number(call), self.machine, arguments, **options) for code in (self._broad, second)]
        answer = name_action(min(actions, key=lambda action: action - (1 << 32) if action >> 31 else action))
        if answer == HANDED_OVER:
            return ALLOWED if call in ("kill", "tgkill") and arguments[0] == PID else "EPERM"
        return answer

    def is_handed_over(self, call: str) -> bool:
        """Tell whether a call of a sample is handed over to the watcher."""
        actions = [run(code, self.table[call], self.machine, (1, 1, 1, 1)) for code in (self._broad, self._narrow)]
        return min(actions, key=lambda action: action - (1 << 32) if action >> 31 else action) == 0x7FC00000


@pytest.fixture(
    params=[(machine, watched) for machine in MACHINES for watched in (False, True)],
    ids=lambda param: f"{param[0]}{'-watched' if param[1] else ''}",
    scope="module",
)
def filters(request: pytest.FixtureRequest) -> Filters:
    """Return the filters of each architecture in turn, with and without a watcher."""
    machine, watched = request.param
    return Filters(machine, watched=watched)


BOUNDED: dict[str, tuple[int, ...]] = {
    "socketpair": (1, 0x80001),
    "sendto": (5, 0, 10, 0, 0),
    "prlimit64": (0, 9),
    "ioctl": (1, 0x5401),
    "clone": (0x3D0F00,),
    "close_range": (3, 9, 0),
    "fcntl": (3, 1),
    "getsockopt": (3, 1, 3),
    "kill": (PID, 15),
    "tgkill": (PID, PID + 1, 15),
    "prctl": (15,),
}
"""Arguments of honest programs for the calls that are bounded by argument."""

_NAMES = """
accept accept4 acct add_key adjtimex bind bpf capset chroot clock_adjtime clock_settime connect delete_module execve
execveat fanotify_init finit_module fork fsconfig fsmount fsopen fspick init_module inotify_init1 io_submit
io_uring_enter io_uring_register io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load keyctl
landlock_restrict_self listen memfd_create memfd_secret mknod mknodat mlock mlockall modify_ldt mount mount_setattr
move_mount move_pages mq_open msgget name_to_handle_at open_by_handle_at open_tree perf_event_open personality
pidfd_getfd pidfd_open pidfd_send_signal pivot_root process_madvise process_vm_readv process_vm_writev ptrace quotactl
reboot request_key rt_sigqueueinfo rt_tgsigqueueinfo sched_setaffinity sched_setattr sched_setscheduler seccomp semget
sendmmsg sendmsg setdomainname setfsuid setgid setgroups sethostname setns setpgid setpriority setregid setresuid
setsid settimeofday setuid setxattr shmat shmget socket splice swapoff swapon syslog tee tkill umount2 unshare
userfaultfd vfork vhangup vmsplice
"""
REFUSED = _NAMES.split()


def test_calls_of_samples_are_allowed(filters: Filters):
    """Every call on the list for samples that the architecture has is allowed, with an honest argument."""
    there = [name for name in SAMPLE_CALLS if name in filters.table and name not in ("tkill", "flock")]
    assert len(there) > 120
    assert {ALLOWED} == {filters.sample(name, *BOUNDED.get(name, ())) for name in there}


def test_every_name_is_a_call():
    """No name on either list is mistyped: each is a call of at least one architecture."""
    names = {name for machine in MACHINES for name in numbers(machine)}
    assert set() == (SAMPLE_CALLS | ZYGOTE_CALLS) - names


@pytest.mark.parametrize("name", REFUSED)
def test_dangerous_calls_are_refused(filters: Filters, name: str):
    """Calls that reach other processes, the network, hidden memory or the kernel's inside are refused with EPERM."""
    if name not in filters.table:
        pytest.skip(f"{filters.machine} has no {name}")
    assert "EPERM" == filters.sample(name)
    assert "EPERM" == filters.sample(name, 1, 1, 1, 1, 1, 1)


@pytest.mark.parametrize("machine", MACHINES)
def test_suspicious_calls_reach_the_watcher(machine: str):
    """With a watcher every suspicious call and every process that a sample would start is handed over and refused."""
    filters = Filters(machine, watched=True)
    assert set() == {
        name for name in SUSPICIOUS_CALLS | {"clone"} if name in filters.table and not filters.is_handed_over(name)
    }
    assert set() == (SUSPICIOUS_CALLS & SAMPLE_CALLS) - {"kill", "tgkill", "tkill"}


def test_unlisted_calls_are_refused(filters: Filters):
    """Each known call that is on no list is refused to the zygote as well, and clone3 does not exist."""
    others = filters.table.keys() - SAMPLE_CALLS - ZYGOTE_CALLS
    answers = {name: filters.zygote(name) for name in others}
    assert {"clone3": "ENOSYS", **dict.fromkeys(others - {"clone3"}, "EPERM")} == answers
    assert answers == {name: filters.sample(name) for name in others}


def test_modes_of_files_without_mounts(filters: Filters):
    """Where the host's files are in reach, no call may change the mode or the times of one."""
    bare = Filters(filters.machine, own_files=False)
    for name in ("chmod", "fchmod", "fchmodat", "fchmodat2", "utime", "utimes", "utimensat", "futimesat", "truncate"):
        if name in filters.table:
            assert "EPERM" == bare.sample(name)
            assert ALLOWED == filters.sample(name)
    for name, at in (("open", 1), ("openat", 2)):
        if name in filters.table:
            for flags, answer in (
                (0o1000, "EPERM"),
                (0o2001000, "EPERM"),
                (0o1001, ALLOWED),
                (0, ALLOWED),
                (0o1102, ALLOWED),
            ):
                assert answer == bare.sample(name, *[0] * at, flags)
            assert ALLOWED == filters.sample(name, *[0] * at, 0o1000)
    assert "EPERM" == bare.sample("openat2")
    honest = ("openat", "write", "ftruncate", "unlinkat", "mkdirat", "renameat2", "umask")
    assert {ALLOWED} == {bare.sample(name) for name in honest}


def test_calls_of_the_zygote_are_refused_to_samples(filters: Filters):
    """Calls that only the zygote needs are allowed to it and refused to its children."""
    assert {"mount", "umount2"} <= ZYGOTE_CALLS
    for name in ZYGOTE_CALLS - SAMPLE_CALLS:
        assert ALLOWED == filters.zygote(name)
        assert "EPERM" == filters.sample(name)


def test_processes_and_threads(filters: Filters):
    """The zygote may fork; its children may only start threads."""
    assert ALLOWED == filters.zygote("clone", 17)
    assert "EPERM" == filters.sample("clone", 17)
    assert "EPERM" == filters.sample("clone", 0x100 | 0x4000 | 17)
    assert "EPERM" == filters.sample("clone", CLONE_THREAD << 32)
    assert "EPERM" == filters.sample("clone", CLONE_THREAD)
    assert "EPERM" == filters.sample("clone", 0x3D0F00 & ~0x200)
    assert ALLOWED == filters.sample("clone", 0x3D0F00)
    assert "ENOSYS" == filters.sample("clone3", 1 << 40, 88)


MARKED = {
    "clone": (CLONE_PARENT | 17 | ZYGOTE_MARK,),
    "ptrace": (16, PID | ZYGOTE_MARK, 0, 0),
    "userfaultfd": (0o2000001 | ZYGOTE_MARK,),
}
"""Calls that a zygote and its template make, which carry our mark."""


@pytest.mark.parametrize("name", MARKED)
def test_calls_with_our_mark(filters: Filters, name: str):
    """A call with our mark goes through for the zygote; a child that knows the mark is refused, or killed, with it."""
    assert ALLOWED == filters.zygote(name, *MARKED[name])
    assert "EPERM" == filters.sample(name, *MARKED[name])
    assert KILLED == filters.kept(name, *MARKED[name])
    thread = (CLONE_THREAD | 0x3D0F00 | ZYGOTE_MARK,)
    assert "EPERM" == filters.sample("clone", *thread)
    assert KILLED == filters.kept("clone", *thread)


@pytest.mark.parametrize("name", ["ptrace", "userfaultfd"])
def test_calls_without_our_mark(filters: Filters, name: str):
    """Without all of our mark, in its place, such a call is refused to the zygote as to anybody."""
    at = {"ptrace": 1, "userfaultfd": 0}[name]
    for arguments in (MARKED[name], MARKED[name][::-1]):
        for mark in (0, ZYGOTE_MARK >> 32, ZYGOTE_MARK ^ 1 << 32, ZYGOTE_MARK ^ 1 << 63):
            changed = [argument & 0xFFFFFFFF for argument in arguments]
            changed[at] = changed[at] & 0xFFFFFFFF | mark if mark >> 32 else mark
            assert "EPERM" == filters.zygote(name, *changed)


def kept_arguments(name: str) -> tuple[int, ...]:
    """Return arguments with which a call leaves nothing behind."""
    return {
        "openat": (-100, 0x7F0000001000, 0o2000000),
        "close": (LOWEST,),
        "ioctl": (1, 0x5401),
        "fcntl": (3, 3),
        "futex": (0x7F0000001000, 128),
    }.get(name, ())


def test_stateless_calls_are_allowed_in_a_kept_process(filters: Filters):
    """Calls that leave nothing behind are allowed; they are allowed to all other samples as well."""
    there = [name for name in STATELESS_CALLS if name in filters.table]
    assert len(there) >= 38
    assert {ALLOWED} == {filters.kept(name, *kept_arguments(name)) for name in there}
    assert set() == set(STATELESS_CALLS) - SAMPLE_CALLS


def test_any_other_call_ends_a_kept_process(filters: Filters):
    """Any other call, known or not, ends the process before it can change anything."""
    others = filters.table.keys() - set(STATELESS_CALLS)
    unknown = set(range(max(filters.table.values()) + 100)) - set(filters.table.values())
    for arguments in ((), (1, 1, 1, 1, 1, 1), BOUNDED["clone"], (PID, 15)):
        assert {KILLED} == {filters.kept(call, *arguments) for call in (*others, *unknown)}
    for name in others & BOUNDED.keys():
        assert KILLED == filters.kept(name, *BOUNDED[name])


def test_files_in_a_kept_process(filters: Filters):
    """It may open files to read and nothing else, and close what it has opened and nothing below."""
    for flags in (0, 0o2000000, 0o200000, 0o400000, 0o100000, 0o4000, 0o2704000):
        assert ALLOWED == filters.kept("openat", -100, 1, flags)
    # To write, to write and read, to make, to truncate, to append, for a path alone, without a name, asynchronously.
    for flags in (1, 2, 3, 0o100, 0o1000, 0o2000, 0o10000000, 0o20200000, 0o20000, 0o2000001):
        assert KILLED == filters.kept("openat", -100, 1, flags)
    for descriptor in (LOWEST, LOWEST + 1, 63, 0xFFFFFFFF):
        assert ALLOWED == filters.kept("close", descriptor)
    assert {KILLED} == {filters.kept("close", descriptor) for descriptor in range(LOWEST)}


def test_locks_in_a_kept_process(filters: Filters):
    """It may wait and wake; no call on a lock that the kernel remembers goes through."""
    honest = {0, 1, 128, 129, 137, 265, 138, 393}
    assert honest == {call for call in range(1024) if filters.kept("futex", 1, call) == ALLOWED}
    assert {KILLED} == {filters.kept("futex", 1, call) for call in set(range(1024)) - honest}


def test_descriptors_in_a_kept_process(filters: Filters):
    """It may ask of a descriptor what it is, and change nothing of it."""
    assert {1, 3} == {command for command in range(2048) if filters.kept("fcntl", 3, command) == ALLOWED}
    assert {KILLED} == {filters.kept("fcntl", 3, command) for command in (0, 2, 4, 1030, 1031)}
    assert ALLOWED == filters.kept("ioctl", 0, 0x5401)
    assert {KILLED} == {filters.kept("ioctl", 0, command) for command in (0x5402, 0x5413, 0x541B, 0x5421, 0x5450)}


@pytest.mark.parametrize("command", [0xC018AA3F, 0xC020AA00, 0x8010AA01, 0xC0606610])
def test_how_writes_are_noted(filters: Filters, command: int):
    """The commands with which the zygote tracks writes are refused to every sample."""
    assert ALLOWED == filters.zygote("ioctl", 9, command)
    assert "ENOTTY" == filters.sample("ioctl", 9, command)
    assert KILLED == filters.kept("ioctl", 9, command)


@pytest.mark.parametrize("pid", [0, 1, -1, PID + 1, PID - 1, -PID, 1 << 31])
def test_kill(filters: Filters, pid: int):
    """A sample may signal itself and nobody else: no other process, no group, not everybody."""
    assert ALLOWED == filters.sample("kill", PID, 9)
    assert ALLOWED == filters.sample("tgkill", PID, 77, 9)
    assert "EPERM" == filters.sample("kill", pid, 9)
    assert "EPERM" == filters.sample("tgkill", pid, pid, 9)
    assert "EPERM" == filters.sample("tkill", PID, 9)


@pytest.mark.parametrize(
    "command", [8, 10, 15, 1024, 1026], ids=["F_SETOWN", "F_SETSIG", "F_SETOWN_EX", "F_SETLEASE", "F_NOTIFY"]
)
def test_signals_of_descriptors(filters: Filters, command: int):
    """A sample may not have the kernel send a signal of its choice to a process of its choice when data arrives."""
    assert "EPERM" == filters.sample("fcntl", 3, command, 1)
    assert {ALLOWED} == {filters.sample("fcntl", 3, honest, 0) for honest in (0, 1, 2, 3, 4, 5, 36, 1030)}


def test_locks(filters: Filters):
    """A sample is told that it has its lock, and the kernel is not asked for one."""
    assert PRETENDED == filters.sample("flock", 3, 2)
    assert {PRETENDED} == {filters.sample("fcntl", 3, command, 0) for command in (6, 7, 37, 38)}


def test_sockets(filters: Filters):
    """A pair of connected stream sockets is all the network there is; nothing goes to an address."""
    for kind in (1, 0x80001, 0x801, 0x80801):
        assert ALLOWED == filters.sample("socketpair", 1, kind, 0)
    for family, kind in ((1, 2), (1, 5), (1, 3), (2, 1), (16, 3), (1, 0x80002), (0, 1)):
        assert "EPERM" == filters.sample("socketpair", family, kind, 0)
    assert ALLOWED == filters.sample("sendto", 3, 0x7F0000001000, 10, 0x4000, 0, 0)
    for address in (1, 0x7F0000001000, 0xFFFFFFFF):
        assert "EPERM" == filters.sample("sendto", 3, 0, 10, 0, address, 110)


def test_who_is_at_the_other_end(filters: Filters):
    """A sample may ask what its line is, not which process or user holds the other end of it."""
    for option in (17, 59, 77):
        assert "EPERM" == filters.sample("getsockopt", 3, 1, option)
    assert ALLOWED == filters.sample("getsockopt", 3, 1, 4)


def test_closing_ranges(filters: Filters):
    """Descriptors may be closed by the range, not copied into a table of their own."""
    assert {ALLOWED} == {filters.sample("close_range", 3, 9, flags) for flags in (0, 4)}
    assert {"EPERM"} == {filters.sample("close_range", 3, 9, flags) for flags in (2, 6)}


def test_an_address_whose_low_half_is_zero(filters: Filters):
    """An address in memory is all of its bits: one whose low half is zero is still an address."""
    assert "EPERM" == filters.sample("sendto", 3, 0, 10, 0, 1 << 32, 110)


def test_limits_of_others(filters: Filters):
    """A sample may read and lower its own limits only, even where its own number is named."""
    assert ALLOWED == filters.sample("prlimit64", 0, 7)
    for pid in (1, PID + 1, -1):
        assert "EPERM" == filters.sample("prlimit64", pid, 7)


def test_devices(filters: Filters):
    """A sample may ask what a descriptor is and not command a device; a terminal takes no input from it."""
    assert ALLOWED == filters.sample("ioctl", 0, 0x5401)
    for command in (0x5412, 0x541C, 0x40049409, 0x8901, 0x5422, 0x4B3A):
        assert "ENOTTY" == filters.sample("ioctl", 0, command)


@pytest.mark.parametrize("option", [1, 4, 8, 22, 23, 24, 28, 35, 38, 47, 59])
def test_prctl(filters: Filters, option: int):
    """A sample may name itself and its memory, and change nothing of what holds it."""
    for honest in (15, 16, 3, 0x53564D41):
        assert ALLOWED == filters.sample("prctl", honest)
    assert "EPERM" == filters.sample("prctl", option, 1)


def test_newer_calls_do_not_exist(filters: Filters):
    """Numbers above the table answer like a kernel that has never heard of them, so that libraries fall back."""
    top = max(filters.table.values())
    high = 0x3FFFFFFF if filters.machine == "x86_64" else 0x7FFFFFFF
    assert {"ENOSYS"} == {filters.sample(number) for number in (top + 1, top + 100, 1000, high)}


def test_gaps_are_refused(filters: Filters):
    """Numbers within the table that belong to no call are refused."""
    gaps = set(range(max(filters.table.values()))) - set(filters.table.values())
    assert {"EPERM"} == {filters.sample(number) for number in gaps}


def test_x32_is_killed():
    """On x86-64 the second table of calls, with its own numbers, ends the program."""
    filters = Filters("x86_64")
    for number in (0x40000000, 0x40000000 + 39, 0x40000000 + 520, 0xFFFFFFFF):
        assert KILLED == filters.sample(number)
        assert KILLED == filters.kept(number)


@pytest.mark.parametrize("foreign", [0x40000003, 0x40000028, 0xC00000F3, 0, 0xFFFFFFFF])
def test_foreign_architectures_are_killed(filters: Filters, foreign: int):
    """A call through the gate of another architecture ends the program, whatever its number."""
    for name in ("read", "exit", "ptrace"):
        assert KILLED == filters.sample(name, architecture=foreign)
        assert KILLED == filters.kept(name, architecture=foreign)
    other = next(value for machine, value in MACHINES.items() if machine != filters.machine)
    assert KILLED == filters.sample("read", architecture=other)


def test_unknown_machines():
    """An architecture without a table is refused, not guessed."""
    with pytest.raises(KeyError):
        broad_filter("riscv64")
    with pytest.raises(KeyError):
        NarrowFilter("riscv64")
    with pytest.raises(KeyError):
        StrictFilter("riscv64")


def test_programs_are_well_formed(filters: Filters):
    """Every program is short enough for the kernel, jumps only forward within itself, and ends with a verdict."""
    for code in (filters._broad, filters._narrow, filters._strict):
        instructions = list(struct.iter_unpack("<HBBI", code))
        assert len(instructions) <= 4096
        assert 0x06 == instructions[-1][0]
        for at, (operation, if_true, if_false, value) in enumerate(instructions):
            assert operation in (0x20, 0x54, 0x15, 0x35, 0x45, 0x06)
            assert at + 1 + max(if_true, if_false) < len(instructions) or operation == 0x06
            assert operation != 0x20 or (value % 4 == 0 and value < 64)


def test_numbers_against_the_headers():
    """Our table agrees with the kernel's own header where one is installed."""
    folders = ("/usr/include/asm", f"/usr/include/{platform.machine()}-linux-gnu/asm")
    headers = [Path(folder, "unistd_64.h") for folder in folders if Path(folder, "unistd_64.h").exists()]
    if not headers or platform.machine() not in MACHINES:
        pytest.skip("no kernel headers of a 64-bit table are installed here")
    theirs = {
        name: int(number) for name, number in re.findall(r"#define __NR_(\w+)\s+(\d+)", headers[0].read_text("utf-8"))
    }
    ours = numbers(platform.machine())
    shared = ours.keys() & theirs.keys()
    assert len(shared) > 250
    assert {name: theirs[name] for name in shared} == {name: ours[name] for name in shared}
    assert set() == theirs.keys() - ours.keys() - {n for n in theirs if theirs[n] > max(ours.values())}
