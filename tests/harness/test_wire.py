"""Encoding: plain data makes an exact round trip, and any other bytes are refused."""

from __future__ import annotations

import itertools
import struct
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passcurve.harness import wire
from passcurve.harness.wire import Decoder, Encoder, Handle, TooMuchError, WireError, decode, encode

HUGE = 1 << 40_000


def exact(value: Any) -> Any:
    """Return a form of a plain value that is equal only for values of the same types and bits."""
    kind = type(value)
    if kind is float:
        return kind, struct.pack("<d", value)
    if kind is complex:
        return kind, struct.pack("<dd", value.real, value.imag)
    if kind in (list, tuple):
        return kind, [exact(item) for item in value]
    if kind in (set, frozenset):
        return kind, sorted((exact(item) for item in value), key=repr)
    if kind is dict:
        return kind, [(exact(key), exact(item)) for key, item in value.items()]
    if kind is range:
        return kind, (value.start, value.stop, value.step)
    if kind is Decimal:
        return kind, value.as_tuple()
    if kind is Fraction:
        return kind, (value.numerator, value.denominator)
    return kind, value


PLAIN = [
    *(None, True, False, 0, 1, -1, 127, 128, -128, -129, 255, 256, HUGE, -HUGE, HUGE - 1, 2**2039, 2**2040, -(2**2040)),
    *(0.0, -0.0, 1.5, 5e-324, float("inf"), float("-inf"), float("nan"), struct.unpack("<d", b"\1" + b"\xff" * 7)[0]),
    *(0j, complex(-0.0, float("nan")), complex("inf"), "", "text", "\0", "ñ漢🎈", "\ud800", "a\udfffb", "\udcff" * 3),
    *(b"", b"\0\xff", bytearray(), bytearray(b"\x80"), [], (), {}, set(), frozenset(), [[]], ((),), {(): []}),
    *([1, True, 1.0, "1", b"1"], (None, (None, [None])), {1: "a", "1": 2, (1, 2): [3]}, {1, "a", (2, frozenset({3}))}),
    *(frozenset({frozenset(), frozenset({frozenset()})}), {"b": 1, "a": 2}, {None: {None: {None: None}}}),
    *(range(0), range(5), range(5, 5), range(10, 0, -3), range(HUGE, HUGE + 9, 2), [range(1, 1)]),
    *(
        Fraction(0),
        Fraction(1, 3),
        Fraction(-HUGE, 3),
        Decimal("0.1"),
        Decimal("-0"),
        Decimal("1E+999999"),
        Decimal("NaN"),
    ),
    *(
        Decimal("sNaN"),
        Decimal("-NaN123"),
        Decimal("Infinity"),
        Decimal("-Infinity"),
        Decimal("1." + "0" * 60),
        Decimal("0E-10"),
    ),
    {Decimal("0.5"): Fraction(1, 2), "x": [Decimal("1.00"), 1.0, 1]},
    # Long enough to be encoded as an array, with and without items of one type.
    *([*range(-9, 9)], tuple(range(40)), [-(2**63)] * 16 + [2**63 - 1], [2**63] * 16, [-(2**63) - 1] * 16),
    *([0.5, -0.0, float("nan"), float("inf")] * 4, (5e-324,) * 16, [1.0] * 16 + [1], [1] * 16 + [True], [True] * 16),
    *([[*range(20)]] * 3, [None] * 16, ["a"] * 16, {tuple(range(20)): [*range(20)]}),
]


@pytest.mark.parametrize("value", PLAIN, ids=[f"{type(value).__name__}-{i}" for i, value in enumerate(PLAIN)])
def test_round_trip(value: object):
    """A plain value comes back with its type, its bits, its order and the types of its items."""
    assert exact(value) == exact(decode(encode(value)))
    assert encode({"value": value}) == Encoder().encode_reply(value)


def test_true_is_not_one():
    """True, 1 and 1.0 keep their types, also in one list."""
    assert [bool, int, float] == [type(item) for item in decode(encode([True, 1, 1.0]))]


def test_decimals_stay_exact():
    """A decimal that equals no float still equals none."""
    assert decode(encode(Decimal("0.1"))) != 0.1


numbers = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(10**700), 10**700),
    st.floats(),
    st.complex_numbers(allow_nan=True),
    st.fractions(),
    st.decimals(allow_nan=True, allow_infinity=True),
)
texts = st.one_of(st.text(), st.text(st.characters(categories=("Cs", "Lu"))), st.binary())
ranges = st.builds(range, st.integers(), st.integers(), st.integers().filter(bool))


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


keys = st.recursive(
    st.one_of(numbers.filter(_hashable), texts, ranges),
    lambda inner: st.one_of(st.lists(inner, max_size=4).map(tuple), st.frozensets(inner, max_size=4)),
    max_leaves=5,
)
values = st.recursive(
    st.one_of(numbers, texts, texts.map(lambda t: bytearray(t if isinstance(t, bytes) else b"")), ranges),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.lists(inner, max_size=5).map(tuple),
        st.dictionaries(keys, inner, max_size=4),
        st.sets(keys, max_size=4),
        st.frozensets(keys, max_size=4),
    ),
    max_leaves=20,
)


@pytest.mark.nightly
@settings(max_examples=120)
@given(values)
def test_round_trip_of_any_value(value: object):
    """Any plain value, however nested, comes back exactly."""
    assert exact(value) == exact(decode(encode(value)))


def refuses(data: bytes) -> bool:
    """Return whether decoding raises WireError; any other exception passes through."""
    try:
        decode(data)
    except WireError:
        return True
    return False


@settings(max_examples=300)
@given(st.binary(max_size=300))
def test_arbitrary_bytes(data: bytes):
    """Arbitrary bytes decode to a value or raise WireError."""
    refuses(data)


@pytest.mark.ci
@settings(max_examples=120)
@given(values, st.data())
def test_damaged_bytes(value: object, data: st.DataObject):
    """The bytes of a value with some changed decode to a value or raise WireError."""
    damaged = bytearray(encode(value))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    refuses(bytes(damaged))


@settings(max_examples=60)
@given(values)
def test_truncated_and_extended_bytes(value: object):
    """A value without its last bytes, or with more after it, is refused."""
    data = encode(value)
    assert all(refuses(data[:end]) for end in {0, 1, len(data) // 2, len(data) - 1} if end < len(data))
    assert refuses(data + b"N")
    assert refuses(data + b"\0")


def test_every_truncation():
    """A list of one value of each type is refused at every shorter length."""
    data = encode(
        [1, -0.0, "ñ", b"b", bytearray(b"c"), (1j, {2}), {frozenset(): range(3)}, Fraction(1, 3), Decimal("1.0")]
    )
    assert [] == [end for end in range(len(data)) if not refuses(data[:end])]


MALFORMED = {
    "nothing": b"",
    "an unknown tag": b"\0\0\0\0\0",
    "a list that claims more than there is": b"l\xff\xff\xff\xff",
    "an array that claims more than there is": b"aq\xff\xff\xff\xff" + bytes(64),
    "an array that claims a little more than there is": b"ud\x09\0\0\0" + bytes(64),
    "an array of an unknown type": b"ax\x08\0\0\0" + bytes(64),
    "an array cut short": b"aq\x08",
    "a text that claims more than there is": b"s\xff\xff\xff\x7f",
    "a number that claims more than there is": b"I\xff\xff\xff\xff\1",
    "a dictionary that claims more than there is": b"d\xff\xff\xff\xffNN",
    "a text that is not UTF-8": b"s\1\0\0\0\xff",
    "a list as key": b"d\1\0\0\0" + encode([]) + b"N",
    "a list in a set": b"S\1\0\0\0" + encode([]),
    "a signalling NaN as key": b"d\1\0\0\0" + encode(Decimal("sNaN")) + b"N",
    "a range of floats": b"r" + encode(1.0) * 3,
    "a range of truth": b"r" + encode(True) * 3,
    "a range that stands still": b"r" + encode(1) + encode(2) + encode(0),
    "a fraction by zero": b"q" + encode(1) + encode(0),
    "a fraction by less": b"q" + encode(1) + encode(-2),
    "a decimal that is no number": b"D" + encode("many"),
    "a decimal that is a number": b"D" + encode(1),
    "a decimal that is bytes": b"D" + encode(b"1"),
    "a decimal of a lone surrogate": b"D" + encode("\ud800"),
    "a decimal that is too long to hold": b"D" + encode("1E+99999999999999999999999"),
    "a handle": b"h\0\0\0\0" + encode("name"),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_malformed_bytes(what: str):
    """Malformed bytes are refused."""
    assert refuses(MALFORMED[what])


def nested(levels: int) -> list[Any]:
    """Return lists nested to this depth."""
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: (v,), lambda v: {0: v}, lambda v: frozenset([v])])
def test_depth(wrap: Callable[[Any], Any]):
    """A value of the largest depth comes back; a deeper one is refused."""
    value: Any = 1
    for _ in range(wire.MAX_DEPTH):
        value = wrap(value)
    assert encode(value) == encode(decode(encode(value)))
    with pytest.raises(WireError, match="deeper"):
        encode(wrap(value))


@pytest.mark.parametrize("tag", [b"l\1\0\0\0", b"d\1\0\0\0N", b"t\1\0\0\0", b"r", b"q", b"D", b"h\0\0\0\0"])
def test_depth_of_bytes(tag: bytes):
    """Bytes that nest without end are refused."""
    assert refuses(tag * 100_000)
    assert refuses(tag * (wire.MAX_DEPTH + 1) + b"N" * 9)


@pytest.mark.parametrize("tag", [b"l\1\0\0\0", b"r", b"q"])
def test_depth_of_bytes_in_a_deep_caller(tag: bytes):
    """A caller that is deep in a recursion gets WireError too."""

    def deeper(levels: int) -> bool:
        return refuses(tag * 100_000) if levels == 0 else deeper(levels - 1)

    assert deeper(sys.getrecursionlimit() // 2)


def test_cycle():
    """A value that contains itself is refused."""
    cycle: list[Any] = []
    cycle.append(cycle)
    table: dict[str, Any] = {}
    table["self"] = [table]
    for value in (cycle, table, (1, [cycle])):
        with pytest.raises(WireError, match="deeper"):
            encode(value)


class Text(str):
    """A subclass of str."""

    __slots__ = ()


@pytest.mark.parametrize("value", [object(), Text("x"), len, [object()], {"k": iter(())}, int, NotImplemented, ...])
def test_values_that_are_not_plain(value: object):
    """A value that is not plain is refused by the name of its type, if nothing reduces it."""
    with pytest.raises(WireError, match="not plain"):
        encode(value)


def test_reduce_and_resolve():
    """The encoder reduces a value that is not plain, and the decoder resolves it."""
    sent = Encoder(lambda value: Handle("function", 7, value.__name__)).encode({"f": [len]})
    received = Decoder(lambda handle: (handle.kind, handle.number, handle.name)).decode(sent)
    assert {"f": [("function", 7, "len")]} == received
    assert refuses(sent)


def test_endless_reduction():
    """A reduction that never ends in a plain value is refused."""
    with pytest.raises(WireError, match="deeper"):
        Encoder(lambda value: [value]).encode(object())


@pytest.mark.parametrize("kind", ["function", "iterator", "opaque"])
def test_kinds_of_handles(kind: str):
    """A handle of each kind comes back, with a truncated name."""
    sent = Encoder(lambda _: Handle(kind, 2**32 - 1, "n" * 1000)).encode(object())
    handle = Decoder(lambda handle: handle).decode(sent)
    assert (kind, 2**32 - 1, "n" * 200) == (handle.kind, handle.number, handle.name)


def seconds(action: Callable[[], object]) -> float:
    """Return the CPU time that something takes."""
    start = time.process_time()
    action()
    return time.process_time() - start


BYTES = 1 << 20
HEAVY: dict[str, Callable[[], bytes]] = {
    "empty lists": lambda: b"l" + struct.pack("<I", BYTES // 5) + encode([]) * (BYTES // 5),
    "one number": lambda: encode(1 << (8 * BYTES)),
    "one decimal": lambda: encode(Decimal("7" * BYTES)),
    "one text": lambda: encode("\ud800" * (BYTES // 3)),
    "a set": lambda: encode(set(range(BYTES // 6))),
}


@pytest.mark.parametrize("what", HEAVY)
def test_decoding_is_fast(what: str):
    """A megabyte decodes in less than two seconds."""
    data = HEAVY[what]()
    assert seconds(lambda: refuses(data)) < 2.0


@pytest.mark.nightly
@settings(max_examples=150)
@given(st.data())
def test_damaged_structure(data: st.DataObject):
    """Values with parts removed, repeated, moved or given other lengths are values or raise WireError."""
    whole = bytearray(b"l\3\0\0\0" + b"".join(encode(data.draw(values)) for _ in range(3)))
    for _ in range(data.draw(st.integers(1, 4))):
        start, end = sorted(data.draw(st.lists(st.integers(0, len(whole)), min_size=2, max_size=2)))
        part = bytes(whole[start:end])
        match data.draw(st.sampled_from(["cut", "double", "length", "tag"])):
            case "cut":
                del whole[start:end]
            case "double":
                at = data.draw(st.integers(0, len(whole)))
                whole[at:at] = part
            case "length":
                whole[start : start + 4] = struct.pack("<I", data.draw(st.sampled_from([0, 1, 3, 255, 1 << 31])))
            case _:
                whole[start : start + 1] = data.draw(st.sampled_from([b"l", b"t", b"S", b"Z", b"d", b"r", b"q", b"D"]))
    try:
        value = Decoder(None, 100_000).decode(bytes(whole))
    except WireError:
        return
    assert exact(value) == exact(decode(encode(value)))


PRIME = (1 << 61) - 1
WORK: dict[str, Callable[[], bytes]] = {
    "empty lists": lambda: b"l" + struct.pack("<I", 200_000) + encode([]) * 200_000,
    "empty dictionaries": lambda: b"l" + struct.pack("<I", 200_000) + encode({}) * 200_000,
    "ranges": lambda: encode([range(3)] * 80_000),
    "fractions": lambda: encode([Fraction(1, 2)] * 80_000),
    "decimals": lambda: encode([Decimal(1)] * 80_000),
    "a long fraction": lambda: b"q" + encode((1 << 2_000_000) + 1) + encode((1 << 2_000_000) + 3),
    "a long range": lambda: b"r" + encode(0) + encode(1 << 1_000_000) + encode((1 << 500_000) + 1),
    "two keys of one hash, a number and a decimal": lambda: (
        b"S\2\0\0\0" + encode(10**150_000) + encode(Decimal(10**150_000 % PRIME))
    ),
    "few long tuples of one hash": lambda: (
        b"S\x28\0\0\0" + b"".join(encode((0,) * 1000 + (i * PRIME,)) for i in range(40))
    ),
    "keys of one hash": lambda: encode({i * PRIME for i in range(1200)}),
    "keys of one hash in a dictionary": lambda: encode(dict.fromkeys(i * PRIME for i in range(1200))),
    "tuples of one hash": lambda: encode(frozenset((i * PRIME,) for i in range(1200))),
}


@pytest.mark.parametrize("what", WORK)
def test_work_is_bounded(what: str):
    """Values over the work of a decoder are refused; a decoder with more takes them."""
    data = WORK[what]()
    with pytest.raises(TooMuchError, match="work"):
        Decoder(None, 1_000_000).decode(data)
    Decoder(None, 100_000_000).decode(data)


@pytest.mark.ci
def test_ordinary_values_cost_little():
    """Plain values, and keys that share a hash now and then, cost little more than their number."""
    grid = {(x, y) for x in range(-100, 100) for y in range(-100, 100)}
    assert grid == Decoder(None, 300_000).decode(encode(grid))
    halves = {-1: "a" * 900_000, -2: "b" * 900_000} | dict.fromkeys(range(100_000))
    assert halves == Decoder(None, 700_000).decode(encode(halves))
    signs = set(itertools.product((-2, -1, 0, 1, 2), repeat=6))
    assert signs == Decoder(None, 1_000_000).decode(encode(signs))
    assert 200_000 == len(Decoder(None, 200_010).decode(encode(list(range(200_000)))))


def test_work_adds_up():
    """The work of a decoder counts all that it decodes."""
    decoder, data = Decoder(None, 3500), encode(list(range(1000)))
    for _ in range(3):
        decoder.decode(data)
    with pytest.raises(TooMuchError):
        decoder.decode(data)
