"""Every public function with arguments that are odd: a result or a ValueError on one line, and nothing else."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import passcurve.stats as room

A, B = [10, 9, 7, 5, 2, 0], [10, 8, 5, 5, 0, 0]
COUNTS = {"n": 10, "c": 3, "k": 2}
RUNS = {"n_a": 10, "c_a": A, "n_b": 10, "c_b": B, "k": 1}
DRAWS = {"draws": 50, "seed": 0}
USUAL: dict[str, dict[str, object]] = {
    **dict.fromkeys(
        "pass_at_k fail_at_k log_fail_at_k exact_pass_at_k var_pass_at_k jackknife_var_pass_at_k plug_in_at_k "
        "pass_hat_k mg_pass_at_k".split(),
        COUNTS,
    ),
    "pass_curve": {"n": 10, "c": 3, "k_max": 5},
    "g_pass_at_k": {**COUNTS, "tau": 0.5},
    "cover_at_tau": {"n": 10, "c": A, "tau": 0.5, "a": 1.0, "b": 1.0},
    "naive_variance": {"p": 0.1, "k": 2, "t": 5},
    "unbiased_variance": {"p": 0.1, "n": 10, "k": 2},
    "plug_in_bias": {"p": 0.1, "n": 10, "k": 2},
    "best_of_k": {"values": [1, 0, 0], "scores": [0.1, 0.2, 0.3], "k": 2},
    "max_at_k": {"values": [1, 0, 0], "k": 2},
    "min_at_k": {"values": [1, 0, 0], "k": 2},
    "maj_at_k": {"counts": [3, 2, 1], "correct": 0, "k": 2},
    "n_at_k": {"n": 10, "filtered": 5, "correct": 2, "k": 3, "submissions": 2},
    "ranked_top_k": {"sizes": [1, 2, 3], "correct": [0, 1, 1], "k": 2},
    "expected_attempts": {"n": 10, "c": 3, "budget": 4},
    "distinct_at_k": {"group_sizes": [3, 2, 1], "k": 2},
    "plus_two_t": {"values": [0.1, 0.9], "level": 0.95},
    "wilson": {"x": 3, "m": 10, "level": 0.95},
    "clopper_pearson": {"x": 3, "m": 10, "level": 0.95},
    "one_problem_interval": {**COUNTS, "level": 0.95},
    "clustered_se": {"values": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "clusters": [1, 2, 3, 4, 5, 6]},
    "beta_binomial_fit": {"n": 10, "c": A},
    "beta_posterior_pass_at_k": {"n": 10, "c": A, "k": 2, "a": 1.0, "b": 1.0},
    "sampling_variance": {"n": 10, "c": A, "k": 1, "at": 20},
    "dataset_interval": {"n": 10, "c": A, "k": 2, "level": 0.95},
    "bootstrap_interval": {"values": [0.1, 0.9], "level": 0.9, "resamples": 50, "seed": 0},
    "simultaneous_band": {"n": 10, "c": A, "ks": [1, 2], "level": 0.95, **DRAWS},
    "paired_difference": {**RUNS, "level": 0.95, **DRAWS},
    "stratified_permutation_p": {**RUNS, **DRAWS},
    "sign_flip_p": {"differences": [0.1, -0.2, 0.3], **DRAWS},
    "max_t_p": {"differences": [[0.1, 0.2], [0.3, 0.1]], **DRAWS},
    "mcnemar_exact": {"b": 3, "c": 4},
    "holm": {"p": [0.1, 0.2]},
    "plan": {**RUNS, "difference": 0.05, "level": 0.95, "power": 0.8, "correlation": 0.0},
    "problems_needed": {"difference": 0.05, "variance": 0.04, "level": 0.95, "power": 0.8},
    "minimum_detectable": {"m": 100, "variance": 0.04, "level": 0.95, "power": 0.8},
    "extrapolate": {"n": 10, "c": A, "k": [20]},
    "temperature_hull": {"temperatures": [0.2, 0.8], "n": 10, "c": [A, B], "ks": [1, 5], "splits": 5, "seed": 0},
    "pkpo_rewards": {"rewards": [1, 0, 0], "k": 2},
    "pass_at_k_advantages": {"correct": [1, 0, 0], "k": 2},
}
NO_NUMBERS: list[object] = [
    float("nan"), float("-inf"), "x", "3", ["a"], [1, "a"], [1.0, float("nan")], [[1], [2, 3]], 1j, object(), {}, b"x",
    np.datetime64("2020"), np.ma.array([1, 2, 3], mask=[False, True, False]), 10**400, -(10**19),
]  # fmt: skip
TAKES_MORE = {("clustered_se", "clusters"), ("exact_pass_at_k", "n")}
"""Names of clusters may be anything that can be a key, and fractions are exact for any n."""
MAY_PASS: list[object] = [
    -1, 0, 1.5, True, np.bool_(True), np.int8(3), np.uint64(3), np.float32(2), 2.0, None, [], np.array([]), [[]],
    [1, 2], (1.0, 2.0), [True, False], [None], [-1, 2], [[1, 2], [3, 4]], 1e300, Fraction(1, 2), range(3), np.array(5),
]  # fmt: skip


def test_every_function_is_here():
    """The table has every public function of the room."""
    assert {name for name in room.__all__ if name[0].islower()} == USUAL.keys()


@pytest.mark.parametrize("name", USUAL)
def test_odd_arguments(name):
    """Whatever stands in place of one argument, a function returns or raises a ValueError on one bounded line."""
    function = getattr(room, name)
    function(**USUAL[name])
    for argument in USUAL[name]:
        for odd in (*NO_NUMBERS, *MAY_PASS):
            refused = ""
            try:
                function(**{**USUAL[name], argument: odd})
            except ValueError as error:
                refused = str(error)
                assert "\n" not in refused, (argument, odd)
                assert 5 < len(refused) < 250, (argument, odd)
            if any(odd is item for item in NO_NUMBERS) and (name, argument) not in TAKES_MORE:
                assert refused, (argument, odd)


WHOLE = {
    "n",
    "c",
    "k",
    "m",
    "x",
    "k_max",
    "budget",
    "filtered",
    "submissions",
    "n_a",
    "c_a",
    "n_b",
    "c_b",
    "ks",
    "draws",
}


@pytest.mark.parametrize("name", [name for name, usual in USUAL.items() if WHOLE & usual.keys()])
def test_counts_that_are_no_integers(name):
    """Half a sample and a truth value are no counts where a count is wanted; a whole float and a numpy integer are."""
    function = getattr(room, name)
    for argument in WHOLE & USUAL[name].keys():
        usual = USUAL[name][argument]
        if (name, argument) == ("temperature_hull", "c"):
            continue
        if isinstance(usual, list):
            usual, odd = [*usual[:-1], np.int64(usual[-1])], [*usual[:-1], 0.5]
        else:
            odd = 1.5
        with pytest.raises(ValueError, match="integer"):
            function(**{**USUAL[name], argument: odd})
        with pytest.raises(ValueError, match=r"integer|bool"):
            function(**{**USUAL[name], argument: True})
        function(**{**USUAL[name], argument: usual if isinstance(usual, list) else np.int64(usual)})
        if name != "exact_pass_at_k":
            function(**{**USUAL[name], argument: np.array(usual, dtype=float)[()]})
