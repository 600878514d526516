"""Tests of prompt styles and templates, and of the errors about invalid ones."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from passcurve.bench.prompts import digest_prompts, find_style, make_prompts
from passcurve.errors import DataError, UsageError
from passcurve.types import FunctionTests, Problem

PROBLEM = Problem(
    id="p/0",
    prompt='def f():\n    """{{ x }}"""\n',
    entry_point="f",
    check=FunctionTests(source="t"),
    reference="    pass\n",
)


def test_base_is_the_prompt_to_the_letter():
    """The base style uses the problem's prompt unchanged, including braces and line ends."""
    (prompt,) = make_prompts([PROBLEM], find_style("base"))
    assert (PROBLEM.prompt, (), PROBLEM.prompt, PROBLEM.reference) == (
        prompt.text,
        prompt.messages,
        prompt.stub,
        prompt.reference,
    )


def test_chat_asks_for_the_function():
    """A conversation has the system message first, then the instruction with the prompt in a fence."""
    (prompt,) = make_prompts([PROBLEM], find_style("chat", system="be brief"))
    assert ["system", "user"] == [message.role for message in prompt.messages]
    assert f"```python\n{PROBLEM.prompt.rstrip()}\n```" in prompt.messages[1].content
    assert "" == prompt.text


GAP = Problem(
    id="p/1",
    prompt="def f(a):\n    b = ",
    suffix="\n    return b\n",
    entry_point="f",
    check=FunctionTests(source="t"),
    reference="a + 1",
)


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("starcoder", "<fim_prefix>def f(a):\n    b = <fim_suffix>\n    return b\n<fim_middle>"),
        ("codellama", "<PRE> def f(a):\n    b =  <SUF>\n    return b\n <MID>"),
        ("qwen", "<|fim_prefix|>def f(a):\n    b = <|fim_suffix|>\n    return b\n<|fim_middle|>"),
    ],
)
def test_a_gap_is_shown_as_a_family_of_models_knows_it(family, expected):
    """The code before and after the gap is unchanged and stands between the family's own tokens."""
    (prompt,) = make_prompts([GAP], find_style(f"fim:{family}"))
    assert (expected, GAP.prompt, GAP.suffix) == (prompt.text, prompt.stub, prompt.suffix)


@pytest.mark.parametrize("name", ["t.txt", "t.j2"])
def test_a_byte_order_mark_is_no_part_of_a_template(tmp_path, name):
    """No model is shown it."""
    (tmp_path / name).write_text("\ufeffGo on:\n{{ prompt }}", "utf-8")
    (prompt,) = make_prompts([PROBLEM], find_style(str(tmp_path / name)))
    assert prompt.text.startswith("Go on:\n")


def test_a_template_may_have_a_gap(tmp_path):
    """A template file can use the prompt and the suffix, and the digest covers both."""
    (tmp_path / "t.txt").write_text("[{{ suffix }}|{{ prompt }}]", "utf-8")
    prompts = make_prompts([GAP], find_style(str(tmp_path / "t.txt")))
    assert "[\n    return b\n|def f(a):\n    b = ]" == prompts[0].text
    other = make_prompts([replace(GAP, suffix="")], find_style(str(tmp_path / "t.txt")))
    assert digest_prompts(prompts) != digest_prompts(other)


@pytest.mark.parametrize(("name", "message"), [("fim:starcode", "'starcoder'"), ("fim:", "--prompt fim:")])
def test_a_family_that_is_none(name, message):
    """An error about an unknown family suggests the nearest one and lists all."""
    with pytest.raises(UsageError, match=message):
        find_style(name)


def test_a_template_in_jinjas_language(tmp_path):
    """A template whose name ends in .j2 may use conditions and filters, and keeps its last newline."""
    (tmp_path / "t.j2").write_text(
        "{% if suffix %}Fill: {{ prompt }}___{{ suffix }}{% else %}{{ prompt | trim }}{% endif %}\n({{ task_id }})\n"
    )
    style = find_style(str(tmp_path / "t.j2"))
    # The line end behind a statement belongs to the statement.
    assert [f"Fill: {GAP.prompt}___{GAP.suffix}(p/1)\n", f"{PROBLEM.prompt.strip()}(p/0)\n"] == [
        prompt.text for prompt in make_prompts([GAP, PROBLEM], style)
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ promt }}", "'promt'.*'prompt'"),
        ("{% if %}{{ prompt }}", "t.j2', line 1: "),
        ("Write something.", "t.j2'.*the problem"),
        ("{{ prompt.__class__.__mro__ }}", "'p/0'.*access to attribute"),
        ("{{ prompt | nonsense }}", "t.j2', line 1: .*'nonsense'"),
    ],
)
def test_a_template_in_jinjas_language_that_is_none(tmp_path, text, message):
    """An invalid or unsafe Jinja template is refused in one message that names the file."""
    (tmp_path / "t.j2").write_text(text, "utf-8")
    with pytest.raises(DataError, match=message):
        make_prompts([PROBLEM], find_style(str(tmp_path / "t.j2")))


def test_the_digest_is_of_what_is_shown():
    """Equal prompts have equal digests; another style or system message changes the digest."""
    styles = [find_style("base"), find_style("chat"), find_style("chat", system="x")]
    assert digest_prompts(make_prompts([PROBLEM], styles[0])) == digest_prompts(
        make_prompts([PROBLEM], find_style("base"))
    )
    assert 3 == len({digest_prompts(make_prompts([PROBLEM], style)) for style in styles})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ promt }}", "t.txt'.*'prompt'"),
        ("{% if x %}{{ prompt }}", "t.txt'"),
        ("Write something.", "t.txt'.*the problem"),
    ],
)
def test_a_template_that_is_none(tmp_path, text, message):
    """A template with an unknown field, with a statement or without the prompt is refused."""
    (tmp_path / "t.txt").write_text(text, "utf-8")
    with pytest.raises(DataError, match=message):
        find_style(str(tmp_path / "t.txt"))


@pytest.mark.parametrize(
    ("name", "chat", "system", "message"),
    [
        ("base", True, "", "--prompt base .*--endpoint completions"),
        ("chat", False, "", "--prompt chat .*--endpoint chat"),
        ("base", None, "x", "--system"),
    ],
)
def test_styles_that_do_not_fit(name, chat, system, message):
    """A style that does not fit the endpoint is refused, and the message says which one does."""
    with pytest.raises(UsageError, match=message):
        find_style(name, chat=chat, system=system)
