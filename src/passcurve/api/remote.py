"""The judge of a server: the rows go over HTTP, and what became of them comes back."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NoReturn

import httpx
import msgspec

from passcurve.api.judgement import Judgement, Row, list_rows
from passcurve.errors import BUSY, DataError, SandboxError, UsageError
from passcurve.models.backend import describe_proxies
from passcurve.types import Verdict
from passcurve.types.decoding import decodable

CHUNK = 500
"""Rows of one request at most."""
CHUNK_BYTES = 16 << 20
"""Size of a request at most, unless it is one row: a server takes 64 MB."""
_FIELDS = ("task_id", "completion", "solution", "problem", "language", "timeout_s")
"""What a judge reads of a row; the rest stays here, whatever it is."""
_JSON = {"Content-Type": "application/json"}
_TRIES = 5
_FULL_S = 600.0
"""Time after which a full server is asked no more: others may have put in all that it can judge in that time."""
_MOST_PAUSE_S = 30.0
_AT_ONCE = 4
_TIMEOUT = httpx.Timeout(None, connect=10.0)


class RemoteJudge:
    """A judge at an address like ``http://HOST:PORT``.

    Methods raise DataError for rows that the server refuses, UsageError where it wants another token, SandboxError
    where it cannot be reached or cannot judge.  Requests are repeated while the server's queue is full, for ten
    minutes.
    """

    def __init__(self, url: str, token: str) -> None:
        if not url.startswith(("http://", "https://")):
            raise UsageError(f"url={url!r} must begin with http:// or https://")
        self.name = url.rstrip("/") + "/"
        try:
            # As it is looked up: httpx accepts names that cannot be.
            httpx.URL(self.name).host.encode("idna")
        except (httpx.InvalidURL, UnicodeError) as error:
            raise UsageError(f"url={url!r} is no address: {error}") from None
        # A file with a token ends with a new line, as the server's own may.
        token = token.strip()
        if not token.isascii() or not token.isprintable():
            raise UsageError("token= has characters that no token may have; they are not shown here")
        self._admission = _Admission(token)
        # Made once: to load the certificates takes longer than a batch.
        self._tls = ssl.create_default_context() if url.startswith("https://") else _no_certificates()
        self.problems: tuple[str, ...] = ()
        """The ids of the problems that the server has."""
        self.waiting = 0
        """Samples wait at the server."""
        self._connections: tuple[int, httpx.Client] | None = None
        """The number of a process, and its connections."""

    def _client(self) -> httpx.Client:
        """Return the connections of this process: those of one that it was forked from are in use there."""
        if self._connections is None or self._connections[0] != os.getpid():
            self._connections = os.getpid(), self._open(httpx.Client)
        return self._connections[1]

    def _open(self, kind: Any) -> Any:
        """Return a client; raise UsageError where the environment names a proxy that cannot be used."""
        try:
            return kind(base_url=self.name, auth=self._admission, timeout=_TIMEOUT, verify=self._tls)
        except (httpx.InvalidURL, ValueError, ImportError) as error:
            raise UsageError(f"the judge at {self.name} cannot be asked: {error}{describe_proxies()}") from None

    @property
    def is_alive(self) -> bool:
        """Tell whether the server judges."""
        try:
            # That it does not judge is the answer, and nothing to ask again for.
            return bool(self._client().get("readyz", auth=None).status_code == 200)
        except httpx.HTTPError:
            return False

    def start(self) -> None:
        """Ask the server for its problems, so that a wrong address or token shows at once."""
        record = self._ask("GET", "problems")
        names = record.get("problems") if isinstance(record, dict) else None
        if not isinstance(names, list):
            raise self._stranger()
        self.problems = tuple(map(str, names))

    def check(self, rows: Iterable[Row]) -> None:
        """Raise UsageError for what are no rows; the server checks the rest."""
        list_rows(rows)

    def submit(self, _: Row) -> Future[Verdict]:
        """Raise UsageError: a server takes batches."""
        raise UsageError("a judge at an address takes batches of rows: judge(rows)")

    def judge(self, rows: Iterable[Row]) -> list[Judgement]:
        """Return what became of each row, in their order."""
        return [one for chunk in _chunks_of(rows) for one in self._judge_chunk(chunk)]

    def stream(self, rows: Iterable[Row]) -> Iterator[Judgement]:
        """Yield what became of each row, chunk by chunk, in a chunk as it becomes known."""
        return self._stream(_chunks_of(rows))

    def _stream(self, chunks: Sequence[_Chunk]) -> Iterator[Judgement]:
        for chunk in chunks:
            body = chunk.body(stream=True)
            try:
                with self._client().stream("POST", "judge", content=body, headers=_JSON) as response:
                    yield from self._lines(response, chunk)
            except httpx.HTTPError as error:
                raise self._unreachable(error) from None

    def _lines(self, response: httpx.Response, chunk: _Chunk) -> Iterator[Judgement]:
        """Yield the results of a chunk as its answer comes."""
        if response.status_code != 200:
            response.read()
            _refuse(response)
        due = chunk.indices()
        for line in response.iter_lines():
            yield self._read_line(line, chunk, due)
        if due:
            raise self._stranger()

    def _read_line(self, line: str, chunk: _Chunk, due: set[int]) -> Judgement:
        """Return the result in a line, which must be of a row that is due."""
        try:
            one = _read(msgspec.json.decode(line), chunk.start)
            due.remove(one.index)
        except (msgspec.DecodeError, KeyError):
            raise self._stranger() from None
        return one

    def close(self) -> None:
        """Close the connections; the judge may start again."""
        connections, self._connections = self._connections, None
        if connections is not None and connections[0] == os.getpid():
            connections[1].close()

    async def judge_async(self, rows: Iterable[Row], _: str) -> list[Judgement]:
        """Return what became of each row, in their order; some requests are under way at once."""
        answers = [answer async for answer in self._answers(_chunks_of(rows))]
        return sorted((one for answer in answers for one in answer), key=lambda one: one.index)

    def stream_async(self, rows: Iterable[Row], _: str) -> AsyncIterator[Judgement]:
        """Yield what became of each row, as it becomes known; some requests are under way at once."""
        return self._stream_async(_chunks_of(rows))

    async def _stream_async(self, chunks: Sequence[_Chunk]) -> AsyncIterator[Judgement]:
        results: asyncio.Queue[Judgement | None] = asyncio.Queue()
        gate = asyncio.Semaphore(_AT_ONCE)
        async with self._open(httpx.AsyncClient) as client:

            async def ask(chunk: _Chunk) -> None:
                try:
                    async with gate:
                        async for one in self._stream_chunk(client, chunk):
                            results.put_nowait(one)
                finally:
                    results.put_nowait(None)

            tasks = [asyncio.ensure_future(ask(chunk)) for chunk in chunks]
            try:
                for _ in tasks:
                    while (one := await results.get()) is not None:
                        yield one
                    # Some request has ended; where it has failed, that is raised here.
                    await asyncio.sleep(0)
                    for task in filter(asyncio.Future.done, tasks):
                        task.result()
            finally:
                for task in tasks:
                    task.cancel()

    async def _stream_chunk(self, client: httpx.AsyncClient, chunk: _Chunk) -> AsyncIterator[Judgement]:
        body = chunk.body(stream=True)
        try:
            async with client.stream("POST", "judge", content=body, headers=_JSON) as response:
                if response.status_code != 200:
                    await response.aread()
                    _refuse(response)
                due = chunk.indices()
                async for line in response.aiter_lines():
                    yield self._read_line(line, chunk, due)
                if due:
                    raise self._stranger()
        except httpx.HTTPError as error:
            raise self._unreachable(error) from None

    async def _answers(self, chunks: Sequence[_Chunk]) -> AsyncIterator[list[Judgement]]:
        gate = asyncio.Semaphore(_AT_ONCE)
        async with self._open(httpx.AsyncClient) as client:

            async def judge(chunk: _Chunk) -> list[Judgement]:
                async with gate:
                    try:
                        response = await client.post("judge", content=chunk.body(), headers=_JSON)
                    except httpx.HTTPError as error:
                        raise self._unreachable(error) from None
                    return self._results(self._record(response), chunk)

            tasks = [asyncio.ensure_future(judge(chunk)) for chunk in chunks]
            try:
                for task in asyncio.as_completed(tasks):
                    yield await task
            finally:
                for task in tasks:
                    task.cancel()

    def _judge_chunk(self, chunk: _Chunk) -> list[Judgement]:
        record = self._ask("POST", "judge", chunk.body())
        return self._results(record, chunk)

    def _ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        """Return the answer to a request."""
        try:
            response = self._client().request(method, path, content=body, headers=_JSON if body else None)
        except httpx.HTTPError as error:
            raise self._unreachable(error) from None
        return self._record(response)

    def _record(self, response: httpx.Response) -> Any:
        if response.status_code != 200:
            _refuse(response)
        try:
            return response.json()
        except ValueError:
            raise self._stranger() from None

    def _results(self, record: Any, chunk: _Chunk) -> list[Judgement]:
        """Return the results of a chunk, one for each row."""
        results = record.get("results") if isinstance(record, dict) else None
        if not isinstance(results, list) or len(results) != len(chunk.rows):
            raise self._stranger()
        try:
            return [_read(one, chunk.start) for one in results]
        except msgspec.ValidationError:
            raise self._stranger() from None

    def _stranger(self) -> SandboxError:
        return SandboxError(f"what answers at {self.name} is no judge of passcurve")

    def _unreachable(self, error: httpx.HTTPError) -> SandboxError:
        reason = f"{error or type(error).__name__}{describe_proxies()}"
        return SandboxError(f"the judge at {self.name} cannot be reached: {reason}")


class _Admission(httpx.Auth):
    """Adds the token to a request, and repeats it: while the server's queue is full, or five tries in all.

    httpx asks it after each answer, with or without asyncio.
    """

    def __init__(self, token: str) -> None:
        self._token = token

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Yield the request until it got in."""
        self._add_token(request)
        began = time.monotonic()
        for tries in itertools.count(1):
            response = yield request
            if response.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                return
            # What is read to its end holds no connection, which the server needs for those that it answers.
            response.read()
            if _is_final(response, tries, began):
                return
            time.sleep(_pause_s(response))

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Yield the request until it got in."""
        self._add_token(request)
        began = time.monotonic()
        for tries in itertools.count(1):
            response = yield request
            if response.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                return
            await response.aread()
            if _is_final(response, tries, began):
                return
            await asyncio.sleep(_pause_s(response))

    def _add_token(self, request: httpx.Request) -> None:
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"


def _is_final(response: httpx.Response, tries: int, began: float) -> bool:
    """Tell whether a refusal for now is not asked again."""
    if any(text in response.text for text in BUSY):
        return time.monotonic() - began >= _FULL_S
    return tries >= _TRIES


def _pause_s(response: httpx.Response) -> float:
    try:
        return min(_MOST_PAUSE_S, max(0.1, float(response.headers.get("Retry-After", "1"))))
    except ValueError:
        return 1.0


class _Chunk:
    """Rows of one request, each as JSON; ``start`` is the index of the first."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.rows: list[bytes] = []
        self._bytes = 0

    def add(self, row: bytes) -> bool:
        """Add a row, unless there is no room for it; return whether it was added."""
        has_room = not self.rows or (len(self.rows) < CHUNK and self._bytes + len(row) <= CHUNK_BYTES)
        if has_room:
            self.rows.append(row)
            self._bytes += len(row)
        return has_room

    def indices(self) -> set[int]:
        """Return the indices of its rows."""
        return set(range(self.start, self.start + len(self.rows)))

    def body(self, *, stream: bool = False) -> bytes:
        """Return the request; an answer that streams has a line for each row."""
        return b'{"samples":[%s]%s}' % (b",".join(self.rows), b',"stream":true' if stream else b"")


def _chunks_of(rows: Iterable[Row]) -> list[_Chunk]:
    """Return rows in chunks, in their order.  Raises DataError for one that no request can hold."""
    chunks: list[_Chunk] = []
    for index, row in enumerate(list_rows(rows)):
        text = _encode(index, row)
        if not chunks or not chunks[-1].add(text):
            chunks.append(_Chunk(index))
            chunks[-1].add(text)
    return chunks


def _no_certificates() -> ssl.SSLContext:
    """Return a context that trusts nobody, for a connection without TLS."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _encode(index: int, row: Row) -> bytes:
    # What is no row is for the server to refuse, as it does for every client.
    fields = {name: row[name] for name in _FIELDS if name in row} if isinstance(row, Mapping) else row
    try:
        # Numbers that JSON lacks are refused here: other encoders make null of them, which is no text and fails.
        return json.dumps(fields, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise DataError(f"sample {index} cannot be sent to a judge at an address: {error}") from None


def _read(record: Any, start: int) -> Judgement:
    judgement = msgspec.convert(record, decodable(Judgement))
    return msgspec.structs.replace(judgement, index=start + judgement.index)


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
