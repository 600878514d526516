"""The scratch that is a folder of the host: measured and emptied while a program changes what its names stand for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from jailed import IS_ONE, LIMITS, MIB, ONE, Jailed

from passcurve.sandbox.layers import scratch

SWAP = """
import ctypes, os

def swap(count, targets):
    exchange = ctypes.CDLL(None).renameat2
    names = []
    os.umask(0o777)
    for number in range(count):
        os.mkdir("d%d" % number)
        os.symlink(targets[number % len(targets)], "l%d" % number)
        names.append((b"d%d" % number, b"l%d" % number))
    while True:
        for folder, link in names:
            exchange(-100, folder, -100, link, 2)
"""
"""Make folders without rights, and exchange each with a link, again and again."""

BESIDE_A_SWAP = (
    SWAP
    + """
import signal, sys, time
from passcurve.sandbox.layers import scratch

place, closed, action = sys.argv[1:]
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
os.chdir(place)
os.mkdir("scratch", 0o700)
os.mkdir("outside", 0o300)
folder = scratch.Folder(os.path.abspath("scratch"), 1 << 30, 1 << 20)
child = os.fork()
if child == 0:
    swap(100, [place + "/outside", closed])
end = time.monotonic() + 2
try:
    while time.monotonic() < end:
        folder.is_over() if action == "measure" else scratch.empty(folder.path)
finally:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
os.chdir(place)
print(oct(os.stat("outside").st_mode & 0o777), scratch.empty(folder.path), os.listdir(folder.path))
"""
)
"""Measure or empty a scratch beside a process that swaps in it, without root's rights; tell what became of all."""


@pytest.mark.parametrize("action", ["measure", "empty"])
def test_folders_that_become_links(public_folder: Path, action: str):
    """Whatever a name stands for when it is reached, no folder outside changes and no error comes out."""
    place = public_folder / action
    place.mkdir()
    place.chmod(0o777)
    closed = place / "closed"
    closed.mkdir(0o700)
    command = [sys.executable, "-c", BESIDE_A_SWAP, str(place), str(closed if os.geteuid() == 0 else "/root"), action]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ("0o300 True []\n", "") == (process.stdout, process.stderr)
    assert 0o700 == closed.stat().st_mode & 0o777


def test_a_program_whose_folders_become_links(restricted: Jailed, public_folder: Path):
    """A program that exchanges its folders for links has a verdict, and nothing outside has another mode."""
    target = public_folder / "target"
    target.mkdir()
    target.chmod(0o333)
    program = SWAP + f"def f():\n    swap(100, [{str(target)!r}, '/root'])\n"
    verdict = restricted.check(program, IS_ONE, limits=msgspec.structs.replace(LIMITS, timeout_s=2.0))
    # Where both share a core, nothing moves during most looks.
    assert verdict.status in ("failed", "timeout")
    assert 0o333 == target.stat().st_mode & 0o777
    assert restricted.check(ONE, IS_ONE).passed


HIDES = {
    "deeper than a path": "for _ in range(20):\n        os.mkdir('d' * 250)\n        os.chdir('d' * 250)\n    fill()",
    "in a folder that cannot be listed": "os.umask(0o477)\n    os.mkdir('d')\n    os.chdir('d')\n    fill()",
}
FILL = f"""
import os, time

def fill():
    for number in range(12):
        with open(str(number), "wb") as file:
            file.write(bytes({MIB}))
    time.sleep(5)
"""


@pytest.mark.parametrize("how", HIDES)
def test_files_that_are_hard_to_reach(restricted: Jailed, how: str):
    """Files count wherever a program puts them."""
    verdict = restricted.check(FILL + f"def f():\n    {HIDES[how]}\n    return 1\n", IS_ONE)
    assert ("failed", "more files or bytes than its scratch may hold") == (verdict.status, verdict.message)


MOVES = """
import os, shutil, tempfile, time

def f():
    end = time.monotonic() + {seconds}
    while time.monotonic() < end:
        with tempfile.TemporaryDirectory() as folder:
            for number in range(20):
                os.makedirs(os.path.join(folder, str(number), "inner"))
                with tempfile.NamedTemporaryFile() as file:
                    os.rename(os.path.join(folder, str(number)), os.path.join(folder, "last"))
                    shutil.rmtree(os.path.join(folder, "last"))
    return 1
"""


def test_files_that_come_and_go(restricted: Jailed):
    """A program that makes, moves and removes files all the time, within its bounds, passes."""
    looks_s = scratch.MOST_INCOMPLETE * 0.02
    assert restricted.check(MOVES.format(seconds=2 * looks_s), IS_ONE).passed
