"""The step that takes a program from between the marks around it."""

from __future__ import annotations

import ast

from passcurve.extract.cuts import after_thinking
from passcurve.extract.step import Change, Task

_MARKS = (("[BEGIN]", "[DONE]"), ("[PYTHON]", "[/PYTHON]"))
"""Lines around a program, as the prompts of MBPP and CodeLlama have them."""


def take_marked(task: Task, text: str) -> Change | None:
    """Take what stands between the marks around a program.

    Marks may also stand in thinking, in prose or within a string of the program: then the text stays as it is.
    """
    lines = text.split("\n")
    for begin, end in _MARKS:
        at = next((at for at, line in enumerate(lines) if line.rstrip() == end), len(lines))
        first = next((at + 1 for at, line in enumerate(lines[:at]) if line.strip() == begin), 0)
        if not first and at == len(lines):
            continue
        taken = "\n".join([*lines[first:at], ""])
        if _has_mark(task, text) and _is_program(task, taken) and after_thinking(task, text) is None:
            return Change(text=taken, note=f"took what stands between {begin} and {end}")
    return None


def _has_mark(task: Task, text: str) -> bool:
    """Tell whether a text is no program of Python, or one with a statement that is nothing but a mark."""
    tree = task.parser.read(_head(task) + text).tree
    return tree is None or any(_is_list_of_name(node) for node in tree.body)


def _is_list_of_name(node: ast.stmt) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.List) and len(value.elts) == 1 and isinstance(value.elts[0], ast.Name)


def _is_program(task: Task, text: str) -> bool:
    """Tell whether a text is Python, by itself or behind the prompt, or holds a fenced block."""
    if "```" in text:
        return True
    trees = (task.parser.read(piece).tree for piece in (text, _head(task) + text))
    return any(tree is not None and tree.body for tree in trees)


def _head(task: Task) -> str:
    return task.problem.prompt if task.form == "completion" else ""
