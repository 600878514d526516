"""What ``passcurve judge`` makes of rows that are odd, wrong, or no rows at all: nothing is silently zero."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys

import pytest

GOOD = "    return -(-eggs // size)\n"
MIB = 1 << 20


def row(**fields) -> bytes:
    """Return the line of a row of starter/0."""
    return json.dumps({"task_id": "starter/0", **fields}).encode()


@pytest.fixture
def judge(shell):
    """Return a function that judges lines and returns the ended command and the rows of results."""

    def judge(*lines: bytes, end: bytes = b"\n"):
        (shell.folder / "s.jsonl").write_bytes(b"".join(line + end for line in lines))
        done = shell("judge", "s.jsonl", "--benchmark", "starter", "--problems", "starter/0", "--json")
        return done, [row for path in shell.folder.glob("*_results.jsonl") for row in shell.rows(path.name)]

    return judge


LINES = {
    "cut short": (b'{"task_id": "starter/0", "completion": "    ret', "JSON.* column "),
    "words": (b"Here is the code you asked for:", "JSON.* column 1"),
    "two rows in one": (row(completion=GOOD) + row(completion=GOOD), "two objects"),
    "a list": (b'["starter/0", "pass"]', "object.* list"),
    "a number": (b"17", "object.* number"),
    "a string": (b'"starter/0"', "object.* string"),
    "null": (b"null", "object.* null"),
    "no task": (b'{"completion": "    pass"}', "'task_id'"),
    "null task": (b'{"task_id": null, "completion": "x"}', "`task_id` .* null"),
    "numeric task": (b'{"task_id": 0, "completion": "x"}', "`task_id` .* number"),
    "unknown task": (
        b'{"task_id": "starter/O", "completion": "x"}',
        "'starter/O'.*'starter/\\d",
    ),
    "strange task": (b'{"task_id": "HumanEval/7", "completion": "x"}', "'HumanEval/7'"),
    "latin-1": ('{"task_id": "starter/0", "completion": "é"}'.encode("latin-1"), "UTF-8.* 0xe9 at column 41"),
    "utf-16": ('{"task_id": "starter/0"}'.encode("utf-16-le"), "not JSON"),
    "NUL": (b"\0" * 40, "not JSON"),
    "deep list": (b"[" * 100_000, "deeper than 200 "),
    "deep row": (
        row(completion=GOOD)[:-1] + b', "x": ' + b"[" * 300 + b"]" * 300 + b"}",
        "deeper than 200 ",
    ),
}
"""Lines that are no rows, with what is said of them."""


@pytest.mark.ci
def test_malformed_lines(judge):
    """Malformed lines are listed with line and reason and not counted; the rest is judged, and the exit code is 2."""
    lines = [row(completion=GOOD)]
    for line, _ in LINES.values():
        lines += [line, row(completion=GOOD)]
    done, rows = judge(*lines)
    assert 2 == done.code
    assert len(LINES) == done.record["malformed"]
    assert len(LINES) + 1 == done.record["samples"] == len(rows)
    assert 1.0 == done.record["pass@1"]["value"]
    reasons = {bad["line"]: bad["reason"] for bad in done.record["malformed_lines"]}
    for number, (name, (_, message)) in enumerate(LINES.items(), start=1):
        assert re.search(message, reasons[2 * number]), name
    shown = [line for line in done.err.splitlines() if line.startswith("passcurve: s.jsonl:")]
    assert 10 == len(shown)
    assert f"passcurve: s.jsonl:2: {reasons[2]}" == shown[0]
    assert f" {len(LINES) - 10} more lines " in done.err


NO_CODE = {
    "null": (row(completion=None), "`completion` must be a string, got null"),
    "a number": (row(completion=17), "`completion` must be a string, got a number (17)"),
    "true": (row(completion=True), "`completion` must be a string, got a boolean (true)"),
    "a list": (row(completion=[GOOD]), "`completion` must be a string, got a list"),
    "an object": (row(completion={"text": GOOD}), "`completion` must be a string, got an object"),
    "missing": (row(text=GOOD), "the row has neither 'completion' nor 'solution'"),
    "empty": (row(completion=""), "the completion is empty"),
    "blank": (row(completion=" \n\t\n "), "the completion is empty"),
    "null solution": (row(solution=None), "`solution` must be a string, got null"),
    "huge number": (
        b'{"task_id": "starter/0", "completion": ' + b"9" * 4000 + b"}",
        "`completion` must be a string, got a number",
    ),
    "50 MB": (
        row(completion="#" * (50 * MIB)),
        "the completion has 52,428,800 characters; at most 16,777,216 are judged",
    ),
    "20 MB in UTF-8": (
        json.dumps({"task_id": "starter/0", "completion": "é" * (10 * MIB)}, ensure_ascii=False).encode(),
        "the completion has 20,971,520 bytes as UTF-8; at most 16,777,216 are judged",
    ),
}
"""Rows without code, with what is said of them."""


@pytest.mark.nightly
def test_rows_without_code(judge):
    """A row of a known task without code is no_code with a reason, counts in n and is not malformed."""
    lines = [row(completion=GOOD)]
    for line, _ in NO_CODE.values():
        lines += [line, row(completion=GOOD)]
    done, rows = judge(*lines)
    assert (0, 0) == (done.code, done.record["malformed"])
    assert len(NO_CODE) == done.record["statuses"]["no_code"]
    assert len(NO_CODE) + 1 == done.record["statuses"]["passed"]
    for number, (name, (_, message)) in enumerate(NO_CODE.items()):
        assert ("no_code", False, "none") == tuple(rows[2 * number + 1][key] for key in ("status", "passed", "mode")), (
            name
        )
        assert message in rows[2 * number + 1]["message"], name
        assert rows[2 * number + 1]["result"].startswith("failed: "), name
    assert {"referee": len(NO_CODE) + 1, "shared": 0} == done.record["modes"]


ODD = {
    "NUL in the code": (row(completion="    return 1\0\n"), "compile"),
    "a lone surrogate in a comment": (row(completion=GOOD + "    # \ud800\n"), "compile"),
    "a lone surrogate in a string": (row(completion="    return '\udfff'\n"), "compile"),
    "an escaped pair": (b'{"task_id": "starter/0", "completion": "    return \\"\\ud83d\\ude00\\"\\n"}', "failed"),
    "CRLF in the code": (row(completion=GOOD.replace("\n", "\r\n")), "passed"),
    "a form feed": (row(completion="\f" + GOOD), "passed"),
    "10 MB": (row(completion="#" * (10 * MIB) + "\n" + GOOD), "passed"),
    "both forms": (row(completion="nonsense", solution="def boxes_needed(eggs, size):\n" + GOOD), "passed"),
    "null solution beside code": (row(completion=GOOD, solution=None), "passed"),
    "a whole program": (row(solution="def boxes_needed(eggs, size):\n" + GOOD), "passed"),
    "extra fields": (row(completion=GOOD, logprobs=[-0.1], meta={"a": [1, {"b": None}]}), "passed"),
    "a field twice": (
        b'{"task_id": "starter/0", "completion": "x", "completion": "' + GOOD[:-1].encode() + b'"}',
        "passed",
    ),
    "an old result of ours": (row(completion=GOOD, passed=False, result="failed: old", status="failed"), "passed"),
    "a null character in a name": (row(completion="    return eggs\n    \0"), "compile"),
    "deep brackets": (row(completion="    return " + "(" * 5000 + ")" * 5000 + "\n"), "compile"),
    "deep minus": (row(completion="    return " + "-" * 100_000 + "1\n"), ("compile", "memory", "crash", "failed")),
}
"""Rows that are judged, with the status that they must get."""


@pytest.mark.ci
def test_rows_with_unusual_code(judge):
    """A row is judged whatever its code holds: NUL, surrogates, ten megabytes, both forms."""
    done, rows = judge(*(line for line, _ in ODD.values()))
    assert (0, 0, 0) == (done.code, done.record["malformed"], done.record["owed"])
    for (name, (_, status)), result in zip(ODD.items(), rows, strict=True):
        assert result["status"] in (status if isinstance(status, tuple) else (status,)), (name, result["result"])
    assert "passed" == rows[list(ODD).index("an old result of ours")]["result"]


@pytest.mark.ci
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_blank_lines_line_ends_and_a_byte_order_mark(judge, end):
    """Blank lines are skipped, CRLF ends a line, and a byte order mark does not belong to the first row."""
    done, rows = judge(b"\xef\xbb\xbf" + row(completion=GOOD), b"", b"  \t", row(completion="    pass"), b"", end=end)
    assert (0, 0, 2) == (done.code, done.record["malformed"], done.record["samples"])
    assert [True, False] == [result["passed"] for result in rows]
    assert 0.5 == done.record["pass@1"]["value"]


def test_a_last_line_without_a_newline(shell):
    """A last row without a newline counts."""
    (shell.folder / "s.jsonl").write_bytes(row(completion=GOOD) + b"\n" + row(completion=GOOD))
    done = shell("judge", "s.jsonl", "--subset", "--json")
    assert (0, 2) == (done.code, done.record["samples"])


@pytest.mark.ci
def test_a_byte_order_mark_does_not_hide_the_benchmark(shell):
    """Task ids name the benchmark also in a file with a byte order mark."""
    (shell.folder / "s.jsonl").write_bytes(b"\xef\xbb\xbf" + row(completion=GOOD) + b"\n")
    done = shell("judge", "s.jsonl", "--subset", "--json")
    assert (0, "starter") == (done.code, done.record.get("benchmark"))


def test_a_number_too_long_for_python(shell):
    """A row with an integer of 5,000 digits is judged, and the results have it unchanged."""
    line = row(completion=GOOD)[:-1] + b', "seed": ' + b"9" * 5000 + b"}"
    (shell.folder / "s.jsonl").write_bytes(line + b"\n")
    done = shell("judge", "s.jsonl", "--benchmark", "starter", "--subset", "--json")
    assert (0, 1) == (done.code, done.record["statuses"]["passed"])
    assert (shell.folder / "s.jsonl_results.jsonl").read_bytes().startswith(line[:-1] + b", ")


@pytest.mark.ci
def test_line_numbers_count_blank_lines(judge):
    """The number of a malformed line counts blank lines."""
    done, _ = judge(b"", row(completion=GOOD), b"", b"oops")
    assert [4] == [bad["line"] for bad in done.record["malformed_lines"]]


def test_a_file_of_malformed_lines(judge):
    """A file without any row is an error that shows its first line, and no results are written."""
    done, rows = judge(b"oops", b"null")
    assert (2, []) == (done.code, rows)
    assert re.search(r"\b2 malformed lines.* line 1: ", done.record["error"])


def test_a_truncated_gzip_file_is_an_error(shell):
    """A truncated .gz file exits with 2 and says so."""
    packed = gzip.compress(b"".join(row(completion=GOOD + f"    # {i}\n") + b"\n" for i in range(500)))
    (shell.folder / "s.jsonl.gz").write_bytes(packed[:-20])
    done = shell("judge", "s.jsonl.gz", "--subset", "--json")
    assert 2 == done.code
    assert re.search(r"gzip.*truncated", done.record["error"])
    assert not (shell.folder / "s.jsonl.gz_results.jsonl").exists()


@pytest.mark.ci
def test_many_malformed_lines(shell, starter):
    """All malformed lines are counted, and the first of them are listed."""
    shell.write("s.jsonl", [starter.right(), *[b"{"] * 3000])
    done = shell("judge", "s.jsonl", "--subset", "--json")
    assert (2, 3000, 100) == (done.code, done.record["malformed"], len(done.record["malformed_lines"]))
    assert " 2990 more lines " in done.err


@pytest.mark.ci
@pytest.mark.parametrize("words", [("show",), ("judge",), ("report", "-o", "x.html"), ("compare", "b"), ("match",)])
def test_a_path_that_cannot_be_looked_up(shell, words):
    """One line says so, with the path."""
    done = shell(words[0], "a" * 300, *words[1:])
    assert 2 == done.code
    assert "Traceback" not in done.err
    assert "a" * 300 in done.err


@pytest.mark.ci
def test_a_closed_standard_input(shell):
    """There is nothing to read as `-`."""
    command = '"$0" -m passcurve judge - --benchmark starter --run r <&-'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable],
        cwd=shell.folder,
        env=shell.env,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (2, b"Traceback" in done.stderr) == (done.returncode, False)
    assert b"standard input is closed" in done.stderr
