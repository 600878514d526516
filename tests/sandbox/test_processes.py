"""Samples that may start processes: what works, what stays refused, and that nothing outlives its sample."""

from __future__ import annotations

import itertools
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from jailed import LIMITS, Jailed, descendants, find_isolation, need, zygotes

from passcurve.judging.plan import CheckPlan, make_job
from passcurve.judging.verdict import reach_verdict
from passcurve.sandbox import probe as isolation
from passcurve.sandbox.forkserver_client import PYTHON_ROLES, ForkServerClient
from passcurve.sandbox.layers import syscalls
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.spare_zygote import SpareZygote
from passcurve.sandbox.startup import Sandbox
from passcurve.sandbox.zygote.job_process import JobProcess, other_processes
from passcurve.types import Problem, SampleKey, UnitTests, Verdict

TESTS = "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(f(), 1)\n"
RIGHT = "def f():\n    return 1\n"
_TAGS = itertools.count(1)


class ProcessJail(Jailed):
    """A jail whose samples may start processes, and that has imported a module for them."""

    def _open_pool(self, toolchain: Any) -> None:
        self.sandbox = Sandbox(
            toolchain=toolchain,
            fork_server=ForkServerClient(toolchain.executable, PYTHON_ROLES),
            spare=SpareZygote(),
            probe=isolation.allow_processes(self.probe),
            limits=self.limits,
            preload=("unittest.mock", "colorsys", "no.such.module"),
        )
        self.pool = Pool(1, self.sandbox)


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessJail]:
    """Return a jail whose samples may start processes."""
    need("full")
    with ProcessJail("full") as jail:
        yield jail


def run(jail: Jailed, body: str) -> Verdict:
    """Judge a program whose function must return 1, by the body of that function."""
    return judge(jail, "def f():\n" + "".join(f"    {line}\n" for line in body.split("\n")))


def judge(jail: Jailed, functions: str) -> Verdict:
    """Judge a program whose function must return 1."""
    program = "import os, signal, subprocess, sys, time\n" + functions
    problem = Problem(id="T", prompt="", entry_point="f", check=UnitTests(source=TESTS, processes=True))
    job = make_job(problem, program, CheckPlan(mode="shared"), LIMITS, 0, next(_TAGS))
    return reach_verdict(SampleKey(problem_id="T", sample_index=0), job, jail.run(job))


WORKS = {
    "a shell": "return int(subprocess.run('echo 1', shell=True, capture_output=True).stdout)",
    "Python": "return int(subprocess.check_output([sys.executable, '-c', 'print(1)']))",
    "fork": "pid = os.fork()\nif not pid:\n    os._exit(1)\nreturn os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])",
    "ending a child": "child = subprocess.Popen(['sleep', '60'])\nchild.kill()\nreturn int(child.wait() == -9)",
    "a pool of processes": "from concurrent.futures import ProcessPoolExecutor\nimport multiprocessing as m\n"
    "p = m.get_context('fork').Process(target=int)\np.start()\np.join()\nreturn int(p.exitcode == 0)",
    "what it reads about itself": "return int('[stack]' in open('/proc/self/maps').read())",
    "a module that is loaded": "return int('colorsys' in sys.modules)",
}


def test_what_works(processes: ProcessJail):
    """Programs and Python run, children are waited for and ended, and modules are there from the start."""
    for name, body in WORKS.items():
        verdict = run(processes, body)
        assert verdict.passed, (name, verdict)
        assert not verdict.suspicious, (name, verdict)


REFUSED = {
    "the zygote": "os.kill(1, 9)\nreturn 1",
    "the template": "for pid in range(2, os.getpid()):\n    os.kill(pid, 9)\nreturn 1",
    "a group": "os.killpg(os.getpgid(1) or 1, 9)\nreturn 1",
    "all": "os.kill(-1, 9)\nreturn 1",
    "a namespace": "return int(subprocess.run(['unshare', '-U', 'true']).returncode == 0)",
    "a socket": "import socket\nsocket.socket()\nreturn 1",
    "a descriptor in a message": "import socket\npair = socket.socketpair()\n"
    "socket.send_fds(pair[0], [b'x'], [0])\nreturn 1",
    "another's memory": "return len(open('/proc/1/mem', 'rb').read(0)) + 1",
    "a program of its own": "open('p', 'w').write('#!/bin/sh\\necho 1')\nos.chmod('p', 0o755)\n"
    "return int(subprocess.check_output(['./p']))",
}


def test_what_stays_refused(processes: ProcessJail):
    """Processes of ours cannot be signalled or read, and all other walls stand."""
    for name, body in REFUSED.items():
        assert "failed" == run(processes, body).status, name
    assert run(processes, "return 1").passed


LEFT = {
    "a daemon": "if os.fork() == 0:\n    os.setsid()\n    if os.fork():\n        os._exit(0)\n"
    "    time.sleep(600)\nreturn 1",
    "many": "for _ in range(200):\n    try:\n        if os.fork() == 0:\n            while True: os.fork()\n"
    "    except OSError:\n        pass\nreturn 1",
    "one that writes": "subprocess.Popen('while :; do echo x > /tmp/left; done', shell=True)\nreturn 1",
    "one that has no parent": "if os.fork() == 0:\n    time.sleep(600)\nos._exit(0)",
}


def test_nothing_outlives_its_sample(processes: ProcessJail):
    """Whatever a sample leaves behind has ended before the next one runs."""
    assert run(processes, "return 1").passed
    before = count_of_zygotes(processes)
    for name, body in LEFT.items():
        run(processes, body)
        verdict = run(processes, "return 1 + len(os.listdir('/tmp'))")
        assert verdict.passed, (name, verdict)
        assert before == count_of_zygotes(processes), name


SIZE, EXIT = LIMITS.memory_bytes // 4, syscalls.numbers(platform.machine())["exit"]
HOLD = f"held = b'x' * {SIZE}"
TOO_MUCH = {
    "each its own": f"if os.fork() == 0:\n        {HOLD}\n        signal.pause()",
    "each that of a parent which has ended": f"if os.fork() == 0:\n        {HOLD}\n"
    "        os._exit(0) if os.fork() else signal.pause()",
    "each that of a parent which has given it back": f"if os.fork() == 0:\n        {HOLD}\n"
    "        if os.fork() == 0: signal.pause()\n        held = None\n        signal.pause()",
    # The thread begins to hold once the first one has ended, which alone is looked at otherwise.
    "each in a thread of one whose first thread has ended": "if os.fork() == 0:\n        import ctypes, threading\n"
    f"        threading.Thread(target=lambda: [time.sleep(0.1), {SIZE} * b'x', signal.pause()]).start()\n"
    f"        ctypes.CDLL(None).syscall({EXIT}, 0)",
}


@pytest.mark.parametrize("what", TOO_MUCH)
def test_processes_over_the_limit_of_memory(processes: ProcessJail, what: str):
    """Each within its own limit, and all of them over it together, are out of memory."""
    verdict = run(processes, f"for _ in range(8):\n    {TOO_MUCH[what]}\nsignal.pause()\nreturn 1")
    assert ("memory", True) == (verdict.status, "together" in verdict.message), verdict


# The zygote adds up their memory every 20 ms, so they must live for longer than one look.
FORKS = {
    "three forks": "",
    "three forks and one that their parent has left": "if os.fork() == 0:\n    if os.fork() == 0:\n"
    "        time.sleep(0.5)\n    os._exit(0)\n",
}


@pytest.mark.parametrize("what", FORKS)
def test_memory_that_processes_share_counts_once(processes: ProcessJail, what: str):
    """Forks of a program that holds much are within the limit until they hold much themselves."""
    verdict = run(
        processes,
        f"{HOLD}\n{FORKS[what]}forks = []\n"
        "while len(forks) < 3 and 0 not in forks:\n    forks.append(os.fork())\n"
        # The zygote adds up their memory every 20 ms, so they must live for longer than one look.
        "if 0 in forks:\n    time.sleep(0.5)\n    os._exit(0)\n"
        "return int([os.waitpid(pid, 0)[1] for pid in forks] == [0, 0, 0])",
    )
    assert verdict.passed, verdict


TRIED_IN_FORKS = """
tried = -1
class Guess(int):
    def __del__(self):
        # Where the test fails its traceback holds the value until the end of the process.
        if tried >= 0:
            os.write(tried, b"right")
def f():
    for number in range(9):
        global tried
        out, into = os.pipe()
        pid = os.fork()
        if not pid:
            # Nothing of ours can report how the test ends.
            os.closerange(3, out)
            tried = into
            return Guess(number)
        os.close(into)
        is_right = os.read(out, 5)
        os.close(out)
        os.waitpid(pid, 0)
        if is_right:
            return number
"""


def test_answers_tried_in_forks(processes: ProcessJail):
    """A program that knows no answer passes by trying some, as docs/verdicts.md says; one that tries too few fails."""
    passed, failed = (
        judge(processes, TRIED_IN_FORKS.replace("range(9)", numbers)) for numbers in ("range(9)", "range(2, 9)")
    )
    assert (True, ()) == (passed.passed, passed.suspicious), passed
    assert "failed" == failed.status, failed


SPARSE = """
import mmap, sys
size = 48 << 30
memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
sum(memory[place] for place in range(0, size, 2 << 20))
print(flush=True)
sys.stdin.read()
"""


def test_page_tables_are_memory():
    """A process that reads one byte in every 2 MiB holds 4 KiB of tables for each, and no other memory."""
    with subprocess.Popen([sys.executable, "-c", SPARSE], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert b"\n" == child.stdout.readline()
        process = JobProcess(child.pid, 1, 0, others=lambda: {*other_processes({child.pid})})
        try:
            assert process.holds_over(64 << 20)
            assert not process.holds_over(256 << 20)
        finally:
            os.close(process.end_descriptor)


def count_of_zygotes(jail: Jailed) -> int:
    """Return how many processes are below the zygotes, to which the kernel gives those that have lost their parent."""
    return sum(len(descendants(zygote.pid)) for zygote in zygotes(jail.pool).values())


def test_no_processes_without_namespaces():
    """Where no process namespace ends them, samples start no processes."""
    need("restricted")
    _, probe = find_isolation("restricted")
    if not probe.walls.namespaces:
        assert probe == isolation.allow_processes(probe)
