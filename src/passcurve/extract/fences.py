"""Fenced blocks of a chat reply, found by a Markdown parser."""

from __future__ import annotations

import ast
import bisect
from collections.abc import Sequence
from functools import cache
from typing import Literal

import msgspec
from markdown_it import MarkdownIt

from passcurve.extract.join import continuation
from passcurve.extract.source import MAX_CHARS, has_entry_point
from passcurve.extract.step import Change, Task
from passcurve.types import Expression

PYTHON = frozenset({"python", "python3", "python2", "py", "py3", "ipython", "ipython3"})
"""Language names of a block of Python."""
MARKDOWN = frozenset({"markdown", "md"})
_MAX_DEPTH = 3
_MAX_CLOSING_FENCES = 8
"""Largest number of later fences to try as the end of a block."""
_MAX_EXTENDED = 200
"""Largest number of blocks to extend; with more, none is."""
UNCLOSED = ", which is not closed"
"""In the note on a block: the text ended before its fence did."""
_MAX_NUMBERS = 5


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One fenced block."""

    text: str
    language: str
    """In lower case; empty where the fence names none."""
    first: int
    """Line of its opening fence, from 0."""
    end: int
    """Line after its closing fence, or after the text."""
    closed: bool = True


class TakeBlock(msgspec.Struct, frozen=True):
    """Take one fenced block by its place or its length; leave a text without one as it is."""

    which: Literal["first", "last", "longest"]

    def __call__(self, task: Task, text: str) -> Change | None:
        """Take the block."""
        blocks = find_blocks(task, text)
        if not blocks:
            return None
        likely = select_likely(blocks)
        match self.which:
            case "first":
                taken = likely[0]
            case "last":
                taken = likely[-1]
            case "longest":
                taken = max(likely, key=lambda block: len(block.text))
        return Change(text=taken.text, note=describe_taken(blocks, [taken]))


def describe_taken(blocks: Sequence[Block], taken: Sequence[Block]) -> str:
    """Return the note on the blocks that were taken."""
    numbers = " and ".join(str(blocks.index(block) + 1) for block in taken[-_MAX_NUMBERS:])
    unclosed = "" if all(block.closed for block in taken) else UNCLOSED
    return f"took block{'s' if len(taken) > 1 else ''} {numbers} of {len(blocks)}{unclosed}"


def select_likely(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks named Python; if there are none, those without a language; if there are none, all."""
    for languages in (PYTHON, {""}):
        if likely := [block for block in blocks if block.language in languages]:
            return likely
    return list(blocks)


def find_blocks(task: Task, text: str) -> list[Block]:
    """Return the blocks of a text in order, without blank ones; none of a text above MAX_CHARS.

    If the prompt opens the fence, the text up to the first bare fence is a block.  A block of Python that does not
    parse is extended to a later fence up to which it does: its docstring contains fences.
    """
    if len(text) > MAX_CHARS:
        return []
    blocks = _parse_fences(text)
    lines = text.split("\n")
    if blocks and not blocks[0].language and _is_code(task, lead := "\n".join(lines[: blocks[0].first])):
        at = blocks[0].first + 1
        rest = _parse_fences("\n".join(lines[at:]))
        moved = [msgspec.structs.replace(block, first=block.first + at, end=block.end + at) for block in rest]
        blocks = [Block(text=lead + "\n", language="python", first=-1, end=at), *moved]
    whole: list[Block] = []
    bare = [at for at, line in enumerate(lines) if _is_bare_fence(line)] if len(blocks) <= _MAX_EXTENDED else []
    for block in blocks:
        # Blocks inside a fence have the lines of that fence.
        if not whole or block.first >= whole[-1].end or block.first == whole[-1].first:
            whole.append(_extend(task, block, lines, bare))
    return [block for block in whole if block.text.strip()]


def find_fences(text: str, *, blank: bool = False) -> list[Block]:
    """Return the blocks of a text as Markdown has them, ``blank`` ones only on request; none above MAX_CHARS."""
    blocks = _parse_fences(text) if len(text) <= MAX_CHARS else []
    return [block for block in blocks if blank or block.text.strip()]


def _is_code(task: Task, text: str) -> bool:
    if not text.strip():
        return False
    if isinstance(task.problem.check, Expression):
        return _is_answer(task.parser.read(text.strip()).tree)
    if has_entry_point(task.parser.read(text).tree, task.problem.entry_point):
        return True
    return task.form == "completion" and continuation(task, text) is not None


def _is_answer(tree: ast.Module | None) -> bool:
    """Tell whether a text is an expression or an assertion, and not a word of prose, which Python takes for a name."""
    (statement,) = tree.body if tree is not None and len(tree.body) == 1 else (None,)
    return isinstance(statement, ast.Assert) or (
        isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Name)
    )


def _extend(task: Task, block: Block, lines: list[str], bare: list[int]) -> Block:
    start = bisect.bisect_left(bare, block.end)
    later = bare[start : start + _MAX_CLOSING_FENCES]
    if not later or block.language not in PYTHON or task.parser.read(block.text).tree is not None:
        return block
    for at in later:
        text = "\n".join(lines[block.first + 1 : at]) + "\n"
        if task.parser.read(text).tree is not None:
            return msgspec.structs.replace(block, text=text, end=at + 1)
    return block


def _is_bare_fence(line: str) -> bool:
    return len(line.strip()) > 2 and set(line.strip()) == {"`"}


def python_lines(task: Task, text: str) -> set[int]:
    """Return the lines, from 0, of all closed blocks that parse as Python; none of a text above MAX_CHARS."""
    blocks = _parse_fences(text) if len(text) <= MAX_CHARS else []
    python = (block for block in blocks if block.closed and task.parser.read(block.text).tree is not None)
    return {line for block in python for line in range(block.first, block.end)}


def _parse_fences(text: str, depth: int = 0) -> list[Block]:
    blocks: list[Block] = []
    lines = text.split("\n")
    for token in _markdown().parse(text):
        if token.type != "fence" or token.map is None:
            continue
        first, end = token.map
        block = Block(
            text=token.content,
            language=_language(token.info),
            first=first,
            end=end,
            closed=end - first > 1 and set(lines[end - 1].strip(" \t>")) == set(token.markup[:1]),
        )
        nested = _parse_fences(block.text, depth + 1) if depth < _MAX_DEPTH and _has_fences(block) else []
        # Nested blocks have the lines of the fence around them.
        blocks += [msgspec.structs.replace(inner, first=first, end=end) for inner in nested] or [block]
    return blocks


def _has_fences(block: Block) -> bool:
    return block.language in MARKDOWN or block.text.lstrip().startswith(("```", "~~~"))


def _language(info: str) -> str:
    words = info.strip().split(maxsplit=1)
    return words[0].strip("{}.").partition(":")[0].lower() if words else ""


@cache
def _markdown() -> MarkdownIt:
    # Parse only what can contain a fence, and indented code, inside which a fence does not count.
    parser = MarkdownIt("zero").enable(["fence", "list", "blockquote", "code"])
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
