"""From orders to stored completions, with programs and functions that err, and a judge that is behind."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time

import pytest

from passcurve.generation.engine import MAX_FAILURES_IN_A_ROW, MAX_READY, GenerationEngine, GenerationRequest
from passcurve.models.backend import Settings
from passcurve.models.command import Command
from passcurve.models.function import Function
from passcurve.store.completions import Completions, SessionConfig
from passcurve.types import Decoding, Generation, Prompt

PROMPTS = tuple(Prompt(problem_id=f"p/{number}", text="def f():\n", stub="", reference="") for number in range(4))
LONG_S = 30.0
"""What is waited for has come before this."""

BATCHES = """
import json, sys
batch = []
for line in sys.stdin:
    batch.append(json.loads(line))
    if len(batch) == 8:
        said = [json.dumps({"id": each["id"], **answer(at)}) + "\\n" for at, each in enumerate(batch)]
        sys.stdout.write("".join(said))
        sys.stdout.flush()
        batch.clear()
"""
"""Answers eight questions at once, each as ``answer`` says."""


@pytest.fixture
def generating(tmp_path):
    """Return how to generate with a back end; all is closed in the end."""
    made = []

    def make(backend, n, concurrency=8, **more):
        generation = Generation(
            version="1",
            benchmark="b",
            benchmark_digest="",
            model="m",
            identity={},
            prompt="base",
            prompt_digest="",
            decoding=Decoding(),
        )
        store = Completions(tmp_path, SessionConfig(generation=generation, n=n, settings={}))
        asked = GenerationRequest(prompts=PROMPTS, n=n, decoding=Decoding(), concurrency=concurrency, **more)
        made.append(GenerationEngine(asked, store, backend))
        made[-1].begin()
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def program(tmp_path):
    """Return the back end that runs a text as a program."""

    def make(text, concurrency=8):
        path = tmp_path / "program.py"
        path.write_text(text, "utf-8")
        return Command.open(f"{sys.executable} {path}", Settings(request_timeout_s=LONG_S, concurrency=concurrency))

    return make


def had(generating):
    """Return the problem and the index of each completion, once no more come."""
    found, until = [], time.monotonic() + LONG_S
    for each in generating.completions():
        assert time.monotonic() < until
        if each is None:
            time.sleep(0.01)
        else:
            found.append((each.key.problem_id, each.key.sample_index))
    return found


@pytest.mark.parametrize(
    ("answer", "fails", "said"),
    [
        ("{'error': f'no memory {at}'} if at < 3 else {'completion': 'x'}", MAX_FAILURES_IN_A_ROW, "no memory 2"),
        ("{'completion': None if at == 1 else 'x'}", 1, "must have a string 'completion' or 'solution'"),
    ],
)
def test_what_is_open_when_it_ends_is_had(generating, program, answer, fails, said):
    """What ends a run costs no answer to what was asked before: it was paid for."""
    run = generating(program(f"answer = lambda at: {answer}\n{BATCHES}"), 4)
    found = had(run)
    assert said in str(run.error)
    assert (8 - fails, 8 - fails) == (len(found), len(set(found)))
    assert 16 - len(found) == sum(run.missing().values())


def test_failures_that_are_not_in_a_row(generating, program):
    """A sample that fails now and then ends nothing, and is the only one that is missing."""
    run = generating(
        program(f"answer = lambda at: {{'error': 'no'}} if at in (2, 5) else {{'completion': 'x'}}\n{BATCHES}"), 4
    )
    assert 12 == len(set(had(run)))
    assert (None, 4) == (run.error, sum(run.missing().values()))


def test_a_program_is_asked_for_one_at_a_time(generating, program, tmp_path):
    """With several samples for each request no more are open than requests may be."""
    text = (
        "import json, os, select\n"
        "while lines := os.read(0, 1 << 16):\n"
        "    while select.select([0], [], [], 0.1)[0] and (chunk := os.read(0, 1 << 16)):\n"
        "        lines += chunk\n"
        "    asked = [json.loads(line)['id'] for line in lines.splitlines()]\n"
        f"    open({str(tmp_path / 'most')!r}, 'a').write(f'{{len(asked)}}\\n')\n"
        "    for each in asked:\n"
        "        print(json.dumps({'id': each, 'completion': 'x'}), flush=True)\n"
    )
    assert 20 == len(set(had(generating(program(text, 3), 5, 3, per_request=5))))
    assert 3 == max(map(int, (tmp_path / "most").read_text().split()))


@pytest.mark.parametrize("per_request", [1, 3])
@pytest.mark.parametrize("kind", ["program", "function"])
def test_a_judge_that_is_behind(generating, program, kind, per_request):
    """When what waits for the judge is enough, no more is asked for until it has taken some."""
    concurrency = 4
    if kind == "program":
        text = (
            "import json, sys\n"
            "for line in sys.stdin:\n"
            "    print(json.dumps({'id': json.loads(line)['id'], 'completion': 'x'}), flush=True)\n"
        )
        backend = program(text, concurrency)
    else:
        backend = Function(lambda prompt: prompt)
    run = generating(backend, 100, concurrency, per_request=per_request)
    until = time.monotonic() + LONG_S
    while run.progress().fresh < MAX_READY:
        assert time.monotonic() < until
        time.sleep(0.01)
    # Time to ask for more, if it did.
    time.sleep(0.3)
    assert MAX_READY <= run.progress().fresh <= MAX_READY + concurrency * per_request
    found = had(run)
    assert (400, 400, 0) == (len(found), len(set(found)), sum(run.missing().values()))


def test_as_many_threads_as_requests(generating):
    """A back end that answers one order at a time is called by as many threads as requests may be open."""
    together = threading.Barrier(3)

    def answer(prompt):
        together.wait(LONG_S)
        return prompt

    assert 12 == len(set(had(generating(Function(answer), 3, 3))))


STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
open("begun", "w").write(str(os.getpid()))
time.sleep(60)
"""


def test_a_second_interruption_leaves_no_program(shell):
    """Who does not want to wait until a program has ended by itself has it ended at once."""
    (shell.folder / "stubborn.py").write_text(STUBBORN)
    model = f"command:{sys.executable} stubborn.py"
    session = shell.start("run", "starter", "--model", model, "-n", 2, "--run", "r")
    begun, until = shell.folder / "begun", time.monotonic() + LONG_S
    while not (begun.exists() and begun.read_text()):
        assert time.monotonic() < until
        time.sleep(0.01)
    for _ in range(2):
        session.send_signal(signal.SIGINT)
        time.sleep(0.3)
    # To the end of its stderr, which the program has, too.
    _, err = session.communicate(timeout=LONG_S)
    assert (130, b"passcurve: interrupted") == (session.returncode, err.strip().splitlines()[-1])
    assert time.monotonic() < until


def test_a_run_with_a_program(shell):
    """A program writes, what it writes is judged, and what is there is not asked for again."""
    (shell.folder / "right.py").write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    open('asked', 'a').write('x')\n"
        "    text = '    return 1\\n' * (asked['sample_index'] % 2)\n"
        "    print(json.dumps({'id': asked['id'], 'completion': text}), flush=True)\n"
    )
    words = ("run", "starter", "--model", f"command:{sys.executable} right.py", "--problems", "starter/[0-2]")
    for n in (3, 5):
        done = shell(*words, "-n", n, "--run", "r", "--json")
        assert (0, 3 * n) == (done.code, done.record["samples"]), done.err
        assert 3 * n == len((shell.folder / "asked").read_text())
    lines = [line for part in (shell.folder / "r").glob("completions-*") for line in part.read_bytes().splitlines()]
    rows = [json.loads(line) for line in lines]
    assert {(f"starter/{task}", index) for task in range(3) for index in range(5)} == {
        (row["task_id"], row["sample_index"]) for row in rows
    }
    assert 15 == len(rows)
