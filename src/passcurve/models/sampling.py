"""How tokens are drawn and where they end, for back ends that hold the model; torch comes from whoever calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passcurve.models.batching import Together


class Noise:
    """Adds to each row noise of Gumbel's distribution from a generator of its own."""

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


class Stops:
    """Ends each row at its first stop word, and all when the run is over."""

    def __init__(
        self, torch: Any, tokenizer: Any, stops: Sequence[str], start: int, count: int, rows: Together
    ) -> None:
        self._torch, self._tokenizer, self._stops, self._start, self._rows = torch, tokenizer, stops, start, rows
        # A token is a byte at least; the first of those looked at may be half a letter.
        self._window = max((len(stop.encode()) for stop in stops), default=0) + 4
        self.lengths: list[int | None] = [None] * count

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:  # noqa: ARG002 - so it is called
        """Return which rows have ended, of shape (rows,)."""
        if self._rows.closed:
            return self._torch.ones(len(input_ids), dtype=self._torch.bool, device=input_ids.device)
        if self._stops:
            written = input_ids.shape[1] - self._start
            open_rows = [at for at, length in enumerate(self.lengths) if length is None]
            tails = input_ids[open_rows, self._start :][:, -self._window :]
            for at, text in zip(open_rows, self._tokenizer.batch_decode(tails), strict=True):
                if any(stop in text for stop in self._stops):
                    self.lengths[at] = written
        done = [length is not None for length in self.lengths]
        return self._torch.tensor(done, device=input_ids.device)


def continued(tokenizer: Any, before: Sequence[int], new: Sequence[int]) -> str:
    """Return the text of new tokens as it stands behind those before.

    Some tokenizers leave out the space with which a text begins, and a completion begins with four.
    """
    if not before:
        return str(tokenizer.decode(new, skip_special_tokens=True, clean_up_tokenization_spaces=False))
    words = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
    head, whole = tokenizer.decode(before, **words), tokenizer.decode([*before, *new], **words)
    return str(whole[len(head) :] if whole.startswith(head) else tokenizer.decode(new, **words))
