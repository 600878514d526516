"""Steps that put what was taken together with the prompt."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

import msgspec

from passcurve.extract.source import MAX_CHARS, answers, bound, first_line, lines_of, used
from passcurve.extract.step import Change, Task

_WHOLE = "taken as a whole program"
_JOINED = "joined to the prompt"
_TOO_LONG = "too long to be taken apart"
_TABS = (4, 8)
"""What models mean by a tab, and what Python did before it refused to guess."""
_INDENTATION = 4
_SHOWN = 5


def as_written(task: Task, text: str) -> Change:
    """Put a completion behind the prompt, which it continues, and before the suffix; a solution stands by itself."""
    if task.form == "solution":
        return Change(text=text, said=_WHOLE)
    return Change(text=task.problem.prompt + text + task.problem.suffix, said=_JOINED)


def if_it_answers(task: Task, text: str) -> Change | None:
    """Take the text as it stands where that makes a program with the entry point in it."""
    change = as_written(task, text)
    if change.text is None or not answers(task.parser.read(change.text).tree, task.problem.entry_point):
        return None
    return Change(text=change.text, said=change.said, done=True)


def if_too_long(task: Task, text: str) -> Change | None:
    """Take a text that is too long to be taken apart as it stands."""
    if len(text) <= MAX_CHARS:
        return None
    change = as_written(task, text)
    return Change(text=change.text, said=f"{_TOO_LONG} ({len(text):,} characters), {change.said}", done=True)


def fit(task: Task, text: str) -> Change:
    """Take a text that has the entry point as it is, and put any other behind the prompt, indented as that needs."""
    entry_point = task.problem.entry_point
    if answers(task.parser.read(text).tree, entry_point):
        return Change(text=text, said=_WHOLE)
    dedented = _dedented(text)
    if dedented != text and answers(task.parser.read(dedented).tree, entry_point):
        return Change(text=dedented, said=f"{_WHOLE}, its indentation removed")
    if task.form == "completion":
        if found := continuation(task, text):
            return Change(text=found.program, said=found.said)
        if not _says(text, entry_point):
            return as_written(task, text)
    return Change(text=text, said=_WHOLE)


def _dedented(text: str) -> str:
    # The library's own makes a pattern of the indentation, and a hostile one is long.
    lines = text.split("\n")
    found = [line[: len(line) - len(line.lstrip(" \t"))] for line in lines if line.strip()]
    least, most = min(found, default=""), max(found, default="")
    # What the first and the last in order have in common, all between them have.
    margin = least[: next((at for at, (a, b) in enumerate(zip(least, most, strict=False)) if a != b), len(least))]
    return "\n".join(line.removeprefix(margin) for line in lines)


def _says(text: str, entry_point: str) -> bool:
    """Say whether a text that is no Python seems to define the entry point itself."""
    return any(line.replace("(", " ").split(maxsplit=2)[:2] == ["def", entry_point] for line in text.split("\n"))


class Continuation(msgspec.Struct, frozen=True, kw_only=True):
    """A text that continues the prompt, and the program that the two make."""

    program: str
    said: str
    lines: int
    """How many lines of the text are in it."""


def continuation(task: Task, text: str, *, cut: bool = False) -> Continuation | None:
    """Return the program of a text that continues the prompt, in the first indentation in which it answers.

    With ``cut`` lines at its end that are no Python are left out; the indentation that keeps most of them is taken.
    Where a suffix follows, nothing is left out: what a gap is filled with ends where the suffix begins.
    """
    prompt, suffix = task.problem.prompt, task.problem.suffix
    best: Continuation | None = None
    for variant, said in _indented(text, _indentation(task)):
        head = prompt if not said or prompt.endswith("\n") else prompt + "\n"
        program = head + variant + suffix
        if cut and not suffix:
            program = task.parser.prefix(program)
        if len(program) > len(head) and answers(task.parser.read(program).tree, task.problem.entry_point):
            lines = program[len(head) :].count("\n") + 1
            if best is None or lines > best.lines:
                best = Continuation(program=program, said=f"{_JOINED}{said}", lines=lines)
            if not cut:
                break
    return best


def _indented(text: str, pad: str) -> Iterator[tuple[str, str]]:
    variants = {text: ""}
    for width in _TABS:
        spaced = "\n".join(_spaced(line, width) for line in text.split("\n"))
        variants.setdefault(spaced, f", tabs made {width} spaces")
    for variant, tabs in variants.items():
        yield variant, tabs
        yield textwrap.indent(variant, pad), f"{tabs}, indented by {len(pad)}"
        yield textwrap.indent(_dedented(variant), pad), f"{tabs}, its indentation made {len(pad)}"
        body = variant.lstrip()
        blank = variant[: len(variant) - len(body)].count("\n")
        yield "\n" * blank + pad + body, f"{tabs}, its first line indented by {len(pad)}"


def _spaced(line: str, width: int) -> str:
    body = line.lstrip(" \t")
    return line[: len(line) - len(body)].expandtabs(width) + body


def _prompt_tree(task: Task) -> tuple[str, ast.Module | None]:
    """Return the prompt as a program, its last function given a body, and the tree of that."""
    prompt = task.problem.prompt
    for source in (prompt, prompt.rstrip("\n") + "\n    pass\n"):
        tree = task.parser.read(source).tree
        if tree is not None:
            return source, tree
    return prompt, None


def _indentation(task: Task) -> str:
    tree = _prompt_tree(task)[1]
    for statement in reversed(tree.body if tree is not None else []):
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name == task.problem.entry_point:
            return " " * (statement.body[0].col_offset or _INDENTATION)
    return " " * _INDENTATION


def complete(task: Task, text: str) -> Change | None:
    """Put in front what the prompt imports or defines, and the program looks up but lacks."""
    tree = task.parser.read(text).tree
    source, given = _prompt_tree(task)
    if tree is None or given is None:
        return None
    has: set[str] = set().union(*(bound(each) for each in tree.body))
    lacking = used(tree) - has
    taken: list[ast.stmt] = []
    for statement in reversed(given.body):
        names = bound(statement)
        if task.problem.entry_point in names or names & has:
            continue
        if names & lacking or (_star(statement) and not _has_star(tree, statement)):
            taken.insert(0, statement)
            lacking |= used(statement)
    if not taken:
        return None
    head = "\n".join(lines_of(source, first_line(each), each.end_lineno or each.lineno) for each in taken)
    after = max((each.end_lineno or 0 for each in tree.body if _future(each)), default=0)
    before = lines_of(text, 1, after) + "\n" if after else ""
    rest = "\n".join(text.split("\n")[after:])
    given_names = sorted(set().union(*(bound(each) for each in taken)) or {"*"})
    shown = ", ".join(given_names[:_SHOWN])
    if len(given_names) > _SHOWN:
        shown += f" and {len(given_names) - _SHOWN} more"
    return Change(text=f"{before}{head}\n{rest}", said=f"put in front from the prompt: {shown}")


def _star(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*"


def _has_star(tree: ast.Module, statement: ast.stmt) -> bool:
    module = getattr(statement, "module", None)
    return any(_star(each) and getattr(each, "module", None) == module for each in tree.body)


def _future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
