"""A sample with its verdict, whichever harness gave it, and a file of them."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from passcurve.errors import DataError
from passcurve.types import SuiteOutcome


class SuiteRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of one suite of tests, such as ``base`` or ``plus``."""

    name: str
    status: str
    """A status of a verdict; empty where the suite was not run."""
    outcomes: tuple[bool, ...] | None = None
    """Whether each test passed, as far as they were run; None where that is not stored."""
    failed_inputs: tuple[Any, ...] | None = None
    """Inputs of tests that failed; None where they are not stored."""


class ScoredSample(msgspec.Struct, frozen=True, kw_only=True):
    """A sample, and its verdict where the file has one."""

    task_id: str
    form: Literal["completion", "solution"] = "solution"
    text: str | None = None
    """None where the file holds no text."""
    status: str = ""
    """A status of a verdict, over all suites that count; empty where there is none."""
    message: str = ""
    suites: tuple[SuiteRecord, ...] = ()
    details: Any = None
    """Facts about its tests in the form of its own harness."""
    fields: dict[str, Any] = {}
    """Other fields of its row or of its problem, as they were written."""

    @property
    def passed(self) -> bool:
        """True when every test that counts passed."""
        return self.status == "passed"

    def suite_passes(self) -> dict[str, bool]:
        """Return for each suite whether it passed, and all before it."""
        passes: dict[str, bool] = {}
        holds = True
        for suite in self.suites:
            holds = holds and suite.status == "passed"
            passes[suite.name] = holds
        return passes


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The samples of one file, in its order."""

    kind: str
    """Name of the format."""
    samples: tuple[ScoredSample, ...]
    head: dict[str, Any] = {}
    """What the file says of itself besides its samples."""
    tests: str = ""
    """The suites that decide, where a file has several."""
    notes: tuple[str, ...] = ()
    empty_tasks: tuple[str, ...] = ()
    """Tasks that it names, and has no sample of."""
    withheld: str = ""
    """Why its samples have no score, whatever verdicts they have."""
    verdicts: tuple[ScoredSample, ...] = ()
    """The verdicts that count, where some do not say of which sample they are; empty where each sample has its own."""

    @property
    def has_verdicts(self) -> bool:
        """True where any sample has a verdict."""
        return any(sample.status for sample in self.judged_samples)

    @property
    def judged_samples(self) -> Sequence[ScoredSample]:
        """The samples whose verdicts count."""
        return self.verdicts or self.samples

    def by_task(self) -> dict[str, list[ScoredSample]]:
        """Return the samples of each task, in the order of their first ones."""
        tasks: dict[str, list[ScoredSample]] = {}
        for sample in self.samples:
            tasks.setdefault(sample.task_id, []).append(sample)
        return tasks

    def suite_counts(self) -> dict[str, int]:
        """Return how many samples pass each suite and all before it."""
        counts: Counter[str] = Counter()
        for sample in self.samples:
            counts.update({name: int(passed) for name, passed in sample.suite_passes().items()})
        return dict(counts)


def find_empty(tasks: Iterable[str], samples: Iterable[ScoredSample]) -> tuple[str, ...]:
    """Return the tasks of which there is no sample, each once."""
    with_samples = {sample.task_id for sample in samples}
    return tuple(task for task in dict.fromkeys(tasks) if task not in with_samples)


class MalformedRecordError(Exception):
    """A part of a file is not what its format says; the message says which."""


def suites_of(outcomes: Sequence[SuiteOutcome], status: str) -> tuple[SuiteRecord, ...]:
    """Return the verdicts of the suites of one sample whose own status is ``status``."""
    records = []
    failed = False
    for suite in (suite for suite in outcomes if suite.scored and not suite.alone):
        word = "passed" if suite.passed else "" if not suite.ran and failed else "failed"
        if word == "failed" and not failed and status == "timeout":
            word = "timeout"
        failed = failed or not suite.passed
        bits = _bits(suite.outcomes, suite.ran) or (True,) * suite.right
        records.append(SuiteRecord(name=suite.name, status=word, outcomes=bits))
    return tuple(records)


def _bits(text: str, count: int) -> tuple[bool, ...]:
    try:
        content = base64.b64decode(text)
    except ValueError:
        return ()
    return tuple(bool(content[index >> 3] >> (7 - index % 8) & 1) for index in range(min(count, 8 * len(content))))


def expect(value: Any, kind: type, what: str) -> Any:
    """Return a value of that type; raises MalformedRecordError for any other."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        words = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a whole number"}
        raise MalformedRecordError(f"{what} must be {words[kind]}, got {shorten(value)}")
    return value


def expect_text(value: Any, what: str) -> str | None:
    """Return a text, or null for a sample without one; raises MalformedRecordError for any other value."""
    return None if value is None else str(expect(value, str, what))


def shorten(value: Any) -> str:
    """Return a value as bounded text of one line."""
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def require_texts(record: Record, form: str) -> None:
    """Raise DataError where no sample has a text, for a format that holds texts."""
    if all(sample.text is None for sample in record.samples):
        raise DataError(
            f"{form} holds programs, but these samples have none; convert to a format of verdicts, or convert the run "
            "directory that holds the samples"
        )
