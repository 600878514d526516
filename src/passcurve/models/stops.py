"""Stop words: where a completion ends, whatever the server made of them."""

from __future__ import annotations

from collections.abc import Iterable

HUMAN_EVAL = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")
"""The five of Chen et al. 2021 (arXiv:2107.03374, section 2.1): behind the function something else begins."""


def cut(text: str, stops: Iterable[str]) -> str:
    """Return the text before the first stop word in it; cutting again changes nothing."""
    ends = [at for stop in stops if (at := text.find(stop)) >= 0]
    return text[: min(ends)] if ends else text
