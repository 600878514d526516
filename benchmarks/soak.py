"""A soak of ``judge``: very many judgements of every kind in one run, watched from outside for what grows.

    python benchmarks/soak.py SAMPLES PROBLEMS [--judgements 200000] [--workers 2] [--every 5] [--plain]

The rows are attacks (exits, crashes, patched builtins, objects equal to everything, files left, threads, memory hogs,
sockets, forks, deep recursion and the like), controls (the reference solution and a wrong answer), and the real
completions of SAMPLES.  Each has a status that it must get.  That of a control or an attack is known; that of a real
completion is what two short runs before the soak agree on, and completions that they do not agree on, or that are
slow, are left out.  Only problems whose controls come out right and quickly are used.

While ``passcurve judge --no-dedup`` works on them, every few seconds these figures are read from /proc: descriptors
and memory of the supervisor, number of processes, memory of the zygotes and of the largest process of tests, mounts
of the host and of a jail, and bytes in the scratches (root alone can see the last two).  At the end it prints the wall
time, the wrong verdicts, those that are void with reasons, and each figure at 10 % and at 100 % of the run: medians
over its first fifth, without the first twentieth, and over its last fifth.

With ``--plain`` there are controls alone, each wrong one with a value of its own.  None of them leaves the process that
it is judged in, so each zygote must have the same traced process from the first look to the last: one that differs from
its snapshot, which is compared every 1,000 jobs, or that was not as expected otherwise, is replaced.

The exit code is 1 when a verdict was wrong or void, when a process or mount was left, or when a figure grew by more
than its bound, which is printed beside it; the supervisor's memory is allowed some bytes a row, because it keeps an
index.  200,000 judgements take about a quarter of an hour on two idle cores.
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
LEAVING = {"HumanEval/36", "HumanEval/147", "HumanEval/162"}
"""Problems whose reference solution asks the kernel for memory, or loads a library: that costs the process it is in."""

QUICK_S = 0.1
"""A completion that takes longer in the short runs is left out."""

MIB = 1 << 20
ROW_BYTES = 160
"""What the supervisor may keep in memory for each row."""

LATE_BYTES = 48 * MIB
"""What the supervisor may load late: numpy and scipy, for the first estimate."""

WRONG = "    return None\n"
ATTACKS = {
    # name: (weight, status, body); bodies that end with a return give the tests a wrong answer
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
"""Weights of each kind of control and of the real completions, beside those of the attacks."""


@dataclass(frozen=True)
class Row:
    """One row of the soak and the status that it must get."""

    kind: str
    task: str
    completion: str
    status: str


@dataclass(frozen=True)
class Sample:
    """What was seen at one moment; a figure that cannot be seen is None."""

    stored_bytes: int
    figures: dict[str, float | None]


def rows_of(path: Path) -> list[dict]:
    """Return the rows of a JSONL file, packed or not."""
    packed = path.read_bytes()[:2] == b"\x1f\x8b"
    with gzip.open(path, "rt") if packed else path.open() as file:
        return [json.loads(line) for line in file]


# The rows.


def judge(rows: list[Row], name: str, options: argparse.Namespace, folder: Path, *words: str) -> subprocess.Popen:
    """Start judging rows; the run directory and what is said lie in the folder under that name."""
    samples = folder / f"{name}.jsonl"
    with samples.open("w") as file:
        for row in rows:
            file.write(json.dumps({"task_id": row.task, "completion": row.completion}) + "\n")
    command = [*COMMAND, "judge", str(samples), "--benchmark", str(options.problems.resolve()), "--subset", "--json"]
    command += ["--k", "1", "--timeout", "1", "--memory", "512MiB", "--workers", str(options.workers)]
    command += ["--run", str(folder / name), "--results", str(folder / f"{name}.results")]
    log = (folder / f"{name}.log").open("wb")
    return subprocess.Popen([*command, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder)


def verdicts(folder: Path) -> Iterator[tuple[int, dict]]:
    """Return the number of the row and the verdict of each line of a run directory."""
    for part in sorted(folder.glob("verdicts-*.jsonl")):
        with part.open("rb") as file:
            next(file, None)
            for line in file:
                if line.strip():
                    record = json.loads(line)
                    yield record["row"], record["verdict"]


def try_out(rows: list[Row], name: str, options: argparse.Namespace, folder: Path) -> list[tuple[str, float]]:
    """Judge rows and return status and seconds of each."""
    process = judge(rows, name, options, folder)
    if process.wait() not in (0, 2):
        sys.exit(f"the short run failed:\n{(folder / f'{name}.log').read_text()[-2000:]}")
    found = {row: (verdict["status"], verdict.get("own_s", 0.0)) for row, verdict in verdicts(folder / name)}
    return [found[number] for number in range(len(rows))]


def usable(options: argparse.Namespace, folder: Path) -> tuple[list[dict], list[Row]]:
    """Return the problems whose controls come out right, and the real completions whose status is certain."""
    problems = rows_of(options.problems)
    rows = [Row("right", each["task_id"], each["canonical_solution"], "passed") for each in problems]
    rows += [Row("wrong", each["task_id"], WRONG, "failed") for each in problems]
    rows += [Row("real", each["task_id"], each["completion"], "") for each in rows_of(options.samples)]
    first, second = (try_out(rows, name, options, folder) for name in ("first", "second"))
    certain = [
        Row(row.kind, row.task, row.completion, was)
        for row, (was, long), (again, longer) in zip(rows, first, second, strict=True)
        if was == again and row.status in ("", was) and max(long, longer) < QUICK_S and was not in ("timeout", "void")
    ]
    controls = Counter(row.task for row in certain if row.kind != "real")
    left_out = LEAVING if options.plain else set()
    chosen = [each for each in problems if controls[each["task_id"]] == 2 and each["task_id"] not in left_out]
    if not chosen:
        sys.exit("no problem has controls that come out right")
    return chosen, [row for row in certain if row.kind == "real" and controls[row.task] == 2]


def compose(problems: list[dict], real: list[Row], judgements: int, *, plain: bool) -> list[Row]:
    """Return the rows of the soak, mixed; the same for the same arguments."""
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


# What is seen from outside.


def fields_of(pid: int) -> dict[str, str]:
    """Return the lines of a process's status by name; nothing when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text("utf-8", "replace").splitlines()
    except OSError:
        return {}
    return dict(line.partition(":")[::2] for line in lines)


def children() -> dict[int, list[int]]:
    """Return the children of every process that is not a zombie."""
    found: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            fields = fields_of(int(entry.name))
            if fields and fields.get("State", "Z").strip()[0] not in "ZX":
                found.setdefault(int(fields["PPid"]), []).append(int(entry.name))
    return found


def memory_of(pid: int, field: str = "VmRSS") -> float:
    """Return the bytes of memory that a process has in use, or another field of its status in bytes."""
    return float(fields_of(pid).get(field, "0 kB").split()[0]) * 1024


def entries(pid: int, folder: str) -> float | None:
    """Return how many entries a folder of a process has, None where that cannot be read."""
    try:
        return float(sum(1 for _ in Path(f"/proc/{pid}/{folder}").iterdir()))
    except OSError:
        return None


def is_sample(pid: int) -> bool:
    """Say whether a process's CPU time is bounded, as that of samples is."""
    try:
        return "Max cpu time              unlimited" not in Path(f"/proc/{pid}/limits").read_text()
    except OSError:
        return True


def scratch_bytes(pid: int) -> float | None:
    """Return the bytes in the scratch of a zygote, None where they cannot be seen."""
    try:
        room = os.statvfs(f"/proc/{pid}/root/tmp")
        apart = Path(f"/proc/{pid}/root").stat().st_dev != Path("/").stat().st_dev
    except OSError:
        return None
    return float((room.f_blocks - room.f_bfree) * room.f_frsize) if apart else None


def lines_of(pid: int | str, file: str) -> float | None:
    """Return how many lines a file of a process has, None where that cannot be read."""
    try:
        return float(Path(f"/proc/{pid}/{file}").read_bytes().count(b"\n"))
    except OSError:
        return None


def largest(values: list[float | None]) -> float | None:
    """Return the largest of what can be seen, None when nothing can."""
    seen = [value for value in values if value is not None]
    return max(seen) if seen else None


def look(supervisor: int, run: Path, ever: set[int], rewound: set[int]) -> Sample:
    """Read every figure once; the processes seen are added to ``ever``, those that are rewound to ``rewound``."""
    family = children()
    starters = family.get(supervisor, [])
    waiting = [pid for starter in starters for pid in family.get(starter, [])]
    zygotes = [pid for each in waiting for pid in family.get(each, [])]
    jailed = [pid for zygote in zygotes for pid in family.get(zygote, [])]
    ever.update(starters, waiting, zygotes, jailed)
    traced = [pid for pid in jailed if fields_of(pid).get("TracerPid", "0").strip() != "0"]
    rewound.update(traced)
    tests = [pid for pid in jailed if not is_sample(pid)]
    return Sample(
        sum(part.stat().st_size for part in run.glob("verdicts-*.jsonl")),
        {
            "descriptors of the supervisor": entries(supervisor, "fd"),
            "descriptors of a zygote": largest([entries(pid, "fd") for pid in zygotes]),
            "descriptors of a rewound process": largest([entries(pid, "fd") for pid in traced]),
            "mappings of a rewound process": largest([lines_of(pid, "maps") for pid in traced]),
            "address space of a rewound process": largest([memory_of(pid, "VmSize") for pid in traced]),
            "processes": float(len(starters) + len(waiting) + len(zygotes) + len(tests)),
            "memory of the supervisor": memory_of(supervisor),
            "memory of the zygotes": sum(map(memory_of, [*starters, *waiting, *zygotes])),
            "memory of the largest tests": largest([memory_of(pid) for pid in tests]),
            "mounts of the host": lines_of("self", "mounts"),
            "mounts of a jail": largest([lines_of(pid, "mounts") for pid in zygotes]),
            "bytes in the scratches": largest([scratch_bytes(pid) for pid in zygotes]),
        },
    )


def bounds(judgements: int, workers: int) -> dict[str, float]:
    """Return how much each figure may grow."""
    return {
        "descriptors of the supervisor": 4,
        "descriptors of a zygote": 4,
        "descriptors of a rewound process": 0,
        # Areas are split and merged while it is learned which pages most samples write.
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


def median_between(seen: list[Sample], name: str, first: float, last: float) -> float | None:
    """Return the median of a figure over the part of the run between two shares of what was stored."""
    whole = max(sample.stored_bytes for sample in seen)
    chosen = [sample for sample in seen if first * whole <= sample.stored_bytes <= last * whole]
    values = [value for sample in chosen or seen if (value := sample.figures[name]) is not None]
    return statistics.median(values) if values else None


def growth(seen: list[Sample], judgements: int, workers: int) -> bool:
    """Print each figure at the two ends of the run; return whether one grew by more than its bound."""
    bad = False
    print("\n| figure | at 10 % | at 100 % | may grow by | verdict |\n|---|---|---|---|---|")
    for name, bound in bounds(judgements, workers).items():
        begin, end = median_between(seen, name, 0.05, 0.2), median_between(seen, name, 0.8, 1.0)
        if begin is None or end is None:
            print(f"| {name} | - | - | {bound:,.0f} | cannot be seen |")
            continue
        grows = end - begin > bound
        bad |= grows
        print(f"| {name} | {begin:,.0f} | {end:,.0f} | {bound:,.0f} | {'GROWING' if grows else 'flat'} |")
    return bad


def compare(rows: list[Row], run: Path) -> bool:
    """Print what came out otherwise than it must; return whether anything did."""
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
    for (kind, must, said), count in wrong.most_common():
        print(f"  {count} of {kind!r}: {said} instead of {must}")
    print(f"void: {sum(void.values())}")
    for reason, count in void.most_common(20):
        print(f"  {count}: {reason}")
    return bool(wrong or void or lost or doubled)


def left_over(ever: set[int]) -> bool:
    """Print which processes of the run are still there; return whether any is."""
    time.sleep(1)
    alive = sorted(ever & {pid for family in children().values() for pid in family})
    left = [pid for pid in alive if b"forkserver_boot.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    print(f"processes left: {len(left)}")
    return bool(left)


def soak(rows: list[Row], options: argparse.Namespace, folder: Path) -> bool:
    """Judge the rows, watching; print the report and return whether something is bad."""
    seen: list[Sample] = []
    ever: set[int] = set()
    rewound: set[int] = set()
    mounts = lines_of("self", "mounts")
    began = time.monotonic()
    with judge(rows, "soak", options, folder, "--no-dedup") as process:
        while True:
            try:
                process.wait(timeout=options.every)
                break
            except subprocess.TimeoutExpired:
                seen.append(look(process.pid, folder / "soak", ever, rewound))
    wall = time.monotonic() - began
    print(f"\n{len(rows):,} judgements in {wall:.0f} s wall, {len(rows) / wall:.0f} a second", end="")
    print(f", {options.workers} workers; exit code {process.returncode}; {len(seen)} looks")
    said = [line for line in (folder / "soak.log").read_text().splitlines() if not line.startswith("{")]
    print("\n".join(said[-3:]))
    bad = compare(rows, folder / "soak")
    bad |= left_over(ever)
    bad |= lines_of("self", "mounts") != mounts
    print(f"processes that were rewound: {len(rewound)}, two for each worker where none was replaced")
    bad |= options.plain and len(rewound) > 2 * options.workers
    bad |= process.returncode != 0
    if seen and max(sample.stored_bytes for sample in seen):
        bad |= growth(seen, len(rows), options.workers)
    return bad


def main() -> None:
    """Try out, soak, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", type=Path)
    parser.add_argument("problems", type=Path)
    parser.add_argument("--judgements", type=int, default=200_000)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two looks")
    parser.add_argument("--plain", action="store_true", help="controls alone")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    try:
        problems, real = usable(options, folder)
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
