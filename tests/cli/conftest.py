"""One judged run of the shipped examples, which many tests of this room only read."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest


class Judged(NamedTuple):
    """A folder in which ``starter:examples`` has been judged."""

    shell: Any
    done: Any
    rows: list[dict[str, Any]]


@pytest.fixture(scope="session")
def judged(shell_in, tmp_path_factory) -> Judged:
    """Judge the shipped examples once; nobody may change the folder."""
    shell = shell_in(tmp_path_factory.mktemp("judged"))
    done = shell("judge", "starter:examples", "--json", "--timeout", "1")
    return Judged(shell, done, shell.rows("starter-examples_results.jsonl"))


@pytest.fixture
def without(shell):
    """Return what makes packages as absent to the command as if they had never been installed."""

    def remove(*packages: str) -> None:
        folder = shell.folder / "absent"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({packages!r}))\n")
        shell.env["PYTHONPATH"] = str(folder)

    return remove
