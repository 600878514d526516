"""The tree of failures: the picture on top of it, the exit codes, the nearest name."""

from __future__ import annotations

import inspect
import re

import pytest

from passcurve import errors
from passcurve.errors import PasscurveError, nearest

CLASSES = [
    each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, BaseException)
]  # fmt: skip
DRAWN = re.compile(r"(?P<lead>[│├└─ ]*)(?P<name>[A-Z]\w+) +(?P<code>\d+)  (?P<words>.+)")


def drawn() -> dict[str, tuple[str | None, int]]:
    """Return parent and exit code of each class in the picture."""
    found: dict[str, tuple[str | None, int]] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if match := DRAWN.fullmatch(line):
            depth = len(match["lead"]) // 4
            path[depth:] = [match["name"]]
            found[match["name"]] = (path[depth - 1] if depth else None, int(match["code"]))
    return found


def test_the_picture_shows_every_class():
    """The tree in the docstring has each class of the module, and no other."""
    assert {each.__name__ for each in CLASSES} == drawn().keys()


@pytest.mark.parametrize("each", CLASSES)
def test_the_picture_shows_the_parent(each):
    """Each class stands in the picture under the class it is derived from."""
    parent = drawn()[each.__name__][0]
    assert (parent or "Exception") == each.__bases__[0].__name__


@pytest.mark.parametrize("each", CLASSES)
def test_the_picture_shows_the_exit_code(each):
    """The number in the picture is the exit code on the class."""
    assert drawn()[each.__name__][1] == each.exit_code


@pytest.mark.parametrize(
    ("name", "code"),
    {
        "PasscurveError": 1,
        "UsageError": 2,
        "DataError": 2,
        "UnknownNameError": 2,
        "SandboxError": 1,
        "IsolationError": 2,
        "StoreError": 1,
        "FetchError": 1,
        "Interrupted": 130,
    }.items(),
)
def test_exit_codes(name, code):
    """1 is ours, 2 is the user's, 130 is the user who stopped it."""
    assert code == getattr(errors, name).exit_code


@pytest.mark.parametrize("each", CLASSES)
def test_one_clause_catches_all(each):
    """Every class is a PasscurveError and holds one sentence of explanation."""
    assert issubclass(each, PasscurveError)
    assert (each.__doc__ or "").endswith(".")


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("startr", ["starter", "humaneval"], "; did you mean 'starter'?"),
        ("HumanEval/1O", ["HumanEval/10", "HumanEval/2"], "; did you mean 'HumanEval/10'?"),
        ("zzz", ["starter", "humaneval"], ""),
        ("", ["starter"], ""),
        ("starter", [], ""),
    ],
)
def test_nearest(name, known, hint):
    """A name that is close to a known one gets a hint, any other none."""
    assert hint == nearest(name, known)


def test_nearest_takes_what_can_be_read_once():
    """The known names may be an iterator."""
    assert "; did you mean 'ab'?" == nearest("aab", iter(["ab", "xy"]))
