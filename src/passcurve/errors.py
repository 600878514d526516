"""The tree of errors; a bad sample is a record, never an error.

PasscurveError            1  something other than the model failed
├── UsageError            2  the command or the call is invalid
├── DataError             2  a file, a row or a benchmark is invalid
│   └── UnknownNameError  2  an unknown name
├── SandboxError          1  the jail could not be built or broke
│   └── IsolationError    2  the host cannot give the requested isolation
├── StoreError            1  a run directory could not be read, written or locked
│   └── PlaceError        2  a place that the user chose is wrong: read-only, or no run directory
├── FetchError            1  a benchmark could not be fetched, or its checksum is wrong
├── ModelError            1  a back end could not be reached, or returned no sample
│   ├── UnavailableError  1  a server cannot be reached or takes no requests now
│   ├── RefusedError      2  a back end refuses the key, the model or a setting
│   │   └── PromptError   2  a back end refuses a request, maybe for its prompt alone
│   └── TooLongError      1  a prompt and its answer do not fit into the model's context
└── Interrupted         130  the user stopped the run; finished verdicts are stored

The number is the exit code of a command that ends with this error.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from pathlib import Path

QUEUE_FULL, AT_ONCE = "the queue is full", "requests at once"
BUSY = (QUEUE_FULL, AT_ONCE)
"""What a server says that has too much to do at present: a client asks again until that has passed."""


class PasscurveError(Exception):
    """Something other than the model failed."""

    exit_code = 1


class UsageError(PasscurveError):
    """The command or the call is invalid."""

    exit_code = 2


class DataError(PasscurveError):
    """A file, a row or a benchmark is invalid."""

    exit_code = 2


class UnknownNameError(DataError):
    """An unknown name; the message offers the nearest known one."""


class SandboxError(PasscurveError):
    """The jail could not be built or broke."""


class IsolationError(SandboxError):
    """The host cannot give the requested isolation."""

    exit_code = 2


class StoreError(PasscurveError):
    """A run directory could not be read, written or locked."""


class PlaceError(StoreError):
    """A place that the user chose is wrong: it cannot be written, or is no run directory."""

    exit_code = 2


class FetchError(PasscurveError):
    """A benchmark could not be fetched, or its checksum is wrong."""


class ModelError(PasscurveError):
    """A back end could not be reached, or returned no sample."""

    problem_id = ""
    """The problem whose request failed, where only the back end knows it."""


class UnavailableError(ModelError):
    """A server cannot be reached or takes no requests now, whatever they ask."""


class RefusedError(ModelError):
    """A back end refuses the key, the model or a setting: a retry would fail as well."""

    exit_code = 2


class PromptError(RefusedError):
    """A back end refuses a request, for a setting or for its prompt: others may be answered."""


class TooLongError(ModelError):
    """A prompt and its answer do not fit into the model's context; other problems may fit."""


class Interrupted(PasscurveError):  # noqa: N818 - an interruption is not an error
    """The user stopped the run; finished verdicts are stored, and the same command resumes it."""

    exit_code = 130


_NO_ACCESS = {errno.EROFS, errno.EACCES, errno.EPERM}
_NO_PATH = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG}


def place_error(message: str, error: OSError) -> StoreError:
    """Return the error of a place that cannot be used: the place is wrong, or reading or writing failed."""
    return PlaceError(message) if error.errno in _NO_ACCESS | _NO_PATH else StoreError(message)


def sandbox_error(error: BaseException) -> PasscurveError:
    """Return an error of ours that ended a sandbox as it is, and any other as a SandboxError with that as its cause."""
    if isinstance(error, PasscurveError):
        return error
    lost = SandboxError(f"the sandbox was lost: {type(error).__name__}: {error}")
    lost.__cause__ = error
    return lost


def nearest_file(path: Path) -> str:
    """Return a hint at the file that is named most like one that is not there, as it could be typed."""
    try:
        others = {str(path.parent / entry.name) for entry in path.parent.iterdir()} - {str(path)}
    except OSError:
        return f"; the folder {str(path.parent)!r} does not exist" if not path.parent.is_dir() else ""
    if path.is_symlink():
        return "; it is a link that leads to no file"
    return nearest(str(path), sorted(others))


_LONGEST_NAME = 1000


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a hint like ``; did you mean 'starter'?``, or the empty string."""
    import difflib  # loaded here: most commands need no hint, and it is slow to load

    if len(name) > _LONGEST_NAME:
        # The comparison takes time that grows with the square of its length.
        return ""
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
