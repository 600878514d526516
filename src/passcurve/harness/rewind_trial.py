"""The trial of rewinding: a program that corrupts its own interpreter, after it has reported the state it started in.

Bytes in: one, for one round.  Frames out: ``CLEAN``, or a name of the corruption, and an empty one.
"""

from __future__ import annotations

import builtins
import ctypes
import math
import os

from passcurve.harness.framing import make_frame

CLEAN, CHANGED, CHANGED_NUMBER = b"clean", b"changed", b"a changed number"
_ANSWERS = {state: make_frame(state) + make_frame(b"") for state in (CLEAN, CHANGED, CHANGED_NUMBER)}
"""Made before anything is corrupted."""
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
        os.write(line, _ANSWERS[state])


def _inspect() -> bytes:
    if len([1, 2]) != 2 or math.pi < 3.1:
        return CHANGED
    return CLEAN if str(int("200")) == "200" else CHANGED_NUMBER


def rehearse() -> None:
    """Load what the trial needs before any fork."""
    ctypes.c_uint32.from_buffer(bytearray(4))
