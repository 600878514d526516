"""Fuzz the two functions that make objects of a sample's bytes in the referee: ``Decoder`` and ``rebuild``.

``PYTHONPATH=src python benchmarks/fuzz_wire.py --seed 1 --count 100000`` needs the standard library only, so that a
debug build of CPython, which has more assertions than a release build, can run it.  It looks for a crash of the
interpreter; with ``--trace`` it prints seed and number of each case before it runs.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import random
import reprlib
import struct
import sys
import traceback
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from passcurve.harness.exceptions import REBUILDABLE, describe, rebuild
from passcurve.harness.wire import Decoder, Encoder, WireError

WORK = 200_000
"""Work of the decoder in one case."""
NUMBERS = [
    *(0, 1, 2, 3, 4, 5, 11, 17, -1, -2, 127, 255, 2000, 2001, 1 << 15, 1 << 31, (1 << 31) - 1, -(1 << 31)),
    *((1 << 62), (1 << 63) - 1, 1 << 63, -(1 << 63), -(10**17), 10**17, 1 << 64, 10**5000, (1 << 61) - 1),
]
TEXTS = ["", "a", "utf-8", "\0", "\ud800", "ñ漢🎈", "x" * 2000, "x" * 2001, "print x", "%s%n", "f.py", "\n\t "]
HONEST: list[tuple[Any, ...]] = [
    (),
    ("message",),
    (2, "No such file or directory", "name"),
    (11, "again", 5),
    (2, "gone", "a", None, "b"),
    ("utf-8", b"abc", 0, 1, "reason"),
    ("utf-8", b"abc", 1, 3, "reason"),
    ("ascii", "ñab", 0, 1, "reason"),
    ("text", 0, 1, "reason"),
    ("invalid syntax", ("f.py", 1, 2, "x = (")),
    ("invalid syntax", ("f.py", 1, 2, "x = (", 1, 3)),
    ("group", [1]),
]
NAMES = [*REBUILDABLE, "BaseExceptionGroup", "ExceptionGroup", "_IncompleteInputError", "IOError", "exit", "object"]


def any_value(source: random.Random, depth: int = 3) -> Any:
    """Return a plain value of any type; strange values are frequent."""
    kind = source.randrange(17 if depth else 11)
    if kind == 0:
        return source.choice([None, True, False])
    if kind in (1, 2):
        return source.choice(NUMBERS) + source.choice([0, 0, 0, 1, -1])
    if kind in (3, 4):
        return source.choice(TEXTS) * source.choice([1, 1, 2])
    if kind == 5:
        return bytes(source.randrange(256) for _ in range(source.choice([0, 1, 2, 5, 300])))
    if kind == 6:
        return source.choice([0.0, -0.0, 1.5, float("nan"), float("inf"), 1e308, complex(1, -0.0)])
    if kind == 7:
        return bytearray(source.choice([b"", b"abc", b"\xff" * 100]))
    if kind == 8:
        return range(source.choice(NUMBERS), source.choice(NUMBERS), source.choice(NUMBERS) or 1)
    if kind == 9:
        return Fraction(source.choice(NUMBERS), abs(source.choice(NUMBERS)) or 1)
    if kind == 10:
        return Decimal(
            source.choice(["0", "-0", "NaN", "sNaN", "1E+999999", "1E-999999", "Infinity", "0.1", "7" * 500])
        )
    items = [any_value(source, depth - 1) for _ in range(source.randrange(7))]
    if kind in (11, 12, 13):
        return tuple(items)
    if kind == 14:
        return items
    keys = [item for item in items if _is_hashable(item)]
    if kind == 15:
        return source.choice([set, frozenset])(keys)
    return {key: source.choice(items) for key in keys}


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def any_arguments(source: random.Random) -> Any:
    """Return arguments of any type, or honest ones of which some are replaced."""
    if source.random() < 0.3:
        return tuple(any_value(source) for _ in range(source.randrange(8)))
    arguments = list(source.choice(HONEST))
    if len(arguments) in (4, 5) and source.random() < 0.4:
        # A span: its two ends must change together.
        start = source.choice(NUMBERS)
        arguments[-3:-1] = [start, start + source.choice([0, 1, 1, 2, -1])]
    for _ in range(source.randrange(3)):
        if arguments:
            index = source.randrange(len(arguments))
            inner = arguments[index]
            if type(inner) is tuple and inner and source.random() < 0.8:
                items = list(inner)
                items[source.randrange(len(items))] = any_value(source, 1)
                arguments[index] = tuple(items)
            else:
                arguments[index] = any_value(source, 1)
    return tuple(arguments)


def use_exception(error: BaseException) -> None:
    """Use a rebuilt exception as tests and reports can; nothing but Python exceptions may result."""
    uses: list[Callable[[], object]] = [
        lambda: str(error),
        lambda: repr(error),
        lambda: reprlib.repr(error),
        lambda: "%s" % (error.args,),
        lambda: hash(error),
        lambda: error == copy.copy(error),
        lambda: str(copy.deepcopy(error)),
        lambda: "".join(traceback.format_exception(type(error), error, None)),
        lambda: str(rebuild(describe(error))),
        lambda: str(error.with_traceback(None)),
        error.__reduce__,
    ]
    names = [name for name in dir(error) if not name.startswith("__")]
    uses += [lambda name=name: repr(getattr(error, name)) for name in names]  # type: ignore[misc]
    for use in uses:
        with contextlib.suppress(Exception):
            use()
    # One with another message than its builtin class makes is of a class made for it.
    kind = type(error) if type(error).__module__ == "builtins" else type(error).__base__
    assert kind is not None
    assert kind is BaseException or (kind.__module__ == "builtins" and kind.__name__ in REBUILDABLE), type(error)
    error.__cause__, error.__context__ = ValueError("cause"), KeyError("context")
    try:
        raise error
    except BaseException as caught:
        is_same = caught is error
    assert is_same


def fuzz_exception(source: random.Random) -> None:
    """Encode a record of any class with any arguments, decode and rebuild it, and use the exception."""
    lineage = source.sample(NAMES, source.randrange(1, 4))
    record = {"type": "E", "lineage": lineage, "message": source.choice(TEXTS), "arguments": any_arguments(source)}
    use_exception(rebuild(Decoder(None, WORK).decode(Encoder().encode(record))))


def fuzz_message(source: random.Random) -> None:
    """Decode random bytes, or a valid message with some bytes changed, removed or repeated, and use the value."""
    if source.random() < 0.2:
        data = bytearray(source.choice(b"iNTFfcrqDausIbBhgoltSZd") for _ in range(1))
        data += bytes(source.randrange(256) for _ in range(source.randrange(60)))
    else:
        data = bytearray(Encoder().encode([any_value(source), any_value(source)]))
        for _ in range(source.randrange(1, 5)):
            mutate(data, source)
    try:
        value = Decoder(lambda handle: (handle.kind, handle.number, handle.name), WORK).decode(bytes(data))
    except WireError:
        return
    uses: list[Callable[[], object]] = [
        lambda: reprlib.repr(value),
        lambda: hash(value),
        lambda: value == copy.copy(value),
        lambda: Decoder().decode(Encoder().encode(value)),
    ]
    for use in uses:
        with contextlib.suppress(Exception):
            use()
    use_exception(
        rebuild({"type": "E", "lineage": [source.choice(NAMES)], "message": "m", "arguments": (value, value)})
    )


def mutate(data: bytearray, source: random.Random) -> None:
    """Change, remove or repeat some bytes of a message, or write another length into it."""
    start, end = sorted((source.randrange(len(data) + 1), source.randrange(len(data) + 1)))
    kind = source.randrange(5)
    if kind == 0:
        del data[start : min(end, start + 9)]
    elif kind == 1:
        data[start:start] = data[start : min(end, start + 40)]
    elif kind == 2:
        data[start : start + 4] = struct.pack("<I", source.choice([0, 1, 3, 255, 1 << 16, 1 << 31, (1 << 32) - 1]))
    elif kind == 3:
        data[start : start + 1] = bytes([source.choice(b"iNTFfcrqDausIbBhgoltSZd")])
    else:
        data[start : start + 1] = bytes([source.randrange(256)])


def main() -> None:
    """Run the cases of one seed and print their number."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=10_000, help="number of cases of each kind")
    parser.add_argument("--trace", action="store_true", help="print the number of each case before it runs")
    options = parser.parse_args()
    for number in range(options.count):
        if options.trace:
            print("seed %d, case %d" % (options.seed, number), flush=True)
        # Each case has its own seed, so that it can be run alone.
        source = random.Random("%d %d" % (options.seed, number))
        fuzz_exception(source)
        fuzz_message(source)
    build = "debug" if hasattr(sys, "gettotalrefcount") else "release"
    print(
        "seed %d: %d exceptions and %d messages under Python %s (%s build)"
        % (options.seed, options.count, options.count, sys.version.split()[0], build)
    )


if __name__ == "__main__":
    main()
