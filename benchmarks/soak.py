"""Soak test of ``judge``: very many judgements of every kind in one run, with a check that no resource use grows.

    python benchmarks/soak.py SAMPLES PROBLEMS [--judgements 200000] [--workers 2] [--every 5] [--plain]

The rows are attacks (exits, crashes, patched builtins, objects equal to everything, files, threads, large memory,
sockets, forks, deep recursion and the like), controls (the reference solution and a wrong answer), and the completions
of SAMPLES.  Each has an expected status.  For a completion it is the status of two short runs before the soak test;
completions whose two statuses differ, or that are slow, are left out.  Only problems are used whose controls get the
right status quickly.

While ``passcurve judge --no-dedup`` runs, these figures are read from /proc every few seconds: descriptors and memory
of the supervisor, number of processes, memory of the zygotes and of the largest referee, mounts of the host and of a
jail, and bytes in the scratch folders (the last two need root).  At the end it prints the wall time, the wrong and the
void verdicts, and each figure at 10 % and at 100 % of the run: medians of its first fifth, without the first twentieth,
and of its last fifth.

With ``--plain`` all rows are controls, and each wrong one returns another value.  None of them ends its process, so
each zygote must keep the same traced process for the whole run: a process that differs from its snapshot, which is
compared every 1,000 jobs, would be replaced.

The exit code is 1 if a verdict was wrong or void, if a process or mount was left, or if a figure grew by more than the
bound printed beside it.  The supervisor may use some bytes of memory for each row, because it keeps an index.  200,000
judgements take about a quarter of an hour on two idle cores.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMMAND = [sys.executable, "-m", "passcurve"]
UNSUITABLE = {"HumanEval/36", "HumanEval/147", "HumanEval/162"}
"""Problems whose reference solution maps memory or loads a library: its process cannot be rewound."""

QUICK_S = 0.1
"""Largest time of a completion in the short runs; slower ones are left out."""

MIB = 1 << 20
ROW_BYTES = 160
"""Memory that the supervisor may keep for each row, in bytes."""

LATE_BYTES = 48 * MIB
"""Memory for modules that the supervisor loads late, in bytes: numpy and scipy, for the first estimate."""

WRONG = "    return None\n"
ATTACKS = {
    # name: (weight, status, body); a body that ends with a return statement returns a wrong result
    "exit": (300, "crash", "    import os\n    os._exit(0)\n"),
    "exit politely": (300, "failed", "    raise SystemExit(0)\n"),
    "patched builtins": (
        300,
        "failed",
        "    import builtins\n"
        "    builtins.abs = builtins.all = builtins.any = builtins.sum = builtins.round = lambda *_: True\n"
        "    builtins.AssertionError = Exception\n" + WRONG,
    ),
    "equal to everything": (
        300,
        "failed",
        "    class Equal:\n"
        "        __eq__ = __le__ = __ge__ = __lt__ = __gt__ = lambda *_: True\n"
        "        __bool__ = lambda *_: True\n"
        "        __hash__ = None\n"
        "    return Equal()\n",
    ),
    "modules replaced": (100, "failed", "    import sys\n    sys.modules.clear()\n" + WRONG),
    "frames searched": (
        100,
        "failed",
        "    import gc, sys\n    frame = sys._getframe()\n"
        "    while frame:\n        frame.f_globals.update(check=None, candidate=None)\n        frame = frame.f_back\n"
        + WRONG,
    ),
    "files left": (
        200,
        "failed",
        "    import os\n    for n in range(20):\n        open(f'left-{n}', 'w').write('x' * 1000)\n"
        "    os.makedirs('a/b/c', exist_ok=True)\n" + WRONG,
    ),
    "threads": (
        100,
        "failed",
        "    import threading, time\n"
        "    for _ in range(5):\n        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        + WRONG,
    ),
    "socket": (200, "failed", "    import socket\n    return socket.socket()\n"),
    "fork": (200, "failed", "    import os\n    return os.fork()\n"),
    "kill the parent": (100, "failed", "    import os\n    return os.kill(os.getppid(), 9)\n"),
    "read the host": (100, "failed", "    return open('/etc/shadow').read()\n"),
    "recursion": (100, "failed", "    def deep(n):\n        return deep(n + 1)\n    return deep(0)\n"),
    "signals ignored": (
        100,
        "failed",
        "    import signal\n    for n in (2, 10, 12, 14, 15):\n        signal.signal(n, signal.SIG_IGN)\n"
        "    signal.alarm(1)\n" + WRONG,
    ),
    "memory within bounds": (20, "failed", "    held = b'x' * (48 << 20)\n" + WRONG),
    "too much memory": (200, "memory", "    return len(bytes(1 << 40))\n"),
    "memory until it ends": (2, "memory", "    held = []\n    while True: held.append(bytes(1 << 24))\n"),
    "killed by SIGSEGV": (100, "crash", "    import os\n    os.kill(os.getpid(), 11)\n"),
    "killed by SIGABRT": (100, "crash", "    import os\n    os.abort()\n"),
    "line closed": (20, "crash", "    import os\n    os.closerange(3, 64)\n"),
    "nonsense on the line": (
        1,
        "crash",
        "    import os\n    for line in range(3, 64):\n"
        "        try: os.write(line, b'\\4\\0\\0\\0' + b'\\xff' * 4)\n        except OSError: pass\n" + WRONG,
    ),
    "too much output": (2, "output", "    return 'x' * (65 << 20)\n"),
    "no program": (50, "compile", "    return (\n"),
    "nothing": (20, "no_code", ""),
    "endless": (1, "timeout", "    while True: pass\n"),
    "asleep": (1, "timeout", "    import time\n    time.sleep(60)\n"),
}
CONTROLS, REAL = 3000, 3500
"""Weights of each kind of control and of the completions."""


@dataclass(frozen=True)
class Row:
    """One row and its expected status."""

    kind: str
    task: str
    completion: str
    status: str


@dataclass(frozen=True)
class Observation:
    """The figures at one moment; a figure that cannot be read is None."""

    stored_bytes: int
    figures: dict[str, float | None]


def rows_of(path: Path) -> list[dict]:
    """Return the rows of a JSONL file, which may be gzipped."""
    is_gzipped = path.read_bytes()[:2] == b"\x1f\x8b"
    with gzip.open(path, "rt") if is_gzipped else path.open() as file:
        return [json.loads(line) for line in file]


# The rows.


def judge(rows: list[Row], name: str, options: argparse.Namespace, folder: Path, *more: str) -> subprocess.Popen:
    """Start to judge rows; the run directory and the log get this name in the folder."""
    samples = folder / f"{name}.jsonl"
    with samples.open("w") as file:
        for row in rows:
            file.write(json.dumps({"task_id": row.task, "completion": row.completion}) + "\n")
    command = [*COMMAND, "judge", str(samples), "--benchmark", str(options.problems.resolve()), "--subset", "--json"]
    command += ["--k", "1", "--timeout", "1", "--memory", "512MiB", "--workers", str(options.workers)]
    command += ["--run", str(folder / name), "--results", str(folder / f"{name}.results")]
    log = (folder / f"{name}.log").open("wb")
    return subprocess.Popen([*command, *more], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder)


def verdicts(folder: Path) -> Iterator[tuple[int, dict]]:
    """Yield row number and verdict of each line of a run directory."""
    for part in sorted(folder.glob("verdicts-*.jsonl")):
        with part.open("rb") as file:
            next(file, None)
            for line in file:
                if line.strip():
                    record = json.loads(line)
                    yield record["row"], record["verdict"]


def try_out(rows: list[Row], name: str, options: argparse.Namespace, folder: Path) -> list[tuple[str, float]]:
    """Judge rows and return the status and the time of each."""
    process = judge(rows, name, options, folder)
    if process.wait() not in (0, 2):
        sys.exit(f"the short run failed:\n{(folder / f'{name}.log').read_text()[-2000:]}")
    statuses = {row: (verdict["status"], verdict.get("own_s", 0.0)) for row, verdict in verdicts(folder / name)}
    return [statuses[number] for number in range(len(rows))]


def select_rows(options: argparse.Namespace, folder: Path) -> tuple[list[dict], list[Row]]:
    """Return the problems whose controls get the right status, and the completions whose status is reproducible."""
    problems = rows_of(options.problems)
    rows = [Row("right", problem["task_id"], problem["canonical_solution"], "passed") for problem in problems]
    rows += [Row("wrong", problem["task_id"], WRONG, "failed") for problem in problems]
    rows += [Row("real", sample["task_id"], sample["completion"], "") for sample in rows_of(options.samples)]
    first, second = (try_out(rows, name, options, folder) for name in ("first", "second"))
    reproducible = [
        Row(row.kind, row.task, row.completion, status)
        for row, (status, first_s), (second_status, second_s) in zip(rows, first, second, strict=True)
        if status == second_status and row.status in ("", status) and status not in ("timeout", "void")
        if max(first_s, second_s) < QUICK_S
    ]
    controls = Counter(row.task for row in reproducible if row.kind != "real")
    left_out = UNSUITABLE if options.plain else set()
    chosen = [
        problem for problem in problems if controls[problem["task_id"]] == 2 and problem["task_id"] not in left_out
    ]
    if not chosen:
        sys.exit("no problem has controls that get the right status")
    return chosen, [row for row in reproducible if row.kind == "real" and controls[row.task] == 2]


def compose(problems: list[dict], real: list[Row], judgements: int, *, plain: bool) -> list[Row]:
    """Return the rows of the soak test, shuffled; equal for equal arguments."""
    chance = random.Random(0)
    kinds = {"right": CONTROLS, "wrong": CONTROLS}
    if not plain:
        kinds |= {"real": REAL} if real else {}
        kinds |= {name: weight for name, (weight, _, _) in ATTACKS.items()}
    rows = []
    for number, kind in enumerate(chance.choices(list(kinds), list(kinds.values()), k=judgements)):
        problem = problems[number % len(problems)]
        if kind == "real":
            rows.append(real[number % len(real)])
        elif kind in ATTACKS:
            _, status, body = ATTACKS[kind]
            rows.append(Row(kind, problem["task_id"], body, status))
        elif kind == "right":
            rows.append(Row(kind, problem["task_id"], problem["canonical_solution"], "passed"))
        else:
            body = f"    return {number} / 3\n" if plain else WRONG
            rows.append(Row(kind, problem["task_id"], body, "failed"))
    return rows


# Figures.


def fields_of(pid: int) -> dict[str, str]:
    """Return the fields of a process's status; none if the process has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text("utf-8", "replace").splitlines()
    except OSError:
        return {}
    return dict(line.partition(":")[::2] for line in lines)


def children() -> dict[int, list[int]]:
    """Return the children of every process, without zombies."""
    children_of: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            fields = fields_of(int(entry.name))
            if fields and fields.get("State", "Z").strip()[0] not in "ZX":
                children_of.setdefault(int(fields["PPid"]), []).append(int(entry.name))
    return children_of


def memory_of(pid: int, field: str = "VmRSS") -> float:
    """Return the resident memory of a process, or another field of its status, in bytes."""
    return float(fields_of(pid).get(field, "0 kB").split()[0]) * 1024


def count_entries(pid: int, folder: str) -> float | None:
    """Return the number of entries in a folder of a process; None if it cannot be read."""
    try:
        return float(sum(1 for _ in Path(f"/proc/{pid}/{folder}").iterdir()))
    except OSError:
        return None


def is_sample(pid: int) -> bool:
    """Return whether a process has a limit of CPU time, as samples have."""
    try:
        return "Max cpu time              unlimited" not in Path(f"/proc/{pid}/limits").read_text()
    except OSError:
        return True


def scratch_bytes(pid: int) -> float | None:
    """Return the bytes used in the scratch folder of a zygote; None if they cannot be read."""
    try:
        usage = os.statvfs(f"/proc/{pid}/root/tmp")
        has_own_root = Path(f"/proc/{pid}/root").stat().st_dev != Path("/").stat().st_dev
    except OSError:
        return None
    return float((usage.f_blocks - usage.f_bfree) * usage.f_frsize) if has_own_root else None


def count_lines(pid: int | str, file: str) -> float | None:
    """Return the number of lines of a file of a process; None if it cannot be read."""
    try:
        return float(Path(f"/proc/{pid}/{file}").read_bytes().count(b"\n"))
    except OSError:
        return None


def largest(values: list[float | None]) -> float | None:
    """Return the largest value that is not None; None if there is none."""
    return max((value for value in values if value is not None), default=None)


def observe(supervisor: int, run: Path, all_pids: set[int], rewound_pids: set[int]) -> Observation:
    """Read every figure once; add all processes to ``all_pids`` and the rewound ones to ``rewound_pids``."""
    family = children()
    starters = family.get(supervisor, [])
    waiting = [pid for starter in starters for pid in family.get(starter, [])]
    zygotes = [pid for parent in waiting for pid in family.get(parent, [])]
    jailed = [pid for zygote in zygotes for pid in family.get(zygote, [])]
    all_pids.update(starters, waiting, zygotes, jailed)
    traced = [pid for pid in jailed if fields_of(pid).get("TracerPid", "0").strip() != "0"]
    rewound_pids.update(traced)
    tests = [pid for pid in jailed if not is_sample(pid)]
    return Observation(
        sum(part.stat().st_size for part in run.glob("verdicts-*.jsonl")),
        {
            "descriptors of the supervisor": count_entries(supervisor, "fd"),
            "descriptors of a zygote": largest([count_entries(pid, "fd") for pid in zygotes]),
            "descriptors of a rewound process": largest([count_entries(pid, "fd") for pid in traced]),
            "mappings of a rewound process": largest([count_lines(pid, "maps") for pid in traced]),
            "address space of a rewound process": largest([memory_of(pid, "VmSize") for pid in traced]),
            "processes": float(len(starters) + len(waiting) + len(zygotes) + len(tests)),
            "memory of the supervisor": memory_of(supervisor),
            "memory of the zygotes": sum(map(memory_of, [*starters, *waiting, *zygotes])),
            "memory of the largest tests": largest([memory_of(pid) for pid in tests]),
            "mounts of the host": count_lines("self", "mounts"),
            "mounts of a jail": largest([count_lines(pid, "mounts") for pid in zygotes]),
            "bytes in the scratches": largest([scratch_bytes(pid) for pid in zygotes]),
        },
    )


def bounds(judgements: int, workers: int) -> dict[str, float]:
    """Return the largest growth of each figure."""
    return {
        "descriptors of the supervisor": 4,
        "descriptors of a zygote": 4,
        "descriptors of a rewound process": 0,
        # Mappings are split and merged until the pages that most samples write are known.
        "mappings of a rewound process": 20,
        "address space of a rewound process": 0,
        "processes": 2 * workers,
        "memory of the supervisor": LATE_BYTES + ROW_BYTES * judgements,
        "memory of the zygotes": 4 * MIB * workers,
        "memory of the largest tests": 32 * MIB,
        "mounts of the host": 0,
        "mounts of a jail": 0,
        "bytes in the scratches": MIB,
    }


# The report.


def median_between(observations: list[Observation], name: str, first: float, last: float) -> float | None:
    """Return the median of a figure over a part of the run, given as two shares of its stored bytes."""
    whole = max(observation.stored_bytes for observation in observations)
    part = [item for item in observations if first * whole <= item.stored_bytes <= last * whole]
    values = [value for item in part or observations if (value := item.figures[name]) is not None]
    return statistics.median(values) if values else None


def report_growth(observations: list[Observation], judgements: int, workers: int) -> bool:
    """Print each figure at both ends of the run; return whether one grew by more than its bound."""
    bad = False
    print("\n| figure | at 10 % | at 100 % | may grow by | verdict |\n|---|---|---|---|---|")
    for name, bound in bounds(judgements, workers).items():
        begin, end = median_between(observations, name, 0.05, 0.2), median_between(observations, name, 0.8, 1.0)
        if begin is None or end is None:
            print(f"| {name} | - | - | {bound:,.0f} | cannot be seen |")
            continue
        grows = end - begin > bound
        bad |= grows
        print(f"| {name} | {begin:,.0f} | {end:,.0f} | {bound:,.0f} | {'GROWING' if grows else 'flat'} |")
    return bad


def report_verdicts(rows: list[Row], run: Path) -> bool:
    """Print the verdicts that are wrong, void or missing; return whether there are any."""
    wrong: Counter[tuple[str, str, str]] = Counter()
    void: Counter[str] = Counter()
    times: Counter[int] = Counter()
    for number, verdict in verdicts(run):
        times[number] += 1
        if verdict["status"] == "void":
            void[verdict.get("message", "")] += 1
        elif verdict["status"] != rows[number].status:
            wrong[rows[number].kind, rows[number].status, verdict["status"]] += 1
            if sum(wrong.values()) <= 10:
                print(f"row {number}: {rows[number]} is {json.dumps(verdict)[:500]}")
    lost, doubled = len(rows) - len(times), sum(count > 1 for count in times.values())
    bystanders = sum(count for (kind, _, _), count in wrong.items() if kind not in ATTACKS)
    print(f"wrong: {sum(wrong.values())}, of them bystanders: {bystanders}; lost: {lost}; stored twice: {doubled}")
    for (kind, expected, status), count in wrong.most_common():
        print(f"  {count} of {kind!r}: {status} instead of {expected}")
    print(f"void: {sum(void.values())}")
    for reason, count in void.most_common(20):
        print(f"  {count}: {reason}")
    return bool(wrong or void or lost or doubled)


def report_processes(pids: set[int]) -> bool:
    """Print the number of processes that the run left; return whether there are any."""
    time.sleep(1)
    alive = sorted(pids & {pid for family in children().values() for pid in family})
    left = [pid for pid in alive if b"forkserver_boot.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    print(f"processes left: {len(left)}")
    return bool(left)


def soak(rows: list[Row], options: argparse.Namespace, folder: Path) -> bool:
    """Judge and observe the rows, print the report, and return whether something is wrong."""
    observations: list[Observation] = []
    all_pids: set[int] = set()
    rewound_pids: set[int] = set()
    mounts = count_lines("self", "mounts")
    began = time.monotonic()
    with judge(rows, "soak", options, folder, "--no-dedup") as process:
        while True:
            try:
                process.wait(timeout=options.every)
                break
            except subprocess.TimeoutExpired:
                observations.append(observe(process.pid, folder / "soak", all_pids, rewound_pids))
    wall = time.monotonic() - began
    print(f"\n{len(rows):,} judgements in {wall:.0f} s wall, {len(rows) / wall:.0f} a second", end="")
    print(f", {options.workers} workers; exit code {process.returncode}; {len(observations)} observations")
    log = [line for line in (folder / "soak.log").read_text().splitlines() if not line.startswith("{")]
    print("\n".join(log[-3:]))
    bad = report_verdicts(rows, folder / "soak")
    bad |= report_processes(all_pids)
    bad |= count_lines("self", "mounts") != mounts
    print(f"processes that were rewound: {len(rewound_pids)}, two for each worker where none was replaced")
    bad |= options.plain and len(rewound_pids) > 2 * options.workers
    bad |= process.returncode != 0
    if observations and max(item.stored_bytes for item in observations):
        bad |= report_growth(observations, len(rows), options.workers)
    return bad


def main() -> None:
    """Select the rows, judge them and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", type=Path)
    parser.add_argument("problems", type=Path)
    parser.add_argument("--judgements", type=int, default=200_000)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two observations")
    parser.add_argument("--plain", action="store_true", help="judge controls only")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    try:
        problems, real = select_rows(options, folder)
        rows = compose(problems, real, options.judgements, plain=options.plain)
        kinds = Counter("attack" if row.kind in ATTACKS else row.kind for row in rows)
        print(f"{len(problems)} problems, {len(real)} real completions; rows: {dict(kinds)}", flush=True)
        bad = soak(rows, options, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("\nBAD" if bad else "\ngood")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
