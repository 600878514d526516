"""What grows with the number of samples: memory, time, and how long a run takes to be taken up again."""

from __future__ import annotations

import math
import shutil
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perf import rows as rowing
from perf.judges import Place
from perf.rows import Row
from perf.run import Used, run

LOOK_S = 0.25


@dataclass(frozen=True)
class Size:
    """One run of so many rows, which are the light part again and again."""

    rows: int
    words: str
    used: Used


@dataclass(frozen=True)
class Growth:
    """Runs of several sizes, and the largest taken up again."""

    sizes: tuple[Size, ...]
    resumed: Size

    def judged_bytes(self) -> float:
        """Return how much more memory the larger run without dedup takes for each row, as it goes on."""
        size = max((size for size in self.sizes if size.words), key=lambda size: size.rows)
        # Its peak says more of single moments than of growth: two fifths of the run, with two between them.
        fifth = len(size.used.seen) // 5
        if not fifth:
            return math.nan
        early, late = (statistics.median(size.used.seen[at * fifth :][:fifth]) for at in (1, 3))
        return (late - early) / (2 / 5 * size.rows)

    def shared_bytes(self) -> float:
        """Return how much more memory the larger run with dedup takes at most than the smaller, for each row more."""
        small, large = sorted((size for size in self.sizes if not size.words), key=lambda size: size.rows)
        return (_peak(large) - _peak(small)) / (large.rows - small.rows)


def measure(place: Place, light: Sequence[Row], problems: Sequence[Row], judged: int, shared: int) -> Growth:
    """Run ``judged`` rows and a tenth of them without dedup, ``shared`` rows and a tenth with it, and resume those.

    The tenth is no less than the light part itself, so that both have seen every program.
    """
    folder = place.folder / "million"
    folder.mkdir()
    tests = rowing.write(folder / "problems.jsonl", rowing.attempted(problems, light))
    sizes = []
    for words, rows in (("--no-dedup", judged), ("", shared)):
        for count in (max(rows // 10, min(len(light), rows // 2)), rows):
            samples = rowing.write(folder / "samples.jsonl", rowing.repeated(light, count))
            shutil.rmtree(f"{samples}.passcurve", ignore_errors=True)
            sizes.append(_judge(place, samples, tests, count, words))
    # As if it had been stopped at the last moment: all verdicts are there, and nobody has said that they are.
    for finished in Path(f"{samples}.passcurve").glob("finished-*"):
        finished.unlink()
    resumed = _judge(place, samples, tests, shared, "")
    shutil.rmtree(folder)
    return Growth(tuple(sizes), resumed)


def _judge(place: Place, samples: Path, problems: Path, count: int, words: str) -> Size:
    command = [place.passcurve, "judge", str(samples), "--benchmark", str(problems), "--subset", "--k", "1"]
    command += ["--isolation", "full", "--verdict", "referee", "--workers", str(place.workers), *words.split()]
    used = run(command, samples.parent, look_every_s=LOOK_S)
    size = Size(count, words, used)
    print(f"  {count:,} rows {words}: {used.wall_s:.1f} s, {_peak(size) / 2**20:.0f} MiB", flush=True)
    return size


def _peak(size: Size) -> int:
    return size.used.memory.without_samples if size.used.memory is not None else 0
