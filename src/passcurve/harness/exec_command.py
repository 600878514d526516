"""Replaces its process by one command: nothing of ours is left in it, and its end is seen from outside.

This costs less than ``command.py``, which stays beside its command to read the files that it makes, and to report.
"""

from __future__ import annotations

import os
import signal
from typing import NoReturn

from passcurve.harness.command import NOT_STARTED, prepare, program_of, set_streams, tell_not_started
from passcurve.harness.framing import send_frame
from passcurve.harness.job_start import read_job
from passcurve.harness.protocol import BEGUN


def main(descriptors: list[int]) -> NoReturn:
    """Write the files of a job and run its command in this process.

    The connection gets a frame when the command begins, and one with the reason where a fault of ours prevents it.
    """
    connection, out, err, artifact, *file = descriptors
    try:
        job = read_job(connection, file)
        prepare(job, artifact)
        set_streams(job["stdin"], out, err)
        # CPython ignores it, and a command would inherit that.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        for descriptor in (connection, out, err, artifact):
            os.set_inheritable(descriptor, False)
        send_frame(connection, BEGUN)
        program = program_of(job, artifact)
        try:
            os.execve(program, job["argv"], job["env"])
        except OSError as error:
            tell_not_started(program, error, 2)
    except OSError as error:
        send_frame(connection, (error.strerror or str(error)).encode())
    os._exit(NOT_STARTED)
