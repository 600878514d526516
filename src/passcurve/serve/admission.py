"""Which requests are let in, and what becomes of those whose client has gone."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import re
from collections.abc import Awaitable, Callable
from typing import Any

from passcurve.errors import AT_ONCE
from passcurve.serve.requests import RequestError

MAX_REQUESTS = 750
MAX_BYTES = 512 << 20
"""Bytes of all bodies that are being read or answered."""
_ASKED_AGAIN = {"/run_code": 504}
"""Paths whose clients take 503 for a failed program, with the status that they repeat."""

_OF_STATE = ("/healthz", "/readyz", "/metrics")
"""Paths that tell how the server is, which is asked most under load."""

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


def is_loopback(host: str) -> bool:
    """Tell whether a name or an address is that of this machine alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def find_misdirection(headers: list[tuple[bytes, bytes]]) -> str:
    """Return why a request to loopback was not meant for this server; the empty string where it was.

    A page of the web can have a browser send requests here: under a name of its own, or with its origin.
    """
    fields = dict(headers)
    host = fields.get(b"host", b"localhost")
    origin = fields.get(b"origin")
    if not is_loopback(_hostname(host)):
        return "this server answers to names and addresses of loopback only"
    if origin is not None and origin.removeprefix(b"http://") != host:
        return "pages of others are not answered"
    return ""


def _hostname(host: bytes) -> str:
    """Return the name or address of a ``Host``, without its port."""
    match = re.fullmatch(rb"(?:\[([0-9a-fA-F:.]+)\]|([^\[\]:]+))(?::\d*)?", host)
    return (match[1] or match[2]).decode("latin-1").lower() if match is not None else ""


async def refuse(send: Send, status: int, message: str) -> None:
    """Answer a request with why it is refused, and close its connection."""
    headers = [(b"content-type", b"text/plain"), (b"connection", b"close")]
    headers += [(b"retry-after", b"5")] if status == 503 else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": message.encode() + b"\n"})


class Admission:
    """Lets so many requests in at once, with so many bytes, and ends the work for those whose client has gone.

    ``count`` is called with the status of each request that it does not let in.
    """

    def __init__(
        self,
        app: Any,
        *,
        most: int = MAX_REQUESTS,
        most_bytes: int = MAX_BYTES,
        count: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._app, self._count = app, count
        self._most, self._most_bytes = most, most_bytes
        self._requests = self._bytes = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["path"] in _OF_STATE:
            await self._app(scope, receive, send)
            return
        status = _ASKED_AGAIN.get(scope["path"], 503)
        if self._requests >= self._most:
            self._count(status)
            await refuse(send, status, f"too many {AT_ONCE}")
            return
        self._requests += 1
        body_bytes = 0
        has_body = asyncio.Event()

        async def receive_counted() -> Message:
            nonlocal body_bytes
            message = await receive()
            if not message.get("more_body"):
                has_body.set()
            size = len(message.get("body", b""))
            body_bytes += size
            self._bytes += size
            if self._bytes > self._most_bytes:
                raise RequestError(status, f"too many large {AT_ONCE}")
            return message

        async def wait_for_end() -> None:
            await has_body.wait()
            while (await receive())["type"] != "http.disconnect":
                pass

        try:
            await _run_until(self._app(scope, receive_counted, send), wait_for_end())
        finally:
            self._requests -= 1
            self._bytes -= body_bytes


async def _run_until(work: Awaitable[None], end: Awaitable[None]) -> None:
    """Await some work, and cancel it if the end comes first."""
    working, ending = asyncio.ensure_future(work), asyncio.ensure_future(end)
    try:
        await asyncio.wait({working, ending}, return_when=asyncio.FIRST_COMPLETED)
        is_gone = not working.done()
    finally:
        for task in (ending, working):
            task.cancel()
    with contextlib.suppress(asyncio.CancelledError) if is_gone else contextlib.nullcontext():
        await working
