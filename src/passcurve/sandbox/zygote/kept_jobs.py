"""Jobs of a process that is kept, and their results, as supervisor and zygote exchange them: packed, as they are many.

A job and its answer are bytes, which pass through the zygote unread; only the length of each frame of an answer counts.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

ANSWERED = 0
"""The answer has come to its end: an empty frame."""
ENDED = 1
"""The supervisor has ended the job."""
SLOW = 2
"""It took too long."""
TOO_LONG = 3
"""Its answer is longer than may be."""
LOST = 4
"""Its process ended, or was not in the expected state."""

WITH_ANSWER = (ANSWERED, SLOW)
"""Results with these ends have an answer; that of a slow job has no end."""

_FORM = struct.Struct("<cqb??qqq")
_RESULT, _DATA = b"k", b"p"
"""No value on the wire begins with either."""
_TAG = struct.Struct("<cq")


class JobOrder(NamedTuple):
    """A job, as the zygote gets it."""

    tag: int
    data: bytes
    """What the process is sent."""
    is_interactive: bool
    """Whether the supervisor gets each piece of the answer at once, and ends the job."""
    is_typical: bool
    """Whether the pages that it writes may predict those that later jobs write."""
    limit_ns: int
    """Time that it may take."""
    counts_waiting: bool
    """Whether time in which it waits, but not for a core, counts."""
    answer_bytes: int
    """Longest answer."""


class JobResult(NamedTuple):
    """The end of a job.  Times are in ns."""

    tag: int
    end: int
    """ANSWERED, or another of the constants above."""
    is_clean: bool
    """True if the process was rewound or replaced as expected."""
    has_surplus: bool
    """True if it has sent anything after its answer."""
    wall_ns: int
    cpu_ns: int
    memory_bytes: int
    answer: bytes


class JobData(NamedTuple):
    """A piece of the answer of an interactive job."""

    tag: int
    data: bytes


def pack_result(result: JobResult) -> bytes:
    """Return a result as bytes."""
    tag, end, is_clean, has_surplus, wall_ns, cpu_ns, memory_bytes, answer = result
    return _FORM.pack(_RESULT, tag, end, is_clean, has_surplus, wall_ns, cpu_ns, memory_bytes) + answer


def pack_data(tag: int, data: bytes) -> bytes:
    """Return a piece of the answer of an interactive job as bytes."""
    return _TAG.pack(_DATA, tag) + data


def unpack(frame: bytes) -> JobResult | JobData | None:
    """Return what a frame holds, or None for one that neither function made.

    Raises struct.error for one that is cut short.
    """
    if frame[:1] == _RESULT:
        return JobResult._make((*_FORM.unpack_from(frame)[1:], frame[_FORM.size :]))
    if frame[:1] == _DATA:
        return JobData(_TAG.unpack_from(frame)[1], frame[_TAG.size :])
    return None
