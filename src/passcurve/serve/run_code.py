"""SandboxFusion's ``/run_code``: one program, its standard input, and how it ended.

The fields and their meaning are those of its clients, such as verl: a program that cannot be run is never a failed
program.
"""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import PurePosixPath
from typing import Any, Literal

import msgspec

from passcurve.bench.languages import find_language
from passcurve.judging.script_verdict import EndReport, read_report
from passcurve.judging.scripts import make_steps, missing_tools
from passcurve.sandbox.job import Job, Outcome
from passcurve.serve.requests import RequestError
from passcurve.types import Build, Language, Limits, Tools

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
}
"""The names of SandboxFusion, and ours."""
_PYTHON = Language(
    name="py",
    title="Python",
    file="main.py",
    needs=("python3",),
    packages=("python3",),
    version=("python3", "--version"),
    build=Build(run=("python3", "main.py")),
    runtime=Tools(
        programs=("python3", "/usr/lib/python3*/lib-dynload/*.so"),
        folders=("/usr/lib/python3*", "/usr/lib/python3/dist-packages", "/usr/share/zoneinfo"),
    ),
    memory="^MemoryError",
)
GRACE_S = 10.0
"""Time that clients wait beyond both limits of a program."""
MARGIN_S = 1.5
"""Time before the end of that at which we answer that it was not run."""
_MOST_S = 300.0
_OUTPUT_BYTES = 4 << 20
_MAX_FILES, _MAX_FILE_BYTES = 100, 16 << 20
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
    files: dict[str, str | None] = {}
    fetch_files: list[str] = []

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
        request = msgspec.json.decode(body, type=RunCode, strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(422, f"no request to run code: {error}") from None
    if request.language not in LANGUAGES:
        raise RequestError(422, f"language {request.language[:40]!r} is none of {', '.join(LANGUAGES)}")
    if missing := missing_tools(_language(request.language)):
        raise RequestError(422, f"language {request.language!r} is not installed here: it needs {', '.join(missing)}")
    if request.fetch_files:
        raise RequestError(422, "fetch_files is not offered: print what is wanted")
    for name in ("compile_timeout", "run_timeout"):
        if not 0.0 < getattr(request, name) <= _MOST_S:
            raise RequestError(422, f"{name} must be from 0 to {_MOST_S:g} seconds")
    return request


def make_job(request: RunCode, limits: Limits) -> Job:
    """Return the job of a request; raise RequestError with 422 for files that cannot be written."""
    language = _language(request.language)
    # The memory limit is that of the server: its jails are built for it, before any request comes.
    limits = msgspec.structs.replace(limits, timeout_s=request.run_timeout)
    build = language.find_build("main" if "main" in language.builds else "")
    source = request.code.encode("utf-8", "surrogatepass")
    opening = language.opening.encode() if language.opening and language.opening.strip() not in request.code else b""
    *compilers, run = make_steps(language, build, opening + source, request.compile_timeout, limits, {})
    setup = {
        **run.setup,
        "stdin": (request.stdin or "").encode("utf-8", "surrogatepass"),
        "head_bytes": _OUTPUT_BYTES,
        "files": {**run.setup["files"], **_read_files(request.files)},
    }
    return Job(
        tag=0,
        role="",
        setup={"memory": language.memory},
        referee=None,
        limits=limits,
        slice_s=limits.timeout_s,
        allow_kept=False,
        attempts=((*compilers, msgspec.structs.replace(run, setup=setup)),),
    )


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


def _language(name: str) -> Language:
    return _PYTHON if LANGUAGES[name] == "py" else find_language(LANGUAGES[name])


def _read_files(files: dict[str, str | None]) -> dict[str, bytes]:
    """Return files by name; raise RequestError for a name that leads out of the working folder, and for too many."""
    if len(files) > _MAX_FILES:
        raise RequestError(422, f"{len(files)} files are too many; at most {_MAX_FILES}")
    contents: dict[str, Any] = {}
    for name, text in files.items():
        path = PurePosixPath(name)
        if not name or path.is_absolute() or ".." in path.parts or "\0" in name or len(name) > 200:
            raise RequestError(422, f"{name[:80]!r} is no file below the working folder")
        try:
            contents[str(path)] = base64.b64decode(text or "", validate=True)
        except (binascii.Error, ValueError):
            raise RequestError(422, f"the content of {name[:80]!r} is not base64") from None
    if sum(map(len, contents.values())) > _MAX_FILE_BYTES:
        raise RequestError(422, f"the files have over {_MAX_FILE_BYTES:,} bytes")
    return contents
