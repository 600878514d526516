"""Problems, benchmarks, and what is checked of a program."""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from passcurve.types.verdicts import DEFAULT_TIMEOUT_S

_PACK_VERSION = 2
"""Version of the format of ``marshal``: every Python 3 reads it, whichever runs the samples."""


def pack_values(values: Sequence[Any]) -> bytes:
    """Return plain data as bytes: numbers, texts, None and lists, tuples, sets and dictionaries of them.

    Raises ValueError for anything else.
    """
    return marshal.dumps(list(values), _PACK_VERSION)


def unpack_values(data: bytes) -> list[Any]:
    """Return the values that ``pack_values`` has packed in this process; never to be used on the bytes of another."""
    values: list[Any] = marshal.loads(data)  # noqa: S302
    return values


class FunctionTests(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="function"):
    """Tests that are source: it defines ``check(candidate)``, which raises an exception where a program is wrong."""

    source: str


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the tests with a verdict of its own, which counts only where all suites before it pass."""

    name: str
    count: int
    """Number of its tests."""
    alone: bool = False
    """Whether it counts whatever the others do."""
    scored: bool = True
    """Whether it has a score of its own; the tests of a function have that of the sample."""


class Assertions(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="assertions"):
    """Tests that are statements, each of which calls functions of the program by their names."""

    tests: tuple[str, ...]
    setup: str = ""
    """Source that runs before them."""
    suites: tuple[Suite, ...] = ()
    """The parts that count by themselves, in the order of the tests; empty where all are one."""


WITH_TYPING = "typing"
"""Form of a function that finds the names of ``typing``: the code to start with uses them without an import."""


class Cases(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="cases"):
    """Tests that are data: inputs, what is expected for each, and a named rule by which results are compared."""

    suites: tuple[Suite, ...]
    inputs: bytes
    """A tuple of arguments for each test, suite after suite, packed by ``pack_values``."""
    expected: bytes = b""
    """A value for each test, packed likewise; empty where the reference solution is to compute them."""
    comparator: str = "equal"
    """Name of a rule in ``harness/comparators.py``."""
    tolerance: float = 0.0
    via: Literal["call", "stdin"] = "call"
    """``call`` passes the arguments to the entry point; ``stdin`` gives the only argument, a text, to a whole program,
    whose output is the result."""
    form: str = "script"
    """How such a program runs: a form in ``harness/script_harnesses.py``; ``WITH_TYPING`` for a function."""
    timeout_s: float | None = None
    """Time limit of each test; None for none but that of all together."""
    each_suite: bool = False
    """Run every suite until its first failure, whatever became of the suites before it."""
    reference_factor: float = 0.0
    """Times that the reference solution takes for all tests, which each test may take, where that is more."""
    floats: Literal["equal", "close", "close or empty"] = "close"
    """How floats compare where no tolerance is set: once one result is expected to be all floats, this and all later
    ones need only be close; to old editions of EvalPlus an empty list was all floats, too."""
    flattened: Literal["plain", "equal", "typed"] = "plain"
    """How a result compares that was flattened to plain data: ``plain`` as that data; ``equal`` as in the process
    that it was made in, where a deque equals no list and an array of several items nothing; ``typed`` so that a number
    of numpy must be equal where a float need only be close, too."""


class UnitTests(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="unittest"):
    """Tests that are a module of ``unittest``: they need the program's own objects, so they run beside it."""

    source: str
    suites: tuple[Suite, ...] = ()
    """Its classes of tests where each counts by itself, by name; empty where all are one."""
    classes: tuple[str, ...] = ()
    """The classes that hold its tests; empty for all that it defines."""
    prefix: str = ""
    """Source that stands before each program."""
    quoted: str = ""
    """Name of the variable by which the tests get a program as text; empty where the program itself runs."""
    any_skip: bool = False
    """Whether a test is right that the program itself has skipped; else only the tests may skip."""
    processes: bool = False
    """Whether programs and tests may start processes."""
    timeout_s: float | None = None
    """Time limit of each class; None for none but that of all together."""


class Expression(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="expression"):
    """A question about a given function ``f``: the arguments for a result, or the result for arguments."""

    code: str
    """Source that defines ``f``."""
    asks: Literal["input", "output"]
    input: str
    """Arguments of ``f``, as source."""
    output: str
    """Result of ``f``, as source."""
    in_process: bool = False
    """Compare in the process of the sample, as CRUXEval does, so that a text can be anything Python can run."""


class Script(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="script"):
    """Tests in the language of the program: both are one source, whose end shows the verdict."""

    language: str
    """Its name in ``languages/table.toml``."""
    tests: str
    """Source that follows the program."""
    before: str = ""
    """Source in front of the program."""
    cut: str = ""
    """Text of the prompt that the program is to lack, for ``before`` has what it needs of it."""
    if_used: dict[str, str] = {}
    """Lines behind ``before``, each where the program or the tests match its pattern."""
    after: str = ""
    """Source behind the tests."""
    accepts: Literal["token", "exit", "no-errors", "no-error-word", "silence", "no-fail"] = "token"
    """Sign that all tests have passed: the job's token as the last line and exit status 0; exit status 0 alone, with
    nothing on standard error, or without the word ``ERROR``; no output at all; no ``Fail`` among the errors."""
    line: str = ""
    """Pattern of the last lines, where a test library writes more after the token, for which ``{token}`` stands."""
    builds: tuple[str, ...] = ("",)
    """Ways to compile and run, by name; the next one counts where one does not end with exit status 0."""
    compile_s: float = 30.0
    """Time limit of the compiler."""


class ProgramCases(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="program"):
    """Tests that are data for a whole program in another language than Python, which reads standard input."""

    language: str
    """Its name in ``languages/table.toml``."""
    cases: Cases
    """The texts to read and to write; they stay outside of the program's jail."""
    compile_s: float = 30.0
    """Time limit of the compiler."""


Check: TypeAlias = FunctionTests | Assertions | Cases | UnitTests | Expression | Script | ProgramCases


def language_of(check: Check) -> str:
    """Return the language of the programs that a check is of; empty for Python."""
    return check.language if isinstance(check, Script | ProgramCases) else ""


def asks_for_module(check: Check) -> bool:
    """Return whether a check is of a whole program or a class, where what stands outside of a function counts."""
    return isinstance(check, UnitTests) or (isinstance(check, Cases) and check.via == "stdin")


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One task of a benchmark: the prompt for the model, and what is checked of its answer."""

    id: str
    prompt: str
    """Source that a completion continues; empty where a completion is a whole program."""
    entry_point: str
    """Name of the function that is called, or ``Class.method``; empty where the check names what it needs."""
    check: Check
    reference: str | None = None
    """The canonical solution as a completion of the prompt; None where the benchmark has none."""
    other_references: tuple[str, ...] = ()
    """More published solutions of tests that are data; the next one counts where those before it do not pass."""
    suffix: str = ""
    """Text after the completion, where a model fills in a gap."""
    statement: str = ""
    """The task in words, where it does not stand in the prompt."""
    date: str = ""
    """The day on which the problem was published, as ISO 8601; empty where that is not known."""
    timeout_s: float | None = None
    """Time limit that the benchmark itself sets; None for that of the run."""
    answer_field: str = ""
    """The field of samples that holds their text in its format, where that is not ``completion``; as ``--field``."""
    stop: tuple[str, ...] = ()
    """Words before which a completion ends, where the benchmark or the language of the program sets them."""
    packages: tuple[str, ...] = ()
    """Modules that its reference solution or its tests import besides Python's own, with their full names."""

    @property
    def has_gap(self) -> bool:
        """True where a completion fills a gap, so that an empty one makes a program too.

        A gap at the end has no suffix; only a reference that fills one can be white space.
        """
        return bool(self.suffix) or bool(self.reference and not self.reference.strip())

    def limit_s(self, timeout_s: float) -> float:
        """Return the time limit: the one that the benchmark sets counts unless the user has set another."""
        return self.timeout_s if self.timeout_s is not None and timeout_s == DEFAULT_TIMEOUT_S else timeout_s

    @property
    def test(self) -> str:
        """The tests as source; empty where they are data."""
        match self.check:
            case FunctionTests(source=source) | UnitTests(source=source):
                return source
            case Assertions(tests=tests, setup=setup):
                return "\n".join((*([setup] if setup else []), *tests))
            case Expression(code=code):
                return code
            case Script(tests=tests):
                return tests
            case _:
                return ""


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
    profile: str = "native"
    """The harness whose rules its problems follow."""
    task: str = ""
    """The task that was chosen, where its file has several."""
    language: str = ""
    """The language that was chosen, where its file has several or leaves it open."""
    file_hash: str = ""
    """md5 of the uncompressed file, by which EvalPlus names a version; empty where it was not read from a file."""
