"""The prompts that rows bring with them, beside those of the benchmark."""

from __future__ import annotations

import ast
import re

from passcurve.types import Problem

_MAX_KEPT = 4096


class PromptComparison:
    """Tells whether the function of a row's prompt has other parameters than that of its problem."""

    def __init__(self) -> None:
        self._differs: dict[int, bool] = {}

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
