"""Steps that find the program in a reply, and keep what the entry point needs."""

from __future__ import annotations

import ast
import builtins
import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from passcurve.extract.effects import Effects, Statement, changed_names
from passcurve.extract.fences import Block, describe_taken, find_blocks, select_likely
from passcurve.extract.join import continuation
from passcurve.extract.source import (
    bound_names,
    first_line,
    global_lookups,
    has_entry_point,
    is_answer,
    is_definition,
    lines_of,
    unbound_names,
    used_names,
    walk_outside_functions,
)
from passcurve.extract.step import Change, Task
from passcurve.types.amounts import amount

_STARTERS = frozenset({"def", "class", "import", "from", "async"})
_SETTERS = frozenset({"setrecursionlimit", "set_int_max_str_digits"})
"""Methods of ``sys`` that raise the limits on recursion and on digits."""
_REFLECTION = frozenset({"eval", "exec", "globals"})
"""Functions of Python that find a name of the program by its text."""
_BUILTINS = frozenset(dir(builtins)) - {"input", "print"}
"""Names that a block has from Python; scripts often have another ``input`` or ``print``."""
_READERS = re.compile(r"\b(?:input|stdin|open)\b")
_WRITERS = re.compile(r"\b(?:print|write|writelines|stdout)\b")
"""Words of a script that reads, and of one that writes."""
_COMMAND = re.compile(r"[!%]|(?:pip3?|conda) install\b|\$ ")
"""The start of a line that is for a notebook or a shell."""
_MAX_CHOICES = 64
"""Largest number of blocks to choose from, from the last."""
_MAX_STARTS = 64
"""Largest number of lines in prose to parse from because they look like the start of a statement."""


def take_code(task: Task, text: str) -> Change | None:
    """Take the program out of a reply.

    It is the last fenced block that answers with the entry point, with the other blocks whose names it needs; else the
    first block that continues the prompt.  Without fences it is the lines that are Python.
    """
    blocks = find_blocks(task, text)
    if blocks:
        lead = "\n".join(text.split("\n")[: max(blocks[0].first, 0)])
        return _take_from_blocks(task, blocks) or _take_from_lines(task, lead) or _take_longest(task, blocks)
    return _take_from_lines(task, text)


def _take_longest(task: Task, blocks: Sequence[Block]) -> Change:
    """Take the longest block, without the commands of a notebook or a shell where the rest is the program."""
    taken = max(select_likely(blocks), key=lambda block: len(block.text))
    note = describe_taken(blocks, [taken])
    lines = taken.text.split("\n")
    kept = [line for line in lines if not _COMMAND.match(line)]
    program = "\n".join(kept).lstrip("\n")
    if len(kept) < len(lines) and has_entry_point(task.parser.read(program).tree, task.problem.entry_point):
        return Change(text=program, note=f"{note}, without {amount(len(lines) - len(kept), 'command')}")
    return Change(text=taken.text, note=note)


def _take_from_blocks(task: Task, blocks: Sequence[Block]) -> Change | None:
    likely = select_likely(blocks)
    if (change := _take_answer(task, blocks, likely)) is not None:
        return change
    # The answer may have another name than an example of its use, or none.
    if (change := _take_answer(task, blocks, _defining(task, blocks))) is not None:
        return change
    if task.form == "completion":
        for cut in (False, True):
            for block in likely:
                if continued := continuation(task, block.text, cut=cut):
                    lines = block.text.split("\n")
                    text = "\n".join(lines[: continued.lines])
                    note = describe_taken(blocks, [block])
                    return Change(text=text, note=note + (", cut after its Python" if cut else ""))
    return None


def _take_answer(task: Task, blocks: Sequence[Block], likely: Sequence[Block]) -> Change | None:
    """Take the last of the likely blocks that answers with the entry point, with those whose names it needs."""
    entry_point = task.problem.entry_point
    parts = {id(block): task.parser.prefix(block.text) for block in likely}
    needs = _Needs(task, likely, parts)
    best: tuple[_Drawbacks, Block, list[Block]] | None = None
    for block in likely[::-1][:_MAX_CHOICES]:
        tree = task.parser.read(parts[id(block)]).tree
        if tree is None or not has_entry_point(tree, entry_point):
            continue
        others = needs.of(block)
        drawbacks = _drawbacks(tree, entry_point, [parts[id(one)] for one in (block, *others)])
        # Of two that are as good the later one stays.
        if best is None or drawbacks < best[0]:
            best = drawbacks, block, others
        if not any(drawbacks):
            break
    if best is None:
        return None
    _, block, others = best
    # The blocks with the missing names come first, whatever their order in the reply.
    taken = [*others, block]
    if not others and parts[id(block)] == block.text:
        return Change(text=block.text, note=describe_taken(blocks, taken))
    text = "\n\n".join(parts[id(one)].rstrip("\n") for one in taken) + "\n"
    return Change(text=text, note=describe_taken(blocks, taken) + _cut_note(taken, parts))


class _Needs:
    """Tells which other blocks a block needs: those of the names that it lacks, or that they lack in turn."""

    def __init__(self, task: Task, blocks: Sequence[Block], parts: dict[int, str]) -> None:
        self._task, self._blocks, self._parts = task, blocks, parts
        self._bound = {id(block): _bound_by(task, parts[id(block)]) for block in blocks}
        self._lacking: dict[int, set[str]] = {}
        self._binding: dict[str, list[Block]] = {}
        """The blocks that bind each name."""
        for block in blocks:
            for name in self._bound[id(block)]:
                self._binding.setdefault(name, []).append(block)

    def of(self, block: Block) -> list[Block]:
        """Return the blocks in the order of the reply."""
        taken, seen, rest = {id(block)}, set(self._bound[id(block)]), [block]
        while rest:
            names = self._names(rest.pop()) - seen
            seen |= names
            for name in names:
                more = [other for other in self._binding.get(name, ()) if id(other) not in taken]
                taken.update(map(id, more))
                rest += more
        return [other for other in self._blocks if other is not block and id(other) in taken]

    def _names(self, block: Block) -> set[str]:
        if id(block) not in self._lacking:
            self._lacking[id(block)] = _lacking(self._task, self._parts[id(block)])
        return self._lacking[id(block)]


def _defining(task: Task, blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks that define the entry point, in whatever language they say that they are."""
    names = set(task.problem.entry_point.split("."))
    trees = ((block, task.parser.read(task.parser.prefix(block.text)).tree) for block in blocks)
    return [
        block
        for block, tree in trees
        if tree is not None
        and any(is_definition(node) and names & bound_names(node) for node in tree.body)
        and is_answer(tree, task.problem.entry_point)
    ]


class _Drawbacks(NamedTuple):
    """The reasons against a block, the worst first."""

    is_no_answer: bool
    reads_nothing: bool = False
    needs_others: bool = False


def _drawbacks(tree: ast.Module, entry_point: str, texts: Sequence[str]) -> _Drawbacks:
    """Return those of a block; ``texts`` are it and the blocks whose names it uses.  A script must read and write."""
    is_no_answer = not is_answer(tree, entry_point)
    if entry_point:
        return _Drawbacks(is_no_answer)
    writes, reads = (any(pattern.search(text) for text in texts) for pattern in (_WRITERS, _READERS))
    return _Drawbacks(is_no_answer or not writes, not reads, len(texts) > 1)


def _cut_note(taken: Sequence[Block], parts: dict[int, str]) -> str:
    return "" if all(parts[id(block)].strip() == block.text.strip() for block in taken) else ", cut after its Python"


def _bound_in(tree: ast.Module) -> set[str]:
    return set().union(*(bound_names(statement) for statement in tree.body))


def _lacking(task: Task, text: str) -> set[str]:
    """Return the names that a block looks up and has neither of its own nor from Python."""
    tree = task.parser.read(text).tree
    if tree is None:
        return set()
    try:
        names = unbound_names(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        names = used_names(tree) - _bound_in(tree)
    return names - _BUILTINS


def _bound_by(task: Task, text: str) -> set[str]:
    tree = task.parser.read(text).tree
    return set() if tree is None else _bound_in(tree)


def _take_from_lines(task: Task, text: str) -> Change | None:
    """Take the lines that are Python: they continue the prompt, or are statements between prose."""
    if not text.strip():
        return None
    lines = text.split("\n")
    if (block := _take_indented(task, lines)) is not None:
        return block
    continues = task.form == "completion"
    if (continues and not lines[0].strip()) or lines[0][:1] in " \t":
        continued = continuation(task, text, cut=True) if continues else None
        if continued:
            return _keep_lines(lines, 0, continued.lines)
    pieces = list(_find_pieces(task, lines))
    program = "\n\n".join("\n".join(lines[first:end]) for first, end in pieces)
    if has_entry_point(task.parser.read(program).tree, task.problem.entry_point):
        if len(pieces) == 1:
            return _keep_lines(lines, *pieces[0])
        return Change(text=program + "\n", note=f"took {len(pieces)} pieces of Python out of the text")
    if continues:
        indented = next((at for at, line in enumerate(lines) if line[:1] in (" ", "\t") and line.strip()), 0)
        for start in dict.fromkeys((0, indented)):
            if continued := continuation(task, "\n".join(lines[start:]), cut=True):
                return _keep_lines(lines, start, start + continued.lines)
    return None


def _take_indented(task: Task, lines: list[str]) -> Change | None:
    """Take the entry point out of lines that are indented, as Markdown has code without a fence."""
    define = f"def {task.problem.entry_point}("
    at = next((at for at, line in enumerate(lines) if line[:1] in (" ", "\t") and line.lstrip().startswith(define)), -1)
    if at < 0 or any(line.startswith(define) for line in lines):
        return None
    margin = lines[at][: lines[at].index("def")]
    outside = [at for at, line in enumerate(lines) if line.strip() and not line.startswith(margin)]
    first = max((other for other in outside if other < at), default=-1) + 1
    end = min((other for other in outside if other > at), default=len(lines))
    # Behind a line of Python it is a method, or a function inside another.
    if not first or task.parser.read("\n".join(lines[first - 1 : end])).tree is not None:
        return None
    block = "\n".join(line.removeprefix(margin) for line in lines[first:end]).strip("\n") + "\n"
    program = task.parser.prefix(block)
    # The body of a function may have another of that name inside; it ends with a return.
    if not has_entry_point(task.parser.read(program).tree, task.problem.entry_point):
        return None
    return Change(text=program, note=f"took the indented lines up to {end} of {len(lines)} as a program")


def _keep_lines(lines: list[str], first: int, end: int) -> Change | None:
    end = min(end, len(lines))
    if not any(line.strip() for line in (*lines[:first], *lines[end:])):
        return None
    return Change(text="\n".join(lines[first:end]) + "\n", note=f"took lines {first + 1} to {end} of {len(lines)}")


def _find_pieces(task: Task, lines: list[str]) -> Iterator[tuple[int, int]]:
    at = tries = 0
    while at < len(lines):
        taken = 0
        is_start = _is_start(lines[at])
        tries += is_start
        if is_start and tries <= _MAX_STARTS and (piece := task.parser.prefix("\n".join(lines[at:]))):
            taken = piece.rstrip("\n").count("\n") + 1
            yield at, at + taken
        at += max(taken, 1)


def _is_start(line: str) -> bool:
    words = line.split(maxsplit=2)
    if not words or line[0].isspace():
        return False
    return words[0] in _STARTERS or line[0] == "@" or (words[0].isidentifier() and words[1:2] == ["="])


def prune(task: Task, text: str) -> Change | None:
    """Drop every statement that the entry point does not need, as demonstrations, tests and a main guard."""
    tree = task.parser.read(text).tree
    # Of a script nothing can be dropped.
    if tree is None or not task.problem.entry_point or not has_entry_point(tree, task.problem.entry_point):
        return None
    looked_up = global_lookups(text, tree)
    statements = [_describe_statement(node, looked_up) for node in tree.body]
    kept = _find_needed(statements, task.problem.entry_point)
    dropped = len(statements) - len(kept)
    if not dropped:
        return None
    note = f"dropped {dropped} statement{'s' if dropped > 1 else ''} that {task.problem.entry_point} does not need"
    return Change(text=_join_kept(text, tree, kept), note=note)


def _find_needed(statements: Sequence[Statement], entry_point: str) -> set[int]:
    last = {name: at for at, one in enumerate(statements) if is_definition(one.node) for name in one.bound}
    effects = Effects({name: statements[at] for name, at in last.items()}, entry_point)
    providers: dict[str, list[int]] = {}
    nameable = [at for at, statement in enumerate(statements) if _is_nameable(statement.node)]
    for at, statement in enumerate(statements):
        superseded = is_definition(statement.node) and all(last[name] > at for name in statement.bound)
        for name in statement.changed | effects.of(statement) | (set() if superseded else statement.bound):
            providers.setdefault(name, []).append(at)
    kept = {at for at, statement in enumerate(statements) if statement.is_always_kept}
    names, seen = [*entry_point.split("."), *(name for at in kept for name in statements[at].used)], set[str]()
    while names:
        name = names.pop()
        if name in seen:
            continue
        seen.add(name)
        # Such a function may look up any name.
        others = nameable if name in _REFLECTION else ()
        for at in (*providers.get(name, ()), *others):
            if at not in kept and not statements[at].is_never_kept:
                kept.add(at)
                names += statements[at].used
    return kept


def _is_nameable(node: ast.stmt) -> bool:
    """Tell whether a statement gives a name a meaning and does nothing else."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return not any(isinstance(inner, ast.Call) for inner in walk_outside_functions(node))
    return is_definition(node) or isinstance(node, ast.Import | ast.ImportFrom)


def _describe_statement(node: ast.stmt, looked_up: Sequence[tuple[int, set[str]]]) -> Statement:
    first, last = first_line(node), node.end_lineno or node.lineno
    names = {inner.id for inner in walk_outside_functions(node) if isinstance(inner, ast.Name)}
    begin, end = (bisect(looked_up, line, key=itemgetter(0)) for line in (first - 1, last))
    for _, global_names in looked_up[begin:end]:
        names |= global_names
    module = node.module if isinstance(node, ast.ImportFrom) else None
    is_star = isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
    return Statement(
        node=node,
        bound=bound_names(node),
        used=names,
        changed=changed_names(node),
        is_always_kept=is_star or module == "__future__" or _sets_limit(node),
        is_never_kept=isinstance(node, ast.If) and "__name__" in used_names(node.test),
    )


def _sets_limit(node: ast.stmt) -> bool:
    """Tell whether a statement sets a limit of the interpreter, or the precision of decimal numbers."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        return call.func.attr in _SETTERS
    targets = node.targets if isinstance(node, ast.Assign) else []
    return any(isinstance(target, ast.Attribute) and _is_context(target.value) for target in targets)


def _is_context(node: ast.expr) -> bool:
    """Tell whether an expression is ``getcontext()``, of the module ``decimal`` or by its own name."""
    function = node.func if isinstance(node, ast.Call) else None
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return bool(name == "getcontext")


def _join_kept(text: str, tree: ast.Module, kept: set[int]) -> str:
    """Return the source of the kept statements, with the comments between neighbours."""
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
