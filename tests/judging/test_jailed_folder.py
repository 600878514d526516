"""Commands on a folder: files go from one jail to the next, and nothing else does."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from passcurve.errors import IsolationError, SandboxError
from passcurve.judging.jailed_folder import MAX_BYTES, JailedFolder
from passcurve.judging.program_runner import ProgramRunner
from passcurve.types import Limits

LIMITS = Limits(timeout_s=60, memory_bytes=1 << 30)


@pytest.fixture(scope="module")
def runner() -> Iterator[ProgramRunner]:
    """Return a warm sandbox; skip the tests where there is none."""
    if not Path("/usr/bin/python3").exists():
        pytest.skip("the system has no python3")
    try:
        made = ProgramRunner(LIMITS, 1)
    except IsolationError as error:
        pytest.skip(f"commands cannot be isolated here: {error}")
    yield made
    made.close()


@pytest.fixture
def folder(runner: ProgramRunner) -> JailedFolder:
    """Return an empty folder."""
    return JailedFolder(runner, LIMITS, output_bytes=1000)


def shell(folder: JailedFolder, script: str) -> tuple[int, str]:
    """Return the exit status and the output of a script."""
    ended = folder.run(["sh", "-c", script])
    return ended.exit_code, ended.out.decode()


@pytest.mark.ci
def test_files_stay(folder: JailedFolder):
    """What a command writes, changes or removes is so for the next one and for us, with its mode."""
    folder.write("a/b.txt", b"one\n")
    folder.write("gone", b"")
    assert (3, "one\n") == shell(folder, "cat a/b.txt; echo two >> a/b.txt; rm gone; ln -s a/b.txt link; exit 3")
    assert b"one\ntwo\n" == folder.read("a/b.txt") == folder.read("/tmp/a/b.txt") == folder.read("link")
    with pytest.raises(FileNotFoundError):
        folder.read("gone")
    assert (0, "") == shell(folder, "chmod 000 a/b.txt; chmod 500 a")
    with pytest.raises(PermissionError):
        folder.read("a/b.txt")
    with pytest.raises(PermissionError):
        folder.write("a/b.txt", b"")
    assert (0, "---------- dr-x------\n") == shell(folder, "echo $(stat -c %A a/b.txt a)")
    assert (0, "one\ntwo\n") == shell(folder, "chmod 700 a; chmod 600 a/b.txt; cat a/b.txt")


@pytest.mark.ci
def test_ends_of_a_command(folder: JailedFolder):
    """Status, signal, time limit and absence are told apart; a command that exceeds its time keeps its files."""
    assert 143 == folder.run(["sh", "-c", "kill -TERM $$"]).exit_code
    assert 127 == folder.run(["no-such-program"]).exit_code
    with pytest.raises(PermissionError):
        folder.run(["/tmp"])
    with pytest.raises(TimeoutError):
        folder.run(["sh", "-c", "echo 1 > begun; sleep 30"], timeout_s=0.5)
    assert b"1\n" == folder.read("begun")
    assert 1001 == len(folder.run(["head", "-c", "5000", "/dev/zero"]).out)
    assert b"\xff\x00$HOME" == folder.run(["cat"], stdin=b"\xff\x00$HOME").out


@pytest.mark.ci
def test_processes_end(folder: JailedFolder):
    """What a command leaves running writes nothing any more, neither then nor beside the next command."""
    late = "(until test -e go; do sleep 0.01; done; echo late > late)"
    assert 0 == shell(folder, f"{late} & (while :; do echo x >> more; done) & sleep 0.1")[0]
    size = len(folder.read("more"))
    assert (1, "") == shell(folder, "echo > go; sleep 0.5; test -e late")
    assert size == len(folder.read("more"))


@pytest.mark.parametrize("target", ["/etc/passwd", "../etc/passwd", "../../../../../etc/passwd", "link"])
def test_links_lead_nowhere(folder: JailedFolder, target: str):
    """A link that a command makes is never followed on the host."""
    assert 0 == shell(folder, f"ln -s {target} link")[0]
    with pytest.raises(OSError, match=r"outside of /tmp|too many"):
        folder.read("link")
    for path in ("/etc/passwd", "../etc/passwd"):
        with pytest.raises(OSError, match="passwd"):
            folder.read(path)
        with pytest.raises(PermissionError):
            folder.write(path, b"")


def test_hostile_commands(folder: JailedFolder, tmp_path: Path):
    """A command that ends what runs it, writes what we read, or reads the host, gets nothing but its own files."""
    secret = tmp_path / "secret"
    secret.write_text("host")
    folder.write("mine", b"1")
    assert 137 == shell(folder, "kill -9 $PPID")[0]
    forged = '{"error": "", "exit": 0, "timeout": false, "out": "", "err": "", "files": {}, "is_too_large": false}'
    shell(folder, f"echo '{forged}' > /proc/$PPID/fd/1; kill -9 $PPID")
    assert (0, "") == shell(folder, f"cat {secret} {sys.executable} /proc/1/environ {Path.cwd()}/* 2> /dev/null; true")
    assert 0 == shell(folder, "echo 2 > mine")[0]
    assert b"2\n" == folder.read("mine")


def test_too_many_bytes(folder: JailedFolder):
    """A folder that grows too large is an error, and is as it was before."""
    folder.write("a", b"1")
    with pytest.raises(SandboxError, match="MiB"):
        shell(folder, f"echo 2 > a; head -c {MAX_BYTES + 1} /dev/zero > large")
    assert b"1" == folder.read("a")
    with pytest.raises(FileNotFoundError):
        folder.read("large")


@pytest.mark.ci
def test_commands_at_once(folder: JailedFolder):
    """Each command keeps what it changes and leaves what others, and we, have changed meanwhile."""
    folder.write("removed", b"")
    folder.write("kept", b"old")
    with ThreadPoolExecutor(5) as threads:
        calls = [threads.submit(shell, folder, f"sleep 0.3; echo {at} > f{at}") for at in range(3)]
        calls.append(threads.submit(shell, folder, "sleep 0.3; rm removed"))
        # They have begun with the files as they were, and none has ended.
        time.sleep(0.1)
        folder.write("kept", b"new")
        folder.write("added/by/us", b"us")
        assert [(0, "")] * 4 == [call.result() for call in calls]
    assert [b"0\n", b"1\n", b"2\n"] == [folder.read(f"f{at}") for at in range(3)]
    assert (b"new", b"us") == (folder.read("kept"), folder.read("added/by/us"))
    assert (0, "added\nf0\nf1\nf2\nkept\n") == shell(folder, "ls")


@pytest.mark.ci
def test_a_folder_that_becomes_a_file(folder: JailedFolder):
    """A file in a folder that another command replaces by a file is removed, and the next command runs."""
    folder.write("a/x", b"")
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(shell, folder, "sleep 0.4; rm -r a; echo 1 > a")
        second = threads.submit(shell, folder, "mkdir -p a/b; echo 2 > a/b/y")
        assert ((0, ""), (0, "")) == (first.result(), second.result())
    assert (0, "1\n") == shell(folder, "cat a")


@pytest.mark.ci
def test_nothing_lies_below_a_file(folder: JailedFolder):
    """We cannot write below a file or a link, and what two commands have made a file and a folder is one of both."""
    folder.write("x", b"1")
    with pytest.raises(NotADirectoryError):
        folder.write("x/y", b"2")
    assert (0, "") == shell(folder, "ln -s z a; mkdir z")
    with pytest.raises(NotADirectoryError):
        folder.write("a/y", b"2")
    with ThreadPoolExecutor(2) as threads:
        calls = [
            threads.submit(shell, folder, f"{wait}")
            for wait in ("rm x; mkdir x; echo hi > x/y", "sleep 0.4; echo more >> x")
        ]
        assert [(0, "")] * 2 == [call.result() for call in calls]
    # Whichever was last.
    assert shell(folder, "cat x || cat x/y") in ((0, "1more\n"), (0, "hi\n"))


@pytest.mark.ci
def test_a_command_that_nobody_waits_for(folder: JailedFolder):
    """Nothing is kept of a command whose caller has gone."""
    abandoned = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(folder.run, ["sh", "-c", "sleep 0.2; echo late > late"], abandoned=abandoned)
        abandoned.set()
        assert 0 == call.result().exit_code
    with pytest.raises(FileNotFoundError):
        folder.read("late")


@pytest.mark.ci
@pytest.mark.parametrize(
    "script",
    [b"#!/bin/sh -e\necho \"['$1']\"\n", b"#! /usr/bin/env python3\nimport sys\nprint(sys.argv[1:])\n"],
)
def test_a_script_by_its_first_line(folder: JailedFolder, script: bytes):
    """A script that was made executable runs by its interpreter, alone or behind env; another file does not."""
    folder.write("s", script)
    with pytest.raises(PermissionError):
        folder.run(["./s", "a"])
    assert (0, "") == shell(folder, "chmod +x s")
    assert (0, "") == shell(folder, "mkdir sub; cp s sub/t")
    calls = [(argv, "") for argv in (["./s", "a"], ["/tmp/s", "a"], ["env", "/tmp/s", "a"])]
    for argv, place in (*calls, (["./t", "a"], "sub")):
        ended = folder.run(argv, folder=place)
        assert (0, b"['a']\n") == (ended.exit_code, ended.out), ended.err


FORGED = """
import json, os, sys, time
line = os.open("/proc/%d/fd/1" % os.getppid(), os.O_WRONLY)
files = {sys.argv[1]: ["file", 0o644, "", 0]}
answer = {"error": "", "exit": 0, "timeout": False, "out": "", "err": "", "files": files, "is_too_large": False}
os.write(line, json.dumps(answer).encode())
os.kill(os.getppid(), 9)
time.sleep(60)
"""


@pytest.mark.parametrize("name", ["/x", "../x", "a//b", "a/" * 3000 + "b", "."])
def test_a_forged_answer_names_no_place_outside(folder: JailedFolder, name: str):
    """A command can end what runs it and answer in its place: for names that no file in the folder has, not at all."""
    folder.write("kept", b"1")
    assert 137 == folder.run(["python3", "-c", FORGED, name]).exit_code
    assert b"1" == folder.read("kept")


def test_a_forged_answer_that_is_nested(folder: JailedFolder):
    """A forged answer that is nested too deep to be read counts as no answer."""
    nested = "'{\"x\": ' + '[' * 100000 + ']' * 100000 + '}'"
    write = f"import os; os.write(os.open(f'/proc/{{os.getppid()}}/fd/1', os.O_WRONLY), ({nested}).encode())"
    assert 137 == folder.run(["python3", "-c", f"{write}; os.kill(os.getppid(), 9)"]).exit_code
