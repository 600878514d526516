"""The catalog against the published files: checksums, numbers of problems, versions, copies from folders."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from passcurve.bench.catalog import Published, find_entry, load_catalog
from passcurve.bench.fetch import fetch, take
from passcurve.bench.formats import unpack
from passcurve.bench.resolve import identify_file, load
from passcurve.errors import DataError, FetchError, UnknownNameError, UsageError

DATA = Path(__file__).parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the published files are not beside the checkout")

PUBLISHED = {name: entry for name, entry in load_catalog().items() if isinstance(entry, Published)}


def test_entries_are_whole() -> None:
    """Each entry has checksums of its own, and an address or the place to get it from."""
    for name, entry in PUBLISHED.items():
        assert [64, 64, 32] == [len(entry.sha256), len(entry.unpacked_sha256), len(entry.md5)], name
        assert entry.url or entry.origin, name
        assert entry.citation, name
        assert entry.licence, name
    assert len(PUBLISHED) == len({entry.md5 for entry in PUBLISHED.values()})


def test_versions() -> None:
    """A name without a version is the newest one; each version has its name."""
    catalog = load_catalog()
    newest = find_entry("humaneval-plus@0.1.10", catalog)
    assert newest == find_entry("humaneval-plus", catalog) == find_entry("humaneval-plus@v0.1.10", catalog)
    older = find_entry("humaneval-plus@v0.1.9", catalog)
    assert older is not None
    assert "84f4b93a1270b492e4c54d5212da7a5b" == getattr(older[1], "md5", None)
    assert None is find_entry("humaneval-plus@0.2", catalog)
    assert None is find_entry("humaneval@", catalog)


@pytest.mark.ci
@needs_data
def test_published_files_are_recognised(tmp_path: Path) -> None:
    """Every entry fits one of the published files, packed or not, with its number of problems."""
    files = [*DATA.glob("*.gz"), *(DATA / "benchmarks").glob("*.gz")]
    named = {identify_file(path).name: path for path in files}
    assert PUBLISHED.keys() == named.keys() - {""}
    for name, entry in PUBLISHED.items():
        content = unpack(named[name].read_bytes(), name)
        document = json.loads(content) if entry.file.endswith(".json") else None
        rows = [line for line in content.split(b"\n") if line.strip()] if document is None else document
        rows = next(iter(rows.values())) if isinstance(rows, dict) and len(rows) == 1 else rows
        # Rows that repeat others whole are read once.
        assert entry.problems == len(set(map(repr, rows))), name
    plain = tmp_path / "plain.jsonl"
    plain.write_bytes(gzip.decompress(named["mbpp-plus"].read_bytes()))
    assert ("mbpp-plus", "0.2.0") == (identify_file(plain).name, identify_file(plain).version)


@needs_data
def test_files_are_taken_from_a_folder(tmp_path: Path) -> None:
    """A folder gives every benchmark in it, a file the one that was named, and both are then found by name."""
    folder = tmp_path / "folder" / "inner"
    folder.mkdir(parents=True)
    (folder / "renamed.gz").write_bytes((DATA / "HumanEval.jsonl.gz").read_bytes())
    content = gzip.decompress((DATA / "HumanEvalPlus-Mini.jsonl.gz").read_bytes())
    (folder / "mini.jsonl").write_bytes(content)
    (folder / "other.jsonl").write_text("{}\n")
    cache = tmp_path / "cache"
    assert {"humaneval", "humaneval-plus-mini"} == {name for name, _ in take(tmp_path / "folder", cache)}
    assert ("humaneval", 164) == (load("humaneval", cache).name, len(load("humaneval", cache).problems))
    mini = load("humaneval-plus-mini@0.1.10", cache)
    assert "401e75ad986361dccc7afecb4121e295" == mini.file_hash
    assert [] == [path for path in cache.rglob("*") if path.name.endswith(".part")]
    with pytest.raises(FetchError, match="humaneval-plus"):
        take(folder / "renamed.gz", tmp_path / "second", "humaneval-plus")


def test_refusals(tmp_path: Path) -> None:
    """What is not there, not known, built in, or without an address, is refused with what to do."""
    with pytest.raises(DataError, match=r"'.*/none'"):
        take(tmp_path / "none", tmp_path)
    with pytest.raises(UnknownNameError):
        take(tmp_path, tmp_path, "humanevel")
    with pytest.raises(UsageError):
        take(tmp_path, tmp_path, "starter")
    with pytest.raises(FetchError, match=r"bench fetch classeval --from FILE"):
        fetch("classeval", tmp_path)
