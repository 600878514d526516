"""The answer to a question about a function: one expression, of a text that may say more."""

from __future__ import annotations

import ast
import re

from passcurve.extract.step import Change, Task
from passcurve.types import Expression

_TICKS = re.compile(r"`([^`]+)`")
_TAGS = re.compile(r"\[ANSWER\](.*?)(?:\[/ANSWER\]|\Z)", re.DOTALL)


def take_answer(task: Task, text: str) -> Change | None:
    """Take what stands between the last answer tags, of that or else of the whole text the last fenced block.

    Without tags and blocks take the first line with text, and the lines on which its expression goes on.  Where all of
    it is code within a line, in back ticks, it is taken without these.
    """
    from passcurve.extract.fences import find_blocks, select_likely

    if "[ANSWER]" not in text and "[/ANSWER]" in text:
        # The prompt ended with the opening tag.
        text = f"[ANSWER]{text}"
    tagged = _TAGS.findall(text)
    if blocks := find_blocks(task, tagged[-1] if tagged else text):
        place = " between the answer tags" if tagged else ""
        taken, note = select_likely(blocks)[-1].text, f"took the last fenced block{place}"
    elif tagged:
        taken, note = tagged[-1], "took the text between the answer tags"
    else:
        taken = _first_expression(task, text.strip())
        lines = taken.count("\n") + 1
        note = f"took the first {lines} lines" if lines > 1 else "took the first line"
    taken = taken.strip()
    if inline := _TICKS.fullmatch(taken):
        taken = inline[1].strip()
    return Change(text=taken, note=note) if taken != text else None


def _first_expression(task: Task, text: str) -> str:
    """Return the lines of the first statement of a text; its first line where that is no Python."""
    tree = task.parser.read(task.parser.prefix(text)).tree
    end = tree.body[0].end_lineno if tree is not None and tree.body else None
    return "\n".join(text.split("\n")[: end or 1])


def take_side(task: Task, text: str) -> Change | None:
    """Take the side of a comparison that was asked for, where the text is ``assert call == result`` or the like."""
    tree = task.parser.read(text.strip()).tree
    if tree is None or len(tree.body) != 1 or not isinstance(task.problem.check, Expression):
        return None
    (statement,) = tree.body
    compared = statement.test if isinstance(statement, ast.Assert) else getattr(statement, "value", None)
    if not (isinstance(compared, ast.Compare) and len(compared.ops) == 1 and isinstance(compared.ops[0], ast.Eq)):
        return None
    sides = [compared.left, *compared.comparators]
    calls = [side for side in sides if _is_call(side)]
    others = [side for side in sides if not _is_call(side)]
    wanted = calls if task.problem.check.asks == "input" else others
    if len(wanted) != 1:
        return None
    segment = ast.get_source_segment(text.strip(), wanted[0])
    return Change(text=segment, note="took one side of the comparison") if segment else None


def _is_call(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "f"
