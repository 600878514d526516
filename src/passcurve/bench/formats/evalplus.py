"""HumanEval+ and MBPP+ of EvalPlus: inputs in two suites, whose results the reference solution computes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from passcurve.bench.formats.human_eval import read_entry_point
from passcurve.bench.formats.rows import Format, Parsed, ReadOptions, Row, excerpt, kind
from passcurve.types import Cases, Problem, Suite, pack_values

_REQUIRED = ("task_id", "prompt", "entry_point", "canonical_solution", "base_input", "plus_input", "atol")
_MBPP = re.compile(r"mbpp(?:plus)?[/_-](\d+)", re.IGNORECASE)
"""An id of MBPP+; others than EvalPlus write it in other ways."""
_HUMAN_EVAL_RULES = {"find_zero": "polynomial-root"}
_MBPP_RULES = {
    "are_equivalent": "anything",
    "sum_div": "equal-or-zero",
    "surface_Area": "pyramid-surface",
    "digit_distance_nums": "digit-distance",
    **dict.fromkeys(("check_str", "text_match_three", "text_starta_endb"), "same-truth"),
    **dict.fromkeys(
        (
            "similar_elements",
            "find_char_long",
            "common_in_nested_lists",
            "extract_singly",
            "larg_nnum",
            "intersection_array",
            "find_dissimilar",
            "Diff",
        ),
        "same-set",
    ),
}
"""Functions whose results are compared in another way than by equality (EvalPlus, ``evalplus/eval``)."""


_WHOLE_S = 60.0
"""The limit of EvalPlus for all inputs of a suite."""
_REFERENCE_FACTOR = 4.0
"""Times that the reference takes for an input, which a program may take; it is all its inputs here."""


class _Edition(NamedTuple):
    """The rules of EvalPlus at the time of an edition of its data; the latest by default."""

    test_s: float = 4.0
    each_suite: bool = True
    floats: Literal["equal", "close", "close or empty"] = "close"
    flattened: Literal["plain", "equal", "typed"] = "typed"
    rules: Mapping[str, str] = {}
    """Rules that differ from those of today, by function."""


_RULES_BEFORE_SETS = {
    **dict.fromkeys((name for name, rule in _MBPP_RULES.items() if rule == "same-set"), "equal"),
    # Their references order texts by their hashes, and the results were computed by a process with other hashes.
    **dict.fromkeys(("similar_elements", "common_in_nested_lists", "find_dissimilar", "Diff"), "hash-order"),
}
# A rule that accepts anything checks nothing.
_NATIVE = _Edition(each_suite=False, flattened="plain", rules={"are_equivalent": "equal-or-true"})
_EDITIONS = {
    # HumanEval+ v0.1.9: inputs had 0.2 s, on a loaded machine.  This stands for it here: of the published samples the
    # slowest that had passed takes 0.04 s for an input, the fastest that was stopped more than 0.15 s.
    "84f4b93a1270b492e4c54d5212da7a5b": _Edition(test_s=0.08, floats="equal", flattened="equal"),
    # MBPP+ v0.1.0.
    "ebe95df0d5220f00cedd6f4bddea35e4": _Edition(
        test_s=1.0, floats="close or empty", flattened="equal", rules=_RULES_BEFORE_SETS
    ),
}
"""By md5 of the file: what published results of that edition were made with."""


def _matches(fields: Mapping[str, object]) -> bool:
    return {"base_input", "plus_input"} <= fields.keys()


def _parse(rows: Sequence[Row], options: ReadOptions) -> Parsed:
    edition = _EDITIONS.get(options.file_hash, _Edition()) if options.profile == FORMAT.name else _NATIVE
    return Parsed(tuple(_problem(msgspec.structs.replace(row, expected=_REQUIRED), edition) for row in rows))


FORMAT = Format("evalplus", _matches, _parse)


def _problem(row: Row, edition: _Edition) -> Problem:
    task_id, entry_point = row.text("task_id"), read_entry_point(row)
    mbpp = _MBPP.fullmatch(task_id)
    repair = _repair_of(int(mbpp[1])) if mbpp else _as_is
    inputs: list[tuple[Any, ...]] = []
    suites = []
    for name in ("base", "plus"):
        tests = _inputs(row, f"{name}_input", repair)
        suites.append(Suite(name=name, count=len(tests)))
        inputs += tests
    rules = {**(_MBPP_RULES if mbpp else _HUMAN_EVAL_RULES), **edition.rules}
    return Problem(
        id=task_id,
        prompt=row.text("prompt"),
        entry_point=entry_point,
        reference=row.text("canonical_solution"),
        check=Cases(
            suites=tuple(suites),
            inputs=pack_values(inputs),
            comparator=rules.get(entry_point, "equal"),
            tolerance=_tolerance(row),
            timeout_s=edition.test_s,
            each_suite=edition.each_suite,
            reference_factor=_REFERENCE_FACTOR,
            floats=edition.floats,
            flattened=edition.flattened,
        ),
        timeout_s=_WHOLE_S,
    )


def _inputs(row: Row, field: str, repair: Callable[[Any], Any]) -> list[tuple[Any, ...]]:
    # The additional inputs of a problem may be an empty object, or null, instead of an empty array.
    values: list[Any] = [] if row.fields.get(field) in ({}, None) else row.array(field)
    for number, value in enumerate(values):
        if not isinstance(value, list):
            raise row.fault(f"found {kind(value)} as number {number} of {field!r}", "an array of arguments")
    if repair is _as_is:
        return [tuple(value) for value in values]
    tests = []
    for number, value in enumerate(values):
        try:
            tests.append(tuple(repair(value)))
        except (TypeError, ValueError, IndexError, AttributeError) as error:
            raise row.fault(f"found other arguments in number {number} of {field!r}", "those of MBPP+") from error
    return tests


def _tolerance(row: Row) -> float:
    value = row.fields.get("atol")
    value = 0 if value is None else value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise row.fault(f"found {excerpt(value)} in 'atol'", "a number from 0 to 1")
    return float(value)


# JSON has no tuples, sets and complex numbers: MBPP+ is published with lists in their place, and EvalPlus knows by the
# number of a task which of its arguments are which (``evalplus/data/mbpp.py``).  Each repair takes a list of arguments.


def _as_is(arguments: list[Any]) -> list[Any]:
    return arguments


def _tuples(arguments: list[Any]) -> list[Any]:
    return [tuple(argument) for argument in arguments]


def _lists_of_tuples(arguments: list[Any]) -> list[Any]:
    return [_tuples(argument) for argument in arguments]


def _tuples_of_tuples(arguments: list[Any]) -> list[Any]:
    return [tuple(_tuples(argument)) for argument in arguments]


def _first_list_of_tuples(arguments: list[Any]) -> list[Any]:
    return [_tuples(arguments[0]), arguments[1]]


def _second_tuple(arguments: list[Any]) -> list[Any]:
    return [arguments[0], tuple(arguments[1])]


def _first_tuple(arguments: list[Any]) -> list[Any]:
    return [tuple(arguments[0]), *arguments[1:]]


def _mixed_tuple(arguments: list[Any]) -> list[Any]:
    return [tuple(tuple(item) if isinstance(item, list) else item for item in arguments[0])]


def _sets(arguments: list[Any]) -> list[Any]:
    # As EvalPlus has it: an empty list becomes a dictionary, not a set.
    return [[set(item) if isinstance(item, list) and item else {} for item in arguments[0]]]


def _float_and_complex(arguments: list[Any]) -> list[Any]:
    return [float(arguments[0]), complex(arguments[1])]


def _complex(arguments: list[Any]) -> list[Any]:
    return [complex(arguments[0])]


def _tuple_values(arguments: list[Any]) -> list[Any]:
    return [{name: tuple(value) for name, value in arguments[0].items()}, *arguments[1:]]


def _all_tuples(value: Any) -> Any:
    return tuple(_all_tuples(item) for item in value) if isinstance(value, list) else value


_REPAIRS: tuple[tuple[Callable[[list[Any]], Any], str], ...] = (
    (_tuples, "2 116 132 143 222 261 273 394 399 421 424 429 470 560 579 596 616 630 726 740 744 809"),
    (_lists_of_tuples, "63 64 70 94 120 237 272 299 400 409 417 438 473 614 780"),
    (_first_list_of_tuples, "75 413 444 753"),
    (_second_tuple, "106 750"),
    (_first_tuple, "250 307 405 446 617 720 763 808"),
    (_tuples_of_tuples, "259 401 445"),
    (_mixed_tuple, "278"),
    (_tuple_values, "722"),
    (_sets, "115"),
    (_float_and_complex, "124"),
    (_complex, "252"),
    (_all_tuples, "580 615 791"),
)


def _repair_of(number: int) -> Callable[[Any], Any]:
    return next((repair for repair, numbers in _REPAIRS if str(number) in numbers.split()), _as_is)
