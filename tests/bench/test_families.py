"""``--language`` chooses among the files and the built-in benchmarks of a family."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from passcurve.bench.profiles import reading_options
from passcurve.bench.resolve import load
from passcurve.errors import DataError, UnknownNameError, UsageError


def name_of(name: str, language: str, cache: Path) -> str:
    """Return the name of the benchmark that is loaded."""
    return load(name, cache, reading_options(language=language)).name


def test_built_in_family(tmp_path: Path) -> None:
    """A name and a language make the name of the benchmark; one that is none stays as it is."""
    assert "starter-cpp" == name_of("starter", "c++", tmp_path)
    assert "starter-sh" == name_of("starter-sh", "bash", tmp_path)
    assert "starter" == name_of("starter", "python", tmp_path)
    with pytest.raises(UsageError, match="python"):
        name_of("starter", "ts", tmp_path)


def test_family_of_files(tmp_path: Path) -> None:
    """The file of a language is found by any of its names; a missing one is refused with those that are there."""
    for language, file in (("cpp", "tasks_cpp.jsonl"), ("js", "tasks-javascript.jsonl")):
        row = {"name": "t", "language": language, "prompt": "", "tests": "}\n" if language == "cpp" else "1"}
        (tmp_path / file).write_text(json.dumps(row) + "\n")
    (tmp_path / "tasks_notes.jsonl").write_text("{}\n")
    assert "tasks_cpp" == name_of(str(tmp_path / "tasks"), "cpp", tmp_path)
    assert "tasks-javascript" == name_of(str(tmp_path / "tasks"), "js", tmp_path)
    with pytest.raises(UsageError, match="cpp, js"):
        name_of(str(tmp_path / "tasks"), "java", tmp_path)
    with pytest.raises(UnknownNameError, match="javascript"):
        name_of(str(tmp_path / "tasks"), "javascrip", tmp_path)
    with pytest.raises(DataError, match="none"):
        name_of(str(tmp_path / "none"), "cpp", tmp_path)
