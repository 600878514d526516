"""Output of every command: results on stdout, the rest on stderr, an error as one line with its exit code."""

from __future__ import annotations

import errno
import io
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from passcurve.errors import IsolationError, PasscurveError, UsageError
from passcurve.interruption import interrupt_on_sigterm

_PATH_ERRORS = (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR)
"""Reasons why a path cannot be looked up, which whoever asks for it seldom expects."""

# Slow imports stand in the functions that need them: ``--version`` needs none of them, and a short run no rich.


def write(text: str) -> None:
    """Write a line of the result to stdout."""
    with _tolerate_closed_stdout():
        sys.stdout.write(text + "\n")


def write_now(text: str) -> None:
    """Write a line to stdout for who reads it through a pipe while the command goes on."""
    with _tolerate_closed_stdout():
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def terminal_width() -> int | None:
    """Return the width of the terminal in columns, or None when stdout is not a terminal."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (AttributeError, OSError, ValueError):
        return None


def write_lines(lines: Iterable[str]) -> None:
    """Write lines of the result to stdout; wrap them between words to the width of a terminal."""
    columns = terminal_width()
    for line in lines:
        if columns is None or len(line) <= columns:
            write(line)
            continue
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        for part in textwrap.wrap(
            line, max(columns, 20), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        ):
            write(part)


def warn(text: str) -> None:
    """Write a note or a warning to stderr; do not fail when stderr is closed."""
    try:
        sys.stderr.write(f"passcurve: {text}\n")
        sys.stderr.flush()
    except AttributeError:
        pass
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def write_json(record: dict[str, Any]) -> None:
    """Write the one JSON object of a command to stdout."""
    import json

    write(json.dumps(record, allow_nan=False))


@contextmanager
def handle_errors(as_json: bool) -> Iterator[None]:
    """Report an error of ours or an interruption in one line, and exit with its code."""
    import typer

    with interrupt_on_sigterm():
        try:
            if sys.platform == "win32":
                raise IsolationError("Windows cannot isolate programs; use a Linux machine, a container or WSL 2")
            _check_working_folder()
            yield
        except PasscurveError as error:
            if as_json:
                write_json({"error": str(error), "exit_code": error.exit_code})
            warn(str(error))
            raise typer.Exit(error.exit_code) from None
        except OSError as error:
            if error.errno not in _PATH_ERRORS or not isinstance(error.filename, str | os.PathLike):
                raise
            text = f"cannot use {os.fspath(error.filename)!r}: {error.strerror}"
            if as_json:
                write_json({"error": text, "exit_code": UsageError.exit_code})
            warn(text)
            raise typer.Exit(UsageError.exit_code) from None
        except EOFError as error:
            path = _damaged_bytecode(error)
            if path is None:
                raise
            text = f"the bytecode {path!r} is damaged, as a full disk may leave it: remove that file"
            if as_json:
                write_json({"error": text, "exit_code": 1})
            warn(text)
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            if as_json:
                write_json({"error": "interrupted", "exit_code": 130})
            warn("interrupted")
            raise typer.Exit(130) from None


def _damaged_bytecode(error: EOFError) -> str | None:
    """Return the file of bytecode whose end CPython has missed, if it was one; Typer would say ``Aborted!`` alone."""
    at = error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_name == "get_code" and "bytecode_path" in at.tb_frame.f_locals:
            return str(at.tb_frame.f_locals["bytecode_path"])
        at = at.tb_next
    return None


def _check_working_folder() -> None:
    """Raise UsageError where relative paths lead nowhere."""
    try:
        Path.cwd()
    except OSError as error:
        raise UsageError(f"the working folder cannot be used ({error.strerror}): change to another one") from None


def run_and_flush(command: Callable[[], None]) -> None:
    """Run the command line and flush its output; a reader that has gone away is not an error."""
    _spell_out_foreign_characters()
    try:
        command()
    except SystemExit as end:
        # Typer writes its help by itself, and takes a reader that has gone away for an error.
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        _discard_stdout()
    finally:
        with _tolerate_closed_stdout():
            sys.stdout.flush()


def _spell_out_foreign_characters() -> None:
    """Make stdout spell out a character that its encoding lacks, as stderr does, and not fail."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


@contextmanager
def _tolerate_closed_stdout() -> Iterator[None]:
    """Ignore a broken pipe and a closed stdout; report any other failure to write, and exit with 1."""
    try:
        yield
    except BrokenPipeError:
        _discard_stdout()
    except AttributeError:
        # stdout was closed before the command started.
        pass
    except OSError as error:
        _discard_stdout()
        warn(f"cannot write the result: {error.strerror or error}")
        raise SystemExit(1) from None


def _discard_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
