"""A clean interpreter that has loaded what its zygotes need, and forks them.

Starting an interpreter and loading takes several times as long as building all the walls.  No sample and no test ever
enters this process or the parent of any zygote; it runs this code and nothing else.

Frames in:  {'do': 'fork'} with the line of the new zygote, {'do': 'reap', 'pid': ..., 'within_s': ...}.
Frames out: {'failed': ...} once when it cannot serve; else {'pid': ...} or {'status': ...}, one for each request,
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
from typing import Any, NoReturn

from passcurve.harness import framing, wire
from passcurve.harness.protocol import MARSHAL_VERSION
from passcurve.sandbox.zygote import kernel, memory, server
from passcurve.sandbox.zygote.template import Role

REQUEST_BYTES = 1 << 16
CONFIG_BYTES = 1 << 20
REAP_POLL_S = 0.001
NEW_FILES_MASK = 0o022
"""Mask of new files of all samples: a program can see it, and that of whoever started the supervisor may differ."""
REHEARSALS = 3
"""Rounds of requests before the first one that counts."""


def serve(line: socket.socket, config: dict[str, Any], config_bytes: int, began_ns: int) -> NoReturn:
    """Load the roles, then answer requests until the line is closed.

    The configuration, ``config_bytes`` long, is still on the line; ``began_ns``: when this process began to load.
    """
    try:
        _reset_signals()
        roles = load(config["preimport"], config["roles"])
        if has_compiled(began_ns):
            # A compiler leaves another memory behind than a loader: samples would find other addresses than next time.
            os.dup2(line.fileno(), 0)
            os.execv(sys.executable, [sys.executable, "-S", "-s", sys.argv[0]])
        line.recv(config_bytes, socket.MSG_WAITALL)
        os.umask(NEW_FILES_MASK)
        # What was loaded is cached for the next run.  Nothing that a sample imports is.
        sys.dont_write_bytecode = True
        hide_package()
        if sys.platform.startswith("linux"):
            kernel.die_with_parent(config["supervisor"])
            kernel.prctl(kernel.PR_SET_THP_DISABLE, 1)
            if config["keeps"]:
                memory.lay_out()
        rehearse(roles)
        gc.collect()
        gc.freeze()
    except BaseException as error:
        text = "%s: %s" % (type(error).__name__, error)
        framing.send_frame(line.fileno(), wire.encode({"failed": text[:500]}))
        os._exit(1)
    try:
        while True:
            answer_request(line, roles)
    except framing.ConnectionClosed:
        os._exit(0)


def answer_request(line: socket.socket, roles: dict[str, Role]) -> None:
    """Answer one request.  Raises ConnectionClosed when the line is closed."""
    data, descriptors = framing.receive_frame_and_descriptors(line, REQUEST_BYTES)
    # From the supervisor alone, so the interpreter's own format will do.
    request = marshal.loads(data)
    is_fork = request["do"] == "fork"
    answer = fork(line, descriptors[0], roles) if is_fork else reap(request["pid"], request["within_s"])
    framing.send_frame(line.fileno(), wire.encode({**answer, "number": request["number"]}))


def rehearse(roles: dict[str, Role]) -> None:
    """Answer requests until that changes nothing more in memory, so that the first zygote is like the second.

    Each forks a process that ends at once, as nobody holds the other end of its line.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for _ in range(REHEARSALS):
            line, other = socket.socketpair()
            other.close()
            request = marshal.dumps({"do": "fork", "number": 0}, MARSHAL_VERSION)
            with line:
                socket.send_fds(ours, [framing.make_frame(request)], [line.fileno()])
            answer_request(theirs, roles)
            pid = wire.decode(framing.receive_frame(ours.fileno(), REQUEST_BYTES))["pid"]
            request = marshal.dumps({"do": "reap", "pid": pid, "within_s": 1.0, "number": 0}, MARSHAL_VERSION)
            framing.send_frame(ours.fileno(), request)
            answer_request(theirs, roles)
            framing.receive_frame(ours.fileno(), REQUEST_BYTES)


def _reset_signals() -> None:
    """Put back the signals that whoever started the supervisor had blocked or ignored: samples would find them so."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def load(preimport: list[str], roles: list[str]) -> dict[str, Role]:
    """Load what most samples import, and the roles, but register no hooks: they would run at every fork."""
    register = os.register_at_fork
    os.register_at_fork = lambda **_: None
    for name in preimport:
        try:
            __import__(name)
        except ImportError:
            pass  # this interpreter may lack one; a sample that imports it sees the error
    modules = {name: __import__(name, fromlist=["main"]) for name in roles}
    os.register_at_fork = register
    for module in modules.values():
        if hasattr(module, "rehearse"):
            module.rehearse()
    return {name: module.main for name, module in modules.items()}


def has_compiled(began_ns: int) -> bool:
    """Tell whether bytecode of a module that is loaded was written after this time, by this process or another.

    Bytecode with a date to come is older than a clock that was set back: it would count at each start anew.
    """
    now_ns = _now()
    for module in list(sys.modules.values()):
        try:
            cached = module.__spec__ and module.__spec__.cached
            if cached and began_ns <= os.stat(cached).st_mtime_ns <= now_ns:
                return True
        except (AttributeError, OSError, TypeError):
            pass  # it has none
    return False


def _now() -> int:
    """Return the time of day by which the system dates files, in ns."""
    return time.time_ns()


def preload(names: list[str]) -> None:
    """Import modules behind the walls, once for all samples of a zygote; what cannot be imported is left out."""
    for name in names:
        try:
            __import__(name)
        except Exception:
            pass  # a sample that imports it sees the error
    if "numpy" in sys.modules:
        # It takes its state from the kernel when it is imported, and verdicts must not depend on that.
        sys.modules["numpy"].random.seed(0)


def hide_package() -> None:
    """Remove our own package from where a sample could import it."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "passcurve"]:
        del sys.modules[name]
    sys.path_importer_cache.clear()


def fork(line: socket.socket, descriptor: int, roles: dict[str, Role]) -> dict[str, Any]:
    """Fork a zygote, which reads its configuration from its own line."""
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
        # The supervisor has ended, or has closed the line.
        os._exit(1)
    server.start(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, descriptor), config, parent, roles, preload)
    os._exit(0)


def reap(pid: int, within_s: float) -> dict[str, Any]:
    """Wait for the end of a zygote, and kill it after ``within_s`` seconds; return its exit status."""
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
        # No call that every system has waits for a process with a time limit; this one ends in a moment.
        time.sleep(REAP_POLL_S)
