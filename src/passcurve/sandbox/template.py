"""The template: a process that stands still between two forks, so that all children begin in one and the same state.

The zygote works all the while, and what it has done shows in its memory: at which addresses the next objects come to
lie, and with them the hash of NaN and the order of a set.  So it forks this process once, before it has served anybody,
and has it fork all others.  They are children of the zygote all the same.

The child reads what it is to be from a line of its own, puts up its walls, and runs its role.
"""

from __future__ import annotations

import marshal
import os
import resource
import select
import signal
import socket
import time
from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn

from passcurve.harness import framing
from passcurve.harness.protocol import MARSHAL_VERSION
from passcurve.sandbox import kernel, memory

ORDER_BYTES = 1 << 16
FIRST = 3
"""The first descriptor of a role; those below it lead nowhere."""

DEEP_WORDS = (1 << 16) + 1000
"""A little over half of a block of 1 MiB: the rest is for more than 1,000 frames."""

REHEARSALS = 40

PATIENCE_MS = 20
"""How often a child that does not answer is looked at: it may have died."""

MOMENT_S = 0.0005
"""How often it is looked whether a child has read what was meant for it: nobody is told when a line has been read."""

GO = b"g"

_HIGH = 32
"""Above all that a child inherits."""

Role = Callable[[list[int]], None]
Walls = Callable[[dict[str, Any], int], None]


class Template:
    """The zygote's side: forks children, one at a time."""

    def __init__(self, roles: dict[str, Role], walls: Walls, forget: Callable[[], None], *, track: bool) -> None:
        """``forget`` lets go, in the template, of what no child may have; ``track``: children may be traced."""
        self._commands, commands = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.setup, setup = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._track = track
        zygote = os.getpid()
        if os.fork() == 0:
            try:
                kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
                if os.getppid() != zygote:
                    os._exit(1)
                forget()
                _close_all_but(commands.fileno(), setup.fileno())
                os.chdir("/")
                memory.settle()
                _rehearse(setup, roles, walls)
                kernel.prepare_clone()
                _with_deep_stack(_serve)(commands.fileno(), setup, roles, walls)
            except BaseException:
                os._exit(1)
        commands.close()
        self._theirs = setup
        """Where the children read, one after another."""
        self._last = 0
        self._unread = select.poll()
        self._unread.register(setup.fileno(), select.POLLIN)
        self._poll = select.poll()
        self._poll.register(self.setup.fileno(), select.POLLIN)

    def fork(self) -> int:
        """Return the pid of a new child, which waits for its order on ``setup``.  Raises OSError when there is none."""
        self._await_last()
        os.write(self._commands.fileno(), b"f")
        pid = int.from_bytes(os.read(self._commands.fileno(), 4), "little", signed=True)
        if pid <= 0:
            raise OSError("no process can be forked")
        self._last = pid
        return pid

    def _await_last(self) -> None:
        """Wait until the child before has read all that was meant for it; take away what one has left that died."""
        while not self._track and self._poll.poll(0):
            # What a child has to say is for whoever traces it.
            for tracker in socket.recv_fds(self.setup, 1, 1)[1]:
                os.close(tracker)
        while self._unread.poll(0):
            try:
                is_alive = os.waitid(os.P_PID, self._last, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
            except ChildProcessError:
                is_alive = False
            if is_alive:
                time.sleep(MOMENT_S)
            else:
                self._theirs.recv(ORDER_BYTES, socket.MSG_DONTWAIT)

    def order(self, pid: int, order: dict[str, Any], descriptors: list[int]) -> int:
        """Tell the new child what it is to be; return the descriptor by which its writes can be noted, or -1."""
        payload = marshal.dumps(order, MARSHAL_VERSION)
        data = [len(payload).to_bytes(4, "little") + payload]
        if not self._track:
            socket.send_fds(self.setup, [*data, GO], descriptors)
            return -1
        socket.send_fds(self.setup, data, descriptors)
        while not self._poll.poll(PATIENCE_MS):
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) and not self._poll.poll(0):
                return -1
        try:
            _, trackers, _, _ = socket.recv_fds(self.setup, 1, 1)
        except OSError:
            return -1
        return trackers[0] if trackers else -1

    def release(self) -> None:
        """Let the new child go on, once whoever is to trace it does."""
        if self._track:
            self.setup.send(GO)


def _with_deep_stack(function: Callable[..., NoReturn]) -> Callable[..., NoReturn]:
    """Return a function whose frame has room behind it for those of the calls that it makes.

    From 3.11 on the interpreter keeps frames in blocks, and asks the kernel for a small one whenever the last is full.
    One that must hold this frame is large, and all that come after have the rest.
    """
    if isinstance(function, FunctionType):
        function.__code__ = function.__code__.replace(co_stacksize=DEEP_WORDS)
    return function


def _close_all_but(*kept: int) -> None:
    low = FIRST
    for fd in sorted(kept):
        os.closerange(low, fd)
        low = fd + 1
    os.closerange(low, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _rehearse(setup: socket.socket, roles: dict[str, Role], walls: Walls) -> None:
    """Go through the loop as often as it takes to change nothing more in memory: the first child is as the second."""
    kernel.rehearse_clone()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.send(bytes(REHEARSALS))
        ours.shutdown(socket.SHUT_WR)
        _fork_each(theirs.fileno(), setup, roles, walls)


def _serve(commands: int, setup: socket.socket, roles: dict[str, Role], walls: Walls) -> NoReturn:
    _fork_each(commands, setup, roles, walls)
    os._exit(0)


def _fork_each(commands: int, setup: socket.socket, roles: dict[str, Role], walls: Walls) -> None:
    """Fork a child for each byte that comes.  Whatever this makes it gives back before the next byte."""
    while os.read(commands, 1):
        pid = kernel.clone_sibling()
        if pid == 0:
            try:
                os.close(commands)
                _become(setup, roles, walls)
            except BaseException:
                os._exit(99)
            os._exit(0)
        os.write(commands, pid.to_bytes(4, "little", signed=True))


def _become(setup: socket.socket, roles: dict[str, Role], walls: Walls) -> None:
    data, descriptors = framing.receive_frame_and_descriptors(setup, ORDER_BYTES)
    order = marshal.loads(data)
    tracker = -1
    try:
        # Else the zygote could not trace it.  The others make the same calls, to find the same memory after them.
        kernel.prctl(kernel.PR_SET_DUMPABLE, int(order["kept"]))
        tracker = memory.track()
        socket.send_fds(setup, [b"t"], [tracker])
    except OSError:
        setup.send(b"n")
    if tracker >= 0:
        os.close(tracker)
    setup.recv(1)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    setup.close()
    begin(order, descriptors, roles, walls)


def begin(order: dict[str, Any], descriptors: list[int], roles: dict[str, Role], walls: Walls) -> None:
    """Run the role of an order behind the walls, with its descriptors in places that are the same for every child."""
    os.chdir(order["scratch"])
    high = [os.dup2(fd, _HIGH + place) for place, fd in enumerate(descriptors)]
    os.closerange(FIRST, _HIGH)
    rules = high.pop(0) if order["ruled"] else -1
    places = [os.dup2(fd, FIRST + place) for place, fd in enumerate(high)]
    os.closerange(_HIGH + order["ruled"], _HIGH + len(descriptors))
    walls(order, rules)
    roles[order["role"]](places)
