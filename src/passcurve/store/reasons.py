"""The reason for which all samples fail, or nearly all: an exception, a missing name, nothing left to run."""

from __future__ import annotations

import re
import typing
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from passcurve.diagnosis import Finding
from passcurve.types import Problem, Status
from passcurve.types.languages import Language

_MAX_REASONS = 256
"""Different messages that are counted."""
_MAX_PROBLEMS = 64
"""Problems of which the function that a program has instead is remembered."""
_MAX_CHARACTERS = 100
_SHARE = 0.9
"""Share of the rows from which on one reason is told."""
_LOST_SHARE = 0.5
"""The same for NameErrors, of which no model makes that many: texts of other problems do."""
_NAME_SHARE, _NAME_ROWS = 0.1, 3
"""Share and number of rows from which on a name that an import would bring, or a package, is told."""
_MIN_ROWS, _ALL_ROWS = 4, 10
_TEST = re.compile(r"^[^:]{0,80}\btest \d+: ")
"""The test that a message begins with, where tests are data."""
_PLACE = re.compile(r" \([\w.<>]+, line \d+\)$")
_NAME = re.compile(r"^NameError: name '(\w+)' is not defined")
_PACKAGE = re.compile(r"^ModuleNotFoundError: No module named '(\w+)'$")
"""The message for a package; that for one of its modules has a dot in its name, and the package is there."""
_DEFINITION = re.compile(r"^(?:(?:async )?def|class) (\w+)", re.MULTILINE)
_METHOD = re.compile(r"^[ \t]+def (\w+)", re.MULTILINE)
_LEETCODE = "Solution"
"""The class whose first method the tests call, in problems of LeetCode."""
_DIGITS = re.compile(r"(\D*)(\d+)(\D*)")
_MODULES = frozenset(
    "math re collections itertools functools heapq bisect string random sys os copy operator json datetime statistics "
    "numpy np pandas pd deque defaultdict Counter OrderedDict reduce lru_cache cache heappush heappop ceil floor sqrt "
    "gcd permutations combinations product accumulate".split()
)
_IMPORTS = _MODULES | frozenset(typing.__all__)
"""Names that programs use without their import, which some harnesses put before them."""
NAME_REMEDY = "look whether the task ids belong to these texts, or a name is lost"
LACKS_NAME = re.compile(
    r"not declared in this scope|cannot find symbol|cannot find (?:name|function|value)|undefined: "
)
"""What compilers say of a name that nothing defines."""
_FIRST_LINES = frozenset(("assistant", "python", "python3", "py"))
"""Names that are left of a chat template, or of a fence, on the first line of a text."""
_REMEDIES = {
    "NameError": NAME_REMEDY,
    "ReferenceError": NAME_REMEDY,
    "EOFError": "they read standard input, but the tests call a function",
    "SystemExit": "they end the process; look at one with passcurve show",
    "ModuleNotFoundError": "--packages adds packages to what samples may import",
}
_ASSERTION = "assertion failed"
"""Stands for what other languages say of an assertion, with its file, line and source."""
_OTHER_ASSERTION = re.compile(r"\b[Aa]ssertion (?:[`']|failed)|[. ]AssertionError\b")
_WRONG = frozenset(("failed", kind) for kind in ("", "AssertionError", "wrong result", _ASSERTION))
"""Ends of programs that give wrong answers, each of its own."""
_LOOK = "look at one with passcurve show"
_BY_HAND = "write the id of its task into each row"


class ReasonTracker:
    """Counts why rows do not pass."""

    def __init__(self) -> None:
        self.failed = 0
        """Rows that have a verdict and did not pass."""
        self._messages: dict[tuple[Status, str], int] = {}
        """Rows by status and message; once there are many, by exception alone."""
        self._reading = 0
        """Programs without their function that read standard input."""
        self._instead: dict[str, str] = {}
        """The function that a program has, by the problem whose function it lacks."""
        self.json_place = ""
        """What takes the code out of the first text that is JSON, as ``jq`` writes it."""

    def add(self, status: Status, message: str) -> None:
        """Take a row that did not pass."""
        self.failed += status != "void"
        # On one line, as the finding is that shows it.
        message = " ".join(without_test(message).split())
        key = (status, message)
        if key not in self._messages and len(self._messages) >= _MAX_REASONS:
            key = (status, _kind(message))
        self._messages[key] = self._messages.get(key, 0) + 1

    def add_lacking(self, problem: Problem, text: str) -> None:
        """Take a program without the function to test."""
        self._reading += "stdin" in text or "input()" in text
        if problem.id not in self._instead and len(self._instead) < _MAX_PROBLEMS:
            names = _DEFINITION.findall(text)
            if names and names[-1] == _LEETCODE:
                names = [name for name in _METHOD.findall(text) if not name.startswith("_")][:1]
            if names:
                self._instead[problem.id] = names[-1]

    def explain_lacking(self, task_ids: Collection[str], rows: int, share: float) -> str:
        """Return where the functions belong that programs have in place of their own; empty where nothing is known.

        ``rows`` lack their function, and ``share`` is their part of all.
        """
        if 2 * self._reading > rows:
            return "they read standard input, and the tests call a function: ask for that"
        owners = _owners(task_ids) if isinstance(task_ids, Mapping) else {}
        moved = {task: owners[name] for task, name in self._instead.items() if name in owners}
        # A name that most programs have, as `solution`, is their own, though one problem may call its function so.
        if 2 * len(moved) > len(self._instead) and (len(moved) == 1 or 2 * len(set(moved.values())) > len(moved)):
            task, owner = next(iter(moved.items()))
            text = f"that of {task!r} is the function of {owner!r}, so the ids do not belong to the texts"
            return f"{text}: {ids_remedy(moved, share)}"
        if not self._instead:
            return ""
        task, name = next(iter(self._instead.items()))
        return f"that of {task!r} has {name!r} in its place: give it the name that the tests call"

    def of_status(self, status: Status, kind: str = "") -> str:
        """Return the commonest message of a status, or of one exception of it; empty where no message was counted."""
        messages: Counter[str] = Counter()
        for (which, message), rows in self._messages.items():
            if which == status and (not kind or _kind(message) == kind):
                messages[_PLACE.sub("", message)] += rows
        return messages.most_common(1)[0][0][:_MAX_CHARACTERS] if messages else ""

    def finding(
        self, rows: int, others: Sequence[Finding], task_ids: Collection[str], language: Language | None = None
    ) -> Finding | None:
        """Return the reason for which nearly all of so many rows fail, unless other findings explain it.

        ``language`` is that of the programs, unless it is Python.
        """
        names = self._count_by(_NAME)
        pattern = _PACKAGE if language is None or not language.missing else re.compile(language.missing)
        packages = self._count_by(pattern)
        if missing := _missing_import(names, rows) or _missing_package(packages, rows, language):
            return missing
        if any(2 * other.rows > self.failed for other in others if other.name not in ("mixture", "equal_programs")):
            return None
        if self.failed < _MIN_ROWS or self.failed < _SHARE * rows:
            return None
        kinds: Counter[tuple[Status, str]] = Counter()
        for (status, message), count in self._messages.items():
            kinds[status, _kind(message) if status == "failed" else ""] += count
        functions = set(task_ids.values()) if isinstance(task_ids, Mapping) else set()
        lacking = {name: count for name, count in names.items() if name in functions}
        if sum(lacking.values()) >= _SHARE * rows:
            text = (
                f"{sum(lacking.values()):,} of {rows:,} rows lack the function that the tests call, such as "
                f"{next(iter(lacking))!r}; give it that name, or look whether the task ids belong to these texts"
            )
            return Finding(name="lacks_function", rows=sum(lacking.values()), text=text)
        (status, kind), count = kinds.most_common(1)[0]
        share = _LOST_SHARE if kind == "NameError" else _SHARE
        if count >= share * rows and status != "compile" and (status, kind) not in _WRONG:
            return Finding(name="one_reason", rows=count, text=self._one_reason(status, kind, count, rows))
        if self.failed < rows or rows < _ALL_ROWS:
            return None
        listed = ", ".join(f"{count:,} {kind or status}" for (status, kind), count in kinds.most_common(3))
        text = f"none of {rows:,} rows passes ({listed}); {_LOOK}, and check that the task ids belong to the texts"
        return Finding(name="none_passes", rows=rows, text=text)

    def _count_by(self, pattern: re.Pattern[str]) -> Counter[str]:
        """Return the rows by what the pattern finds in their messages."""
        counts: Counter[str] = Counter()
        for (_, message), count in self._messages.items():
            if match := pattern.search(message):
                counts[match[1]] += count
        return counts

    def _one_reason(self, status: Status, kind: str, count: int, rows: int) -> str:
        message = self.of_status(status, kind) or status
        remedy = {"no_code": "--extract another policy, or mend the texts", "timeout": "raise --timeout"}.get(status)
        if (name := _NAME.match(message)) and name[1] in _FIRST_LINES:
            remedy = "a first line with nothing else is no code; use --extract auto"
        return f"{count:,} of {rows:,} rows fail for one reason, {message}; {remedy or _REMEDIES.get(kind, _LOOK)}"


def _missing_import(names: Counter[str], rows: int) -> Finding | None:
    """Return the finding on the commonest name that an import would bring, where it is common."""
    name, count = next(((name, count) for name, count in names.most_common() if name in _IMPORTS), ("", 0))
    if count < max(_NAME_ROWS, _NAME_SHARE * rows):
        return None
    text = (
        f"{count:,} of {rows:,} rows fail because {name!r} is not defined: an import is missing; "
        "--prelude humaneval-x adds those of a harness (passcurve autopsy --preludes none,humaneval-x compares)"
    )
    return Finding(name="missing_import", rows=count, text=text)


def _missing_package(packages: Counter[str], rows: int, language: Language | None) -> Finding | None:
    """Return the finding on the commonest package that samples cannot import, where it is common."""
    package, count = next(iter(packages.most_common(1)), ("", 0))
    if count < max(_NAME_ROWS, _NAME_SHARE * rows):
        return None
    if language is None:
        text = "cannot be imported here; if it is a package that they may use, install it and name it: --packages "
        text += package
    else:
        text = "is not installed here" + (f": apt install {' '.join(language.libraries)}" if language.libraries else "")
    text = f"{count:,} of {rows:,} rows fail because {package!r} {text}"
    return Finding(name="missing_package", rows=count, text=text)


def without_test(message: str) -> str:
    """Return a message without the test that it begins with, where tests are data: that says nothing of the reason."""
    return _TEST.sub("", message)


def is_wrong_answer(status: Status, message: str) -> bool:
    """Tell whether a program that did not pass ran, and gave a wrong answer."""
    return (status, _kind(without_test(message))) in _WRONG


def is_syntax_error(message: str) -> bool:
    """Tell whether a message says that what was to run is no program."""
    return without_test(message).startswith(("SyntaxError", "IndentationError", "TabError"))


def lacks_import(message: str) -> bool:
    """Tell whether a message says that an import, or a name that one defines, is missing."""
    name = _NAME.match(message)
    return name[1] in _IMPORTS if name else message.startswith(("ModuleNotFoundError", "ImportError"))


def _kind(message: str) -> str:
    """Return the exception of a message."""
    return _ASSERTION if _OTHER_ASSERTION.search(message) else message.partition(":")[0][:_MAX_CHARACTERS]


def _owners(task_ids: Mapping[str, str]) -> dict[str, str]:
    """Return the problem of each function that is the function of one problem alone."""
    names = {task: name.rpartition(".")[2] for task, name in task_ids.items()}
    times = Counter(names.values())
    return {name: task for task, name in names.items() if times[name] == 1}


def ids_remedy(moved: Mapping[str, str], share: float) -> str:
    """Return what mends ids of which so large a share is of other problems: the option for ids that count from 1."""
    # An option moves all rows, also those that have their own id.
    if share < _SHARE:
        return _BY_HAND
    pairs = [(_DIGITS.fullmatch(task), _DIGITS.fullmatch(owner)) for task, owner in moved.items()]
    if all(one and two and one[1] == two[1] and int(one[2]) - int(two[2]) == 1 for one, two in pairs):
        form = _DIGITS.fullmatch(next(iter(moved)))
        if form is not None:
            return f"they count from 1, use --id-map '{form[1]}{{}}{form[3]}={form[1]}{{-1}}{form[3]}'"
    return _BY_HAND
