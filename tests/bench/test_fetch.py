"""Fetching over a real connection to this machine: what arrives, what is refused, what is left behind."""

from __future__ import annotations

import hashlib
import http.server
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from passcurve.bench import fetch as room
from passcurve.bench.catalog import Carrier, Published
from passcurve.bench.fetch import fetch
from passcurve.errors import FetchError, UnknownNameError, UsageError

BODY = b'{"any": "bytes"}\n' * 5000


class Answers(http.server.BaseHTTPRequestHandler):
    """What the server says, by path."""

    requests: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        """Answer one request as its path asks."""
        self.requests.append(self.path)
        getattr(self, "answer_" + self.path.strip("/"))()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is given
        """Keep the tests quiet."""

    def send(self, body: bytes, length: int, status: int = 200, **headers: str) -> None:
        """Send a body that claims a length."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body)

    def answer_right(self) -> None:
        """Send the file."""
        self.send(BODY, len(BODY))

    def answer_labelled(self) -> None:
        """Send the file with the label that some servers give to a .gz file."""
        self.send(BODY, len(BODY), Content_Encoding="gzip")

    def answer_moved(self) -> None:
        """Send the client elsewhere."""
        self.send(b"", 0, 302, Location="/right")

    def answer_round(self) -> None:
        """Send the client in circles."""
        self.send(b"", 0, 302, Location="/round")

    def answer_absent(self) -> None:
        """Say that there is no such file."""
        self.send_error(404)

    def answer_wrong(self) -> None:
        """Send other bytes, as a captive portal does."""
        self.send(b"<html>log in</html>", 19)

    def answer_cut(self) -> None:
        """Promise the file and send half."""
        self.send(BODY[: len(BODY) // 2], len(BODY))

    def answer_slow(self) -> None:
        """Begin, then wait longer than the client will."""
        self.send(BODY[:10], len(BODY))
        self.wfile.flush()
        time.sleep(1.0)

    def answer_endless(self) -> None:
        """Send more than any benchmark has, until the client has had enough."""
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(bytes(1 << 20))
        except OSError:
            self.close_connection = True


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Give the address of a server on this machine."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    Answers.requests.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()
        thread.join()


def catalog(url: str = "http://127.0.0.1:9/nothing") -> dict[str, Published]:
    """Return a catalog with one benchmark, whose file is BODY."""
    return {
        "own": Published(
            title="Own",
            licence="MIT",
            citation="nobody",
            url=url,
            file="own.jsonl",
            sha256=hashlib.sha256(BODY).hexdigest(),
            problems_digest="",
            problems=1,
            id_prefix="own/",
            carrier=Carrier(distribution="own", package="no_such_package_here", paths=()),
        )
    }


def refused(cache_dir: Path, url: str, timeout_s: float = 10.0) -> str:
    """Return why a fetch was refused, when it left nothing behind and said what to do."""
    target = cache_dir / "own" / "own.jsonl"
    with pytest.raises(FetchError) as caught:
        fetch("own", cache_dir, url=url, timeout_s=timeout_s, catalog=catalog())
    assert [] == list((cache_dir / "own").iterdir())
    before = f"cannot fetch 'own' from {url}: "
    after = (
        "; without a network, download that address elsewhere and put the file at "
        f"{str(target)!r}, or pass it with --benchmark FILE"
    )
    message = str(caught.value)
    assert message.startswith(before)
    assert message.endswith(after)
    assert "\n" not in message
    return message.removeprefix(before).removesuffix(after)


def test_file_arrives(tmp_path: Path, server: str) -> None:
    """The file lies in the cache under its name, alone, with the bytes of the server."""
    path = fetch("own", tmp_path / "new" / "cache", catalog=catalog(f"{server}/right"))
    assert tmp_path / "new" / "cache" / "own" / "own.jsonl" == path
    assert BODY == path.read_bytes()
    assert [path] == list(path.parent.iterdir())


def test_redirects_are_followed(tmp_path: Path, server: str) -> None:
    """An address that moved is followed."""
    assert BODY == fetch("own", tmp_path, url=f"{server}/moved", catalog=catalog()).read_bytes()


def test_bytes_are_kept_as_published(tmp_path: Path, server: str) -> None:
    """A label of compression does not make the client unpack the file."""
    assert BODY == fetch("own", tmp_path, url=f"{server}/labelled", catalog=catalog()).read_bytes()


def test_what_is_there_is_not_fetched_again(tmp_path: Path, server: str) -> None:
    """A copy with the right checksum is returned without asking anybody."""
    for _ in range(2):
        path = fetch("own", tmp_path, url=f"{server}/right", catalog=catalog())
    assert BODY == path.read_bytes()
    assert ["/right"] == Answers.requests


def test_damaged_copy_is_replaced(tmp_path: Path, server: str) -> None:
    """A copy with a wrong checksum is fetched again."""
    path = fetch("own", tmp_path, url=f"{server}/right", catalog=catalog())
    path.write_bytes(b"damaged")
    assert BODY == fetch("own", tmp_path, url=f"{server}/right", catalog=catalog()).read_bytes()


def test_damaged_copy_stays_until_a_right_one_came(tmp_path: Path, server: str) -> None:
    """A refused download does not touch the file that lies there."""
    path = fetch("own", tmp_path, url=f"{server}/right", catalog=catalog())
    path.write_bytes(b"mine")
    with pytest.raises(FetchError):
        fetch("own", tmp_path, url=f"{server}/wrong", catalog=catalog())
    assert [(path, b"mine")] == [(each, each.read_bytes()) for each in path.parent.iterdir()]


def test_status_of_the_server(tmp_path: Path, server: str) -> None:
    """An answer other than success is told with its number."""
    assert "the server answered 404 Not Found" == refused(tmp_path, f"{server}/absent")


def test_wrong_bytes(tmp_path: Path, server: str) -> None:
    """Bytes with another checksum are refused with both."""
    found, expected = hashlib.sha256(b"<html>log in</html>").hexdigest(), hashlib.sha256(BODY).hexdigest()
    message = f"the file has sha256 {found[:12]}..., expected {expected[:12]}..."
    assert message == refused(tmp_path, f"{server}/wrong")


def test_cut_connection(tmp_path: Path, server: str) -> None:
    """A connection that ends too early is told as such."""
    assert refused(tmp_path, f"{server}/cut").startswith("the connection was cut (")


def test_slow_server(tmp_path: Path, server: str) -> None:
    """A server that stops sending is waited for only so long."""
    start = time.monotonic()
    assert "no answer within 0.2 s" == refused(tmp_path, f"{server}/slow", timeout_s=0.2)
    assert 5.0 > time.monotonic() - start


def test_endless_answer(tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is larger than any benchmark is not kept to its end."""
    monkeypatch.setattr(room, "MAX_BYTES", 3 << 20)
    assert "the response exceeds 3 MiB" == refused(tmp_path, f"{server}/endless")


def test_circle_of_redirects(tmp_path: Path, server: str) -> None:
    """Redirects without end are given up."""
    assert "redirects" in refused(tmp_path, f"{server}/round")


def test_refused_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody at the address is told as no connection, which is also what offline looks like."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        assert refused(tmp_path, f"http://127.0.0.1:{port}/right").startswith("no connection (")


def test_name_that_does_not_resolve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that nobody knows is told as no connection."""
    monkeypatch.setenv("NO_PROXY", "*")
    # RFC 6761 keeps .invalid free of names; a host without any name server answers the same.
    assert refused(tmp_path, "http://nowhere.invalid/right").startswith("no connection (")


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/right", "right", "http://127.0.0.1:x/"])
def test_not_an_address(tmp_path: Path, url: str) -> None:
    """What cannot be asked over http is refused as an address."""
    assert refused(tmp_path, url).startswith("not an ")


def test_settings_that_do_not_work(tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy setting that no client understands is a reason like any other."""
    monkeypatch.setenv("ALL_PROXY", "nonsense://127.0.0.1:9")
    assert refused(tmp_path, f"{server}/right").startswith("the proxy or certificate settings do not work (")


def test_cache_that_cannot_be_written(tmp_path: Path, server: str) -> None:
    """A cache that is no folder is told with the path, since no download would help."""
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(FetchError) as caught:
        fetch("own", tmp_path / "cache", url=f"{server}/right", catalog=catalog())
    target = tmp_path / "cache" / "own" / "own.jsonl"
    assert f"cannot write {str(target)!r}: Not a directory" == str(caught.value)


def test_built_in_is_not_fetched(tmp_path: Path) -> None:
    """There is nothing to fetch of a built-in benchmark."""
    with pytest.raises(UsageError, match="'starter' is built in: there is nothing to fetch"):
        fetch("starter", tmp_path)


def test_unknown_name(tmp_path: Path) -> None:
    """A name that is in no catalog has no address; the nearest one is offered."""
    with pytest.raises(UnknownNameError, match=r"unknown benchmark 'humanevl'; did you mean 'humaneval'\?"):
        fetch("humanevl", tmp_path)
