"""Steps that join the taken text to the prompt."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

import msgspec

from passcurve.extract.source import MAX_CHARS, bound_names, first_line, has_entry_point, lines_of, used_names
from passcurve.extract.step import Change, Task

_WHOLE = "taken as a whole program"
_JOINED = "joined to the prompt"
_TOO_LONG = "too long to be taken apart"
_TABS = (4, 8)
"""Widths of a tab: that of most models, and that of Python 2."""
_INDENTATION = 4
_HALF_FENCE = re.compile(r"\s*~*[ \t]*(?:python[23]?|py)[ \t]*\n", re.IGNORECASE)
"""An opening fence that Python takes for an expression: of tildes, or its language alone where the prompt opened it."""
_MAX_NAMES = 5


def join_to_prompt(task: Task, text: str) -> Change:
    """Put a completion between the prompt and the suffix; leave a solution as it is."""
    if task.form == "solution":
        return Change(text=text, note=_WHOLE)
    return Change(text=task.problem.prompt + text + task.problem.suffix, note=_JOINED)


def keep_if_complete(task: Task, text: str) -> Change | None:
    """Take the text as it is where that makes a program that defines the entry point."""
    if _HALF_FENCE.match(text):
        return None
    change = join_to_prompt(task, text)
    if change.text is None or not has_entry_point(task.parser.read(change.text).tree, task.problem.entry_point):
        return None
    return Change(text=change.text, note=change.note, done=True)


def keep_if_too_long(task: Task, text: str) -> Change | None:
    """Take a text as it is when it is too long to be parsed."""
    if len(text) <= MAX_CHARS:
        return None
    change = join_to_prompt(task, text)
    return Change(text=change.text, note=f"{_TOO_LONG} ({len(text):,} characters), {change.note}", done=True)


def fit_to_prompt(task: Task, text: str) -> Change:
    """Take a text that defines the entry point as it is; join any other to the prompt, indented to fit."""
    entry_point = task.problem.entry_point
    if has_entry_point(task.parser.read(text).tree, entry_point):
        return Change(text=text, note=_WHOLE)
    dedented = _dedent(text)
    if dedented != text and has_entry_point(task.parser.read(dedented).tree, entry_point):
        return Change(text=dedented, note=f"{_WHOLE}, its indentation removed")
    if task.form == "completion":
        if continued := continuation(task, text):
            return Change(text=continued.program, note=continued.note)
        if not _seems_to_define(text, entry_point):
            return join_to_prompt(task, text)
    return Change(text=text, note=_WHOLE)


def _dedent(text: str) -> str:
    # Not textwrap.dedent: it makes a pattern of the indentation, and a hostile one is long.
    lines = text.split("\n")
    indents = [line[: len(line) - len(line.lstrip(" \t"))] for line in lines if line.strip()]
    least, most = min(indents, default=""), max(indents, default="")
    # The common prefix of the first and the last in order is common to all.
    margin = least[: next((at for at, (a, b) in enumerate(zip(least, most, strict=False)) if a != b), len(least))]
    return "\n".join(line.removeprefix(margin) for line in lines)


def _seems_to_define(text: str, entry_point: str) -> bool:
    """Tell whether a text that does not parse seems to define the entry point itself."""
    return any(line.replace("(", " ").split(maxsplit=2)[:2] == ["def", entry_point] for line in text.split("\n"))


class Continuation(msgspec.Struct, frozen=True, kw_only=True):
    """The program of the prompt and a text that continues it."""

    program: str
    note: str
    lines: int
    """Number of lines of the text in the program."""


def continuation(task: Task, text: str, *, cut: bool = False) -> Continuation | None:
    """Return the program of a text that continues the prompt, with the first indentation that defines the entry point.

    With ``cut``, drop lines at its end that are not Python, and use the indentation that keeps most lines.  Drop
    nothing where a suffix follows, because the text ends where the suffix begins.
    """
    prompt, suffix = task.problem.prompt, task.problem.suffix
    best: Continuation | None = None
    for variant, note in _indent_variants(text, _find_indentation(task)):
        head = prompt if not note or prompt.endswith("\n") else prompt + "\n"
        program = head + variant + suffix
        if cut and not suffix:
            program = task.parser.prefix(program)
        if len(program) > len(head) and has_entry_point(task.parser.read(program).tree, task.problem.entry_point):
            lines = program[len(head) :].count("\n") + 1
            if best is None or lines > best.lines:
                best = Continuation(program=program, note=f"{_JOINED}{note}", lines=lines)
            if not cut:
                break
    return best


def _indent_variants(text: str, pad: str) -> Iterator[tuple[str, str]]:
    variants = {text: ""}
    for width in _TABS:
        expanded = "\n".join(_expand_tabs(line, width) for line in text.split("\n"))
        variants.setdefault(expanded, f", tabs made {width} spaces")
    for variant, tabs in variants.items():
        yield variant, tabs
        yield textwrap.indent(variant, pad), f"{tabs}, indented by {len(pad)}"
        yield textwrap.indent(_dedent(variant), pad), f"{tabs}, its indentation made {len(pad)}"
        body = variant.lstrip()
        blank = variant[: len(variant) - len(body)].count("\n")
        yield "\n" * blank + pad + body, f"{tabs}, its first line indented by {len(pad)}"


def _expand_tabs(line: str, width: int) -> str:
    body = line.lstrip(" \t")
    return line[: len(line) - len(body)].expandtabs(width) + body


def _parse_prompt(task: Task) -> tuple[str, ast.Module | None]:
    """Return the prompt as a program, with a body for its last function, and its tree."""
    prompt = task.problem.prompt
    for source in (prompt, prompt.rstrip("\n") + "\n    pass\n"):
        tree = task.parser.read(source).tree
        if tree is not None:
            return source, tree
    return prompt, None


def _find_indentation(task: Task) -> str:
    tree = _parse_prompt(task)[1]
    for statement in reversed(tree.body if tree is not None else []):
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name == task.problem.entry_point:
            return " " * (statement.body[0].col_offset or _INDENTATION)
    return " " * _INDENTATION


def add_prompt_names(task: Task, text: str) -> Change | None:
    """Prepend the imports and definitions of the prompt that the program uses but lacks."""
    tree = task.parser.read(text).tree
    source, prompt = _parse_prompt(task)
    if tree is None or prompt is None:
        return None
    present: set[str] = set().union(*(bound_names(statement) for statement in tree.body))
    lacking = used_names(tree) - present
    taken: list[ast.stmt] = []
    for statement in reversed(prompt.body):
        names = bound_names(statement)
        if task.problem.entry_point in names or names & present:
            continue
        if names & lacking or (_is_star_import(statement) and not _has_star(tree, statement)):
            taken.insert(0, statement)
            lacking |= used_names(statement)
    if not taken:
        return None
    head = "\n".join(lines_of(source, first_line(node), node.end_lineno or node.lineno) for node in taken)
    after = max((node.end_lineno or 0 for node in tree.body if _is_future_import(node)), default=0)
    before = lines_of(text, 1, after) + "\n" if after else ""
    rest = "\n".join(text.split("\n")[after:])
    added_names = sorted(set().union(*(bound_names(node) for node in taken)) or {"*"})
    shown = ", ".join(added_names[:_MAX_NAMES])
    if len(added_names) > _MAX_NAMES:
        shown += f" and {len(added_names) - _MAX_NAMES} more"
    return Change(text=f"{before}{head}\n{rest}", note=f"put in front from the prompt: {shown}")


def _is_star_import(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*"


def _has_star(tree: ast.Module, statement: ast.stmt) -> bool:
    module = getattr(statement, "module", None)
    return any(_is_star_import(node) and getattr(node, "module", None) == module for node in tree.body)


def _is_future_import(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
