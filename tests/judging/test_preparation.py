"""Preparations of compilers: which headers a source includes before anything else."""

from __future__ import annotations

import pytest

from passcurve.judging.preparation import first_headers


@pytest.mark.parametrize(
    ("source", "headers"),
    [
        (b"#include <a>\n  # include <b/c.h>\nint x;\n#include <d>\n", (b"a", b"b/c.h")),
        (b"#include<a>\n// a std::vector<long> of <b>\n\n#include<c>\nint x;", (b"a", b"c")),
        (b"// #include <a>\n#include <b>\nint x;", (b"b",)),
        (b'#include <a>\n#include "b.h"\n#include <c>\n', (b"a",)),
        (b"#define X\n#include <a>\n", ()),
        (b"#include </etc/passwd>\n", ()),
        (b"#include <../a>\n", ()),
        (b"#include <a>\n" * 65, ()),
        (b"int x;", ()),
    ],
)
def test_first_headers(source: bytes, headers: tuple[bytes, ...]) -> None:
    """Those of the system in the lines before the first other line; what stands in a comment is none."""
    assert headers == first_headers(source)
