"""The fuzz of ``--reuse``: what it judges, what it takes for a difference, and a run on a handful of rows."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fuzz_reuse", reason="the benchmarks are not beside the tests")

import fuzz_reuse

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.ci
def test_the_rows_are_all_samples_and_the_same_mutants_for_a_seed(starter):
    """Samples are among the rows as they stand, with as many mutants as asked, which depend on the seed alone."""
    samples, problems = starter.mixed(["starter/0"], 3), list(starter.problems.values())
    rows = fuzz_reuse.compose(samples, problems, 40, 0)
    assert 43 == len(rows)
    assert all(row in rows for row in samples)
    assert fuzz_reuse.compose(samples, problems, 40, 0) == rows
    assert fuzz_reuse.compose(samples, problems, 40, 1) != rows


@pytest.mark.parametrize("text", ["", "    return 1 + x\n\nprint(2)\n", "nonsense ("])
def test_whatever_a_completion_is_it_can_be_changed(text):
    """Every change takes any text; most of them make another one of it."""
    mutants = {fuzz_reuse.mutate(text, random.Random(seed)) for seed in range(200)}
    assert len(mutants) > 10


def test_what_the_body_is_wrapped_in_leaves_a_program():
    """A body in ``try`` is still one, whatever stands behind it."""
    changes = (fuzz_reuse.mutate("    return 1\n\nx = 2\n", random.Random(seed)) for seed in range(100))
    wrapped = [text for text in changes if text.startswith("    try:\n")]
    assert wrapped
    for text in wrapped:
        compile("def f():\n" + text, "wrapped", "exec")


def test_only_what_was_slow_both_times_is_near_the_limit():
    """A row is near the limit when it reached it once and took most of it the other time."""
    over = {"status": "timeout", "own_s": 1.0}
    assert fuzz_reuse.is_near(over, {"status": "passed", "own_s": 0.7})
    assert fuzz_reuse.is_near({"status": "passed", "own_s": 0.7}, over)
    assert fuzz_reuse.is_near(over, over)
    assert not fuzz_reuse.is_near(over, {"status": "passed", "own_s": 0.1})
    assert not fuzz_reuse.is_near({"status": "failed", "own_s": 0.9}, {"status": "passed", "own_s": 0.9})


@pytest.mark.nightly
def test_a_small_run(harmless):
    """A handful of rows is judged both ways; the last line has the counts, and the exit code says what it says."""
    data = [str(harmless / name) for name in ("codegen16b_first20.jsonl.gz", "HumanEval.jsonl.gz")]
    command = [sys.executable, "benchmarks/fuzz_reuse.py", *data, "--mutants", "12", "--python", sys.executable]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    assert f"python {sys.version.split()[0]}: 20 rows, 0 differences, 0 near the limit" in last
