"""What a run knows of itself is used: its temperature, its benchmark, and how many samples were asked for."""

from __future__ import annotations

import json
import shutil
import sys

import pytest
from evalplus_rows import EQUIVALENT


@pytest.mark.ci
def test_few_copies_at_temperature_0(shell):
    """Four problems are too few to take equal samples for copies, unless the temperature is known to be 0."""
    words = ["run", "starter", "--model", "mutant:", "-n", "3", "--problems", "0-3", "-k", "1,3", "--run", "greedy"]
    done = shell(*words, "--temperature", "0", "--json")
    record = json.loads(done.out)
    assert record["pass@1"]["value"] is not None
    assert record["pass@3"]["value"] is None
    assert "copies" in record["pass@3"]["reason"]
    assert "copies" in shell("show", "greedy", "-k", "1,3").out


@pytest.mark.ci
def test_more_samples_than_are_asked_for(shell):
    """A run that goes on with fewer samples scores all that it has, and says so."""
    words = ["run", "starter", "--model", "mutant:", "--problems", "0-3", "-k", "1", "--run", "more"]
    shell(*words, "-n", "3")
    assert "more than asked for: 12 samples are stored" in shell(*words, "-n", "2").out
    assert "more than asked for" not in shell(*words, "-n", "3").out


@pytest.mark.ci
def test_the_benchmark_of_a_file_that_was_judged(shell, starter):
    """``autopsy`` of a file takes the benchmark that it was judged with; one that is gone is named."""
    row = {**starter.problems["starter/0"], "task_id": "Own/0"}
    shell.write("own.jsonl", [row])
    text = f"```python\n{row['prompt']}{row['canonical_solution']}```\n"
    shell.write("s.jsonl", [{"task_id": "Own/0", "completion": text}])
    judged = shell("judge", "s.jsonl", "--benchmark", "own.jsonl", "--extract", "auto", "--json")
    assert 1 == json.loads(judged.out)["pass@1"]["value"]
    done = shell("autopsy", "s.jsonl", "--json")
    assert done.code == 0, done.err
    # From another folder, and where all was moved together.
    folder = shell.folder
    assert (folder / "elsewhere").mkdir() is None
    shell.folder = folder / "elsewhere"
    assert "passed" in shell("show", "../s.jsonl", "Own/0", "0").out
    for path in list(folder.iterdir()):
        if path.name.startswith(("s.jsonl", "own")):
            shutil.move(path, shell.folder)
    assert "passed" in shell("show", "s.jsonl", "Own/0", "0").out
    for path in list(shell.folder.iterdir()):
        shutil.move(path, folder)
    shell.folder = folder
    (shell.folder / "own.jsonl").unlink()
    for words in (["show", "s.jsonl", "Own/0", "0"], ["autopsy", "s.jsonl.passcurve"]):
        gone = shell(*words)
        assert 2 == gone.code
        assert "own.jsonl" in gone.err
        assert "is gone" in gone.err


@pytest.mark.ci
def test_a_pattern_that_matches_what_was_written(shell, starter):
    """The same pattern typed again leaves out what the first judging wrote: nothing is counted twice."""
    shell.write("s0.jsonl", [starter.right(), starter.bad("starter/1")])
    shell.write("s1.jsonl", [starter.bad(), starter.right("starter/1")])
    first = shell("judge", "s0.jsonl", "s1.jsonl", "--subset", "-k", "1,2", "--json")
    names = sorted(path.name for path in shell.folder.glob("s*.jsonl"))
    assert len(names) > 2
    second = shell("judge", *names, "--subset", "-k", "1,2", "--json")
    assert json.loads(first.out)["pass@2"] == json.loads(second.out)["pass@2"]
    assert "left out" in second.err
    shell("judge", "s0.jsonl", "--subset")
    one = shell("judge", "s0.jsonl", "s0.jsonl_results.jsonl", "--subset", "--json")
    assert "1 of 2 files" in one.err


def test_other_rules_than_those_of_a_run(shell):
    """A run under one profile is compared by the rules of others, ``native`` among them."""
    shell.write("p.jsonl", [EQUIVALENT])
    shell.write("s.jsonl", [{"task_id": "Mbpp/164", "completion": "def are_equivalent(a, b):\n    return 7\n"}])
    run = shell("judge", "s.jsonl", "--benchmark", "p.jsonl", "--profile", "evalplus", "--json").record["run"]
    for command, scores in (("profiles", "scores"), ("autopsy", "rulings")):
        record = shell(command, run, "--profiles", "native,evalplus", "--json").record
        assert {"native": 0, "evalplus": 1} == {score["profile"]: score["passed"] for score in record[scores]}


def test_profiles_of_generated_samples(shell):
    """``profiles`` judges the samples that a run has generated, each under its index; those with gaps it refuses.

    ``convert`` writes them in that order, and so do the results.
    """
    shell.write("p.jsonl", [EQUIVALENT])
    texts = [f"def are_equivalent(a, b):\n    return {value}\n" for value in ("7", "1 / 0", "a == b")]
    # The rows come in another order than that of their indices.
    model = (
        "import json, sys\n"
        f"texts = {texts!r}\n"
        "rows = [json.loads(sys.stdin.readline()) for _ in texts]\n"
        "for row in reversed(rows):\n"
        "    text = texts[row['sample_index']]\n"
        "    print(json.dumps({'id': row['id'], 'solution': text}), flush=True)\n"
    )
    (shell.folder / "model.py").write_text(model, "utf-8")
    spec = f"command:{sys.executable} model.py"
    words = ("run", "p.jsonl", "--model", spec, "-n", 3, "--profile", "evalplus", "-k", "1,3", "--run", "r", "--json")
    done = shell(*words)
    assert 0 == done.code, done.err
    words = ("profiles", "r", "--profiles", "native,evalplus", "--json")
    record = shell(*words).record
    assert {"native": 1, "evalplus": 2} == {score["profile"]: score["passed"] for score in record["scores"]}
    assert [0] == [disagreement["sample_index"] for disagreement in record["disagreements"]]
    assert all("|model:command:" in score["signature"] for score in record["scores"])
    assert record == shell(*words).record
    assert 0 == shell("convert", "r", "out.jsonl", "--to", "jsonl").code
    assert texts == [row["solution"] for row in shell.rows("out.jsonl")]
    assert texts == [row["solution"] for row in shell.rows("r/results.jsonl")]
    rows = (shell.folder / "r" / "completions-001.jsonl").read_bytes().splitlines(keepends=True)
    (shell.folder / "r" / "completions-001.jsonl").write_bytes(b"".join(rows[:2]))
    refused = shell(*words, "--stale", "--run", "other")
    assert 2 == refused.code
    assert "sample 1 and not sample 0" in refused.err


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_the_language_of_a_run(shell):
    """Programs in the language that a run was given are judged in it, and no harness of contests has them."""
    cases = {"inputs": ["3 4\n"], "outputs": ["7\n"]}
    shell.write("p.jsonl", [{"problem_id": 1, "question": "Add.", "input_output": json.dumps(cases)}])
    program = "#include <iostream>\nint main() {\n  int a, b;\n  std::cin >> a >> b;\n  std::cout << a + b;\n}\n"
    shell.write("s.jsonl", [{"task_id": "1", "solution": program}])
    run = shell("judge", "s.jsonl", "--benchmark", "p.jsonl", "--language", "cpp", "--json").record["run"]
    for samples in ("s.jsonl", run):
        record = shell("autopsy", samples, "--policies", "raw,auto", "--json").record
        assert [1, 1] == [ruling["passed"] for ruling in record["rulings"]]
    refused = shell("profiles", run)
    assert 2 == refused.code
    assert "only 'native'" in refused.err


@pytest.mark.parametrize(("words", "limits"), [((), ("15s", "10s")), (("--timeout", "9"), ("9s", "9s"))])
def test_the_time_limit_of_another_harness(shell, words, limits):
    """A limit that the benchmark sets by the rules of a run is not that of other profiles; one that is named is."""
    row = {"name": "Own_0", "language": "sh", "prompt": "two() {\n", "tests": "}\n[[ $(two) == 2 ]]\n"}
    shell.write("p.jsonl", [row])
    shell.write("s.jsonl", [{"task_id": "Own_0", "completion": "    echo 2\n"}])
    run = shell("judge", "s.jsonl", "--benchmark", "p.jsonl", *words, "--json").record["run"]
    scores = shell("profiles", run, "--profiles", "native,multipl-e", "--json").record["scores"]
    for limit, score in zip(limits, scores, strict=True):
        assert 1 == score["passed"]
        assert f"|timeout:{limit}-own|" in score["signature"]
    examined = shell("autopsy", run, "--profiles", "multipl-e,native", "--json").record
    assert f"|timeout:{limits[1]}-own|" in examined["signature"]
