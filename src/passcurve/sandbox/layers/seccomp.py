"""Seccomp: the list of system calls that a sample may make; everything else is refused or kills it.

Two filters work together.  The broad one goes over the zygote once and allows what a sample needs and what a zygote
needs.  The narrow one is laid over each child and takes the zygote's share away again; it is short because loading
a filter costs time per sample.  A strict one takes its place in a process that is to be rewound: it ends the process
at the first call that could change anything of it in the kernel.

With a watcher (``watch.py``) the broad filter hands the telling calls over instead of refusing them by itself; the
narrow one then leaves those alone, because of two answers the kernel takes the stricter.
"""

from __future__ import annotations

import ctypes
import errno
import struct

from passcurve.sandbox import kernel
from passcurve.sandbox.layers.syscalls import numbers

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000

_LOAD, _JUMP_EQUAL, _JUMP_ABOVE_EQUAL, _JUMP_SET, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER, _ARCHITECTURE = 0, 4
_ALLOW, _KILL, _HAND_OVER = 0x7FFF0000, 0x80000000, 0x7FC00000


def _errno(number: int) -> int:
    return 0x00050000 | number


def _low(argument: int) -> int:
    """Offset of the low half of an argument (both architectures are little-endian)."""
    return 16 + 8 * argument


def _high(argument: int) -> int:
    """Offset of the high half of an argument."""
    return 20 + 8 * argument


SAMPLE = frozenset(
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

ZYGOTE = frozenset(
    """
    mount umount2 seccomp capset landlock_create_ruleset landlock_add_rule landlock_restrict_self pidfd_open
    pidfd_send_signal sendmsg
    """.split()
)
"""What only the zygote needs; the narrow filter takes them away from its children."""

TELLING = frozenset(
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
"""Calls that an honest program has no use for here: what is refused of these is told with the verdict."""

_OURS = {"clone": 0, "ptrace": 1, "userfaultfd": 0}
"""Telling calls that the zygote and the template make themselves, marked by ``kernel.OURS`` in the high half of this
argument, of which the kernel reads the low half."""

CLEAN = tuple(
    """
    read write futex clock_gettime lseek fstat newfstatat stat lstat pread64 close openat getrandom clock_nanosleep
    nanosleep gettimeofday time clock_getres sched_yield getpid gettid getppid getuid geteuid getgid
    getegid getresuid getresgid getgroups getpgid getpgrp getsid uname sysinfo getcwd readlink readlinkat access
    faccessat faccessat2 getdents64 ioctl fcntl sched_getaffinity
    """.split()
)
"""Calls that leave nothing behind in the kernel, some of them with certain arguments only: all that a program may make
in a process that is to be rewound.  No clock, no signal, no mapping and no lock is set by any of them."""

_READ_ONLY = 0o2000000 | 0o200000 | 0o400000 | 0o100000 | 0o4000
"""O_CLOEXEC, O_DIRECTORY, O_NOFOLLOW, O_LARGEFILE, O_NONBLOCK (x86-64): flags that may go with O_RDONLY."""

_FUTEX_CALLS = (0, 1, 128, 129, 137, 265, 138, 393)
"""Wait and wake, private or not, with a bit set, by the clock or not: none that the kernel remembers."""

_CLOCKS = (0, 1, 4, 5, 6, 7, 11)
"""Real, monotonic (raw, coarse), since boot, TAI: not those of a process, which tell how many ran in it before."""

FILE_MODES = frozenset("chmod fchmod fchmodat fchmodat2 utime utimes utimensat futimesat truncate".split())
"""Calls on a path that Landlock has no rule for: without mounts of our own they would reach the host's files."""

_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX: what a descriptor is, never what a device does."""

_ZYGOTE_IOCTLS = (0xC018AA3F, 0xC020AA00, 0x8010AA01, 0xC0606610)
"""UFFDIO_API, UFFDIO_REGISTER, UFFDIO_UNREGISTER, PAGEMAP_SCAN: how the zygote has writes noted."""

_FCNTLS = (8, 10, 15, 1024, 1026)
"""F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY: ways to have the kernel signal somebody else."""

_LOCKS = (6, 7, 37, 38)
"""F_SETLK, F_SETLKW and the same for open files: a lock on a file of the host would hold up others there.  A process
that is alone with its files gets any lock, so it is told that it has."""

_SOCKET_OPTIONS = (17, 59, 77)
"""SO_PEERCRED, SO_PEERGROUPS, SO_PEERPIDFD: who is at the other end is nobody's business."""

_SET_FILTER, _NEW_LISTENER = 1, 8

_THREAD = 0x00010F00
"""CLONE_VM, FS, FILES, SIGHAND and THREAD together: a thread that shares everything, and nothing less."""

_CHILD_PRCTLS = (15, 16, 3, 39, 0x53564D41)
"""PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_GET_NO_NEW_PRIVS, PR_SET_VMA (the C library names its memory)."""


_U32 = struct.Struct("<I")
"""Made beforehand: ``struct`` keeps each form it is given, and a child that has one more has other addresses."""


class _Program:
    """A filter under construction: instructions of the classic BPF machine."""

    def __init__(self) -> None:
        self._code = bytearray()

    def add(self, operation: int, value: int, if_true: int = 0, if_false: int = 0) -> None:
        self._code += struct.pack("<HBBI", operation, if_true, if_false, value & 0xFFFFFFFF)

    def load(self, offset: int) -> None:
        self.add(_LOAD, offset)

    def give(self, action: int) -> None:
        self.add(_RETURN, action)

    def when(self, number: int, body: _Program) -> None:
        """Run ``body``, which always ends in a verdict, for one system call."""
        self.add(_JUMP_EQUAL, number, 0, body.length)
        self._code += body.code

    def join(self, body: _Program) -> None:
        """Go on with another program."""
        self._code += body.code

    @property
    def code(self) -> bytes:
        return bytes(self._code)

    @property
    def length(self) -> int:
        return len(self._code) // 8


def _none_of(argument: int, values: tuple[int, ...], otherwise: int) -> _Program:
    """Refuse the call when the low half of an argument is one of ``values``."""
    body = _Program()
    body.load(_low(argument))
    for value in values:
        body.add(_JUMP_EQUAL, value, 0, 1)
        body.give(otherwise)
    body.give(_ALLOW)
    return body


def _only(argument: int, values: tuple[int, ...], otherwise: int) -> _Program:
    """Allow the call only when the low half of an argument is one of ``values``."""
    body = _Program()
    body.load(_low(argument))
    for value in values:
        body.add(_JUMP_EQUAL, value, 0, 1)
        body.give(_ALLOW)
    body.give(otherwise)
    return body


def _give(action: int) -> _Program:
    body = _Program()
    body.give(action)
    return body


def _fcntl(refuse: int) -> _Program:
    """Refuse what would signal others, and pretend to lock."""
    body = _Program()
    body.load(_low(1))
    for commands, action in ((_FCNTLS, refuse), (_LOCKS, _errno(0))):
        for command in commands:
            body.add(_JUMP_EQUAL, command, 0, 1)
            body.give(action)
    body.give(_ALLOW)
    return body


def _threads(otherwise: int) -> _Program:
    """Allow what starts a thread; anything else would be a process."""
    body = _Program()
    body.load(_low(0))
    body.add(_AND, _THREAD)
    body.add(_JUMP_EQUAL, _THREAD, 0, 1)
    body.give(_ALLOW)
    body.give(otherwise)
    return body


def _unless_ours(argument: int, ours: int, otherwise: _Program) -> _Program:
    """Give ``ours`` for a call that carries our mark in the high half of an argument, else run ``otherwise``."""
    body = _Program()
    body.load(_high(argument))
    body.add(_JUMP_EQUAL, kernel.OURS >> 32, 0, 1)
    body.give(ours)
    body.join(otherwise)
    return body


def broad(machine: str = kernel.MACHINE, *, watched: bool = False) -> bytes:
    """Return the filter of the zygote as machine code.  Raises KeyError for an unknown architecture."""
    table = numbers(machine)
    refuse = _errno(errno.EPERM)
    program = _Program()
    program.load(_ARCHITECTURE)
    program.add(_JUMP_EQUAL, _ARCHITECTURES[machine], 1, 0)
    program.give(_KILL)
    program.load(_NUMBER)
    if machine == "x86_64":
        program.add(_JUMP_ABOVE_EQUAL, _X32_BIT, 0, 1)
        program.give(_KILL)

    stream = _Program()  # AF_UNIX, SOCK_STREAM with or without its flags: all that asyncio needs
    stream.load(_low(0))
    stream.add(_JUMP_EQUAL, 1, 1, 0)
    stream.give(refuse)
    stream.load(_low(1))
    for kind in (1, 0x80001, 0x801, 0x80801):
        stream.add(_JUMP_EQUAL, kind, 0, 1)
        stream.give(_ALLOW)
    stream.give(refuse)
    null = _Program()  # no address: both halves of the pointer are zero
    null.load(_low(4))
    null.add(_JUMP_EQUAL, 0, 1, 0)
    null.give(refuse)
    null.load(_low(4) + 4)
    null.add(_JUMP_EQUAL, 0, 1, 0)
    null.give(refuse)
    null.give(_ALLOW)
    bounded = {
        "socketpair": stream,
        "sendto": null,
        "fcntl": _fcntl(refuse),
        "flock": _give(_errno(0)),
        "getsockopt": _none_of(2, _SOCKET_OPTIONS, refuse),
        "close_range": _only(2, (0, 4), refuse),
        "ioctl": _only(1, (*_IOCTLS, *_ZYGOTE_IOCTLS), _errno(errno.ENOTTY)),
    }
    if watched:
        bounded["clone"] = _unless_ours(0, _ALLOW, _threads(_HAND_OVER))
    for name, argument in _OURS.items():
        if name != "clone":
            otherwise = _Program()
            otherwise.give(_HAND_OVER if watched else refuse)
            bounded[name] = _unless_ours(argument, _ALLOW, otherwise)
    for name, body in bounded.items():
        program.when(table[name], body)
    for name in sorted((SAMPLE | ZYGOTE) - bounded.keys() - (TELLING if watched else set())):
        if name in table:
            program.add(_JUMP_EQUAL, table[name], 0, 1)
            program.give(_ALLOW)
    for name in sorted(TELLING - bounded.keys()) if watched else ():
        if name in table:
            program.add(_JUMP_EQUAL, table[name], 0, 1)
            program.give(_HAND_OVER)
    # The C library tries the newer form first and falls back when it does not exist.
    program.add(_JUMP_EQUAL, table["clone3"], 0, 1)
    program.give(_errno(errno.ENOSYS))
    program.add(_JUMP_ABOVE_EQUAL, max(table.values()) + 1, 0, 1)
    program.give(_errno(errno.ENOSYS))
    program.give(refuse)
    return program.code


class _ChildFilter:
    """A filter made before the fork, into which the child writes a number of its own."""

    def __init__(self, program: _Program, places: list[int]) -> None:
        self._places = places
        self._code = ctypes.create_string_buffer(program.code, len(program.code))
        self._header = _header(self._code, program.length)

    def install(self, number: int) -> None:
        """Lay the filter over this process."""
        for place in self._places:
            _U32.pack_into(self._code, place, number)
        install(self._header)


class Narrow(_ChildFilter):
    """The filter of a child that runs one job; its number is its pid."""

    def __init__(self, machine: str = kernel.MACHINE, *, own_files: bool = True, watched: bool = False) -> None:
        """``own_files``: nothing but our own mounts can be reached, so file modes may be changed."""
        table = numbers(machine)
        refuse = _errno(errno.EPERM)
        program = _Program()
        program.load(_NUMBER)
        places = []
        for name, argument in _OURS.items():
            otherwise = _threads(refuse) if name == "clone" and not watched else _give(_ALLOW)
            program.when(table[name], _unless_ours(argument, refuse, otherwise))
        if not watched:
            for name in ("kill", "tgkill"):
                body = _only(0, (0,), refuse)
                places.append((program.length + 2) * 8 + 4)
                program.when(table[name], body)
        program.when(table["prctl"], _only(0, _CHILD_PRCTLS, refuse))
        program.when(table["ioctl"], _only(1, _IOCTLS, _errno(errno.ENOTTY)))
        program.when(table["prlimit64"], _only(0, (0,), refuse))
        # A thread id says nothing about its process, so the old call without one is refused.
        if not own_files:
            self._refuse_truncating(program, table, refuse)
        silent = {*ZYGOTE, "tkill"} - (TELLING if watched else set())
        for name in sorted(silent | (set() if own_files else FILE_MODES)):
            if name in table:
                program.add(_JUMP_EQUAL, table[name], 0, 1)
                program.give(refuse)
        program.give(_ALLOW)
        super().__init__(program, places)

    @staticmethod
    def _refuse_truncating(program: _Program, table: dict[str, int], refuse: int) -> None:
        """Refuse to open for reading and truncate at once, which older Landlocks let pass."""
        for name, argument in (("open", 1), ("openat", 2)):
            if name in table:
                body = _Program()
                body.load(_low(argument))
                body.add(_AND, 0o1003)  # O_TRUNC with the access mode
                body.add(_JUMP_EQUAL, 0o1000, 0, 1)
                body.give(refuse)
                body.give(_ALLOW)
                program.when(table[name], body)
        program.add(_JUMP_EQUAL, table["openat2"], 0, 1)
        program.give(refuse)


class Strict(_ChildFilter):
    """The filter of a process that is to be rewound, in place of the narrow one.

    Its number is the first descriptor that it may close.
    """

    def __init__(self, machine: str = kernel.MACHINE) -> None:
        table = numbers(machine)
        places: list[int] = []
        program = _Program()
        program.load(_NUMBER)
        no_flags = _Program()
        no_flags.load(_low(2))
        no_flags.add(_AND, ~_READ_ONLY)
        no_flags.add(_JUMP_EQUAL, 0, 0, 1)
        no_flags.give(_ALLOW)
        no_flags.give(_KILL)
        above = _Program()
        above.load(_low(0))
        above.add(_JUMP_ABOVE_EQUAL, 0, 0, 1)
        above.give(_ALLOW)
        above.give(_KILL)
        bounded = {
            "openat": no_flags,
            "close": above,
            "ioctl": _only(1, (0x5401,), _KILL),  # TCGETS: whether it is a terminal
            "fcntl": _only(1, (1, 3), _KILL),  # F_GETFD, F_GETFL
            "futex": _only(1, _FUTEX_CALLS, _KILL),
            "clock_gettime": _only(0, _CLOCKS, _KILL),
        }
        for name in CLEAN:
            if name == "close":
                places = [(program.length + 2) * 8 + 4]
            if name in bounded:
                program.when(table[name], bounded[name])
            elif name in table:
                program.add(_JUMP_EQUAL, table[name], 0, 1)
                program.give(_ALLOW)
        program.give(_KILL)
        super().__init__(program, places)


class _Header(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def _header(code: ctypes.Array[ctypes.c_char], length: int) -> _Header:
    return _Header(length, ctypes.cast(code, ctypes.c_void_p))


def install_broad() -> None:
    """Lay the broad filter over this process and all that come from it."""
    code = broad()
    buffer = ctypes.create_string_buffer(code, len(code))
    install(_header(buffer, len(code) // 8))


def install_watched() -> int:
    """Lay the broad filter over this process with a listener, whose descriptor is returned.

    Raises OSError where the kernel has none, or where somebody outside listens already.
    """
    code = broad(watched=True)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = _header(buffer, len(code) // 8)
    number = numbers(kernel.MACHINE)["seccomp"]
    return kernel.syscall("seccomp", number, _SET_FILTER, _NEW_LISTENER, ctypes.byref(header))


def install(header: _Header) -> None:
    """Load a filter.  Raises OSError where the kernel refuses."""
    kernel.check(kernel.seccomp_filter(ctypes.byref(header)), "seccomp")
