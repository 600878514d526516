"""Forks of the process that has a judge, as trainers make them to load data: nothing waits for a copy.

Each case is a process of its own, with children that sleep until they are killed.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAD = """
import contextlib, os, signal, subprocess, sys, threading, time
import passcurve as pc
from passcurve.errors import SandboxError

RIGHT = [{"task_id": "starter/0", "completion": COMPLETION}]

def fork(child=lambda: time.sleep(60)):
    pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):
            child()
            os._exit(0)
        os._exit(1)
    return pid

def end(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)

def took(call):
    began = time.monotonic()
    call()
    return time.monotonic() - began
"""

CASES = {
    # Whoever closes the judge waits for no copy of its sockets.
    "close": """
judge = pc.Judge("starter", workers=2).__enter__()
judge(RIGHT)
child = fork()
print(took(judge.close) < 1.0)
end(child)
""",
    # A child that closes or revives its copy, or judges, leaves the parent alone.
    "a child closes": """
with pc.Judge("starter", workers=1) as judge:
    judge(RIGHT)
    assert 0 == os.waitpid(fork(judge.close), 0)[1]
    before = time.process_time()
    time.sleep(0.5)
    print(time.process_time() - before < 0.25 and judge(RIGHT)[0].passed)
""",
    "a child revives": """
def child():
    assert not judge.is_alive
    judge.revive()
    assert judge(RIGHT)[0].passed
    judge.close()
with pc.Judge("starter", workers=1) as judge:
    judge(RIGHT)
    print(0 == os.waitpid(fork(child), 0)[1] and judge(RIGHT)[0].passed)
""",
    "a child judges": """
def child():
    try:
        judge(RIGHT)
    except SandboxError as error:
        assert "closed" in str(error)
        os._exit(0)
    os._exit(1)
with pc.Judge("starter", workers=1) as judge:
    stop = False
    def submit():
        while not stop:
            judge(RIGHT)
    threads = [threading.Thread(target=submit) for _ in range(3)]
    [thread.start() for thread in threads]
    statuses = {os.waitpid(fork(child), 0)[1] for _ in range(30)}
    stop = True
    [thread.join() for thread in threads]
    print(statuses == {0})
""",
    # The end of a sample is seen, whatever was forked while it began.
    "samples end": """
children = []
leave = [{"task_id": "starter/0", "completion": "    import os; os._exit(%d)" % n} for n in range(20)]
with pc.Judge("starter", workers=1) as judge:
    stop = False
    def forks():
        while not stop and len(children) < 200:
            children.append(fork())
            time.sleep(0.01)
    thread = threading.Thread(target=forks)
    thread.start()
    seconds = took(lambda: print({one.status for one in judge(leave)}))
    stop = True
    thread.join()
    print(seconds < 8.0)
    [end(child) for child in children]
""",
    # A run directory is free once its process has been killed.
    "a killed run": """
loops = [{"task_id": "starter/0", "completion": "    while True: pass"}]
script = '''
import os, threading, time
import passcurve as pc
threading.Thread(target=pc.judge, args=(%r, "starter"), kwargs={"run": "r", "timeout_s": 3.0}, daemon=True).start()
# The lock is held once there is a part to write to.
while not (os.path.exists("r") and any(name.startswith("verdicts-") for name in os.listdir("r"))):
    time.sleep(0.01)
print(os.fork() or time.sleep(60), flush=True)
time.sleep(60)
''' % loops
process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
child = int(process.stdout.readline())
process.kill()
process.wait()
try:
    (row,) = pc.judge(loops, "starter", run="r", timeout_s=3.0).samples
    print(row["status"] == "timeout" and os.path.exists(f"/proc/{child}"))
finally:
    os.kill(child, signal.SIGKILL)
""",
}
IN_CI = ("close", "a killed run")
PRINTED = {"samples end": "{'crash'}\nTrue\n"}


@pytest.mark.ci
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[] if case in IN_CI else pytest.mark.nightly) for case in CASES]
)
def test_forks(case: str, starter, tmp_path) -> None:
    """Nothing hangs, spins or is taken for something else because of a copy."""
    head = HEAD.replace("COMPLETION", repr(starter.right()["completion"]))
    done = subprocess.run(
        [sys.executable, "-c", head + CASES[case]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (0, PRINTED.get(case, "True\n")) == (done.returncode, done.stdout), done.stderr
