"""The display of a run: on a terminal, and everywhere else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import time
from types import SimpleNamespace
from passcurve.report.live import Display
from passcurve.types import Estimate, Interval
asked = []
def total():
    asked.append(1)
    return 800
def score():
    return Estimate(k=1, value=.5, new_problems=Interval(low=.25, high=.75, level=.95, method="any"))
def at(judged, planned, passed, read_all=False, postponed_rows=0, postponed_s=0.0, generated=None):
    return SimpleNamespace(**locals(), pass_at_1=score)
with Display(total) as display:
    display.show_progress(at(0, 2, 0))
    assert not asked
    display._began -= 60
    display._shown -= 60
    display.show_progress(at(400, 600, 200))
    assert not asked
    display._loader.join()
    display.show_progress(at(400, 600, 200))
    display._shown -= 60
    display.show_progress(at(600, 600, 200))
assert [1] == asked
"""


LONG = (
    CODE.partition("with Display")[0]
    + """
with Display(total, load_after_s=0.0) as display:
    display.show_progress(at(0, 2, 0))
    display._shown = display._began = time.monotonic() - 60
    rest = dict(read_all=True, postponed_rows=300, postponed_s=450.0)
    rest["generated"] = SimpleNamespace(
        stored=9, planned=9999, fresh=9, fresh_tokens=999, seconds=1.0, truncated=1, retried=1, failures=(),
        error_rate=0.1,
    )
    display.show_progress(at(100, 400, 9, **rest))
    display._loader.join()
    display.show_progress(at(100, 400, 9, **rest))
    display.show_progress(at(101, 400, 9, **rest))
"""
)


def shown_on(stream: int, code: str = CODE, **env: str) -> subprocess.CompletedProcess[bytes]:
    """Show a run on a stream."""
    env = {"PATH": os.environ["PATH"], "TERM": "xterm", "COLUMNS": "120"} | env
    return subprocess.run([sys.executable, "-c", code], stderr=stream, env=env, timeout=60, check=True)


def shown_on_terminal(code: str = CODE, **env: str) -> str:
    """Show a run on a terminal, and return all that was written."""
    ours, theirs = os.openpty()
    shown_on(theirs, code, **env)
    os.close(theirs)
    text = os.read(ours, 1 << 16).decode()
    os.close(ours)
    return text


def test_a_terminal():
    """On a terminal there is one line, renewed in place, and it is gone in the end."""
    text = shown_on_terminal()
    assert "400 of 800 judged, 200 passed, pass@1 .5000 (.2500 to .7500)" in text
    assert "600 of 800 judged" in text
    assert text.endswith("\x1b[2K") or text.rstrip().endswith(("\x1b[2K", "\x1b[?25h"))


def test_a_line_fits_into_80_columns_and_ends_with_the_time_left():
    """On 80 columns the line is cut nowhere: parts that do not fit are left out, and the time left is at its end."""
    text = shown_on_terminal(LONG, COLUMNS="80")
    lines = [line for line in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "\n", text).splitlines() if "judged" in line]
    assert [True] == list({len(line) < 80 and line.rstrip().endswith(" left") for line in lines})


def test_the_time_left_counts_what_waits_for_the_end(tmp_path):
    """Where only rows are left that wait with their whole limit, the time left is theirs, whatever the pace was."""
    with (tmp_path / "log").open("wb") as log:
        shown_on(log.fileno(), LONG)
    assert (tmp_path / "log").read_text("utf-8").splitlines()[0].endswith("about 8 min left")


def test_rows_to_come_wait_as_often_as_those_before(tmp_path):
    """Of the rows to come, a share like that of the rows so far is counted with their whole limit."""
    code = LONG.replace("read_all=True, postponed_rows=300, postponed_s=450.0", "postponed_rows=100, postponed_s=600.0")
    code = code.replace("return 800", "return 400")
    with (tmp_path / "log").open("wb") as log:
        shown_on(log.fileno(), code)
    # 200 rows at 100 in 60 s; 100 of 200 wait, 600 s in all, so 100 of the 200 to come: 120 + 600 + 600 s.
    assert (tmp_path / "log").read_text("utf-8").splitlines()[0].endswith("about 22 min left")


def test_a_score_without_an_interval_says_that_it_is_not_whole(tmp_path):
    """A score of a part of the samples has no interval, and says that it is the score so far."""
    with (tmp_path / "log").open("wb") as log:
        shown_on(log.fileno(), LONG.replace("new_problems=Interval", "these_problems=Interval"))
    assert ", pass@1 so far .5000, " in (tmp_path / "log").read_text("utf-8")


def test_a_dumb_terminal():
    """A terminal that cannot be steered gets a line every ten seconds, as a file does."""
    text = shown_on_terminal(LONG, TERM="dumb")
    assert (1, 0) == (text.count("judged"), text.count("\x1b"))


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
        "    display.show_progress(at(4, 6, 2))\nassert display._loader is None\n"
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
        f"    display.show_progress(at({judged}, 600, 2))\n    if display._loader: display._loader.join()\n"
        f"    display.show_progress(at({judged}, 600, 2))\n    display._shown -= 60\n"
        f"    display.show_progress(at({judged}, 600, 2))\n"
        "assert [1] == asked\nprint('on')\n"
    )
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", code], stderr=full, stdout=subprocess.PIPE, timeout=60, check=False
        )
    assert (0, b"on\n") == (done.returncode, done.stdout)
