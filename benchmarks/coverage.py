"""How often the intervals of passcurve hold what they should, how wide they are, and how often the tests reject.

    python benchmarks/coverage.py [--replicates 100000] [--seed 0] [--processes 2] [--out docs/coverage.md]

Simulates data sets whose true chances are known, under laws of difficulty that range from "all alike" to "most problems
impossible", and writes the share of intervals that hold the truth, their mean width, the false rejections of the
sign-flip test and its power.  Every formula is worked on many data sets at once here; for the first data sets of each
cell the result is compared with what the library itself returns, and a difference ends the run.

Target A: the truth is the mean of pass@k over the law.  Target B: the truth is the mean over the problems of this very
data set; coverage_fresh.py beside this file has it, with laws of two groups of problems as well, and as fewer data sets
are enough there it simulates a tenth.  A bootstrap or a sign-flip test draws 999 times, anew for every 2,000 data sets.
The pages and their chart are written by coverage_page.py; those with every cell lie beside --out.
The exit code is 1 when a default interval covers less than .93 in some cell, or a test rejects a true null more than
5.5 % of the time.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process per core already

import math
import multiprocessing
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from coverage_fresh import ALL_LAWS, fresh_of, fresh_pairs_of
from coverage_laws import LAWS, LEVEL, PLANS, PROBLEMS, Cell, Law, Tally, blocks
from coverage_page import FLOOR, MOST_REJECTED, Study, chart, pages, worst
from scipy import special, stats

from passcurve.stats import (
    clustered_se,
    dataset_interval,
    expected_attempts,
    g_pass_at_k,
    mcnemar_exact,
    one_problem_interval,
    paired_difference,
    pass_at_k,
    pass_hat_k,
    plus_two_t,
    stratified_permutation_p,
    wilson,
)
from passcurve.stats.dataset import bootstrap_counts
from passcurve.stats.metrics import ScoreRequest, score_counts
from passcurve.types import Counts, Metric

TAIL = 0.025
DRAWS = 999


def t_interval(mean: np.ndarray, square: np.ndarray, m: int, *, lowest: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return t limits from mean and mean square of m values, clipped."""
    variance = np.maximum(0.0, square - mean**2) * m / (m - 1)
    variance[variance < 1e-13] = 0.0
    reach = -special.stdtrit(m - 1, TAIL) * np.sqrt(variance / m)
    return np.maximum(lowest, mean - reach), np.minimum(1.0, mean + reach)


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
            if k > 1:
                for name, low, high, expected in relatives_of(table, law, m, n, k):
                    cell.of(name).add(low, high, expected)
                    if number == 0:
                        check_relative(c[:2], cell, name, low, high)
            if number == 0:
                check(c[:3], cell, ends)
    return cells


def relatives_of(table: np.ndarray, law: Law, m: int, n: int, k: int) -> Iterator[tuple]:
    """Yield name, limits and truth of relatives of pass@k for new problems, scores between 0 and 1."""
    c = np.arange(n + 1)
    own = {
        "pass^k": pass_hat_k(n, c, k),
        "g-pass@k:0.5": g_pass_at_k(n, c, k, 0.5),
        "attempts@k": (expected_attempts(n, c, k) - 1) / (k - 1),
    }
    for name, truth in law.relatives(k).items():
        if name == "attempts@k":
            truth = (truth - 1) / (k - 1)
        score = own[name]
        sums, squares = table @ score, table @ score**2
        low, high = t_interval((sums + 1) / (m + 2), (squares + 1) / (m + 2), m + 2)
        yield name, low, high, truth


def check_relative(c: np.ndarray, cell: Cell, name: str, low: np.ndarray, high: np.ndarray) -> None:
    """Compare with what the library returns for the same counts."""
    label, _, share = name.partition(":")
    request = ScoreRequest(metrics=(Metric(name=label, share=share),), ks=(cell.k,))
    for i, row in enumerate(c):
        counts = [Counts(problem_id=str(j), n=cell.n, c=item) for j, item in enumerate(row.tolist())]
        (result,) = score_counts(counts, request).estimates
        ends = np.array([result.new_problems.low, result.new_problems.high])
        if name == "attempts@k":
            ends = (ends - 1) / (cell.k - 1)
        np.testing.assert_allclose((low[i], high[i]), ends, rtol=1e-5, atol=1e-6)


def check(c: np.ndarray, cell: Cell, ends: dict) -> None:
    """Compare with what the library returns for the same counts."""
    for i, row in enumerate(c):
        pairs = [(plus_two_t(pass_at_k(cell.n, row, cell.k)), ends["plus-two t"])]
        plain = dataset_interval(cell.n, row, cell.k, method="t")
        if not math.isnan(plain.low):
            pairs.append(((plain.low, plain.high), ends["t"]))
        for expected, (low, high) in pairs:
            np.testing.assert_allclose((low[i], high[i]), tuple(expected), rtol=1e-5, atol=1e-6)


# --- two runs -------------------------------------------------------------------------------------------------------

PAIRS = ((1, 1, 1), (5, 5, 1), (20, 20, 1), (20, 20, 10), (20, 5, 1), (20, 1, 1))
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
    by_flips: int = 0
    """Rejected by sign flips alone; the same where n is equal."""
    disjoint: int = 0
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
            cell.by_flips += int((p <= 0.05).sum())
            if cell.n_a != cell.n_b:
                within = permuted(c_a, c_b, cell.n_a, cell.n_b)
                if number == 0:
                    for i in range(2):
                        expected = stratified_permutation_p(cell.n_a, c_a[i], cell.n_b, c_b[i]).p
                        np.testing.assert_allclose(within[i], expected, atol=1e-6)
                p = np.maximum(p, within)
            cell.rejected += int((p <= 0.05).sum())
            one, other = (
                t_interval((s.sum(axis=1) + 1) / (m + 2), ((s**2).sum(axis=1) + 1) / (m + 2), m + 2) for s in scores
            )
            cell.disjoint += int(((one[0] > other[1]) | (other[0] > one[1])).sum())
            cell.seen += rows
            if number == 0:
                for i in range(2):
                    result = paired_difference(cell.n_a, c_a[i], cell.n_b, c_b[i], cell.k, draws=DRAWS)
                    np.testing.assert_allclose((padded[0][i], padded[1][i]), tuple(result.new_problems), atol=1e-9)
    return cells


def permuted(c_a: np.ndarray, c_b: np.ndarray, n_a: int, n_b: int) -> np.ndarray:
    """Return the p-values of the stratified permutation test at k = 1.

    Given how many passed on each problem, the passes of A are a sum of hypergeometric numbers; its law is the product
    of their characteristic functions, one for each number that can have passed.
    """
    rows, m = c_a.shape
    total = n_a + n_b
    both = np.arange(total + 1)
    least = np.maximum(0, both - n_b)
    size = 1 << int(m * min(n_a, n_b)).bit_length()
    law = np.zeros((total + 1, size))
    for passed, low in enumerate(least.tolist()):
        x = np.arange(low, min(n_a, passed) + 1)
        law[passed, : x.size] = stats.hypergeom(total, passed, n_a).pmf(x)
    where = np.arange(rows)[:, None] * (total + 1) + c_a + c_b
    problems = np.bincount(where.ravel(), minlength=rows * (total + 1)).reshape(rows, total + 1)
    # the smallest number keeps the logarithm finite where a characteristic function is 0
    product = np.exp(problems @ np.log(np.fft.rfft(law, axis=1) + 1e-300))
    chance = np.fft.irfft(product, n=size, axis=1)
    passed_a = (problems @ least)[:, None] + np.arange(size)
    deviation = passed_a * (1 / n_a + 1 / n_b) - ((c_a + c_b).sum(axis=1) / n_b)[:, None]
    reached = np.abs(c_a.sum(axis=1) / n_a - c_b.sum(axis=1) / n_b)[:, None] - 1e-9
    return np.where(np.abs(deviation) >= reached, chance, 0.0).sum(axis=1)


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


def main() -> int:
    """Run the study, write the pages, and say whether what must hold holds."""
    parser = argparse.ArgumentParser(description="Measured coverage of the intervals.")
    parser.add_argument("--replicates", type=int, default=100_000)
    parser.add_argument("--pair-replicates", type=int, help="for comparisons; as many as --replicates by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "docs" / "coverage.md")
    arguments = parser.parse_args()
    pair_replicates = arguments.pair_replicates or arguments.replicates
    began = time.perf_counter()
    single = [
        (law, m, n, arguments.replicates, arguments.seed)
        for n in sorted(PLANS, reverse=True)
        for law in range(len(LAWS))
        for m in sorted(PROBLEMS, reverse=True)
    ]
    part = max(1, arguments.replicates // 10)
    fresh = [
        (law, m, n, part, arguments.seed)
        for n in sorted(PLANS, reverse=True)
        for law in range(len(ALL_LAWS))
        for m in sorted(PROBLEMS, reverse=True)
    ]
    fresh_double = [(law, m, part, arguments.seed) for m in (164, 50, 20) for law in range(len(ALL_LAWS))]
    double = [(law, m, pair_replicates, arguments.seed) for m in (164, 50, 20) for law in range(len(LAWS))]
    with multiprocessing.Pool(arguments.processes) as pool:
        pairs = pool.map_async(pairs_of, double, chunksize=1)
        result = pool.map_async(intervals_of, single, chunksize=1)
        own = pool.map_async(fresh_of, fresh, chunksize=1)
        own_pairs = pool.map_async(fresh_pairs_of, fresh_double, chunksize=1)
        groups = pool.map_async(
            clusters_of, [(g, arguments.replicates, arguments.seed) for g in (5, 10, 20, 40)], chunksize=1
        )
        cells = [cell for item in result.get() for cell in item]
        compared = [cell for item in pairs.get() for cell in item]
        grouped = groups.get()
        own_cells = [cell for item in own.get() for cell in item]
        own_compared = [cell for item in own_pairs.get() for cell in item]
    names = [law.name for law in ALL_LAWS]
    cells.sort(key=lambda cell: (names.index(cell.law), cell.m, cell.n, cell.k))
    compared.sort(key=lambda cell: (names.index(cell.law), cell.m, cell.n_a, -cell.n_b, cell.k, cell.shift))
    own_cells.sort(key=lambda cell: (names.index(cell.law), cell.m, cell.n, cell.k))
    own_compared.sort(key=lambda cell: (names.index(cell.law), cell.m, cell.n_a, -cell.n_b, cell.k))
    took = time.perf_counter() - began
    settings = (
        f"{arguments.replicates:,} data sets in each of {len(cells)} cells, {pair_replicates:,} in each of "
        f"{sum(cell.shift == 0.0 for cell in compared)} comparisons without a difference "
        f"and {pair_replicates // 5:,} in each of {sum(cell.shift > 0.0 for cell in compared)} with one, "
        f"{part:,} in each of {len(own_cells)} cells and {len(own_compared)} comparisons for these problems, "
        f"seed {arguments.seed}, Python {platform.python_version()}, numpy {np.__version__}"
    )
    sizes = {
        id(cell): (1 - (1 - cell.shift) ** cell.k) * (1 - LAWS[names.index(cell.law)].truth(cell.k))
        for cell in compared
    }
    alone = [(n, k, *one_problem(n, k)) for n, k in ((1, 1), (5, 1), (10, 10), (20, 5), (20, 100), (200, 10))]
    picture = arguments.out.with_suffix(".svg")
    study = Study(cells, compared, own_cells, own_compared, sizes, grouped, alone, settings)
    picture.write_text(chart([*cells, *own_cells]), "utf-8")
    for name, text in pages(study, arguments.out.stem).items():
        arguments.out.with_name(f"{name}.md").write_text(text, "utf-8")
    least, most = worst([*cells, *own_cells], compared)
    print(f"{took / 60:.1f} minutes; {arguments.out}, the pages beside it and {picture}")
    print(f"the defaults: at least {least:.4f} in every cell (wanted {FLOOR})")
    print(f"true nulls rejected: at most {most:.4f} in every cell (wanted {MOST_REJECTED})")
    return 0 if least >= FLOOR and most <= MOST_REJECTED else 1


if __name__ == "__main__":
    raise SystemExit(main())
