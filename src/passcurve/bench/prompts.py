"""Prompts for a model: text to continue, a gap to fill in, a conversation, or a template."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

import msgspec

from passcurve.bench import jinja
from passcurve.bench.task_prompts import THINK, instruction, task_text, text_to_continue
from passcurve.errors import DataError, UsageError, nearest
from passcurve.types import Message, Problem, Prompt, language_of

FIM = {
    "codellama": "<PRE> {{ prompt }} <SUF>{{ suffix }} <MID>",
    "codegemma": "<|fim_prefix|>{{ prompt }}<|fim_suffix|>{{ suffix }}<|fim_middle|>",
    "deepseek": "<｜fim▁begin｜>{{ prompt }}<｜fim▁hole｜>{{ suffix }}<｜fim▁end｜>",
    "qwen": "<|fim_prefix|>{{ prompt }}<|fim_suffix|>{{ suffix }}<|fim_middle|>",
    "santacoder": "<fim-prefix>{{ prompt }}<fim-suffix>{{ suffix }}<fim-middle>",
    "starcoder": "<fim_prefix>{{ prompt }}<fim_suffix>{{ suffix }}<fim_middle>",
}
"""Fill-in-the-middle templates of model families, from their model cards."""
STYLES = ("base", "chat", "think")
"""Styles of our own: to continue the code, to answer a message, and to answer it after thoughts in writing."""
_FIM = "fim:"
_JINJA = (".j2", ".jinja", ".jinja2")
_FIELDS = ("prompt", "suffix", "entry_point", "task_id")
_BRACES = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}|\{%.*?%\}", re.DOTALL)


class PromptStyle(msgspec.Struct, frozen=True, kw_only=True):
    """The way to make prompts."""

    name: str
    """``base``, ``chat``, ``think``, ``fim:FAMILY``, or the file name of a template."""
    template: str
    """Text with the fields ``{{ prompt }}``, ``{{ suffix }}``, ``{{ entry_point }}`` and ``{{ task_id }}``; empty where
    each kind of problem has its own."""
    jinja: bool = False
    """True for a Jinja template, False for one with plain fields."""
    chat: bool
    """True for a conversation that the model answers, False for a text that it continues."""
    system: str = ""
    """System message of a conversation; empty for none."""


def find_style(name: str, *, chat: bool | None = None, system: str = "") -> PromptStyle:
    """Return the style of a name or of a template file; ``chat`` tells the kind of a template.

    Raises UsageError for options that exclude each other, DataError for a file that is not a template.
    """
    if name in STYLES:
        is_chat = name != "base"
        if chat is not None and chat != is_chat:
            raise UsageError(
                f"--prompt {name} goes with --endpoint {'chat' if is_chat else 'completions'}; "
                "for another style use a template: --prompt FILE"
            )
        style = PromptStyle(name=name, template="" if is_chat else "{{ prompt }}", chat=is_chat, system=system)
    elif name.startswith(_FIM):
        style = PromptStyle(name=name, template=_fim(name.removeprefix(_FIM)), chat=bool(chat), system=system)
        if style.chat:
            raise UsageError(f"--prompt {name} is a text with a gap, not a conversation; remove --endpoint chat")
    else:
        style = PromptStyle(
            name=Path(name).name,
            template=_read(name),
            chat=bool(chat),
            system=system,
            jinja=Path(name).suffix in _JINJA,
        )
    if system and not style.chat:
        raise UsageError("--system needs a conversation: --prompt chat, or a template with --endpoint chat")
    return style


def make_prompts(problems: Iterable[Problem], by: PromptStyle) -> tuple[Prompt, ...]:
    """Return the prompt of each problem.  Raises DataError when a template fails on one."""
    template = jinja.compile_template(by.template, by.name, _FIELDS) if by.jinja else partial(_fill, by.template)
    return tuple(
        _make_prompt(problem, by, template if by.template else _own_template(problem, by)) for problem in problems
    )


def digest_prompts(made: Iterable[Prompt]) -> str:
    """Return the digest of the prompts that the model sees."""
    digest = hashlib.sha256()
    for prompt in made:
        messages = [(message.role, message.content) for message in prompt.messages]
        digest.update(msgspec.json.encode((prompt.problem_id, prompt.text, messages)) + b"\n")
    return digest.hexdigest()


def _fill(template: str, values: Mapping[str, str]) -> str:
    # In one pass, so that braces in a problem are not fields of the template.
    return _BRACES.sub(lambda match: values[match[1]], template)


def _own_template(problem: Problem, by: PromptStyle) -> Callable[[Mapping[str, str]], str]:
    return partial(_fill, (THINK if by.name == "think" else "") + instruction(problem))


def _make_prompt(problem: Problem, by: PromptStyle, fill: Callable[[Mapping[str, str]], str]) -> Prompt:
    # A model that continues a text needs the exact prompt; in a fence the template has its own line ends.
    shown = task_text(problem) if by.chat else text_to_continue(problem)
    values = {
        "prompt": shown,
        "suffix": problem.suffix,
        "entry_point": problem.entry_point,
        "task_id": problem.id,
    }
    text = fill(values)
    made = partial(
        Prompt,
        problem_id=problem.id,
        stub=problem.prompt,
        suffix=problem.suffix,
        language=language_of(problem.check),
        reference=problem.reference,
    )
    if not by.chat:
        return made(text=text)
    system = (Message(role="system", content=by.system),) if by.system else ()
    return made(messages=(*system, Message(role="user", content=text)))


def _fim(family: str) -> str:
    if family not in FIM:
        hint = nearest(family, FIM)
        raise UsageError(f"unknown family in --prompt fim:{family}{hint} (known: {', '.join(FIM)}); or use a template")
    return FIM[family]


def _read(name: str) -> str:
    try:
        # Some editors put a byte order mark in front.
        text = Path(name).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(
            f"--prompt {name!r} is none of base, chat, think and fim:FAMILY{nearest(name, STYLES)}, "
            f"and no template: {reason}"
        ) from None
    if Path(name).suffix in _JINJA:
        jinja.check_template(text, name, _FIELDS)
        return text
    for match in _BRACES.finditer(text):
        if match[1] not in _FIELDS:
            fields = ", ".join(f"{{{{ {field} }}}}" for field in _FIELDS)
            raise DataError(
                f"template {name!r} has {match[0]!r}; it can have {fields}{nearest(match[1] or '', _FIELDS)}"
                " (name it *.j2 for a Jinja template)"
            )
    if not any(match[1] == "prompt" for match in _BRACES.finditer(text)):
        raise DataError(f"template {name!r} has no {{{{ prompt }}}}, so the model would not see the problem")
    return text
