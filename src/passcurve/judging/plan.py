"""Plans and jobs: how the programs of a problem are checked, and what is run for one of them."""

from __future__ import annotations

import re
import secrets
import zlib
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from passcurve.harness.function_tests import SUITE, find_tests
from passcurve.harness.protocol import CaseData, ExpressionData, StatementData, TestForm
from passcurve.judging import answers
from passcurve.judging.program_cases import make_program_job
from passcurve.judging.script_forms import find_data_tests
from passcurve.judging.scripts import make_script_job
from passcurve.private_files import read_private
from passcurve.sandbox.forkserver_client import REFEREE_ROLE
from passcurve.sandbox.job import Job, KnownReport, Referee
from passcurve.types import (
    WITH_TYPING,
    Assertions,
    Cases,
    Expression,
    FunctionTests,
    Limits,
    Problem,
    ProgramCases,
    Script,
    Suite,
    UnitTests,
)

SAMPLE_ROLE = "passcurve.harness.sample"
SHARED_ROLE = "passcurve.harness.shared"
UNIT_TEST_ROLE = "passcurve.harness.unit_tests"
STATEMENT_ROLE = "passcurve.harness.shared_statements"


_NEW_PROCESS = re.compile(r"\b(?:threading|_thread|asyncio|concurrent|FileIO|ctypes|signal|posix|tempfile)\b")
"""Words of scripts that need a new process."""

_REFERENCE_BYTES = 1 << 30
"""Encoded size of everything that a reference solution may return."""

Fault = Literal["reference", "tests", "package"]
"""What keeps the samples of a problem from being judged: the kinds of an exclusion."""


class ResultsFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the user's cache with the whole results of a reference solution."""

    path: str
    digest: bytes
    """The digest that it begins with."""


class CheckPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The way in which all samples of one problem are checked."""

    mode: Literal["referee", "shared"] = "referee"
    write_back: bool = False
    """Copy what a sample does to its arguments back into the objects of the tests."""
    calls: bytes = b""
    """The calls that the tests make whatever a sample returns, which gets them all at once; none where there may be
    others."""
    test_s: float | None = None
    """Time limit of each test, where the benchmark sets one."""
    slow_tests: dict[int, float] = {}
    """Time limits of the tests that have longer ones, because the reference solution takes long."""
    answer_bytes: int = 0
    """Encoded size of the results of the reference solution; a sample may return twice as much."""
    expected: bytes = b""
    """The results that the reference solution has for the inputs of cases, as their check packs them; very large ones
    are stripped of what only comparisons need."""
    whole: bytes = b""
    """The same results whole, where they are stripped."""
    whole_in: ResultsFile | None = None
    """Where the whole results are, if they were not read."""
    known_report: KnownReport | None = None
    """The report on the answer of the reference solution, which a sample with the same answer gets."""
    note: str = ""
    """Fault of the problem, or the reason why it is not in referee mode."""
    fault: Fault | None = None
    """Why no sample of the problem counts: its reference solution or its tests are wrong, or it needs a package."""


class JobMaker:
    """Makes the jobs that check programs against the tests of one problem; what these share is made once.

    With ``record``, the report of a job has the results of its program, where the tests are data; with ``all_tests``
    the tests go on after a failure.
    """

    def __init__(
        self,
        problem: Problem,
        plan: CheckPlan,
        limits: Limits,
        seed: int,
        *,
        record: bool = False,
        all_tests: bool = False,
    ) -> None:
        self.plan = plan
        self._problem = problem
        self._record, self._all_tests = record, all_tests
        self._seed = _problem_seed(problem, seed)
        self._limits = limits_of(problem, plan, limits, record=record)
        self._template = None if self._is_shared else self._make_template()
        """The job of a program that a referee asks, without the program."""

    @property
    def _is_shared(self) -> bool:
        check = self._problem.check
        return self.plan.mode == "shared" or isinstance(check, Script | ProgramCases | UnitTests)

    def make(self, program: str, tag: int) -> Job:
        """Return the job of a program."""
        check, limits = self._problem.check, self._limits
        if isinstance(check, Script):
            data_tests = find_data_tests(check) if self.plan.mode == "referee" else None
            return make_script_job(check, program, limits, tag, data_tests)
        if isinstance(check, ProgramCases):
            return make_program_job(check, program, limits, tag, all_tests=self._all_tests)
        if isinstance(check, UnitTests):
            return _make_unit_test_job(
                self._problem, check, program, limits, self._seed, tag, all_tests=self._all_tests
            )
        if isinstance(check, Expression):
            program = answers.make_program(check, program)
        if self._template is None:
            setup = {**self._sample_setup(), "program": _encode(program)}
            return _make_shared_job(self._problem, setup, limits, tag, all_tests=self._all_tests)
        setup = {**self._template.setup, "program": _encode(program)}
        needs_new = "form" in setup and _NEW_PROCESS.search(program)
        return msgspec.structs.replace(self._template, tag=tag, setup=setup, allow_kept=not needs_new)

    def _sample_setup(self) -> dict[str, Any]:
        """Return what the process of a sample is told besides its program."""
        return {
            "program": b"",
            "entry_point": _entry_point(self._problem),
            "seed": self._seed,
            "output_bytes": self._limits.output_bytes,
            "replayed": self.plan.calls,
            "digests": isinstance(self._problem.check, Cases),
        }

    def _make_template(self) -> Job:
        problem, plan, limits = self._problem, self.plan, self._limits
        setup = self._sample_setup()
        if isinstance(problem.check, Cases):
            if problem.check.via == "stdin":
                setup["form"] = problem.check.form
            elif problem.check.form == WITH_TYPING:
                setup["typing"] = True
        return Job(
            tag=0,
            role=SAMPLE_ROLE,
            setup=setup,
            referee=_referee(problem, plan, limits, self._seed, all_tests=self._all_tests),
            limits=limits,
            slice_s=limits.timeout_s,
            replayed=plan.calls,
            record=self._record,
            test_s=limits.test_timeout_s or plan.test_s if not self._record else None,
            slow_tests=plan.slow_tests if limits.test_timeout_s is None else {},
            suites=suites_of(problem),
        )


def make_tests_job(problem: Problem, limits: Limits, seed: int, tag: int, wrong: str = "", *, record: bool) -> Job:
    """Return the job of the tests without a sample.

    It reports whether a wrong program passes, and with ``record`` what calls the tests make whatever they get.
    """
    job = JobMaker(problem, CheckPlan(), limits, seed).make("", tag)
    return msgspec.structs.replace(job, without_sample=True, wrong=_encode(wrong), record=record, test_s=None)


def make_job(
    problem: Problem,
    program: str,
    plan: CheckPlan,
    limits: Limits,
    seed: int,
    tag: int,
    *,
    record: bool = False,
    all_tests: bool = False,
) -> Job:
    """Return the job that checks ``program`` against the tests of ``problem``, as a ``JobMaker`` makes it."""
    return JobMaker(problem, plan, limits, seed, record=record, all_tests=all_tests).make(program, tag)


def _make_shared_job(problem: Problem, setup: dict[str, Any], limits: Limits, tag: int, *, all_tests: bool) -> Job:
    statements = _statement_data(problem, all_tests=all_tests)
    token = secrets.token_hex(16)
    return Job(
        tag=tag,
        role=SHARED_ROLE if statements is None else STATEMENT_ROLE,
        setup={
            **setup,
            "test": _encode("" if isinstance(problem.check, Expression) else problem.test),
            "token": token,
            **({"statements": statements} if statements is not None else {}),
        },
        referee=None,
        limits=limits,
        slice_s=limits.timeout_s,
        allow_kept=False,
        suites=suites_of(problem),
    )


def _referee(problem: Problem, plan: CheckPlan, limits: Limits, problem_seed: int, *, all_tests: bool) -> Referee:
    cases = problem.check if isinstance(problem.check, Cases) else None
    form = _test_form(problem, limits, all_tests=all_tests)
    # Reports and compiled tests are kept by it: trials of a reference may be checked by another rule than samples.
    rule = cases.comparator if cases is not None else form["kind"] if form is not None else ""
    known_report = plan.known_report
    key = f"{problem.id} {plan.write_back} {bool(plan.expected)} {rule} {all_tests}"
    prompt, test = _encode(_context(problem)), _encode(problem.test)
    return Referee(
        key=key,
        role=REFEREE_ROLE,
        setup={
            "prompt": prompt,
            "test": test,
            "entry_point": _entry_point(problem),
            "seed": problem_seed,
            "write_back": plan.write_back,
            "form": form,
            "cases": _case_data(cases, plan, all_tests=all_tests) if cases is not None else None,
        },
        # An answer decides how long the function of the question runs.
        limit_s=limits.timeout_s + 1.0 if isinstance(problem.check, Expression) else None,
        known_report=known_report if known_report is not None and known_report.key == key else None,
        size=len(prompt) + len(test) + _data_bytes(cases, plan),
        # All jobs of the problem share what is read.
        whole=cache(partial(_read_whole, plan)) if plan.whole or plan.whole_in else None,
    )


def _data_bytes(cases: Cases | None, plan: CheckPlan) -> int:
    """Return the size of tests that are data; stripped results count with the size that samples return."""
    is_stripped = bool(plan.whole or plan.whole_in)
    return len(plan.expected) + is_stripped * plan.answer_bytes + (len(cases.inputs) if cases is not None else 0)


def _read_whole(plan: CheckPlan) -> bytes:
    """Return the whole of the expected results; no bytes where their file is damaged, gone, or another by now."""
    file = plan.whole_in
    return plan.whole or (file and read_private(Path(file.path), digest=file.digest)) or b""


def _test_form(problem: Problem, limits: Limits, *, all_tests: bool) -> TestForm | None:
    if isinstance(problem.check, FunctionTests) and (all_tests or limits.test_timeout_s is not None):
        return {"kind": "function", "all_tests": all_tests}
    return _expression_data(problem, limits) or _statement_data(problem, all_tests=all_tests)


def limits_of(problem: Problem, plan: CheckPlan, limits: Limits, *, record: bool = False) -> Limits:
    """Return the limits of a job."""
    timeout_s, output_bytes = problem.limit_s(limits.timeout_s), limits.output_bytes
    if isinstance(problem.check, Cases):
        output_bytes = max(output_bytes, _REFERENCE_BYTES if record else 2 * plan.answer_bytes)
    return msgspec.structs.replace(limits, timeout_s=timeout_s, output_bytes=output_bytes)


def _case_data(cases: Cases, plan: CheckPlan, *, all_tests: bool) -> CaseData:
    return {
        "suites": [(suite.name, suite.count) for suite in cases.suites],
        "inputs": cases.inputs,
        "expected": plan.expected,
        "comparator": cases.comparator,
        "tolerance": cases.tolerance,
        "floats": cases.floats,
        "flattened": cases.flattened,
        "all_tests": all_tests,
        "each_suite": cases.each_suite,
    }


def suites_of(problem: Problem) -> tuple[Suite, ...]:
    """Return the suites of the tests that count by themselves; none where only their end is known."""
    match problem.check:
        case Cases(suites=suites) | ProgramCases(cases=Cases(suites=suites)) | UnitTests(suites=suites):
            return suites
        case Assertions(suites=suites, tests=tests):
            return suites or (Suite(name="tests", count=len(tests)),)
        case FunctionTests(source=source):
            return _suites_of_function(source)
        case _:
            return ()


@lru_cache(maxsize=1024)
def _suites_of_function(source: str) -> tuple[Suite, ...]:
    count = len(find_tests(source))
    return (Suite(name=SUITE, count=count, scored=False),) if count else ()


def only_shared(problem: Problem) -> str:
    """Return why no referee can ask a program; the empty string where one can."""
    check = problem.check
    if isinstance(check, Expression) and check.in_process:
        return "the profile compares in the process of the sample"
    if isinstance(check, Assertions) and not problem.entry_point:
        return "the tests use whatever the program defines"
    return ""


def _entry_point(problem: Problem) -> str:
    return answers.ENTRY_POINT if isinstance(problem.check, Expression) else problem.entry_point


def _statement_data(problem: Problem, *, all_tests: bool) -> StatementData | None:
    check = problem.check
    if isinstance(check, Expression) and check.in_process:
        # The comparison stands in the program.
        return {"kind": "statements", "setup": b"", "tests": [], "suites": [], "all_tests": False}
    if not isinstance(check, Assertions):
        return None
    return {
        "kind": "statements",
        "setup": _encode(check.setup),
        "tests": [_encode(test) for test in check.tests],
        "suites": [(suite.name, suite.count) for suite in suites_of(problem)],
        "all_tests": all_tests,
    }


def _expression_data(problem: Problem, limits: Limits) -> ExpressionData | None:
    check = problem.check
    if not isinstance(check, Expression):
        return None
    return {"kind": "expression", "asks": check.asks, "output": _encode(check.output), "timeout_s": limits.timeout_s}


def _context(problem: Problem) -> str:
    """Return the source that defines what the tests may use besides the function."""
    # Before a gap there may be no whole statement; the names around it are the same in every program.
    return (reference_program(problem) if problem.has_gap else None) or problem.prompt


def _make_unit_test_job(
    problem: Problem,
    check: UnitTests,
    program: str,
    limits: Limits,
    seed: int,
    tag: int,
    *,
    all_tests: bool,
) -> Job:
    text = f"{check.quoted} = {program!r}\n" if check.quoted else check.prefix + program
    return Job(
        tag=tag,
        role=UNIT_TEST_ROLE,
        setup={
            "program": _encode(text),
            "entry_point": problem.entry_point,
            "seed": seed,
            "output_bytes": limits.output_bytes,
            "replayed": b"",
            "digests": False,
            "test": _encode(check.source),
            "token": secrets.token_hex(16),
            "classes": list(check.classes),
            "suites": [(suite.name, suite.alone) for suite in check.suites],
            "all_tests": all_tests,
            "any_skip": check.any_skip,
            "class_s": check.timeout_s or 0.0,
        },
        referee=None,
        limits=limits,
        slice_s=limits.timeout_s,
        allow_kept=False,
        suites=check.suites,
    )


def reference_program(problem: Problem) -> str | None:
    """Return the reference solution as a whole program, or None."""
    return None if problem.reference is None else problem.prompt + problem.reference + problem.suffix


def _problem_seed(problem: Problem, seed: int) -> int:
    return zlib.crc32(f"{seed} {problem.id}".encode("utf-8", "surrogatepass"))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
