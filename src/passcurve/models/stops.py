"""Stop words: a completion ends before the first one, whether or not the server has applied them."""

from __future__ import annotations

from collections.abc import Iterable

from passcurve.types import Assertions, Cases, Expression, Problem, language_of

HUMAN_EVAL = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")
"""The five stop words of Chen et al. 2021 (arXiv:2107.03374, section 2.1), which end the body of a function."""
MBPP = ("\nclass", "\nassert", '\n"""', "\nprint", "\nif", "\n<|/", "\n```")
"""Those of bigcode-evaluation-harness for MBPP (bigcode_eval/tasks/mbpp.py, at c326b51), which end a function."""
PROGRAM = ('\n"""',)
"""The only one for a whole program, whose task stands in a string before it: so does the next task."""


def default_stops(problem: Problem) -> tuple[str, ...]:
    """Return the stop words of a text that continues a problem, where its user names none."""
    if language_of(problem.check):
        return problem.stop
    match problem.check:
        case Expression():
            return HUMAN_EVAL
        case Cases(via="stdin"):
            return PROGRAM
    is_in_words = problem.prompt.startswith('"""') and "\ndef " not in problem.prompt
    if problem.prompt and not is_in_words:
        return HUMAN_EVAL
    is_function = isinstance(problem.check, Assertions) and bool(problem.entry_point)
    return MBPP if is_function or problem.prompt else PROGRAM


def cut_at_stop(text: str, stops: Iterable[str]) -> str:
    """Return the text before its first stop word; a second cut changes nothing."""
    ends = [at for stop in stops if (at := text.find(stop)) >= 0]
    return text[: min(ends)] if ends else text
