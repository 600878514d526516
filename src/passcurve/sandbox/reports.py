"""What comes from a referee: frames of JSON, read as a stranger's, each with the number of the check that it is on."""

from __future__ import annotations

import base64
import hashlib
from typing import Annotated, Any

import msgspec

from passcurve.sandbox.running import Running

REPORT_BYTES = 64 << 20
"""The longest report: one with the code of large tests in it."""

CODE_BYTES = 64 << 20
"""Of compiled tests that are kept; beyond that all are compiled again."""

LEAVES = 3
"""So many jobs of a problem in a row that could not be judged in processes that are rewound, and no more are tried."""

ANSWERS = 20_000
"""Reports that are kept."""

_REPORTS = msgspec.json.Decoder(dict[str, Any])


class _FromReferee(msgspec.Struct, frozen=True):
    """What the supervisor itself reads of a report: tests that are out for it can write on the line."""

    status: str
    number: str
    lost: bool = False
    code: Annotated[str, msgspec.Meta(max_length=REPORT_BYTES)] = ""


def read_report(frame: bytes) -> dict[str, Any]:
    """Return a report; raises msgspec.DecodeError for what is none."""
    report = _REPORTS.decode(frame)
    msgspec.convert(report, _FromReferee)
    return report


class Codes:
    """Compiled tests, by the keys of their referees."""

    def __init__(self) -> None:
        self._codes: dict[str, bytes] = {}
        self._size = 0

    def get(self, key: str) -> bytes:
        """Return the code, or nothing when it is not known."""
        return self._codes.get(key, b"")

    def put(self, key: str, text: str) -> None:
        """Keep what a referee has sent.  Raises ValueError for what is not code in base64."""
        code = base64.b64decode(text, validate=True)
        if self._size + len(code) > CODE_BYTES:
            self._codes.clear()
            self._size = 0
        self._size += len(code) - len(self._codes.get(key, b""))
        self._codes[key] = code


class Answers:
    """Reports by the whole of the answer that they are on, to the byte."""

    def __init__(self) -> None:
        self._reports: dict[bytes, dict[str, Any]] = {}

    def get(self, running: Running) -> dict[str, Any] | None:
        """Return the report on an equal answer to the same calls of the same tests, or None."""
        return self._reports.get(_key(running))

    def put(self, running: Running, report: dict[str, Any]) -> None:
        """Keep a report."""
        if len(self._reports) >= ANSWERS:
            self._reports.clear()
        self._reports[_key(running)] = report


def _key(running: Running) -> bytes:
    key = hashlib.blake2b(running.key.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return hashlib.blake2b(running.answer, key=key, digest_size=16).digest()


class Shared:
    """What the workers of a pool know together; it saves time and changes no verdict."""

    def __init__(self) -> None:
        self.codes = Codes()
        self.reports = Answers()
        self._leaves: dict[str, int] = {}

    def note(self, key: str, *, left: bool) -> None:
        """Take note of whether a job could be judged in processes that are rewound."""
        if self._leaves.get(key, 0) < LEAVES:
            self._leaves[key] = self._leaves.get(key, 0) + 1 if left else 0

    def is_unfit(self, key: str) -> bool:
        """Say whether that need not be tried."""
        return self._leaves.get(key, 0) >= LEAVES
