"""The report on a file of samples, made while it is read, in about eleven bytes a row."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Collection, Sequence

from passcurve.diagnosis import MAX_SHARE, Finding, InputReport
from passcurve.store.copies import CopyTracker
from passcurve.store.describe import shorten
from passcurve.store.hints import unknown_tasks_remedy
from passcurve.store.mixture import MixtureTracker
from passcurve.store.reasons import ReasonTracker
from passcurve.store.samples import CUT_OFF, EMPTY_SOLUTION, FAILED_REQUEST, NO_CODE_FIELD, MalformedLine
from passcurve.store.stray_characters import StrayCharacterTracker
from passcurve.store.text_causes import ALWAYS, BEFORE_CUTS, CAUSE_NAMES, cause_finding, cause_name, cause_number
from passcurve.store.text_faults import BODY, CONTINUATION, FOR_ROWS, METHOD, OPEN, PROMPT, find_faults
from passcurve.types import Completion, Problem, Status

_MIN_SHARE = 0.01
"""Share of the rows up to which a repeated prompt is a whim of a model, and no fault of the file."""

_FIELD_AND_REMEDY = 2
"""Parts of a hint; the number of answers is a third."""

_MANY_SHARE, _MANY_ROWS = 0.5, 10
"""Share and number of rows that do not compile above which the file, not the model, seems at fault."""

_MAX_LOOKS = 4096
"""Texts whose bits are kept: equal texts often follow one another."""


_IS_CUT = re.compile(r"never closed|unterminated|unexpected EOF|expected an indented block|expected ':'")
"""What Python says where a program ends too early; any other error comes before the end."""
_MAY_BE_STRAY = frozenset(("", "flush", "flat", "tabs", "next", "body that does not compile", "open"))
"""Causes that are less sure than a character that Python names."""


class MissingText:
    """Rows without a text."""

    def __init__(self) -> None:
        self.remedies: Counter[tuple[str, ...]] = Counter()
        """Fields of rows without code, with what reads them."""
        self.lists: Counter[tuple[str, ...]] = Counter()
        """The same of rows with lists of code."""
        self.reasons: Counter[str] = Counter()
        """Reasons of rows whose field of code holds no text."""


class InputObserver:
    """Sees each row as it is read and each status as it is reached, and reports what a score would not show."""

    def __init__(self, extract: str) -> None:
        """Begin; ``extract`` is the policy by which texts become programs."""
        self._extract = extract
        self._is_taken_whole = extract == "raw" or extract.startswith("stop-words")
        """True where neither fences, nor prose, nor a repeated prompt are removed."""
        self._copies = CopyTracker()
        self._flags = array("B")
        """Number of the cause that would keep a row from compiling, by the number of the row."""
        self._looks: dict[int, int] = {}
        """Bits by a hash of the text."""
        self._counts: Counter[str] = Counter()
        self._missing = MissingText()
        self._mixture = MixtureTracker()
        self._reasons = ReasonTracker()
        self._strays = StrayCharacterTracker()

    def observe(self, problem: Problem, row: Completion) -> None:
        """Take a row, before its program is judged."""
        text = row.text
        if row.origin:
            self._mixture.add(row.origin)
        if text is None or not text.strip():
            self._copies.add(problem.id, int(row.digest, 16))
            if text is None or row.form == "solution" or not problem.has_gap:
                self._observe_missing(row)
            return
        # A row that is copied by another program can differ in its other fields.
        place = hash((problem.id, row.form, text))
        self._copies.add(problem.id, place)
        bits = self._looks.get(place)
        if bits is None:
            if len(self._looks) >= _MAX_LOOKS:
                self._looks.clear()
            bits = self._looks[place] = find_faults(problem, row.form, text, is_taken_whole=self._is_taken_whole)
        if row.has_both:
            self._counts["both"] += 1
        if row.hints == CUT_OFF:
            self._counts["cut off"] += 1
            bits &= ~OPEN
        for bit, name in ((PROMPT, "prompt"), (CONTINUATION, "continuation"), (BODY, "body"), (METHOD, "method")):
            self._counts[name] += bits & bit > 0
        if bits & CONTINUATION:
            self._reasons.add_lacking(problem, text)
        if cause := cause_number(bits & FOR_ROWS):
            if row.row >= len(self._flags):
                self._flags.frombytes(bytes(row.row + 1 - len(self._flags)))
            self._flags[row.row] = cause

    def judge(self, row: int, status: Status, message: str = "") -> None:
        """Take the status of a row, and its message."""
        if status == "passed":
            return
        self._reasons.add(status, message)
        cause = self._flags[row] if row < len(self._flags) else 0
        name = cause_name(cause) if cause else ""
        if status == "compile" and name in _MAY_BE_STRAY and self._strays.add(message):
            return
        if not name or (name == "open" and status == "compile" and not _IS_CUT.search(message)):
            self._counts["broken"] += status == "compile"
            return
        # Nothing that compiles is fenced: its backquotes stand in a string or a comment.
        if status == "compile" or name in ALWAYS or (not self._is_taken_whole and self._is_cut(name, status)):
            self._counts[name] += 1

    @staticmethod
    def _is_cut(name: str, status: Status) -> bool:
        """Tell whether a fault of the text may have made the extraction cut it, or leave nothing of it."""
        return name in BEFORE_CUTS or status == "no_code"

    def report(
        self,
        *,
        rows: int,
        unread: int = 0,
        malformed: Sequence[MalformedLine] = (),
        unknown_tasks: int = 0,
        task_ids: Collection[str] = (),
        problems: int = 1,
        uniform: tuple[int, int] = (0, 0),
        temperature: float | None = None,
    ) -> InputReport:
        """Return the findings.

        ``rows`` are the lines of the file.  ``unread`` of them are no rows of the benchmark; of these, the
        ``malformed``, the first are enough.  ``uniform`` are the problems whose samples are
        all one program, where that is so for all problems with several, and their rows; ``problems`` should have rows.
        """
        counts, seen = self._counts, len(self._copies)
        unreadable = counts["no field"] + counts["fenced"] + counts["chatty"]
        withholds = unreadable > MAX_SHARE * seen
        # What passcurve has sampled itself is no concatenation.
        repeated = self._copies.finding() if temperature is None else None
        findings = [
            self._no_field(withholds=withholds),
            self._lists_of_code(withholds=max(self._missing.lists.values(), default=0) > MAX_SHARE * seen),
            self._fenced(withholds=withholds and self._extract == "raw"),
            unknown_tasks_finding(malformed, unknown_tasks, task_ids),
            self._two_fields(),
            self._empty_text(),
            self._holding_prompt(),
            self._continuations(task_ids),
            self._methods(),
            *(cause_finding(name, counts[name]) for name in CAUSE_NAMES),
            self._strays.finding(),
            self._broken(),
            self._copies.one_task(problems),
            self._mixture.finding(),
            repeated,
            self._truncated(),
            None if repeated is not None else self._copies.equal_programs(uniform, temperature),
        ]
        if (
            reason := self._reasons.finding(seen, [finding for finding in findings if finding is not None], task_ids)
        ) is not None:
            findings.append(reason)
        return InputReport(
            rows=rows, unread=unread, findings=tuple(finding for finding in findings if finding is not None)
        )

    def _observe_missing(self, row: Completion) -> None:
        if row.missing in (NO_CODE_FIELD, EMPTY_SOLUTION):
            self._counts["no field"] += 1
            self._missing.remedies[row.hints if row.hints != CUT_OFF else ()] += 1
        elif row.text is not None and len(row.hints) == _FIELD_AND_REMEDY:
            field, remedy = row.hints
            self._missing.reasons[f"`{row.form}` is empty and `{field}` is not; {remedy}"] += 1
        elif row.hints and row.hints != CUT_OFF:
            self._counts["list"] += 1
            what = row.missing.rpartition("got ")[2].partition(" (")[0]
            self._missing.lists[(*row.hints, what)] += 1
        else:
            self._missing.reasons[row.missing or f"`{row.form}` is empty"] += 1

    def _no_field(self, *, withholds: bool) -> Finding | None:
        rows = self._counts["no field"]
        if not rows:
            return None
        # A command that takes all answers takes the only one, too.
        hints, named = max(self._missing.remedies.items(), key=lambda item: (len(item[0]) > _FIELD_AND_REMEDY, item[1]))
        remedy = "name the field that holds the code with --field NAME"
        if len(hints) > _FIELD_AND_REMEDY:
            text, remedy = self._answers(hints), hints[1]
        elif hints == FAILED_REQUEST:
            text, remedy = f"{_rows(named)} {_has(named)} an error and no answer", hints[1]
        elif hints:
            field, remedy = hints
            is_all = rows == len(self._copies)
            none = "none has" if is_all else "but not"
            empty = "an empty `solution`" if field == "completion" else "`completion` or `solution`"
            text = f"{_rows(named)} {_has(named)} `{field}`, {'and' if field == 'completion' else none} {empty}"
            text += f" ({rows - named} more have no text in it)" if rows > named else ""
            # The option reads a field of all rows.
            remedy = remedy if is_all or "jq " in remedy else f"rename `{field}` in them"
        else:
            text = f"{_rows(rows)} {_has(rows)} neither `completion` nor `solution`"
        return Finding(name="no_code_field", rows=rows, text=f"{text}; {remedy}", withholds=withholds)

    def _answers(self, hints: tuple[str, ...]) -> str:
        """Return how many answers the rows hold that have several each."""
        counts = {int(several[2]): rows for several, rows in self._missing.remedies.items() if several[:2] == hints[:2]}
        rows, answers = sum(counts.values()), sum(count * rows for count, rows in counts.items())
        number = f"{next(iter(counts))} `{hints[0]}` each" if len(counts) == 1 else f"several `{hints[0]}`"
        return f"{_rows(rows)} hold {number} ({answers:,} samples) and neither `completion` nor `solution`"

    def _lists_of_code(self, *, withholds: bool) -> Finding | None:
        rows = self._counts["list"]
        if not rows:
            return None
        (field, remedy, what), _ = self._missing.lists.most_common(1)[0]
        if rows < len(self._copies) and what == "a list" and "jq " not in remedy:
            remedy = "write a row for each of its items"
        text = f"`{field}` of {_rows(rows)} is {what} and not text; {remedy}"
        return Finding(name="list_of_code", rows=rows, text=text, withholds=withholds)

    def _empty_text(self) -> Finding | None:
        rows = self._missing.reasons.total()
        if not rows:
            return None
        reason, _ = self._missing.reasons.most_common(1)[0]
        more = ", and others" if len(self._missing.reasons) > 1 else ""
        text = f"{_rows(rows)} {_has(rows)} no code and {'counts' if rows == 1 else 'count'} as failed: {reason}{more}"
        return Finding(name="empty_text", rows=rows, text=text)

    def _fenced(self, *, withholds: bool) -> Finding | None:
        fenced, chatty = self._counts["fenced"], self._counts["chatty"]
        if not fenced + chatty:
            return None
        kinds = [f"{_rows(fenced)} {_has(fenced)} Markdown fences (```)"] if fenced else []
        kinds += [f"{_rows(chatty)} {_has(chatty)} prose around the code"] if chatty else []
        text = (
            f"{' and '.join(kinds)}, which does not compile under --extract {self._extract}; use --extract auto "
            "(passcurve autopsy compares)"
        )
        return Finding(name="fenced", rows=fenced + chatty, text=text, withholds=withholds)

    def _holding_prompt(self) -> Finding | None:
        rows = self._counts["prompt"]
        if rows <= _MIN_SHARE * len(self._copies):
            return None
        text = (
            f"{_rows(rows)} {_has(rows)} the prompt in `completion` already, and it is put before them again; "
            "use --extract auto"
        )
        return Finding(name="holds_prompt", rows=rows, text=text)

    def _continuations(self, task_ids: Collection[str]) -> Finding | None:
        rows = self._counts["continuation"]
        if rows <= _MIN_SHARE * len(self._copies):
            return None
        text = f"the `solution` of {_rows(rows)} lacks the function to test"
        if 2 * self._counts["body"] > rows:
            text += "; they look like bodies that continue the prompt: use --field solution"
        elif others := self._reasons.explain_lacking(task_ids):
            text += f"; {others}"
        elif rows == len(self._copies):
            text += "; if it continues the prompt, use --field solution, else check that the task ids are right"
        return Finding(name="lacks_function", rows=rows, text=text)

    def _two_fields(self) -> Finding | None:
        rows = self._counts["both"]
        if not rows:
            return None
        text = (
            f"{_rows(rows)} {_has(rows)} both `completion` and `solution`, and `solution` is judged, as in EvalPlus; "
            "use --field completion if that is what the model wrote"
        )
        return Finding(name="two_fields", rows=rows, text=text)

    def _methods(self) -> Finding | None:
        rows = self._counts["method"]
        if not rows:
            return None
        text = (
            f"the `solution` of {_rows(rows)} has the function to test as a method of `class Solution` only, where the "
            "tests do not find it"
        )
        return Finding(name="method_only", rows=rows, text=text)

    def _broken(self) -> Finding | None:
        rows = self._counts["broken"]
        if rows < _MANY_ROWS or rows <= _MANY_SHARE * len(self._copies):
            return None
        error = self._reasons.of_status("compile")
        text = (
            f"{_rows(rows)} do not compile, most of all by {error}; "
            "passcurve autopsy compares ways to extract the code, passcurve show tells the error of a sample"
        )
        return Finding(name="broken", rows=rows, text=text)

    def _truncated(self) -> Finding | None:
        cut, ends_open = self._counts["cut off"], self._counts["open"]
        if not cut + ends_open:
            return None
        kinds = [f"{_rows(cut)} reached the limit of tokens (finish_reason)"] if cut else []
        kinds += [f"{_rows(ends_open)} {_ends(ends_open)} amid a bracket, a string or a block"] if ends_open else []
        text = f"{', '.join(kinds)}; if the model was cut off, generate with more tokens"
        return Finding(name="truncated", rows=cut + ends_open, text=text)


def unknown_tasks_finding(malformed: Sequence[MalformedLine], count: int, task_ids: Collection[str]) -> Finding | None:
    """Return the finding on rows of tasks that the benchmark lacks, from the first of them; None without any."""
    unknown = [line.task for line in malformed if line.task is not None]
    if not unknown:
        return None
    example = shorten(unknown[0]) if isinstance(unknown[0], str) else str(unknown[0])
    text = f"{_rows(count)} {_has(count)} a task id that the benchmark lacks, such as {example}; "
    return Finding(name="unknown_tasks", rows=count, text=text + unknown_tasks_remedy(unknown, task_ids))


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"


def _has(count: int) -> str:
    return "has" if count == 1 else "have"


def _ends(count: int) -> str:
    return "ends" if count == 1 else "end"
