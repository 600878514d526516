"""The template: a process that stands still between two forks, so that all children start in the same state.

The zygote works all the time, and its work shows in its memory: in the addresses of the next objects, and with them in
the hash of NaN and the order of a set.  So it forks this process once, before it has served anybody, and this process
forks all others.  They are children of the zygote all the same.

The child reads its spec from a line of its own, puts up its walls, and runs its role.
"""

from __future__ import annotations

import marshal
import os
import resource
import select
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from types import FunctionType
from typing import Any, NoReturn

from passcurve.harness import framing, streams
from passcurve.harness.protocol import MARSHAL_VERSION
from passcurve.sandbox.zygote import kernel, memory

SPEC_BYTES = 1 << 16
"""Largest spec of a child."""

FIRST = 3
"""First descriptor of a role; the standard streams below it lead to /dev/null."""

DEEP_WORDS = (1 << 16) + 1000
"""Stack of one frame, in words: a little over half of a block of 1 MiB leaves room for more than 1,000 frames."""

REHEARSALS = 40
"""Rounds of the loop after which its memory no longer changes."""

DEATH_POLL_MS = 20
"""Time between two looks at a child that does not answer: it may have died."""

READ_POLL_S = 0.0005
"""Time between two looks whether a child has read its spec: no event tells that a line was read."""

GO = b"g"
"""Message that lets a child go on."""

_HIGH = 32
"""Descriptors from here on are above all that a child inherits."""

_FAILURES = _HIGH + framing.MAX_DESCRIPTORS
"""Descriptor on which a child says that it failed before its role began; closed before it begins."""

FAILED_EXIT = 99
"""Exit code of such a child.  A sample can end with it as well, but can say nothing there."""

_PID_BYTES = 4

end_here = os._exit
"""A role may put another function there, and its process must not go on in the code of the one that forked it."""

Role = Callable[[list[int]], None]
Spec = dict[str, Any]
"""The spec of a child: role, scratch, kept, offers (a userfaultfd, as one that is kept must), lowest (first descriptor
that it may close), ruled (has Landlock rules)."""

Enter = Callable[[Spec, int], None]
"""Puts up the walls of a child: its spec, and the descriptor of its Landlock rules or -1."""


class Template:
    """The zygote's side: forks children, one at a time."""

    def __init__(self, roles: dict[str, Role], enter: Enter, close_private: Callable[[], None], *, track: bool) -> None:
        """``close_private`` closes, in the template, what no child may have; ``track``: children may be traced."""
        self._commands, commands = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._line, line = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._failures, failures = os.pipe()
        for end in (self._failures, failures):
            os.set_blocking(end, False)
        self._track = track
        zygote = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                kernel.die_with_parent(zygote)
                close_private()
                os.dup2(failures, _FAILURES)
                _close_all_but(commands.fileno(), line.fileno(), _FAILURES)
                os.chdir("/")
                memory.use_up_free_blocks()
                _rehearse(line, roles, enter)
                kernel.prepare_clone()
                _with_deep_stack(_serve)(commands.fileno(), line, roles, enter)
            except BaseException:
                os._exit(1)
        commands.close()
        os.close(failures)
        self._child_line = line
        """The other end of the line, from which the children read one after another."""
        self._last_pid = 0
        self._unread = select.poll()
        self._unread.register(line.fileno(), select.POLLIN)
        self._answers = select.poll()
        self._answers.register(self._line.fileno(), select.POLLIN)

    def fork(self) -> int:
        """Return the pid of a new child, which waits for its spec.  Raises OSError when there is none."""
        self._await_last()
        os.write(self._commands.fileno(), b"f")
        pid = int.from_bytes(os.read(self._commands.fileno(), _PID_BYTES), "little", signed=True)
        if pid <= 0:
            raise OSError("no process can be forked")
        self._last_pid = pid
        return pid

    def _await_last(self) -> None:
        """Wait until the child before has read all that it was sent; discard what one that died has not read."""
        while not self._track and self._answers.poll(0):
            # Only a tracer has a use for what a child sends.
            for tracker in socket.recv_fds(self._line, 1, 1)[1]:
                os.close(tracker)
        while self._unread.poll(0):
            try:
                is_alive = os.waitid(os.P_PID, self._last_pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
            except ChildProcessError:
                is_alive = False
            if is_alive:
                time.sleep(READ_POLL_S)
            else:
                self._child_line.recv(SPEC_BYTES, socket.MSG_DONTWAIT)

    def forget(self, pid: int) -> None:
        """Discard what a child that has ended has not read: the descriptors in it stay open until then."""
        if pid == self._last_pid:
            self._await_last()

    def send_spec(self, pid: int, spec: Spec, descriptors: list[int]) -> int:
        """Send the new child its spec; return its userfaultfd, or -1 when it has none."""
        payload = marshal.dumps(spec, MARSHAL_VERSION)
        data = [len(payload).to_bytes(4, "little") + payload]
        if not self._track:
            socket.send_fds(self._line, [*data, GO], descriptors)
            return -1
        socket.send_fds(self._line, data, descriptors)
        while not self._answers.poll(DEATH_POLL_MS):
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) and not self._answers.poll(0):
                return -1
        try:
            _, trackers, _, _ = socket.recv_fds(self._line, 1, 1)
        except OSError:
            return -1
        return trackers[0] if trackers else -1

    def has_failed(self, pid: int) -> bool:
        """Tell whether a child that has ended with ``FAILED_EXIT`` said that it failed before its role began."""
        failed = b""
        with suppress(BlockingIOError):
            while data := os.read(self._failures, SPEC_BYTES):
                failed += data
        return any(pid == int.from_bytes(number, "little") for (number,) in struct.iter_unpack("4s", failed))

    def release(self) -> None:
        """Let the new child go on, once it is traced."""
        if self._track:
            self._line.send(GO)


def _with_deep_stack(function: Callable[..., NoReturn]) -> Callable[..., NoReturn]:
    """Return a function whose frame has room behind it for those of the calls that it makes.

    From 3.11 on the interpreter keeps frames in blocks, and asks the kernel for a small one whenever the last is full.
    One that must hold this frame is large, and all that come after have the rest.
    """
    if isinstance(function, FunctionType):
        function.__code__ = function.__code__.replace(co_stacksize=DEEP_WORDS)
    return function


def _close_all_but(*descriptors: int) -> None:
    low = FIRST
    for fd in sorted(descriptors):
        os.closerange(low, fd)
        low = fd + 1
    os.closerange(low, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _rehearse(line: socket.socket, roles: dict[str, Role], enter: Enter) -> None:
    """Repeat the loop until it changes nothing more in memory, so that the first child is like the second."""
    kernel.rehearse_clone()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.send(bytes(REHEARSALS))
        ours.shutdown(socket.SHUT_WR)
        _fork_children(theirs.fileno(), line, roles, enter)


def _serve(commands: int, line: socket.socket, roles: dict[str, Role], enter: Enter) -> NoReturn:
    _fork_children(commands, line, roles, enter)
    os._exit(0)


def _fork_children(commands: int, line: socket.socket, roles: dict[str, Role], enter: Enter) -> None:
    """Fork a child for each byte that arrives.  The loop frees all that it has made before the next byte."""
    while os.read(commands, 1):
        pid = kernel.clone_sibling()
        if pid == 0:
            try:
                os.close(commands)
                _run_child(line, roles, enter)
            except BaseException:
                end_here(FAILED_EXIT)
            end_here(0)
        os.write(commands, pid.to_bytes(_PID_BYTES, "little", signed=True))


def _run_child(line: socket.socket, roles: dict[str, Role], enter: Enter) -> None:
    try:
        data, descriptors = framing.receive_frame_and_descriptors(line, SPEC_BYTES)
        spec = marshal.loads(data)
        if spec["offers"]:
            _offer_tracker(line, is_kept=spec["kept"])
        line.recv(1)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        line.close()
        places = enter_role(spec, descriptors, enter)
    except BaseException:
        os.write(_FAILURES, os.getpid().to_bytes(_PID_BYTES, "little"))
        raise
    os.close(_FAILURES)
    roles[spec["role"]](places)


def _offer_tracker(line: socket.socket, *, is_kept: bool) -> None:
    """Send the zygote a userfaultfd."""
    tracker = -1
    try:
        # Else the zygote could not trace it.
        kernel.prctl(kernel.PR_SET_DUMPABLE, int(is_kept))
        tracker = memory.open_userfaultfd()
        socket.send_fds(line, [b"t"], [tracker])
    except OSError:
        line.send(b"n")
    if tracker >= 0:
        os.close(tracker)


def _open_descriptors() -> None:
    """Open the standard descriptors anew: flags of an open file, and the times of one of the host, outlive a child."""
    for number in range(FIRST):
        null = os.open("/dev/null", os.O_RDWR if number else os.O_RDONLY)
        os.dup2(null, number)
        os.close(null)


def enter_role(spec: Spec, descriptors: list[int], enter: Enter) -> list[int]:
    """Put up the walls of a child; return its descriptors, at numbers that are the same for every child."""
    os.chdir(spec["scratch"])
    _open_descriptors()
    streams.set_kept(spec["kept"])
    high = [os.dup2(fd, _HIGH + place) for place, fd in enumerate(descriptors)]
    os.closerange(FIRST, _HIGH)
    rules = high.pop(0) if spec["ruled"] else -1
    places = [os.dup2(fd, FIRST + place) for place, fd in enumerate(high)]
    os.closerange(_HIGH + spec["ruled"], _HIGH + len(descriptors))
    enter(spec, rules)
    return places
