"""``Judge`` and ``AsyncJudge``: batches in a sandbox that stays warm, with the verdicts of a run."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import math
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

import passcurve as pc
from passcurve.errors import DataError, PasscurveError, SandboxError, UsageError
from passcurve.judging.inline_problems import KEPT_PROBLEMS
from passcurve.judging.live import LiveJudge
from passcurve.serve.revival import Revival
from passcurve.types import Cases, Problem, Suite


@pytest.fixture(scope="module")
def judge():
    """Start one judge for all tests."""
    with pc.Judge("starter", workers=2, timeout_s=1.0) as started:
        yield started


@pytest.mark.nightly
def test_the_verdicts_are_those_of_a_run(judge: pc.Judge, starter, tmp_path):
    """The shipped examples, with every kind of end, get the statuses that ``judge`` gives them, in their order."""
    rows = starter.examples
    run = pc.judge(rows, "starter", subset=True, timeout_s=1.0, workers=2)
    stored = dict(
        zip(
            zip(run.samples.columns["problem_id"], run.samples.columns["sample_index"], strict=True),
            run.samples.columns["status"],
            strict=True,
        )
    )
    seen: Counter[str] = Counter()
    for row, judgement in zip(rows, judge(rows), strict=True):
        task = row["task_id"]
        assert (task, stored[task, seen[task]]) == (judgement.task_id, judgement.status), judgement
        assert (judgement.status == "passed") is judgement.passed
        seen[task] += 1
    assert len(set(stored.values())) > 3


def test_a_text_that_is_too_long(judge: pc.Judge, starter):
    """A text that is too long for a file is no code in a batch either, and the next batch is judged."""
    long = starter.right() | {"completion": starter.right()["completion"] + "#" * (17 << 20)}
    (judgement,) = judge([long])
    assert ("no_code", False) == (judgement.status, judgement.passed)
    assert judge([starter.right()])[0].passed


def test_a_batch_after_another(judge: pc.Judge, starter):
    """Batches share one sandbox; equal programs are judged once, whichever batch they come in."""
    before = judge.problems
    row = starter.right("starter/1")
    first, second = judge([row, row]), judge([row])
    assert [True] * 3 == [judgement.passed for judgement in (*first, *second)]
    assert [0, 1] == [judgement.index for judgement in first]
    assert 1.0 == first[0].reward == first[0].share
    assert before == judge.problems
    assert 0 == judge.waiting


@pytest.mark.ci
def test_a_loop_keeps_nobody_waiting(judge: pc.Judge, starter):
    """Of a stream the quick ones come first; the loop comes last, as a failure of its own."""
    loop = {"task_id": "starter/0", "completion": "    while True: pass\n"}
    order = [judgement.index for judgement in judge.stream([loop, starter.right(), starter.bad("starter/2")])]
    assert 0 == order[-1]
    assert "timeout" == judge([loop])[0].status


def test_many_threads_share_a_judge(judge: pc.Judge, starter):
    """Each thread gets the verdicts on its own rows."""
    wrong: list[object] = []

    def work(number: int) -> None:
        rows = [starter.right(f"starter/{number}"), starter.bad(f"starter/{number}")]
        rows[0]["completion"] += f"    # {number}\n"
        got = judge(rows)
        wrong.extend(one for one, passed in zip(got, (True, False), strict=True) if one.passed is not passed)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == wrong


@pytest.mark.parametrize(
    ("rows", "error", "named"),
    [
        ([{"task_id": "starter/999", "completion": ""}], DataError, "starter/999"),
        ([{"completion": ""}], DataError, "task_id"),
        ([{"task_id": "starter/0"}], DataError, "starter/0"),
        ([{"task_id": "starter/0", "completion": 5}], DataError, "starter/0"),
        ([5], DataError, "dict"),
        ({"task_id": "starter/0", "completion": ""}, UsageError, "list"),
    ],
)
def test_what_is_no_row(judge: pc.Judge, rows, error, named):
    """A batch with a wrong row is refused whole, with the row's name."""
    with pytest.raises(error, match=named):
        judge(rows)
    assert 0 == judge.waiting


def test_a_share_of_the_tests(starter):
    """With ``all_tests`` a sample that fails some has the share of those that passed."""
    with pc.Judge("starter", workers=1, all_tests=True) as judge:
        (judgement,) = judge([{"task_id": "starter/0", "completion": "    return 1\n"}])
    assert judgement.passed is False
    assert judgement.tests > 1
    assert judgement.share == judgement.tests_passed / judgement.tests


def test_an_end_that_no_test_counts():
    """Whoever fails after the last test that is counted has less than all of them."""
    test = "def check(candidate):\n    assert candidate(1) == 1\n    candidate(None)\n"
    problem = {"id": "p", "kind": "function", "entry_point": "f", "test": test}
    ends = ["", "    if x is None: raise ValueError\n", "    if x is None: __import__('os')._exit(0)\n"]
    rows = [{"problem": problem, "solution": f"def f(x):\n{end}    return x\n"} for end in ends]
    with pc.Judge(workers=1, all_tests=True) as judge:
        judgements = judge(rows)
    assert [(1, 1)] * 3 == [(one.tests, one.tests_passed) for one in judgements]
    assert [1.0, 0.5, 0.5] == [one.share for one in judgements]


def test_a_problem_that_cannot_be_judged_rewards_nobody(tmp_path, shell_in):
    """Where the reference fails its own tests, nobody knows whether a sample is right."""
    shell = shell_in(tmp_path)
    row = {"task_id": "B/0", "prompt": "def f(x):\n", "entry_point": "f", "canonical_solution": "    return 1\n"}
    shell.write("b.jsonl", [row | {"test": "def check(candidate):\n    assert candidate(1) == 2\n"}])
    with pc.Judge(tmp_path / "b.jsonl", workers=1) as judge:
        (judgement,) = judge([{"task_id": "B/0", "completion": "    return 2\n"}])
    assert (None, None, None) == (judgement.passed, judgement.reward, judgement.share)
    assert judgement.excluded


def test_a_script_without_tests_rewards_nobody():
    """A problem in another language whose tests are empty is excluded: what shows their end is no test."""
    row = {"name": "HumanEval_0_x", "language": "sh", "prompt": "", "tests": " \n", "stop_tokens": []}
    rows = [{"problem": row | {"tests": tests}, "solution": "true"} for tests in (" \n", "set -e\ntrue\n")]
    with pc.Judge(workers=1) as judge:
        ended = [(one.reward, one.excluded) for one in judge(rows)]
    assert [(None, "it has no tests"), (1.0, "")] == ended


def test_before_and_after(starter):
    """A judge that is not started, or closed, says so; what was put in before the end is judged."""
    judge = pc.Judge("starter", workers=1)
    with pytest.raises(UsageError, match="with Judge"):
        judge([starter.right()])
    with judge:
        future = judge.submit(starter.right())
    assert future.result(0).passed
    assert not judge.is_alive
    with pytest.raises(UsageError):
        judge([starter.right()])


def test_a_row_with_both_fields(judge: pc.Judge, starter):
    """A solution that is none leaves the completion, as in a file."""
    row = starter.right() | {"solution": None}
    assert ["passed"] == [judgement.status for judgement in judge([row])]
    assert ["no_code"] == [judgement.status for judgement in judge([{"task_id": "starter/0", "completion": None}])]


def live_judges() -> list[LiveJudge]:
    """Return what judges in this process."""
    # isinstance would ask each object for its class, which warns for some of other libraries.
    return [one for one in gc.get_objects() if type(one) is LiveJudge]


def test_a_failure_of_ours_is_told_as_the_loss_of_the_sandbox(starter):
    """Whatever ends the judge, its callers get the error that they know, and it may be started again."""
    broken = Cases(suites=(Suite(name="tests", count=1),), inputs=b"no values", expected=b"e", comparator="equal")
    problem = Problem(id="broken", prompt="", entry_point="f", check=broken)
    before = live_judges()
    with pc.Judge("starter", workers=1) as judge:
        (live,) = [live for live in live_judges() if live not in before]
        with pytest.raises(SandboxError, match="the sandbox was lost: ") as caught:
            live.submit(problem, "solution", "pass", ("",)).result(60)
        assert not isinstance(caught.value.__cause__, PasscurveError | None)
        with pytest.raises(SandboxError, match="the sandbox was lost: "):
            judge([starter.right()])
        judge.revive()
        assert ["passed"] == [judgement.status for judgement in judge([starter.right()])]


@pytest.mark.ci
def test_a_sandbox_that_has_ended_is_started_again(starter):
    """Where the sandbox is lost the judge says that it does not live, and a server's revival brings it back."""

    async def main() -> None:
        revival = Revival([judge])
        assert not revival.is_alive
        revival.begin()
        while not revival.is_alive:
            await asyncio.sleep(0.05)

    before = live_judges()
    with pc.Judge("starter", workers=1) as judge:
        # It survives the end of all its processes, so it is ended itself.
        for live in live_judges():
            if live not in before:
                live.close()
        with pytest.raises(SandboxError):
            judge([starter.right()])
        asyncio.run(main())
        assert ["passed"] == [judgement.status for judgement in judge([starter.right()])]


@pytest.mark.ci
def test_asyncio(starter):
    """Thousands wait at once, in order or as they come, and the loop goes on meanwhile."""

    async def main() -> None:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        async with pc.AsyncJudge("starter", workers=2) as judge:
            rows = [starter.right() | {"completion": starter.right()["completion"] + f"# {n}\n"} for n in range(1500)]
            rows[7] = starter.bad()
            got = await judge.judge(rows)
            assert [n for n, judgement in enumerate(got) if not judgement.passed] == [7]
            assert {0, 1, 2} == {judgement.index async for judgement in judge.judge_each(rows[:3])}
        ticking.cancel()
        assert ticks > 10

    asyncio.run(main())


def test_rows_are_put_in_piece_by_piece(starter):
    """While many rows are put in the loop has its turns; all wait from the start, and are judged at an early end."""
    before = live_judges()

    async def main() -> None:
        rows = [starter.right() | {"completion": starter.right()["completion"] + f"# {n}\n"} for n in range(4000)]
        async with pc.AsyncJudge("starter", workers=2) as judge:
            (live,) = (live for live in live_judges() if live not in before)
            judgements = judge.judge_each(rows)
            turns, waiting = 0, judge.waiting
            # The judge itself knows of those that were put in.
            while judge.waiting > live.waiting:
                await asyncio.sleep(0)
                turns += 1
            assert waiting > 3900
            assert turns > 100
            del judgements
            last = asyncio.create_task(judge.judge(rows[:500]))
            await asyncio.sleep(0)
        assert [*range(500)] == [judgement.index for judgement in await last]

    asyncio.run(main())


def test_rows_of_a_loop_that_is_closed(starter):
    """Rows that a closed loop has not put in keep no other loop from its end."""
    rows = [starter.right() | {"completion": starter.right()["completion"] + f"# {n}\n"} for n in range(2000)]
    judge = pc.AsyncJudge("starter", workers=1)

    async def begin() -> object:
        await judge.__aenter__()
        return judge.judge_each(rows)

    async def end() -> None:
        async with asyncio.timeout(30):
            assert await judge.judge(rows[:1])
            await judge.__aexit__(None, None, None)

    loop = asyncio.new_event_loop()
    judgements = loop.run_until_complete(begin())
    loop.close()
    assert judge.waiting > 1000
    asyncio.run(end())
    del judgements


@pytest.mark.ci
def test_workers_that_die_cost_nobody_a_verdict(starter):
    """Whatever is killed of the sandbox, every sample has the verdict that it deserves, or none at all."""
    with pc.Judge("starter", workers=2) as judge:
        rows = [starter.right() | {"completion": starter.right()["completion"] + f"# {n}\n"} for n in range(600)]
        futures = [judge.submit(row) for row in rows]
        for _ in range(5):
            time.sleep(0.05)
            for pid in children(os.getpid()):
                for inner in children(pid):
                    for worker in children(inner)[:1]:
                        os.kill(worker, signal.SIGKILL)
        statuses = Counter(future.result(60).status for future in futures)
    assert {"passed", "void"} >= set(statuses)
    assert statuses["passed"] > 500


def children(pid: int) -> list[int]:
    """Return the child processes of a process."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()]
    except OSError:
        return []


def test_a_sandbox_that_cannot_be_had():
    """What cannot be started is an error of the start, not of the first sample."""
    with pytest.raises((SandboxError, UsageError)), pc.Judge("starter", python="/bin/false"):
        pass


STDIN = {"id": "sum", "kind": "stdin", "inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "7\n"]}
WITHOUT_ID = {"prompt": "def f():\n", "entry_point": "f", "test": "def check(f):\n    f()\n"}


@pytest.mark.ci
def test_problems_that_come_with_samples(starter):
    """A row may have its problem, in any format of files: judged as in a benchmark, by its own name."""
    rows = [
        {"problem": {**starter.problems["starter/0"], "task_id": "mine"}, "completion": starter.right()["completion"]},
        {
            "problem": {**starter.problems["starter/0"], "task_id": "mine"},
            "completion": "    import sys; sys.exit(0)\n",
        },
        {"problem": STDIN, "solution": "print(sum(map(int, input().split())))"},
        {"problem": STDIN, "solution": "print(3)", "task_id": "other name"},
        {"problem": STDIN, "solution": "while True: pass", "timeout_s": 0.3},
        {"task_id": "starter/0", "completion": starter.right()["completion"]},
    ]
    with pc.Judge("starter", workers=2) as judge:
        for _ in range(2):
            results = judge(rows)
            assert ["passed", "failed", "passed", "failed", "timeout", "passed"] == [one.status for one in results]
            assert ["mine", "mine", "sum", "other name", "sum", "starter/0"] == [one.task_id for one in results]
            assert results[4].own_s < 1
    with pc.Judge(workers=1) as judge:
        assert () == judge.problems
        assert [True, False] == [one.passed for one in judge(rows[2:4])]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"problem": 5, "completion": ""}, "object"),
        ({"problem": {}, "completion": ""}, "entry_point"),
        ({"problem": {"id": "a", "kind": "x"}, "completion": ""}, "kind"),
        ({"problem": dict.fromkeys("ab", WITHOUT_ID), "completion": ""}, "one row"),
        ({"problem": STDIN}, "neither"),
        ({"problem": STDIN, "language": "cobol", "solution": ""}, "cobol"),
        ({"problem": STDIN, "language": 5, "solution": ""}, "language"),
        ({"problem": STDIN, "timeout_s": -1, "solution": ""}, "timeout_s"),
        ({"problem": STDIN, "timeout_s": 1e-9, "solution": ""}, "timeout_s"),
        ({"problem": STDIN, "timeout_s": True, "solution": ""}, "timeout_s"),
        ({"problem": {"id": "a", "kind": "unittest", "test": "x"}, "solution": ""}, "unittest"),
        ({"problem": {"id": "a", "kind": "stdin", "inputs": [{1, 2}], "outputs": []}, "solution": ""}, "array"),
    ],
)
def test_what_is_no_problem(row, message):
    """One line says what is wrong with a problem; nothing is judged."""
    with pc.Judge(workers=1) as judge, pytest.raises(DataError, match=message):
        judge([{"problem": STDIN, "solution": "print(3)"}, row])


@pytest.mark.nightly
def test_more_problems_than_are_kept():
    """Problems come and go: those without a sample under way are forgotten, and one may come again."""
    with pc.Judge(workers=2) as judge:
        for start in (0, 1500, 3000, 0):
            rows = [
                {"problem": {**STDIN, "id": str(number), "outputs": [f"{number}\n"], "inputs": [""]}, "solution": text}
                for number in range(start, start + 1500)
                for text in (f"print({number})",)
            ]
            assert {"passed"} == {one.status for one in judge(rows)}
        # When they are forgotten is a matter of time; half of those that are kept stay, the latest.
        assert KEPT_PROBLEMS // 2 <= max(len(live.plans) for live in live_judges()) <= KEPT_PROBLEMS + 1500


@pytest.mark.parametrize(
    ("arguments", "expected", "body"),
    [
        ({"b": 1, "a": 2}, "b", "next(iter(x))"),
        (1.0, math.inf, "float('inf')"),
        (1.0, math.inf, "None"),
        (math.nan, True, "x != x"),
        (30, math.factorial(30), "__import__('math').factorial(x)"),
    ],
)
def test_values_of_a_problem_that_comes_with_a_sample(tmp_path, arguments, expected, body):
    """A dictionary keeps its order and a number its value: the verdict is that of the same problem in a file."""
    problem = {"id": "p", "kind": "cases", "entry_point": "f", "inputs": [[arguments]], "expected": [expected]}
    (tmp_path / "b.jsonl").write_text(json.dumps(problem))
    solution = f"def f(x):\n    return {body}\n"
    with pc.Judge(tmp_path / "b.jsonl", workers=1) as judge:
        first, second = judge([{"task_id": "p", "solution": solution}, {"problem": problem, "solution": solution}])
    assert (body != "None", first.status) == (first.passed, second.status)


@pytest.mark.nightly
def test_problems_at_fault_among_more_than_are_kept(monkeypatch):
    """Each sample of a problem at fault is excluded, also when its problem is forgotten before the batch ends."""
    monkeypatch.setattr("passcurve.judging.live.KEPT_PROBLEMS", 4)
    test = "def check(candidate):\n    assert candidate(%d) == 2\n"
    wrong = {"kind": "function", "entry_point": "f", "prompt": "def f(x):\n", "reference": "    return 1\n"}
    problems = [{"id": str(number), "test": test % number, **wrong} for number in range(12)]
    rows = [{"problem": problem, "completion": "    return 2\n"} for problem in problems]
    loop = {"problem": STDIN, "solution": "while True: pass"}
    with pc.Judge(workers=1) as judge:
        # The second time the programs are equal to those before.
        for _ in range(2):
            _, *results = judge([loop, *rows])
            assert {None} == {one.passed for one in results}
            assert all("reference" in one.excluded for one in results)


def processes() -> int:
    """Return how many processes this one has started, directly or not."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(folder.name))
    below, seen = [os.getpid()], 0
    while below:
        below = [child for one in below for child in children.get(one, [])]
        seen += len(below)
    return seen


def settle(most: int) -> int:
    """Return how many processes there are once no more than so many are left, or after ten seconds."""
    end = time.monotonic() + 10
    while (count := processes()) > most and time.monotonic() < end:
        time.sleep(0.05)
    return count


@pytest.mark.ci
def test_a_start_that_nobody_waits_for(starter):
    """A start that is cancelled or interrupted leaves no sandbox; a second one is refused, and the first goes on."""
    before = processes()

    async def cancelled() -> None:
        for seconds in (0.0, 0.02, 0.1, 0.2):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds), pc.AsyncJudge("starter", workers=1):
                    pass

    asyncio.run(cancelled())
    assert before == settle(before)
    judge = pc.Judge("starter", workers=1)
    timer = threading.Timer(0.05, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    with contextlib.suppress(KeyboardInterrupt):
        judge.__enter__()
        time.sleep(1)  # A start that was quicker is interrupted here.
    judge.close()
    assert before == settle(before)
    with pc.Judge("starter", workers=1) as judge:
        with pytest.raises(UsageError, match="started already"):
            judge.__enter__()
        assert judge([starter.right()])[0].passed
    assert before == settle(before)
