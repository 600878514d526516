"""Number of problems and samples that detect a difference, and the difference that a run can detect.

The difference of two runs on the same m problems varies by ``(omega^2 + V_A + V_B) / m``: omega^2 is the variance
over problems of the true differences, V the mean sampling variance of one problem (sigma^2 / n for k = 1, the overlap
variance of ``sampling_variance`` for k > 1).  A two-sided test at level alpha finds a true difference delta with the
wanted power when ``m = (z_(alpha/2) + z_beta)^2 (omega^2 + V_A + V_B) / delta^2`` (Miller 2024, "Adding error bars to
evals", arXiv:2411.00640, equation 9, for k = 1).  More samples lower V only: omega^2 / m is a floor.

One sample of each problem, as of greedy decoding, cannot separate omega^2 from V: such a plan has the power of
McNemar's exact test for runs with one sample each, and says nothing of more samples (``mcnemar.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from passcurve.stats.compare import ROUNDING
from passcurve.stats.mcnemar import (
    OUTCOME_CORRELATION,
    discordance,
    mcnemar_detectable,
    mcnemar_problems,
)
from passcurve.stats.passk import pass_at_k
from passcurve.stats.quantiles import normal_quantile
from passcurve.stats.rows import (
    Row,
    check_integer,
    check_open_unit,
    check_real,
    check_row,
    check_same_problems,
)
from passcurve.stats.sampling import sampling_variance

SAMPLES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
MOST = 1_000_000
"""Largest number of samples of a problem in a plan."""


class PlanRow(NamedTuple):
    """Power of n samples of each problem from each run."""

    n: int
    problems: int | None
    """Problems needed for the difference; None without one."""
    minimum_detectable: float
    """Minimum detectable difference with the pilot's number of problems."""


class Plan(NamedTuple):
    """Problems and samples for a comparison of two runs."""

    k: int
    difference: float | None
    level: float
    power: float
    m: int
    """Problems of the pilot."""
    between: float
    """omega^2: raw from the data, so it may be negative; the plan takes it as at least 0.

    NaN, like ``within_a``, ``within_b`` and ``floor``, with one sample of each problem.
    """
    within_a: float
    """Mean sampling variance of a problem of run A with the pilot's samples."""
    within_b: float
    minimum_detectable: float
    """Minimum detectable difference of the pilot, at its own m and n; NaN where the test finds none."""
    floor: float
    """The minimum detectable difference with the pilot's m however many samples are taken; NaN as above."""
    problems: int | None
    """Problems needed for ``difference`` with the pilot's samples of each."""
    samples: int | None
    """Fewest samples of each problem, with the pilot's m; None where more samples alone are not enough."""
    rows: tuple[PlanRow, ...]
    warnings: tuple[str, ...]
    discordant: float | None = None
    """With one sample of each problem: share of the problems on which the runs differ, at ``difference`` if given."""
    correlation: float | None = None
    """The correlation that is assumed of two models; None where both runs are there."""


def fewest_problems(level: float = 0.95) -> int:
    """Return the fewest problems with which sign flips can find any difference: their least p is ``2^(1 - m)``.

    ValueError for a level outside (0, 1).
    """
    alpha = 1.0 - check_open_unit(level, "level")
    return math.ceil(1.0 - math.log2(alpha) - 1e-9)


def problems_needed(difference: float, variance: float, level: float = 0.95, power: float = 0.8) -> int:
    """Return the least m with ``m >= (z_(alpha/2) + z_beta)^2 variance / difference^2``, at least 2.

    variance is omega^2 + V_A + V_B, the variance of one problem's difference.  ValueError for a difference that is not
    in (0, 1], a negative variance, and a level or power outside (0, 1).
    """
    _check_difference(difference)
    variance = check_real(variance, "variance", "a number of at least 0", 0.0, math.inf)
    return max(2, math.ceil(_sum_of_z(level, power) ** 2 * variance / difference**2 - 1e-9))


def minimum_detectable(m: int, variance: float, level: float = 0.95, power: float = 0.8) -> float:
    """Return the least true difference that m problems find with the wanted power: the inverse of ``problems_needed``.

    ValueError as there, and for m < 1.
    """
    variance = check_real(variance, "variance", "a number of at least 0", 0.0, math.inf)
    return _sum_of_z(level, power) * math.sqrt(variance / check_integer(m, "m"))


def detectable_difference(
    n_a: ArrayLike, c_a: ArrayLike, n_b: ArrayLike, c_b: ArrayLike, k: int = 1, level: float = 0.95, power: float = 0.8
) -> float:
    """Return the least true difference that the test of two runs finds; NaN where it finds none, or nobody can say.

    With one sample of each problem that is McNemar's test, as in ``plan``.  Otherwise it is ``minimum_detectable`` with
    the variance of the differences, which is of use where both runs have as many samples of each problem.  n and c have
    shape (m,) or broadcast to it.  ValueError for counts that cannot be, k > n, and settings outside their range.
    """
    a, b = check_row(n_a, c_a, k), check_row(n_b, c_b, k)
    check_same_problems(a, b)
    m = a.n.size
    if m < fewest_problems(level) or (a.n != b.n).any():
        return math.nan
    if (a.n == 1).all():
        share = float(np.mean(a.c != b.c))
        return mcnemar_detectable(m, lambda at: max(share, at), 1.0, level, power) if share else math.nan
    differences = pass_at_k(a.n, a.c, [k]) - pass_at_k(b.n, b.c, [k])
    variance = 0.0 if np.ptp(differences) <= ROUNDING else float(np.var(differences, ddof=1))
    least = minimum_detectable(m, variance, level, power)
    return least if 0.0 < least <= 1.0 else math.nan


def plan(
    n_a: ArrayLike,
    c_a: ArrayLike,
    n_b: ArrayLike | None = None,
    c_b: ArrayLike | None = None,
    k: int = 1,
    difference: float | None = None,
    level: float = 0.95,
    power: float = 0.8,
    correlation: float | None = None,
    samples: Sequence[int] = SAMPLES,
) -> Plan:
    """Plan a comparison from a pilot: two runs on the same m problems, or one run and a guess.

    With two runs omega^2 is the variance of the differences less the sampling variances.  With one run it is
    ``2 (1 - correlation)`` times the variance between its problems, ``correlation`` being that of the true scores of
    both models over problems; 0, the default, is the cautious end, and related models are usually far above it.
    With one sample of each problem ``correlation`` is that of pass and fail, by default ``OUTCOME_CORRELATION``.
    ``rows`` gives, for each of ``samples`` (those of at least k), the problems needed and what the pilot's m can find.

    n and c have shape (m,), m >= 2, or broadcast to it.  ValueError for counts that cannot be, k > n, a pilot without
    any variance estimate (as k samples of each problem, k > 1) or any variance, and settings outside their range.
    """
    if k == 1 and np.all(np.asarray(n_a) == 1) and (n_b is None or np.all(np.asarray(n_b) == 1)):
        return _plan_of_single_samples(n_a, c_a, n_b, c_b, difference, level, power, correlation)
    correlation = 0.0 if correlation is None else correlation
    pilot = _pilot(n_a, c_a, n_b, c_b, k, correlation)
    if difference is not None:
        _check_difference(difference)
    _sum_of_z(level, power)
    fewest = fewest_problems(level)

    def problems(variance: float) -> int | None:
        return None if difference is None else max(fewest, problems_needed(difference, variance, level, power))

    def detectable(variance: float) -> float:
        return minimum_detectable(pilot.m, variance, level, power) if pilot.m >= fewest else math.nan

    floor = detectable(pilot.true_between)
    rows = []
    for n in (n for n in samples if n >= pilot.k):
        variance = pilot.variance(n)
        rows.append(PlanRow(n, problems(variance), detectable(variance)))
    return Plan(
        k=pilot.k,
        difference=difference,
        level=level,
        power=power,
        m=pilot.m,
        between=pilot.between,
        within_a=pilot.within_a,
        within_b=pilot.within_b,
        minimum_detectable=detectable(pilot.own_variance),
        floor=floor,
        problems=problems(pilot.own_variance),
        samples=_fewest_samples(difference, floor, lambda n: detectable(pilot.variance(n)), pilot.k),
        rows=tuple(rows),
        warnings=tuple(_warnings(pilot, floor, difference, fewest)),
        correlation=correlation if pilot.single else None,
    )


def _plan_of_single_samples(
    n_a: ArrayLike,
    c_a: ArrayLike,
    n_b: ArrayLike | None,
    c_b: ArrayLike | None,
    difference: float | None,
    level: float,
    power: float,
    correlation: float | None,
) -> Plan:
    """Return the plan for the exact test of runs with one sample of each problem."""
    a, b = _rows(n_a, c_a, n_b, c_b, 1)
    _sum_of_z(level, power)
    m, is_single = a.n.size, n_b is None
    wanted = OUTCOME_CORRELATION if correlation is None else correlation
    wanted = check_real(wanted, "correlation", "in [-1, 1]", -1.0, 1.0)
    rate = float(np.mean(a.c))
    if is_single:
        most = max(rate, 1.0 - rate)

        def discordant(at: float) -> float:
            # The other run may be better or worse: the side with more discordant problems asks for more.
            others = (other for other in (rate - at, rate + at) if -1e-12 <= other <= 1.0 + 1e-12)
            return max(discordance(rate, min(1.0, max(0.0, other)), wanted) for other in others)

    else:
        most, share = 1.0, float(np.mean(a.c != b.c))
        if not share:
            raise ValueError("the runs agree on every problem, which does not tell how often others would differ")

        def discordant(at: float) -> float:
            return max(share, at)

    needed = None
    if difference is not None:
        _check_difference(difference)
        if difference > most + 1e-12:
            raise ValueError(f"no run differs by {difference:g} from one with pass@1 {rate:.4g}")
        needed = mcnemar_problems(discordant(difference), difference, level, power)
    detectable = mcnemar_detectable(m, discordant, most, level, power)
    return Plan(
        k=1,
        difference=difference,
        level=level,
        power=power,
        m=m,
        between=math.nan,
        within_a=math.nan,
        within_b=math.nan,
        minimum_detectable=detectable,
        floor=math.nan,
        problems=needed,
        samples=None,
        rows=(PlanRow(1, needed, detectable),),
        warnings=tuple(_single_sample_warnings(m, wanted if is_single else None)),
        discordant=discordant(difference or 0.0),
        correlation=wanted if is_single else None,
    )


def _single_sample_warnings(m: int, correlation: float | None) -> list[str]:
    warnings = ["one sample of each problem does not tell what more samples would find"]
    if correlation is not None:
        warnings.append(
            f"planned from one run: pass and fail of the models are assumed to correlate by {correlation:g}"
        )
    if m < 20:
        warnings.append(f"a pilot of {m} problems: these figures are rough")
    return warnings


class _Pilot(NamedTuple):
    """The runs that a plan is made from, and the variance of one problem's difference between them."""

    a: Row
    b: Row
    k: int
    single: bool
    """One run, which stands for both."""
    between: float
    within_a: float
    within_b: float

    @property
    def m(self) -> int:
        return self.a.n.size

    @property
    def true_between(self) -> float:
        return max(0.0, self.between)

    @property
    def own_variance(self) -> float:
        """Variance with the pilot's own samples."""
        return self.true_between + self.within_a + self.within_b

    def variance(self, n: int) -> float:
        """Return the variance with n samples of each problem."""
        return self.true_between + _mean_variance(self.a, self.k, n) + _mean_variance(self.b, self.k, n)


def _pilot(
    n_a: ArrayLike, c_a: ArrayLike, n_b: ArrayLike | None, c_b: ArrayLike | None, k: int, correlation: float
) -> _Pilot:
    a, b = _rows(n_a, c_a, n_b, c_b, k)
    k = check_integer(k, "k")
    correlation = check_real(correlation, "correlation", "in [-1, 1]", -1.0, 1.0)
    within_a, within_b = _mean_variance(a, k), _mean_variance(b, k)
    scores = pass_at_k(a.n, a.c, [k])
    if n_b is None:
        between = 2.0 * (1.0 - correlation) * (float(np.var(scores, ddof=1)) - within_a)
    else:
        between = float(np.var(scores - pass_at_k(b.n, b.c, [k]), ddof=1)) - within_a - within_b
    pilot = _Pilot(a, b, k, n_b is None, between, within_a, within_b)
    if pilot.own_variance <= 0.0:
        raise ValueError(
            "this pilot has no variance: the samples of each problem fared alike, and so did the problems; draw more "
            "samples or other problems"
        )
    return pilot


def _rows(n_a: ArrayLike, c_a: ArrayLike, n_b: ArrayLike | None, c_b: ArrayLike | None, k: int) -> tuple[Row, Row]:
    """Return the checked counts of both runs; one run stands for both."""
    a = check_row(n_a, c_a, k)
    if (n_b is None) != (c_b is None):
        raise ValueError("n_b and c_b must both be given, or neither")
    b = a if n_b is None or c_b is None else check_row(n_b, c_b, k)
    check_same_problems(a, b)
    if a.n.size < 2:
        raise ValueError("a pilot needs at least 2 problems to estimate the variance between problems, got 1")
    return a, b


def _fewest_samples(difference: float | None, floor: float, detectable: Callable[[int], float], k: int) -> int | None:
    """Return the fewest samples with which the difference can be detected, by doubling and then bisection."""
    if difference is None or not floor < difference:
        return None
    low, high = k - 1, k
    while detectable(high) > difference:
        low, high = high, 2 * high
        if high > MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if detectable(middle) <= difference else (middle, high)
    return high


def _mean_variance(row: Row, k: int, at: int | None = None) -> float:
    noise = sampling_variance(row.n, row.c, k, at)
    if noise.method == "none":
        raise ValueError(f"this pilot cannot tell sampling noise from differences between problems: {noise.reason}")
    return math.fsum(noise.variance) / row.n.size


def _warnings(pilot: _Pilot, floor: float, difference: float | None, fewest: int) -> list[str]:
    a, b = pilot.a, pilot.b
    warnings = []
    if pilot.single:
        warnings.append("planned from one run: how alike the models are is a guess (correlation)")
    if pilot.between <= 0.0:
        warnings.append("the estimated variance of the true differences is not above 0: it is taken as 0")
    if pilot.m < fewest:
        warnings.append(f"the test finds no difference with {pilot.m} problems at this level: it needs {fewest}")
    if pilot.m < 20:
        warnings.append(f"a pilot of {pilot.m} problems: these figures are rough")
    if (a.n != a.n[0]).any() or (b.n != b.n[0]).any():
        warnings.append("the numbers of samples differ between problems")
    if difference is not None and floor >= difference:
        warnings.append(f"with {pilot.m} problems no number of samples finds a difference of {difference:g}: take more")
    return warnings


def _sum_of_z(level: float, power: float) -> float:
    alpha, power = 1.0 - check_open_unit(level, "level"), check_open_unit(power, "power")
    return normal_quantile(alpha / 2.0) + normal_quantile(1.0 - power)


def _check_difference(difference: float) -> None:
    if not check_real(difference, "difference", "above 0 and at most 1", 0.0, 1.0):
        raise ValueError(f"difference={difference} is not above 0 and at most 1")
