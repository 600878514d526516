"""Frames: whole and in order over any line, refused above the limit, with descriptors beside them."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from passcurve.harness import framing
from passcurve.harness.framing import ConnectionClosed, FrameBuffer
from passcurve.harness.wire import MAX_FRAME, TooMuchError, WireError, decode, encode


@contextlib.contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    """Return both ends of a pipe, which are closed afterwards."""
    read, write = os.pipe()
    try:
        yield read, write
    finally:
        for fd in (read, write):
            with contextlib.suppress(OSError):
                os.close(fd)


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 70_000, 3 << 20])
def test_frames(size: int):
    """A frame of any size arrives whole, also if it is larger than the buffer of the connection."""
    payload = random.Random(size).randbytes(size)
    with pipe() as (read, write):
        sender = threading.Thread(
            target=lambda: [framing.send_frame(write, payload), framing.send_frame(write, b"next")]
        )
        sender.start()
        assert payload == framing.receive_frame(read, size)
        assert b"next" == framing.receive_frame(read, 4)
        sender.join()


def test_frame_over_the_limit():
    """A frame over the limit of the receiver, or of any sender, is refused before it is read."""
    with pipe() as (read, write):
        os.write(write, struct.pack("<I", 11))
        with pytest.raises(TooMuchError, match=r"\b11 .*\b10 "):
            framing.receive_frame(read, 10)
        for size in (MAX_FRAME + 1, 0xFFFFFFFF):
            os.write(write, struct.pack("<I", size))
            with pytest.raises(WireError, match=f"{size} ") as refused:
                framing.receive_frame(read, 10)
            assert refused.type is WireError
        with pytest.raises(WireError):
            framing.send_frame(write, bytes(MAX_FRAME + 1))


@pytest.mark.parametrize("sent", [b"", b"\5", b"\5\0\0\0", b"\5\0\0\0abcd"])
def test_incomplete_frame(sent: bytes):
    """A connection that ends before or within a frame is closed."""
    with pipe() as (read, write):
        os.write(write, sent)
        os.close(write)
        with pytest.raises(ConnectionClosed):
            framing.receive_frame(read, 100)


def test_send_to_a_closed_connection():
    """A frame for a closed connection raises ConnectionClosed."""
    with pipe() as (read, write):
        os.close(read)
        with pytest.raises(ConnectionClosed):
            framing.send_frame(write, b"x")


def framed(*payloads: bytes) -> bytes:
    """Return frames as they are sent."""
    return b"".join(struct.pack("<I", len(payload)) + payload for payload in payloads)


class Lines(RuleBasedStateMachine):
    """Frames of any size put on a line and taken off it in pieces of any size: nothing is lost, added or moved."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = FrameBuffer(1000)
        self.line = b""
        self.sent: list[bytes] = []
        self.got: list[bytes] = []

    @rule(payload=st.binary(max_size=1000))
    def send(self, payload: bytes) -> None:
        """Put a frame on the line."""
        self.line += framed(payload)
        self.sent.append(payload)

    @rule(size=st.integers(0, 3000))
    def take(self, size: int) -> None:
        """Take some bytes off it."""
        self.got += self.buffer.feed(self.line[:size])
        self.line = self.line[size:]

    @invariant()
    def order(self) -> None:
        """Compare what has come with what was sent."""
        assert self.got == self.sent[: len(self.got)]

    def teardown(self) -> None:
        """Take what is left: it is all there."""
        assert self.sent == self.got + self.buffer.feed(self.line)


TestLines = Lines.TestCase
TestLines.settings = settings(max_examples=40, stateful_step_count=20)


def test_frames_split_at_every_byte():
    """Frames that arrive in two parts, split anywhere, or byte by byte, are the same frames."""
    payloads = [b"", b"one", b"", b"twotwo", b"x" * 300]
    data = framed(*payloads)
    for at in range(len(data) + 1):
        buffer = FrameBuffer(300)
        assert payloads == buffer.feed(data[:at]) + buffer.feed(data[at:])
    buffer = FrameBuffer(300)
    assert payloads == [frame for i in range(len(data)) for frame in buffer.feed(data[i : i + 1])]


def test_buffer_refuses_a_frame_over_the_limit():
    """A frame over the limit is refused as soon as its length is there."""
    buffer = FrameBuffer(3)
    assert [b"abc"] == buffer.feed(framed(b"abc") + b"\4\0\0")
    with pytest.raises(WireError, match=r"\b4 .*\b3 "):
        buffer.feed(b"\0")


def test_descriptors():
    """Descriptors that are sent with a frame arrive with it, in order."""
    ours, theirs = socket.socketpair()
    with ours, theirs, pipe() as (first, write), pipe() as (second, other):
        socket.send_fds(ours, [framed(b"run")], [write, other])
        ours.sendall(framed(b"end" * 1000))
        frame, descriptors = framing.receive_frame_and_descriptors(theirs, 3)
        assert b"run" == frame
        for fd, text in zip(descriptors, (b"one", b"two"), strict=True):
            os.write(fd, text)
            os.close(fd)
        assert (b"one", b"two") == (os.read(first, 100), os.read(second, 100))
        assert (b"end" * 1000, []) == framing.receive_frame_and_descriptors(theirs, 3000)


def test_memory_file():
    """A frame in a memory file is read back exactly."""
    value = {"program": b"x" * 3_000_000, "seed": 7, "text": "\ud800"}
    fd = framing.create_memory_file(framing.make_frame(encode(value)))
    try:
        assert value == decode(framing.receive_frame(fd, 4_000_000))
        assert b"" == os.read(fd, 1)
    finally:
        os.close(fd)


def test_end_of_a_connection_with_descriptors():
    """The end of a connection with descriptors raises ConnectionClosed; a frame over the limit is refused."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(framed(b"four"))
        with pytest.raises(WireError):
            framing.receive_frame_and_descriptors(theirs, 3)
    ours, theirs = socket.socketpair()
    with theirs:
        ours.close()
        with pytest.raises(ConnectionClosed):
            framing.receive_frame_and_descriptors(theirs, 3)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"\7\0")
        ours.shutdown(socket.SHUT_WR)
        with pytest.raises(ConnectionClosed):
            framing.receive_frame_and_descriptors(theirs, 9)
