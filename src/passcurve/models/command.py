"""The back end ``command:PROGRAM``: any program of the user's, which reads orders and writes texts as lines of JSON.

Theory of operation.  One process, started once, in the user's own environment: it is not a sample.  Each line on its
stdin asks for one sample and has an ``id``; each line on its stdout answers one, in whatever order, and repeats the
``id``.  As many questions are open as orders come at once.  Its stderr is ours.  It should end when its stdin does.
"""

from __future__ import annotations

import contextlib
import json
import queue
import shlex
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any, Self

import msgspec

from passcurve.config import environment_of_others
from passcurve.errors import ModelError, RefusedError, UsageError
from passcurve.models.backend import Remote, Settings, conversation, sample_seed
from passcurve.types import Order, Reply, SampleKey

_ENDING_S = 2.0


class Command:
    """Asks a program, which may answer out of order."""

    draws = True
    tempered = True
    options: tuple[str, ...] = ()
    remote: Remote | None = None

    def __init__(self, words: list[str], timeout_s: float) -> None:
        self._words = words
        self._timeout_s = timeout_s
        self.identity = {"command": shlex.join(words)}
        self._lock = threading.Lock()
        self._waiting: dict[int, queue.SimpleQueue[dict[str, Any] | str]] = {}
        self._next = 0
        self._ended = ""
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own program, by the user's own words
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment_of_others()
            )
        except OSError as error:
            raise UsageError(f"command: cannot start {words[0]!r}: {error.strerror or error}") from None
        self._listener = threading.Thread(target=self._listen, name="passcurve-command", daemon=True)
        self._listener.start()

    @classmethod
    def open(cls, words: str, settings: Settings) -> Self:
        """Start the program that stands behind the colon, with its arguments as a shell would part them."""
        try:
            parted = shlex.split(words)
        except ValueError as error:
            raise UsageError(f"command:{words} cannot be parted into words: {error}") from None
        if not parted:
            raise UsageError("command: names no program; write it like 'command:python3 my_model.py'")
        return cls(parted, settings.request_timeout_s)

    def generate(self, order: Order) -> Iterator[Reply]:
        """Yield the program's answers; raises ModelError when it ends, errs, or lets us wait for too long."""
        for index in order.indices:
            yield self._one(order, index)

    def close(self) -> None:
        """Close the program's stdin, and end it when it does not end by itself."""
        with contextlib.suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]
        try:
            self._process.wait(_ENDING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join()
        self._process.stdout.close()  # type: ignore[union-attr]

    def _one(self, order: Order, index: int) -> Reply:
        prompt, decoding = order.prompt, order.decoding
        seed = sample_seed(decoding.seed, prompt.problem_id, index)
        asked: dict[str, object] = {"task_id": prompt.problem_id, "sample_index": index, "seed": seed}
        if prompt.messages:
            asked["messages"] = conversation(prompt)
        else:
            asked["prompt"] = prompt.text
        for name in ("temperature", "top_p", "max_tokens"):
            if (value := getattr(decoding, name)) is not None:
                asked[name] = value
        if decoding.stop:
            asked["stop"] = decoding.stop
        began = time.monotonic()
        said = self._ask(asked)
        return _reply(said, SampleKey(problem_id=prompt.problem_id, sample_index=index), seed, time.monotonic() - began)

    def _ask(self, asked: dict[str, object]) -> dict[str, Any]:
        answer: queue.SimpleQueue[dict[str, Any] | str] = queue.SimpleQueue()
        with self._lock:
            if self._ended:
                raise RefusedError(self._ended)
            number, self._next = self._next, self._next + 1
            self._waiting[number] = answer
            line = json.dumps({"id": number} | asked).encode("ascii") + b"\n"
            try:
                self._process.stdin.write(line)  # type: ignore[union-attr]
                self._process.stdin.flush()  # type: ignore[union-attr]
            except (OSError, ValueError):
                raise RefusedError(f"command: {self._words[0]!r} reads no more orders{self._exit()}") from None
        try:
            said = answer.get(timeout=self._timeout_s)
        except queue.Empty:
            raise ModelError(f"command: {self._words[0]!r} gave no answer within {self._timeout_s:g} s") from None
        finally:
            with self._lock:
                self._waiting.pop(number, None)
        if isinstance(said, str):
            raise RefusedError(said)
        return said

    def _listen(self) -> None:
        stdout = self._process.stdout
        ended = ""
        if stdout is not None:
            with contextlib.suppress(OSError, ValueError):
                for line in stdout:
                    if line.strip() and (ended := self._hear(line)):
                        break
        with self._lock:
            self._ended = (
                ended or f"command: {self._words[0]!r} has ended before all samples were written{self._exit()}"
            )
            for answer in self._waiting.values():
                answer.put(self._ended)

    def _hear(self, line: bytes) -> str:
        """Hand an answer to who waits for it; return what is wrong with the line, if anything is."""
        try:
            said = _decoded(line)
            number = said["id"]
        except (ValueError, TypeError, KeyError, RecursionError):
            shown = ascii(line[:80].decode("utf-8", "replace"))
            return f"command: {self._words[0]!r} wrote {shown}; a JSON object with the 'id' of an order is due"
        with self._lock:
            answer = self._waiting.get(number) if isinstance(number, int) else None
        if answer is not None:
            answer.put(said)
        return ""

    def _exit(self) -> str:
        try:
            return f" (exit code {self._process.wait(_ENDING_S)})"
        except subprocess.TimeoutExpired:
            return ""


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except ValueError:
        # Half a surrogate pair can be in what a model wrote, and only this parser takes it.
        return json.loads(line)


def _reply(said: dict[str, Any], key: SampleKey, seed: int, took: float) -> Reply:
    if isinstance(said.get("error"), str):
        raise ModelError(f"command: {said['error'][:300]}")
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
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        latency_s=took,
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
