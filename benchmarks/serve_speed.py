"""Measure ``passcurve serve``: programs per second through ``/run_code``, samples per second through ``/judge``.

    python benchmarks/serve_speed.py [--runs 3000] [--rounds 3]

Client and server share the cores.  Every program is another one, so that each is really run.  Clients come in two
numbers: as many as keep the server busy, and twice as many, for what its answers take then.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PROGRAM = "n = int(input())\nvalues = [i * i % 7 for i in range(n)]\nprint(sum(values) + {number})\n"
_ROWS_IN_A_BATCH = 100


async def post(reader: Any, writer: Any, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Send a request on an open connection and return the answer; raise RuntimeError for another status than 200."""
    data = json.dumps(body).encode()
    head = (f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(data)}", "", "")
    writer.write("\r\n".join(head).encode() + data)
    answer = await reader.readuntil(b"\r\n\r\n")
    size = re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)
    text = await reader.readexactly(int(size[1]) if size else 0)
    if b" 200 " not in answer.split(b"\r\n")[0]:
        raise RuntimeError(f"{answer.splitlines()[0]!r}: {text[:200]!r}")
    record: dict[str, Any] = json.loads(text)
    return record


async def run_programs(port: int, runs: int, clients: int, start: int) -> tuple[float, list[float]]:
    """Return runs per second, and the seconds of each, with so many clients at once."""
    numbers = iter(range(start, start + runs))
    times: list[float] = []

    async def work() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in numbers:
            body = {"code": PROGRAM.format(number=number), "language": "python", "stdin": "10\n", "run_timeout": 5}
            begun = time.perf_counter()
            answer = await post(reader, writer, "/run_code", body)
            times.append(time.perf_counter() - begun)
            expected = f"{sum(i * i % 7 for i in range(10)) + number}\n"
            assert expected == answer["run_result"]["stdout"], answer
        writer.close()

    begun = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(clients)))
    return runs / (time.perf_counter() - begun), times


async def judge_samples(port: int, runs: int, clients: int, start: int) -> float:
    """Return samples per second in batches."""
    batches = iter(range(start, start + runs, _ROWS_IN_A_BATCH))

    async def work() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for first in batches:
            rows = [
                {"task_id": "starter/0", "completion": f"    return {number}\n"}
                for number in range(first, first + _ROWS_IN_A_BATCH)
            ]
            answer = await post(reader, writer, "/judge", {"samples": rows})
            assert all(result["status"] != "void" for result in answer["results"])
        writer.close()

    begun = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(clients)))
    return runs / (time.perf_counter() - begun)


def main() -> None:
    """Start a server, send rounds of requests and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "passcurve", "serve", "starter", "--port", "0"]
        server = subprocess.Popen(command, cwd=Path(folder), stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        address = re.search(r":(\d+)/", server.stdout.readline())
        assert address is not None
        port = int(address[1])
        start = 0
        for clients in (options.clients, 2 * options.clients):
            rates, times = [], []
            for _ in range(options.rounds):
                rate, seconds = asyncio.run(run_programs(port, options.runs, clients, start))
                start += options.runs
                rates.append(rate)
                times += seconds
            times.sort()
            print(
                f"/run_code, {clients} clients: {statistics.median(rates):.0f} runs/s; "
                f"median {times[len(times) // 2] * 1e3:.1f} ms, p99 {times[int(len(times) * 0.99)] * 1e3:.1f} ms"
            )
        rates = []
        for _ in range(options.rounds):
            rates.append(asyncio.run(judge_samples(port, options.runs, options.clients, start)))
            start += options.runs
        print(f"/judge, batches of {_ROWS_IN_A_BATCH}: {statistics.median(rates):.0f} samples/s")
        server.send_signal(signal.SIGTERM)
        server.wait(60)


if __name__ == "__main__":
    main()
