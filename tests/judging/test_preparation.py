"""Preparations of compilers: which headers a source includes before anything else."""

from __future__ import annotations

import re
import subprocess

import pytest

from passcurve.bench.languages import find_language
from passcurve.judging.preparation import first_headers, make_preparation
from passcurve.judging.scripts import missing_tools


@pytest.mark.parametrize(
    ("source", "headers"),
    [
        (b"#include <a>\n  # include <b/c.h>\nint x;\n#include <d>\n", (b"a", b"b/c.h")),
        (b"#include<a>\n// a std::vector<long> of <b>\n\n#include<c>\nint x;", (b"a", b"c")),
        (b"// #include <a>\n#include <b>\nint x;", (b"b",)),
        (b"#include <a>\n// text \\\n#include <b>\n", (b"a",)),
        (b"// text \\ \n#include <a>\n", ()),
        (b"// text ??/\n#include <a>\n", ()),
        (b"// text ???/\n#include <a>\n", ()),
        (b"// what? ?? /\n#include <a>\n", (b"a",)),
        (b"// text \r#define X\n#include <a>\n", ()),
        (b"// text \r\n#include <a>\n", ()),
        (b"/* text */\n#include <a>\n", ()),
        (b"#include <a>\r#define X\n#include <b>\n", ()),
        (b'#include <a>\n#include "b.h"\n#include <c>\n', (b"a",)),
        (b"#define X\n#include <a>\n", ()),
        (b"#include </etc/passwd>\n", ()),
        (b"#include <../a>\n", ()),
        (b"#include <a>\n" * 65, ()),
        (b"int x;", ()),
    ],
)
def test_first_headers(source: bytes, headers: tuple[bytes, ...]) -> None:
    """Only ``#include`` lines at the top of the source count; comments between them do not."""
    assert headers == first_headers(source)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("cpp", marks=pytest.mark.ci),
        pytest.param("java", marks=pytest.mark.nightly),
        pytest.param("ts", marks=pytest.mark.nightly),
    ],
)
def test_the_errors_of_a_compiler_are_recognised(name: str, tmp_path) -> None:
    """What the real compiler writes about a wrong source is final; what it writes about a missing file is not."""
    language = find_language(name)
    if missing := missing_tools(language):
        pytest.skip(f"{' and '.join(missing)} not installed here")
    build = language.find_build("")
    source = b"#include <vector>\nint x = ;\n" if name == "cpp" else b"int x = ;\n"
    preparation = make_preparation(language, build, source, {})
    assert preparation is not None
    for text, expected in ((source, True), (None, False)):
        (tmp_path / build.file).unlink(missing_ok=True)
        if text is not None:
            (tmp_path / build.file).write_bytes(text)
        done = subprocess.run(build.compile, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert 0 != done.returncode
        assert expected == bool(re.search(preparation.fault, done.stdout + done.stderr, re.MULTILINE)), done


HEADINGS = (
    b"// text \\\n#include <cstdio>\n",
    b"// text \\ \t\n#include <cstdio>\n",
    b"// text ??/\n#include <cstdio>\n",
    b"// text ??/ \n#include <cstdio>\n",
    b"// text \r#define puts(text) 0\n#include <cstdio>\n",
    b"// text \f\v\x00\n#include <cstdio>\n",
    b"/* text\n#include <cstdio>\n*/\n",
    b"/* text */ // \\\n#include <cstdio>\n",
    b"#if 0\n#include <cstdio>\n#endif\n",
    b"\\\n// text\n#include <cstdio>\n",
    b"// text\n\n \t# include <cstdio> \n",
)


@pytest.mark.ci
@pytest.mark.parametrize("standard", ["c++11", "c++17"])
@pytest.mark.parametrize("heading", HEADINGS)
def test_headers_in_front_change_nothing(heading: bytes, standard: str, tmp_path) -> None:
    """The real compiler accepts a source, or not, with the headers found in its heading in front as it does without."""
    if missing := missing_tools(find_language("cpp")):
        pytest.skip(f"{' and '.join(missing)} not installed here")
    command = ["g++", f"-std={standard}", "-fsyntax-only"]
    (tmp_path / "first.h").write_bytes(b"".join(b"#include <%s>\n" % name for name in first_headers(heading)))
    (tmp_path / "test.cpp").write_bytes(heading + b'int main() { std::puts("text"); }\n')
    alone, forced = (
        subprocess.run([*command, *options, "test.cpp"], cwd=tmp_path, capture_output=True, check=False).returncode
        for options in ([], ["-include", "first.h"])
    )
    assert alone == forced
