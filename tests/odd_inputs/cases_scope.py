"""Parts of a benchmark, samples that have changed, runs that differ, and gates."""

from __future__ import annotations

import os
from pathlib import Path

from case import JUDGE, Case, benchmark, own, right, write_rows, wrong

MIXED = [right(0), right(1), wrong(2), right(3)]
BROKEN = {"canonical_solution": "    return None\n"}
FENCED = [right(n, completion="```python\n    return x\n```") for n in range(4)]
RUN = "s.jsonl.passcurve"
FULL = ((*JUDGE, "--run", "r"),)


def change(folder: Path) -> None:
    """Turn a failing sample into a passing one."""
    write_rows(folder / "s.jsonl", [right(n) for n in range(4)])


def change_within(folder: Path) -> None:
    """Change a sample, and leave the size of the file as it was."""
    path = folder / "s.jsonl"
    path.write_bytes(path.read_bytes().replace(b"x + 3", b"x + 4"))
    os.utime(path, (1, 1))


def append(folder: Path) -> None:
    """Add a sample."""
    with (folder / "s.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"task_id": "Own/0", "completion": "    return 0\\n"}\n')


def two_files(folder: Path) -> None:
    """Write two files of samples."""
    own(MIXED)(folder)
    change_other(folder)


def change_other(folder: Path) -> None:
    """Write the second file of samples, which passes."""
    write_rows(folder / "t.jsonl", [right(n) for n in range(4)])


def two_benchmarks(folder: Path) -> None:
    """Write two files of samples, and two benchmarks with the same ids and different tests."""
    two_files(folder)
    write_rows(folder / "c.jsonl", benchmark(_0={"test": "def check(candidate):\n    assert candidate(2) == 2"}))


OTHER = ("judge", "t.jsonl", "--benchmark", "b.jsonl", "--k", "1")
REFUSED = {"code": 2, "refused": True}

CASES = [
    Case("a pattern", own(MIXED), (*JUDGE, "--problems", "Own/[0-2]"), value=2 / 3),
    Case("a subset without some samples", own(MIXED[1:]), (*JUDGE, "--subset"), value=2 / 3),
    Case("a pattern and a subset", own(MIXED[1:]), (*JUDGE, "--problems", "Own/[0-2]", "--subset"), value=1 / 2),
    Case("a pattern of other signs", own(MIXED), (*JUDGE, "--problems", "*/1, 3,Own/3 "), value=1.0),
    Case(
        "a pattern over a broken reference",
        own(MIXED, benchmark(_2=BROKEN)),
        (*JUDGE, "--problems", "Own/[12]", "--accept-benchmark"),
        value=1.0,
        excluded=("Own/2",),
    ),
    Case("a pattern, then all", own(MIXED), JUDGE, value=0.75, before=((*JUDGE, "--problems", "Own/0"),)),
    Case("all, then a pattern", own(MIXED), (*JUDGE, "--problems", "Own/0"), value=1.0, before=(JUDGE,)),
    Case(
        "a pattern into the run of all",
        own(MIXED),
        (*JUDGE, "--run", "r", "--problems", "Own/0"),
        says=("all problems", "--run DIR"),
        before=FULL,
        **REFUSED,
    ),
    Case(
        "a pattern into the run of another",
        own(MIXED),
        (*JUDGE, "--run", "r", "--problems", "Own/0"),
        says=("Own/1", "--run DIR"),
        before=((*JUDGE, "--run", "r", "--problems", "Own/1"),),
        **REFUSED,
    ),
    Case(
        "all into the run of a pattern",
        own(MIXED),
        (*JUDGE, "--run", "r"),
        value=0.75,
        before=((*JUDGE, "--run", "r", "--problems", "Own/1"),),
    ),
    Case(
        "other samples into a run",
        two_files,
        (*OTHER, "--run", "r"),
        says=("s.jsonl", "--run DIR"),
        before=FULL,
        **REFUSED,
    ),
    Case("the same samples, changed, into their run", own(MIXED), FULL[0], value=1.0, before=FULL, between=change),
    *(
        Case(
            f"{name}, where only a pattern was judged",
            own(MIXED),
            words,
            says=("s.jsonl.Own-0-", ".passcurve"),
            before=((*JUDGE, "--problems", "Own/0"),),
            **REFUSED,
        )
        for name, words in (
            ("show", ("show", "s.jsonl")),
            ("show a problem", ("show", "s.jsonl", "0")),
            ("compare", ("compare", "s.jsonl", "s.jsonl")),
            ("match", ("match", "s.jsonl", "--metrics", "exact")),
        )
    ),
    *(
        Case(
            f"{name} of samples that {how.__name__}",
            two_files,
            words,
            says=("s.jsonl", "--stale"),
            before=(JUDGE, OTHER),
            between=how,
            **REFUSED,
        )
        for how, name, words in (
            (change, "show", ("show", "s.jsonl")),
            (change_within, "show", ("show", RUN)),
            (append, "show", ("show", RUN)),
            (change, "show a problem", ("show", RUN, "Own/2")),
            (change, "compare", ("compare", "s.jsonl", "t.jsonl")),
            (append, "compare", ("compare", "t.jsonl", RUN)),
            (append, "match", ("match", RUN, "--metrics", "exact")),
            (change, "autopsy", ("autopsy", RUN)),
            (append, "plan", ("plan", "s.jsonl")),
        )
    ),
    Case(
        "compare a part with all",
        two_files,
        ("compare", "s.jsonl", "r"),
        says=("--common", "2 problems are common", "Own/1"),
        before=(JUDGE, (*OTHER, "--run", "r", "--problems", "Own/[12]")),
        **REFUSED,
    ),
    Case(
        "compare other tests of the same ids",
        two_benchmarks,
        ("compare", "s.jsonl", "t.jsonl"),
        says=("different benchmarks", "--common"),
        before=(JUDGE, ("judge", "t.jsonl", "--benchmark", "c.jsonl")),
        **REFUSED,
    ),
    *(
        Case(
            f"{words[0]} {words[-1]} whose score is withheld",
            own(MIXED, benchmark(_2=BROKEN)),
            words,
            says=("withheld", "--accept-benchmark"),
            before=(JUDGE,),
            **REFUSED,
        )
        for words in (
            ("compare", RUN, RUN),
            ("plan", RUN),
            ("lab", "budget", RUN),
            ("match", RUN, "--metrics", "exact"),
            ("compare", "s.jsonl_results.jsonl", "s.jsonl_results.jsonl"),
        )
    ),
    Case(
        "a gate that is not met",
        own(MIXED),
        (*JUDGE, "--fail-under", "pass@1=0.9"),
        3,
        0.75,
        says=("pass@1 .7500 < .9",),
    ),
    Case(
        "a gate on a score that is withheld",
        own(MIXED, benchmark(_2=BROKEN)),
        (*JUDGE, "--fail-under", "pass@1=0.9"),
        2,
        excluded=("Own/2",),
        says=("gate pass@1 >= .9", "--accept-benchmark"),
    ),
    Case("a gate on a k above n", own(MIXED), (*JUDGE, "--fail-under", "pass@5=0.1"), 2, 0.75, says=("needs 5 sampl",)),
]
