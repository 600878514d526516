"""Recorded calls: which calls are recorded, and that replaying them changes no verdict."""

from __future__ import annotations

import base64
import marshal
import os
import re

import msgspec
import pytest
from jailed import LIMITS, Jailed

from passcurve.harness import recording
from passcurve.judging.attempts import is_conclusive, next_attempt, without_replay
from passcurve.judging.calibration import Calibrations
from passcurve.judging.plan import CheckPlan, make_job, make_tests_job
from passcurve.judging.scheduler import Scheduler
from passcurve.judging.verdict import reach_verdict
from passcurve.sandbox.job import Job, Outcome
from passcurve.types import FunctionTests, Problem, SampleKey

CHECKS = {
    "plain": ("assert candidate(1) == 2\nassert candidate([1, 'a'], k=(2.5, None)) == 3", 2),
    "a loop": ("for i in range(5):\n    assert candidate(i) == i + 1", 5),
    "random arguments": ("import random\nfor _ in range(3):\n    assert candidate(random.random()) > 0", 3),
    "a result that is used": (
        "assert abs(candidate(1) - 2) < 1e-6\nassert candidate(2)[0].x(1) in ['abc']\ncandidate(3)",
        3,
    ),
    "a length": ("assert len(candidate(1)) == 3\nassert sorted(candidate(2)) == [1]\ncandidate(3)", 3),
    "a loop on a result": ("while candidate(1) > 0:\n    pass", recording.MAX_CALLS),
    "a result that is waited for": ("x = candidate(1)\nwhile x:\n    x -= 1\ncandidate(2)", 1),
    "a result handed on": ("x = candidate(1)\nassert candidate(x) == 2\ncandidate(3)", 1),
    "a result worked on and handed on": ("candidate(1)\ncandidate([candidate(2) * 3])\ncandidate(3)", 2),
    "what is not plain": ("candidate(1)\ncandidate(lambda: 1)\ncandidate(2)", 1),
    "bytes that can change": ("candidate(bytearray(b'a'))", 0),
    "a subclass": ("import collections\ncandidate(collections.Counter('a'))", 0),
    "a cycle": ("x = []\nx.append(x)\ncandidate(1)\ncandidate(x)", 1),
    "an exception": ("candidate(1)\n1 / 0\ncandidate(2)", 1),
    "an exit": ("candidate(1)\nraise SystemExit\ncandidate(2)", 1),
    "what is expected to fail": ("try:\n    candidate(1)\nexcept ValueError:\n    pass\ncandidate(2)", 2),
    "a loop without a call": ("candidate(1)\nwhile True:\n    pass", 1),
    "a loop that catches all": (
        "candidate(1)\nfor _ in range(10 ** 9):\n    try:\n        [].pop()\n    except:\n        pass",
        1,
    ),
    "loops that catch all without a call": (
        "candidate(1)\nwhile True:\n    try:\n        while True:\n            try:\n                x = 1\n"
        "            except:\n                x = 2\n    except BaseException:\n        x = 3",
        1,
    ),
    "large": (f"for i in range(9):\n    candidate('x' * {recording.MAX_BYTES // 4})", 3),
}


def check_of(body: str) -> str:
    """Return tests with this body."""
    return "def check(candidate):\n" + "".join(f"    {line}\n" for line in body.splitlines())


def recorded(body: str) -> list[tuple]:
    """Return the arguments of the recorded calls."""
    calls = recording.record_calls(None, check_of(body), "<tests>", "f", 7)
    return [marshal.loads(call) for call in calls.packed]


@pytest.mark.parametrize("what", CHECKS)
def test_record_calls(what: str):
    """Recording stops at the first call that a result could change, and ends in every loop."""
    body, count = CHECKS[what]
    assert count == len(recorded(body))


def test_record_arguments():
    """A recorded call has the arguments at the time of the call, and every recording has the same ones."""
    body = "x = [1]\ncandidate(x)\nx.append((2.5, {'a': {3}}))\ncandidate(x, key=None)"
    assert [(([1],), {}), (([1, (2.5, {"a": {3}})],), {"key": None})] == recorded(body)
    assert recorded(CHECKS["random arguments"][0]) == recorded(CHECKS["random arguments"][0])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *((1, True), (1, 1.0), (0.0, -0.0), ("1", b"1"), ([1], (1,)), ({1}, frozenset({1})), (1, 2)),
        *((b"1", bytearray(b"1")), ([(b"1", "s")], [(memoryview(b"1"), "s")])),
    ],
)
def test_match_only_identical_arguments(one, other):
    """Arguments that are equal but of another type are those of another call."""
    call = recording.pack_arguments((one,), {})
    assert recording.matches((one,), {}, call)
    assert not recording.matches((other,), {}, call)
    assert not recording.matches((one,), {"k": 1}, call)
    assert not recording.matches((lambda: 1,), {}, call)


def plan_of(jail: Jailed, problem: Problem) -> CheckPlan:
    """Return the plan that calibration with the reference solution makes."""
    scheduler: Scheduler[Job, Outcome] = Scheduler(jail.pool)
    calibrations = Calibrations("auto", LIMITS, 0, scheduler)
    calibration = calibrations.begin(problem)
    while calibration is None:
        for outcome in scheduler.run(1.0):
            calibration = calibrations.take(outcome)
    return calibration.plan


def problem(body: str, reference: str = "    return x + 1\n", prompt: str = "def f(x):\n") -> Problem:
    """Return a problem with a reference solution."""
    return Problem(
        id=f"R/{hash((body, reference))}",
        prompt=prompt,
        entry_point="f",
        check=FunctionTests(source=check_of(body)),
        reference=reference,
    )


STEPS = "assert candidate(1) == 2\nassert candidate(2) == 3\nassert candidate(3) == 4"
SAMPLES = {
    "right": ("    return x + 1\n", "passed", True),
    "wrong at first": ("    return x\n", "failed", True),
    "wrong at last": ("    return x + 1 if x < 3 else 0\n", "failed", True),
    "raises": ("    return x + 1 if x < 2 else 1 / 0\n", "failed", True),
    "does not compile": ("    return (\n", "compile", True),
    "fails when loaded": ("    return x + 1\n1 / 0\n", "failed", True),
    "wrong, then exits": ("    if x == 2:\n        import os\n        os._exit(0)\n    return 0\n", "failed", True),
    "right, then exits": ("    if x == 3:\n        import os\n        os._exit(0)\n    return x + 1\n", "crash", False),
    "wrong, then for ever": ("    while x == 2:\n        pass\n    return 0\n", "failed", True),
    "right, wrong, then for ever": ("    while x == 3:\n        pass\n    return 2\n", "failed", True),
    "right, then for ever": ("    while x == 3:\n        pass\n    return x + 1\n", "timeout", False),
    "wrong, then too much": ("    return 0 if x == 1 else 'x' * (5 << 20)\n", "failed", True),
    "too much": ("    return 'x' * (5 << 20)\n", "output", False),
    "no memory": ("    return bytes(1 << 40)\n", "memory", False),
    "remembers": ("    f.seen = getattr(f, 'seen', 0) + 1\n    return f.seen + 1\n", "passed", True),
    "exits by exception": ("    raise SystemExit(0)\n", "failed", True),
    "nests deep": ("    return f(x)\n", "failed", True),
    "deep enough": ("    def g(n):\n        return n and g(n - 1)\n    g(990)\n    return x + 1\n", "passed", True),
    "too deep": ("    def g(n):\n        return n and g(n - 1)\n    g(1000)\n    return x + 1\n", "failed", True),
    "writes on the line": (
        "    import os\n    for n in range(3, 20):\n        try:\n            os.write(n, b'\\xff' * 100)\n"
        "        except OSError:\n            pass\n    return x + 1\n",
        "crash",
        False,
    ),
}


@pytest.mark.parametrize("what", SAMPLES)
def test_replay_changes_no_verdict(jail: Jailed, what: str):
    """A sample gets the same verdict with replayed calls and without, or the replay is inconclusive."""
    completion, status, conclusive = SAMPLES[what]
    task = problem(STEPS)
    plan = plan_of(jail, task)
    assert 3 == len(recording.unpack_calls(plan.calls))
    limits = msgspec.structs.replace(LIMITS, timeout_s=1.0)
    job = make_job(task, task.prompt + completion, plan, limits, 0, 1)
    key = SampleKey(problem_id=task.id, sample_index=0)
    verdicts = []
    for attempt in (job, without_replay(job)):
        outcome = jail.run(attempt)
        if attempt is job:
            assert conclusive == is_conclusive(outcome), outcome
        verdicts.append(reach_verdict(key, attempt, outcome))
    replayed, one_by_one = verdicts
    assert status == one_by_one.status
    if conclusive:
        for field in ("status", "message", "exception", "call", "test_line", "calls", "flattened", "suspicious"):
            assert getattr(one_by_one, field) == getattr(replayed, field), field


@pytest.mark.parametrize(
    ("completion", "acts"),
    [
        ("    if x == 2:\n        import socket\n        socket.socket()\n    return 0\n", ()),
        ("    import socket\n    socket.socket()\n    return 0\n", ("tried to use the network (socket)",)),
        ("    if x == 3:\n        import socket\n        socket.socket()\n    return 2\n", ()),
    ],
)
@pytest.mark.parametrize("allow_kept", [True, False])
def test_what_a_program_tries_after_its_failure(jail: Jailed, completion: str, acts: tuple[str, ...], allow_kept: bool):
    """Calls that are made ahead of the tests add nothing to what a program has tried."""
    task = problem(STEPS)
    job = make_job(task, task.prompt + completion, plan_of(jail, task), LIMITS, 0, 1)
    job = msgspec.structs.replace(job, allow_kept=allow_kept)
    outcome = jail.run(job)
    while retry := next_attempt(job, outcome):
        job = retry.job
        outcome = jail.run(job)
    verdict = reach_verdict(SampleKey(problem_id=task.id, sample_index=0), job, outcome)
    assert ("failed", acts) == (verdict.status, verdict.suspicious)


def test_diverge_at_a_call_that_was_not_recorded(jail: Jailed):
    """Tests that make other calls for a wrong program make them one by one."""
    task = problem("assert candidate(1) == 2, candidate(9)\nassert candidate(2) == 3")
    plan = plan_of(jail, task)
    assert 2 == len(recording.unpack_calls(plan.calls))
    job = make_job(task, "def f(x):\n    return 10 * x\n", plan, LIMITS, 0, 1)
    outcome = jail.run(job)
    assert ("diverged", False) == (outcome.report["status"], is_conclusive(outcome))
    verdict = reach_verdict(SampleKey(problem_id="R", sample_index=0), job, jail.run(without_replay(job)))
    assert ("failed", "AssertionError: 90") == (verdict.status, verdict.message)


@pytest.mark.parametrize(
    ("body", "reference", "count"),
    [
        ("assert candidate(candidate(1)) == 3", "    return x + 1\n", 0),
        (
            "y = candidate(1)\nif y == 2:\n    candidate(5)\nelse:\n    candidate(6)\nassert y == 2",
            "    return x + 1\n",
            2,
        ),
        (
            "y = candidate(1)\nif y != 2:\n    candidate(5)\nelse:\n    candidate(6)\nassert y == 2",
            "    return x + 1\n",
            2,
        ),
        (
            "y = candidate(1)\nif y != 1:\n    candidate(5)\nelse:\n    candidate(6)\nassert y == 2",
            "    return x + 1\n",
            0,
        ),
        (
            "y = candidate(1)\nif y == 3:\n    candidate(5)\nassert y == 2",
            "    return x + 1\n",
            1,
        ),
        ("x = [3]\ncandidate(x)\nassert x == [3, 1]", "    x.append(1)\n", 0),
        ("assert next(candidate(1)) == 1", "    yield x\n", 0),
    ],
)
def test_keep_calls_that_the_reference_gets(jail: Jailed, body: str, reference: str, count: int):
    """A plan has the recorded calls that the tests also make of the reference, and none where they make others."""
    task = problem(body, reference)
    plan = plan_of(jail, task)
    assert ("referee", count) == (plan.mode, len(recording.unpack_calls(plan.calls))), plan
    job = make_job(task, task.prompt + reference, plan, LIMITS, 0, 1)
    outcome = jail.run(job)
    assert "passed" == outcome.report["status"], outcome


def test_diverge_at_an_iterator(jail: Jailed):
    """Tests that use an iterator before they have made all recorded calls make their calls one by one."""
    task = problem("assert next(candidate(1)) == 1\nassert next(candidate(2)) == 2", "    yield x\n")
    plan = plan_of(jail, task)
    assert not plan.calls
    assert "passed" == jail.run(make_job(task, task.prompt + "    yield x\n", plan, LIMITS, 0, 1)).report["status"]
    task = problem("for i in range(3):\n    assert sum(candidate(i)) == 1", "    return [1]\n")
    plan = plan_of(jail, task)
    assert 3 == len(recording.unpack_calls(plan.calls))
    job = make_job(task, task.prompt + "    yield 1\n", plan, LIMITS, 0, 1)
    assert "diverged" == jail.run(job).report["status"]
    assert "passed" == jail.run(without_replay(job)).report["status"]


def test_replayed_calls_hold_no_results(jail: Jailed):
    """Recorded calls hold no result of the reference solution, however the tests use it."""
    secret = str(int.from_bytes(os.urandom(6), "little"))
    task = problem(
        f"y = candidate(1)\nassert y == [{secret}]\ncandidate(y)\ncandidate(y[0])\ncandidate({{'k': str(y)}})",
        f"    return [{secret}]\n",
    )
    outcome = jail.run(make_tests_job(task, LIMITS, 0, 1, record=True))
    (call,) = map(base64.b64decode, outcome.report["recorded"])
    assert secret.encode() not in call
    assert int(secret).to_bytes(8, "little")[:6] not in call
    assert marshal.dumps(((1,), {}), 2) == call
    assert not plan_of(jail, task).calls


ARGUMENTS = ("1", "2.5, 'text'", "[1, 2.5], {'k': (None, 3.25)}", "'x' * 300", "k=[[0.5] * 9] * 3", "10 ** 30", "1")

PLACES = """
import gc
{head}
def f(*args, **kwargs):
    {body}
    things = [object(), float("nan"), "a" * len(args), [], {{}}, (args,), bytes(40), bytes(300), bytes(9000), 2 ** 70]
    return [id(args), id(kwargs), *map(id, args), *map(id, kwargs.values()), *map(id, things), id(lambda: 1)]
"""
"""A program that answers each call with the addresses of its arguments and of new objects."""


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("import decimal, json", "pass"),
        ("import numpy", "pass"),
        ("import numpy; gc.collect()", "pass"),
        ("import numpy; gc.collect(); gc.disable(); import decimal, numpy", "pass"),
        ("pass", "import numpy"),
        ("pass", "g = [float(n) for n in range(2000)]"),
    ],
)
@pytest.mark.parametrize("allow_kept", [pytest.param(True, marks=pytest.mark.ci), False])
def test_objects_lie_where_they_lie_in_replayed_calls(jail: Jailed, head: str, body: str, allow_kept: bool):
    """A program finds each object at one address, whether it makes its calls at once or one by one."""
    lines = ("seen = []", *(f"seen.append(candidate({args}))" for args in ARGUMENTS), "assert 0 == seen[0], seen")
    task = problem("\n".join(lines), "    return 0\n", "def f(*args, **kwargs):\n")
    plan = plan_of(jail, task)
    assert len(ARGUMENTS) == len(recording.unpack_calls(plan.calls))
    job = make_job(task, PLACES.format(head=head, body=body), plan, LIMITS, 0, 1)
    job = msgspec.structs.replace(job, allow_kept=allow_kept)
    reports = [jail.run(attempt).report for attempt in (job, without_replay(job), job)]
    assert "failed" == reports[0]["status"]
    assert reports[0]["message"] == reports[1]["message"] == reports[2]["message"]


def test_calls_one_by_one_stay_in_the_same_process(jail: Jailed):
    """A kept process answers the orders for the calls that came with its job; nothing waits for its limit."""
    if jail.probe.jail.reuse != "rewind":
        pytest.skip("no process can be rewound here")
    task = problem("a, b = candidate(1), candidate(2)\nassert 0 == a == b, a", "    return 0\n")
    plan = plan_of(jail, task)
    assert 2 == len(recording.unpack_calls(plan.calls))
    job = make_job(task, "import os\ndef f(x):\n    return os.getpid()\n", plan, LIMITS, 0, 1)
    reports = [jail.run(attempt).report for attempt in (job, without_replay(job))]
    assert re.fullmatch(r"AssertionError: \d+", reports[0]["message"])
    assert reports[0]["message"] == reports[1]["message"]
