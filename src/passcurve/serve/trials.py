"""A real server on loopback, asked once for each thing that callers rely on."""

from __future__ import annotations

import http.client
import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from passcurve.serve.connections import MAX_CONNECTIONS

_ANSWER_S = 60.0
_END_S = 30.0
_RIGHT = "    return -(-eggs // size)\n"
_FORGED = "    import sys; sys.exit(0)\n"


class Trial(NamedTuple):
    """One thing that was tried: whether it works, and what was seen."""

    name: str
    works: bool
    detail: str


def try_server() -> Iterator[Trial]:
    """Start ``passcurve serve`` on a free port of loopback, ask it, end it; yield what was seen, as it is seen."""
    command = [sys.executable, "-m", "passcurve", "serve", "starter", "--port", "0"]
    begun = time.monotonic()
    with subprocess.Popen(  # noqa: S603 - this program itself
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = ""
            for text in process.stdout:
                line = text.strip() or line
                if "http://" in line:
                    break
            address = urlsplit(next((word for word in line.split() if word.startswith("http://")), ""))
            if address.port is None:
                yield Trial("start", False, line or "it ended without a word")
                return
            yield Trial("start", True, f"ready after {time.monotonic() - begun:.1f} s")
            yield from _ask(address.port)
            process.send_signal(signal.SIGTERM)
            process.wait(_END_S)
            yield Trial("end", process.returncode == 0, f"SIGTERM: exit status {process.returncode}")
        finally:
            process.kill()
    yield _descriptors()


def _ask(port: int) -> Iterator[Trial]:
    rows = [{"task_id": "starter/0", "completion": text} for text in (_RIGHT, _FORGED)]
    inline = {"id": "sum", "kind": "stdin", "inputs": ["1 2\n"], "outputs": ["3\n"]}
    sent = [{"problem": inline, "solution": "print(sum(map(int, input().split())))"}]
    loop = {"code": "while True: pass", "language": "python", "run_timeout": 1}
    requests: tuple[tuple[str, str, Any, Callable[[Any], object], object], ...] = (
        ("judge", "/judge", {"samples": rows}, lambda a: [one["passed"] for one in a["results"]], [True, False]),
        ("problems that are sent", "/judge", {"samples": sent}, lambda a: a["results"][0]["passed"], True),
        (
            "programs",
            "/run_code",
            {"code": "print(1)", "language": "python"},
            lambda a: (a["status"], a["run_result"]["stdout"]),
            ("Success", "1\n"),
        ),
        ("limits of time", "/run_code", loop, lambda a: a["run_result"]["status"], "TimeLimitExceeded"),
    )
    for name, path, body, read, expected in requests:
        begun = time.monotonic()
        try:
            status, answer = _post(port, path, body)
            result = read(json.loads(answer)) if status == 200 else f"status {status}"
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
            result = f"{type(error).__name__}: {error}"
        seconds = time.monotonic() - begun
        yield Trial(
            name, result == expected, f"{path} in {seconds:.2f} s" if result == expected else f"{path}: {result}"
        )


def _post(port: int, path: str, body: Any) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_ANSWER_S)
    try:
        connection.request("POST", path, json.dumps(body))
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def _descriptors() -> Trial:
    """Return whether as many connections are possible as a server takes."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * MAX_CONNECTIONS
    detail = f"{soft:,} may be open" if soft >= wanted else f"{soft:,} may be open; allow more (ulimit -n {wanted})"
    return Trial(
        "descriptors", soft >= wanted, f"{detail}, for {min(soft // 2, MAX_CONNECTIONS):,} connections at once"
    )
