"""Compare the verdicts of ``judge --reuse rewind`` and ``--reuse fork`` on very many programs.

    python benchmarks/fuzz_reuse.py SAMPLES PROBLEMS [--mutants 10000] [--seed 0] [--workers 2] [--python PATH ...]

The rows are the completions of SAMPLES, with mutants of them and of the reference solutions of PROBLEMS (JSONL, may be
gzipped), shuffled.  They depend on the arguments only.  A mutant has one to three changes: other operators, constants
and names; removed, repeated or exchanged lines; results of other types; and statements before the body that print,
raise, recurse, allocate memory, change modules, builtins and files, or return what an earlier sample could have left
there.  No change uses the time or random bytes of the system, but a completion may.

Each interpreter judges all rows twice.  Verdicts are compared in all fields but times and memory, and each row that
differs is printed with its program.  A row that reached the time limit once and used most of it the other time does not
count as different; it has a count of its own.  The last lines are the counts, one line for each interpreter.  The exit
code is 1 if any row differs.  13,000 rows take some minutes of two cores for each interpreter.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from soak import COMMAND, rows_of, verdicts

from passcurve.models.mutant import mutations

LIMIT_S = 1
NEAR = 0.6
"""Share of the time limit from which a row is near it."""

LINES = 30
"""Number of lines of a program that are printed."""

MEASURED = {"own_s", "wall_s", "cpu_s", "memory_bytes"}
"""Fields of a verdict that differ from run to run."""

SWAPS = [
    *(["+", "-", "*", "//", "/", "%", "**"], ["<", "<=", ">", ">=", "==", "!="], ["and", "or"], ["in", "not in"]),
    *(["True", "False", "None"], ["min", "max", "sum", "len", "sorted"], ["append", "extend", "remove", "add"]),
]
"""Tokens of one row are exchanged for each other."""

RESULTS = """
    set(X) | list(X) | tuple(X) | str(X) | iter(X) | (x for x in X) | [X] | (X, X) | {0: X} | {X: 0} | {X}
    frozenset([X]) | not X | -X | X * 2 | float('nan') | [float('nan')] * 2 | float('inf') | -0.0 | 1j | object()
    object | lambda: X | ValueError(X) | ... | NotImplemented | print(X) | repr(X).encode() | bytearray(b'x')
    memoryview(b'x') | range(3) | 10 ** 4000 | 1 << 70 | '\\ud800' | 'x' * 3_000_000 | list(range(200_000))
    __import__('decimal').Decimal('1.0') | __import__('fractions').Fraction(X) | dict(enumerate(str(X)))
    type('Int', (int,), {})(7) | type('All', (), {'__eq__': lambda *_: True})() | (yield X) | __import__('math')
    id(object()) | hash(object()) | hash('x') | hash(float('nan'))
    {object(): 0, int: 1, 'x': 2} | list({object, int, str, float, len, 'a', None}) | __import__('random').random()
    __import__('random').sample(range(9), 3) | len(__import__('gc').get_objects())
    __import__('sys').getrefcount(None) | len(__import__('sys').modules)
    __import__('sys').getallocatedblocks() | __import__('os').listdir('.') | sorted(__import__('os').environ)
"""
"""Expressions that are returned instead of X."""

STATEMENTS = """
    import sys, os, random; random.seed(7) | import random; assert random.random() < 0.5
    import json, re, collections, itertools, math, string, functools, heapq, bisect, datetime
    import decimal, fractions, statistics, dataclasses, enum, typing, copy, textwrap
    import decimal; decimal.getcontext().prec = 2; print(decimal.Decimal(1) / 3) | import numpy; numpy.zeros(1000).sum()
    print('x' * 5000) | import sys; sys.stdout.write('\\ud800') | import sys; sys.stdout = None
    import sys; sys.stdout.close() | import sys; sys.stderr.write('x\\n'); sys.stdin.read() | input()
    globals().setdefault('_seen', []).append(1); assert len(_seen) < 3
    import builtins as b; b._n = getattr(b, '_n', 0) + 1; assert b._n < 3
    import string as m; m._n = getattr(m, '_n', 0) + 1; assert m._n < 3, m._n
    import builtins as b; b.len = lambda x: 2 | import builtins as b; del b.sorted
    import math; math.sqrt = math.floor = lambda x: 2
    import sys; sys.modules.clear() | import sys; sys.path.append('/tmp'); sys.modules['math'] = None
    import os; os.environ['X'] = os.environ.get('X', '') + 'x'; assert len(os.environ['X']) < 3
    import os; os.makedirs('a/b', exist_ok=True); os.chdir('a')
    f = open('left', 'a'); f.write('x'); f.close(); assert len(open('left').read()) < 3
    import os; os.write(1, b'x'); os.close(1); os.open('new', os.O_CREAT) | import sys; sys.setrecursionlimit(150)
    import sys; sys.setrecursionlimit(10 ** 6) | import sys; sys.set_int_max_str_digits(700); str(10 ** 800)
    import gc; gc.disable(); held = [[] for _ in range(50_000)] | import gc; gc.collect(); gc.set_threshold(1)
    import weakref; thing = type('T', (), {})(); weakref.finalize(thing, print, 'gone'); del thing
    import threading; threading.Thread(target=print).start()
    import threading; t = threading.Thread(target=sum, args=([1],)); t.start(); t.join()
    import atexit; atexit.register(print, 'left') | import sys; sys.settrace(lambda *_: None)
    import signal; signal.signal(signal.SIGALRM, lambda *_: print()); signal.alarm(1)
    import warnings; warnings.simplefilter('error'); warnings.warn('x')
    import os; os.getpid(); os.cpu_count(); os.uname(); os.listdir('/') | import subprocess; subprocess.run(['true'])
    import socket; socket.socket() | import ctypes; ctypes.memset(ctypes.create_string_buffer(9), 1, 9)
    import os; os._exit(0) | import sys; sys.exit('left') | import os, signal; os.kill(os.getpid(), signal.SIGSEGV)
    raise KeyboardInterrupt | raise KeyError(('x', 1), object()) | raise OSError(2, 'gone', 'x')
    raise type('Own', (ValueError,), {'__str__': lambda self: 1 / 0})('x')
    raise UnicodeDecodeError('utf-8', b'abc', 0, 1, 'reason') | raise ValueError('x' * 10_000) from KeyError('y')
    compile('x = (', 'f', 'exec') | next(iter([])) | int('x' * 100) | held = bytearray(1 << 26)
    held = [bytes(1 << 18) for _ in range(200)] | held = [str(n) for n in range(200_000)] | held = bytes(1 << 34)
    held = {str(n): n for n in range(30_000)}; del held | deep = lambda n: deep(n + 1); deep(0)
    deep = lambda n: n and deep(n - 1); deep(900) | deep = lambda n: n and deep(n - 1); deep(990)
    held = []; [held := [held] for _ in range(100_000)]; repr(held)
    held = []; [held := [held] for _ in range(300)]; del held | import re; re.match('(a*)*' + 'b', 'a' * 18)
    import functools; once = functools.lru_cache(lambda x: x); [once(n) for n in range(500)]
    class Odd(type): __eq__ = None | class Gone: __del__ = lambda self: print(1 / 0) | sum(i * i for i in range(3000))
    x = 10 ** 5000; y = x * x % 7
"""
HANDLERS = ("return None", "raise", "pass", "return error", "print(error)", "raise ValueError(str(error)) from None")


def mutate(text: str, source: random.Random) -> str:
    """Return a completion with one change, which may be no program."""
    lines = text.splitlines(keepends=True) or ["    pass\n"]
    index = source.randrange(len(lines))
    kind = source.randrange(10)
    if kind < 3:
        lines.insert(source.choice([0, 0, 0, index]), f"    {source.choice(split_options(STATEMENTS))}\n")
    elif kind < 5:
        answer = source.choice(split_options(RESULTS))
        return re.sub(r"\breturn (.+)", lambda old: "return " + re.sub(r"\bX\b", lambda _: f"({old[1]})", answer), text)
    elif kind == 5:
        end = next((n for n, line in enumerate(lines) if line.strip() and line[0] not in " \t"), len(lines))
        lines[:end] = ["    try:\n        pass\n", *(f"    {line}" for line in lines[:end])]
        caught = source.choice(["Exception", "BaseException", "(ValueError, RecursionError)"])
        lines.insert(end + 1, f"    except {caught} as error:\n        {source.choice(HANDLERS)}\n")
    elif kind == 6:
        lines[index : index + 1] = source.choice([[], [lines[index]] * 2, [source.choice(lines)]])
    elif kind == 7:
        return replace_one(
            text, r"(?<![\w.])\d+(?![\w.])", source, lambda old: f"({old} + {source.choice((-2, -1, 1, 0.5))})"
        )
    elif kind == 8:
        names = sorted(set(re.findall(r"\b[a-z_]\w*\b", text))) or ["x"]
        old, new = source.choice(names), source.choice([*names, "renamed"])
        return re.sub(rf"\b{old}\b", new, text, count=source.randrange(2))
    else:
        tokens = sorted(source.choice(SWAPS), key=len, reverse=True)
        pattern = "|".join(rf"\b{token}\b" if token[0].isalpha() else re.escape(token) for token in tokens)
        return replace_one(text, pattern, source, lambda _: source.choice(tokens))
    return "".join(lines)


def split_options(text: str) -> list[str]:
    """Return the parts between line ends and ``|``."""
    return [part.strip() for line in text.strip().splitlines() for part in line.split("|")]


def replace_one(text: str, pattern: str, source: random.Random, new: Callable[[str], str]) -> str:
    """Return the text with one match of the pattern replaced."""
    matches = list(re.finditer(pattern, text))
    if not matches:
        return text
    match = source.choice(matches)
    return text[: match.start()] + new(match[0]) + text[match.end() :]


def compose(
    samples: list[dict[str, Any]], problems: list[dict[str, Any]], mutants: int, seed: int
) -> list[dict[str, Any]]:
    """Return all samples and this number of mutants, half of them of reference solutions."""
    source = random.Random(seed)
    variants = {}
    for problem in problems:
        reference = problem["canonical_solution"]
        variants[problem["task_id"]] = mutations(problem["prompt"], reference) or [reference]
    rows = [{"task_id": sample["task_id"], "completion": sample["completion"]} for sample in samples]
    tasks = list(variants)
    for number in range(mutants):
        if samples and number % 2:
            base = source.choice(samples)
            task, text, changes = base["task_id"], base["completion"], source.randrange(1, 4)
        else:
            # A variant has one change already.
            task, changes = source.choice(tasks), source.randrange(3)
            text = source.choice(variants[task])
        for _ in range(changes):
            text = mutate(text, source)
        rows.append({"task_id": task, "completion": text})
    source.shuffle(rows)
    return rows


def judge_rows(
    reuse: str, samples: Path, python: str, options: argparse.Namespace
) -> tuple[dict[int, dict[str, Any]], str]:
    """Judge the rows; return the verdicts by row, and the version of the interpreter."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        run = Path(name) / "run"
        command = [*COMMAND, "judge", samples, "--benchmark", options.problems, "--subset", "--no-dedup"]
        command += ["--k", "1", "--timeout", LIMIT_S, "--memory", "512MiB", "--workers", options.workers]
        command += ["--reuse", reuse, "--python", python, "--run", run, "--results", Path(name) / "results"]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
        parts = sorted(run.glob("verdicts-*.jsonl"))
        # A run with a void row exits with 1, and has the verdicts of the other rows.
        if done.returncode not in (0, 1) or not parts:
            sys.exit(f"{python}, {reuse}: exit code {done.returncode}\n{done.stderr[-2000:]}")
        with parts[0].open() as file:
            jail = json.loads(file.readline())["header"]["jail"]
        if jail["reuse"] != reuse:
            sys.exit(f"{python}: asked for {reuse}, got {jail['reuse']} {jail['no_rewind']}")
        return dict(verdicts(run)), jail["python"]


def is_near(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether one run reached the time limit and the other one nearly did."""
    least = min(one.get("own_s", 0.0), other.get("own_s", 0.0))
    return "timeout" in (one["status"], other["status"]) and least > NEAR * LIMIT_S


def compare_rows(
    python: str, rows: list[dict[str, Any]], samples: Path, options: argparse.Namespace
) -> tuple[str, int]:
    """Judge all rows twice and print the differences; return the line of counts and the number of differences."""
    (rewound, version), (forked, _) = (judge_rows(reuse, samples, python, options) for reuse in ("rewind", "fork"))
    counts: Counter[str] = Counter()
    for number, row in enumerate(rows):
        one, other = (results.get(number, {"status": "missing"}) for results in (rewound, forked))
        counts[other["status"]] += 1
        fields = sorted(name for name in (one.keys() | other.keys()) - MEASURED if one.get(name) != other.get(name))
        if not fields:
            continue
        kind = "near the limit" if is_near(one, other) else "different"
        counts[kind] += 1
        print(f"\n{version}, row {number}, {row['task_id']}: {kind}")
        for name in fields:
            print(f"  {name}: rewind {one.get(name)!r}, fork {other.get(name)!r}")
        print("".join(f"  | {line}\n" for line in row["completion"].splitlines()[:LINES]), end="", flush=True)
    differences, near = counts.pop("different", 0), counts.pop("near the limit", 0)
    statuses = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    line = f"python {version}: {len(rows)} rows, {differences} differences, {near} near the limit (fork: {statuses})"
    return line, differences


def main() -> None:
    """Compare the verdicts of each interpreter and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", type=Path)
    parser.add_argument("problems", type=Path)
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--python", action="append", help="interpreter of the samples; may be repeated")
    options = parser.parse_args()
    rows = compose(rows_of(options.samples), rows_of(options.problems), options.mutants, options.seed)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        samples = Path(folder) / "samples.jsonl"
        samples.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        outcomes = [compare_rows(python, rows, samples, options) for python in options.python or [sys.executable]]
    print()
    for line, _ in outcomes:
        print(line)
    sys.exit(1 if any(differences for _, differences in outcomes) else 0)


if __name__ == "__main__":
    main()
