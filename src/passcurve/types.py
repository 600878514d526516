"""Every record that travels the road: frozen, keyword-only, units in the names."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

# Of what there is one of for each sample the garbage collector need not know: it holds no cycles.

Status = Literal["passed", "failed", "timeout", "memory", "output", "compile", "crash", "no_code", "void"]
"""What a verdict says; SCORED lists those that count in n."""

Mode = Literal["referee", "shared", "none"]
"""Where the tests ran: apart from the sample, in its process, or nowhere (no_code)."""

Clock = Literal["own", "wall"]
Isolation = Literal["full", "restricted", "none"]
Reuse = Literal["rewind", "fork"]
Target = Literal["new_problems", "these_problems"]

STATUSES: tuple[Status, ...] = (
    "passed",
    "failed",
    "timeout",
    "memory",
    "output",
    "compile",
    "crash",
    "no_code",
    "void",
)
SCORED: tuple[Status, ...] = STATUSES[:-1]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One task of a benchmark: what the model is shown and how its answer is checked."""

    id: str
    prompt: str
    entry_point: str
    test: str
    """Source that defines ``check(candidate)``."""
    reference: str | None = None
    """The canonical solution as a completion of the prompt; None where the benchmark has none."""
    suffix: str = ""
    """What follows the completion, where a gap is to be filled in."""


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """A named, ordered set of problems with the digest of what was read."""

    name: str
    source: str
    """Where it was read from: a path, or ``built-in``."""
    digest: str
    """sha256 of the problems' canonical JSON: the same for .jsonl and .jsonl.gz."""
    problems: tuple[Problem, ...]
    packages: tuple[str, ...] = ()
    """Distributions that its samples may import beyond the standard library."""


class SampleKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Joins the stages: the problem, and which of its samples this is (from 0, by occurrence)."""

    problem_id: str
    sample_index: int


class Completion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a model wrote for a problem, as it stood in the row; never altered."""

    key: SampleKey
    row: int
    """Position among the rows that count, from 0."""
    line: int
    """Line of the file, from 1."""
    digest: str
    """Of the row's bytes: resuming on a changed file is refused."""
    form: Literal["completion", "solution"]
    """``completion`` continues the prompt; ``solution`` is a whole program."""
    text: str | None
    """None when there is no text to extract code from; ``missing`` then says why."""
    missing: str = ""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is shown for a problem: a text to continue, or a conversation to answer."""

    problem_id: str
    text: str = ""
    """To be continued, or with a gap to be filled in; empty when there are messages."""
    messages: tuple[Message, ...] = ()
    stub: str
    """The problem's own prompt, which a completion continues."""
    suffix: str = ""
    """The problem's own suffix, which follows the completion."""
    reference: str | None = None
    """For back ends that are no model; no other looks at it."""


class Decoding(msgspec.Struct, frozen=True, kw_only=True):
    """How samples are drawn; None leaves it to the model."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    """Texts before which a completion ends."""
    seed: int = 0
    """Each sample has a seed of its own that follows from this one, the problem and its index."""


class SampleRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a back end is asked at once: some samples of one problem."""

    prompt: Prompt
    decoding: Decoding
    indices: tuple[int, ...]
    """Which samples of the problem, from 0."""


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One sample as a back end gave it; None is what it did not say."""

    key: SampleKey
    text: str
    """Never trimmed."""
    form: Literal["completion", "solution"] = "completion"
    reasoning: str = ""
    """What the model thought, where the server tells it apart."""
    finish_reason: str = ""
    """``length`` when the model was cut off."""
    seed: int | None = None
    prompt_tokens: int | None = None
    """Of the whole request, as the next three; only its first sample has them."""
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    latency_s: float = 0.0
    """From sending the request that succeeded to its end."""
    attempts: int = 1
    """How often it was sent."""
    choice: int = 0
    """Which of the samples of its request it is; what is told of a request counts with its first."""
    request: str = ""
    """Digest of what was sent."""
    server_model: str = ""
    fingerprint: str = ""


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that could change what a model writes; one run directory holds completions of one of these."""

    version: str
    benchmark: str
    benchmark_digest: str
    model: str
    """As it was asked for: ``openai:NAME``."""
    identity: dict[str, str]
    """What the back end says of itself: address, endpoint, digest of a file."""
    prompt: str
    """Name of the style of prompts."""
    prompt_digest: str
    """Of all prompts as they are sent."""
    decoding: Decoding


class GenerationProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far the generation is."""

    planned: int
    stored: int
    """Samples that are there, of this session and of earlier ones."""
    fresh: int
    """Samples of this session."""
    truncated: int
    """Samples whose model was cut off."""
    retried: int
    """Attempts that failed and were made again."""
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    cached_tokens: int
    uncounted: int
    """Requests of which the server did not tell the tokens."""
    latency_s: float
    """Sum over all samples."""
    seconds: float
    """Of this session, until the last reply."""
    fresh_tokens: int
    """Tokens that this session's samples have."""
    temperature: float | None
    several: int
    """Problems that have several samples."""
    alike: int
    """Those of them whose samples are all one text: there n is 1 in effect."""
    failures: tuple[str, ...]
    """Why samples are missing, each reason once."""
    ended_by: str
    """What ended the generation before all was there; empty when nothing did."""
    exit_code: int
    """Of what ended it; 0 when nothing did."""


class Prices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model costs, as its user says, for a million tokens."""

    input: float
    output: float
    """Reasoning is output."""
    cached: float | None = None
    """Of input that the server had in its cache; None: as other input."""
    currency: str = "USD"


class Program(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The source that is run for a completion, and how it came about."""

    key: SampleKey
    text: str | None
    """None when nothing to run was found; ``steps`` ends with the reason."""
    steps: tuple[str, ...]
    """Each step of the extraction, in order."""


DEFAULT_TIMEOUT_S = 3.0
"""Default time limit of a sample, in seconds."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one sample may use."""

    timeout_s: float = DEFAULT_TIMEOUT_S
    clock: Clock = "own"
    memory_bytes: int = 4 << 30
    scratch_bytes: int = 64 << 20
    scratch_files: int = 2048
    output_bytes: int = 64 << 20
    """Of everything that a sample returns over one check, in encoded form."""


class Call(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One call that the tests made, as text for a reader (bounded)."""

    index: int
    arguments: str
    outcome: str
    """``returned ...`` or ``raised ...``."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What is said of one sample, and what it rests on."""

    key: SampleKey
    status: Status
    mode: Mode
    message: str = ""
    """One bounded line: the exception, the limit, the reason."""
    exception: str = ""
    """Type of the exception that ended the check, when one did."""
    call: Call | None = None
    """The call that the tests made last before they failed."""
    test_line: str = ""
    """The line of the tests at which the check ended."""
    calls: int = 0
    own_s: float = 0.0
    """The sample's own time, by the clock of the limits."""
    wall_s: float = 0.0
    cpu_s: float = 0.0
    memory_bytes: int = 0
    """Peak resident size of the sample's process."""
    flattened: tuple[str, ...] = ()
    """Types that were reduced to plain data on their way to the tests."""
    suspicious: tuple[str, ...] = ()
    """What the sample was seen to try that no honest program needs."""
    extraction: tuple[str, ...] = ()
    """The steps that made the program; empty where it is the text as it stands."""

    @property
    def passed(self) -> bool:
        """Whether every test ran and held."""
        return self.status == "passed"


class Slowest(msgspec.Struct, frozen=True, kw_only=True):
    """The passing sample that came nearest to the limit of time."""

    key: SampleKey
    own_s: float


class Suspect(msgspec.Struct, frozen=True, kw_only=True):
    """A sample that tried what no honest program needs."""

    key: SampleKey
    status: Status
    seen: tuple[str, ...]


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """The sufficient statistics of one problem: n samples judged, c of them passed."""

    problem_id: str
    n: int
    c: int


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """An interval for one target, with what it covers and how it was made."""

    low: float
    high: float
    level: float
    method: str


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A metric that follows from verdicts, as it was asked for."""

    name: str = "pass@k"
    """With k as a letter, as in ``g-pass@k``; ``cover`` has none."""
    k: int | None = None
    """The one k that it is asked for, as in ``pass^5``; None: every k of the list."""
    share: str = ""
    """tau of ``g-pass@k`` and ``cover``, a decimal as it was written; empty for the others."""

    @property
    def label(self) -> str:
        """What it is called while k is open: ``g-pass@k:0.5``."""
        return f"{self.name}:{self.share}" if self.share else self.name


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A metric of a data set; ``value`` is None when it cannot be estimated, and ``reason`` says why."""

    k: int
    """0 for a metric that has none (``cover``)."""
    metric: str = "pass@k"
    """With k as a letter, as in ``g-pass@k:0.5``; ``name`` has the number in its place."""
    value: float | None
    new_problems: Interval | None = None
    """Target A: other problems like these."""
    these_problems: Interval | None = None
    """Target B: these problems, fresh samples."""
    between: float | None = None
    """Variance of the true scores over problems; an estimate that may be negative, None where none can be had."""
    within: float | None = None
    """Mean variance of a problem's score over fresh samples."""
    within_from: Literal["unbiased", "beta-binomial", "none"] = "none"
    """Where ``within`` comes from; ``beta-binomial`` is a model's word."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before believing the number."""
    reason: str = ""

    @property
    def name(self) -> str:
        """The metric at its k: ``pass@10``, ``g-pass@10:0.5``."""
        return re.sub(r"(?<=[@^])k\b", str(self.k), self.metric)

    def __float__(self) -> float:
        """Return the value; raises ValueError with the reason where there is none."""
        if self.value is None:
            raise ValueError(f"{self.name} has no value: {self.reason}")
        return self.value


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """pass@k over several k, with a band that holds the whole curve at once; for new problems."""

    k: tuple[int, ...]
    value: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    level: float
    method: str
    draws: int
    """What the width of the band rests on, and their seed."""
    seed: int


class Jail(msgspec.Struct, frozen=True, kw_only=True):
    """What stood between the samples and the host, probed by doing."""

    isolation: Isolation
    layers: tuple[str, ...]
    """In force, in the order in which they are applied."""
    missing: tuple[str, ...] = ()
    """Not in force, each with its reason."""
    landlock_abi: int = 0
    watched: bool = False
    """Whether telling system calls that are refused are told with the verdict."""
    own_uid: bool = False
    """Whether samples ran under a uid of their own on the host; else under the user's."""
    python: str = ""
    """Version of the interpreter that ran the samples."""
    packages: tuple[str, ...] = ()
    """Distributions visible to the samples, as ``name==version``."""
    reuse: Reuse = "fork"
    """Whether processes were put back from outside after each sample, or each sample got new ones."""
    no_rewind: str = ""
    """Why processes were not put back, where that was not asked for."""
    fixed_addresses: bool = False
    """Whether all samples find the same objects at the same addresses, in every run."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that could change the number, written before the first verdict."""

    version: str
    benchmark: str
    benchmark_digest: str
    benchmark_source: str = ""
    """Where the benchmark was read from: a path, or ``built-in``."""
    samples: str
    limits: Limits
    verdict: Literal["auto", "referee", "shared"]
    dedup: bool
    jail: Jail
    subset: bool = False
    """Whether only the problems that have samples are scored."""
    problems: str = ""
    """The pattern that chose some of the problems; empty for all."""
    seed: int = 0
    """Seeds ``random`` in the referee and in the jail, together with the problem's id."""
    extract: str = "raw"
    """The policy by which texts became programs."""
    generation: Generation | None = None
    """How the samples were drawn, where that was done by us."""
