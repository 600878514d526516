"""The back end ``command:PROGRAM``: any program of the user's that reads requests and writes texts as lines of JSON.

Theory of operation.  One process, started once.  Each line on its stdin requests one sample and has an ``id``; each
line on its stdout answers one, in any order, and repeats the ``id``.  Several requests are open at once.  The program
should end when its stdin does.

Rest between two reads so long that about a third of the open requests is answered meanwhile.  The program still has
enough to do, and with all cores busy a wake-up for one answer costs more than the answer.
"""

from __future__ import annotations

import collections
import json
import math
import re
import shlex
import time
from collections.abc import Iterator
from typing import Any, Self

import msgspec

from passcurve.errors import ModelError, RefusedError, UsageError
from passcurve.models.backend import SampleRequest, ServerDefaults, Settings, chat_messages, sample_seed
from passcurve.models.line_process import LineProcess
from passcurve.models.sanitize import one_line, token_count
from passcurve.types import Reply, SampleKey

_IDLE_WAIT_S = 0.02
"""Longest wait for an answer while there is no next request yet."""
_REST_S = (0.0001, 0.005)
"""Shortest and longest rest between two reads."""
_ANSWERED_SHARE = 1 / 3
"""Share of the open requests that one rest should see answered."""


class _OpenRequest(msgspec.Struct, frozen=True):
    key: SampleKey
    seed: int
    sent_at: float


class Command:
    """Requests samples from a program, which may answer out of order."""

    supports_sampling = True
    supports_temperature = True
    options: tuple[str, ...] = ()
    server_defaults: ServerDefaults | None = None

    def __init__(self, command: list[str], timeout_s: float, concurrency: int) -> None:
        self._name = command[0]
        self._timeout_s = timeout_s
        self._concurrency = concurrency
        self.identity = {"command": shlex.join(command)}
        self._open: dict[int, _OpenRequest] = {}
        """Requests without an answer by their id, the oldest first."""
        self._next_id = 0
        self._unread: collections.deque[bytes] = collections.deque()
        """Lines that have come and are not parsed yet."""
        self._rest_s = _REST_S[0]
        try:
            self._process = LineProcess(command)
        except OSError as error:
            raise UsageError(f"command: cannot start {self._name!r}: {error.strerror or error}") from None

    @classmethod
    def open(cls, argument: str, settings: Settings) -> Self:
        """Start the program behind the colon, with arguments as a shell would split them."""
        try:
            command = shlex.split(argument)
        except ValueError as error:
            raise UsageError(f"command:{argument} cannot be split into a program and arguments: {error}") from None
        if not command:
            raise UsageError("command: names no program; write it like 'command:python3 my_model.py'")
        return cls(command, settings.request_timeout_s, settings.concurrency)

    def generate(self, request: SampleRequest) -> Iterator[Reply]:
        """Yield the program's answers; raises as ``generate_pipelined`` does."""
        return self.generate_pipelined(msgspec.structs.replace(request, indices=(index,)) for index in request.indices)

    def generate_pipelined(self, requests: Iterator[SampleRequest | None]) -> Iterator[Reply]:
        """Yield the program's answers in the order in which they come.

        Raises ModelError when it reports that a sample failed or does not answer in time, RefusedError when a sample
        has no text, when it ends, or when it writes a malformed line.
        """
        if self._unread:
            yield from self._answers()
        for request in requests:
            if request is None:
                yield from self._answers(_IDLE_WAIT_S)
            else:
                self._send(request)
            while len(self._open) >= self._concurrency:
                yield from self._answers()
        while self._open:
            yield from self._answers()

    def close(self) -> None:
        """Close the program's stdin, and kill it when it does not end by itself."""
        self._process.close()

    def _send(self, request: SampleRequest) -> None:
        prompt, decoding = request.prompt, request.decoding
        (index,) = request.indices
        seed = sample_seed(decoding.seed, prompt.problem_id, index)
        body: dict[str, object] = {
            "id": self._next_id,
            "task_id": prompt.problem_id,
            "sample_index": index,
            "seed": seed,
        }
        if prompt.messages:
            body["messages"] = chat_messages(prompt)
        else:
            body["prompt"] = prompt.text
        for name in ("temperature", "top_p", "max_tokens"):
            if (value := getattr(decoding, name)) is not None:
                body[name] = value
        if decoding.stop:
            body["stop"] = decoding.stop
        key = SampleKey(problem_id=prompt.problem_id, sample_index=index)
        self._open[self._next_id] = _OpenRequest(key, seed, time.monotonic())
        self._next_id += 1
        self._process.send(json.dumps(body).encode("ascii") + b"\n")

    def _answers(self, timeout_s: float | None = None) -> Iterator[Reply]:
        """Wait for answers, and yield those that have come; with ``timeout_s`` without a rest first."""
        if not self._unread:
            self._read(timeout_s)
        while self._unread:
            answer = self._parse(self._unread.popleft())
            # An unknown id, or that of a request that has timed out, answers nothing.
            request = self._open.pop(_number(answer["id"]), None)
            if request is not None:
                try:
                    reply = _reply(answer, request.key, request.seed, time.monotonic() - request.sent_at)
                except ModelError as error:
                    error.problem_id = request.key.problem_id
                    raise
                yield reply
        if self._remaining_s() <= 0:
            del self._open[next(iter(self._open))]
            raise ModelError(f"command: {self._name!r} gave no answer within {self._timeout_s:g} s")

    def _read(self, timeout_s: float | None) -> None:
        remaining_s = max(0.0, self._remaining_s())
        try:
            if timeout_s is None:
                lines = self._process.lines(remaining_s, self._rest_s)
            else:
                lines = self._process.lines(min(remaining_s, timeout_s))
        except ModelError:
            self._drop_requests()
            raise
        self._unread.extend(line for line in lines if line.strip())
        if lines:
            shortest, longest = _REST_S
            rest_s = self._rest_s * _ANSWERED_SHARE * self._concurrency / len(lines)
            self._rest_s = min(longest, max(shortest, rest_s))

    def _remaining_s(self) -> float:
        """Return the time until the oldest open request times out."""
        oldest = next(iter(self._open.values()), None)
        return oldest.sent_at + self._timeout_s - time.monotonic() if oldest is not None else math.inf

    def _parse(self, line: bytes) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = _decode(line)
            answer["id"]
        except (ValueError, TypeError, KeyError, RecursionError):
            self._drop_requests()
            raise RefusedError(
                f"command: {self._name!r} wrote {line[:80].decode('utf-8', 'replace')!a}; "
                "each line must be a JSON object with the 'id' of a request"
            ) from None
        return answer

    def _drop_requests(self) -> None:
        """Expect no more answers to open requests."""
        self._open.clear()
        self._unread.clear()


def _number(name: object) -> int:
    """Return the number that an id is, which programs in a shell write as text; -1 for what is no id."""
    if type(name) is str and re.fullmatch(r"[0-9]{1,18}", name):
        return int(name)
    return name if type(name) is int else -1


def _decode(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except ValueError:
        # Half a surrogate pair can be in what a model wrote, and only this parser takes it.
        return json.loads(line)


def _reply(answer: dict[str, Any], key: SampleKey, seed: int, latency_s: float) -> Reply:
    # Programs that ask an API pass on what it says, which is an object.
    error: object = answer.get("error")
    reason = json.dumps(error) if isinstance(error, dict) and error else error
    if isinstance(reason, str) and reason.strip():
        raise ModelError(f"command: {one_line(reason.encode('utf-8', 'replace'))}")
    is_solution = answer.get("completion") is None and "solution" in answer
    text = answer["solution"] if is_solution else answer.get("completion")
    if not isinstance(text, str):
        raise RefusedError(
            f"command: an answer must have a string 'completion' or 'solution', got the fields {sorted(answer)}"
        )
    usage: object = answer.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Reply(
        key=key,
        text=text,
        form="solution" if is_solution else "completion",
        reasoning=answer["reasoning"] if isinstance(answer.get("reasoning"), str) else "",
        finish_reason=answer["finish_reason"] if isinstance(answer.get("finish_reason"), str) else "",
        seed=seed,
        prompt_tokens=token_count(usage.get("prompt_tokens")),
        completion_tokens=token_count(usage.get("completion_tokens")),
        latency_s=latency_s,
    )
