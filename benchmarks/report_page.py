"""Time a report: how long it takes to write, how large it is, and how fast a browser shows and filters it.

    python benchmarks/report_page.py RUN... [--rounds 3]

Needs Chromium and the extra ``browser``.  The first view counts from the start of loading until the samples can be
filtered; a filter from the change of a control until its rows stand in the page.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

FILTER = """
(status) => new Promise((resolve) => {
  const control = document.querySelector('#sample-status');
  const count = document.querySelector('#sample-count');
  control.value = status;
  const begun = performance.now();
  new MutationObserver((_, observer) => {
    observer.disconnect();
    requestAnimationFrame(() => resolve(performance.now() - begun));
  }).observe(count, { childList: true, characterData: true, subtree: true });
  control.dispatchEvent(new Event('input'));
})
"""


def main() -> None:
    """Write the report of some runs and look at it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sys.exit("there is no playwright: pip install 'passcurve[browser]'")
    program = shutil.which("chromium") or sys.exit("there is no chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder, "report.html")
        seconds = []
        for _ in range(arguments.rounds):
            begun = time.perf_counter()
            subprocess.run([sys.executable, "-m", "passcurve", "report", *arguments.runs, "-o", page], check=True)
            seconds.append(time.perf_counter() - begun)
        print(f"written in {statistics.median(seconds):.2f} s, {page.stat().st_size / 1e6:.2f} MB")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        views, filters = [], []
        for _ in range(arguments.rounds):
            tab = browser.new_page()
            tab.goto(page.as_uri())
            tab.wait_for_selector("html[data-ready]")
            views.append(tab.evaluate("performance.getEntriesByName('ready')[0].startTime"))
            filters += time_filters(tab)
            tab.close()
        print(f"first view after {statistics.median(views):.0f} ms")
        print(
            f"a filter takes {statistics.median(filters):.0f} ms, at most {max(filters):.0f} ms (60 ms of them a pause)"
        )
        browser.close()


def time_filters(tab: Page) -> list[float]:
    """Return how long filters by status take, in milliseconds."""
    tab.click('nav a[href="#samples"]')
    return [tab.evaluate(FILTER, status) for status in ("failed", "passed", "!passed", "")]


if __name__ == "__main__":
    main()
