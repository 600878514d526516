"""pass@k for k > n by models, and sweeps over temperatures.

For k > n no unbiased estimator exists; these values are model-based.  Four models are fitted.  In simulation none of
them is best everywhere, so their spread is the result.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from passcurve.stats.counts import broadcast
from passcurve.stats.double_double import FloatArray
from passcurve.stats.fit import beta_binomial_fit
from passcurve.stats.passk import pass_at_k
from passcurve.stats.rows import MOST_DRAWS, IntArray, Row, check_integer, check_row, integer_array, number_row
from passcurve.stats.zero_inflated import fit_zero_inflated

LABELLED, FARTHEST = 2, 10
"""Multiples of n beyond which a value gets a warning, and beyond which it needs ``far=True``."""


class Extrapolation(NamedTuple):
    """pass@k of the data set by four models; every array has shape (K,), NaN where a model gives no value."""

    k: IntArray
    n: int
    """Fewest samples of a problem: up to here use ``pass_at_k``."""
    beta_binomial: FloatArray
    zero_inflated: FloatArray
    power_law: FloatArray
    chao2: FloatArray
    low: FloatArray
    """The least of the four."""
    high: FloatArray
    """The largest of the four: between them lies what the models disagree about, which is no confidence interval."""
    reasons: tuple[str, ...]
    """Reasons of the models that give no value."""
    warnings: tuple[str, ...]


def extrapolate(n: ArrayLike, c: ArrayLike, k: ArrayLike, *, far: bool = False) -> Extrapolation:
    """Return four model-based values of pass@k of the data set for each k, and their spread.

    - beta-binomial: ``1 - B(a, b + k) / B(a, b)`` with the fitted a and b (``beta_binomial_fit``);
    - zero-inflated: a share of the problems is impossible, the chances of the others are beta; fitted by maximum
      likelihood (``fit_zero_inflated``);
    - power law: ``-log pass@k = A k^-s``, a straight line through log(-log pass@k) against log k at 1, 2, 4, ... n
      (Brown et al. 2024, "Large language monkeys", arXiv:2407.21787, section 3.1), by least squares;
    - Chao2: problems as species and samples as visits, from the numbers of problems passed once and twice;
      ``S(n + h) = S + Q0 (1 - (1 - Q1 / (n Q0 + Q1))^h)`` with ``Q0 = (n-1)/n Q1^2 / (2 Q2)``, or
      ``(n-1)/n Q1 (Q1 - 1) / 2`` where Q2 = 0 (Chao 1987, Biometrics 43:783; Colwell et al. 2012, J. Plant Ecol. 5:3,
      equation 18), at most all problems; for equal n only, and for k >= n.

    n and c have shape (m,) or broadcast to it, k (K,) or a number.  Past 10 n a ValueError unless ``far``; past 2 n a
    warning.  All values are NaN, with the reason, where all samples failed or all passed.  ValueError for counts that
    cannot be and k < 1.
    """
    row = check_row(n, c)
    ks = np.atleast_1d(integer_array(k, "k"))
    if ks.ndim != 1 or not ks.size or (ks < 1).any():
        raise ValueError("k must be one row of at least one integer of at least 1")
    least, most = int(row.n.min()), int(ks.max())
    if most > FARTHEST * least and not far:
        raise ValueError(f"k={most} is more than {FARTHEST} n = {FARTHEST * least}: ask for it with far=True")
    reasons: list[str] = []
    nothing = np.full(ks.size, np.nan)
    values = [nothing, nothing, nothing, nothing]
    if not row.c.any() or (row.c == row.n).all():
        what = "failed" if not row.c.any() else "passed"
        reasons.append(f"every sample {what}: no model can say how the curve goes on")
    else:
        values = [_beta_binomial(row, ks, reasons), _zero_inflated(row, ks, reasons)]
        values += [_power_law(row, ks, reasons), _chao2(row, ks, reasons)]
    table = np.stack(values)
    defined = ~np.isnan(table).all(axis=0)
    low, high = np.full(ks.size, np.nan), np.full(ks.size, np.nan)
    low[defined], high[defined] = np.nanmin(table[:, defined], axis=0), np.nanmax(table[:, defined], axis=0)
    warnings = ["model-based: beyond n nothing is measured"] if most > least else []
    if most > LABELLED * least:
        warnings.append(f"k={most} is more than {LABELLED} n = {LABELLED * least}: far beyond the data")
    return Extrapolation(
        ks, least, values[0], values[1], values[2], values[3], low, high, tuple(reasons), tuple(warnings)
    )


def _fail_share(a: float, b: float, ks: IntArray) -> FloatArray:
    """Return B(a, b + k) / B(a, b)."""
    from scipy.special import gammaln

    logs = gammaln(b + ks) - gammaln(b) + gammaln(a + b) - gammaln(a + b + ks)
    result: FloatArray = np.exp(np.minimum(0.0, logs))
    return result


def _beta_binomial(row: Row, ks: IntArray, reasons: list[str]) -> FloatArray:
    try:
        a, b, _ = beta_binomial_fit(row.n, row.c)
    except ValueError as error:
        reasons.append(f"beta-binomial: {error}")
        return np.full(ks.size, np.nan)
    return 1.0 - _fail_share(a, b, ks)


def _zero_inflated(row: Row, ks: IntArray, reasons: list[str]) -> FloatArray:
    if row.n.max() < 3:
        reasons.append("zero-inflated: three numbers need at least three samples of some problem")
        return np.full(ks.size, np.nan)
    fit = fit_zero_inflated(row)
    return (1.0 - fit.impossible) * (1.0 - _fail_share(fit.a, fit.b, ks))


def _power_law(row: Row, ks: IntArray, reasons: list[str]) -> FloatArray:
    least = int(row.n.min())
    at = np.unique(np.append(2 ** np.arange(int(math.log2(least)) + 1), least))
    curve = pass_at_k(row.n[:, None], row.c[:, None], at[None, :]).mean(axis=0)
    inner = (curve > 0.0) & (curve < 1.0)
    if inner.sum() < 2:
        reasons.append("power law: fewer than two points of the curve lie between 0 and 1")
        return np.full(ks.size, np.nan)
    slope, start = np.polyfit(np.log(at[inner]), np.log(-np.log(curve[inner])), 1)
    result: FloatArray = np.exp(-np.exp(start + slope * np.log(ks)))
    return result


def _chao2(row: Row, ks: IntArray, reasons: list[str]) -> FloatArray:
    n, m = int(row.n[0]), row.n.size
    if (row.n != n).any() or n < 2:
        reasons.append("Chao2: it needs the same n, at least 2, for every problem")
        return np.full(ks.size, np.nan)
    solved, once, twice = (int(np.count_nonzero(mask)) for mask in (row.c, row.c == 1, row.c == 2))
    unseen = (n - 1) / n * (once**2 / (2 * twice) if twice else once * (once - 1) / 2)
    unseen = min(unseen, float(m - solved))
    more = np.maximum(ks - n, 0).astype(np.float64)
    grown = unseen * -np.expm1(more * math.log1p(-once / (n * unseen + once))) if unseen > 0.0 else 0.0 * more
    return np.where(ks >= n, (solved + grown) / m, np.nan)


# --- temperatures ---------------------------------------------------------------------------------------------------


class Hull(NamedTuple):
    """A curve for each of T temperatures over K values of k, and the best of them, honestly."""

    k: IntArray
    temperatures: FloatArray
    curves: FloatArray
    """pass@k of each temperature from all samples, shape (T, K)."""
    upper: FloatArray
    """The best at each k, chosen and reported on the same samples: too high."""
    best: FloatArray
    """The temperature that has it."""
    honest: FloatArray
    """Chosen on half of the samples of each problem and reported on the other half, the mean over ``splits``."""
    optimism: FloatArray
    """``upper - honest``: what choosing on the reported samples added."""
    chosen: FloatArray
    """Share of splits that chose each temperature, shape (T, K)."""
    splits: int
    seed: int


def temperature_hull(
    temperatures: ArrayLike, n: ArrayLike, c: ArrayLike, ks: ArrayLike, splits: int = 200, seed: int = 0
) -> Hull:
    """Return curves for several temperatures, their upper hull, and the hull without the optimism of choosing.

    The best of T temperatures on the samples that chose it is too high, by about 1.2 standard errors for five that are
    equal.  Here the samples of each problem and temperature are dealt into two halves (given the counts, the passes in
    the first n // 2 samples are hypergeometric); the temperature is chosen by the first and reported by the second,
    ``splits`` times with ``numpy.random.default_rng(seed)``.  What is reported is then the value of a choice made with
    half of the samples, without bias: the upper hull less what the choice loses on the second half, on average, so that
    a temperature that every split chooses has the value of all samples.

    temperatures has shape (T,), c (T, m) with the same m problems in every row, n broadcasts to it; ks (K,).  Each k
    must be at most half of the smallest n, rounded down, for both halves must have k samples.  ValueError otherwise.
    """
    degrees = number_row(temperatures, "temperature")
    table = integer_array(c, "c")
    if table.ndim != 2 or table.shape[0] != degrees.size or not table.size:
        raise ValueError(f"c must have shape ({degrees.size}, m), a row for each temperature, not {table.shape}")
    samples, _ = broadcast(n=integer_array(n, "n"), c=table)
    if samples.shape != table.shape:
        raise ValueError(f"n of shape {np.shape(n)} does not fit c of shape {table.shape}")
    flat = check_row(samples.ravel(), table.ravel())
    passed, samples = flat.c.reshape(table.shape), flat.n.reshape(table.shape)
    k_row = np.atleast_1d(integer_array(ks, "k"))
    if k_row.ndim != 1 or not k_row.size or (k_row < 1).any():
        raise ValueError("ks must be one row of at least one integer of at least 1")
    half = samples // 2
    if k_row.max() > half.min():
        raise ValueError(
            f"k={int(k_row.max())} needs {2 * int(k_row.max())} samples of each, and one has {samples.min()}"
        )
    splits, seed = check_integer(splits, "splits", most=MOST_DRAWS), check_integer(seed, "seed", 0)
    rng = np.random.default_rng(seed)
    curves = _curves(samples, passed, k_row)
    upper, top = curves.max(axis=0), curves.argmax(axis=0)
    lost = np.zeros(k_row.size)
    chosen = np.zeros(curves.shape)
    column = np.arange(k_row.size)
    for _ in range(splits):
        first = rng.hypergeometric(passed, samples - passed, half)
        pick = _curves(half, first, k_row).argmax(axis=0)
        # On average over splits the second half of a temperature has its whole curve: only the choice may differ.
        second = _curves(samples - half, passed - first, k_row)
        lost += second[top, column] - second[pick, column]
        chosen[pick, column] += 1.0
    honest = np.clip(upper - lost / splits, 0.0, 1.0)
    best = degrees[top]
    return Hull(k_row, degrees, curves, upper, best, honest, upper - honest, chosen / splits, splits, seed)


def _curves(n: IntArray, c: IntArray, ks: IntArray) -> FloatArray:
    result: FloatArray = pass_at_k(n[..., None], c[..., None], ks).mean(axis=1)
    return result
