"""Problems become prompts: by a name, by a template, and what is no template is told."""

from __future__ import annotations

import sys

import pytest
from msgspec.structs import replace

from passcurve.bench.prompts import digest_prompts, find_style, make_prompts
from passcurve.errors import DataError, UsageError
from passcurve.types import Problem

PROBLEM = Problem(id="p/0", prompt='def f():\n    """{{ x }}"""\n', entry_point="f", test="t", reference="    pass\n")


def test_base_is_the_prompt_to_the_letter():
    """What is continued is the problem's prompt as it stands, braces and line ends among it."""
    (found,) = make_prompts([PROBLEM], find_style("base"))
    assert (PROBLEM.prompt, (), PROBLEM.prompt, PROBLEM.reference) == (
        found.text,
        found.messages,
        found.stub,
        found.reference,
    )


def test_chat_asks_for_the_function():
    """A conversation has the system's words first, then the instruction with the prompt in a fence."""
    (found,) = make_prompts([PROBLEM], find_style("chat", system="be brief"))
    assert ["system", "user"] == [message.role for message in found.messages]
    assert f"```python\n{PROBLEM.prompt.rstrip()}\n```" in found.messages[1].content
    assert "" == found.text


GAP = Problem(
    id="p/1", prompt="def f(a):\n    b = ", suffix="\n    return b\n", entry_point="f", test="t", reference="a + 1"
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
    """What stands before and behind the gap is there to the letter, between the family's own marks."""
    (found,) = make_prompts([GAP], find_style(f"fim:{family}"))
    assert (expected, GAP.prompt, GAP.suffix) == (found.text, found.stub, found.suffix)


def test_a_template_may_have_a_gap(tmp_path):
    """A template of one's own can have both sides, and the digest is of both."""
    (tmp_path / "t.txt").write_text("[{{ suffix }}|{{ prompt }}]", "utf-8")
    found = make_prompts([GAP], find_style(str(tmp_path / "t.txt")))
    assert "[\n    return b\n|def f(a):\n    b = ]" == found[0].text
    other = make_prompts([replace(GAP, suffix="")], find_style(str(tmp_path / "t.txt")))
    assert digest_prompts(found) != digest_prompts(other)


@pytest.mark.parametrize(
    ("name", "said"), [("fim:starcode", "did you mean 'starcoder'"), ("fim:", "unknown family in --prompt fim:")]
)
def test_a_family_that_is_none(name, said):
    """An unknown family is told with the nearest and all there are."""
    with pytest.raises(UsageError, match=said):
        find_style(name)


def test_a_template_in_jinjas_language(tmp_path):
    """A name that ends in .j2 makes conditions and filters mean something; the last line end is kept."""
    (tmp_path / "t.j2").write_text(
        "{% if suffix %}Fill: {{ prompt }}___{{ suffix }}{% else %}{{ prompt | trim }}{% endif %}\n({{ task_id }})\n"
    )
    by = find_style(str(tmp_path / "t.j2"))
    # The line end behind a statement belongs to the statement.
    assert [f"Fill: {GAP.prompt}___{GAP.suffix}(p/1)\n", f"{PROBLEM.prompt.strip()}(p/0)\n"] == [
        each.text for each in make_prompts([GAP, PROBLEM], by)
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ promt }}", "uses unknown field 'promt'; did you mean 'prompt'"),
        ("{% if %}{{ prompt }}", "t.j2', line 1: "),
        ("Write something.", "would not see the problem"),
        ("{{ prompt.__class__.__mro__ }}", "fails on problem 'p/0': access to attribute"),
        ("{{ prompt | nonsense }}", "t.j2', line 1: No filter named 'nonsense'"),
    ],
)
def test_a_template_in_jinjas_language_that_is_none(tmp_path, text, said):
    """Wrong names, wrong words and what reaches for the process itself are told with the file, without a trace."""
    (tmp_path / "t.j2").write_text(text, "utf-8")
    with pytest.raises(DataError, match=said):
        make_prompts([PROBLEM], find_style(str(tmp_path / "t.j2")))


def test_jinja_that_is_not_installed(tmp_path, monkeypatch):
    """Without the extra one line says how to have it."""
    monkeypatch.setitem(sys.modules, "jinja2", None)
    (tmp_path / "t.j2").write_text("{{ prompt }}", "utf-8")
    with pytest.raises(UsageError, match=r"needs jinja2, which is not installed: pip install 'passcurve\[jinja\]'"):
        find_style(str(tmp_path / "t.j2"))


def test_the_digest_is_of_what_is_shown():
    """Equal prompts have equal digests; another style, template or system has another."""
    styles = [find_style("base"), find_style("chat"), find_style("chat", system="x")]
    assert digest_prompts(make_prompts([PROBLEM], styles[0])) == digest_prompts(
        make_prompts([PROBLEM], find_style("base"))
    )
    assert 3 == len({digest_prompts(make_prompts([PROBLEM], each)) for each in styles})


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
        find_style(str(tmp_path / "t.txt"))


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
        find_style(name, chat=chat, system=system)
