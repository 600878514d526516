"""The back end ``recorded:FILE``: samples from a file, as if a model wrote them now."""

from __future__ import annotations

import hashlib
import json
import threading
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import msgspec

from passcurve.errors import DataError, PromptError, UsageError
from passcurve.models.backend import SampleRequest, ServerDefaults, Settings
from passcurve.types import Reply, SampleKey
from passcurve.types.amounts import amount
from passcurve.types.decoding import decodable
from passcurve.types.files import BOM, GZIP


class _Row(msgspec.Struct):
    task_id: str | int
    """Some benchmarks number their problems."""
    completion: str | None = None
    solution: str | None = None


_DECODER = msgspec.json.Decoder(decodable(_Row))


def _read(line: bytes) -> _Row:
    """Return a row; raise ValueError or RecursionError for a line that is not one."""
    line = line.removeprefix(BOM)
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # Half a surrogate pair can be in what a model wrote, and only this parser takes it.
        return msgspec.convert(json.loads(line), decodable(_Row))


class Recorded:
    """Returns the i-th row of a problem as its sample i; the file is indexed once and read row by row."""

    supports_sampling = False
    supports_temperature = False
    options: tuple[str, ...] = ()
    server_defaults: ServerDefaults | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offsets: dict[str, array[int]] = {}
        self._lock = threading.Lock()
        try:
            self._file = path.open("rb")
            try:
                self.identity = {"file": path.name, "digest": self._index()}
            except BaseException:
                self._file.close()
                raise
        except OSError as error:
            raise DataError(f"recorded: cannot read {str(path)!r}: {error.strerror or error}") from None

    @classmethod
    def open(cls, argument: str, settings: Settings) -> Self:  # noqa: ARG003 - every back end is opened so
        """Open the file behind the colon."""
        if not argument:
            raise UsageError("recorded: names no file; write it like recorded:samples.jsonl")
        return cls(Path(argument))

    def generate(self, request: SampleRequest) -> Iterator[Reply]:
        """Yield the rows; raises PromptError for a sample that is not in the file."""
        problem_id = request.prompt.problem_id
        offsets = self._offsets.get(problem_id, array("Q"))
        for index in request.indices:
            if index >= len(offsets):
                samples = amount(len(offsets), "sample")
                raise PromptError(f"recorded: {str(self.path)!r} has {samples} of {problem_id!r}, not {index + 1}")
            with self._lock:
                self._file.seek(offsets[index])
                row = _read(self._file.readline())
            key = SampleKey(problem_id=problem_id, sample_index=index)
            if row.solution is not None:
                yield Reply(key=key, text=row.solution, form="solution")
            else:
                yield Reply(key=key, text=row.completion or "")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()

    def _index(self) -> str:
        digest = hashlib.blake2b(digest_size=16)
        offset = 0
        for number, line in enumerate(self._file, start=1):
            digest.update(line)
            if number == 1 and line.startswith(GZIP):
                raise DataError(f"recorded: {str(self.path)!r} is compressed; unpack it first (gunzip -k)")
            if line.strip():
                try:
                    row = _read(line)
                except (ValueError, RecursionError) as error:
                    raise DataError(f"recorded: {str(self.path)!r}, line {number}: {error}") from None
                if row.completion is None and row.solution is None:
                    raise DataError(
                        f"recorded: {str(self.path)!r}, line {number} has no text in `completion` or `solution`"
                    )
                self._offsets.setdefault(str(row.task_id), array("Q")).append(offset)
            offset += len(line)
        return digest.hexdigest()
