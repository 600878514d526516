"""Hostile programs in other languages, behind real walls: none passes, none outlives its limits, none hurts others."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from host import living_descendants

from passcurve.bench.languages import find_language, with_confirmation
from passcurve.judging.scripts import make_script_job, missing_tools
from passcurve.judging.verdict import reach_verdict
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.startup import start_sandbox
from passcurve.types import Limits, SampleKey, Script, Verdict

LIMITS = Limits(timeout_s=2.0, memory_bytes=1 << 30)
COMPILE_S = 10.0
PATIENCE_S = 60.0
"""Far above every limit: nothing may take so long."""

TAGS = itertools.count(1)

PROGRAMS = Path(__file__).parent / "languages"
TESTS = {
    "c": "int main(void) {\n    if (answer() != 42) return 1;\n}\n",
    "go": "func TestAnswer(t *testing.T) {\n    if answer() != 42 {\n        t.Fatal()\n    }\n}\n",
    "rs": "fn main() {\n    assert_eq!(answer(), 42);\n}\n",
    "cpp": "int main() {\n    if (answer() != 42) return 1;\n}\n",
    "js": "if (answer() !== 42) throw new Error('wrong');\n",
    "sh": "set -e\nrun_test() {\n    [[ $(answer) = 42 ]]\n}\nrun_test",
    "java": "public static void main(String[] args) {\nif (answer() != 42) throw new RuntimeException();\n}\n}\n",
}
RIGHT = {
    "c": "int answer(void) { return 42; }\n",
    "go": 'package a_test\n\nimport "testing"\n\nfunc answer() int { return 42 }\n',
    "rs": "fn answer() -> i32 { 42 }\n",
    "cpp": "int answer() { return 42; }\n",
    "js": "function answer() { return 42; }\n",
    "sh": "answer() { echo 42; }\n",
    "java": "class Problem {\n    static int answer() { return 42; }\n",
}
IN_CI = ("sh",)
"""Languages that every machine has and that start fast; the others are tried at night."""

ATTACKS = [
    pytest.param(
        path,
        id=f"{path.parent.name}-{path.stem}",
        marks=pytest.mark.ci if path.parent.name.partition("_")[0] in IN_CI else pytest.mark.nightly,
    )
    for path in sorted(PROGRAMS.glob("*/*"))
]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """Return a pool of one worker, whose right programs show that no attack has hurt it."""
    with start_sandbox(LIMITS, level="full", commands=True) as sandbox:
        pool = Pool(1, sandbox)
        before = living_descendants(os.getpid())
        yield pool
        pool.close()
        until = time.monotonic() + 10
        while (left := living_descendants(os.getpid()) - before) and time.monotonic() < until:
            time.sleep(0.05)
        assert not left


def judge(pool: Pool, language: str, program: str) -> Verdict:
    """Judge one program; the tests show their end by a token."""
    if missing := missing_tools(find_language(language)):
        pytest.skip(f"{', '.join(missing)} is not installed")
    confirmed = with_confirmation(find_language(language), TESTS[language])
    assert confirmed is not None
    job = make_script_job(Script(language=language, tests=confirmed, compile_s=COMPILE_S), program, LIMITS, next(TAGS))
    until = time.monotonic() + PATIENCE_S
    pool.start(0, job)
    while not (outcomes := pool.wait(1.0)):
        assert time.monotonic() < until, "it outlives its limits"
    return reach_verdict(SampleKey(problem_id="T", sample_index=0), job, outcomes[0])


@pytest.mark.parametrize("path", ATTACKS)
def test_an_attack_neither_passes_nor_hurts_the_next_program(pool: Pool, path: Path) -> None:
    """It is judged as something else than passed or void, within its limits; a right program passes after it."""
    language = path.parent.name.partition("_")[0]
    verdict = judge(pool, language, path.read_text("utf-8"))
    assert verdict.status not in ("passed", "void", "no_code"), verdict
    assert verdict.memory_bytes < 2 * LIMITS.memory_bytes
    after = judge(pool, language, RIGHT[language])
    assert "passed" == after.status, after
