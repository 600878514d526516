"""Fuzz the decoder by coverage: ``python decode_bytes.py -max_total_time=60``, where atheris is installed."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports():
    from passcurve.harness.wire import Decoder, Encoder, Handle, WireError


def one_input(data: bytes) -> None:
    """Decode; what is a value must be the same bytes again once it has been through both directions."""
    encode = Encoder(lambda handle: handle).encode
    try:
        value = Decoder(_kept, 100_000).decode(data)
    except WireError:
        return
    try:
        again = encode(value)
    except WireError:
        return  # nested one level deeper than a sender may
    assert again == encode(Decoder(_kept).decode(again))


def _kept(handle: Handle) -> Handle:
    return handle


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
