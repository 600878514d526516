"""The shape of the house: who may import whom, no cycle, and how large a file, a function and a class may be.

The table of rooms stands in docs/tour.md, and is read from there.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

import passcurve

SOURCE = Path(passcurve.__file__).parent
TOUR = Path(__file__).parents[1] / "docs" / "tour.md"
MODULES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))

ENVIRONMENT_NAMES = ("environ", "environb", "getenv")
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_ATTRIBUTES = 12
MAX_TOP_MODULES = 10

LONG_FUNCTIONS: dict[str, str] = {
    "api/samples.py:judge": "a public signature with its manual",
    "api/generation.py:generate": "a public signature with its manual",
    "api/generation.py:evaluate": "a public signature with its manual",
    "harness/unit_tests.py:_run": "a sample can change what it calls, but not code that runs",
}
"""``file:function`` of each function that may be longer, with the reason."""

LARGE_CLASSES: dict[str, str] = {
    "api/options.py:JudgingOptions": "one field for each option of judging",
    "report/records.py:Autopsy": "the object that `autopsy --json` prints",
    "report/records.py:Difference": "an object that `compare --json` prints",
    "report/records.py:MatchedRun": "an object that `match --json` prints",
    "generation/setup.py:ModelSettings": "one field for each option of a model",
    "judging/request.py:Request": "one field for each option of judging",
    "judging/request.py:Result": "everything that the report of a run shows",
    "bench/catalog.py:Published": "one field for each key of an entry in catalog.toml",
    "cli/options.py:JudgingOptions": "one field for each option of judging",
    "harness/protocol.py:Report": "the type of a record: each field is a fact that a verdict uses",
    "report/evidence.py:Group": "one field for each fact that explains a verdict",
    "sandbox/job.py:Job": "a plain record: everything that a run of one program needs",
    "sandbox/job.py:Outcome": "a plain record of facts, each of which a verdict uses",
    "stats/compare.py:Paired": "a public result: each field is a figure of the comparison",
    "stats/planning.py:Plan": "a public result: each field is a figure of the plan",
    "store/completions.py:CompletionLine": "a line of completions-*.jsonl, whose format is fixed",
    "types/generation.py:Reply": "one field for each fact that a back end can report",
    "types/generation.py:GenerationProgress": "an object that `run --json` prints",
    "types/languages.py:Language": "one field for each key of a row in table.toml",
    "types/problems.py:Problem": "a plain record: one field for each fact that benchmarks publish of a problem",
    "types/verdicts.py:Verdict": "a stored line of verdicts",
    "types/verdicts.py:Header": "stored with each attempt: every setting that could change a score",
}
"""``file:Class`` of each class that may have more attributes, with the reason."""

SAMPLES_INTERPRETER = ("harness/*.py", "sandbox/__init__.py", "sandbox/layers/*.py", "sandbox/zygote/*.py")
"""What the samples' interpreter runs: the standard library and each other, nothing else."""

BY_STRING = {"registry.py", "sandbox/zygote/forkserver.py", "harness/script_state.py"}
"""The files that load a module which a string names."""


@cache
def tree_of(path: str) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse((SOURCE / path).read_text("utf-8"))


@cache
def nodes_of(path: str) -> tuple[ast.AST, ...]:
    """Return all nodes of the syntax tree of a file: to walk a tree takes longer than all that is asked of it."""
    return tuple(ast.walk(tree_of(path)))


def imports(path: str) -> Iterator[str]:
    """Yield the dotted name of everything that a file imports, wherever in it that stands."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno} imports by a relative name"
            for alias in node.names:
                yield f"{node.module}.{alias.name}"


def named(path: str) -> Iterator[str]:
    """Yield each module of ours that a string of a file names, as in ``passcurve.harness.sample`` or ``...:main``."""
    for node in nodes_of(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value.partition(":")[0]
            if re.fullmatch(r"passcurve(\.\w+)+", name) and is_module(name.partition(".")[2]):
                yield name


@cache
def is_module(name: str) -> bool:
    """Tell whether a dotted name, without the package's own, is a file or a folder of the package."""
    path = SOURCE.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()


@cache
def ours(path: str) -> frozenset[str]:
    """Return the modules of the package that a file imports or names, without the package's own name."""
    modules = set()
    for name in (*imports(path), *(() if path == "registry.py" else named(path))):
        first, _, rest = name.partition(".")
        if first == "passcurve":
            while rest and rest != "__version__" and not is_module(rest):
                rest = rest.rpartition(".")[0]
            modules.add(rest)
    return frozenset(modules)


def file_of(name: str) -> str:
    """Return the file of a module."""
    path = name.replace(".", "/")
    return f"{path}.py" if f"{path}.py" in MODULES else f"{path}/__init__.py".lstrip("/")


@cache
def table() -> dict[str, frozenset[str]]:
    """Return the table of docs/tour.md: a pattern for files, and the rooms or modules that they may import."""
    rows = {}
    section = TOUR.read_text("utf-8").partition("## The rooms\n")[2].partition("\n## ")[0]
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 3 and cells[0].endswith(("/`", ".py`")):
            may = frozenset(re.findall(r"`([\w/.]+?)(?:/|\.py)?`", cells[2]))
            for name in re.findall(r"`([^`]+)`", cells[0]):
                rows[f"{name}*" if name.endswith("/") else name] = may
    return rows


@cache
def room_of(path: str) -> str:
    """Return the pattern of the table that a file belongs to; the longest fits best."""
    fitting = [pattern for pattern in table() if fnmatchcase(path, pattern)]
    return max(fitting, key=len, default="")


def test_every_file_stands_in_the_table_of_the_tour():
    """Each file belongs to a row of docs/tour.md, and each row has a file."""
    assert [] == [path for path in MODULES if not room_of(path)]
    assert set() == table().keys() - {room_of(path) for path in MODULES}


def test_a_file_imports_only_from_the_rooms_that_the_tour_allows():
    """Each file imports from its own room and from those that its row names, and from no other."""
    wrong = []
    for path in MODULES:
        own = room_of(path).removesuffix("*").removesuffix("/").removesuffix(".py")
        for name in ours(path):
            slashed = name.replace(".", "/")
            allowed = {own, "__version__", *table()[room_of(path)]}
            if not any(slashed == room or slashed.startswith(f"{room}/") for room in allowed if room):
                wrong.append(f"{path} imports {name}")
    assert [] == wrong


def test_no_module_imports_itself_in_a_circle():
    """The graph of imports has no cycle, those counted that stand in functions, for types only, or in a string."""
    graph = {
        path: {file_of(name) for name in ours(path) if name not in {"", "__version__"}} - {path} for path in MODULES
    }
    for front in ("__init__.py", "registry.py"):  # they name everything, for whoever asks
        graph[front] = {name for name in graph[front] if name == "errors.py"}
    done: set[str] = set()
    while ready := [path for path in graph if path not in done and graph[path] <= done]:
        done.update(ready)
    assert [] == sorted(graph.keys() - done)


def test_what_the_samples_interpreter_runs_needs_the_standard_library_only():
    """The files that are loaded under the samples' interpreter import nothing that has to be installed."""
    inner = [path for path in MODULES if any(fnmatchcase(path, pattern) for pattern in SAMPLES_INTERPRETER)]
    wrong = []
    for path in inner:
        for name in imports(path):
            first = name.partition(".")[0]
            if first != "passcurve" and first not in sys.stdlib_module_names:
                wrong.append(f"{path} imports {name}")
        wrong += [f"{path} imports {name}" for name in ours(path) if name and file_of(name) not in inner]
    assert [] == wrong


def test_rooms_without_statistics_do_without_numpy():
    """Only the statistics, and what shows them, load numpy or scipy."""
    rooms = ("sandbox/", "store/", "extract/", "bench/", "harness/", "models/", "generation/")
    users = {path for path in MODULES for name in imports(path) if name.partition(".")[0] in {"numpy", "scipy"}}
    assert set() == {path for path in users if path.startswith(rooms)}


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


def test_the_network_is_used_by_the_fetcher_and_by_back_ends_only():
    """Outside ``models``, only the file that fetches benchmarks imports a client for the network.

    A judge at an address asks its server; the trials of a server ask one of their own, on loopback.
    """
    clients = {"httpx", "requests", "urllib", "http", "ftplib", "aiohttp"}
    users = {path for path in MODULES for name in imports(path) if name.partition(".")[0] in clients}
    assert {"api/remote.py", "bench/fetch.py", "serve/trials.py"} == {
        path for path in users if not path.startswith("models/")
    }


EXTRAS = {
    "codebleu": "lab/codebleu.py",
    "huggingface_hub": "models/hub.py",
    "inspect_ai": "compat/inspect_ai.py",
    "matplotlib": "report/plots.py",
    "pandas": "analysis/notebook.py",
    "pyarrow": "store/arrow.py",
    "skyrl_gym": "compat/trainers/skyrl.py",
    "starlette": "serve/web.py",
    "torch": "models/hf_loading.py",
    "transformers": "models/hf_loading.py",
    "tree_sitter": "models/mutant_grammars.py",
    "tree_sitter_cpp": "models/mutant_grammars.py",
    "tree_sitter_java": "models/mutant_grammars.py",
    "tree_sitter_javascript": "models/mutant_grammars.py",
    "uvicorn": "serve/web.py",
    "verifiers": "compat/trainers/verifiers.py",
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
        for name in (alias.name for alias in node.names)
    }
    assert set() == top & EXTRAS.keys()


def test_modules_are_loaded_by_a_string_in_three_files_only():
    """``import_module`` and ``__import__`` stand in the registry, the fork server and what imports for a script."""
    paths = set()
    for path in MODULES:
        names = {node.id for node in nodes_of(path) if isinstance(node, ast.Name)}
        names |= {node.attr for node in nodes_of(path) if isinstance(node, ast.Attribute)}
        names |= {name.rpartition(".")[2] for name in imports(path)}
        if names & {"import_module", "__import__", "exec_module", "run_module", "run_path"}:
            paths.add(path)
    assert BY_STRING == paths


def test_each_file_of_tests_has_a_name_of_its_own():
    """Two files of tests with one name cannot be collected together."""
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert [] == sorted(name for name in set(names) if names.count(name) > 1)


def test_records_are_decoded_as_types_that_any_thread_may_decode():
    """Each record that msgspec decodes goes through ``decodable``; types of plain values need it not."""
    plain = {"dict", "list", "tuple", "str", "bytes", "int", "float", "object", "Any", "Raw", "msgspec"}
    wrong = []
    for path in MODULES:
        for node in nodes_of(path):
            if path == "types/decoding.py" or not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            kinds = [word.value for word in node.keywords if word.arg == "type" and called.endswith("decode")]
            kinds += node.args[1:2] if called == "msgspec.convert" else []
            kinds += node.args[:1] if re.fullmatch(r"msgspec\.\w+\.Decoder", called) else []
            for kind in kinds:
                names = {part.id for part in ast.walk(kind) if isinstance(part, ast.Name)}
                if not ast.unparse(kind).startswith("decodable(") and names - plain:
                    wrong.append(f"{path}:{node.lineno} {ast.unparse(kind)}")
    assert [] == wrong


def test_the_environment_is_read_in_one_file():
    """Only the settings read the environment of the process; a variable may be set elsewhere."""
    paths = set()
    for path in MODULES:
        nodes = nodes_of(path)
        stored = [node for node in nodes if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)]
        names = {id(node) for node in nodes if isinstance(node, ast.Attribute) and node.attr in ENVIRONMENT_NAMES}
        if names - {id(node.value) for node in stored}:
            paths.add(path)
    assert {"config.py"} == paths


def test_files_functions_and_classes_are_short_enough_to_be_read():
    """No file, function or class is larger than the bounds; the exceptions are named with their reasons."""
    long_files, long_functions, large_classes = [], set(), set()
    for path in MODULES:
        if (lines := len((SOURCE / path).read_text("utf-8").splitlines())) > MAX_FILE_LINES:
            long_files.append(f"{path}: {lines} lines")
        for node in nodes_of(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if node.end_lineno is not None and node.end_lineno - node.lineno + 1 > MAX_FUNCTION_LINES:
                    long_functions.add(f"{path}:{node.name}")
            elif isinstance(node, ast.ClassDef) and len(attributes(node)) > MAX_ATTRIBUTES:
                large_classes.add(f"{path}:{node.name}")
    assert [] == long_files
    assert LONG_FUNCTIONS.keys() == long_functions
    assert LARGE_CLASSES.keys() == large_classes


def attributes(node: ast.ClassDef) -> set[str]:
    """Return the fields of a class: those declared in its body, and those that its methods set on ``self``."""
    fields = {
        item.target.id for item in node.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    }
    for item in ast.walk(node):
        is_set = isinstance(item, ast.Attribute) and isinstance(item.ctx, ast.Store)
        if is_set and isinstance(item.value, ast.Name) and item.value.id == "self":
            fields.add(item.attr)
    return fields


def test_there_are_few_modules_at_the_top():
    """At most ten modules stand beside the rooms."""
    assert len([path for path in MODULES if "/" not in path]) <= MAX_TOP_MODULES


def test_every_module_says_what_it_is():
    """Each module opens with a sentence; each room's first file says what goes in, comes out, and is refused."""
    wrong = []
    for path in MODULES:
        text = (ast.get_docstring(tree_of(path)) or "").strip()
        first = text.split("\n\n", maxsplit=1)[0]
        if len(first.split()) < 3 or not first.endswith((".", ":")):
            wrong.append(path)
        if path.count("/") == 1 and path.endswith("__init__.py"):
            wrong += [f"{path} {word}" for word in ("In:", "Out:", "Refuses:") if word not in text]
    assert [] == wrong


@pytest.mark.parametrize(
    "source", ["import passcurve.cli", "from passcurve import cli", "from passcurve.cli import run"]
)
def test_the_reader_of_imports_sees_every_form(source, monkeypatch):
    """An import of a front end is seen in each of its forms."""
    monkeypatch.setattr(sys.modules[__name__], "tree_of", lambda path: ast.parse(source))
    ours.cache_clear()
    try:
        assert any(name.startswith("cli") for name in ours("x.py"))
    finally:
        ours.cache_clear()
