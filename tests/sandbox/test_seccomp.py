"""The broad and the narrow filter: the calls of a zygote and of its children."""

from __future__ import annotations

import platform
import re
import struct
from pathlib import Path

import pytest
from filters import ALLOWED, BOUNDED, KILLED, MACHINES, PID, PRETENDED, Filters

from passcurve.sandbox.layers.seccomp import (
    SAMPLE_CALLS,
    SUSPICIOUS_CALLS,
    ZYGOTE_CALLS,
    NarrowFilter,
    broad_filter,
)
from passcurve.sandbox.layers.seccomp_strict import StrictFilter
from passcurve.sandbox.layers.syscalls import numbers
from passcurve.sandbox.zygote.kernel import CLONE_PARENT, CLONE_THREAD, ZYGOTE_MARK

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


ATTRIBUTES = ("getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr")
"""Calls that read extended attributes, which no file has: not to be allowed is a failure to honest programs."""


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
    """Each known call that is on no list is refused to the zygote as well; clone3 and attributes do not exist."""
    others = filters.table.keys() - SAMPLE_CALLS - ZYGOTE_CALLS
    answers = {name: filters.zygote(name) for name in others}
    absent = {"clone3": "ENOSYS", **dict.fromkeys(ATTRIBUTES, "ENOTSUP")}
    assert {**dict.fromkeys(others, "EPERM"), **absent} == answers
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


def test_sizes_of_pipes(filters: Filters):
    """A sample may ask how much a pipe holds, and have none hold more, or less."""
    assert ALLOWED == filters.sample("fcntl", 3, 1032)
    assert {"EPERM"} == {filters.sample("fcntl", 3, 1031, size) for size in (0, 4096, 1 << 20, 1 << 32)}


def test_locks(filters: Filters):
    """A sample is told that it has its lock, and the kernel is not asked for one."""
    assert PRETENDED == filters.sample("flock", 3, 2)
    assert {PRETENDED} == {filters.sample("fcntl", 3, command, 0) for command in (6, 7, 37, 38)}


def test_own_policy(filters: Filters):
    """A thread that asks for a policy without a priority, as each has one, is told that it has it; no other."""
    for policy in (0, 3, 5):
        assert PRETENDED == filters.sample("sched_setscheduler", PID, policy, 0x7F0000001000)
    for policy in (1, 2, 6, 0x40000000):
        assert "EPERM" == filters.sample("sched_setscheduler", PID, policy, 0x7F0000001000)
    assert "EPERM" == filters.sample("sched_setscheduler", PID, 0, 0)


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
    assert {ALLOWED} == {filters.sample("ioctl", 0, command) for command in (0x5401, 0x802C542A)}
    for command in (0x5412, 0x541C, 0x40049409, 0x8901, 0x5422, 0x4B3A):
        assert "ENOTTY" == filters.sample("ioctl", 0, command)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_sockets_of_processes(machine: str):
    """A sample that may start processes has pairs of sockets and reaches no address; only compilers send messages."""
    filters = Filters(machine, processes=True)
    for kind in (1, 0x80001, 5, 0x80005):
        assert ALLOWED == filters.sample("socketpair", 1, kind, 0)
    for family, kind in ((1, 2), (2, 1), (2, 5), (16, 3)):
        assert "EPERM" == filters.sample("socketpair", family, kind, 0)
    for call in ("sendmsg", "sendmmsg", "socket", "connect", "bind"):
        assert "EPERM" == filters.sample(call, 1, 5, 0)
    assert ALLOWED == Filters(machine, processes=True, compiles=True).sample("sendmsg", 3, 0x7F0000001000, 0)


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
    for code in filters.programs:
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
    # The kernel's own probes make these, and end a process that makes them from elsewhere.
    probes = {"uprobe", "uretprobe"}
    assert set() == theirs.keys() - ours.keys() - probes - {n for n in theirs if theirs[n] > max(ours.values())}
