"""The judge of a server: the rows go over HTTP, and what became of them comes back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, NoReturn

import httpx
import msgspec

from passcurve.api.judgement import Judgement, Row, list_rows
from passcurve.errors import DataError, SandboxError, UsageError
from passcurve.types import Verdict

CHUNK = 500
"""Rows of one request."""
_TRIES = 5
_MOST_PAUSE_S = 30.0
_AT_ONCE = 4
_TIMEOUT = httpx.Timeout(None, connect=10.0)


class RemoteJudge:
    """A judge at an address like ``http://HOST:PORT``.

    Methods raise DataError for rows that the server refuses, UsageError where it wants another token, SandboxError
    where it cannot be reached or cannot judge.
    """

    def __init__(self, url: str, token: str) -> None:
        if not url.startswith(("http://", "https://")):
            raise UsageError(f"url={url!r} must begin with http:// or https://")
        self.name = url.rstrip("/") + "/"
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.problems: tuple[str, ...] = ()
        """The ids of the problems that the server has."""
        self.waiting = 0
        """Samples wait at the server."""
        self._client = self._open(httpx.Client)

    def _open(self, kind: Any) -> Any:
        return kind(base_url=self.name, headers=self._headers, timeout=_TIMEOUT)

    @property
    def is_alive(self) -> bool:
        """Tell whether the server judges."""
        try:
            return bool(self._client.get("readyz").status_code == 200)
        except httpx.HTTPError:
            return False

    def start(self) -> None:
        """Ask the server for its problems, so that a wrong address or token shows at once."""
        self.problems = tuple(self._ask("GET", "problems")["problems"])

    def check(self, rows: Iterable[Row]) -> None:
        """Raise UsageError for what are no rows; the server checks the rest."""
        list_rows(rows)

    def submit(self, _: Row) -> Future[Verdict]:
        """Raise UsageError: a server takes batches."""
        raise UsageError("a judge at an address takes batches of rows: judge(rows)")

    def judge(self, rows: Iterable[Row]) -> list[Judgement]:
        """Return what became of each row, in their order."""
        rows = list_rows(rows)
        return [one for start in range(0, len(rows), CHUNK) for one in self._judge_chunk(rows, start)]

    def stream(self, rows: Iterable[Row]) -> Iterator[Judgement]:
        """Yield what became of each row, chunk by chunk, in a chunk as it becomes known."""
        return self._stream(list_rows(rows))

    def _stream(self, rows: Sequence[Row]) -> Iterator[Judgement]:
        for start in range(0, len(rows), CHUNK):
            body = {"samples": rows[start : start + CHUNK], "stream": True}
            try:
                with self._client.stream("POST", "judge", json=body) as response:
                    if response.status_code != 200:
                        response.read()
                        _refuse(response)
                    for line in response.iter_lines():
                        yield _read(msgspec.json.decode(line), start)
            except httpx.HTTPError as error:
                raise self._unreachable(error) from None

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    async def judge_async(self, rows: Iterable[Row], _: str) -> list[Judgement]:
        """Return what became of each row, in their order; some requests are under way at once."""
        chunks = [chunk async for chunk in self._chunks(list_rows(rows))]
        return sorted((one for chunk in chunks for one in chunk), key=lambda one: one.index)

    def stream_async(self, rows: Iterable[Row], _: str) -> AsyncIterator[Judgement]:
        """Yield what became of each row, as the chunks come back."""
        return self._stream_async(list_rows(rows))

    async def _stream_async(self, rows: Sequence[Row]) -> AsyncIterator[Judgement]:
        async for chunk in self._chunks(rows):
            for one in chunk:
                yield one

    async def _chunks(self, rows: Sequence[Row]) -> AsyncIterator[list[Judgement]]:
        gate = asyncio.Semaphore(_AT_ONCE)
        async with self._open(httpx.AsyncClient) as client:

            async def judge(start: int) -> list[Judgement]:
                async with gate:
                    for number in range(_TRIES):
                        try:
                            response = await client.post("judge", json={"samples": rows[start : start + CHUNK]})
                        except httpx.HTTPError as error:
                            raise self._unreachable(error) from None
                        if response.status_code != 503 or number + 1 == _TRIES:
                            break
                        await asyncio.sleep(_pause_s(response))
                    return _results(response, start)

            tasks = [asyncio.ensure_future(judge(start)) for start in range(0, len(rows), CHUNK)]
            try:
                for task in asyncio.as_completed(tasks):
                    yield await task
            finally:
                for task in tasks:
                    task.cancel()

    def _judge_chunk(self, rows: Sequence[Row], start: int) -> list[Judgement]:
        record = self._ask("POST", "judge", {"samples": rows[start : start + CHUNK]})
        return [_read(one, start) for one in record["results"]]

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        """Return the answer to a request, which is repeated while the server's queue is full."""
        for number in range(_TRIES):
            try:
                response = self._client.request(method, path, json=body)
            except httpx.HTTPError as error:
                raise self._unreachable(error) from None
            if response.status_code != 503 or number + 1 == _TRIES:
                break
            time.sleep(_pause_s(response))
        return response.json() if response.status_code == 200 else _refuse(response)

    def _unreachable(self, error: httpx.HTTPError) -> SandboxError:
        return SandboxError(f"the judge at {self.name} cannot be reached: {error or type(error).__name__}")


def _results(response: httpx.Response, start: int) -> list[Judgement]:
    if response.status_code != 200:
        _refuse(response)
    return [_read(one, start) for one in response.json()["results"]]


def _read(record: Any, start: int) -> Judgement:
    judgement = msgspec.convert(record, Judgement)
    return msgspec.structs.replace(judgement, index=start + judgement.index)


def _pause_s(response: httpx.Response) -> float:
    try:
        return min(_MOST_PAUSE_S, max(0.1, float(response.headers.get("Retry-After", "1"))))
    except ValueError:
        return 1.0


def _refuse(response: httpx.Response) -> NoReturn:
    """Raise what the answer of a server says."""
    try:
        message = str(response.json()["error"])
    except (ValueError, KeyError, TypeError):
        message = response.text[:200].strip() or f"status {response.status_code}"
    if response.status_code == 401:
        raise UsageError("the judge wants a token: pass the one of its --token-file as token=")
    if response.status_code in (400, 413, 422):
        raise DataError(message)
    raise SandboxError(f"the judge answered with status {response.status_code}: {message}")
