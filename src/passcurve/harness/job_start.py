"""The first steps of a job's process: it reads the job, and lets calls nest as deep as in a new interpreter."""

from __future__ import annotations

import marshal
import os
import sys
from typing import Any

from passcurve.harness.framing import receive_frame
from passcurve.harness.wire import MAX_FRAME

RECURSION_LIMIT = 1000
"""Largest depth of a sample's calls, counted from its own first frame: CPython's default."""


def read_job(connection: int, file: list[int]) -> Any:
    """Return the job from the connection, where only the supervisor has written so far, or from a file of its own.

    The file is closed, so that nothing can read the job again.
    """
    job = marshal.loads(receive_frame(file[0] if file else connection, MAX_FRAME))
    for descriptor in file:
        os.close(descriptor)
    return job


def limit_recursion() -> None:
    """Let the sample nest its calls as deep as in a new interpreter, whatever the depth of the stack is now."""
    depth = 0
    frame: Any = sys._getframe()
    while frame is not None:
        depth += 1
        frame = frame.f_back
    sys.setrecursionlimit(RECURSION_LIMIT + depth)
