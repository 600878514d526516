"""Expected results that are recognised by the bytes of a reply."""

from __future__ import annotations

import decimal
import math
from typing import Any

import pytest

from passcurve.harness.packed_results import has_floats, is_reply, pack, unpack
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
