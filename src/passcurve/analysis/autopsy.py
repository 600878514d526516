"""The autopsy of a score: the same texts judged under several extraction policies.

Every policy makes a program of every text.  Each distinct program of a problem is judged once, as a whole program, as
``judge`` would.  So two policies can differ only in the programs that they extract.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from passcurve.bench.choose import choose_problems
from passcurve.errors import DataError, StoreError, UsageError
from passcurve.extract import DEFAULT, extract, find_policy, policy_names
from passcurve.judging import run as pipeline
from passcurve.signature import signature
from passcurve.store.completions import stored_completions
from passcurve.store.rundir import RunDir
from passcurve.store.samples import MalformedLine, read_rows
from passcurve.store.verdicts import StoredVerdicts
from passcurve.types import Completion, Counts, Estimate, Header, Problem, Program, Status

_NO_PROGRAM = -1
_PROGRAMS = "programs.jsonl"
_JUDGED = "judged"


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """The score under one policy."""

    policy: str
    estimates: tuple[Estimate, ...]
    passed: int
    no_code: int
    """Samples without a program."""
    rescued: int
    """Samples that pass here but not under the first policy."""
    spoiled: int
    """Samples that pass under the first policy but not here."""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One sample under one policy: the program and its verdict."""

    policy: str
    status: Status
    message: str
    steps: tuple[str, ...]
    program: str | None


class Flip(msgspec.Struct, frozen=True, kw_only=True):
    """A problem whose score depends on the policy, with a sample that shows it."""

    problem_id: str
    n: int
    passed: dict[str, int]
    """Under each policy."""
    sample_index: int
    wrong: Side
    right: Side


class Autopsy(msgspec.Struct, frozen=True, kw_only=True):
    """The same texts under several policies."""

    benchmark: str
    problems: int
    attempted: int
    samples: int
    malformed: int
    rulings: tuple[Ruling, ...]
    flips: tuple[Flip, ...]
    """The problems on which two policies differ, in the order of the benchmark."""
    passed_anywhere: int
    """Samples that pass under at least one policy; these are right up to formatting."""
    up_to_formatting: tuple[Estimate, ...]
    """pass@k with the best policy for each sample; no single policy reaches it."""
    owed: int
    """Number of programs without a verdict."""
    programs: int
    """Number of distinct programs that were judged."""
    signature: str
    """The signature of the judging, with all policies; empty when there was no program to judge."""
    folder: str
    exit_code: int


class _SampleTable(msgspec.Struct, kw_only=True):
    """The problem and the index of each sample, and the row of its program under each policy."""

    problem: array[int]
    index: array[int]
    program: array[int]
    malformed: int = 0
    distinct: int = 0


def check_policies(policies: Sequence[str]) -> tuple[str, ...]:
    """Return the policies without repetitions; all policies when none is named.

    Raises UnknownNameError for an unknown policy, UsageError when there is only one.
    """
    chosen = tuple(dict.fromkeys(policies)) or policy_names()
    for policy in chosen:
        find_policy(policy)
    if len(chosen) < 2:
        raise UsageError(f"an autopsy needs at least two policies, got only {chosen[0]!r}")
    return chosen


def run_autopsy(
    request: pipeline.Request,
    policies: Sequence[str] = (),
    watch: Callable[[pipeline.Progress], None] = lambda _: None,
) -> Autopsy:
    """Judge the samples of a request under several policies, and compare the others with the first.

    ``request.samples`` may be the directory of a run that generated them; ``request.run`` is the folder to work in.
    Verdicts of an interrupted autopsy in that folder are used again.
    Raises what ``pipeline.judge`` and ``check_policies`` raise.
    """
    policies = check_policies(policies)
    problems = choose_problems(request.benchmark, request.problems)
    folder = request.run
    table = _write_programs(request, problems, policies, folder)
    result = None
    if table.distinct:
        inner = msgspec.structs.replace(
            request,
            samples=folder / _PROGRAMS,
            run=folder / _JUDGED,
            results=None,
            ks=(1,),
            ks_requested=False,
            subset=True,
            strict=False,
            extract=DEFAULT,
        )
        result = pipeline.judge(inner, watch)
    stored = RunDir(folder / _JUDGED).read() if result is not None else None
    try:
        return _summarize(request, problems, policies, table, stored, result)
    finally:
        if stored is not None:
            stored.close()


def read_header(run: Path) -> Header:
    """Return the header of a judged run; raise StoreError when the folder is not a run or has no verdicts."""
    with RunDir(run).read() as stored:
        return stored.attempt.header


def _read_samples(request: pipeline.Request, problems: Sequence[Problem]) -> Iterator[Completion | None]:
    """Yield the samples of these problems, and None for each malformed line."""
    chosen = {problem.id for problem in problems}
    source = request.samples
    rows: Iterable[Completion | MalformedLine] = (
        stored_completions(source)
        if source.is_dir()
        else read_rows(source, [problem.id for problem in request.benchmark.problems])
    )
    for row in rows:
        if not isinstance(row, Completion):
            if request.strict:
                raise DataError(f"{str(request.samples)!r}, line {row.line}: {row.reason}")
            yield None
        elif row.key.problem_id in chosen:
            yield row


def _write_programs(
    request: pipeline.Request, problems: Sequence[Problem], policies: Sequence[str], folder: Path
) -> _SampleTable:
    """Write each distinct program of each problem as a row, and return the table of the samples."""
    by_id = {problem.id: (at, problem) for at, problem in enumerate(problems)}
    table = _SampleTable(problem=array("q"), index=array("q"), program=array("q"))
    rows: dict[bytes, int] = {}
    draft = folder / f".{_PROGRAMS}.tmp"
    try:
        folder.mkdir(exist_ok=True)
        with draft.open("w", encoding="ascii") as file:
            for sample in _read_samples(request, problems):
                if sample is None:
                    table.malformed += 1
                    continue
                at, problem = by_id[sample.key.problem_id]
                table.problem.append(at)
                table.index.append(sample.key.sample_index)
                for policy in policies:
                    text = extract(problem, sample, policy).text
                    if text is None:
                        table.program.append(_NO_PROGRAM)
                        continue
                    digest = _digest(problem, text)
                    if digest not in rows:
                        rows[digest] = len(rows)
                        file.write(json.dumps({"task_id": problem.id, "solution": text}) + "\n")
                    table.program.append(rows[digest])
            file.flush()
            os.fsync(file.fileno())
        draft.replace(folder / _PROGRAMS)
    except OSError as error:
        raise StoreError(
            f"cannot work in {str(folder)!r}: {error.strerror or error}; choose another place with --run DIR"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
    if not table.problem:
        raise DataError(f"{str(request.samples)!r} has no rows to judge")
    table.distinct = len(rows)
    return table


def _digest(problem: Problem, text: str) -> bytes:
    return hashlib.blake2b(f"{problem.id}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _summarize(
    request: pipeline.Request,
    problems: Sequence[Problem],
    policies: Sequence[str],
    table: _SampleTable,
    stored: StoredVerdicts | None,
    result: pipeline.Result | None,
) -> Autopsy:
    # Loaded here: numpy takes longer to load than a wrong command line should have to wait.
    from passcurve.stats.estimate import estimate
    from passcurve.stats.metrics import lacks_requested_value

    width, rows = len(policies), len(table.problem)
    passes = bytearray(_has_passed(stored, program) for program in table.program)
    anywhere = bytearray(any(passes[row * width : (row + 1) * width]) for row in range(rows))
    owed = sum(map(partial(_is_owed, stored), set(table.program)))

    def score(passed: Sequence[int]) -> tuple[Estimate, ...]:
        return estimate(_count_by_problem(problems, table, passed, subset=request.subset), request.ks, owed=owed)

    first = passes[::width]
    rulings = []
    for at, policy in enumerate(policies):
        own = passes[at::width]
        rulings.append(
            Ruling(
                policy=policy,
                estimates=score(own),
                passed=sum(own),
                no_code=sum(program == _NO_PROGRAM for program in table.program[at::width]),
                rescued=sum(b > a for a, b in zip(first, own, strict=True)),
                spoiled=sum(a > b for a, b in zip(first, own, strict=True)),
            )
        )
    attempted = len(set(table.problem))
    missing = attempted < len(problems) and not request.subset
    unmet = any(lacks_requested_value(ruling.estimates, (), ks_requested=request.ks_requested) for ruling in rulings)
    return Autopsy(
        benchmark=request.benchmark.name,
        problems=len(problems),
        attempted=attempted,
        samples=rows,
        malformed=table.malformed,
        rulings=tuple(rulings),
        flips=tuple(_find_flips(request, problems, policies, table, passes, stored)),
        passed_anywhere=sum(anywhere),
        up_to_formatting=score(anywhere),
        owed=owed,
        programs=table.distinct,
        signature=_signature(request, policies, result),
        folder=str(request.run),
        exit_code=1 if owed else 2 if table.malformed or missing or unmet else 0,
    )


def _signature(request: pipeline.Request, policies: Sequence[str], result: pipeline.Result | None) -> str:
    if result is None:
        return ""
    # The judging itself saw whole programs; the reader needs to know the generation and the policies.
    generation = read_header(request.samples).generation if request.samples.is_dir() else None
    return signature(
        msgspec.structs.replace(
            result.header, extract="+".join(policies), subset=request.subset, generation=generation
        ),
        result.diagnosis.scope,
    )


def _has_passed(stored: StoredVerdicts | None, program: int) -> bool:
    return program != _NO_PROGRAM and stored is not None and stored.status_at(program) == "passed"


def _is_owed(stored: StoredVerdicts | None, program: int) -> bool:
    return program != _NO_PROGRAM and (stored is None or stored.status_at(program) in (None, "void"))


def _count_by_problem(
    problems: Sequence[Problem], table: _SampleTable, passes: Sequence[int], *, subset: bool
) -> list[Counts]:
    n, c = array("q", [0] * len(problems)), array("q", [0] * len(problems))
    for at, passed in zip(table.problem, passes, strict=True):
        n[at] += 1
        c[at] += passed
    counts = [Counts(problem_id=problem.id, n=n[at], c=c[at]) for at, problem in enumerate(problems)]
    return [count for count in counts if count.n or not subset]


class _Case(msgspec.Struct, kw_only=True):
    """The counts of a problem, and the sample that shows a flip."""

    n: int = 0
    passed: list[int]
    row: int = -1
    """A sample that passes under one policy and not under another."""
    wrong: int = 0
    right: int = 0


def _find_flips(
    request: pipeline.Request,
    problems: Sequence[Problem],
    policies: Sequence[str],
    table: _SampleTable,
    passes: bytearray,
    stored: StoredVerdicts | None,
) -> Iterator[Flip]:
    width = len(policies)
    cases = [_Case(passed=[0] * width) for _ in problems]
    for row, at in enumerate(table.problem):
        case, own = cases[at], passes[row * width : (row + 1) * width]
        case.n += 1
        case.passed = [a + b for a, b in zip(case.passed, own, strict=True)]
        # Prefer a sample that fails under the first policy.
        is_better = 0 < sum(own) < width and (case.row < 0 or (case.wrong != 0 and not own[0]))
        if is_better:
            case.row, case.wrong, case.right = row, own.index(0), own.index(1)
    flipping = {case.row: (at, case) for at, case in enumerate(cases) if case.row >= 0}
    flips: dict[int, Flip] = {}
    samples = (sample for sample in _read_samples(request, problems) if sample is not None)
    for row, completion in enumerate(samples):
        if row in flipping:
            at, case = flipping[row]
            sides = [
                _make_side(
                    policies[which],
                    extract(problems[at], completion, policies[which]),
                    table.program[row * width + which],
                    stored,
                )
                for which in (case.wrong, case.right)
            ]
            flips[at] = Flip(
                problem_id=problems[at].id,
                n=case.n,
                passed=dict(zip(policies, case.passed, strict=True)),
                sample_index=table.index[row],
                wrong=sides[0],
                right=sides[1],
            )
    return (flips[at] for at in sorted(flips))


def _make_side(policy: str, program: Program, row: int, stored: StoredVerdicts | None) -> Side:
    verdict = stored.verdict_at(row) if stored is not None and row != _NO_PROGRAM else None
    return Side(
        policy=policy,
        status="no_code" if row == _NO_PROGRAM else verdict.status if verdict is not None else "void",
        message=program.steps[-1] if row == _NO_PROGRAM else verdict.message if verdict is not None else "",
        steps=program.steps,
        program=program.text,
    )
