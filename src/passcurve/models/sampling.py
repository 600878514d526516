"""Sampling of tokens and the end of a text, for back ends that hold the model; the caller passes torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passcurve.models.batching import Batcher


class GumbelNoise:
    """Logits processor that adds Gumbel noise to each row, from a generator of the row's own."""

    def __init__(self, torch: Any, device: Any, seeds: Sequence[int]) -> None:
        self._torch = torch
        self._generators = [torch.Generator(device=device).manual_seed(seed) for seed in seeds]

    def __call__(self, input_ids: Any, scores: Any) -> Any:  # noqa: ARG002 - so it is called
        """Return scores of shape (rows, tokens) with noise added."""
        noise = self._torch.empty_like(scores)
        for row, generator in zip(noise, self._generators, strict=True):
            row.exponential_(generator=generator)
        # -log of an exponential variable is Gumbel's; 0 has no logarithm.
        return scores - noise.clamp_min_(self._torch.finfo(noise.dtype).tiny).log_()


class StopCriterion:
    """Ends each row at its first stop word, and all rows when the run is over."""

    def __init__(
        self, torch: Any, tokenizer: Any, stops: Sequence[str], start: int, count: int, batcher: Batcher
    ) -> None:
        self._torch, self._tokenizer, self._stops, self._start, self._batcher = torch, tokenizer, stops, start, batcher
        # A token has at least one byte; the first one in the window may be half a character.
        self._window = max((len(stop.encode()) for stop in stops), default=0) + 4
        self.lengths: list[int | None] = [None] * count

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:  # noqa: ARG002 - so it is called
        """Return which rows have ended, of shape (rows,)."""
        if self._batcher.is_closed:
            return self._torch.ones(len(input_ids), dtype=self._torch.bool, device=input_ids.device)
        if self._stops:
            written = input_ids.shape[1] - self._start
            open_rows = [row for row, length in enumerate(self.lengths) if length is None]
            tails = input_ids[open_rows, self._start :][:, -self._window :]
            for row, text in zip(open_rows, self._tokenizer.batch_decode(tails), strict=True):
                if any(stop in text for stop in self._stops):
                    self.lengths[row] = written
        done = [length is not None for length in self.lengths]
        return self._torch.tensor(done, device=input_ids.device)


def decode_continuation(tokenizer: Any, prefix: Sequence[int], tokens: Sequence[int]) -> str:
    """Return the text of tokens as it stands behind their prefix.

    Some tokenizers drop the space at the start of a text, and a completion starts with four.
    """
    arguments = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
    if not prefix:
        return str(tokenizer.decode(tokens, **arguments))
    head, whole = tokenizer.decode(prefix, **arguments), tokenizer.decode([*prefix, *tokens], **arguments)
    return str(whole[len(head) :] if whole.startswith(head) else tokenizer.decode(tokens, **arguments))
