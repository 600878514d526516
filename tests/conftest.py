"""What every room's tests may use: the installed command in a folder of its own, and the benchmark it ships."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ready import Ready

sys.path.insert(0, str(Path(__file__).parent / "sandbox"))

from jailed import Jailed, jail_at

COMMAND = (str(Path(sys.executable).with_name("passcurve")),)
if not Path(COMMAND[0]).exists():
    COMMAND = (sys.executable, "-c", "from passcurve.__main__ import run; run()")
STARTER = files("passcurve.bench") / "starter"
PATIENCE_S = 120.0
KEPT = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL", "PYTHONPATH")}


# A shell starts what runs in its background with interruptions ignored, and every child would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Done(NamedTuple):
    """What a command left when it ended."""

    code: int
    out: str
    err: str

    @property
    def record(self) -> dict[str, Any]:
        """What was printed, which must be one JSON object and nothing else."""
        return json.loads(self.out)


class Shell:
    """Runs ``passcurve`` in a folder, with nothing of the user's settings in its environment."""

    def __init__(self, folder: Path, ready: Ready | None = None) -> None:
        self.folder = folder
        self.ready = ready
        """What is forked instead of starting a process, where a fork is as good."""
        self.before: tuple[str, ...] = ()
        """Another program's words, for one that starts the command in its own way."""
        self.env = {**KEPT, "HOME": str(folder), "PASSCURVE_CACHE": str(folder / "cache"), "TMPDIR": str(folder)}

    def __call__(self, *words: object, stdin: bytes = b"", **env: str) -> Done:
        """Run a command to its end."""
        if self.ready and not self.before and self.ready.fits(self.env | env, stdin):
            code, out, err = self.ready.run([*map(str, words)], self.folder, self.env | env, stdin, PATIENCE_S)
            return Done(code, out.decode(), err.decode())
        done = subprocess.run(
            [*self.before, *COMMAND, *map(str, words)],
            cwd=self.folder,
            env=self.env | env,
            input=stdin,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *words: object, **options: Any) -> subprocess.Popen[bytes]:
        """Start a command as the leader of a process group of its own."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        options = {"cwd": self.folder, "env": self.env, "process_group": 0} | pipes | options
        return subprocess.Popen([*self.before, *COMMAND, *map(str, words)], **options)

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
    """The shipped benchmark: its problems, and answers whose verdict is known."""

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
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ready]:
    """Return the command, loaded; matplotlib keeps its list of fonts, which takes seconds, for the session."""
    KEPT["MPLCONFIGDIR"] = str(tmp_path_factory.mktemp("matplotlib"))
    command = Ready(COMMAND[0], KEPT)
    yield command
    command.close()


@pytest.fixture
def shell(tmp_path: Path, ready: Ready) -> Shell:
    """Return the command in an empty folder."""
    return Shell(tmp_path, ready)


@pytest.fixture(scope="session")
def shell_in() -> type[Shell]:
    """Return what makes a shell of a folder, for runs that several tests share."""
    return Shell


@pytest.fixture(scope="session")
def starter() -> Starter:
    """Return the shipped benchmark."""
    return Starter()


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder of published data that PASSCURVE_TEST_DATA names; what needs it is skipped without."""
    named = os.environ.get("PASSCURVE_TEST_DATA")
    if not named:
        pytest.skip("PASSCURVE_TEST_DATA names no folder with published benchmarks")
    if not Path(named, "HumanEval.jsonl.gz").is_file():
        pytest.skip(f"there is no HumanEval.jsonl.gz in {named!r} (PASSCURVE_TEST_DATA)")
    return Path(named).resolve()


@pytest.fixture(scope="module")
def jail() -> Iterator[Jailed]:
    """Return the best jail that there is here."""
    with jail_at("auto") as jail:
        yield jail
