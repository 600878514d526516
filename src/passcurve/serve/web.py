"""Parts of Starlette and uvicorn for our servers; the only file that imports them."""

from __future__ import annotations

from typing import Any, NamedTuple

from passcurve.errors import UsageError


class Web(NamedTuple):
    """The parts of both libraries."""

    application: Any
    route: Any
    response: Any
    json_response: Any
    text_response: Any
    streaming_response: Any
    run_in_thread: Any
    client_gone: Any
    """The exception of a client that has gone away."""
    config: Any
    server: Any
    protocol: Any
    """The protocol of a connection."""


def import_web(command: str) -> Web:
    """Return both libraries; raise UsageError with the command that installs them."""
    try:
        import uvicorn
        from starlette import applications, concurrency, requests, responses, routing
        from uvicorn.protocols.http import h11_impl
    except ImportError:
        install = f"pip install 'passcurve[{command}]'"
        raise UsageError(f"passcurve {command} needs starlette and uvicorn: {install}") from None
    return Web(
        applications.Starlette,
        routing.Route,
        responses.Response,
        responses.JSONResponse,
        responses.PlainTextResponse,
        responses.StreamingResponse,
        concurrency.run_in_threadpool,
        requests.ClientDisconnect,
        uvicorn.Config,
        uvicorn.Server,
        h11_impl.H11Protocol,
    )
