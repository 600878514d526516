"""``--field`` and ``--id-map``: where a row has its text, and the benchmark's name for its task."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from passcurve.errors import UsageError
from passcurve.types import Problem
from passcurve.types.files import BOM

FindProblems = Callable[[], Sequence[Problem] | None]
"""Returns the problems of the benchmark that the user named, or None."""


def say_nothing(note: str) -> None:
    """Do nothing with a note."""


class Target(NamedTuple):
    """The problems to which samples belong, and who is told how samples without ids were assigned to them."""

    problems: FindProblems
    choice: FindProblems = lambda: None
    """Returns those of ``--problems``; None where all are judged."""
    say: Callable[[str], None] = say_nothing
    """Takes a note of one line."""


_EXAMPLE = (
    "write it like 'Python/{}=HumanEval/{}', where * stands for a number that does not count, "
    "or name a JSON file with an object of ids"
)
BY_FUNCTION = "entry_point"
_SLOT = re.compile(r"\{([+-]\d{1,9})?\}")
_DIGITS = re.compile(r"[0-9]{1,18}")
_FORMS = ("completion", "solution")


class IdMap(msgspec.Struct, frozen=True, kw_only=True):
    """A mapping of task ids: a pattern, or a table."""

    text: str
    """As the user wrote it; a file with the digest of its content."""
    pattern: str = ""
    """A regular expression with one group."""
    before: str = ""
    after: str = ""
    """What stands around the group in the benchmark's id."""
    offset: int | None = None
    """What is added to the group, which then is a number without zeros before it."""
    by_function: bool = False
    """The table is that of the functions of the benchmark, which is yet to be read."""
    table: dict[str, str] = {}

    def find(self, task: str) -> str | None:
        """Return the benchmark's id of a task; None for a task without a mapping."""
        if not self.pattern:
            return self.table.get(task)
        match = re.fullmatch(self.pattern, task, re.DOTALL)
        if not match or self.offset is None:
            return f"{self.before}{match[1]}{self.after}" if match else None
        number = int(match[1]) + self.offset if _DIGITS.fullmatch(match[1]) else -1
        return f"{self.before}{number}{self.after}" if number >= 0 else None


class ReadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The way to read rows that are not in the usual form."""

    field: str = ""
    """The field of the text; empty for the usual ones."""
    form: Literal["completion", "solution"] = "completion"
    id_map: IdMap | None = None

    def __bool__(self) -> bool:
        """Tell whether rows are changed at all."""
        return bool(self.field) or self.id_map is not None

    def describe(self) -> tuple[str, ...]:
        """Return the options that are set, each as ``name:value``."""
        field = f"field:{self.field}" + (":solution" if self.form == "solution" else "")
        return (field,) * bool(self.field) + ((f"id-map:{self.id_map.text}",) if self.id_map else ())


def parse_options(field: str | None, id_map: str | Path | Mapping[str, str] | None) -> ReadOptions:
    """Return the options of these words; raises UsageError for what they cannot be."""
    if field is not None and not field.removesuffix(":solution").strip():
        raise UsageError(f"--field {field!r} names no field; write --field NAME, or NAME:solution for whole programs")
    name, _, form = (field or "").rpartition(":")
    if not name or form not in _FORMS:
        name, form = field or "", "completion"
    mapping = _parse_id_map(id_map) if isinstance(id_map, str) else None
    if isinstance(id_map, Path):
        mapping = _read_id_map(id_map)
    elif isinstance(id_map, Mapping):
        mapping = _table(dict(id_map), "dict", msgspec.json.encode(id_map))
    return ReadOptions(field=name, form="solution" if form == "solution" else "completion", id_map=mapping)


def with_functions(options: ReadOptions, problems: FindProblems) -> ReadOptions:
    """Return the options with the table of the benchmark's functions, where they ask for it."""
    if options.id_map is None or not options.id_map.by_function:
        return options
    named = problems()
    if named is None:
        raise UsageError(f"--id-map {BY_FUNCTION} needs the benchmark: name it with --benchmark")
    names = Counter(problem.entry_point for problem in named)
    table = {problem.entry_point: problem.id for problem in named if names[problem.entry_point] == 1}
    # These are no ids: the line that refuses them says why.
    table |= {name: f"{name} (of {count} problems)" for name, count in names.items() if count > 1}
    return msgspec.structs.replace(options, id_map=IdMap(text=BY_FUNCTION, table=table))


def _parse_id_map(text: str) -> IdMap:
    if text == BY_FUNCTION and not Path(text).is_file():
        return IdMap(text=text, by_function=True)
    theirs, equals, ours = text.partition("=")
    if equals and not Path(text).is_file():
        slots = list(_SLOT.finditer(ours))
        if theirs.count("{}") != 1 or len(slots) != 1:
            raise UsageError(f"--id-map {text!r} needs one {{}} on each side of =; {_EXAMPLE}")
        head, _, tail = theirs.partition("{}")
        slot = slots[0]
        return IdMap(
            text=text,
            pattern=f"{_escape(head)}(.+?){_escape(tail)}",
            before=ours[: slot.start()],
            after=ours[slot.end() :],
            offset=int(slot[1]) if slot[1] else None,
        )
    return _read_id_map(Path(text))


def _escape(text: str) -> str:
    """Return a part of a pattern as a regular expression; ``*`` stands for a number."""
    return re.escape(text).replace(r"\*", r"\d+")


def _read_id_map(path: Path) -> IdMap:
    try:
        content = path.read_bytes()
        table = msgspec.json.decode(content.removeprefix(BOM), type=dict[str, str])
    except OSError as error:
        raise UsageError(f"--id-map {str(path)!r} cannot be read: {error.strerror or error}; {_EXAMPLE}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"--id-map {str(path)!r} is not a JSON object of texts ({error}); {_EXAMPLE}") from None
    return _table(table, path.name, content)


def _table(table: dict[str, str], name: str, content: bytes) -> IdMap:
    """Return the mapping of a table; raises UsageError where two of its ids become one."""
    if not table:
        raise UsageError(f"--id-map {name!r} maps no id")
    sources: dict[str, str] = {}
    for theirs, ours in table.items():
        if ours in sources:
            raise UsageError(f"--id-map {name!r} maps both {sources[ours]!r} and {theirs!r} to {ours!r}")
        sources[ours] = theirs
    return IdMap(text=f"{name}@{hashlib.sha256(content).hexdigest()[:12]}", table=table)
