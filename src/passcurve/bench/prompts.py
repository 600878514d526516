"""A Problem becomes the Prompt that a model is shown: to continue, to fill in, to answer, or by a template."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

import msgspec

from passcurve.bench import jinja
from passcurve.errors import DataError, UsageError, nearest
from passcurve.types import Message, Problem, Prompt

INSTRUCTION = (
    "Write the Python function below. Answer with one fenced code block that holds the whole function, "
    "the lines that are given among them, and the imports that it needs.\n\n```python\n{{ prompt }}\n```\n"
)
"""What style ``chat`` says; the prompt stands without the white space at its end."""

FIM = {
    "codellama": "<PRE> {{ prompt }} <SUF>{{ suffix }} <MID>",
    "codegemma": "<|fim_prefix|>{{ prompt }}<|fim_suffix|>{{ suffix }}<|fim_middle|>",
    "deepseek": "<｜fim▁begin｜>{{ prompt }}<｜fim▁hole｜>{{ suffix }}<｜fim▁end｜>",
    "qwen": "<|fim_prefix|>{{ prompt }}<|fim_suffix|>{{ suffix }}<|fim_middle|>",
    "santacoder": "<fim-prefix>{{ prompt }}<fim-suffix>{{ suffix }}<fim-middle>",
    "starcoder": "<fim_prefix>{{ prompt }}<fim_suffix>{{ suffix }}<fim_middle>",
}
"""How families of models are asked to fill a gap, as their model cards have it (prefix, suffix, then the middle)."""
_FIM = "fim:"
_JINJA = (".j2", ".jinja", ".jinja2")
_FIELDS = ("prompt", "suffix", "entry_point", "task_id")
_BRACES = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}|\{%.*?%\}", re.DOTALL)


class Style(msgspec.Struct, frozen=True, kw_only=True):
    """How prompts are made."""

    name: str
    """``base``, ``chat``, ``fim:FAMILY``, or the name of a template's file."""
    template: str
    """With ``{{ prompt }}``, ``{{ suffix }}``, ``{{ entry_point }}`` and ``{{ task_id }}`` in it."""
    jinja: bool = False
    """Whether the template is in Jinja's language, and not only fields to be replaced."""
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
    elif name.startswith(_FIM):
        found = Style(name=name, template=_fim(name.removeprefix(_FIM)), chat=bool(chat), system=system)
        if found.chat:
            raise UsageError(f"--prompt {name} is a text with a gap, not a conversation; leave --endpoint chat out")
    else:
        found = Style(
            name=Path(name).name,
            template=_read(name),
            chat=bool(chat),
            system=system,
            jinja=Path(name).suffix in _JINJA,
        )
    if system and not found.chat:
        raise UsageError("--system needs a conversation: --prompt chat, or a template with --endpoint chat")
    return found


def prompts(problems: Iterable[Problem], by: Style) -> tuple[Prompt, ...]:
    """Return the prompt of each problem.  Raises DataError when a template fails on one."""
    fill = jinja.renderer(by.template, by.name, _FIELDS) if by.jinja else partial(_filled, by.template)
    return tuple(_prompt(problem, by, fill) for problem in problems)


def digest(made: Iterable[Prompt]) -> str:
    """Return a digest of everything that the model is shown."""
    found = hashlib.sha256()
    for prompt in made:
        shown = (prompt.problem_id, prompt.text, [(each.role, each.content) for each in prompt.messages])
        found.update(msgspec.json.encode(shown) + b"\n")
    return found.hexdigest()


def _filled(template: str, values: Mapping[str, str]) -> str:
    # By a function, so that braces in a problem are not taken for the template's.
    return _BRACES.sub(lambda match: values[match[1]], template)


def _prompt(problem: Problem, by: Style, fill: Callable[[Mapping[str, str]], str]) -> Prompt:
    # A model that continues needs the prompt to the letter; in a fence the line ends are the template's.
    shown = problem.prompt.rstrip() if by.chat else problem.prompt
    values = {
        "prompt": shown,
        "suffix": problem.suffix,
        "entry_point": problem.entry_point,
        "task_id": problem.id,
    }
    text = fill(values)
    made = partial(
        Prompt, problem_id=problem.id, stub=problem.prompt, suffix=problem.suffix, reference=problem.reference
    )
    if not by.chat:
        return made(text=text)
    system = (Message(role="system", content=by.system),) if by.system else ()
    return made(messages=(*system, Message(role="user", content=text)))


def _fim(family: str) -> str:
    if family not in FIM:
        known = ", ".join(FIM)
        raise UsageError(
            f"--prompt fim:{family} names no family{nearest(family, FIM)} (known: {known}); or give a template"
        )
    return FIM[family]


def _read(name: str) -> str:
    try:
        text = Path(name).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(
            f"--prompt {name!r} is neither base, chat nor fim:FAMILY{nearest(name, ('base', 'chat'))}, "
            f"nor a template: {reason}"
        ) from None
    if Path(name).suffix in _JINJA:
        jinja.check(text, name, _FIELDS)
        return text
    for match in _BRACES.finditer(text):
        if match[1] not in _FIELDS:
            known = ", ".join(f"{{{{ {each} }}}}" for each in _FIELDS)
            raise DataError(
                f"template {name!r} has {match[0]!r}; it can have {known}{nearest(match[1] or '', _FIELDS)}"
                " (in Jinja's language, where its name ends in .j2)"
            )
    if not any(match[1] == "prompt" for match in _BRACES.finditer(text)):
        raise DataError(f"template {name!r} has no {{{{ prompt }}}}, so the model would not see the problem")
    return text
