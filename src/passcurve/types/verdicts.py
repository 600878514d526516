"""Limits, verdicts, and the settings that they depend on."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from passcurve.types.generation import Generation
from passcurve.types.samples import SampleKey

Status = Literal["passed", "failed", "timeout", "memory", "output", "compile", "crash", "no_code", "void"]
"""The statuses of a verdict; all but ``void`` count in n."""

Mode = Literal["referee", "shared", "none"]
"""The process of the tests: one of their own, that of the sample, or none (no_code)."""

Clock = Literal["own", "wall"]
Isolation = Literal["full", "restricted", "none"]
Reuse = Literal["rewind", "fork"]
STATUSES: tuple[Status, ...] = get_args(Status)
SCORED: tuple[Status, ...] = STATUSES[:-1]


DEFAULT_TIMEOUT_S = 3.0
"""Default time limit of a sample, in seconds."""
LEAST_TIMEOUT_S, MOST_TIMEOUT_S = 0.01, 86_400.0
"""The shortest limit that the clock can keep, and a day."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one sample."""

    timeout_s: float = DEFAULT_TIMEOUT_S
    """Time for all tests; at its default a limit that the benchmark sets comes first."""
    test_timeout_s: float | None = None
    """Time for each test, where tests are counted; None leaves it to the benchmark."""
    clock: Clock = "own"
    memory_bytes: int = 4 << 30
    scratch_bytes: int = 64 << 20
    scratch_files: int = 2048
    output_bytes: int = 64 << 20
    """Encoded size of everything that a sample returns in one check."""


class Call(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One call of the tests, as bounded text for a reader."""

    index: int
    arguments: str
    outcome: str
    """``returned ...`` or ``raised ...``."""
    expected: str = ""
    """The result that was expected, where the tests are data."""


class SuiteOutcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The outcome of one suite of tests for one sample."""

    name: str
    tests: int
    ran: int = 0
    """Tests that ended: those after a failure do not run, unless all are wanted."""
    right: int = 0
    """Tests that passed."""
    first_failed: int = -1
    """Number of the first test that failed, from 0; -1 where none did."""
    outcomes: str = ""
    """The outcome of each test as a bit, the first in the highest of the first byte, in base64; empty unless all tests
    are wanted."""
    alone: bool = False
    """Whether it counts whatever the others do."""
    scored: bool = True
    """Whether it has a score of its own."""

    @property
    def passed(self) -> bool:
        """True when every test ran and passed."""
        return self.right == self.tests


class Verdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The status of one sample, and the facts that it rests on."""

    key: SampleKey
    status: Status
    mode: Mode
    message: str = ""
    """One bounded line: the exception, the limit or the reason."""
    exception: str = ""
    """Type of the exception that ended the check, if any."""
    call: Call | None = None
    """The last call of the tests before they failed."""
    test_line: str = ""
    """The line of the tests where the check ended."""
    calls: int = 0
    suites: tuple[SuiteOutcome, ...] = ()
    """The outcome of each suite of the tests, where these are counted."""
    own_s: float = 0.0
    """The sample's own time, by the clock of the limits."""
    wall_s: float = 0.0
    cpu_s: float = 0.0
    memory_bytes: int = 0
    """Peak resident size of the sample's process."""
    flattened: tuple[str, ...] = ()
    """Types whose values reached the tests as plain data."""
    suspicious: tuple[str, ...] = ()
    """Suspicious acts of the sample, which no honest program needs."""
    extraction: tuple[str, ...] = ()
    """The steps of the extraction; empty where the program is the text as it stands."""

    @property
    def passed(self) -> bool:
        """True when every test ran and passed."""
        return self.status == "passed"

    @property
    def raised_early(self) -> bool:
        """True when the program itself raised an exception, and no test called it or failed."""
        has_run = any(suite.ran for suite in self.suites) if self.mode == "shared" else self.calls > 0
        return bool(self.exception) and not has_run and not self.test_line

    def suite_passes(self) -> dict[str, bool]:
        """Return for each suite whether it passed, and all before it unless it counts alone."""
        passes: dict[str, bool] = {}
        holds = True
        for suite in (suite for suite in self.suites if suite.scored):
            holds = holds and (suite.passed or suite.alone)
            passes[suite.name] = suite.passed if suite.alone else holds
        return passes


class Jail(msgspec.Struct, frozen=True, kw_only=True):
    """The walls between the samples and the host, each of them tried before the run."""

    isolation: Isolation
    layers: tuple[str, ...]
    """Layers in force, in the order in which they are applied."""
    missing: tuple[str, ...] = ()
    """Layers not in force, each with its reason."""
    landlock_abi: int = 0
    watched: bool = False
    """True when verdicts name suspicious system calls that were refused."""
    own_uid: bool = False
    """True when samples ran under a uid of their own on the host, not under that of the user."""
    python: str = ""
    """Version of the interpreter that ran the samples."""
    packages: tuple[str, ...] = ()
    """Distributions visible to the samples, as ``name==version``."""
    toolchains: tuple[str, ...] = ()
    """What the compilers and interpreters of other languages say of their versions."""
    reuse: Reuse = "fork"
    """``rewind`` when processes were rewound after each sample, ``fork`` when each sample got new ones."""
    no_rewind: str = ""
    """Why processes were not rewound, unless the user chose so."""
    fixed_addresses: bool = False
    """True when objects have the same addresses for every sample, in every run."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """Every setting that could change a score, stored before the first verdict."""

    version: str
    benchmark: str
    benchmark_digest: str
    benchmark_source: str = ""
    samples: str
    limits: Limits
    """The time limit is that of every problem where the benchmark sets one for all."""
    own_limits: bool = False
    """Whether the benchmark sets different time limits for its problems, which count instead."""
    verdict: Literal["auto", "referee", "shared"]
    dedup: bool
    jail: Jail
    subset: bool = False  # only the problems with samples are scored
    problems: str = ""
    """Pattern of the chosen problems; empty for all."""
    seed: int = 0
    """Seed of ``random`` in the referee and in the jail, together with the id of the problem."""
    extract: str = "raw"
    reading: tuple[str, ...] = ()  # ``--field`` and ``--id-map`` as ``name:value``
    sources: tuple[str, ...] = ()  # the files that were turned into ``samples``
    profile: str = "native"
    """The harness whose rules were followed."""
    task: str = ""
    """The task that was chosen, where the benchmark's file has several."""
    language: str = ""
    """The language that was chosen, where the benchmark's file has several or leaves it open."""
    all_tests: bool = False
    """Whether the tests went on after the first failure."""
    generation: Generation | None = None
    """The settings of generation, where passcurve generated the samples."""

    @property
    def is_greedy(self) -> bool:
        """Tell whether the samples are known to be generated at temperature 0."""
        return self.generation is not None and self.generation.decoding.temperature == 0.0
