"""The strict filter: it ends a process that is to be rewound at the first call that could change the kernel's state.

It takes the place of the narrow filter (``seccomp.py``) in that process.
"""

from __future__ import annotations

from passcurve.sandbox.layers.bpf import (
    ALLOW,
    AND,
    JUMP_ABOVE_EQUAL,
    KILL,
    NUMBER,
    ChildFilter,
    Program,
    allow_values,
    always,
    low,
)
from passcurve.sandbox.layers.syscalls import numbers
from passcurve.sandbox.zygote import kernel

STATELESS_CALLS = tuple(
    """
    read write futex clock_gettime lseek fstat newfstatat stat lstat pread64 close openat getrandom clock_nanosleep
    nanosleep gettimeofday time clock_getres sched_yield getpid gettid getppid getuid geteuid getgid
    getegid getresuid getresgid getgroups getpgid getpgrp getsid uname sysinfo getcwd readlink readlinkat access
    faccessat faccessat2 getdents64 ioctl fcntl sched_getaffinity
    """.split()
)
"""Calls that leave nothing behind in the kernel, some of them with certain arguments only.

None of them sets a clock, a signal, a mapping or a lock.
"""

_READ_ONLY = 0o2000000 | 0o200000 | 0o400000 | 0o100000 | 0o4000
"""O_CLOEXEC, O_DIRECTORY, O_NOFOLLOW, O_LARGEFILE, O_NONBLOCK (x86-64): flags that may go with O_RDONLY."""

_FUTEX_CALLS = (0, 1, 128, 129, 137, 265, 138, 393)
"""Wait and wake, private or not, with a bit set, by the clock or not: none that the kernel remembers."""

_CLOCKS = (0, 1, 4, 5, 6, 7, 11)
"""Real, monotonic (raw, coarse), since boot, TAI.

The clocks of a process are not among them: they tell how many samples ran in it before, to be read or waited for.
"""

_TERMINAL_REQUESTS = (0x5401, 0x802C542A)
"""TCGETS, and TCGETS2 of glibc from 2.42 on: they ask whether a descriptor is a terminal."""

_F_GETFD, _F_GETFL = 1, 3


_FILE_CALLS = ("read", "write", "pread64", "lseek", "fstat", "newfstatat")
"""Calls whose answer tells what a descriptor leads to."""

_USABLE = 2
"""The first descriptor for such calls, and for ``fcntl``.

A program on standard input has those below it in memory (``harness/script_streams.py``).  The process must end before
one finds out that they lead to ``/dev/null``.
"""


class StrictFilter(ChildFilter):
    """The filter of a process that is to be rewound; its number is the first descriptor that it may close."""

    def __init__(self, machine: str = kernel.MACHINE) -> None:
        table = numbers(machine)
        offsets: list[int] = []
        program = Program()
        program.load(NUMBER)
        bounded = {
            "openat": _open_read_only(),
            "close": _close_from_number(),
            **{name: _for_usable(always(ALLOW)) for name in _FILE_CALLS},
            "ioctl": allow_values(1, _TERMINAL_REQUESTS, KILL),
            "fcntl": _for_usable(allow_values(1, (_F_GETFD, _F_GETFL), KILL)),
            "futex": allow_values(1, _FUTEX_CALLS, KILL),
            "clock_gettime": allow_values(0, _CLOCKS, KILL),
            "clock_nanosleep": allow_values(0, _CLOCKS, KILL),
        }
        for name in STATELESS_CALLS:
            if name == "close":
                offsets = [program.value_offset(2)]
            if name not in table:
                continue
            if name in bounded:
                program.run_if(table[name], bounded[name])
            else:
                program.ret_if(table[name], ALLOW)
        program.ret(KILL)
        super().__init__(program, offsets)


def _open_read_only() -> Program:
    body = Program()
    body.load(low(2))
    body.emit(AND, ~_READ_ONLY)
    body.ret_if(0, ALLOW)
    body.ret(KILL)
    return body


def _close_from_number() -> Program:
    """Return a program that allows to close descriptors from a number on, which the child fills in."""
    body = Program()
    body.load(low(0))
    body.ret_from(0, ALLOW)
    body.ret(KILL)
    return body


def _for_usable(rest: Program) -> Program:
    """Return a program for calls that name a descriptor which may be used, or none."""
    body = Program()
    body.load(low(0))
    body.emit(JUMP_ABOVE_EQUAL, _USABLE, 1, 0)
    body.ret(KILL)
    body.extend(rest)
    return body
