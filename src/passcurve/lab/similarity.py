"""Text similarity of a program and a reference, as reported elsewhere in place of running it.

Each metric is between 0 and 1.  The libraries are an extra, imported here only; exact match needs none of them.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Sequence
from typing import NamedTuple

from passcurve.errors import UnknownNameError, UsageError, nearest

Score = Callable[[str, str], float]
"""Program and reference to a number from 0 to 1."""

INSTALL = "pip install 'passcurve[match]'"
INSTALL_CODEBLEU = "pip install 'passcurve[codebleu]'"
METRICS = ("exact", "bleu", "chrf", "rouge-l", "edit", "codebleu")
MOST_CHARACTERS = 20_000
"""Largest length of a text; some metrics take time that grows with the product of both lengths."""


class Metric(NamedTuple):
    """A metric that is installed."""

    name: str
    score: Score
    signature: str
    """Everything that could change its number."""


class LoadedMetrics(NamedTuple):
    """Metrics that are installed, and notes on the missing ones."""

    metrics: tuple[Metric, ...]
    notes: tuple[str, ...]
    """One line for each extra that is not installed."""


def load_metrics(names: Sequence[str] = ()) -> LoadedMetrics:
    """Return the metrics of these names; without names all that are installed, and notes on the others.

    Raises UnknownNameError with the nearest name, UsageError with the command that installs what is missing.
    """
    for name in names:
        if name not in METRICS:
            raise UnknownNameError(
                f"--metrics {name!r} is none{nearest(name, METRICS) or '; there are ' + ', '.join(METRICS)}"
            )
    metrics: list[Metric] = []
    missing: dict[str, list[str]] = {}
    for name in dict.fromkeys(names or METRICS):
        try:
            metrics.append(_MAKERS[name]())
        except ImportError:
            missing.setdefault(INSTALL_CODEBLEU if name == "codebleu" else INSTALL, []).append(name)
    notes = tuple(f"no {', '.join(lacking)}: {install}" for install, lacking in missing.items())
    if names and notes:
        raise UsageError(f"--metrics: {'; '.join(notes)}")
    return LoadedMetrics(tuple(metrics), notes)


def strip_prompt(prompt: str, reference: str, program: str) -> tuple[str, str, str]:
    """Return what is compared: program and reference without the prompt where both begin with it, and which it was.

    The shared prompt would make every program alike.  The third is ``rest`` or, where the program does not begin with
    the prompt, ``whole``.  Both texts are cut to ``MOST_CHARACTERS``.
    """
    if program.startswith(prompt):
        return program[len(prompt) :][:MOST_CHARACTERS], reference[:MOST_CHARACTERS], "rest"
    return program[:MOST_CHARACTERS], (prompt + reference)[:MOST_CHARACTERS], "whole"


def _exact() -> Metric:
    return Metric("exact", lambda program, reference: float(program.strip() == reference.strip()), "exact|space:strip")


def _bleu() -> Metric:
    from sacrebleu.metrics import BLEU

    metric = BLEU(tokenize="13a", smooth_method="exp", effective_order=True)

    def score(program: str, reference: str) -> float:
        # Equal texts get a little more than 100.
        return min(1.0, float(metric.sentence_score(program, [reference]).score) / 100.0)

    # The library knows its signature once it has scored something.
    score("a", "a")
    return Metric("bleu", score, f"bleu|sentence|{metric.get_signature()}")


def _chrf() -> Metric:
    from sacrebleu.metrics import CHRF

    metric = CHRF()

    def score(program: str, reference: str) -> float:
        # Equal texts get a little more than 100.
        return min(1.0, float(metric.sentence_score(program, [reference]).score) / 100.0)

    score("a", "a")
    return Metric("chrf", score, f"chrf|sentence|{metric.get_signature()}")


def _rouge() -> Metric:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], use_stemmer=False)
    version = importlib.metadata.version("rouge_score")
    return Metric(
        "rouge-l",
        lambda program, reference: float(scorer.score(reference, program)["rougeL"].fmeasure),
        f"rouge-l|f-measure|tok:letters-and-digits|case:lower|stem:no|version:{version}",
    )


def _edit() -> Metric:
    from rapidfuzz.distance import Levenshtein

    version = importlib.metadata.version("rapidfuzz")
    return Metric(
        "edit", Levenshtein.normalized_similarity, f"edit|levenshtein|unit:character|over:longer|version:{version}"
    )


def _codebleu() -> Metric:
    from passcurve.lab.codebleu import SIGNATURE, code_bleu

    return Metric("codebleu", code_bleu(), SIGNATURE)


_MAKERS: dict[str, Callable[[], Metric]] = {
    "exact": _exact,
    "bleu": _bleu,
    "chrf": _chrf,
    "rouge-l": _rouge,
    "edit": _edit,
    "codebleu": _codebleu,
}
