"""Inputs that earlier versions scored without a word: tests that check nothing, copies, stale files, ids by name."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from case import JUDGE, Case, benchmark, own, problem, right, wrong

FORTY = [right(number) for number in range(40)]
SWALLOWS = "def check(candidate):\n    try:\n        assert candidate(1) == 3\n    except Exception:\n        pass\n"
IGNORES = "def check(candidate):\n    candidate(1)\n"


def one_vacuous(name: str, **fields: Any) -> Case:
    """Return a case in which the tests of one problem of forty pass a wrong program."""
    rows = [*FORTY[:2], wrong(2), *FORTY[3:]]
    return Case(name, own(rows, benchmark(40, _2=fields)), JUDGE, value=1.0, excluded=("Own/2",), says=("whatever",))


def append_results(folder: Path) -> None:
    """Write the samples and their results into one file."""
    names = ("s.jsonl", "s.jsonl_results.jsonl")
    (folder / "both.jsonl").write_bytes(b"".join((folder / name).read_bytes() for name in names))


TESTS = [
    one_vacuous("tests that swallow every error", test=SWALLOWS),
    one_vacuous("tests that ignore what is returned", test=IGNORES),
    one_vacuous("tests that ignore what is returned, and no reference", test=IGNORES, canonical_solution=None),
    Case(
        "all tests swallow every error",
        own(FORTY[:4], benchmark(**{f"_{number}": {"test": SWALLOWS} for number in range(4)})),
        JUDGE,
        2,
        excluded=("Own/0", "Own/1", "Own/2", "Own/3"),
        says=("whatever",),
    ),
]

ROUNDS = [right(n, completion=f"    # {r}\n    return x + {n}\n") for r in range(3) for n in range(4)]

COPIES = [
    Case(
        "a file twice, with other fields",
        own([*ROUNDS, *(dict(reversed((row | {"id": n}).items())) for n, row in enumerate(ROUNDS))]),
        JUDGE,
        value=1.0,
        findings=("duplicate_rows",),
    ),
    Case(
        "a file and its results",
        own(ROUNDS),
        ("judge", "both.jsonl", "--benchmark", "b.jsonl", "--k", "1"),
        value=1.0,
        findings=("duplicate_rows",),
        before=(JUDGE,),
        between=append_results,
    ),
    Case(
        "greedy samples, round by round",
        own(right(n, round=r) for r in range(3) for n in range(4)),
        JUDGE,
        value=1.0,
        findings=("duplicate_rows",),
        says=("temperature 0",),
    ),
    Case(
        "rows without code that differ elsewhere",
        own([*ROUNDS, *({"task_id": "Own/1", "completion": "", "id": n} for n in range(6))]),
        JUDGE,
        value=(3 + 3 / 9) / 4,
        findings=("empty_text",),
    ),
]

RESULTS = "s.jsonl_results.jsonl"


def change_text(folder: Path) -> None:
    """Change a sample, and let its file have the size and the time that it had."""
    path = folder / "s.jsonl"
    times = path.stat()
    path.write_bytes(path.read_bytes().replace(b"return x + 3", b"return x - 3"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def change_alone(folder: Path) -> None:
    """Change a sample in the same way, and remove the run."""
    change_text(folder)
    shutil.rmtree(folder / "s.jsonl.passcurve")


FOUR = [right(n) for n in range(4)]

STALE = [
    *(
        Case(
            f"{' '.join((name, *words))} of samples changed in place, {how.__name__}",
            own(FOUR),
            (name, *words),
            2,
            refused=True,
            says=("s.jsonl", "--stale"),
            before=(JUDGE,),
            between=how,
        )
        for how, name, words in (
            (change_text, "show", ("s.jsonl",)),
            (change_text, "show", (RESULTS,)),
            (change_alone, "show", (RESULTS,)),
            (change_alone, "compare", (RESULTS, RESULTS)),
            (change_alone, "plan", (RESULTS,)),
        )
    ),
    Case("plan from a part", own(FOUR[:3]), ("plan", "s.jsonl"), 2, refused=True, says=("--subset",), before=(JUDGE,)),
]

OTHER = ("judge", "s.jsonl", "--benchmark", "other.jsonl", "--k", "1")


def copy_benchmark(folder: Path) -> None:
    """Write the same problems under another name, with weaker tests."""
    text = (folder / "b.jsonl").read_text("utf-8")
    (folder / "other.jsonl").write_text(text.replace("assert candidate(5)", "assert candidate(1) or candidate(5)"))


def mend_benchmark(folder: Path) -> None:
    """Change the tests in their place."""
    copy_benchmark(folder)
    (folder / "other.jsonl").replace(folder / "b.jsonl")


PLACES = [
    Case(
        "another benchmark into the same place",
        own(FOUR),
        OTHER,
        2,
        refused=True,
        says=("s.jsonl.passcurve", "other.jsonl", "--run"),
        before=(JUDGE,),
        between=copy_benchmark,
    ),
    Case("a benchmark that was mended", own(FOUR), JUDGE, value=1.0, before=(JUDGE,), between=mend_benchmark),
]

NAMED = [problem(n, entry_point=f"f{n}", prompt=f"def f{n}(x):\n") for n in range(4)]


def by(name: Callable[[int], object]) -> list[dict[str, Any]]:
    """Return right samples whose tasks have these names."""
    return [right(n, task_id=name(n)) for n in range(4)]


IDS = [
    Case(
        "ids of functions",
        own(by("f{}".format), NAMED),
        JUDGE,
        2,
        refused=True,
        says=("--id-map entry_point",),
    ),
    Case("ids of functions, mapped", own(by("f{}".format), NAMED), (*JUDGE, "--id-map", "entry_point"), value=1.0),
    Case("ids with zeros", own(by("Own/{:03}".format)), JUDGE, 2, refused=True, says=("'Own/{}=Own/{+0}'",)),
    Case(
        "ids with zeros, mapped",
        own(by("Own/{:03}".format)),
        (*JUDGE, "--id-map", "Own/{}=Own/{+0}"),
        value=1.0,
    ),
    Case(
        "numbers from 1, mapped",
        own(by(lambda n: n + 1)),
        (*JUDGE, "--id-map", "{}=Own/{-1}"),
        value=1.0,
    ),
    Case(
        "ids of the same form that count from 1",
        own(by(lambda n: f"Own/{n + 1}")),
        JUDGE,
        2,
        findings=("unknown_tasks",),
        says=("'Own/{}=Own/{-1}'",),
    ),
    Case(
        "more tasks than the benchmark has",
        own([right(n, task_id=f"P/{n}") for n in range(40)]),
        JUDGE,
        2,
        refused=True,
        says=("'P/{}=Own/{}'",),
    ),
]

CASES = [*TESTS, *COPIES, *STALE, *PLACES, *IDS]
