"""Records that travel between the rooms: frozen, keyword-only, with units in their names."""

from __future__ import annotations

import re
from typing import Literal, get_args

import msgspec

# gc=False: there is one such record for each sample, and none is part of a cycle.

Status = Literal["passed", "failed", "timeout", "memory", "output", "compile", "crash", "no_code", "void"]
"""The statuses of a verdict; all but ``void`` count in n."""

Mode = Literal["referee", "shared", "none"]
"""The process of the tests: one of their own, that of the sample, or none (no_code)."""

Clock = Literal["own", "wall"]
Isolation = Literal["full", "restricted", "none"]
Reuse = Literal["rewind", "fork"]
STATUSES: tuple[Status, ...] = get_args(Status)
SCORED: tuple[Status, ...] = STATUSES[:-1]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One task of a benchmark: the prompt for the model, and the tests for its answer."""

    id: str
    prompt: str
    entry_point: str
    test: str
    """Source that defines ``check(candidate)``."""
    reference: str | None = None
    """The canonical solution as a completion of the prompt; None where the benchmark has none."""
    suffix: str = ""
    """Text after the completion, where a model fills in a gap."""


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """A named, ordered set of problems, with its digest."""

    name: str
    source: str
    """Its path, or ``built-in``."""
    digest: str
    """sha256 of the problems' canonical JSON: the same for .jsonl and .jsonl.gz."""
    problems: tuple[Problem, ...]
    packages: tuple[str, ...] = ()
    """Distributions that its samples may import, besides the standard library."""
    notes: tuple[str, ...] = ()
    """Tests that its file holds and that no score uses."""


class SampleKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The identity of a sample: its problem, and its number among the samples of the problem, from 0."""

    problem_id: str
    sample_index: int


class Completion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The text of a model for a problem, exactly as it stands in its row."""

    key: SampleKey
    row: int
    """Position among the rows that count, from 0."""
    line: int
    """Line of the file, from 1."""
    digest: str
    """Digest of the row's bytes, by which a resumed run detects a changed file."""
    form: Literal["completion", "solution"]
    """``completion`` continues the prompt; ``solution`` is a whole program."""
    text: str | None
    """None when there is no text to extract code from; ``missing`` is then the reason."""
    missing: str = ""
    hints: tuple[str, ...] = ()  # what store/samples.py saw in the other fields


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt as a model gets it: a text to continue, or a conversation to answer."""

    problem_id: str
    text: str = ""
    """Text to continue, or to fill a gap in; empty when there are messages."""
    messages: tuple[Message, ...] = ()
    stub: str
    """The problem's own prompt, which a completion continues."""
    suffix: str = ""
    """The problem's own suffix, which follows the completion."""
    reference: str | None = None
    """The reference solution, only for back ends that are not models."""


class Decoding(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of sampling; None leaves a setting to the model."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    """Stop words; a completion ends before the first of them."""
    seed: int = 0
    """The seed of a sample follows from this one, its problem and its index."""


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One sample from a back end; None stands for what the back end does not report."""

    key: SampleKey
    text: str
    """Never trimmed."""
    form: Literal["completion", "solution"] = "completion"
    reasoning: str = ""
    """The reasoning of the model, where the server returns it separately."""
    finish_reason: str = ""
    """``length`` when the model was cut off."""
    seed: int | None = None
    prompt_tokens: int | None = None
    """Tokens of the whole request, as the next three; only its first sample has them."""
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    latency_s: float = 0.0
    """Seconds from sending the successful request to the end of its reply."""
    attempts: int = 1
    choice: int = 0
    """Its number among the samples of its request; facts about a request count with choice 0."""
    request: str = ""
    """Digest of the request."""
    server_model: str = ""
    fingerprint: str = ""


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """Every setting that could change the texts of a model; a run directory holds completions of one generation."""

    version: str
    benchmark: str
    benchmark_digest: str
    model: str
    """As the user named it: ``openai:NAME``."""
    identity: dict[str, str]
    """Facts of the back end that could change a sample: endpoint, digest of a file; not the address of a server."""
    prompt: str
    prompt_digest: str
    """Digest of all prompts as they are sent."""
    decoding: Decoding


class GenerationProgress(
    msgspec.Struct, frozen=True, kw_only=True, rename={"repeated_problems": "several", "uniform_problems": "alike"}
):
    """The progress of a generation; ``rename`` has the names of its fields in JSON."""

    planned: int
    stored: int
    """Samples of this session and of earlier ones."""
    fresh: int
    """Samples of this session."""
    truncated: int
    """Samples that reached the limit of tokens."""
    retried: int
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    cached_tokens: int
    uncounted: int
    """Requests whose tokens the server did not report."""
    latency_s: float
    seconds: float
    """Duration of this session, until the latest reply."""
    fresh_tokens: int
    """Completion tokens of this session."""
    temperature: float | None
    repeated_problems: int
    """Problems with two samples or more."""
    uniform_problems: int
    """Those of them whose samples are all one text: there n is 1 in effect."""
    failures: tuple[str, ...]
    """Reasons why samples are missing, each once."""
    ended_by: str
    """The error that ended the generation early; empty when none did."""
    exit_code: int
    """Exit code of that error; 0 when there is none."""


class Prices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The prices of a model for a million tokens, as its user states them."""

    input: float
    output: float
    """Price of output, which includes reasoning."""
    cached: float | None = None
    """Price of input from the cache of the server; None: that of other input."""
    currency: str = "USD"


class Program(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The program that is run for a completion, and the steps of its extraction."""

    key: SampleKey
    text: str | None
    """None when the completion has no code; ``steps`` ends with the reason."""
    steps: tuple[str, ...]


DEFAULT_TIMEOUT_S = 3.0
"""Default time limit of a sample, in seconds."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one sample."""

    timeout_s: float = DEFAULT_TIMEOUT_S
    clock: Clock = "own"
    memory_bytes: int = 4 << 30
    scratch_bytes: int = 64 << 20
    scratch_files: int = 2048
    output_bytes: int = 64 << 20
    """Encoded size of everything that a sample returns in one check."""


class Call(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One call of the tests, as bounded text for a reader."""

    index: int
    arguments: str
    outcome: str
    """``returned ...`` or ``raised ...``."""


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


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of one problem: n samples with a verdict, c of which passed."""

    problem_id: str
    n: int
    c: int


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A confidence interval, with its level and its method."""

    low: float
    high: float
    level: float
    method: str


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A metric of stored verdicts, as the user requests it."""

    name: str = "pass@k"
    """Name with the letter k, as in ``g-pass@k``; ``cover`` has none."""
    k: int | None = None
    """The requested k, as 5 in ``pass^5``; None: every k of the list."""
    share: str = ""
    """tau of ``g-pass@k`` and ``cover``, as the user wrote it; empty for other metrics."""

    @property
    def label(self) -> str:
        """The name for any k: ``g-pass@k:0.5``."""
        return f"{self.name}:{self.share}" if self.share else self.name


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """An estimate of a metric; ``value`` is None when there is none, and ``reason`` says why."""

    k: int
    """0 for a metric without k (``cover``)."""
    metric: str = "pass@k"
    """Label with the letter k, as in ``g-pass@k:0.5``; ``name`` has the number in its place."""
    value: float | None
    new_problems: Interval | None = None
    """Target A: other problems like these."""
    these_problems: Interval | None = None
    """Target B: these problems, fresh samples."""
    between: float | None = None
    """Estimated variance of the true scores over problems, which may be negative; None where there is no estimate."""
    within: float | None = None
    """Mean variance of a problem's score over fresh samples."""
    within_from: Literal["unbiased", "beta-binomial", "none"] = "none"
    """The method for ``within``; ``beta-binomial`` assumes that model."""
    warnings: tuple[str, ...] = ()
    """Reasons to doubt the value."""
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
    """pass@k over several k, with a simultaneous band, for new problems."""

    k: tuple[int, ...]
    value: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    level: float
    method: str
    draws: int
    """Number of random draws for the width of the band, from this seed."""
    seed: int


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
    generation: Generation | None = None
    """The settings of generation, where passcurve generated the samples."""
