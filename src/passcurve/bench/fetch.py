"""Download of a published benchmark into the cache, with its checksum verified."""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from passcurve.bench.catalog import BuiltIn, Catalog, load_catalog, unknown_benchmark
from passcurve.errors import FetchError, UsageError

if TYPE_CHECKING:
    import httpx

MAX_BYTES = 64 << 20
"""Largest download, above every known benchmark; a wrong address may send without end."""


def fetch(
    name: str, cache_dir: Path, *, url: str | None = None, timeout_s: float = 30.0, catalog: Catalog | None = None
) -> Path:
    """Download a published benchmark into the cache, unless it is there, and return its path.

    ``url`` replaces the address of the catalog, as for a mirror; the checksum stays.  ``timeout_s`` bounds each wait.
    Raises FetchError with what to do offline, UnknownNameError, and UsageError for a built-in benchmark.
    """
    entries = load_catalog() if catalog is None else catalog
    entry = entries.get(name)
    if entry is None:
        raise unknown_benchmark(name, entries)
    if isinstance(entry, BuiltIn):
        raise UsageError(f"{name!r} is built in: there is nothing to fetch")
    address, target = url or entry.url, entry.cached(name, cache_dir)
    try:
        if _sha256(target) == entry.sha256:
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        _download(address, target, entry.sha256, timeout_s)
    except _DownloadError as error:
        raise FetchError(
            f"cannot fetch {name!r} from {address}: {error}; without a network, download that address elsewhere and "
            f"put the file at {str(target)!r}, or pass it with --benchmark FILE"
        ) from error
    except OSError as error:
        raise FetchError(f"cannot write {str(target)!r}: {error.strerror or error}") from error
    return target


class _DownloadError(Exception):
    """The reason why a download failed; it never leaves this file."""


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except FileNotFoundError:
        return ""


def _download(url: str, target: Path, sha256: str, timeout_s: float) -> None:
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        received = _stream(url, part, timeout_s)
        if received != sha256:
            raise _DownloadError(f"the file has sha256 {received[:12]}..., expected {sha256[:12]}...")
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
    except (httpx.HTTPError, httpx.InvalidURL) as error:
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


def _reason(error: httpx.HTTPError | httpx.InvalidURL, timeout_s: float) -> str:
    import httpx

    text = _one_line(error)
    table: tuple[tuple[type[Exception], str], ...] = (
        (httpx.TimeoutException, f"no answer within {timeout_s:g} s"),
        (httpx.ConnectError, f"no connection ({text})"),
        (httpx.ProxyError, f"the proxy refused ({text})"),
        (httpx.RemoteProtocolError, f"the connection was cut ({text})"),
        (httpx.ReadError, f"the connection was cut ({text})"),
        (httpx.InvalidURL, f"not an address ({text})"),
        (httpx.UnsupportedProtocol, f"not an http address ({text})"),
    )
    return next((reason for kind, reason in table if isinstance(error, kind)), text)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
