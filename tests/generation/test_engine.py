"""From requests to stored completions: back ends that fail, and a judge that is behind."""

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
"""Longest wait of a test."""

BATCHES = """
import json, sys
batch = []
for line in sys.stdin:
    batch.append(json.loads(line))
    if len(batch) == 8:
        lines = [json.dumps({"id": question["id"], **answer(at)}) + "\\n" for at, question in enumerate(batch)]
        sys.stdout.write("".join(lines))
        sys.stdout.flush()
        batch.clear()
"""
"""Answers eight questions at once, each as ``answer`` says."""


@pytest.fixture
def generate(tmp_path):
    """Return a function that begins to generate with a back end; each engine is closed at the end."""
    engines = []

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
        request = GenerationRequest(prompts=PROMPTS, n=n, decoding=Decoding(), concurrency=concurrency, **more)
        engines.append(GenerationEngine(request, store, backend))
        engines[-1].begin()
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()


@pytest.fixture
def program(tmp_path):
    """Return the back end that runs a text as a program."""

    def make(text, concurrency=8):
        path = tmp_path / "program.py"
        path.write_text(text, "utf-8")
        return Command.open(f"{sys.executable} {path}", Settings(request_timeout_s=LONG_S, concurrency=concurrency))

    return make


def collect(engine):
    """Return the problem and the index of each completion, when no more come."""
    keys, deadline = [], time.monotonic() + LONG_S
    for completion in engine.completions():
        assert time.monotonic() < deadline
        if completion is None:
            time.sleep(0.01)
        else:
            keys.append((completion.key.problem_id, completion.key.sample_index))
    return keys


@pytest.mark.parametrize(
    ("answer", "failures", "message"),
    [
        ("{'error': f'no memory {at}'} if at < 3 else {'completion': 'x'}", MAX_FAILURES_IN_A_ROW, "no memory 2"),
        ("{'completion': None if at == 1 else 'x'}", 1, "must have a string 'completion' or 'solution'"),
    ],
)
def test_open_requests_are_finished(generate, program, answer, failures, message):
    """The end of a run costs no reply to an open request: it was paid for."""
    run = generate(program(f"answer = lambda at: {answer}\n{BATCHES}"), 4)
    keys = collect(run)
    assert message in str(run.error)
    assert (8 - failures, 8 - failures) == (len(keys), len(set(keys)))
    assert 16 - len(keys) == sum(run.missing().values())


def test_failures_that_are_not_in_a_row(generate, program):
    """Failures that are not in a row end nothing; only their samples are missing."""
    run = generate(
        program(f"answer = lambda at: {{'error': 'no'}} if at in (2, 5) else {{'completion': 'x'}}\n{BATCHES}"), 4
    )
    assert 12 == len(set(collect(run)))
    assert (None, 4) == (run.error, sum(run.missing().values()))


def test_a_program_that_fails_on_one_problem(generate, program):
    """The samples of a problem on which the program always fails are missing; all others are there."""
    text = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    answer = {'error': 'no'} if asked['task_id'] == 'p/2' else {'completion': 'x'}\n"
        "    print(json.dumps({'id': asked['id'], **answer}), flush=True)\n"
    )
    run = generate(program(text), 20)
    assert 60 == len(set(collect(run)))
    assert (None, {"p/2": 20}) == (run.error, run.missing())


@pytest.mark.ci
def test_a_program_gets_no_more_requests_than_its_limit(generate, program, tmp_path):
    """With several samples per request, no more samples are open than requests may be."""
    text = (
        "import json, os, select\n"
        "while lines := os.read(0, 1 << 16):\n"
        "    while select.select([0], [], [], 0.1)[0] and (chunk := os.read(0, 1 << 16)):\n"
        "        lines += chunk\n"
        "    ids = [json.loads(line)['id'] for line in lines.splitlines()]\n"
        f"    open({str(tmp_path / 'most')!r}, 'a').write(f'{{len(ids)}}\\n')\n"
        "    for name in ids:\n"
        "        print(json.dumps({'id': name, 'completion': 'x'}), flush=True)\n"
    )
    assert 20 == len(set(collect(generate(program(text, 3), 5, 3, per_request=5))))
    assert 3 == max(map(int, (tmp_path / "most").read_text().split()))


@pytest.mark.parametrize("per_request", [1, 3])
@pytest.mark.parametrize("kind", ["program", "function"])
def test_a_judge_that_is_behind(generate, program, kind, per_request):
    """No more requests are sent while enough completions wait for the judge."""
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
    run = generate(backend, 100, concurrency, per_request=per_request)
    until = time.monotonic() + LONG_S
    while run.progress().fresh < MAX_READY:
        assert time.monotonic() < until
        time.sleep(0.01)
    # Time to send more, if the engine did.
    time.sleep(0.3)
    assert MAX_READY <= run.progress().fresh <= MAX_READY + concurrency * per_request
    keys = collect(run)
    assert (400, 400, 0) == (len(keys), len(set(keys)), sum(run.missing().values()))


def test_as_many_threads_as_requests(generate):
    """A back end that serves one request at a time is called by as many threads as requests may be open."""
    barrier = threading.Barrier(3)

    def answer(prompt):
        barrier.wait(LONG_S)
        return prompt

    assert 12 == len(set(collect(generate(Function(answer), 3, 3))))


STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
open("begun", "w").write(str(os.getpid()))
time.sleep(60)
"""


@pytest.mark.ci
def test_a_second_interruption_leaves_no_program(shell):
    """A second Ctrl-C ends a program at once, without waiting for it."""
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


@pytest.mark.ci
def test_a_run_with_a_program(shell):
    """The samples of a program are judged, and stored samples are not requested again."""
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
