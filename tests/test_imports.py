"""What happens when the package is imported: nothing that costs or is heard."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import passcurve
from passcurve.registry import COMMANDS

SOURCE = Path(passcurve.__file__).parent
MODULES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))


def fresh(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in an interpreter that has loaded nothing yet."""
    return subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, cwd=folder, timeout=60, check=False
    )


def test_importing_the_package_loads_the_standard_library_only(tmp_path):
    """``import passcurve`` loads no module that has to be installed, and none of its own rooms."""
    before, after = (
        set(json.loads(fresh(code + "import json, sys; print(json.dumps(sorted(sys.modules)))", tmp_path).stdout))
        for code in ("", "import passcurve; ")
    )
    loaded = after - before
    assert {"passcurve"} == {name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names}


def test_looking_at_the_names_loads_nothing(tmp_path):
    """``dir(passcurve)`` and a wrong name load none of the rooms."""
    code = (
        "import passcurve, sys; dir(passcurve); print(hasattr(passcurve, 'nonsense'), "
        "[name for name in sys.modules if name.partition('.')[0] in {'numpy', 'msgspec', 'rich', 'typer'}])"
    )
    assert "False []\n" == fresh(code, tmp_path).stdout


def test_importing_every_module_is_silent(tmp_path):
    """Importing all modules prints nothing, makes no file and sets up no logging."""
    skipped = ("sandbox/zygote/forkserver_boot.py", "compat/human_eval/__main__.py", "__main__.py")
    names = [
        path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in MODULES if path not in skipped
    ]
    names = ["passcurve" if name == "__init__" else f"passcurve.{name}" for name in names]
    code = "import importlib, logging\nfor name in %r:\n    importlib.import_module(name)\n" % names
    done = fresh(code + "assert not logging.getLogger().handlers", tmp_path)
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("module", ["judging.run", "bench.resolve", "store.rundir", "sandbox.pool"])
def test_the_road_can_be_loaded_without_a_terminal_library(module, tmp_path):
    """Judging from Python loads neither typer nor rich, and numpy only once there is something to estimate."""
    code = f"import passcurve.{module}, sys; print(sorted(sys.modules.keys() & {{'typer', 'click', 'rich', 'numpy'}}))"
    assert "[]\n" == fresh(code, tmp_path).stdout


HEAVY = {"typer", "click", "pydantic", "rich", "httpx", "numpy", "scipy", "msgspec", "importlib.metadata", "difflib"}


def loaded_by(words: str, folder: Path, seen: set[str] = HEAVY) -> list[str]:
    """Return which of some modules a command has loaded when it ends; what it prints goes to stderr."""
    code = (
        "import sys; from passcurve.__main__ import run; out, sys.stdout = sys.stdout, sys.stderr\n"
        f"sys.argv = ['passcurve', *{words.split()!r}]\n"
        "try: run()\nexcept SystemExit: pass\n"
        f"print(sorted(sys.modules.keys() & {seen!r}), file=out, flush=True)"
    )
    return ast.literal_eval(fresh(code, folder).stdout)


def test_the_version_is_told_without_the_commands(tmp_path):
    """``passcurve --version`` loads neither a command nor anything that has to be installed."""
    rooms = {f"passcurve.{path.removesuffix('.py').replace('/', '.')}" for path in MODULES} - {"passcurve.__main__"}
    light = ["passcurve.cli.output", "passcurve.errors", "passcurve.interruption"]
    assert light == loaded_by("--version", tmp_path, HEAVY | rooms)


def test_help_loads_no_more_than_the_words_of_the_commands(tmp_path):
    """``--help`` loads neither what draws, nor what estimates, nor the network, nor the road itself."""
    seen = {
        "rich",
        "httpx",
        "numpy",
        "scipy",
        "passcurve.judging.run",
        "passcurve.analysis.compare",
        "passcurve.analysis.inspect",
    }
    assert [] == loaded_by("--help", tmp_path, seen)


@pytest.mark.parametrize(("words", "name"), [("judge nothing.jsonl", "judge"), ("plan --help", "compare")])
def test_a_command_loads_no_other_command(tmp_path, words, name):
    """A command loads its own module of the command line alone."""
    commands = {target.partition(":")[0] for target in COMMANDS.values()}
    assert [f"passcurve.cli.{name}"] == loaded_by(words, tmp_path, commands)


@pytest.mark.parametrize("words", ["--help", "jugde nothing.jsonl"])
def test_all_commands_are_loaded_to_be_named(tmp_path, words):
    """The help, and the message for a word that is no command, need all of them."""
    commands = {target.partition(":")[0] for target in COMMANDS.values()}
    assert sorted(commands) == loaded_by(words, tmp_path, commands)


def test_scores_need_no_masked_arrays(tmp_path):
    """An estimate loads no more of numpy than its arrays, and finds masked elements all the same."""
    code = (
        "import sys, passcurve as pc\n"
        "pc.estimate([pc.Counts(problem_id='a', n=5, c=3), pc.Counts(problem_id='b', n=5, c=2)], [1])\n"
        "print('numpy.ma' in sys.modules)\n"
        "import numpy as np\n"
        "try: pc.stats.pass_at_k(np.ma.array([3, 4], mask=[False, True]), 2, 1)\nexcept ValueError as e: print(e)\n"
    )
    done = fresh(code, tmp_path)
    assert "False\nelement 1: n is masked; leave such elements out\n" == done.stdout, done.stderr


def test_what_draws_is_not_loaded_for_a_short_run(tmp_path, starter, shell):
    """Judging one sample loads nothing that draws on a terminal and no client for the network."""
    shell.write("s.jsonl", [starter.right()])
    words = "judge s.jsonl --benchmark starter --subset --k 1"
    assert ["numpy"] == loaded_by(words, tmp_path, {"rich", "httpx", "numpy", "scipy"})


def test_no_module_prints_or_logs_at_import():
    """No call of ``print`` or of logging stands at the top of a module."""
    wrong = []
    for path in MODULES:
        for statement in ast.parse((SOURCE / path).read_text("utf-8")).body:
            if isinstance(statement, ast.FunctionDef | ast.ClassDef) or "__main__" in ast.unparse(statement)[:40]:
                continue
            calls = (ast.unparse(node.func) for node in ast.walk(statement) if isinstance(node, ast.Call))
            wrong += [
                f"{path}: {call}"
                for call in calls
                if call == "print" or call.startswith(("logging.", "warnings.", "sys.std"))
            ]
    assert [] == wrong
