"""The back end ``function``: a callable of the user's, for one prompt or several at a time, sync or async."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Self

from passcurve.errors import ModelError, RefusedError, UsageError
from passcurve.models.backend import SampleRequest, ServerDefaults, Settings, sample_seed
from passcurve.models.sanitize import one_line
from passcurve.types import Reply, SampleKey

OnePrompt = Callable[[str], "str | Awaitable[str]"]
ManyPrompts = Callable[[Sequence[str]], "Sequence[str] | Awaitable[Sequence[str]]"]

_CANCEL_S = 1.0
"""Time that cancelled calls have to clean up."""


class Function:
    """Calls a function for each sample, or once for all samples of a request."""

    supports_sampling = False
    supports_temperature = False
    options: tuple[str, ...] = ()
    server_defaults: ServerDefaults | None = None

    def __init__(self, call: OnePrompt | ManyPrompts, *, many: bool = False) -> None:
        """Take a function from a prompt to a text; with ``many`` from a list of prompts to a list of texts."""
        if not callable(call):
            raise UsageError(f"`generate` must be a function from a prompt to a text, got {type(call).__name__!r}")
        self._call = call
        self._many = many
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self.error: Exception | None = None
        """The last exception that the function raised."""
        name = getattr(call, "__qualname__", type(call).__qualname__)
        self.identity = {"function": f"{getattr(call, '__module__', '')}.{name}"}

    @classmethod
    def open(cls, argument: str, settings: Settings) -> Self:  # noqa: ARG003 - every back end is opened so
        """Raise UsageError: a function has no name on a command line."""
        raise UsageError(f"function:{argument} cannot be named; call passcurve.evaluate(function, ...) from Python")

    def generate(self, request: SampleRequest) -> Iterator[Reply]:
        """Yield the function's text for each sample.

        Raises ModelError when it raises, RefusedError when it does not return texts.
        """
        prompt = request.prompt
        text = prompt.messages[-1].content if prompt.messages else prompt.text
        groups = [request.indices] if self._many else [(index,) for index in request.indices]
        for indices in groups:
            began = time.monotonic()
            texts = self._call_function(text, len(indices))
            latency_s = time.monotonic() - began
            for index, reply in zip(indices, texts, strict=True):
                key = SampleKey(problem_id=prompt.problem_id, sample_index=index)
                seed = sample_seed(request.decoding.seed, prompt.problem_id, index)
                yield Reply(key=key, text=reply, seed=seed, latency_s=latency_s)

    def close(self) -> None:
        """Cancel the open calls of async functions, and end their event loop, if there was one."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None and self._thread is not None:
            asyncio.run_coroutine_threadsafe(_cancel_calls(), loop)
            self._thread.join()
            loop.close()

    def _call_function(self, prompt: str, count: int) -> list[str]:
        try:
            result: object = self._call([prompt] * count) if self._many else self._call(prompt)  # type: ignore[arg-type]
            if inspect.isawaitable(result):
                result = asyncio.run_coroutine_threadsafe(_await(result), self._event_loop()).result()
        except Exception as error:
            self.error = error
            reason = one_line(str(error).encode("utf-8", "replace"))
            raise ModelError(f"generate raised {type(error).__name__}: {reason}") from error
        if not self._many:
            result = [result]
        if not isinstance(result, (list, tuple)) or len(result) != count:
            raise RefusedError(f"`generate` must return a list of {count} texts, got {_describe(result)}")
        for text in result:
            if not isinstance(text, str):
                raise RefusedError(f"`generate` must return a text for each prompt, got {_describe(text)}")
        # A subclass, as numpy has one, is not encoded.
        return [str(text) for text in result]

    def _event_loop(self) -> asyncio.AbstractEventLoop:
        # One loop for all calls: clients that the function holds belong to the loop of their first use.
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="passcurve-async", daemon=True)
                self._thread.start()
            return self._loop


async def _cancel_calls() -> None:
    """Cancel all other tasks of this loop, whose threads wait for them, and end the loop."""
    calls = asyncio.all_tasks() - {asyncio.current_task()}
    for call in calls:
        call.cancel()
    if calls:
        await asyncio.wait(calls, timeout=_CANCEL_S)
    asyncio.get_running_loop().stop()


async def _await(result: Awaitable[object]) -> object:
    return await result


def _describe(value: object) -> str:
    size = f" of {len(value)}" if isinstance(value, (list, tuple)) else ""
    return f"{type(value).__name__!r}{size}"
