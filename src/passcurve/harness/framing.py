"""Frames: each is its length in four bytes, little-endian, and then its payload."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable
from typing import NoReturn

from passcurve.harness.wire import MAX_FRAME, TooMuchError, WireError

MAX_DESCRIPTORS = 6
_ANCILLARY_BYTES = socket.CMSG_LEN(MAX_DESCRIPTORS * 4)
_U32 = struct.Struct("<I")
_PIECE_BYTES = 1 << 20
EMPTY = _U32.pack(0)
"""An empty frame."""


class ConnectionClosed(Exception):  # noqa: N818 - an event, not a mistake
    """The other end of the connection is gone."""


def send_frame(fd: int, payload: bytes, write: Callable[[int, bytes], int] = os.write) -> None:
    """Write one frame to a descriptor.

    Raises ConnectionClosed when the other end is closed, WireError when the payload is too long.
    """
    write_all(fd, make_frame(payload), write)


def make_frame(payload: bytes) -> bytes:
    """Return the frame of a payload.  Raises WireError when the payload is too long."""
    if len(payload) > MAX_FRAME:
        raise WireError("a frame of %d bytes" % len(payload))
    return _U32.pack(len(payload)) + payload


def write_all(fd: int, data: bytes, write: Callable[[int, bytes], int] = os.write) -> None:
    """Write all bytes to a descriptor.  Raises ConnectionClosed when the other end is closed."""
    try:
        sent = write(fd, data)
        while sent < len(data):
            data = data[sent:]
            sent = write(fd, data)
    except OSError as error:
        _raise_closed(error)


def receive_frame(fd: int, limit: int, read: Callable[[int, int], bytes] = os.read) -> bytes:
    """Return the payload of the next frame from a blocking descriptor.

    Raises ConnectionClosed at end of file, TooMuchError for a frame over ``limit`` bytes, and WireError for a frame
    over MAX_FRAME, which no sender makes.
    """
    head = _read_exactly(fd, 4, read)
    if head == EMPTY:
        # No number is unpacked: a sample that waits for its next call makes no object that moves those of its program.
        return b""
    size = _U32.unpack(head)[0]
    if size > MAX_FRAME:
        raise WireError("a frame of %d bytes, which no sender makes" % size)
    if size > limit:
        raise TooMuchError("a frame of %d bytes; at most %d are taken" % (size, limit))
    return _read_exactly(fd, size, read)


def _read_exactly(fd: int, size: int, read: Callable[[int, int], bytes]) -> bytes:
    try:
        # Not by ``min``, which makes objects, for the same reason as in ``receive_frame``.
        data = read(fd, size if size < _PIECE_BYTES else _PIECE_BYTES) if size else b""
        if len(data) == size:
            return data
        parts = [data]
        missing = size - len(data)
        while missing and data:
            data = read(fd, min(missing, _PIECE_BYTES))
            parts.append(data)
            missing -= len(data)
    except OSError as error:
        _raise_closed(error)
    if missing:
        raise ConnectionClosed("end of file")
    return b"".join(parts)


def _raise_closed(error: OSError) -> NoReturn:
    if error.errno is None:
        # The kernel says why; this is what the handler of a signal has raised, a TimeoutError for one.
        raise error
    raise ConnectionClosed(str(error)) from None


def receive_frame_and_descriptors(connection: socket.socket, limit: int) -> tuple[bytes, list[int]]:
    """Return the payload of the next frame from a socket, and the descriptors that were sent with it.

    Raises ConnectionClosed at end of file, WireError for a frame over ``limit`` bytes.
    """
    try:
        data, ancillary, _, _ = connection.recvmsg(4, _ANCILLARY_BYTES)
    except OSError as error:
        raise ConnectionClosed(str(error)) from None
    descriptors: list[int] = []
    for level, kind, numbers in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors += struct.unpack("%di" % (len(numbers) // 4), numbers)
    if not data:
        raise ConnectionClosed("end of file")
    fd = connection.fileno()
    if len(data) < 4:
        data += _read_exactly(fd, 4 - len(data), os.read)
    size = _U32.unpack(data)[0]
    if size > limit:
        raise WireError("a frame of %d bytes; at most %d are taken" % (size, limit))
    return _read_exactly(fd, size, os.read), descriptors


def create_memory_file(data: bytes) -> int:
    """Return the descriptor of a nameless file with this content, as a way to send a large frame to one process."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("job")
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


class FrameBuffer:
    """Payloads of whole frames from the pieces that a non-blocking socket delivers."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._data = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Add bytes and return the payloads that are now complete.  Raises WireError for a frame over the limit."""
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
