"""Fixtures of the page's tests: reports on judged runs, one of them hostile in every field, and a real browser."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pages import HOSTILE, LONG, Made, Tab, report, write_rows


@pytest.fixture(scope="session")
def two_runs(shell_in, folder_made_once) -> Made:
    """Report on two runs of the mutants, the second with another seed, and both with times, tokens and messages."""
    runs = [f"seed{seed}.passcurve" for seed in (1, 2)]

    def run(folder: Path) -> None:
        for seed, name in enumerate(runs, 1):
            done = shell_in(folder)("run", "starter", "--model", "mutant:", "-n", 6, "--seed", seed, "--run", name)
            assert 0 == done.code, done.err
        made = report(shell_in(folder), *runs)
        (folder / "record.json").write_text(json.dumps(made.record), "utf-8")

    folder = folder_made_once("two_runs", run)
    return Made(folder / "report.html", json.loads((folder / "record.json").read_text("utf-8")))


@pytest.fixture(scope="session")
def hostile(shell_in, tmp_path_factory) -> Made:
    """Report on a run whose names, prompts, tests, programs and messages are all hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    shell = shell_in(folder)
    prompt = f'def f(a):\n    """{HOSTILE}"""\n'
    test = f"def check(candidate):\n    assert candidate(1) == 1, {HOSTILE!r}\n"
    names = [f"T/{HOSTILE.replace('/', '')}", "T/1"]
    row = {"prompt": prompt, "entry_point": "f", "test": test, "canonical_solution": "    return a\n"}
    write_rows(folder / "bench.jsonl", [{"task_id": name, **row} for name in names])
    bodies = [
        f"    raise ValueError({HOSTILE!r})\n",
        f"    return {HOSTILE!r}\n",
        f"    # {HOSTILE}\n    return a\n",
        f"    raise ValueError({HOSTILE!r} * 1000)\n    # {LONG}\n",
    ]
    rows = [{"task_id": name, "completion": body, "model": HOSTILE} for name in names for body in bodies]
    samples = "<img src=x onerror=alert(1)>.jsonl"
    write_rows(folder / samples, rows)
    done = shell("judge", samples, "--benchmark", "bench.jsonl", "--accept-input")
    assert 0 == done.code, done.err
    return report(shell, samples)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start a headless Chromium; skip where there is none, or nothing to drive it."""
    # Its driver keeps an event loop running in this thread, in which no other file's asyncio.run could begin.
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("there is no Chromium on this machine")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """Return a function that opens a report; at the end nothing may have been said or asked for."""
    tabs: list[Tab] = []

    def open_tab(made: Made, **options: Any) -> Tab:
        tabs.append(Tab(browser, made, **options))
        return tabs[-1]

    yield open_tab
    for opened in tabs:
        opened.close()
