"""A hostile host: the judge may refuse or be slower, but no verdict is wrong and none is lost."""

from __future__ import annotations

import ast
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import passcurve

SOURCES = Path(passcurve.__file__).parent
TASKS = [f"starter/{number}" for number in range(5)]
EACH = 12
STATUSES = ("passed", "failed", "compile")
EXPECTED = [(task, STATUSES[number % 3]) for task in TASKS for number in range(EACH)]
NO_ROOM = "No space left on device"


@pytest.fixture
def rows(starter):
    """Return 60 cheap rows, all different."""
    return starter.mixed(TASKS, EACH)


def check_refused(done, *words):
    """Check that a run has ended with one clear line, and without a number."""
    assert done.code in (1, 2), done
    assert re.fullmatch(r"passcurve: .+\n", done.err), done.err
    for word in words:
        assert word in done.err
    assert "error" in done.record


def check_kept(run):
    """Check that all verdicts of a disturbed run are right."""
    stored = run.stored()
    assert len(set(stored)) == len(stored)
    if (run.shell.folder / "s.jsonl_results.jsonl").exists():
        assert EXPECTED == run.results(), "results are incomplete"


def check_whole(run, done, expected=EXPECTED):
    """Check that a run has ended normally, with every row exactly once."""
    assert 0 == done.code, done.err
    assert list(range(len(expected))) == sorted(run.stored())
    assert expected == run.results()
    counts = {name: count for name, count in done.record["statuses"].items() if count}
    assert Counter(status for _, status in expected) == counts
    assert 0 == done.record["owed"]


def start_by(run, script):
    """Start the command of a run by a line of the shell, in which "$@" is the command."""
    run.shell.before = ("sh", "-c", script, "sh")
    return run


def start_directly(run):
    """Start the command of a run directly again."""
    run.shell.before = ()
    return run


# File systems that fill.


@pytest.fixture
def mounted(shell) -> Iterator[Callable[[str], None]]:
    """Return how to have the shell work among mounts that a script makes and nobody else sees.

    They are those of a process that only waits; an ordinary user gets them in a user namespace.
    """
    holders: list[subprocess.Popen[bytes]] = []
    root = os.geteuid() == 0
    user = () if root else ("--user", "--map-root-user")
    joined = () if root else ("--user", "--preserve-credentials")

    def make(script: str) -> None:
        if not shutil.which("unshare") or not shutil.which("nsenter"):
            pytest.skip("there is no unshare or no nsenter here")
        command = ["unshare", *user, "--mount", "sh", "-ec", f"{script}\necho ready\nread line"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        holders.append(subprocess.Popen(command, cwd=shell.folder, **pipes))
        if holders[-1].stdout.readline() != b"ready\n":
            pytest.skip(f"nothing can be mounted here: {holders[-1].stderr.read().decode()}")
        shell.folder = Path(f"/proc/{holders[-1].pid}/root{shell.folder}/disk")
        enter = ("nsenter", f"--target={holders[-1].pid}", *joined, "--mount", f"--wd={shell.folder}", "--")
        shell.before = enter

    yield make
    for holder in holders:
        holder.communicate()


@pytest.fixture
def disk(shell, mounted) -> Path:
    """Return a small file system, where the shell stands from now on."""
    (shell.folder / "disk").mkdir()
    mounted("mount -t tmpfs -o size=1m,nr_inodes=200 tmpfs disk")
    return shell.folder


def fill_room(disk: Path, left: int) -> list[Path]:
    """Leave so many pages free."""
    filler = disk / "filler"
    filler.touch()
    room = os.statvfs(disk)
    filler.write_bytes(bytes((room.f_bfree - left) * room.f_bsize))
    return [filler]


def fill_names(disk: Path, left: int) -> list[Path]:
    """Leave room for so many files."""
    fillers = [disk / f"filler-{number}" for number in range(os.statvfs(disk).f_ffree - left)]
    for filler in fillers:
        filler.touch()
    return fillers


@pytest.mark.ci
@pytest.mark.parametrize(
    ("fill", "left"),
    [
        (fill_room, 2),
        pytest.param(fill_names, 2, marks=pytest.mark.nightly),
        *(pytest.param(fill_room, pages, marks=pytest.mark.nightly) for pages in (0, 1, 4, 6)),
        *(pytest.param(fill_names, names, marks=pytest.mark.nightly) for names in (0, 1, 3, 4)),
    ],
    ids=lambda value: value if isinstance(value, int) else value.__name__.partition("_")[2],
)
def test_a_full_disk(run_of, rows, disk, nothing_left, fill, left):
    """A disk that is full, or fills at any moment, ends the run with one line; with room the same command goes on."""
    run = run_of(rows)
    fillers = fill(disk, left)
    check_refused(run.end(), NO_ROOM)
    nothing_left()
    check_kept(run)
    assert [] == list(disk.glob(".*")), "a draft is left behind"
    for filler in fillers:
        filler.unlink()
    kept = len(run.stored())
    done = run.end()
    nothing_left()
    check_whole(run, done)
    assert kept == done.record["resumed"]


@pytest.mark.nightly
def test_results_to_a_full_device(run_of, rows, nothing_left):
    """Results to something other than a plain file are refused, and no verdict is lost."""
    run = run_of(rows)
    done = run.shell(*run.words, "--results", "/dev/full")
    nothing_left()
    check_refused(done, "/dev/full")
    check_kept(run)
    check_whole(run, run.end())


# Limits of the supervisor.


@pytest.mark.nightly
@pytest.mark.parametrize("workers", [2, 8])
def test_few_descriptors(run_of, rows, nothing_left, workers):
    """All workers run with a limit of 64 open files."""
    run = start_by(run_of(rows, "--workers", str(workers), "--memory", "256MiB"), 'ulimit -n 64; exec "$@"')
    done = run.end()
    nothing_left()
    check_whole(run, done)


@pytest.mark.ci
@pytest.mark.parametrize("files", [16, pytest.param(24, marks=pytest.mark.nightly)])
def test_too_few_descriptors(run_of, rows, nothing_left, files):
    """With too few open files one line says so, and with enough the same command resumes."""
    run = start_by(run_of(rows, "--workers", "8", "--memory", "256MiB"), f'ulimit -n {files}; exec "$@"')
    done = run.end()
    nothing_left()
    check_whole(start_directly(run), start_directly(run).end())
    check_refused(done, "open files")


LARGE = [
    {"task_id": "starter/0", "completion": f"    held = bytes({size} << 20)\n    return -(-eggs // size)\n"}
    for size in (1, 1200)
]
"""Samples that pass at the usual limit of memory; no page of theirs is touched."""


def test_less_memory_than_promised(run_of, nothing_left):
    """Less address space than --memory is refused, or the verdicts are right."""
    run = start_by(run_of(LARGE, "--memory", "2GiB"), f'ulimit -v {1 << 20}; exec "$@"')
    done = run.end()
    nothing_left()
    if done.code == 0:
        assert [("starter/0", "passed")] * 2 == run.results()
    else:
        check_refused(done, "memory")


@pytest.mark.parametrize(
    ("limit", "word"),
    [
        (f"-d {1 << 20}", "ulimit -d"),
        ("-n 32", "ulimit -n"),
        ("-f 9000", "-f"),
        ("-u 40", "ulimit -u"),
        ("-s 256", "ulimit -s"),
        ("-t 300", "ulimit -t"),
    ],
)
def test_less_than_samples_are_promised(run_of, nothing_left, limit, word):
    """A lower limit of anything than samples have is refused: verdicts would differ."""
    # Not every sh has a limit of processes.
    script = f'bash -c \'ulimit {limit}; exec "$@"\' sh "$@"'
    run = start_by(run_of(LARGE, "--memory", "2GiB"), script)
    done = run.end()
    nothing_left()
    check_refused(done, word)
    check_whole(start_directly(run), run.end(), [("starter/0", "passed")] * 2)


@pytest.mark.parametrize("flags", ["-v", "-S -v"])
def test_too_little_memory_for_ourselves(run_of, nothing_left, flags):
    """Too little memory for passcurve itself is refused before anything is judged."""
    run = start_by(run_of(LARGE, "--memory", "64MiB"), f'ulimit {flags} {200 << 10}; exec "$@"')
    done = run.end()
    nothing_left()
    check_refused(done, "at least 0.5 GiB")


@pytest.mark.skipif(sys.version_info[:2] == (3, 12), reason="CPython 3.12 ends nested calls of C by a limit of its own")
def test_a_limit_of_the_stack_that_can_be_raised(run_of, nothing_left):
    """A soft limit of the stack ends no sample: it recurses as deep as elsewhere."""
    deep = (
        "    import sys\n    sys.setrecursionlimit(20_000)\n    class A:\n        def __getattr__(self, name):\n"
        "            depth = int(name[1:])\n            return 0 if depth == 0 else getattr(self, f'a{depth - 1}')\n"
        "    assert A().a4000 == 0\n    return -(-eggs // size)\n"
    )
    run = start_by(run_of([{"task_id": "starter/0", "completion": deep}]), 'ulimit -S -s 512; exec "$@"')
    done = run.end()
    nothing_left()
    check_whole(run, done, [("starter/0", "passed")])


@pytest.mark.ci
def test_a_limit_of_memory_that_can_be_raised(run_of, nothing_left):
    """A soft limit of the supervisor's address space does not apply to the samples."""
    run = start_by(run_of(LARGE, "--memory", "2GiB"), f'ulimit -S -v {1 << 20}; exec "$@"')
    done = run.end()
    nothing_left()
    check_whole(run, done, [("starter/0", "passed")] * 2)


@pytest.mark.ci
def test_no_more_workers_than_rows(run_of, processes, nothing_left):
    """A run has no more workers than rows, whatever --workers says: each takes memory."""
    code = "    import time\n    time.sleep(0.5)\n    return -(-eggs // size)\n"
    run = run_of([{"task_id": "starter/0", "completion": code}] * 2, "--workers", "8", "--no-dedup")
    session = run.start()
    most = 0
    while session.poll() is None:
        most = max(most, len(outer_zygotes(session.pid, processes(session.pid))))
        time.sleep(0.02)
    session.communicate(timeout=60)
    nothing_left()
    assert 0 == session.returncode
    assert 4 == most, "two zygotes for each of two workers"


# Processes that somebody stops.


def outer_zygotes(supervisor, processes):
    """Return the ids of the zygotes' outer halves, which are children of the fork server."""
    fork_servers = {process.pid for process in processes if process.parent == supervisor}
    return {process.pid for process in processes if process.parent in fork_servers}


def ids_by_kind(supervisor, processes):
    """Return the ids of the processes of a run by kind."""
    jailed = processes(supervisor)
    outer = outer_zygotes(supervisor, jailed)
    fork_servers = {process.pid for process in jailed if process.parent == supervisor}
    zygotes = outer | {process.pid for process in jailed if process.parent in outer}
    children = [process for process in jailed if process.pid not in zygotes | fork_servers]
    return {
        "zygotes": sorted(zygotes),
        "samples": [process.pid for process in children if process.cpu_limited],
        "tests": [process.pid for process in children if not process.cpu_limited],
        "walled": [process.pid for process in jailed],
        "supervisor": [supervisor],
        "everything": [supervisor, *(process.pid for process in jailed)],
    }


def cpu_seconds(pid):
    """Return the CPU time of a process in seconds."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")


def hold(pids, seconds):
    """Stop processes for some seconds."""
    for number, pause_s in ((signal.SIGSTOP, seconds), (signal.SIGCONT, 0)):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
        time.sleep(pause_s)


@pytest.mark.nightly
@pytest.mark.parametrize(("kind", "seconds"), [("zygotes", 10), ("walled", 10), ("everything", 4), ("supervisor", 4)])
def test_a_run_is_held(run_of, rows, processes, nothing_left, kind, seconds):
    """Processes that are stopped and continued later change no verdict."""
    run = run_of(rows, "--timeout", "0.5")
    session = run.start()
    run.wait(session, 20)
    hold(ids_by_kind(session.pid, processes)[kind], seconds)
    session.communicate(timeout=60)
    nothing_left()
    assert 0 == session.returncode
    assert EXPECTED == run.results()
    assert list(range(len(EXPECTED))) == sorted(run.stored())
    if kind == "supervisor":
        slowest = max(row["seconds"] for row in run.shell.rows("s.jsonl_results.jsonl") if row["passed"])
        assert slowest < 0.5, "the pause counts for no sample"


SLOW = """    import time
    end = time.process_time() + 0.06
    while time.process_time() < end: pass
    return -(-eggs // size)
"""
"""The 28 calls of its tests take more than a slice, so that it runs again at the end, and less than its limit."""


@pytest.mark.nightly
@pytest.mark.parametrize(
    "kind",
    [
        "zygotes",
        "supervisor",
        "samples",
        "tests",
        "everything",
    ],
)
def test_a_slow_sample_is_held(run_of, processes, nothing_left, kind):
    """A sample near its limit passes, however long the run is stopped by somebody else."""
    run = run_of([{"task_id": "starter/0", "completion": SLOW}], "--workers", "1")
    session = run.start()
    deadline = time.monotonic() + 90
    # Past its slice, which a sample may lose.
    while not any(cpu_seconds(pid) > 0.5 for pid in ids_by_kind(session.pid, processes)["samples"]):
        assert time.monotonic() < deadline
        if session.poll() is not None:
            # On a busy machine the moment can be missed.
            session = run.start()
        time.sleep(0.01)
    hold(ids_by_kind(session.pid, processes)[kind], 5)
    session.communicate(timeout=60)
    nothing_left()
    assert 0 == session.returncode
    assert [("starter/0", "passed")] == run.results()


# The clock on the wall.

WALL_CLOCKS = {"time", "time_ns", "now", "utcnow", "today", "localtime", "gmtime"}


@pytest.mark.ci
def test_no_deadline_looks_at_the_wall_clock():
    """Only the function that dates a file reads the time of day, so that the wall clock may jump."""
    uses = set()
    texts = {path: path.read_text("utf-8") for path in SOURCES.rglob("*.py")}
    for path in (path for path, text in texts.items() if re.search(r"\b(import|from) .*(date)?time\b|CLOCK_", text)):
        for node in ast.walk(ast.parse(texts[path])):
            if isinstance(node, ast.FunctionDef) and node.name != "_now":
                functions = [call.func for call in ast.walk(node) if isinstance(call, ast.Call)]
                names = {function.attr for function in functions if isinstance(function, ast.Attribute)}
                uses |= {(path.name, node.name, name) for name in names & WALL_CLOCKS}
            if isinstance(node, ast.ImportFrom) and node.module == "time":
                uses |= {(path.name, "import", alias.name) for alias in node.names if alias.name in WALL_CLOCKS}
            if isinstance(node, ast.Attribute) and node.attr == "CLOCK_REALTIME":
                uses.add((path.name, "clock", node.attr))
    assert set() == uses


# Streams that take nothing.


@pytest.mark.ci
@pytest.mark.parametrize(
    ("stream", "codes"),
    [
        pytest.param('exec "$@" >&-', (0, 1), marks=pytest.mark.nightly),
        ('exec "$@" >/dev/full', (1,)),
        pytest.param('"$@" >/dev/null; exit $?', (0,), marks=pytest.mark.nightly),
        ('{ "$@"; echo $? >code; } | head -1; exit $(cat code)', (0,)),
        pytest.param('{ "$@"; echo $? >code; } | true; exit $(cat code)', (0,), marks=pytest.mark.nightly),
        pytest.param('exec "$@" <&-', (0,), marks=pytest.mark.nightly),
        pytest.param('exec "$@" 2>&-', (0,), marks=pytest.mark.nightly),
    ],
    ids=["closed", "full", "null", "head", "nobody", "no input", "no errors"],
)
@pytest.mark.parametrize("words", [(), pytest.param(("--json",), marks=pytest.mark.nightly)], ids=["text", "json"])
def test_a_stream_that_takes_nothing(run_of, rows, nothing_left, stream, codes, words):
    """Where the score cannot be printed, the verdicts are stored, and at most one line complains of that."""
    run = start_by(run_of(rows), stream)
    done = run.shell("judge", "s.jsonl", "--subset", *words)
    nothing_left()
    assert EXPECTED == run.results()
    assert list(range(len(EXPECTED))) == sorted(run.stored())
    assert done.code in codes
    assert re.fullmatch(r"(passcurve: input: .+\n)*(passcurve: .+\n)?", done.err), done.err
    check_whole(start_directly(run), run.end())


@pytest.mark.ci
def test_notes_that_cannot_be_written(run_of, rows, nothing_left):
    """All samples are judged when stderr takes no notes."""
    run = start_by(run_of(rows, "--workers", "100000"), 'exec "$@" 2>/dev/full')
    done = run.end()
    nothing_left()
    check_whole(run, done)


# Folders and names that are taken for granted.


@pytest.mark.ci
@pytest.mark.parametrize("level", ["full", pytest.param("restricted", marks=pytest.mark.nightly)])
def test_no_folder_for_temporary_files(run_of, rows, nothing_left, level):
    """A run needs no folder for temporary files."""
    run = run_of(rows, "--isolation", level)
    run.shell.env["TMPDIR"] = "/nonexistent"
    done = run.end()
    nothing_left()
    if done.code == 2:
        pytest.skip(f"this machine cannot give it: {done.err}")
    check_whole(run, done)


@pytest.mark.nightly
@pytest.mark.parametrize("level", ["full", "restricted"])
def test_no_folder_can_be_written(run_of, shell, rows, mounted, nothing_left, level):
    """A run needs no folder that can be written, beside its own."""
    (shell.folder / "disk").mkdir()
    folders = [name for name in ("/tmp", "/var/tmp", "/usr/tmp") if Path(name).is_dir()]
    closed = "".join(f"mount --bind {name} {name}\nmount -o remount,bind,ro {name}\n" for name in folders)
    home = shell.folder
    closed += f"mount --bind {home} {home}\nmount -o remount,bind,ro {home}\nmount -t tmpfs tmpfs {home}/disk"
    mounted(closed)
    run = run_of(rows, "--isolation", level)
    # It stands in a folder that is closed too, or it would use that one.
    run.shell.before = (*run.shell.before[:-2], f"--wd={run.shell.folder.parent}", "--")
    run.words = tuple(f"disk/{word}" if word == "s.jsonl" else word for word in run.words)
    done = run.end()
    nothing_left()
    # At restricted too: where that level needs a folder and has none, the one above it needs none.
    check_whole(run, done)


@pytest.mark.ci
def test_no_home(run_of, rows, nothing_left):
    """A run needs neither HOME nor PASSCURVE_CACHE."""
    run = run_of(rows)
    del run.shell.env["HOME"], run.shell.env["PASSCURVE_CACHE"]
    done = run.end()
    nothing_left()
    check_whole(run, done)


@pytest.mark.nightly
def test_no_home_and_no_name(run_of, rows, nothing_left):
    """A user without a name, as in many containers, can judge."""
    if subprocess.run(["unshare", "--user", "--map-user=12345", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespace with another id can be had here")
    run = start_by(run_of(rows), 'exec unshare --user --map-user=12345 "$@"')
    del run.shell.env["HOME"], run.shell.env["PASSCURVE_CACHE"]
    done = run.end()
    nothing_left()
    check_whole(run, done)


@pytest.fixture
def foreign_proc() -> str:
    """Return a line of the shell that starts a command in a process namespace under the /proc of another."""
    user = "" if os.geteuid() == 0 else "--user --map-root-user "
    line = f'exec unshare {user}--pid --fork "$@"'
    if subprocess.run(["sh", "-c", line, "sh", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no process namespace can be had here")
    return line


def test_the_proc_of_another_namespace(shell, foreign_proc):
    """The same walls stand there, with a /proc of their own: by another, the time of other processes would count."""
    level = shell("doctor", "--json").record["isolation"]
    shell.before = ("sh", "-c", foreign_proc, "sh")
    assert level == shell("doctor", "--json").record["isolation"]


@pytest.mark.ci
def test_no_walls_under_the_proc_of_another_namespace(run_of, rows, foreign_proc):
    """Without namespaces of its own a run is refused there, and the line says what to do."""
    done = start_by(run_of(rows, "--isolation", "none"), foreign_proc).end()
    check_refused(done, "/proc", "--mount-proc")


def test_the_working_folder_is_gone(shell, rows):
    """A run whose working folder was removed is refused in one line."""
    samples = shell.write("s.jsonl", rows)
    shell.before = ("sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', "sh")
    check_refused(shell("judge", samples, "--json"), "working folder", "change to another one")
