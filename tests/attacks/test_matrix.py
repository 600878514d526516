"""The whole corpus in both modes, at every level, with one worker and with four; run with ``pytest -m nightly``."""

from __future__ import annotations

from typing import Any

import pytest
from campaign import Campaign, campaign
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
"""What passes falsely where tests and sample share a process, and why; docs/verdicts.md tells users."""

RESTRICTED = {
    "a program from the scratch": "a folder of the host may lie where libraries can be loaded; no process is started",
    "memory that can be written and executed from a file": "the same, by hand",
    "a file of the host seen": "Landlock has no rule for names, sizes and dates",
    "a folder of the host entered": "Landlock has no rule for where a process stands; nothing in it can be opened",
}
"""What a probe reaches where there are no namespaces, and why."""

HOST_AT_RESTRICTED: dict[str, str] = {}
"""The invariants of the host that cannot hold without namespaces, and why: none."""


def _sound(run: Campaign, level: str) -> None:
    assert 0 == run.code, run.errors
    assert (0, 0, level) == (run.record["owed"], run.record["malformed"], run.record["isolation"])
    known = HOST_AT_RESTRICTED if level == "restricted" else {}
    assert {} == {what: found for what, found in run.host.items() if found and what not in known}
    assert {} == {name: found.around for name, found in run.found.items() if not all(found.around)}


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("level", ["full", "restricted"])
@pytest.mark.parametrize("mode", ["referee", "shared"])
def test_attacks_everywhere(shell: Any, mode: str, level: str, workers: int):
    """Exactly what is known to get through does, the host is what it was, and nobody else is harmed."""
    run = campaign(shell, ATTACKS, "--verdict", mode, level=level, workers=workers)
    _sound(run, level)
    known = (SHARED if mode == "shared" else {}) | (RESTRICTED if level == "restricted" else {})
    passed = {each.name for each in ATTACKS if each.expected == "fail" and run.found[each.name].passed}
    assert set(known) == passed
    if mode == "referee":
        refused = [each.name for each in ATTACKS if each.probe and each.name not in known]
        assert [] == [str(run.found[name]) for name in refused if not run.found[name].held]


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("level", ["full", "restricted", "none"])
@pytest.mark.parametrize("mode", ["referee", "shared"])
def test_controls_everywhere(shell: Any, mode: str, level: str, workers: int):
    """Every honest program passes, whatever stands around it."""
    samples = [each for each in CONTROLS if mode == "referee" or not each.apart]
    run = campaign(shell, samples, "--verdict", mode, level=level, workers=workers)
    _sound(run, level)
    assert {} == {name: str(found) for name, found in run.found.items() if not found.passed}


def test_probes_are_real(shell: Any):
    """Where nothing stands around them, the probes that do no harm get through."""
    run = campaign(shell, [each for each in ATTACKS if each.harmless], "--verdict", "shared", level="none")
    assert {} == {name: str(found) for name, found in run.found.items() if not found.passed}
