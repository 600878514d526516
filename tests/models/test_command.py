"""The back end ``command:`` with real programs that answer late, out of order, wrongly, or not at all."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from pathlib import Path

import pytest

from passcurve.errors import ModelError, RefusedError, UsageError
from passcurve.models.backend import Settings
from passcurve.models.command import Command
from passcurve.models.line_process import LineProcess

SETTINGS = Settings(request_timeout_s=5.0)
LONG_S = 30.0
"""Time limit for programs that end by themselves."""


def read_lines(process, count):
    """Return so many lines of a program, or fewer when it ends."""
    lines = []
    while len(lines) < count:
        lines += process.lines(LONG_S)
    return lines


def texts(replies):
    """Return the texts of some replies."""
    return [reply.text for reply in replies]


@pytest.fixture
def program(tmp_path):
    """Return a function that runs a source text as the user's program."""
    made = []

    def make(text, timeout_s=5.0, at_once=8):
        path = tmp_path / f"program{len(made)}.py"
        path.write_text(text, "utf-8")
        settings = Settings(request_timeout_s=timeout_s, concurrency=at_once)
        made.append(Command.open(f"{sys.executable} {path}", settings))
        return made[-1]

    yield make
    for backend in made:
        backend.close()


PAIRS = """
import json, sys
held = []
for line in sys.stdin:
    asked = json.loads(line)
    held.append({"id": asked["id"], "completion": f"{asked['prompt']}{asked['sample_index']}/{asked['seed']}",
                 "finish_reason": "stop", "usage": {"completion_tokens": 3}})
    if len(held) == 2:
        for each in reversed(held):
            print(json.dumps(each), flush=True)
        held.clear()
"""


def test_it_may_answer_out_of_order(program, sample_request):
    """Each answer belongs to what it names, though the second comes first."""
    replies = list(program(PAIRS).generate_pipelined(sample_request(index, text="x") for index in range(2)))
    assert [1, 0] == [reply.key.sample_index for reply in replies]
    assert [f"x{reply.key.sample_index}/{reply.seed}" for reply in replies] == texts(replies)
    assert ("stop", 3) == (replies[0].finish_reason, replies[0].completion_tokens)


COUNTS = """
import json, os, select, sys
while lines := os.read(0, 1 << 16):
    while select.select([0], [], [], 0.1)[0] and (chunk := os.read(0, 1 << 16)):
        lines += chunk
    asked = [json.loads(line) for line in lines.splitlines()]
    for each in asked:
        print(json.dumps({"id": each["id"], "completion": str(len(asked))}), flush=True)
"""


@pytest.mark.parametrize(("at_once", "most"), [(1, "1"), (3, "3"), (8, "7")])
def test_the_number_of_open_requests(program, sample_request, at_once, most):
    """At most ``concurrency`` requests are open, however many samples a request is for."""
    answers = texts(program(COUNTS, at_once=at_once).generate(sample_request(*range(7))))
    assert (most, most, 7) == (answers[0], max(answers), len(answers))


def test_a_pause_between_requests(program, sample_request):
    """Open requests are answered while there is no next one, and later ones after it."""
    had = []

    def orders():
        yield sample_request(0)
        while not had:
            yield None
        yield sample_request(1)

    for reply in program(COUNTS).generate_pipelined(orders()):
        had += [reply.key.sample_index]
    assert [0, 1] == had


def test_both_may_write_at_once(program, sample_request):
    """A program may write more than a pipe holds before it reads, and be sent more than a pipe holds."""
    text = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    print(json.dumps({'id': json.loads(line)['id'], 'completion': 'y' * 3_000_000}), flush=True)\n"
    )
    replies = list(
        program(text, LONG_S).generate_pipelined(sample_request(index, text="x" * 2_000_000) for index in range(8))
    )
    assert [3_000_000] * 8 == [len(reply.text) for reply in replies]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("import sys; sys.exit(3)", RefusedError, r"exit code 3\b"),
        ("import sys; input(); print('hello', flush=True); sys.stdin.read()", RefusedError, "'hello'"),
        (
            "import sys; input(); print('[1]', flush=True); sys.stdin.read()",
            RefusedError,
            r"'\[1\]'",
        ),
        ("print('hello', end='')", RefusedError, "'hello'"),
        ('import sys; input(); print(\'{"id": 0, "error": "no memory"}\', flush=True)', ModelError, "no memory"),
        ('import sys; input(); print(\'{"id": 0, "error": {"code": 429}}\', flush=True)', ModelError, "429"),
        ("import sys; input(); print('{\"id\": 0}', flush=True)", RefusedError, "'completion'"),
    ],
)
def test_a_program_that_fails(program, sample_request, text, error, message):
    """A program that ends, writes a malformed line, or reports an error raises one line with the reason."""
    with pytest.raises(error, match=message):
        list(program(text).generate(sample_request()))


@pytest.mark.ci
def test_a_program_that_closes_its_stdin():
    """Lines that come after it closed its stdin are read; after a silence it is refused."""
    code = "import os, sys, time; os.close(0); time.sleep(1); print('late', flush=True); time.sleep(60)"
    process = LineProcess([sys.executable, "-c", code], silence_s=2.0)
    process.send(b"x" * 1_000_000)
    assert [b"late"] == read_lines(process, 1)
    with pytest.raises(RefusedError, match=r"answers no more$"):
        read_lines(process, 1)
    process.close()


@pytest.mark.ci
def test_answers_before_the_end_count(program, sample_request):
    """Answers that a program wrote before its end are read, even a last line without a newline."""
    text = (
        "import json, sys\n"
        "for line, end in zip(sys.stdin, ['\\n\\n', '\\n', '']):\n"
        "    print(json.dumps({'id': json.loads(line)['id'], 'completion': 'x'}), end=end, flush=True)\n"
    )
    had = []

    def listen():
        for reply in program(text).generate_pipelined(sample_request(index) for index in range(9)):
            had.append(reply.key.sample_index)
            # It ends meanwhile.
            time.sleep(0.2)

    with pytest.raises(RefusedError, match=r"exit code 0\b"):
        listen()
    assert [0, 1, 2] == had


SOME = """
import json, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    number = asked["sample_index"]
    if number == 1:
        time.sleep(1.0)
        print(json.dumps({"id": asked["id"], "error": "no\\nluck"}), flush=True)
    elif number != 2:
        time.sleep(2.5 if number == 3 else 0)
        for answer in (asked["id"], 99, True, -1, 0.0, "x", None, asked["id"]):
            print(json.dumps({"id": answer, "completion": str(number)}), flush=True)
"""


@pytest.mark.ci
def test_it_goes_on_after_a_failure(program, sample_request):
    """A sample that fails or times out is reported once; a second call yields all others, each once."""
    backend = program(SOME, 3.0, at_once=2)
    orders = (sample_request(index) for index in range(8))
    had, failed = [], []

    def listen():
        for reply in backend.generate_pipelined(orders):
            assert str(reply.key.sample_index) == reply.text
            had.append(reply.key.sample_index)

    for ends in (pytest.raises(ModelError), pytest.raises(ModelError), contextlib.nullcontext()):
        with ends as caught:
            listen()
        failed.append(str(caught.value) if caught else "")
    luck, silence, nothing = failed
    assert "no luck" in luck
    assert f"{sys.executable!r}" in silence
    assert "3 s" in silence
    assert "" == nothing
    assert [0, 3, 4, 5, 6, 7] == had


def test_an_id_may_be_text(program, sample_request):
    """A program in a shell has only text."""
    text = "import json, sys\nfor line in sys.stdin:\n    number = str(json.loads(line)['id'])\n"
    text += "    print(json.dumps({'id': number, 'completion': 'x' + number}), flush=True)\n"
    replies = list(program(text).generate_pipelined(sample_request(index) for index in range(3)))
    assert ["x0", "x1", "x2"] == [reply.text for reply in replies]


def test_silence(program, sample_request):
    """An answer that does not come in time fails the sample."""
    with pytest.raises(ModelError, match=r"\b0\.3 s"):
        list(program("import sys; sys.stdin.read()", 0.3).generate(sample_request()))


def test_a_program_that_does_not_exist():
    """A program that cannot be started is a usage error."""
    with pytest.raises(UsageError, match="'no-such-program'"):
        Command.open("no-such-program --x", SETTINGS)


@pytest.mark.ci
@pytest.mark.parametrize(
    "text",
    [
        "import os, sys; print(os.getpid(), flush=True); sys.stdin.read()",
        "import os, time; print(os.getpid(), flush=True); time.sleep(60)",
        # Its stdout outlives it.
        "import os, subprocess as s, sys; s.Popen(['sleep', '5']); print(os.getpid(), flush=True); sys.stdin.read()",
    ],
)
def test_closing_wakes_the_reader(text):
    """Whatever a program does, closing it ends it and raises an error in the reading thread."""
    began = time.monotonic()
    process = LineProcess([sys.executable, "-c", text])
    (pid,) = map(int, read_lines(process, 1))
    errors = []

    def listen():
        try:
            read_lines(process, 1)
        except ModelError as error:
            errors.append(str(error))

    listener = threading.Thread(target=listen)
    listener.start()
    # Either way it is told; after so long it listens.
    time.sleep(0.1)
    process.close()
    process.close()
    listener.join(LONG_S)
    assert ["the run has ended"] == errors
    assert not Path(f"/proc/{pid}").exists()
    assert time.monotonic() - began < LONG_S


def test_a_line_of_ten_megabytes_and_many_small_ones():
    """Lines are whole, whatever the size of the chunks in which they come."""
    code = "import sys; sys.stdout.write('x' * 10_000_000 + '\\n' + 'y\\n' * 100_000 + 'z')"
    process = LineProcess([sys.executable, "-c", code])
    lines = read_lines(process, 100_002)
    with pytest.raises(RefusedError, match=r"\(exit code 0\)"):
        process.lines(LONG_S)
    process.close()
    assert [10_000_000] + [1] * 100_001 == [len(line) for line in lines]
    assert (b"y", b"z") == (lines[1], lines[-1])
