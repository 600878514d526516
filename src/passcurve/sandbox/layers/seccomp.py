"""Seccomp: the system calls that a sample may make; every other one is refused or ends it.

Two filters work together.  The broad one covers the zygote once and allows what a sample needs and what a zygote
needs.  The narrow one covers each child and takes the zygote's share away again; it is short because loading a filter
costs time per sample.  In a process that is to be rewound the strict filter (``seccomp_strict.py``) takes its place.

With a watcher (``watch.py``) the broad filter hands the suspicious calls over instead of refusing them by itself; the
narrow one then leaves those alone, because the kernel takes the stricter of two answers.
"""

from __future__ import annotations

import ctypes
import errno

from passcurve.sandbox.layers.bpf import (
    ALLOW,
    AND,
    ARCHITECTURE,
    KILL,
    NOTIFY,
    NUMBER,
    ChildFilter,
    Program,
    allow_values,
    always,
    deny_values,
    fail,
    header_of,
    high,
    install,
    low,
)
from passcurve.sandbox.layers.syscalls import numbers
from passcurve.sandbox.zygote import kernel

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000

SAMPLE_CALLS = frozenset(
    """
    read write open openat openat2 close close_range lseek pread64 pwrite64 readv writev preadv pwritev preadv2
    pwritev2 sendfile copy_file_range stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2
    readlink readlinkat getcwd chdir fchdir getdents getdents64 fcntl
    creat mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 link linkat symlink symlinkat truncate
    ftruncate fallocate fsync fdatasync sync_file_range chmod fchmod fchmodat fchmodat2 utime utimes utimensat
    futimesat umask flock fadvise64
    dup dup2 dup3 pipe pipe2 poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait
    epoll_pwait2 eventfd eventfd2 timerfd_create timerfd_settime timerfd_gettime signalfd signalfd4
    mmap munmap mprotect mremap madvise brk msync mincore
    futex futex_waitv set_robust_list set_tid_address rseq membarrier arch_prctl clone
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack restart_syscall
    pause alarm setitimer getitimer timer_create timer_settime timer_gettime timer_getoverrun timer_delete
    kill tkill tgkill
    clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times getrusage getrandom getcpu
    getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid getgroups getpgid getpgrp getsid
    getpriority getrlimit setrlimit prlimit64 uname sysinfo prctl ioctl
    sched_yield sched_getaffinity sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min
    sched_rr_get_interval
    socketpair sendto recvfrom recvmsg shutdown getsockname getpeername getsockopt setsockopt
    exit exit_group wait4 waitid
    """.split()
)
"""Calls of honest programs: HumanEval, threads, asyncio, numpy, tempfile.  Some are bounded further by argument."""

ZYGOTE_CALLS = frozenset(
    """
    mount umount2 seccomp capset landlock_create_ruleset landlock_add_rule landlock_restrict_self pidfd_open
    pidfd_send_signal sendmsg setpriority
    """.split()
)
"""Calls that only the zygote needs; the narrow filter takes them away from its children."""

SUSPICIOUS_CALLS = frozenset(
    """
    fork vfork execve execveat kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_getfd
    ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp perf_event_open
    socket connect bind listen accept accept4 sendmmsg recvmmsg
    setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid setfsgid
    unshare setns chroot pivot_root mount umount2 move_mount open_tree fsopen fsmount mount_setattr mknod mknodat
    bpf keyctl add_key request_key init_module finit_module delete_module kexec_load kexec_file_load reboot swapon
    swapoff settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname iopl ioperm modify_ldt acct
    quotactl syslog personality io_uring_setup userfaultfd name_to_handle_at open_by_handle_at fanotify_init
    memfd_create memfd_secret shmget shmat shmctl msgget msgsnd semget semop mq_open setsid setpgid
    """.split()
)
"""Calls that an honest program has no use for here: those that were refused are reported with the verdict."""

PROCESS_CALLS = frozenset("fork vfork execve setsid setpgid".split())
"""Calls that start processes and programs, for samples that may."""

COMPILER_CALLS = frozenset(("sendmsg",))
"""Calls of compilers, which run no program of a sample: Rust's library tells by a message which process it has started.

A message can hold descriptors.  The kernel counts those that nobody has received for all processes of a user of the
host, and beyond the limit of open files refuses to send any: zygotes could start no process.
"""

_MARKED_CALLS = {"clone": 0, "ptrace": 1, "userfaultfd": 0}
"""Suspicious calls that the zygote and the template make themselves, each with the argument that carries the mark.

The mark (``kernel.ZYGOTE_MARK``) stands in the high half of that argument; the kernel reads the low half only.
"""

FILE_MODES = frozenset("chmod fchmod fchmodat fchmodat2 utime utimes utimensat futimesat truncate".split())
"""Calls on a path that Landlock has no rule for: without mounts of our own they would reach the host's files."""

_IOCTLS = (0x5401, 0x802C542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TCGETS2, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX: what a descriptor is, never what a device does."""

_ZYGOTE_IOCTLS = (0xC018AA3F, 0xC020AA00, 0x8010AA01, 0xC0606610)
"""UFFDIO_API, UFFDIO_REGISTER, UFFDIO_UNREGISTER, PAGEMAP_SCAN: how the zygote has writes noted."""

_FCNTLS = (8, 10, 15, 1024, 1026, 1031)
"""F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY: ways to have the kernel signal somebody else.

F_SETPIPE_SZ: all pipes of a user of the host share one budget, beyond which new ones hold two pages.
"""

_LOCKS = (6, 7, 37, 38)
"""F_SETLK, F_SETLKW and the same for open files: a lock on a file of the host would hold up others there.

A process that is alone with its files gets any lock, so the filter reports success.
"""

_POLICIES = (0, 3, 5)
"""SCHED_OTHER, SCHED_BATCH, SCHED_IDLE: the policies without a priority, one of which a thread has already.

Mono asks for its thread's own policy again, and writes a line on standard output where that is refused.
"""

_SOCKET_OPTIONS = (17, 59, 77)
"""SO_PEERCRED, SO_PEERGROUPS, SO_PEERPIDFD: who is at the other end is nobody's business."""

_ATTRIBUTE_CALLS = ("getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr")
"""Calls that read extended attributes, which no file has here: ``shutil.copy2`` and ``ls`` take EPERM for a failure."""

_SET_FILTER, _NEW_LISTENER = 1, 8

_THREAD = 0x00010F00
"""CLONE_VM, FS, FILES, SIGHAND and THREAD together: a thread that shares everything, and nothing less."""

_CHILD_PRCTLS = (15, 16, 3, 39, 0x53564D41)
"""PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_GET_NO_NEW_PRIVS, PR_SET_VMA (the C library names its memory)."""

_REFUSE = fail(errno.EPERM)
_PRETEND = fail(0)
"""Do nothing, and report success."""


def _lock_pretended() -> Program:
    """Return a program for ``fcntl`` that refuses what would reach others, and pretends to lock."""
    body = Program()
    body.load(low(1))
    for commands, action in ((_FCNTLS, _REFUSE), (_LOCKS, _PRETEND)):
        for command in commands:
            body.ret_if(command, action)
    body.ret(ALLOW)
    return body


def _policy_pretended() -> Program:
    """Return a program for ``sched_setscheduler`` that pretends to set a policy without a priority."""
    body = Program()
    body.load(low(2))
    body.ret_if(0, _REFUSE)  # Without its parameters the kernel takes none.
    body.load(low(1))
    for policy in _POLICIES:
        body.ret_if(policy, _PRETEND)
    body.ret(_REFUSE)
    return body


def _threads(otherwise: int) -> Program:
    """Return a program for ``clone`` that allows what starts a thread; anything else would be a process."""
    body = Program()
    body.load(low(0))
    body.emit(AND, _THREAD)
    body.ret_if(_THREAD, ALLOW)
    body.ret(otherwise)
    return body


_SEPARATE = 0x7E02_0000 | 0x0080_A000
"""The CLONE_NEW flags; CLONE_PARENT, CLONE_PTRACE and CLONE_UNTRACED: they make more than a plain child."""


def _children(otherwise: int) -> Program:
    """Return a program for ``clone`` that allows threads and plain children."""
    body = Program()
    body.load(low(0))
    body.emit(AND, _SEPARATE)
    body.ret_if(0, ALLOW)
    body.ret(otherwise)
    return body


def _connected_pairs(*, processes: bool) -> Program:
    """Return a program for ``socketpair`` that allows AF_UNIX and SOCK_STREAM: all that asyncio needs.

    With ``processes`` SOCK_SEQPACKET, too: Rust's library tells by it which process it has started.
    """
    body = Program()
    body.load(low(0))
    body.ret_unless(1, _REFUSE)
    body.load(low(1))
    for kind in (1, 0x80001, 0x801, 0x80801, *((5, 0x80005) if processes else ())):
        body.ret_if(kind, ALLOW)
    body.ret(_REFUSE)
    return body


def _without_address() -> Program:
    """Return a program for ``sendto`` that allows a null address only: both halves of the pointer are zero."""
    body = Program()
    for half in (low(4), high(4)):
        body.load(half)
        body.ret_unless(0, _REFUSE)
    body.ret(ALLOW)
    return body


def _unless_marked(argument: int, marked: int, otherwise: Program) -> Program:
    """Return a program that gives ``marked`` for a call with the zygote's mark, and else runs ``otherwise``."""
    body = Program()
    body.load(high(argument))
    body.ret_if(kernel.ZYGOTE_MARK >> 32, marked)
    body.extend(otherwise)
    return body


def _broad_bounds(*, watched: bool, processes: bool) -> dict[str, Program]:
    """Return the programs for the calls that the broad filter bounds by argument."""
    bounded = {
        "socketpair": _connected_pairs(processes=processes),
        "sendto": _without_address(),
        "fcntl": _lock_pretended(),
        "flock": always(_PRETEND),
        "sched_setscheduler": _policy_pretended(),
        "getsockopt": deny_values(2, _SOCKET_OPTIONS, _REFUSE),
        "close_range": allow_values(2, (0, 4), _REFUSE),
        "ioctl": allow_values(1, (*_IOCTLS, *_ZYGOTE_IOCTLS), fail(errno.ENOTTY)),
    }
    if watched:
        bounded["clone"] = _unless_marked(0, ALLOW, _children(NOTIFY) if processes else _threads(NOTIFY))
    for name, argument in _MARKED_CALLS.items():
        if name != "clone":
            bounded[name] = _unless_marked(argument, ALLOW, always(NOTIFY if watched else _REFUSE))
    return bounded


def broad_filter(machine: str = kernel.MACHINE, *, watched: bool = False, processes: bool = False) -> bytes:
    """Return the filter of the zygote as machine code.  Raises KeyError for an unknown architecture.

    ``processes``: samples may start processes.
    """
    suspicious = SUSPICIOUS_CALLS - PROCESS_CALLS if processes else SUSPICIOUS_CALLS
    allowed = SAMPLE_CALLS | ZYGOTE_CALLS | (PROCESS_CALLS if processes else set())
    table = numbers(machine)
    program = Program()
    program.load(ARCHITECTURE)
    program.ret_unless(_ARCHITECTURES[machine], KILL)
    program.load(NUMBER)
    if machine == "x86_64":
        program.ret_from(_X32_BIT, KILL)
    bounded = _broad_bounds(watched=watched, processes=processes)
    for name, body in bounded.items():
        program.run_if(table[name], body)
    for name in sorted(allowed - bounded.keys() - (suspicious if watched else set())):
        if name in table:
            program.ret_if(table[name], ALLOW)
    for name in sorted(suspicious - bounded.keys()) if watched else ():
        if name in table:
            program.ret_if(table[name], NOTIFY)
    for name in _ATTRIBUTE_CALLS:
        program.ret_if(table[name], fail(errno.ENOTSUP))
    # The C library tries the newer form first and falls back when it does not exist.
    program.ret_if(table["clone3"], fail(errno.ENOSYS))
    program.ret_from(max(table.values()) + 1, fail(errno.ENOSYS))
    program.ret(_REFUSE)
    return program.code


class NarrowFilter(ChildFilter):
    """The filter of a child that runs one job; its number is its pid."""

    def __init__(
        self,
        machine: str = kernel.MACHINE,
        *,
        own_files: bool = True,
        watched: bool = False,
        processes: bool = False,
        compiles: bool = False,
    ) -> None:
        """``own_files``: nothing but our own mounts can be reached, so file modes may be changed.

        ``processes``: it may start processes; ``compiles``: it runs compilers.
        """
        table = numbers(machine)
        program = Program()
        program.load(NUMBER)
        offsets = []
        for name, argument in _MARKED_CALLS.items():
            otherwise = always(ALLOW)
            if name == "clone" and not watched:
                otherwise = _children(_REFUSE) if processes else _threads(_REFUSE)
            program.run_if(table[name], _unless_marked(argument, _REFUSE, otherwise))
        if not watched:
            for name in ("kill", "tgkill"):
                offsets.append(program.value_offset(2))
                program.run_if(table[name], allow_values(0, (0,), _REFUSE))
        program.run_if(table["prctl"], allow_values(0, _CHILD_PRCTLS, _REFUSE))
        program.run_if(table["ioctl"], allow_values(1, _IOCTLS, fail(errno.ENOTTY)))
        program.run_if(table["prlimit64"], allow_values(0, (0,), _REFUSE))
        if not own_files:
            _refuse_truncating(program, table)
        # A thread id says nothing about its process, so the old call without one is refused.
        refused = {*ZYGOTE_CALLS, "tkill"} - (SUSPICIOUS_CALLS if watched else set())
        refused -= COMPILER_CALLS if compiles else set()
        for name in sorted(refused | (set() if own_files else FILE_MODES)):
            if name in table:
                program.ret_if(table[name], _REFUSE)
        program.ret(ALLOW)
        super().__init__(program, offsets)


def _refuse_truncating(program: Program, table: dict[str, int]) -> None:
    """Refuse to open for reading and truncate at once, which older Landlocks let pass."""
    for name, argument in (("open", 1), ("openat", 2)):
        if name in table:
            body = Program()
            body.load(low(argument))
            body.emit(AND, 0o1003)  # O_TRUNC with the access mode
            body.ret_if(0o1000, _REFUSE)
            body.ret(ALLOW)
            program.run_if(table[name], body)
    program.ret_if(table["openat2"], _REFUSE)


def install_broad(*, processes: bool = False) -> None:
    """Load the broad filter over this process and all that come from it."""
    code = broad_filter(processes=processes)
    buffer = ctypes.create_string_buffer(code, len(code))
    install(header_of(buffer))


def install_watched(*, processes: bool = False) -> int:
    """Load the broad filter over this process with a listener, and return the listener's descriptor.

    Raises OSError where the kernel has none, or where another listener exists already.
    """
    code = broad_filter(watched=True, processes=processes)
    buffer = ctypes.create_string_buffer(code, len(code))
    number = numbers(kernel.MACHINE)["seccomp"]
    return kernel.syscall("seccomp", number, _SET_FILTER, _NEW_LISTENER, ctypes.byref(header_of(buffer)))
