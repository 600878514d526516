"""Loads what the scores need while samples are judged: it takes longer than to work them out."""

from __future__ import annotations

import contextlib
import threading

MIN_JUDGED = 50
"""Rows from which on it pays: it takes 13 MiB of memory, which shorter runs do not hold beside their samples."""


class EarlyImport:
    """Imports the statistics in a thread, once there are enough rows."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    def watch(self, judged: int) -> None:
        """Begin, if so many rows are enough."""
        if self._thread is None and judged >= MIN_JUDGED:
            self._thread = threading.Thread(target=_load, name="passcurve-load")
            # Where no thread can be started they are imported when a score is worked out.
            with contextlib.suppress(RuntimeError):
                self._thread.start()


def _load() -> None:
    # A failed import is reported where the library is needed.
    with contextlib.suppress(Exception):
        import passcurve.stats.metrics  # noqa: F401 - it is there when a score is worked out
