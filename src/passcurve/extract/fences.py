"""Fenced blocks of a chat reply, found by a parser of Markdown."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from functools import cache
from typing import Literal

import msgspec
from markdown_it import MarkdownIt

from passcurve.extract.join import continuation
from passcurve.extract.source import MAX_CHARS, answers
from passcurve.extract.step import Change, Task

PYTHON = frozenset({"python", "python3", "python2", "py", "py3", "ipython", "ipython3"})
"""What a block of Python may be called."""
MARKDOWN = frozenset({"markdown", "md"})
_NESTING = 3
_LATER = 8
_EXTENDED = 200
"""With more blocks than these none is looked at for fences inside it."""
_SHOWN = 5


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One fenced block."""

    text: str
    language: str
    """Lower case; empty where the fence does not say."""
    first: int
    """The line of its opening fence, from 0."""
    end: int
    """The line after its closing fence, or after the text."""
    closed: bool = True


class Pick(msgspec.Struct, frozen=True):
    """Take one fenced block by its place or its length; a text without one is left as it is."""

    which: Literal["first", "last", "longest"]

    def __call__(self, task: Task, text: str) -> Change | None:
        """Take the block."""
        found = blocks(task, text)
        if not found:
            return None
        likely = preferred(found)
        match self.which:
            case "first":
                taken = likely[0]
            case "last":
                taken = likely[-1]
            case "longest":
                taken = max(likely, key=lambda each: len(each.text))
        return Change(text=taken.text, said=took(found, [taken]))


def took(found: Sequence[Block], taken: Sequence[Block]) -> str:
    """Say which blocks were taken."""
    numbers = " and ".join(str(found.index(each) + 1) for each in taken[-_SHOWN:])
    unclosed = "" if all(each.closed for each in taken) else ", which is not closed"
    return f"took block{'s' if len(taken) > 1 else ''} {numbers} of {len(found)}{unclosed}"


def preferred(found: Sequence[Block]) -> list[Block]:
    """Return the blocks that say that they are Python; if none does, those that say nothing; if none, all."""
    for wanted in (PYTHON, {""}):
        if likely := [each for each in found if each.language in wanted]:
            return likely
    return list(found)


def blocks(task: Task, text: str) -> list[Block]:
    """Return the blocks of a text in order, blank ones aside; none of a text above MAX_CHARS.

    Where the prompt had opened the fence, the text up to the first bare fence is a block.  A block of Python that is
    none up to its closing fence goes on to the later fence up to which it is: its docstring had fences in it.
    """
    if len(text) > MAX_CHARS:
        return []
    found = _fences(text)
    lines = text.split("\n")
    if found and not found[0].language and _is_code(task, lead := "\n".join(lines[: found[0].first])):
        at = found[0].first + 1
        rest = _fences("\n".join(lines[at:]))
        moved = [msgspec.structs.replace(each, first=each.first + at, end=each.end + at) for each in rest]
        found = [Block(text=lead + "\n", language="python", first=-1, end=at), *moved]
    whole: list[Block] = []
    bare = [at for at, line in enumerate(lines) if _bare(line)] if len(found) <= _EXTENDED else []
    for each in found:
        # What lies inside a fence that wraps others has the lines of that fence.
        if not whole or each.first >= whole[-1].end or each.first == whole[-1].first:
            whole.append(_extended(task, each, lines, bare))
    return [each for each in whole if each.text.strip()]


def _is_code(task: Task, text: str) -> bool:
    if not text.strip():
        return False
    if answers(task.parser.read(text).tree, task.problem.entry_point):
        return True
    return task.form == "completion" and continuation(task, text) is not None


def _extended(task: Task, block: Block, lines: list[str], bare: list[int]) -> Block:
    start = bisect.bisect_left(bare, block.end)
    later = bare[start : start + _LATER]
    if not later or block.language not in PYTHON or task.parser.read(block.text).tree is not None:
        return block
    for at in later:
        text = "\n".join(lines[block.first + 1 : at]) + "\n"
        if task.parser.read(text).tree is not None:
            return msgspec.structs.replace(block, text=text, end=at + 1)
    return block


def _bare(line: str) -> bool:
    return len(line.strip()) > 2 and set(line.strip()) == {"`"}


def python_lines(task: Task, text: str) -> set[int]:
    """Return the lines, from 0, of all blocks that are closed and Python; none of a text above MAX_CHARS."""
    found = _fences(text) if len(text) <= MAX_CHARS else []
    python = (each for each in found if each.closed and task.parser.read(each.text).tree is not None)
    return {line for each in python for line in range(each.first, each.end)}


def _fences(text: str, depth: int = 0) -> list[Block]:
    found: list[Block] = []
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
        inner = _fences(block.text, depth + 1) if depth < _NESTING and _wraps(block) else []
        # The lines of what is inside are counted from the fence around it.
        found += [msgspec.structs.replace(each, first=first, end=end) for each in inner] or [block]
    return found


def _wraps(block: Block) -> bool:
    return block.language in MARKDOWN or block.text.lstrip().startswith(("```", "~~~"))


def _language(info: str) -> str:
    words = info.strip().split(maxsplit=1)
    return words[0].strip("{}.").partition(":")[0].lower() if words else ""


@cache
def _markdown() -> MarkdownIt:
    # Only what can hold a fence is looked for; indented code is known so that a fence inside it is none.
    parser = MarkdownIt("zero").enable(["fence", "list", "blockquote", "code"])
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
