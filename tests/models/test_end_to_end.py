"""From a model to pass@k with nothing of ours in its place: a trained Llama, another project's server, our command."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from tiny_models import write_benchmark

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("default")]

PROBLEMS, N = 8, 12
PATIENCE_S = 120.0
NO_NETWORK = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def served(llama, tmp_path_factory):
    """Serve the Llama with ``transformers serve`` on the loopback; return the root of its API."""
    pytest.importorskip("fastapi", reason="needs a server: pip install 'transformers[serving]'")
    command = Path(sys.executable).with_name("transformers")
    if not command.exists():
        pytest.skip(f"there is no {str(command)!r}: pip install 'transformers[serving]'")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("served") / "log"
    root = f"http://127.0.0.1:{port}"
    with log.open("wb") as out:
        server = subprocess.Popen(
            [command, "serve", "--host", "127.0.0.1", "--port", str(port), llama],
            stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=os.environ | NO_NETWORK,
        )  # fmt: skip
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not is_up(f"{root}/health"):
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        yield f"{root}/v1"
    finally:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def is_up(url):
    """Say whether a server answers."""
    try:
        return httpx.get(url, timeout=5.0).status_code == 200
    except httpx.HTTPError:
        return False


@pytest.fixture
def command(shell):
    """Return how to run the command over the problems that the Llama can partly solve."""
    shell.env |= NO_NETWORK
    write_benchmark(shell.folder / "tiny.jsonl", PROBLEMS)

    def run(*words, n=N, k="1,5,10"):
        done = shell("run", "tiny.jsonl", "-n", n, "--max-tokens", 24, "--k", k, "--json", *words)
        assert 0 == done.code, done.err
        return done.record

    return run


def curve(record):
    """Return pass@1, pass@5 and pass@10."""
    return [record[f"pass@{k}"]["value"] for k in (1, 5, 10)]


def test_the_same_model_over_a_server_and_in_process(shell, command, served, llama):
    """Both give pass@k that rises with k; they agree within the error of these problems."""
    over = command("--model", f"openai:{llama}", "--base-url", served, "--run", "over")
    within = command("--model", f"hf:{llama}", "--run", "within")
    for record in (over, within):
        one, five, ten = curve(record)
        assert 0.1 < one < five < ten
        assert ten - one > 0.15
        assert PROBLEMS * N == record["samples"] == record["generated"]["fresh"]
        assert 0 == record["generated"]["uncounted"]
    difference = curve(over)[0] - curve(within)[0]
    error = (over["pass@1"]["within"] + within["pass@1"]["within"]) / PROBLEMS
    # The problems are the same, so only fresh samples make the two differ.
    assert abs(difference) < 5 * error**0.5
    rows = shell.rows("over/completions-001.jsonl")
    assert len(rows) == len({(row["task_id"], row["seed"]) for row in rows}) == PROBLEMS * N
    # This server leaves the stop word in the text, and we do not.
    assert not [row for row in rows if "\ndef" in row["completion"]]


def test_a_model_that_the_server_does_not_have(shell, command, served):
    """What another project's server says of a wrong name is told in one line, with the code of wrong usage."""
    done = shell("run", "tiny.jsonl", "--model", "openai:none", "--base-url", served)
    assert (2, "") == (done.code, done.out)
    assert 1 == len(done.err.splitlines())
    assert "none" in done.err


def test_a_server_that_ignores_n_and_stops(shell, command, served, llama):
    """With several samples asked for at once, each is there once: this server gives one at a time."""
    record = command(
        "--model", f"openai:{llama}", "--base-url", served, "--per-request", 4, "--stop", " ", "--run", "r", n=4, k="1"
    )
    assert 4 * PROBLEMS == record["samples"]
    rows = shell.rows("r/completions-001.jsonl")
    assert not [row for row in rows if " " in row["completion"]]
    assert [row for row in rows if "raw" in row]
