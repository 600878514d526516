"""``passcurve serve``: a real server on loopback, judged against the command, and whom it refuses."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

pytest.importorskip("uvicorn", reason="the extra serve is not installed")

TOKEN = "correct-horse-battery-staple"


class Server:
    """A server that runs, and a client of it."""

    def __init__(self, shell: Any, *words: object) -> None:
        self.process = shell.start("serve", "starter", "--port", 0, *words, stderr=subprocess.STDOUT)
        line = self.process.stdout.readline().decode()
        match = re.search(r"http://[\d.]+:(\d+)/", line)
        assert match, line
        self.port = int(match[1])
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", trust_env=False, timeout=60)

    def judge(self, samples: list[dict[str, Any]], **fields: Any) -> httpx.Response:
        """Post a batch."""
        return self.client.post("/judge", json={"samples": samples, **fields})

    def end(self, number: int = signal.SIGTERM) -> int:
        """End it by a signal; return its exit code."""
        self.process.send_signal(number)
        code = self.process.wait(30)
        self.process.stdout.close()
        self.client.close()
        return code


@pytest.fixture(scope="module")
def server(shell_in, tmp_path_factory) -> Iterator[Server]:
    """Start one server for all tests."""
    started = Server(shell_in(tmp_path_factory.mktemp("serve")), "--timeout", 1, "--queue", 2000, "--workers", 2)
    yield started
    assert 0 == started.end()


@pytest.mark.nightly
def test_the_verdicts_are_those_of_the_command(server: Server, judged):
    """The shipped examples have the status of their row in the results, in order, and their own ids."""
    names = ("task_id", "completion", "solution")
    rows = [{name: row[name] for name in names if name in row} | {"id": n} for n, row in enumerate(judged.rows)]
    results = server.judge(rows).json()["results"]
    assert [row["status"] for row in judged.rows] == [result["status"] for result in results]
    assert [*range(len(rows))] == [result["id"] for result in results] == [result["index"] for result in results]
    assert {1.0, 0.0} == {result["reward"] for result in results}


@pytest.mark.ci
def test_leaving_early_and_printing_earn_nothing(server: Server):
    """Neither an exit, nor a printed verdict, nor a changed builtin makes a pass."""
    bodies = [
        "    import sys; sys.exit(0)\n",
        "    import os; os._exit(0)\n",
        "    print('passed')\n",
        "    raise SystemExit\n",
    ]
    results = server.judge([{"task_id": "starter/0", "completion": body} for body in bodies]).json()["results"]
    assert [0.0] * len(bodies) == [result["reward"] for result in results]


@pytest.mark.ci
def test_a_stream_of_answers(server: Server, starter):
    """Each answer is a line of its own, the loop's the last."""
    loop = {"task_id": "starter/1", "completion": "    while True: pass\n"}
    with server.client.stream(
        "POST", "/judge", json={"samples": [loop, starter.right(), starter.bad()], "stream": True}
    ) as got:
        lines = [json.loads(line) for line in got.iter_lines()]
    assert 0 == lines[-1]["index"]
    assert "timeout" == lines[-1]["status"]
    assert {0, 1, 2} == {line["index"] for line in lines}


@pytest.mark.parametrize(
    ("body", "status", "named"),
    [
        (b"", 400, "JSON"),
        (b"[]", 400, "samples"),
        (b'{"samples": 5}', 400, "samples"),
        (b'{"samples": [], "streem": true}', 400, "streem"),
        (b'{"samples": [{"task_id": "starter/99", "completion": ""}]}', 422, "starter/99"),
        (b'{"samples": [{"task_id": "starter/0"}]}', 422, "starter/0"),
        (b'{"samples": [' + b",".join([b"{}"] * 10_001) + b"]}", 413, "10,001"),
        (b'{"samples": ' + b"[" * 100_000, 400, "JSON"),
        (b"\xff\xfe", 400, "JSON"),
        (b'{"samples": [{"task_id": "\\ud800", "completion": NaN}]}', 400, "JSON"),
        (b'{"samples": "\\ud800"}', 400, "samples"),
    ],
)
def test_bad_bodies(server: Server, body: bytes, status: int, named: str):
    """A body that is no batch is refused with what is wrong, and nothing of this machine."""
    answer = server.client.post("/judge", content=body)
    assert status == answer.status_code
    assert named in answer.json()["error"]
    assert "Traceback" not in answer.text
    assert "/" not in answer.text.replace("starter/", "")


@pytest.mark.parametrize("is_stream", [False, True])
def test_half_of_a_character(server: Server, starter, is_stream: bool):
    """A row with a lone surrogate is judged as it is in a file, beside others, and its id comes back."""
    odd = starter.right() | {"id": "\udfff"}
    body = {"samples": [starter.right(), odd, odd | {"completion": odd["completion"] + "# \ud800"}]}
    answer = server.client.post("/judge", content=json.dumps(body | {"stream": is_stream}))
    rows = list(map(json.loads, answer.text.splitlines())) if is_stream else answer.json()["results"]
    rows.sort(key=lambda row: row["index"])
    assert ["passed", "passed", "compile"] == [row["status"] for row in rows]
    assert ["\udfff"] * 2 == [row["id"] for row in rows[1:]]


@pytest.mark.nightly
def test_a_body_that_is_too_large(server: Server):
    """A gigabyte is refused once 64 MB of it have come."""

    def pieces() -> Iterator[bytes]:
        for _ in range(1000):
            yield b"x" * (1 << 20)

    try:
        status = server.client.post("/judge", content=pieces()).status_code
    except httpx.HTTPError:
        status = 413  # the server does not read the rest
    assert 413 == status
    assert 200 == server.client.get("/healthz").status_code


@pytest.mark.nightly
def test_a_full_queue(server: Server, starter):
    """What does not fit is refused with Retry-After; what was accepted is judged."""
    slow = [
        {"task_id": "starter/0", "completion": f"    import time; time.sleep(0.3); return {n}\n"} for n in range(40)
    ]
    answers: list[httpx.Response] = []
    with httpx.Client(base_url=server.client.base_url, trust_env=False, timeout=60) as other:
        first = threading.Thread(target=lambda: answers.append(other.post("/judge", json={"samples": slow})))
        first.start()
        refused = None
        while refused is None and first.is_alive():
            answer = server.judge([starter.right()] * 1999)
            refused = answer if answer.status_code == 503 else None
        first.join()
    assert refused is not None
    assert "5" == refused.headers["Retry-After"]
    assert 40 == len(answers[0].json()["results"])


@pytest.mark.ci
def test_streams_that_do_not_fit_into_the_queue(server: Server):
    """The server refuses streams that do not fit into the queue; the others count in the time of requests."""

    async def ask(number: int) -> int:
        text = f"    while True: pass  # {number}\n"
        rows = [{"task_id": "starter/0", "completion": text}] * 1500
        url = f"http://127.0.0.1:{server.port}/judge"
        async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
            return (await client.post(url, json={"samples": rows, "stream": True})).status_code

    async def ask_all() -> list[int]:
        return sorted(await asyncio.gather(*map(ask, range(4))))

    def seconds() -> float:
        return float(server.client.get("/metrics").text.split("passcurve_request_seconds_total ")[-1].split()[0])

    before = seconds()
    assert [200, 503, 503, 503] == asyncio.run(ask_all())
    assert seconds() - before > 1.0


def test_more_than_the_queue_takes(server: Server, starter):
    """A batch larger than the queue is refused with 413, a compressed body with 415."""
    answer = server.judge([starter.right()] * 2001)
    assert (413, True) == (answer.status_code, "2,000 samples" in answer.json()["error"])
    packed = server.client.post("/judge", content=b"x", headers={"Content-Encoding": "gzip"})
    assert (415, True) == (packed.status_code, "gzip" in packed.json()["error"])


def test_the_state_of_the_server(server: Server, starter):
    """Health, readiness, problems and counts."""
    server.judge([starter.right()])
    assert (200, 200) == (server.client.get("/healthz").status_code, server.client.get("/readyz").status_code)
    assert "starter/0" in server.client.get("/problems").json()["problems"]
    metrics = server.client.get("/metrics").text
    assert int(re.search(r'passcurve_samples_total\{status="passed"\} (\d+)', metrics)[1]) > 0
    assert 404 == server.client.get("/elsewhere").status_code
    assert 405 == server.client.get("/judge").status_code


def test_many_connections_that_say_nothing(server: Server, starter):
    """Slow and silent clients keep nobody from being answered."""
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(300)]
    try:
        for one in idle[:100]:
            one.sendall(b"POST /judge HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        assert 200 == server.judge([starter.right()]).status_code
    finally:
        for one in idle:
            one.close()


@pytest.mark.ci
def test_a_token(shell, starter):
    """With a token nobody else is answered, but whoever asks for health; it may stand in front of the path."""
    (shell.folder / "token").write_text(TOKEN + "\n", "ascii")
    server = Server(shell, "--token-file", "token", "--workers", 1)
    try:
        batch = {"samples": [starter.right()]}
        assert 401 == server.client.post("/judge", json=batch).status_code
        assert 401 == server.client.post("/judge", json=batch, headers={"Authorization": "Bearer x"}).status_code
        assert 401 == server.client.post(f"/{TOKEN}x/judge", json=batch).status_code
        assert 401 == server.client.get("/metrics").status_code
        assert 200 == server.client.get("/healthz").status_code
        assert 200 == server.client.post(f"/{TOKEN}/judge", json=batch).status_code
        assert 200 == server.client.post("/judge", json=batch, headers={"Authorization": f"Bearer {TOKEN}"}).status_code
    finally:
        server.end()


@pytest.mark.ci
def test_the_end_waits_for_what_is_under_way(shell, starter):
    """SIGTERM ends the server when what it has accepted is answered."""
    server = Server(shell, "--workers", 1)
    slow = {"task_id": "starter/0", "completion": "    import time; time.sleep(0.5); return -1\n"}
    answers: list[httpx.Response] = []
    asking = threading.Thread(target=lambda: answers.append(server.judge([slow])))
    asking.start()
    # Its own client takes no time to make connections.
    while "passcurve_waiting 0" in server.client.get("/metrics").text:
        assert asking.is_alive()
    server.process.send_signal(signal.SIGTERM)
    asking.join()
    assert ["failed"] == [result["status"] for result in answers[0].json()["results"]]
    assert 0 == server.process.wait(30)
    server.process.stdout.close()
    server.client.close()


def test_a_port_in_use(server: Server, shell):
    """It is refused as a wrong option, by the viewer too."""
    for words in (["serve", "starter"], ["view", "."]):
        done = shell(*words, "--port", server.port)
        assert (2, True) == (done.code, f"--port {server.port} cannot be used" in done.err)


@pytest.mark.ci
@pytest.mark.parametrize("before", [(), ("sh", "-c", 'exec "$@" >&-', "sh")], ids=["nobody reads", "closed"])
def test_nobody_reads_the_address(shell, before):
    """A server whose standard output nobody reads, or is closed, serves, and ends as any other."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    reading, writing = os.pipe()
    os.close(reading)
    shell.before = before
    process = shell.start("serve", "starter", "--workers", 1, "--port", port, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    status = None
    while status is None and process.poll() is None:
        with contextlib.suppress(httpx.HTTPError):
            status = httpx.get(f"http://127.0.0.1:{port}/healthz", trust_env=False).status_code
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    assert (b"", 0) == (process.communicate(timeout=30)[1], process.returncode)
    assert 200 == status


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["serve", "starterr"], "starter"),
        (["serve", "starter", "--host", "0.0.0.0"], "--token-file"),
        (["serve", "starter", "--token-file", "absent"], "absent"),
        (["serve", "starter", "--token-file", "token", "--host", "\u00fc..x"], "no name of a host"),
        (["serve", "starter", "--port", "70000"], "port"),
    ],
)
def test_what_cannot_be_served(shell, words, named):
    """What cannot be is refused in a line, before anybody could ask."""
    (shell.folder / "token").write_text(TOKEN, "ascii")
    done = shell(*words)
    assert 2 == done.code
    assert "Traceback" not in done.err
    assert named in done.err
