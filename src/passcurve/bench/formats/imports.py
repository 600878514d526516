"""The packages that a problem needs, found in the imports of its reference solution and its tests."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterable


def find_imports(*sources: str) -> tuple[str, ...]:
    """Return the modules that some sources import besides Python's own, with their full names, sorted.

    A source that does not parse has none.
    """
    modules: set[str] = set()
    for source in sources:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                modules.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module)
    return third_party(modules)


def third_party(modules: Iterable[str]) -> tuple[str, ...]:
    """Return the modules that are not Python's own, sorted."""
    return tuple(sorted({name for name in modules if name.partition(".")[0] not in sys.stdlib_module_names}))
