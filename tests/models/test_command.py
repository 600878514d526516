"""The back end that is a program: real ones, which answer late, out of order, wrongly, or not at all."""

from __future__ import annotations

import contextlib
import sys
import threading
import time

import pytest

from passcurve.errors import ModelError, RefusedError, UsageError
from passcurve.models.backend import Settings
from passcurve.models.command import Command
from passcurve.models.line_process import LineProcess

SETTINGS = Settings(request_timeout_s=5.0)
LONG_S = 30.0
"""What ends by itself does so before this."""


def heard(one, count):
    """Return so many lines of a program, or what has come when it ends."""
    found = []
    while len(found) < count:
        found += one.lines(LONG_S)
    return found


def texts(found):
    """Return the texts of some replies."""
    return [reply.text for reply in found]


@pytest.fixture
def program(tmp_path):
    """Return how to run a text as the user's program."""
    made = []

    def make(text, timeout_s=5.0, at_once=8):
        path = tmp_path / f"program{len(made)}.py"
        path.write_text(text, "utf-8")
        settings = Settings(request_timeout_s=timeout_s, concurrency=at_once)
        made.append(Command.open(f"{sys.executable} {path}", settings))
        return made[-1]

    yield make
    for each in made:
        each.close()


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


def test_it_may_answer_out_of_order(program, order):
    """Each answer belongs to what it names, though the second comes first."""
    replies = list(program(PAIRS).generate_pipelined(order(index, text="x") for index in range(2)))
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
def test_so_many_questions_are_open(program, order, at_once, most):
    """As many as allowed wait for an answer, never more, however many samples an order is for."""
    found = texts(program(COUNTS, at_once=at_once).generate(order(*range(7))))
    assert (most, most, 7) == (found[0], max(found), len(found))


def test_there_may_be_no_order_for_a_while(program, order):
    """While there is nothing to ask, what was asked is answered; then it goes on."""
    had = []

    def orders():
        yield order(0)
        while not had:
            yield None
        yield order(1)

    for reply in program(COUNTS).generate_pipelined(orders()):
        had += [reply.key.sample_index]
    assert [0, 1] == had


def test_both_may_write_at_once(program, order):
    """A program that reads nothing before it has written more than a pipe holds is heard, however much it is asked."""
    text = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    print(json.dumps({'id': json.loads(line)['id'], 'completion': 'y' * 3_000_000}), flush=True)\n"
    )
    replies = list(program(text, LONG_S).generate_pipelined(order(index, text="x" * 2_000_000) for index in range(8)))
    assert [3_000_000] * 8 == [len(reply.text) for reply in replies]


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("import sys; sys.exit(3)", RefusedError, r"has ended before all samples were written \(exit code 3\)"),
        ("import sys; input(); print('hello', flush=True); sys.stdin.read()", RefusedError, "wrote 'hello'"),
        (
            "import sys; input(); print('[1]', flush=True); sys.stdin.read()",
            RefusedError,
            r"wrote '\[1\]'; each line must",
        ),
        ("print('hello', end='')", RefusedError, "wrote 'hello'"),
        ('import sys; input(); print(\'{"id": 0, "error": "no memory"}\', flush=True)', ModelError, "no memory"),
        ("import sys; input(); print('{\"id\": 0}', flush=True)", RefusedError, "must have a string 'completion'"),
    ],
)
def test_it_fails(program, order, text, error, said):
    """A program that ends, reads no more, writes what is no answer, or says that it failed, is told in a line."""
    with pytest.raises(error, match=said):
        list(program(text).generate(order()))


def test_it_reads_no_more():
    """One that has closed its stdin and says nothing more is given up; until then what it says is had."""
    code = "import os, sys, time; os.close(0); time.sleep(1); print('late', flush=True); time.sleep(60)"
    one = LineProcess([sys.executable, "-c", code], silence_s=2.0)
    one.send(b"x" * 1_000_000)
    assert [b"late"] == heard(one, 1)
    with pytest.raises(RefusedError, match=r"answers no more$"):
        heard(one, 1)
    one.close()


def test_what_was_answered_counts(program, order):
    """What a program wrote before it ended is had, though it reads no more and its last line has no end."""
    text = (
        "import json, sys\n"
        "for line, end in zip(sys.stdin, ['\\n\\n', '\\n', '']):\n"
        "    print(json.dumps({'id': json.loads(line)['id'], 'completion': 'x'}), end=end, flush=True)\n"
    )
    had = []

    def listen():
        for reply in program(text).generate_pipelined(order(index) for index in range(9)):
            had.append(reply.key.sample_index)
            # It ends meanwhile.
            time.sleep(0.2)

    with pytest.raises(RefusedError, match="has ended before all"):
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


def test_it_goes_on_after_a_failure(program, order):
    """A sample that fails, or has no answer in time, is told once; called again it has all others, each once."""
    backend = program(SOME, 3.0, at_once=2)
    orders = (order(index) for index in range(8))
    had, failed = [], []

    def listen():
        for reply in backend.generate_pipelined(orders):
            assert str(reply.key.sample_index) == reply.text
            had.append(reply.key.sample_index)

    for ends in (pytest.raises(ModelError), pytest.raises(ModelError), contextlib.nullcontext()):
        with ends as found:
            listen()
        failed.append(str(found.value) if found else "")
    assert ["command: no luck", f"command: {sys.executable!r} gave no answer within 3 s", ""] == failed
    assert [0, 3, 4, 5, 6, 7] == had


def test_silence(program, order):
    """An answer that does not come in time fails the sample."""
    with pytest.raises(ModelError, match=r"gave no answer within 0.3 s"):
        list(program("import sys; sys.stdin.read()", 0.3).generate(order()))


def test_one_that_is_not_there():
    """A program that cannot be started is a wrong usage."""
    with pytest.raises(UsageError, match="cannot start 'no-such-program'"):
        Command.open("no-such-program --x", SETTINGS)


@pytest.mark.parametrize(
    "text",
    [
        "import sys; print('begun', flush=True); sys.stdin.read()",
        "import time; print('begun', flush=True); time.sleep(60)",
        # Its stdout outlives it.
        "import subprocess as s, sys; s.Popen(['sleep', '5']); print('begun', flush=True); sys.stdin.read()",
    ],
)
def test_it_is_closed_while_we_listen(text):
    """Whatever a program does, it is ended when it is closed, and who listens is told so."""
    began = time.monotonic()
    one = LineProcess([sys.executable, "-c", text])
    assert [b"begun"] == heard(one, 1)
    told = []

    def listen():
        try:
            heard(one, 1)
        except ModelError as error:
            told.append(str(error))

    listener = threading.Thread(target=listen)
    listener.start()
    # Either way it is told; after so long it listens.
    time.sleep(0.1)
    one.close()
    one.close()
    listener.join(LONG_S)
    assert ["the run has ended"] == told
    assert one._process.returncode is not None
    assert time.monotonic() - began < LONG_S


def test_a_line_of_ten_megabytes_and_many_small_ones():
    """Lines are whole, whatever the size of what they come in."""
    code = "import sys; sys.stdout.write('x' * 10_000_000 + '\\n' + 'y\\n' * 100_000 + 'z')"
    one = LineProcess([sys.executable, "-c", code])
    found = heard(one, 100_002)
    with pytest.raises(RefusedError, match=r"\(exit code 0\)"):
        one.lines(LONG_S)
    one.close()
    assert [10_000_000] + [1] * 100_001 == [len(line) for line in found]
    assert (b"y", b"z") == (found[1], found[-1])
