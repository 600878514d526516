"""Laws of difficulty, and what is counted of an interval, for coverage.py and coverage_fresh.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy import special

LEVEL = 0.95
BLOCK = 2_000
PROBLEMS = (20, 50, 100, 164)
PLANS = {1: (1,), 2: (1, 2), 5: (1, 3, 5), 20: (1, 10, 20), 200: (1, 10)}
"""Samples of each problem, and the k looked at."""


class Law(NamedTuple):
    """A law of the chances p of problems; ``moment(i, j)`` is E[p^i (1-p)^j]."""

    name: str
    draw: Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
    moment: Callable[[int, int], float]

    def truth(self, k: int) -> float:
        """Return the mean of pass@k over the law."""
        return 1.0 - self.moment(0, k)

    def relatives(self, k: int) -> dict[str, float]:
        """Return the means of relatives of pass@k, under the names that the command line gives them."""
        half = range(max(1, math.ceil(k / 2)), k + 1)
        return {
            "pass^k": self.moment(k, 0),
            "g-pass@k:0.5": sum(math.comb(k, j) * self.moment(j, k - j) for j in half),
            "attempts@k": sum(self.moment(0, j) for j in range(k)),
        }


def _alike(name: str, p: float) -> Law:
    return Law(name, lambda _, shape: np.full(shape, p), lambda i, j: p**i * (1 - p) ** j)


def _beta(a: float, b: float, i: int, j: int) -> float:
    return math.exp(special.betaln(a + i, b + j) - special.betaln(a, b))


LAWS = (
    _alike("alike, p = .3", 0.3),
    Law("uniform", lambda rng, shape: rng.random(shape), lambda i, j: _beta(1, 1, i, j)),
    Law(
        "U-shaped, Beta(.2, .8)",
        lambda rng, shape: rng.beta(0.2, 0.8, shape),
        lambda i, j: _beta(0.2, 0.8, i, j),
    ),
    Law(
        "4 of 5 impossible",
        lambda rng, shape: rng.random(shape) * (rng.random(shape) < 0.2),
        lambda i, j: 0.2 * _beta(1, 1, i, j) + 0.8 * (i == 0),
    ),
    _alike("alike and rare, p = .02", 0.02),
)


def _two_groups(name: str, low: Callable, high: Callable, share: float, moment: Callable[[int, int], float]) -> Law:
    """Return a law of problems that nearly never pass, a share of them, and of others that nearly always do."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
        return np.where(rng.random(shape) < share, low(rng, shape), high(rng, shape))

    return Law(name, draw, moment)


def _two_points(low: float, high: float) -> Law:
    return _two_groups(
        f"half p = {low:.2f}, half {high:.2f}".replace("0.", "."),
        lambda _, shape: np.full(shape, low),
        lambda _, shape: np.full(shape, high),
        0.5,
        lambda i, j: (low**i * (1 - low) ** j + high**i * (1 - high) ** j) / 2,
    )


TWO_GROUPS = (
    _two_points(0.01, 0.99),
    _two_points(0.02, 0.98),
    _two_points(0.05, 0.95),
    _two_points(0.02, 1.0),
    _two_groups(
        ".6 Beta(1, 30), .4 Beta(30, 1)",
        lambda rng, shape: rng.beta(1, 30, shape),
        lambda rng, shape: rng.beta(30, 1, shape),
        0.6,
        lambda i, j: 0.6 * _beta(1, 30, i, j) + 0.4 * _beta(30, 1, i, j),
    ),
)
"""Laws under which a model of the chances with one shape is wrong, for the intervals for these problems."""


@dataclass
class Tally:
    """The counts of one interval in one cell."""

    seen: int = 0
    held: int = 0
    width: float = 0.0

    def add(self, low: np.ndarray, high: np.ndarray, truth: np.ndarray | float) -> None:
        """Count intervals; those without an end or without a width hold nothing."""
        real = np.isfinite(low) & (high > low)
        self.seen += low.size
        self.held += int((real & (low <= truth + 1e-12) & (truth <= high + 1e-12)).sum())
        self.width += float(np.where(real, high - low, 0.0).sum())

    @property
    def coverage(self) -> float:
        """Share of the intervals that held the truth."""
        return self.held / self.seen

    def __str__(self) -> str:
        return f"{self.coverage:.4f} ({self.width / self.seen:.3f})"


@dataclass
class Cell:
    """One law, number of problems, n and k."""

    law: str
    m: int
    n: int
    k: int
    tallies: dict[str, Tally] = field(default_factory=dict)

    def of(self, name: str) -> Tally:
        """Return the tally of an interval."""
        return self.tallies.setdefault(name, Tally())


def blocks(replicates: int) -> Iterator[int]:
    """Yield sizes that add up to the replicates."""
    for start in range(0, replicates, BLOCK):
        yield min(BLOCK, replicates - start)
