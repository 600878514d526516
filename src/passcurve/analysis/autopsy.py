"""What a score owes to its extraction: the same texts judged under several policies.

Every policy makes a program of every text; each distinct program of a problem is judged once, as a whole program, on
the one road that there is.  So what differs between two policies is what they took, and nothing else.
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

_NONE = -1
_PROGRAMS = "programs.jsonl"
_JUDGED = "judged"


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """What one policy makes of the score."""

    policy: str
    estimates: tuple[Estimate, ...]
    passed: int
    no_code: int
    """Samples of which it makes no program."""
    rescued: int
    """Samples that pass here and not under the first policy."""
    spoiled: int
    """Samples that pass under the first policy and not here."""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy made of one sample, and what was said of it."""

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
    """Every problem on which two policies differ, in the order of the benchmark."""
    passed_anywhere: int
    """Samples that pass under at least one policy: they are right up to formatting."""
    up_to_formatting: tuple[Estimate, ...]
    """pass@k if each sample were judged under the policy that suits it best; no policy reaches it alone."""
    owed: int
    """Programs that could not be judged."""
    programs: int
    """Distinct programs that were judged."""
    signature: str
    """Of the judging, with all policies in it; empty when there was no program to judge."""
    folder: str
    exit_code: int


class _Texts(msgspec.Struct, kw_only=True):
    """What was made of the texts: for each row its problem and, for each policy, the row of its program."""

    problem: array[int]
    index: array[int]
    program: array[int]
    malformed: int = 0
    distinct: int = 0


def checked(policies: Sequence[str]) -> tuple[str, ...]:
    """Return the policies, each once, all that there are when none is named.

    Raises UnknownNameError for a policy that there is not, UsageError when there is nothing to compare.
    """
    chosen = tuple(dict.fromkeys(policies)) or policy_names()
    for policy in chosen:
        find_policy(policy)
    if len(chosen) < 2:
        raise UsageError(f"an autopsy needs two policies or more; {chosen[0]!r} is one")
    return chosen


def examine(
    request: pipeline.Request,
    policies: Sequence[str] = (),
    watch: Callable[[pipeline.Progress], None] = lambda _: None,
) -> Autopsy:
    """Judge the samples of a request under several policies; the first is the one that the others are held against.

    ``request.samples`` may be the directory of a run that generated them; ``request.run`` is the folder to work in.
    What an interrupted autopsy had judged there is not judged again.
    Raises what ``pipeline.judge`` raises, and what ``checked`` does.
    """
    policies = checked(policies)
    problems = choose_problems(request.benchmark, request.problems)
    folder = request.run
    texts = _write(request, problems, policies, folder)
    result = None
    if texts.distinct:
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
        return _summary(request, problems, policies, texts, stored, result)
    finally:
        if stored is not None:
            stored.close()


def settings(run: Path) -> Header:
    """Return what a run was judged with; StoreError when the folder is none, or holds no verdicts yet."""
    with RunDir(run).read() as stored:
        return stored.attempt.header


def _rows(request: pipeline.Request, problems: Sequence[Problem]) -> Iterator[Completion | None]:
    """Yield the rows of these problems, and None for each line that is no row."""
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


def _write(request: pipeline.Request, problems: Sequence[Problem], policies: Sequence[str], folder: Path) -> _Texts:
    """Write each distinct program of each problem as a row, and say which text became which."""
    by_id = {problem.id: (at, problem) for at, problem in enumerate(problems)}
    texts = _Texts(problem=array("q"), index=array("q"), program=array("q"))
    known: dict[bytes, int] = {}
    draft = folder / f".{_PROGRAMS}.tmp"
    try:
        folder.mkdir(exist_ok=True)
        with draft.open("w", encoding="ascii") as file:
            for row in _rows(request, problems):
                if row is None:
                    texts.malformed += 1
                    continue
                at, problem = by_id[row.key.problem_id]
                texts.problem.append(at)
                texts.index.append(row.key.sample_index)
                for policy in policies:
                    text = extract(problem, row, policy).text
                    if text is None:
                        texts.program.append(_NONE)
                        continue
                    digest = _digest(problem, text)
                    if digest not in known:
                        known[digest] = len(known)
                        file.write(json.dumps({"task_id": problem.id, "solution": text}) + "\n")
                    texts.program.append(known[digest])
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
    if not texts.problem:
        raise DataError(f"{str(request.samples)!r} has no row to judge")
    texts.distinct = len(known)
    return texts


def _digest(problem: Problem, text: str) -> bytes:
    return hashlib.blake2b(f"{problem.id}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _summary(
    request: pipeline.Request,
    problems: Sequence[Problem],
    policies: Sequence[str],
    texts: _Texts,
    stored: StoredVerdicts | None,
    result: pipeline.Result | None,
) -> Autopsy:
    # Loaded here: numpy takes longer to load than a wrong command line should have to wait.
    from passcurve.stats.estimate import estimate
    from passcurve.stats.metrics import lacks_requested_value

    width, rows = len(policies), len(texts.problem)
    passes = bytearray(_passed(stored, program) for program in texts.program)
    anywhere = bytearray(any(passes[row * width : (row + 1) * width]) for row in range(rows))
    owed = sum(map(partial(_owed, stored), set(texts.program)))

    def score(which: Sequence[int]) -> tuple[Estimate, ...]:
        return estimate(_counts(problems, texts, which, subset=request.subset), request.ks, owed=owed)

    first = passes[::width]
    rulings = []
    for at, policy in enumerate(policies):
        own = passes[at::width]
        rulings.append(
            Ruling(
                policy=policy,
                estimates=score(own),
                passed=sum(own),
                no_code=sum(program == _NONE for program in texts.program[at::width]),
                rescued=sum(b > a for a, b in zip(first, own, strict=True)),
                spoiled=sum(a > b for a, b in zip(first, own, strict=True)),
            )
        )
    attempted = len(set(texts.problem))
    missing = attempted < len(problems) and not request.subset
    unmet = any(lacks_requested_value(ruling.estimates, (), ks_requested=request.ks_requested) for ruling in rulings)
    return Autopsy(
        benchmark=request.benchmark.name,
        problems=len(problems),
        attempted=attempted,
        samples=rows,
        malformed=texts.malformed,
        rulings=tuple(rulings),
        flips=tuple(_flips(request, problems, policies, texts, passes, stored)),
        passed_anywhere=sum(anywhere),
        up_to_formatting=score(anywhere),
        owed=owed,
        programs=texts.distinct,
        signature=_signature(request, policies, result),
        folder=str(request.run),
        exit_code=1 if owed else 2 if texts.malformed or missing or unmet else 0,
    )


def _signature(request: pipeline.Request, policies: Sequence[str], result: pipeline.Result | None) -> str:
    if result is None:
        return ""
    # Inside, whole programs are judged; what the reader asks is whose texts they are, and by which policies taken.
    generation = settings(request.samples).generation if request.samples.is_dir() else None
    return signature(
        msgspec.structs.replace(result.header, extract="+".join(policies), subset=request.subset, generation=generation)
    )


def _passed(stored: StoredVerdicts | None, program: int) -> bool:
    return program != _NONE and stored is not None and stored.status_at(program) == "passed"


def _owed(stored: StoredVerdicts | None, program: int) -> bool:
    return program != _NONE and (stored is None or stored.status_at(program) in (None, "void"))


def _counts(problems: Sequence[Problem], texts: _Texts, passes: Sequence[int], *, subset: bool) -> list[Counts]:
    n, c = array("q", [0] * len(problems)), array("q", [0] * len(problems))
    for at, passed in zip(texts.problem, passes, strict=True):
        n[at] += 1
        c[at] += passed
    each = zip(problems, n, c, strict=True)
    return [Counts(problem_id=one.id, n=of, c=passed) for one, of, passed in each if of or not subset]


class _Case(msgspec.Struct, kw_only=True):
    """What is known of a problem before its texts are read again."""

    n: int = 0
    passed: list[int]
    row: int = -1
    """A row that passes under one policy and not under another."""
    wrong: int = 0
    right: int = 0


def _flips(
    request: pipeline.Request,
    problems: Sequence[Problem],
    policies: Sequence[str],
    texts: _Texts,
    passes: bytearray,
    stored: StoredVerdicts | None,
) -> Iterator[Flip]:
    width = len(policies)
    cases = [_Case(passed=[0] * width) for _ in problems]
    for row, at in enumerate(texts.problem):
        case, own = cases[at], passes[row * width : (row + 1) * width]
        case.n += 1
        case.passed = [a + b for a, b in zip(case.passed, own, strict=True)]
        # A sample that the first policy spoils tells most.
        telling = 0 < sum(own) < width and (case.row < 0 or (case.wrong != 0 and not own[0]))
        if telling:
            case.row, case.wrong, case.right = row, own.index(0), own.index(1)
    wanted = {case.row: (at, case) for at, case in enumerate(cases) if case.row >= 0}
    found: dict[int, Flip] = {}
    for row, completion in enumerate(each for each in _rows(request, problems) if each is not None):
        if row in wanted:
            at, case = wanted[row]
            sides = [
                _side(
                    policies[which],
                    extract(problems[at], completion, policies[which]),
                    texts.program[row * width + which],
                    stored,
                )
                for which in (case.wrong, case.right)
            ]
            found[at] = Flip(
                problem_id=problems[at].id,
                n=case.n,
                passed=dict(zip(policies, case.passed, strict=True)),
                sample_index=texts.index[row],
                wrong=sides[0],
                right=sides[1],
            )
    return (found[at] for at in sorted(found))


def _side(policy: str, program: Program, number: int, stored: StoredVerdicts | None) -> Side:
    verdict = stored.verdict_at(number) if stored is not None and number != _NONE else None
    return Side(
        policy=policy,
        status="no_code" if number == _NONE else verdict.status if verdict is not None else "void",
        message=program.steps[-1] if number == _NONE else verdict.message if verdict is not None else "",
        steps=program.steps,
        program=program.text,
    )
