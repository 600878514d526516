"""Exceptions of samples: honest ones arrive unchanged, and no record makes one that crashes the referee."""

from __future__ import annotations

import builtins
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jailed import IS_ONE, ONE, jail_at

from passcurve.harness.exceptions import MESSAGE_CHARACTERS, REBUILDABLE, describe, is_plain, rebuild
from passcurve.harness.wire import Handle, decode, encode

FUZZER = Path(__file__).parents[2] / "benchmarks" / "fuzz_wire.py"
FAR = -(10**17)


def cross(error: BaseException) -> BaseException:
    """Return the exception that arrives on the other side."""
    return rebuild(decode(encode(describe(error))))


def rebuild_with(name: str, *arguments: Any) -> BaseException:
    """Return the exception that is rebuilt from a record of one builtin class with these arguments."""
    kind = getattr(builtins, name, Exception)
    lineage = [base.__name__ for base in kind.__mro__]
    return rebuild({"type": name, "lineage": lineage, "message": "message", "arguments": arguments})


HONEST = [
    ValueError("wrong"),
    ValueError(),
    ValueError(1, [2, {"a": (3.5, None)}]),
    KeyError("key"),
    StopIteration(3),
    SystemExit(2),
    ImportError("no module"),
    MemoryError(),
    OSError("only a message"),
    FileNotFoundError(2, "No such file or directory", "name"),
    PermissionError(13, "Permission denied", b"name"),
    OSError(9, "Bad file descriptor", 99),
    BlockingIOError(11, "again", 5),
    OSError(2, "gone", None, None, "other"),
    SyntaxError("invalid syntax"),
    SyntaxError("invalid syntax", ("f.py", 1, 2, "x = (")),
    IndentationError("unexpected indent", ("f.py", 1, 2, " x", 1, -1)),
    TabError("inconsistent", (None, None, None, None)),
    UnicodeDecodeError("utf-8", b"a\xff", 1, 2, "invalid start byte"),
    UnicodeDecodeError("utf-8", b"a\xff\xff", 1, 3, "invalid start bytes"),
    UnicodeEncodeError("ascii", "a\ud800", 1, 2, "ordinal not in range"),
    UnicodeTranslateError("añb", 1, 2, "no mapping"),
]


@pytest.mark.parametrize("error", HONEST, ids=[f"{type(e).__name__}-{i}" for i, e in enumerate(HONEST)])
def test_honest_exceptions_arrive_unchanged(error: BaseException):
    """A builtin exception arrives with its class, arguments, message and attributes."""
    arrived = cross(error)
    names = [name for name in dir(error) if not name.startswith("_") and not callable(getattr(error, name, len))]
    expected = (type(error), str(error), repr(error), [repr(getattr(error, name)) for name in names])
    assert expected == (type(arrived), str(arrived), repr(arrived), [repr(getattr(arrived, name)) for name in names])


def test_every_builtin_exception_has_a_rule():
    """Each builtin exception has a rule, except groups and private classes."""
    kinds = {kind for kind in vars(builtins).values() if isinstance(kind, type) and issubclass(kind, BaseException)}
    names = {kind.__name__ for kind in kinds if not kind.__name__.startswith("_")}
    assert {"BaseExceptionGroup", "ExceptionGroup"} == names - REBUILDABLE.keys()


def test_own_class_arrives_as_its_builtin_ancestor():
    """An exception of the sample arrives as its nearest builtin ancestor, with its arguments."""

    class MissingError(KeyError):
        pass

    arrived = cross(MissingError("a", 1))
    assert (KeyError, ("a", 1)) == (type(arrived), arrived.args)


def test_error_number_does_not_choose_the_class():
    """A subclass of OSError arrives as OSError, although its number belongs to a builtin subclass."""

    class OwnError(OSError):
        pass

    error = OwnError(2, "gone", "name")
    arrived = cross(error)
    assert (OSError, str(error), (2, "gone"), 2, "name") == (
        type(arrived),
        str(arrived),
        arrived.args,
        arrived.errno,
        arrived.filename,
    )


def test_group_arrives_as_its_message():
    """An exception group, which holds live objects, arrives as an Exception with the message."""
    group = ExceptionGroup("several", [ValueError(1)])
    arrived = cross(group)
    assert (Exception, (str(group),)) == (type(arrived), arrived.args)


class Text(str):
    """A subclass of str."""

    __slots__ = ()


class Number(int):
    """A subclass of int."""


REFUSED: dict[str, tuple[str, tuple[Any, ...], str]] = {
    "bytes far outside": ("UnicodeDecodeError", ("x", b"", FAR, FAR + 1, "r"), "UnicodeError"),
    "bytes at the end": ("UnicodeDecodeError", ("x", b"ab", 2, 3, "r"), "UnicodeError"),
    "no bytes": ("UnicodeDecodeError", ("x", b"", 0, 0, "r"), "UnicodeError"),
    "an empty span": ("UnicodeDecodeError", ("x", b"ab", 1, 1, "r"), "UnicodeError"),
    "a span backwards": ("UnicodeDecodeError", ("x", b"ab", 2, 1, "r"), "UnicodeError"),
    "a span before the bytes": ("UnicodeDecodeError", ("x", b"ab", -1, 0, "r"), "UnicodeError"),
    "an end far outside": ("UnicodeDecodeError", ("x", b"ab", 0, (1 << 63) - 1, "r"), "UnicodeError"),
    "bytes that change": ("UnicodeDecodeError", ("x", bytearray(b"ab"), 0, 1, "r"), "UnicodeError"),
    "true as an offset": ("UnicodeDecodeError", ("x", b"ab", True, 2, "r"), "UnicodeError"),
    "a number of another class": ("UnicodeDecodeError", ("x", b"ab", Number(0), 1, "r"), "UnicodeError"),
    "text far outside": ("UnicodeEncodeError", ("x", "", FAR, FAR + 1, "r"), "UnicodeError"),
    "text of another class": ("UnicodeEncodeError", ("x", Text("ab"), 0, 1, "r"), "UnicodeError"),
    "a translation far outside": ("UnicodeTranslateError", ("", FAR, FAR + 1, "r"), "UnicodeError"),
    "a place as a range": ("SyntaxError", ("m", range(10**12)), "SyntaxError"),
    "a place as a text": ("SyntaxError", ("m", "abcd"), "SyntaxError"),
    "a column far outside": ("IndentationError", ("m", ("f", 1, 10**12, "t")), "IndentationError"),
    "a line that is none": ("TabError", ("m", ("f", "1", 1, "t")), "TabError"),
    "a place of five": ("SyntaxError", ("m", ("f", 1, 1, "t", 1)), "SyntaxError"),
    "a list as a message": ("SyntaxError", ([],), "SyntaxError"),
    "characters below none": ("BlockingIOError", (11, "m", -1), "BlockingIOError"),
    "a list as an error number": ("OSError", ([], "m"), "OSError"),
    "a huge error number": ("OSError", (1 << 64, "m"), "OSError"),
    "a text too long": ("OSError", (2, "m" * (MESSAGE_CHARACTERS + 1)), "OSError"),
    "a live object": ("ValueError", (Handle("opaque", 1, "x"),), "ValueError"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_arguments(what: str):
    """Arguments that a rule refuses are replaced by the message, in the nearest class that takes one."""
    name, arguments, expected = REFUSED[what]
    arrived = rebuild_with(name, *arguments)
    assert (expected, ("message",)) == (type(arrived).__name__, arrived.args)


@pytest.mark.parametrize("name", ["exit", "object", "__import__", "IOError", "int", "\ud800", "", "ExceptionGroup"])
def test_name_outside_the_table(name: str):
    """A name that is not in the table is ignored, whatever the builtin of that name."""
    arrived = rebuild({"type": "E", "lineage": [name, "KeyError"], "message": "1", "arguments": (1,)})
    assert (KeyError, (1,)) == (type(arrived), arrived.args)


def test_no_name_in_the_table():
    """A record without a name of the table is rebuilt as an Exception with the message."""
    arrived = rebuild({"type": "E", "lineage": [], "message": "m", "arguments": (1,)})
    assert (Exception, ("m",)) == (type(arrived), arrived.args)


def test_is_plain():
    """A value is plain if every part of it is exactly of a builtin type."""
    plain = decode(encode([1, "a", b"b", {(2, frozenset({3})): [None, range(4), 1j, bytearray()]}]))
    refused = [object(), Text("x"), [Number(1)], {"k": len}, {Text("x"): 1}, (Handle("opaque", 1, "x"),)]
    assert [True, False] == [is_plain(plain), any(map(is_plain, refused))]


ATTACK = """
import os, stat, struct
def f():
    data = {data!r}
    for number in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, struct.pack("<I", len(data)) + data)
        except OSError:
            pass
"""
CATCH = """
def check(candidate):
    try:
        candidate()
    except ValueError as error:
        assert 0, str(error)
"""


def test_exception_that_would_crash_the_tests():
    """A record whose class would read memory outside its object is rebuilt as an ancestor."""
    lineage = ["UnicodeDecodeError", "UnicodeError", "ValueError", "Exception"]
    record = {"type": "E", "lineage": lineage, "message": "caught", "arguments": ("x", b"", FAR, FAR + 1, "r")}
    with jail_at("auto") as jail:
        verdict = jail.check(ATTACK.format(data=encode({"raised": record})), CATCH)
        after = jail.check(ONE, IS_ONE)
    assert ("failed", "AssertionError: caught", True) == (verdict.status, verdict.message, after.passed)


# Fuzzing, in processes of their own.


@pytest.mark.ci
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_the_fuzzer(seed: int):
    """The fuzzer finds no crash and no unexpected exception in 4,000 cases of each kind."""
    command = [sys.executable, str(FUZZER), "--seed", str(seed), "--count", "4000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (0, "") == (done.returncode, done.stderr[-2000:])
    assert done.stdout.startswith(f"seed {seed}: 4000 exceptions and 4000 messages ")


numbers = st.one_of(st.integers(-3, 8), st.integers(), st.sampled_from([FAR, FAR + 1, (1 << 63) - 1, -(1 << 63)]))
atoms = st.one_of(st.none(), st.booleans(), numbers, st.floats(), st.text(max_size=9), st.binary(max_size=9))
values = st.recursive(
    atoms, lambda inner: st.one_of(st.lists(inner, max_size=6), st.tuples(inner, inner)), max_leaves=8
)
spans = numbers.flatmap(lambda start: st.tuples(st.just(start), st.sampled_from([start, start + 1, start + 2])))
arguments = st.one_of(
    st.lists(values, max_size=6).map(tuple),
    st.tuples(
        st.text(max_size=3), st.one_of(st.text(max_size=5), st.binary(max_size=5)), spans, st.text(max_size=3)
    ).map(lambda parts: (*parts[:2], *parts[2], parts[3])),
    st.tuples(st.text(max_size=5), spans, st.text(max_size=3)).map(lambda parts: (parts[0], *parts[1], parts[2])),
    st.tuples(atoms, st.lists(atoms, min_size=3, max_size=7).map(tuple)),
    st.tuples(numbers, atoms, atoms),
)


@settings(max_examples=1500, database=None)
# Of a class that this version lacks, each rebuilding makes one of its own.
@given(st.sampled_from(sorted(name for name in REBUILDABLE if hasattr(builtins, name))), arguments)
def rebuild_any(name: str, given_arguments: tuple[Any, ...]) -> None:
    """Rebuild a class with any plain arguments, and show all its attributes."""
    error = rebuild_with(name, *given_arguments)
    assert type(error).__name__ in REBUILDABLE
    for attribute in dir(error):
        repr(getattr(error, attribute, None))
    assert isinstance(str(error) + repr(error) + repr(error.args), str)
    assert type(error) is type(cross(error))


@pytest.mark.nightly
def test_any_class_with_any_arguments():
    """Each class with any plain arguments gives an exception that can be shown and sent again."""
    here = Path(__file__).parent
    paths = [str(here), str(here.parent / "sandbox")]
    code = f"import sys; sys.path[:0] = {paths}; import test_exceptions; test_exceptions.rebuild_any()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (0, "") == (done.returncode, done.stderr[-3000:])
