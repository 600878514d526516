"""Commands in jails of their own: what crosses between steps, clocks, limits, and files that are prepared."""

from __future__ import annotations

import gc
import itertools
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jailed import command_job, descendants

from passcurve.errors import SandboxError
from passcurve.sandbox.command_layout import command_layout, find_program, loaded_libraries
from passcurve.sandbox.job import CommandJail, Outcome, Preparation, Step
from passcurve.sandbox.layers.syscalls import numbers
from passcurve.sandbox.memory_budget import MemoryBudget
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.prepared import PLACE
from passcurve.sandbox.startup import start_sandbox
from passcurve.types import Limits

LIMITS = Limits(timeout_s=2.0)
PROGRAMS = ("sh", "cat", "cp", "sleep", "true", "ls", "mkdir")
JAIL = CommandJail(key="shell", programs=tuple(path for name in PROGRAMS if (path := find_program(name))))
TAGS = itertools.count(1)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """Return a pool of one worker for commands."""
    with start_sandbox(LIMITS, commands=True) as sandbox:
        pool = Pool(1, sandbox)
        yield pool
        pool.close()


def order(script: str, *, keep: tuple[str, ...] = (), **others: Any) -> dict[str, Any]:
    """Return the order to run a script of the shell."""
    return {
        "argv": [find_program("sh"), "-c", script],
        "files": {},
        "env": {"PATH": "/usr/bin:/bin"},
        "stdin": b"",
        "keep": list(keep),
        "makes_binary": False,
        "is_binary": False,
        "unpack": False,
        **others,
    }


def run(pool: Pool, *steps: Step, more: tuple[tuple[Step, ...], ...] = ()) -> Outcome:
    """Run steps, and other attempts after them."""
    pool.start(0, command_job(next(TAGS), LIMITS, steps, *more))
    while not (outcomes := pool.wait(1.0)):
        pass
    return outcomes[0]


def step(setup: dict[str, Any], name: Any = "run", timeout_s: float = 5.0, **others: Any) -> Step:
    """Return a step in the jail of the shell."""
    return Step(name=name, jail=JAIL, setup=setup, timeout_s=timeout_s, **others)


def test_no_folder_for_temporary_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where no folder for temporary files can be written the error says what to do."""
    with start_sandbox(LIMITS, commands=True) as sandbox:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
        with pytest.raises(SandboxError, match="name a writable folder in TMPDIR"):
            Pool(1, sandbox)


def test_end_and_output_of_a_command_are_reported(pool: Pool) -> None:
    """Exit status, streams and standard input cross as they are."""
    outcome = run(pool, step(order("cat; echo wrong >&2; exit 7", stdin=b"some text")))
    report = outcome.report or {}
    assert ("report", 7, "some text", "wrong\n") == (outcome.ended, report["exit"], report["out"], report["err"])


def test_streams_have_names(pool: Pool) -> None:
    """A program may open its streams by their names, whatever user it is, but reads nothing back."""
    script = "cat /dev/stdin >/dev/stdout; echo wrong >/dev/stderr; echo more >>/proc/self/fd/1; cat </dev/stdout"
    report = run(pool, step(order(script, stdin=b"text\n"))).report or {}
    assert "text\nmore\n" == report["out"]
    assert report["err"].startswith("wrong\n")
    assert "ermission denied" in report["err"]


def test_files_of_one_step_reach_the_next_and_nothing_else_does(pool: Pool) -> None:
    """What a step keeps crosses; its other files are gone."""
    first = step(order("mkdir made; echo kept >made/a; echo lost >b", keep=("made/*",)), "compile")
    outcome = run(pool, first, step(order("cat made/a; ls", unpack=True)))
    assert "kept\nmade\n" == (outcome.report or {})["out"]
    assert ["compile", "run"] == [ended.step for ended in outcome.steps]


SEND = """
socketpair(A, B, 1, 1, 0);
my $part = pack("P Q", "x", 1);
print syscall(%d, fileno(A), pack("Q L x4 P Q Q Q L x4", 0, 0, $part, 1, 0, 0, 0), 0);
"""
"""Prints how many bytes a message takes along, or -1."""


def test_only_compilers_send_messages(pool: Pool) -> None:
    """Descriptors in messages that nobody receives would keep the zygotes of all workers from sending theirs."""
    perl = find_program("perl")
    if perl is None:
        pytest.skip("perl is not installed here")
    jail = CommandJail(key="perl", programs=(perl,))
    script = SEND % numbers(platform.machine())["sendmsg"]
    for keep, sent in (((), "-1"), (("x",), "1")):
        sender = msgspec.structs.replace(step(order("", keep=keep) | {"argv": [perl, "-e", script]}), jail=jail)
        report = run(pool, sender).report or {}
        assert (sent, "") == (report["out"], report["err"])


def test_a_step_that_fails_ends_the_job(pool: Pool) -> None:
    """The next step does not run; another attempt does."""
    failing = step(order("exit 1", keep=("x",)), "compile")
    assert "compile" == run(pool, failing, step(order("true"))).step
    outcome = run(pool, failing, step(order("true")), more=((step(order("echo again")),),))
    assert "again\n" == (outcome.report or {})["out"]


def test_a_program_is_sealed_before_it_runs(pool: Pool) -> None:
    """The product of a compiler runs from memory, and nobody can write to it."""
    shell = find_program("sh")
    assert shell is not None
    make = step(order(f"cp {shell} program", keep=("program",), makes_binary=True), "compile")
    writing = "for n in 3 4 5 6 7; do echo x >&$n && echo wrote; done 2>/dev/null; echo x >/proc/self/exe && echo wrote"
    setup = order("", is_binary=True) | {"argv": ["sh", "-c", f"{writing}; echo ran"]}
    jail = CommandJail(key="program", programs=loaded_libraries(os.path.realpath(shell)))
    outcome = run(pool, make, Step(name="run", jail=jail, setup=setup, timeout_s=5.0))
    assert "ran\n" == (outcome.report or {})["out"]


def test_a_pool_that_is_closed_leaves_no_descriptor() -> None:
    """Closing a pool in mid-run closes the pipes of its command."""
    with start_sandbox(LIMITS, commands=True) as sandbox:
        gc.collect()
        before = set(Path("/proc/self/fd").iterdir())
        with closing(Pool(1, sandbox)) as pool:
            pool.start(0, command_job(next(TAGS), LIMITS, [step(order("sleep 9"))]))
        assert not set(Path("/proc/self/fd").iterdir()) - before


@pytest.mark.ci
def test_time_of_all_processes_counts_and_waiting_for_a_core_does_not(pool: Pool) -> None:
    """A loop in a child is ended by the clock; half a second of sleep is half a second beside four busy loops."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        sleeping = run(pool, step(order("sleep 0.5"), timeout_s=2.0))
        looping = run(pool, step(order("(while :; do :; done) & wait"), timeout_s=1.0))
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert "report" == sleeping.ended
    assert 0.4 < sleeping.own_s < 1.5
    assert "timeout" == looping.ended


def test_waiting_for_the_process_itself_is_no_time_of_a_program() -> None:
    """A template that is stopped delays the process of a program; the delay is not the program's own time."""
    before = {process.pid for process in descendants(os.getpid())}
    with start_sandbox(LIMITS, commands=True) as sandbox, closing(Pool(1, sandbox)) as pool:
        run(pool, step(order("true")))
        ours = [process for process in descendants(os.getpid()) if process.pid not in before]
        (template,) = {process.pid for process in ours} - {process.parent for process in ours}
        os.kill(template, signal.SIGSTOP)
        timer = threading.Timer(0.6, os.kill, (template, signal.SIGCONT))
        timer.start()
        outcome = run(pool, step(order("sleep 0.1")))
        timer.join()
    assert "report" == outcome.ended
    assert 0.5 < outcome.wall_s
    assert 0.05 < outcome.own_s < 0.4


def test_memory_of_a_program_that_is_ended_is_told(pool: Pool) -> None:
    """A program that runs out of time has the memory that it held, not that of the process which started it."""
    grow = "x=0123456789; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do x=$x$x; done; "
    outcome = run(pool, step(order(grow + "while :; do :; done"), timeout_s=1.0))
    assert "timeout" == outcome.ended
    assert 40 << 20 < outcome.memory_bytes


def test_output_without_end_holds_up_nobody(pool: Pool) -> None:
    """A program that fills its streams faster than they are read is ended by its clock, with a part of its output."""
    outcome = run(pool, step(order("cat /dev/zero & cat /dev/zero >&2"), timeout_s=1.0))
    assert "timeout" == outcome.ended
    assert outcome.wall_s < 5.0
    report = outcome.report or {}
    assert min(report["out_bytes"], report["err_bytes"]) > 1 << 20 > len(report["out"])


def test_what_is_no_program_ends_as_a_shell_tells_it(pool: Pool) -> None:
    """A file that the kernel cannot run is an end with status 127 and a reason, not a fault of ours."""
    outcome = run(pool, step({**order(""), "argv": ["/tmp/data"], "files": {"data": b"no program"}}))
    report = outcome.report or {}
    assert ("report", 127) == (outcome.ended, report["exit"])
    assert report["err"].startswith("/tmp/data: ")


def test_a_job_whose_files_cannot_be_written_is_a_fault_with_its_reason(pool: Pool) -> None:
    """Nothing of it has run, so it says nothing about the program."""
    outcome = run(pool, step(order("true", files={"file": b"", "file/below": b""})))
    assert "fault" == outcome.ended
    assert "the program did not begin: File exists" == outcome.fault


@pytest.mark.parametrize(("number", "name"), [(9, "KILL"), (15, "TERM"), (13, "PIPE")])
def test_a_command_that_a_signal_ends_is_told_by_it(pool: Pool, number: int, name: str) -> None:
    """Its process is the command itself, whose signals are those of a new process."""
    outcome = run(pool, step(order(f"kill -{name} $$; sleep 1")))
    assert ("report", None, number) == (outcome.ended, (outcome.report or {})["exit"], (outcome.report or {})["signal"])


def test_a_command_has_no_descriptor_but_its_streams(pool: Pool) -> None:
    """The descriptors of its job, its connection and its artifact are closed."""
    outcome = run(pool, step(order("ls /proc/self/fd")))
    # The last one is that of ls itself.
    assert ["0", "1", "2", "3"] == (outcome.report or {})["out"].split()


def test_what_a_job_leaves_running_is_ended(pool: Pool) -> None:
    """A child in the background holds the streams open; nobody waits for it, and it does not outlive the job."""
    outcome = run(pool, step(order("sleep 1000 & echo over")))
    assert "over\n" == (outcome.report or {})["out"]
    # A command line that no other process has.
    assert not any(b"sleep\x001000" in _command_line(folder) for folder in Path("/proc").glob("[0-9]*"))


def prepare(key: str, ready: str, *, min_uses: int = 1, fault: str = "") -> Preparation:
    """Return what makes one file, and the shell's commands of the step once it is there."""
    return Preparation(
        key=key,
        setup=order("echo prepared >file", keep=("file",)),
        ready_setup=order(ready, keep=("out",)),
        min_uses=min_uses,
        timeout_s=5.0,
        is_needed=False,
        fault=fault,
    )


def test_prepared_files_are_made_once_and_what_fails_with_them_is_tried_without(pool: Pool) -> None:
    """The files are made at the wanted number of uses; a failure with them does not count."""
    preparation = prepare("once", f"cat {PLACE}/once/file >out; exit 0", min_uses=2)
    first = step(order("echo plain >out", keep=("out",)), "compile", preparation=preparation)
    texts = [(run(pool, first, step(order("cat out", unpack=True))).report or {})["out"] for _ in range(3)]
    assert ["plain\n", "prepared\n", "prepared\n"] == texts
    second = step(order("echo plain >out", keep=("out",)), "compile", preparation=prepare("failing", "exit 1"))
    assert "plain\n" == (run(pool, second, step(order("cat out", unpack=True))).report or {})["out"]


def test_a_fault_that_a_prepared_compiler_names_counts(pool: Pool) -> None:
    """A failure with an error in the source is not tried again; a signal, or an error elsewhere, is."""
    fault = r"^a\.c:\d+: error\b"
    preparation = prepare("naming", "echo 'a.c:3: error: no' >&2; exit 1", fault=fault)
    plain = order("echo plain >out", keep=("out",))
    outcome = run(pool, step(plain, "compile", preparation=preparation), step(order("cat out", unpack=True)))
    assert ("compile", 1, "a.c:3: error: no\n") == (outcome.step, outcome.report["exit"], outcome.report["err"])
    for ready in ("echo 'a.c:3: error: no' >&2; kill -9 $$", "echo 'b.c:3: error: no' >&2; exit 1"):
        odd = prepare(f"odd{len(ready)}", ready, fault=fault)
        outcome = run(pool, step(plain, "compile", preparation=odd), step(order("cat out", unpack=True)))
        assert "plain\n" == outcome.report["out"]


def test_needed_files_whose_making_was_ended_are_made_again() -> None:
    """Where somebody kills the jail that makes them, the job is a fault of ours, and the next one has the files."""
    needed = msgspec.structs.replace(
        prepare("needed", f"cat {PLACE}/needed/file >out"),
        is_needed=True,
        setup=order("sleep 1; echo prepared >file", keep=("file",)),
    )
    compiler = step(order("exit 1", keep=("out",)), "compile", preparation=needed)
    steps = (compiler, step(order("cat out", unpack=True)))
    with start_sandbox(LIMITS, commands=True) as sandbox, Pool(1, sandbox) as pool:
        before = {process.pid for process in descendants(os.getpid())}
        pool.start(0, command_job(next(TAGS), LIMITS, steps))
        jail = next(process.pid for process in descendants(os.getpid()) if process.pid not in before)
        os.kill(jail, signal.SIGKILL)
        while not (outcomes := pool.wait(1.0)):
            pass
        assert ("fault", "compile") == (outcomes[0].ended, outcomes[0].step)
        assert "prepared\n" == (run(pool, *steps).report or {})["out"]


def test_a_jail_holds_its_programs_and_what_they_load() -> None:
    """The layout names the program, its libraries and the loader, and no folder of the host."""
    places = {place for _, place in command_layout(JAIL).binds}
    assert os.path.realpath(find_program("cat") or "") in places
    assert not places & {"/", "/usr", "/usr/bin", "/usr/lib", "/etc", "/home", "/root"}


SLEEP = "read start _ </proc/uptime; sleep 0.4; read end _ </proc/uptime; echo $start $end"


def most_at_once(jails: tuple[CommandJail, ...], budget: MemoryBudget) -> int:
    """Run a command in each jail, on a worker of its own; return how many ran at the same time."""
    with start_sandbox(LIMITS, commands=True) as sandbox, Pool(len(jails), sandbox, None, budget) as pool:
        # The first command of a jail waits for its zygote, however long that takes here.
        run_in_each(pool, jails, "true")
        outputs = run_in_each(pool, jails, SLEEP)
    times = [tuple(map(float, output.split())) for output in outputs]
    return max(sum(start <= other < end for start, end in times) for other, _ in times)


def run_in_each(pool: Pool, jails: tuple[CommandJail, ...], script: str) -> list[str]:
    """Run a script in each jail, on a worker of its own; return what they wrote."""
    for slot, jail in enumerate(jails):
        steps = (Step(name="run", jail=jail, setup=order(script), timeout_s=5.0),)
        pool.start(slot, command_job(slot, LIMITS, steps))
    outcomes: list[Outcome] = []
    while len(outcomes) < len(jails):
        outcomes += pool.wait(1.0)
    return [(outcome.report or {})["out"] for outcome in outcomes]


def test_commands_run_at_once_as_far_as_their_memory_allows() -> None:
    """As many run at once as have room for their limits; one runs whatever its limit is, and none is left out."""
    gib = 1 << 30
    large = msgspec.structs.replace(JAIL, key="large", memory_bytes=3 * LIMITS.memory_bytes)
    assert 3 == most_at_once((JAIL,) * 3, MemoryBudget(None))
    assert 2 == most_at_once((JAIL,) * 3, MemoryBudget(2 * LIMITS.memory_bytes))
    assert 1 == most_at_once((JAIL,) * 2, MemoryBudget(gib))
    assert 1 == most_at_once((large, JAIL, large), MemoryBudget(3 * LIMITS.memory_bytes))


def test_a_jail_with_a_limit_of_its_own_has_it(pool: Pool) -> None:
    """A compiler may have more memory than a program, and no less."""
    script = "x=$(head -c 180000000 /dev/zero | tr '\\0' a); echo ${#x}"
    small = msgspec.structs.replace(LIMITS, memory_bytes=192 << 20)
    programs = tuple(path for name in ("sh", "head", "tr") if (path := find_program(name)))
    jail = CommandJail(key="tools", programs=programs)
    roomy = msgspec.structs.replace(jail, key="roomy", memory_bytes=1 << 30)
    with start_sandbox(small, commands=True) as sandbox, Pool(1, sandbox) as tight:
        steps = [Step(name="run", jail=jail, setup=order(script), timeout_s=10.0) for jail in (jail, roomy)]
        outputs = [(run(tight, step).report or {})["out"] for step in steps]
    assert ["180000000\n"] == [text for text in outputs if text]
    assert outputs[1]


def _command_line(folder: Path) -> bytes:
    try:
        return (folder / "cmdline").read_bytes()
    except OSError:
        return b""
