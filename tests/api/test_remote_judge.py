"""``Judge`` and ``AsyncJudge`` with an address: the same results from a real server on loopback."""

from __future__ import annotations

import asyncio
import functools
import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType

import pytest

import passcurve as pc
from passcurve.api import remote
from passcurve.errors import DataError, SandboxError, UsageError

pytest.importorskip("uvicorn", reason="the extra serve is not installed")

TOKEN = "0123456789abcdef-token"


@pytest.fixture(scope="module")
def url(shell_in, tmp_path_factory) -> Iterator[str]:
    """Start a server that wants a token; return its address."""
    folder = tmp_path_factory.mktemp("remote")
    (folder / "token").write_text(TOKEN)
    words = ["serve", "starter", "--port", 0, "--workers", 1, "--token-file", "token"]
    process = shell_in(folder).start(*words, stderr=subprocess.STDOUT)
    match = re.search(r"http://\S+/", process.stdout.readline().decode())
    assert match
    yield match[0]
    process.send_signal(signal.SIGTERM)
    assert 0 == process.wait(30)
    process.stdout.close()


def rows_of(starter, count: int) -> list[dict[str, str]]:
    """Return rows, each with another program; every third is right."""
    made = []
    for number in range(count):
        right = starter.right()["completion"] if number % 3 == 0 else f"    return {number}\n"
        made.append({"task_id": "starter/0", "completion": f"    # {number}\n{right}"})
    return made


@pytest.mark.nightly
def test_the_results_of_a_judge_here(url, starter):
    """The same judgements as those of this process, in order, over more than one request."""
    rows = rows_of(starter, 700)
    with pc.Judge("starter", workers=1) as here, pc.Judge(url=url, token=TOKEN) as there:
        assert here.problems == there.problems
        assert there.is_alive
        remote = there(rows)
        local = here(rows)
        streamed = list(there.stream(rows[:20]))
    assert [(one.task_id, one.index, one.status, one.passed, one.mode, one.tests_passed) for one in local] == [
        (one.task_id, one.index, one.status, one.passed, one.mode, one.tests_passed) for one in remote
    ]
    assert [one.reward for one in local] == [one.reward for one in remote]
    assert sorted(one.index for one in streamed) == list(range(20))


@pytest.mark.ci
def test_asyncio(url, starter):
    """Several batches at once, in order or as they come; the rows may have their problems."""
    rows = rows_of(starter, 1200)
    problem = {"id": "sum", "kind": "stdin", "inputs": ["1 2\n"], "outputs": ["3\n"]}

    async def main() -> tuple[list[pc.Judgement], list[pc.Judgement], list[pc.Judgement]]:
        async with pc.AsyncJudge(url=url, token=TOKEN) as judge:
            first = judge.judge(rows)
            sent = [{"problem": problem, "solution": "print(3)"}]
            both = await asyncio.gather(first, judge.judge(sent))
            return both[0], both[1], [one async for one in judge.judge_each(rows[:30])]

    ordered, inline, streamed = asyncio.run(main())
    assert list(range(1200)) == [one.index for one in ordered]
    assert [number % 3 == 0 for number in range(1200)] == [one.passed for one in ordered]
    assert [("sum", True)] == [(one.task_id, one.passed) for one in inline]
    assert set(range(30)) == {one.index for one in streamed}


@pytest.mark.ci
def test_asyncio_yields_rows_as_they_come(url, starter):
    """A quick sample is known while a loop before it runs; what fails in the middle is raised."""
    loop = {"task_id": "starter/0", "completion": "    while True: pass\n"}

    async def main() -> tuple[list[int], str]:
        async with pc.AsyncJudge(url=url, token=TOKEN) as judge:
            order = [one.index async for one in judge.judge_each([loop, *rows_of(starter, 3)])]
            unknown = [{"task_id": "starter/0", "completion": ""}] * 700 + [{"task_id": "nobody", "completion": ""}]
            try:
                [one async for one in judge.judge_each(unknown)]
            except DataError as error:
                return order, str(error)
            return order, ""

    order, error = asyncio.run(main())
    assert (0, 4) == (order[-1], len(order))
    assert "nobody" in error


@pytest.mark.ci
def test_messages_with_ends_of_lines(url):
    """A message may hold what some take for the end of a line; each row of a stream is one line all the same."""
    texts = [f"    raise ValueError('a\\u{code}b')\n" for code in ("2028", "0085")]
    rows = [{"task_id": "starter/0", "completion": text} for text in texts]

    async def stream() -> list[str]:
        async with pc.AsyncJudge(url=url, token=TOKEN) as judge:
            return sorted([one.message async for one in judge.judge_each(rows)])

    expected = ["ValueError: a\x85b", "ValueError: a\u2028b"]
    with pc.Judge(url=url, token=TOKEN) as judge:
        assert expected == sorted(one.message for one in judge.stream(rows))
    assert expected == asyncio.run(stream())


def test_a_token_from_a_file(url, starter):
    """The end of the line of a file is no part of its token; what cannot be sent is refused, and not shown."""
    with pc.Judge(url=url, token=f"{TOKEN}\n") as judge:
        assert judge(rows_of(starter, 1))[0].passed
    for token in ("secr\u00e9t", "secret\nsecret"):
        with pytest.raises(UsageError, match="characters") as caught:
            pc.Judge(url=url, token=token).__enter__()
        assert "secr" not in str(caught.value)


@pytest.mark.parametrize("host", ["judge..example", "j" * 64, "[::1"])
def test_an_address_that_cannot_be(host):
    """An address with a name that no host can have is refused where it is given."""
    with pytest.raises(UsageError, match="is no address"):
        pc.Judge(url=f"http://{host}")


def test_a_judge_that_starts_again(url, starter):
    """As in this process, one that has ended may be used in another ``with``."""
    judge = pc.Judge(url=url, token=TOKEN)
    for _ in range(2):
        with judge:
            assert judge(rows_of(starter, 1))[0].passed


FORKED = """
import os, sys
import passcurve as pc
url, token, right = sys.argv[1:]
with pc.Judge(url=url, token=token) as judge:
    rows = [{"task_id": "starter/0", "completion": text} for text in (right, "    return None\\n")]
    assert judge(rows[:1])[0].passed
    child = os.fork()
    # Each asks for another row, of which it has as many results.
    wrong = [number for number in range(100) if judge([rows[not child]])[0].passed is not bool(child)]
    assert not wrong, wrong
    if child:
        assert 0 == os.waitpid(child, 0)[1]
"""


def test_a_process_that_is_forked(url, starter):
    """It has connections of its own: nobody reads the answers to another's requests."""
    words = [sys.executable, "-c", FORKED, url, TOKEN, starter.right()["completion"]]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert 0 == done.returncode, done.stderr


@pytest.mark.ci
def test_rows_of_any_kind(url, starter, monkeypatch):
    """Fields that no judge reads are not sent, a long batch goes in several requests, and NaN is no completion."""
    monkeypatch.setattr(remote, "CHUNK_BYTES", 200)
    right, wrong = rows_of(starter, 2)
    others = {"logprob": float("nan"), "ids": object(), "text": "\ud800"}
    rows = [MappingProxyType(right | others), right, wrong | others, right] * 3
    with pc.Judge("starter", workers=1) as here, pc.Judge(url=url, token=TOKEN) as there:
        expected = [(index, index % 4 != 2) for index in range(12)]
        assert expected == [(one.index, one.passed) for one in here(rows)]
        assert expected == [(one.index, one.passed) for one in there(rows)]
        assert expected == sorted((one.index, one.passed) for one in there.stream(rows))
        for value in (float("nan"), object()):
            for judge in (here, there):
                with pytest.raises(DataError):
                    judge([right, {"task_id": "starter/0", "completion": value}])


@pytest.mark.ci
def test_what_cannot_be(url, starter):
    """A wrong row, a wrong token, a wrong address and settings of the server: one line each."""
    with pc.Judge(url=url, token=TOKEN) as judge:
        with pytest.raises(DataError, match="starter/999"):
            judge([starter.right(), {"task_id": "starter/999", "completion": ""}])
        with pytest.raises(DataError, match="starter/999"):
            list(judge.stream([{"task_id": "starter/999", "completion": ""}]))
        with pytest.raises(UsageError, match="list"):
            judge({"task_id": "starter/0", "completion": ""})
        with pytest.raises(UsageError, match="batches"):
            judge.submit(starter.right())
    with pytest.raises(UsageError, match="token"):
        pc.Judge(url=url, token="wrong").__enter__()
    with pytest.raises(UsageError, match="benchmark"):
        pc.Judge("starter", url=url)
    with pytest.raises(UsageError, match="timeout_s"):
        pc.Judge(url=url, timeout_s=1.0)
    with pytest.raises(UsageError, match="http"):
        pc.Judge(url="localhost:8000")
    with pytest.raises(UsageError, match="no address"):
        pc.Judge(url="http://localhost:8000\n")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(SandboxError, match=str(port)):
        pc.Judge(url=f"http://127.0.0.1:{port}").__enter__()


@pytest.mark.parametrize(
    ("proxy", "error"),
    [("socks9://127.0.0.1:1", UsageError), ("http://[::1", UsageError), ("http://127.0.0.1:1", SandboxError)],
)
def test_a_proxy_that_cannot_be_used(url, monkeypatch, proxy, error):
    """A message says that the environment sets one, with and without asyncio."""
    with pc.Judge(url=url, token=TOKEN) as judge, pc.AsyncJudge(url=url, token=TOKEN) as awaited:
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("ALL_PROXY", proxy)
        with pytest.raises(error, match=r"the judge at .*ALL_PROXY"):
            pc.Judge(url=url, token=TOKEN).__enter__()
        with pytest.raises(error, match=r"the judge at .*ALL_PROXY"):
            asyncio.run(awaited.judge([{"task_id": "starter/0", "completion": ""}]))
        assert judge.is_alive


def test_an_address_of_another_server(tmp_path):
    """The message says that another server is no judge."""
    for content in ("{}", "[]", "<html>", '{"problems": 5}'):
        (tmp_path / "problems").write_text(content)
        handler = functools.partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            address = f"http://127.0.0.1:{server.server_address[1]}"
            with pytest.raises(SandboxError, match="is no judge of passcurve"), pc.Judge(url=address):
                pass
            server.shutdown()


class _Full(BaseHTTPRequestHandler):
    """A server whose queue is full for the first six requests to judge, and that is not ready."""

    requests = 0

    def do_GET(self):
        """Answer with the problems."""
        if self.path == "/readyz":
            type(self).requests += 1
            self._answer(503, b"not ready\n")
            return
        self._answer(200, b'{"problems": ["starter/0"]}')

    def do_POST(self):
        """Refuse, and then answer as requested: in lines or at once."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).requests += 1
        if self.requests <= 6:
            self._answer(503, b'{"error": "the queue is full"}')
            return
        result = {
            "task_id": "starter/0",
            "sample_index": 0,
            "index": 0,
            "status": "passed",
            "passed": True,
            "message": "",
        }
        self._answer(200, json.dumps(result if body.get("stream") else {"results": [result]}).encode() + b"\n")

    def _answer(self, status, content):
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Retry-After", "0.1")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Write nothing."""


@pytest.mark.parametrize("method", ["stream", "__call__"])
def test_a_full_queue_is_asked_again(method, starter):
    """A stream waits for its turn as a batch does."""
    _Full.requests = 0
    with ThreadingHTTPServer(("127.0.0.1", 0), _Full) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pc.Judge(url=f"http://127.0.0.1:{server.server_port}") as judge:
            (one,) = list(getattr(judge, method)([starter.right()]))
        server.shutdown()
    assert ("passed", 7) == (one.status, _Full.requests)


def test_a_judge_that_is_not_ready_is_asked_once():
    """``is_alive`` asks a server that does not judge once, and not again."""
    _Full.requests = 0
    with ThreadingHTTPServer(("127.0.0.1", 0), _Full) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pc.Judge(url=f"http://127.0.0.1:{server.server_port}") as judge:
            assert not judge.is_alive
        server.shutdown()
    assert 1 == _Full.requests


class _Short(_Full):
    """A server that answers a stream with too few rows, one row twice, or a row that nobody asked for."""

    indices: tuple[int, ...] = ()

    def do_POST(self):
        """Answer with the rows that were set."""
        self.rfile.read(int(self.headers["Content-Length"]))
        result = {"task_id": "starter/0", "sample_index": 0, "status": "passed", "passed": True, "message": ""}
        self._answer(200, b"".join(json.dumps(result | {"index": index}).encode() + b"\n" for index in self.indices))


@pytest.mark.parametrize("indices", [(0,), (0, 0, 1), (0, 77)])
def test_a_stream_without_all_rows(indices: tuple[int, ...], monkeypatch):
    """A stream that ends too early, or has other rows, is an error: no row is lost in silence."""
    monkeypatch.setattr(_Short, "indices", indices)
    rows = [{"task_id": "starter/0", "completion": ""}] * 2

    async def stream(url: str) -> None:
        async with pc.AsyncJudge(url=url) as judge:
            [one async for one in judge.judge_each(rows)]

    server = ThreadingHTTPServer(("127.0.0.1", 0), _Short)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        with pc.Judge(url=url) as judge, pytest.raises(SandboxError, match="no judge"):
            list(judge.stream(rows))
        with pytest.raises(SandboxError, match="no judge"):
            asyncio.run(stream(url))
    finally:
        server.shutdown()
        server.server_close()
