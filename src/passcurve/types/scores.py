"""Counts, metrics, estimates and their intervals."""

from __future__ import annotations

import re
from typing import Literal

import msgspec


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of one problem: n samples with a verdict, c of which passed."""

    problem_id: str
    n: int
    c: int


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A confidence interval, with its level and its method."""

    low: float
    high: float
    level: float
    method: str


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A metric of stored verdicts, as the user requests it."""

    name: str = "pass@k"
    """Name with the letter k, as in ``g-pass@k``; ``cover`` has none."""
    k: int | None = None
    """The requested k, as 5 in ``pass^5``; None: every k of the list."""
    share: str = ""
    """tau of ``g-pass@k`` and ``cover``, as the user wrote it; empty for other metrics."""

    @property
    def label(self) -> str:
        """The name for any k: ``g-pass@k:0.5``."""
        return f"{self.name}:{self.share}" if self.share else self.name


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """An estimate of a metric; ``value`` is None when there is none, and ``reason`` says why."""

    k: int
    """0 for a metric without k (``cover``)."""
    metric: str = "pass@k"
    """Label with the letter k, as in ``g-pass@k:0.5``; ``name`` has the number in its place."""
    value: float | None
    new_problems: Interval | None = None
    """Target A: other problems like these."""
    these_problems: Interval | None = None
    """Target B: these problems, fresh samples."""
    between: float | None = None
    """Estimated variance of the true scores over problems, which may be negative; None where there is no estimate."""
    within: float | None = None
    """Mean variance of a problem's score over fresh samples."""
    within_from: Literal["unbiased", "beta-binomial", "none"] = "none"
    """The method for ``within``; ``beta-binomial`` assumes that model."""
    warnings: tuple[str, ...] = ()
    """Reasons to doubt the value."""
    reason: str = ""

    @property
    def name(self) -> str:
        """The metric at its k: ``pass@10``, ``g-pass@10:0.5``."""
        return re.sub(r"(?<=[@^])k\b", str(self.k), self.metric)

    def __float__(self) -> float:
        """Return the value; raises ValueError with the reason where there is none."""
        if self.value is None:
            raise ValueError(f"{self.name} has no value: {self.reason}")
        return self.value


class SuiteScore(msgspec.Struct, frozen=True, kw_only=True):
    """The score by one suite of the tests, and all before it."""

    name: str
    passed: int
    """Number of samples that pass."""
    estimates: tuple[Estimate, ...]
    alone: bool = False
    """True for a suite that counts by itself: those before it need not pass."""


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """pass@k over several k, with a simultaneous band, for new problems."""

    k: tuple[int, ...]
    value: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    level: float
    method: str
    draws: int
    """Number of random draws for the width of the band, from this seed."""
    seed: int
