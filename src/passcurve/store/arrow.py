"""pyarrow, which is an extra: the only file that imports it."""

from __future__ import annotations

from typing import Any

from passcurve.errors import UsageError

INSTALL = "pip install 'passcurve[tables]'"


def import_pyarrow(purpose: str) -> Any:
    """Return pyarrow; raises UsageError with the command that installs it."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError:
        raise UsageError(f"{purpose} needs pyarrow: {INSTALL}") from None
    return pa
