"""Generated completions, kept in the run directory as they arrive, so that none is requested twice.

Theory of operation.  Each session that generates writes ``config-<session>.json``, whole, and then appends to
``completions-<session>.jsonl``, of which it is the only writer.  Neither is ever rewritten.  A line is a row of samples
as ``judge`` reads them, with the index of the sample and the circumstances of its generation.  A torn last line is not
a row.  Rows are numbered over all sessions in order; a row keeps its number, which joins it to its verdict.  The writer
holds the lock of the run directory.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType

from passcurve.errors import StoreError, UsageError, place_error
from passcurve.store.codec import utc_now
from passcurve.store.parts import PartWriter
from passcurve.store.samples import RawRow, RowContent
from passcurve.store.whole_files import write_whole
from passcurve.types import Completion, Generation, Reply, SampleKey
from passcurve.types.decoding import decodable, encode_json

FORMAT = "passcurve completions 1"
_NAME = re.compile(r"(?:completions-(\d{3,})\.jsonl|config-(\d{3,})\.json)")
MAX_INDEX = 1 << 24
"""Largest index of a sample; a damaged line may hold a larger one."""
_BUFFER_BYTES = 1 << 20
_FILTERED = "content_filter"
"""The ``finish_reason`` of a text that the server's filter has ended."""


class SessionConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one session: the generation, which must not change, and the rest, which may."""

    format: str = FORMAT
    started_at: str = ""
    """Time of storing, in UTC, as ISO 8601."""
    generation: Generation
    n: int
    settings: dict[str, object]
    """The resolved options of the command without keys and other secrets."""


class CompletionLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One stored sample; the first four fields are those of any file of samples."""

    task_id: str
    sample_index: int
    completion: str | UnsetType = UNSET
    solution: str | UnsetType = UNSET
    raw: str | UnsetType = UNSET
    """The whole text of the model, where a stop word cuts the completion short."""
    reasoning: str = ""
    finish_reason: str = ""
    seed: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    latency_s: float = 0.0
    attempts: int = 1
    choice: int = 0
    request: str = ""
    server_model: str = ""
    fingerprint: str = ""


class _StoredIndices:
    """The indices of the stored samples of each problem, in a byte each."""

    def __init__(self) -> None:
        self._marks: dict[str, bytearray] = {}

    def has(self, problem_id: str, index: int) -> bool:
        marks = self._marks.get(problem_id, b"")
        return index < len(marks) and bool(marks[index])

    def add(self, problem_id: str, index: int) -> bool:
        """Add a sample; return False when its index is out of range or was added before."""
        if not 0 <= index < MAX_INDEX or self.has(problem_id, index):
            return False
        marks = self._marks.setdefault(problem_id, bytearray())
        marks.extend(bytes(max(0, index + 1 - len(marks))))
        marks[index] = 1
        return True


class Repetition:
    """The number of problems that have several samples, and of those whose samples are all one text."""

    def __init__(self) -> None:
        self.uniform_problems = 0
        """Number of problems with several samples that are all one text."""
        self.choices = self.equal_choices = 0
        """Numbers of choices that follow another of their request, and of those of them that are the same text."""
        self._latest: dict[str, tuple[str, bytes]] = {}
        """By problem, the request of the latest line, and the digest of its text."""
        self._texts: dict[str, bytes | None] = {}
        """Digest of the only text of each problem; None once there are two."""
        self._repeated: set[str] = set()

    @property
    def repeated_problems(self) -> int:
        """Return the number of problems that have several samples."""
        return len(self._repeated)

    def add(self, line: CompletionLine) -> None:
        """Count the text of one sample."""
        text = line.solution if isinstance(line.solution, str) else line.completion
        digest = blake2b(str(text).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        request, before = self._latest.get(line.task_id, ("", b""))
        if line.choice and line.request == request:
            self.choices += 1
            self.equal_choices += digest == before
        self._latest[line.task_id] = (line.request, digest)
        if line.task_id not in self._texts:
            self._texts[line.task_id] = digest
            return
        only = self._texts[line.task_id]
        if line.task_id not in self._repeated:
            self._repeated.add(line.task_id)
            self.uniform_problems += only == digest
        elif only is not None:
            self.uniform_problems -= only != digest
        if only != digest:
            self._texts[line.task_id] = None


class Totals:
    """Sums over all samples of a run."""

    def __init__(self) -> None:
        self.samples = self.truncated = self.filtered = self.retried = 0
        self.prompt_tokens = self.completion_tokens = self.reasoning_tokens = self.cached_tokens = 0
        self.uncounted = 0
        """Number of requests that did not report their tokens."""
        self.server_models: Counter[str] = Counter()
        """Number of samples of each model that the server named."""
        self.latency_s = 0.0
        self.repetition = Repetition()

    def add(self, line: CompletionLine) -> None:
        """Count one sample."""
        self.repetition.add(line)
        self.samples += 1
        # A text that goes on after a stop word was not truncated too early.
        self.truncated += line.finish_reason == "length" and line.raw is UNSET
        self.filtered += line.finish_reason == _FILTERED
        if line.server_model:
            self.server_models[line.server_model] += 1
        self.retried += line.attempts - 1 if line.choice == 0 else 0
        self.latency_s += line.latency_s
        self.uncounted += line.choice == 0 and None in (line.completion_tokens, line.prompt_tokens)
        self.prompt_tokens += line.prompt_tokens or 0
        self.completion_tokens += line.completion_tokens or 0
        self.reasoning_tokens += line.reasoning_tokens or 0
        self.cached_tokens += line.cached_tokens or 0


class Completions:
    """The completions of one run directory, and a part of this session to append to; close it.

    Raises UsageError when the directory holds those of another generation, StoreError when it cannot be read or
    written.
    """

    def __init__(self, folder: Path, config: SessionConfig) -> None:
        self.folder = folder
        self.totals = Totals()
        self._lock = threading.Lock()
        self._rows = 0
        self._indices = _StoredIndices()
        self._closed = False
        configs, self._parts = _files(folder)
        for path in configs[:1]:
            _check_same_generation(folder, _read_config(path).generation, config.generation)
        for _, line, _ in _read(self._parts):
            self.totals.add(line)
            self._indices.add(line.task_id, line.sample_index)
            self._rows += 1
        self.stored = self.totals.samples
        """Number of samples at the beginning of this session."""
        dated = msgspec.structs.replace(config, started_at=utc_now())
        session = 1 + max((_session(path) for path in (*configs, *self._parts)), default=0)
        try:
            write_whole(folder / f"config-{session:03d}.json", _encode_config(dated) + b"\n")
        except OSError as error:
            raise place_error(f"cannot write into {str(folder)!r}: {error.strerror or error}", error) from error
        self._writer = PartWriter(folder / f"completions-{session:03d}.jsonl", b"")

    def has(self, problem_id: str, index: int) -> bool:
        """Tell whether a sample is stored."""
        return self._indices.has(problem_id, index)

    def earlier_completions(self) -> Iterator[Completion]:
        """Yield the completions of earlier sessions, in the order of their rows."""
        for row, line, raw in _read(self._parts):
            yield _as_completion(line, raw, row)

    def append(self, reply: Reply, text: str) -> Completion:
        """Store a reply with ``text`` as its completion; it survives the end of this process once this returns.

        Raises StoreError when it cannot be written.
        """
        line = CompletionLine(
            task_id=reply.key.problem_id,
            sample_index=reply.key.sample_index,
            completion=text if reply.form == "completion" else UNSET,
            solution=text if reply.form == "solution" else UNSET,
            raw=reply.text if reply.text != text else UNSET,
            reasoning=reply.reasoning,
            finish_reason=reply.finish_reason,
            seed=reply.seed,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            reasoning_tokens=reply.reasoning_tokens,
            cached_tokens=reply.cached_tokens,
            latency_s=round(reply.latency_s, 4),
            attempts=reply.attempts,
            choice=reply.choice,
            request=reply.request,
            server_model=reply.server_model,
            fingerprint=reply.fingerprint,
        )
        raw = encode_json(line) + b"\n"
        with self._lock:
            if self._closed:
                raise StoreError(f"the run in {str(self.folder)!r} is closed")
            self._writer.append(raw)
            self.totals.add(line)
            self._indices.add(line.task_id, line.sample_index)
            self._rows += 1
            return _as_completion(line, raw.removesuffix(b"\n"), self._rows - 1)

    def close(self) -> None:
        """Flush everything to the disk; a second call does nothing."""
        with self._lock:
            self._closed = True
            self._writer.close()


def stored_completions(folder: Path) -> Iterator[Completion]:
    """Yield every stored completion of a run directory, in the order of the rows.

    Raises StoreError when it cannot be read.
    """
    for row, line, raw in _read(_files(folder)[1]):
        yield _as_completion(line, raw, row)


def stored_lines(folder: Path) -> Iterator[CompletionLine]:
    """Yield the lines of ``stored_completions``, with the circumstances of each sample; raises as that does."""
    for _, line, _ in _read(_files(folder)[1]):
        yield line


def stored_totals(folder: Path) -> Totals:
    """Return the sums over all stored completions of a run directory; raises as ``stored_completions`` does."""
    totals = Totals()
    for line in stored_lines(folder):
        totals.add(line)
    return totals


def stored_rows(folder: Path) -> Iterator[RawRow]:
    """Yield the rows of ``stored_completions`` with the bytes that they were read from."""
    for row, line, raw in _read(_files(folder)[1]):
        made = _as_completion(line, raw, row)
        content = RowContent(made.key.problem_id, made.form, made.text, made.missing)
        yield RawRow(made.key, row, made.line, raw, content)


def _as_completion(line: CompletionLine, raw: bytes, row: int) -> Completion:
    text = line.solution if isinstance(line.solution, str) else line.completion
    return Completion(
        key=SampleKey(problem_id=line.task_id, sample_index=line.sample_index),
        row=row,
        line=row + 1,
        digest=blake2b(raw, digest_size=8).hexdigest(),
        form="completion" if line.solution is UNSET else "solution",
        text=text if isinstance(text, str) else None,
    )


def _read(parts: list[Path]) -> Iterator[tuple[int, CompletionLine, bytes]]:
    seen = _StoredIndices()
    row = 0
    for path in parts:
        try:
            with path.open("rb", buffering=_BUFFER_BYTES) as file:
                for raw in file:
                    line = _decoded(raw) if raw.endswith(b"\n") else None
                    if line is not None and seen.add(line.task_id, line.sample_index):
                        yield row, line, raw.removesuffix(b"\n")
                        row += 1
        except OSError as error:
            raise StoreError(f"cannot read {str(path)!r}: {error.strerror or error}") from error


_DECODER = msgspec.json.Decoder(decodable(CompletionLine))


def _decoded(raw: bytes) -> CompletionLine | None:
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        # A model may write a lone surrogate, which only this parser accepts.
        return msgspec.convert(json.loads(raw), decodable(CompletionLine))
    except (ValueError, RecursionError):
        return None


def _files(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the configurations and the parts, both by session."""
    try:
        paths = sorted((path for path in folder.iterdir() if _NAME.fullmatch(path.name)), key=_session)
    except OSError as error:
        raise StoreError(f"cannot read {str(folder)!r}: {error.strerror or error}") from error
    return [path for path in paths if path.suffix == ".json"], [path for path in paths if path.suffix == ".jsonl"]


def _session(path: Path) -> int:
    match = _NAME.fullmatch(path.name)
    return int(match[1] or match[2]) if match else 0


def _encode_config(config: SessionConfig) -> bytes:
    try:
        return msgspec.json.format(msgspec.json.encode(config))
    except UnicodeEncodeError:
        # The name of a file that is not UTF-8 has lone surrogates.
        return json.dumps(msgspec.to_builtins(config), indent=2).encode("ascii")


def _read_config(path: Path) -> SessionConfig:
    try:
        content = path.read_bytes()
        try:
            return msgspec.json.decode(content, type=decodable(SessionConfig))
        except msgspec.DecodeError:
            # Only this parser accepts a lone surrogate.
            return msgspec.convert(json.loads(content), decodable(SessionConfig))
    except OSError as error:
        raise StoreError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{str(path)!r} is damaged ({error}); use another --run") from error


def check_generation(folder: Path, generation: Generation, *, is_opened: bool = False) -> None:
    """Raise UsageError when a folder holds samples of other settings.

    ``is_opened``: the model is, so that its ``identity`` is known and compared, too.
    """
    configs = _files(folder)[0] if folder.is_dir() else []
    for path in configs[:1]:
        stored = _read_config(path).generation
        now = generation if is_opened else msgspec.structs.replace(generation, identity=stored.identity)
        _check_same_generation(folder, stored, now)


def _check_same_generation(folder: Path, was: Generation, now: Generation) -> None:
    before, after = _flatten(was), _flatten(now)
    differing = [name for name in after if before.get(name) != after[name]]
    differing += [name for name in before if name not in after]
    if differing:
        changes = "; ".join(f"{name} was {before.get(name)!r}, is {after.get(name)!r}" for name in differing[:4])
        raise UsageError(
            f"run directory {str(folder)!r} holds samples of other settings: {changes}; "
            "use the same options, or another --run"
        )


def _flatten(generation: Generation) -> dict[str, object]:
    # The version may differ: the digest of the prompts changes if another version prompts differently.
    fields: Mapping[str, object] = msgspec.to_builtins(generation)
    flat: dict[str, object] = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{inner}": setting for inner, setting in value.items()}
        elif name != "version":
            flat[name] = value
    # Earlier versions stored the address of the server here; the same model may answer at another one.
    flat.pop("identity.base_url", None)
    return flat
