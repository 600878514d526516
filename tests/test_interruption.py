"""Interruptions that come at moments that are wrong for them."""

from __future__ import annotations

import signal
import threading

import pytest

from passcurve.interruption import deferred


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_waits_for_the_end_of_a_block(number):
    """A block runs to its end, and the handler is called then, once, and is in its place again."""
    called, done = [], []

    def handler(number, _):
        called.append(number)
        raise KeyboardInterrupt

    def block():
        with deferred():
            with deferred():
                signal.raise_signal(number)
                signal.raise_signal(number)
                done.append("inner")
            done.append("outer")

    before = signal.signal(number, handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            block()
        assert ([number], ["inner", "outer"], handler) == (called, done, signal.getsignal(number))
    finally:
        signal.signal(number, before)


def test_an_error_of_the_block_does_not_lose_it():
    """An interruption is raised though the block ended with an error."""

    def block():
        with deferred():
            signal.raise_signal(signal.SIGINT)
            raise OSError

    with pytest.raises(KeyboardInterrupt):
        block()


def test_what_is_ignored_stays_ignored():
    """A signal that is ignored is ignored in the block and behind it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with deferred():
            signal.raise_signal(signal.SIGINT)
        assert signal.SIG_IGN is signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_run_their_blocks():
    """A thread that cannot be interrupted needs no handler."""
    done = []

    def block():
        with deferred():
            done.append(True)

    thread = threading.Thread(target=block)
    thread.start()
    thread.join()
    assert [True] == done
