"""The self-test of the walls: a child of the zygote tries each forbidden thing."""

from __future__ import annotations

import os
import signal
import socket
from typing import Any

from passcurve.sandbox.zygote import kernel


def broken(config: dict[str, Any]) -> list[str]:
    """Try each forbidden thing by doing it; return the names of those that worked."""
    walls = [wall for wall in ("namespaces", "landlock", "seccomp") if config[wall]]

    def read_the_host() -> None:
        os.close(os.open(config["canary"], os.O_RDONLY))

    def write_outside() -> None:
        if not config["namespaces"]:
            # The root refuses an ordinary user anyway; the folder of all temporary files does not.
            place = os.path.dirname(os.path.dirname(config["scratch_dir"])) + "/passcurve-was-here-%d" % os.getpid()
            try:
                os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            except OSError:
                pass
            else:
                os.unlink(place)
                return
        os.close(os.open("/passcurve-was-here", os.O_CREAT | os.O_WRONLY, 0o600))
        os.unlink("/passcurve-was-here")

    def open_a_socket() -> None:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()

    def start_a_process() -> None:
        if os.fork() == 0:
            os._exit(0)

    def write_to_the_zygote() -> None:
        os.close(os.open("/proc/%d/mem" % os.getppid(), os.O_RDWR))

    def signal_the_zygote() -> None:
        os.kill(os.getppid(), signal.SIGCONT)

    def become_dumpable() -> None:
        kernel.prctl(kernel.PR_SET_DUMPABLE, 1)

    forbidden = []
    if "namespaces" in walls or "landlock" in walls:
        forbidden += [read_the_host, write_outside, write_to_the_zygote]
    if "seccomp" in walls:
        forbidden += [open_a_socket, signal_the_zygote, become_dumpable]
        if not config["processes"]:
            forbidden.append(start_a_process)
    worked = []
    for attempt in forbidden:
        try:
            attempt()
        except OSError:
            continue
        worked.append(attempt.__name__)
    try:
        with open("self-test", "w") as file:
            file.write("x")
    except OSError:
        worked.append("use_the_scratch")
    return worked
