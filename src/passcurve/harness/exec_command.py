"""Turns its process into one command: nothing of ours is left in it, and its end is seen from outside.

This costs less than ``command.py``, which stays beside its command to read the files that it makes, and to report.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
from typing import Any, NoReturn

from passcurve.harness.command import NOT_STARTED, set_streams, unpack_files, write_file
from passcurve.harness.framing import send_frame
from passcurve.harness.job_start import read_job
from passcurve.harness.protocol import BEGUN


def main(descriptors: list[int]) -> NoReturn:
    """Write the files of a job and run its command in this process.

    The connection gets a frame when the command begins; another one, or another one first, says why it could not.
    """
    connection, out, err, artifact, *file = descriptors
    try:
        job = read_job(connection, file)
        _prepare(job, out, err, artifact)
        for descriptor in (connection, out, err, artifact):
            os.set_inheritable(descriptor, False)
        send_frame(connection, BEGUN)
        _exec("/proc/self/fd/%d" % artifact if job["is_binary"] else job["argv"][0], job)
    except OSError as error:
        send_frame(connection, (error.strerror or str(error)).encode())
    os._exit(NOT_STARTED)


def _prepare(job: dict[str, Any], out: int, err: int, artifact: int) -> None:
    """Give the command its files, its streams and its memory."""
    if job["unpack"]:
        unpack_files(artifact)
    for name, data in job["files"].items():
        write_file(name, data)
    set_streams(job["stdin"], out, err)
    if job.get("memory_bytes"):
        resource.setrlimit(resource.RLIMIT_DATA, (job["memory_bytes"], job["memory_bytes"]))
    # CPython ignores it, and a command would inherit that.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def _exec(program: str, job: dict[str, Any]) -> None:
    """Become the command; return where it is no program, which is its own end.  Raises OSError for a fault of ours."""
    try:
        os.execve(program, job["argv"], job["env"])
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.ENOMEM):
            raise
        os.write(2, ("%s: %s\n" % (program, error.strerror)).encode())
