"""Target B of coverage.py: intervals for these problems, of one run and of the difference of two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from coverage_laws import LAWS, LEVEL, PLANS, TWO_GROUPS, Cell, Tally, blocks
from scipy import special, stats

from passcurve.stats import clopper_pearson, dataset_interval, paired_difference, pass_at_k, var_pass_at_k
from passcurve.stats.fit import fit_tails
from passcurve.stats.mixture import STEPS, grid_chances
from passcurve.stats.sampling import largest_variance, overlap_probabilities

Z = -special.ndtri((1 - LEVEL) / 2)
PAIRS = ((5, 5, 1), (5, 5, 5), (20, 20, 1), (20, 20, 10), (20, 20, 20), (20, 2, 2))
"""n of A, n of B, and k."""
ALL_LAWS = (*LAWS, *TWO_GROUPS)

Ends = tuple[np.ndarray, np.ndarray]


class Models:
    """The fits of many data sets with n samples of each problem.

    ``table`` has the number of problems with 0, 1, ... n passes; no data set is saturated.
    """

    def __init__(self, table: np.ndarray, n: int) -> None:
        self.table, self.n, self.m = table, n, int(table[0].sum()) if len(table) else 0
        more = np.cumsum(table[:, ::-1], axis=1)[:, ::-1]  # problems with at least c passes
        passed, failed = more[:, 1:], np.cumsum(table, axis=1)[:, :n][:, ::-1]
        fit = fit_tails(passed.astype(float), failed.astype(float), np.full(passed.shape, float(self.m)))
        self.a, self.b = fit.a, fit.b
        self.chances = grid_chances(n)
        likelihood = stats.binom.pmf(np.arange(n + 1)[:, None], n, self.chances)
        self.weights = np.full((len(table), self.chances.size), 1.0 / self.chances.size)
        for _ in range(STEPS + 1):  # one more: the mean of the posteriors after the last step
            chance = self.weights @ likelihood.T
            # Counts that do not occur may have no chance left.
            self.weights *= (table / np.where(table > 0, chance, 1.0) / self.m) @ likelihood

    def mirrored(self) -> Models:
        """Return the fits of the same data sets with failures for passes; the grid is its own mirror image."""
        other = object.__new__(Models)
        other.table, other.n, other.m = self.table[:, ::-1], self.n, self.m
        other.a, other.b = self.b, self.a
        other.chances, other.weights = self.chances, self.weights[:, ::-1]
        return other

    def beta_binomial(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums over problems of the posterior means of the sampling variance and of pass@k."""
        c = np.arange(self.n + 1)
        size, failed = (self.a + self.b)[:, None] + self.n, self.b[:, None] + self.n - c
        moments = [np.ones_like(failed)]
        for t in range(2 * k):
            moments.append(moments[-1] * (failed + t) / (size + t))
        weights = overlap_probabilities(self.n, k)
        spread = sum(weights[j] * (moments[2 * k - j] - moments[2 * k]) for j in range(1, k + 1) if weights[j] > 0)
        return (self.table * spread).sum(axis=1), (self.table * (1.0 - moments[k])).sum(axis=1)

    def mixture(self, k: int) -> np.ndarray:
        """Return the sums over problems of the sampling variance under the mixture."""
        q = 1.0 - self.chances
        weights = overlap_probabilities(self.n, k)
        spread = sum(weights[j] * (q ** (2 * k - j) - q ** (2 * k)) for j in range(1, k + 1) if weights[j] > 0)
        return self.m * (self.weights @ spread)

    def noise(self, k: int) -> Ends:
        """Return the variances of the sum of the scores for the limits below and above."""
        variance = np.maximum(self.beta_binomial(k)[0], self.mixture(k))
        below, above = unseen(self.table, self.n, k)
        return variance + below, variance + above

    def limits(self, k: int) -> Ends:
        """Return the limits for these problems."""
        mean = self.table @ pass_at_k(self.n, np.arange(self.n + 1), k) / self.m
        smooth = self.beta_binomial(k)[1] / self.m
        product = np.minimum(mean * (1.0 - mean), smooth * (1.0 - smooth))
        below, above = (np.maximum(self.m, product * self.m**2 / variance) for variance in self.noise(k))
        low = special.betaincinv(np.maximum(below * mean, 1e-12), below * (1.0 - mean) + 1.0, (1 - LEVEL) / 2)
        high = special.betaincinv(above * mean + 1.0, np.maximum(above * (1.0 - mean), 1e-12), (1 + LEVEL) / 2)
        low, high = np.where(mean <= 0.0, 0.0, low), np.where(mean >= 1.0, 1.0, high)
        if k > 1:
            return low, high
        # Where what is added for agreement says more than the samples, those of all problems are one proportion.
        pooled = clopper_pearson(self.table @ np.arange(self.n + 1), self.m * self.n, LEVEL)
        seen = np.maximum(self.beta_binomial(k)[0], self.mixture(k))
        below, above = (total > 2.0 * seen for total in self.noise(k))
        low = np.where(below, np.maximum(low, pooled.low), low)
        return low, np.where(above, np.minimum(high, pooled.high), high)


def unseen(table: np.ndarray, n: int, k: int) -> Ends:
    """Return the variances that are added for the limits below and above."""
    largest = largest_variance(n, k)
    events = -np.log(1 - LEVEL) / Z
    below = np.minimum((events / n) ** 2, (table[:, n] if k == 1 else 0 * table[:, n]) * largest)
    above = np.minimum((events * k / n) ** 2, table[:, 0] * largest)
    return np.maximum(largest, below), np.maximum(largest, above)


def counted(c: np.ndarray, n: int) -> np.ndarray:
    """Return how many problems of each data set have 0, 1, ... n passes."""
    rows = np.arange(len(c))[:, None] * (n + 1)
    return np.bincount((rows + c).ravel(), minlength=len(c) * (n + 1)).reshape(len(c), n + 1)


def limits(table: np.ndarray, models: Models | None, n: int, k: int) -> Ends:
    """Return the default limits for these problems; ``models`` are those of the data sets that are not saturated."""
    m = int(table[0].sum())
    low, high = np.empty(len(table)), np.empty(len(table))
    rest = (table[:, 0] < m) & (table[:, n] < m)
    for rows, value in ((table[:, 0] == m, 0), (table[:, n] == m, n)):
        if rows.any():
            one = dataset_interval(n, [value] * m, k, "these_problems", LEVEL)
            low[rows], high[rows] = one.low, one.high
    if models is None:
        low[rest], high[rest] = clopper_pearson(table[rest][:, 1], m, LEVEL)
    elif rest.any():
        low[rest], high[rest] = models.limits(k)
    return low, high


def fresh_of(task: tuple[int, int, int, int, int]) -> list[Cell]:
    """Simulate one law, m and n for these problems."""
    law_at, m, n, replicates, seed = task
    law = ALL_LAWS[law_at]
    rng = np.random.default_rng([seed, 1 << 22, law_at, m, n])
    cells = [Cell(law.name, m, n, k) for k in PLANS[n]]
    for number, rows in enumerate(blocks(replicates)):
        p = law.draw(rng, (rows, m))
        c = rng.binomial(n, p)
        table = counted(c, n)
        models = Models(table[(table[:, 0] < m) & (table[:, n] < m)], n) if n > 1 else None
        for cell in cells:
            k, truth = cell.k, (1.0 - (1.0 - p) ** cell.k).mean(axis=1)
            ends = {"B: default": limits(table, models, n, k)}
            cell.of("B: default").add(*ends["B: default"], truth)
            if k > 1:
                low, high = limits(table[:, ::-1], models.mirrored(), n, k)
                cell.of("B: pass^k").add(1.0 - high, 1.0 - low, (p**k).mean(axis=1))
            if 2 * k <= n:
                mean = table @ pass_at_k(n, np.arange(n + 1), k) / m
                reach = Z * np.sqrt(table @ var_pass_at_k(n, np.arange(n + 1), k)) / m
                ends["B: unbiased"] = np.maximum(0.0, mean - reach), np.minimum(1.0, mean + reach)
                cell.of("B: unbiased").add(*ends["B: unbiased"], truth)
            if number == 0:
                check(c[:3], cell, ends)
    return cells


def check(c: np.ndarray, cell: Cell, ends: dict[str, Ends]) -> None:
    """Compare with what the library returns for the same counts."""
    for name, (low, high) in ends.items():
        method = "unbiased" if name == "B: unbiased" else None
        for i, row in enumerate(c):
            one = dataset_interval(cell.n, row, cell.k, "these_problems", method=method)
            np.testing.assert_allclose((low[i], high[i]), (one.low, one.high), rtol=1e-5, atol=1e-6)


@dataclass
class FreshPair:
    """The interval for these problems of two equally good runs; A has a chance of its own on 30 % of the problems."""

    law: str
    m: int
    n_a: int
    n_b: int
    k: int
    tallies: dict[str, Tally] = field(default_factory=dict)


def fresh_pairs_of(task: tuple[int, int, int, int]) -> list[FreshPair]:
    """Simulate comparisons of one law and m for these problems."""
    law_at, m, replicates, seed = task
    law = ALL_LAWS[law_at]
    rng = np.random.default_rng([seed, 1 << 23, law_at, m])
    cells = [FreshPair(law.name, m, *plan, {"B: paired": Tally()}) for plan in PAIRS]
    for cell in cells:
        for number, rows in enumerate(blocks(replicates)):
            p_b = law.draw(rng, (rows, m))
            p_a = np.where(rng.random((rows, m)) < 0.7, p_b, law.draw(rng, (rows, m)))
            truth = ((1.0 - p_b) ** cell.k - (1.0 - p_a) ** cell.k).mean(axis=1)
            c_a, c_b = rng.binomial(cell.n_a, p_a), rng.binomial(cell.n_b, p_b)
            (mean_a, *a), (mean_b, *b) = (scored(c, n, cell.k) for c, n in ((c_a, cell.n_a), (c_b, cell.n_b)))
            low = mean_a - mean_b - Z * np.sqrt(a[0] + b[1]) / m
            high = mean_a - mean_b + Z * np.sqrt(a[1] + b[0]) / m
            low, high = np.maximum(-1.0, low), np.minimum(1.0, high)
            cell.tallies["B: paired"].add(low, high, truth)
            for i in range(2 if number == 0 else 0):
                one = paired_difference(cell.n_a, c_a[i], cell.n_b, c_b[i], cell.k, draws=99).these_problems
                np.testing.assert_allclose((low[i], high[i]), tuple(one), rtol=1e-5, atol=1e-6)
    return cells


def scored(c: np.ndarray, n: int, k: int) -> Iterator[np.ndarray]:
    """Yield the mean scores, and the variances of their sums for the limits below and above."""
    table, m = counted(c, n), c.shape[1]
    yield table @ pass_at_k(n, np.arange(n + 1), k) / m
    rest = (table[:, 0] < m) & (table[:, n] < m)
    below, above = unseen(table, n, k)
    if rest.any():
        below[rest], above[rest] = Models(table[rest], n).noise(k)
    yield below
    yield above
