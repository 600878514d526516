"""Compiled tests of problems, as referees sent them, so that the next referee need not compile them again."""

from __future__ import annotations

import base64
from collections.abc import Mapping

CODE_BYTES = 64 << 20
"""Limit on the size of all code that is kept; beyond it all is dropped, and compiled again when needed."""


class CompiledTests:
    """Compiled tests, by the keys of their referees."""

    def __init__(self) -> None:
        self._code: dict[str, bytes] = {}
        self._size = 0

    def get(self, key: str) -> bytes:
        """Return the code, or no bytes when there is none."""
        return self._code.get(key, b"")

    def items(self) -> Mapping[str, bytes]:
        """Return all code."""
        return self._code

    def put(self, key: str, text: str) -> None:
        """Keep what a referee has sent.  Raises ValueError for what is not code in base64."""
        code = base64.b64decode(text, validate=True)
        if not code:
            raise ValueError("no code")
        self.add(key, code)

    def add(self, key: str, code: bytes) -> None:
        """Keep code."""
        if self._size + len(code) > CODE_BYTES:
            self._code.clear()
            self._size = 0
        self._size += len(code) - len(self._code.get(key, b""))
        self._code[key] = code
