"""Control of another process by ptrace: stop it, set its registers, and let it go on."""

from __future__ import annotations

import ctypes
import os
import struct
import time

from passcurve.sandbox.zygote import copy_stub, kernel

SETTLE_S = 5.0
"""Longest time that a new process may take until it waits for its first job."""

WALL = 0x40000000
"""__WALL: wait for a traced process as for any other."""

_PTRACE = {"x86_64": 101}
"""Number of the system call, on the machines on which rewinding was tried."""

_SEIZE, _INTERRUPT, _CONT, _GETREGSET, _SETREGSET = 0x4206, 0x4207, 7, 0x4204, 0x4205
_EXITKILL = 1 << 20

_STOPPED = 0x80 << 16 | 5 << 8 | 0x7F
"""Wait status of a process that stopped at our request."""

_TRAPPED = 5 << 8 | 0x7F
"""Wait status of a process that has reached the end of the copying code."""

_PRSTATUS, _XSTATE = 1, 0x202
_PRSTATUS_BYTES, _XSTATE_BYTES = 27 * 8, 1 << 14
_WORDS = struct.Struct("<27Q")
_RBP, _RBX, _RAX, _RDX, _RSI, _RDI, _ORIG_RAX, _RIP, _FLAGS, _RSP = 4, 5, 10, 12, 13, 14, 15, 16, 18, 19
_RED_ZONE = 256
_READ, _RESTART = 0, (1 << 64) - 512
_NO_CALL = (1 << 64) - 1


class UncleanError(Exception):
    """The process is not in the expected state, so it cannot be used again."""


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


_long = ctypes.c_long
_syscall, _ = kernel.raw_calls()


class _Call:
    """One request of ``ptrace``, whose arguments are made once: it is made for every job."""

    def __init__(self, request: int, pid: int, address: int = 0, data: int = 0) -> None:
        number, marked_pid = _PTRACE[kernel.MACHINE], pid | kernel.ZYGOTE_MARK
        self._request = request
        self._arguments = (_long(number), _long(request), _long(marked_pid), _long(address), _long(data))

    def __call__(self) -> None:
        if _syscall(*self._arguments):
            raise UncleanError("ptrace %#x: %s" % (self._request, os.strerror(ctypes.get_errno())))


class _Registers:
    """One set of registers of a process, in the kernel's layout."""

    def __init__(self, pid: int, kind: int, size: int) -> None:
        self._size = size
        self.bytes = ctypes.create_string_buffer(size)
        self._vector = _Vector(ctypes.addressof(self.bytes), size)
        address = ctypes.addressof(self._vector)
        self._get = _Call(_GETREGSET, pid, kind, address)
        self.set = _Call(_SETREGSET, pid, kind, address)
        """Writes them into the process."""

    def get(self) -> None:
        """Read them from the process; the kernel sets the size."""
        self._vector.size = self._size
        self._get()

    def words(self) -> tuple[int, ...]:
        """Return the general registers as integers."""
        return _WORDS.unpack(self.bytes.raw)


class Tracee:
    """A process that is traced until its tracer ends; then it dies."""

    def __init__(self, pid: int) -> None:
        if kernel.MACHINE not in _PTRACE:
            raise UncleanError("rewinding was not tried on %s" % kernel.MACHINE)
        self._pid = pid
        self._general = _Registers(pid, _PRSTATUS, _PRSTATUS_BYTES)
        self._extended = _Registers(pid, _XSTATE, _XSTATE_BYTES)
        self._copying = _Registers(pid, _PRSTATUS, _PRSTATUS_BYTES)
        self._interrupt, self._continue = _Call(_INTERRUPT, pid), _Call(_CONT, pid)
        _Call(_SEIZE, pid, 0, _EXITKILL)()

    def stop_at_read(self, descriptor: int) -> tuple[int, ...]:
        """Stop the process where it reads from a descriptor, and save its registers.

        Return those registers that are the same in every process that has done nothing but start.
        Raises UncleanError when the process does not come there.
        """
        until = time.monotonic() + SETTLE_S
        while True:
            self.stop()
            self._general.get()
            words = self._general.words()
            if (words[_ORIG_RAX], words[_RAX], words[_RDI]) == (_READ, _RESTART, descriptor):
                break
            self._continue()
            if time.monotonic() > until:
                raise UncleanError("the process does not wait for a job")
            # Nothing tells when a process begins a system call; this one does so in a moment.
            time.sleep(0.0001)
        self._extended.get()
        return tuple(words[name] for name in (_RIP, _RSP, _RBP, _RSI, _RDX))

    def prepare_copying(self) -> int:
        """Prepare the registers for the copying code; return the top of the stack that it uses."""
        words = list(self._general.words())
        # Far enough below what the interrupted code may have put there.
        stack = words[_RSP] - _RED_ZONE
        words[_RBX], words[_RSP], words[_RIP] = copy_stub.TABLE_AT, stack, copy_stub.CODE_AT
        words[_ORIG_RAX], words[_FLAGS] = _NO_CALL, copy_stub.FLAGS
        self._copying.bytes.raw = _WORDS.pack(*words)
        return stack

    def copy(self) -> None:
        """Have the stopped process run the copying code."""
        self._copying.set()
        self._continue()
        _, status = os.waitpid(self._pid, WALL)
        if status != _TRAPPED:
            raise UncleanError("the process did not reach the end of the copying code (status %#x)" % status)

    def stop(self) -> None:
        """Stop the process wherever it is."""
        self._interrupt()
        _, status = os.waitpid(self._pid, WALL)
        if status != _STOPPED:
            raise UncleanError("the process stopped for a reason of its own (status %#x)" % status)

    def resume(self) -> None:
        """Set the saved registers and let the process go on."""
        self._general.set()
        self._extended.set()
        self._continue()
