"""Problems become prompts: by a name, by a template, and what is no template is told."""

from __future__ import annotations

import pytest

from passcurve.bench.prompts import digest, prompts, style
from passcurve.errors import DataError, UsageError
from passcurve.types import Problem

PROBLEM = Problem(id="p/0", prompt='def f():\n    """{{ x }}"""\n', entry_point="f", test="t", reference="    pass\n")


def test_base_is_the_prompt_to_the_letter():
    """What is continued is the problem's prompt as it stands, braces and line ends among it."""
    (found,) = prompts([PROBLEM], style("base"))
    assert (PROBLEM.prompt, (), PROBLEM.prompt, PROBLEM.reference) == (
        found.text,
        found.messages,
        found.stub,
        found.reference,
    )


def test_chat_asks_for_the_function():
    """A conversation has the system's words first, then the instruction with the prompt in a fence."""
    (found,) = prompts([PROBLEM], style("chat", system="be brief"))
    assert ["system", "user"] == [message.role for message in found.messages]
    assert f"```python\n{PROBLEM.prompt.rstrip()}\n```" in found.messages[1].content
    assert "" == found.text


def test_the_digest_is_of_what_is_shown():
    """Equal prompts have equal digests; another style, template or system has another."""
    styles = [style("base"), style("chat"), style("chat", system="x")]
    assert digest(prompts([PROBLEM], styles[0])) == digest(prompts([PROBLEM], style("base")))
    assert 3 == len({digest(prompts([PROBLEM], each)) for each in styles})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ promt }}", "can have .*; did you mean 'prompt'"),
        ("{% if x %}{{ prompt }}", "can have"),
        ("Write something.", "would not see the problem"),
    ],
)
def test_a_template_that_is_none(tmp_path, text, said):
    """A field that there is not, a statement, and a template without the prompt are refused."""
    (tmp_path / "t.txt").write_text(text, "utf-8")
    with pytest.raises(DataError, match=said):
        style(str(tmp_path / "t.txt"))


@pytest.mark.parametrize(
    ("name", "chat", "system", "said"),
    [
        ("base", True, "", "--prompt base goes with --endpoint completions"),
        ("chat", False, "", "--prompt chat goes with --endpoint chat"),
        ("base", None, "x", "--system needs a conversation"),
    ],
)
def test_styles_that_do_not_fit(name, chat, system, said):
    """A style and an endpoint that do not go together are refused, with what would."""
    with pytest.raises(UsageError, match=said):
        style(name, chat=chat, system=system)
