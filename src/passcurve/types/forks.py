"""Descriptors that no forked copy of this process may keep.

Whoever waits for the other end of a socket to be closed, or for a lock, would wait for all copies: a process that a
trainer forks to load data lives as long as the trainer.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

_T = TypeVar("_T")
_owners: weakref.WeakKeyDictionary[Any, Callable[[Any], object]] = weakref.WeakKeyDictionary()
_LOCK = threading.RLock()


@contextlib.contextmanager
def no_forks() -> Iterator[None]:
    """Have other threads fork before or after this, one thread at a time: what is begun here is not whole yet."""
    with _LOCK:
        yield


def close_in_children(owner: _T, close: Callable[[_T], object]) -> _T:
    """Return the owner of descriptors, whose copy ``close`` closes in each process that is forked from now on."""
    _owners[owner] = close
    return owner


def socket_pair() -> tuple[socket.socket, socket.socket]:
    """Return two connected sockets that are closed in each forked process."""
    with no_forks():
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        return close_in_children(ours, socket.socket.close), close_in_children(theirs, socket.socket.close)


def _close_all() -> None:
    _LOCK.release()
    for owner, close in list(_owners.items()):
        with contextlib.suppress(OSError):
            close(owner)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_close_all)
