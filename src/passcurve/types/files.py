"""Beginnings of files, and kinds of files that hold no JSON, told by theirs."""

from __future__ import annotations

PARQUET = b"PAR1"
GZIP = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8, with which some editors begin a file."""
_ARROW = "an Arrow file; write its rows as JSON lines: datasets.Dataset.from_file(IN).to_json(OUT)"
_UTF_32 = "UTF-32; convert it: iconv -f UTF-32 -t UTF-8 IN > OUT"
_ARCHIVES = {
    b"PK\x03\x04": "a zip archive; unpack it and name the file",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it (zstd -d) and name the file",
    b"\xfd7zXZ\x00": "compressed with xz; unpack it (xz -d) and name the file",
    b"BZh": "compressed with bzip2; unpack it (bzip2 -d) and name the file",
    b"SQLite format 3": "an SQLite database; write its rows as JSON lines",
    b"\x80\x04": "a Python pickle; write its rows as JSON lines",
    b"\x80\x05": "a Python pickle; write its rows as JSON lines",
    b"ARROW1": _ARROW,
    b"\xff\xff\xff\xff": _ARROW,
    b"\xff\xfe\0\0": _UTF_32,
    b"\0\0\xfe\xff": _UTF_32,
}
_TEXTS = {
    b"version https://git-lfs": "a pointer of Git LFS, not the file itself: git lfs pull",
    b"<!doctype": "a page in HTML: download the file itself",
    b"<html": "a page in HTML: download the file itself",
}


def describe_file(head: bytes) -> str:
    """Return what a file is that begins so, and what to do with it; empty where it may be JSON, or Parquet."""
    for magic, what in _ARCHIVES.items():
        if head.startswith(magic):
            return what
    if _is_utf_16(head):
        return "UTF-16; convert it: iconv -f UTF-16 -t UTF-8 IN > OUT"
    start = head.removeprefix(BOM).lstrip()
    return next((what for beginning, what in _TEXTS.items() if start[: len(beginning)].lower() == beginning), "")


def _is_utf_16(head: bytes) -> bool:
    zeros = (head[:8:2].strip(b"\0"), head[1:8:2].strip(b"\0"))
    return head[:2] in (b"\xff\xfe", b"\xfe\xff") or (len(head) >= 8 and b"" in zeros and zeros != (b"", b""))
