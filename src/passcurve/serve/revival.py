"""Starts again what judges, where its sandbox was lost: a server that only said so would be of no use."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from typing import Any

from passcurve.errors import PasscurveError

_PAUSE_S = 1.0


class Revival:
    """Revives parts that are not alive (``is_alive``, ``revive``), in the background and not all the time."""

    def __init__(self, parts: list[Any]) -> None:
        self._parts = parts
        self._task: asyncio.Task[None] | None = None
        self._started = -math.inf

    @property
    def is_alive(self) -> bool:
        """Tell whether no part is lost."""
        return all(part.is_alive for part in self._parts)

    def begin(self) -> None:
        """Begin to start what is lost, unless that has begun."""
        if self.is_alive or time.monotonic() - self._started < _PAUSE_S:
            return
        if self._task is None or self._task.done():
            self._started = time.monotonic()
            self._task = asyncio.create_task(self._revive())

    async def _revive(self) -> None:
        for part in self._parts:
            # What fails is tried again with the next request.
            with contextlib.suppress(PasscurveError, OSError):
                await asyncio.to_thread(part.revive)
