"""A server whose sandboxes are killed while requests run: nothing is lost, and nothing is scored wrong."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

pytest.importorskip("uvicorn", reason="the extra serve is not installed")

TRIES = 3
"""As often a client of ``/run_code`` asks where the answer is 504."""


@pytest.fixture
def server(shell_in, tmp_path) -> Iterator[tuple[httpx.Client, int]]:
    """Start a server; return a client of it, and its process."""
    with shell_in(tmp_path).serve("starter", "--workers", 2) as (started, process):
        yield started, process.pid


def sandbox_processes(ancestor: int) -> list[int]:
    """Return the processes of the sandboxes of a server: the fork server, watchers, zygotes, and what they run."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        try:
            fields = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            if "forkserver_boot.py" in (folder / "cmdline").read_text("utf-8", "replace"):
                parents[int(folder.name)] = int(fields[1])
        except (OSError, ValueError):
            continue
    members, family = {ancestor}, list[int]()
    while children := [pid for pid, parent in parents.items() if parent in members and pid not in family]:
        family += children
        members.update(children)
    return family


def kill_some(ancestor: int, ended: threading.Event, kills: list[int]) -> None:
    """Kill a process of a sandbox each second; the draws have a seed."""
    draw = random.Random(7)
    while not ended.wait(1.0):
        if family := sandbox_processes(ancestor):
            pid = draw.choice(family)
            try:
                os.kill(pid, signal.SIGKILL)
                kills.append(pid)
            except ProcessLookupError:
                pass


@pytest.mark.nightly
@pytest.mark.parametrize("requests", [600, 10_000])
def test_killed_every_second(server, starter, requests):
    """Programs and samples, each another one: every answer is right, at the latest after the third request."""
    client, pid = server
    ended, kills, wrong, repeats = threading.Event(), list[int](), list[str](), Counter[str]()
    right = starter.right()["completion"]

    def run_code(number: int) -> None:
        code, expected = f"print({number} * 2)\n", f"{number * 2}\n"
        for _ in range(TRIES):
            answer = client.post("/run_code", json={"code": code, "language": "python", "run_timeout": 5})
            if answer.status_code == 200:
                if (answer.json()["status"], answer.json()["run_result"]["stdout"]) != ("Success", expected):
                    wrong.append(answer.text)
                return
            repeats[f"/run_code {answer.status_code}"] += 1
            time.sleep(0.5)
        wrong.append(f"program {number}: no answer")

    def judge(number: int) -> None:
        mark = f"    # {number}\n"
        rows = [{"task_id": "starter/0", "completion": mark + text} for text in (right, "    return None\n")]
        for _ in range(TRIES):
            answer = client.post("/judge", json={"samples": rows})
            passed = [one["passed"] for one in answer.json()["results"]] if answer.status_code == 200 else [None]
            if None not in passed:
                if passed != [True, False]:
                    wrong.append(answer.text)
                return
            repeats["/judge"] += 1
            time.sleep(0.5)
        wrong.append(f"samples {number}: no answer")

    killer = threading.Thread(target=kill_some, args=(pid, ended, kills))
    killer.start()
    try:
        with ThreadPoolExecutor(8) as pool:
            for future in [pool.submit(judge if number % 4 == 0 else run_code, number) for number in range(requests)]:
                future.result()
    finally:
        ended.set()
        killer.join()
    assert [] == wrong
    assert kills
    assert sum(repeats.values()) < requests / 10, repeats


@pytest.mark.ci
def test_streams_of_a_sandbox_that_is_lost(server, starter):
    """Whoever asks for streams alone is refused while there is no sandbox, and has one started again."""
    client, pid = server
    lost = threading.Event()

    def kill_all() -> None:
        while not lost.is_set():
            for child in sandbox_processes(pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)

    def is_answered(number: int) -> bool:
        row = {"task_id": "starter/0", "completion": f"    return {number}\n"}
        try:
            answer = client.post("/judge", json={"samples": [row], "stream": True})
        except httpx.RemoteProtocolError:
            return False
        assert answer.status_code in (200, 503)
        return answer.status_code == 200 and '"failed"' in answer.text

    killer = threading.Thread(target=kill_all)
    killer.start()
    until = time.monotonic() + 60
    while is_answered(-1) and time.monotonic() < until:
        pass
    lost.set()
    killer.join()
    until, number = time.monotonic() + 30, 0
    while not is_answered(number):
        assert time.monotonic() < until, "no sandbox was started again"
        number += 1
        time.sleep(0.2)
