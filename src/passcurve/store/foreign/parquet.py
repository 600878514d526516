"""Rows of a Parquet file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from passcurve.errors import DataError
from passcurve.store.arrow import import_pyarrow

_BATCH_ROWS = 1000


def read_parquet(path: Path, data: bytes | None = None) -> Iterator[bytes]:
    """Yield the rows of a Parquet file, or of its bytes, as JSON, as many in memory as one batch has.

    Raises UsageError without pyarrow, DataError where the file cannot be read.
    """
    arrow = import_pyarrow(f"{str(path)!r} is a Parquet file: reading it")
    try:
        with arrow.parquet.ParquetFile(path if data is None else arrow.BufferReader(data)) as file:
            for batch in file.iter_batches(_BATCH_ROWS):
                yield from (_encode(row) for row in batch.to_pylist())
    except (arrow.ArrowException, OSError) as error:
        raise DataError(f"cannot read the Parquet file {str(path)!r}: {error}") from None


def _encode(row: dict[str, Any]) -> bytes:
    return json.dumps(row, default=_plain).encode()


def _plain(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
