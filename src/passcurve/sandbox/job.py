"""What goes into the sandbox and what comes out: orders and facts, no judgement."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from passcurve.types import Limits

Ended = Literal["report", "exit", "slice", "timeout", "tests", "wall", "fault"]
"""What ended a job: a report came; the process ended first; a limit of the sample's time or of the tests' own; the
wall, because the machine did not let it run; or our own failure."""


class Referee(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks the sample: a role and its setup, the same for every job with the same ``key``."""

    key: str
    role: str
    setup: dict[str, Any]
    """All but what a job says of itself."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One program to run.  ``tag`` is the caller's and comes back with the outcome."""

    tag: int
    role: str
    setup: dict[str, Any]
    referee: Referee | None
    """None: the role itself reports."""
    limits: Limits
    slice_s: float
    """Stop earlier than the limit says, to run it again later from the start; the limit itself when final."""
    replayed: bytes = b""
    """The calls that the program makes unasked, as the tests recognise them; its setup has them as it is asked."""
    whole: bool = False
    """The tests ask nothing else."""
    record: bool = False
    """Report the calls that can be made so."""
    reuse: bool = True
    """It may run in processes that are rewound; what they cannot judge they hand on to new ones."""
    fresh: bool = False
    """Run it in zygotes that have served nothing before."""
    tries: int = 0


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of one job."""

    tag: int
    ended: Ended
    report: dict[str, Any] | None = None
    exit_code: int | None = None
    signal: int | None = None
    """Of the program's process, unless we ended it ourselves."""
    fault: str = ""
    """Our failure, in words."""
    garbage: bool = False
    """Whether something came on the line that is no report."""
    doubt: str = ""
    """What looks like the program's doing but deserves a second run: garbage on the line, a SIGKILL of no known
    hand."""
    own_s: float = 0.0
    wall_s: float = 0.0
    cpu_s: float = 0.0
    memory_bytes: int = 0
    overfull: bool = False
    """Whether it was ended because it filled its scratch, where no mount bounds that."""
    refused: tuple[str, ...] = ()
    """Telling system calls that the program tried, by name."""
