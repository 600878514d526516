"""Reports and pages of a browser, for the tests beside this file."""

from __future__ import annotations

import base64
import gzip
import json
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

HOSTILE = '</script><img src=x onerror="window.hacked=1">{{7*7}}<!--\u202e\u2028\u2029]]>\'"&amp;\ud83d\ude00'
"""Text that would run, load or turn round where a page took it for its own."""
LONG = "x" * 1_000_000


class Made(NamedTuple):
    """A report: its page, and the record that ``--json`` prints."""

    page: Path
    record: dict[str, Any]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows of JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "ascii")


def report(shell: Any, *runs: str) -> Made:
    """Write the page of some runs, and return it with its record."""
    done = shell("report", *runs, "-o", "report.html", "--json")
    assert 0 == done.code, done.err
    return Made(shell.folder / "report.html", json.loads(done.out))


class Reader(HTMLParser):
    """Reads a page: its elements, the texts of scripts and styles, and the numbers with their places in the record."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.own: dict[str, list[str]] = {"script": [], "style": []}
        self.data: dict[str, str] = {}
        self.numbers: list[tuple[str, str, str]] = []
        self._open: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the start of an element."""
        self.elements.append((tag, dict(attrs)))
        if tag in self.own or "data-of" in dict(attrs):
            self._open.append((tag, dict(attrs), []))

    def handle_data(self, data: str) -> None:
        """Take a text."""
        for _, _, texts in self._open:
            texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        """Take the end of an element."""
        if not self._open or self._open[-1][0] != tag:
            return
        _, attributes, texts = self._open.pop()
        text = "".join(texts)
        if place := attributes.get("data-of"):
            self.numbers.append((place, attributes.get("data-as") or "", text.strip()))
        elif attributes.get("type") == "text/plain":
            self.data[str(attributes["id"])] = text
        else:
            self.own[tag].append(text)


def part(reader: Reader, name: str) -> Any:
    """Return the value of a compressed part."""
    return json.loads(gzip.decompress(base64.b64decode(reader.data[name])))


class Tab:
    """A page of the browser, with everything that it said and asked for."""

    def __init__(self, browser: Any, made: Made, *, width: int = 1280, scheme: str = "light") -> None:
        self.made = made
        self._context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = self._context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.open()

    def open(self, address: str = "") -> None:
        """Open the page anew at an address within it."""
        self.page.goto("about:blank")
        self.page.goto(self.made.page.as_uri() + (f"#{address}" if address else ""))
        self.page.wait_for_selector("html[data-ready]", timeout=30_000)

    def show(self, view: str) -> None:
        """Click on a view in the bar."""
        self.page.click(f'nav a[href="#{view}"]')
        self.page.wait_for_selector(f"section#{view}:not([hidden])")

    def rows(self, view: str) -> list[str]:
        """Return the texts of the rows in sight of a view."""
        texts: list[str] = self.page.locator(f"#{view} .grid .body [role=row]").all_inner_texts()
        return texts

    def until(self, condition: str) -> None:
        """Wait until an expression holds; the policy of the page admits no waiting inside of it."""
        deadline = time.monotonic() + 30.0
        while not self.page.evaluate(condition):
            assert time.monotonic() < deadline, condition
            self.page.wait_for_timeout(20)

    def count(self) -> int:
        """Return how many samples the filters leave, once they have been applied."""
        self.page.wait_for_timeout(150)
        self.until("/^[\\d,]+ of/.test(document.querySelector('#sample-count').textContent)")
        return int(self.page.locator("#sample-count").inner_text().partition(" ")[0].replace(",", ""))

    def close(self) -> None:
        """Close the page; nothing may have been said, and nothing asked for but the file."""
        self._context.close()
        assert [] == self.complaints
        assert {"about:blank", self.made.page.as_uri()} >= {url.partition("#")[0] for url in self.requests}
