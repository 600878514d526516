"""CPU time of a command and all below it: how much by perf, in which functions of Python by py-spy.

Neither says enough alone.  perf counts CPU time exactly and knows the kernel, but of CPython before 3.12 it sees the
interpreter's loop and not what that runs.  py-spy sees functions, but takes a process that waits inside the jail for
one that works, and misses those that live for milliseconds.  So each role's time in Python is as long as perf says, and
is divided among its functions as py-spy says, without those that wait.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

Stack = tuple[str, ...]
"""Frames from the outside in; the first is a role."""

PERF_HZ = 997
PYSPY_HZ = 40
"""Each look stops nobody but takes a while with a dozen processes."""

NEARLY = 0.7
"""Of all stacks, for a frame to be passed over as the way to the work."""

SUPERVISOR, UNKNOWN = "supervisor", "short-lived"
ROLES = (
    ("passcurve/harness/referee.py", "tests"),
    ("passcurve/harness/sample.py", "samples"),
    ("passcurve/sandbox/zygote/server.py", "zygotes"),
    ("passcurve/sandbox/zygote/forkserver.py", "fork server"),
    ("passcurve/sandbox/", "zygotes"),
)
"""The file that a process is working in, the innermost first, says what it is."""

_WAITS = re.compile(r"\b(poll|select|read|recv\w*|wait\w*|accept|sleep|sigtimedwait)\(|send_fds|sendmsg\(|\.write\(")
_FRAME = re.compile(r"(?P<name>.*) \((?P<file>.*?)(:(?P<line>\d+))?\)$")
_FORK = re.compile(r"PERF_RECORD_FORK\((\d+):\d+\):\((\d+):\d+\)")
_SAMPLE = re.compile(r"^(?P<comm>.{1,16}?)\s+(?P<pid>\d+)\s+(?P<ns>\d+)\s*$")
_CALL = re.compile(r"^__(x64|do|se)_sys_|^ksys_")
_PROCESS = re.compile(r"process (\d+):")


@dataclass
class _Cpu:
    """What perf saw of one process, in nanoseconds."""

    python_ns: int = 0
    kernel_ns: Counter[str] = field(default_factory=Counter)


@dataclass
class _Seen:
    """The stacks of one process, with how often each was seen."""

    working: Counter[Stack] = field(default_factory=Counter)
    waiting: Counter[Stack] = field(default_factory=Counter)


def record(command: list[str], source: Path, folder: Path) -> dict[Stack, float]:
    """Run a command of the checkout at ``source`` under both profilers; return seconds of CPU by stack."""
    seen, looked = folder / "perf.data", folder / "pyspy.raw"
    spy = ["py-spy", "record", "--subprocesses", "--nonblocking", "-r", str(PYSPY_HZ), "-f", "raw", "-o", str(looked)]
    perf = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(PERF_HZ), "-g", "-o", str(seen)]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    whole = [*perf, "--", *spy, "--", *command]
    done = subprocess.run(whole, env=environment, capture_output=True, text=True, check=False)
    if not looked.is_file():
        sys.exit(f"the profilers failed:\n{done.stderr[-2000:]}")
    script = ["perf", "script", "-i", str(seen), "-F", "comm,pid,period,ip,sym", "--show-task-events"]
    text = subprocess.run(script, check=True, capture_output=True, text=True, errors="replace").stdout
    return spent(text, looked.read_text("utf-8", "replace"), source)


def spent(script: str, raw: str, source: Path) -> dict[Stack, float]:
    """Return seconds of CPU by stack from what ``perf script`` and ``py-spy record -f raw`` have written.

    ``source`` is the folder of the modules that worked: a line says whether a process waited on it.
    """
    cpu, parents = _cpu(script.splitlines())
    stacks = _stacks(raw.splitlines(), source)
    return _joined(cpu, stacks, _roles(cpu, parents, stacks))


def by_role(spent: Mapping[Stack, float]) -> dict[str, float]:
    """Return seconds by role, the largest first."""
    roles: defaultdict[str, float] = defaultdict(float)
    for stack, seconds in spent.items():
        roles[stack[0]] += seconds
    return dict(sorted(roles.items(), key=lambda item: -item[1]))


def _cpu(lines: Iterable[str]) -> tuple[dict[int, _Cpu], dict[int, int]]:
    """Return what each process took, and the parent of each."""
    cpu: defaultdict[int, _Cpu] = defaultdict(_Cpu)
    parents: dict[int, int] = {}
    head: re.Match[str] | None = None
    frames: list[str] = []
    for line in [*lines, ""]:
        if fork := _FORK.search(line):
            child, parent = map(int, fork.groups())
            if child != parent:
                parents.setdefault(child, parent)
        elif line and not line[0].isspace():
            head, frames = _SAMPLE.match(line), []
        elif line.strip():
            frames.append(line.strip())
        elif head is not None:
            if not head["comm"].startswith(("py-spy", "perf")):
                kernel = [frame.partition(" ")[2] for frame in frames if frame.startswith("ffffffff")]
                if kernel:
                    cpu[int(head["pid"])].kernel_ns[_way_in(kernel)] += int(head["ns"])
                else:
                    cpu[int(head["pid"])].python_ns += int(head["ns"])
            head = None
    return dict(cpu), parents


def _way_in(kernel: list[str]) -> str:
    """Return how the kernel was entered: by which system call, or by a fault."""
    inwards = kernel[::-1]
    for symbol, inner in zip(inwards, [*inwards[1:], "system call"], strict=True):
        if symbol == "do_syscall_64":
            return _CALL.sub("", inner)
        if "page_fault" in symbol:
            return "page fault"
    return "other"


def _stacks(lines: Iterable[str], source: Path) -> dict[int, _Seen]:
    """Return what py-spy saw of each process."""
    result: defaultdict[int, _Seen] = defaultdict(_Seen)
    for line in lines:
        text, _, count = line.rpartition(" ")
        processes = _PROCESS.findall(text)
        # The command of a process stands in its frame and may hold anything; what follows the last one are functions.
        frames = [frame for frame in _after_processes(text).split(";") if _FRAME.match(frame)]
        if processes and frames:
            seen = result[int(processes[-1])]
            stack = tuple(map(_plain, frames))
            if _waits(frames[-1], source):
                seen.waiting[stack] += int(count)
            else:
                seen.working[stack] += int(count)
    return dict(result)


def _after_processes(text: str) -> str:
    at = text.rfind('";')
    return text[at + 2 :] if at >= 0 else text


def _waits(frame: str, source: Path) -> bool:
    match = _FRAME.match(frame)
    assert match is not None
    if match["name"].endswith((".select", ".poll", "recv_fds", "send_fds")):
        return True
    try:
        lines = (source / match["file"]).read_text("utf-8").splitlines()
        return _WAITS.search(lines[int(match["line"]) - 1]) is not None
    except (OSError, IndexError, TypeError):
        return False


def _plain(frame: str) -> str:
    """Return a frame without its line, and without the folder that a library lies in."""
    match = _FRAME.match(frame)
    assert match is not None
    file = match["file"].rpartition("-packages/")[2]
    return f"{match['name']} ({Path(file).name if file.startswith('/') else file})"


def _roles(cpu: Mapping[int, _Cpu], parents: Mapping[int, int], stacks: Mapping[int, _Seen]) -> dict[int, str]:
    """Return what each process is: by its functions; by its siblings when nobody looked while it lived."""
    root = min(stacks)
    roles = {pid: SUPERVISOR if pid == root else _role(seen) for pid, seen in stacks.items()}
    for pid in cpu:
        if pid not in roles:
            siblings = Counter(roles[other] for other in stacks if parents.get(other) == parents.get(pid))
            roles[pid] = siblings.most_common(1)[0][0] if siblings and parents.get(pid) != root else UNKNOWN
    return roles


def _role(seen: _Seen) -> str:
    votes: Counter[str] = Counter()
    for stack, count in (seen.working + seen.waiting).items():
        for file, role in ROLES:
            if any(f"({file}" in frame for frame in stack):
                votes[role] += count
                break
    return votes.most_common(1)[0][0] if votes else UNKNOWN


def _joined(cpu: Mapping[int, _Cpu], stacks: Mapping[int, _Seen], roles: Mapping[int, str]) -> dict[Stack, float]:
    """Divide each role's time in Python among its stacks, and set its time in the kernel beside them."""
    joined: defaultdict[Stack, float] = defaultdict(float)
    pooled: defaultdict[str, Counter[Stack]] = defaultdict(Counter)
    python: Counter[str] = Counter()
    for pid, seen in stacks.items():
        pooled[roles[pid]].update(seen.working)
    for pid, used in cpu.items():
        python[roles[pid]] += used.python_ns
        for way, ns in used.kernel_ns.items():
            joined[roles[pid], "kernel", way] += ns
    for role, ns in python.items():
        working = pooled[role]
        way, total = _way_down(working), sum(working.values())
        if not total:
            joined[role, "not looked at"] += ns
        for stack, count in working.items():
            below = stack[len(way) :] if stack[: len(way)] == way else stack
            joined[role, *below] += ns * count / total
    return {stack: ns / 1e9 for stack, ns in joined.items()}


def _way_down(working: Counter[Stack]) -> Stack:
    """Return the frames in which nearly every stack begins: how the process came to its work, no news to anybody."""
    way: Stack = ()
    while True:
        nexts: Counter[str] = Counter()
        for stack, count in working.items():
            if stack[: len(way)] == way and len(stack) > len(way) + 1:
                nexts[stack[len(way)]] += count
        if not nexts or nexts.most_common(1)[0][1] < NEARLY * sum(working.values()):
            return way
        way = (*way, nexts.most_common(1)[0][0])
