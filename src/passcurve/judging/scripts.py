"""The jobs that check a program together with tests in its own language: a source, a compiler, a run."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec

from passcurve.bench.languages import find_language
from passcurve.errors import UsageError
from passcurve.judging.data_tests import RESULTS, DataTests
from passcurve.judging.data_tests import SETUP as DATA_TESTS
from passcurve.judging.preparation import make_preparation, read_text
from passcurve.sandbox.command_layout import expand_path, find_command, find_program, first_line
from passcurve.sandbox.job import CommandJail, Job, Step
from passcurve.sandbox.layers import mounts
from passcurve.sandbox.probe import Probe
from passcurve.types import Build, Language, Limits, Problem, Script, Tools, language_of
from passcurve.types.amounts import amount, are

TOKEN = "PASSCURVE_TOKEN"
"""The variable of the environment that holds the job's token."""

_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": mounts.SCRATCH,
    "TMPDIR": mounts.SCRATCH,
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
}

PYTHON_FILE = "main.py"
_PYTHON_JAIL = CommandJail(key="python", programs=(), is_of_samples=True)

_LOCALE = "/usr/lib/locale/C.utf8"
"""The files of the locale that the environment names, where the system has them apart."""


def make_script_job(check: Script, program: str, limits: Limits, tag: int, data_tests: DataTests | None = None) -> Job:
    """Return the job that compiles and runs ``program`` with its tests, or with the calls of tests that are data."""
    language = find_language(check.language)
    setup: dict[str, Any] = {"check": check}
    if data_tests is not None:
        check = msgspec.structs.replace(check, tests=data_tests.source)
        setup[DATA_TESTS] = data_tests
    source = make_source(check, language, program).encode("utf-8", "surrogatepass")
    token = secrets.token_hex(16)
    attempts = tuple(
        make_steps(language, language.find_build(build), source, check.compile_s, limits, {TOKEN: token})
        for build in check.builds
    )
    if data_tests is not None:
        attempts = tuple(_with_results(steps) for steps in attempts)
    return Job(
        tag=tag,
        role="",
        setup={**setup, "token": token},
        referee=None,
        limits=limits,
        slice_s=limits.timeout_s,
        allow_kept=False,
        attempts=attempts,
    )


def _with_results(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps with the file of results as what is fetched after the run."""
    *compilers, run = steps
    return (*compilers, msgspec.structs.replace(run, setup={**run.setup, "fetch": [RESULTS]}))


def make_source(check: Script, language: Language, program: str) -> str:
    """Return the source that is compiled or run: the program between what the benchmark puts around it."""
    opening = language.missing_opening(program)
    program = program.replace(check.cut, "", 1) if check.cut else program
    text = program + check.tests
    used = "".join(f"{line}\n" for pattern, line in check.if_used.items() if re.search(pattern, text))
    return f"{opening}{check.before}{used}{program}\n{check.tests}{check.after}"


def make_steps(
    language: Language, build: Build, source: bytes, compile_s: float, limits: Limits, variables: dict[str, str]
) -> tuple[Step, ...]:
    """Return the steps that compile a source, where that is done, and run it with more variables."""
    sources = {build.file: source, **_other_files(language, source)}
    environment = {**_ENVIRONMENT, **language.environment}
    steps = []
    if build.compile:
        setup = {
            "argv": find_command(build.compile),
            "files": sources,
            "env": environment,
            "stdin": b"",
            "keep": list(language.makes),
            "makes_binary": language.makes_binary,
            "is_binary": False,
            "unpack": False,
        }
        jail = _jail(f"{language.name} compiler", language.compiler, language.compiler_memory_bytes)
        preparation = make_preparation(language, build, source, setup)
        steps.append(
            Step(
                name="compile",
                jail=jail,
                setup=setup,
                timeout_s=compile_s,
                makes=_digest(setup, build, jail, compile_s, limits.memory_bytes),
                preparation=preparation,
            )
        )
    is_binary = bool(build.compile) and language.makes_binary
    run = [word.replace("{memory_bytes}", str(limits.memory_bytes)) for word in build.run]
    setup = {
        "argv": run if is_binary else find_command(run),
        "files": {} if build.compile else sources,
        "env": {**environment, **variables},
        "stdin": b"",
        "keep": [],
        "makes_binary": False,
        "is_binary": is_binary,
        "unpack": bool(build.compile) and not language.makes_binary,
    }
    jail = _jail(f"{language.name} runtime", language.runtime)
    steps.append(Step(name="run", jail=jail, setup=setup, timeout_s=limits.timeout_s))
    return tuple(steps)


def _digest(setup: dict[str, Any], *others: object) -> str:
    """Return a digest of all that decides what a compiler makes, the files of the toolchain aside."""
    parts = (sorted(setup.items(), key=lambda item: item[0]), *others)
    return hashlib.blake2b(repr(parts).encode("utf-8", "surrogateescape"), digest_size=32).hexdigest()


def make_python_step(source: bytes, limits: Limits) -> Step:
    """Return the step that runs a Python file in the jail of samples: their interpreter is ready."""
    setup = {
        "argv": [PYTHON_FILE],
        "files": {PYTHON_FILE: source},
        "stdin": b"",
        "keep": [],
        "fetch": [],
        "memory_bytes": limits.memory_bytes,
    }
    return Step(name="run", jail=_PYTHON_JAIL, setup=setup, timeout_s=limits.timeout_s)


def _other_files(language: Language, source: bytes) -> dict[str, bytes]:
    heading = re.search(language.heading.encode(), source, re.MULTILINE) if language.heading else None
    word = heading[1] if heading is not None else b""
    return {name: read_text(text).replace(b"{heading}", word) for name, text in language.files.items()}


def needs_commands(problems: Iterable[Problem]) -> bool:
    """Return whether the programs are in other languages than Python.

    Raises UsageError where some are and some are not, and where a toolchain is missing.
    """
    scripts: dict[str, int] = {}
    others = 0
    for problem in problems:
        if language := language_of(problem.check):
            scripts[language] = scripts.get(language, 0) + 1
        else:
            others += 1
    if scripts and others:
        in_python = f"{amount(others, 'problem')} {are(others)} in Python"
        raise UsageError(
            f"{in_python} and {sum(scripts.values())} in other languages; keep them in two files, or judge them in two "
            "runs by --problems"
        )
    for name in scripts:
        require_tools(find_language(name))
    return bool(scripts)


def with_toolchains(probe: Probe, problems: Iterable[Problem]) -> Probe:
    """Return the walls with the versions of the toolchains that the problems need."""
    names = dict.fromkeys(name for problem in problems if (name := language_of(problem.check)))
    versions = tuple(tool_version(find_language(name)) for name in names)
    if not versions:
        return probe
    return msgspec.structs.replace(probe, jail=msgspec.structs.replace(probe.jail, toolchains=versions))


def tool_version(language: Language) -> str:
    """Return the first line that the toolchain of a language says of its version; its title where it says none."""
    line = first_line(language.version)
    return f"{language.title}: {line}" if line else language.title


def require_tools(language: Language) -> None:
    """Raise UsageError, with the packages to install, where the toolchain of a language is not there."""
    if missing := missing_tools(language):
        raise UsageError(
            f"{language.title} needs {' and '.join(missing)}, not installed here: "
            f"apt install {' '.join(language.packages)}; nothing was judged"
        )


def missing_tools(language: Language) -> tuple[str, ...]:
    """Return what is not there of the toolchain of a language."""
    return tuple(name for name in language.needs if not _find(name))


@cache
def _jail(key: str, tools: Tools, memory_bytes: int = 0) -> CommandJail:
    programs = [path for name in tools.programs for path in _find(name)]
    return CommandJail(key=key, programs=tuple(programs), folders=(*tools.folders, _LOCALE), memory_bytes=memory_bytes)


def _find(name: str) -> list[str]:
    """Return the paths of a program or file of the system; none where it is not there."""
    if "/" in name:
        return expand_path(name)
    path = find_program(name)
    return [path] if path is not None else []
