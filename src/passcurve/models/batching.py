"""Batches of samples that are requested one by one, for back ends that compute in this process.

Theory of operation.  Requesting threads submit samples and wait.  A computing thread takes as many waiting samples as
one batch may have.  A thread whose sample is done requests the next within a moment, so the computing thread waits
that moment for more samples.
"""

from __future__ import annotations

import collections
import threading
from concurrent.futures import Future

from passcurve.errors import ModelError
from passcurve.models.backend import SampleRequest
from passcurve.types import Decoding, Prompt, Reply

_MOMENT_S = 0.02


class PendingSample:
    """One requested sample, and the reply that its thread waits for."""

    def __init__(self, prompt: Prompt, decoding: Decoding, index: int) -> None:
        self.prompt, self.decoding, self.index = prompt, decoding, index
        self.reply: Future[Reply] = Future()


class Batcher:
    """The pending samples, for any number of threads at either end.  Close it."""

    def __init__(self) -> None:
        self._pending: collections.deque[PendingSample] = collections.deque()
        self._change = threading.Condition()
        self.is_closed = False

    def submit(self, request: SampleRequest) -> list[PendingSample]:
        """Add each sample of a request; raises ModelError once this is closed."""
        samples = [PendingSample(request.prompt, request.decoding, index) for index in request.indices]
        with self._change:
            if self.is_closed:
                raise ModelError("the run has ended")
            self._pending.extend(samples)
            self._change.notify_all()
        return samples

    def next_batch(self, max_size: int) -> list[PendingSample]:
        """Wait for samples and return up to ``max_size`` with the same decoding; none once this is closed."""
        with self._change:
            while not self.is_closed:
                self._change.wait_for(lambda: self._pending or self.is_closed)
                size = 0
                while size < len(self._pending) < max_size and not self.is_closed:
                    size = len(self._pending)
                    self._change.wait_for(lambda: len(self._pending) >= max_size or self.is_closed, _MOMENT_S)
                if self._pending and not self.is_closed:
                    return self._pop_batch(max_size)
            return []

    def close(self) -> None:
        """Fail all pending samples and all later requests."""
        with self._change:
            self.is_closed = True
            unfinished = list(self._pending)
            self._pending.clear()
            self._change.notify_all()
        fail_samples(unfinished, ModelError("the run has ended"))

    def _pop_batch(self, max_size: int) -> list[PendingSample]:
        decoding = self._pending[0].decoding
        batch = [sample for sample in self._pending if sample.decoding == decoding][:max_size]
        ids = set(map(id, batch))
        self._pending = collections.deque(sample for sample in self._pending if id(sample) not in ids)
        return batch


def fail_samples(samples: list[PendingSample], error: Exception) -> None:
    """Raise an error in the threads that wait for these samples."""
    for sample in samples:
        if not sample.reply.done():
            sample.reply.set_exception(error)
