"""Download of a published benchmark into the cache, with its checksum verified."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from passcurve.bench.catalog import (
    BuiltIn,
    Catalog,
    Published,
    find_entry,
    load_catalog,
    recognise,
    unknown_benchmark,
)
from passcurve.errors import DataError, FetchError, UsageError, nearest_file

if TYPE_CHECKING:
    import httpx

MAX_BYTES = 64 << 20
"""Largest download, above every known benchmark; a wrong address may send without end."""
MAX_FILES = 10_000
"""Most files of a folder that are looked at."""
_SUFFIXES = (".jsonl", ".json", ".gz")


def fetch(
    name: str, cache_dir: Path, *, url: str | None = None, timeout_s: float = 30.0, catalog: Catalog | None = None
) -> Path:
    """Download a published benchmark into the cache, unless it is there, and return its path.

    ``url`` replaces the address of the catalog, as for a mirror; the checksum stays.  ``timeout_s`` bounds each wait.
    Raises FetchError with what to do offline, UnknownNameError, and UsageError for a built-in benchmark.
    """
    entries = load_catalog() if catalog is None else catalog
    name, entry = _published(name, entries)
    target = entry.cached(name, cache_dir)
    addresses = (url,) if url else (*([entry.url] if entry.url else []), *entry.mirrors)
    try:
        if _is_right(target, entry):
            return target
        if not addresses:
            raise FetchError(
                f"no public address of {name!r} is known: get {entry.file} from {entry.origin} (md5 {entry.md5} "
                f"unpacked), then run `passcurve bench fetch {name} --from FILE`"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        _download_first(name, addresses, target, entry, timeout_s)
    except OSError as error:
        raise FetchError(f"cannot write {str(target)!r}: {error.strerror or error}") from error
    return target


def take(
    source: Path, cache_dir: Path, name: str | None = None, *, catalog: Catalog | None = None
) -> list[tuple[str, Path]]:
    """Copy published benchmarks from a file or a folder into the cache; return their names and paths.

    With ``name`` that one alone.  Raises DataError where there is no such file, FetchError where it holds none,
    UnknownNameError, and UsageError for a built-in benchmark.
    """
    entries = load_catalog() if catalog is None else catalog
    if name is not None:
        name = _published(name, entries)[0]
    if not source.exists():
        raise DataError(f"no file or folder {str(source)!r}{nearest_file(source)}")
    taken: dict[str, Path] = {}
    for path, data in _contents(source):
        match = recognise(data, entries)
        if match is None or match[0] in taken or name not in (None, match[0]):
            continue
        target = match[1].cached(match[0], cache_dir)
        try:
            if path.resolve() != target.resolve():
                target.parent.mkdir(parents=True, exist_ok=True)
                _write_whole(target, data)
        except OSError as error:
            raise FetchError(f"cannot write {str(target)!r}: {error.strerror or error}") from error
        taken[match[0]] = target
    if not taken:
        wanted = f"is not {name!r} as published" if name is not None else "holds no published benchmark"
        raise FetchError(f"{str(source)!r} {wanted}: no checksum of the catalog fits")
    return list(taken.items())


def _published(name: str, entries: Catalog) -> tuple[str, Published]:
    match = find_entry(name, entries)
    if match is None:
        raise unknown_benchmark(name, entries)
    if isinstance(match[1], BuiltIn):
        raise UsageError(f"{name!r} is built in: there is nothing to fetch")
    return match[0], match[1]


def _contents(source: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the files of a folder that may be benchmarks, or the file itself."""
    paths = sorted(source.rglob("*"))[:MAX_FILES] if source.is_dir() else [source]
    for path in paths:
        if source.is_dir() and not path.name.endswith(_SUFFIXES):
            continue
        try:
            if path.is_file() and path.stat().st_size <= MAX_BYTES:
                yield path, path.read_bytes()
        except OSError:
            continue


def _write_whole(path: Path, data: bytes) -> None:
    """Write a file that appears whole or not at all."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _is_right(path: Path, entry: Published) -> bool:
    try:
        return entry.is_file(path.read_bytes())
    except FileNotFoundError:
        return False


def _download_first(name: str, addresses: Sequence[str], target: Path, entry: Published, timeout_s: float) -> None:
    """Download from the first address that has the file."""
    reasons = []
    for address in addresses:
        try:
            _download(address, target, entry, timeout_s)
            return
        except _DownloadError as error:
            reasons.append(f"{address}: {error}")
    raise FetchError(
        f"cannot fetch {name!r} from {'; nor from '.join(reasons)}; without a network, download that address elsewhere "
        f"and put the file at {str(target)!r}, or name it (`judge --benchmark FILE`, `run FILE`)"
    )


class _DownloadError(Exception):
    """The reason why a download failed; it never leaves this file."""


def _download(url: str, target: Path, entry: Published, timeout_s: float) -> None:
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        received = _stream(url, part, timeout_s)
        if received != entry.sha256 and not entry.is_file(part.read_bytes()):
            raise _DownloadError(f"the file has sha256 {received[:12]}..., expected {entry.sha256[:12]}...")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _stream(url: str, part: Path, timeout_s: float) -> str:
    """Write the response to ``part`` and return its sha256."""
    import httpx

    digest, size = hashlib.sha256(), 0
    try:
        with (
            _client(timeout_s) as client,
            part.open("xb") as handle,
            client.stream("GET", url) as response,
        ):
            if not response.is_success:
                raise _DownloadError(f"the server answered {response.status_code} {response.reason_phrase}".rstrip())
            for chunk in response.iter_raw():
                size += len(chunk)
                if size > MAX_BYTES:
                    raise _DownloadError(f"the response exceeds {MAX_BYTES >> 20} MiB")
                digest.update(chunk)
                handle.write(chunk)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        raise _DownloadError(_reason(error, timeout_s)) from error
    return digest.hexdigest()


def _client(timeout_s: float) -> httpx.Client:
    import httpx

    # The checksum is of the file as published: no server may compress it, nor httpx decompress it.
    headers = {"Accept-Encoding": "identity"}
    try:
        return httpx.Client(headers=headers, follow_redirects=True, timeout=timeout_s)
    except (ImportError, OSError, ValueError) as error:
        # httpx reads the proxies and certificates of the user's machine here, which may be invalid.
        raise _DownloadError(f"the proxy or certificate settings do not work ({_one_line(error)})") from error


def _reason(error: httpx.HTTPError | httpx.InvalidURL | UnicodeError, timeout_s: float) -> str:
    import httpx

    text = _one_line(error)
    table: tuple[tuple[type[Exception], str], ...] = (
        (httpx.TimeoutException, f"no answer within {timeout_s:g} s"),
        (httpx.ConnectError, f"no connection ({text})"),
        (httpx.ProxyError, f"the proxy refused ({text})"),
        (httpx.RemoteProtocolError, f"the connection was cut ({text})"),
        (httpx.ReadError, f"the connection was cut ({text})"),
        (httpx.InvalidURL, f"not an address ({text})"),
        (UnicodeError, "not an address (no host has such a name)"),
        (httpx.UnsupportedProtocol, f"not an http address ({text})"),
    )
    return next((reason for kind, reason in table if isinstance(error, kind)), text)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
