"""Requests as they come over the wire: read with bounds, answered without a word about this machine."""

from __future__ import annotations

from typing import Any

import msgspec

from passcurve.api import Judge, Judgement
from passcurve.errors import DataError
from passcurve.serve.bodies import BodyError, decode

MAX_BODY_BYTES = 64 << 20
MAX_ROWS = 10_000


class RequestError(Exception):
    """The request cannot be answered; ``status`` is that of HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Batch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A batch to judge."""

    samples: list[dict[str, Any]]
    stream: bool = False
    """Answer in lines of JSON, each as soon as it is known."""


def read_batch(body: bytes, judge: Judge) -> Batch:
    """Return the batch of a body; raise RequestError with 400, 413 or 422 for what is none."""
    try:
        batch: Batch = decode(body, Batch)
    except BodyError as error:
        raise RequestError(400, f"the body must be a JSON object with samples: {error}") from None
    if len(batch.samples) > MAX_ROWS:
        raise RequestError(413, f"{len(batch.samples):,} samples are too many for one request; at most {MAX_ROWS:,}")
    try:
        judge.check(batch.samples)
    except DataError as error:
        raise RequestError(422, str(error)) from None
    return batch


def answer(judgement: Judgement, row: dict[str, Any]) -> dict[str, Any]:
    """Return the answer for one row; an ``id`` that it has comes back."""
    record = {
        "task_id": judgement.task_id,
        "index": judgement.index,
        "status": judgement.status,
        "passed": judgement.passed,
        "reward": judgement.reward,
        "share": judgement.share,
        "tests": judgement.tests,
        "tests_passed": judgement.tests_passed,
        "void": judgement.status == "void",
        "excluded": judgement.excluded,
        "mode": judgement.mode,
        "message": judgement.message,
        "suspicious": judgement.suspicious,
        "own_s": judgement.own_s,
    }
    return record | ({"id": row["id"]} if isinstance(row.get("id"), str | int) else {})
