"""What comes from a referee: frames of JSON, read as a stranger's, each with the number of the check that it is on."""

from __future__ import annotations

import hashlib
from bisect import insort
from typing import Annotated, Any

import msgspec

from passcurve.harness.wire import WireError
from passcurve.sandbox.compiled_tests import CompiledTests
from passcurve.sandbox.running_job import Running

REPORT_BYTES = 64 << 20
"""The longest report: one with the code of large tests in it."""

LEAVES = 3
"""So many jobs of a problem in a row that could not be judged in the processes that wait for jobs, and no more try."""

ANSWERS = 20_000
"""Reports that are kept."""

LENGTHS = 200
"""Of answers to one key: more are not worth comparing with."""

_REPORTS = msgspec.json.Decoder(dict[str, Any])


class _FromReferee(msgspec.Struct, frozen=True):
    """What the supervisor itself reads of a report: tests that are out for it can write on the line."""

    status: str
    number: str
    lost: bool = False
    read: int = -1
    code: Annotated[str, msgspec.Meta(max_length=REPORT_BYTES)] = ""


def _read_report(frame: bytes) -> dict[str, Any]:
    """Return a report; raises msgspec.DecodeError for what is none."""
    report = _REPORTS.decode(frame)
    msgspec.convert(report, _FromReferee)
    return report


def read_for(running: Running, frame: bytes, codes: CompiledTests) -> dict[str, Any] | None:
    """Return the report on a job, or None for one that came on the way to it.

    Compiled tests are kept.  Raises msgspec.DecodeError for what is no report, WireError or ValueError for one that is
    not due.
    """
    report = _read_report(frame)
    if report["number"] != running.number or running.report is not None:
        raise WireError("a report on something else")
    if report["status"] != "compiled":
        return report
    # Said before anything of the benchmark has run, and only by who was given no code.
    if running.has_code:
        raise WireError("code that nobody asked for")
    running.has_code = True
    codes.put(running.key, report.get("code", ""))
    # A reference solution goes on; a sample is checked by a process that has compiled nothing.
    running.compiled = not running.job.record
    return report if running.compiled else None


class Answers:
    """Reports by what was read of the answer that they are on, to the byte.

    Tests that stop at the third outcome have read three; they say the same of each answer that begins with those.
    """

    def __init__(self) -> None:
        self._reports: dict[bytes, dict[str, Any]] = {}
        self._lengths: dict[str, list[int]] = {}
        """How much was read of the answers to each key, in order."""

    def get(self, running: Running) -> dict[str, Any] | None:
        """Return the report on an answer that began with the same bytes, as far as they were read, or None."""
        at, so_far = 0, _begin(running)
        for length in self._lengths.get(running.key, ()):
            if length > len(running.answer):
                break
            so_far.update(memoryview(running.answer)[at:length])
            at = length
            if report := self._reports.get(so_far.digest()):
                return report
        return None

    def put(self, running: Running, report: dict[str, Any]) -> None:
        """Keep a report."""
        lengths = self._lengths.setdefault(running.key, [])
        size = len(running.answer)
        read = report["read"] if 0 <= report.get("read", -1) < size else size
        if len(self._reports) >= ANSWERS:
            self._reports.clear()
            self._lengths.clear()
            lengths = self._lengths.setdefault(running.key, [])
        if read not in lengths:
            if len(lengths) >= LENGTHS:
                return
            insort(lengths, read)
        so_far = _begin(running)
        so_far.update(memoryview(running.answer)[:read])
        self._reports[so_far.digest()] = report


def _begin(running: Running) -> hashlib.blake2b:
    key = hashlib.blake2b(running.key.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return hashlib.blake2b(key=key, digest_size=16)


class Shared:
    """What the workers of a pool know together; it saves time and changes no verdict."""

    def __init__(self) -> None:
        self.codes = CompiledTests()
        self.reports = Answers()
        self._leaves: dict[str, int] = {}

    def note(self, key: str, *, left: bool) -> None:
        """Take note of whether a job could be judged in the two processes that wait for jobs."""
        if self._leaves.get(key, 0) < LEAVES:
            self._leaves[key] = self._leaves.get(key, 0) + 1 if left else 0

    def is_unfit(self, key: str) -> bool:
        """Say whether that need not be tried."""
        return self._leaves.get(key, 0) >= LEAVES
