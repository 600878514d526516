"""The back end ``function``: a plain callable of the user's, one prompt or several at a time, sync or async."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Self

from passcurve.errors import ModelError, RefusedError, UsageError
from passcurve.models.backend import Remote, Settings, sample_seed
from passcurve.types import Reply, SampleKey, SampleRequest

One = Callable[[str], "str | Awaitable[str]"]
Many = Callable[[Sequence[str]], "Sequence[str] | Awaitable[Sequence[str]]"]


class Function:
    """Calls a function for each sample, or once for all samples of an order."""

    draws = False
    tempered = False
    options: tuple[str, ...] = ()
    remote: Remote | None = None

    def __init__(self, call: One | Many, *, many: bool = False) -> None:
        """Take a function from a prompt to a text; ``many``: from a list of prompts to as many texts."""
        if not callable(call):
            raise UsageError(f"generate is {type(call).__name__!r}; a function is needed, from a prompt to a text")
        self._call = call
        self._many = many
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self.error: Exception | None = None
        """What the function raised last."""
        name = getattr(call, "__qualname__", type(call).__qualname__)
        self.identity = {"function": f"{getattr(call, '__module__', '')}.{name}"}

    @classmethod
    def open(cls, words: str, settings: Settings) -> Self:  # noqa: ARG003 - every back end is built alike
        """Refuse: a function has no name on a command line."""
        raise UsageError(f"function:{words} cannot be named; call passcurve.evaluate(function, ...) from Python")

    def generate(self, order: SampleRequest) -> Iterator[Reply]:
        """Yield what the function returns for each sample.

        Raises ModelError when it raises, RefusedError when it returns what is no text.
        """
        prompt = order.prompt
        shown = prompt.messages[-1].content if prompt.messages else prompt.text
        groups = [order.indices] if self._many else [(index,) for index in order.indices]
        for indices in groups:
            began = time.monotonic()
            texts = self._texts(shown, len(indices))
            took = time.monotonic() - began
            for index, text in zip(indices, texts, strict=True):
                key = SampleKey(problem_id=prompt.problem_id, sample_index=index)
                seed = sample_seed(order.decoding.seed, prompt.problem_id, index)
                yield Reply(key=key, text=text, seed=seed, latency_s=took)

    def close(self) -> None:
        """End the loop that async functions ran in, if there was one."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None and self._thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()
            loop.close()

    def _texts(self, prompt: str, count: int) -> list[str]:
        try:
            found: object = self._call([prompt] * count) if self._many else self._call(prompt)  # type: ignore[arg-type]
            if inspect.isawaitable(found):
                found = asyncio.run_coroutine_threadsafe(_awaited(found), self._running()).result()
        except Exception as error:
            self.error = error
            raise ModelError(f"generate raised {type(error).__name__}: {error}") from error
        if not self._many:
            found = [found]
        if not isinstance(found, (list, tuple)) or len(found) != count:
            raise RefusedError(f"generate returned {_told(found)}; for {count} prompts a list of {count} texts is due")
        for text in found:
            if not isinstance(text, str):
                raise RefusedError(f"generate returned {_told(text)}; a text is due for each prompt")
        return list(found)

    def _running(self) -> asyncio.AbstractEventLoop:
        # One loop for all calls: clients that the function holds belong to the loop in which they were used first.
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="passcurve-async", daemon=True)
                self._thread.start()
            return self._loop


async def _awaited(found: Awaitable[object]) -> object:
    return await found


def _told(found: object) -> str:
    size = f" of {len(found)}" if isinstance(found, (list, tuple)) else ""
    return f"{type(found).__name__!r}{size}"
