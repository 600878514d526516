"""Answers to equal requests, kept for a while."""

from __future__ import annotations

import time
from collections import OrderedDict
from hashlib import blake2b

MOST_BYTES = 64 << 20
KEPT_S = 600.0


class AnswerCache:
    """The latest answers by what they answer, within bounds of size and age."""

    def __init__(self, most_bytes: int = MOST_BYTES, kept_s: float = KEPT_S) -> None:
        self._most_bytes, self._kept_s = most_bytes, kept_s
        self._answers: OrderedDict[bytes, tuple[float, bytes]] = OrderedDict()
        self._bytes = 0

    def find(self, key: bytes) -> bytes | None:
        """Return the answer to an equal request; None where there is none, or it is too old."""
        entry = self._answers.get(key)
        if entry is None:
            return None
        if time.monotonic() > entry[0]:
            self._drop(key)
            return None
        return entry[1]

    def add(self, key: bytes, answer: bytes) -> None:
        """Keep an answer; the oldest give way."""
        self._drop(key)
        if len(answer) > self._most_bytes // 8:
            return
        self._answers[key] = time.monotonic() + self._kept_s, answer
        self._bytes += len(answer) + len(key)
        while self._bytes > self._most_bytes:
            self._drop(next(iter(self._answers)))

    def _drop(self, key: bytes) -> None:
        entry = self._answers.pop(key, None)
        if entry is not None:
            self._bytes -= len(entry[1]) + len(key)


def digest(body: bytes) -> bytes:
    """Return what identifies a request."""
    return blake2b(body, digest_size=20).digest()
