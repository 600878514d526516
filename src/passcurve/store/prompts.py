"""The prompts that rows bring with them, beside those of the benchmark."""

from __future__ import annotations

import ast
import re
from collections import Counter

from passcurve.diagnosis import Finding
from passcurve.store.describe import n_rows
from passcurve.store.reasons import ids_remedy
from passcurve.types import Problem

_MAX_KEPT = 4096


class PromptComparison:
    """Tells whether a row's prompt is that of another problem, or gives its function other parameters."""

    def __init__(self) -> None:
        self._differs: dict[int, bool] = {}
        self._owners: dict[int, str] = {}
        """Problems by a hash of their prompts; empty where several have the same."""
        self._strange: Counter[tuple[str, int]] = Counter()
        """Rows by their problem and a hash of their prompt, where that is not the problem's."""

    def observe(self, problem: Problem, prompt: str) -> None:
        """Take the prompt of a row, empty where it has none."""
        if not prompt:
            return
        ours, theirs = (hash(text.strip()) for text in (problem.prompt, prompt))
        if self._owners.setdefault(ours, problem.id) != problem.id:
            self._owners[ours] = ""
        key = (problem.id, theirs)
        if theirs != ours and (key in self._strange or len(self._strange) < _MAX_KEPT):
            self._strange[key] += 1

    def of_others(self, seen: int, failed: int) -> Finding | None:
        """Return the finding on those of so many rows whose prompt is that of another problem.

        Where hardly any of the rows has failed, the prompts are wrong, and not the ids.
        """
        moved = {task: self._owners[key] for task, key in self._strange if self._owners.get(key)}
        if not moved:
            return None
        rows = sum(count for (_, key), count in self._strange.items() if self._owners.get(key))
        if rows > 2 * failed:
            return None
        task, owner = next(iter(moved.items()))
        text = (
            f"the `prompt` of {n_rows(rows)} is that of another problem, that of {task!r} the one of {owner!r}, so the "
            f"ids do not belong to the texts: {ids_remedy(moved, rows / seen)}"
        )
        return Finding(name="other_ids", rows=rows, text=text)

    def differs(self, problem: Problem, prompt: str) -> bool:
        """Tell whether a text that continues this prompt cannot continue that of the problem."""
        if prompt == problem.prompt or f"def {problem.entry_point}(" not in prompt:
            return False
        key = hash((problem.id, prompt))
        if key not in self._differs:
            if len(self._differs) >= _MAX_KEPT:
                self._differs.clear()
            theirs, ours = (_parameters(text, problem.entry_point) for text in (prompt, problem.prompt))
            self._differs[key] = theirs is not None and ours is not None and theirs != ours
        return self._differs[key]


def _parameters(prompt: str, name: str) -> list[str] | None:
    """Return the names of the parameters of the last function of that name; None where they cannot be read."""
    heads = re.findall(rf"^\s*def {re.escape(name)}(\(.*?\)[^\n]*:)[ \t]*$", prompt, re.MULTILINE | re.DOTALL)
    try:
        (function,) = ast.parse(f"def f{heads[-1]} pass").body if heads else (None,)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return [argument.arg for argument in function.args.args] if isinstance(function, ast.FunctionDef) else None
