"""The format of HumanEval, which others share: a prompt, and tests that define ``check(candidate)``."""

from __future__ import annotations

import keyword
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from passcurve.bench.formats.rows import Format, Parsed, ReadOptions, Row, shown
from passcurve.bench.unread_tests import explain, unread_tests, unused_tests
from passcurve.errors import DataError
from passcurve.types import FunctionTests, Problem
from passcurve.types.amounts import amount

REQUIRED = ("task_id", "prompt", "entry_point", "test")
_OPTIONAL = ("canonical_solution", "suffix")
_OTHER_NAMES = frozenset(("cpp", "csharp", "golang", "js", "shell"))
"""Names of languages besides their titles; the table's own `cs`, `pl` and `ts` are those of natural languages too."""


def _matches(fields: Mapping[str, object]) -> bool:
    return set(REQUIRED) <= fields.keys() <= {*REQUIRED, *_OPTIONAL}


def _parse(rows: Sequence[Row], _: ReadOptions) -> Parsed:
    """Return the problems; one has an empty test where its row has none and other rows have."""
    problems: list[Problem] = []
    unused: Counter[str] = Counter()
    without_test: Row | None = None
    for raw in rows:
        row = msgspec.structs.replace(raw, expected=REQUIRED)
        _check_language(row)
        if field := unread_tests(row.fields, (*REQUIRED, *_OPTIONAL)):
            raise DataError(f"{row.place}: {explain(field)}")
        unused.update(unused_tests(row.fields))
        problem = _problem(row)
        problems.append(problem)
        without_test = without_test or (None if problem.test else row)
    if without_test is not None and not any(problem.test for problem in problems):
        raise _no_test(without_test)
    notes = (f"{name!r} of {amount(count, 'problem')} is not used, only 'test' is" for name, count in unused.items())
    return Parsed(tuple(problems), tuple(notes))


FORMAT = Format("humaneval", _matches, _parse)


def is_name(text: str) -> bool:
    """Return whether a text can be the name of a function."""
    return text.isidentifier() and not keyword.iskeyword(text)


def read_entry_point(row: Row) -> str:
    """Return the name of the function that a row is about; raise DataError where it is none."""
    # Some published names end with a space, which a harness that pastes the name into a call does not notice.
    entry_point = row.text("entry_point").strip()
    if not is_name(entry_point):
        raise row.fault(f"found entry_point {shown(entry_point)}", "the name of a function")
    return entry_point


def _check_language(row: Row) -> None:
    """Raise DataError where a row names another language than Python, as those of MBXP and HumanEval-XL do."""
    language = row.fields.get("language")
    if not isinstance(language, str) or language.lower().startswith("py"):
        return
    # Loaded here: most rows name none.  A natural language says nothing about the program.
    from passcurve.bench.languages import languages

    if language.lower() in {one.title.lower() for one in languages().values()} | _OTHER_NAMES:
        raise row.fault(
            f"found language {shown(language)}",
            "Python in this form: other languages are of the kind `script` (docs/benchmarks.md)",
        )


def _problem(row: Row) -> Problem:
    entry_point = read_entry_point(row)
    test, reference, suffix = (row.optional_text(name) for name in ("test", "canonical_solution", "suffix"))
    # A gap may be filled by white space, and between two parts by nothing.
    has_gap = row.fields.get("suffix") is not None and row.fields.get("canonical_solution") is not None
    has_reference = bool(reference.strip()) or (has_gap and bool(reference or suffix))
    return Problem(
        id=row.name("task_id"),
        prompt=row.text("prompt"),
        entry_point=entry_point,
        check=FunctionTests(source=test if test.strip() else ""),
        reference=reference if has_reference else None,
        suffix=suffix,
    )


def _no_test(row: Row) -> DataError:
    """Return the error of a file in which no row has a test."""
    try:
        row.text("test")
    except DataError as error:
        return error
    return row.fault("found an empty test", "source that defines check(candidate)")
