"""Tests of EvalPlus in the original format: one loop over inputs and results, taken apart into its tests."""

from __future__ import annotations

import ast
import warnings

_NUMPY = "import numpy as np"
_STAND_IN = '''class np:
    """What the tests use of numpy, on plain data."""

    class ndarray:
        pass

    float64 = float32 = None

    @staticmethod
    def allclose(out, exp, rtol, atol):
        if isinstance(exp, (list, tuple)):
            return len(out) == len(exp) and all(np.allclose(one, other, rtol, atol) for one, other in zip(out, exp))
        return out == exp or abs(out - exp) <= atol + rtol * abs(exp)
'''
"""Python has it all: a benchmark that needs a package could not be judged where that is missing."""

_USED = frozenset({"ndarray", "float64", "float32", "allclose"})


def split_tests(source: str) -> tuple[str, tuple[str, ...]]:
    """Return the setup and the tests of a module whose last statement is a loop over its inputs.

    Any other module is one test without a setup.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "", (source,)
    loop = tree.body[-1] if tree.body else None
    if not isinstance(loop, ast.For) or loop.orelse or len(loop.body) != 1:
        return "", (source,)
    count = _count_inputs(tree)
    iterable = ast.unparse(loop.iter)
    if iterable not in ("enumerate(inputs)", "enumerate(zip(inputs, results))") or not count:
        return "", (source,)
    target, body = ast.unparse(loop.target), ast.unparse(loop.body[0])
    lines = source.split("\n")[: loop.lineno - 1]
    setup = "\n".join([*_without_numpy(tree, lines), f"_tests = list({iterable})"])
    return setup, tuple(f"{target} = _tests[{number}]; {body}" for number in range(count))


def _count_inputs(tree: ast.Module) -> int:
    """Return the number of items in the lists that the loop goes through; 0 where they are no lists of one length."""
    sizes = {
        len(node.value.elts)
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.List)
        and ast.unparse(node.targets[0]) in ("inputs", "results")
    }
    return sizes.pop() if len(sizes) == 1 else 0


def _without_numpy(tree: ast.Module, lines: list[str]) -> list[str]:
    """Return lines with a stand-in for numpy, where nothing else of it is used."""
    # Most statements are data, of up to megabytes: only those are walked in which the name stands.
    code = [statement for statement in tree.body if _stands_in(lines, statement)]
    walked = [node for statement in code for node in ast.walk(statement)]
    nodes = [node for node in walked if isinstance(node, ast.Attribute) and _is_np(node.value)]
    names = sum(1 for node in walked if _is_np(node))
    if _NUMPY not in lines or names != len(nodes) or not {node.attr for node in nodes} <= _USED:
        return lines
    return [_STAND_IN if line == _NUMPY else line for line in lines]


def _stands_in(lines: list[str], statement: ast.stmt) -> bool:
    """Return whether the name of numpy stands in a statement; the loop is behind the lines."""
    own = lines[statement.lineno - 1 : statement.end_lineno]
    return not own or any("np" in line for line in own)


def _is_np(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "np"
