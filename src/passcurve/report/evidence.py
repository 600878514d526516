"""The samples of a judged run as columns, and what explains each distinct program: records that a report shows."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from passcurve.types import STATUSES, Problem


class SampleColumns(msgspec.Struct, kw_only=True):
    """One value for each judged sample, by problem and index."""

    problem: list[int] = msgspec.field(default_factory=list)
    """Position of its problem in the report."""
    index: list[int] = msgspec.field(default_factory=list)
    status: list[int] = msgspec.field(default_factory=list)
    """Position of its status in ``STATUSES``."""
    own_us: list[int] = msgspec.field(default_factory=list)
    """The sample's own time in microseconds."""
    memory_kib: list[int] = msgspec.field(default_factory=list)
    message: list[int] = msgspec.field(default_factory=list)
    """Position of its message among the distinct ones."""
    cause: list[int] = msgspec.field(default_factory=list)
    """Position of its cause among the distinct ones."""
    group: list[int] = msgspec.field(default_factory=list)
    """Position of its group among those of its problem."""
    tokens: list[int] = msgspec.field(default_factory=list)
    """Completion tokens of its request, -1 where they are not known; empty where nobody knows any."""
    latency_ms: list[int] = msgspec.field(default_factory=list)
    """Latency of its request; empty like ``tokens``."""


class Group(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The samples of one problem that have the same program and the same verdict."""

    status: int
    count: int = 0
    first: int
    """Row of the first of them."""
    message: str = ""
    exception: str = ""
    mode: str = ""
    calls: int = 0
    arguments: str = ""
    """Arguments of the last call of the tests before they failed."""
    outcome: str = ""
    expected: str = ""
    test_line: str = ""
    failed_test: str = ""
    """The first test that failed, as ``suite 12 of 40``, where tests are counted."""
    suites: tuple[str, ...] = ()
    suspicious: tuple[str, ...] = ()
    flattened: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    """The steps of the extraction."""
    program: str | None = None
    reply: str | None = None
    """The text of the model, where the program is not that text."""
    missing: str = ""
    """Why there is no program to show."""

    @property
    def cause(self) -> str:
        """Cause of the failure: an exception, or that a result was wrong; empty where the status says it all."""
        name = STATUSES[self.status]
        if name in ("passed", "void"):
            return ""
        return self.exception or ("wrong result" if name == "failed" else "")


class Evidence(msgspec.Struct, kw_only=True):
    """Everything that is stored about the samples of one run."""

    columns: SampleColumns
    messages: list[str]
    """The distinct messages; one that is an exception without a text goes on with the call that failed."""
    causes: list[str]
    groups: dict[int, list[Group]]
    """The groups of each problem, by its position."""
    problems: Mapping[str, Problem]
    """The problems of the benchmark by id; empty where it is not on this machine."""
    missing: str = ""
    """Why texts are missing."""
