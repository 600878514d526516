"""Wall time and CPU of passcurve and of bigcodebench's own evaluator on the same samples, with the verdicts of both.

    python benchmarks/bigcodebench_speed.py PROBLEMS SAMPLES --python PYTHON --evaluator PYTHON [--workers 2]

``--python`` runs the samples of passcurve and has the packages that they import.  ``--evaluator`` has the same packages
and bigcodebench (``pip install --no-deps bigcodebench`` is enough for its evaluator) and can be run by any user: it
runs as nobody, without network.  Both take the problems whose reference solution passes here within ``--longest``
seconds, with one program for each: that of SAMPLES, or with ``--references`` the reference solution.  The evaluator
does not check references here.  passcurve is timed twice: when it has to calibrate every problem, which takes two runs
for each besides the sample's, and when it knows their plans from before, as for every later file of samples.  Of the
programs only those count that take at most ``--longest-program`` seconds of their own: one that runs for half a minute
decides the time of both.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from passcurve import load_benchmark

THEIRS = """
import json, sys
from concurrent.futures import ProcessPoolExecutor
from bigcodebench.eval import untrusted_check

def check(row):
    limits = 30 * 1024, 30 * 1024, 10
    return row["task_id"], untrusted_check(row["program"], row["test"], row["entry_point"], *limits, 1, 20)[0]

rows = json.load(open(sys.argv[1]))
with ProcessPoolExecutor(max_workers=int(sys.argv[2])) as executor:
    print(json.dumps(dict(executor.map(check, rows))))
"""
UNPRIVILEGED = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "unshare", "--map-root-user", "-n")


class Timed(NamedTuple):
    """The output of a command, and what it took."""

    output: str
    wall_s: float
    cpu_s: float


def main() -> None:
    """Measure both, print a table, and name each difference."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("problems", type=Path)
    parser.add_argument("samples", type=Path)
    parser.add_argument("--python", required=True)
    parser.add_argument("--evaluator", required=True)
    parser.add_argument("--workers", default="2")
    parser.add_argument("--longest", type=float, default=2.0)
    parser.add_argument("--longest-program", type=float, default=math.inf)
    parser.add_argument("--references", action="store_true")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        rows = choose_rows(words)
        ours_file, theirs_file = folder / "samples.jsonl", folder / "programs.json"
        write_samples(ours_file, rows)
        judge = [sys.executable, "-m", "passcurve", "judge", ours_file, "--benchmark", words.problems, "--json"]
        judge += ["--python", words.python, "--workers", words.workers, "--subset", "--accept-benchmark", "--run"]
        cache = {"PASSCURVE_CACHE": str(folder / "cache")}
        first = run([*judge, folder / "first"], folder, cache)
        results = folder / "samples.jsonl_results.jsonl"
        own_s = {row["task_id"]: row["seconds"] for row in read_rows(results)}
        rows = [row for row in rows if own_s[row["task_id"]] <= words.longest_program]
        write_samples(ours_file, rows)
        results.unlink()
        later = run([*judge, folder / "later"], folder, cache)
        theirs_file.write_text(json.dumps(rows))
        theirs_file.chmod(0o644)
        command = [*UNPRIVILEGED, words.evaluator, "-c", THEIRS, theirs_file, words.workers]
        scratch = folder / "theirs"
        scratch.mkdir(mode=0o777)
        scratch.chmod(0o777)
        theirs = run(command, scratch, {"HOME": str(scratch), "MPLCONFIGDIR": str(scratch), "OMP_NUM_THREADS": "1"})
        passes = {row["task_id"]: row["passed"] for row in read_rows(results)}
    print(f"{len(rows)} programs, {words.workers} workers")
    for label, timed in (("bigcodebench", theirs), ("passcurve, calibrating", first), ("passcurve, later", later)):
        ratio = f"{theirs.wall_s / timed.wall_s:6.1f} x wall {theirs.cpu_s / timed.cpu_s:6.1f} x CPU"
        if timed is first and len(rows) < len(own_s):
            ratio = f"with all {len(own_s)} programs"
        print(f"{label:24} {timed.wall_s:8.1f} s wall {timed.cpu_s:8.1f} s CPU {ratio}")
    verdicts = json.loads(theirs.output.splitlines()[-1])
    for task_id, status in verdicts.items():
        if (status == "pass") != passes[task_id]:
            print(f"  {task_id}: bigcodebench {status}, passcurve {'passed' if passes[task_id] else 'failed'}")


def choose_rows(words: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the programs to judge, as both need them."""
    check = [sys.executable, "-m", "passcurve", "bench", "check", str(words.problems), "--json"]
    done = subprocess.run([*check, "--python", words.python], capture_output=True, text=True, check=False)
    checked = {row["problem_id"]: row for row in json.loads(done.stdout)["checked"]}
    solutions = {row["task_id"]: row["solution"] for row in read_rows(words.samples)}
    rows = []
    for problem in load_benchmark(str(words.problems)).problems:
        if checked[problem.id]["faulty"] or checked[problem.id]["own_s"] > words.longest:
            continue
        solution = f"{problem.prompt}{problem.reference}" if words.references else solutions[problem.id]
        prefix: str = problem.check.prefix  # type: ignore[union-attr]
        program = prefix + solution
        row = {"task_id": problem.id, "entry_point": problem.entry_point, "test": problem.test}
        rows.append({**row, "solution": solution, "program": program})
    return rows


def write_samples(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write the programs as passcurve reads them."""
    path.write_text("".join(json.dumps({name: row[name] for name in ("task_id", "solution")}) + "\n" for row in rows))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of samples, plain or gzipped."""
    import gzip

    data = path.read_bytes()
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return [json.loads(line) for line in text.split(b"\n") if line.strip()]


def run(command: list[Any], folder: Path, env: dict[str, str]) -> Timed:
    """Run a command to its end, with the CPU time of all its processes."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **env},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Timed(done.stdout, time.monotonic() - began, cpu_s)


if __name__ == "__main__":
    main()
