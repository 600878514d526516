"""Knowledge that the workers of a pool share: it saves time and changes no verdict."""

from __future__ import annotations

import hashlib
from bisect import insort
from typing import Any

from passcurve.sandbox.compiled_tests import CompiledTests
from passcurve.sandbox.job import KnownReport
from passcurve.sandbox.running_job import KeptJob

UNFIT_JOBS = 3
"""After so many jobs of a problem in a row that kept processes could not judge, they are not tried any more."""

REPORTS = 20_000
"""Largest number of reports that are kept."""

REPORTS_BYTES = 32 << 20
"""Largest size of these together, as they came: hostile tests make them as long as they may."""

REPORT_BYTES = 1 << 20
"""Longest report that is kept."""

KEYS = 10_000
"""Largest number of keys whose fitness is kept."""

LENGTHS = 200
"""Largest number of lengths of answers to one key: more are not worth comparing with."""


class ReportCache:
    """Reports by the part of the answer that the tests read, to the byte.

    Tests that stop at the third result have read three; they report the same on each answer that begins with those.
    """

    def __init__(self) -> None:
        self._reports: dict[str, dict[bytes, dict[str, Any]]] = {}
        """By the key of the tests, and the digest of what they read."""
        self._count = self._bytes = 0
        self._lengths: dict[str, list[int]] = {}
        """Number of bytes that were read of the answers to each key, in order."""

    def get(self, running: KeptJob) -> dict[str, Any] | None:
        """Return the report on an answer that began with the same bytes, as far as they were read, or None."""
        answer, known_report = running.answer, running.known_report
        if known_report and known_report.digest == _new_digest(memoryview(answer)[: known_report.bytes_read]).digest():
            return known_report.report
        reports = self._reports.get(running.key)
        if reports is None:
            return None
        start, digest = 0, _new_digest()
        for length in self._lengths[running.key]:
            if length > len(answer):
                break
            digest.update(memoryview(answer)[start:length])
            start = length
            if report := reports.get(digest.digest()):
                return report
        return None

    def may_bring(self, running: KeptJob, other: KeptJob) -> bool:
        """Tell whether the report on another job, which is being checked, may be that on this one."""
        if running.key != other.key:
            return False
        # Until the first report has come, nobody knows how far tests read.
        length = next(iter(self._lengths.get(running.key, ())), 0)
        return running.answer[:length] == other.answer[:length]

    def put(self, running: KeptJob, report: dict[str, Any], report_bytes: int) -> KnownReport | None:
        """Keep a report, which came as so many bytes; return it with what it is about, or None where it is too long."""
        if report_bytes > REPORT_BYTES:
            return None
        if self._count >= REPORTS or self._bytes + report_bytes > REPORTS_BYTES:
            self._reports.clear()
            self._lengths.clear()
            self._count = self._bytes = 0
        size = len(running.answer)
        read = report["read"] if 0 <= report.get("read", -1) < size else size
        digest = _new_digest(memoryview(running.answer)[:read]).digest()
        known_report = KnownReport(key=running.key, bytes_read=read, digest=digest, report=report)
        lengths = self._lengths.setdefault(running.key, [])
        if read not in lengths:
            if len(lengths) >= LENGTHS:
                return known_report
            insort(lengths, read)
        self._reports.setdefault(running.key, {})[digest] = report
        self._count += 1
        self._bytes += report_bytes
        return known_report


def _new_digest(data: bytes | memoryview = b"") -> hashlib.blake2b:
    return hashlib.blake2b(data, digest_size=16)


class PoolCache:
    """Compiled tests, reports, and the problems that kept processes cannot judge."""

    def __init__(self) -> None:
        self.compiled_tests = CompiledTests()
        self.reports = ReportCache()
        self._unfit_jobs: dict[str, int] = {}

    def record_fit(self, key: str, *, is_fit: bool) -> None:
        """Record whether kept processes could judge a job with this key."""
        if len(self._unfit_jobs) >= KEYS:
            # Problems that come with samples have no end.
            self._unfit_jobs.clear()
        if self._unfit_jobs.get(key, 0) < UNFIT_JOBS:
            self._unfit_jobs[key] = 0 if is_fit else self._unfit_jobs.get(key, 0) + 1

    def is_unfit(self, key: str) -> bool:
        """Tell whether kept processes need not be tried for jobs with this key."""
        return self._unfit_jobs.get(key, 0) >= UNFIT_JOBS
