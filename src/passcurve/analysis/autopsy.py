"""The autopsy of a score: the same texts judged under several extraction policies.

Every policy makes a program of every text, with each import prelude that is asked for.  Each distinct program of a
problem is judged once, as a whole program, as ``judge`` would.  So two policies can differ only in the programs that
they extract.
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

from passcurve.analysis.flips import (
    NO_PROGRAM,
    Flip,
    Flips,
    Judged,
    MissingImports,
    Pattern,
    SampleTable,
    find_missing_imports,
)
from passcurve.bench.choose import choose_problems
from passcurve.diagnosis import Diagnosis, InputReport, Scope, diagnose, withhold
from passcurve.errors import DataError, UsageError, place_error
from passcurve.extract import (
    DEFAULT,
    NO_PRELUDE,
    extract,
    find_policy,
    fit_to_packages,
    policy_names,
    split_policy,
    with_prelude,
)
from passcurve.judging import run as pipeline
from passcurve.sandbox.toolchain import OPTIONAL, find_toolchain
from passcurve.signature import signature
from passcurve.store.completions import stored_completions
from passcurve.store.run_counts import check_samples
from passcurve.store.rundir import RunDir
from passcurve.store.samples import MalformedLine, read_rows
from passcurve.store.verdicts import StoredVerdicts
from passcurve.types import Completion, Counts, Estimate, Header, Problem

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
    extract: str
    """The policy without its prelude."""
    prelude: str
    """The import prelude, or ``none``."""


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
    patterns: tuple[Pattern, ...]
    """The samples on which two policies differ, by how they fail; the commonest first."""
    missing_imports: MissingImports | None
    """Samples that a prelude might rescue, where none was tried."""
    passed_anywhere: int
    """Samples that pass under at least one policy; these are right up to formatting."""
    up_to_formatting: tuple[Estimate, ...]
    """pass@k with the best policy for each sample; no single policy reaches it."""
    owed: int
    """Number of programs without a verdict."""
    programs: int
    """Number of distinct programs that were judged."""
    diagnosis: Diagnosis
    """Excluded problems, which no score counts."""
    signature: str
    """The signature of the judging, with all policies; empty when there was no program to judge."""
    folder: str
    exit_code: int


def check_policies(policies: Sequence[str], preludes: Sequence[str] = ()) -> tuple[str, ...]:
    """Return each policy with each prelude, without repetitions; all policies when none is named.

    Raises UnknownNameError for an unknown policy or prelude, UsageError when there is only one.
    """
    named = [
        with_prelude(policy, prelude) for prelude in preludes or (NO_PRELUDE,) for policy in policies or policy_names()
    ]
    chosen = tuple(dict.fromkeys(named))
    for policy in chosen:
        find_policy(policy)
    if len(chosen) < 2:
        raise UsageError(f"an autopsy needs at least two policies, got only {chosen[0]!r}")
    return chosen


def choose_policies(policies: Sequence[str], preludes: Sequence[str], header: Header) -> tuple[str, ...]:
    """Return the policies to compare with those of a judged run, by default its own first and then all others."""
    own, prelude = split_policy(header.extract)
    return check_policies(policies or tuple(dict.fromkeys((own, *policy_names()))), preludes or (prelude,))


def run_autopsy(
    request: pipeline.Request,
    policies: Sequence[str] = (),
    watch: Callable[[pipeline.Progress], None] = lambda _: None,
) -> Autopsy:
    """Judge the samples of a request under several policies, and compare the others with the first.

    A policy may have a prelude; it leaves out packages that samples may not import, and its name then says so.
    ``request.samples`` may be the directory of a run that generated them; ``request.run`` is the folder to work in.
    Verdicts of an interrupted autopsy in that folder are used again.
    Raises what ``pipeline.judge`` and ``check_policies`` raise.
    """
    optional = (*OPTIONAL, *request.benchmark.packages)
    packages = find_toolchain(request.python, request.packages, optional).packages
    policies = tuple(fit_to_packages(policy, packages) for policy in check_policies(policies))
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


def read_header(run: Path, *, stale: bool = False) -> Header:
    """Return the header of a judged run.

    Raises StoreError when the folder is not a run or has no verdicts, DataError when its samples have changed since
    they were judged unless ``stale``.
    """
    if not stale:
        check_samples(run)
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
) -> SampleTable:
    """Write each distinct program of each problem as a row, and return the table of the samples."""
    by_id = {problem.id: (at, problem) for at, problem in enumerate(problems)}
    table = SampleTable(problem=array("q"), index=array("q"), program=array("q"))
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
                        table.program.append(NO_PROGRAM)
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
        message = f"cannot work in {str(folder)!r}: {error.strerror or error}; choose another place with --run DIR"
        raise place_error(message, error) from error
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
    table: SampleTable,
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
        counts = _count_by_problem(problems, table, passed, subset=request.subset)
        counts = [count for count in counts if count.problem_id not in diagnosis.scope.faulty]
        estimates = estimate(counts, request.ks, owed=owed)
        return withhold(estimates, diagnosis.withheld) if diagnosis.withheld else estimates

    diagnosis = _diagnose(request, result)

    rulings = _rule(policies, table, passes, score)
    judged = Judged(policies=tuple(policies), table=table, passes=passes, stored=stored)
    flips = Flips(judged, len(problems))
    without_prelude = all(ruling.prelude == NO_PRELUDE for ruling in rulings)
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
        flips=flips.examples(problems, filter(None, _read_samples(request, problems))),
        patterns=flips.patterns,
        missing_imports=find_missing_imports(judged) if without_prelude else None,
        passed_anywhere=sum(anywhere),
        up_to_formatting=score(anywhere),
        owed=owed,
        programs=table.distinct,
        diagnosis=diagnosis,
        signature=_signature(request, policies, result),
        folder=str(request.run),
        exit_code=1 if owed else 2 if diagnosis.withheld or table.malformed or missing or unmet else 0,
    )


def _rule(
    policies: Sequence[str],
    table: SampleTable,
    passes: bytearray,
    score: Callable[[Sequence[int]], tuple[Estimate, ...]],
) -> list[Ruling]:
    """Return the part of each policy; ``passes`` are by sample, then by policy."""
    width = len(policies)
    first = passes[::width]
    rulings = []
    for at, policy in enumerate(policies):
        own = passes[at::width]
        rulings.append(
            Ruling(
                policy=policy,
                estimates=score(own),
                passed=sum(own),
                no_code=sum(program == NO_PROGRAM for program in table.program[at::width]),
                rescued=sum(b > a for a, b in zip(first, own, strict=True)),
                spoiled=sum(a > b for a, b in zip(first, own, strict=True)),
                extract=split_policy(policy)[0],
                prelude=split_policy(policy)[1],
            )
        )
    return rulings


def _diagnose(request: pipeline.Request, result: pipeline.Result | None) -> Diagnosis:
    """Return the diagnosis of the benchmark; that of the samples is what the policies are compared for."""
    if result is None:
        return Diagnosis(scope=Scope(total=len(request.benchmark.problems), requested=0, pattern=request.problems))
    scope = result.diagnosis.scope
    scope = msgspec.structs.replace(scope, sampled=scope.sampled if request.subset else None)
    return diagnose(scope, InputReport(), accept_input=True, accept_benchmark=request.accept_benchmark)


def _signature(request: pipeline.Request, policies: Sequence[str], result: pipeline.Result | None) -> str:
    if result is None:
        return ""
    # The judging itself saw whole programs; the reader needs to know the generation and the policies.
    generation = read_header(request.samples).generation if request.samples.is_dir() else None
    return signature(
        msgspec.structs.replace(result.header, extract=_joined(policies), subset=request.subset, generation=generation),
        _diagnose(request, result).scope,
    )


def _joined(policies: Sequence[str]) -> str:
    names, preludes = zip(*map(split_policy, policies), strict=True)
    joined = "+".join(dict.fromkeys(names))
    return joined if set(preludes) == {NO_PRELUDE} else f"{joined}+prelude:{'+'.join(dict.fromkeys(preludes))}"


def _has_passed(stored: StoredVerdicts | None, program: int) -> bool:
    return program != NO_PROGRAM and stored is not None and stored.status_at(program) == "passed"


def _is_owed(stored: StoredVerdicts | None, program: int) -> bool:
    return program != NO_PROGRAM and (stored is None or stored.status_at(program) in (None, "void"))


def _count_by_problem(
    problems: Sequence[Problem], table: SampleTable, passes: Sequence[int], *, subset: bool
) -> list[Counts]:
    n, c = array("q", [0] * len(problems)), array("q", [0] * len(problems))
    for at, passed in zip(table.problem, passes, strict=True):
        n[at] += 1
        c[at] += passed
    counts = [Counts(problem_id=problem.id, n=n[at], c=c[at]) for at, problem in enumerate(problems)]
    return [count for count in counts if count.n or not subset]
