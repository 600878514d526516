"""Stop words: a completion ends before the first one, whether or not the server has applied them."""

from __future__ import annotations

from collections.abc import Iterable

HUMAN_EVAL = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")
"""The five stop words of Chen et al. 2021 (arXiv:2107.03374, section 2.1)."""


def cut_at_stop(text: str, stops: Iterable[str]) -> str:
    """Return the text before its first stop word; a second cut changes nothing."""
    ends = [at for stop in stops if (at := text.find(stop)) >= 0]
    return text[: min(ends)] if ends else text
