"""What a call across the wall costs: problems with a thousand calls in one check, beside the same with one."""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perf import rows as rowing
from perf.judges import Place
from perf.rows import Row
from perf.run import run

ROWS = 50


@dataclass(frozen=True)
class Kind:
    """A function and how often it is called with what."""

    name: str
    calls: int
    body: str
    argument: str
    """An expression of ``i``."""
    expected: str
    """An expression of ``i`` and ``x``, the argument."""

    def problem(self, calls: int) -> Row:
        """Return a problem whose tests make so many calls."""
        return {
            "task_id": f"calls/{self.name.replace(' ', '-')}-{calls}",
            "prompt": "def f(x):\n",
            "entry_point": "f",
            "canonical_solution": f"    {self.body}\n",
            "test": f"def check(candidate):\n    for i in range({calls}):\n        x = {self.argument}\n"
            f"        assert candidate(x) == {self.expected}\n",
        }

    def rows(self, calls: int) -> list[Row]:
        """Return right samples of that problem, no two alike."""
        task = self.problem(calls)["task_id"]
        return [{"task_id": task, "completion": f"    # {number}\n    {self.body}\n"} for number in range(ROWS)]


KINDS = (
    Kind("scalar", 1000, "return x + 1", "i", "i + 1"),
    Kind("list of 1,000", 100, "return [y + 1 for y in x]", "list(range(i, i + 1000))", "list(range(i + 1, i + 1001))"),
)


@dataclass(frozen=True)
class Cost:
    """What one call takes beyond the function's own time, in microseconds."""

    kind: Kind
    wall_us: float
    """By the supervisor's clock, from the start of a sample to its end: median of the samples."""
    cpu_us: float
    """Of all processes."""
    own_us: float
    """What function and test take in one process, which is not in the others."""


def measure(place: Place, rounds: int) -> list[Cost]:
    """Measure every kind of call."""
    return [_measure(place, kind, rounds) for kind in KINDS]


def _measure(place: Place, kind: Kind, rounds: int) -> Cost:
    own = _own_us(place, kind)
    walls, cpus = [], []
    for _ in range(rounds):
        many, one = (_judge(place, kind, calls) for calls in (kind.calls, 1))
        walls.append((many[0] - one[0]) * 1e6 / (kind.calls - 1) - own)
        cpus.append((many[1] - one[1]) * 1e6 / ROWS / (kind.calls - 1) - own)
    cost = Cost(kind, statistics.median(walls), statistics.median(cpus), own)
    print(f"  {kind.name}: {cost.wall_us:.1f} us a call, {cost.cpu_us:.1f} us of CPU", flush=True)
    return cost


def _judge(place: Place, kind: Kind, calls: int) -> tuple[float, float]:
    """Return the median wall seconds of a sample, and the CPU seconds of the whole command."""
    folder = place.folder / "calls"
    folder.mkdir(exist_ok=True)
    problems = rowing.write(folder / "problems.jsonl", [kind.problem(calls)])
    samples = rowing.write(folder / "samples.jsonl", kind.rows(calls))
    command = [place.passcurve, "judge", str(samples), "--benchmark", str(problems), "--no-dedup", "--workers", "1"]
    used = run([*command, "--isolation", "full", "--verdict", "referee", "--k", "1"], folder)
    verdicts = [line["verdict"] for line in stored(Path(f"{samples}.passcurve"))]
    if any(verdict["status"] != "passed" for verdict in verdicts):
        raise SystemExit(f"{kind.name}: a right sample did not pass: {verdicts[0]}")
    return statistics.median(verdict["wall_s"] for verdict in verdicts), used.cpu_s


def stored(run_folder: Path) -> Sequence[Row]:
    """Return the newest lines of verdicts in a run directory."""
    newest = max(run_folder.glob("verdicts-*.jsonl"))
    return [json.loads(line) for line in newest.read_text().splitlines()[1:] if line]


def _own_us(place: Place, kind: Kind) -> float:
    """Return what a call of function and test takes where nothing is between them."""
    problem = kind.problem(kind.calls)
    code = (
        f"{problem['prompt']}{problem['canonical_solution']}{problem['test']}"
        f"import timeit; print(min(timeit.repeat(lambda: check(f), number=5, repeat=5)) / 5 / {kind.calls})"
    )
    answer = subprocess.run([str(place.python), "-I", "-c", code], check=True, capture_output=True, text=True)
    return float(answer.stdout) * 1e6
