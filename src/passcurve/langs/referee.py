"""The tests' side of a check, as a process: takes orders from the supervisor and reports.

Runs in a jail of its own, as a child of a zygote: one process per problem, or one for all problems whose prompt and
tests are closed.
"""

from __future__ import annotations

import base64
import gc
import marshal
import mmap
import os
import socket
import struct
import sys
from typing import Any

from passcurve.langs import recording
from passcurve.langs.check import Bench, Check
from passcurve.langs.wording import pack_report
from passcurve.sandbox.closed import forget_types
from passcurve.sandbox.reply import Replies
from passcurve.sandbox.wire import Closed, frame, read_file, receive_frame_and_descriptors, write_all

ORDER_BYTES = 1 << 20
HEAVY_BYTES = 1 << 20
"""After a check that received so much, what it left is collected at once: it must not burden the next sample."""


def main(descriptors: list[int]) -> None:
    """Serve checks until the supervisor closes the line: of one problem, or of one closed problem after the other."""
    descriptor, setup_file, page, *rest = descriptors
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, descriptor)
    setup = read_file(setup_file)
    start = Start(page, rest[0] if rest else None)
    sys.setrecursionlimit(10_000)
    bench = Bench(setup)
    reports = Reports(descriptor)
    # Said before anything of the benchmark runs, which could say what it likes.
    reports.put({"closed": bench.closed})
    reports.flush()
    while True:
        try:
            data, samples = receive_frame_and_descriptors(line, ORDER_BYTES)
        except Closed:
            os._exit(0)
        # From the supervisor alone, so the interpreter's own format will do.
        order = marshal.loads(data)
        if "setup" in order:
            another = Bench(order["setup"])
            if not another.closed:
                reports.put({"status": "elsewhere", "number": order["company"][0]})
                reports.flush()
                os.close(samples[0])
                continue
            forget_types()
            gc.collect()
            bench, setup = another, order["setup"]
        if not order["company"]:
            start.note()
        replayed = recording.unpack(order["replayed"])
        replies = Replies(samples[0], reports.flush)
        for number in order["company"] or (0,):
            in_company = number > 0
            check = Check(samples[0], order["output_bytes"], setup["write_back"], replayed, order["record"])
            try:
                report = check.run_in_company(bench, number, order["live"], replies) if in_company else check.run(bench)
                if order["record"] and report["status"] == "passed":
                    foreseen = check.foreseen(bench.recorded())
                    report["recorded"] = base64.b64encode(recording.pack(foreseen)).decode() if foreseen else ""
                    report["whole"] = len(foreseen) == check.asked
            except BaseException as error:
                report = {"status": "protocol", "message": type(error).__name__}
            report["number"] = number
            reports.put(report)
            # What a sample returned must not stay for the next check.
            heavy = check.received > HEAVY_BYTES
            check.__dict__.clear()
            if heavy:
                gc.collect()
            if in_company and not report.get("in_step"):
                # The programs after it will be sent again, on another line.
                break
        reports.flush()
        os.close(samples[0])


class Reports:
    """Reports that wait to be sent together; none waits while a sample is waited for."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: list[bytes] = []

    def put(self, report: dict[str, Any]) -> None:
        """Add a report."""
        self._waiting.append(frame(pack_report(report)))

    def flush(self) -> None:
        """Send what waits.  Raises Closed when the supervisor is gone."""
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            write_all(self._descriptor, b"".join(waiting))


class Start:
    """Notes for the supervisor, at the start of each check, how long this process has been running and ready."""

    def __init__(self, page: int, schedstat: int | None) -> None:
        self._page = mmap.mmap(page, mmap.PAGESIZE)
        os.close(page)
        self._schedstat = schedstat

    def note(self) -> None:
        """Write CPU + waiting, and CPU, in ns."""
        if self._schedstat is not None:
            ran, waited, _ = map(int, os.pread(self._schedstat, 100, 0).split())
            self._page[:16] = struct.pack("<QQ", ran + waited, ran)
