"""Hostile samples and odd ones, judged by the real command: none passes, none harms, and no honest one is lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from campaign import Campaign
from corpus import ATTACKS, CONTROLS, PARTS, PROBLEMS, Attack, Control

HOST = (
    "no process is left",
    "never more processes than the walls have",
    "nobody was reached",
    "nobody listens",
    "the canary is what it was",
    "the canary is not alone",
    "no mark is left",
    "no mount is left",
    "nothing of System V is left",
    "the folder for temporary files is empty",
    "the home is what it was",
    "our own limits are what they were",
)


def test_the_corpus():
    """Names are unique, problems known, and there are as many of each kind as this room promises."""
    names = [each.name for each in (*ATTACKS, *CONTROLS)]
    assert len(names) == len(set(names))
    assert {each.problem for each in (*ATTACKS, *CONTROLS)} <= set(PROBLEMS)
    assert len(ATTACKS) >= 150
    assert len(CONTROLS) >= 50


@pytest.mark.parametrize(
    "sample", [*CONTROLS, *(each for each in ATTACKS if each.is_program)], ids=lambda sample: sample.name
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_programs_compile(sample: Attack | Control):
    """What is to be run can be compiled, so that no slip of ours looks like a defence."""
    text = sample.program or f"{PROBLEMS[sample.problem].prompt}{sample.completion}"
    for place in ("@PORT@", "@FREE@", "@HOST@", "@KEY@"):
        text = text.replace(place, "1")
    compile(text, sample.name, "exec", dont_inherit=True)


def of(part: str, name: str, *more: Attack) -> object:
    """Return parameters of a test of a part of the attacks."""
    return pytest.param(part, *more, id=name, marks=() if part == "a part" else pytest.mark.ci)


PART = pytest.mark.parametrize("part", [of(part, part) for part in PARTS])


@pytest.mark.parametrize(
    ("part", "attack"), [of(part, each.name, each) for part, attacks in PARTS.items() for each in attacks]
)
def test_attack(part: str, attack: Attack, attacked: Callable[[str], Campaign]):
    """It does not pass, it was really made, and those around it get what they deserve."""
    found = attacked(part).found[attack.name]
    if attack.expected == "fail":
        assert not found.passed, found
    assert found.row["status"] in (*attack.ends, *(("passed",) if attack.expected == "any" else ())), found
    assert attack.says in found.row.get("message", ""), found
    assert found.held or not attack.probe, found
    assert all(found.around), found.around


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.name)
def test_control(control: Control, controlled: Campaign):
    """It passes, and those around it get what they deserve."""
    found = controlled.found[control.name]
    assert found.passed, found
    assert all(found.around), found.around


@PART
@pytest.mark.parametrize("what", HOST)
def test_host(what: str, part: str, attacked: Callable[[str], Campaign], controlled: Campaign):
    """After all attacks the host is what it was."""
    assert not attacked(part).host[what]
    assert not controlled.host[what]


@PART
def test_the_run(part: str, attacked: Callable[[str], Campaign], controlled: Campaign):
    """Everything has a verdict, nothing was our failure, and the run says where it was."""
    for each in (attacked(part), controlled):
        assert 0 == each.code, each.errors
        assert (0, 0, "full") == (each.record["owed"], each.record["malformed"], each.record["isolation"])
    assert {"referee"} == set(controlled.record["modes"]) - {
        name for name, n in controlled.record["modes"].items() if not n
    }
