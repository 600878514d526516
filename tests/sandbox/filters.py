"""The seccomp filters, run by a BPF interpreter of twenty lines."""

from __future__ import annotations

import errno
import struct
from typing import Any

from passcurve.sandbox.layers import watch
from passcurve.sandbox.layers.seccomp import NarrowFilter, broad_filter
from passcurve.sandbox.layers.seccomp_strict import StrictFilter
from passcurve.sandbox.layers.syscalls import numbers

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOWED, KILLED, HANDED_OVER, PRETENDED = "allowed", "killed", "handed over", "pretended"
PID = 4321
LOWEST = 5
"""The first descriptor that a process which is kept may close."""
USABLE = 2
"""The first one that it may use."""


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
    return NarrowFilter(machine, **options).code_for(PID)


def strict(machine: str) -> bytes:
    """Return the filter of a process that is kept, which may close descriptors from LOWEST on."""
    return StrictFilter(machine).code_for(LOWEST)


class Filters:
    """The filters of one architecture; calls that they hand over are answered as the watcher answers."""

    def __init__(self, machine: str, *, watched: bool = False, processes: bool = False, **options: bool) -> None:
        self.machine = machine
        self.watched = watched
        self.table = numbers(machine)
        self._broad = broad_filter(machine, watched=watched, processes=processes)
        self._narrow = narrow(machine, watched=watched, processes=processes, **options)
        self._strict = strict(machine)
        self.programs = (self._broad, self._narrow, self._strict)

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
