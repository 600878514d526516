"""Samples of several models or settings in one file, whose score is a mixture."""

from __future__ import annotations

import json
import re
from collections import Counter

from passcurve.diagnosis import Finding

ORIGIN_FIELDS = (
    *("model", "model_name", "model_id", "checkpoint", "revision", "step"),
    *("temperature", "top_p", "decoding", "method", "prompt_template", "_identifier"),
)
"""Fields of a row that say how it was made."""
_MAX_VALUES = 20
"""Values of a field; one that has more is of the single row."""
_SHOWN_VALUES = 3
_MAX_CHARACTERS = 40
_TASK = re.compile(r"\S+/\d+")

Origin = tuple[tuple[str, str | float], ...]
"""Names and values of those fields in a row."""


def origin_of(values: tuple[object, ...]) -> Origin:
    """Return the fields that say how a row was made, of their values."""
    return tuple(
        (name, value)
        for name, value in zip(ORIGIN_FIELDS, values, strict=True)
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    )


class MixtureTracker:
    """Counts the values of the fields that say how a row was made."""

    def __init__(self) -> None:
        self._values: dict[str, Counter[str | float]] = {}

    def add(self, origin: Origin) -> None:
        """Take these fields of a row."""
        for name, value in origin:
            counts = self._values.setdefault(name, Counter())
            # Some write the task into the name of the model.
            key = _TASK.sub("", value).strip() if name == "_identifier" and isinstance(value, str) else value
            if key in counts or len(counts) <= _MAX_VALUES:
                counts[key] += 1

    def finding(self) -> Finding | None:
        """Return the finding on the field that splits the rows; None where none does."""
        for name, counts in self._values.items():
            if not 1 < len(counts) <= _MAX_VALUES or 2 * len(counts) > counts.total():
                continue
            listed = ", ".join(
                f"{_short(value)} ({rows:,} row{'s' * (rows > 1)})" for value, rows in counts.most_common(_SHOWN_VALUES)
            )
            more = ", ..." if len(counts) > _SHOWN_VALUES else ""
            first = next(iter(counts))
            test = f".{name} == {json.dumps(first)}" if name != "_identifier" else f".{name} | endswith({_json(first)})"
            text = (
                f"`{name}` has {len(counts)} values, {listed}{more}: the score is a mixture of them; "
                f"split the file: jq -c 'select({test})' IN > OUT"
            )
            return Finding(name="mixture", rows=counts.total(), text=text)
        return None


def _short(value: str | float) -> str:
    text = value if isinstance(value, str) else f"{value:g}"
    return ascii(text[:_MAX_CHARACTERS])[1:-1] or "none"


def _json(value: str | float) -> str:
    return json.dumps(str(value))
