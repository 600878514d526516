"""Resource limits: the wall that every POSIX system has."""

from __future__ import annotations

import os
import resource

OPEN_FILES = 64
PROCESSES = 64
"""Most threads of a sample, which can start no process.  The kernel counts them per user."""

ZYGOTE_FILES = 4096
"""Descriptors that a zygote may have, though it has few.

The kernel counts those that are under way between all processes of a user, and lets nobody send one while there are
more than the sender may have.
"""

NICENESS = 5
COMMAND_FILES, COMMAND_PROCESSES = 512, 256
"""The same for commands: a build starts a compiler of many threads for each core."""


def apply_to_zygote(file_bytes: int, memory_bytes: int, *, commands: bool = False) -> None:
    """Set the limits that are the same for every child; inheriting them costs the children nothing.

    ``commands``: they run compilers and other runtimes, which reserve more addresses than they use.
    """
    _set(resource.RLIMIT_DATA if commands else resource.RLIMIT_AS, memory_bytes)
    _set(resource.RLIMIT_CORE, 0)
    _set(resource.RLIMIT_NOFILE, ZYGOTE_FILES)
    _set(resource.RLIMIT_MEMLOCK, 0)
    _set(resource.RLIMIT_FSIZE, file_bytes)
    if hasattr(resource, "RLIMIT_MSGQUEUE"):
        _set(resource.RLIMIT_MSGQUEUE, 0)


def limit_files(*, commands: bool = False) -> None:
    """Bound the descriptors of this child."""
    _set(resource.RLIMIT_NOFILE, COMMAND_FILES if commands else OPEN_FILES)


def limit_cpu(pid: int, cpu_s: int) -> None:
    """Set a backstop far above the time limit, from outside: nothing in the child changes."""
    try:
        resource.prlimit(pid, resource.RLIMIT_CPU, (cpu_s, cpu_s))
    except (OSError, AttributeError):
        pass  # the supervisor's clock and the death of its parent end a child as well


def lower_priority(pid: int) -> None:
    """Have a child and all that it starts give way to its zygote, which is to end them; its own clock is unaffected."""
    try:
        os.setpriority(os.PRIO_PROCESS, pid, NICENESS)
    except OSError:
        pass  # it only decides how fast many are ended


def limit_processes(others: int, *, commands: bool = False) -> None:
    """Bound the threads of one child; ``others``: threads of the same user, which the kernel counts too."""
    _set(resource.RLIMIT_NPROC, (COMMAND_PROCESSES if commands else PROCESSES) + others)


def processes_of_user() -> int:
    """Return how many threads run under our uid, as far as /proc shows them."""
    count, uid = 0, os.getuid()
    try:
        names = os.listdir("/proc")
    except OSError:
        return 0  # no /proc: the limit is then a little lower
    for name in names:
        try:
            if name.isdigit() and os.stat("/proc/" + name).st_uid == uid:
                count += len(os.listdir("/proc/%s/task" % name))
        except OSError:
            pass  # it has just ended
    return count


def _set(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))
