"""A Problem becomes the Prompt that a model is shown: to continue, to answer in a conversation, or by a template."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from passcurve.errors import DataError, UsageError, nearest
from passcurve.types import Message, Problem, Prompt

INSTRUCTION = (
    "Write the Python function below. Answer with one fenced code block that holds the whole function, "
    "the lines that are given among them, and the imports that it needs.\n\n```python\n{{ prompt }}\n```\n"
)
"""What style ``chat`` says; the prompt stands without the white space at its end."""

_FIELDS = ("prompt", "entry_point", "task_id")
_BRACES = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}|\{%.*?%\}", re.DOTALL)


class Style(msgspec.Struct, frozen=True, kw_only=True):
    """How prompts are made."""

    name: str
    """``base``, ``chat``, or the name of a template's file."""
    template: str
    """With ``{{ prompt }}``, ``{{ entry_point }}`` and ``{{ task_id }}`` in it."""
    chat: bool
    """Whether it is a conversation that the model answers, or a text that it continues."""
    system: str = ""
    """What a conversation begins with; empty for nothing."""


def style(name: str, *, chat: bool | None = None, system: str = "") -> Style:
    """Return the style of a name, or of a template in a file; ``chat`` says which kind a template is.

    Raises UsageError for what cannot be combined, DataError for a file that is no template.
    """
    if name in ("base", "chat"):
        if chat is not None and chat != (name == "chat"):
            raise UsageError(
                f"--prompt {name} goes with --endpoint {'chat' if name == 'chat' else 'completions'}; "
                "for another way of asking give a template: --prompt FILE"
            )
        found = Style(
            name=name,
            template="{{ prompt }}" if name == "base" else INSTRUCTION,
            chat=name == "chat",
            system=system,
        )
    else:
        found = Style(name=Path(name).name, template=_read(name), chat=bool(chat), system=system)
    if system and not found.chat:
        raise UsageError("--system needs a conversation: --prompt chat, or a template with --endpoint chat")
    return found


def prompts(problems: Iterable[Problem], by: Style) -> tuple[Prompt, ...]:
    """Return the prompt of each problem."""
    return tuple(_prompt(problem, by) for problem in problems)


def digest(made: Iterable[Prompt]) -> str:
    """Return a digest of everything that the model is shown."""
    found = hashlib.sha256()
    for prompt in made:
        shown = (prompt.problem_id, prompt.text, [(each.role, each.content) for each in prompt.messages])
        found.update(msgspec.json.encode(shown) + b"\n")
    return found.hexdigest()


def _prompt(problem: Problem, by: Style) -> Prompt:
    # A model that continues needs the prompt to the letter; in a fence the line ends are the template's.
    shown = problem.prompt.rstrip() if by.chat else problem.prompt
    values = {"prompt": shown, "entry_point": problem.entry_point, "task_id": problem.id}
    # By a function, so that braces in a problem are not taken for the template's.
    text = _BRACES.sub(lambda match: values[match[1]], by.template)
    if not by.chat:
        return Prompt(problem_id=problem.id, text=text, stub=problem.prompt, reference=problem.reference)
    system = (Message(role="system", content=by.system),) if by.system else ()
    return Prompt(
        problem_id=problem.id,
        messages=(*system, Message(role="user", content=text)),
        stub=problem.prompt,
        reference=problem.reference,
    )


def _read(name: str) -> str:
    try:
        text = Path(name).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(
            f"--prompt {name!r} is neither base nor chat{nearest(name, ('base', 'chat'))}, nor a template: {reason}"
        ) from None
    for match in _BRACES.finditer(text):
        if match[1] not in _FIELDS:
            known = ", ".join(f"{{{{ {each} }}}}" for each in _FIELDS)
            raise DataError(
                f"template {name!r} has {match[0]!r}; it can have {known}{nearest(match[1] or '', _FIELDS)}"
            )
    if not any(match[1] == "prompt" for match in _BRACES.finditer(text)):
        raise DataError(f"template {name!r} has no {{{{ prompt }}}}, so the model would not see the problem")
    return text
