"""McEval: tasks of their own in forty languages; a program is prompt, completion and tests, one after another."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Mapping, Sequence

import msgspec

from passcurve.bench.formats.human_eval import read_entry_point
from passcurve.bench.formats.human_eval_scripts import RUST_END
from passcurve.bench.formats.rows import Format, Parsed, ReadOptions, Row, listed, shown
from passcurve.bench.languages import find_language, with_confirmation
from passcurve.bench.writing import find_writing
from passcurve.types import Check, FunctionTests, Problem, Script

_REQUIRED = ("task_id", "prompt", "canonical_solution", "test", "signature", "docstring", "instruction")
_PYTHON = "Python"
_LANGUAGES = {
    "C": "c",
    "CPP": "cpp",
    "C#": "cs",
    "Go": "go",
    "Java": "java",
    "JavaScript": "js",
    "Julia": "jl",
    "Kotlin": "kt",
    "Lua": "lua",
    "PHP": "php",
    "Perl": "pl",
    "R": "r",
    "Racket": "rkt",
    "Ruby": "rb",
    "Rust": "rs",
    "Scala": "scala",
    "Shell": "sh",
    "Swift": "swift",
    "TypeScript": "ts",
}
"""Our name of each language by that in task ids."""

_BUILDS = {"go": "testify", "java": "solution"}
"""The way to build, where it is not the usual one."""

_MAIN_GUARD = re.compile(r"""^if[ \t]+__name__[ \t]*==[ \t]*["']__main__["'][ \t]*:""", re.MULTILINE)
_TIMEOUT_S = 15.0
_ANSWER_FIELD = "raw_generation:solution"
"""The field in which samples have their answers, as lists of which the first counts there."""


def _matches(fields: Mapping[str, object]) -> bool:
    return set(_REQUIRED) <= fields.keys() and "declaration" not in fields


def _parse(rows: Sequence[Row], _: ReadOptions) -> Parsed:
    return Parsed(tuple(_problem(msgspec.structs.replace(row, expected=_REQUIRED)) for row in rows))


FORMAT = Format("mceval", _matches, _parse)


def _problem(row: Row) -> Problem:
    task_id, reference = row.text("task_id"), row.text("canonical_solution")
    name = task_id.partition("/")[0]
    if name != _PYTHON and name not in _LANGUAGES:
        languages = listed((_PYTHON, *_LANGUAGES))
        raise row.fault(f"found task_id {shown(task_id)}", f"a language that can be judged, {languages}, and a number")
    return Problem(
        id=task_id,
        prompt=row.text("prompt") if row.text("prompt").endswith("\n") else row.text("prompt") + "\n",
        entry_point=read_entry_point(row) if name == _PYTHON else "",
        check=_python_check(row) if name == _PYTHON else _check(_LANGUAGES[name], row.text("test")),
        reference=reference if reference.strip() else None,
        statement=row.text("instruction"),
        answer_field=_ANSWER_FIELD,
        timeout_s=_TIMEOUT_S,
        stop=() if name == _PYTHON else find_writing(_LANGUAGES[name]).stops,
    )


def _python_check(row: Row) -> Check:
    # McEval runs program and tests as a main module.
    tests = _MAIN_GUARD.sub("if True:", row.text("test"))
    return FunctionTests(source=f"def check({read_entry_point(row)}):\n{_indent(tests)}\n")


def _indent(source: str) -> str:
    """Indent the lines of a program, but for those that begin within a text."""
    inside: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.STRING or tokenize.tok_name[token.type] == "FSTRING_MIDDLE":
                inside.update(range(token.start[0] + 1, token.end[0] + 1))
    except (tokenize.TokenError, SyntaxError):
        pass  # the tests do not compile, which is said of them later
    lines = source.split("\n")
    return "\n".join(
        line if number in inside or not line.strip() else f"    {line}" for number, line in enumerate(lines, start=1)
    )


def _check(language: str, tests: str) -> Script:
    # Behind the end of PHP the statement that confirms them is text.
    tests = find_writing(language).without_ending(tests)
    has_library = language == "rs" and "#[test]" in tests
    confirmed = with_confirmation(find_language(language), tests, braces=2 if has_library else None)
    return Script(
        language=language,
        tests=tests if confirmed is None else confirmed,
        accepts="exit" if confirmed is None else "token",
        line=RUST_END if has_library and confirmed is not None else "",
        builds=("crates" if has_library else _BUILDS.get(language, ""),),
        compile_s=60.0,
    )
