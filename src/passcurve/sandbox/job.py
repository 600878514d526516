"""Input and output of the sandbox: jobs and facts, no judgement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from passcurve.types import Limits, Suite

Ended = Literal["report", "exit", "slice", "timeout", "test timeout", "tests", "wall", "fault"]
"""What ended a job: its report; the end of its process; its time slice; its time limit; that of one test; the limit of
the tests' own time; the limit of the wall time, when the machine did not let it run; a fault of ours."""


class KnownReport(msgspec.Struct, frozen=True, kw_only=True):
    """The report of tests on all answers that begin with the bytes which the tests have read."""

    key: str
    """Key of the referee."""
    bytes_read: int
    digest: bytes
    """Digest of the bytes that the tests have read."""
    report: dict[str, Any]


class Referee(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks the sample: a role and its setup, the same for every job with the same ``key``."""

    key: str
    role: str
    setup: dict[str, Any]
    """Everything except what belongs to a single job."""
    size: int = 0
    """Size of the tests, of their context and of their data, in bytes."""
    limit_s: float | None = None
    """Limit of the tests' own time; None for one that follows from that of the sample."""
    whole: Callable[[], bytes] | None = None
    """Returns the whole of the expected results where the setup has them stripped; no bytes where they are lost."""
    known_report: KnownReport | None = None
    """A report that is known from the trial of the reference solution."""


class CommandJail(msgspec.Struct, frozen=True, kw_only=True):
    """A jail for commands: what its root holds, and its limits."""

    key: str
    """The same for equal jails."""
    programs: tuple[str, ...]
    """Programs, by path; what they load is found out."""
    folders: tuple[str, ...] = ()
    """Other files and folders, by path; a name may have wildcards."""
    hidden: tuple[str, ...] = ()
    """Folders to hide."""
    shared: tuple[str, str] | None = None
    """A folder of ours and its place in the jail of compilers, for what is prepared while the jail stands."""
    is_of_samples: bool = False
    """Whether its root is that of samples in Python, with their interpreter and packages, and nothing else."""
    memory_bytes: int = 0
    """Memory that all its processes may have, where that is more than the limit of programs."""
    scratch_bytes: int = 512 << 20
    scratch_files: int = 1 << 16

    @property
    def is_for_compilers(self) -> bool:
        """True if it runs compilers and no program that they have made."""
        return self.shared is not None


class Preparation(msgspec.Struct, frozen=True, kw_only=True):
    """A command that is run once, so that many later ones are faster."""

    key: str
    """The same for equal preparations."""
    setup: dict[str, Any]
    """The order for ``harness/command.py``; it keeps files."""
    ready_setup: dict[str, Any]
    """The order of the step itself once these files are there."""
    min_uses: int
    """Number of steps from which on it pays."""
    is_needed: bool
    """Whether the step waits for it, and its failure counts."""
    fault: str = ""
    """Regular expression of an error message with a line of the source; a failure with such a message is final."""
    timeout_s: float


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One command of a job."""

    name: Literal["compile", "run"]
    jail: CommandJail
    setup: dict[str, Any]
    """The order for ``harness/command.py``."""
    timeout_s: float
    preparation: Preparation | None = None
    accepts: Callable[[dict[str, Any]], bool] | None = None
    """Tells from the report of a command that has ended by itself whether the next step is to follow."""
    goes_on: bool = False
    """Whether the next step follows whatever becomes of this one."""
    makes: str = ""
    """Identifies what it makes, which is kept for equal steps; empty where nothing is."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One program to run.  ``tag`` is the caller's and comes back with the outcome."""

    tag: int
    role: str
    setup: dict[str, Any]
    referee: Referee | None
    """None: the role itself reports."""
    limits: Limits
    slice_s: float
    """Time after which the job is stopped, to run again later from the start; the time limit for the last run."""
    replayed: bytes = b""
    """The first calls of the tests, which the program gets with its setup; it makes them before the tests ask."""
    live: bool = False
    """It makes each of them when the tests ask for it."""
    record: bool = False
    """Report the results of the program, where the tests are data; without a sample, the calls that can be replayed."""
    without_sample: bool = False
    """Run the process of the tests only."""
    wrong: bytes = b""
    """A wrong program that the tests run against then, in a kept process, to report whether it passes."""
    allow_kept: bool = True
    """Whether kept processes may run it; a job that they cannot judge runs again in new ones."""
    fresh_zygotes: bool = False
    """Whether it needs zygotes that have served nothing before."""
    tries: int = 0
    test_s: float | None = None
    """Time limit of each test, where the tests ask one by one."""
    slow_tests: dict[int, float] = {}
    """Time limits of tests that have longer ones, by number."""
    suites: tuple[Suite, ...] = ()
    """The suites that its report counts, in their order."""
    is_silent: bool = False
    """Whether it reports nothing: it writes to files that it gets, and its end is all that counts."""
    attempts: tuple[tuple[Step, ...], ...] = ()
    """Commands to run instead of a role: each attempt is a row of steps, and the next is made where one fails."""

    @property
    def replays(self) -> bool:
        """True if the program makes calls ahead of the tests."""
        return bool(self.replayed) and not self.live


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of one job."""

    tag: int
    ended: Ended
    report: dict[str, Any] | None = None
    known_report: KnownReport | None = None
    """The report as it holds for other programs too; None where it may not."""
    exit_code: int | None = None
    signal: int | None = None
    """Signal that ended the program's process, unless we sent it."""
    fault: str = ""
    """Our failure, in words."""
    garbage: bool = False
    """Whether something came on the connection that is no report."""
    doubt: str = ""
    """Why the job deserves a second run though it looks like the program's doing: garbage on the connection, or a
    SIGKILL from an unknown sender."""
    own_s: float = 0.0
    wall_s: float = 0.0
    cpu_s: float = 0.0
    memory_bytes: int = 0
    overfull: bool = False
    """Whether it was ended because its processes together held too much memory, or because it filled its scratch,
    where no mount bounds that."""
    holds_too_much: bool = False
    """Whether it was ended for the memory of all its processes."""
    refused: tuple[str, ...] = ()
    """Names of the system calls that the program tried, among those that no honest program needs."""
    steps: tuple[Outcome, ...] = ()
    """The outcomes of its commands, of the last attempt."""
    step: str = ""
    """Name of the step that it is the outcome of."""
