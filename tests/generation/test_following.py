"""``judge --follow``: rows are judged as another program writes them."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import time

import pytest

from passcurve.errors import DataError
from passcurve.judging.inputs import NO_OPTIONS, from_files
from passcurve.store.lines import PENDING, follow_lines
from passcurve.store.samples import MalformedLine, follow_rows


def test_lines_come_when_they_are_whole(tmp_path):
    """A line is given once its end is there; what stands at the end without one is given when the file rests."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"one\ntw")
    lines = follow_lines(path, 0.2)
    assert (b"one", PENDING, PENDING) == (next(lines), next(lines), next(lines))
    with path.open("ab") as file:
        file.write(b"o\nthr")
    assert b"two" == next(lines)
    assert [b"thr"] == [line for line in lines if line is not PENDING]


@pytest.mark.ci
def test_growth_keeps_it_alive(tmp_path):
    """As long as bytes come, even without an end of line, the file is not at rest."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"")
    lines = follow_lines(path, 0.3)
    with path.open("ab", buffering=0) as file:
        for _ in range(5):
            file.write(b"x")
            time.sleep(0.1)
            assert PENDING is next(lines)
    assert [b"xxxxx"] == [line for line in lines if line is not PENDING]


def test_a_file_that_becomes_shorter(tmp_path):
    """A file that is written anew is refused, because its rows would be counted twice."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"one\ntwo\n")
    lines = follow_lines(path, 5.0)
    next(lines), next(lines)
    os.truncate(path, 2)
    with pytest.raises(DataError, match=r"s\.jsonl.*shorter"):
        next(lines)


def test_a_file_that_is_replaced(tmp_path):
    """A file in whose place another one stands is refused: what is written there would never be read."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"one\n")
    lines = follow_lines(path, 5.0)
    assert (b"one", PENDING) == (next(lines), next(lines))
    (tmp_path / "new").write_bytes(b"one\ntwo\n")
    (tmp_path / "new").replace(path)
    with pytest.raises(DataError, match=r"s\.jsonl.*replaced"):
        next(lines)


def test_a_file_that_is_removed_before_its_first_row(tmp_path):
    """It is named, as any file that is not there."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"")
    source = from_files([str(path)], options=NO_OPTIONS, benchmark=lambda: None, idle_s=5.0)
    path.unlink()
    with pytest.raises(DataError, match=r"no file .*s\.jsonl"):
        source.wait_for_row(5.0)


def test_a_file_of_which_the_end_is_known(tmp_path):
    """Where somebody knows that the file is whole, no time of rest ends it before, and all of it is read."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"one\n")
    whole = []
    lines = follow_lines(path, 0.01, lambda: bool(whole))
    assert b"one" == next(lines)
    time.sleep(0.05)
    assert PENDING is next(lines)
    with path.open("ab") as file:
        file.write(b"two\nthree")
    whole.append(True)
    assert [b"two", b"three"] == list(lines)


def test_a_compressed_file(tmp_path):
    """A compressed file cannot be followed, and that is said, with the reason and what to do."""
    (tmp_path / "s.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00")
    with pytest.raises(DataError, match=r"compressed.*plain \.jsonl"):
        next(follow_lines(tmp_path / "s.jsonl.gz", 0.1))


def test_rows_of_a_file_that_grows(tmp_path):
    """Lines that are no rows are told with their number, and rows are counted as in a file at rest."""
    path = tmp_path / "s.jsonl"
    rows = [{"task_id": "a", "completion": "1"}, "no row", {"task_id": "a", "completion": "2"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    followed = [row for row in follow_rows(path, ["a"], 0.1) if row is not None]
    assert [(0, 1), 2, (1, 3)] == [
        row.line if isinstance(row, MalformedLine) else (row.row, row.line) for row in followed
    ]


@pytest.mark.ci
def test_a_file_is_judged_while_it_is_written(shell, starter):
    """Verdicts are stored before the file is complete, and the result is that of the whole file."""
    rows = starter.mixed(["starter/0", "starter/1"], 6)
    path = shell.write("s.jsonl", [])
    session = shell.start("judge", "s.jsonl", "--follow", "--idle", "1.5", "--subset", "--json")
    lines = [json.dumps(row).encode() + b"\n" for row in rows]
    with path.open("ab", buffering=0) as file:
        file.write(b"".join(lines[:6]) + lines[6][:20])
        deadline = time.monotonic() + 60
        parts = shell.folder / "s.jsonl.passcurve"
        while sum(part.read_bytes().count(b"\n") - 1 for part in parts.glob("verdicts-*.jsonl")) < 6:
            assert time.monotonic() < deadline
            assert session.poll() is None
            file.write(b"")
            time.sleep(0.02)
        file.write(lines[6][20:] + b"".join(lines[7:]))
    out, err = session.communicate(timeout=60)
    assert 0 == session.returncode, err
    record = json.loads(out)
    assert (12, 4, 4) == (record["samples"], record["statuses"]["passed"], record["statuses"]["compile"])
    assert 12 == len(shell.rows("s.jsonl_results.jsonl"))


@pytest.mark.ci
def test_standard_input_is_judged_while_it_is_written(shell, starter):
    """Verdicts are stored before the pipe is closed, whose end is the end however long it rests."""
    rows = starter.mixed(["starter/0", "starter/1"], 6)
    lines = [json.dumps(row).encode() + b"\n" for row in rows]
    words = ("judge", "-", "--follow", "--idle", "0.2", "--run", "r", "--subset", "--json")
    session = shell.start(*words, stdin=subprocess.PIPE)
    # The first row comes in two halves, and its task id tells the benchmark.
    session.stdin.write(lines[0][:9])
    session.stdin.flush()
    time.sleep(0.5)
    session.stdin.write(lines[0][9:] + b"".join(lines[1:6]))
    session.stdin.flush()
    deadline = time.monotonic() + 60
    while sum(part.read_bytes().count(b"\n") - 1 for part in (shell.folder / "r").glob("verdicts-*.jsonl")) < 6:
        assert time.monotonic() < deadline
        assert session.poll() is None
        time.sleep(0.02)
    out, err = session.communicate(b"".join(lines[6:]).removesuffix(b"\n"), timeout=60)
    assert 0 == session.returncode, err
    record = json.loads(out)
    assert (12, 4, 4) == (record["samples"], record["statuses"]["passed"], record["statuses"]["compile"])


def test_compressed_rows_on_standard_input(shell):
    """What cannot be followed there is told in one line."""
    done = shell("judge", "-", "--follow", "--run", "r", "--benchmark", "starter", stdin=gzip.compress(b"{}\n"))
    assert (2, "", 1) == (done.code, done.out, len(done.err.splitlines()))
    assert "compressed" in done.err


@pytest.mark.ci
def test_rows_in_another_form_are_converted_as_they_come(shell, starter):
    """A field and a mapping of ids apply to each row of a file, or of a pipe, that grows; a later change is seen."""
    rows = [{"task_id": "P/0", "generation": starter.right()["completion"]}, {"task_id": "P/0", "generation": "x"}]
    path = shell.write("s.jsonl", rows)
    words = ("--follow", "--idle", "0.2", "--field", "generation", "--id-map", "P/{}=starter/{}", "--subset", "-k", "1")
    for source, place in (("s.jsonl", "s"), ("-", "r")):
        done = shell("judge", source, *words, "--run", place, "--json", stdin=path.read_bytes().rstrip())
        assert (0, 0.5) == (done.code, done.record["pass@1"]["value"])
    path.write_bytes(path.read_bytes() + b"{}\n")
    assert 2 == shell("show", "s", "--json").code
    assert 0 == shell("show", "r", "--json").code


@pytest.mark.ci
def test_a_field_that_no_followed_row_has(shell, starter):
    """An option without effect on any row is an error, when the file has rested."""
    shell.write("s.jsonl", [starter.right()])
    done = shell("judge", "s.jsonl", "--follow", "--idle", "0.2", "--field", "code", "--subset", "--json")
    assert 2 == done.code
    assert "`code`" in done.record["error"]
