"""How every command speaks: results on stdout, the rest on stderr, errors as one line with their exit code."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from passcurve.errors import IsolationError, PasscurveError

# What takes long to load is loaded where it is used: ``--version`` needs none of it, and a short run no rich.


def say(text: str) -> None:
    """Print a line of the result."""
    with _written():
        sys.stdout.write(text + "\n")


def width() -> int | None:
    """Return the columns of the terminal that stdout is, or None when it is none."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (AttributeError, OSError, ValueError):
        return None


def say_all(lines: Iterable[str]) -> None:
    """Print lines of the result; on a terminal those that are longer than it is wide are broken between words."""
    columns = width()
    for line in lines:
        if columns is None or len(line) <= columns:
            say(line)
            continue
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        for part in textwrap.wrap(
            line, max(columns, 20), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        ):
            say(part)


def tell(text: str) -> None:
    """Print a line beside the result: a warning, a note."""
    # Where nobody can be told, the work goes on.
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except AttributeError:
        pass
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def say_json(record: dict[str, Any]) -> None:
    """Print the one JSON object of a command."""
    import json

    say(json.dumps(record, allow_nan=False))


@contextmanager
def told(as_json: bool) -> Iterator[None]:
    """Turn an error of ours into one line and its exit code, and SIGTERM into an interruption."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        if sys.platform == "win32":
            raise IsolationError("Windows cannot jail a program; use a Linux machine, container or VM (WSL 2 is one)")
        yield
    except PasscurveError as error:
        stop(error, as_json)
    except KeyboardInterrupt:
        import typer

        tell("passcurve: interrupted")
        raise typer.Exit(130) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def stop(error: PasscurveError, as_json: bool) -> NoReturn:
    """Print an error and leave with its exit code."""
    if as_json:
        say_json({"error": str(error), "exit_code": error.exit_code})
    import typer

    tell(f"passcurve: {error}")
    raise typer.Exit(error.exit_code)


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def quietly(command: Callable[[], None]) -> None:
    """Run the command line; a reader that has gone away is no error worth a word."""
    try:
        command()
    finally:
        with _written():
            sys.stdout.flush()


@contextmanager
def _written() -> Iterator[None]:
    """Bear with a stdout that takes nothing: silently when its reader has gone, with one line and 1 otherwise."""
    try:
        yield
    except BrokenPipeError:
        _mute()
    except AttributeError:
        # It was closed before we began.
        pass
    except OSError as error:
        _mute()
        tell(f"passcurve: cannot print the result: {error.strerror or error}")
        raise SystemExit(1) from None


def _mute() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
