"""The standard output and error of a program that reports nothing: read while it runs, and made into its report."""

from __future__ import annotations

import os
import selectors
from io import FileIO

import msgspec

from passcurve.harness.command import FETCHED_BYTES, Stream
from passcurve.sandbox.connection import unwatch
from passcurve.sandbox.job import Outcome

_WRITTEN_BY_ALL = 0o222


class _Reader:
    """One stream, watched until nobody can write to it any more."""

    def __init__(self, selector: selectors.BaseSelector, head_bytes: int) -> None:
        self._selector = selector
        self.stream = Stream(head_bytes)
        selector.register(self, selectors.EVENT_READ, self.read)
        self._is_watched = True

    def fileno(self) -> int:
        """Return the descriptor that is read."""
        return self.stream.reading

    def read(self, _: int) -> None:
        """Take what has come."""
        # An event may come after the end, when somebody else has the number.
        if self._is_watched:
            self.stream.read()
            if not self.stream.is_open:
                self._unwatch()

    def close(self) -> None:
        """Stop reading."""
        self._unwatch()
        os.close(self.stream.reading)

    def _unwatch(self) -> None:
        if self._is_watched:
            unwatch(self._selector, self)
        self._is_watched = False


class OutputPipes:
    """Both streams of one program."""

    def __init__(self, selector: selectors.BaseSelector, head_bytes: int, *, fetches: bool) -> None:
        """Open what the program writes to.  ``fetches``: there is a file for what is fetched after the run."""
        self._readers = [_Reader(selector, head_bytes) for _ in range(2)]
        for reader in self._readers:
            # The program may be another user, and opens its streams by their names as well: /dev/stdout.
            os.fchmod(reader.stream.writing, _WRITTEN_BY_ALL)
        # They outlive this function: close_files and close end them.
        self.files = [open(reader.stream.writing, "wb", buffering=0) for reader in self._readers]  # noqa: SIM115
        """The ends that the program gets; close them when it has them."""
        self._fetched: FileIO | None = None
        if fetches:
            # complete closes it.
            self._fetched = open(os.memfd_create("files", os.MFD_CLOEXEC), "w+b", buffering=0)  # noqa: SIM115
            self.files.append(self._fetched)

    def close_files(self) -> None:
        """Close the ends that the program has now."""
        for file in self.files[:2]:
            file.close()

    def complete(self, outcome: Outcome) -> Outcome:
        """Return the outcome of the program, which has ended with all that it started, with a report."""
        self.close_files()
        for reader in self._readers:
            while reader.stream.is_open:
                reader.stream.read()
            reader.close()
        if outcome.ended != "exit":
            return msgspec.structs.replace(outcome, report=self._report(outcome, ""))
        return msgspec.structs.replace(outcome, ended="report", report=self._report(outcome, "ended"))

    def close(self) -> None:
        """Give up the program, of which nothing more is wanted."""
        for reader in self._readers:
            reader.close()
        for file in self.files:
            file.close()

    def _report(self, outcome: Outcome, status: str) -> dict[str, object]:
        out, err = (reader.stream for reader in self._readers)
        return {
            "status": status,
            "exit": outcome.exit_code,
            "signal": outcome.signal,
            "out": out.text(),
            "err": err.text(),
            "out_bytes": out.size,
            "err_bytes": err.size,
            "memory_bytes": outcome.memory_bytes,
            "files": self._read_fetched(),
        }

    def _read_fetched(self) -> dict[str, object]:
        """Return the files that were fetched, as a stranger wrote them; none where that is no object."""
        if self._fetched is None:
            return {}
        with self._fetched as file:
            data = os.pread(file.fileno(), 2 * FETCHED_BYTES, 0)
        try:
            return msgspec.json.decode(data, type=dict[str, object]) if data else {}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return {}
