"""SandboxFusion's ``/run_code``: one program, its standard input, and how it ended.

The fields and their meaning are those of its clients, such as verl: a program that cannot be run is never a failed
program.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, Literal

import msgspec

from passcurve.bench.languages import find_language
from passcurve.judging.script_verdict import EndReport, read_report
from passcurve.judging.scripts import make_python_step, missing_tools
from passcurve.judging.whole_programs import make_program_steps
from passcurve.sandbox.job import Job, Outcome, Step
from passcurve.serve.requests import RequestError
from passcurve.types import LEAST_TIMEOUT_S, Language, Limits
from passcurve.types.decoding import decodable

LANGUAGES = {
    "python": "py",
    "cpp": "cpp",
    "nodejs": "js",
    "go": "go",
    "java": "java",
    "php": "php",
    "csharp": "cs",
    "bash": "sh",
    "typescript": "ts",
    "rust": "rs",
    "lua": "lua",
    "R": "r",
    "perl": "pl",
    "ruby": "rb",
    "scala": "scala",
    "racket": "rkt",
    "D_ut": "d",
    "julia": "jl",
    "swift": "swift",
}
"""The names of SandboxFusion, and ours."""
_PYTHON_MEMORY = "^MemoryError"
"""What a Python program writes where there was no memory left."""
GRACE_S = 10.0
"""Time that clients wait beyond both limits of a program."""
MARGIN_S = 1.5
"""Time before the end of that at which we answer that it was not run."""
_MOST_S = 300.0
_OUTPUT_BYTES = 4 << 20
_MAX_FILES, _MAX_FOLDERS, _MAX_FILE_BYTES = 100, 1000, 16 << 20
_MAX_NAME_BYTES = 255
_STDIN = ".stdin"
"""The name under which the standard input of a program stands in its folder for a moment."""
KILLED = 137
"""Exit status of a program that was killed for its memory, as a shell has it."""

CommandStatus = Literal["Finished", "Error", "TimeLimitExceeded"]


class RunCode(msgspec.Struct, kw_only=True):
    """A request; fields that are not known are ignored, as they are there."""

    code: str
    language: str
    stdin: str | None = None
    compile_timeout: float = 10.0
    run_timeout: float = 10.0
    memory_mb: int = msgspec.field(default=-1, name="memory_limit_MB")
    files: dict[str, str | None] = {}
    fetch_files: list[str] = []

    @property
    def is_python(self) -> bool:
        """Return whether it needs no toolchain."""
        return LANGUAGES.get(self.language) == "py"

    @property
    def deadline_s(self) -> float:
        """The time after which the client has gone, less a margin."""
        return self.compile_timeout + self.run_timeout + GRACE_S - MARGIN_S


class CommandResult(msgspec.Struct, kw_only=True):
    """The end of a compiler or of a program."""

    status: CommandStatus
    execution_time: float | None = None
    return_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None


class RunCodeAnswer(msgspec.Struct, kw_only=True):
    """An answer, every field of which a client may read."""

    status: Literal["Success", "Failed", "SandboxError"]
    message: str = ""
    compile_result: CommandResult | None = None
    run_result: CommandResult | None = None
    executor_pod_name: str | None = None
    files: dict[str, str] = {}


def read_request(body: bytes) -> RunCode:
    """Return a request; raise RequestError with 422 for what is none, or cannot be run here."""
    try:
        request = msgspec.json.decode(body, type=decodable(RunCode), strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(422, f"no request to run code: {error}") from None
    if request.language not in LANGUAGES:
        raise RequestError(422, f"language {request.language[:40]!r} is none of {', '.join(LANGUAGES)}")
    if missing := _missing(request.language):
        raise RequestError(422, f"language {request.language!r} is not installed here: it needs {', '.join(missing)}")
    for name in ("compile_timeout", "run_timeout"):
        if not LEAST_TIMEOUT_S <= getattr(request, name) <= _MOST_S:
            raise RequestError(422, f"{name} must be from {LEAST_TIMEOUT_S:g} to {_MOST_S:g} seconds")
    return request


def make_job(request: RunCode, limits: Limits) -> Job:
    """Return the job of a request; raise RequestError with 422 for files that cannot be written."""
    asked_bytes = request.memory_mb << 20 if request.memory_mb > 0 else limits.memory_bytes
    memory_bytes = min(asked_bytes, limits.memory_bytes)
    limits = msgspec.structs.replace(limits, timeout_s=request.run_timeout, memory_bytes=memory_bytes)
    *compilers, run = _make_steps(request, limits)
    language = _language(request.language)
    files = _read_files(request.files, (*compilers, run))
    sources = run.setup["files"].keys() - (language.files.keys() if language is not None else ())
    if replaced := sources & files.keys():
        raise RequestError(422, f"{min(replaced)!r} is the name of the program's own file")
    setup = {
        **run.setup,
        "stdin": (request.stdin or "").encode("utf-8", "surrogatepass"),
        "head_bytes": _OUTPUT_BYTES,
        "files": {**run.setup["files"], **files},
        "fetch": _read_names(request.fetch_files),
        "memory_bytes": memory_bytes,
    }
    return Job(
        tag=0,
        role="",
        setup={"memory": language.memory if language is not None else _PYTHON_MEMORY},
        referee=None,
        limits=limits,
        slice_s=limits.timeout_s,
        allow_kept=False,
        attempts=((*(_with_files(step, files) for step in compilers), msgspec.structs.replace(run, setup=setup)),),
    )


def _with_files(step: Step, files: dict[str, bytes]) -> Step:
    """Return the step of a compiler with files beside its sources, which decide what it makes too."""
    if not files:
        return step
    preparation = step.preparation
    if preparation is not None:
        ready_setup = {**preparation.ready_setup, "files": {**files, **preparation.ready_setup["files"]}}
        preparation = msgspec.structs.replace(preparation, ready_setup=ready_setup)
    setup = {**step.setup, "files": {**files, **step.setup["files"]}}
    return msgspec.structs.replace(step, setup=setup, preparation=preparation, makes="")


def _make_steps(request: RunCode, limits: Limits) -> tuple[Step, ...]:
    language = _language(request.language)
    if language is None:
        return (make_python_step(request.code.encode("utf-8", "surrogatepass"), limits),)
    return make_program_steps(language, request.code, request.compile_timeout, limits)


def answer_of(job: Job, outcome: Outcome) -> RunCodeAnswer | None:
    """Return the answer to a request whose job has ended; None where the failure is ours."""
    steps = outcome.steps or (outcome,)
    if any(step.ended in ("fault", "wall") or read_report(step.report).status == "command" for step in steps):
        return None
    results = {step.step: _command_result(job, step) for step in steps}
    overfull = any(step.overfull for step in steps)
    is_full = overfull or _is_out_of_memory(job, steps[-1])
    is_good = all(result.status == "Finished" and result.return_code == 0 for result in results.values())
    return RunCodeAnswer(
        status="Success" if is_good and len(steps) == len(job.attempts[0]) else "Failed",
        message="memory" if is_full else "",
        compile_result=results.get("compile"),
        run_result=results.get("run"),
        files=read_report(steps[-1].report).files,
    )


def _command_result(job: Job, step: Outcome) -> CommandResult:
    report = read_report(step.report)
    if step.ended == "timeout":
        limit = next((one.timeout_s for one in job.attempts[0] if one.name == step.step), step.wall_s)
        return CommandResult(status="TimeLimitExceeded", execution_time=limit, stdout=report.out, stderr=report.err)
    return CommandResult(
        status="Finished",
        execution_time=step.wall_s,
        return_code=KILLED if step.overfull else _return_code(report),
        stdout=report.out,
        stderr=report.err,
    )


def _is_out_of_memory(job: Job, step: Outcome) -> bool:
    """Return whether a program that failed has written that there was no memory left."""
    pattern, report = job.setup["memory"], read_report(step.report)
    return bool(pattern) and report.exit != 0 and re.search(pattern, report.err, re.MULTILINE) is not None


def _return_code(report: EndReport) -> int:
    """Return the exit status as Python's ``subprocess`` has it: a signal is a negative number."""
    if report.exit is not None:
        return report.exit
    return -report.signal if report.signal is not None else -9


def _language(name: str) -> Language | None:
    """Return a language; None for Python, which needs no toolchain but its own."""
    return None if LANGUAGES[name] == "py" else find_language(LANGUAGES[name])


def _missing(name: str) -> tuple[str, ...]:
    language = _language(name)
    return missing_tools(language) if language is not None else ()


def _read_names(names: list[str]) -> list[str]:
    """Return the places of files to fetch, as they were named; raise RequestError for one that leads out."""
    if len(names) > _MAX_FILES:
        raise RequestError(422, f"{len(names)} files are too many; at most {_MAX_FILES}")
    for name in names:
        _place_of(name)
    return names


def _place_of(name: str) -> str:
    """Return a name below the working folder; raise RequestError for one that leads out of it."""
    path = PurePosixPath(name)
    is_short = len(name) <= 200 and all(len(part.encode()) <= _MAX_NAME_BYTES for part in path.parts)
    if not path.parts or path.is_absolute() or {"..", _STDIN} & {*path.parts} or "\0" in name or not is_short:
        raise RequestError(422, f"{name[:80]!r} is no file below the working folder")
    return str(path)


def _read_files(files: dict[str, str | None], steps: Sequence[Step]) -> dict[str, bytes]:
    """Return files by name; raise RequestError for a name that leads out of the working folder, and for too many.

    ``steps``: what runs beside them, and has or makes files of its own.
    """
    if len(files) > _MAX_FILES:
        raise RequestError(422, f"{len(files)} files are too many; at most {_MAX_FILES}")
    contents: dict[str, Any] = {}
    for name, text in files.items():
        path = _place_of(name)
        try:
            contents[path] = base64.b64decode(text or "", validate=True)
        except (binascii.Error, ValueError):
            raise RequestError(422, f"the content of {name[:80]!r} is not base64") from None
    others = {name for step in steps for name in (*step.setup["files"], *step.setup["keep"])}
    folders = {str(parent) for name in {*contents, *others} for parent in PurePosixPath(name).parents}
    if both := folders & {*contents, *others}:
        raise RequestError(422, f"{min(both)[:80]!r} is a file and a folder")
    if len(folders) > _MAX_FOLDERS:
        raise RequestError(422, f"the files lie in {len(folders):,} folders; at most {_MAX_FOLDERS:,}")
    if sum(map(len, contents.values())) > _MAX_FILE_BYTES:
        raise RequestError(422, f"the files have over {_MAX_FILE_BYTES:,} bytes")
    return contents
