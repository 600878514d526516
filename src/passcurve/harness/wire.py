"""Plain data as bytes: all that ever crosses between a sample and its tests.

Every value starts with a one-byte tag.  Lengths are bounded by what was received, nesting by MAX_DEPTH, and decoding
builds nothing but builtin values: no import by name, no callable, no pickle.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decimal import Decimal
    from fractions import Fraction

MAX_DEPTH = 400
MAX_FRAME = 256 << 20
"""Bytes of one frame; each channel sets its own lower bound."""

_MANY = 16
"""Numbers of one kind, from so many on, are written all at once."""
_DEAR = 12
"""What a range, a fraction, a decimal or a live object costs more than a plain value to build."""
_FEW_KEYS = 64
"""So few may all have one hash: comparing each with each takes no longer than decoding them."""
_FEW_KEY_BYTES = 1 << 12
"""So short must they be together."""

_U32 = struct.Struct("<I")
_F64 = struct.Struct("<d")
_C128 = struct.Struct("<dd")


class WireError(Exception):
    """Bytes that are not a value, or a value that cannot be bytes."""


class TooMuchError(WireError):
    """More than the receiver takes: bytes, or work to make values of them."""


class Handle:
    """Stands for a live object on the other side: ``kind`` is 'function', 'iterator' or 'opaque'."""

    __slots__ = ("kind", "name", "number")

    def __init__(self, kind: str, number: int, name: str) -> None:
        self.kind = kind
        self.number = number
        self.name = name


_HANDLE_TAGS = {"function": b"h", "iterator": b"g", "opaque": b"o"}
_HANDLE_KINDS = {ord(tag): kind for kind, tag in _HANDLE_TAGS.items()}


class Encoder:
    """Turns values into bytes.

    ``reduce`` is asked about each value that is not plain: it returns a plain value or a Handle, or raises WireError.
    A text or bytes over ``limit`` are refused before they are copied, which could take longer than to make them did.
    """

    def __init__(self, reduce: Callable[[Any], Any] | None = None, limit: int = MAX_FRAME) -> None:
        self._reduce = reduce
        self._limit = limit

    def encode(self, value: object) -> bytes:
        """Return ``value`` as bytes.

        Raises WireError for what is not plain and cannot be reduced, TooMuchError for what is over the limit.
        """
        out: list[bytes] = []
        self._put(value, out.append, 0)
        return b"".join(out)

    def _put(self, value: Any, put: Callable[[bytes], None], depth: int) -> None:
        if depth > MAX_DEPTH:
            raise WireError("nested deeper than %d" % MAX_DEPTH)
        kind = type(value)
        if value is None:
            put(b"N")
        elif kind is bool:
            put(b"T" if value else b"F")
        elif kind is int:
            size = (value.bit_length() >> 3) + 1
            if size < 256:
                put(b"i%c" % size)
            else:
                put(b"I" + _U32.pack(size))
            put(value.to_bytes(size, "little", signed=True))
        elif kind is str:
            self._bound(len(value))
            data = value.encode("utf-8", "surrogatepass")
            put(b"s" + _U32.pack(len(data)))
            put(data)
        elif kind is float:
            put(b"f" + _F64.pack(value))
        elif (kind is list or kind is tuple) and len(value) >= _MANY and (row := _row(value)):
            put((b"a" if kind is list else b"u") + row)
        elif kind is list or kind is tuple or kind is set or kind is frozenset:
            put(
                (b"l" if kind is list else b"t" if kind is tuple else b"S" if kind is set else b"Z")
                + _U32.pack(len(value))
            )
            depth += 1
            for item in value:
                self._put(item, put, depth)
        elif kind is dict:
            put(b"d" + _U32.pack(len(value)))
            depth += 1
            for key, item in value.items():
                self._put(key, put, depth)
                self._put(item, put, depth)
        elif kind is bytes or kind is bytearray:
            self._bound(len(value))
            put((b"b" if kind is bytes else b"B") + _U32.pack(len(value)))
            put(bytes(value))
        elif kind is complex:
            put(b"c" + _C128.pack(value.real, value.imag))
        elif kind is range:
            put(b"r")
            for part in (value.start, value.stop, value.step):
                self._put(part, put, depth)
        elif kind is Handle:
            put(_HANDLE_TAGS[value.kind] + _U32.pack(value.number))
            self._put(value.name, put, depth)
        elif kind.__module__ == "fractions" and kind.__name__ == "Fraction":
            put(b"q")
            self._put(value.numerator, put, depth)
            self._put(value.denominator, put, depth)
        elif kind.__module__ == "decimal" and kind.__name__ == "Decimal":
            put(b"D")
            self._put(str(value), put, depth)
        elif self._reduce is None:
            raise WireError("a value of type %s is not plain data" % kind.__name__)
        else:
            self._put(self._reduce(value), put, depth + 1)

    def _bound(self, size: int) -> None:
        if size > self._limit:
            raise TooMuchError("a value of %d bytes; at most %d are taken" % (size, self._limit))


def _row(value: Any) -> bytes | None:
    """Return a collection of nothing but floats, or of whole numbers of 64 bits; None for any other."""
    kind = type(value[0])
    if (kind is not int and kind is not float) or set(map(type, value)) != {kind}:
        return None
    letter = b"q" if kind is int else b"d"
    try:
        return letter + _U32.pack(len(value)) + struct.pack("<%d%s" % (len(value), letter.decode()), *value)
    except struct.error:
        return None


class Decoder:
    """Turns bytes into values; ``resolve`` turns each Handle into what stands for it here.

    ``work`` bounds what all values together may cost, in plain values: a collection counts as four more than its
    items, whatever is built by more than the interpreter itself as ``_DEAR`` more.
    """

    def __init__(self, resolve: Callable[[Handle], Any] | None = None, work: int = 1 << 62) -> None:
        self._resolve = resolve
        self._work = work

    def decode(self, data: bytes) -> Any:
        """Return the one value in ``data``.

        Raises WireError for anything else than exactly one value, TooMuchError for one that takes too much work.
        """
        try:
            value, end = self._take(data, 0, 0)
        except (
            struct.error,
            IndexError,
            UnicodeDecodeError,
            OverflowError,
            TypeError,
            ValueError,
            RecursionError,
        ) as error:
            raise WireError("not a value: %s" % type(error).__name__) from None
        if end != len(data):
            raise WireError("bytes after the value")
        return value

    def _take(self, data: bytes, at: int, depth: int) -> tuple[Any, int]:
        if depth > MAX_DEPTH + 2:
            raise WireError("nested deeper than %d" % MAX_DEPTH)
        tag = data[at]
        at += 1
        if tag == 0x69:  # i
            end = at + 1 + data[at]
            return int.from_bytes(_exactly(data, at + 1, end), "little", signed=True), end
        if tag == 0x4E:  # N
            return None, at
        if tag == 0x54:  # T
            return True, at
        if tag == 0x46:  # F
            return False, at
        if tag == 0x66:  # f
            return _F64.unpack_from(data, at)[0], at + 8
        if tag == 0x63:  # c
            return complex(*_C128.unpack_from(data, at)), at + 16
        if tag == 0x72:  # r
            self._charge(_DEAR)
            start, at = self._whole(data, at, depth)
            stop, at = self._whole(data, at, depth)
            step, at = self._whole(data, at, depth)
            # Counting its items divides by the step.
            self._charge((start.bit_length() + stop.bit_length()) * step.bit_length() >> 18)
            return range(start, stop, step), at
        if tag == 0x71:  # q
            numerator, at = self._whole(data, at, depth)
            denominator, at = self._whole(data, at, depth)
            # Reducing it takes the product of the lengths.
            self._charge(_DEAR + (numerator.bit_length() * denominator.bit_length() >> 18))
            return _fraction(numerator, denominator), at
        if tag == 0x44:  # D
            self._charge(_DEAR)
            text, at = self._take(data, at, depth + 1)
            return _decimal(text), at
        if tag == 0x61 or tag == 0x75:  # a u
            return self._row(data, at, list if tag == 0x61 else tuple)
        size = _U32.unpack_from(data, at)[0]
        at += 4
        if tag == 0x73:  # s
            return _exactly(data, at, at + size).decode("utf-8", "surrogatepass"), at + size
        if tag == 0x49:  # I
            return int.from_bytes(_exactly(data, at, at + size), "little", signed=True), at + size
        if tag == 0x62:  # b
            return _exactly(data, at, at + size), at + size
        if tag == 0x42:  # B
            return bytearray(_exactly(data, at, at + size)), at + size
        if tag in _HANDLE_KINDS:
            name, at = self._take(data, at, depth + 1)
            if type(name) is not str or self._resolve is None:
                raise WireError("a handle where none is expected")
            self._charge(_DEAR)
            return self._resolve(Handle(_HANDLE_KINDS[tag], size, name[:200])), at
        if size > len(data) - at:
            raise WireError("a collection longer than its bytes")
        self._charge(size + 4)
        depth += 1
        begin = at
        if tag == 0x6C or tag == 0x74 or tag == 0x53 or tag == 0x5A:  # l t S Z
            items = []
            for _ in range(size):
                item, at = self._take(data, at, depth)
                items.append(item)
            if tag == 0x6C:
                return items, at
            if tag == 0x74:
                return tuple(items), at
            self._charge_keys(items, at - begin)
            return (set(items) if tag == 0x53 else frozenset(items)), at
        if tag == 0x64:  # d
            self._charge(size)
            keys, values = [], []
            for _ in range(size):
                key, at = self._take(data, at, depth)
                value, at = self._take(data, at, depth)
                keys.append(key)
                values.append(value)
            self._charge_keys(keys, at - begin)
            return dict(zip(keys, values)), at
        raise WireError("unknown tag %d" % tag)

    def _row(self, data: bytes, at: int, kind: type) -> tuple[Any, int]:
        letter, size = data[at], _U32.unpack_from(data, at + 1)[0]
        at += 5
        if size * 8 > len(data) - at:
            raise WireError("a collection longer than its bytes")
        if letter != 0x71 and letter != 0x64:  # q d
            raise WireError("a row of nothing known")
        self._charge(size + 4)
        return kind(struct.unpack_from("<%d%c" % (size, letter), data, at)), at + size * 8

    def _charge(self, work: int) -> None:
        self._work -= work
        if self._work < 0:
            raise TooMuchError("values that take too much work to read")

    def _charge_keys(self, keys: list[Any], size: int) -> None:
        """Charge the comparisons of keys that have the same hash, which a sender can choose; they took ``size`` bytes.

        Each key is compared with each, and each comparison may read a whole key.  With a decimal it may take the
        square of that: a number that is compared with one is converted first.
        """
        if len(keys) <= _FEW_KEYS and size <= _FEW_KEY_BYTES:
            return
        hashes = [hash(key) for key in keys]
        if len(set(hashes)) == len(keys):
            return
        counts: dict[int, int] = {}
        for number in hashes:
            counts[number] = counts.get(number, 0) + 1
        weights: dict[int, int] = {}
        for number, key in zip(hashes, keys):
            if counts[number] > 1:
                weights[number] = weights.get(number, 0) + len(_measured(key))
        for number, weight in weights.items():
            others = counts[number] - 1
            self._charge(others * (others + 1 + (weight >> 3)) + (weight * weight >> 11))

    def _whole(self, data: bytes, at: int, depth: int) -> tuple[int, int]:
        value, at = self._take(data, at, depth + 1)
        if type(value) is not int:
            raise WireError("a whole number was expected")
        return value, at


def _exactly(data: bytes, start: int, end: int) -> bytes:
    if end > len(data):
        raise WireError("cut short")
    return bytes(data[start:end])


def _fraction(numerator: int, denominator: int) -> Fraction:
    from fractions import Fraction

    if denominator <= 0:
        raise WireError("a fraction whose denominator is not above 0")
    return Fraction(numerator, denominator)


def _decimal(text: object) -> Decimal:
    from decimal import Decimal, InvalidOperation

    if type(text) is not str:
        raise WireError("a decimal that is not text")
    try:
        return Decimal(text)
    except InvalidOperation:
        raise WireError("not a decimal") from None


_PLAIN_ENCODER = Encoder()
_PLAIN_DECODER = Decoder()
_measured = Encoder(lambda _: None).encode
encode = _PLAIN_ENCODER.encode
decode = _PLAIN_DECODER.decode


def joined(items: list[bytes]) -> bytes:
    """Return the list of values that were encoded one by one, encoded."""
    return b"l" + _U32.pack(len(items)) + b"".join(items)
