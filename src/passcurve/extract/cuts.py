"""Steps that need no parser of Python: line ends, thinking, stop words, the first block."""

from __future__ import annotations

from typing import Literal

import msgspec

from passcurve.extract.step import Change, Task

THINKING = ("think", "thinking", "thought", "reasoning")
"""Names of the tags between which models put what is no answer."""

_ROUNDS = 16
"""How many pieces of thinking are dropped; each is a pass over the text."""
_TAGS = 1000
"""How many closing tags, from the last, are looked at."""

STOP_WORDS: dict[str, tuple[str, ...]] = {
    # "Evaluating Large Language Models Trained on Code" (arXiv 2107.03374), section 3.2 names these five.
    "human-eval": ("\nclass", "\ndef", "\n#", "\nif", "\nprint"),
    # bigcode-evaluation-harness, bigcode_eval/tasks/humaneval.py, at 01762fc.
    "bigcode": ("\nclass", "\ndef", "\n#", "\n@", "\nprint", "\nif", "\n```", "<file_sep>"),
    # lm-evaluation-harness, lm_eval/tasks/humaneval/humaneval.yaml, ``until``, at 7934b73.
    "lm-eval": ("\nclass", "\ndef", "\n#", "\nif", "\nprint"),
}
"""What each harness cuts a completion of HumanEval at."""


def line_ends(_: Task, text: str) -> Change | None:
    """Make every line end a plain one, and drop a byte order mark."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    if plain == text:
        return None
    said = ["dropped a byte order mark"] * text.startswith("\ufeff") + ["made all line ends plain"] * ("\r" in text)
    return Change(text=plain, said=", ".join(said))


def thinking(task: Task, text: str) -> Change | None:
    """Drop what a model thought aloud before its answer.

    A text that begins with an opening tag is thinking up to the first closing tag; without one it was cut off while
    it was thinking, and there is no answer.  The last closing tag that stands at either end of its line and in no
    fenced block of Python ends thinking that had its opening tag elsewhere.
    """
    rest = text
    for _round in range(_ROUNDS):
        after = _after_thinking(task, rest)
        if after is None:
            break
        if not after.strip():
            return Change(text=None, said="there is thinking and no answer after it")
        rest = after
    dropped = len(text) - len(rest)
    return Change(text=rest, said=f"dropped thinking ({dropped:,} characters)") if dropped else None


def _after_thinking(task: Task, text: str) -> str | None:
    """Return what follows the first piece of thinking, empty when that has no end; None when there is none."""
    start = text.lstrip()
    for name in THINKING:
        closing = f"</{name}>"
        if start.startswith(f"<{name}>"):
            return start.partition(closing)[2]
        if closing in text and (at := _closing(task, text, closing)) is not None:
            return text[at:]
    return None


def _closing(task: Task, text: str, tag: str) -> int | None:
    from passcurve.extract.fences import python_lines

    fenced: set[int] | None = None
    at = len(text)
    for _tag in range(_TAGS):
        at = text.rfind(tag, 0, at)
        if at < 0:
            return None
        end = at + len(tag)
        if _at_edge(text, at - 1, -1) or _at_edge(text, end, 1):
            fenced = python_lines(task, text) if fenced is None else fenced
            if text.count("\n", 0, at) not in fenced:
                return end
    return None


def _at_edge(text: str, at: int, way: Literal[-1, 1]) -> bool:
    """Say whether nothing but blanks lies between a place and the end of its line in one direction."""
    while 0 <= at < len(text) and text[at] in " \t":
        at += way
    return not 0 <= at < len(text) or text[at] == "\n"


class StopWords(msgspec.Struct, frozen=True):
    """Cut what continues the prompt before the first of some words."""

    words: tuple[str, ...]

    def __call__(self, task: Task, text: str) -> Change | None:
        """Cut a text, unless no word is in it."""
        head, text = _continuation(task, text)
        found = [(at, word) for word in self.words if (at := text.find(word)) >= 0]
        if not found:
            return None
        at, word = min(found)
        return Change(text=head + text[:at], said=f"cut before {word!r}")


def first_block(task: Task, text: str) -> Change | None:
    """Cut what continues the prompt at its first blank line, once the line ends before it are dropped.

    So do abacaj/code-eval (core/evaluation.py, ``filter_code``) and the scripts before and after it.
    """
    head, rest = _continuation(task, text)
    block = rest.lstrip("\n").partition("\n\n")[0]
    return None if block == rest else Change(text=head + block, said="cut at the first blank line")


def _continuation(task: Task, text: str) -> tuple[str, str]:
    """Return a text as what stands before the continuation, and the continuation."""
    if task.form == "completion":
        return "", text
    # A whole program is not cut before its own first line, as harnesses do not that know where the prompt ends.
    prompt = task.problem.prompt
    return (prompt, text[len(prompt) :]) if text.startswith(prompt) else (text, "")
