"""Several who share one judge: turns for each, nothing for those who have gone, and no more than may wait."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

import passcurve as pc
from passcurve.errors import SandboxError
from passcurve.judging.scheduler import MAX_BATCH
from passcurve.types import Verdict

Row = dict[str, str]
_numbers = itertools.count()


@pytest.fixture(scope="module")
def judge() -> Iterator[pc.AsyncJudge]:
    """Start one judge for all tests."""
    with pc.AsyncJudge("starter", workers=2, timeout_s=1.0) as started:
        started([{"task_id": "starter/0", "completion": "    return 0\n"}])
        yield started


def rows(body: str, count: int) -> list[Row]:
    """Return rows of one problem, no two of them equal."""
    return [{"task_id": "starter/0", "completion": f"    {body}  # {next(_numbers)}\n"} for _ in range(count)]


@pytest.mark.nightly
def test_loops_of_others_keep_nobody_waiting(judge: pc.AsyncJudge):
    """One who has thousands of loops leaves room for another's sample, also for one that needs its whole limit."""

    async def main() -> None:
        loops = asyncio.create_task(judge.judge(rows("while True: pass", 2500)))
        await asyncio.sleep(1.0)
        assert judge.waiting > 2400
        for body in ("return 1", "import time; time.sleep(0.2); return 1"):
            async with asyncio.timeout(60):
                (small,) = await judge.judge(rows(body, 1))
            assert "failed" == small.status
        loops.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loops
        assert judge.waiting <= 2 * MAX_BATCH

    asyncio.run(main())


@pytest.mark.ci
def test_a_steady_load_of_others_keeps_nobody_waiting(judge: pc.AsyncJudge):
    """A sample that needs its whole limit has its turn while others come without an end."""
    slow = judge.submit(rows("import time; time.sleep(0.2); return 1", 1)[0])
    begun = time.monotonic()
    waiting = []
    while not slow.done() and time.monotonic() - begun < 20:
        waiting = [one for one in waiting if not one.done()]
        waiting += [judge.submit(row) for row in rows("return 1", 100 - len(waiting))]
        time.sleep(0.01)
    for future in waiting:
        future.cancel()
    assert slow.done()


@pytest.mark.nightly
def test_a_small_batch_does_not_wait_for_a_large_one(judge: pc.AsyncJudge):
    """Batches take turns, so one sample is judged long before twenty thousand that came before it."""

    async def main() -> None:
        large = asyncio.create_task(judge.judge(rows("return 1", 20_000)))
        await asyncio.sleep(0)
        # While they are handed in, the first ones are judged.
        before = judge.waiting
        assert before > 9000
        (small,) = await judge.judge(rows("return 2", 1))
        assert small.passed is False
        assert judge.waiting > before - 500
        large.cancel()
        with pytest.raises(asyncio.CancelledError):
            await large
        assert judge.waiting < 100

    asyncio.run(main())


@pytest.mark.ci
def test_a_reference_that_loops_keeps_nobody_waiting(judge: pc.AsyncJudge):
    """Samples whose problem is under calibration leave room for those of others, and have their verdicts in the end."""
    problem = {
        "task_id": "loop",
        "prompt": "def f(x):\n",
        "entry_point": "f",
        "canonical_solution": "    while True: pass\n",
        "test": "def check(candidate):\n    assert candidate(1) == 1\n",
    }

    async def main() -> None:
        sent = [{"problem": problem, "completion": f"    return {number}\n"} for number in range(200)]
        large = asyncio.create_task(judge.judge(sent))
        await asyncio.sleep(0.3)
        (small,) = await judge.judge(rows("return 1", 1))
        assert "failed" == small.status
        assert len(sent) == judge.waiting
        assert all("does not pass" in judgement.excluded for judgement in await large)

    asyncio.run(main())


def test_a_stream_that_is_left_before_it_begins(judge: pc.AsyncJudge):
    """Its rows are put in at once, and those that do not run already are not judged."""
    stream = judge.judge_each(rows("while True: pass", 200))
    assert judge.waiting > 100
    del stream
    assert judge.waiting <= 2 * MAX_BATCH


@pytest.mark.nightly
def test_what_nobody_waits_for_is_not_judged(judge: pc.AsyncJudge):
    """Who leaves a stream, or cancels, leaves no work behind."""
    before = judge.waiting

    async def main() -> None:
        stream = judge.judge_each(rows("return 1", 3) + rows("while True: pass", 200))
        assert 200 <= judge.waiting - before <= 203
        async for judgement in stream:
            assert "failed" == judgement.status
            break
        await stream.aclose()

    asyncio.run(main())
    assert judge.waiting <= before + 2 * MAX_BATCH
    for judgement in judge.stream(rows("return 1", 1) + rows("while True: pass", 200)):
        assert "failed" == judgement.status
        break
    begun = time.monotonic()
    assert "failed" == judge(rows("import time; time.sleep(0.2); return 1", 1))[0].status
    assert time.monotonic() - begun < 15


INTERRUPTED = """
import passcurve as pc
with pc.Judge("starter", workers=1, timeout_s=2.0) as judge:
    print("ready", flush=True)
    judge([{"task_id": "starter/0", "completion": f"    while True: pass  # {number}"} for number in range(100)])
"""


def test_texts_go_with_their_rows(judge: pc.AsyncJudge):
    """The texts of a batch are freed once it is answered, without a garbage collection."""
    judged = rows("return 1", 3)
    before = [sys.getrefcount(row["completion"]) for row in judged]

    async def main() -> None:
        await judge.judge(judged)
        assert len([judgement async for judgement in judge.judge_each(judged)]) == len(judged)

    gc.collect()
    gc.disable()
    try:
        asyncio.run(main())
        # What the judge has read last may still be at hand.
        judge(rows("return 2", 3))
        assert before == [sys.getrefcount(row["completion"]) for row in judged]
    finally:
        gc.enable()


@pytest.mark.nightly
def test_rows_that_are_put_in_while_the_sandbox_is_lost():
    """Each has a verdict or the error, whichever thread runs when: nobody waits for ever."""
    interval, files = sys.getswitchinterval(), resource.getrlimit(resource.RLIMIT_NOFILE)

    def put_in() -> None:
        with contextlib.suppress(SandboxError):
            while True:
                futures.append(judge.submit(rows("while True: pass", 1)[0]))

    for _ in range(10):
        futures: list[Future[Verdict]] = []
        with pc.Judge("starter", workers=1, timeout_s=0.1) as judge:
            threads = [threading.Thread(target=put_in) for _ in range(6)]
            lowest_free = os.dup(0)
            os.close(lowest_free)
            sys.setswitchinterval(1e-6)
            try:
                for thread in threads:
                    thread.start()
                # A loop needs a new process, for which there is no descriptor.
                resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, files[1]))
                for thread in threads:
                    thread.join()
            finally:
                sys.setswitchinterval(interval)
                resource.setrlimit(resource.RLIMIT_NOFILE, files)
            for future in futures:
                future.exception(20)


def test_the_end_does_not_wait_for_what_was_interrupted():
    """After Ctrl-C in a call the rows that have not run are not judged."""
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            assert b"ready\n" == process.stdout.readline()
            # So that the call waits for its rows, which take 200 s.
            time.sleep(1.0)
            process.send_signal(signal.SIGINT)
            process.wait(20)
        finally:
            process.kill()
    assert -signal.SIGINT == process.returncode


def test_the_end_does_not_wait_for_a_batch_that_was_interrupted_on_its_way(request: pytest.FixtureRequest):
    """After Ctrl-C while the rows of a call are put in, those that are in and have not run are not judged."""
    # Hypothesis has a function in `gc.callbacks`, and an exception that a signal raises in it is lost.
    gc.disable()
    request.addfinalizer(gc.enable)
    sent = rows("return 1", 20_000)
    with pc.Judge("starter", workers=1) as judge:

        def interrupt() -> None:
            while not judge.waiting:
                time.sleep(0.001)
            signal.raise_signal(signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            judge(sent)
        thread.join()
        assert judge.waiting <= 2 * MAX_BATCH


def test_the_end_does_not_wait_for_what_was_cancelled():
    """A judge whose callers have gone ends at once."""
    with pc.Judge("starter", workers=1, timeout_s=2.0) as judge:
        for future in [judge.submit(row) for row in rows("while True: pass", 100)]:
            future.cancel()
        begun = time.monotonic()
    assert time.monotonic() - begun < 20
