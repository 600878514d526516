"""The pictures of docs/tour.md are true: of the processes of a run, and of the records on the road."""

from __future__ import annotations

import contextlib
import re
import time
from pathlib import Path

import pytest

import passcurve
import passcurve.types as records
from passcurve.sandbox import job

TOUR = (Path(__file__).parents[2] / "docs" / "tour.md").read_text("utf-8")
LOOP = "    while True:\n        pass\n"
PATIENCE_S = 60.0

Tree = tuple["Tree", ...]
"""The children of a process, by their own children."""


def block(heading: str) -> list[str]:
    """Return the lines of the first picture under a heading."""
    return re.search(rf"^## {heading}\n\n```\n(.*?)```", TOUR, re.MULTILINE | re.DOTALL)[1].splitlines()


def drawn_tree() -> Tree:
    """Return the shape of the processes as they are drawn."""
    stack: list[tuple[int, list]] = [(-1, [])]
    for line in block("The processes"):
        depth = len(re.match(r"[ │├└─]*", line)[0])
        while stack[-1][0] >= depth:
            _, children = stack.pop()
            stack[-1][1].append(shape(children))
        stack.append((depth, []))
    while len(stack) > 1:
        _, children = stack.pop()
        stack[-1][1].append(shape(children))
    return stack[0][1][0]


def shape(children: list[Tree]) -> Tree:
    """Return children in an order that does not depend on that of their numbers."""
    return tuple(sorted(children))


def running_tree(pid: int) -> Tree:
    """Return the shape of the processes below one."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError):
                parent = int((folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(folder.name))

    def below(parent: int) -> Tree:
        return shape([below(child) for child in children.get(parent, ())])

    return below(pid)


@pytest.mark.ci
def test_the_processes_are_those_of_the_picture(shell, starter):
    """While a sample of one worker runs alone, the tree of processes has the shape that is drawn."""
    shell.write("s.jsonl", [{"task_id": "starter/0", "completion": LOOP}])
    command = ("judge", "s.jsonl", "--benchmark", "starter", "--subset", "--workers", "1", "--timeout", "20")
    if "full" not in shell("doctor").out:
        pytest.skip("the picture is that of full isolation")
    running = shell.start(*command)
    until, tree = time.monotonic() + PATIENCE_S, ()
    try:
        while tree != drawn_tree() and time.monotonic() < until:
            time.sleep(0.1)
            tree = running_tree(running.pid)
    finally:
        running.kill()
        running.communicate()
    assert drawn_tree() == tree


def test_the_road_names_records_and_rooms_that_exist():
    """Each record and each folder of the picture of the road is there."""
    picture = "\n".join(block("The road"))
    source = Path(passcurve.__file__).parent
    names = set(re.findall(r"\b[A-Z][a-z]+\b", picture)) - {"JSON"}
    assert {"Problem", "Completion", "Program", "Verdict", "Counts", "Estimate"} <= names
    assert set() == {name for name in names if not (hasattr(records, name) or hasattr(job, name))}
    places = set(re.findall(r"[a-z]+/(?:\w+\.py)?|\w+\.py", picture))
    assert set() == {place for place in places if not (source / place).exists()}
