"""Steps that need no Python parser: line ends, end marks, thinking, stop words, the first block."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from passcurve.extract.step import Change, Task
from passcurve.types.marks import ANALYSIS, ASSISTANT, BARE_ANALYSIS, BARE_FINAL, FINAL, SPECIAL_TOKEN, THINKING_TAGS

_FINAL = FINAL + "<|message|>"

_FIRST_TOKEN = re.compile(
    rf"\s*+(?:(?!<\|(?:start|channel|message)\|>)(?:{SPECIAL_TOKEN})(?:assistant(?=\s|<))?+|assistant[ \t]*+(?=\n))"
)
"""A special token that a text begins with, and whose turn it opens, which is left where special tokens are dropped.

Those of harmony tell thinking from the answer.
"""
_LAST_TOKEN = re.compile(rf"(?:{SPECIAL_TOKEN})\Z")
_TOKEN_CHARACTERS = 48
"""The longest of them, with room to spare: a search through the whole text for each would take long."""
_FENCE = "```"

_NO_WIDTH = "\ufeff\u200b\u2060"
_ROUNDS = 16
"""Largest number of special tokens or thinking blocks to drop; each takes a pass over the text."""
_TAGS = 1000
"""Largest number of closing tags to look at, from the last."""

STOP_WORDS: dict[str, tuple[str, ...]] = {
    # "Evaluating Large Language Models Trained on Code" (arXiv 2107.03374), section 3.2 names these five.
    "human-eval": ("\nclass", "\ndef", "\n#", "\nif", "\nprint"),
    # bigcode-evaluation-harness, bigcode_eval/tasks/humaneval.py, at 01762fc.
    "bigcode": ("\nclass", "\ndef", "\n#", "\n@", "\nprint", "\nif", "\n```", "<file_sep>"),
    # lm-evaluation-harness, lm_eval/tasks/humaneval/humaneval.yaml, ``until``, at 7934b73.
    "lm-eval": ("\nclass", "\ndef", "\n#", "\nif", "\nprint"),
}
"""The words before which each harness cuts a completion of HumanEval."""

TASK_STOP_WORDS: dict[str, tuple[str, ...]] = {
    # bigcode-evaluation-harness, bigcode_eval/tasks/mbpp.py, at c326b51.
    "bigcode-mbpp": ("\nclass", "\nassert", '\n"""', "\nprint", "\nif", "\n<|/", "\n```"),
    # Its humanevalpack.py, at 0261c52: ``LANGUAGE_TO_STOP_WORDS`` and what ``HumanEvalPack`` adds.
    "bigcode-humanevalpack": (
        "\nclass",
        "\ndef",
        "\n#",
        "\n@",
        "\nprint",
        "\nif",
        "\nassert",
        "<|endoftext|>",
    ),
    # lm-evaluation-harness, lm_eval/tasks/mbpp/mbpp.yaml, ``until``, in release 0.4.13.
    "lm-eval-mbpp": ("[DONE]",),
}
"""The words before which a harness cuts a completion of another benchmark."""


def normalize_line_ends(_: Task, text: str) -> Change | None:
    """Replace every line end with a newline, and drop a byte order mark or a space without width at the beginning."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").lstrip(_NO_WIDTH)
    if plain == text:
        return None
    notes = ["dropped a byte order mark"] if text[0] == "\ufeff" else ["dropped spaces without width"]
    notes = notes * (text[0] in _NO_WIDTH) + ["made all line ends plain"] * ("\r" in text)
    return Change(text=plain, note=", ".join(notes))


def drop_end_tokens(_: Task, text: str) -> Change | None:
    """Drop special tokens at both ends of a text, and put a closing fence on a line of its own."""
    notes = []
    at = 0
    for _round in range(_ROUNDS):
        match = _FIRST_TOKEN.match(text, at)
        if match is None:
            break
        at = match.end()
        notes = [f"dropped {text[:at].strip()[:_TOKEN_CHARACTERS]!r} at the beginning"]
    rest = text[at:].rstrip()
    has_last = False
    for _round in range(_ROUNDS):
        match = _LAST_TOKEN.search(rest, max(0, len(rest) - _TOKEN_CHARACTERS))
        if match is None:
            break
        rest = rest[: match.start()].rstrip()
        has_last = True
    notes += ["dropped special tokens at the end"] * has_last
    start = rest.rfind("\n") + 1
    code = rest[start:].removesuffix(_FENCE)
    if code.strip(" \t>") and len(code) < len(rest) - start and _FENCE not in code and code[-1] != "`":
        rest = f"{rest[:start]}{code}\n{_FENCE}"
        notes.append("put the closing fence on a line of its own")
    return Change(text=rest + "\n", note=", ".join(notes)) if notes else None


def drop_thinking(task: Task, text: str) -> Change | None:
    """Drop the thinking of a model before its answer.

    A text that begins with an opening tag is thinking up to the first closing tag.  Without a closing tag the model was
    cut off while it was thinking, and there is no answer.  Without an opening tag the thinking ends at the last
    closing tag that is at either end of its line and in no fenced block of Python.
    """
    rest = text
    for _round in range(_ROUNDS):
        after = after_thinking(task, rest)
        if after is None:
            break
        if not after.strip():
            return Change(text=None, note="there is thinking and no answer after it")
        rest = after
    dropped = len(text) - len(rest)
    return Change(text=rest, note=f"dropped thinking ({dropped:,} characters)") if dropped else None


def after_thinking(task: Task, text: str) -> str | None:
    """Return the text after the first thinking block, empty when that has no end; None without thinking."""
    start = text.lstrip()
    if _FINAL in text:
        return text.rpartition(_FINAL)[2]
    if start.removeprefix(ASSISTANT).startswith(ANALYSIS):
        return ""
    if start.startswith(BARE_ANALYSIS) and BARE_FINAL in text:
        return text.rpartition(BARE_FINAL)[2]
    for opening, closing in THINKING_TAGS:
        if start.startswith(opening):
            return start.partition(closing)[2]
        if closing in text and (at := _find_closing_tag(task, text, closing)) is not None:
            return text[at:]
    return None


def _find_closing_tag(task: Task, text: str, tag: str) -> int | None:
    from passcurve.extract.fences import python_lines

    fenced: set[int] | None = None
    at = len(text)
    for _tag in range(_TAGS):
        at = text.rfind(tag, 0, at)
        if at < 0:
            return None
        end = at + len(tag)
        if _is_at_edge(text, at - 1, -1) or _is_at_edge(text, end, 1):
            fenced = python_lines(task, text) if fenced is None else fenced
            if text.count("\n", 0, at) not in fenced:
                return end
    return None


def _is_at_edge(text: str, at: int, direction: Literal[-1, 1]) -> bool:
    """Tell whether only blanks stand between a position and the end of its line in one direction."""
    while 0 <= at < len(text) and text[at] in " \t":
        at += direction
    return not 0 <= at < len(text) or text[at] == "\n"


class StopWords(msgspec.Struct, frozen=True):
    """Cut the continuation of the prompt before the first of some words."""

    words: tuple[str, ...]

    def __call__(self, task: Task, text: str) -> Change | None:
        """Cut a text if it contains one of the words."""
        head, text = _split_continuation(task, text)
        places = [(at, word) for word in self.words if (at := text.find(word)) >= 0]
        if not places:
            return None
        at, word = min(places)
        return Change(text=head + text[:at], note=f"cut before {word!r}")


def cut_at_blank_line(task: Task, text: str) -> Change | None:
    """Drop leading newlines of the continuation of the prompt, and cut it at its first blank line.

    abacaj/code-eval (core/evaluation.py, ``filter_code``) and the scripts before and after it do the same.
    """
    head, rest = _split_continuation(task, text)
    block = rest.lstrip("\n").partition("\n\n")[0]
    return None if block == rest else Change(text=head + block, note="cut at the first blank line")


def cut_at_unindented_line(task: Task, text: str) -> Change | None:
    """Cut the continuation of the prompt before its first line that is not indented.

    bigcode-evaluation-harness does so for Python (bigcode_eval/tasks/humanevalpack.py, ``remove_last_block``).
    """
    head, rest = _split_continuation(task, text)
    lines = rest.split("\n")
    at = next((at for at, line in enumerate(lines) if line.strip() and line[0] not in " \t"), None)
    if at is None:
        return None
    return Change(text=head + "\n".join(lines[:at]), note="cut at the first line that is not indented")


def _split_continuation(task: Task, text: str) -> tuple[str, str]:
    """Return the part of a text before the continuation of the prompt, and the continuation."""
    if task.form == "completion":
        return "", text
    # Do not cut a whole program before its own first line: harnesses that know the end of the prompt do not either.
    prompt = task.problem.prompt or _leading_docstring(text)
    return (prompt, text[len(prompt) :]) if text.startswith(prompt) else (text, "")


def _leading_docstring(text: str) -> str:
    """Return the docstring with which a text begins: harnesses ask for programs of MBPP by one."""
    quotes = '"""'
    end = text.find(quotes, len(quotes)) if text.startswith(quotes) else -1
    return text[: end + len(quotes)] if end >= 0 else ""
