"""``passcurve.evaluate``: a function as the model, from the user's chair."""

from __future__ import annotations

import asyncio
import itertools
import re
import threading
import traceback

import pytest

import passcurve
from passcurve.errors import ModelError, UsageError
from passcurve.judging.calibration import Calibrations


@pytest.fixture
def right(starter):
    """Return the right completion of each prompt."""
    return {row["prompt"]: row["canonical_solution"] for row in starter.problems.values()}


def test_a_function(right, tmp_path):
    """Each prompt is asked for n times, each text is judged, and with a directory a second call asks for nothing."""
    calls = []

    def generate(prompt):
        calls.append(prompt)
        return right[prompt] if len(calls) % 2 else "    return None\n"

    words = {"benchmark": "starter", "n": 2, "problems": "starter/[0-4]", "k": (1, 2), "run": tmp_path / "r"}
    result = passcurve.evaluate(generate, **words)
    assert (10, 10, True) == (len(calls), len(result.samples), result.finished)
    assert [0.5, 1.0] == [estimate.value for estimate in result.estimates]
    assert "|model:function:" in result.signature
    passcurve.evaluate(generate, **words)
    assert 10 == len(calls)


@pytest.mark.ci
@pytest.mark.parametrize(("n", "turns"), [(50, [16, 16, 18]), (5, [3, 2]), (1, [1])])
def test_passes(right, n, turns):
    """All problems have their turn before any has another; then none ever has over twice the samples of another."""
    calls = []

    def generate(prompt):
        calls.append(prompt)
        return right[prompt]

    passcurve.evaluate(generate, "starter", n, problems="starter/[0-2]", k=(1,))
    sizes = [len([*group]) for _, group in itertools.groupby(calls)]
    assert [size for size in turns for _ in range(3)] == sizes


@pytest.mark.ci
def test_an_async_function(right):
    """An async function runs in one loop, several calls at once, and a whole function in a fence is found."""
    open_calls, most, loops = 0, 0, set()

    async def generate(prompt):
        nonlocal open_calls, most
        open_calls += 1
        most = max(most, open_calls)
        loops.add(asyncio.get_running_loop())
        await asyncio.sleep(0.05)
        open_calls -= 1
        return f"Here it is:\n\n```python\n{prompt}{right[prompt]}```\n"

    result = passcurve.evaluate(generate, "starter", 4, problems="starter/[0-3]", k=(1,))
    assert 1.0 == result.estimates[0].value
    assert 1 == len(loops)
    assert 2 <= most <= 8
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("passcurve-")]


def test_a_function_of_many_prompts(right):
    """With ``batch`` the function gets lists of at most so many prompts."""
    sizes = []

    def generate(prompts):
        sizes.append(len(prompts))
        return [right[prompt] for prompt in prompts]

    result = passcurve.evaluate(generate, "starter", 5, batch=3, problems="0,1", k=(1, 5))
    assert [3, 3, 2, 2] == sizes
    assert [1.0, 1.0] == [estimate.value for estimate in result.estimates]


def test_all_problems_are_gone_through_more_than_once(starter):
    """What is known on the way is of all problems: half of the samples of each come before the others of any."""
    named = {row["prompt"]: name for name, row in starter.problems.items()}
    calls = []

    def generate(prompt):
        calls.append(named[prompt])
        return "    return None\n"

    passcurve.evaluate(generate, "starter", 5, problems="0,1", k=(1,), concurrency=1)
    assert ["starter/0"] * 3 + ["starter/1"] * 3 + ["starter/0"] * 2 + ["starter/1"] * 2 == calls


def test_problems_are_calibrated_before_their_samples_come(right, monkeypatch):
    """While the model takes its time over the first sample, the judge prepares for all that will come."""
    begun, all_begun = [], threading.Event()
    begin = Calibrations.begin

    def noted(self, problem):
        begun.append(problem.id)
        if len(begun) == 4:
            all_begun.set()
        return begin(self, problem)

    monkeypatch.setattr(Calibrations, "begin", noted)

    def generate(prompt):
        assert all_begun.wait(30), begun
        return right[prompt]

    result = passcurve.evaluate(generate, "starter", 2, problems="starter/[0-3]", k=(1,))
    assert [f"starter/{number}" for number in range(4)] == begun
    assert 1.0 == result.estimates[0].value


def test_a_function_that_raises(right, tmp_path):
    """When the function keeps raising, the call says what it raised, and what came before is kept."""
    calls = []

    def generate(prompt):
        calls.append(prompt)
        if len(calls) > 2:
            raise OSError("no more credit")
        return right[prompt]

    with pytest.raises(ModelError, match=r"OSError: no more credit.*\b2 .*/r'") as caught:
        passcurve.evaluate(generate, "starter", 2, problems="starter/[0-4]", run=tmp_path / "r")
    assert 5 == len(calls)
    assert isinstance(caught.value.__cause__, OSError)
    assert "generate" in [frame.name for frame in traceback.extract_tb(caught.value.__cause__.__traceback__)]


def test_nothing_but_failures(tmp_path):
    """Where no text came at all the error is that of the model, too: with its cause, or that nobody answers."""
    with pytest.raises(ModelError, match="ZeroDivisionError") as caught:
        passcurve.evaluate(lambda prompt: str(1 / 0), "starter", 1, problems="starter/0", concurrency=3)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(ModelError, match="must return a text"):
        passcurve.evaluate(lambda prompt: None, "starter", 1, problems="starter/0")
    words = {"n": 1, "problems": "starter/0", "run": tmp_path / "r"}
    with pytest.raises(ModelError, match="cannot reach"):
        passcurve.generate("starter", "openai:m", base_url="http://127.0.0.1:9/v1", **words)


@pytest.mark.parametrize("temperature", [-1.0, float("nan"), float("inf"), "0.2", [0.2], True])
def test_what_is_no_temperature(tmp_path, temperature):
    """It is refused before a run directory is made, which could not be read again."""
    with pytest.raises(UsageError, match="temperature must be a number from 0 to 100, got"):
        passcurve.generate("starter", "mutant:", 1, temperature=temperature, run=tmp_path / "r")
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("words", [{"n": 0}, {"batch": -1}, {"concurrency": 0}])
def test_what_cannot_be_asked_of_a_function(words):
    """Counts that cannot be are refused before anything is called."""
    with pytest.raises(UsageError, match="at least 1"):
        passcurve.evaluate(lambda prompt: "", "starter", **({"n": 1} | words))


@pytest.mark.parametrize("settings", [{"n": 1.5}, {"n": "3"}, {"n": True}, {"batch": 1.0}, {"concurrency": 2.0}])
def test_a_count_of_another_type(settings):
    """A count that is no integer is refused before anything is asked."""
    calls = []
    with pytest.raises(UsageError, match="integers"):
        passcurve.evaluate(calls.append, "starter", **settings)
    with pytest.raises(UsageError, match="integers"):
        passcurve.generate(
            "starter", "mutant:", **{name.replace("batch", "per_request"): n for name, n in settings.items()}
        )
    assert not calls


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": 200}, "temperature must be a number from 0 to 100, got 200"),
        ({"top_p": 0.0}, "top_p must be a number above 0 and at most 1, got 0.0"),
        ({"max_tokens": 0}, "max_tokens must be a positive integer, got 0"),
        ({"seed": 1.5}, "seed must be an integer, got 1.5"),
        ({"rpm": -1}, "rpm must be a number above 0, got -1"),
        ({"request_timeout_s": 0}, "request_timeout_s must be a positive number of seconds, got 0"),
    ],
)
def test_settings_out_of_range(settings, message):
    """A setting that no model takes is refused before anything is asked; the message says what it must be."""
    with pytest.raises(UsageError, match=re.escape(message)):
        passcurve.generate("starter", "openai:m", n=1, **settings)
