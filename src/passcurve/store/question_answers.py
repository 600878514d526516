"""Answers to questions about a function: those to the other question, and those that cannot be read."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from passcurve.diagnosis import Finding
from passcurve.store.describe import n_rows
from passcurve.types import Expression
from passcurve.types.amounts import have

_SHARE, _ROWS = 0.2, 10
"""Share and number of answers that repeat the question from which on they seem to be those to the other one."""
_OTHER: dict[str, Literal["input", "output"]] = {"input": "output", "output": "input"}


class AnswerTracker:
    """Counts questions, and the answers that are what the question shows."""

    def __init__(self) -> None:
        self.rows = 0
        self._repeats: Counter[str] = Counter()

    def observe(self, question: Expression, text: str) -> None:
        """Take an answer."""
        self.rows += 1
        if question.input != question.output:
            shown = (question.output,) if question.asks == "input" else (question.input, f"f({question.input})")
            self._repeats[question.asks] += text.strip() in shown

    def other_task(self, seen: int) -> Finding | None:
        """Return the finding on answers to the other task, where they are many of so many rows."""
        asks, rows = next(iter(self._repeats.most_common(1)), ("", 0))
        if rows < _ROWS or rows <= _SHARE * seen:
            return None
        other = _OTHER[asks]
        text = (
            f"{n_rows(rows)} answer with the very {other} that the question for the {asks} shows; "
            f"if the model was asked for the {other}, use --task {other}"
        )
        return Finding(name="other_task", rows=rows, text=text)


def unreadable_answers(rows: int, error: str, extract: str) -> Finding:
    """Return the finding on so many answers that cannot be read, most of all by that error."""
    wanted = "the call f(...)" if error.endswith("call of f") else "the answer"
    remedy = f"ask for {wanted} alone, or between [ANSWER] and [/ANSWER]"
    if extract != "answer":
        remedy = f"use --extract answer; where that does not help, {remedy}"
    text = f"{n_rows(rows)} {have(rows)} an answer that cannot be read, most of all by {error}; {remedy}"
    return Finding(name="broken", rows=rows, text=text)
