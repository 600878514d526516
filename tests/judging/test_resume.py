"""Interruptions of every kind: no verdict is lost, doubled or different, and no process is left."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time

import pytest

TASKS = [f"starter/{number}" for number in range(10)]
EACH = 30
KILLS = 20
STATUSES = ("passed", "failed", "compile")
"""Of the rows that the shipped benchmark's ``mixed`` makes, in turn."""


@pytest.fixture
def rows(starter):
    """Return 300 cheap rows, all different."""
    return starter.mixed(TASKS, EACH)


EXPECTED = [(task, STATUSES[number % 3]) for task in TASKS for number in range(EACH)]


def check_whole(run, done, expected=EXPECTED):
    """Check that a run has ended normally, with every row exactly once."""
    assert 0 == done.code, done.err
    assert expected == run.results()
    assert list(range(len(expected))) == sorted(run.stored()), "a row is stored twice, or not at all"
    record = done.record
    assert (len(expected), 0, 0) == (record["samples"], record["owed"], record["malformed"])
    counted = {status: [status for _, status in expected].count(status) for status in STATUSES}
    assert counted == {status: record["statuses"][status] for status in STATUSES}
    assert counted["passed"] / len(expected) == record["pass@1"]["value"]


@pytest.mark.ci
def test_an_undisturbed_run(run_of, rows, nothing_left):
    """The rows that the other tests use have the expected verdicts."""
    run = run_of(rows)
    done = run.end()
    nothing_left()
    check_whole(run, done)
    assert 0 == done.record["resumed"]


@pytest.mark.parametrize(
    ("seed", "kills"),
    [
        (0, 3),
        *(pytest.param(seed, KILLS // 2, marks=pytest.mark.nightly) for seed in (1, 2)),
    ],
)
def test_the_supervisor_is_killed(run_of, rows, nothing_left, seed, kills):
    """After any number of kills of the supervisor the same command resumes and ends normally."""
    moments = random.Random(seed)
    run = run_of(rows)
    for goal in sorted(moments.sample(range(280), kills)):
        session = run.start()
        if moments.random() < 0.2:
            time.sleep(moments.uniform(0, 0.8))
        else:
            run.wait(session, goal)
            time.sleep(moments.uniform(0, 0.01))
        session.kill()
        session.communicate()
        nothing_left()
    kept = len(run.stored())
    done = run.end()
    nothing_left()
    check_whole(run, done)
    assert kept == done.record["resumed"]


def ids_of_kind(kind, processes, supervisor):
    """Return the ids of the fork server, of both halves of the zygotes, or of the processes of the tests."""
    jailed = processes(supervisor)
    fork_servers = [process.pid for process in jailed if process.parent == supervisor]
    if kind == "fork_server":
        return fork_servers
    # The samples' zygote of a worker starts just before that of its tests.  A zygote's second half is the child of its
    # first, and the parent of the referees.
    zygotes = sorted(process.pid for process in jailed if process.parent in fork_servers)
    outer = zygotes[1::2] if kind in ("referee", "tests") else zygotes[::2]
    inner = [process.pid for process in jailed if process.parent in outer]
    return [process.pid for process in jailed if process.parent in inner] if kind == "tests" else [*outer, *inner]


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        pytest.param(*case, marks=pytest.mark.nightly)
        for case in (("jail", 3), ("referee", 4), ("tests", 5), ("fork_server", 6))
    ],
)
def test_a_process_of_the_run_is_killed(run_of, starter, processes, nothing_left, kind, seed):
    """A fork server, zygotes and referees that are killed at any moment cost no verdict."""
    moments = random.Random(seed)
    # Enough rows for the run to outlast the kills.
    rows_per_task = 10 * EACH
    rows = starter.mixed(TASKS, rows_per_task)
    expected = [(task, STATUSES[number % 3]) for task in TASKS for number in range(rows_per_task)]
    run = run_of(rows, "--workers", "2")
    session = run.start()
    killed = 0
    # A job that was hit runs again at the end; one that is hit twice is left to the next session.
    for goal in sorted(moments.sample(range(230), KILLS)):
        run.wait(session, goal)
        time.sleep(moments.uniform(0, 0.005))
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if session.poll() is not None:
                assert 1 == session.returncode
                session.communicate()
                session = run.start()
                # Its workers, not the trial of the walls before them: without that it could not know its isolation.
                run.wait(session, run.count() + 1)
            if pids := ids_of_kind(kind, processes, session.pid):
                try:
                    os.kill(moments.choice(pids), signal.SIGKILL)
                except ProcessLookupError:
                    continue
                killed += 1
                break
    try:
        session.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        pytest.fail(f"the run hangs with {run.count()} of {len(rows)} verdicts stored")
    nothing_left()
    assert KILLS == killed
    assert session.returncode in (0, 1)
    if session.returncode == 1:
        done = run.end()
        nothing_left()
        check_whole(run, done, expected)
    assert expected == run.results()
    assert list(range(len(expected))) == sorted(run.stored())


@pytest.mark.nightly
def test_samples_that_write_nonsense_hold_nobody_up(run_of, nothing_left):
    """Many samples that write garbage on the line to the tests, each of which runs twice, do not stop the run."""
    code = (
        "    import os\n    for line in range(3, 64):\n        try: os.write(line, b'\\4\\0\\0\\0' + b'\\xff' * 4)\n"
        "        except OSError: pass\n    return 1\n"
    )
    run = run_of([{"task_id": "starter/0", "completion": f"    # {turn}\n{code}"} for turn in range(12)])
    session = run.start()
    try:
        session.communicate(timeout=40)
    except subprocess.TimeoutExpired:
        pytest.fail(f"the run hangs with {run.count()} of 12 verdicts stored")
    nothing_left()
    assert [("starter/0", "crash")] * 12 == run.results()


@pytest.mark.ci
@pytest.mark.parametrize(
    "way", ["Ctrl-C", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("SIGINT", "SIGTERM"))]
)
def test_the_user_stops_it(run_of, rows, nothing_left, way):
    """Ctrl-C and SIGTERM end a run with 130 and one line, keep verdicts and plans, and the same command resumes."""
    run = run_of(rows)
    session = run.start()
    run.wait(session, 60)
    if way == "Ctrl-C":
        os.killpg(session.pid, signal.SIGINT)
    else:
        session.send_signal(getattr(signal, way))
    out, err = session.communicate(timeout=30)
    nothing_left()
    assert 130 == session.returncode
    assert 130 == json.loads(out)["exit_code"]
    message = re.fullmatch(
        rb"passcurve: (\d+) of (\d+) rows read are judged and stored in '.*s\.jsonl\.passcurve'; "
        rb"run the same command again to resume\n",
        err,
    )
    assert message, err
    kept = len(run.stored())
    assert 60 <= int(message[1]) == kept
    assert not (run.shell.folder / "s.jsonl_results.jsonl").exists()
    assert [*(run.shell.folder / "cache" / "plans").glob("*.plans")]
    done = run.end()
    check_whole(run, done)
    assert kept == done.record["resumed"]


def kill_at(run, count=40):
    """Start a run and kill it when so many verdicts are stored."""
    session = run.start()
    run.wait(session, count)
    session.kill()
    session.communicate()
    return run


@pytest.mark.ci
@pytest.mark.parametrize(
    "change",
    [
        "another completion",
        pytest.param("fewer rows", marks=pytest.mark.nightly),
        pytest.param("another order", marks=pytest.mark.nightly),
    ],
)
def test_a_changed_file_is_refused(run_of, rows, nothing_left, change):
    """A changed file of samples is refused in one line that says what to do."""
    run = kill_at(run_of(rows))
    nothing_left()
    kept = run.stored()
    altered = list(rows)
    if change == "another completion":
        altered[kept[0]] = {**altered[kept[0]], "completion": "    return 1\n"}
    elif change == "fewer rows":
        altered = altered[: max(kept)]
    else:
        altered[kept[0]], altered[kept[1]] = altered[kept[1]], altered[kept[0]]
    run.shell.write("s.jsonl", altered)
    done = run.end()
    nothing_left()
    assert 2 == done.code
    assert re.fullmatch(r"passcurve: .*s\.jsonl.* changed .*--run.*\n", done.err)
    assert not (run.shell.folder / "s.jsonl_results.jsonl").exists()
    if change == "another completion":
        run.shell.write("s.jsonl", rows)
        check_whole(run, run.end())


@pytest.mark.nightly
def test_other_limits_start_anew(run_of, rows, nothing_left):
    """Verdicts under other limits are not used: all samples are judged again, and a note says so."""
    kill_at(run_of(rows))
    other = run_of(rows, "--timeout", "2")
    done = other.end()
    nothing_left()
    assert 0 == done.record["resumed"]
    assert "timeout_s" in done.err
    check_whole(other, done)


@pytest.mark.ci
def test_two_runs_at_once(run_of, rows, nothing_left):
    """A second run in the same directory is refused with the id of the first, which runs on."""
    # The loop keeps the first run at work until the second has been refused.
    run = run_of([*rows, {"task_id": TASKS[0], "completion": "    while True: pass\n"}])
    session = run.start()
    run.wait(session, 1)
    second = run.end()
    out, _ = session.communicate(timeout=60)
    nothing_left()
    assert 1 == second.code
    assert re.fullmatch(
        rf"passcurve: 's\.jsonl\.passcurve' is in use by process {session.pid}; wait for it to end, .*--run DIR\n",
        second.err,
    )
    assert 0 == session.returncode
    assert 0 == json.loads(out)["owed"]
    assert [*EXPECTED, (TASKS[0], "timeout")] == run.results()


@pytest.mark.ci
def test_a_finished_run_is_judged_afresh(run_of, rows, nothing_left):
    """The same command after a finished run judges all samples again and keeps only the newest attempt."""
    run = run_of(rows[:30])
    first, second = run.end(), run.end()
    nothing_left()
    assert [0, 0] == [first.record["resumed"], second.record["resumed"]]
    assert first.record["statuses"] == second.record["statuses"]
    assert ["finished-0002.json"] == [path.name for path in run.folder.glob("finished-*")]
    check_whole(run, second, EXPECTED[:30])


@pytest.mark.ci
def test_a_torn_line_is_owed_again(run_of, rows, nothing_left):
    """A torn last line costs one verdict, not the run."""
    run = kill_at(run_of(rows))
    part = max(run.folder.glob("verdicts-*.jsonl"))
    text = part.read_bytes()
    part.write_bytes(text[: text.rstrip(b"\n").rfind(b"\n") + 30])
    kept = len(run.stored())
    done = run.end()
    nothing_left()
    assert kept == done.record["resumed"]
    assert 0 == done.code
    assert EXPECTED == run.results()


@pytest.mark.nightly
def test_restricted_runs_leave_no_folder(run_of, rows, nothing_left):
    """A killed run without namespaces leaves no scratch folder after the command has run again."""
    run = run_of(rows, "--isolation", "restricted")
    session = run.start()
    run.wait(session, 40)
    session.kill()
    session.communicate()
    done = run.end()
    nothing_left()
    if done.code == 2:
        pytest.skip(f"this machine cannot give it: {done.err}")
    check_whole(run, done)
    assert [] == list(run.shell.folder.glob("passcurve-*"))
