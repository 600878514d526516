"""From a name or a path to a benchmark: where it is looked for, and what is said when it is nowhere."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from passcurve.bench.catalog import Carrier, Catalog, Published, load_catalog
from passcurve.bench.formats import digest_problems, parse_problems
from passcurve.bench.resolve import (
    BenchmarkInfo,
    benchmark_names,
    describe_benchmarks,
    find_by_ids,
    find_examples,
    load,
)
from passcurve.errors import DataError, UnknownNameError

DATA = os.environ.get("PASSCURVE_TEST_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="PASSCURVE_TEST_DATA names no folder with published benchmarks")


def rows(prefix: str) -> bytes:
    """Return a file of two problems whose ids begin alike."""
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
    """Return the path of a copy put where a fetched one would lie."""
    path = cache_dir / name / "own.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return path


def refused(name: str, cache_dir: Path, catalog: Catalog | None = None) -> str:
    """Return the message with which a benchmark is refused, which is one line."""
    with pytest.raises(DataError) as caught:
        load(name, cache_dir, catalog=catalog)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def installed(folder: Path, package: str, data: bytes, beside: str = "") -> Path:
    """Return the path of a data file that an installed package carries; importing the package would fail."""
    (folder / package).mkdir(parents=True)
    (folder / package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    path = folder / (beside or package) / "data" / "own.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return path


def test_names() -> None:
    """The shipped catalog knows these names, the built-in one first."""
    assert ("starter", "humaneval") == benchmark_names()


def test_starter_is_always_there(tmp_path: Path) -> None:
    """The built-in benchmark needs no cache and no network."""
    benchmark = load("starter", tmp_path / "none")
    assert ("starter", "built-in") == (benchmark.name, benchmark.source)
    assert digest_problems(benchmark.problems) == benchmark.digest


def test_starter_examples_are_a_file() -> None:
    """``starter:examples`` is a samples file for the starter's own problems."""
    path = find_examples("starter:examples")
    assert path is not None
    assert path.is_file()


@pytest.mark.parametrize("name", ["starter", "humaneval", "samples.jsonl", "-", "a:b", "humaneval:examples"])
def test_other_names_are_no_examples(name: str) -> None:
    """Whatever is not a built-in benchmark's examples is left to be a file."""
    assert find_examples(name) is None


def test_misspelt_examples() -> None:
    """A slip after the colon is pointed out rather than taken for a file."""
    with pytest.raises(UnknownNameError, match=r"'starter:exampels'; did you mean 'starter:examples'\?"):
        find_examples("starter:exampels")


@pytest.mark.parametrize("relative", ["mine.jsonl", "./mine", "mine"])
def test_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, relative: str) -> None:
    """A name with a slash or a suffix, or that exists, is a file; its name is the file's."""
    monkeypatch.chdir(tmp_path)
    Path(relative).write_bytes(rows("mine"))
    benchmark = load(relative, tmp_path / "cache")
    assert ("mine", str(Path(relative)), ()) == (benchmark.name, benchmark.source, benchmark.packages)
    assert ["mine/0", "mine/1"] == [problem.id for problem in benchmark.problems]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A name that can only be a file is missed as a file, not as a benchmark."""
    path = tmp_path / "mine.jsonl"
    assert f"no file {str(path)!r}" == refused(str(path), tmp_path)


def test_a_file_is_known_by_its_content(tmp_path: Path) -> None:
    """A published benchmark given as a file, whatever its name, is that benchmark with its packages."""
    path = tmp_path / "renamed.jsonl"
    path.write_bytes(rows("own"))
    benchmark = load(str(path), tmp_path, catalog={"own": published("own")})
    assert ("own", ("numpy",), str(path)) == (benchmark.name, benchmark.packages, benchmark.source)


def test_unknown_name(tmp_path: Path) -> None:
    """A name that nothing answers to lists the known ones and the nearest."""
    with pytest.raises(UnknownNameError) as caught:
        load("HumanEval", tmp_path)
    expected = "unknown benchmark 'HumanEval'; did you mean 'humaneval'? (known: starter, humaneval; or name a file)"
    assert expected == str(caught.value)


def test_nowhere(tmp_path: Path) -> None:
    """A known benchmark that is not on the machine says each way to get it."""
    expected = (
        "benchmark 'own' is not on this machine: run `passcurve bench fetch own`, or name its file with "
        "--benchmark FILE, or run `pip install no-such-package-here`"
    )
    assert expected == refused("own", tmp_path, {"own": published("own")})


def test_fetched_copy(tmp_path: Path) -> None:
    """A fetched copy with the right checksum is read from the cache."""
    path = in_cache(tmp_path, "own", rows("own"))
    benchmark = load("own", tmp_path, catalog={"own": published("own")})
    assert ("own", str(path), ("numpy",)) == (benchmark.name, benchmark.source, benchmark.packages)
    assert published("own").problems_digest == benchmark.digest


def test_folder_of_the_same_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder called like a known benchmark does not stand in its way."""
    monkeypatch.chdir(tmp_path)
    path = in_cache(tmp_path, "own", rows("own"))
    assert str(path) == load("own", tmp_path, catalog={"own": published("own")}).source


def test_damaged_copy(tmp_path: Path) -> None:
    """A fetched copy with a wrong checksum is refused with the file to remove."""
    path = in_cache(tmp_path, "own", rows("own") + b"\n")
    message = refused("own", tmp_path, {"own": published("own")})
    assert message.startswith(f"{str(path)!r} is not 'own' as published: found sha256 ")
    assert message.endswith("; remove that file and run `passcurve bench fetch own`")


@pytest.mark.parametrize("beside", ["", "."], ids=["wheel", "checkout"])
def test_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: str) -> None:
    """A package's data file is found inside or beside the package, which is not imported."""
    package = "carrier_checkout" if beside else "carrier_wheel"
    path = installed(tmp_path, package, rows("own"), beside)
    monkeypatch.syspath_prepend(tmp_path)
    benchmark = load("own", tmp_path / "cache", catalog={"own": published("own", package)})
    assert str(path) == benchmark.source
    assert package not in sys.modules


def test_installed_package_without_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of that name that carries no data is as good as none."""
    installed(tmp_path, "carrier_bare", rows("own")).unlink()
    monkeypatch.syspath_prepend(tmp_path)
    message = refused("own", tmp_path / "cache", {"own": published("own", "carrier_bare")})
    assert message.startswith("benchmark 'own' is not on this machine")


def test_installed_package_with_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package's file that is not the published one is never taken for it."""
    path = installed(tmp_path, "carrier_other", rows("other"))
    monkeypatch.syspath_prepend(tmp_path)
    message = refused("own", tmp_path / "cache", {"own": published("own", "carrier_other")})
    assert message.startswith(f"{str(path)!r} is not 'own' as published")
    assert f"take the file as it is with --benchmark {str(path)!r}" in message


def test_fetched_copy_comes_before_an_installed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the user fetched is read before what a package happens to carry."""
    installed(tmp_path, "carrier_second", rows("own"))
    monkeypatch.syspath_prepend(tmp_path)
    path = in_cache(tmp_path / "cache", "own", rows("own"))
    assert str(path) == load("own", tmp_path / "cache", catalog={"own": published("own", "carrier_second")}).source


def test_describe_shipped(tmp_path: Path) -> None:
    """The list has a line for each known benchmark, the built-in one counted from its file."""
    starter = describe_benchmarks(tmp_path)[0]
    count = len(load("starter", tmp_path).problems)
    assert ("starter", count, "built-in", "--benchmark starter") == (
        starter.name,
        starter.problems,
        starter.where,
        starter.how,
    )
    assert benchmark_names() == tuple(info.name for info in describe_benchmarks(tmp_path))


def test_describe_a_copy(tmp_path: Path) -> None:
    """A benchmark that is here is listed with its path and how to use it."""
    path = in_cache(tmp_path, "own", rows("own"))
    expected = BenchmarkInfo(
        name="own", title="The own problems", problems=2, licence="MIT", where=str(path), how="--benchmark own"
    )
    assert (expected,) == describe_benchmarks(tmp_path, catalog={"own": published("own")})


def test_describe_what_is_absent(tmp_path: Path) -> None:
    """A benchmark that is not here is listed with the ways to get it."""
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
    """One known id is enough, among any number of unknown ones."""
    ids = iter(["stray", "right/7", "right/1"])
    assert "right" == find_by_ids(ids, tmp_path, catalog=two(tmp_path)).name


def test_ids_of_the_starter(tmp_path: Path) -> None:
    """The starter's samples are recognised with nothing fetched."""
    first = load("starter", tmp_path).problems[0].id
    assert "starter" == find_by_ids([first], tmp_path).name


def test_ids_of_two_benchmarks(tmp_path: Path) -> None:
    """Ids of several benchmarks leave the choice to the user."""
    with pytest.raises(DataError) as caught:
        find_by_ids(["left/0", "right/1"], tmp_path, catalog=two(tmp_path))
    expected = (
        "the samples' task ids ('left/0', 'right/1') belong to more than one benchmark (left, right): "
        "choose with --benchmark NAME"
    )
    assert expected == str(caught.value)


def test_ids_of_no_benchmark(tmp_path: Path) -> None:
    """Ids that nobody knows are shown, a few of them, with the known benchmarks and what to do."""
    catalog = {**two(tmp_path), "gone": published("gone")}
    with pytest.raises(DataError) as caught:
        find_by_ids(["a", "b", "c", "d"], tmp_path, catalog=catalog)
    expected = (
        "the samples' task ids ('a', 'b', 'c', ...) belong to no known benchmark "
        "(known: left, right, gone (not available)): name its file with --benchmark FILE, "
        "or the benchmark with --benchmark NAME"
    )
    assert expected == str(caught.value)


def test_ids_of_an_absent_benchmark(tmp_path: Path) -> None:
    """Ids that look like those of a benchmark that is not here say how to get it."""
    with pytest.raises(DataError) as caught:
        find_by_ids(["own/0"], tmp_path, catalog={"own": published("own")})
    assert "the samples' task ids ('own/0') look like those of 'own'" in str(caught.value)
    assert "run `passcurve bench fetch own`" in str(caught.value)


def test_a_damaged_copy_does_not_hide_the_others(tmp_path: Path) -> None:
    """One damaged benchmark does not stop another from being recognised."""
    catalog = {"own": published("own"), **two(tmp_path)}
    in_cache(tmp_path, "own", b"")
    assert "left" == find_by_ids(["left/0"], tmp_path, catalog=catalog).name


def test_no_ids(tmp_path: Path) -> None:
    """Samples without a task cannot say where they belong."""
    with pytest.raises(DataError, match="the samples have no task ids"):
        find_by_ids([], tmp_path)


def test_catalog_is_frozen_and_whole() -> None:
    """The shipped catalog cannot be changed by whoever reads it, and gives full checksums."""
    entry = load_catalog()["humaneval"]
    assert isinstance(entry, Published)
    assert [64, 64] == [len(entry.sha256), len(entry.problems_digest)]
    with pytest.raises(TypeError):
        load_catalog()["humaneval"] = entry  # type: ignore[index]
    with pytest.raises(AttributeError):
        entry.url = ""  # type: ignore[misc]


def test_catalog_is_not_read_on_import() -> None:
    """Importing the room reads no catalog and brings no client for the network."""
    code = (
        "import sys; from passcurve.bench import catalog, fetch, resolve; "
        "assert catalog.load_catalog.cache_info().currsize == 0; assert 'httpx' not in sys.modules"
    )
    # The child has to find the package where this process found it, installed or not.
    path = os.pathsep.join(each for each in sys.path if each)
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": path})


@needs_data
def test_humaneval_in_the_cache(tmp_path: Path) -> None:
    """HumanEval as published has the checksum, digest and number of problems that the catalog says."""
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
    """HumanEval given as a file is HumanEval, and a changed one is not."""
    path = Path(str(DATA)) / "HumanEval.jsonl.gz"
    benchmark = load(str(path), tmp_path)
    assert "humaneval" == benchmark.name
    changed = tmp_path / "HumanEval.jsonl"
    changed.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in changed_rows(path)))
    assert "HumanEval" == load(str(changed), tmp_path).name


def changed_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a benchmark file without its first."""
    return [
        {"task_id": each.id, "prompt": each.prompt, "entry_point": each.entry_point, "test": each.test}
        for each in parse_problems(path.read_bytes(), str(path))[1:]
    ]
