"""The async twins of the functions that judge."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, ParamSpec

from passcurve.analysis.notebook import Run
from passcurve.errors import Interrupted
from passcurve.judging.request import Progress

_P = ParamSpec("_P")

_is_cancelled: ContextVar[Callable[[], bool]] = ContextVar("is_cancelled", default=lambda: False)
"""Tells in the thread of a call whether its task was cancelled."""


def check_cancelled() -> None:
    """Raise Interrupted in a call whose task was cancelled; for waits in which nothing is watched."""
    if _is_cancelled.get()():
        raise Interrupted("the task of this call was cancelled before the first row came")


def async_twin(function: Callable[_P, Run]) -> Callable[_P, Coroutine[Any, Any, Run]]:
    """Return the same function for an event loop: it runs in a thread, and stops when its task is cancelled."""

    @functools.wraps(function)
    async def twin(*args: _P.args, **kwargs: _P.kwargs) -> Run:
        cancelled = threading.Event()
        watch: Any = kwargs.get("watch")

        def stop_or_watch(progress: Progress) -> None:
            if cancelled.is_set():
                raise KeyboardInterrupt
            if watch is not None:
                watch(progress)

        kwargs["watch"] = stop_or_watch
        before = _is_cancelled.set(cancelled.is_set)
        call = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
        _is_cancelled.reset(before)
        try:
            return await asyncio.shield(call)
        except asyncio.CancelledError:
            cancelled.set()
            with contextlib.suppress(Exception):
                await call
            raise

    twin.__name__ = twin.__qualname__ = f"{function.__name__}_async"
    first = (function.__doc__ or "").partition("\n")[0]
    twin.__doc__ = f"{first}\n\nTakes the arguments of ``{function.__name__}``.  A cancelled call stores what it did."
    return twin
