"""Tests of text match on judged runs: its values, its files and its misleading rankings."""

from __future__ import annotations

import json
import re

import pytest

TASKS = ("starter/0", "starter/1", "starter/2")


@pytest.fixture(scope="module")
def judged(shell_in, tmp_path_factory, starter):
    """Judge two small runs: correct programs unlike the reference, and wrong ones close to it."""
    shell = shell_in(tmp_path_factory.mktemp("matched"))
    strange, near = [], []
    for task in TASKS:
        reference = starter.problems[task]["canonical_solution"]
        noise = "".join(f"    unused_{at} = {at}\n" for at in range(12))
        strange += [{"task_id": task, "completion": noise + reference}, {"task_id": task, "completion": ""}]
        near += [{"task_id": task, "completion": "    pass\n    return None\n" + reference}, starter.right(task)]
        near += [starter.bad(task), {"task_id": task, "completion": "    return None\n" + reference}]
        strange += [{"task_id": task, "completion": noise * 2 + reference}, starter.bad(task)]
    for name, rows in (("strange.jsonl", strange), ("near.jsonl", near)):
        shell.write(name, rows)
        done = shell("judge", name, "--benchmark", "starter", "--subset", "--k", "1")
        assert 0 == done.code, done.err
    return shell


@pytest.mark.ci
def test_exact_match_needs_no_extra_and_says_what_is_missing(judged, starter):
    """Exact match works without extras, and a note names each missing extra."""
    before = dict(judged.env)
    folder = judged.folder / "absent"
    folder.mkdir(exist_ok=True)
    absent = ("sacrebleu", "rouge_score", "rapidfuzz", "codebleu")
    (folder / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({absent!r}))\n")
    judged.env["PYTHONPATH"] = str(folder)
    try:
        done = judged("match", "near.jsonl")
        named = judged("match", "near.jsonl", "--metrics", "bleu")
    finally:
        judged.env = before
    assert (0, "") == (done.code, done.err)
    assert "exact match" in done.out
    assert "note: no bleu, chrf, rouge-l, edit: pip install 'passcurve[match]'" in done.out
    assert (2, "") == (named.code, named.out)
    assert "pip install 'passcurve[match]'" in named.err


@pytest.mark.ci
def test_results_of_another_harness(judged, starter):
    """A file with programs and verdicts is compared as it stands, and gives what the judged samples give."""
    programs = {task: starter.problems[task] for task in TASKS}
    results = {
        task: [
            {"task_id": task, "solution": problem["prompt"] + body, "base_status": word, "plus_status": None}
            for body, word in ((problem["canonical_solution"], "pass"), ("    return None\n", "fail"))
        ]
        for task, problem in programs.items()
    }
    path = judged.folder / "x_eval_results.json"
    path.write_text(json.dumps({"date": "", "hash": "", "eval": results}))
    words = ("match", path.name, "near.jsonl", "--metric", "exact")
    assert 0 == judged(*words).code
    theirs, ours = judged(*words, "--json").record["runs"]
    assert (6, 3, 3, "") == (theirs["samples"], theirs["passed"], theirs["problems"], theirs["kept"])
    assert 0.5 == theirs["scores"]["exact"]
    assert 1.0 == theirs["ranked"]["exact"]["mean_right"]
    assert ours["kept"]
    del results[TASKS[0]][0]["solution"]
    path.write_text(json.dumps({"date": "", "hash": "", "eval": results}))
    assert 2 == judged(*words).code


@pytest.mark.ci
def test_the_values_stand_beside_the_verdicts(judged):
    """Each sample has a line in match.jsonl with its verdict and a value for each metric."""
    pytest.importorskip("rapidfuzz", reason="edit similarity needs the extra match")
    record = judged("match", "near.jsonl", "--metrics", "exact,edit", "--json").record
    (run,) = record["runs"]
    lines = judged.rows(run["kept"])
    head, samples = lines[0], lines[1:]
    assert run["signatures"] == head["signatures"]
    assert 12 == len(samples) == run["samples"]
    assert run["passed"] == sum(sample["status"] == "passed" for sample in samples)
    exact = [sample for sample in samples if sample["exact"] == 1.0]
    assert [(task, 1, "passed") for task in TASKS] == [
        (sample["task_id"], sample["sample_index"], sample["status"]) for sample in exact
    ]
    wrong = [sample["edit"] for sample in samples if sample["status"] != "passed"]
    assert sum(wrong) / len(wrong) == pytest.approx(run["ranked"]["edit"]["mean_wrong"])


def test_of_exact_match_the_auc_is_known(judged):
    """Exact match ranks perfectly if the one correct program of four is a copy of the reference."""
    record = judged("match", "near.jsonl", "--metrics", "exact", "--json").record
    ranked = record["runs"][0]["ranked"]["exact"]
    # One right program of four, the copy; it beats all three others.
    assert (1.0, 3, 0) == (ranked["within"]["value"], ranked["informative"], ranked["left_out"])
    assert (1.0, 1.0, 0.0) == (ranked["point_biserial"]["value"], ranked["mean_right"], ranked["mean_wrong"])


def test_runs_that_text_ranks_the_wrong_way_round(judged):
    """The report warns, with a p-value, if text match ranks two runs in the wrong order."""
    pytest.importorskip("sacrebleu", reason="BLEU needs the extra match")
    done = judged("match", "strange.jsonl", "near.jsonl", "--metrics", "bleu", "--k", "1")
    assert 0 == done.code
    assert "wrong way round: BLEU prefers near.jsonl" in done.out
    (pair,) = judged("match", "strange.jsonl", "near.jsonl", "--metrics", "bleu", "--json").record["inverted"]
    assert ("strange.jsonl", "near.jsonl") == (pair["better"], pair["worse"])
    assert [0.5, 0.25] == pair["pass_at_1"]
    assert pair["score"][0] < pair["score"][1]


def test_runs_that_pass_alike_cannot_be_ranked_wrongly(judged):
    """Of runs with the same score the report does not claim that a metric ranks them the right way round."""
    done = judged("match", "near.jsonl", "near.jsonl", "--metrics", "exact", "--k", "1")
    assert 0 == done.code
    assert "all pass alike" in done.out


def test_a_difference_that_may_be_chance_says_so(judged):
    """A pair that a metric ranks the wrong way round by a difference of no weight is called so."""
    pytest.importorskip("sacrebleu", reason="BLEU needs the extra match")
    done = judged("match", "strange.jsonl", "near.jsonl", "--metrics", "bleu", "--k", "1")
    (line,) = [line for line in done.out.splitlines() if "wrong way round" in line]
    (pair,) = judged("match", "strange.jsonl", "near.jsonl", "--metrics", "bleu", "--json").record["inverted"]
    assert pair["p"] > 0.05
    assert line.endswith("which may be chance)")


@pytest.mark.nightly
def test_eighty_columns(judged, lines_on_terminal):
    """On a terminal of 80 columns the tables of one run and of several stand as in a file."""
    words = ("match", "strange.jsonl", "near.jsonl", "--k", "1")
    lines = lines_on_terminal(judged, 80, *words)
    assert 80 >= max(map(len, lines))
    rows = [line for line in judged(*words).out.splitlines() if line.startswith(("  exact match", "  A  ", "  BLEU"))]
    assert len(rows) > 2
    assert set(rows) <= set(lines)


def test_samples_without_a_program_are_the_empty_text(judged):
    """An empty completion is counted, reported and scored as completely unlike the reference."""
    run = judged("match", "strange.jsonl", "--metrics", "exact", "--json").record["runs"][0]
    assert 3 == run["no_code"]
    assert "3 samples have no program" in judged("match", "strange.jsonl", "--metrics", "exact").out


@pytest.mark.ci
def test_a_whole_program_is_compared_with_the_whole_reference(judged, starter):
    """A solution that does not start with the prompt is compared whole and counted as such."""
    problem = starter.problems["starter/0"]
    whole = "import math\n" + problem["prompt"] + problem["canonical_solution"]
    judged.write("whole.jsonl", [{"task_id": "starter/0", "solution": whole}])
    judged("judge", "whole.jsonl", "--benchmark", "starter", "--subset", "--k", "1")
    run = judged("match", "whole.jsonl", "--metrics", "exact", "--json").record["runs"][0]
    assert (1, {"exact": 0.0}) == (run["whole"], run["scores"])


@pytest.mark.ci
def test_a_density_is_drawn(judged):
    """The picture shows the density of each metric for correct and wrong programs."""
    pytest.importorskip("matplotlib", reason="pictures need the extra plots")
    pytest.importorskip("rapidfuzz", reason="edit similarity needs the extra match")
    done = judged("match", "near.jsonl", "--metrics", "exact,edit", "--plot", "match.svg")
    assert 0 == done.code
    assert "edit similarity" in (judged.folder / "match.svg").read_text("utf-8")


@pytest.mark.ci
def test_samples_that_changed_are_refused(judged, starter):
    """Samples that changed after judging are refused in one line, and no values are stored."""
    judged.write("moved.jsonl", [starter.right(), starter.bad()])
    judged("judge", "moved.jsonl", "--benchmark", "starter", "--subset", "--k", "1")
    judged.write("moved.jsonl", [starter.right(), starter.right()])
    done = judged("match", "moved.jsonl", "--metrics", "exact")
    assert (2, "") == (done.code, done.out)
    assert re.search(r"moved\.jsonl.* changed", done.err)
    assert not (judged.folder / "moved.jsonl.passcurve" / "match.jsonl").exists()
    (judged.folder / "moved.jsonl").unlink()
    assert re.search(r"moved\.jsonl.* gone", judged("match", "moved.jsonl.passcurve", "--metrics", "exact").err)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("none.jsonl", "'none.jsonl'"),
        ("near.jsonl --metrics blue", "--metrics 'blue'.*'bleu'"),
        ("near.jsonl strange.jsonl --plot a.svg", "--plot "),
        ("near.jsonl --k 0", "--k '0'"),
    ],
)
def test_bad_input_is_one_line(words, message, judged):
    """Invalid input is refused in one line with exit code 2."""
    done = judged("match", *words.split())
    assert (2, "") == (done.code, done.out)
    assert re.search(message, done.err)
    assert 1 == len(done.err.splitlines())


@pytest.mark.ci
def test_rows_of_human_eval(judged, shell):
    """Rows with a program and a verdict are matched without judging them; what contradicts itself is refused."""
    rows = [json.loads(line) for line in (judged.folder / "near.jsonl_results.jsonl").read_text().splitlines()]
    kept = ("task_id", "completion", "result", "passed")
    rows = [{name: row[name] for name in kept} for row in rows]
    shell.write("rows.jsonl", rows)
    words = ("--metric", "exact", "--json")
    done, of_run = shell("match", "rows.jsonl", *words), judged("match", "near.jsonl", *words)
    assert (0, 0) == (done.code, of_run.code), done.err
    (theirs,), (ours,) = done.record["runs"], of_run.record["runs"]
    assert ours["ranked"] == theirs["ranked"]
    assert len(rows) == theirs["samples"] == ours["samples"]
    without = {"task_id": rows[0]["task_id"], "result": "failed: no text", "passed": False}
    shell.write("rows.jsonl", [*rows, without])
    (theirs,) = shell("match", "rows.jsonl", *words).record["runs"]
    assert (len(rows) + 1, 1) == (theirs["samples"], theirs["no_code"])
    shell.write("rows.jsonl", [*rows, {**without, "passed": True, "result": "passed"}])
    assert 2 == shell("match", "rows.jsonl", *words).code
    shell.write("rows.jsonl", [*rows[:-1], {**rows[-1], "passed": True, "result": "failed"}])
    assert 2 == shell("match", "rows.jsonl", *words).code


def test_runs_that_pass_as_many_samples_may_differ(judged, starter):
    """Of runs with as many passed samples but another pass@1 none is said to pass alike."""
    right, wrong = starter.right("starter/0"), {"task_id": "starter/0", "completion": "    return None\n"}
    other = starter.right("starter/1")
    judged.write("even.jsonl", [right, wrong, wrong, {**wrong, "task_id": "starter/1"}])
    judged.write("odd.jsonl", [wrong, wrong, wrong, other])
    for name in ("even", "odd"):
        judged("judge", f"{name}.jsonl", "--benchmark", "starter", "--subset", "--accept-input")
    done = judged("match", "even.jsonl", "odd.jsonl", "--metrics", "exact", "-k", "1")
    assert 0 == done.code, done.err
    assert "all pass alike" not in done.out
