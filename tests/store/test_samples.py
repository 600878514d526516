"""Tests of the reader of sample files: rows, malformed lines and files."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
from hashlib import blake2b
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from passcurve.errors import DataError
from passcurve.store import lines, samples
from passcurve.store.samples import MAX_DEPTH, MAX_TEXT_BYTES, MalformedLine, first_ids, read_rows
from passcurve.types import Completion, SampleKey
from passcurve.types.files import BOM

KNOWN = ("T/0", "T/1")


def read(path: Path, text: bytes, task_ids: tuple[str, ...] = KNOWN) -> list[Completion | MalformedLine]:
    """Return the rows and malformed lines of a file with this content."""
    path.write_bytes(text)
    return list(read_rows(path, task_ids))


def row(**fields) -> bytes:
    """Return a row of task T/0, unless the fields say otherwise."""
    return json.dumps({"task_id": "T/0", **fields}).encode() + b"\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the samples file."""
    return tmp_path / "samples.jsonl"


NAMES = st.sampled_from(["task_id", "completion", "solution", "result", "x"])
VALUES = st.recursive(
    st.sampled_from(["T/0", "T/1", "T/2", "", "\u00e9", "\ud83d\ude00", "\ud800", None, True, 1, -0.5, 1e300, 10**400]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)
SCRAPS = st.sampled_from(
    [
        b"NaN",
        b"01",
        b"1.",
        b"-",
        b'"\xff"',
        b'"\t"',
        b'"\\q"',
        b'"\\ud83d\\ude00"',
        b" ",
        b",",
        b"\x0b",
        b"[" * 201,
        b"1" * 5000,
    ]
)


@st.composite
def odd_lines(draw: st.DrawFn) -> bytes:
    """Return a line that may be a row, sometimes with a duplicate name or random bytes."""
    members = draw(st.lists(st.tuples(NAMES, VALUES), max_size=4))
    named = draw(st.booleans())
    members = [("task_id", "T/0"), ("completion", "x"), *members] if named else members
    parts = [
        json.dumps(name).encode()
        + b":"
        + json.dumps(value, ensure_ascii=draw(st.booleans())).encode("utf-8", "replace")
        for name, value in members
    ]
    text = b"{" + b", ".join(parts) + b"}"
    if draw(st.booleans()):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(SCRAPS) + text[at:]
    return text.replace(b"\n", b" ")


@pytest.mark.ci
@given(text=odd_lines())
@settings(max_examples=300)
def test_the_quick_way_reads_as_the_thorough_one(text):
    """The fast path agrees with the full reader on every row that it accepts."""
    sizes = dict.fromkeys(KNOWN, 0)
    quick = samples.read_common(text, sizes)
    if quick is not None:
        assert samples.read_any(text, sizes, {}) == quick


def test_most_rows_go_the_quick_way():
    """The fast path reads rows in the usual form, even with extra fields."""
    text = row(completion="x = '\u00e9'\n", seed=[1, {"a": None}], passed=True).strip()
    assert samples.RowContent("T/0", "completion", "x = '\u00e9'\n", "", passed=True) == samples.read_common(
        text, dict.fromkeys(KNOWN, 0)
    )


class TestRowsThatCount:
    """Rows that become Completions."""

    def test_a_plain_row(self, path):
        """A row becomes a Completion with its position, line number, digest and text."""
        digest = blake2b(row(completion="x").rstrip(b"\n"), digest_size=8).hexdigest()
        key = SampleKey(problem_id="T/0", sample_index=0)
        expected = Completion(key=key, row=0, line=1, digest=digest, form="completion", text="x")
        assert [expected] == read(path, row(completion="x"))

    def test_positions(self, path):
        """Positions count only valid rows; line numbers count every line of the file."""
        text = row(completion="a") + b"\n  \nnot json\n" + row(task_id="T/1", completion="b") + row(completion="c")
        completions = [item for item in read(path, text) if isinstance(item, Completion)]
        keys = [(item.key.problem_id, item.key.sample_index, item.row, item.line) for item in completions]
        assert [("T/0", 0, 0, 1), ("T/1", 0, 1, 5), ("T/0", 1, 2, 6)] == keys

    def test_solution_wins(self, path):
        """If a row has both fields, the solution is used."""
        (completion,) = read(path, row(completion="a", solution="b"))
        assert ("solution", "b") == (completion.form, completion.text)

    def test_null_solution_beside_a_completion(self, path):
        """If the solution is null, the completion is used."""
        (completion,) = read(path, row(completion="a", solution=None))
        assert ("completion", "a") == (completion.form, completion.text)

    @pytest.mark.parametrize(
        ("fields", "missing"),
        [
            ({"completion": None}, "`completion` must be a string, got null"),
            ({"completion": 17}, "`completion` must be a string, got a number (17)"),
            ({"completion": float("nan")}, "`completion` must be a string, got a number (nan)"),
            ({"completion": True}, "`completion` must be a string, got a boolean (true)"),
            ({"completion": ["x"]}, "`completion` must be a string, got a list"),
            ({"completion": {}}, "`completion` must be a string, got an object"),
            ({"solution": None}, "`solution` must be a string, got null"),
            ({"text": "x"}, "the row has neither 'completion' nor 'solution'"),
        ],
    )
    def test_no_text(self, path, fields, missing):
        """A row without text counts, and its message names the value in place of the text."""
        (completion,) = read(path, row(**fields))
        assert (None, missing) == (completion.text, completion.missing)

    def test_empty_text_is_text(self, path):
        """The reader accepts an empty completion."""
        (completion,) = read(path, row(completion=""))
        assert ("", "") == (completion.text, completion.missing)

    def test_lone_surrogate(self, path):
        """A completion may contain a lone surrogate, because JSON allows it."""
        (completion,) = read(path, b'{"task_id": "T/0", "completion": "a\\ud800"}')
        assert completion.text == "a\ud800"

    def test_integer_of_thousands_of_digits(self, path):
        """A row with a number beyond Python's limit counts."""
        (completion,) = read(path, b'{"task_id": "T/0", "completion": "x", "seed": ' + b"9" * 5000 + b"}")
        assert completion.text == "x"

    def test_byte_order_mark(self, path):
        """A byte order mark before the first row is skipped."""
        (completion,) = read(path, b"\xef\xbb\xbf" + row(completion="x"))
        assert completion.text == "x"

    def test_windows_line_ends(self, path):
        """The line end is not part of the row."""
        with_cr = read(path, row(completion="x").replace(b"\n", b"\r\n"))
        assert read(path, row(completion="x")) == with_cr

    def test_last_line_without_end(self, path):
        """The last row counts without a line end."""
        assert read(path, row(completion="x")) == read(path, row(completion="x").rstrip())

    @pytest.mark.ci
    def test_line_of_fifty_megabytes(self, path):
        """A completion of 50 MB counts and is not judged."""
        (completion,) = read(path, row(completion="x" * 50_000_000))
        assert re.search("50,000,000 characters.*16,777,216 ", completion.missing)
        assert completion.text is None

    @pytest.mark.nightly
    def test_cap_is_in_bytes(self, path):
        """The length limit is in bytes, so multi-byte characters reach it sooner."""
        size = MAX_TEXT_BYTES // 2
        kept, refused = read(path, row(completion="é" * size) + row(completion="é" * (size + 1)))
        assert (size, "") == (len(kept.text), kept.missing)
        assert re.search("16,777,218 bytes.*16,777,216 ", refused.missing)


class TestLinesThatDoNot:
    """Lines that become MalformedLines."""

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            (b"{", "JSON.* column 2, before ''"),
            (b'{"a": "x', "JSON.* column 7, before '\"x'"),
            (b'{"a": 1} x', "JSON.* column 10, before 'x'"),
            (b'{"a": "\xff"}', "UTF-8.* 0xff at column 8"),
            (b"[1]", "object.* list"),
            (b"null", "object.* null"),
            (b'{"completion": "x"}', "'task_id'"),
            (b'{"task_id": 7}', r"`task_id` .* number \(7\)"),
            (b'{"task_id": "T/O"}', "'T/O'.*'T/1'"),
            (b'{"task_id": "zzzzzz"}', "'zzzzzz'$"),
        ],
    )
    def test_reasons(self, path, text, reason):
        """A malformed line is listed with the reason: the column, the field or the type that is wrong."""
        (line,) = read(path, text)
        assert 1 == line.line
        assert re.search(reason, line.reason)

    @pytest.mark.parametrize("text", [b"x" * 10**6, b'{"task_id": "' + b"x" * 10**6 + b'"}', b"\xf0" * 1000])
    def test_reasons_are_bounded(self, path, text):
        """A reason quotes at most a few dozen characters of its line."""
        (malformed_line,) = read(path, text)
        assert len(malformed_line.reason) < 200

    @pytest.mark.parametrize("depth", [MAX_DEPTH, 500, 5000, 200_000])
    def test_too_deep(self, path, depth):
        """A row with too much nesting is listed, at the same depth for every caller."""
        text = b'{"task_id": "T/0", "completion": "x", "deep": ' + b"[" * depth + b"]" * depth + b"}\n"
        (malformed_line,) = read(path, text)
        assert 1 == malformed_line.line
        assert f"deeper than {MAX_DEPTH} " in malformed_line.reason

    def test_deep_enough(self, path):
        """A row with nesting at the limit counts, even with brackets in its text."""
        depth = MAX_DEPTH - 1
        text = b'{"task_id": "T/0", "completion": "[[[[", "deep": ' + b"[" * depth + b"]" * depth + b"}\n"
        (completion,) = read(path, text)
        assert completion.text == "[[[["

    def test_line_too_long_to_hold(self, path, monkeypatch):
        """A line above the length limit is listed unread, and the next line is read normally."""
        monkeypatch.setattr(lines, "MAX_LINE_BYTES", 100)
        monkeypatch.setattr(samples, "MAX_LINE_BYTES", 100)
        fits = row(completion="x" * (100 - len(row(completion="")) + 1))
        assert len(fits) == 101
        text = fits + b"y" * 101 + b"\n" + b"y" * 5_000_000 + b"\r\n" + fits
        first, short, long, last = read(path, text)
        assert [(0, 1), (1, 4)] == [(item.row, item.line) for item in (first, last)]
        assert [2, 3] == [short.line, long.line]
        assert all("100 bytes" in item.reason for item in (short, long))

    def test_hints_are_bounded(self, path):
        """In a file full of unknown names, only 100 lines have a hint."""
        text = b"".join(row(task_id=f"{chr(97 + number // 100)}{chr(200 + number % 100)}T/1") for number in range(5000))
        assert 100 == sum("did you mean" in item.reason for item in read(path, text))


class TestFiles:
    """Files as a whole."""

    def test_gzip_by_its_first_bytes(self, path):
        """The reader recognises gzip by the content, whatever the file's name is."""
        assert read(path, row(completion="x")) == read(path, gzip.compress(row(completion="x")))

    def test_torn_gzip(self, path):
        """The reader yields every row before a tear, then reports a damaged file."""
        rows = b"".join(row(completion=blake2b(b"%d" % number).hexdigest()) for number in range(2000))
        path.write_bytes(gzip.compress(rows)[:-100])
        count = 0
        with pytest.raises(DataError, match="damaged"):  # noqa: PT012 - how far it comes is what is tested
            for _ in read_rows(path, KNOWN):
                count += 1
        assert 1990 < count < 2000

    def test_damaged_gzip(self, path):
        """A file with a gzip header and wrong content is reported as damaged."""
        with pytest.raises(DataError, match="damaged"):
            read(path, b"\x1f\x8bnonsense")

    def test_missing_file(self, path):
        """An error about a missing file suggests the nearest name in its folder."""
        path.touch()
        with pytest.raises(DataError, match=r"/sample\.jsonl'.*'samples\.jsonl'"):
            list(read_rows(path.with_name("sample.jsonl"), KNOWN))

    def test_missing_folder(self, path):
        """An error about a missing folder names the folder."""
        with pytest.raises(DataError, match=r"the folder '.*/nowhere'"):
            list(read_rows(path.parent / "nowhere" / "x.jsonl", KNOWN))

    def test_directory(self, tmp_path):
        """A directory cannot be read as a samples file."""
        with pytest.raises(DataError, match="directory"):
            list(read_rows(tmp_path, KNOWN))

    def test_empty_file(self, path):
        """An empty file has no rows."""
        assert [] == read(path, b"")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ANYTHING = st.binary(max_size=60).map(lambda text: text.replace(b"\n", b" "))
NEARLY_ROWS = st.dictionaries(
    st.sampled_from(["task_id", "completion", "solution", "x"]), st.sampled_from(["T/0", "T/1", "U"]) | JSON_VALUES
).map(lambda fields: json.dumps(fields).encode())

PIECES = [
    *(b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"\\u0000", b"\\ud800", b"\0", b"\x1f\x8b", b"\xff"),
    *(b"\xef\xbb\xbf", b"\r", b"\x0b", b"\x0c", b"\x1c", b"\xc2\x85", b"\xe2\x80\xa8", b"NaN", b"-Infinity", b"1e999"),
    *(b"9" * 5000, b"-" + b"9" * 5000, b"0." + b"1" * 5000, b"1E" + b"9" * 400, b"[" * 250, b"]" * 250, b'{"a":' * 250),
    *(
        b', "task_id": "T/1"',
        b', "task_id": null',
        b', "completion": 5',
        b', "solution": "s"',
        b', "completion": "again"',
    ),
]


NUMBERS = [b"9" * 5000, b"-" + b"9" * 5000, b"1E" + b"9" * 400, b"1." + b"3" * 5000, b"-0", b"NaN", b"-Infinity", b"0"]
DEEP = [b"[" * depth + b"]" * depth for depth in (MAX_DEPTH - 1, MAX_DEPTH, 900)]
FIELDS = st.tuples(
    st.sampled_from([b"task_id", b"task_id", b"completion", b"solution", b"x", b"", b"task\\u005fid", b"\\ud800"]),
    st.sampled_from([b'"T/0"', b'"T/0"', b'"T/1"', b'"T\\/0"', b"null", b"{}", b'"\\ud800"', *NUMBERS, *DEEP]),
)


@st.composite
def _written(draw: st.DrawFn) -> bytes:
    """Return an unusual row: duplicate keys, huge numbers, deep nesting, odd spaces."""
    fields = [b'"%s": %s' % field for field in draw(st.lists(FIELDS, max_size=5))]
    return draw(st.sampled_from([b"", b" ", b"\t\r", BOM, b"\x0b"])) + b"{" + b",".join(fields) + b"}"


@st.composite
def _damaged(draw: st.DrawFn) -> bytes:
    text = bytearray(row(completion=draw(st.sampled_from(["x", "é\n\ud800", "]" * 300])), x=draw(JSON_VALUES)).strip())
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        if draw(st.booleans()):
            text[at:at] = draw(st.sampled_from(PIECES))
        else:
            text[at : at + draw(st.integers(1, 10))] = draw(st.sampled_from([b"", *PIECES]))
    return bytes(text).replace(b"\n", b" ")


DAMAGED = _written() | _damaged()


class TestAnyBytes:
    """Files with arbitrary bytes."""

    @pytest.mark.nightly
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
    @given(st.lists(ANYTHING | NEARLY_ROWS, max_size=6), st.booleans())
    def test_every_line_is_a_row_or_listed(self, path, texts, packed):
        """Each line is a Completion, a MalformedLine or blank; a row of a known task always counts."""
        whole = b"\n".join(texts)
        texts[:1] = [text.removeprefix(b"\xef\xbb\xbf") for text in texts[:1]]
        items = read(path, gzip.compress(whole) if packed or whole[:2] == b"\x1f\x8b" else whole)
        assert len(items) == sum(bool(text.strip()) for text in texts)
        assert list(range(len(items) - sum(isinstance(item, MalformedLine) for item in items))) == [
            item.row for item in items if isinstance(item, Completion)
        ]
        counted = {item.line for item in items if isinstance(item, Completion)}
        assert {number for number, text in enumerate(texts, start=1) if _is_row(text)} == counted

    @pytest.mark.nightly
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
    @given(st.data())
    def test_rows_that_were_damaged(self, path, data):
        """A damaged row is a Completion or a MalformedLine, and does not change its neighbours."""
        damaged = data.draw(DAMAGED)
        first, *items, last = read(path, row(completion="a") + damaged + b"\n" + row(completion="b"))
        assert (1, "a", "b") == (first.line, first.text, last.text)
        assert len(items) == bool(damaged.strip())
        for item in items:
            assert isinstance(item, Completion if _is_row(damaged) else MalformedLine), item
            str(item).encode("utf-8", "surrogatepass")
        assert last.key.sample_index == 1 + sum(
            isinstance(item, Completion) and item.key.problem_id == "T/0" for item in items
        )

    @pytest.mark.nightly
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
    @given(st.lists(NEARLY_ROWS, max_size=5), st.lists(st.sampled_from([b"\n", b"\r\n"]), min_size=5, max_size=5))
    def test_ends_of_lines_do_not_matter(self, path, texts, ends):
        """The rows do not depend on their line ends."""
        mixed = read(path, b"".join(text + end for text, end in zip(texts, ends, strict=False)))
        assert read(path, b"".join(text + b"\n" for text in texts)) == mixed

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
    @given(st.integers(0, 40), st.data())
    def test_damaged_gzip_yields_rows_or_an_error(self, path, count, data):
        """A damaged gzip file gives rows, malformed lines, or an error that names the file."""
        packed = bytearray(gzip.compress(b"".join(row(completion=f"c{n}") for n in range(count)), mtime=0))
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(2, len(packed)))
            match data.draw(st.sampled_from(["change", "cut", "add"])):
                case "change":
                    packed[at : at + 1] = data.draw(st.binary(min_size=1, max_size=1))
                case "cut":
                    del packed[at : at + data.draw(st.integers(1, 50))]
                case _:
                    packed[at:at] = data.draw(st.sampled_from([b"\0", b"\x1f\x8b", b"x" * 20, bytes(packed)]))
        path.write_bytes(packed)
        with contextlib.suppress(DataError):
            for item in read_rows(path, KNOWN):
                assert isinstance(item, (Completion, MalformedLine))


def _is_row(text: bytes) -> bool:
    try:
        value = json.loads(text.decode(), parse_int=float)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict) or _depth(value) > MAX_DEPTH:
        return False
    return isinstance(value.get("task_id"), str) and value["task_id"] in KNOWN


def _depth(value: object) -> int:
    if not isinstance(value, (dict, list)):
        return 0
    return 1 + max(map(_depth, value.values() if isinstance(value, dict) else value), default=0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hello\n", " (line 1: not JSON: "),
        ('\n{"completion": ""}\n', " (line 2: the row has no 'task_id')"),
        ('{"prompt": "x", "samples": []}\n', " (line 1: the row has no 'task_id'; take it from the problem with its"),
        ("\n", ":"),
    ],
)
def test_no_row_names_its_task(tmp_path: Path, text: str, reason: str):
    """The error says what is wrong with the first row, which may be no row at all."""
    path = tmp_path / "s.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match=re.escape(f"to find their benchmark by{reason}")):
        first_ids(path)
