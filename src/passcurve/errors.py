"""What can go wrong, as one tree; a bad sample is a record, never one of these.

PasscurveError            1  something failed and it was not the model
├── UsageError            2  the command or the call asks for what cannot be
├── DataError             2  a file, a row or a benchmark is not what it should be
│   └── UnknownNameError  2  a name that nothing answers to
├── SandboxError          1  the jail could not be built or did not hold together
│   └── IsolationError    2  a level of isolation was asked for that this host cannot give
├── StoreError            1  a run directory could not be read, written or locked
├── FetchError            1  a benchmark could not be fetched or its checksum is wrong
├── ModelError            1  a back end could not be reached or gave no sample
│   ├── RefusedError      2  a back end refuses what is asked: the key, the model, a setting
│   └── TooLongError      1  a prompt and its answer do not fit into the model's context
└── Interrupted         130  the user stopped the run; what was done is stored

The number is the exit code of a command that ends with this error.
"""

from __future__ import annotations

from collections.abc import Iterable


class PasscurveError(Exception):
    """Something failed and it was not the model."""

    exit_code = 1


class UsageError(PasscurveError):
    """The command or the call asks for what cannot be."""

    exit_code = 2


class DataError(PasscurveError):
    """A file, a row or a benchmark is not what it should be."""

    exit_code = 2


class UnknownNameError(DataError):
    """A name that nothing answers to; the message offers the nearest known ones."""


class SandboxError(PasscurveError):
    """The jail could not be built or did not hold together."""


class IsolationError(SandboxError):
    """A level of isolation was asked for that this host cannot give."""

    exit_code = 2


class StoreError(PasscurveError):
    """A run directory could not be read, written or locked."""


class FetchError(PasscurveError):
    """A benchmark could not be fetched, or what came is not what was expected."""


class ModelError(PasscurveError):
    """A back end could not be reached, or gave no sample."""


class RefusedError(ModelError):
    """A back end refuses what is asked, and would again: the key, the model, a setting."""

    exit_code = 2


class TooLongError(ModelError):
    """A prompt and its answer do not fit into the model's context; other problems may fit."""


class Interrupted(PasscurveError):  # noqa: N818 - it is not an error of anybody
    """The user stopped the run; what was done is stored and the same command resumes."""

    exit_code = 130


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint like ``; did you mean 'starter'?`` or the empty string."""
    import difflib  # most commands need no hint, and it is slow to load

    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
