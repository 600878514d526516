"""The function that assertions call, where a benchmark does not name it."""

from __future__ import annotations

import ast
import builtins
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator

_BUILTINS = frozenset(dir(builtins))


def find_entry_point(tests: Iterable[str], setup: str = "", code: str = "") -> str:
    """Return the function that tests call; the empty string where none shows.

    ``code`` is a solution, which defines it; without one it is the first name called that neither Python nor ``setup``
    defines.
    """
    called = [name for test in tests for name in _called_names(test)]
    functions, classes = _defined_names(code)
    for defined in (functions, classes):
        counts = Counter(name for name in called if name in defined)
        if counts:
            return counts.most_common(1)[0][0]
    if functions or classes:
        return ""
    strange = set().union(*_defined_names(setup)) | _imported_names(setup) | _BUILTINS
    return next((name for name in called if name not in strange), "")


def needed_imports(tests: Iterable[str], code: str) -> tuple[str, ...]:
    """Return the imports of a solution that tests use: they ran in its module, and run elsewhere here."""
    imports = [node for node in getattr(_parse(code), "body", []) if isinstance(node, ast.Import | ast.ImportFrom)]
    bound = {_bound_name(alias) for node in imports for alias in node.names}
    # Tests may hold megabytes of data: only those are read in which such a name stands.
    named = [test for test in tests if any(name in test for name in bound)]
    used = {node.id for test in named for node in _walk(test) if isinstance(node, ast.Name)}
    return tuple(ast.unparse(node) for node in imports if used & {_bound_name(alias) for alias in node.names})


def _bound_name(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _called_names(source: str) -> Iterator[str]:
    """Yield the names that are called, those of an outer call first."""
    for node in _walk(source):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def _defined_names(source: str) -> tuple[set[str], set[str]]:
    """Return the functions and the classes of a module."""
    body = getattr(_parse(source), "body", [])
    functions = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    return functions, {node.name for node in body if isinstance(node, ast.ClassDef)}


def _imported_names(source: str) -> set[str]:
    aliases = (alias for node in _walk(source) if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names)
    return {_bound_name(alias) for alias in aliases}


def _walk(source: str) -> Iterator[ast.AST]:
    tree = _parse(source)
    return ast.walk(tree) if tree is not None else iter(())


def _parse(source: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            # Warnings about the source of a benchmark are not for our user.
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
