"""MultiPL-E: HumanEval and MBPP in many languages; the tests follow the program, and the source is one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from passcurve.bench.formats.rows import Format, Parsed, ReadOptions, Row, shown
from passcurve.bench.languages import find_language, languages, with_confirmation
from passcurve.bench.writing import find_writing
from passcurve.types import Problem, Script

_REQUIRED = ("name", "language", "prompt", "tests")
_NAMES = {"go_test.go": "go"}
"""The languages that have another name here."""

_CPP_HEADERS = (
    "stdlib.h",
    "algorithm",
    "math.h",
    "stdio.h",
    "vector",
    "string",
    "climits",
    "cstring",
    "iostream",
    "cassert",
)
_CS_LINES = (
    "System.Numerics",
    "System.Diagnostics",
    "System.Collections.Generic",
    "System.Linq",
    "System.Text",
    "System.Security.Cryptography",
    "System.Collections.Generic",
)
_RUN_S = {"rs": 5.0, "swift": 5.0, "jl": 5.0}
"""Time limits of programs where they are not 15 s."""

_COMPILE_S = {"swift": 45.0, "scala": 45.0}
"""Time limits of compilers where they are not 15 s."""

_ACCEPTS: dict[str, Literal["no-errors", "no-error-word"]] = {
    # Failed tests of rackunit leave exit status 0.
    "rkt": "no-errors",
    "scala": "no-errors",
    "pl": "no-error-word",
}
"""Rules of MultiPL-E that differ from exit status 0."""

_RECORDED: dict[str, dict[str, Any]] = {
    "js": {"accepts": "silence"},
    "cs": {"accepts": "no-fail"},
    "ts": {"builds": ("", "plain")},
    "java": {"compile_s": 60.0},
}
"""Rules of the published verdicts that differ from exit status 0 after 10 s of compiling."""

_ANSWER_FIELD = "generation:solution"
"""The field in which published samples have their text."""


def _matches(fields: Mapping[str, object]) -> bool:
    return set(_REQUIRED) <= fields.keys()


def _parse(rows: Sequence[Row], options: ReadOptions) -> Parsed:
    return Parsed(tuple(_problem(msgspec.structs.replace(row, expected=_REQUIRED), options) for row in rows))


FORMAT = Format("multipl-e", _matches, _parse)


def _problem(row: Row, options: ReadOptions) -> Problem:
    language = _NAMES.get(row.text("language"), row.text("language"))
    if language not in languages():
        raise row.fault(f"found language {shown(language)}", f"one of {', '.join(languages())}")
    prompt, tests = row.text("prompt"), row.text("tests")
    rule = {"multipl-e": _recorded, "multipl-e-upstream": _upstream}.get(options.profile, _native)
    return Problem(
        id=row.text("name"),
        prompt=prompt,
        entry_point="",
        check=rule(language, prompt, tests),
        answer_field=_ANSWER_FIELD,
        stop=_stops(row, language),
        timeout_s=10.0 if options.profile == "multipl-e" else _RUN_S.get(language, 15.0),
    )


def _stops(row: Row, language: str) -> tuple[str, ...]:
    words = row.fields.get("stop_tokens")
    if not isinstance(words, list):
        return find_writing(language).stops
    return tuple(word for word in words if isinstance(word, str) and word)


def _recorded(language: str, prompt: str, tests: str) -> Script:
    """Return the check behind the verdicts that were published with Qwen's models."""
    before, after = "", ""
    if language == "cpp":
        lacking = [name for name in _CPP_HEADERS if not re.search(rf"#\s*include\s*<{re.escape(name)}>", prompt)]
        before = "".join(f"#include<{name}>\n" for name in lacking) + "\n"
    elif language == "cs":
        before = "".join(f"using {name};\n" for name in _CS_LINES) + "\n"
    elif language == "php":
        after = "?>"
    check = Script(
        language=language,
        tests=tests,
        before=before,
        after=after,
        accepts=_ACCEPTS.get(language, "exit"),
        compile_s=10.0,
    )
    return msgspec.structs.replace(check, **_RECORDED.get(language, {}))


def _upstream(language: str, _: str, tests: str) -> Script:
    """Return the check of MultiPL-E itself."""
    return Script(
        language=language,
        tests=tests,
        accepts=_ACCEPTS.get(language, "exit"),
        compile_s=_COMPILE_S.get(language, 15.0),
    )


def _native(language: str, prompt: str, tests: str) -> Script:
    """Return MultiPL-E's check with the job's token after the last test, where the place for it is clear."""
    confirmed = with_confirmation(find_language(language), tests)
    check = _upstream(language, prompt, tests)
    if confirmed is None:
        return check
    return msgspec.structs.replace(check, tests=confirmed, accepts="token")
