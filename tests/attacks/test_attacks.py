"""Hostile and odd samples, judged by the real command: no attack passes or does harm, and every honest one passes."""

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
    """Names are unique, problems exist, and there are at least 150 attacks and 50 controls."""
    names = [sample.name for sample in (*ATTACKS, *CONTROLS)]
    assert len(names) == len(set(names))
    assert {sample.problem for sample in (*ATTACKS, *CONTROLS)} <= set(PROBLEMS)
    assert len(ATTACKS) >= 150
    assert len(CONTROLS) >= 50


@pytest.mark.parametrize(
    "sample", [*CONTROLS, *(attack for attack in ATTACKS if attack.is_program)], ids=lambda sample: sample.name
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_programs_compile(sample: Attack | Control):
    """Each program compiles, so that no mistake in the corpus looks like a defence."""
    text = sample.program or f"{PROBLEMS[sample.problem].prompt}{sample.completion}"
    for placeholder in ("@PORT@", "@FREE@", "@HOST@", "@KEY@"):
        text = text.replace(placeholder, "1")
    compile(text, sample.name, "exec", dont_inherit=True)


def parameters(part: str, name: str, *more: Attack) -> object:
    """Return the parameters of a test on a part of the attacks."""
    marks = () if part == "a part" else pytest.mark.nightly
    return pytest.param(part, *more, id=name, marks=marks)


PART = pytest.mark.parametrize("part", [parameters(part, part) for part in PARTS])


@pytest.mark.parametrize(
    ("part", "attack"), [parameters(part, attack.name, attack) for part, attacks in PARTS.items() for attack in attacks]
)
def test_attack(part: str, attack: Attack, attacked: Callable[[str], Campaign]):
    """The attack does not pass, it really ran, and its bystanders get the right verdicts."""
    result = attacked(part).results[attack.name]
    if attack.expected == "fail":
        assert not result.passed, result
    assert result.row["status"] in (*attack.statuses, *(("passed",) if attack.expected == "any" else ())), result
    assert attack.message in result.row.get("message", ""), result
    assert result.was_refused or not attack.probe, result
    assert all(result.bystanders), result.bystanders


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.name)
def test_control(control: Control, controlled: Campaign):
    """The control passes, and its bystanders get the right verdicts."""
    result = controlled.results[control.name]
    assert result.passed, result
    assert all(result.bystanders), result.bystanders


@PART
@pytest.mark.parametrize("what", HOST)
def test_host(what: str, part: str, attacked: Callable[[str], Campaign], controlled: Campaign):
    """The host is unchanged after all attacks."""
    assert not attacked(part).host[what]
    assert not controlled.host[what]


@PART
def test_the_run(part: str, attacked: Callable[[str], Campaign], controlled: Campaign):
    """Each row has a verdict, none is void, and the result names the isolation level."""
    for run in (attacked(part), controlled):
        assert 0 == run.code, run.errors
        assert (0, 0, "full") == (run.record["owed"], run.record["malformed"], run.record["isolation"])
    assert {"referee"} == set(controlled.record["modes"]) - {
        name for name, n in controlled.record["modes"].items() if not n
    }
