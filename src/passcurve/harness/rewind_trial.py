"""The trial of rewinding: a program that corrupts its own interpreter, and tells whether it finds it corrupted.

Bytes in: anything, for one round.  Bytes out: ``CLEAN``, or what else it found.
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
    """Look at the interpreter, corrupt it, and say what was found, round after round."""
    line = descriptors[0]
    while os.read(line, 1):
        found = _find()
        vars(builtins)["len"] = lambda _: 42
        vars(math)["pi"] = 3.0
        ctypes.c_uint32.from_address(id(200) + _DIGIT).value = 7
        os.write(line, found)


def _find() -> bytes:
    if len([1, 2]) != 2 or math.pi < 3.1:
        return b"changed"
    return CLEAN if str(int("200")) == "200" else b"a changed number"


def rehearse() -> None:
    """Load what the trial needs before any fork."""
    ctypes.c_uint32.from_buffer(bytearray(4))
