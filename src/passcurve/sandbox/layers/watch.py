"""What was refused: a watcher outside the jail answers each telling system call and notes which sample made it.

The zygote's filter hands such a call to the watcher instead of refusing it by itself, and the caller waits for the
answer.  The zygote needs some of these calls too; the kernel tells who asks, and the zygote's own go through.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import re
import select
import signal
import socket
import struct
from typing import NoReturn

from passcurve.sandbox import kernel
from passcurve.sandbox.layers import seccomp, syscalls

ENTRIES = 32
"""Different calls that are noted of one sample; more would tell nothing new."""

ZYGOTE = ("clone", "kill", "mount", "umount2")
"""Of the telling calls, those that the zygote needs itself."""

_HEAD = struct.Struct("=II")
_ENTRY = struct.Struct("=II")
_NOTE = struct.Struct("=QIIiIQ6Q")
_ANSWER = struct.Struct("=QqiI")
_RECEIVE, _SEND, _IS_VALID = 0xC0502100, 0xC0182101, 0x40082102
_CONTINUE = 1


class Page:
    """Memory that the watcher writes and the zygote reads; no sample ever sees it.

    It begins with the number of the run and the pid of its child; then come entries of (number of the run, system
    call).  An entry is only ever read as part of its own run, so a late one is nobody's.
    """

    def __init__(self) -> None:
        self._map = mmap.mmap(-1, mmap.PAGESIZE)
        self._run = 0

    def begin(self) -> None:
        """Start a new run; nothing has been noted of it."""
        self._run += 1
        _HEAD.pack_into(self._map, 0, self._run, 0)

    def enter(self, pid: int) -> None:
        """Say who the child of this run is."""
        _HEAD.pack_into(self._map, 0, self._run, pid)

    def close(self) -> None:
        """Lose sight of the page."""
        self._map.close()

    def head(self) -> tuple[int, int]:
        """Return the number of the run and the pid of its child, as the child sees it."""
        return _HEAD.unpack_from(self._map, 0)

    def note(self, place: int, run: int, number: int) -> None:
        """Write one entry."""
        _ENTRY.pack_into(self._map, _HEAD.size + place % ENTRIES * _ENTRY.size, run, number)

    def noted(self) -> list[int]:
        """Return the system calls noted of this run."""
        if _ENTRY.unpack_from(self._map, _HEAD.size)[0] != self._run:
            return []  # each run writes from the first place on
        found = (_ENTRY.unpack_from(self._map, _HEAD.size + place * _ENTRY.size) for place in range(ENTRIES))
        return sorted(number for run, number in found if run == self._run)


def begin(line: socket.socket) -> bool:
    """Lay the zygote's filter and give the watcher its listener; return whether anybody watches."""
    listener = -1
    if _can_answer():
        try:
            listener = seccomp.install_watched()
        except OSError:
            pass  # somebody outside listens already, as in some containers
    if listener < 0:
        seccomp.install_broad()
        return False
    socket.send_fds(line, [b"w"], [listener])
    os.close(listener)
    return True


def _can_answer() -> bool:
    """Say whether this kernel lets a call go through; nothing can be tried before the filter is there to stay."""
    major, minor = os.uname().release.split(".")[:2]
    return hasattr(os, "pidfd_open") and (int(major), int(re.sub(r"\D.*", "", minor))) >= (5, 5)


def serve(line: socket.socket, page: Page, zygote: int) -> NoReturn:
    """Answer every telling call until the zygote has ended; then end the same way."""
    try:
        _, descriptors, _, _ = socket.recv_fds(line, 1, 1)
        line.close()
        if descriptors:
            _Watcher(descriptors[0], page, zygote).serve()
    except BaseException:
        # Nobody would answer it any more.
        os.kill(zygote, signal.SIGKILL)
    finally:
        _, status = os.waitpid(zygote, 0)
        if os.WIFSIGNALED(status):
            os.kill(os.getpid(), os.WTERMSIG(status))
        os._exit(0)


class _Watcher:
    def __init__(self, listener: int, page: Page, zygote: int) -> None:
        self._listener, self._page, self._zygote = listener, page, zygote
        table = syscalls.numbers(kernel.MACHINE)
        self._signals = frozenset((table["kill"], table["tgkill"]))
        self._needed = frozenset(table[name] for name in ZYGOTE)
        self._run = 0
        self._seen: set[int] = set()
        self._place = 0

    def serve(self) -> None:
        ended = os.pidfd_open(self._zygote)
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        poll.register(ended, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == ended:
                    return
                self._answer()

    def _answer(self) -> None:
        note = bytearray(_NOTE.size)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, note)
        except OSError as error:
            # The caller was killed before it could be heard.
            if error.errno in (errno.ENOENT, errno.EINTR):
                return
            raise
        identity, pid, _, number, _, _, first, *_ = _NOTE.unpack(note)
        by_zygote = pid == self._zygote and number in self._needed
        if by_zygote or (number in self._signals and self._is_own(identity, first)):
            answer = _ANSWER.pack(identity, 0, 0, _CONTINUE)
        else:
            self._note(identity, number)
            answer = _ANSWER.pack(identity, 0, -errno.EPERM, 0)
        try:
            fcntl.ioctl(self._listener, _SEND, answer)
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise

    def _is_own(self, identity: int, pid: int) -> bool:
        """Say whether a sample signals itself."""
        return pid == self._page.head()[1] and self._still(identity)

    def _note(self, identity: int, number: int) -> None:
        run, _ = self._page.head()
        # A caller that still waits for its answer belongs to the run that is under way.
        if not self._still(identity):
            return
        if run != self._run:
            self._run, self._seen, self._place = run, set(), 0
        if number not in self._seen and len(self._seen) < ENTRIES:
            self._seen.add(number)
            self._page.note(self._place, run, number)
            self._place += 1

    def _still(self, identity: int) -> bool:
        try:
            fcntl.ioctl(self._listener, _IS_VALID, struct.pack("=Q", identity))
        except OSError:
            return False
        return True
