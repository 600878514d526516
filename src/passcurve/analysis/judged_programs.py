"""The programs of an autopsy: each distinct one is written once, and judged once by each distinct set of rules."""

from __future__ import annotations

import contextlib
import hashlib
import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from passcurve.analysis.flips import NO_PROGRAM, SampleTable
from passcurve.analysis.variants import Variant
from passcurve.errors import DataError, place_error
from passcurve.extract import DEFAULT, extract
from passcurve.judging import run as judging
from passcurve.store.completions import stored_completions
from passcurve.store.rundir import RunDir
from passcurve.store.samples import MalformedLine, read_rows
from passcurve.store.verdicts import StoredVerdicts
from passcurve.store.whole_files import whole_file
from passcurve.types import Completion, Problem

_PROGRAMS = "programs"
_JUDGED = "judged"


class RulesRun(msgspec.Struct, kw_only=True):
    """The programs that are judged by one set of rules: problems and limits that some profiles share."""

    request: judging.Request
    profiles: tuple[str, ...]
    suffix: str
    """What the names of its file and folder end in; empty where it is the only one."""
    rows: dict[bytes, int]
    """The row of each program, by its digest."""
    empty: int = 0
    """Rows behind these without a program, of problems that have none but may be excluded all the same."""
    result: judging.Result | None = None
    stored: StoredVerdicts | None = None

    @property
    def programs(self) -> Path:
        """The file of its programs."""
        return self.request.run / f"{_PROGRAMS}{self.suffix}.jsonl"

    def judge(self, watch: Callable[[judging.Progress], None]) -> None:
        """Judge the programs, if there are any, and open their verdicts."""
        if not self.rows and not self.empty:
            return
        folder = self.request.run / f"{_JUDGED}{self.suffix}"
        inner = msgspec.structs.replace(
            self.request,
            samples=self.programs,
            run=folder,
            results=None,
            ks=(1,),
            ks_requested=False,
            subset=True,
            strict=False,
            extract=DEFAULT,
        )
        self.result = judging.judge(inner, watch)
        self.stored = RunDir(folder).read()

    def close(self) -> None:
        """Close the verdicts."""
        if self.stored is not None:
            self.stored.close()

    def has_passed(self, program: int) -> bool:
        """Return whether a program has passed."""
        return program != NO_PROGRAM and self.stored is not None and self.stored.status_at(program) == "passed"

    def count_owed(self) -> int:
        """Return how many programs have no verdict."""
        stored = self.stored
        return sum(stored is None or stored.status_at(row) in (None, "void") for row in self.rows.values())


def group_rules(requests: Mapping[str, judging.Request]) -> tuple[RulesRun, ...]:
    """Return the distinct sets of rules among the requests of some profiles, in their order."""
    groups: list[RulesRun] = []
    for profile, request in requests.items():
        for group in groups:
            same = group.request.limits == request.limits
            if same and group.request.benchmark.problems == request.benchmark.problems:
                group.profiles += (profile,)
                break
        else:
            suffix = f"-{profile}" if len(requests) > 1 else ""
            groups.append(RulesRun(request=request, profiles=(profile,), suffix=suffix, rows={}))
    return tuple(groups)


def read_samples(request: judging.Request, problems: Sequence[Problem]) -> Iterator[Completion | None]:
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


def write_programs(problems: Sequence[Problem], variants: Sequence[Variant], rules: Sequence[RulesRun]) -> SampleTable:
    """Write each distinct program of each problem as a row for its rules, and return the table of the samples."""
    request = rules[0].request
    by_id = {problem.id: (at, problem) for at, problem in enumerate(problems)}
    table = SampleTable(problem=array("q"), index=array("q"), program=array("q"))
    try:
        request.run.mkdir(exist_ok=True)
        with contextlib.ExitStack() as files:
            opened = [(group, files.enter_context(whole_file(group.programs))) for group in rules]
            targets = [
                next((policy, *pair) for pair in opened if profile in pair[0].profiles)
                for policy, profile in ((variant.policy, variant.profile) for variant in variants)
            ]
            for sample in read_samples(request, problems):
                if sample is None:
                    table.malformed += 1
                    continue
                at, problem = by_id[sample.key.problem_id]
                table.problem.append(at)
                table.index.append(sample.key.sample_index)
                for policy, group, file in targets:
                    text = extract(problem, sample, policy).text
                    table.program.append(NO_PROGRAM if text is None else _write_once(group, file, problem, text))
            group, file = opened[0]
            for at in _without_program(table):
                group.empty += 1
                file.write(json.dumps({"task_id": problems[at].id, "solution": ""}).encode("ascii") + b"\n")
    except OSError as error:
        message = f"cannot work in {str(request.run)!r}: {error.strerror or error}; choose another place with --run DIR"
        raise place_error(message, error) from error
    if not table.problem:
        raise DataError(f"{str(request.samples)!r} has no rows to judge")
    return table


def _without_program(table: SampleTable) -> list[int]:
    """Return the problems with samples none of which has a program."""
    width = len(table.program) // max(1, len(table.problem))
    rows = (table.program[first : first + width] for first in range(0, len(table.program), max(1, width)))
    with_program = {at for at, row in zip(table.problem, rows, strict=True) if max(row) != NO_PROGRAM}
    return sorted(set(table.problem) - with_program)


def _write_once(group: RulesRun, file: BinaryIO, problem: Problem, text: str) -> int:
    """Return the row of a program, which is written unless it is there."""
    digest = hashlib.blake2b(f"{problem.id}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
    if digest not in group.rows:
        group.rows[digest] = len(group.rows)
        file.write(json.dumps({"task_id": problem.id, "solution": text}).encode("ascii") + b"\n")
    return group.rows[digest]
