"""``passcurve serve`` and clients that leave, say nothing, do not read, or are pages of others."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import resource
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import httpx
import pytest

pytest.importorskip("uvicorn", reason="the extra serve is not installed")

from passcurve.serve.admission import Admission
from passcurve.serve.connections import Connections, make_server, open_listener, run_server
from passcurve.serve.web import import_web

DESCRIPTORS = 256
MANY = 10_000


class Server:
    """A server that runs with few descriptors, and a client of it."""

    def __init__(self, shell: Any, *words: object) -> None:
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, before[1]))
        try:
            self.process = shell.start("serve", *words, "--port", 0, stderr=subprocess.STDOUT)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        line = self.process.stdout.readline().decode()
        match = re.search(r"(http://\S+):(\d+)/", line)
        assert match, line
        self.port = int(match[2])
        self.client = httpx.Client(base_url=match[0], trust_env=False, timeout=60)

    def waiting(self) -> int:
        """Return the number of samples and programs that wait."""
        return int(self.client.get("/metrics").text.split("passcurve_waiting ")[-1])

    def ask(self, path: str, body: Any) -> socket.socket:
        """Send a request, and return its connection."""
        data = json.dumps(body).encode()
        connection = socket.create_connection(("127.0.0.1", self.port))
        connection.sendall(
            b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(data)) + data
        )
        return connection


@contextlib.contextmanager
def a_server(shell: Any) -> Iterator[Server]:
    """Start a server, and see that it ends well."""
    started = Server(shell, "starter", "--timeout", 1, "--workers", 2)
    yield started
    started.client.close()
    started.process.send_signal(signal.SIGTERM)
    assert 0 == started.process.wait(30)
    started.process.stdout.close()


@pytest.fixture(scope="module")
def server(shell_in, tmp_path_factory) -> Iterator[Server]:
    """Start one server for the tests that leave it as it was."""
    with a_server(shell_in(tmp_path_factory.mktemp("clients"))) as started:
        yield started


@pytest.fixture
def idle_server(shell_in, tmp_path) -> Iterator[Server]:
    """Start a server that no test before has left with programs to run."""
    with a_server(shell_in(tmp_path)) as started:
        yield started


def loops(count: int) -> list[dict[str, str]]:
    """Return that many distinct samples that do not end."""
    return [{"task_id": "starter/0", "completion": f"    while True: pass  # {n}\n"} for n in range(count)]


def comes_true(check: Callable[[], bool]) -> bool:
    """Wait until something is true, for some seconds at most."""
    until = time.monotonic() + 30
    while not check():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.ci
@pytest.mark.parametrize(
    ("path", "bodies"),
    [
        ("/judge", [{"samples": loops(1000)}]),
        ("/judge", [{"samples": loops(1000), "stream": True}]),
        ("/slime", [{"response": row["completion"], "label": row["task_id"]} for row in loops(40)]),
        ("/run_code", [{"code": "import time; time.sleep(3)", "language": "python"}] * 40),
    ],
)
def test_the_work_for_a_client_that_has_gone_is_left(server: Server, path: str, bodies: list[Any]):
    """What nobody waits for any more is not judged, but for what runs already."""
    connections = [server.ask(path, body) for body in bodies]
    assert comes_true(lambda: server.waiting() > 10)
    for connection in connections:
        connection.close()
    assert comes_true(lambda: server.waiting() <= 4)


@contextlib.contextmanager
def count_descriptors(pid: int) -> Iterator[list[int]]:
    """Count the descriptors of a process again and again."""
    counts: list[int] = []
    is_over = threading.Event()

    def count() -> None:
        while not is_over.is_set():
            counts.append(len(list(Path(f"/proc/{pid}/fd").iterdir())))

    thread = threading.Thread(target=count)
    thread.start()
    try:
        yield counts
    finally:
        is_over.set()
        thread.join()


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(b"", marks=pytest.mark.nightly),
        pytest.param(b"POST /judge HTTP/1.1\r\nHost: localhost\r\n", marks=pytest.mark.ci),
    ],
)
def test_more_silent_connections_than_descriptors(idle_server: Server, start: bytes):
    """Those that say nothing make room for those that ask, and leave the sandbox the descriptors that it needs."""
    with count_descriptors(idle_server.process.pid) as counts:
        silent = [socket.create_connection(("127.0.0.1", idle_server.port)) for _ in range(2 * DESCRIPTORS)]
    try:
        assert max(counts) < DESCRIPTORS - 32
        for connection in silent[-100:]:
            connection.sendall(start)
        for path, body in (("/slime", {"response": "    return 1\n", "label": "starter/0"}), ("/run_code", PROGRAM)):
            url = f"http://127.0.0.1:{idle_server.port}{path}"
            assert 200 == httpx.post(url, json=body, trust_env=False, timeout=60).status_code
    finally:
        for connection in silent:
            connection.close()


@pytest.mark.nightly
def test_ten_thousand_open_connections(server: Server):
    """Whoever asks is answered while so many are kept open by clients, and the server takes no more memory for them."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] < 2 * MANY:
        pytest.skip(f"a process may have {before[1]:,} files open here")
    status = f"/proc/{server.process.pid}/status"
    memory_kb = [int(re.search(r"VmRSS:\s+(\d+)", Path(status).read_text())[1])]
    resource.setrlimit(resource.RLIMIT_NOFILE, (2 * MANY, before[1]))
    opened: list[socket.socket] = []
    try:
        for number in range(MANY):
            opened.append(socket.create_connection(("127.0.0.1", server.port), 10))
            opened[-1].sendall(b"GET /metrics HTTP/1.1\r\n" if number % 2 else b"")
            if number % 1000 == 999:
                for path, body in (("/slime", {"response": "", "label": "starter/0"}), ("/run_code", PROGRAM)):
                    url = f"http://127.0.0.1:{server.port}{path}"
                    assert 200 == httpx.post(url, json=body, trust_env=False, timeout=60).status_code
                memory_kb.append(int(re.search(r"VmRSS:\s+(\d+)", Path(status).read_text())[1]))
    finally:
        for connection in opened:
            connection.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert memory_kb[-1] < memory_kb[0] + 32_000, memory_kb


PROGRAM = {"code": "print(1)", "language": "python"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example:8000"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": "[::1"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "localhost:9999"}, 200),
        ({"Host": "[::1]"}, 200),
        ({"Host": "127.0.0.1:1", "Origin": "http://127.0.0.1:1"}, 200),
    ],
)
def test_pages_of_others(server: Server, headers: dict[str, str], status: int):
    """A page that a browser has open can neither ask by its own name nor have anything run."""
    assert status == server.client.post("/run_code", json=PROGRAM, headers=headers).status_code


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"POST /judge/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0", 404),
        (b"POST /judge HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked", 400),
        (b"POST /judge HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6", 400),
    ],
)
def test_requests_that_two_may_read_in_two_ways(server: Server, head: bytes, status: int):
    """Nothing leads to another host, and nothing that follows an odd length is answered."""
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        rest = b"0\r\n\r\nGET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
        connection.sendall(head + b"\r\nConnection: close\r\n\r\n" + rest)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(1 << 16):
                answer += piece
    assert answer.startswith(b"HTTP/1.1 %d" % status)
    assert 1 == answer.count(b"HTTP/1.1")


@pytest.mark.nightly
def test_the_second_signal_ends_it(shell):
    """The first waits for what is under way, the second does not."""
    server = Server(shell, "starter", "--workers", 1, "--timeout", 5)
    endless = PROGRAM | {"code": "while 1: pass", "run_timeout": 5}
    busy = [server.ask("/judge", {"samples": loops(50)}), server.ask("/run_code", endless)]
    assert comes_true(lambda: server.waiting() > 40)
    server.client.close()
    server.process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        server.process.wait(1)
    server.process.send_signal(signal.SIGTERM)
    server.process.wait(30)
    server.process.stdout.close()
    for connection in busy:
        connection.close()


@pytest.mark.ci
def test_the_other_family(shell):
    """An address of IPv6 is one like any other."""
    if not socket.has_ipv6:
        pytest.skip("there is no IPv6")
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("there is no IPv6")
    server = Server(shell, "starter", "--host", "::1", "--workers", 1)
    assert 200 == server.client.get("/healthz").status_code
    server.client.close()
    server.process.send_signal(signal.SIGTERM)
    assert 0 == server.process.wait(30)
    server.process.stdout.close()


class Running:
    """A server in this process with bounds of its own; it answers whatever it is asked with many bytes."""

    def __init__(self, app: Any, **bounds: Any) -> None:
        self._server = make_server(import_web("serve"), app, Connections(**bounds))
        listener = open_listener("127.0.0.1", 0)
        self.address = listener.getsockname()
        self._thread = threading.Thread(target=run_server, args=(self._server, listener))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(20)
        assert not self._thread.is_alive()


async def answer_at_length(_: Any, __: Any, send: Any) -> None:
    """Write more than a connection holds."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(200):
        await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


ASK = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "data",
    [
        ASK[:-3],
        *(
            pytest.param(data, marks=pytest.mark.nightly)
            for data in (b"", b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nConnection: close\r\n\r\n")
        ),
    ],
)
@pytest.mark.ci
def test_a_client_that_says_nothing_or_reads_nothing(data: bytes):
    """It is disconnected after a time, whether it has said nothing, a part, or does not read the answer."""
    with Running(answer_at_length, look_s=0.3, stalled_s=0.3) as running:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(running.address)
        connection.sendall(data)
        connection.settimeout(10)
        time.sleep(3)
        read = 0
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(1 << 16):
                read += len(piece)
        assert read < 10_000_000
        connection.close()


@pytest.mark.ci
def test_the_connection_that_has_been_silent_for_longest_goes():
    """Where there are too many, one that asks now and then stays, however old it is."""

    async def app(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    with Running(app, most=4) as running, contextlib.ExitStack() as stack:

        def connect() -> socket.socket:
            return stack.enter_context(socket.create_connection(running.address, timeout=20))

        asks = connect()
        for _ in range(8):
            asks.sendall(ASK)
            assert asks.recv(1 << 16).startswith(b"HTTP/1.1 200")
            silent = connect()
            silent.sendall(ASK)
            assert silent.recv(1 << 16).startswith(b"HTTP/1.1 200")


@pytest.mark.ci
def test_bounds_of_all_requests_together():
    """Beyond a number of requests, or of bytes, they are refused and counted, but for health; ends make room."""
    release, arrivals = threading.Event(), threading.Semaphore(0)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["more_body"]:
            pass
        if scope["path"] != "/healthz":
            arrivals.release()
            await asyncio.to_thread(release.wait, 20)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def post(path: str = "/", size: int = 1) -> None:
        url = f"http://127.0.0.1:{running.address[1]}{path}"
        statuses.append(httpx.post(url, content=b"x" * size, trust_env=False, timeout=30).status_code)

    statuses: list[int] = []
    counts: list[int] = []
    with Running(Admission(app, most=2, most_bytes=1000, count=counts.append)) as running:
        waiting = [threading.Thread(target=post) for _ in range(2)]
        for thread in waiting:
            thread.start()
            assert arrivals.acquire(timeout=20)
        post()
        post("/run_code")
        post("/healthz")
        assert [503, 504, 200] == statuses
        assert [503, 504] == counts
        release.set()
        for thread in waiting:
            thread.join()
        for _ in range(5):
            post(size=900)
        post(size=1001)
        post(size=900)
    assert [503, 504, *[200] * 8, 500, 200] == statuses
