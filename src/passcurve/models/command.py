"""The back end ``command:PROGRAM``: any program of the user's, which reads orders and writes texts as lines of JSON.

Theory of operation.  One process, started once.  Each line on its stdin asks for one sample and has an ``id``; each
line on its stdout answers one, in whatever order, and repeats the ``id``.  As many questions are open as orders come at
once.  It should end when its stdin does.

Between two looks we rest so long that about a third of the open questions is answered meanwhile, which leaves the
program enough to do: with all cores busy, to be woken for an answer costs more than to deal with it.
"""

from __future__ import annotations

import collections
import json
import math
import shlex
import time
from collections.abc import Iterator
from typing import Any, Self

import msgspec

from passcurve.errors import ModelError, RefusedError, UsageError
from passcurve.models.backend import Remote, Settings, conversation, sample_seed
from passcurve.models.program import Program
from passcurve.models.sanitize import count, shown
from passcurve.types import Reply, SampleKey, SampleRequest

_PATIENCE_S = 0.02
"""Between two looks whether there is an order."""
_REST_S = (0.0001, 0.005)
"""Between two looks for answers, at least and at most."""
_SHARE = 1 / 3
"""Of the open questions, to be answered meanwhile."""


class _Question(msgspec.Struct, frozen=True):
    key: SampleKey
    seed: int
    asked_at: float


class Command:
    """Asks a program, which may answer out of order."""

    draws = True
    tempered = True
    options: tuple[str, ...] = ()
    remote: Remote | None = None

    def __init__(self, words: list[str], timeout_s: float, at_once: int) -> None:
        self._name = words[0]
        self._timeout_s = timeout_s
        self._at_once = at_once
        self.identity = {"command": shlex.join(words)}
        self._open: dict[int, _Question] = {}
        """What was asked and not answered, by its id; the oldest first."""
        self._next = 0
        self._heard: collections.deque[bytes] = collections.deque()
        """Lines that are to be looked at yet."""
        self._rest_s = _REST_S[0]
        try:
            self._program = Program(words)
        except OSError as error:
            raise UsageError(f"command: cannot start {self._name!r}: {error.strerror or error}") from None

    @classmethod
    def open(cls, words: str, settings: Settings) -> Self:
        """Start the program that stands behind the colon, with its arguments as a shell would part them."""
        try:
            parted = shlex.split(words)
        except ValueError as error:
            raise UsageError(f"command:{words} cannot be parted into words: {error}") from None
        if not parted:
            raise UsageError("command: names no program; write it like 'command:python3 my_model.py'")
        return cls(parted, settings.request_timeout_s, settings.concurrency)

    def generate(self, order: SampleRequest) -> Iterator[Reply]:
        """Yield the program's answers; raises as ``converse`` does."""
        return self.converse(msgspec.structs.replace(order, indices=(index,)) for index in order.indices)

    def converse(self, orders: Iterator[SampleRequest | None]) -> Iterator[Reply]:
        """Yield the program's answers, whichever come first.

        Raises ModelError when it says that a sample failed or lets us wait for too long, RefusedError when a sample has
        no text, when it ends, or when it writes what is no answer.
        """
        if self._heard:
            yield from self._answers()
        for order in orders:
            if order is None:
                yield from self._answers(_PATIENCE_S)
            else:
                self._ask(order)
            while len(self._open) >= self._at_once:
                yield from self._answers()
        while self._open:
            yield from self._answers()

    def close(self) -> None:
        """Close the program's stdin, and end it when it does not end by itself."""
        self._program.close()

    def _ask(self, order: SampleRequest) -> None:
        prompt, decoding = order.prompt, order.decoding
        (index,) = order.indices
        seed = sample_seed(decoding.seed, prompt.problem_id, index)
        asked: dict[str, object] = {"id": self._next, "task_id": prompt.problem_id, "sample_index": index, "seed": seed}
        if prompt.messages:
            asked["messages"] = conversation(prompt)
        else:
            asked["prompt"] = prompt.text
        for name in ("temperature", "top_p", "max_tokens"):
            if (value := getattr(decoding, name)) is not None:
                asked[name] = value
        if decoding.stop:
            asked["stop"] = decoding.stop
        key = SampleKey(problem_id=prompt.problem_id, sample_index=index)
        self._open[self._next] = _Question(key, seed, time.monotonic())
        self._next += 1
        self._program.send(json.dumps(asked).encode("ascii") + b"\n")

    def _answers(self, at_most_s: float | None = None) -> Iterator[Reply]:
        """Wait for answers, and yield what has come; ``at_most_s``: for so long at most, and with no rest."""
        if not self._heard:
            self._listen(at_most_s)
        while self._heard:
            said = self._parsed(self._heard.popleft())
            number = said["id"]
            # Nobody may have asked, or waits no longer.
            question = self._open.pop(number, None) if type(number) is int else None
            if question is not None:
                yield _reply(said, question.key, question.seed, time.monotonic() - question.asked_at)
        if self._left_s() <= 0:
            del self._open[next(iter(self._open))]
            raise ModelError(f"command: {self._name!r} gave no answer within {self._timeout_s:g} s")

    def _listen(self, at_most_s: float | None) -> None:
        left_s = max(0.0, self._left_s())
        try:
            if at_most_s is None:
                lines = self._program.lines(left_s, self._rest_s)
            else:
                lines = self._program.lines(min(left_s, at_most_s))
        except ModelError:
            self._give_up()
            raise
        self._heard.extend(line for line in lines if line.strip())
        if lines:
            least, most = _REST_S
            self._rest_s = min(most, max(least, self._rest_s * _SHARE * self._at_once / len(lines)))

    def _left_s(self) -> float:
        """Return how long the oldest question may wait yet."""
        oldest = next(iter(self._open.values()), None)
        return oldest.asked_at + self._timeout_s - time.monotonic() if oldest is not None else math.inf

    def _parsed(self, line: bytes) -> dict[str, Any]:
        try:
            said: dict[str, Any] = _decoded(line)
            said["id"]
        except (ValueError, TypeError, KeyError, RecursionError):
            self._give_up()
            raise RefusedError(
                f"command: {self._name!r} wrote {line[:80].decode('utf-8', 'replace')!a}; "
                "a JSON object with the 'id' of an order is due"
            ) from None
        return said

    def _give_up(self) -> None:
        """Expect no more answers: what has been asked is not had."""
        self._open.clear()
        self._heard.clear()


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except ValueError:
        # Half a surrogate pair can be in what a model wrote, and only this parser takes it.
        return json.loads(line)


def _reply(said: dict[str, Any], key: SampleKey, seed: int, took: float) -> Reply:
    if isinstance(said.get("error"), str):
        raise ModelError(f"command: {shown(said['error'].encode('utf-8', 'replace'))}")
    form, text = "completion", said.get("completion")
    if text is None and "solution" in said:
        form, text = "solution", said["solution"]
    if not isinstance(text, str):
        raise RefusedError(
            f"command: an answer has neither 'completion' nor 'solution' with text in it: {sorted(said)}"
        )
    usage: object = said.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Reply(
        key=key,
        text=text,
        form="solution" if form == "solution" else "completion",
        reasoning=said["reasoning"] if isinstance(said.get("reasoning"), str) else "",
        finish_reason=said["finish_reason"] if isinstance(said.get("finish_reason"), str) else "",
        seed=seed,
        prompt_tokens=count(usage.get("prompt_tokens")),
        completion_tokens=count(usage.get("completion_tokens")),
        latency_s=took,
    )
