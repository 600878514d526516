"""The same file gives the same verdicts: however many workers there are, and whatever else the machine does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

KINDS = {
    "passed": "    return -(-eggs // size)\n",
    "failed": "    return eggs // size\n",
    "compile": "    return (\n",
    "timeout": "    while True: pass\n",
    "timeout asleep": "    import time\n    time.sleep(60)\n",
    "timeout in a thread": "    from threading import Thread as T\n    t = T(target=any, args=[iter(int, 1)])\n"
    "    t.start()\n    t.join()\n",
    "memory": "    return len(bytearray(1 << 40))\n",
    "memory slowly": "    held = []\n    while True: held.append(bytes(1 << 24))\n",
    "crash": "    import os\n    os._exit(0)\n",
    "crash by signal": "    import os, signal\n    os.kill(os.getpid(), signal.SIGSEGV)\n",
    "failed by exit": "    raise SystemExit(0)\n",
    "failed by recursion": "    return boxes_needed(eggs, size)\n",
    "failed outside": "    import socket\n    return socket.socket()\n",
    "output": "    return 'x' * (100 << 20)\n",
    "no_code": " \n",
}
"""Samples of every kind; the first word is the status."""


@pytest.fixture
def rows() -> list[dict[str, str]]:
    """Return one sample of each kind."""
    return [{"task_id": "starter/0", "completion": code} for code in KINDS.values()]


@pytest.fixture
def burning() -> Iterator[None]:
    """Keep both cores busy with something else."""
    code = "while True: pass"
    fires = [subprocess.Popen([sys.executable, "-S", "-c", code]) for _ in range(2)]
    yield
    for fire in fires:
        fire.kill()
        fire.wait()


def statuses(run_of, rows, workers, *words) -> list[str]:
    """Judge the rows and return the status of each."""
    run = run_of(rows, "--workers", str(workers), "--timeout", "0.5", "--memory", "512MiB", *words)
    done = run.end()
    assert 0 == done.code, done.err
    return [status for _, status in run.results()]


EXPECTED = [name.split()[0] for name in KINDS]


@pytest.mark.parametrize(
    "workers",
    # The busy machine has eight too.
    [1, pytest.param(2, marks=pytest.mark.ci), pytest.param(8, marks=pytest.mark.nightly)],
)
def test_any_number_of_workers(run_of, rows, nothing_left, workers):
    """One worker, two or eight give the same statuses, those that the samples were written to get."""
    assert EXPECTED == statuses(run_of, rows, workers)
    nothing_left()


PLACES = "    raise ValueError((%s, id((eggs,)), id([]), id({}), id(object()), id(b'-' * 40), id(type('A', (), {}))))\n"


@pytest.mark.ci
@pytest.mark.parametrize(
    "first",
    [
        "hash(float('nan'))",
        *(pytest.param(text, marks=pytest.mark.nightly) for text in ("id(eggs + 0j)", "id(str(eggs))", "id(1 << 40)")),
    ],
)
def test_workers_at_the_same_time_have_the_same_memory(shell, first):
    """The first object of each kind that a program makes lies at one place, in each worker, rewound or not."""
    shell.write("s.jsonl", [{"task_id": "starter/0", "completion": PLACES % first}] * 60)
    words = ("judge", "s.jsonl", "--benchmark", "starter", "--subset", "--no-dedup", "--workers", "4")
    messages = set()
    for reuse in ("rewind", "fork"):
        assert 0 == shell(*words, "--accept-input", "--reuse", reuse, "--run", reuse, "--results", "r.jsonl").code
        messages |= {row["message"] for row in shell.rows("r.jsonl")}
    assert 1 == len(messages)


@pytest.mark.parametrize("reuse", ["rewind", pytest.param("fork", marks=pytest.mark.ci)])
def test_a_program_that_takes_longer_than_it_may_in_a_kept_process(shell, reuse):
    """It is repeated in the same form, so a result that depends on where a NaN lies in memory stays as it is."""
    problem = {
        "task_id": "N/0",
        "prompt": "def distinct(v):\n",
        "entry_point": "distinct",
        "canonical_solution": "    return list(dict.fromkeys(v))\n",
        "test": "def check(candidate):\n    nan = float('nan')\n"
        "    assert candidate([1.0, 2.0]) == [1.0, 2.0]\n"
        + "".join(f"    assert str(candidate([nan, {n}.0, nan, 1.0, 2.0, 3.0])[0]) == 'nan'\n" for n in range(4, 24)),
    }
    spin = "    from time import perf_counter as now\n    end = now() + {seconds}\n    while now() < end: pass\n"
    programs = [spin.format(seconds=seconds) + "    return list(set(v))\n" for seconds in ("0.0000", "0.0015")]
    shell.write("b.jsonl", [problem])
    shell.write("s.jsonl", [{"task_id": "N/0", "completion": program} for program in programs * 3])
    words = ("judge", "s.jsonl", "--benchmark", "b.jsonl", "--subset", "--no-dedup", "--reuse", reuse, "--workers", "1")
    done = shell(*words, "--accept-input")
    assert 0 == done.code, done.err
    results = shell.rows("s.jsonl_results.jsonl")
    assert 1 == len({(row["status"], row["result"]) for row in results})
    assert {"failed"} == {row["status"] for row in results}


@pytest.mark.nightly
def test_processes_that_are_not_reused(run_of, rows, nothing_left):
    """With new processes for each sample, and with processes that are put back after it, the statuses are the same."""
    assert EXPECTED == statuses(run_of, rows, 2, "--reuse", "fork")
    nothing_left()


@pytest.mark.nightly
def test_twice(run_of, rows, nothing_left):
    """The same programs a second time, each run by itself, get the same statuses as those before them."""
    assert EXPECTED * 2 == statuses(run_of, rows * 2, 2, "--no-dedup")
    nothing_left()


@pytest.mark.nightly
def test_a_busy_machine(run_of, rows, burning, nothing_left):
    """While both cores are burning, the statuses are the same."""
    assert EXPECTED * 2 == statuses(run_of, rows * 2, 8, "--no-dedup")
    nothing_left()


@pytest.mark.ci
@pytest.mark.parametrize(
    ("timeout", "reuse"),
    [
        (0.1, "rewind"),
        pytest.param(0.3, "fork", marks=pytest.mark.nightly),
        pytest.param(0.1, "fork", marks=pytest.mark.nightly),
        pytest.param(0.3, "rewind", marks=pytest.mark.nightly),
    ],
)
def test_sleep_counts_below_a_second(shell, reuse, timeout):
    """A program that sleeps beyond a short limit is stopped wherever it is judged, and so is a reference."""
    problem = {
        "prompt": "def f(x):\n",
        "entry_point": "f",
        "test": "def check(f):\n    assert f(1) == 1\n    assert f(2) == 2\n",
    }
    sleeps = f"    import time; time.sleep({timeout + 0.3})\n    return x\n"
    shell.write("b.jsonl", [{"task_id": "a/0", "canonical_solution": "    return x\n", **problem}])
    shell.write("s.jsonl", [{"task_id": "a/0", "completion": sleeps}] * 3)
    words = ("--benchmark", "b.jsonl", "--timeout", timeout, "--reuse", reuse, "--no-dedup", "--accept-input")
    shell("judge", "s.jsonl", *words)
    assert ["timeout"] * 3 == [row["status"] for row in shell.rows("s.jsonl_results.jsonl")]
    shell.write("slow.jsonl", [{"task_id": "a/0", "canonical_solution": sleeps, **problem}])
    checked = shell("bench", "check", "slow.jsonl", "--timeout", timeout, "--json").record
    assert 1 == checked["faulty"]
