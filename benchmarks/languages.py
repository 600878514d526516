"""Time judging programs in another language beside a plain script that compiles and runs each of them.

    python benchmarks/languages.py SAMPLES BENCHMARK [--rounds 3] [--workers 2]

The plain script gets the same sources (program and tests as one), the commands as people write them and as many
workers, but neither walls nor limits of memory; it runs without a network and as an unprivileged user.  Rounds
alternate; the medians and their ratio are printed, with the CPU time of each, its children included.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from passcurve.bench.formats import ReadOptions, read_problems
from passcurve.bench.languages import find_language
from passcurve.judging.scripts import make_source, make_steps
from passcurve.store.lines import open_unpacked
from passcurve.types import Limits, Problem, Script

UNPRIVILEGED = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs")
PLAIN = """
import subprocess, sys, json, os, signal
from concurrent.futures import ThreadPoolExecutor
def call(command, folder, limit_s, environment):
    # A shell leaves what it has started: all of it ends with the limit, and its time counts.
    options = dict(cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    process = subprocess.Popen(command, start_new_session=True, env={**os.environ, **environment}, **options)
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return -1
def run(job):
    folder, compiler, program, compile_s, run_s, environment = job
    is_compiled = not (compiler and call(compiler, folder, compile_s, environment))
    return int(is_compiled and not call(program, folder, run_s, environment))
jobs = json.load(open(sys.argv[1]))
with ThreadPoolExecutor(int(sys.argv[2])) as pool:
    print(sum(pool.map(run, jobs)))
"""


def main() -> None:
    """Compare both on one file of samples."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", type=Path)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("--profile", default="native")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    if os.getuid():
        sys.exit("the plain script needs root, to give it up and to cut off the network")
    problems = {p.id: p for p in read_problems(arguments.benchmark, options=ReadOptions(profile=arguments.profile))}
    with open_unpacked(arguments.samples) as file:
        rows = [json.loads(line) for line in file]
    times: dict[str, list[tuple[float, float]]] = {"plain": [], "passcurve": []}
    for number in range(arguments.rounds):
        order = ("plain", "passcurve") if number % 2 == 0 else ("passcurve", "plain")
        for name in order:
            with tempfile.TemporaryDirectory() as folder:
                Path(folder).chmod(0o755)
                if name == "plain":
                    command = prepare_plain(Path(folder), rows, problems, arguments.workers)
                else:
                    command = prepare_passcurve(Path(folder), arguments)
                wall_s, cpu_s, says = measure(command)
            times[name].append((wall_s, cpu_s))
            print(f"{name:10} {wall_s:7.2f} s wall {cpu_s:7.2f} s CPU  {says}", flush=True)
    for kind, place in (("wall", 0), ("CPU", 1)):
        medians = {name: statistics.median(pair[place] for pair in pairs) for name, pairs in times.items()}
        plain, ours = medians["plain"], medians["passcurve"]
        print(f"{kind}: {plain:.2f} s / {ours:.2f} s = {plain / ours:.2f}")


def prepare_plain(folder: Path, rows: list[dict[str, str]], problems: dict[str, Problem], workers: int) -> list[str]:
    """Write all sources; return the command of the plain script."""
    jobs = []
    for number, row in enumerate(rows):
        problem = problems[row["task_id"]]
        check = problem.check
        assert isinstance(check, Script)
        language = find_language(check.language)
        build = language.find_build(check.builds[0])
        place = folder / str(number)
        place.mkdir()
        text = row.get("solution") or row.get("generation") or problem.prompt + row["completion"]
        source = make_source(check, language, text).encode()
        for name, content in make_steps(language, build, source, 0.0, Limits(), {})[0].setup["files"].items():
            (place / name).write_bytes(content)
        place.chmod(0o777)
        compiler, run = plain_command(build.compile), plain_command(build.run)
        jobs.append((str(place), compiler, run, check.compile_s, problem.timeout_s, language.environment))
    (folder / "jobs.json").write_text(json.dumps(jobs))
    (folder / "plain.py").write_text(PLAIN)
    python = shutil.which("python3", path="/usr/bin") or sys.executable
    return [
        "unshare", "-n", *UNPRIVILEGED, "env", f"PASSCURVE_TOKEN={'0' * 32}", python, str(folder / "plain.py"),
        str(folder / "jobs.json"), str(workers),
    ]  # fmt: skip


def plain_command(words: Sequence[str]) -> list[str]:
    """Return a command without the options that only make a Java machine start faster or bound its memory."""
    return [word for word in words if not word.startswith(("-J-X", "-XX:"))]


def prepare_passcurve(folder: Path, arguments: argparse.Namespace) -> list[str]:
    """Copy the samples; return the command that judges them."""
    samples = folder / arguments.samples.name
    shutil.copy(arguments.samples, samples)
    return [
        sys.executable, "-m", "passcurve", "judge", str(samples), "--benchmark", str(arguments.benchmark.resolve()),
        "--profile", arguments.profile, "--workers", str(arguments.workers), "--no-dedup",
    ]  # fmt: skip


def measure(command: list[str]) -> tuple[float, float, str]:
    """Run a command; return its wall time, its CPU time with that of its children, and the line that counts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall_s = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    counts = next((line for line in lines if "passed" in line), lines[-1] if lines else done.stderr[-200:])
    return wall_s, cpu_s, counts.strip()


if __name__ == "__main__":
    main()
