"""A clean interpreter that has loaded what its zygotes need, and forks them.

Starting an interpreter and loading takes several times as long as all the walls do.  No sample and no test is ever in
this process or in a parent of a zygote that has them; it does what is written here and nothing else.

Frames in:  {'do': 'fork'} with the line of the new zygote, {'do': 'reap', 'pid': ..., 'within_s': ...}.
Frames out: {'failed': ...} once when it cannot serve; else {'pid': ...} and {'status': ...}, one for each order,
with its number.
"""

from __future__ import annotations

import gc
import marshal
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from passcurve.harness import framing, wire
from passcurve.sandbox import kernel, memory, zygote

ORDER_BYTES = 1 << 16
CONFIG_BYTES = 1 << 20
PAUSE_S = 0.001

Role = Callable[[list[int]], None]


def serve(line: socket.socket, config: dict[str, Any]) -> NoReturn:
    """Load the roles, then fork a zygote for each order until the line is closed."""
    try:
        roles = load(config["preimport"], config["roles"])
        forget_ours(config["root"])
        if sys.platform.startswith("linux"):
            kernel.die_with_parent(config["supervisor"])
            memory.prepare()
        gc.collect()
        gc.freeze()
    except BaseException as error:
        text = "%s: %s" % (type(error).__name__, error)
        framing.send_frame(line.fileno(), wire.encode({"failed": text[:500]}))
        os._exit(1)
    try:
        while True:
            data, passed = framing.receive_frame_and_descriptors(line, ORDER_BYTES)
            # From the supervisor alone, so the interpreter's own format will do.
            order = marshal.loads(data)
            answer = fork(line, passed[0], roles) if order["do"] == "fork" else reap(order["pid"], order["within_s"])
            framing.send_frame(line.fileno(), wire.encode({**answer, "number": order["number"]}))
    except framing.ConnectionClosed:
        os._exit(0)


def load(preimport: list[str], roles: list[str]) -> dict[str, Role]:
    """Load what most samples import, and the roles; without anybody's hook, which would cost at every fork."""
    register = os.register_at_fork
    os.register_at_fork = lambda **_: None
    for name in preimport:
        try:
            __import__(name)
        except ImportError:
            pass  # an older or newer interpreter may lack one; the sample would be told
    modules = {name: __import__(name, fromlist=["main"]) for name in roles}
    os.register_at_fork = register
    for module in modules.values():
        if hasattr(module, "rehearse"):
            module.rehearse()
    return {name: module.main for name, module in modules.items()}


def forget_ours(root: str) -> None:
    """Leave no trace of our own package where a sample could import it."""
    sys.path.remove(root)
    for name in [name for name in sys.modules if name.partition(".")[0] == "passcurve"]:
        del sys.modules[name]
    sys.path_importer_cache.clear()


def fork(line: socket.socket, descriptor: int, roles: dict[str, Role]) -> dict[str, Any]:
    """Fork a zygote, which reads what it is to be from its own line."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        os.close(descriptor)
        return {"pid": pid}
    try:
        line.close()
        os.setsid()
        config = marshal.loads(framing.receive_frame(descriptor, CONFIG_BYTES))
    except BaseException:
        # The supervisor has gone, or has changed its mind.
        os._exit(1)
    zygote.start(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, descriptor), config, parent, roles)
    os._exit(0)


def reap(pid: int, within_s: float) -> dict[str, Any]:
    """Wait for the end of a zygote, kill it if that does not come within so many seconds; say how it ended."""
    until = time.monotonic() + within_s
    while True:
        try:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended and time.monotonic() > until:
                os.kill(pid, signal.SIGKILL)
                ended, status = os.waitpid(pid, 0)
        except ChildProcessError:
            return {"status": 0}
        if ended:
            return {"status": os.waitstatus_to_exitcode(status)}
        # There is no waiting for a process with a limit of time that every system has; this one ends in a moment.
        time.sleep(PAUSE_S)
