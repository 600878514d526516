"""Fixtures of the command line's tests: one judged run of the built-in examples, which no test changes."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest


class JudgedExamples(NamedTuple):
    """Run of ``starter:examples``: the shell of its folder, the ended command and the rows of results."""

    shell: Any
    done: Any
    rows: list[dict[str, Any]]


@pytest.fixture(scope="session")
def judged(shell_in, tmp_path_factory) -> JudgedExamples:
    """Judge the built-in examples once; tests must not change the folder."""
    shell = shell_in(tmp_path_factory.mktemp("judged"))
    done = shell("judge", "starter:examples", "--json", "--timeout", "1")
    return JudgedExamples(shell, done, shell.rows("starter-examples_results.jsonl"))


@pytest.fixture
def hide_packages(shell):
    """Return a function that hides installed packages from the command."""

    def hide(*packages: str) -> None:
        folder = shell.folder / "absent"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({packages!r}))\n")
        shell.env["PYTHONPATH"] = str(folder)

    return hide
