"""The tests' side of a check, as a process: takes one sample's check from the supervisor, runs it, reports.

Runs in a jail of its own.  The process ends after the check, or is put back to where it waits for the first one.
"""

from __future__ import annotations

import base64
import marshal
import os
import socket
import sys
from typing import Any

from passcurve.harness.check import Bench, Check
from passcurve.harness.exceptions import describe
from passcurve.harness.framing import ConnectionClosed, send_frame
from passcurve.harness.messages import pack_report
from passcurve.harness.recording import packed, unpack
from passcurve.harness.sample import read_job
from passcurve.harness.wire import encode

RECURSION = 10_000
REHEARSALS = 20
"""From 8 runs on CPython specialises code, from some more on it leaves it alone."""


def main(descriptors: list[int]) -> None:
    """Wait for a check, run it, report, and wait for the end.

    A process that is kept has one line for both; a new one has another to the sample, and a large job in a file.
    """
    control, line, *file = descriptors
    try:
        report(control, line, read_job(control, file))
        while os.read(control, 1):
            pass
    except ConnectionClosed:
        pass
    os._exit(0)


def rehearse() -> None:
    """Go through all that a check does, before any fork: each process would otherwise learn it anew."""
    limit = sys.getrecursionlimit()
    test = b"def check(candidate):\n    for x in [1, 2]:\n        assert candidate(x) == x + 1\n"
    job = {"prompt": b"from typing import List\n\ndef f(x: int) -> int:\n", "test": test, "entry_point": "f", "seed": 0}
    job |= {"write_back": False, "code": b"", "output_bytes": 1 << 20, "replayed": b"", "record": False}
    job["number"] = ""
    code = Bench(job).compiled
    calls = packed((1,), {}), packed((2,), {})
    answers = ({"loaded": True, "found": True}, {"value": 2}, {"value": 3})
    wrong = ({"loaded": True, "found": True}, {"value": 2}, {"raised": describe(ValueError("no"))})
    for number in range(2 * REHEARSALS):
        job["replayed"] = marshal.dumps(calls) if number % 4 else b""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            for answer in answers if number % 2 else wrong:
                send_frame(ours.fileno(), encode(answer))
            report(theirs.fileno(), theirs.fileno(), {**job, "code": code if number else b"", "record": not number})
    sys.setrecursionlimit(limit)


def report(control: int, line: int, job: dict[str, Any]) -> None:
    """Send what comes of a check; before anything of the benchmark has run, send its code if it was compiled here.

    A sample is checked only by code that was compiled elsewhere, so that all of them find the same memory.
    """
    sys.setrecursionlimit(RECURSION)
    bench = Bench(job)
    if bench.compiled:
        compiled = {"status": "compiled", "number": job["number"], "code": _text(bench.compiled)}
        send_frame(control, pack_report(compiled))
        if not job["record"]:
            return
    check = Check(
        line,
        job["output_bytes"],
        unpack(job["replayed"]),
        asks=not job["replayed"],
        write_back=job["write_back"],
        record=job["record"],
    )
    try:
        found = check.run(bench)
        if job["record"] and found["status"] == "passed":
            recorded = bench.recorded()
            count = check.foreseen(recorded.known)
            known, asked = recorded.first(count)
            found["recorded"] = _text(known) if count else ""
            found["asked"] = _text(asked) if count else ""
            found["whole"] = count == check.asked
    except BaseException as error:
        found = {"status": "protocol", "message": type(error).__name__}
    found |= {"number": job["number"], "read": check.read}
    send_frame(control, pack_report(found))


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
