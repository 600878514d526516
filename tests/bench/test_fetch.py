"""Tests of fetching over a real connection to this machine."""

from __future__ import annotations

import hashlib
import http.server
import re
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
    """The server's answers, by path."""

    requests: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        """Answer one request according to its path."""
        self.requests.append(self.path)
        getattr(self, "answer_" + self.path.strip("/"))()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is given
        """Keep the tests quiet."""

    def send(self, body: bytes, length: int, status: int = 200, **headers: str) -> None:
        """Send a body with the given content length."""
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
        """Send the file with the `Content-Encoding` header that some servers add to a .gz file."""
        self.send(BODY, len(BODY), Content_Encoding="gzip")

    def answer_moved(self) -> None:
        """Redirect the client to another address."""
        self.send(b"", 0, 302, Location="/right")

    def answer_round(self) -> None:
        """Redirect the client to the same address."""
        self.send(b"", 0, 302, Location="/round")

    def answer_absent(self) -> None:
        """Say that there is no such file."""
        self.send_error(404)

    def answer_wrong(self) -> None:
        """Send other bytes, as a captive portal does."""
        self.send(b"<html>log in</html>", 19)

    def answer_cut(self) -> None:
        """Announce the whole file and send half of it."""
        self.send(BODY[: len(BODY) // 2], len(BODY))

    def answer_slow(self) -> None:
        """Begin, then wait longer than the client does."""
        self.send(BODY[:10], len(BODY))
        self.wfile.flush()
        time.sleep(1.0)

    def answer_endless(self) -> None:
        """Send more than any benchmark has, until the client stops reading."""
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


def refusal(cache_dir: Path, url: str, timeout_s: float = 10.0) -> str:
    """Return the reason why a fetch was refused; check that it left no file and gave a remedy."""
    target = cache_dir / "own" / "own.jsonl"
    with pytest.raises(FetchError) as caught:
        fetch("own", cache_dir, url=url, timeout_s=timeout_s, catalog=catalog())
    assert [] == list((cache_dir / "own").iterdir())
    before = f"cannot fetch 'own' from {url}: "
    after = (
        "; without a network, download that address elsewhere and put the file at "
        f"{str(target)!r}, or name it (`judge --benchmark FILE`, `run FILE`)"
    )
    message = str(caught.value)
    assert message.startswith(before)
    assert message.endswith(after)
    assert "\n" not in message
    return message.removeprefix(before).removesuffix(after)


def test_file_arrives(tmp_path: Path, server: str) -> None:
    """The fetched file is the only file in its cache folder and has the server's bytes."""
    path = fetch("own", tmp_path / "new" / "cache", catalog=catalog(f"{server}/right"))
    assert tmp_path / "new" / "cache" / "own" / "own.jsonl" == path
    assert BODY == path.read_bytes()
    assert [path] == list(path.parent.iterdir())


def test_redirects_are_followed(tmp_path: Path, server: str) -> None:
    """The client follows a redirect."""
    assert BODY == fetch("own", tmp_path, url=f"{server}/moved", catalog=catalog()).read_bytes()


def test_bytes_are_kept_as_published(tmp_path: Path, server: str) -> None:
    """A `Content-Encoding` header does not make the client unpack the file."""
    assert BODY == fetch("own", tmp_path, url=f"{server}/labelled", catalog=catalog()).read_bytes()


def test_what_is_there_is_not_fetched_again(tmp_path: Path, server: str) -> None:
    """A copy with the right checksum is used without another request."""
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
    """A refused download leaves the existing file unchanged."""
    path = fetch("own", tmp_path, url=f"{server}/right", catalog=catalog())
    path.write_bytes(b"mine")
    with pytest.raises(FetchError):
        fetch("own", tmp_path, url=f"{server}/wrong", catalog=catalog())
    assert [(path, b"mine")] == [(file, file.read_bytes()) for file in path.parent.iterdir()]


def test_status_of_the_server(tmp_path: Path, server: str) -> None:
    """An HTTP error is reported with its status code."""
    assert "404 Not Found" in refusal(tmp_path, f"{server}/absent")


def test_wrong_bytes(tmp_path: Path, server: str) -> None:
    """Bytes with the wrong checksum are refused, and the message has both checksums."""
    actual, expected = hashlib.sha256(b"<html>log in</html>").hexdigest(), hashlib.sha256(BODY).hexdigest()
    assert re.search(rf"{actual[:12]}\b.*expected {expected[:12]}\b", refusal(tmp_path, f"{server}/wrong"))


def test_cut_connection(tmp_path: Path, server: str) -> None:
    """A connection that ends too early is reported as such."""
    assert "was cut" in refusal(tmp_path, f"{server}/cut")


def test_slow_server(tmp_path: Path, server: str) -> None:
    """The client waits for a stalled server only until the time limit."""
    start = time.monotonic()
    assert "0.2 s" in refusal(tmp_path, f"{server}/slow", timeout_s=0.2)
    assert 5.0 > time.monotonic() - start


def test_endless_answer(tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client stops reading a response that is larger than any benchmark."""
    monkeypatch.setattr(room, "MAX_BYTES", 3 << 20)
    assert "3 MiB" in refusal(tmp_path, f"{server}/endless")


def test_circle_of_redirects(tmp_path: Path, server: str) -> None:
    """The client gives up on an endless chain of redirects."""
    assert "redirects" in refusal(tmp_path, f"{server}/round")


def test_refused_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused port is reported as a missing connection, like a machine that is offline."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        assert refusal(tmp_path, f"http://127.0.0.1:{port}/right").startswith("no connection")


def test_name_that_does_not_resolve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown host is reported as a missing connection."""
    monkeypatch.setenv("NO_PROXY", "*")
    # RFC 6761 keeps .invalid free of names; a host without any name server answers the same.
    assert refusal(tmp_path, "http://nowhere.invalid/right").startswith("no connection")


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/right", "right", "http://127.0.0.1:x/", "http://a..b/right"])
def test_not_an_address(tmp_path: Path, url: str) -> None:
    """An address that is not a valid HTTP URL is refused."""
    assert refusal(tmp_path, url).startswith("not an ")


def test_settings_that_do_not_work(tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An invalid proxy setting is reported as the reason of the failure."""
    monkeypatch.setenv("ALL_PROXY", "nonsense://127.0.0.1:9")
    assert "proxy" in refusal(tmp_path, f"{server}/right")


def test_cache_that_cannot_be_written(tmp_path: Path, server: str) -> None:
    """A cache path that is not a folder is reported, without advice to download the file."""
    (tmp_path / "cache").write_text("a file")
    target = tmp_path / "cache" / "own" / "own.jsonl"
    with pytest.raises(FetchError, match=f"'{target}': Not a directory$"):
        fetch("own", tmp_path / "cache", url=f"{server}/right", catalog=catalog())


def test_built_in_is_not_fetched(tmp_path: Path) -> None:
    """A built-in benchmark cannot be fetched."""
    with pytest.raises(UsageError, match="'starter'"):
        fetch("starter", tmp_path)


def test_unknown_name(tmp_path: Path) -> None:
    """An unknown name is refused, and the message suggests the nearest known name."""
    with pytest.raises(UnknownNameError, match=r"'humanevl'.*'humaneval'"):
        fetch("humanevl", tmp_path)
