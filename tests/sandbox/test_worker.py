"""Workers when a process dies: no job is lost, no sample is blamed for it, and nothing stays behind."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from jailed import (
    IS_ONE,
    LIMITS,
    ONE,
    Jailed,
    Process,
    census,
    descendants,
    jail_at,
    need,
    read_process,
    until,
    zygote_folders,
    zygotes,
)

from passcurve.judging.attempts import needs_retry
from passcurve.sandbox.forkserver_client import SAMPLE_ROLES, KilledError
from passcurve.sandbox.oneshot_runner import DEATH_S
from passcurve.sandbox.zygote import exit_status
from passcurve.sandbox.zygote.template import FAILED_EXIT
from passcurve.sandbox.zygote_client import ZygoteClient

SLEEP = "import time\ndef f():\n    time.sleep(30)\n    return 1\n"


@pytest.fixture(
    params=[
        ("full", "rewind"),
        pytest.param(("full", "fork"), marks=pytest.mark.nightly),
        ("restricted", "rewind"),
        pytest.param(("restricted", "fork"), marks=pytest.mark.nightly),
    ],
    ids=lambda param: "-".join(param),
)
def jail(request: pytest.FixtureRequest) -> Iterator[Jailed]:
    """Return a jail of each level that nobody has used before, with rewound and with replaced processes."""
    level, reuse = request.param
    with jail_at(level, reuse=reuse) as jail:
        yield jail


def family(pid: int) -> list[Process]:
    """Return a process and all below it."""
    return [process for process in census() if process.pid == pid] + descendants(pid)


def zygote(jail: Jailed, name: str) -> tuple[Process, Process]:
    """Return the process that was started for a zygote, and the zygote."""
    members = family(zygotes(jail.pool)[name].pid)
    return members[0], members[1]


def children(jail: Jailed, name: str) -> list[Process]:
    """Return the children of a zygote by age: its template, the kept process, then the process of a job."""
    zygote_pid = zygote(jail, name)[1].pid
    return sorted(
        (process for process in census() if process.parent == zygote_pid),
        key=lambda process: (int(process.started), process.pid),
    )


def working_children(jail: Jailed, name: str) -> list[Process]:
    """Return the child of a zygote that runs a job in a new process, if there is one."""
    others = 2
    processes = children(jail, name)
    assert len(processes) <= others + 1
    return processes[others:]


def wait_for_child(jail: Jailed, name: str) -> Process:
    """Wait for the working child of a zygote and return it."""
    (one,) = until(lambda: working_children(jail, name), f"a child of the {name}")
    return one


def start(jail: Jailed, program: str = SLEEP, test: str = IS_ONE) -> None:
    """Start a job and wait until its program runs in new processes."""
    # The answer to another job shows that the kept processes stand: while one is made there are more processes.
    assert "passed" == jail.run(jail.job(ONE, IS_ONE)).report["status"]
    jail.pool.start(0, jail.job(program, test, allow_kept=False))

    def runs() -> bool:
        assert [] == jail.pool.wait(0.02)
        return bool(working_children(jail, "jail") and working_children(jail, "referee"))

    until(runs, "both processes of a job")
    # The referee has been forked last, and takes the sample's line when it is ready.
    assert [] == jail.pool.wait(0.1)


VICTIMS: dict[str, Callable[[Jailed], int]] = {
    "the jail's zygote": lambda jail: zygote(jail, "jail")[1].pid,
    "the parent of the jail's zygote": lambda jail: zygote(jail, "jail")[0].pid,
    "the referee's zygote": lambda jail: zygote(jail, "referee")[1].pid,
    "the parent of the referee's zygote": lambda jail: zygote(jail, "referee")[0].pid,
}


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_zygote_is_killed(jail: Jailed, victim: str):
    """A zygote that dies in the middle of a job is a fault of ours with a reason; the next job passes."""
    start(jail)
    os.kill(VICTIMS[victim](jail), signal.SIGKILL)
    outcome = jail.end()
    assert "fault" == outcome.ended
    assert "zygote ended" in outcome.fault
    assert needs_retry(outcome)
    assert jail.check(ONE, IS_ONE).passed


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_zygote_is_killed_between_two_jobs(jail: Jailed, victim: str):
    """A zygote that dies while nothing runs costs at most one fault, never a verdict."""
    assert jail.check(ONE, IS_ONE).passed
    os.kill(VICTIMS[victim](jail), signal.SIGKILL)
    verdicts = [jail.check(ONE, IS_ONE).status for _ in range(3)]
    assert ["passed", "passed"] == verdicts[1:]
    assert verdicts[0] in ("passed", "void")


def test_the_tests_process_is_killed(jail: Jailed):
    """When the process of the tests dies, the sample gets another run; the next job passes."""
    start(jail)
    os.kill(wait_for_child(jail, "referee").pid, signal.SIGKILL)
    outcome = jail.end()
    assert "the tests' process died" == outcome.doubt
    assert needs_retry(outcome)
    assert jail.check(ONE, IS_ONE).passed


@pytest.mark.parametrize("side", ["jail", "referee"])
def test_a_process_fails_before_its_role_begins(jail: Jailed, side: str):
    """A process that the system refuses what it needs to start is a fault of ours; the next job passes."""
    if os.getuid() != 0:
        pytest.skip("only root may set the limits of a process of another user")
    assert jail.check(ONE, IS_ONE).passed
    template = children(jail, side)[0].pid
    few_files = 16
    limits = resource.prlimit(
        template, resource.RLIMIT_NOFILE, (few_files, resource.prlimit(template, resource.RLIMIT_NOFILE)[1])
    )
    outcome = jail.run(jail.job(ONE, IS_ONE, allow_kept=False))
    assert ("fault", "its process failed before it began") == (outcome.ended, outcome.fault)
    assert needs_retry(outcome)
    resource.prlimit(template, resource.RLIMIT_NOFILE, limits)
    assert jail.check(ONE, IS_ONE).passed
    assert "passed" == jail.run(jail.job(ONE, IS_ONE, allow_kept=False)).report["status"]


def test_a_program_that_ends_like_a_process_that_failed(jail: Jailed):
    """The exit code of a process that failed is no fault of ours where a program has begun."""
    program = f"import os\ndef f():\n    os._exit({FAILED_EXIT})\n"
    outcome = jail.run(jail.job(program, IS_ONE, allow_kept=False))
    assert ("", FAILED_EXIT) == (outcome.fault, outcome.exit_code)
    assert "crash" == jail.check(program, IS_ONE).status


@pytest.mark.nightly
def test_a_program_over_its_time_ends_slowly(jail: Jailed, monkeypatch: pytest.MonkeyPatch):
    """The report on the tests before is kept, however long a process that is over its time takes to end."""
    send = ZygoteClient.send

    def send_slowly(client: ZygoteClient, order: dict[str, object], *descriptors: Sequence[int]) -> None:
        if (client.side, order["do"]) == ("jail", "end"):
            pid = zygote(jail, "jail")[1].pid
            os.kill(pid, signal.SIGSTOP)
            threading.Timer(2.5, os.kill, (pid, signal.SIGCONT)).start()
        send(client, order, *descriptors)

    limits = msgspec.structs.replace(LIMITS, timeout_s=0.3)
    test = "def check(candidate):\n    assert candidate(1) == 1\n    assert candidate(2) == 2\n"
    job = jail.job("def f(n):\n    while n > 1: pass\n    return n\n", test, limits=limits, allow_kept=False)
    jail.run(jail.job(ONE, IS_ONE, allow_kept=False))
    monkeypatch.setattr(ZygoteClient, "send", send_slowly)
    outcome = jail.run(job)
    assert "timeout" == outcome.ended
    assert outcome.report is not None
    assert "gone" == outcome.report["status"]


@pytest.mark.ci
def test_the_tests_process_dies_before_its_zygote(jail: Jailed):
    """When both die, and the zygote's end is seen later, the fault is ours and not the sample's."""
    start(jail, ONE, "import time\ndef check(candidate):\n    time.sleep(30)\n")
    victim = zygote(jail, "referee")[1].pid
    os.kill(victim, signal.SIGSTOP)
    os.kill(wait_for_child(jail, "referee").pid, signal.SIGKILL)
    until = time.monotonic() + 2 * DEATH_S
    while time.monotonic() < until:
        assert [] == jail.pool.wait(0.1)
    os.kill(victim, signal.SIGKILL)
    outcome = jail.end()
    assert ("fault", "the referee's zygote ended") == (outcome.ended, outcome.fault)
    assert jail.check(ONE, IS_ONE).passed


@pytest.mark.ci
def test_a_kept_process_is_made_while_a_job_runs(jail: Jailed):
    """A process that is made for later jobs takes no signals and no records from the one that runs."""
    program = (
        "import os, signal, socket, time\n"
        "told = []\n"
        "signal.signal(signal.SIGUSR1, lambda *_: told.append(1))\n"
        "def f():\n"
        "    try: socket.socket()\n"
        "    except OSError: pass\n"
        "    while not told: time.sleep(0.01)\n"
        "    os.kill(os.getpid(), signal.SIGCONT)\n"
        "    return 1\n"
    )
    start(jail, program)
    _, waiting, working = children(jail, "jail")
    os.kill(waiting.pid, signal.SIGKILL)
    until(lambda: len({*children(jail, "jail")} - {waiting}) == 3, "another process that is kept")
    os.kill(working.pid, signal.SIGUSR1)
    outcome = jail.end()
    assert "passed" == (outcome.report or {}).get("status"), outcome
    assert ("socket",) == outcome.refused or not jail.probe.jail.watched


@pytest.mark.ci
def test_the_sample_is_killed_by_an_unknown_sender(jail: Jailed):
    """A sample that dies of a SIGKILL that we did not send gets another run, every time."""
    for _ in range(5):
        start(jail)
        os.kill(wait_for_child(jail, "jail").pid, signal.SIGKILL)
        outcome = jail.end()
        assert signal.SIGKILL == outcome.signal
        assert "SIGKILL" in outcome.doubt
        assert needs_retry(outcome)
    assert jail.check(ONE, IS_ONE).passed


@pytest.mark.ci
@pytest.mark.parametrize(
    "number",
    [
        signal.SIGSEGV,
        *(
            pytest.param(number, marks=pytest.mark.nightly)
            for number in (signal.SIGABRT, signal.SIGTERM, signal.SIGUSR1)
        ),
    ],
)
def test_the_signal_of_a_crash(jail: Jailed, number: signal.Signals):
    """A sample that dies of a signal is a crash with that signal's name, every time."""
    program = f"import os, signal\ndef f():\n    os.kill(os.getpid(), {int(number)})\n    return 1\n"
    results = {(jail.check(program, IS_ONE).status, jail.check(program, IS_ONE).message) for _ in range(5)}
    assert {("crash", f"the interpreter died of {number.name}")} == results


@pytest.mark.ci
def test_the_code_of_an_exit(jail: Jailed):
    """A sample that exits with a code is a crash with that code, every time."""
    program = "import os\ndef f():\n    os._exit(7)\n"
    results = {(jail.check(program, IS_ONE).status, jail.check(program, IS_ONE).message) for _ in range(5)}
    assert {("crash", "the interpreter ended with exit code 7 before the tests did")} == results


@pytest.mark.ci
def test_a_new_order_before_the_last_child_is_reaped(jail: Jailed):
    """A zygote that reads the next order before it reaps its last child serves all later jobs."""
    limits = msgspec.structs.replace(LIMITS, timeout_s=2.0)
    for name in ("jail", "referee"):
        start(jail)
        forks, dying = zygote(jail, name)[1], wait_for_child(jail, name)
        stat = Path(f"/proc/{forks.pid}/stat")
        os.kill(forks.pid, signal.SIGSTOP)
        until(lambda stat=stat: "T" in stat.read_text().rpartition(")")[2].split()[0], "the stop")
        os.kill(dying.pid, signal.SIGKILL)
        until(lambda dying=dying: not dying.alive, "the death of the child")
        jail.pool.wait(0.1)
        os.kill(forks.pid, signal.SIGCONT)
        assert needs_retry(jail.end())
        for key in ("second", "third", "fourth"):
            outcome = jail.run(jail.job(ONE, IS_ONE, problem_id=key, limits=limits, allow_kept=False))
            assert ("report", "passed") == (outcome.ended, (outcome.report or {}).get("status")), outcome


def test_fresh_zygotes(jail: Jailed):
    """A job that asks for it runs in zygotes that have served nothing before."""
    assert jail.check(ONE, IS_ONE).passed
    before = {process for name in ("jail", "referee") for process in zygote(jail, name)}
    outcome = jail.run(msgspec.structs.replace(jail.job(ONE, IS_ONE), fresh_zygotes=True))
    assert "passed" == outcome.report["status"]
    after = {process for name in ("jail", "referee") for process in zygote(jail, name)}
    assert set() == before & after
    until(lambda: not any(process.alive for process in before), "the end of the old ones")


@pytest.mark.ci
def test_a_job_is_not_mistaken_for_the_next(jail: Jailed):
    """Jobs that follow each other at once get their own tags and outcomes, whether they die or not."""
    programs = {
        "passed": ONE,
        "failed": "def f():\n    return 2\n",
        "gone": "import os\ndef f():\n    os._exit(3)\n",
        "compile": "def f(:\n",
    }
    for _ in range(10):
        for status, program in programs.items():
            wanted = jail.job(program, IS_ONE)
            outcome = jail.run(wanted)
            assert (wanted.tag, status) == (outcome.tag, outcome.report["status"])


@pytest.mark.nightly
def test_a_job_that_ends_the_zygote_of_tests(jail: Jailed):
    """A job that a zygote does not survive is not repeated in kept processes for ever, and gets its verdict."""
    huge = msgspec.structs.replace(jail.job(ONE, IS_ONE + "#" * (65 << 20)), allow_kept=True)
    assert huge.referee
    # As if its size were not known: the request is larger than a zygote takes.
    unknown = msgspec.structs.replace(huge, referee=msgspec.structs.replace(huge.referee, size=0))
    for wanted in (unknown, huge, jail.job(ONE, IS_ONE)):
        outcome = jail.run(wanted)
        assert (wanted.tag, "passed") == (outcome.tag, outcome.report["status"])


def test_nothing_stays_behind(jail: Jailed):
    """A pool that is closed in the middle of a job leaves no process and no folder behind."""
    start(
        jail,
        "import threading, time\n[threading.Thread(target=time.sleep, args=(60,)).start() for _ in range(3)]\n" + SLEEP,
    )
    mine = [process for name in ("jail", "referee") for process in family(zygote(jail, name)[0].pid)]
    # For each zygote: its parent, itself, the template, the kept process, and the process of the job.
    assert len(mine) == 10
    folders = zygote_folders(jail.pool)
    jail.pool.close()
    until(lambda: not [process for process in mine if process.alive], "the end of everything")
    assert [] == [folder for folder in folders if folder.exists()]


def test_the_folders_of_zygotes_are_removed(jail: Jailed):
    """Somebody who tidies up among temporary files costs a job at most; closing goes on as ever."""
    assert jail.check(ONE, IS_ONE).passed
    for folder in zygote_folders(jail.pool):
        shutil.rmtree(folder)
    writes = "def f():\n    open('x', 'w').close()\n    return 1\n"
    for _ in range(3):
        outcome = jail.run(jail.job(writes, IS_ONE, allow_kept=False))
        assert outcome.ended == "fault" or "passed" == outcome.report["status"]
    for folder in zygote_folders(jail.pool):
        shutil.rmtree(folder)
    jail.pool.close()


def test_closing_twice(jail: Jailed):
    """Closing a pool twice closes no descriptor that belongs to somebody else."""
    jail.pool.close()
    other = os.open("/dev/null", os.O_RDONLY)
    try:
        jail.pool.close()
        os.fstat(other)
    finally:
        os.close(other)


SUPERVISOR = """
import sys
sys.path[:0] = {path!r}
from jailed import IS_ONE, Jailed
jail = Jailed({level!r})
jail.pool.start(0, jail.job({program!r}, IS_ONE))
jail.pool.wait(0.3)
print("running", flush=True)
jail.pool.wait(60)
"""


@pytest.mark.parametrize("level", ["full", "restricted"])
def test_the_supervisor_is_killed(level: str):
    """When the supervisor is killed in the middle of a job, all processes that it started end."""
    need(level)
    code = SUPERVISOR.format(path=[str(Path(__file__).parent)], level=level, program="while True: pass\n")
    left = tempfile.mkdtemp(prefix="passcurve-test-")
    Path(left).chmod(0o711)
    env = {**os.environ, "TMPDIR": left}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=env) as supervisor:
        assert b"running\n" == supervisor.stdout.readline()

        def all_of_them() -> list[Process]:
            # The fork server; of each zygote its parent, itself, the template, and what is kept or has the job.
            return mine if len(mine := descendants(supervisor.pid)) >= 10 else []

        mine = until(all_of_them, "the process of the job")
        supervisor.kill()
    try:
        until(lambda: not [process for process in mine if process.alive], "the end of everything")
    finally:
        for process in mine:
            if process.alive:
                os.kill(process.pid, signal.SIGKILL)
        shutil.rmtree(left)


@pytest.mark.parametrize("level", ["full", "restricted"])
def test_the_supervisor_is_interrupted(level: str):
    """A signal from the terminal reaches the supervisor only: its zygotes have sessions of their own."""
    with jail_at(level) as jail:
        assert jail.check(ONE, IS_ONE).passed
        for name in ("jail", "referee"):
            for process in zygote(jail, name):
                assert os.getsid(process.pid) != os.getsid(0)


@pytest.mark.ci
def test_descriptors_of_the_supervisor(jail: Jailed):
    """Jobs leave no descriptor open in the supervisor, whatever became of them."""

    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    programs = (ONE, "def f():\n    return 2\n", "import os\nos._exit(1)\n", "def f(:\n")
    for program in programs:
        jail.check(program, IS_ONE)
    before = opened()
    for _ in range(5):
        for program in programs:
            jail.check(program, IS_ONE)
    assert before == opened()


def test_a_flood_on_the_connection(jail: Jailed):
    """A sample that writes garbage without end is a crash, and delays no other."""
    program = (
        "import os, stat\n"
        "def f():\n"
        "    lines = [n for n in range(3, 64) if is_line(n)]\n"
        "    while True:\n"
        "        for n in lines:\n"
        "            os.write(n, b'\\xff' * 65536)\n"
        "def is_line(n):\n"
        "    try:\n"
        "        return stat.S_ISSOCK(os.fstat(n).st_mode)\n"
        "    except OSError:\n"
        "        return False\n"
    )
    start_s = time.monotonic()
    verdict = jail.check(program, IS_ONE)
    assert ("crash", ("wrote on the line to the tests",)) == (verdict.status, verdict.suspicious)
    assert time.monotonic() - start_s < 10
    assert jail.check(ONE, IS_ONE).passed


def test_each_sample_has_its_own_socket(jail: Jailed):
    """Bytes that a sample leaves on its connection reach no other sample."""
    program = (
        "import os\n"
        "def f():\n"
        "    for n in range(3, 10):\n"
        "        try:\n"
        "            os.write(n, b'\\1\\0\\0\\0N' * 10)\n"
        "        except OSError:\n"
        "            pass\n"
        "    return 1\n"
    )
    for _ in range(5):
        assert "passed" != jail.check(program, IS_ONE).status
        assert jail.check(ONE, IS_ONE).passed


REPORTS = {
    "none": b"[]",
    "no number": b'{"status": "passed"}',
    "nothing of the referee": b'{"passed": true}',
    "a referee's greeting": b'{"closed": true}',
    "fields of other types": b'{"status": 1, "number": "0"}',
    "a time that is no number": b'{"status": "passed", "number": 0, "cpu_ns": "long"}',
}


@pytest.mark.parametrize("name", REPORTS)
def test_tests_that_write_reports_of_their_own(jail: Jailed, name: str):
    """Tests that write nonsense to the supervisor get a retry, and the next job passes."""
    report = REPORTS[name]
    test = (
        "import os\n"
        "def check(candidate):\n"
        "    assert candidate() == 1\n"
        f"    data = {len(report).to_bytes(4, 'little') + report!r}\n"
        "    for n in range(3, 12):\n"
        "        try:\n"
        "            os.write(n, data)\n"
        "        except OSError:\n"
        "            pass\n"
    )
    outcome = jail.run(jail.job(ONE, test))
    assert outcome.garbage
    assert needs_retry(outcome)
    assert jail.check(ONE, IS_ONE).passed


def new_zygote(jail: Jailed) -> ZygoteClient:
    """Start a zygote for samples whose kept processes are rewound."""
    settings = msgspec.structs.replace(jail.sandbox.zygote_settings, rewinds=True)
    return ZygoteClient("jail", jail.sandbox.fork_server, settings, None)


@pytest.mark.ci
def test_a_zygote_is_killed_while_its_walls_are_built(jail: Jailed):
    """A zygote that is killed while it builds its walls is reported as killed."""
    killed = []
    for number in range(30):
        zygote = new_zygote(jail)
        time.sleep(number * 0.001)
        os.kill(zygote.pid, signal.SIGKILL)
        try:
            zygote.wait_ready()
        except KilledError:
            killed.append(number)
        finally:
            zygote.close()
    # Later ones may have built them already.
    assert 0 in killed


@pytest.mark.ci
def test_children_that_are_killed_at_once(jail: Jailed):
    """A child that is killed before it reads its order leaves nothing to the next one."""
    jail.pool.close()
    zygote = new_zygote(jail)
    tags = list(range(1, 201))
    ended: list[int] = []
    try:
        zygote.wait_ready()
        zygote.connection.settimeout(10.0)
        with Path("/dev/null").open("rb") as nothing:
            for tag in tags:
                order = {"do": "run", "role": SAMPLE_ROLES[0], "tag": tag, "cpu": 0}
                zygote.send(order, [nothing.fileno(), nothing.fileno()])
                time.sleep(tag % 20 * 0.0001)
                zygote.send({"do": "end"})
                while len(ended) < tag:
                    frames = zygote.frames.feed(zygote.connection.recv(1 << 16))
                    ended += [exit_status.unpack(frame).tag for frame in frames]
    finally:
        zygote.close()
    assert tags == ended


def test_a_fork_server_is_interrupted(jail: Jailed):
    """An answer that an interruption cut off is not taken for the answer to the next order."""
    fork_server = jail.sandbox.fork_server
    ours, theirs = socket.socketpair()
    first = fork_server.fork(theirs)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    server_pid = read_process(first).parent
    os.kill(server_pid, signal.SIGSTOP)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            fork_server.fork(theirs)
    finally:
        signal.signal(signal.SIGALRM, before)
        os.kill(server_pid, signal.SIGCONT)
    ours.close()
    theirs.close()
    assert fork_server.reap(first, 5.0) == 1
    assert jail.check(ONE, IS_ONE).passed


def test_a_fork_server_is_killed(jail: Jailed):
    """The zygotes of a killed fork server are reported as killed, and the next one serves new ones."""
    fork_server = jail.sandbox.fork_server
    ours, theirs = socket.socketpair()
    first = fork_server.fork(theirs)
    server = read_process(read_process(first).parent)
    os.kill(server.pid, signal.SIGKILL)
    until(lambda: not server.alive, "the end of the fork server")
    second = fork_server.fork(theirs)
    assert fork_server.reap(first) == -signal.SIGKILL
    ours.close()
    theirs.close()
    assert fork_server.reap(second, 5.0) == 1
    assert jail.check(ONE, IS_ONE).status in ("passed", "void")
    assert jail.check(ONE, IS_ONE).passed
