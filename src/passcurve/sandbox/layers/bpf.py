"""Assembler of classic BPF, the language of seccomp filters, and the call that loads a filter."""

from __future__ import annotations

import ctypes
import struct

from passcurve.sandbox.zygote import kernel

LOAD, JUMP_EQUAL, JUMP_ABOVE_EQUAL, AND, RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
NUMBER, ARCHITECTURE = 0, 4
"""Offsets of the number of a system call and of its architecture."""

ALLOW, KILL, NOTIFY = 0x7FFF0000, 0x80000000, 0x7FC00000
"""Actions: let the call through, end the process, hand the call over to the watcher."""

INSTRUCTION_BYTES = 8
_VALUE_OFFSET = 4

_U32 = struct.Struct("<I")
"""Compiled in advance: ``struct`` caches each format, and a child with one more entry has other addresses."""


def fail(number: int) -> int:
    """Return the action that refuses a call with an error number."""
    return 0x00050000 | number


def low(argument: int) -> int:
    """Return the offset of the low half of an argument (both architectures are little-endian)."""
    return 16 + 8 * argument


def high(argument: int) -> int:
    """Return the offset of the high half of an argument."""
    return 20 + 8 * argument


class Program:
    """A filter under construction."""

    def __init__(self) -> None:
        self._code = bytearray()

    def emit(self, operation: int, value: int, if_true: int = 0, if_false: int = 0) -> None:
        """Add one instruction."""
        self._code += struct.pack("<HBBI", operation, if_true, if_false, value & 0xFFFFFFFF)

    def load(self, offset: int) -> None:
        """Load a word of the call."""
        self.emit(LOAD, offset)

    def ret(self, action: int) -> None:
        """End with an action."""
        self.emit(RETURN, action)

    def ret_if(self, value: int, action: int) -> None:
        """End with an action if the loaded word equals a value."""
        self.emit(JUMP_EQUAL, value, 0, 1)
        self.ret(action)

    def ret_unless(self, value: int, action: int) -> None:
        """End with an action unless the loaded word equals a value."""
        self.emit(JUMP_EQUAL, value, 1, 0)
        self.ret(action)

    def ret_from(self, value: int, action: int) -> None:
        """End with an action if the loaded word is at least a value."""
        self.emit(JUMP_ABOVE_EQUAL, value, 0, 1)
        self.ret(action)

    def run_if(self, value: int, body: Program) -> None:
        """Run ``body``, which always ends with an action, if the loaded word equals a value."""
        self.emit(JUMP_EQUAL, value, 0, body.length)
        self.extend(body)

    def extend(self, body: Program) -> None:
        """Continue with the instructions of another program."""
        self._code += body.code

    def value_offset(self, instruction: int) -> int:
        """Return where in the code the value of a later instruction lies, counted from the next one."""
        return (self.length + instruction) * INSTRUCTION_BYTES + _VALUE_OFFSET

    @property
    def code(self) -> bytes:
        """The machine code."""
        return bytes(self._code)

    @property
    def length(self) -> int:
        """The number of instructions."""
        return len(self._code) // INSTRUCTION_BYTES


def always(action: int) -> Program:
    """Return a program that ends with an action."""
    body = Program()
    body.ret(action)
    return body


def deny_values(argument: int, values: tuple[int, ...], otherwise: int) -> Program:
    """Return a program that refuses a call when the low half of an argument is one of ``values``."""
    body = Program()
    body.load(low(argument))
    for value in values:
        body.ret_if(value, otherwise)
    body.ret(ALLOW)
    return body


def allow_values(argument: int, values: tuple[int, ...], otherwise: int) -> Program:
    """Return a program that allows a call only when the low half of an argument is one of ``values``."""
    body = Program()
    body.load(low(argument))
    for value in values:
        body.ret_if(value, ALLOW)
    body.ret(otherwise)
    return body


class Header(ctypes.Structure):
    """A filter as the kernel takes it (``struct sock_fprog``)."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def header_of(code: ctypes.Array[ctypes.c_char]) -> Header:
    """Return the header of a filter, which is valid as long as ``code`` lives."""
    return Header(len(code) // INSTRUCTION_BYTES, ctypes.cast(code, ctypes.c_void_p))


def install(header: Header) -> None:
    """Load a filter.  Raises OSError where the kernel refuses."""
    kernel.check(kernel.seccomp_filter(ctypes.byref(header)), "seccomp")


class ChildFilter:
    """A filter made before the fork, into which the child writes a number of its own."""

    def __init__(self, program: Program, offsets: list[int]) -> None:
        """``offsets``: where in the code the number belongs."""
        self._offsets = offsets
        self._code = ctypes.create_string_buffer(program.code, len(program.code))
        self._header = header_of(self._code)

    def install(self, number: int) -> None:
        """Load the filter over this process."""
        self._fill_in(number)
        install(self._header)

    def code_for(self, number: int) -> bytes:
        """Return the filter that ``install`` loads."""
        self._fill_in(number)
        return self._code.raw

    def _fill_in(self, number: int) -> None:
        for offset in self._offsets:
            _U32.pack_into(self._code, offset, number)
