"""The trial of rewinding: a program that corrupts its own interpreter, after it has reported the state it started in.

Bytes in: one, for one round.  Bytes out: ``CLEAN``, or a name of the corruption.
"""

from __future__ import annotations

import builtins
import ctypes
import math
import os

CLEAN = b"clean"
_DIGIT = 24
"""Offset of the digit of a small integer."""


def main(descriptors: list[int]) -> None:
    """Inspect the interpreter, corrupt it, and report its state before, round after round."""
    line = descriptors[0]
    while os.read(line, 1):
        state = _inspect()
        vars(builtins)["len"] = lambda _: 42
        vars(math)["pi"] = 3.0
        ctypes.c_uint32.from_address(id(200) + _DIGIT).value = 7
        os.write(line, state)


def _inspect() -> bytes:
    if len([1, 2]) != 2 or math.pi < 3.1:
        return b"changed"
    return CLEAN if str(int("200")) == "200" else b"a changed number"


def rehearse() -> None:
    """Load what the trial needs before any fork."""
    ctypes.c_uint32.from_buffer(bytearray(4))
