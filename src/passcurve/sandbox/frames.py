"""Frames as they come, many at once: from a blocking descriptor, or in pieces from a socket that does not block."""

from __future__ import annotations

import os
import struct

from passcurve.sandbox.wire import MAX_FRAME, Closed, TooMuchError, WireError

_READ_BYTES = 1 << 16
_U32 = struct.Struct("<I")


class FrameReader:
    """Reads frames from a blocking descriptor, as many at once as have come."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._came = b""
        self._at = 0

    def take(self, limit: int) -> bytes:
        """Return the next frame.  Raises as ``receive_frame``."""
        size = _U32.unpack(self._bytes(4))[0]
        if size > MAX_FRAME:
            raise WireError("a frame of %d bytes, which nobody sends" % size)
        if size > limit:
            raise TooMuchError("a frame of %d bytes; at most %d are taken" % (size, limit))
        return self._bytes(size)

    def _bytes(self, size: int) -> bytes:
        start, end = self._at, self._at + size
        if end <= len(self._came):
            self._at = end
            return self._came[start:end]
        have = self._came[start:]
        self._came, self._at = b"", 0
        parts, missing = [have], size - len(have)
        try:
            while missing > 0:
                data = os.read(self._fd, max(_READ_BYTES, min(missing, 1 << 20)))
                if not data:
                    raise Closed("end of file")
                parts.append(data)
                missing -= len(data)
        except OSError as error:
            raise Closed(str(error)) from None
        whole = b"".join(parts)
        if missing < 0:
            self._came, self._at = whole, size
            return whole[:size]
        return whole


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
