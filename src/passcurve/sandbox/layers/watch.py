"""The watcher: a process outside the jail that answers each suspicious system call and notes it for its sample.

The zygote's filter hands such a call to the watcher instead of refusing it by itself, and the caller waits for the
answer.  The zygote needs some of these calls too; the kernel gives the caller's pid, and the zygote's own go through.
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

from passcurve.sandbox.layers import seccomp, syscalls
from passcurve.sandbox.zygote import kernel

ENTRIES = 32
"""Most different calls that are noted for one sample; more would add no information."""

ZYGOTE_CALLS = ("clone", "kill", "mount", "umount2")
"""Suspicious calls that the zygote needs itself."""

_FIRST_PID = 1
"""The zygote's own, in its namespace."""
_MAX_PID = 1 << 22
"""Above every number of a process: what is larger is the number of a group."""

_HEAD = struct.Struct("=II")
_OWN = struct.Struct("=II")
_ENTRY = struct.Struct("=II")
_ENTRIES_AT = _HEAD.size + _OWN.size
_NOTE = struct.Struct("=QIIiIQ6Q")
_ANSWER = struct.Struct("=QqiI")
_RECEIVE, _SEND, _IS_VALID = 0xC0502100, 0xC0182101, 0x40082102
_CONTINUE = 1


class Page:
    """Memory that the watcher writes and the zygote reads; no sample ever sees it.

    It begins with the number of the run, the pid of its child and the pids of the template and of the process that is
    kept; entries of (number of the run, system call) follow.  An entry is read as part of its own run only, so a late
    one is ignored.
    """

    def __init__(self) -> None:
        self._map = mmap.mmap(-1, mmap.PAGESIZE)
        self._run = 0

    def start_run(self) -> None:
        """Start a new run without entries."""
        self._run += 1
        _HEAD.pack_into(self._map, 0, self._run, 0)

    def set_child(self, pid: int) -> None:
        """Set the pid of the child of this run."""
        _HEAD.pack_into(self._map, 0, self._run, pid)

    def set_own(self, template: int, kept: int) -> None:
        """Set the pids of the processes that no sample may signal; 0 for one that is not there."""
        _OWN.pack_into(self._map, _HEAD.size, template, kept)

    def close(self) -> None:
        """Unmap the page."""
        self._map.close()

    def head(self) -> tuple[int, int]:
        """Return the number of the run and the pid of its child, as its own namespace counts it."""
        return _HEAD.unpack_from(self._map, 0)

    def may_be_started(self, pid: int) -> bool:
        """Tell whether a sample may have started this process: any of its namespace but ours.

        Its number may be lower than that of the sample, as they begin again after the highest.
        """
        return 0 < pid < _MAX_PID and pid not in (_FIRST_PID, *_OWN.unpack_from(self._map, _HEAD.size))

    def write_entry(self, place: int, run: int, number: int) -> None:
        """Write one entry."""
        _ENTRY.pack_into(self._map, _ENTRIES_AT + place % ENTRIES * _ENTRY.size, run, number)

    def read_entries(self) -> list[int]:
        """Return the numbers of the system calls noted for this run."""
        if _ENTRY.unpack_from(self._map, _ENTRIES_AT)[0] != self._run:
            return []  # each run writes from the first place on
        entries = (_ENTRY.unpack_from(self._map, _ENTRIES_AT + place * _ENTRY.size) for place in range(ENTRIES))
        return sorted(number for run, number in entries if run == self._run)


def load_filter(line: socket.socket, *, processes: bool = False) -> bool:
    """Load the zygote's filter and send the watcher its listener; return whether there is a listener.

    ``processes``: samples may start processes.
    """
    listener = -1
    if _can_answer():
        try:
            listener = seccomp.install_watched(processes=processes)
        except OSError:
            pass  # there is a listener already, as in some containers
    if listener < 0:
        seccomp.install_broad(processes=processes)
        return False
    socket.send_fds(line, [b"w"], [listener])
    os.close(listener)
    return True


def _can_answer() -> bool:
    """Tell whether a watcher can let a call through on this kernel; a trial would leave a filter for good."""
    major, minor = os.uname().release.split(".")[:2]
    return hasattr(os, "pidfd_open") and (int(major), int(re.sub(r"\D.*", "", minor))) >= (5, 5)


def serve(line: socket.socket, page: Page, zygote: int, *, processes: bool = False) -> NoReturn:
    """Answer every suspicious call until the zygote has ended; then end the same way.

    ``processes``: samples may signal the processes that they have started.
    """
    try:
        _, descriptors, _, _ = socket.recv_fds(line, 1, 1)
        line.close()
        if descriptors:
            _Watcher(descriptors[0], page, zygote, processes=processes).serve()
    except BaseException:
        # Nobody would answer its calls any more.
        os.kill(zygote, signal.SIGKILL)
    finally:
        _, status = os.waitpid(zygote, 0)
        if os.WIFSIGNALED(status):
            os.kill(os.getpid(), os.WTERMSIG(status))
        os._exit(0)


class _Watcher:
    def __init__(self, listener: int, page: Page, zygote: int, *, processes: bool) -> None:
        self._listener, self._page, self._zygote = listener, page, zygote
        self._processes = processes
        table = syscalls.numbers(kernel.MACHINE)
        self._signals = frozenset((table["kill"], table["tgkill"]))
        self._zygote_calls = frozenset(table[name] for name in ZYGOTE_CALLS)
        self._run = 0
        self._noted: set[int] = set()
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
            # The caller was killed before its call was received.
            if error.errno in (errno.ENOENT, errno.EINTR):
                return
            raise
        identity, pid, _, number, _, _, first, *_ = _NOTE.unpack(note)
        by_zygote = pid == self._zygote and number in self._zygote_calls
        if by_zygote or (number in self._signals and self._is_own(first) and self._is_waiting(identity)):
            answer = _ANSWER.pack(identity, 0, 0, _CONTINUE)
        else:
            self._note(identity, number)
            answer = _ANSWER.pack(identity, 0, -errno.EPERM, 0)
        try:
            fcntl.ioctl(self._listener, _SEND, answer)
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise

    def _is_own(self, pid: int) -> bool:
        return pid == self._page.head()[1] or (self._processes and self._page.may_be_started(pid))

    def _note(self, identity: int, number: int) -> None:
        run, _ = self._page.head()
        # A caller that still waits for its answer belongs to the run that is under way.
        if not self._is_waiting(identity):
            return
        if run != self._run:
            self._run, self._noted, self._place = run, set(), 0
        if number not in self._noted and len(self._noted) < ENTRIES:
            self._noted.add(number)
            self._page.write_entry(self._place, run, number)
            self._place += 1

    def _is_waiting(self, identity: int) -> bool:
        try:
            fcntl.ioctl(self._listener, _IS_VALID, struct.pack("=Q", identity))
        except OSError:
            return False
        return True
