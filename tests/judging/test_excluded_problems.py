"""Problems that cannot be judged: every score leaves them out, whatever became of their samples, and says so."""

from __future__ import annotations

import pytest

BROKEN = {"canonical_solution": "    return None\n"}


def problem(number: int, **fields: object) -> dict[str, object]:
    """Return a problem of a small benchmark: ``f(x)`` returns x plus its number."""
    row = {
        "task_id": f"Own/{number}",
        "prompt": "def f(x):\n",
        "entry_point": "f",
        "canonical_solution": f"    return x + {number}\n",
        "test": f"def check(candidate):\n    assert candidate(1) == {1 + number}\n",
    }
    return row | fields


def sample(number: int, text: str | None = None) -> dict[str, object]:
    """Return a sample of that problem, by default one that passes."""
    return {"task_id": f"Own/{number}", "completion": text if text is not None else f"    return x + {number}\n"}


def excluded(done) -> dict[str, str]:
    """Return the kind of each problem that a run excludes."""
    return {row["task_id"]: row["kind"] for row in done.record["excluded"]}


def judge(shell, problems, samples, *words: str):
    """Judge samples of a benchmark; return what the command came to."""
    shell.write("b.jsonl", problems)
    shell.write("s.jsonl", samples)
    return shell("judge", "s.jsonl", "--benchmark", "b.jsonl", "--k", "1", "--json", *words)


@pytest.fixture
def shell(shell_in, tmp_path):
    """Return the command in an empty folder."""
    return shell_in(tmp_path)


def test_each_kind(shell):
    """A score leaves out problems at fault of each kind, and only packages do not count against the benchmark."""
    problems = [problem(number) for number in range(60)]
    problems[3] |= BROKEN
    problems[4] |= {"test": ""}
    for number in range(5, 15):
        problems[number] |= {"canonical_solution": "    import no_such_package\n"}
    done = judge(shell, problems, [sample(number) for number in range(60)])
    expected = {"Own/3": "reference", "Own/4": "tests"} | {f"Own/{number}": "package" for number in range(5, 15)}
    assert (0, 1.0, expected) == (done.code, done.record["pass@1"]["value"], excluded(done))
    assert "|scored:48of60" in done.record["signature"]


def test_scores_by_suites(shell):
    """The scores by suites leave out the same problems, have the level of the score, and are there as it is."""
    problems = [problem(number, base_input=[[1]], plus_input=[[2], [3]], atol=0) for number in range(30)]
    problems[3] |= {"canonical_solution": "    raise ValueError\n"}
    samples = [sample(number, None if number else "    return 1\n") for number in range(30)]
    record = judge(shell, problems, samples, "--level", "0.9").record
    suites = {name: suite["pass@1"]["value"] for name, suite in record["suites"].items()}
    assert (28 / 29, {"base": 1.0, "plus": 28 / 29}) == (record["pass@1"]["value"], suites)
    assert {0.9} == {suite["pass@1"]["new_problems"]["level"] for suite in record["suites"].values()}
    assert record["suites"] == shell("show", record["run"], "--k", "1", "--level", "0.9", "--json").record["suites"]


def test_a_limit_that_is_too_small_for_a_reference(shell):
    """The reason says what to do; one that fails otherwise does not need longer."""
    problems = [problem(0, canonical_solution="    import time; time.sleep(0.6)\n    return x\n"), problem(1, **BROKEN)]
    done = judge(shell, problems, [sample(0), sample(1)], "--timeout", "0.3")
    reasons = [row["reason"] for row in done.record["excluded"]]
    assert [True, False] == [reason.endswith("; if it needs longer, raise --timeout") for reason in reasons]


@pytest.mark.ci
def test_samples_without_code(shell):
    """A problem at fault is found also where no sample of it has code to run."""
    problems = [problem(number) for number in range(40)]
    problems[3] |= BROKEN
    done = judge(shell, problems, [sample(number, "" if number == 3 else None) for number in range(40)])
    assert (0, 1.0, {"Own/3": "reference"}) == (done.code, done.record["pass@1"]["value"], excluded(done))


@pytest.mark.ci
@pytest.mark.parametrize("fields", [BROKEN, {"test": ""}, {"canonical_solution": "    import no_such_package\n"}])
@pytest.mark.parametrize(
    "words",
    [
        (),
        pytest.param(("--accept-benchmark",), marks=pytest.mark.nightly),
        pytest.param(("--problems", "Own/*"), marks=pytest.mark.nightly),
        pytest.param(("--subset",), marks=pytest.mark.nightly),
    ],
)
def test_no_problem_is_left(shell, fields, words):
    """Where all problems are excluded there is no score to insist on, for whatever reason they are."""
    done = judge(shell, [problem(0), problem(1, **fields)], [sample(1)], *words, "--problems", "Own/1")
    assert (2, None) == (done.code, done.record["pass@1"]["value"])
    assert done.record["pass@1"]["reason"]
    shown = shell("show", done.record["run"], "--json")
    assert (2, None) == (shown.code, shown.record["pass@1"]["value"])


@pytest.mark.ci
def test_a_subset(shell):
    """With ``--subset`` the excluded problems are weighed against those that have samples."""
    problems = [problem(number) for number in range(40)]
    problems[3] |= BROKEN
    done = judge(shell, problems, [sample(number) for number in range(10)], "--subset")
    assert (2, None) == (done.code, done.record["pass@1"]["value"])
    assert "--accept-benchmark" in done.record["pass@1"]["reason"]
    done = judge(shell, problems, [sample(number) for number in range(10)], "--subset", "--accept-benchmark")
    assert (0, 1.0) == (done.code, done.record["pass@1"]["value"])
    done = judge(shell, problems, [sample(number) for number in range(10, 20)], "--subset")
    assert (0, 1.0, {}) == (done.code, done.record["pass@1"]["value"], excluded(done))


@pytest.mark.nightly
def test_a_run_that_is_resumed(run_of, shell):
    """A resumed run leaves out the same problems, also where all their verdicts were stored before."""
    problems = [problem(number) for number in range(40)]
    problems[0] |= BROKEN
    shell.write("b.jsonl", problems)
    samples = [sample(number) for number in range(40)] + [sample(39, "    while True: pass\n")]
    run = run_of(samples, "--benchmark", "b.jsonl", "--k", "1")
    session = run.start()
    run.wait(session, 40)
    session.kill()
    session.communicate()
    done = run.end()
    assert 40 == done.record["resumed"]
    assert (0, {"Own/0": "reference"}) == (done.code, excluded(done))
    assert (38 + 1 / 2) / 39 == pytest.approx(done.record["pass@1"]["value"], abs=1e-15)


@pytest.mark.ci
def test_tests_that_are_not_used_are_named(shell):
    """Tests that a benchmark leaves out of its own score are named in a note."""
    done = judge(shell, [problem(0, challenge_test_list=["assert f(1) == 1"])], [sample(0)])
    assert (0, 1.0) == (done.code, done.record["pass@1"]["value"])
    assert any("challenge_test_list" in note for note in done.record["notes"])


@pytest.mark.ci
@pytest.mark.parametrize("mode", ["referee", "shared"])
def test_a_mode_in_which_the_reference_fails(shell, mode):
    """No problem is scored by a check that its own reference solution fails, in a requested mode neither."""
    second = {"canonical_solution": "    return 1\ndef g(x):\n    return x + 1\n"}
    tests = {"test": "def check(candidate):\n    assert g(1) == 2\n"}
    broken = problem(1, **(BROKEN if mode == "shared" else second | tests))
    done = judge(shell, [problem(0), broken], [sample(0), sample(1)], "--verdict", mode, "--accept-benchmark")
    assert (0, 1.0, {"Own/1": "reference"}) == (done.code, done.record["pass@1"]["value"], excluded(done))
