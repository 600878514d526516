"""The display of a run: on a terminal, and everywhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import time
from passcurve.report.live import Display
from passcurve.types import Estimate, Interval
asked = []
def total():
    asked.append(1)
    return 800
def score():
    return Estimate(k=1, value=.5, new_problems=Interval(low=.25, high=.75, level=.95, method="any"))
with Display(total) as display:
    display.show(0, 2, 0, score)
    assert not asked
    display._began -= 60
    display._shown -= 60
    display.show(400, 600, 200, score)
    assert not asked
    display._loader.join()
    display.show(400, 600, 200, score)
    display._shown -= 60
    display.show(600, 600, 200, score)
assert [1] == asked
"""


def shown_on(stream: int) -> subprocess.CompletedProcess[bytes]:
    """Show a run on a stream."""
    env = {"PATH": os.environ["PATH"], "TERM": "xterm", "COLUMNS": "120"}
    return subprocess.run([sys.executable, "-c", CODE], stderr=stream, env=env, timeout=60, check=True)


def test_a_terminal():
    """On a terminal there is one line, renewed in place, and it is gone in the end."""
    ours, theirs = os.openpty()
    shown_on(theirs)
    os.close(theirs)
    text = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert "400 of 800 judged, 200 passed, pass@1 .5000 (.2500 to .7500)" in text
    assert "600 of 800 judged" in text
    assert text.endswith("\x1b[2K") or text.rstrip().endswith(("\x1b[2K", "\x1b[?25h"))


def test_a_file(tmp_path):
    """In a file there is a line from time to time, and nothing that steers a terminal."""
    with (tmp_path / "log").open("wb") as log:
        shown_on(log.fileno())
    lines = (tmp_path / "log").read_text("utf-8").splitlines()
    assert ["400 of 800 judged, 200 passed", "600 of 800 judged, 200 passed"] == [
        line.partition(", pass@1")[0] for line in lines
    ]


def test_few_samples(tmp_path):
    """Of a few samples a line tells how many, and loads nothing that draws or estimates: memory is the samples'."""
    code = CODE.partition("with Display")[0] + (
        "import sys\nwith Display(total) as display:\n    display._began -= 60\n    display._shown -= 60\n"
        "    display.show(4, 6, 2, score)\nassert display._loader is None\n"
        "assert not {'numpy', 'scipy', 'rich'} & set(sys.modules)\n"
    )
    with (tmp_path / "log").open("wb") as log:
        subprocess.run([sys.executable, "-c", code], stderr=log, timeout=60, check=True)
    assert "4 of 800 judged, 2 passed, 0/s\n" == (tmp_path / "log").read_text("utf-8")


@pytest.mark.parametrize("judged", [4, 400])
def test_nobody_can_be_told(judged):
    """A line that cannot be written ends nothing, and is not tried again."""
    code = CODE.partition("with Display")[0] + (
        "with Display(total) as display:\n    display._began -= 60\n    display._shown -= 60\n"
        f"    display.show({judged}, 600, 2, score)\n    if display._loader: display._loader.join()\n"
        f"    display.show({judged}, 600, 2, score)\n    display._shown -= 60\n"
        f"    display.show({judged}, 600, 2, score)\n"
        "assert [1] == asked\nprint('on')\n"
    )
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", code], stderr=full, stdout=subprocess.PIPE, timeout=60, check=False
        )
    assert (0, b"on\n") == (done.returncode, done.stdout)
