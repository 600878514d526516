"""Results of very many items, which cross as a digest: as large as they are they would not fit into two processes.

A sample that sends another digest than that of its result gains nothing: it does not know the one that is expected.
Equal items must be of equal types here, and numbers must be equal.
"""

from __future__ import annotations

import marshal
from hashlib import blake2b
from typing import Any

MANY_ITEMS = 1_500_000
"""Results with more items cross as a digest."""

_PACK_VERSION = 2
_BATCH = 1000


class LargeResult:
    """The digest of a result, in place of it."""

    def __init__(self, kind: str, count: int, digest: bytes) -> None:
        self.kind, self.count, self.digest = kind, count, digest

    def __eq__(self, other: object) -> bool:
        return type(other) is LargeResult and self.record() == other.record()

    def __hash__(self) -> int:
        return hash(self.record())

    def __repr__(self) -> str:
        return "<a %s of %d items>" % (self.kind, self.count)

    def record(self) -> tuple[str, int, bytes]:
        """Return the fields as plain data."""
        return self.kind, self.count, self.digest


def is_large(value: Any) -> bool:
    """Return whether a result is to cross as a digest."""
    return type(value) in (list, tuple) and len(value) > MANY_ITEMS


def make_record(value: Any) -> tuple[str, int, bytes]:
    """Return kind, number of items and digest of a result; raise ValueError where an item is not plain."""
    digest = blake2b(digest_size=32)
    for start in range(0, len(value), _BATCH):
        digest.update(marshal.dumps(value[start : start + _BATCH], _PACK_VERSION))
    return type(value).__name__, len(value), digest.digest()


def read_record(record: Any) -> LargeResult | None:
    """Return the digest that a sample has sent; None for anything else."""
    if type(record) is not tuple or [type(field) for field in record] != [str, int, bytes]:
        return None
    kind, count, digest = record
    return LargeResult(kind[:10], count, digest) if len(digest) <= 64 else None
