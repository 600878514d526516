"""Fuzz the decoder by coverage: ``python decode_bytes.py -max_total_time=60``, where atheris is installed."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports():
    from passcurve.harness.wire import Decoder, Encoder, Handle, WireError


def test_one_input(data: bytes) -> None:
    """Decode the bytes; a value that is encoded and decoded once more must have the same encoding."""
    encode = Encoder(lambda handle: handle).encode
    try:
        value = Decoder(_keep, 100_000).decode(data)
    except WireError:
        return
    try:
        encoded = encode(value)
    except WireError:
        return  # nested one level deeper than an encoder may
    assert encoded == encode(Decoder(_keep).decode(encoded))


def _keep(handle: Handle) -> Handle:
    return handle


if __name__ == "__main__":
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
