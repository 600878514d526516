"""The tree of errors: its picture, the exit codes, the nearest name."""

from __future__ import annotations

import errno
import inspect
import re

import pytest

from passcurve import errors
from passcurve.errors import PasscurveError, nearest, place_error

CLASSES = [member for _, member in inspect.getmembers(errors, inspect.isclass) if issubclass(member, BaseException)]
TREE_LINE = re.compile(r"(?P<lead>[│├└─ ]*)(?P<name>[A-Z]\w+) +(?P<code>\d+)  (?P<words>.+)")


def parse_tree() -> dict[str, tuple[str | None, int]]:
    """Return parent and exit code of each class in the picture."""
    tree: dict[str, tuple[str | None, int]] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if match := TREE_LINE.fullmatch(line):
            depth = len(match["lead"]) // 4
            path[depth:] = [match["name"]]
            tree[match["name"]] = (path[depth - 1] if depth else None, int(match["code"]))
    return tree


def test_the_picture_shows_every_class():
    """The tree in the docstring has each class of the module, and no other."""
    assert {error.__name__ for error in CLASSES} == parse_tree().keys()


@pytest.mark.parametrize("error", CLASSES)
def test_the_picture_shows_the_parent(error):
    """Each class stands in the picture under the class it is derived from."""
    parent = parse_tree()[error.__name__][0]
    assert (parent or "Exception") == error.__bases__[0].__name__


@pytest.mark.parametrize("error", CLASSES)
def test_the_picture_shows_the_exit_code(error):
    """The number in the picture is the exit code on the class."""
    assert parse_tree()[error.__name__][1] == error.exit_code


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
        "PlaceError": 2,
        "FetchError": 1,
        "Interrupted": 130,
    }.items(),
)
def test_exit_codes(name, code):
    """1 is ours, 2 is the user's, 130 is the user who stopped it."""
    assert code == getattr(errors, name).exit_code


@pytest.mark.parametrize("error", CLASSES)
def test_one_clause_catches_all(error):
    """Every class is a PasscurveError and holds one sentence of explanation."""
    assert issubclass(error, PasscurveError)
    assert (error.__doc__ or "").endswith(".")


@pytest.mark.parametrize(
    ("name", "names", "hint"),
    [
        ("startr", ["starter", "humaneval"], "; did you mean 'starter'?"),
        ("HumanEval/1O", ["HumanEval/10", "HumanEval/2"], "; did you mean 'HumanEval/10'?"),
        ("zzz", ["starter", "humaneval"], ""),
        ("", ["starter"], ""),
        ("starter", [], ""),
    ],
)
def test_nearest(name, names, hint):
    """A name that is close to a known one gets a hint, any other none."""
    assert hint == nearest(name, names)


def test_nearest_takes_an_iterator():
    """The known names may be an iterator."""
    assert "; did you mean 'ab'?" == nearest("aab", iter(["ab", "xy"]))


@pytest.mark.parametrize(
    ("number", "code"), [(errno.EROFS, 2), (errno.EACCES, 2), (errno.ENOTDIR, 2), (errno.ENOSPC, 1), (errno.EIO, 1)]
)
def test_a_place_that_cannot_be_written(number, code):
    """A wrong place is the user's to change; a full or broken disk is not."""
    assert code == place_error("no", OSError(number, "no")).exit_code
