"""The problems of large files, which are kept from run to run: the same as those that are parsed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from passcurve.bench import parsed_file
from passcurve.bench.formats import DEFAULT_OPTIONS, ReadOptions
from passcurve.bench.parsed_file import FOLDER, MIN_BYTES, ParsedFile, parse_file
from passcurve.bench.resolve import load
from passcurve.types import Assertions

TEST = "def check(f):\n    assert f(1) == 1\n"


def content(size: int = MIN_BYTES, **changes: object) -> bytes:
    """Return the bytes of a file with one problem in HumanEval's form, and a field that is not used."""
    row = {"task_id": "A/0", "prompt": "def f(x):\n", "entry_point": "f", "canonical_solution": "    return x\n"}
    rest = {"test": TEST, "challenge_test_list": ["assert f(2) == 2"], "padding": "x" * size}
    return json.dumps({**row, **rest, **changes}).encode()


def kept_files(folder: Path) -> list[Path]:
    """Return the files that are kept."""
    return sorted((folder / FOLDER).glob("*"))


def parse_again(data: bytes, folder: Path, monkeypatch: pytest.MonkeyPatch, source: str = "b.jsonl") -> ParsedFile:
    """Return the content of a file that was parsed before; fail where it is parsed."""
    with monkeypatch.context() as patch:
        patch.setattr(parsed_file, "parse_text", None)
        return parse_file(data, source, DEFAULT_OPTIONS, folder)


def test_what_is_kept_is_what_was_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Problems, notes and hashes are the same, whatever the file is called; nobody else can read what is kept."""
    file = parse_file(content(), "b.jsonl", DEFAULT_OPTIONS, tmp_path)
    assert (1, 1) == (len(file.problems), len(file.notes))
    assert file == parse_again(content(), tmp_path, monkeypatch)
    assert file == parse_again(content(), tmp_path, monkeypatch, "other.json")
    (path,) = kept_files(tmp_path)
    assert 0o600 == path.stat().st_mode & 0o777


def test_benchmarks_are_equal(tmp_path: Path):
    """A benchmark that is loaded again is the same."""
    path = tmp_path / "b.jsonl"
    path.write_bytes(content())
    first, second = (load(str(path), tmp_path / "cache") for _ in range(2))
    assert first == second
    assert first.file_hash
    assert 1 == len(kept_files(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("data", "options", "source"),
    [
        (content(test=TEST.replace("1)", "2)")), DEFAULT_OPTIONS, "b.jsonl"),
        (content() + b"\n", DEFAULT_OPTIONS, "b.jsonl"),
        (content(), ReadOptions(profile="human-eval"), "b.jsonl"),
    ],
    ids=["bytes", "a line end", "options"],
)
def test_other_files_and_options_are_parsed(tmp_path: Path, data: bytes, options: ReadOptions, source: str):
    """Other bytes and other options are parsed, and kept beside the first."""
    parse_file(content(), "b.jsonl", DEFAULT_OPTIONS, tmp_path)
    parse_file(data, source, options, tmp_path)
    assert 2 == len(kept_files(tmp_path))


def test_no_other_form_is_taken_for_it(tmp_path: Path):
    """A file in another form with the same bytes is refused as it would be without the one that is kept."""
    parse_file(content(), "b.jsonl", DEFAULT_OPTIONS, tmp_path)
    with pytest.raises(Exception, match=r"b\.toml"):
        parse_file(content(), "b.toml", DEFAULT_OPTIONS, tmp_path)


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "open to others"])
def test_damage(tmp_path: Path, damage: str):
    """A file whose copy is damaged, or may be another user's, is parsed again."""
    file = parse_file(content(), "b.jsonl", DEFAULT_OPTIONS, tmp_path)
    (path,) = kept_files(tmp_path)
    data = path.read_bytes()
    other = data.replace(b"f(1) == 1", b"f(1) == 2")
    assert other != data
    path.write_bytes({"flip": other, "cut": data[:-9], "empty": b"", "open to others": data}[damage])
    if damage == "open to others":
        path.chmod(0o666)
    assert file == parse_file(content(), "b.jsonl", DEFAULT_OPTIONS, tmp_path)


def test_what_is_not_kept_files(tmp_path: Path):
    """A small file is not kept, nor one with half a character, nor anything where nothing can be written."""
    parse_file(content(9), "b.jsonl", DEFAULT_OPTIONS, tmp_path)
    mbpp = {"task_id": 1, "text": "x", "code": "def f():\n    return 1", "test_list": ["assert f() != '\ud800'"]}
    data = json.dumps({**mbpp, "padding": "x" * MIN_BYTES}).encode()
    (problem,) = parse_file(data, "b.jsonl", DEFAULT_OPTIONS, tmp_path).problems
    assert isinstance(problem.check, Assertions)
    assert "\ud800" in problem.check.tests[0]
    assert [] == kept_files(tmp_path)
    (tmp_path / "file").touch()
    assert 1 == len(parse_file(content(), "b.jsonl", DEFAULT_OPTIONS, tmp_path / "file").problems)


def test_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """No more files are kept than that."""
    monkeypatch.setattr(parsed_file, "MAX_FILES", 2)
    for number in range(4):
        parse_file(content(MIN_BYTES + number), "b.jsonl", DEFAULT_OPTIONS, tmp_path)
        for path in kept_files(tmp_path):
            os.utime(path, (0, path.stat().st_mtime - 60))
    assert 2 == len(kept_files(tmp_path))
    parse_again(content(MIN_BYTES + 3), tmp_path, monkeypatch)
