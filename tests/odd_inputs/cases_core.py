"""Inputs in order, which get a score without a word, and the plainest faults."""

from __future__ import annotations

from case import JUDGE, Case, benchmark, own, right, wrong

BROKEN = {"canonical_solution": "    return None\n"}
MIXED = [right(0), right(1), wrong(2), right(3)]

CASES = [
    Case("a sample of each problem", own(MIXED), JUDGE, value=0.75),
    Case("two samples of each problem", own([*MIXED, *(wrong(n, nr=2) for n in range(4))]), JUDGE, value=0.375),
    Case(
        "one broken reference of four",
        own(MIXED, benchmark(_2=BROKEN)),
        JUDGE,
        2,
        excluded=("Own/2",),
        says=("--accept-benchmark",),
    ),
    Case(
        "a broken reference, accepted",
        own(MIXED, benchmark(_2=BROKEN)),
        (*JUDGE, "--accept-benchmark"),
        value=1.0,
        excluded=("Own/2",),
    ),
    Case(
        "one broken reference of forty",
        own([right(n) for n in range(40)], benchmark(40, _2=BROKEN)),
        JUDGE,
        value=1.0,
        excluded=("Own/2",),
    ),
    Case("an empty file", own([]), JUDGE, 2, refused=True, says=("s.jsonl",)),
    Case("no file", lambda _: None, JUDGE, 2, refused=True),
    Case(
        "fields that are empty",
        own([right(0), right(1), right(2, completion=""), right(3, completion=None)]),
        JUDGE,
        value=0.5,
        findings=("empty_text",),
    ),
]
