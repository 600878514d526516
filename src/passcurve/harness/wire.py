"""Encoding of plain data as bytes: the only form in which values cross between a sample and its tests.

Each value starts with a one-byte tag.  The size of a value is bounded by the bytes received, its nesting by MAX_DEPTH.
Decoding builds builtin values only: it imports nothing by name, calls nothing, and uses no pickle.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decimal import Decimal
    from fractions import Fraction

MAX_DEPTH = 400
"""Deepest nesting of a value, in levels."""
MAX_FRAME = 256 << 20
"""Largest frame, in bytes; each connection sets its own lower limit."""

_ARRAY_ITEMS = 16
"""Smallest number of floats, or of 64-bit integers, that are written as one array."""
_OBJECT_COST = 12
"""Additional cost of a range, a fraction, a decimal or a live object, in plain values."""
_FREE_KEYS = 64
"""Number of keys that may all have one hash: comparing every pair takes no longer than decoding them."""
_FREE_KEY_BYTES = 1 << 12
"""Total size of such keys, in bytes."""

_U32 = struct.Struct("<I")
_F64 = struct.Struct("<d")
_C128 = struct.Struct("<dd")


class WireError(Exception):
    """Bytes that encode no value, or a value that cannot be encoded."""


class TooMuchError(WireError):
    """More than the receiver accepts: too many bytes, or too much work to decode them."""


class Handle:
    """Reference to a live object on the other side; ``kind`` is 'function', 'iterator' or 'opaque'."""

    __slots__ = ("kind", "name", "number")

    def __init__(self, kind: str, number: int, name: str) -> None:
        self.kind = kind
        self.number = number
        self.name = name


_HANDLE_TAGS = {"function": b"h", "iterator": b"g", "opaque": b"o"}
_CONSTANTS = {0x4E: None, 0x54: True, 0x46: False}  # N T F
_COLLECTION_TAGS: dict[type, bytes] = {list: b"l", tuple: b"t", set: b"S", frozenset: b"Z"}
_NESTING_TAGS = frozenset(b"ltSZd")
_HANDLE_KINDS = {ord(tag): kind for kind, tag in _HANDLE_TAGS.items()}


class Encoder:
    """Encoder of values as bytes.

    ``reduce`` is called with each value that is not plain: it returns a plain value or a Handle, or raises WireError.
    Text or bytes over ``limit`` are refused before they are copied: a copy could take longer than making them did.
    """

    def __init__(self, reduce: Callable[[Any], Any] | None = None, limit: int = MAX_FRAME) -> None:
        self._reduce = reduce
        self._limit = limit

    def encode(self, value: object) -> bytes:
        """Return ``value`` as bytes.

        Raises WireError for a value that is not plain and cannot be reduced, TooMuchError for one over the limit.
        """
        out: list[bytes] = []
        self._write(value, out.append, 0)
        return b"".join(out)

    def encode_reply(self, value: object) -> bytes:
        """Return ``{"value": value}`` as bytes, as ``encode`` does, in two thirds of the time."""
        out = [REPLY_HEAD]
        self._write(value, out.append, 1)
        return b"".join(out)

    def _write(self, value: Any, write: Callable[[bytes], None], depth: int) -> None:
        if depth > MAX_DEPTH:
            raise WireError("a value nested deeper than %d levels" % MAX_DEPTH)
        kind = type(value)
        if kind is int:
            size = (value.bit_length() >> 3) + 1
            write(b"i%c" % size if size < 256 else b"I" + _U32.pack(size))
            write(value.to_bytes(size, "little", signed=True))
        elif kind is bool:
            write(b"T" if value else b"F")
        elif kind is str:
            self._check_size(len(value))
            data = value.encode("utf-8", "surrogatepass")
            write(b"s" + _U32.pack(len(data)))
            write(data)
        elif kind is float:
            write(b"f" + _F64.pack(value))
        elif kind is dict:
            write(b"d" + _U32.pack(len(value)))
            depth += 1
            for key, item in value.items():
                self._write(key, write, depth)
                self._write(item, write, depth)
        elif (kind is list or kind is tuple) and len(value) >= _ARRAY_ITEMS and (array := _encode_array(value, kind)):
            write(array)
        elif kind is list or kind is tuple or kind is set or kind is frozenset:
            write(_COLLECTION_TAGS[kind] + _U32.pack(len(value)))
            depth += 1
            for item in value:
                self._write(item, write, depth)
        elif value is None:
            write(b"N")
        elif not self._write_rare(value, kind, write, depth):
            # Not in `_write_rare`: each level of nesting must take one frame of the stack, not two.
            if self._reduce is None:
                raise WireError("a value of type %s is not plain data" % kind.__name__)
            self._write(self._reduce(value), write, depth + 1)

    def _write_rare(self, value: Any, kind: type, write: Callable[[bytes], None], depth: int) -> bool:
        """Write a value of a less common type; return False, with nothing written, for any other type."""
        if kind is bytes or kind is bytearray:
            self._check_size(len(value))
            write((b"b" if kind is bytes else b"B") + _U32.pack(len(value)))
            write(bytes(value))
        elif kind is complex:
            write(b"c" + _C128.pack(value.real, value.imag))
        elif kind is range:
            write(b"r")
            for number in (value.start, value.stop, value.step):
                self._write(number, write, depth)
        elif kind is Handle:
            write(_HANDLE_TAGS[value.kind] + _U32.pack(value.number))
            self._write(value.name, write, depth)
        elif kind.__module__ == "fractions" and kind.__name__ == "Fraction":
            write(b"q")
            self._write(value.numerator, write, depth)
            self._write(value.denominator, write, depth)
        elif kind.__module__ == "decimal" and kind.__name__ == "Decimal":
            write(b"D")
            self._write(str(value), write, depth)
        else:
            return False
        return True

    def _check_size(self, size: int) -> None:
        if size > self._limit:
            raise TooMuchError("a value of %d bytes; at most %d are taken" % (size, self._limit))


REPLY_HEAD = Encoder().encode({"value": None})[:-1]
"""All of a reply that comes before its value."""


def _encode_array(value: Any, kind: type) -> bytes | None:
    """Return the encoding of a collection of floats only, or of 64-bit integers only; None for any other."""
    item_kind = type(value[0])
    if (item_kind is not int and item_kind is not float) or set(map(type, value)) != {item_kind}:
        return None
    letter = "q" if item_kind is int else "d"
    tag = b"a" if kind is list else b"u"
    try:
        return tag + letter.encode() + _U32.pack(len(value)) + struct.pack("<%d%s" % (len(value), letter), *value)
    except struct.error:
        return None


class Decoder:
    """Decoder of bytes as values; ``resolve`` returns the object that takes the place of a Handle.

    ``work`` is the total cost that all values may have, in plain values: a collection costs four more than its items,
    and a value that a class must build costs ``_OBJECT_COST`` more.
    """

    def __init__(self, resolve: Callable[[Handle], Any] | None = None, work: int = 1 << 62) -> None:
        self._resolve = resolve
        self._work = work

    def decode(self, data: bytes) -> Any:
        """Return the one value in ``data``.

        Raises WireError for anything but exactly one value, TooMuchError for one that takes too much work.
        """
        try:
            value, end = self._read(data, 0, 0)
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

    def _read(self, data: bytes, offset: int, depth: int) -> tuple[Any, int]:
        if depth > MAX_DEPTH + 2:
            raise WireError("a value nested deeper than %d levels" % MAX_DEPTH)
        tag = data[offset]
        offset += 1
        if tag == 0x69:  # i
            end = offset + 1 + data[offset]
            return int.from_bytes(_slice(data, offset + 1, end), "little", signed=True), end
        if tag == 0x73:  # s
            end = offset + 4 + _U32.unpack_from(data, offset)[0]
            return _slice(data, offset + 4, end).decode("utf-8", "surrogatepass"), end
        if tag in _CONSTANTS:
            return _CONSTANTS[tag], offset
        if tag not in _NESTING_TAGS:
            return self._read_atom(tag, data, offset, depth)
        # Not in a function of their own: each level of nesting must take one frame of the stack, not two.
        size = _U32.unpack_from(data, offset)[0]
        offset += 4
        if size > len(data) - offset:
            raise WireError("a collection longer than its bytes")
        self._charge(size + 4)
        depth += 1
        begin = offset
        if tag == 0x64:  # d
            self._charge(size)
            keys, values = [], []
            for _ in range(size):
                key, offset = self._read(data, offset, depth)
                value, offset = self._read(data, offset, depth)
                keys.append(key)
                values.append(value)
            self._charge_keys(keys, offset - begin)
            return dict(zip(keys, values)), offset
        items = []
        for _ in range(size):
            item, offset = self._read(data, offset, depth)
            items.append(item)
        if tag == 0x6C:  # l
            return items, offset
        if tag == 0x74:  # t
            return tuple(items), offset
        self._charge_keys(items, offset - begin)
        return (set(items) if tag == 0x53 else frozenset(items)), offset  # S

    def _read_atom(self, tag: int, data: bytes, offset: int, depth: int) -> tuple[Any, int]:
        """Read a value that holds no other values, or a fixed number of them."""
        if tag == 0x66:  # f
            return _F64.unpack_from(data, offset)[0], offset + 8
        if tag == 0x61 or tag == 0x75:  # a u
            return self._read_array(data, offset, list if tag == 0x61 else tuple)
        if tag == 0x63:  # c
            return complex(*_C128.unpack_from(data, offset)), offset + 16
        if tag == 0x72:  # r
            return self._read_range(data, offset, depth)
        if tag == 0x71:  # q
            return self._read_fraction(data, offset, depth)
        if tag == 0x44:  # D
            self._charge(_OBJECT_COST)
            text, offset = self._read(data, offset, depth + 1)
            return _make_decimal(text), offset
        size = _U32.unpack_from(data, offset)[0]
        offset += 4
        if tag == 0x49:  # I
            return int.from_bytes(_slice(data, offset, offset + size), "little", signed=True), offset + size
        if tag == 0x62:  # b
            return _slice(data, offset, offset + size), offset + size
        if tag == 0x42:  # B
            return bytearray(_slice(data, offset, offset + size)), offset + size
        if tag not in _HANDLE_KINDS:
            raise WireError("unknown tag %d" % tag)
        name, offset = self._read(data, offset, depth + 1)
        if type(name) is not str or self._resolve is None:
            raise WireError("a handle where none is expected")
        self._charge(_OBJECT_COST)
        return self._resolve(Handle(_HANDLE_KINDS[tag], size, name[:200])), offset

    def _read_range(self, data: bytes, offset: int, depth: int) -> tuple[range, int]:
        self._charge(_OBJECT_COST)
        start, offset = self._read_integer(data, offset, depth)
        stop, offset = self._read_integer(data, offset, depth)
        step, offset = self._read_integer(data, offset, depth)
        # Counting its items divides by the step.
        self._charge((start.bit_length() + stop.bit_length()) * step.bit_length() >> 18)
        return range(start, stop, step), offset

    def _read_fraction(self, data: bytes, offset: int, depth: int) -> tuple[Fraction, int]:
        numerator, offset = self._read_integer(data, offset, depth)
        denominator, offset = self._read_integer(data, offset, depth)
        # Reducing it to lowest terms takes the product of the lengths.
        self._charge(_OBJECT_COST + (numerator.bit_length() * denominator.bit_length() >> 18))
        return _make_fraction(numerator, denominator), offset

    def _read_array(self, data: bytes, offset: int, kind: type) -> tuple[Any, int]:
        letter, size = data[offset], _U32.unpack_from(data, offset + 1)[0]
        offset += 5
        if size * 8 > len(data) - offset:
            raise WireError("a collection longer than its bytes")
        if letter != 0x71 and letter != 0x64:  # q d
            raise WireError("an array of an unknown type")
        self._charge(size + 4)
        return kind(struct.unpack_from("<%d%c" % (size, letter), data, offset)), offset + size * 8

    def _charge(self, work: int) -> None:
        self._work -= work
        if self._work < 0:
            raise TooMuchError("values that take too much work to decode")

    def _charge_keys(self, keys: list[Any], size: int) -> None:
        """Charge the comparisons of keys with equal hashes, which a sender can choose; ``size`` is that of all keys.

        Every pair of them is compared, and each comparison may read a whole key.  With a decimal it may take the square
        of that: a number that is compared with a decimal is converted first.
        """
        if len(keys) <= _FREE_KEYS and size <= _FREE_KEY_BYTES:
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
                weights[number] = weights.get(number, 0) + len(_encode_key(key))
        for number, weight in weights.items():
            others = counts[number] - 1
            self._charge(others * (others + 1 + (weight >> 3)) + (weight * weight >> 11))

    def _read_integer(self, data: bytes, offset: int, depth: int) -> tuple[int, int]:
        value, offset = self._read(data, offset, depth + 1)
        if type(value) is not int:
            raise WireError("an integer was expected")
        return value, offset


def _slice(data: bytes, start: int, end: int) -> bytes:
    if end > len(data):
        raise WireError("bytes that end within a value")
    return bytes(data[start:end])


def _make_fraction(numerator: int, denominator: int) -> Fraction:
    from fractions import Fraction

    if denominator <= 0:
        raise WireError("a fraction whose denominator is not positive")
    return Fraction(numerator, denominator)


def _make_decimal(text: object) -> Decimal:
    from decimal import Decimal, InvalidOperation

    if type(text) is not str:
        raise WireError("a decimal that is not text")
    try:
        return Decimal(text)
    except InvalidOperation:
        raise WireError("not a decimal") from None


_encode_key = Encoder(lambda _: None).encode
encode = Encoder().encode
decode = Decoder().decode
