"""Counts of tests that ran and passed, suite by suite."""

from __future__ import annotations

import base64

from passcurve.harness.protocol import Report


def count_suites(suites: list[tuple[str, int]], outcomes: list[bool], *, with_outcomes: bool) -> Report:
    """Return the part of a report that counts tests; ``outcomes`` are those of the tests that ended, in their order."""
    parts = []
    start = 0
    for _, size in suites:
        if outcomes[start : start + size]:
            parts.append(outcomes[start : start + size])
        start += size
    report: Report = {"suites": [count_tests(part) for part in parts]} if parts else {}
    if parts and with_outcomes:
        report["outcomes"] = [pack_bits(part) for part in parts]
    return report


def count_tests(outcomes: list[bool]) -> tuple[int, int, int]:
    """Return how many tests ran and passed, and the number of the first that failed, or -1."""
    return len(outcomes), sum(outcomes), outcomes.index(False) if False in outcomes else -1


def pack_bits(outcomes: list[bool]) -> str:
    """Return the outcome of each test as a bit, the first in the highest of the first byte, in base64."""
    data = bytearray((len(outcomes) + 7) // 8)
    for number, is_right in enumerate(outcomes):
        if is_right:
            data[number >> 3] |= 0x80 >> (number & 7)
    return base64.b64encode(data).decode()
