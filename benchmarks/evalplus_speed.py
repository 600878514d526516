"""Wall time and CPU of passcurve and of EvalPlus' own evaluator on the same samples of HumanEval+, round by round.

    python benchmarks/evalplus_speed.py PROBLEMS SAMPLES --evaluator PYTHON [--rounds 3] [--workers 2] [--light 0.2]

``--evaluator`` has evalplus from the package index and can be run by any user: it runs as nobody, without network, with
the same file of problems.  Before the first round each has judged the samples once, so that passcurve knows how the
problems are checked and EvalPlus has the results of the references.  The floor is the same programs with the same
inputs, as far as passcurve ran them, in one process with nothing around, and the time limit for those that reached it.
With ``--light S`` only the problems count whose sample takes less than S seconds of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

UNPRIVILEGED = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "unshare", "--map-root-user", "-n")
FLOOR = """
import contextlib, copy, io, json, sys, time
problems = {row["task_id"]: row for row in map(json.loads, open(sys.argv[1]))}
sys.set_int_max_str_digits(0)
total = 0.0
for row in map(json.loads, open(sys.argv[2])):
    if row["status"] == "timeout":
        total += row["seconds"]
        continue
    problem, began = problems[row["task_id"]], time.process_time()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        names = {"__name__": "sample"}
        exec(compile(row["program"], "sample", "exec"), names)
        for suite in ("base", "plus"):
            for arguments in problem[f"{suite}_input"][: row.get("tests", {}).get(suite, {}).get("ran", 0)]:
                with contextlib.suppress(Exception):
                    names[problem["entry_point"]](*copy.deepcopy(arguments))
    total += time.process_time() - began
print(total)
"""


class Timed(NamedTuple):
    """The output of a command, and what it took."""

    output: str
    wall_s: float
    cpu_s: float


class Files(NamedTuple):
    """The folder of the measurement, and its files."""

    folder: Path

    @property
    def problems(self) -> Path:
        """The problems, unpacked, for both."""
        return self.folder / "problems.jsonl"

    @property
    def samples(self) -> Path:
        """The samples, for passcurve."""
        return self.folder / "samples.jsonl"

    @property
    def theirs(self) -> Path:
        """The folder of EvalPlus, which anyone may write into."""
        return self.folder / "theirs"


def main() -> None:
    """Measure both in turn, print a table, and name each difference."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("problems", type=Path)
    parser.add_argument("samples", type=Path)
    parser.add_argument("--evaluator", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", default="2")
    parser.add_argument("--light", type=float, default=0.0)
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        files = Files(Path(name))
        files.folder.chmod(0o755)
        files.theirs.mkdir()
        files.theirs.chmod(0o777)
        problems, samples = read_rows(words.problems), read_rows(words.samples)
        write_inputs(files, problems, samples)
        print(f"load before: {os.getloadavg()[0]:.2f}")
        warm = run_ours(files, words.workers)
        if words.light:
            slow = {row["task_id"] for row in results_of(files) if row["seconds"] >= words.light}
            problems = [row for row in problems if row["task_id"] not in slow]
            samples = [row for row in samples if row["task_id"] not in slow]
            write_inputs(files, problems, samples)
            run_ours(files, words.workers)
        run_theirs(files, words.evaluator, words.workers)
        print(f"passcurve, calibrating: {warm.wall_s:.1f} s wall {warm.cpu_s:.1f} s CPU")
        rounds = []
        for number in range(words.rounds):
            pair = [run_theirs(files, words.evaluator, words.workers), run_ours(files, words.workers)]
            rounds.append(pair)
            print(
                f"round {number + 1}: "
                + ", ".join(f"{timed.wall_s:.2f} s wall {timed.cpu_s:.2f} CPU" for timed in pair)
            )
        floor_s = run_floor(files, words.evaluator, samples)
        report(rounds, floor_s, len(samples), words.workers)
        compare(files)
        print(f"load after: {os.getloadavg()[0]:.2f}")


def write_inputs(files: Files, problems: Iterable[dict[str, Any]], samples: Iterable[dict[str, Any]]) -> None:
    """Write the problems and the samples for both."""
    write_rows(files.problems, problems)
    write_rows(files.samples, samples)
    write_rows(files.theirs / "samples.jsonl", samples)


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows that everyone may read."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    path.chmod(0o644)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file, plain or gzipped."""
    data = path.read_bytes()
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return [json.loads(line) for line in text.split(b"\n") if line.strip()]


def run_ours(files: Files, workers: str) -> Timed:
    """Judge with passcurve; what it knows of the problems is kept in the folder."""
    run_folder = files.folder / "run"
    subprocess.run(["rm", "-rf", str(run_folder)], check=True)
    command = [sys.executable, "-m", "passcurve", "judge", files.samples, "--benchmark", files.problems, "--json"]
    command += ["--workers", workers, "--accept-input", "--accept-benchmark", "--run", run_folder]
    return run(command, files.folder, {"PASSCURVE_CACHE": str(files.folder / "cache")})


def run_theirs(files: Files, evaluator: str, workers: str) -> Timed:
    """Judge with EvalPlus, which keeps the results of the references in its home."""
    results = files.theirs / "samples_eval_results.json"
    results.unlink(missing_ok=True)
    command = [*UNPRIVILEGED, evaluator, "-m", "evalplus.evaluate", "--dataset", "humaneval", "--samples"]
    command += ["samples.jsonl", "--parallel", workers]
    home = {"HOME": str(files.theirs), "HUMANEVAL_OVERRIDE_PATH": str(files.problems), "OMP_NUM_THREADS": "1"}
    return run(command, files.theirs, home)


def run_floor(files: Files, evaluator: str, samples: list[dict[str, Any]]) -> float:
    """Return the CPU time of the programs alone."""
    problems = {row["task_id"]: row for row in read_rows(files.problems)}
    rows = []
    for sample, result in zip(samples, results_of(files), strict=True):
        prompt = problems[sample["task_id"]]["prompt"]
        program = sample["solution"] if "solution" in sample else prompt + sample["completion"]
        rows.append({**result, "program": program})
    write_rows(files.theirs / "floor.jsonl", rows)
    command = [*UNPRIVILEGED, evaluator, "-c", FLOOR, files.problems, files.theirs / "floor.jsonl"]
    return float(run(command, files.theirs, {"HOME": str(files.theirs)}).output)


def results_of(files: Files) -> list[dict[str, Any]]:
    """Return the rows that passcurve wrote last."""
    return read_rows(files.folder / "samples.jsonl_results.jsonl")


def run(command: list[Any], folder: Path, env: dict[str, str]) -> Timed:
    """Run a command to its end, with the CPU time of all its processes."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Timed(done.stdout, time.monotonic() - began, cpu_s)


def report(rounds: list[list[Timed]], floor_s: float, samples: int, workers: str) -> None:
    """Print the medians of all rounds, and of the ratios in each."""
    print(f"{samples} samples, {workers} workers, {len(rounds)} rounds in turn, medians; floor {floor_s:.2f} s of CPU")
    for label, at in (("evalplus", 0), ("passcurve", 1)):
        wall_s, cpu_s = (statistics.median(values) for values in zip(*[pair[at][1:] for pair in rounds], strict=True))
        print(f"  {label:10} {wall_s:8.2f} s wall {cpu_s:8.2f} s CPU {cpu_s - floor_s:8.2f} s CPU above the floor")
    ratios = [(theirs.wall_s / ours.wall_s, theirs.cpu_s / ours.cpu_s) for theirs, ours in rounds]
    wall, cpu = (statistics.median(values) for values in zip(*ratios, strict=True))
    print(f"  evalplus takes {wall:.1f} times the wall time and {cpu:.1f} times the CPU")


def compare(files: Files) -> None:
    """Name each sample on which the two differ."""
    with contextlib.suppress(FileNotFoundError):
        theirs = json.loads((files.theirs / "samples_eval_results.json").read_text())["eval"]
        numbers: dict[str, int] = {}
        for row in results_of(files):
            task_id = row["task_id"]
            verdict = theirs[task_id][numbers.setdefault(task_id, 0)]
            numbers[task_id] += 1
            passes = verdict["base_status"] == verdict["plus_status"] == "pass"
            if passes != row["passed"]:
                words = f"{verdict['base_status']}, {verdict['plus_status']}"
                print(f"  {task_id}: evalplus {words}; passcurve {row['result']}")


if __name__ == "__main__":
    main()
