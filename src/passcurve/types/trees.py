"""Syntax trees of Python programs, in processes with several threads."""

from __future__ import annotations

import ast

_ATTEMPTS = 10


def parse(source: str | bytes) -> ast.Module:
    """Return the tree of a program.  Raises what ``ast.parse`` raises.

    CPython 3.11 counts the depth of a tree for all threads together.  Where one gets its turn in the middle of another
    one's tree, since a collection of garbage runs code there, that ends with SystemError.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return ast.parse(source)
        except SystemError:
            pass
    return ast.parse(source)
