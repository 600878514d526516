"""The whole corpus in both modes, at every level, with one worker and with four; run with ``pytest -m nightly``."""

from __future__ import annotations

from typing import Any

import pytest
from campaign import Campaign, run_campaign
from corpus import ATTACKS, CONTROLS

pytestmark = pytest.mark.nightly

SHARED = {
    "helper of the prompt redefined": "the tests use the helpers that the program has",
    "helper of the prompt that remembers": "the tests use the helpers that the program has",
    "a class in place of the function": "what is returned is alive, and is asked whether it is right",
    "a mock in place of the function": "what is returned is alive, and is asked whether it is right",
    "an object that equals everything": "what is returned is alive, and is asked whether it is right",
    "an int that equals everything": "what is returned is alive, and is asked whether it is right",
    "a list that equals everything": "what is returned is alive, and is asked whether it is right",
    "a str that equals everything": "what is returned is alive, and is asked whether it is right",
    "a dict that equals everything": "what is returned is alive, and is asked whether it is right",
    "a tuple of ints that equal everything": "what is returned is alive, and is asked whether it is right",
    "an object that lies about its class": "what is returned is alive, and is asked whether it is right",
    "a metaclass that lies about its module": "what is returned is alive, and is asked whether it is right",
    "an object that says it is of numpy": "what is returned is alive, and is asked whether it is right",
    "an object that says it is a Fraction": "what is returned is alive, and is asked whether it is right",
    "an object that says it is a Decimal": "what is returned is alive, and is asked whether it is right",
    "frames walked for the expected values": "the tests stand in the frames above the sample",
    "locals of the callers changed": "the tests stand in the frames above the sample",
    "values of the tests read from the traceback": "the tests stand in the frames above the sample",
    "the tests found through ctypes": "the tests stand in the frames above the sample",
    "the tests found by the garbage collector": "the tests are objects of the same interpreter",
    "the tests found in modules": "the tests share a module with the sample",
    "a callback looked into": "the callback is the tests' own function, with all that it remembers",
}
"""Attacks that pass in shared mode, and why; docs/verdicts.md lists them for users."""

RESTRICTED = {
    "a program from the scratch": "a folder of the host may lie where libraries can be loaded; no process is started",
    "memory that can be written and executed from a file": "the same, by hand",
    "a file of the host seen": "Landlock has no rule for names, sizes and dates",
    "a folder of the host entered": "Landlock has no rule for where a process stands; nothing in it can be opened",
}
"""Probes that succeed without namespaces, and why."""

HOST_AT_RESTRICTED: dict[str, str] = {}
"""Invariants of the host that cannot hold without namespaces, and why: none."""


def assert_sound(run: Campaign, level: str) -> None:
    """Check that a run is complete, and that neither the host nor any bystander was affected."""
    assert 0 == run.code, run.errors
    assert (0, 0, level) == (run.record["owed"], run.record["malformed"], run.record["isolation"])
    expected = HOST_AT_RESTRICTED if level == "restricted" else {}
    assert {} == {name: changes for name, changes in run.host.items() if changes and name not in expected}
    assert {} == {name: result.bystanders for name, result in run.results.items() if not all(result.bystanders)}


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("level", ["full", "restricted"])
@pytest.mark.parametrize("mode", ["referee", "shared"])
def test_attacks_everywhere(shell: Any, mode: str, level: str, workers: int):
    """Exactly the attacks listed above pass, the host is unchanged, and no other sample is affected."""
    run = run_campaign(shell, ATTACKS, "--verdict", mode, level=level, workers=workers)
    assert_sound(run, level)
    expected = (SHARED if mode == "shared" else {}) | (RESTRICTED if level == "restricted" else {})
    passed = {attack.name for attack in ATTACKS if attack.expected == "fail" and run.results[attack.name].passed}
    assert set(expected) == passed
    if mode == "referee":
        probes = [attack.name for attack in ATTACKS if attack.probe and attack.name not in expected]
        assert [] == [str(run.results[name]) for name in probes if not run.results[name].was_refused]


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("level", ["full", "restricted", "none"])
@pytest.mark.parametrize("mode", ["referee", "shared"])
def test_controls_everywhere(shell: Any, mode: str, level: str, workers: int):
    """Every honest program passes in every mode at every level."""
    samples = [control for control in CONTROLS if mode == "referee" or not control.needs_referee]
    run = run_campaign(shell, samples, "--verdict", mode, level=level, workers=workers)
    assert_sound(run, level)
    assert {} == {name: str(result) for name, result in run.results.items() if not result.passed}


def test_probes_are_real(shell: Any):
    """The probes that do no harm succeed without isolation."""
    run = run_campaign(shell, [attack for attack in ATTACKS if attack.harmless], "--verdict", "shared", level="none")
    assert {} == {name: str(result) for name, result in run.results.items() if not result.passed}
