"""Tests of each extraction policy on texts as models write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from passcurve.extract import extract, policy_names
from passcurve.extract.policies import ANSWER
from passcurve.types import Completion, FunctionTests, Problem, SampleKey

FILE = Path(__file__).with_name("replies.txt")
DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("extraction.md", "extraction-replies.md")


class Reply(NamedTuple):
    """One text and its expected programs."""

    name: str
    completion: Completion
    programs: dict[str, str | None]


def sections() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each section of the file with its title, as titled pieces."""
    text = FILE.read_bytes().decode()
    for part in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        title, _, rest = part.partition("\n")
        pieces = []
        for piece in re.split(r"^--- ", rest, flags=re.MULTILINE)[1:]:
            head, _, body = piece.partition("\n")
            if " (no line end)" in head:
                head, body = head.replace(" (no line end)", ""), body.removesuffix("\n")
            pieces.append((head, body.replace("\u240d", "\r").replace("\u25b3", "\ufeff")))
        yield title, pieces


def read() -> tuple[dict[str, Problem], list[Reply]]:
    """Read the replies from the file."""
    problems: dict[str, Problem] = {}
    replies: list[Reply] = []
    for title, pieces in sections():
        if title.startswith("problem "):
            name = title.removeprefix("problem ")
            has = dict(pieces)
            problems[name] = Problem(
                id=name,
                prompt=has["prompt"],
                entry_point=name,
                check=FunctionTests(source=has["test"]),
                reference=has["reference"],
            )
            continue
        kind, _, name = title.partition(": ")
        form, _, problem = kind.partition(" of ")
        text = dict(pieces)["text"]
        replies.append(
            Reply(
                name,
                Completion(
                    key=SampleKey(problem_id=problem, sample_index=0),
                    row=len(replies),
                    line=len(replies) + 1,
                    digest="d",
                    form="solution" if form == "solution" else "completion",
                    text=text,
                ),
                dict(expected(problems[problem].prompt if form == "completion" else "", text, pieces)),
            )
        )
    return problems, replies


def expected(prompt: str, text: str, pieces: list[tuple[str, str]]) -> Iterator[tuple[str, str | None]]:
    """Yield each policy with the program that the file gives for it."""
    for head, body in pieces:
        kind, _, policies = head.partition(": ")
        for policy in filter(None, policies.split(", ")):
            yield policy, {"as it stands": prompt + text, "none": None, "program": body}[kind]


PROBLEMS, REPLIES = read()


def test_there_are_enough_texts():
    """There are at least sixty texts, each with a unique name and a program for every policy."""
    assert len(REPLIES) >= 60
    assert len(REPLIES) == len({reply.name for reply in REPLIES})
    assert [set(policy_names())] * len(REPLIES) == [set(reply.programs) for reply in REPLIES]


@pytest.mark.parametrize("reply", REPLIES, ids=[reply.name for reply in REPLIES])
def test_each_policy_makes_the_documented_program(reply):
    """Each policy extracts exactly the program in the file."""
    problem = PROBLEMS[reply.completion.key.problem_id]
    programs = {policy: extract(problem, reply.completion, policy).text for policy in policy_names()}
    assert reply.programs == programs


@pytest.mark.parametrize("reply", REPLIES, ids=[reply.name for reply in REPLIES])
def test_what_changed_a_text_is_recorded(reply):
    """A program that differs from its text has more than one recorded step."""
    problem = PROBLEMS[reply.completion.key.problem_id]
    plain = extract(problem, reply.completion)
    for policy in policy_names():
        program = extract(problem, reply.completion, policy)
        assert program.steps
        assert (program.text == plain.text) or program.steps != plain.steps


def test_the_table_of_policies_leads_to_each():
    """The first page has a table of all policies, each with a link to its section."""
    text = (DOCS / PAGES[0]).read_text("utf-8")
    table = dict(re.findall(r"^\| \[`([a-z:-]+)`\]\(([^)#]*)#", text, re.MULTILINE))
    assert {*policy_names(), ANSWER} == set(table)
    astray = {
        policy: page
        for policy, page in table.items()
        if f"\n## `{policy}`\n" not in (DOCS / (page or PAGES[0])).read_text("utf-8")
    }
    assert {} == astray


@pytest.mark.parametrize("policy", policy_names())
def test_the_example_on_the_page_is_right(policy):
    """The pages on extraction have one section for each policy, and each example matches the policy."""
    texts = [(DOCS / name).read_text("utf-8") for name in PAGES]
    (page,) = [text for text in texts if f"\n## `{policy}`\n" in text]
    prompt = re.search(r'^~~~python title="prompt"\n(.*?)^~~~$', page, re.MULTILINE | re.DOTALL)
    section = re.search(rf"^## `{re.escape(policy)}`$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert prompt is not None
    assert section is not None
    example = re.search(
        r'^~~~text title="reply"\n(.*?)^~~~\n\nbecomes \((.*?)\)\n\n^~~~python title="program"\n(.*?)^~~~$',
        section[1],
        re.MULTILINE | re.DOTALL,
    )
    assert example is not None
    problem = Problem(
        id="p", prompt=prompt[1], entry_point="total", check=FunctionTests(source="def check(candidate): ...\n")
    )
    key = SampleKey(problem_id="p", sample_index=0)
    written = Completion(key=key, row=0, line=1, digest="d", form="completion", text=example[1])
    program = extract(problem, written, policy)
    assert (example[2], example[3]) == ("; ".join(program.steps), (program.text or "").rstrip("\n") + "\n")
