"""Text match: each metric against its definition, and what is compared with what."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from passcurve.errors import UnknownNameError, UsageError
from passcurve.lab.similarity import METRICS, MOST_CHARACTERS, load_metrics, strip_prompt

PROGRAM = "    total = a + b\n    return total\n"
PACKAGES = [
    ("bleu", "sacrebleu"),
    ("chrf", "sacrebleu"),
    ("rouge-l", "rouge_score"),
    ("edit", "rapidfuzz"),
    ("codebleu", "codebleu"),
]
REFERENCE = "    total = a - b\n    return total\n"


def metric(name, package):
    """Return one metric; the test is skipped where its package is not installed."""
    pytest.importorskip(package, reason=f"{name} needs an extra")
    (result,) = load_metrics([name]).metrics
    return result


def test_exact_match_is_equality_up_to_the_ends():
    """White space at both ends does not count, anything else does; it needs no package."""
    (exact,) = load_metrics(["exact"]).metrics
    assert (1.0, 0.0) == (exact.score(" a\n", "a"), exact.score("a b", "a  b"))


@pytest.mark.parametrize(("name", "package"), PACKAGES)
def test_a_metric_is_between_nothing_and_all(name, package):
    """The same text has 1, a slip of one sign less than that but more than another text, nothing at all the least."""
    score = metric(name, package).score
    same, slip, other, nothing = (score(item, REFERENCE) for item in (REFERENCE, PROGRAM, "    pass\n", ""))
    assert 1.0 == pytest.approx(same, abs=1e-9)
    # ROUGE sees letters and digits only: to it plus and minus are the same.
    assert (slip == 1.0) if name == "rouge-l" else (slip < 1.0)
    assert slip > other
    assert 0.0 <= nothing < slip


def test_bleu_is_its_definition():
    """The geometric mean of n-gram precisions times the brevity penalty (Papineni et al. 2002), counted by hand."""
    score = metric("bleu", "sacrebleu").score
    program, reference = "a = b + c + d + e", "a = b + c + d + e + f".replace(" + f", " - f")
    tokens, wanted = program.split(), reference.split()
    product = 0.0
    for n in range(1, 5):
        mine = Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))
        theirs = Counter(tuple(wanted[i : i + n]) for i in range(len(wanted) - n + 1))
        product += math.log((mine & theirs).total() / mine.total()) / 4
    brevity = 1 - len(wanted) / len(tokens)
    assert math.exp(min(0.0, brevity) + product) == pytest.approx(score(program, reference), rel=1e-9)


def test_edit_similarity_is_one_less_the_distance_over_the_longer():
    """From kitten to sitting it takes three edits."""
    assert 1 - 3 / 7 == pytest.approx(metric("edit", "rapidfuzz").score("kitten", "sitting"), rel=1e-12)


def test_rouge_is_the_longest_common_subsequence_of_words():
    """Of a b c d and a x c d three words in order are common: precision and recall are 3/4."""
    assert 0.75 == metric("rouge-l", "rouge_score").score("a b c d", "a x c d")


def test_rouge_ignores_operators():
    """Right and wrong are the same to ROUGE where they differ in a sign only."""
    assert 1.0 == metric("rouge-l", "rouge_score").score(PROGRAM, REFERENCE)


def test_codebleu_bears_with_what_models_write():
    """Text that is no Python, nothing, half a surrogate pair and deep nesting give a number or NaN, and no error."""
    score = metric("codebleu", "codebleu").score
    for text in ("", "    return (\n", "\ud800", "(" * 3000, "\0", "def"):
        assert math.isnan(result := score(text, REFERENCE)) or 0.0 <= result <= 1.0


def test_a_signature_has_the_tokenisation_and_the_version():
    """What could change a number stands in its signature."""
    assert "tok:13a" in metric("bleu", "sacrebleu").signature
    assert "eff:yes" in metric("bleu", "sacrebleu").signature
    assert "nc:6" in metric("chrf", "sacrebleu").signature
    for name, package in PACKAGES:
        assert "version:" in metric(name, package).signature


def test_the_prompt_is_compared_only_where_it_must():
    """Where the program begins with the prompt both go without it; a whole program is compared with a whole one."""
    assert ("x", "y", "rest") == strip_prompt("p\n", "y", "p\nx")
    assert ("q", "p\ny", "whole") == strip_prompt("p\n", "y", "q")
    assert MOST_CHARACTERS == len(strip_prompt("", "y", "x" * 10**6)[0])


def test_an_unknown_metric_has_the_nearest_name():
    """A name that is none says which is nearest."""
    with pytest.raises(UnknownNameError, match=r"'blue'.*'bleu'"):
        load_metrics(["blue"])


def test_what_is_missing_says_how_to_install_it(monkeypatch):
    """Without the packages exact match is left with a note for each extra; asked for by name it is a usage error."""
    for package in ("sacrebleu.metrics", "rouge_score.rouge_scorer", "rapidfuzz.distance", "codebleu"):
        monkeypatch.setitem(__import__("sys").modules, package, None)
    result = load_metrics()
    assert ["exact"] == [item.name for item in result.metrics]
    assert ("no bleu, chrf, rouge-l, edit: pip install 'passcurve[match]'",
            "no codebleu: pip install 'passcurve[codebleu]'") == result.notes  # fmt: skip
    with pytest.raises(UsageError, match=r"pip install 'passcurve\[codebleu\]'"):
        load_metrics(["exact", "codebleu"])
    assert len(METRICS) == 6
