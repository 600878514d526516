"""Syntax trees in several threads."""

from __future__ import annotations

import ast
import gc
import threading
import time
from pathlib import Path

from passcurve.types import trees


def test_threads_that_make_trees_at_the_same_time() -> None:
    """Each gets its tree, though collections of garbage give the others their turn: CPython 3.11 mixes their depths."""
    text = Path(ast.__file__).read_text("utf-8")
    made: list[ast.Module] = []

    def make() -> None:
        made.extend(trees.parse(text) for _ in range(20))

    def give_way(*_: object) -> None:
        # Any code would do; this gives the other threads their turn each time.
        time.sleep(0)

    before = gc.get_threshold()
    gc.callbacks.append(give_way)
    gc.set_threshold(50)
    try:
        threads = [threading.Thread(target=make) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(give_way)
    assert 60 == len(made)
