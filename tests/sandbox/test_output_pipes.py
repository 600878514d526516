"""The streams of a program, as the supervisor watches them."""

from __future__ import annotations

import os
import selectors

from passcurve.sandbox.job import Outcome
from passcurve.sandbox.output_pipes import OutputPipes


def test_an_event_that_comes_late_touches_nobody_else() -> None:
    """A descriptor that reuses the number of a closed stream stays registered."""
    with selectors.DefaultSelector() as selector:
        pipes = OutputPipes(selector, 100, fetches=False)
        pipes.files[0].write(b"text")
        pipes.files[1].write(b"text")
        seen = [key for key, _ in selector.select(0)]
        outcome = pipes.complete(Outcome(tag=0, ended="exit", exit_code=0))
        assert "text" == (outcome.report or {})["out"]
        opened = [descriptor for _ in range(4) for descriptor in os.pipe()]
        reused = [key.fd for key in seen if key.fd in opened]
        assert 2 == len(reused)
        for descriptor in reused:
            selector.register(descriptor, selectors.EVENT_READ)
        for key in seen:
            key.data(selectors.EVENT_READ)
        assert sorted(reused) == sorted(selector.get_map())
        for descriptor in opened:
            os.close(descriptor)
