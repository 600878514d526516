"""Tests of counts per problem and per status."""

from __future__ import annotations

import msgspec
import pytest

from passcurve.errors import StoreError
from passcurve.store.tally import Tally
from passcurve.types import STATUSES, Counts, SampleKey, Verdict


def verdict(problem_id: str, status: str, **fields) -> Verdict:
    """Return a verdict of a problem."""
    mode = "none" if status == "no_code" else "referee"
    return Verdict(key=SampleKey(problem_id=problem_id, sample_index=0), status=status, mode=mode, **fields)


def make_tally(*problem_ids: str, kind: type[Tally] = Tally) -> Tally:
    """Return a tally that expects one row for each name."""
    tally = kind()
    for problem_id in problem_ids:
        tally.plan(problem_id)
    return tally


def test_counts_are_of_scored_samples():
    """A void verdict counts in neither n nor c, and its row stays owed."""
    tally = make_tally("B", "B", "A", "B")
    for item in (verdict("B", "passed"), verdict("B", "timeout"), verdict("B", "void")):
        tally.add(item)
    tally.check()
    assert (Counts(problem_id="B", n=2, c=1), Counts(problem_id="A", n=0, c=0)) == tally.counts()
    assert (4, 2, 2) == (tally.planned, tally.scored, tally.owed)


def test_statuses_and_modes():
    """Every status and every mode is listed with its count."""
    tally = make_tally(*"ABCD")
    for item in (verdict("A", "passed"), verdict("B", "no_code"), verdict("C", "void"), verdict("C", "failed")):
        tally.add(item)
    tally.check()
    assert {**dict.fromkeys(STATUSES, 0), "passed": 1, "no_code": 1, "void": 1, "failed": 1} == tally.statuses
    assert {"referee": 2, "shared": 0, "none": 1} == tally.modes


def test_suspicious_samples():
    """Suspicious samples are counted, whether or not they passed."""
    tally = make_tally("A", "A")
    tally.add(verdict("A", "passed", suspicious=("opened a socket",)))
    tally.add(verdict("A", "failed"))
    assert 1 == tally.suspicious
    assert {"opened a socket": 1} == tally.suspicions


def test_nothing_planned():
    """An empty tally is consistent."""
    tally = Tally()
    tally.check()
    assert ((), 0) == (tally.counts(), tally.owed)


@pytest.mark.parametrize("extra", ["A", "C"])
def test_more_verdicts_than_rows(extra):
    """An extra verdict is detected, even when another row is owed."""
    tally = make_tally("A", "B")
    tally.add(verdict("A", "passed"))
    tally.add(verdict(extra, "failed"))
    with pytest.raises(StoreError, match=f"more verdicts.*'{extra}'"):
        tally.check()


def test_counts_that_do_not_add_up():
    """A total that differs from the sum over the problems is detected."""

    class Wrong(Tally):
        def counts(self) -> tuple[Counts, ...]:
            return tuple(msgspec.structs.replace(count, c=0) for count in super().counts())

    tally = make_tally("A", "A", kind=Wrong)
    tally.add(verdict("A", "passed"))
    with pytest.raises(StoreError, match=r"\b0 passed \+ 1 failed"):
        tally.check()
