"""Rows without a text: the fields that they have in its place, and what reads them."""

from __future__ import annotations

from collections import Counter

from passcurve.diagnosis import MAX_SHARE, Finding
from passcurve.store.describe import n_rows
from passcurve.store.samples import CUT_OFF, EMPTY_SOLUTION, FAILED_REQUEST, NO_CODE_FIELD
from passcurve.types import Completion
from passcurve.types.amounts import have

_FIELD_AND_REMEDY = 2
"""Parts of a hint; the number of answers is a third."""


class MissingText:
    """Rows without a text."""

    def __init__(self) -> None:
        self.remedies: Counter[tuple[str, ...]] = Counter()
        """Fields of rows without code, with what reads them."""
        self.lists: Counter[tuple[str, ...]] = Counter()
        """The same of rows with lists of code."""
        self.reasons: Counter[str] = Counter()
        """Reasons of rows whose field of code holds no text."""
        self.without_field = self._rows_with_lists = 0

    def observe(self, row: Completion) -> None:
        """Take a row without a text."""
        if row.missing in (NO_CODE_FIELD, EMPTY_SOLUTION):
            self.without_field += 1
            self.remedies[row.hints if row.hints != CUT_OFF else ()] += 1
        elif row.text is not None and len(row.hints) == _FIELD_AND_REMEDY:
            field, remedy = row.hints
            self.reasons[f"`{row.form}` is empty and `{field}` is not; {remedy}"] += 1
        elif row.hints and row.hints != CUT_OFF:
            self._rows_with_lists += 1
            what = row.missing.rpartition("got ")[2].partition(" (")[0]
            self.lists[(*row.hints, what)] += 1
        else:
            self.reasons[row.missing or f"`{row.form}` is empty"] += 1

    def no_field(self, seen: int, *, withholds: bool) -> Finding | None:
        """Return the finding on those of so many rows that have no field of code."""
        rows = self.without_field
        if not rows:
            return None
        # A command that takes all answers takes the only one, too.
        hints, named = max(self.remedies.items(), key=lambda item: (len(item[0]) > _FIELD_AND_REMEDY, item[1]))
        remedy = "name the field that holds the code with --field NAME"
        if len(hints) > _FIELD_AND_REMEDY:
            text, remedy = self._answers(hints), hints[1]
        elif hints == FAILED_REQUEST:
            text, remedy = f"{n_rows(named)} {have(named)} an error and no answer", hints[1]
        elif hints:
            field, remedy = hints
            # What reads it best may differ from row to row.
            named = sum(count for other, count in self.remedies.items() if other[:1] == (field,))
            is_all = rows == seen
            none = "none has" if is_all else "but not"
            empty = "an empty `solution`" if field == "completion" else "`completion` or `solution`"
            text = f"{n_rows(named)} {have(named)} `{field}`, {'and' if field == 'completion' else none} {empty}"
            others = rows - named
            text += f" ({others} more {have(others)} no text in it)" if others else ""
            # The option reads a field of all rows.
            remedy = f"rename `{field}` in them" if remedy.startswith("use --field") and not is_all else remedy
        else:
            text = f"{n_rows(rows)} {have(rows)} neither `completion` nor `solution`"
        return Finding(name="no_code_field", rows=rows, text=f"{text}; {remedy}", withholds=withholds)

    def _answers(self, hints: tuple[str, ...]) -> str:
        """Return how many answers the rows hold that have several each."""
        counts = {int(several[2]): rows for several, rows in self.remedies.items() if several[:2] == hints[:2]}
        rows, answers = sum(counts.values()), sum(count * rows for count, rows in counts.items())
        number = f"{next(iter(counts))} `{hints[0]}` each" if len(counts) == 1 else f"several `{hints[0]}`"
        hold = "holds" if rows == 1 else "hold"
        return f"{n_rows(rows)} {hold} {number} ({answers:,} samples) and neither `completion` nor `solution`"

    def lists_of_code(self, seen: int) -> Finding | None:
        """Return the finding on those of so many rows that have a list, or an object, for a text."""
        rows = self._rows_with_lists
        if not rows:
            return None
        (field, remedy, what), _ = self.lists.most_common(1)[0]
        if rows < seen and what == "a list" and "jq " not in remedy:
            remedy = "write a row for each of its items"
        text = f"`{field}` of {n_rows(rows)} is {what} and not text; {remedy}"
        is_much = max(self.lists.values()) > MAX_SHARE * seen
        return Finding(name="list_of_code", rows=rows, text=text, withholds=is_much)

    def empty_text(self) -> Finding | None:
        """Return the finding on rows whose field of code is empty."""
        rows = self.reasons.total()
        if not rows:
            return None
        reason, _ = self.reasons.most_common(1)[0]
        more = ", and others" if len(self.reasons) > 1 else ""
        verb = "counts" if rows == 1 else "count"
        text = f"{n_rows(rows)} {have(rows)} no code and {verb} as failed: {reason}{more}"
        return Finding(name="empty_text", rows=rows, text=text)
