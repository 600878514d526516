"""The viewer in a real browser: the list moves with its runs, and leads to reports side by side."""

from __future__ import annotations

import re
import signal
import subprocess
from typing import Any

import pytest
from pages import Made

pytestmark = pytest.mark.nightly
pytest.importorskip("uvicorn", reason="the extra view is not installed")


def test_a_list_that_moves(two_runs: Made, browser: Any, shell_in: Any):
    """Counts change without loading again; chosen runs open side by side; nothing is said, nothing else is asked."""
    folder = two_runs.page.parent
    process = shell_in(folder).start("view", ".", stderr=subprocess.STDOUT)
    page = browser.new_page()
    try:
        address = re.search(r"http://\S+/", process.stdout.readline().decode())
        assert address
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.append(request.url) if address[0] not in request.url else None)
        (part,) = (folder / "seed1.passcurve").glob("verdicts-*.jsonl")
        lines = part.read_bytes().splitlines(keepends=True)
        live = folder / "live.passcurve"
        live.mkdir()
        (live / "passcurve.lock").touch()
        (live / part.name).write_bytes(b"".join(lines[:3]))
        page.goto(address[0])
        page.wait_for_selector("html[data-ready]")
        row = page.locator('tr[data-run="live.passcurve"]')
        assert "2" == row.locator(".judged-count").inner_text()
        with (live / part.name).open("ab") as file:
            file.write(b"".join(lines[3:10]))
        page.wait_for_selector('tr[data-run="live.passcurve"] .judged-count:text-is("9")')
        for name in ("seed1", "seed2"):
            page.check(f'input[value="{name}.passcurve"]')
        page.click("#beside")
        page.wait_for_selector("html[data-ready] #compare", state="attached")
        page.goto(f"{address[0]}report?run=live.passcurve")
        page.wait_for_selector("#live:not([hidden])")
        assert "9 judged" in page.locator("#live").inner_text()
        assert [] == complaints
    finally:
        page.close()
        process.send_signal(signal.SIGINT)
        process.wait(20)
        process.stdout.close()
