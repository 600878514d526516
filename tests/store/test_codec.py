"""Tests of writing records as lines and reading them back."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passcurve.store import codec
from passcurve.store.codec import Footer, PartHeader, VerdictLine
from passcurve.types import Call, SampleKey, Verdict


def test_a_verdict_comes_back_as_it_was(line):
    """A verdict that was written is read back unchanged."""
    call = Call(index=2, arguments="(1, 2)", outcome="returned 3")
    written = line(17, "failed", message="AssertionError", call=call, own_s=0.25, flattened=("Decimal",))
    assert written == codec.decode_verdict(codec.encode(written))


def test_one_line_each(line):
    """A record is one line, whatever its text contains."""
    text = codec.encode(line(message="a\nb\r\n\u2028c"))
    assert (1, b"\n") == (text.count(b"\n"), text[-1:])


def test_half_characters_are_spelled_out(line):
    """A lone surrogate in a message can be written."""
    read_back = codec.decode_verdict(codec.encode(line(status="failed", message="é \ud800", suspicious=("\udfff",))))
    assert ("é \\ud800", ("\\udfff",)) == (read_back.verdict.message, read_back.verdict.suspicious)


@given(
    st.builds(
        VerdictLine,
        row=st.integers(0, 2**40),
        digest=st.text("0123456789abcdef", min_size=16, max_size=16),
        program=st.text(),
        verdict=st.builds(
            Verdict,
            key=st.builds(SampleKey, problem_id=st.text(), sample_index=st.integers(0, 10**6)),
            status=st.sampled_from(["passed", "failed", "timeout", "void"]),
            mode=st.sampled_from(["referee", "shared", "none"]),
            message=st.text(),
            own_s=st.floats(0, 1e9),
        ),
    )
)
def test_round_trip(record):
    """Any record and its key are read back unchanged."""
    text = codec.encode(record)
    key = codec.decode_indexed(text)
    assert record == codec.decode_verdict(text)
    assert (record.row, record.digest, record.verdict.status) == (key.row, key.digest, key.verdict.status)


@given(st.binary(max_size=80))
def test_garbage_is_nothing(text):
    """The decoders return None for arbitrary bytes and never raise."""
    records = [f(text) for f in (codec.decode_verdict, codec.decode_indexed, codec.decode_part, codec.decode_footer)]
    assert [None] * 4 == records


@pytest.mark.parametrize(
    ("field", "value"), [("row", -1), ("row", "1"), ("digest", "xyz"), ("digest", 5), ("verdict", {"status": "fine"})]
)
def test_wrong_values_are_nothing(line, field, value):
    """A JSON line with invalid values is not a verdict."""
    text = json.dumps({**msgspec.to_builtins(line()), field: value}).encode()
    assert (None, None) == (codec.decode_verdict(text), codec.decode_indexed(text))


def test_every_cut_is_nothing(line):
    """A truncated line is never read as a verdict."""
    text = codec.encode(line(3, message="x"))[:-1]
    cuts = (text[:length] for length in range(len(text)))
    assert not any(codec.decode_verdict(cut) or codec.decode_indexed(cut) for cut in cuts)


def test_part_header_and_footer(header):
    """A part's header and an attempt's footer are read back unchanged."""
    part = PartHeader(attempt=1, session=2, started_at="2026-01-01T00:00:00+00:00", digest="d", header=header)
    footer = Footer(attempt=1, finished_at="2026-01-01T00:00:00+00:00", digest="d", planned=3, statuses={"passed": 3})
    assert part == codec.decode_part(codec.encode(part))
    assert footer == codec.decode_footer(codec.encode(footer))


def test_another_format_is_nothing(header):
    """A part of another format version is not read."""
    part = PartHeader(format="passcurve verdicts 2", attempt=1, session=1, started_at="", digest="d", header=header)
    assert codec.decode_part(codec.encode(part)) is None
