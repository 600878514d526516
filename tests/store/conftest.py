"""Records that the tests of the store share."""

from __future__ import annotations

import pytest

from passcurve.store.codec import VerdictLine
from passcurve.types import Completion, Header, Jail, Limits, SampleKey, Verdict


def _verdict(row: int = 0, status: str = "passed", **fields) -> Verdict:
    key = SampleKey(problem_id=f"T/{row}", sample_index=0)
    return Verdict(key=key, status=status, mode="referee", **fields)


def _line(row: int = 0, status: str = "passed", digest: str = "", **fields) -> VerdictLine:
    return VerdictLine(row=row, digest=digest or f"{row:016x}", program="p", verdict=_verdict(row, status, **fields))


def _completion(row: int, digest: str = "") -> Completion:
    key = SampleKey(problem_id=f"T/{row}", sample_index=0)
    return Completion(key=key, row=row, line=row + 1, digest=digest or f"{row:016x}", form="completion", text="pass")


@pytest.fixture
def verdict():
    """Make a verdict of a row."""
    return _verdict


@pytest.fixture
def line():
    """Make a stored line of a row."""
    return _line


@pytest.fixture
def completion():
    """Make a completion as the reader returns it."""
    return _completion


@pytest.fixture
def header() -> Header:
    """Make a typical header."""
    jail = Jail(isolation="full", layers=("rlimits", "seccomp"), python="3.11.7", packages=("numpy==2.0",))
    return Header(
        version="1.0",
        benchmark="starter",
        benchmark_digest="b" * 64,
        samples="samples.jsonl",
        limits=Limits(),
        verdict="auto",
        dedup=True,
        jail=jail,
    )
