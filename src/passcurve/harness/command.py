"""Runs one command of a toolchain or one program beside itself, and reports how it ended.

The command is a child of this process, which runs nothing but this code.  It inherits the walls and three descriptors:
its standard streams.  It cannot read this process's memory: the walls forbid that.  It may end this process, which is
then reported as its own end.
"""

from __future__ import annotations

import base64
import errno
import fnmatch
import json
import os
import resource
import select
import signal
import stat
import struct
import time
from collections.abc import Iterator
from typing import Any

from passcurve.harness.framing import send_frame
from passcurve.harness.job_start import read_job

HEAD_BYTES, TAIL_BYTES = 48 << 10, 16 << 10
"""The parts of an output stream that are reported: how a compiler begins, and how a program ends."""

FETCHED_BYTES = 2 << 20
"""Bytes of the files that are fetched after a run."""
_READ_BYTES = 1 << 16
_PIECES = 16
"""Pieces that hold all that the largest pipe of an ordinary user does."""
_SIZES = struct.Struct("<II")
NOT_STARTED = 127
"""Exit status of a shell whose command cannot be started."""


class Stream:
    """One output stream of the command: its first bytes, its last, and how many there were."""

    def __init__(self, head_bytes: int = HEAD_BYTES) -> None:
        self._head_bytes = head_bytes
        self.reading, self.writing = os.pipe()
        os.set_blocking(self.reading, False)
        self._head, self._tail = bytearray(), bytearray()
        self.size = 0
        self.is_open = True

    def read(self) -> None:
        """Take what has come, but no more than a pipe can hold: whoever writes without end would keep us here."""
        for _ in range(_PIECES if self.is_open else 0):
            try:
                data = os.read(self.reading, _READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                self.is_open = False
                return
            self.size += len(data)
            room = self._head_bytes - len(self._head)
            self._head += data[:room] if room > 0 else b""
            self._tail = (self._tail + data[max(room, 0) :])[-TAIL_BYTES:]
            if len(data) < _READ_BYTES:
                return

    def text(self) -> str:
        """Return what is reported of it."""
        left_out = self.size - len(self._head) - len(self._tail)
        gap = b"\n... %d bytes ...\n" % left_out if left_out else b""
        return (bytes(self._head) + gap + bytes(self._tail)).decode("utf-8", "replace")


def main(descriptors: list[int]) -> None:
    """Run the command of a job, then send one report."""
    connection, artifact, *file = descriptors
    job = read_job(connection, file)
    for descriptor in (connection, artifact):
        os.set_inheritable(descriptor, False)
    try:
        report = run(job, artifact)
    except OSError as error:
        report = {"status": "command", "error": "%s: %s" % (job["argv"][0], error.strerror or error)}
    send_frame(connection, json.dumps(report).encode())
    os._exit(0)


def run(job: dict[str, Any], artifact: int) -> dict[str, Any]:
    """Run the command; return its end, its output and its time.

    ``artifact``: a file that holds what a compiler made, for the program's own run, and takes it otherwise.
    """
    prepare(job, artifact)
    out, err = Stream(job.get("head_bytes", HEAD_BYTES)), Stream()
    wake_reading, wake_writing = os.pipe()
    os.set_blocking(wake_writing, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_writing)
    program = program_of(job, artifact)
    started = time.monotonic()
    pid = _spawn(program, job, out.writing, err.writing)
    os.close(out.writing)
    os.close(err.writing)
    status, waited_s = _wait(pid, out, err, wake_reading)
    seconds = time.monotonic() - started
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    report: dict[str, Any] = {
        "status": "ended",
        "exit": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        "out": out.text(),
        "err": err.text(),
        "out_bytes": out.size,
        "err_bytes": err.size,
        "wall_s": seconds,
        "waited_s": waited_s,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "memory_bytes": usage.ru_maxrss * 1024,
    }
    if job.get("fetch"):
        report["files"] = fetch_files(job["fetch"])
    if job["keep"] and report["exit"] == 0:
        report["kept"] = keep_files(job["keep"], artifact, is_binary=job["makes_binary"])
    return report


def prepare(job: dict[str, Any], artifact: int) -> None:
    """Write the files of a command, and limit the memory of this process and its children."""
    if job["unpack"]:
        unpack_files(artifact)
    for name, data in job["files"].items():
        write_file(name, data)
    if job.get("memory_bytes"):
        resource.setrlimit(resource.RLIMIT_DATA, (job["memory_bytes"], job["memory_bytes"]))


def program_of(job: dict[str, Any], artifact: int) -> str:
    """Return the path of the program that a job runs."""
    path: str = job["argv"][0]
    return "/proc/self/fd/%d" % artifact if job["is_binary"] else path


def tell_not_started(program: str, error: OSError, err: int) -> None:
    """Write why a program could not be started, as a shell does; raise the error where it is a fault of ours."""
    if error.errno in (errno.EAGAIN, errno.ENOMEM):
        raise error
    os.write(err, ("%s: %s\n" % (program, error.strerror)).encode())


def _spawn(program: str, job: dict[str, Any], out: int, err: int) -> int:
    """Start the command; return its pid.  The memory of this process is not copied for it, as a fork would."""
    streams = [_open_input(job["stdin"]), out, err]
    actions = [(os.POSIX_SPAWN_DUP2, descriptor, place) for place, descriptor in enumerate(streams)]
    defaults = (signal.SIGCHLD, signal.SIGPIPE)
    try:
        return os.posix_spawn(program, job["argv"], job["env"], file_actions=actions, setsigdef=defaults)
    except OSError as error:
        # What a compiler has made may be no program: that is the end of the command, as a shell tells it.
        tell_not_started(program, error, err)
        pid = os.fork()
        if pid == 0:
            os._exit(NOT_STARTED)
        return pid


def set_streams(stdin: bytes, out: int, err: int) -> None:
    """Make these the standard streams."""
    for place, descriptor in enumerate((_open_input(stdin), out, err)):
        os.dup2(descriptor, place)


def _open_input(stdin: bytes) -> int:
    """Open a standard input: a file without a name, in the scratch."""
    if not stdin:
        return os.open("/dev/null", os.O_RDONLY)
    write_file(".stdin", stdin)
    reading = os.open(".stdin", os.O_RDONLY)
    os.unlink(".stdin")
    return reading


def _wait(pid: int, out: Stream, err: Stream, wake: int) -> tuple[int, float]:
    """Read both streams until the command has ended; return its wait status, and how long it waited for a core.

    What it has left running may hold its streams open; nobody waits for that.
    """
    poll = select.poll()
    for descriptor in (out.reading, err.reading, wake):
        poll.register(descriptor, select.POLLIN)
    streams = {out.reading: out, err.reading: err}
    while True:
        for descriptor, _ in poll.poll():
            stream = streams.get(descriptor)
            if stream is None:
                os.read(wake, 64)
            else:
                stream.read()
                if not stream.is_open:
                    poll.unregister(descriptor)
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            out.read()
            err.read()
            waited_s = _waited_s(pid)
            return os.waitpid(pid, 0)[1], waited_s


def _waited_s(pid: int) -> float:
    """Return the time for which the first thread of a process that has ended waited for a core."""
    try:
        with open("/proc/%d/schedstat" % pid, encoding="ascii") as file:
            return int(file.read().split()[1]) * 1e-9
    except (OSError, ValueError, IndexError):
        return 0.0


def write_file(name: str, data: bytes) -> None:
    """Write a file below the working folder."""
    folder = os.path.dirname(name)
    if folder:
        os.makedirs(folder, exist_ok=True)
    with open(name, "wb") as file:
        file.write(data)


def keep_files(patterns: list[str], artifact: int, *, is_binary: bool) -> int:
    """Write the files that a compiler has made into the artifact; return their number.

    ``is_binary``: there is one, and the artifact is to be that file itself.
    """
    names = [name for name in _walk("") if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
    os.ftruncate(artifact, 0)
    os.lseek(artifact, 0, os.SEEK_SET)
    for name in names[: 1 if is_binary else None]:
        with open(name, "rb") as file:
            data = file.read()
        if not is_binary:
            encoded = os.fsencode(name)
            _write(artifact, _SIZES.pack(len(encoded), len(data)) + encoded)
        _write(artifact, data)
    return len(names)


def fetch_files(names: list[str]) -> dict[str, str]:
    """Return the files of these names below the working folder, in base64; what is no file or too large is left out."""
    files = {}
    room = FETCHED_BYTES
    for name in names:
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (OSError, ValueError):
            continue
        about = os.fstat(descriptor)
        if stat.S_ISREG(about.st_mode) and about.st_size <= room:
            room -= about.st_size
            files[name] = base64.b64encode(os.pread(descriptor, about.st_size, 0)).decode("ascii")
        os.close(descriptor)
    return files


def unpack_files(artifact: int) -> None:
    """Write the files of an artifact below the working folder."""
    for name, data in read_files(artifact):
        write_file(name, data)


def read_files(artifact: int) -> Iterator[tuple[str, bytes]]:
    """Yield the names and the content of the files of an artifact; raises ValueError where it is none."""
    place, size = 0, os.fstat(artifact).st_size
    while place < size:
        head = os.pread(artifact, _SIZES.size, place)
        if len(head) < _SIZES.size:
            raise ValueError("an artifact that ends too early")
        name_bytes, data_bytes = _SIZES.unpack(head)
        place += _SIZES.size
        if place + name_bytes + data_bytes > size:
            raise ValueError("an artifact that ends too early")
        yield os.fsdecode(os.pread(artifact, name_bytes, place)), os.pread(artifact, data_bytes, place + name_bytes)
        place += name_bytes + data_bytes


def _walk(folder: str) -> list[str]:
    names = []
    for entry in sorted(os.scandir(folder or "."), key=lambda entry: entry.name):
        name = folder + entry.name
        if entry.is_dir(follow_symlinks=False):
            names += _walk(name + "/")
        elif entry.is_file(follow_symlinks=False):
            names.append(name)
    return names


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
