"""Tests of finding a benchmark by its name or its path."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from passcurve.bench.catalog import Carrier, Catalog, Published, load_catalog
from passcurve.bench.formats import ReadOptions, digest_problems, parse_problems
from passcurve.bench.resolve import (
    BenchmarkInfo,
    describe_benchmarks,
    find_by_ids,
    find_examples,
    load,
)
from passcurve.errors import DataError, UnknownNameError, UsageError

DATA = os.environ.get("PASSCURVE_TEST_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="PASSCURVE_TEST_DATA names no folder with published benchmarks")


def rows(prefix: str) -> bytes:
    """Return a file of two problems whose ids have the same prefix."""
    row = {"prompt": "def one():\n", "entry_point": "one", "test": "def check(candidate): ...\n"}
    return b"".join(json.dumps({"task_id": f"{prefix}/{index}"} | row).encode() + b"\n" for index in range(2))


def published(prefix: str, package: str = "no_such_package_here") -> Published:
    """Return the catalog's entry for the file that ``rows`` makes."""
    data = rows(prefix)
    return Published(
        title=f"The {prefix} problems",
        licence="MIT",
        citation="nobody",
        url="http://127.0.0.1:9/own.jsonl",
        file="own.jsonl",
        sha256=hashlib.sha256(data).hexdigest(),
        problems_digest=digest_problems(parse_problems(data, "own")),
        problems=2,
        id_prefix=f"{prefix}/",
        carrier=Carrier(
            distribution=package.replace("_", "-"), package=package, paths=("data/own.jsonl", "../data/own.jsonl")
        ),
        packages=("numpy",),
    )


def in_cache(cache_dir: Path, name: str, data: bytes) -> Path:
    """Write a copy to the place of a fetched one and return its path."""
    path = cache_dir / name / "own.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return path


def refusal(name: str, cache_dir: Path, catalog: Catalog | None = None) -> str:
    """Return the one-line message with which a benchmark is refused."""
    with pytest.raises(DataError) as caught:
        load(name, cache_dir, catalog=catalog)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def installed(folder: Path, package: str, data: bytes, beside: str = "") -> Path:
    """Return the path of a data file of an installed package whose import would fail."""
    (folder / package).mkdir(parents=True)
    (folder / package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    path = folder / (beside or package) / "data" / "own.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return path


def test_names() -> None:
    """The shipped catalog has these names, with the built-in benchmark first."""
    names = tuple(load_catalog())
    assert ("starter", "humaneval") == names[:2]
    assert {"humaneval-plus", "humaneval-plus@0.1.9", "mbpp-plus", "cruxeval"} < set(names)


def test_starter_is_always_there(tmp_path: Path) -> None:
    """The built-in benchmark needs no cache and no network."""
    benchmark = load("starter", tmp_path / "none")
    assert ("starter", "built-in") == (benchmark.name, benchmark.source)
    assert digest_problems(benchmark.problems) == benchmark.digest


def test_starter_examples_are_a_file() -> None:
    """``starter:examples`` is a samples file for the starter benchmark."""
    path = find_examples("starter:examples")
    assert path is not None
    assert path.is_file()


@pytest.mark.parametrize("name", ["starter", "humaneval", "samples.jsonl", "-", "a:b", "humaneval:examples"])
def test_other_names_are_no_examples(name: str) -> None:
    """A name other than a built-in benchmark's examples is treated as a file."""
    assert find_examples(name) is None


def test_misspelt_examples() -> None:
    """A misspelt word after the colon is reported and not treated as a file."""
    with pytest.raises(UnknownNameError, match=r"'starter:exampels'.*'starter:examples'"):
        find_examples("starter:exampels")


@pytest.mark.parametrize("relative", ["mine.jsonl", "./mine", "mine"])
def test_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, relative: str) -> None:
    """A name that contains a slash, has a suffix or exists on disk is a file; its name is the file's."""
    monkeypatch.chdir(tmp_path)
    Path(relative).write_bytes(rows("mine"))
    benchmark = load(relative, tmp_path / "cache")
    assert ("mine", str(Path(relative)), ()) == (benchmark.name, benchmark.source, benchmark.packages)
    assert ["mine/0", "mine/1"] == [problem.id for problem in benchmark.problems]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A name that can only be a file is reported as a missing file, not as an unknown benchmark."""
    path = tmp_path / "mine.jsonl"
    assert f"no file {str(path)!r}" == refusal(str(path), tmp_path)


def test_a_file_is_known_by_its_content(tmp_path: Path) -> None:
    """A published benchmark is recognised by its content, whatever the file's name is."""
    path = tmp_path / "renamed.jsonl"
    path.write_bytes(rows("own"))
    benchmark = load(str(path), tmp_path, catalog={"own": published("own")})
    assert ("own", ("numpy",), str(path)) == (benchmark.name, benchmark.packages, benchmark.source)


def test_unknown_name(tmp_path: Path) -> None:
    """An error about an unknown name lists the known names and suggests the nearest."""
    with pytest.raises(UnknownNameError) as caught:
        load("HumanEval", tmp_path)
    message = str(caught.value)
    assert re.search("'HumanEval'.*'humaneval'.*starter, humaneval, ", message)


def test_nowhere(tmp_path: Path) -> None:
    """An error about a benchmark that is not on the machine lists each way to get it."""
    message = refusal("own", tmp_path, {"own": published("own")})
    files = ("`judge --benchmark FILE`", "`run FILE`")
    ways = ("`passcurve bench fetch own`", *files, "`pip install no-such-package-here`")
    assert [] == [way for way in ("'own'", *ways) if way not in message]


def test_fetched_copy(tmp_path: Path) -> None:
    """A fetched copy with the right checksum is read from the cache."""
    path = in_cache(tmp_path, "own", rows("own"))
    benchmark = load("own", tmp_path, catalog={"own": published("own")})
    assert ("own", str(path), ("numpy",)) == (benchmark.name, benchmark.source, benchmark.packages)
    assert published("own").problems_digest == benchmark.digest


def test_folder_of_the_same_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the name of a known benchmark does not hide the benchmark."""
    monkeypatch.chdir(tmp_path)
    path = in_cache(tmp_path, "own", rows("own"))
    assert str(path) == load("own", tmp_path, catalog={"own": published("own")}).source


def test_damaged_copy(tmp_path: Path) -> None:
    """A fetched copy with a wrong checksum is refused, and the message names the file to remove."""
    path = in_cache(tmp_path, "own", rows("own") + b"\n")
    message = refusal("own", tmp_path, {"own": published("own")})
    assert re.match(f"'{path}' .*'own'.*sha256 ", message)
    assert message.endswith("remove that file and run `passcurve bench fetch own`")


@pytest.mark.parametrize("beside", ["", "."], ids=["wheel", "checkout"])
def test_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: str) -> None:
    """A package's data file is found inside or beside the package, without importing it."""
    package = "carrier_checkout" if beside else "carrier_wheel"
    path = installed(tmp_path, package, rows("own"), beside)
    monkeypatch.syspath_prepend(tmp_path)
    benchmark = load("own", tmp_path / "cache", catalog={"own": published("own", package)})
    assert str(path) == benchmark.source
    assert package not in sys.modules


def test_installed_package_without_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package without the data file is treated as missing."""
    installed(tmp_path, "carrier_bare", rows("own")).unlink()
    monkeypatch.syspath_prepend(tmp_path)
    message = refusal("own", tmp_path / "cache", {"own": published("own", "carrier_bare")})
    assert message.startswith("benchmark 'own' is not on this machine")


def test_installed_package_with_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package's file is used only if it is the published one."""
    path = installed(tmp_path, "carrier_other", rows("other"))
    monkeypatch.syspath_prepend(tmp_path)
    message = refusal("own", tmp_path / "cache", {"own": published("own", "carrier_other")})
    assert re.match(f"'{path}' .*'own'.*--benchmark '{path}'", message)


def test_fetched_copy_comes_before_an_installed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fetched copy takes precedence over the file of an installed package."""
    installed(tmp_path, "carrier_second", rows("own"))
    monkeypatch.syspath_prepend(tmp_path)
    path = in_cache(tmp_path / "cache", "own", rows("own"))
    assert str(path) == load("own", tmp_path / "cache", catalog={"own": published("own", "carrier_second")}).source


def test_describe_shipped(tmp_path: Path) -> None:
    """The list has a line for each known benchmark and counts the built-in problems from their file."""
    starter = describe_benchmarks(tmp_path)[0]
    count = len(load("starter", tmp_path).problems)
    assert ("starter", count, "built-in", "--benchmark starter") == (
        starter.name,
        starter.problems,
        starter.where,
        starter.how,
    )
    assert tuple(load_catalog()) == tuple(info.name for info in describe_benchmarks(tmp_path))


def test_describe_a_copy(tmp_path: Path) -> None:
    """A benchmark that is on the machine is listed with its path and its usage."""
    path = in_cache(tmp_path, "own", rows("own"))
    expected = BenchmarkInfo(
        name="own", title="The own problems", problems=2, licence="MIT", where=str(path), how="--benchmark own"
    )
    assert (expected,) == describe_benchmarks(tmp_path, catalog={"own": published("own")})


def test_describe_what_is_absent(tmp_path: Path) -> None:
    """A benchmark that is not on the machine is listed with the ways to get it."""
    (info,) = describe_benchmarks(tmp_path, catalog={"own": published("own")})
    assert "not fetched" == info.where
    assert info.how.startswith("run `passcurve bench fetch own`")


def test_describe_a_damaged_copy(tmp_path: Path) -> None:
    """A damaged copy does not stop the list; its line says how to repair it."""
    path = in_cache(tmp_path, "own", b"")
    (info,) = describe_benchmarks(tmp_path, catalog={"own": published("own")})
    assert str(path) == info.where
    assert "remove that file" in info.how


def two(cache_dir: Path) -> Catalog:
    """Return a catalog of two benchmarks, both in the cache."""
    in_cache(cache_dir, "left", rows("left"))
    in_cache(cache_dir, "right", rows("right"))
    return {"left": published("left"), "right": published("right")}


def test_ids_of_one_benchmark(tmp_path: Path) -> None:
    """One known id identifies the benchmark, among any number of unknown ids."""
    ids = iter(["stray", "right/7", "right/1"])
    assert "right" == find_by_ids(ids, tmp_path, catalog=two(tmp_path)).name


def test_ids_of_the_starter(tmp_path: Path) -> None:
    """The starter's samples are recognised without fetching a benchmark."""
    first = load("starter", tmp_path).problems[0].id
    assert "starter" == find_by_ids([first], tmp_path).name


def test_ids_of_two_benchmarks(tmp_path: Path) -> None:
    """With ids of several benchmarks the user must choose one."""
    with pytest.raises(DataError, match=r"'left/0', 'right/1'.*left, right.*--benchmark NAME"):
        find_by_ids(["left/0", "right/1"], tmp_path, catalog=two(tmp_path))


def test_ids_of_no_benchmark(tmp_path: Path) -> None:
    """An error about unknown ids quotes a few of them, lists the known benchmarks and gives a remedy."""
    catalog = {**two(tmp_path), "gone": published("gone")}
    with pytest.raises(DataError, match=r"'a', 'b', 'c', \.\.\.\).*left, right;.*--benchmark FILE.*--benchmark NAME"):
        find_by_ids(["a", "b", "c", "d"], tmp_path, catalog=catalog)


def test_ids_of_a_benchmark_with_two_tasks(tmp_path: Path) -> None:
    """The task that was chosen is the one that is loaded; without a choice it must be made."""
    row = {"id": "own/0", "code": "def f(x):\n    return x\n", "input": "1", "output": "1"}
    data = json.dumps(row).encode()
    in_cache(tmp_path, "own", data)
    facts = {"sha256": hashlib.sha256(data).hexdigest(), "problems_digest": "", "tasks": ("input", "output")}
    catalog = {"own": msgspec.structs.replace(published("own"), **facts)}
    for task in ("input", "output"):
        benchmark = find_by_ids(["own/0"], tmp_path, ReadOptions(task=task), catalog=catalog)
        assert (f"own-{task}", task) == (benchmark.name, benchmark.task)
    with pytest.raises(UsageError, match="--task input"):
        find_by_ids(["own/0"], tmp_path, catalog=catalog)


def test_a_task_of_a_benchmark_that_has_one(tmp_path: Path) -> None:
    """A task that changes nothing is refused: the benchmark would be called by it."""
    with pytest.raises(UsageError, match="--task input is for CRUXEval"):
        load("starter", tmp_path, ReadOptions(task="input"))


def test_ids_of_an_absent_benchmark(tmp_path: Path) -> None:
    """Ids of a benchmark that is not on the machine produce a message on how to get it."""
    with pytest.raises(DataError, match=r"'own/0'.*'own'.*`passcurve bench fetch own`"):
        find_by_ids(["own/0"], tmp_path, catalog={"own": published("own")})


def test_a_damaged_copy_does_not_hide_the_others(tmp_path: Path) -> None:
    """One damaged benchmark does not stop another from being recognised."""
    catalog = {"own": published("own"), **two(tmp_path)}
    in_cache(tmp_path, "own", b"")
    assert "left" == find_by_ids(["left/0"], tmp_path, catalog=catalog).name


def test_no_ids(tmp_path: Path) -> None:
    """Samples without task ids do not identify a benchmark."""
    with pytest.raises(DataError, match="no task ids"):
        find_by_ids([], tmp_path)


def test_catalog_is_frozen_and_whole() -> None:
    """The shipped catalog cannot be changed and has full checksums."""
    entry = load_catalog()["humaneval"]
    assert isinstance(entry, Published)
    assert [64, 64] == [len(entry.sha256), len(entry.problems_digest)]
    with pytest.raises(TypeError):
        load_catalog()["humaneval"] = entry  # type: ignore[index]
    with pytest.raises(AttributeError):
        entry.url = ""  # type: ignore[misc]


def test_catalog_is_not_read_on_import() -> None:
    """Importing the package does not read the catalog or import an HTTP client."""
    code = (
        "import sys; from passcurve.bench import catalog, fetch, resolve; "
        "assert catalog.load_catalog.cache_info().currsize == 0; assert 'httpx' not in sys.modules"
    )
    # The child has to find the package where this process found it, installed or not.
    path = os.pathsep.join(folder for folder in sys.path if folder)
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": path})


@needs_data
def test_humaneval_in_the_cache(tmp_path: Path) -> None:
    """The published HumanEval has the checksum, digest and problem count of the catalog."""
    entry = load_catalog()["humaneval"]
    assert isinstance(entry, Published)
    path = entry.cached("humaneval", tmp_path)
    path.parent.mkdir()
    path.write_bytes((Path(str(DATA)) / entry.file).read_bytes())
    benchmark = load("humaneval", tmp_path)
    assert (entry.problems_digest, entry.problems) == (benchmark.digest, len(benchmark.problems))
    assert "humaneval" == find_by_ids(["HumanEval/3"], tmp_path).name


@needs_data
def test_humaneval_as_a_file(tmp_path: Path) -> None:
    """HumanEval is recognised as a file, and a changed copy of it is not."""
    path = Path(str(DATA)) / "HumanEval.jsonl.gz"
    benchmark = load(str(path), tmp_path)
    assert "humaneval" == benchmark.name
    changed = tmp_path / "HumanEval.jsonl"
    changed.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in changed_rows(path)))
    assert "HumanEval" == load(str(changed), tmp_path).name


def changed_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a benchmark file without the first."""
    return [
        {"task_id": problem.id, "prompt": problem.prompt, "entry_point": problem.entry_point, "test": problem.test}
        for problem in parse_problems(path.read_bytes(), str(path))[1:]
    ]
