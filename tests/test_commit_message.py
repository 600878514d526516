"""The check of commit messages that the commit-msg hook runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "check_commit_message.py"


def check(tmp_path, message):
    """Return the exit code and the lines on stderr for a message."""
    path = tmp_path / "message"
    path.write_text(message, "utf-8")
    done = subprocess.run([sys.executable, SCRIPT, path], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.splitlines()


@pytest.mark.parametrize(
    "message",
    [
        "store: add a tally that adds up\n",
        "models, docs: pass the address of the server\n\nThe reason.\n# a comment of git\n",
        "sandbox: embed the stub\n",
        "tests/models: " + "a" * 58 + "\n",
        "Merge branch 'x'\n",
        'Revert "store: add"\n',
        "fixup! store: add a tally\n",
    ],
)
def test_a_good_message(tmp_path, message):
    """A message of the agreed form passes, and so do those that git writes."""
    assert (0, []) == check(tmp_path, message)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("", "form"),
        ("add a tally\n", "form"),
        ("store: Add a tally\n", "form"),
        ("Store: add a tally\n", "form"),
        ("store:add a tally\n", "form"),
        ("store: added a tally\n", "'added' is not imperative"),
        ("store: adds a tally\n", "'adds' is not imperative"),
        ("store: adding a tally\n", "'adding' is not imperative"),
        ("store: add a tally.\n", "full stop"),
        ("store: " + "a" * 66 + "\n", "73 characters"),
        ("store: add a tally\nThe reason.\n", "second line"),
    ],
)
def test_a_bad_message(tmp_path, message, reason):
    """Each fault is refused with a line that names it."""
    code, lines = check(tmp_path, message)
    assert 1 == code
    assert [reason in line for line in lines] == [True]
