"""The import table: which room may use which, read from every import under the package."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

import passcurve

SOURCE = Path(passcurve.__file__).parent
MODULES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
MAX_LINES = 500

NOUNS = {"types", "errors"}
BELOW = NOUNS | {"extract", "langs", "models", "sandbox", "sched", "signature", "stats", "store", "bench"}
ROAD = {
    "pipeline",
    "autopsy",
    "request",
    "sources",
    "generation",
    "evaluation",
    "evidence",
    "checkup",
    "comparison",
    "standing",
    "matching",
}
"""The files that know the whole road: judging, looking at what was judged, checking a benchmark."""
FRONT = NOUNS | ROAD | {"report", "config", "registry", "bench", "stats", "lab", "sandbox.probe", "version"}
WALLS = {"sandbox.inside", "sandbox.kernel", "sandbox.layers", "sandbox.wire"}

ALLOWED: dict[str, set[str]] = {
    # Run beside the sample, under its interpreter, or start what does: standard library only.
    "sandbox/boot.py": {"sandbox.stem"},
    "sandbox/stem.py": {"sandbox.kernel", "sandbox.memory", "sandbox.wire", "sandbox.zygote"},
    "sandbox/facts.py": set(),
    "sandbox/inside.py": {"sandbox.raised", "sandbox.wire"},
    "sandbox/raised.py": {"sandbox.wire"},
    "sandbox/kernel.py": set(),
    "sandbox/layers/*.py": {"sandbox.kernel", "sandbox.layers"},
    "sandbox/wire.py": set(),
    "sandbox/exits.py": set(),
    "sandbox/frames.py": {"sandbox.wire"},
    "sandbox/attempts.py": {"sandbox.kernel"},
    "sandbox/memory.py": {"sandbox.kernel"},
    "sandbox/stub.py": {"sandbox.kernel"},
    "sandbox/rewind.py": {"sandbox.kernel", "sandbox.memory", "sandbox.stub"},
    "sandbox/kept.py": {"sandbox.rewind", "sandbox.stub"},
    "sandbox/template.py": {"sandbox.kernel", "sandbox.memory", "sandbox.wire"},
    "sandbox/trial.py": set(),
    "sandbox/zygote.py": {
        "sandbox.attempts",
        "sandbox.exits",
        "sandbox.kept",
        "sandbox.kernel",
        "sandbox.layers",
        "sandbox.rewind",
        "sandbox.stub",
        "sandbox.template",
        "sandbox.wire",
    },
    "langs/wording.py": set(),
    "langs/recording.py": {"sandbox.wire"},
    "langs/check.py": {
        "langs.recording",
        "langs.wording",
        "sandbox.frames",
        "sandbox.inside",
        "sandbox.raised",
        "sandbox.wire",
    },
    "langs/referee.py": {
        "langs.check",
        "langs.recording",
        "langs.wording",
        "sandbox.inside",
        "sandbox.raised",
        "sandbox.wire",
    },
    "langs/shared.py": {"langs.wording", "sandbox.inside", "sandbox.raised", "sandbox.wire"},
    # The rooms.
    "__init__.py": BELOW | {"pipeline", "evaluation", "loading", "registry"},
    "types.py": set(),
    "errors.py": set(),
    "registry.py": NOUNS,
    "config.py": NOUNS,
    "signature.py": NOUNS,
    "stats/estimate.py": {"stats", "types"},
    "stats/metrics.py": {"stats", "types"},
    "stats/*.py": {"stats"},
    "bench/*.py": {"bench"} | NOUNS,
    "models/program.py": {"models", "config"} | NOUNS,
    "models/*.py": {"models"} | NOUNS,
    # One error is a caller's: a completion handed over with another problem.
    "extract/*.py": {"extract"} | NOUNS,
    "sandbox/*.py": {"sandbox"} | NOUNS,
    "langs/*.py": {"langs", "sandbox"} | NOUNS,
    "sched/*.py": {"sched"} | NOUNS,
    "store/*.py": {"store"} | NOUNS,
    "pipeline.py": BELOW | {"units", "request", "sources", "generation", "interruption", "version"},
    "request.py": NOUNS | {"extract", "store", "stats"},
    "sources.py": NOUNS | {"store", "generation"},
    # A front end of one function.
    "evaluation.py": FRONT | {"models.function", "store.completions"},
    # A front end of one function, for notebooks.
    "loading.py": FRONT | {"store.lines", "store.rundir"},
    "generation.py": NOUNS | {"models", "store"},
    "units.py": {"types", "sandbox.job"},
    "evidence.py": BELOW,
    "checkup.py": BELOW,
    "comparison.py": BELOW,
    # It judges what it has taken apart: the road is one of its steps.
    "autopsy.py": BELOW | {"pipeline"},
    "standing.py": BELOW,
    "matching.py": BELOW | {"comparison", "lab"},
    "report/*.py": {"report", "types", "stats", "store", "signature"},
    "lab/*.py": {"lab", "types", "stats", "errors"},
    # What interpreter there is and whether its walls stand is one question, which ``doctor`` asks.
    "cli/doctor.py": FRONT | {"cli.output", "sandbox.toolchain"},
    "cli/main.py": FRONT | {"cli"},
    "interruption.py": set(),
    "__main__.py": {"cli", "config", "interruption", "version"},
    # What a user says of a back end, and how it is called.
    "cli/run.py": FRONT | {"cli.output", "cli.verdicts", "models.backend", "models.stops", "store.completions"},
    "cli/judge.py": FRONT | {"cli.output", "cli.verdicts"},
    "cli/match.py": FRONT | {"cli.output", "cli.lab"},
    "cli/command.py": set(),
    "cli/*.py": FRONT | {"cli.command", "cli.output"},
    "service/*.py": FRONT | {"service"},
    "compat/human_eval/__main__.py": FRONT | {"compat", "interruption"},
    "compat/*.py": FRONT | {"compat"},
    "compat/*/*.py": FRONT | {"compat"},
}
"""A pattern for files, first fit wins, and the modules or rooms that they may import."""

BESIDE = {
    "langs": {"__init__", "check", "recording", "referee", "shared", "wording"},
    "sandbox": {
        "__init__",
        "attempts",
        "boot",
        "exits",
        "facts",
        "frames",
        "inside",
        "kept",
        "kernel",
        "memory",
        "raised",
        "rewind",
    }
    | {"stem", "stub", "template", "trial", "wire", "zygote"},
}
BESIDE_SAMPLES = [
    path
    for path in MODULES
    if fnmatchcase(path, "sandbox/layers/*.py")
    or path in {f"{room}/{name}.py" for room, names in BESIDE.items() for name in names}
]


@cache
def tree_of(path: str) -> ast.Module:
    """Return what a file says."""
    return ast.parse((SOURCE / path).read_text("utf-8"))


def imports(path: str) -> Iterator[str]:
    """Yield the dotted name of everything that a file imports, wherever in it that stands."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno} imports by a relative name"
            for alias in node.names:
                yield f"{node.module}.{alias.name}"


def ours(path: str) -> set[str]:
    """Return the modules of the package that a file imports, without the package's own name."""
    found = set()
    for name in imports(path):
        first, _, rest = name.partition(".")
        if first == "passcurve":
            rest = "version" if rest == "__version__" else rest
            while rest and rest != "version" and not is_module(rest):
                rest = rest.rpartition(".")[0]
            found.add(rest)
    return found


def is_module(name: str) -> bool:
    """Say whether a dotted name is a file or a folder of the package."""
    path = SOURCE.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()


def fits(name: str, allowed: set[str]) -> bool:
    """Say whether a module is one of those allowed, or in a room that is."""
    return any(name == each or name.startswith(f"{each}.") for each in allowed)


@pytest.mark.parametrize("path", MODULES)
def test_a_file_imports_only_from_the_rooms_that_the_table_allows(path):
    """Each file imports from its own room and from those that the table names, and from no other."""
    rule = next((pattern for pattern in ALLOWED if fnmatchcase(path, pattern)), None)
    assert rule is not None, f"{path} stands in no row of the table"
    assert [] == sorted(name for name in ours(path) if not fits(name, ALLOWED[rule]))


def test_every_row_of_the_table_is_of_the_picture():
    """The table names no room that the picture of the package does not have."""
    rooms = {name.partition("/")[0] for name in ALLOWED}
    known = {"__init__.py", "__main__.py", "types.py", "errors.py", "registry.py", "config.py", "signature.py"}
    known |= {f"{name}.py" for name in (*ROAD, "units", "loading", "interruption")}
    known |= {"stats", "bench", "models", "extract", "sandbox", "langs", "sched", "store", "report"}
    known |= {"cli", "service", "compat", "lab"}
    assert set() == rooms - known


@pytest.mark.parametrize("path", BESIDE_SAMPLES)
def test_what_runs_beside_samples_needs_the_standard_library_only(path):
    """The set that is loaded under the samples' interpreter imports nothing that has to be installed."""
    foreign = {name for name in imports(path) if name.partition(".")[0] not in {"passcurve", *sys.stdlib_module_names}}
    assert set() == foreign


@pytest.mark.parametrize("room", ["sandbox", "store", "sched", "extract", "bench", "langs"])
def test_rooms_without_statistics_do_without_numpy(room):
    """Only the statistics, and what shows them, load numpy or scipy."""
    heavy = {
        f"{path}: {name}"
        for path in MODULES
        if path.startswith(f"{room}/")
        for name in imports(path)
        if name.partition(".")[0] in {"numpy", "scipy"}
    }
    assert set() == heavy


def test_nobody_imports_a_front_end():
    """No room imports the command line, the service or another tool's names; only the entry point does."""
    fronts = ("cli", "compat", "service")
    wrong = {
        f"{path}: {name}"
        for path in MODULES
        if path != "__main__.py"
        for name in ours(path)
        if name.partition(".")[0] in fronts and name.partition(".")[0] != path.partition("/")[0]
    }
    assert set() == wrong


def test_terminal_libraries_stay_in_front():
    """Of what draws on a terminal, typer is loaded by the command line only, rich by command lines and the reports."""
    fronts = {"typer": ("cli/",), "click": ("cli/",), "rich": ("cli/", "report/", "compat/human_eval/__main__.py")}
    wrong = {
        f"{path}: {name}"
        for path in MODULES
        for name in imports(path)
        for library, rooms in fronts.items()
        if name.partition(".")[0] == library and not path.startswith(rooms)
    }
    assert set() == wrong


def test_the_network_is_used_in_one_file():
    """Only the file that fetches benchmarks imports a client for the network."""
    clients = {"httpx", "requests", "urllib", "http", "ftplib", "aiohttp"}
    users = {path for path in MODULES for name in imports(path) if name.partition(".")[0] in clients}
    assert {"bench/fetch.py"} == users - {path for path in users if path.startswith(("models/", "service/"))}


EXTRAS = {
    "huggingface_hub": "models/hf.py",
    "jinja2": "bench/jinja.py",
    "torch": "models/hf.py",
    "transformers": "models/hf.py",
    "vllm": "models/vllm.py",
}
"""What has to be installed apart, and the one file that imports it."""


def test_an_extra_is_imported_in_one_file():
    """Each library of an extra is imported in one file, and not when that file is loaded."""
    users = {(name.partition(".")[0], path) for path in MODULES for name in imports(path)}
    assert set(EXTRAS.items()) == {(name, path) for name, path in users if name in EXTRAS}
    top = {
        name
        for path in set(EXTRAS.values())
        for node in tree_of(path).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (each.name for each in node.names)
    }
    assert set() == top & EXTRAS.keys()


def test_modules_are_loaded_by_a_string_in_two_files_only():
    """``import_module`` and ``__import__`` stand in the registry and in the stem, and nowhere else."""
    found = set()
    for path in MODULES:
        names = {node.id for node in ast.walk(tree_of(path)) if isinstance(node, ast.Name)}
        names |= {node.attr for node in ast.walk(tree_of(path)) if isinstance(node, ast.Attribute)}
        names |= {name.rpartition(".")[2] for name in imports(path)}
        if names & {"import_module", "__import__", "exec_module", "run_module", "run_path"}:
            found.add(path)
    assert {"registry.py", "sandbox/stem.py"} == found


def test_the_environment_is_read_in_one_file():
    """Only the settings read the environment of the process."""
    found = {
        path
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "environb", "getenv"}
    }
    assert {"config.py"} == found


@pytest.mark.parametrize("path", MODULES)
def test_a_file_is_short_enough_to_be_read(path):
    """No file has more than 500 lines."""
    assert len((SOURCE / path).read_text("utf-8").splitlines()) <= MAX_LINES


@pytest.mark.parametrize("path", MODULES)
def test_a_module_says_what_it_is(path):
    """Every module opens with a sentence that says what it is."""
    said = (ast.get_docstring(tree_of(path)) or "").strip()
    first = said.split("\n\n", maxsplit=1)[0]
    assert len(first.split()) >= 3
    assert first.endswith((".", "::", "resumes", ":")), first


@pytest.mark.parametrize(
    "room", [path.removesuffix("/__init__.py") for path in MODULES if path.count("/") == 1 and "__init__" in path]
)
def test_a_room_says_what_it_takes_and_gives(room):
    """A room's first file says what goes in, what comes out, and what it refuses."""
    said = ast.get_docstring(tree_of(f"{room}/__init__.py")) or ""
    assert [] == [word for word in ("In:", "Out:", "Refuses:") if word not in said]
