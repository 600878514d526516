"""Send a million requests to ``passcurve serve``, and print its memory, descriptors, processes and disk on the way.

    python benchmarks/serve_soak.py [--requests 1000000] [--distinct 0.1]

The requests are those of ``/run_code``, ``/judge`` and ``/slime``; that share of them was never sent before, so
that it is really run, and the others repeat one of the last thousand.  Every answer is checked.  What is printed is
that of the server and all its processes; a line that still rises in the second half is a leak.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from serve_speed import post

SEED = 20261123
_REPEATED = 1000
_ROWS_IN_A_BATCH = 4
_LOOKS = 40


class Look(NamedTuple):
    """Resources of the server at a moment."""

    memory_mb: float
    descriptors: int
    processes: int
    disk_mb: float


def look(pid: int, folder: Path) -> Look:
    """Return what a process and those below it have: resident memory without what they share, and open files."""
    pids = list(_tree(pid))
    memory_kb = descriptors = 0
    for one in pids:
        try:
            rollup = Path(f"/proc/{one}/smaps_rollup").read_text()
            descriptors += sum(1 for _ in Path(f"/proc/{one}/fd").iterdir())
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if held := re.search(r"^Pss:\s+(\d+)", rollup, re.MULTILINE):
            memory_kb += int(held[1])
    disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return Look(memory_kb / 1024, descriptors, len(pids), disk / 2**20)


def _tree(pid: int) -> Iterator[int]:
    yield pid
    # Threads have children of their own.
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = path.read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        for child in children:
            yield from _tree(int(child))


def request_of(number: int) -> tuple[str, dict[str, Any], Any]:
    """Return the path, the body and the expected answer of a request by its number."""
    kind = number % 3
    if kind == 0:
        code = f"import sys\nn = int(input())\nprint(n * {number})"
        return "/run_code", {"code": code, "language": "python", "stdin": "2\n"}, f"{2 * number}\n"
    body = f"    return {number}\n"
    if kind == 1:
        return "/slime", {"label": "starter/0", "response": body}, 0.0
    rows = [{"task_id": f"starter/{row}", "completion": body} for row in range(_ROWS_IN_A_BATCH)]
    return "/judge", {"samples": rows}, ["failed"] * _ROWS_IN_A_BATCH


def answered(path: str, answer: Any) -> Any:
    """Return the part of an answer that is expected."""
    if path == "/run_code":
        return answer["run_result"]["stdout"]
    return [row["status"] for row in answer["results"]] if path == "/judge" else answer


async def send_all(port: int, pid: int, folder: Path, options: argparse.Namespace) -> None:
    """Send the requests from several clients, and print a line every so often."""
    rng = random.Random(SEED)
    sent = new = 0
    begun = time.monotonic()

    def numbers() -> Iterator[int]:
        nonlocal sent, new
        while sent < options.requests:
            sent += 1
            if rng.random() < options.distinct or not new:
                new += 1
                yield new
            else:
                yield max(1, new - rng.randrange(_REPEATED))

    source = numbers()

    async def work() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in source:
            path, body, expected = request_of(number)
            for _ in range(3):
                try:
                    answer = await post(reader, writer, path, body)
                    break
                except RuntimeError as error:
                    print(f"  asked again: {error}", flush=True)
            assert expected == answered(path, answer), (path, body, answer)
        writer.close()

    def tell() -> None:
        one = look(pid, folder)
        print(
            f"{sent:9,} requests, {new:8,} new, {time.monotonic() - begun:5.0f} s: {one.memory_mb:6.1f} MB, "
            f"{one.descriptors} files, {one.processes} processes, {one.disk_mb:.2f} MB of disk",
            flush=True,
        )

    async def watch() -> None:
        due = 0
        while True:
            if sent >= due:
                await asyncio.to_thread(tell)
                due += options.requests // _LOOKS
            await asyncio.sleep(1.0)

    watching = asyncio.ensure_future(watch())
    await asyncio.gather(*(work() for _ in range(options.clients)))
    watching.cancel()
    tell()


def main() -> None:
    """Start a server, send the requests, and end it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--distinct", type=float, default=0.1)
    parser.add_argument("--clients", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, "-m", "passcurve", "serve", "starter", "--port", "0"]
        environment = {**os.environ, "TMPDIR": name}
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        address = re.search(r":(\d+)/", server.stdout.readline())
        assert address is not None
        port = int(address[1])
        asyncio.run(send_all(port, server.pid, folder, options))
        server.send_signal(signal.SIGTERM)
        server.wait(60)


if __name__ == "__main__":
    main()
