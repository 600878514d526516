"""``passcurve run``: a model writes, each sample is judged as it comes, and whatever happens none is paid twice."""

from __future__ import annotations

import collections
import importlib.util
import json
import random
import re
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from passcurve.cli.main import make_app
from passcurve.models.backend import sample_seed

TASKS = [f"starter/{number}" for number in range(8)]


@pytest.fixture
def answers(server, starter):
    """Make the server answer with the reference, or with a wrong program, as the seed says; return how to name both."""
    by_prompt = {row["prompt"]: row for row in starter.problems.values()}

    def text(body, choice):
        row = by_prompt[body["prompt"]]
        mark = f"    # {body['seed']}\n"
        return mark + (row["canonical_solution"] if body["seed"] % 2 else "    return None\n") + "\n\ndef more():\n"

    server.text = text
    return by_prompt


@pytest.fixture
def words(server):
    """Return the words of a run against the server."""

    def make(*more, n=4, problems="[0-7]", concurrency=4):
        return (
            "run", "starter", "--model", "openai:tiny-coder", "--base-url", server.url, "-n", n, "--run", "r",
            "--problems", f"starter/{problems}", "--concurrency", concurrency, "--json", *more,
        )  # fmt: skip

    return make


def stored(folder):
    """Return (problem, index) of each stored completion, as often as it is."""
    parts = sorted(folder.glob("completions-*.jsonl"))
    rows = [json.loads(line) for part in parts for line in part.read_bytes().split(b"\n")[:-1]]
    return [(row["task_id"], row["sample_index"]) for row in rows]


def expected_passes(n, seed=0):
    """Return how many samples of each task pass."""
    return {task: sum(sample_seed(seed, task, index) % 2 for index in range(n)) for task in TASKS}


def test_a_run(shell, server, answers, words):
    """Every sample is asked for once, judged, and counted, as many at once as asked for; the report has it all."""
    server.takes_s = 0.02
    (shell.folder / "p.toml").write_text('["openai:tiny-coder"]\ninput = 1000\noutput = 10000\ncached = 100\n')
    done = shell(*words("--temperature", "0.5", "--max-tokens", "64", "--prices", "p.toml"))
    assert 0 == done.code, done.err
    record = done.record
    assert (32, 8, 0) == (record["samples"], record["problems"], record["owed"])
    assert sum(expected_passes(4).values()) == record["statuses"]["passed"]
    assert 32 == len(server.requests) == len(set(stored(shell.folder / "r")))
    assert {"temperature": 0.5, "max_tokens": 64} == {
        name: server.requests[0][name] for name in ("temperature", "max_tokens")
    }
    assert (32, 32, 0, 32 * 7) == tuple(
        record["generated"][name] for name in ("stored", "fresh", "truncated", "completion_tokens")
    )
    assert "|model:openai:tiny-coder|prompt:base@" in record["signature"]
    assert "|temperature:0.5|max-tokens:64|run-seed:0" in record["signature"]
    assert 4 == server.most_open
    # Of 20 tokens read 16 were cached, and 7 were written, for each of 32 samples.
    total, solved = 32 * (4 * 1000 + 16 * 100 + 7 * 10000) / 1e6, sum(map(bool, expected_passes(4).values()))
    assert (solved, "USD", 0) == tuple(record["cost"][name] for name in ("solved", "currency", "uncounted"))
    assert [total, total / solved] == pytest.approx([record["cost"][name] for name in ("total", "per_solved")])
    rows = shell.rows("r/results.jsonl")
    assert 32 == len(rows)
    assert all(row["passed"] == bool(row["seed"] % 2) for row in rows)


@pytest.mark.nightly
def test_a_finished_run_tops_up(shell, server, answers, words):
    """The same command again asks for nothing, a larger n for the new samples only; other settings are refused."""
    first = shell(*words(n=2))
    second = shell(*words(n=2))
    assert (0, 0, 16, 16) == (first.code, second.code, second.record["resumed"], len(server.requests))
    same = ("pass@1", "statuses", "signature", "samples")
    assert [first.record[name] for name in same] == [second.record[name] for name in same]
    more = shell(*words(n=3))
    assert (0, 24, 16) == (more.code, more.record["samples"], more.record["resumed"])
    assert 24 == len(server.requests) == len({body["seed"] for body in server.requests})
    other = shell(*words("--temperature", "0.2", n=4))
    assert (2, 24) == (other.code, len(server.requests))
    assert re.search(r"decoding\.temperature .*0\.8.*0\.2", other.err)


@pytest.fixture
def other_server(server):
    """Return a second server at an address of its own, with the answers of the first."""
    made = type(server)()
    made.text = server.text
    yield made
    made.close()


@pytest.mark.ci
def test_a_server_at_another_address(shell, server, answers, words, other_server):
    """A run resumes at another address of the server, and each session's record has its own; another model cannot."""
    other_server.text = server.text
    moved = [other_server.url if word == server.url else word for word in words(n=3)]
    first, second = shell(*words(n=2)), shell(*moved)
    assert (0, 0, 24, 16) == (first.code, second.code, second.record["samples"], second.record["resumed"]), second.err
    assert (16, 8) == (len(server.requests), len(other_server.requests))
    records = [json.loads((shell.folder / "r" / f"config-00{number}.json").read_bytes()) for number in (1, 2)]
    assert [server.url, other_server.url] == [record["settings"]["base_url"] for record in records]
    assert records[0]["generation"] == records[1]["generation"]
    refused = shell(*["openai:other" if word == "openai:tiny-coder" else word for word in moved])
    assert (2, 8) == (refused.code, len(other_server.requests))
    assert re.search("model .*'openai:tiny-coder'.*'openai:other'", refused.err)


@pytest.mark.nightly
def test_a_run_of_an_earlier_version_resumes(shell, server, answers, words, other_server):
    """A record that has the server's address among the facts of the back end does not bind the run to it."""
    other_server.text = server.text
    assert 0 == shell(*words(n=1)).code
    path = shell.folder / "r" / "config-001.json"
    record = json.loads(path.read_bytes())
    record["generation"]["identity"]["base_url"] = server.url
    path.write_text(json.dumps(record))
    moved = shell(*[other_server.url if word == server.url else word for word in words(n=2)])
    assert (0, 8) == (moved.code, len(other_server.requests)), moved.err


MBPP = {
    "task_id": 2,
    "text": "Write a function to find the whole part of a square root.",
    "code": "import math\ndef root(x):\n    return math.isqrt(x)",
    "test_list": ["assert root(16) == 4", "assert root(15) == 3"],
    "test_setup_code": "",
    "challenge_test_list": [],
}
CONTEST = {
    "problem_id": 1,
    "question": "Add two numbers.",
    "input_output": json.dumps({"inputs": ["3 4\n"], "outputs": ["7\n"]}),
    "solutions": "[]",
}


@pytest.mark.ci
@pytest.mark.parametrize(
    ("problem", "text", "stop"),
    [
        (MBPP, "import math\ndef root(x):\n    return math.isqrt(x)\nassert root(1) == 2\n", "\nassert"),
        (CONTEST, "def add(a, b):\n    return a + b\n# Read.\na, b = map(int, input().split())\nif a:\n    a = +a\n"
         'print(add(a, b))\n"""\nMultiply two numbers.\n"""\n1 / 0\n', '\n"""'),
    ],
)  # fmt: skip
def test_what_ends_a_program_for_a_task_in_words(shell, server, problem, text, stop):
    """Imports, functions, comments, conditions and prints at the margin belong to it; what comes after it does not."""
    shell.write("p.jsonl", [problem])
    server.text = lambda body, choice: text
    words = ("--model", "openai:m", "--base-url", server.url, "-n", 2, "--run", "r", "--json")
    done = shell("run", "p.jsonl", *words)
    assert (0, 2) == (done.code, done.record["statuses"]["passed"]), done.err
    assert stop in server.requests[0]["stop"]


@pytest.mark.ci
def test_stop_words_and_samples_that_were_cut_off(shell, server, answers, words):
    """A stop word that is left in the text changes no program; samples that were cut off count beside pass@k."""
    server.fault = lambda number, body: "stop left in" if number % 4 else "cut off"
    done = shell(*[word for word in words() if word != "--json"])
    assert f"  {sum(expected_passes(4).values())} passed" in done.out
    assert "truncated: 8 of 32 samples (25.0%) were cut off" in done.out
    rows = shell.rows("r/completions-001.jsonl")
    assert 24 == sum(row.get("raw") == row["completion"] + "\ndef more():\n" for row in rows)


def test_a_filter_and_another_model(shell, server, answers, words):
    """Answers that a content filter has ended are counted, and that two models answered is said."""
    server.fault = lambda number, body: {0: "filtered", 1: "another model"}.get(number % 8, "")
    done = shell(*[word for word in words(n=1) if word != "--json"])
    assert "filtered: 1 of 8 samples (12.5%) was ended by the server's content filter" in done.out
    assert "models: the server named 2, by samples: tiny-coder-0 (7), tiny-coder-1 (1)" in done.out
    generated = shell(*words(n=1)).record["generated"]
    assert (1, {"tiny-coder-0": 7, "tiny-coder-1": 1}) == (generated["filtered"], generated["server_models"])


@pytest.mark.nightly
def test_copies_at_temperature_0(shell, server, answers, words):
    """Samples that are one text are told as n of 1 in effect, and a k above 1 has no value."""
    server.text = lambda body, choice: answers[body["prompt"]]["canonical_solution"]
    done = shell(*[word for word in words("--temperature", 0, "--k", "1,2", n=2) if word != "--json"])
    assert re.search("temperature 0 .*-n 1 ", done.err)
    assert "copies: all samples of 8 of 8 problems are one text, as they should be" in done.out
    assert re.search(r"pass@1 +1\.0000 ", done.out)
    assert re.search(r"pass@2 +- .* n is 1 in effect", done.out)


@pytest.mark.ci
def test_copies_at_another_temperature(shell, server, answers, words):
    """A server that does not draw is found out: one text for each of most problems."""
    other = next(iter(answers))
    server.text = lambda body, choice: f"    return {body['seed'] if body['prompt'] == other else 1}\n"
    done = shell(*[word for word in words(n=2) if word != "--json"])
    line = "copies: all samples of 7 of 8 problems are one text at temperature 0.8; does the server draw at all"
    assert line in done.out


@pytest.mark.parametrize("differs", [False, True])
def test_copies_in_each_request(shell, server, answers, words, differs):
    """A server that draws once for all choices of a request is found out, across sessions."""
    server.text = lambda body, choice: f"    return {body['seed'], differs and choice}\n"
    chosen = {"problems": "[0-2]", "concurrency": 1}
    for n in (6, 9):
        done = shell(*[word for word in words("--per-request", 3, n=n, **chosen) if word != "--json"])
    assert ("copies: the samples of each request are one text: " in done.out) is not differs
    record = shell(*words("--per-request", 3, n=9, **chosen)).record["generated"]
    assert (18, 18 * (not differs)) == (record["choices"], record["equal_choices"])


@pytest.mark.nightly
def test_a_conversation(shell, server, answers, words, starter):
    """With ``--prompt chat`` the fenced answer is judged, what was thought is stored apart, no stop word is sent."""
    row = starter.problems["starter/0"]
    whole = row["prompt"] + row["canonical_solution"]
    server.text = lambda body, choice: f"<think>let me see: def f</think>Sure!\n\n```python\n{whole}```\nIt adds up."
    done = shell(*words("--prompt", "chat", "--system", "You are brief.", n=2, problems="0"))
    assert (0, 2) == (done.code, done.record["statuses"]["passed"]), done.err
    body = server.requests[0]
    assert ["system", "user"] == [message["role"] for message in body["messages"]]
    assert row["prompt"].rstrip() in body["messages"][1]["content"]
    assert "stop" not in body
    assert "let me think" == shell.rows("r/completions-001.jsonl")[0]["reasoning"]
    assert "|extract:auto|" in done.record["signature"]


@pytest.mark.nightly
def test_a_template_of_ones_own(shell, server, answers, words):
    """A template's fields are replaced, and braces in the problem are left alone."""
    (shell.folder / "t.txt").write_text("# {{ task_id }}: {{entry_point}}\n{{ prompt }}")
    server.text = lambda body, choice: "    return None\n"
    shell(*words("--prompt", "t.txt", n=1, problems="0"))
    row = answers[next(prompt for prompt in answers)]
    assert f"# starter/0: {row['entry_point']}\n{row['prompt']}" == server.requests[0]["prompt"]


GAP = {
    "task_id": "gap/0",
    "prompt": "def f(a):\n    b = ",
    "suffix": "\n    return b\n",
    "entry_point": "f",
    "canonical_solution": "a + 1",
    "test": "def check(candidate):\n    assert candidate(2) == 3\n    assert candidate(-1) == 0\n",
}


@pytest.mark.ci
def test_a_gap_that_is_filled(shell, server):
    """Where a problem has a suffix, a sample is what stands between: so the model is asked, so the program is made."""
    shell.write("gap.jsonl", [GAP])
    server.text = lambda body, choice: ["a + 1", "a - 1", "1 + a", "a +"][body["seed"] % 4]
    words = ("--base-url", server.url, "-n", 12, "--prompt", "fim:starcoder", "--run", "r", "--json")
    done = shell("run", "gap.jsonl", "--model", "openai:m", *words)
    assert 0 == done.code, done.err
    assert "<fim_prefix>def f(a):\n    b = <fim_suffix>\n    return b\n<fim_middle>" == server.requests[0]["prompt"]
    seeds = [body["seed"] % 4 for body in server.requests]
    statuses = done.record["statuses"]
    assert (seeds.count(0) + seeds.count(2), seeds.count(1), seeds.count(3)) == tuple(
        statuses[name] for name in ("passed", "failed", "compile")
    )
    assert 12 == len(seeds) > seeds.count(1) > 0
    assert "|prompt:fim:starcoder@" in done.record["signature"]


@pytest.mark.nightly
def test_a_gap_in_the_reference(shell):
    """The reference fills the gap, so the benchmark can be checked, and its mutations differ between the two sides."""
    shell.write("gap.jsonl", [GAP])
    assert 0 == shell("bench", "check", "gap.jsonl").code
    statuses = shell("run", "gap.jsonl", "--model", "mutant:0.5", "-n", 20, "--run", "m", "--json").record["statuses"]
    assert 0 < statuses["passed"] < 20 == statuses["passed"] + statuses["failed"]


@pytest.mark.nightly
def test_faults_that_pass_leave_no_trace(shell, server, answers, words):
    """Whatever fails and passes, every sample is there once, and the verdicts are those of a quiet run."""
    faults = ["429", "500", "drop", "bad json", "no usage", "stop left in", *[""] * 14]
    rng = random.Random(4)
    server.fault = lambda number, body: rng.choice(faults)
    done = shell(*words(concurrency=8))
    assert 0 == done.code, done.err
    assert sum(expected_passes(4).values()) == done.record["statuses"]["passed"]
    assert 32 == len(stored(shell.folder / "r")) == len(set(stored(shell.folder / "r")))
    assert len(server.requests) - 32 == done.record["generated"]["retried"] > 0


@pytest.mark.parametrize(
    ("every", "tokens", "cost", "cell"),
    [
        (2, ", 40 read, and those of 2 requests that the server did not count;", "; at least, ", "at least"),
        (1, "generated: 8 samples in ", "cost: not known, ", '<span title="not known">-</span>'),
    ],
)
def test_tokens_that_are_not_known(shell, server, answers, words, every, tokens, cost, cell):
    """Sums of tokens and costs say what is not in them, and where nothing is counted there is no cost."""
    server.fault = lambda number, body: "no usage" if number % every == 0 else ""
    (shell.folder / "p.toml").write_text('["openai:tiny-coder"]\ninput = 1000\noutput = 10000\n')
    command = words("--per-request", 2, "--prices", "p.toml", problems="[01]", concurrency=1)
    done = shell(*[word for word in command if word != "--json"])
    assert tokens in done.out
    assert cost in done.out
    assert 0 == shell("report", "r", "-o", "page.html", "--prices", "p.toml").code
    page = (shell.folder / "page.html").read_text("utf-8")
    assert cell in page
    shown = re.findall(r'<td class="n">([^<]*) <bdi>USD', page)
    assert (0 if every == 1 else 3) == len(shown) == sum(text.startswith("at least ") for text in shown)
    read = shell(*command).record
    listed = shell("report", "r", "--prices", "p.toml", "--json").record["runs"][0]["generated"]["cost"]
    assert read["cost"] == listed
    assert [every == 1] * 2 == [listed[name] is None for name in ("total", "per_solved")]
    assert f"the tokens of {'all' if every == 1 else 2} requests are not known" in page


def test_the_share_of_attempts_that_failed(shell, server, answers, words):
    """The error rate is that of this session's attempts: not of samples, and not of earlier sessions."""
    server.fault = lambda number, body: "500" if number == 0 else ""
    first, second = (
        shell(*words("--per-request", 4, n=n, problems="[01]", concurrency=1)).record["generated"] for n in (4, 8)
    )
    assert (1, 1 / 3) == (first["retried"], first["error_rate"])
    assert (1, 0.0) == (second["retried"], second["error_rate"])
    assert 5 == len(server.requests)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("fault", "code", "message"),
    [("401", 2, "401: wrong key")],
)
def test_a_refusal_ends_the_run(shell, server, answers, words, fault, code, message):
    """A refusal in the middle keeps what came, is one line, and the same command goes on once it is mended."""
    server.fault = lambda number, body: fault if number >= 10 else ""
    done = shell(*words())
    assert code == done.code
    assert 1 == done.err.count(message)
    assert "Traceback" not in done.err
    kept = stored(shell.folder / "r")
    assert 10 <= len(kept) + 4
    server.fault = lambda number, body: ""
    before = len(server.requests)
    assert 0 == shell(*words()).code
    assert 32 - len(kept) == len(server.requests) - before


@pytest.mark.nightly
def test_a_refusal_at_once(shell, server, answers, words):
    """When the first request is refused, there is one line and no score."""
    server.fault = lambda number, body: "401"
    done = shell(*[word for word in words() if word != "--json"])
    assert (2, "") == (done.code, done.out)
    assert 1 == len(done.err.splitlines())


def test_a_server_that_only_fails(shell, server, words):
    """Failures that may pass are no mistake of the user, also where no answer came at all."""
    server.fault = lambda number, body: "500"
    done = shell(*words("--max-retries", 0, problems="0"))
    assert (1, 1) == (done.code, done.record["exit_code"])
    assert "gave no answer in 1 attempt: 500: it broke" in done.err


def test_no_server(shell):
    """Without a server there is one line that says so, at once."""
    began = time.monotonic()
    done = shell("run", "starter", "--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1")
    assert (2, "") == (done.code, done.out)
    assert "http://127.0.0.1:9/v1" in done.err
    assert time.monotonic() - began < 20.0


@pytest.mark.ci
def test_a_context_that_is_too_short(shell, server, answers, words):
    """A problem that does not fit is owed and named; all others are there."""
    prompts = {row["prompt"]: task for row in answers.values() for task in [row["task_id"]]}
    server.fault = lambda number, body: "too long" if prompts[body["prompt"]] == "starter/3" else ""
    done = shell(*words())
    assert (1, 4, 32) == (done.code, done.record["owed"], done.record["samples"])
    assert done.record["pass@1"]["value"] is None
    assert "'starter/3'" in done.err
    assert 28 == len(stored(shell.folder / "r"))


def test_a_prompt_that_is_refused(shell, server, answers, words):
    """A filter that refuses one prompt ends no run, neither at its beginning nor where a run goes on."""
    prompts = {row["prompt"]: task for row in answers.values() for task in [row["task_id"]]}
    server.fault = lambda number, body: "400" if prompts[body["prompt"]] == "starter/0" else ""
    for n, owed in ((1, 1), (2, 2)):
        done = shell(*words(n=n, concurrency=1))
        assert (1, owed, 7 * n) == (done.code, done.record["owed"], len(stored(shell.folder / "r")))
        assert 1 == done.err.count("problem 'starter/0': ") == done.err.count("400: top_p must be below 2")


@pytest.mark.parametrize(("task", "fault"), [("starter/0", "500"), ("starter/3", "broken off")])
def test_a_problem_whose_requests_fail(shell, server, answers, words, task, fault):
    """One prompt on which the server always fails costs no other problem its samples, nor where the run goes on."""
    prompts = {row["prompt"]: name for row in answers.values() for name in [row["task_id"]]}
    server.fault = lambda number, body: fault if prompts[body["prompt"]] == task else ""
    for n in (8, 9):
        done = shell(*words("--max-retries", 0, n=n))
        assert (1, n, 7 * n) == (done.code, done.record["owed"], len(stored(shell.folder / "r"))), done.err
        assert 1 == done.err.count(f"problem '{task}' is given up for now")


@pytest.mark.parametrize(("fault", "failing", "message"), [("500", 7, "500: it broke"), ("429", 3, "429: slow down")])
def test_a_server_that_fails_from_some_request_on(shell, server, answers, words, fault, failing, message):
    """When the requests of several problems fail in a row, those of the others are not sent; a limit is everybody's."""
    server.fault = lambda number, body: fault if number >= 20 else ""
    done = shell(*words("--max-retries", 0, n=8, concurrency=1))
    assert (1, 20, 1) == (done.code, len(stored(shell.folder / "r")), done.record["generated"]["exit_code"])
    assert message in done.record["generated"]["ended_by"]
    assert failing == len(server.requests) - 20


def test_a_setting_that_is_refused(shell, server, answers, words):
    """Where nothing is ever answered the run ends after a few requests, with one line."""
    server.fault = lambda number, body: "422"
    done = shell(*words(concurrency=1))
    assert (2, 3) == (done.code, len(server.requests))
    assert 1 == len(done.err.splitlines())
    assert "422: no such field" in done.err


@pytest.mark.nightly
def test_an_interruption(shell, server, answers, words):
    """Ctrl-C ends a run quietly with 130, and the same command goes on without asking for what is stored."""
    server.takes_s = 0.05
    session = shell.start(*map(str, words(n=8)))
    while len(server.requests) < 20:
        time.sleep(0.01)
    session.send_signal(signal.SIGINT)
    _, err = session.communicate(timeout=20)
    assert 130 == session.returncode
    assert b"Traceback" not in err
    kept = set(stored(shell.folder / "r"))
    before = len(server.requests)
    assert 0 == shell(*words(n=8)).code
    seeds = {body["seed"] for body in server.requests[before:]}
    assert not seeds & {sample_seed(0, task, index) for task, index in kept}


def killed(shell, server, words, kills, seed, n):
    """Kill a run at random moments; return how often each sample was asked for, and how much each kill cost."""
    moments = random.Random(seed)
    keys = {sample_seed(0, task, index): (task, index) for task in TASKS for index in range(n)}
    costs = []
    for _ in range(kills):
        session = shell.start(*map(str, words(n=n)))
        before = len(server.requests)
        goal = before + moments.randrange(8 * n // kills)
        while len(server.requests) <= goal and session.poll() is None:
            time.sleep(0.002)
        time.sleep(moments.uniform(0, 0.03))
        session.kill()
        session.communicate()
        costs.append(len(server.requests))
    done = shell(*words(n=n))
    assert 0 == done.code, done.err
    requested_keys = [keys[body["seed"]] for body in server.requests]
    repeats = []
    for begin, end in zip(costs, [*costs[1:], len(requested_keys)], strict=True):
        repeats.append(len(set(requested_keys[:begin]) & set(requested_keys[begin:end])))
    return done, collections.Counter(requested_keys), repeats


def check_killed(shell, server, words, kills, seed, n):
    """Check that a run that was killed has ended as if nobody had disturbed it."""
    server.takes_s = 0.02
    done, request_counts, repeats = killed(shell, server, words, kills, seed, n)
    there = stored(shell.folder / "r")
    assert sorted((task, index) for task in TASKS for index in range(n)) == sorted(there), "once each, n a problem"
    assert sum(expected_passes(n).values()) == done.record["statuses"]["passed"]
    assert max(repeats) <= 4, f"more requests repeated than were open: {repeats}"
    assert sum(request_counts.values()) <= 8 * n + 4 * kills


@pytest.mark.ci
def test_a_run_that_is_killed(shell, server, answers, words):
    """However a run is killed, no stored sample is asked for again, and each kill costs what was open at most."""
    check_killed(shell, server, words, kills=2, seed=1, n=6)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [2, 3])
def test_a_run_that_is_killed_often(shell, server, answers, words, seed):
    """The same for twenty kills."""
    check_killed(shell, server, words, kills=20, seed=seed, n=25)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-n", 2, "--k", "1,5,10"), r"k = 5, 10: 10 samples .*-n is 2"),
        (("-n", 1, "--fail-under", "pass@3=.5"), r"k = 3: 3 samples .*-n is 1"),
        (("-n", 2, "--k", 2), ""),
        (("-n", 2), ""),
    ],
)
def test_a_k_that_n_cannot_give_is_said_before(shell, words, message):
    """Who asks for a k above n hears so before a sample is paid for; the default values of k ask for nothing."""
    done = shell("run", "starter", "--model", "recorded:nowhere.jsonl", "--problems", "starter/0", *words)
    first, *rest = done.err.splitlines()
    assert 2 == done.code
    assert re.search(message or "nowhere", first), done.err
    assert bool(message) == bool(rest)


@pytest.mark.nightly
def test_mutant_can_be_shown(shell):
    """The demonstration needs nothing but the package, and ``show`` has the program of the sample that is named."""
    words = ("run", "starter", "--model", "mutant:", "-n", 3, "--run", "a", "--json", "--problems", "starter/[0-4]")
    done = shell(*words)
    assert 0 == done.code, done.err
    completions = {(row["task_id"], row["sample_index"]): row["completion"] for row in shell.rows("a/results.jsonl")}
    assert 15 == len(completions)
    shown = shell("show", "a", "starter/4", 2, "--json").record["verdicts"][0]
    assert shown["program"].endswith(completions["starter/4", 2])


@pytest.mark.nightly
def test_recorded_samples_are_judged_as_the_file_is(shell, starter):
    """Samples that come from a file through ``run`` have the verdicts that ``judge`` gives them."""
    shell.write("s.jsonl", starter.mixed(TASKS, 3))
    judged = shell("judge", "s.jsonl", "--subset", "--json").record
    ran = shell("run", "starter", "--model", "recorded:s.jsonl", "-n", 3, "--problems", "starter/[0-7]", "--json")
    assert 0 == ran.code, ran.err
    assert judged["statuses"] == ran.record["statuses"]
    assert judged["pass@1"] == ran.record["pass@1"]


def test_results_must_not_replace_recorded_samples(shell, starter):
    """Results in place of the file that the samples are taken from are refused, and it stays as it was."""
    shell.write("s.jsonl", [starter.right("starter/0")])
    before = (shell.folder / "s.jsonl").read_bytes()
    words = ("--model", "recorded:s.jsonl", "-n", 1, "--problems", "0-0", "--results", "s.jsonl")
    done = shell("run", "starter", *words)
    assert 2 == done.code
    assert "--results FILE" in done.err
    assert before == (shell.folder / "s.jsonl").read_bytes()


@pytest.mark.nightly
def test_recorded_samples_that_are_missing(shell, starter):
    """Samples that the file does not have are owed, with the reason; the others are judged."""
    ids = [f"starter/{number}" for number in range(8)]
    shell.write("s.jsonl", [starter.right(name) for name in (ids[0], *ids, ids[7])])
    done = shell("run", "starter", "--model", "recorded:s.jsonl", "-n", 2, "--problems", "0-7", "--json")
    assert (1, 6, 10) == (done.code, done.record["owed"], done.record["statuses"]["passed"])
    assert re.search(r"\b1 .*'starter/1'.*\b2\b", done.err)


@pytest.mark.nightly
def test_a_program_as_model(shell, starter):
    """Any program that reads and writes lines of JSON can be the model."""
    rows = starter.problems.values()
    shell.write("right.jsonl", [{"task": row["prompt"], "text": row["canonical_solution"]} for row in rows])
    (shell.folder / "model.py").write_text(
        "import json, os, sys\n"
        "assert 'OPENBLAS_NUM_THREADS' not in os.environ, 'threads that we do without are its own affair'\n"
        "right = {row['task']: row['text'] for row in map(json.loads, open('right.jsonl'))}\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    print(json.dumps({'id': asked['id'], 'completion': right[asked['prompt']]}), flush=True)\n"
    )
    model = f"command:{sys.executable} model.py"
    done = shell("run", "starter", "--model", model, "-n", 2, "--json", "--run", "r", "--problems", "starter/[0-4]")
    assert (0, 10) == (done.code, done.record["statuses"]["passed"]), done.err


@pytest.mark.nightly
def test_a_sweep(shell, server, answers, words):
    """Several temperatures give a run each, and a table of them."""
    more = [word for word in words("--temperature", "0.2,0.8", n=2) if word not in ("--run", "r", "--json")]
    done = shell(*more)
    assert 0 == done.code, done.err
    folders = [f"starter-openai-tiny-coder-t{t}.passcurve" for t in ("0.2", "0.8")]
    assert all(16 == len(stored(shell.folder / folder)) for folder in folders)
    assert {0.2: 16, 0.8: 16} == collections.Counter(body["temperature"] for body in server.requests)
    table = done.out[done.out.index("  temperature") :].splitlines()
    assert ["0.2", "0.8"] == [line.split()[0] for line in table[1:3]]


def test_a_sweep_that_fails_after_its_first_run(shell, server, answers, words):
    """The scores of the runs before are shown, whatever becomes of the next."""
    server.fault = lambda number, body: "500" if body["temperature"] == 0.8 else ""
    sweep = words("--temperature", "0.2,0.8", "--max-retries", 0, n=1)
    done = shell(*[word for word in sweep if word not in ("--run", "r", "--json")])
    assert 1 == done.code
    assert 1 == done.out.count(" pass@1 ")
    assert "500: it broke" in done.err


@pytest.mark.ci
def test_options_from_a_file(shell, server, answers):
    """A TOML file sets options by name, the command line wins, and the resolved ones are stored without the key."""
    (shell.folder / "c.toml").write_text(
        f'model = "openai:tiny-coder"\nbase-url = "{server.url}"\nsamples = 2\nproblems = "starter/0"\nrun = "r"\n'
        'temperature = 0.3\nstop = ["\\ndef", "\\nclass"]\napi-key-env = "MY_KEY"\n'
    )
    done = shell("run", "starter", "--config", "c.toml", "--temperature", "0.6", MY_KEY="s3cret")
    assert 0 == done.code, done.err
    assert (0.6, ["\ndef", "\nclass"]) == (server.requests[0]["temperature"], server.requests[0]["stop"])
    assert "Bearer s3cret" == server.headers[0]["authorization"]
    kept = json.loads((shell.folder / "r" / "config-001.json").read_bytes())
    assert (2, 0.6, "MY_KEY", server.url) == (
        kept["n"],
        kept["generation"]["decoding"]["temperature"],
        kept["settings"]["api_key_name"],
        kept["settings"]["base_url"],
    )
    assert not [path for path in (shell.folder / "r").iterdir() if b"s3cret" in path.read_bytes()]


def test_one_value_from_a_file_for_an_option_that_may_be_repeated(shell, server, answers):
    """A text is one stop word, as on the command line."""
    (shell.folder / "c.toml").write_text(
        f'model = "openai:tiny-coder"\nbase-url = "{server.url}"\nn = 1\nproblems = "starter/0"\nstop = "\\ndef"\n'
    )
    done = shell("run", "starter", "--config", "c.toml")
    assert 0 == done.code, done.err
    assert ["\ndef"] == server.requests[0]["stop"]


def test_fields_of_requests_as_a_table_of_a_file(shell, server, answers):
    """A table is as good as JSON in a text."""
    (shell.folder / "c.toml").write_text(
        f'model = "openai:tiny-coder"\nbase-url = "{server.url}"\nn = 1\nproblems = "starter/0"\n'
        "[extra-body]\ntop_k = 20\nchat_template_kwargs = {thinking = false}\n"
    )
    done = shell("run", "starter", "--config", "c.toml")
    assert 0 == done.code, done.err
    assert (20, {"thinking": False}) == (server.requests[0]["top_k"], server.requests[0]["chat_template_kwargs"])


def test_more_requests_at_once_than_open_files(shell, server, words):
    """Connections that this process may not have are refused before the first request, in one line."""
    shell.before = ("sh", "-c", 'ulimit -n 200; exec "$@"', "sh")
    done = shell(*words(concurrency=400))
    assert (2, 1, []) == (done.code, len(done.err.splitlines()), server.requests)
    assert re.search(r"400 requests .*200 .*ulimit -n.*--concurrency to at most \d+", done.err)


@pytest.fixture
def typed(tmp_path, monkeypatch):
    """Return how to call the command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(make_app(), ["run", "starter", *words])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tempratur = 1\n", "'tempratur'.*'temperature'"),
        ("a = [", "c.toml.*TOML"),
        ("[run]\nn = 1\n", "'run' is a table"),
        ("n = true\n", "'True' is not a valid int"),
        ("concurrency = 2.5\n", "'2.5' is not a valid int"),
    ],
)
def test_a_file_of_options_that_is_none(typed, tmp_path, text, message):
    """The run refuses an unknown option with the nearest name, a file that is not TOML, a table, and a wrong number."""
    (tmp_path / "c.toml").write_text(text)
    done = typed("--config", "c.toml", "--model", "mutant:")
    assert 2 == done.exit_code
    assert re.search(message, done.stderr)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--model", "opena:x"), "'opena'.*'openai'"),
        (("--model", "recorded:r.jsonl", "--temperature", "0.5"), "recorded.*temperature"),
        (("--model", "mutant:", "--top-p", "0.5"), "mutant.*top-p"),
        (("--model", "mutant:", "--temperature", "hot"), "--temperature 'hot'"),
        (("--model", "mutant:", "--rpm", "5", "--tpm", "9"), "mutant.*--rpm and --tpm"),
        (("--model", "openai:x", "--temperature", "hot"), "--temperature 'hot'"),
        (("--model", "openai:x", "--temperature", "0.1,0.2", "--run", "r"), "temperatures.*--run"),
        (("--model", "openai:x", "--extra-body", "[1]"), "--extra-body.*JSON object"),
        (("--model", "mutant:", "--model-option", "device=cpu"), "mutant: .*'device'"),
        (("--model", "hf:x", "--model-option", "devic=cpu"), "hf: .*'devic'.*'device'"),
        (("--model", "hf:x", "--model-option", "device"), "NAME=VALUE"),
        (("--model", "openai:x", "--prompt", "bas"), "'bas'.*'base'"),
        (("--model", "openai:x", "--endpoint", "text"), "auto, completions, chat.* 'text'"),
        (("--model", "recorded:none.jsonl"), "'none.jsonl'"),
    ],
)
def test_what_cannot_be_asked(typed, tmp_path, more, message):
    """A wrong command line is one line that says what is wrong, with 2, and nothing is made."""
    done = typed(*more)
    assert (2, "") == (done.exit_code, done.stdout)
    assert re.search(message, done.stderr)
    assert 1 == len(done.stderr.splitlines())
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("model", "lacking", "extra"), [("hf:x", "torch", "hf"), ("hf:x", "transformers", "hf"), ("vllm:x", "vllm", "vllm")]
)
def test_an_extra_that_is_not_installed(shell, model, lacking, extra):
    """A back end whose libraries are absent says in one line how to install them."""
    code = f"import sys; sys.modules[{lacking!r}] = None; from passcurve.__main__ import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "starter", "--model", model],
        cwd=shell.folder, env=shell.env, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (2, "") == (done.returncode, done.stdout)
    assert 1 == len(done.stderr.splitlines())
    # The first that is absent is named, and torch, which is the first of its extra, may not be installed here.
    named = "torch" if extra == "hf" and importlib.util.find_spec("torch") is None else lacking
    assert re.search(rf"\b{re.escape(named)}\b.*pip install 'passcurve\[{extra}\]'", done.stderr)
    assert ("https://download.pytorch.org/whl/cpu" in done.stderr) == (named == "torch")


@pytest.mark.ci
def test_a_reader_that_goes_away(shell):
    """``passcurve run ... | head -1`` ends without a word of complaint."""
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m passcurve run starter --model mutant: -n 1 --problems 0 2>err | head -1"],
        cwd=shell.folder, env=shell.env, capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.stdout.startswith(b"starter: 1 sample")
    assert "Traceback" not in (shell.folder / "err").read_text()


@pytest.mark.parametrize(
    ("words", "variables", "message"),
    [
        (("--stop", ""), {}, "not empty"),
        (("--api-key-env", "sk-not-a-name"), {}, "takes the name of an environment variable"),
        (("--api-key-env", "NOBODY_SET_THIS"), {}, "is not set"),
        ((), {"ALL_PROXY": "socks9://127.0.0.1:1"}, "ALL_PROXY"),
        ((), {"SSL_CERT_FILE": "/nope"}, "SSL_CERT_FILE"),
        ((), {"OPENAI_API_KEY": "sk-sec\nret"}, "the key in OPENAI_API_KEY"),
        (("--base-url", "http://user:s3cr3t@127.0.0.1:9/v1"), {}, "http://127.0.0.1:9/v1"),
        (("--base-url", "http://127.0.0.1:9/v1?Api-Key=s3cr3t&v=1"), {}, "http://127.0.0.1:9/v1?Api-Key=...&v=1"),
    ],
)
def test_what_no_server_can_be_asked_with(shell, words, variables, message):
    """One line before any request, in which no key and no password stands."""
    base = ("--base-url", "http://127.0.0.1:9/v1") if "--base-url" not in words else ()
    done = shell("run", "starter", "--model", "openai:m", "-n", 1, *base, *words, **variables)
    assert 2 == done.code
    assert message in done.err
    assert 1 == done.err.count("\n")
    stored = "".join(path.read_text() for path in shell.folder.rglob("config-*.json"))
    assert not [secret for secret in ("sk-", "s3cr3t", "ret'") if secret in done.err + stored]


def test_recorded_rows_without_a_text(shell):
    """A field of another name is no answer of a model."""
    shell.write("r.jsonl", [{"task_id": "starter/0", "generation": "    return 1\n"}])
    done = shell("run", "starter", "--model", "recorded:r.jsonl", "-n", 1, "--problems", "0-0")
    assert 2 == done.code
    assert "line 1 has no text in `completion` or `solution`" in done.err


@pytest.mark.parametrize("price", ["input = nan\noutput = 1", "input = 1\noutput = -1", "input = 1\noutput = inf"])
def test_prices_that_are_none(shell, server, words, price):
    """A price is a number of 0 or more; nothing is requested before that is known."""
    (shell.folder / "p.toml").write_text(f'["openai:tiny-coder"]\n{price}\n')
    done = shell(*words("--prices", "p.toml"))
    assert 2 == done.code
    assert "must be a price of 0 or more" in done.err
    assert not server.requests
