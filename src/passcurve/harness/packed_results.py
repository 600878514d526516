"""Expected results, packed: most are recognised by the bytes of a reply, and only others are unpacked and compared."""

from __future__ import annotations

import marshal
import zlib
from hashlib import blake2b
from typing import Any

from passcurve.harness.comparators import is_float
from passcurve.harness.large_results import LargeResult, read_record
from passcurve.harness.wire import REPLY_HEAD, Decoder, Encoder, WireError

_PACK_VERSION = 2
_REPLY, _FLOATS, _LARGE_REPLY, _LARGE_FLOATS = b"r", b"f", b"l", b"L"
"""First byte of a result that equals itself as a reply has it: encoded, or where it is large a digest of the reply with
the compressed result.  Floats are told apart for comparators."""
_MARSHAL, _LARGE, _WIRE, _DIGEST = b"m", b"z", b"w", b"d"
"""First byte of any other: ``marshal`` is faster, and knows fewer types; large results are compressed."""
_LARGE_BYTES = 1 << 10
_DIGEST_BYTES = 32


def pack(value: Any) -> bytes:
    """Return a result, packed.  Raises WireError for what is not plain."""
    if type(value) is LargeResult:
        return _DIGEST + marshal.dumps(value.record(), _PACK_VERSION)
    try:
        data = marshal.dumps(value, _PACK_VERSION)
    except ValueError:
        return _WIRE + Encoder().encode(value)
    reply = _encode_exact(value)
    if len(data) < _LARGE_BYTES:
        if reply:
            return (_FLOATS if is_float(value) else _REPLY) + reply
        return _MARSHAL + data
    if reply:
        kind = _LARGE_FLOATS if is_float(value) else _LARGE_REPLY
        return kind + _digest(REPLY_HEAD + reply) + zlib.compress(data, 1)
    return _LARGE + zlib.compress(data, 1)


def unpack(packed: bytes) -> Any:
    """Return a packed result."""
    kind, rest = packed[:1], packed[1:]
    if kind == _DIGEST:
        return read_record(marshal.loads(rest))
    if kind in (_WIRE, _REPLY, _FLOATS):
        return Decoder().decode(rest)
    if kind in (_LARGE_REPLY, _LARGE_FLOATS):
        return marshal.loads(zlib.decompress(rest[_DIGEST_BYTES:]))
    return marshal.loads(rest if kind == _MARSHAL else zlib.decompress(rest))


def is_reply(packed: bytes, frame: bytes) -> bool:
    """Return whether a frame is a reply with exactly the packed result; false where bytes do not show it."""
    kind = packed[:1]
    if kind in (_REPLY, _FLOATS):
        return frame == REPLY_HEAD + packed[1:]
    return kind in (_LARGE_REPLY, _LARGE_FLOATS) and _digest(frame) == packed[1 : 1 + _DIGEST_BYTES]


def strip(packed: bytes) -> bytes:
    """Return a packed result without what only a comparison needs: of a large reply the digest stays."""
    return packed[: 1 + _DIGEST_BYTES] if packed[:1] in (_LARGE_REPLY, _LARGE_FLOATS) else packed


def can_unpack(packed: bytes) -> bool:
    """Return whether a packed result was not stripped, so that it can be compared."""
    return packed[:1] not in (_LARGE_REPLY, _LARGE_FLOATS) or len(packed) > 1 + _DIGEST_BYTES


def has_floats(packed: bytes) -> bool:
    """Return whether a result that bytes show is a float, or a list or tuple of floats."""
    return packed[:1] in (_FLOATS, _LARGE_FLOATS)


def has_nothing(packed: bytes) -> bool:
    """Return whether a packed result is a list or tuple without items."""
    return packed in _EMPTY


def _encode_exact(value: Any) -> bytes:
    """Return the encoding of a value that equals what is decoded from it, as NaN does not; nothing for any other."""
    try:
        data = Encoder().encode(value)
        return data if Decoder().decode(data) == value else b""
    except (WireError, RecursionError):
        return b""


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST_BYTES).digest()


_EMPTY = frozenset({pack([]), pack(())})
