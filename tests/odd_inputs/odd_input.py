"""What every odd input is tested for: no score contradicts its diagnosis, and every refusal says what to do."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from case import Case

import passcurve

CASES: dict[str, list[Case]] = {
    path.stem: importlib.import_module(path.stem).CASES for path in sorted(Path(__file__).parent.glob("cases_*.py"))
}
"""All cases, by the file that they stand in."""

DEFAULT = 2
"""Cases of each file that the default run has; the others are tried at night."""


def parameters(*files: str) -> list[Any]:
    """Return the cases of these files, as parameters of a test."""
    return [
        pytest.param(case, id=case.name, marks=_marks(file, number))
        for file in files
        for number, case in enumerate(CASES[file])
    ]


def _marks(file: str, number: int) -> tuple[pytest.MarkDecorator, ...]:
    return () if number < DEFAULT or file == "cases_core" else (pytest.mark.nightly,)


def check(shell: Any, case: Case) -> None:
    """Assert that diagnosis, score or refusal, and exit code are as expected, for programs and for people."""
    case.make(shell.folder)
    for words in case.before:
        shell(*words)
    if case.between is not None:
        case.between(shell.folder)
    done = shell(*case.command, "--json")
    text = done.out + done.err
    assert case.code == done.code, text
    assert "Traceback" not in text
    assert [] == [word for word in case.says if word not in text], text
    if case.refused:
        assert {"error", "exit_code"} == done.record.keys()
        return
    record = done.record
    names = {finding["name"] for finding in record["input"]["findings"]}
    assert set(case.findings) == names, record["input"]
    assert set(case.excluded) == {exclusion["task_id"] for exclusion in record["excluded"]}
    assert (
        case.value == pytest.approx(record["pass@1"]["value"])
        if case.value is not None
        else (record["pass@1"]["value"] is None)
    ), record["pass@1"]
    if case.value is None:
        assert record["pass@1"]["reason"]
        assert "" == record["methods"]
        assert "new_problems" not in record["pass@1"] or record["pass@1"]["new_problems"] is None
    if record["results"]:
        run = passcurve.load(shell.folder / record["run"])
        assert record["pass@1"]["value"] == run["pass@1"].value
        shown = shell("show", record["results"], "--json", "--k", "1")
        assert case.value is not None or shown.record["pass@1"]["value"] is None
        assert names == {finding["name"] for finding in shown.record["input"]["findings"]}
