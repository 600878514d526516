"""Frames as they come, in pieces, from a socket that does not block."""

from __future__ import annotations

import struct

from passcurve.harness.wire import WireError

_U32 = struct.Struct("<I")


class FrameBuffer:
    """Collects what comes from a non-blocking socket into whole frames."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._data = bytearray()

    @property
    def waiting(self) -> int:
        """Bytes of a frame that is not whole."""
        return len(self._data)

    def feed(self, data: bytes) -> list[bytes]:
        """Add bytes; return the frames that are now whole.  Raises WireError for a frame over the limit."""
        self._data += data
        frames = []
        while len(self._data) >= 4:
            size = _U32.unpack_from(self._data)[0]
            if size > self._limit:
                raise WireError("a frame of %d bytes; at most %d are taken" % (size, self._limit))
            if len(self._data) < 4 + size:
                break
            frames.append(bytes(self._data[4 : 4 + size]))
            del self._data[: 4 + size]
        return frames
