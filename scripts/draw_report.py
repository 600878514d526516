"""Draw the pictures of docs/report.md: the views of a report on three runs of the mutants, in a headless Chromium.

    python scripts/draw_report.py

Needs Chromium and the extra ``browser``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parents[1] / "docs"
VIEWS = {"overview": "overview", "compare": "compare", "problems": "problems", "sample": "starter/5/0"}
"""Names of the pictures, and the addresses that they show."""
_SIZE = {"width": 1100, "height": 760}


def main() -> None:
    """Make the runs and their report, and draw each view; the first one dark as well."""
    program = shutil.which("chromium") or sys.exit("there is no chromium")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        runs = []
        for seed in (1, 2, 3):
            runs.append(f"model-{seed}.passcurve")
            words = ["run", "starter", "--model", "mutant:", "-n", "20", "--seed", str(seed), "--run", runs[-1]]
            subprocess.run([sys.executable, "-m", "passcurve", *words], cwd=folder, check=True, capture_output=True)
        report = [sys.executable, "-m", "passcurve", "report", *runs, "-o", "report.html"]
        subprocess.run(report, cwd=folder, check=True)
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport=_SIZE, color_scheme=scheme)
            for view, address in VIEWS.items():
                if scheme == "light" or view == "overview":
                    page.goto("about:blank")
                    page.goto(f"{(folder / 'report.html').as_uri()}#{address}")
                    page.wait_for_selector("html[data-ready]")
                    page.wait_for_timeout(200)
                    page.screenshot(path=DOCS / f"report-{view}{'-dark' if scheme == 'dark' else ''}.png")
        browser.close()


if __name__ == "__main__":
    main()
