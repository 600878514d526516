"""The command on files of other tools: where things go, what resumes, and what the record says."""

from __future__ import annotations

import json

import pytest

import passcurve as pc


@pytest.fixture
def array(shell, starter):
    """Return the path of two samples of each of two problems, as an array whose text is in another field."""
    rows = [
        {"task_id": problem_id.replace("starter/", "x-"), "text": text}
        for problem_id, problem in list(starter.problems.items())[:2]
        for text in (problem["canonical_solution"], "    return None\n")
    ]
    (shell.folder / "s.json").write_text(json.dumps(rows))
    return shell.folder / "s.json"


WORDS = ("--field", "text", "--id-map", "x-{}=starter/{}", "--subset", "--k", "1")


@pytest.mark.ci
def test_everything_stands_beside_the_file(shell, array):
    """Run directory, results and verdicts are found by the name of the file; the signature has the options."""
    done = shell("judge", "s.json", *WORDS, "--json")
    assert 0.5 == done.record["pass@1"]["value"], done.err
    assert {"field:text", "id-map:x-{}=starter/{}"} <= set(done.record["signature"].split("|"))
    assert ["starter/0", "starter/1"] == sorted({row["task_id"] for row in shell.rows("s.json_results.jsonl")})
    assert 0.5 == shell("show", "s.json", "--k", "1", "--json").record["pass@1"]["value"]
    assert "return None" in shell("show", "s.json", "0", "1").out


@pytest.mark.ci
def test_a_folder_is_shown_by_its_name(shell, array):
    """``show`` finds the run of a folder of samples."""
    parts = shell.folder / "parts"
    parts.mkdir()
    for number, row in enumerate(json.loads(array.read_text())):
        (parts / f"{number}.jsonl").write_text(json.dumps(row) + "\n")
    assert 0 == shell("judge", "parts/", *WORDS).code
    assert 0.5 == shell("show", "parts", "--k", "1", "--json").record["pass@1"]["value"]
    assert not list(parts.glob("*passcurve*"))


@pytest.mark.ci
def test_a_changed_source_is_refused_in_an_interrupted_run(shell, array):
    """The rows of an unfinished run are compared with those that the file has now."""
    shell("judge", "s.json", *WORDS)
    for path in (shell.folder / "s.json.passcurve").glob("finished-*"):
        path.unlink()
    assert 4 == shell("judge", "s.json", *WORDS, "--json").record["resumed"]
    for path in (shell.folder / "s.json.passcurve").glob("finished-*"):
        path.unlink()
    array.write_text(array.read_text().replace("return None", "return 1"))
    assert 2 == shell("judge", "s.json", *WORDS).code


@pytest.mark.ci
def test_a_source_that_changed_is_stale(shell, array):
    """The verdicts of a finished run are refused once the file has other bytes, not where it is gone."""
    shell("judge", "s.json", *WORDS)
    array.rename(shell.folder / "other.json")
    assert 0 == shell("show", "s.json.passcurve", "--k", "1").code
    array.write_text((shell.folder / "other.json").read_text() + " ")
    assert 2 == shell("show", "s.json.passcurve", "--k", "1").code
    assert 0 == shell("show", "s.json.passcurve", "--k", "1", "--stale").code


@pytest.mark.ci
def test_a_run_is_of_one_source(shell, array):
    """Another file is refused in the same --run, before anything of it is written there."""
    shell("judge", "s.json", *WORDS, "--run", "r")
    (shell.folder / "t.json").write_text(array.read_text().replace("return None", "return 1"))
    rows = (shell.folder / "r.samples.jsonl").read_bytes()
    refused = shell("judge", "t.json", *WORDS, "--run", "r")
    assert (2, rows) == (refused.code, (shell.folder / "r.samples.jsonl").read_bytes())
    assert "--run" in refused.err
    assert 0 == shell("judge", "s.json", *WORDS, "--run", "r").code


@pytest.mark.ci
def test_an_autopsy_needs_rows(shell, array):
    """It is refused for the file, and works on the run directory."""
    assert "'s.json' has no rows" in shell("autopsy", "s.json").err
    shell("judge", "s.json", *WORDS)
    assert 0 == shell("autopsy", "s.json.passcurve", "--policies", "raw,auto").code


@pytest.mark.ci
def test_from_python(array, tmp_path):
    """``judge`` takes the options, several files, and rows in memory."""
    names = {"x-0": "starter/0", "x-1": "starter/1"}
    options = {"field": "text", "id_map": names, "subset": True, "k": 1}
    assert 0.5 == pc.judge(array, **options)["pass@1"].value
    rows = json.loads(array.read_text())
    assert 0.5 == pc.judge(rows, **options)["pass@1"].value
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, part in zip(files, (rows[:2], rows[2:]), strict=True):
        path.write_text(json.dumps(part))
    run = pc.judge(files, **options)
    assert (0.5, 4) == (run["pass@1"].value, len(run.samples))
    assert (tmp_path / "a.json+b.json.passcurve").is_dir()
