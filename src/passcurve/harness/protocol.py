"""Records that cross between the supervisor, a sample and its referee.

The supervisor sends each process one job, in ``marshal``.  The referee and the sample exchange orders and replies, in
the encoding of ``wire``.  The referee sends reports, in JSON.  A receiver must check every field of a record that comes
from a sample: these types do not say what such a record really holds.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Union

MARSHAL_VERSION = 2
"""Version of the format of ``marshal`` for these records: every Python 3 reads it, whichever runs the samples."""

BEGUN = b"begun"
"""Frame of a process that becomes a program: nothing is left in it then that could report."""

NEXT_TEST = "next test"
"""Status of the report that says that a test begins."""

RECORDED = "recorded"
"""Status of the report that has the calls that can be replayed."""

STRIPPED = "stripped"
"""Status of the report that asks for the whole of the expected results, to compare one with a reply."""


class SampleForm(TypedDict, total=False):
    """The part of a sample's job that most jobs do without."""

    form: str
    """How its program runs, where it is a script that reads a text; see ``script``."""
    typing: bool
    """The names of ``typing`` are there without an import."""
    kept: bool
    """The process is to be rewound: it can open no file."""


class FirstCalls(TypedDict):
    """The part of the jobs of a sample and of its tests that says which calls come first."""

    replayed: bytes
    """Packed arguments of the calls, which the sample gets with its job; empty for none."""
    live: bool
    """Each is ordered; otherwise the sample makes them without an order, and no others."""


class SampleJob(SampleForm, FirstCalls):
    """Job of the process that runs a sample."""

    program: bytes
    entry_point: str
    seed: int
    output_bytes: int
    """Largest text or bytes that one reply may hold."""
    digests: bool
    """Send a digest in place of a result of very many items."""


class SharedJob(SampleJob):
    """Job of the process that runs a sample and its tests together."""

    test: bytes
    token: str


class UnitTestJob(SharedJob):
    """Job of the process that runs a sample and a module of ``unittest`` together."""

    classes: list[str]
    """Names of the classes of tests; empty for all that the tests define."""
    suites: list[tuple[str, bool]]
    """Names of the classes that count by themselves, and whether each counts whatever the others do; empty for none."""
    all_tests: bool
    """Go on after a test has failed."""
    any_skip: bool
    """Count a test as right that the program itself has skipped."""
    class_s: float
    """Time limit of each class, in seconds; zero for none."""


class CaseData(TypedDict):
    """Tests that are data."""

    suites: list[tuple[str, int]]
    """Name and number of tests of each suite."""
    inputs: bytes
    """The arguments of each test, in ``marshal``."""
    expected: bytes
    """The expected results, as ``cases`` packs them; empty to report those of the sample."""
    comparator: str
    tolerance: float
    floats: str
    flattened: str
    all_tests: bool
    """Go on after a test that fails."""
    each_suite: bool
    """Go on with the next suite after a test that fails."""


class StatementData(TypedDict):
    """Tests that are statements."""

    kind: Literal["statements"]
    setup: bytes
    tests: list[bytes]
    suites: list[tuple[str, int]]
    """Name and number of tests of each suite."""
    all_tests: bool
    """Go on after a test that fails."""


class ExpressionData(TypedDict):
    """A question about a function ``f``."""

    kind: Literal["expression"]
    asks: str
    """``input``: arguments for the result; ``output``: the result."""
    output: bytes
    """Source of the result."""
    timeout_s: float
    """Time limit of the function, for the arguments of an answer."""


class FunctionData(TypedDict):
    """Tests that define ``check``, each of whose tests is to be told when it begins."""

    kind: Literal["function"]
    all_tests: bool
    """Go on after a test that fails."""


TestForm = Union[StatementData, ExpressionData, FunctionData]
"""Tests that are no data, where they are not a function ``check`` that runs as it stands."""


class StatementJob(SharedJob):
    """Job of the process that runs a sample and statements together."""

    statements: StatementData


class RecordOrder(TypedDict):
    """Order to report the results of a sample where tests are data; else to run the tests without a sample."""

    wrong: bytes
    """A wrong program to run in the process of the tests, which report whether it passes; empty for none."""
    calls: bool
    """Report the calls that the tests make whatever the results."""


class RefereeJob(FirstCalls):
    """Job of the process that runs the tests of a problem."""

    prompt: bytes
    test: bytes
    code: bytes
    """The two compiled, as ``CompiledProblem.new_code`` of another process holds them; empty if not compiled yet."""
    entry_point: str
    seed: int
    number: str
    output_bytes: int
    """Total size of the replies, in bytes."""
    write_back: bool
    """Copy the changes that a sample makes to its arguments to the objects of the tests."""
    record: RecordOrder | None
    """Order to report what later checks of this problem need; None where a sample is checked."""
    cases: CaseData | None
    """Tests that are data, in place of ``test``."""
    form: TestForm | None
    """Statements of which ``test`` is the whole source, or a question about the function that it defines; None for
    tests that define ``check``, which runs as it stands."""


class ExceptionRecord(TypedDict):
    """An exception as plain data."""

    type: str
    lineage: list[str]
    """Its builtin ancestors, nearest first."""
    message: str
    arguments: tuple[Any, ...]


class LoadReply(TypedDict, total=False):
    """First reply of a sample: whether its module was loaded, and whether it has the entry point."""

    loaded: bool
    has_entry_point: bool


class Order(TypedDict, total=False):
    """Order of the referee: call an object, or return the next item of an iterator.

    An empty frame orders the next of the calls that came with the job.
    """

    call: int
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    back: bool
    next: int


class OrderReply(TypedDict, total=False):
    """Outcome of an order or of a callback: a value, an exception, or a value that cannot be encoded."""

    value: Any
    args: tuple[Any, ...]
    """The arguments after the call, if the order asks for them; also where it raises."""
    kwargs: dict[str, Any]
    """The same of those with names."""
    flattened: tuple[str, ...]
    """Names of the types that were reduced to plain data."""
    large: tuple[str, int, bytes]
    """Kind, number of items and digest of a result, in place of ``value``."""
    raised: ExceptionRecord
    unsendable: ExceptionRecord


class Callback(TypedDict):
    """Call that a sample makes of something that the tests passed to it."""

    callback: int
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class CompiledReport(TypedDict):
    """First report of a referee that got no compiled code: the code, for later referees.

    Nothing more comes but where calls are recorded.
    """

    status: str
    number: str
    code: str
    """Compiled prompt and tests, in base64."""


class Report(TypedDict, total=False):
    """Outcome of a check, for the supervisor."""

    status: str
    message: str
    number: str
    read: int
    """Number of bytes read of the sample's replies."""
    calls: int
    call: tuple[str, str]
    """The last call and its outcome, as text."""
    exception: str
    from_sample: bool
    test_line: str
    flattened: list[str]
    lost: bool
    """The connection to the sample ended."""
    expected: str
    """The result that the first test that failed expects, as text."""
    suites: list[tuple[int, int, int]]
    """For each suite that was begun, how many tests ran and passed, and the number of the first that failed or -1."""
    outcomes: list[str]
    """For each suite the outcome of each test as a bit, in base64, where the tests went on after a failure."""
    results: str
    """The results of the reference solution, in base64, where nothing was expected."""
    stripped: str
    """The same results, stripped; empty where that saves little."""
    slow: list[tuple[int, float]]
    """The tests for which the reference solution took long, by number, with the seconds."""


class RecordedReport(TypedDict):
    """Report of a referee that asks no sample."""

    status: str
    number: str
    recorded: list[str]
    """Each call that the tests make whatever the results, packed, in base64; none where they are not asked for."""
    passed: bool | None
    """The wrong program passes the tests; None where none was run."""


class SharedReport(Report, total=False):
    """Report of a process that runs a sample and its tests together."""

    token: str
    """The token of the job, in the report of a pass."""
    seen: list[str]
    """Findings about what the sample did in that process."""
