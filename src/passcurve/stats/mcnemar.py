"""Power of the exact test of two runs with one sample of each problem: McNemar's, which counts discordant problems.

A problem is discordant when one run passes it and the other fails.  Of m problems D are discordant, D binomial with
chance ``discordance``; the first run is ahead on each of them with chance ``1/2 + difference / (2 discordance)``.
The test takes D as given and rejects where the split is too uneven for a fair coin (McNemar 1947); that is what
``paired_difference`` computes by sign flips.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

OUTCOME_CORRELATION = 0.25
"""Correlation of pass and fail of two models over problems, where it is not known.

The median of 15 published pairs of different models on HumanEval, greedy or one sample each, where it is .10 to .40:
the base verdicts of ChatGPT with chain of thought (MapCoder's file for EvalPlus), Qwen2.5-Coder-1.5B's verdicts in
seven languages of MultiPL-E, and CodeGen-16B-mono at T = 0.8 (CodeT's samples, the mean over 20 of each problem).
One model in two languages has a median of .46.  A smaller correlation asks for more problems.
"""

_TAIL = 9.0
"""Standard deviations of the number of discordant problems that are summed; what is beyond has no weight."""
_MOST = 1 << 30


def discordance(pass_a: float, pass_b: float, correlation: float) -> float:
    """Return the share of problems on which two runs differ, from their pass rates and the correlation of outcomes.

    It is kept within what these pass rates allow.
    """
    spread = math.sqrt(pass_a * (1 - pass_a) * pass_b * (1 - pass_b))
    share = pass_a * (1 - pass_b) + pass_b * (1 - pass_a) - 2 * correlation * spread
    return min(max(share, abs(pass_a - pass_b)), pass_a + pass_b, 2 - pass_a - pass_b)


def mcnemar_power(m: int, discordant: float, difference: float, level: float = 0.95) -> float:
    """Return the chance that the exact two-sided test of m problems finds this true difference."""
    from scipy.special import bdtr, gammaln

    if discordant <= 0.0:
        return 0.0
    mean, deviation = m * discordant, math.sqrt(m * discordant * (1 - discordant))
    low = max(0, math.floor(mean - _TAIL * deviation - _TAIL))
    counts = np.arange(low, min(m, math.ceil(mean + _TAIL * deviation + _TAIL)) + 1)
    rest = m - counts
    logs = gammaln(m + 1.0) - gammaln(counts + 1.0) - gammaln(rest + 1.0) + counts * math.log(discordant)
    if discordant < 1.0:
        logs += rest * math.log1p(-discordant)
    weights = np.exp(logs) if discordant < 1.0 else (rest == 0).astype(float)
    ahead = min(1.0, 0.5 + abs(difference) / (2 * discordant))
    most = _critical(counts, (1.0 - level) / 2.0)
    reach = most >= 0
    one, other = (bdtr(np.maximum(most, 0), counts, chance) for chance in (ahead, 1.0 - ahead))
    return float(min(1.0, np.sum(weights * np.where(reach, one + other, 0.0))))


def mcnemar_problems(discordant: float, difference: float, level: float = 0.95, power: float = 0.8) -> int:
    """Return the fewest problems that find a true difference with the wanted power."""
    return _first(lambda m: mcnemar_power(m, discordant, difference, level) >= power)


def mcnemar_detectable(
    m: int, discordant_at: Callable[[float], float], most: float, level: float = 0.95, power: float = 0.8
) -> float:
    """Return the least true difference, up to ``most``, that m problems find; NaN where they find none.

    ``discordant_at`` gives the share of discordant problems at a difference.
    """
    if mcnemar_power(m, discordant_at(most), most, level) < power:
        return math.nan
    low, high = 0.0, most
    while high - low > 1e-6:
        middle = (low + high) / 2
        is_enough = mcnemar_power(m, discordant_at(middle), middle, level) >= power
        low, high = (low, middle) if is_enough else (middle, high)
    return high


def _critical(counts: NDArray[np.int64], tail: float) -> NDArray[np.float64]:
    """Return for each number of discordant problems how few may fall to one side at most, -1 where none are few."""
    from scipy.special import bdtr, bdtrik

    limit = tail * (1 + 1e-12)
    guess: NDArray[np.float64] = np.floor(np.nan_to_num(bdtrik(tail, np.maximum(counts, 1), 0.5)))
    for step in (1, 0, -1):
        higher = np.clip(guess + step, 0, counts)
        guess = np.where(bdtr(higher, counts, 0.5) <= limit, np.maximum(guess, higher), guess)
    for _ in range(3):
        guess = np.where((guess >= 0) & (bdtr(np.maximum(guess, 0), counts, 0.5) > limit), guess - 1, guess)
    return guess


def _first(is_enough: Callable[[int], bool]) -> int:
    """Return the first number that is enough, by doubling and then bisection."""
    low, high = 1, 2
    while not is_enough(high):
        low, high = high, 2 * high
        if high > _MOST:
            raise ValueError("no number of problems that can be counted is enough")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
