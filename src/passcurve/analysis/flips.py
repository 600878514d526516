"""The flips of an autopsy: samples that pass under one policy and not under another, by pattern and by example."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec

from passcurve.analysis.variants import Variant
from passcurve.extract import NO_PRELUDE, extract, prelude_names
from passcurve.extract.preludes import prelude_bindings
from passcurve.report.records import Flip, MissingImports, Pattern, Side
from passcurve.store.reasons import without_test
from passcurve.store.verdicts import StoredVerdicts
from passcurve.types import Completion, Problem, Program, Verdict

NO_PROGRAM = -1

_NAMED_FAULT = re.compile(r"(NameError: name|ModuleNotFoundError: No module named) '([^']{1,60})'")

_WRONG_RESULT = "wrong result"
"""How the message ends where the result of a test is not the expected one."""


class SampleTable(msgspec.Struct, kw_only=True):
    """The problem and the index of each sample, and the row of its program under each variant."""

    problem: array[int]
    index: array[int]
    program: array[int]
    """Rows in the file of programs of each variant's rules."""
    malformed: int = 0

    def without(self, problems: Collection[int]) -> SampleTable:
        """Return the table without the samples of some problems."""
        width = len(self.program) // max(1, len(self.problem))
        rows = [row for row, problem in enumerate(self.problem) if problem not in problems]
        cells = [cell for row in rows for cell in range(row * width, (row + 1) * width)]
        return SampleTable(
            problem=array(self.problem.typecode, (self.problem[row] for row in rows)),
            index=array(self.index.typecode, (self.index[row] for row in rows)),
            program=array(self.program.typecode, (self.program[cell] for cell in cells)),
            malformed=self.malformed,
        )


def count_uniform_problems(problems: Sequence[int], programs: Sequence[int]) -> int:
    """Return the number of problems with several samples of one program; 0 if any has two programs.

    As in ``store/duplicates.py``, samples without a program are no copies.
    """
    several: dict[int, set[int]] = {}
    sizes = Counter(problems)
    for problem, program in zip(problems, programs, strict=True):
        if sizes[problem] > 1:
            several.setdefault(problem, set()).add(program)
    if any(len(one) > 1 for one in several.values()):
        return 0
    return sum(NO_PROGRAM not in one for one in several.values())


class Failure(NamedTuple):
    """The kind of a failure, and the name that was missing, if any."""

    kind: str
    name: str = ""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The samples under each policy, and the verdicts on their programs."""

    variants: tuple[Variant, ...]
    table: SampleTable
    passes: bytearray
    """For each sample, whether it passes under each variant."""
    stored: tuple[StoredVerdicts | None, ...]
    """The verdicts by the rules of each variant."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variants."""
        return tuple(variant.name for variant in self.variants)

    def key(self, cell: int) -> tuple[int, int]:
        """Return a key that cells with the same verdict share."""
        return self.stored.index(self.stored[cell % len(self.variants)]), self.table.program[cell]

    def verdict(self, cell: int) -> Verdict | None:
        """Return the verdict on the program in a cell of the table; None where there is none."""
        program, stored = self.table.program[cell], self.stored[cell % len(self.variants)]
        return stored.verdict_at(program) if stored is not None and program != NO_PROGRAM else None

    def failure(self, cell: int) -> Failure:
        """Return how the program in a cell fails."""
        if self.table.program[cell] == NO_PROGRAM:
            return Failure("no program")
        verdict = self.verdict(cell)
        if verdict is None or verdict.status == "void":
            return Failure("no verdict")
        named = _NAMED_FAULT.match(without_test(verdict.message))
        unnamed = _WRONG_RESULT if verdict.message.endswith(_WRONG_RESULT) else verdict.status
        return Failure(verdict.exception or unnamed, named[2] if named else "")


class _Case(msgspec.Struct, kw_only=True):
    """The counts of a problem, and the sample that shows a flip."""

    n: int = 0
    passed: list[int]
    row: int = -1
    """A sample that passes under one policy and not under another."""
    wrong: int = 0
    right: int = 0
    pattern: int = 0


class _Group(msgspec.Struct, kw_only=True):
    samples: int = 0
    problems: set[int]
    names: Counter[str]
    policies: Counter[str]


class Flips:
    """The problems that flip, and the patterns of their samples, gathered sample by sample."""

    def __init__(self, judged: Judged, problems: int) -> None:
        width = len(judged.variants)
        self._judged = judged
        self._cases = [_Case(passed=[0] * width) for _ in range(problems)]
        self._groups: dict[tuple[bool, str], _Group] = {}
        self._failures: dict[tuple[int, int], Failure] = {}
        for row, at in enumerate(judged.table.problem):
            own = judged.passes[row * width : (row + 1) * width]
            case = self._cases[at]
            case.n += 1
            case.passed = [a + b for a, b in zip(case.passed, own, strict=True)]
            if 0 < sum(own) < width:
                self._add(row, case, own)
        order = sorted(self._groups, key=lambda key: -self._groups[key].samples)
        self.patterns = tuple(self._pattern(key) for key in order)
        self._rank = {key: at for at, key in enumerate(order)}

    def _add(self, row: int, case: _Case, own: bytearray) -> None:
        """Count a sample: by how the first policy fails it, or else by each way in which others fail it."""
        gained, first = not own[0], row * len(own)
        ways: dict[str, list[int]] = {}
        for at, passed in enumerate(own):
            if bool(passed) == gained:
                ways.setdefault(self._failure(first if gained else first + at).kind, []).append(at)
        for policies in ways.values():
            self._count(row, policies, self._failure(first if gained else first + policies[0]), gained=gained)
        # Prefer a sample that fails under the first policy.
        wrong = own.index(0)
        if case.row < 0 or (case.wrong != 0 and gained):
            case.row, case.wrong, case.right = row, wrong, own.index(1)

    def _count(self, row: int, policies: Iterable[int], failure: Failure, *, gained: bool) -> None:
        """Count a sample among those that fail in one way, under the policies that pass it, or fail it so."""
        empty = _Group(problems=set(), names=Counter(), policies=Counter())
        group = self._groups.setdefault((gained, failure.kind), empty)
        group.samples += 1
        group.names[failure.name] += 1
        group.problems.add(self._judged.table.problem[row])
        group.policies.update(self._judged.names[at] for at in policies)

    def _failure(self, cell: int) -> Failure:
        key = self._judged.key(cell)
        if key not in self._failures:
            self._failures[key] = self._judged.failure(cell)
        return self._failures[key]

    def _pattern(self, key: tuple[bool, str]) -> Pattern:
        group = self._groups[key]
        return Pattern(
            gained=key[0],
            failure=key[1],
            problems=len(group.problems),
            samples=group.samples,
            names={name: count for name, count in group.names.most_common() if name},
            policies={name: group.policies[name] for name in self._judged.names if group.policies[name]},
        )

    def examples(self, problems: Sequence[Problem], samples: Iterable[Completion]) -> tuple[Flip, ...]:
        """Return each problem that flips with a sample, in the order of the problems; reads the samples again."""
        flipping = {case.row: (at, case) for at, case in enumerate(self._cases) if case.row >= 0}
        flips: dict[int, Flip] = {}
        for row, completion in enumerate(samples):
            if row in flipping:
                at, case = flipping[row]
                flips[at] = self._flip(problems[at], case, completion)
        return tuple(flips[at] for at in sorted(flips))

    def _flip(self, problem: Problem, case: _Case, completion: Completion) -> Flip:
        judged = self._judged
        first = case.row * len(judged.variants)
        sides = [self._side(judged.variants[at], problem, completion, first + at) for at in (case.wrong, case.right)]
        failure = self._failure(first + case.wrong)
        return Flip(
            problem_id=problem.id,
            n=case.n,
            passed=dict(zip(judged.names, case.passed, strict=True)),
            sample_index=judged.table.index[case.row],
            wrong=sides[0],
            right=sides[1],
            pattern=self._rank[case.wrong == 0, failure.kind],
        )

    def _side(self, variant: Variant, problem: Problem, completion: Completion, cell: int) -> Side:
        program: Program = extract(problem, completion, variant.policy)
        verdict, lacks_program = self._judged.verdict(cell), self._judged.table.program[cell] == NO_PROGRAM
        return Side(
            policy=variant.name,
            status="no_code" if lacks_program else verdict.status if verdict is not None else "void",
            message=program.steps[-1] if lacks_program else verdict.message if verdict is not None else "",
            steps=program.steps,
            program=program.text,
        )


def find_missing_imports(judged: Judged) -> MissingImports | None:
    """Return the samples that fail for want of a name that some prelude imports; None if none does.

    They are those of the policy that would have most passing samples if all of them passed.
    """
    bindings = {name: prelude_bindings(name) for name in prelude_names() if name != NO_PRELUDE}
    importable = frozenset().union(*bindings.values())
    passed: Counter[int] = Counter()
    width = len(judged.variants)
    names: dict[int, Counter[str]] = {at: Counter() for at in range(width)}
    missing: dict[tuple[int, int], str] = {}
    for cell, program in enumerate(judged.table.program):
        at = cell % width
        passed[at] += judged.passes[cell]
        if judged.passes[cell] or program == NO_PROGRAM:
            continue
        key = judged.key(cell)
        if key not in missing:
            failure = judged.failure(cell)
            missing[key] = failure.name if failure.kind == "NameError" and failure.name in importable else ""
        if missing[key]:
            names[at][missing[key]] += 1
    best = max(names, key=lambda at: (passed[at] + names[at].total(), names[at].total()))
    if not names[best]:
        return None
    covered = Counter({prelude: sum(names[best][name] for name in bound) for prelude, bound in bindings.items()})
    return MissingImports(
        policy=judged.names[best],
        samples=names[best].total(),
        names=dict(names[best].most_common()),
        preludes={prelude: samples for prelude, samples in covered.most_common() if samples},
    )
