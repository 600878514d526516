"""How often the intervals of passcurve hold what they should, how wide they are, and how often the tests reject.

    python benchmarks/coverage.py [--replicates 100000] [--seed 0] [--processes 2] [--out docs/coverage.md]

Simulates data sets whose true chances are known, under laws of difficulty that range from "all alike" to "most problems
impossible", and writes the share of intervals that hold the truth, their mean width, the false rejections of the
sign-flip test and its power.  Every formula is worked on many data sets at once here; for the first data sets of each
cell the result is compared with what the library itself returns, and a difference ends the run.

Target A: the truth is the mean of pass@k over the law.  Target B: the truth is the mean over the problems of this very
data set.  A bootstrap or a sign-flip test draws 999 times, anew for every 2,000 data sets.
With matplotlib a chart is written beside the table.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process per core already

import math
import multiprocessing
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import special

from passcurve.stats import (
    clopper_pearson,
    clustered_se,
    dataset_interval,
    mcnemar_exact,
    one_problem_interval,
    paired_difference,
    pass_at_k,
    plus_two_t,
    var_pass_at_k,
    wilson,
)
from passcurve.stats.dataset import bootstrap_counts, effective_limits
from passcurve.stats.fit import fit_tails
from passcurve.stats.sampling import largest_variance, overlap

LEVEL = 0.95
TAIL = 0.025
BLOCK = 2_000
DRAWS = 999
FLOOR = 0.93
"""What a default interval must cover in every cell."""

PROBLEMS = (20, 50, 100, 164)
PLANS = {1: (1,), 2: (1, 2), 5: (1, 3, 5), 20: (1, 10, 20), 200: (1, 10)}
"""Samples of each problem, and the k looked at."""


class Law(NamedTuple):
    """A law of the chances of problems."""

    name: str
    draw: Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
    truth: Callable[[int], float]


def _moment(a: float, b: float, k: int) -> float:
    """Return E[(1-p)^k] for p ~ Beta(a, b)."""
    return math.exp(special.betaln(a, b + k) - special.betaln(a, b))


LAWS = (
    Law("alike, p = .3", lambda _, shape: np.full(shape, 0.3), lambda k: 1 - 0.7**k),
    Law("uniform", lambda rng, shape: rng.random(shape), lambda k: 1 - 1 / (k + 1)),
    Law("U-shaped, Beta(.2, .8)", lambda rng, shape: rng.beta(0.2, 0.8, shape), lambda k: 1 - _moment(0.2, 0.8, k)),
    Law(
        "4 of 5 impossible",
        lambda rng, shape: rng.random(shape) * (rng.random(shape) < 0.2),
        lambda k: 0.2 * (1 - 1 / (k + 1)),
    ),
    Law("alike and rare, p = .02", lambda _, shape: np.full(shape, 0.02), lambda k: 1 - 0.98**k),
)


@dataclass
class Tally:
    """What was counted of one interval in one cell."""

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


def t_interval(mean: np.ndarray, square: np.ndarray, m: int, *, lowest: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return t limits from mean and mean square of m values, clipped."""
    variance = np.maximum(0.0, square - mean**2) * m / (m - 1)
    variance[variance < 1e-13] = 0.0
    reach = -special.stdtrit(m - 1, TAIL) * np.sqrt(variance / m)
    return np.maximum(lowest, mean - reach), np.minimum(1.0, mean + reach)


def expected(a: np.ndarray, b: np.ndarray, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each fit and each c, the posterior means of sampling variance and pass@k, shape (fits, n+1)."""
    c = np.arange(n + 1)
    size, failed = (a + b)[:, None] + n, b[:, None] + n - c
    moments = [np.ones_like(failed)]
    for t in range(2 * k):
        moments.append(moments[-1] * (failed + t) / (size + t))
    weights = overlap(n, k)
    spread = sum(weights[j] * (moments[2 * k - j] - moments[2 * k]) for j in range(1, k + 1) if weights[j] > 0)
    return spread, 1.0 - moments[k]


def these_problems(c: np.ndarray, table: np.ndarray, n: int, ks: tuple[int, ...]) -> dict[int, tuple]:
    """Return the default limits for these problems, for each k."""
    m = c.shape[1]
    found = {k: (np.empty(len(c)), np.empty(len(c))) for k in ks}
    none, every = table[:, 0] == m, table[:, n] == m
    for rows, value in ((none, 0), (every, n)):
        if rows.any():
            for k in ks:
                one = dataset_interval(n, [value] * m, k, "these_problems", LEVEL)
                found[k][0][rows], found[k][1][rows] = one.low, one.high
    rest = ~(none | every)
    if n == 1:
        found[1][0][rest], found[1][1][rest] = clopper_pearson(c[rest].sum(axis=1), m, LEVEL)
        return found
    counted = table[rest]
    more = np.cumsum(counted[:, ::-1], axis=1)[:, ::-1]  # problems with at least c passes
    passed, failed = more[:, 1:], np.cumsum(counted, axis=1)[:, :n][:, ::-1]
    fit = fit_tails(passed.astype(float), failed.astype(float), np.full(passed.shape, float(m)))
    for k in ks:
        mean = counted @ pass_at_k(n, np.arange(n + 1), k) / m
        spread, score = expected(fit.a, fit.b, n, k)
        noise = ((counted * spread).sum(axis=1) + largest_variance(n, k)) / m**2
        smooth = (counted * score).sum(axis=1) / m
        found[k][0][rest], found[k][1][rest] = effective_limits(mean, smooth, noise, m, LEVEL)
    return found


def intervals_of(task: tuple[int, int, int, int, int]) -> list[Cell]:
    """Simulate one law, m and n."""
    law_at, m, n, replicates, seed = task
    law = LAWS[law_at]
    rng = np.random.default_rng([seed, law_at, m, n])
    cells = [Cell(law.name, m, n, k) for k in PLANS[n]]
    for number, rows in enumerate(blocks(replicates)):
        p = law.draw(rng, (rows, m))
        c = rng.binomial(n, p)
        table = np.bincount((np.arange(rows)[:, None] * (n + 1) + c).ravel(), minlength=rows * (n + 1))
        table = table.reshape(rows, n + 1)
        weights = bootstrap_counts(m, DRAWS, int(rng.integers(1 << 31))).astype(np.float32)
        fresh = these_problems(c, table, n, PLANS[n])
        for cell in cells:
            k, truth = cell.k, law.truth(cell.k)
            score = pass_at_k(n, np.arange(n + 1), k)
            mean, square = table @ score / m, table @ score**2 / m
            ends = {
                "plus-two t": t_interval((mean * m + 1) / (m + 2), (square * m + 1) / (m + 2), m + 2),
                "t": t_interval(mean, square, m),
            }
            drawn = (score.astype(np.float32)[c] @ weights.T) / m
            drawn.partition((24, 974), axis=1)
            # single precision would leave a width of rounding where all scores agree
            agree = (table == m).any(axis=1) | (square - mean**2 < 1e-13)
            ends["bootstrap"] = tuple(np.where(agree, mean, drawn[:, at].astype(float)) for at in (24, 974))
            if n == 1:
                ends["Wilson"] = wilson(c.sum(axis=1), m, LEVEL)
            for name, (low, high) in ends.items():
                cell.of(name).add(low, high, truth)
            own = (1.0 - (1.0 - p) ** k).mean(axis=1)
            cell.of("B: default").add(*fresh[k], own)
            unbiased = None
            if 2 * k <= n:
                reach = -special.ndtri(TAIL) * np.sqrt(table @ var_pass_at_k(n, np.arange(n + 1), k)) / m
                unbiased = np.maximum(0.0, mean - reach), np.minimum(1.0, mean + reach)
                cell.of("B: unbiased").add(*unbiased, own)
            if number == 0:
                check(c[:3], cell, ends, fresh[k], unbiased)
    return cells


def check(c: np.ndarray, cell: Cell, ends: dict, fresh: tuple, unbiased: tuple | None) -> None:
    """Compare with what the library returns for the same counts."""
    for i, row in enumerate(c):
        pairs = [(plus_two_t(pass_at_k(cell.n, row, cell.k)), ends["plus-two t"])]
        plain = dataset_interval(cell.n, row, cell.k, method="t")
        if not math.isnan(plain.low):
            pairs.append(((plain.low, plain.high), ends["t"]))
        default = dataset_interval(cell.n, row, cell.k, "these_problems")
        pairs.append(((default.low, default.high), fresh))
        if unbiased is not None:
            found = dataset_interval(cell.n, row, cell.k, "these_problems", method="unbiased")
            pairs.append(((found.low, found.high), unbiased))
        for expected, (low, high) in pairs:
            np.testing.assert_allclose((low[i], high[i]), tuple(expected), rtol=1e-5, atol=1e-6)


# --- two runs -------------------------------------------------------------------------------------------------------

PAIRS = ((1, 1, 1), (5, 5, 1), (20, 20, 1), (20, 20, 10), (20, 5, 1))
"""n of A, n of B, and k."""
SHIFTS = (0.0, 0.05, 0.1, 0.2)


@dataclass
class PairCell:
    """Two runs under one law.

    B draws from the law; A has B's chance on 70 % of the problems and a fresh draw on the others, and then solves a
    share ``shift`` of what it would fail.
    """

    law: str
    m: int
    n_a: int
    n_b: int
    k: int
    shift: float
    rejected: int = 0
    apart: int = 0
    seen: int = 0
    tallies: dict[str, Tally] = field(default_factory=dict)

    def of(self, name: str) -> Tally:
        """Return the tally of an interval."""
        return self.tallies.setdefault(name, Tally())


def pairs_of(task: tuple[int, int, int, int]) -> list[PairCell]:
    """Simulate comparisons of one law and m."""
    law_at, m, replicates, seed = task
    law = LAWS[law_at]
    rng = np.random.default_rng([seed, 1 << 20, law_at, m])
    cells = [PairCell(law.name, m, *plan, shift) for plan in PAIRS for shift in SHIFTS]
    for cell in cells:
        score_a, score_b = (pass_at_k(n, np.arange(n + 1), cell.k) for n in (cell.n_a, cell.n_b))
        base = law.truth(cell.k)
        truth = (1 - (1 - cell.shift) ** cell.k) * (1 - base)
        for number, rows in enumerate(blocks(replicates if cell.shift == 0.0 else replicates // 5)):
            p_b = law.draw(rng, (rows, m))
            p_a = np.where(rng.random((rows, m)) < 0.7, p_b, law.draw(rng, (rows, m)))
            p_a = p_a + cell.shift * (1.0 - p_a)
            c_a, c_b = rng.binomial(cell.n_a, p_a), rng.binomial(cell.n_b, p_b)
            scores = score_a[c_a], score_b[c_b]
            d = scores[0] - scores[1]
            mean, square = d.mean(axis=1), (d**2).mean(axis=1)
            padded = t_interval(mean * m / (m + 2), (square * m + 2) / (m + 2), m + 2, lowest=-1.0)
            cell.of("plus-two t").add(*padded, truth)
            cell.of("paired t").add(*t_interval(mean, square, m, lowest=-1.0), truth)
            if cell.n_a == cell.n_b == 1:
                p = mcnemar_exact((d > 0).sum(axis=1), (d < 0).sum(axis=1))
            else:
                signs = rng.integers(0, 2, (m, DRAWS)) * 2.0 - 1.0
                reached = np.abs(d.sum(axis=1))[:, None] - 1e-9
                p = (1 + (np.abs(d @ signs) >= reached).sum(axis=1)) / (1 + DRAWS)
            cell.rejected += int((p <= 0.05).sum())
            one, other = (
                t_interval((s.sum(axis=1) + 1) / (m + 2), ((s**2).sum(axis=1) + 1) / (m + 2), m + 2) for s in scores
            )
            cell.apart += int(((one[0] > other[1]) | (other[0] > one[1])).sum())
            cell.seen += rows
            if number == 0:
                for i in range(2):
                    found = paired_difference(cell.n_a, c_a[i], cell.n_b, c_b[i], cell.k, draws=DRAWS)
                    np.testing.assert_allclose((padded[0][i], padded[1][i]), tuple(found.new_problems), atol=1e-9)
    return cells


def clusters_of(task: tuple[int, int, int]) -> tuple[int, Tally, Tally]:
    """Simulate clusters of four problems that share one uniform chance, n = 5, k = 1."""
    groups, replicates, seed = task
    rng = np.random.default_rng([seed, 1 << 21, groups])
    clustered, plain = Tally(), Tally()
    where = np.repeat(np.arange(groups), 4)
    for rows in blocks(replicates):
        x = rng.binomial(5, np.repeat(rng.random((rows, groups)), 4, axis=1)) / 5
        mean = x.mean(axis=1)
        sums = (x - mean[:, None]).reshape(rows, groups, 4).sum(axis=2)
        se = np.sqrt(groups / (groups - 1) * (sums**2).sum(axis=1)) / x.shape[1]
        np.testing.assert_allclose(se[0], clustered_se(x[0], where.tolist()).se)
        reach = -special.stdtrit(groups - 1, TAIL) * se
        clustered.add(np.maximum(0.0, mean - reach), np.minimum(1.0, mean + reach), 0.5)
        m = x.shape[1]
        plain.add(*t_interval((mean * m + 1) / (m + 2), ((x**2).sum(axis=1) + 1) / (m + 2), m + 2), 0.5)
    return groups, clustered, plain


def one_problem(n: int, k: int) -> tuple[float, float]:
    """Return least and mean coverage over p = .001 .. .999, by enumeration."""
    p = np.arange(1, 1000)[:, None] / 1000
    c = np.arange(n + 1)
    chance = np.exp(special.gammaln(n + 1) - special.gammaln(c + 1) - special.gammaln(n - c + 1))
    chance = chance * p**c * (1 - p) ** (n - c)
    low, high = one_problem_interval(n, c, k, LEVEL)
    theta = -np.expm1(k * np.log1p(-p))
    held = (chance * ((low <= theta + 1e-12) & (theta <= high + 1e-12))).sum(axis=1)
    return float(held.min()), float(held.mean())


# --- telling --------------------------------------------------------------------------------------------------------

A_NAMES = ("plus-two t", "t", "bootstrap", "Wilson")
B_NAMES = ("B: default", "B: unbiased")


def summary(cells: list[Cell] | list[PairCell], names: tuple[str, ...]) -> list[str]:
    """Say of each interval in how many cells it covers enough."""
    lines = ["| interval | cells | worst | median | cells below .93 |", "|---|---|---|---|---|"]
    for name in names:
        found = [cell.tallies[name].coverage for cell in cells if name in cell.tallies]
        below = sum(each < FLOOR for each in found)
        lines.append(f"| {name} | {len(found)} | {min(found):.4f} | {np.median(found):.4f} | {below} |")
    return lines


def most_rejected(cells: list[PairCell], of: str) -> str:
    """Say where the test rejects a true null most often."""
    worst = max(cells, key=lambda cell: cell.rejected / cell.seen)
    where = f"{worst.law}, m = {worst.m}, n = {worst.n_a} and {worst.n_b}, k = {worst.k}"
    return f"- {of}: at most {worst.rejected / worst.seen:.4f} over {len(cells)} cells ({where})"


def table_of(cells: list[Cell]) -> list[str]:
    """Return the table with a row for each cell."""
    names = (*A_NAMES, *B_NAMES)
    lines = [f"| law | m | n | k | {' | '.join(names)} |", "|---" * (4 + len(names)) + "|"]
    for cell in cells:
        found = " | ".join(str(cell.tallies.get(name, "")) for name in names)
        lines.append(f"| {cell.law} | {cell.m} | {cell.n} | {cell.k} | {found} |")
    return lines


def report(cells: list[Cell], pairs: list[PairCell], groups: list, settings: str) -> str:
    """Write the page."""
    null = [cell for cell in pairs if cell.shift == 0.0]
    lines = [
        "# Measured coverage",
        "",
        f"Written by `benchmarks/coverage.py`: {settings}.",
        "Level .95; in a cell the share of intervals that held the truth, and in brackets their mean width.",
        "An interval without width holds nothing.",
        "Four laws of difficulty are those of the design; the fifth, rare passes, is there because it is hard.",
        "",
        "## Summary",
        "",
        *summary(cells, (*A_NAMES, *B_NAMES)),
        "",
        "Defaults are plus-two t for new problems and `B: default` for these problems",
        "(beta-binomial, or the bound where n = 1 or all samples are alike).",
        "",
        "Differences of two runs, new problems:",
        "",
        *summary(pairs, ("plus-two t", "paired t")),
        "",
        "Sign-flip test at .05 under a true null:",
        "",
        most_rejected([cell for cell in null if cell.n_a == cell.n_b], "equal n"),
        most_rejected([cell for cell in null if cell.n_a != cell.n_b], "unequal n, for which the test is approximate"),
        "",
        "## Power of the sign-flip test",
        "",
        "Share of true differences found at .05, and in brackets how often the two intervals do not overlap,",
        "which is no test and has far less power.",
        "The true difference in pass@k stands in the fifth column; the line with 0 is the rate of false rejections.",
        "",
        "| law | m | n of A, B | k | difference | found (intervals apart) |",
        "|---|---|---|---|---|---|",
    ]
    truth = {law.name: law.truth for law in LAWS}
    for cell in pairs:
        size = (1 - (1 - cell.shift) ** cell.k) * (1 - truth[cell.law](cell.k))
        found = f"{cell.rejected / cell.seen:.4f} ({cell.apart / cell.seen:.4f})"
        lines.append(f"| {cell.law} | {cell.m} | {cell.n_a}, {cell.n_b} | {cell.k} | {size:.3f} | {found} |")
    lines += [
        "",
        "## Clusters",
        "",
        "Four problems to a cluster that share one chance, uniform over clusters; n = 5, k = 1.",
        "Ignoring the clusters loses what the last column shows.",
        "",
        "| clusters | clustered t | plus-two t, clusters ignored |",
        "|---|---|---|",
        *(f"| {number} | {clustered} | {plain} |" for number, clustered, plain in groups),
        "",
        "## One problem",
        "",
        "`one_problem_interval`, by enumeration over p = .001 to .999.",
        "",
        "| n | k | least | mean |",
        "|---|---|---|---|",
    ]
    for n, k in ((1, 1), (5, 1), (10, 10), (20, 5), (20, 100), (200, 10)):
        least, mean = one_problem(n, k)
        lines.append(f"| {n} | {k} | {least:.4f} | {mean:.4f} |")
    lines += ["", "## Every cell", "", *table_of(cells)]
    return "\n".join(lines) + "\n"


def chart(cells: list[Cell], path: Path) -> None:
    """Draw coverage of each interval over its cells, sorted."""
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError:
        print("no chart: it needs matplotlib (pip install matplotlib)")
        return
    figure, axes = plt.subplots(figsize=(8, 4.5))
    for name in (*A_NAMES, *B_NAMES):
        found = sorted(cell.tallies[name].coverage for cell in cells if name in cell.tallies)
        axes.plot(np.linspace(0, 1, len(found)), found, label=name)
    axes.axhline(LEVEL, color="black", linewidth=0.7)
    axes.set(xlabel="cells, worst first (share)", ylabel="measured coverage", ylim=(0.5, 1.0))
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)
    print(f"chart: {path}")


def main() -> None:
    """Run the study and write the page."""
    parser = argparse.ArgumentParser(description="Measured coverage of the intervals.")
    parser.add_argument("--replicates", type=int, default=100_000)
    parser.add_argument("--pair-replicates", type=int, help="for comparisons; as many as --replicates by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "docs" / "coverage.md")
    asked = parser.parse_args()
    again = asked.pair_replicates or asked.replicates
    began = time.perf_counter()
    single = [
        (law, m, n, asked.replicates, asked.seed)
        for n in sorted(PLANS, reverse=True)
        for law in range(len(LAWS))
        for m in sorted(PROBLEMS, reverse=True)
    ]
    double = [(law, m, again, asked.seed) for m in (164, 50, 20) for law in range(len(LAWS))]
    with multiprocessing.Pool(asked.processes) as pool:
        pairs = pool.map_async(pairs_of, double, chunksize=1)
        found = pool.map_async(intervals_of, single, chunksize=1)
        groups = pool.map_async(clusters_of, [(g, asked.replicates, asked.seed) for g in (5, 10, 20, 40)], chunksize=1)
        cells = [cell for each in found.get() for cell in each]
        compared = [cell for each in pairs.get() for cell in each]
        grouped = groups.get()
    names = [law.name for law in LAWS]
    cells.sort(key=lambda cell: (names.index(cell.law), cell.m, cell.n, cell.k))
    compared.sort(key=lambda cell: (names.index(cell.law), cell.m, cell.n_a, -cell.n_b, cell.k, cell.shift))
    took = time.perf_counter() - began
    settings = (
        f"{asked.replicates:,} data sets in each of {len(cells)} cells, {again:,} in each of "
        f"{sum(cell.shift == 0.0 for cell in compared)} comparisons without a difference and {again // 5:,} in each of "
        f"{sum(cell.shift > 0.0 for cell in compared)} with one, seed {asked.seed}, "
        f"Python {platform.python_version()}, numpy {np.__version__}"
    )
    asked.out.write_text(report(cells, compared, grouped, settings), "utf-8")
    print("\n".join(summary(cells, (*A_NAMES, *B_NAMES))))
    print("\n".join(summary(compared, ("plus-two t", "paired t"))))
    print(f"{took / 60:.1f} minutes; table: {asked.out}")
    chart(cells, asked.out.with_suffix(".svg"))


if __name__ == "__main__":
    main()
