"""The corpus of odd inputs: no score contradicts its diagnosis, and every refusal says what to do."""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path

import pytest
from case import Case

import passcurve

HERE = Path(__file__).parent

CASES: dict[str, list[Case]] = {
    path.stem: importlib.import_module(path.stem).CASES for path in sorted(HERE.glob("cases_*.py"))
}

DEFAULT = 2
"""Cases of each file that the default run has; continuous integration has them all."""

PARAMETERS = [
    pytest.param(case, id=case.name, marks=() if number < DEFAULT or file == "cases_core" else pytest.mark.ci)
    for file, cases in CASES.items()
    for number, case in enumerate(cases)
]


def test_each_name_is_used_once():
    """No case hides another."""
    names = Counter(case.name for cases in CASES.values() for case in cases)
    assert [] == [name for name, count in names.items() if count > 1]


@pytest.mark.parametrize("case", PARAMETERS)
def test_an_odd_input(shell, case: Case):
    """The diagnosis, the score or the refusal, and the exit code are as expected, for programs and for people."""
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
