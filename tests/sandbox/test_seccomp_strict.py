"""The strict filter: the calls of a process that is kept for many jobs."""

from __future__ import annotations

from filters import ALLOWED, BOUNDED, KILLED, LOWEST, PID, USABLE, Filters

from passcurve.sandbox.layers.seccomp import SAMPLE_CALLS
from passcurve.sandbox.layers.seccomp_strict import STATELESS_CALLS


def kept_arguments(name: str) -> tuple[int, ...]:
    """Return arguments with which a call leaves nothing behind."""
    return {
        "openat": (-100, 0x7F0000001000, 0o2000000),
        "close": (LOWEST,),
        "ioctl": (1, 0x5401),
        "fcntl": (3, 3),
        **dict.fromkeys(("read", "write", "pread64", "lseek", "fstat"), (USABLE, 0x7F0000001000, 1)),
        "newfstatat": (-100, 0x7F0000001000),
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
    assert {ALLOWED} == {filters.kept("ioctl", 0, command) for command in (0x5401, 0x802C542A)}
    setting = (0x402C542B, 0x402C542C, 0x402C542D)
    for command in (0x5402, 0x5413, 0x541B, 0x5421, 0x5450, *setting):
        assert KILLED == filters.kept("ioctl", 0, command)


def test_clocks_in_a_kept_process(filters: Filters):
    """It may read and wait for clocks of the machine only: its own tell what ran in it before."""
    shared = {0, 1, 4, 5, 6, 7, 11}
    own = (~1234 << 3 | 2) & 0xFFFFFFFF
    for name in ("clock_gettime", "clock_nanosleep"):
        assert shared == {clock for clock in (*range(64), own) if filters.kept(name, clock) == ALLOWED}


def test_descriptors_that_a_script_has_in_memory(filters: Filters):
    """A kept process may not use them: what stands there is not what stands there in a new process."""
    for name in ("read", "write", "pread64", "lseek", "fstat", "newfstatat", "fcntl"):
        assert {KILLED} == {filters.kept(name, descriptor, 1) for descriptor in range(USABLE)}
        assert {ALLOWED} == {filters.kept(name, descriptor, 1) for descriptor in (USABLE, LOWEST, 63)}
    assert {ALLOWED} == {filters.kept("ioctl", descriptor, 0x5401) for descriptor in range(USABLE)}
