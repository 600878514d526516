"""Expected results that are recognised by the bytes of a reply."""

from __future__ import annotations

import decimal
import math
from typing import Any

import pytest

from passcurve.harness.comparators import Comparator
from passcurve.harness.packed_results import has_floats, has_nothing, is_reply, pack, unpack
from passcurve.harness.wire import encode

LONG = ["a text"] * 500
VALUES: list[Any] = [
    0,
    -1,
    10**400,
    True,
    None,
    0.5,
    -0.0,
    "text",
    "\ud800",
    b"x",
    [],
    (),
    {},
    {"a": [1]},
    {1, 2},
    LONG,
]
VALUES += [[0.5, 1e300], [0.5] * 999]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
def test_a_reply_is_recognised(value: Any):
    """The reply with a result is recognised by its bytes, and no other is."""
    packed = pack(value)
    assert is_reply(packed, encode({"value": value}))
    assert repr(value) == repr(unpack(packed))
    others = [other for other in [*VALUES, 1, 0.0, 1.0, [1], [0.5], LONG[1:]] if repr(other) != repr(value)]
    for record in [{"value": other} for other in others] + [{"raised": value}, {"value": value, "flattened": ("a",)}]:
        assert not is_reply(packed, encode(record)), record
    assert not is_reply(packed, encode({"value": value}) + b"N")
    assert not is_reply(packed, b"")


@pytest.mark.parametrize("value", [math.nan, [1.0, math.nan], decimal.Decimal(1), decimal.Decimal("nan")], ids=repr)
def test_bytes_that_show_nothing(value: Any):
    """What equals nothing, not even itself, and what is packed otherwise is left to be compared."""
    packed = pack(value)
    assert not is_reply(packed, encode({"value": value}))
    assert repr(value) == repr(unpack(packed))


def test_floats_are_told():
    """Floats, and lists of them only, are told apart without being unpacked."""
    assert [True, True, True, False, False] == [has_floats(pack(value)) for value in (0.5, [0.5], [0.5] * 999, 1, LONG)]
    assert not any(has_floats(pack(value)) for value in ([], (), [1.0, 2], [True]))


def test_nothing_is_told():
    """Lists and tuples without items are told apart likewise."""
    assert [True, True] == [has_nothing(pack(value)) for value in ([], ())]
    assert not any(has_nothing(pack(value)) for value in ([0], {}, set(), "", b"", None, 0, [[]], ((),)))


@pytest.mark.parametrize(("rule", "is_close"), [("close", False), ("close or empty", True), ("equal", False)])
@pytest.mark.parametrize("nothing", [[], ()], ids=repr)
def test_old_editions_take_nothing_for_floats(rule: str, is_close: bool, nothing: Any):
    """Where an empty result is all floats, later whole numbers may be close (``is_floats`` of EvalPlus 0.2.0)."""
    for is_compared in (False, True):
        comparator = Comparator("equal", 0.0, rule)
        if is_compared:
            assert comparator.accepts((), nothing, nothing)
        else:
            comparator.note_expected(is_float=has_floats(pack(nothing)), is_empty=has_nothing(pack(nothing)))
        assert is_close == comparator.accepts((), [10**8 + 1], [10**8])
