"""Runs one command on the files of earlier ones, and writes these out for the next.

It is a program of its own in a jail of commands: it reads its order and the files beside it, and its output is one JSON
object.  What a command leaves running ends with the jail.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from typing import Any

ORDER = ".passcurve/order.json"
PROGRAM = ".passcurve/shell.py"
"""Where the order and this file are, below the working folder."""


_ROUNDS, _PAUSE_S = 100, 0.005


def main() -> None:
    """Read the order, run its command and write what became of it."""
    with open(ORDER, encoding="utf-8") as file:
        order = json.load(file)
    top = os.getcwd()
    shutil.rmtree(os.path.dirname(ORDER))
    stamps = unpack(order["files"])
    answer = run(order)
    os.chdir(top)
    answer.update(pack(stamps, order["most_bytes"]))
    json.dump(answer, sys.stdout)


def unpack(files: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Make the files; return the stamp of each that holds data, by which a change of it is seen."""
    stamps = {}
    for name in sorted(files):
        kind, mode, data, time_ns = files[name]
        if os.path.dirname(name):
            os.makedirs(os.path.dirname(name), exist_ok=True)
        if kind == "folder":
            os.makedirs(name, exist_ok=True)
        elif kind == "link":
            os.symlink(base64.b64decode(data), name)
        else:
            with open(name, "wb") as file:
                file.write(base64.b64decode(data))
            os.utime(name, ns=(time_ns, time_ns))
            os.chmod(name, mode)
            stamps[name] = _stamp(name)
    # Folders last: one that nobody may write to must be filled before.
    for name, (kind, mode, _, _) in files.items():
        if kind == "folder":
            os.chmod(name, mode)
    return stamps


def run(order: dict[str, Any]) -> dict[str, Any]:
    """Run the command; return its exit status and output, or the error that kept it from beginning."""
    answer: dict[str, Any] = {"error": "", "exit": None, "timeout": False}
    most = order["output_bytes"] + 1
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        stdin.write(base64.b64decode(order["stdin"]))
        stdin.seek(0)
        try:
            os.makedirs(order["folder"], exist_ok=True)
            process = subprocess.Popen(
                order["argv"], stdin=stdin, stdout=out, stderr=err, cwd=order["folder"], env=order["env"],
                start_new_session=True,
            )  # fmt: skip
        except PermissionError as error:
            answer["error"] = str(error)
        except (OSError, ValueError) as error:
            # As a shell has it.
            answer["exit"] = 127
            err.write(str(error).encode("utf-8", "replace"))
        else:
            try:
                answer["exit"] = process.wait(order["timeout_s"])
            except subprocess.TimeoutExpired:
                answer["timeout"] = True
            _end_all()
        for name, stream in (("out", out), ("err", err)):
            stream.seek(0)
            answer[name] = _encode(stream.read(most))
    return answer


def pack(stamps: dict[str, tuple[int, ...]], most_bytes: int) -> dict[str, Any]:
    """Return every file below the working folder; of one that was not changed the name only."""
    files: dict[str, Any] = {}
    size = 0
    for folder, folders, names in os.walk("."):
        for name in folders + names:
            path = os.path.relpath(os.path.join(folder, name), ".")
            if path != path.encode("utf-8", "ignore").decode():
                # JSON has no name for it.
                continue
            status = os.lstat(path)
            mode = stat.S_IMODE(status.st_mode)
            if stat.S_ISDIR(status.st_mode):
                files[path] = ("folder", mode, "", 0)
                # What stands in it is read all the same.
                os.chmod(path, 0o700)
            elif stat.S_ISLNK(status.st_mode):
                files[path] = ("link", mode, _encode(os.fsencode(os.readlink(path))), 0)
            elif stat.S_ISREG(status.st_mode):
                size += status.st_size
                if size > most_bytes:
                    return {"files": {}, "is_too_large": True}
                if stamps.get(path) == _stamp(path):
                    files[path] = ("same", mode, "", 0)
                else:
                    files[path] = ("file", mode, _encode(_read(path)), status.st_mtime_ns)
    return {"files": files, "is_too_large": False}


def _read(path: str) -> bytes:
    os.chmod(path, 0o600)
    with open(path, "rb") as file:
        return file.read()


def _stamp(path: str) -> tuple[int, ...]:
    status = os.lstat(path)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode


def _end_all() -> None:
    """End every process that the command has left: nobody changes what this one reads then."""
    for _ in range(_ROUNDS):
        others = {int(name) for name in os.listdir("/proc") if name.isdigit()} - {1, os.getpid(), os.getppid()}
        if not [pid for pid in others if _end(pid)]:
            return
        time.sleep(_PAUSE_S)


def _end(pid: int) -> bool:
    """End a process; return whether there was one that could be ended."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            state = file.read().rpartition(b")")[2].split()[0]
        os.kill(pid, signal.SIGKILL)
    except (OSError, IndexError):
        return False
    # What has ended stays until its parent asks for its status, and that one may never do so.
    return state not in (b"Z", b"X")


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


if __name__ == "__main__":
    main()
