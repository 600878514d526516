"""Fixtures of all tests: the installed command in a folder of its own, and the built-in benchmark."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
import hypothesis
import pytest
from command_server import CommandServer, Completed
from hypothesis import HealthCheck

sys.path.insert(0, str(Path(__file__).parent / "sandbox"))

from jailed import Jailed, jail_at

COMMAND = (str(Path(sys.executable).with_name("passcurve")),)
if not Path(COMMAND[0]).exists():
    COMMAND = (sys.executable, "-c", "from passcurve.__main__ import run; run()")
STARTER = files("passcurve.bench") / "starter"
TIMEOUT_S = 120.0
ENVIRONMENT = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL", "PYTHONPATH")}


# A shell starts background jobs with SIGINT ignored, and every child would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


PASSES = "passcurve/passes"
"""Key of pytest's cache, under which a run leaves the names of the tests that passed."""


class PassKeeper:
    """A plugin that leaves the names of the tests that pass, for a run that is to have the others only."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._passes: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the report on one phase of a test."""
        if report.when == "call" and report.passed:
            self._passes.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write the names."""
        if cache := getattr(self._config, "cache", None):
            cache.set(PASSES, sorted(self._passes))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of a run that goes on where another has ended."""
    parser.addoption("--except-passes", metavar="FILE", help="leave out the tests that FILE names")


def pytest_configure(config: pytest.Config) -> None:
    """Let no example fail for its time; keep the names of passes, in the process that collects the reports of all."""
    # On a busy machine the time of one says nothing.
    hypothesis.settings.register_profile("any time", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    hypothesis.settings.load_profile("any time")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(PassKeeper(config))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that another run has passed."""
    if name := config.getoption("--except-passes"):
        passes = set(json.loads(Path(name).read_text("utf-8")))
        left_out = [item for item in items if item.nodeid in passes]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item.nodeid not in passes]


class Shell:
    """Runner of ``passcurve`` in a folder, without the user's settings in its environment."""

    def __init__(self, folder: Path, server: CommandServer | None = None) -> None:
        self.folder = folder
        self.server = server
        """Server that forks the command, for calls that need no process of their own."""
        self.before: tuple[str, ...] = ()
        """Program and arguments that start the command, as in ``nohup``; by default none."""
        self.env = {**ENVIRONMENT, "HOME": str(folder), "PASSCURVE_CACHE": str(folder / "cache"), "TMPDIR": str(folder)}

    def __call__(self, *words: object, stdin: bytes = b"", **env: str) -> Completed:
        """Run a command to its end."""
        if self.server and not self.before and self.server.can_run(self.env | env, stdin):
            code, out, err = self.server.run([*map(str, words)], self.folder, self.env | env, stdin, TIMEOUT_S)
            return Completed(code, out.decode(), err.decode())
        done = subprocess.run(
            [*self.before, *COMMAND, *map(str, words)],
            cwd=self.folder,
            env=self.env | env,
            input=stdin,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        return Completed(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *words: object, **options: Any) -> subprocess.Popen[bytes]:
        """Start a command as the leader of a process group of its own."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        options = {"cwd": self.folder, "env": self.env, "process_group": 0} | pipes | options
        return subprocess.Popen([*self.before, *COMMAND, *map(str, words)], **options)

    @contextlib.contextmanager
    def serve(self, *words: object) -> Iterator[tuple[httpx.Client, subprocess.Popen[bytes]]]:
        """Start ``passcurve serve`` on a free port; yield a client of it and its process, and end it in order."""
        process = self.start("serve", *words, "--port", 0, stderr=subprocess.STDOUT)
        assert process.stdout
        # Where programs cannot be isolated another line comes first.
        address = re.search(r"http://\S+/", next((line.decode() for line in process.stdout if b"http://" in line), ""))
        assert address
        with process, httpx.Client(base_url=address[0], trust_env=False, timeout=60) as client:
            yield client, process
            process.send_signal(signal.SIGTERM)
            assert 0 == process.wait(60)

    def write(self, name: str, rows: Iterable[dict[str, Any] | bytes]) -> Path:
        """Write rows, or lines as they stand, as a file of the folder."""
        lines = (row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows)
        path = self.folder / name
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        return path

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Read the rows of a file of the folder."""
        return rows_of((self.folder / name).read_text("utf-8"))


class Starter:
    """The built-in benchmark: its problems, and completions whose verdict is known."""

    def __init__(self) -> None:
        self.problems = {row["task_id"]: row for row in rows_of((STARTER / "problems.jsonl").read_text("utf-8"))}
        self.examples = rows_of((STARTER / "examples.jsonl").read_text("utf-8"))
        self.wrong = rows_of((STARTER / "wrong.jsonl").read_text("utf-8"))

    def right(self, task: str = "starter/0", **fields: Any) -> dict[str, Any]:
        """Return a row that passes."""
        return {"task_id": task, "completion": self.problems[task]["canonical_solution"], **fields}

    def bad(self, task: str = "starter/0", **fields: Any) -> dict[str, Any]:
        """Return a row that fails."""
        return {"task_id": task, "completion": "    return None\n", **fields}

    def mixed(self, tasks: Sequence[str], samples: int) -> list[dict[str, Any]]:
        """Return ``samples`` distinct rows for each task; of three, one passes, one fails, one does not compile."""
        made = []
        for task in tasks:
            for number in range(samples):
                mark = f"    # {number}\n"
                kinds = (self.right(task)["completion"], "    return None\n", "    return (\n")
                made.append({"task_id": task, "completion": mark + kinds[number % 3]})
        return made


def rows_of(text: str) -> list[dict[str, Any]]:
    """Return the rows of a text in JSON lines."""
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="session")
def command_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandServer]:
    """Return the server that forks the command; it keeps matplotlib's list of fonts, which is slow to build."""
    ENVIRONMENT["MPLCONFIGDIR"] = str(tmp_path_factory.mktemp("matplotlib"))
    server = CommandServer(COMMAND[0], ENVIRONMENT)
    yield server
    server.close()


@pytest.fixture
def shell(tmp_path: Path, command_server: CommandServer) -> Shell:
    """Return the command in an empty folder."""
    return Shell(tmp_path, command_server)


@pytest.fixture(scope="session")
def shell_in(command_server: CommandServer) -> Callable[..., Shell]:
    """Return what makes the command in a folder, for runs that several tests share."""
    return functools.partial(Shell, server=command_server)


@pytest.fixture(scope="session")
def folder_made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], None]], Path]:
    """Return what has a folder made by the first worker that wants it; no test may change what was made."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent

    def folder_of(name: str, make: Callable[[Path], None]) -> Path:
        folder = place / name
        with (place / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                folder.mkdir()
                try:
                    make(folder)
                except BaseException:
                    shutil.rmtree(folder)
                    raise
        return folder

    return folder_of


@pytest.fixture(scope="session")
def starter() -> Starter:
    """Return the shipped benchmark."""
    return Starter()


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder of published data that PASSCURVE_TEST_DATA names; skip the test without it."""
    named = os.environ.get("PASSCURVE_TEST_DATA")
    if not named:
        pytest.skip("PASSCURVE_TEST_DATA names no folder with published benchmarks")
    if not Path(named, "HumanEval.jsonl.gz").is_file():
        pytest.skip(f"there is no HumanEval.jsonl.gz in {named!r} (PASSCURVE_TEST_DATA)")
    return Path(named).resolve()


@pytest.fixture(scope="module")
def jail() -> Iterator[Jailed]:
    """Return the strongest jail that this machine supports."""
    with jail_at("auto") as jail:
        yield jail
