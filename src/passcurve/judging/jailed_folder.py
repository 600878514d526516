"""A folder of files that commands work on one after another, each in a jail of its own.

Between two commands the files are here, in memory; processes do not outlive their command.
"""

from __future__ import annotations

import posixpath
import threading
import time
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import msgspec

from passcurve.bench.languages import find_language
from passcurve.errors import SandboxError
from passcurve.harness.shell import ORDER, PROGRAM
from passcurve.judging.program_runner import ProgramRunner
from passcurve.judging.script_verdict import read_report
from passcurve.judging.scripts import make_steps
from passcurve.sandbox.job import Job, Outcome
from passcurve.sandbox.layers import mounts
from passcurve.types import Build, Language, Limits, Tools
from passcurve.types.decoding import decodable

FOLDER = mounts.SCRATCH
"""The folder, as commands see it."""
MAX_BYTES = 128 << 20
"""Size of all files together."""
_MARGIN_S = 20.0
"""Time for the files of a command, beside its own."""
_MOST_LINKS = 8
_MOST_NAME = 4096
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": FOLDER, "TMPDIR": FOLDER, "LANG": "C.UTF-8"}
_PYTHON = Tools(
    programs=("python3", "/usr/lib/python3*/lib-dynload/*.so", "chmod", "pwd", "whoami", "ps", "kill", "tar", "gzip"),
    folders=("/usr/lib/python3*", "/usr/lib/python3/dist-packages", "/usr/share/zoneinfo"),
)


class Ended(NamedTuple):
    """The end of a command."""

    exit_code: int
    out: bytes
    err: bytes


class _File(NamedTuple):
    """A file, or a folder, or a link whose data is its target; ``same`` for a file that a command has left alone."""

    kind: Literal["file", "folder", "link", "same"]
    mode: int
    data: bytes
    time_ns: int


class JailedFolder:
    """Files, and commands on them.  A path is relative to the folder, or absolute and in it."""

    def __init__(self, runner: ProgramRunner, limits: Limits, output_bytes: int = 10 << 20) -> None:
        self._runner, self._limits, self._output_bytes = runner, limits, output_bytes
        self._files: dict[str, _File] = {}
        self._lock = threading.Lock()

    def run(
        self,
        argv: list[str],
        stdin: bytes = b"",
        folder: str = "",
        env: dict[str, str] | None = None,
        timeout_s: float | None = None,
        abandoned: threading.Event | None = None,
    ) -> Ended:
        """Run a command and keep what it changes of the files; others may run meanwhile.

        Nothing is kept of a command that was ``abandoned``.  Raises TimeoutError after ``timeout_s`` seconds,
        PermissionError for what is no program, and SandboxError where the jail failed or the files are too large.
        """
        limit_s = timeout_s if timeout_s is not None else self._limits.timeout_s
        before = dict(self._files)
        order = {
            "argv": self._with_interpreter(argv, folder),
            "stdin": stdin,
            "folder": posixpath.join(FOLDER, folder),
            "env": _ENVIRONMENT | (env or {}),
            "timeout_s": limit_s,
            "output_bytes": self._output_bytes,
            "most_bytes": MAX_BYTES,
            "files": before,
        }
        outcome = self._runner.submit(_make_job(order, self._limits, limit_s, self._output_bytes)).result()
        answer = self._read_answer(argv, outcome)
        if not isinstance(answer, _Answer):
            return answer
        if abandoned is None or not abandoned.is_set():
            self._keep(before, answer.files)
        return _end_of(answer, argv, limit_s)

    def write(self, path: str, data: bytes) -> None:
        """Write a file.  Raises IsADirectoryError, NotADirectoryError and PermissionError as the system would."""
        name = self._resolve(path)
        old = self._files.get(name)
        if name == "." or (old is not None and old.kind == "folder"):
            raise IsADirectoryError(f"{path!r} is a directory")
        if not self._may_hold(posixpath.dirname(name)):
            raise NotADirectoryError(f"{path!r} lies below a file or a link")
        if old is not None and not old.mode & 0o200:
            raise PermissionError(f"{path!r} may not be written")
        mode = old.mode if old is not None else 0o644
        parent = posixpath.dirname(name)
        with self._lock:
            while parent:
                self._files.setdefault(parent, _File("folder", 0o755, b"", 0))
                parent = posixpath.dirname(parent)
            self._files[name] = _File("file", mode, data, _now())

    def read(self, path: str) -> bytes:
        """Return the content of a file.

        Raises FileNotFoundError, IsADirectoryError and PermissionError as the system would; of the files outside the
        folder none is there.
        """
        if posixpath.isabs(path) and (path == FOLDER or not posixpath.normpath(path).startswith(f"{FOLDER}/")):
            raise IsADirectoryError(f"{path!r} is a directory, or a file of the system")
        file = self._files.get(self._resolve(path))
        if file is None:
            raise FileNotFoundError(f"no file {path!r}")
        if file.kind == "folder":
            raise IsADirectoryError(f"{path!r} is a directory")
        if not file.mode & 0o400:
            raise PermissionError(f"{path!r} may not be read")
        return file.data

    def _resolve(self, path: str) -> str:
        """Return the name of a file below the folder, links followed."""
        for _ in range(_MOST_LINKS):
            full = posixpath.normpath(posixpath.join(FOLDER, path))
            if not f"{full}/".startswith(f"{FOLDER}/"):
                raise PermissionError(f"{path!r} is outside of {FOLDER}")
            name = posixpath.relpath(full, FOLDER)
            file = self._files.get(name)
            if file is None or file.kind != "link":
                return name
            path = posixpath.join(FOLDER, posixpath.dirname(name), file.data.decode("utf-8", "replace"))
        raise OSError(f"{path!r} is a link that leads to too many others")

    def _with_interpreter(self, argv: list[str], folder: str) -> list[str]:
        """Return a command whose program is a script in the folder with the interpreter of its first line in front.

        Nothing that was written here can be executed itself.
        """
        start = 1 if argv[:1] == ["env"] else 0
        if len(argv) <= start or "/" not in argv[start]:
            return argv
        try:
            file = self._files.get(self._resolve(posixpath.join(folder, argv[start])))
        except OSError:
            return argv
        if file is None or file.kind != "file" or not file.mode & 0o100 or not file.data.startswith(b"#!"):
            return argv
        first, _, _ = file.data[2:].partition(b"\n")
        return [*first.decode("utf-8", "replace").strip().split(maxsplit=1), *argv[start:]]

    def _read_answer(self, argv: list[str], outcome: Outcome) -> _Answer | Ended:
        """Return what a command's jail says; its end where it says nothing."""
        report = read_report((outcome.steps or (outcome,))[-1].report)
        try:
            answer = msgspec.json.decode(report.out, type=decodable(_Answer))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            if outcome.ended in ("fault", "wall") or report.status == "command":
                raise SandboxError(f"{argv[0]!r} could not be run: {outcome.fault or report.error}") from None
            answer = None
        if answer is None or not all(map(_is_inside, answer.files)):
            # The command has ended what runs it, and may have answered for it, or taken all memory or time.
            return Ended(137, b"", b"the jail ended before the command did\n")
        if answer.is_too_large:
            raise SandboxError(f"the files have over {MAX_BYTES >> 20} MiB; they are as they were before {argv[0]!r}")
        return answer

    def _keep(self, before: Mapping[str, _File], files: Mapping[str, _File]) -> None:
        """Change the files as a command did, which had them as they were before it."""
        with self._lock:
            for name in before.keys() - files.keys():
                self._files.pop(name, None)
            for name, file in files.items():
                if file.kind != "same" and file != before.get(name):
                    self._files[name] = file
            # Another command may have put something into a folder that is now a file.
            for name in [name for name in self._files if not self._may_hold(posixpath.dirname(name))]:
                del self._files[name]

    def _may_hold(self, folder: str) -> bool:
        """Tell whether a name, and all above it, is a folder or not there yet."""
        while folder:
            file = self._files.get(folder)
            if file is not None and file.kind != "folder":
                return False
            folder = posixpath.dirname(folder)
        return True


def _is_inside(name: str) -> bool:
    """Tell whether a name is one that a file in the folder has."""
    is_plain = len(name) < _MOST_NAME and "\0" not in name and name == posixpath.normpath(name)
    return is_plain and name.partition("/")[0] not in ("", ".", "..")


def _end_of(answer: _Answer, argv: list[str], limit_s: float) -> Ended:
    if answer.timeout:
        raise TimeoutError(f"{argv[0]!r} took over {limit_s:g} s")
    if answer.error:
        raise PermissionError(f"{argv[0]!r}: {answer.error}")
    code = answer.exit if answer.exit is not None else 137
    # A signal is a negative number there, and over 128 for a shell.
    return Ended(code if code >= 0 else 128 - code, answer.out, answer.err)


class _Answer(msgspec.Struct, kw_only=True):
    """The output of ``harness/shell.py``; a command may have forged it, as everything that is the command's own."""

    error: str
    exit: int | None
    timeout: bool
    out: bytes
    err: bytes
    files: dict[str, _File]
    is_too_large: bool


def _make_job(order: dict[str, Any], limits: Limits, limit_s: float, output_bytes: int) -> Job:
    limits = msgspec.structs.replace(limits, timeout_s=limit_s + _MARGIN_S)
    shell = find_language("sh")
    tools = Tools(programs=(*shell.runtime.programs, *_PYTHON.programs), folders=_PYTHON.folders)
    language = Language(
        name="shell", title="Shell", file=PROGRAM, needs=("python3",), packages=("python3",),
        version=("python3", "--version"), build=Build(run=("python3", PROGRAM)), runtime=tools,
    )  # fmt: skip
    source = (files("passcurve.harness") / "shell.py").read_bytes()
    (step,) = make_steps(language, language.find_build(""), source, 0.0, limits, {})
    setup = {
        **step.setup,
        "files": {**step.setup["files"], ORDER: msgspec.json.encode(order)},
        # In base64, and the names of the files.
        "head_bytes": (MAX_BYTES + 2 * output_bytes) * 4 // 3 + (8 << 20),
    }
    return Job(
        tag=0, role="", setup={}, referee=None, limits=limits, slice_s=limits.timeout_s, allow_kept=False,
        attempts=((msgspec.structs.replace(step, setup=setup),),),
    )  # fmt: skip


def _now() -> int:
    """Return the time of day, which dates a file, in ns."""
    return time.time_ns()
