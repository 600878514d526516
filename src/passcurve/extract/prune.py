"""Steps that find the program in a reply, and cut it down to what the entry point needs."""

from __future__ import annotations

import ast
from bisect import bisect
from collections.abc import Iterator, Sequence
from operator import itemgetter

import msgspec

from passcurve.extract.fences import Block, blocks, preferred, took
from passcurve.extract.join import continuation
from passcurve.extract.source import answers, bound, defines, first_line, lines_of, lookups, outside, used
from passcurve.extract.step import Change, Task

_STARTERS = frozenset({"def", "class", "import", "from", "async"})
_SETTINGS = frozenset({"setrecursionlimit", "set_int_max_str_digits"})
"""Methods of ``sys`` by which a program makes room for its own depth and length."""
_TRIES = 64
"""How many lines of prose that look like the beginning of a statement are read on from."""


def code(task: Task, text: str) -> Change | None:
    """Take the program out of a reply.

    Of fenced blocks it is the last that has the entry point, with the others when it needs their names; else the
    first that continues the prompt.  In what is not fenced it is the lines that are Python.
    """
    found = blocks(task, text)
    if found:
        lead = "\n".join(text.split("\n")[: max(found[0].first, 0)])
        return _of_blocks(task, found) or _of_lines(task, lead) or _longest(found)
    return _of_lines(task, text)


def _longest(found: Sequence[Block]) -> Change:
    taken = max(preferred(found), key=lambda each: len(each.text))
    return Change(text=taken.text, said=took(found, [taken]))


def _of_blocks(task: Task, found: Sequence[Block]) -> Change | None:
    likely = preferred(found)
    entry_point = task.problem.entry_point
    parts = {id(each): task.parser.prefix(each.text) for each in likely}
    for each in reversed(likely):
        tree = task.parser.read(parts[id(each)]).tree
        if tree is None or not answers(tree, entry_point):
            continue
        lacking = used(tree) - _bound_in(tree)
        others = [other for other in likely if other is not each and lacking & _bound_by(task, parts[id(other)])]
        # What the block lacks stands before it, whichever came first.
        taken = [*others, each]
        if not others and parts[id(each)] == each.text:
            return Change(text=each.text, said=took(found, taken))
        text = "\n\n".join(parts[id(one)].rstrip("\n") for one in taken) + "\n"
        return Change(text=text, said=took(found, taken) + _cut(taken, parts))
    if task.form == "completion":
        for cut in (False, True):
            for each in likely:
                if going_on := continuation(task, each.text, cut=cut):
                    lines = each.text.split("\n")
                    text = "\n".join(lines[: going_on.lines])
                    return Change(text=text, said=took(found, [each]) + (", cut after its Python" if cut else ""))
    return None


def _cut(taken: Sequence[Block], parts: dict[int, str]) -> str:
    return "" if all(parts[id(each)].strip() == each.text.strip() for each in taken) else ", cut after its Python"


def _bound_in(tree: ast.Module) -> set[str]:
    return set().union(*(bound(each) for each in tree.body))


def _bound_by(task: Task, text: str) -> set[str]:
    tree = task.parser.read(text).tree
    return set() if tree is None else _bound_in(tree)


def _of_lines(task: Task, text: str) -> Change | None:
    """Take the lines that are Python: those that continue the prompt, or statements among the prose."""
    if not text.strip():
        return None
    lines = text.split("\n")
    continues = task.form == "completion"
    if (continues and not lines[0].strip()) or lines[0][:1] in " \t":
        going_on = continuation(task, text, cut=True) if continues else None
        if going_on:
            return _kept(lines, 0, going_on.lines)
    pieces = list(_pieces(task, lines))
    program = "\n\n".join("\n".join(lines[first:end]) for first, end in pieces)
    if answers(task.parser.read(program).tree, task.problem.entry_point):
        if len(pieces) == 1:
            return _kept(lines, *pieces[0])
        return Change(text=program + "\n", said=f"took {len(pieces)} pieces of Python out of the text")
    if continues:
        indented = next((at for at, line in enumerate(lines) if line[:1] in (" ", "\t") and line.strip()), 0)
        for start in dict.fromkeys((0, indented)):
            if going_on := continuation(task, "\n".join(lines[start:]), cut=True):
                return _kept(lines, start, start + going_on.lines)
    return None


def _kept(lines: list[str], first: int, end: int) -> Change | None:
    end = min(end, len(lines))
    if not any(line.strip() for line in (*lines[:first], *lines[end:])):
        return None
    return Change(text="\n".join(lines[first:end]) + "\n", said=f"took lines {first + 1} to {end} of {len(lines)}")


def _pieces(task: Task, lines: list[str]) -> Iterator[tuple[int, int]]:
    at = tries = 0
    while at < len(lines):
        taken = 0
        tries += _starts(lines[at])
        if _starts(lines[at]) and tries <= _TRIES and (found := task.parser.prefix("\n".join(lines[at:]))):
            taken = found.rstrip("\n").count("\n") + 1
            yield at, at + taken
        at += max(taken, 1)


def _starts(line: str) -> bool:
    words = line.split(maxsplit=2)
    if not words or line[0].isspace():
        return False
    return words[0] in _STARTERS or line[0] == "@" or (words[0].isidentifier() and words[1:2] == ["="])


class _Statement(msgspec.Struct, frozen=True, kw_only=True):
    """A statement of the program, and what ties it to the others."""

    node: ast.stmt
    bound: set[str]
    used: set[str]
    touched: set[str]
    """Names whose objects it changes."""
    always: bool
    never: bool


def prune(task: Task, text: str) -> Change | None:
    """Drop every statement that the entry point does not need: demonstrations, tests, a main guard, other functions."""
    tree = task.parser.read(text).tree
    if tree is None or not answers(tree, task.problem.entry_point):
        return None
    looked_up = lookups(text, tree)
    statements = [_statement(each, looked_up) for each in tree.body]
    kept = _needed(statements, task.problem.entry_point)
    dropped = len(statements) - len(kept)
    if not dropped:
        return None
    said = f"dropped {dropped} statement{'s' if dropped > 1 else ''} that {task.problem.entry_point} does not need"
    return Change(text=_written(text, tree, kept), said=said)


def _needed(statements: Sequence[_Statement], entry_point: str) -> set[int]:
    last = {name: at for at, each in enumerate(statements) if defines(each.node) for name in each.bound}
    wanted_by: dict[str, list[int]] = {}
    for at, each in enumerate(statements):
        superseded = defines(each.node) and all(last[name] > at for name in each.bound)
        for name in each.touched | (set() if superseded else each.bound):
            wanted_by.setdefault(name, []).append(at)
    kept = {at for at, each in enumerate(statements) if each.always}
    names, seen = [entry_point, *(name for at in kept for name in statements[at].used)], set[str]()
    while names:
        name = names.pop()
        if name in seen:
            continue
        seen.add(name)
        for at in wanted_by.get(name, ()):
            if at not in kept and not statements[at].never:
                kept.add(at)
                names += statements[at].used
    return kept


def _statement(node: ast.stmt, looked_up: Sequence[tuple[int, set[str]]]) -> _Statement:
    first, last = first_line(node), node.end_lineno or node.lineno
    names = {each.id for each in outside(node) if isinstance(each, ast.Name)}
    begin, end = (bisect(looked_up, line, key=itemgetter(0)) for line in (first - 1, last))
    for _, inner in looked_up[begin:end]:
        names |= inner
    module = node.module if isinstance(node, ast.ImportFrom) else None
    star = isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
    return _Statement(
        node=node,
        bound=bound(node),
        used=names,
        touched=_touched(node),
        always=star or module == "__future__" or _sets_up(node),
        never=isinstance(node, ast.If) and "__name__" in used(node.test),
    )


def _sets_up(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _SETTINGS


def _touched(node: ast.stmt) -> set[str]:
    """Return the names whose objects a statement changes: by a part, by a method, by a decorator of theirs."""
    found: set[str] = set()
    for each in outside(node):
        if isinstance(each, ast.Attribute | ast.Subscript) and not isinstance(each.ctx, ast.Load):
            found.add(_root(each))
        elif isinstance(each, ast.Expr) and isinstance(each.value, ast.Call):
            if isinstance(each.value.func, ast.Attribute):
                found.add(_root(each.value.func))
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found |= {_root(one) for one in each.decorator_list if isinstance(_called(one), ast.Attribute)}
    return found - {""}


def _called(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _written(text: str, tree: ast.Module, kept: set[int]) -> str:
    """Return the statements that are kept, as they stood; what stands between two of them stays where it was."""
    parts: list[str] = []
    start, end = 0, 0
    for at, node in enumerate([*tree.body, None]):
        if node is not None and at in kept:
            # Statements may share a line.
            start = start or max(first_line(node), end + 1)
            end = node.end_lineno or node.lineno
        elif start:
            parts += [lines_of(text, start, end)] if start <= end else []
            start = 0
    return "\n\n\n".join(parts) + "\n"
