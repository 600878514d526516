"""The server of the viewer: loopback, read-only, for one token."""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from passcurve.errors import PasscurveError, UsageError
from passcurve.serve.connections import Connections, make_server, open_listener, run_server
from passcurve.serve.web import Web, import_web
from passcurve.view.pages import Pages
from passcurve.view.runs import Runs, RunSummary

_LOOK_S = 1.0
"""Time between two looks at runs that go on."""
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def serve(folder: Path, port: int, prices: Path | None, announce: Callable[[str], None]) -> None:
    """Serve the runs below a folder until the user stops it; ``announce`` gets the address once it listens.

    Raises UsageError where Starlette or uvicorn is missing, or the port is in use.
    """
    web = import_web("view")
    token = secrets.token_urlsafe(24)
    try:
        listener = open_listener("127.0.0.1", port)
    except OSError as error:
        raise UsageError(f"--port {port} cannot be used: {error.strerror or error}") from error
    with listener:
        own = listener.getsockname()[1]
        app = make_app(Runs(folder), token, own, web, prices, is_ending=lambda: server.should_exit)
        server = make_server(web, app, Connections())
        announce(f"http://127.0.0.1:{own}/{token}/")
        run_server(server, listener)


def make_app(
    runs: Runs, token: str, port: int, web: Web, prices: Path | None = None, *, is_ending: Callable[[], bool]
) -> Any:
    """Return the application: checks in front, then the pages; streams end when the server does."""
    pages = Pages(runs, prices)

    async def page(make: Callable[..., bytes], *arguments: Any) -> Any:
        try:
            return web.response(await web.run_in_thread(make, *arguments), media_type="text/html", headers=_HEADERS)
        except (PasscurveError, OSError) as error:
            # It may have been removed just now; an error of the system's names its place on this machine.
            reason = str(error) if isinstance(error, PasscurveError) else f"it cannot be read: {error.strerror}"
            text = reason.replace(str(runs.folder), ".")
            return web.response(f"{text}\n", 404, media_type="text/plain", headers=_HEADERS)

    async def list_runs(_: Any) -> Any:
        return await page(pages.list_runs)

    async def report(request: Any) -> Any:
        names = request.query_params.getlist("run")
        if not names:
            return web.response("name a run: ?run=NAME\n", 404, media_type="text/plain", headers=_HEADERS)

        def make() -> bytes:
            if len(names) == 1 and pages.is_large(names[0]):
                return pages.rows(names[0], request.query_params.get("at", ""), request.query_params.get("status", ""))
            return pages.report(names, f"/{token}/events")

        return await page(make)

    async def events(request: Any) -> Any:
        return web.streaming_response(
            _changes(runs, request.is_disconnected, is_ending), media_type="text/event-stream", headers=_HEADERS
        )

    routes = [
        web.route(f"/{token}/", list_runs),
        web.route(f"/{token}/report", report),
        web.route(f"/{token}/events", events),
    ]
    return _Guard(web.application(routes=routes), token, port)


async def _changes(runs: Runs, is_gone: Callable[[], Any], is_ending: Callable[[], bool]) -> AsyncIterator[str]:
    """Yield the counts of all runs, whenever they have changed."""
    before = ""
    while not (is_ending() or await is_gone()):
        rows = await asyncio.to_thread(runs.summaries)
        now = json.dumps([_counts(run) for run in rows])
        if now != before:
            yield f"data: {now}\n\n"
            before = now
        await asyncio.sleep(_LOOK_S)


def _counts(run: RunSummary) -> dict[str, Any]:
    passed = run.statuses.get("passed", 0)
    return {"name": run.name, "judged": run.judged, "passed": passed, "finished": run.finished}


class _Guard:
    """Lets through who reads, from this host, with the token."""

    def __init__(self, app: Any, token: str, port: int) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = {f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost", "[::1]")}

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answer a request, or refuse it."""
        status = self._refusal(scope) if scope["type"] == "http" else 0
        if not status:
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = [(b"content-type", b"text/plain"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"refused\n"})

    def _refusal(self, scope: dict[str, Any]) -> int:
        """Return the status of a refusal; 0 for none."""
        headers = dict(scope["headers"])
        origin = headers.get(b"origin")
        if headers.get(b"host") not in self._hosts:
            return 400
        if origin is not None and origin.removeprefix(b"http://") not in self._hosts:
            return 403
        if scope["method"] not in ("GET", "HEAD"):
            return 405
        first = scope["raw_path"].split(b"/")[1] if scope["raw_path"].startswith(b"/") else b""
        return 0 if hmac.compare_digest(first, self._token) else 403
