"""Flame graphs: what two profilers saw becomes seconds by process and function, and a picture of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

pytest.importorskip("perf", reason="the benchmarks are not beside the tests")

from perf import flames, icicle

ROOT = Path(__file__).resolve().parents[2]

FORK = "python  10 PERF_RECORD_FORK(20:20):(10:10)\n"


def sample(pid: int, ms: int, *frames: str) -> str:
    """Return one sample as perf writes it, the innermost frame first."""
    return f"python3  {pid}   {ms * 1_000_000} \n" + "".join(f"\t{frame}\n" for frame in frames) + "\n"


KERNEL_READ = ("ffffffff81 vfs_read", "ffffffff82 ksys_read", "ffffffff83 do_syscall_64", "ffffffff84 entry_SYSCALL_64")
KERNEL_FAULT = ("ffffffff81 clear_page", "ffffffff82 exc_page_fault", "ffffffff83 asm_exc_page_fault", "55aa [unknown]")
USER = ("55aa [unknown]",)


@pytest.fixture
def source(tmp_path) -> Path:
    """Return a folder with a module of two functions, one of which waits."""
    module = tmp_path / "passcurve" / "harness" / "sample.py"
    module.parent.mkdir(parents=True)
    module.write_text("def work():\n    return 1\ndef wait():\n    poll.poll(3)\n")
    return tmp_path


def raw(pid: str, frames: str, count: int) -> str:
    """Return a stack as py-spy writes it."""
    return f'process 10:"python -m passcurve; odd (file.py:1)";{pid}{frames} {count}\n'


def test_time_in_python_is_divided_as_seen_and_the_kernel_stands_beside_it(source):
    """Perf says how long; py-spy says where, without the lines that wait."""
    script = FORK + sample(10, 5, *USER) + sample(20, 6, *USER) + sample(20, 2, *KERNEL_READ)
    script += sample(20, 1, *KERNEL_FAULT)
    inside = 'process 20:"python3 forkserver_boot.py";'
    main = "main (passcurve/harness/sample.py:1)"
    looked = raw("", "judge (passcurve/judging/run.py:9)", 7)
    looked += raw(inside, f"{main};a (x.py:1)", 2) + raw(inside, f"{main};b (x.py:5)", 1)
    looked += raw(inside, f"{main};wait (passcurve/harness/sample.py:4)", 90)
    spent = flames.spent(script, looked, source)
    assert spent == pytest.approx(
        {
            ("supervisor", "judge (passcurve/judging/run.py)"): 0.005,
            ("samples", "a (x.py)"): 0.004,
            ("samples", "b (x.py)"): 0.002,
            ("samples", "kernel", "read"): 0.002,
            ("samples", "kernel", "page fault"): 0.001,
        }
    )
    assert flames.by_role(spent) == pytest.approx({"samples": 0.009, "supervisor": 0.005})


def test_time_of_the_profilers_is_not_counted(source):
    """What py-spy and perf take is nobody's."""
    script = sample(10, 5, *USER) + sample(9, 50, *USER).replace("python3", "py-spy")
    spent = flames.spent(script, raw("", "judge (passcurve/judging/run.py:9)", 7), source)
    assert sum(spent.values()) == pytest.approx(0.005)


def test_a_process_that_nobody_saw_is_what_its_siblings_are(source):
    """It lived for milliseconds between two looks; perf knows who forked it."""
    script = "".join(FORK.replace("(20:20):(10:10)", f"({child}:{child}):(20:20)") for child in (31, 32))
    script += FORK + sample(10, 1, *USER) + sample(31, 1, *USER) + sample(32, 1, *USER)
    looked = raw("", "judge (passcurve/judging/run.py:9)", 7)
    looked += raw('process 20:"p";process 31:"p";', "run (passcurve/harness/sample.py:9)", 1)
    assert flames.by_role(flames.spent(script, looked, source)) == pytest.approx(
        {"samples": 0.002, "supervisor": 0.001}
    )


def test_the_picture_is_as_wide_as_the_time(tmp_path):
    """Frames are boxes of the width of their share, each told in words."""
    out = tmp_path / "flame.svg"
    icicle.draw(out, "a < b", {("one", "f (m.py)"): 3.0, ("two", "g (m.py)"): 1.0})
    drawn = ET.parse(out).getroot()
    space = "{http://www.w3.org/2000/svg}"
    boxes = {
        group.find(f"{space}title").text: float(group.find(f"{space}rect").get("width"))
        for group in drawn.iter(f"{space}g")
    }
    assert boxes == {
        "one: 3.000 s, 75.0 %": 900,
        "f (m.py): 3.000 s, 75.0 %": 900,
        "two: 1.000 s, 25.0 %": 300,
        "g (m.py): 1.000 s, 25.0 %": 300,
    }


@pytest.mark.skipif(not (shutil.which("perf") and shutil.which("py-spy")), reason="needs perf and py-spy")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into the jail")
def test_a_whole_run(harmless, tmp_path):
    """The command draws a judging of a handful of rows, with the supervisor and what runs in the jail."""
    out = tmp_path / "flame.svg"
    command = [sys.executable, "benchmarks/flame.py", str(harmless), str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert 0 == done.returncode, done.stderr
    assert "supervisor" in done.stdout
    # Which of those in the jail is seen at work is chance, with a handful of rows.
    assert {role for _, role in flames.ROLES} & set(done.stdout.split())
    assert str(ROOT) not in out.read_text("utf-8")
