"""``passcurve view``: a real server on loopback, what it shows and whom it refuses."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("uvicorn", reason="the extra view is not installed")


class Viewer:
    """A viewer that runs: its address and a client."""

    def __init__(self, shell: Any, *words: object) -> None:
        self.shell = shell
        self.process = shell.start("view", ".", *words, stderr=subprocess.STDOUT)
        line = self.process.stdout.readline().decode()
        match = re.search(r"http://127\.0\.0\.1:(\d+)/([\w-]+)/", line)
        assert match, line
        self.port, self.token = int(match[1]), match[2]
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", trust_env=False, timeout=60)

    def get(self, path: str = "", **options: Any) -> httpx.Response:
        """Get a page with the token."""
        return self.client.get(f"/{self.token}/{path}", **options)

    def close(self) -> int:
        """End it by Ctrl-C; return its exit code."""
        self.client.close()
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(20)
        self.process.stdout.close()
        return code


@pytest.fixture(scope="module")
def viewer(shell_in, starter, tmp_path_factory) -> Iterator[Viewer]:
    """Serve a folder with two runs, one of them in a folder below."""
    shell = shell_in(tmp_path_factory.mktemp("runs"))
    (shell.folder / "below").mkdir()
    for name in ("one.jsonl", "below/two.jsonl"):
        shell.write(name, starter.mixed(["starter/0", "starter/1"], 3))
        assert 0 == shell("judge", name, "--subset").code
    (shell.folder / "away").symlink_to("/")
    served = Viewer(shell)
    yield served
    assert 0 == served.close()


@pytest.mark.ci
def test_the_list_names_every_run(viewer: Viewer):
    """Runs below the folder are listed with their counts; what a link leads to is not."""
    page = viewer.get()
    assert 200 == page.status_code
    assert ["below/two.jsonl.passcurve", "one.jsonl.passcurve"] == sorted(re.findall('data-run="([^"]+)"', page.text))
    assert 2 == page.text.count('<td class="n judged-count">6</td>')


@pytest.mark.ci
def test_reports_are_those_of_the_command(viewer: Viewer):
    """The page of a run is the file that ``report`` writes, byte for byte; several runs stand side by side."""
    page = viewer.get("report", params={"run": "one.jsonl.passcurve"})
    assert 0 == viewer.shell("report", "one.jsonl.passcurve", "-o", "one.html").code
    assert (viewer.shell.folder / "one.html").read_text("utf-8") == page.text
    both = viewer.get("report?run=one.jsonl.passcurve&run=below/two.jsonl.passcurve").text
    assert 'id="compare"' in both


def test_a_report_has_what_was_left_beside_its_run(viewer: Viewer):
    """A page that was made before an autopsy of its run shows it when it is loaded again."""
    page = "report?run=below/two.jsonl.passcurve"
    assert 'id="rules"' not in viewer.get(page).text
    done = viewer.shell("autopsy", "below/two.jsonl", "--subset", "--policies", "raw,auto")
    assert 0 == done.code, done.err
    assert 'id="rules"' in viewer.get(page).text


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"path": "/"}, 403),
        ({"path": "/wrong/"}, 403),
        ({"path": "//{token}/"}, 403),
        ({"headers": {"Host": "evil.example"}}, 400),
        ({"headers": {"Host": "127.0.0.1"}}, 400),
        ({"headers": {"Origin": "http://evil.example"}}, 403),
        ({"headers": {"Origin": "null"}}, 403),
        ({"method": "POST"}, 405),
        ({"method": "DELETE"}, 405),
        ({"path": "/{token}/report?run=../one.jsonl.passcurve"}, 404),
        ({"path": "/{token}/report?run=/etc"}, 404),
        ({"path": "/{token}/report?run=away/etc"}, 404),
        ({"path": "/{token}/report?run="}, 404),
        ({"path": "/{token}/report"}, 404),
        ({"path": "/{token}/%2e%2e/one.jsonl"}, 404),
        ({"path": "/{token}/one.jsonl"}, 404),
        ({"path": "/{token}/report?run=one.jsonl.passcurve%00"}, 404),
    ],
)
def test_what_is_refused(viewer: Viewer, change: dict[str, Any], status: int):
    """Without token, from elsewhere, to write, or out of the folder: no page, and no word about files."""
    path = change.get("path", "/{token}/").replace("{token}", viewer.token)
    answer = viewer.client.request(change.get("method", "GET"), path, headers=change.get("headers"))
    assert status == answer.status_code
    assert "Traceback" not in answer.text
    assert str(viewer.shell.folder) not in answer.text


@pytest.mark.ci
def test_events_tell_what_changes(viewer: Viewer):
    """The stream begins with all counts, and goes on when a run gets verdicts."""
    folder = viewer.shell.folder / "live.passcurve"
    folder.mkdir()
    (part,) = (viewer.shell.folder / "one.jsonl.passcurve").glob("verdicts-*.jsonl")
    lines = part.read_bytes().splitlines(keepends=True)
    (folder / "passcurve.lock").touch()
    (folder / part.name).write_bytes(b"".join(lines[:3]))
    with viewer.client.stream("GET", f"/{viewer.token}/events") as stream:
        counts = (json.loads(line[5:]) for line in stream.iter_lines() if line.startswith("data:"))

        def judged() -> int:
            (live,) = [run for run in next(counts) if run["name"] == "live.passcurve"]
            assert not live["finished"]
            return int(live["judged"])

        assert 2 == judged()
        with (folder / part.name).open("ab") as file:
            file.write(b"".join(lines[3:5]) + lines[5][:10])
        assert 4 == judged()
    assert 'data-events="' in viewer.get("report?run=live.passcurve").text


@pytest.mark.ci
def test_a_large_run_comes_page_by_page(viewer: Viewer):
    """Above the bound a run is read from its parts, 200 verdicts at a time, each once, or those of one status."""
    folder = viewer.shell.folder / "large.passcurve"
    folder.mkdir()
    (part,) = (viewer.shell.folder / "one.jsonl.passcurve").glob("verdicts-*.jsonl")
    head, *lines = part.read_bytes().splitlines(keepends=True)
    (folder / "passcurve.lock").touch()
    with (folder / part.name).open("wb") as file:
        file.write(head)
        for row in range(100_400):
            file.write(re.sub(rb'"row":\d+', b'"row":%d' % row, lines[row % len(lines)]))
    page = viewer.get("report?run=large.passcurve")
    assert 200 == page.text.count('<th scope="row">')
    assert "100,400" in page.text
    place = re.search(r"at=([\d.]+)", page.text)
    assert place
    assert 200 == viewer.get(f"report?run=large.passcurve&at={place[1]}").text.count('<th scope="row">')
    only = viewer.get("report?run=large.passcurve&status=compile").text
    assert 200 == only.count('<td class="status compile">') == only.count('<th scope="row">')
    for odd in ("0.99999999999", "0." + "9" * 25, "7.0", "0.50", "x", "-1.-1"):
        assert 200 == viewer.get("report", params={"run": "large.passcurve", "at": odd}).status_code


def add_run(viewer: Viewer, name: bytes, lines: int) -> tuple[Path, bytes]:
    """Write a run that goes on, with so many lines; return the path of its part and one more line."""
    (part,) = (viewer.shell.folder / "one.jsonl.passcurve").glob("verdicts-*.jsonl")
    written = part.read_bytes().splitlines(keepends=True)
    folder: Path = viewer.shell.folder / os.fsdecode(name)
    folder.mkdir()
    (folder / "passcurve.lock").touch()
    (folder / part.name).write_bytes(b"".join(written[:lines]))
    return folder / part.name, written[1]


def judged(viewer: Viewer, name: str) -> int:
    """Return the count that the list has for a run."""
    row = viewer.get().text.split(f'data-run="{name}"')[1]
    match = re.search(r'judged-count">([\d,]+)<', row)
    assert match
    return int(match[1].replace(",", ""))


def test_a_run_that_is_written_anew(viewer: Viewer):
    """Counts are those of the file as it is, also where it is shorter than before, or another."""
    place, line = add_run(viewer, b"anew.passcurve", 4)
    assert 3 == judged(viewer, "anew.passcurve")
    head = place.read_bytes().splitlines(keepends=True)[0]
    place.write_bytes(head + line)
    assert 1 == judged(viewer, "anew.passcurve")
    other = place.with_suffix(".new")
    other.write_bytes(head + line * 5)
    other.rename(place)
    assert 5 == judged(viewer, "anew.passcurve")
    shutil.rmtree(place.parent)
    assert 404 == viewer.get("report?run=anew.passcurve").status_code


def test_what_cannot_be_shown_hides_nothing_else(viewer: Viewer):
    """A folder whose name is no text, and a pipe in the place of a file, keep nobody from the rest."""
    odd, _ = add_run(viewer, b"\xff\xfe.passcurve", 3)
    pipe, _ = add_run(viewer, b"pipe.passcurve", 3)
    pipe.unlink()
    os.mkfifo(pipe)
    page = viewer.get()
    assert 200 == page.status_code
    assert "one.jsonl.passcurve" in page.text
    assert "pipe.passcurve" not in page.text
    assert 404 == viewer.get("report?run=pipe.passcurve").status_code
    for place in (odd, pipe):
        shutil.rmtree(place.parent)


def test_a_damaged_run(viewer: Viewer):
    """The page says what is wrong, and no place of this machine."""
    place, _ = add_run(viewer, b"damaged.passcurve", 0)
    answer = viewer.get("report?run=damaged.passcurve")
    assert 404 == answer.status_code
    assert "damaged.passcurve" in answer.text
    assert str(viewer.shell.folder) not in answer.text
    shutil.rmtree(place.parent)


@pytest.mark.ci
def test_ctrl_c_with_a_page_open(shell):
    """A page that listens to counts does not keep the viewer from ending."""
    viewer = Viewer(shell)
    with viewer.client.stream("GET", f"/{viewer.token}/events") as stream:
        assert next(stream.iter_lines()).startswith("data:")
        assert 0 == viewer.close()


@pytest.mark.parametrize(
    ("words", "named"), [(["view", "absent"], "absent"), (["view", ".", "--port", "70000"], "port")]
)
def test_what_cannot_be_served(shell, words, named):
    """A folder that is not there, and a port that is none, are refused in a line."""
    done = shell(*words)
    assert 2 == done.code
    assert named in done.err


@pytest.mark.ci
def test_without_the_extra(shell, hide_packages):
    """The message is the command that installs what is missing."""
    hide_packages("uvicorn")
    done = shell("view", ".")
    assert (2, 1) == (done.code, done.err.count("pip install 'passcurve[view]'"))
