"""ClassEval: a class described by its skeleton; each class of its ``unittest`` module counts by itself."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

import msgspec

from passcurve.bench.formats.imports import find_imports
from passcurve.bench.formats.rows import Format, Parsed, ReadOptions, Row, shown
from passcurve.types import Problem, Suite, UnitTests

REQUIRED = ("task_id", "skeleton", "test", "class_name", "test_classes")

CLASS_TIMEOUT_S = 5.0
"""The time limit of its own harness for one class of tests."""


def _matches(fields: Mapping[str, object]) -> bool:
    return {"skeleton", "test_classes", "class_name"} <= fields.keys()


def _parse(rows: Sequence[Row], options: ReadOptions) -> Parsed:
    return Parsed(tuple(_problem(msgspec.structs.replace(row, expected=REQUIRED), options) for row in rows))


FORMAT = Format("classeval", _matches, _parse)


def _problem(row: Row, options: ReadOptions) -> Problem:
    task_id, class_name = row.text("task_id"), row.text("class_name").strip()
    if not task_id.strip():
        raise row.fault(f"found task_id {shown(task_id)}", "a name for the problem")
    if not class_name.isidentifier():
        raise row.fault(f"found class_name {shown(class_name)}", "the name of a class")
    # One published name begins with a space.
    classes = tuple(dict.fromkeys(name.strip() for name in row.texts("test_classes")))
    if not classes:
        raise row.fault("found no name in 'test_classes'", "the classes of the tests")
    test, solution = row.text("test"), row.optional_text("solution_code")
    imports = "\n".join(row.texts("import_statement")) if row.fields.get("import_statement") else ""
    prefix = f"{imports}\n" if imports else ""
    counts = _count_tests(test)
    return Problem(
        id=task_id,
        prompt="",
        entry_point=class_name,
        check=UnitTests(
            source=test,
            suites=tuple(Suite(name=name, count=counts.get(name, 0), alone=True) for name in classes),
            prefix=prefix,
            any_skip=options.profile == "classeval",
            timeout_s=CLASS_TIMEOUT_S,
        ),
        reference=solution if solution.strip() else None,
        statement=row.text("skeleton"),
        timeout_s=CLASS_TIMEOUT_S * len(classes) + 1.0,
        packages=find_imports(prefix + solution, test),
    )


def _count_tests(source: str) -> dict[str, int]:
    """Return how many tests each class of a module shows."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return {
        node.name: len({name for item in node.body if (name := _test_name(item))})
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }


def _test_name(node: ast.stmt) -> str:
    """Return the name of a test; empty for any other statement."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
        return node.name
    return ""
