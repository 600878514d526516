"""The catalog of named benchmarks, read from ``catalog.toml`` on first use."""

from __future__ import annotations

import functools
import hashlib
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from passcurve.bench.formats import unpack
from passcurve.errors import DataError, UnknownNameError, nearest
from passcurve.types.decoding import decodable


class BuiltIn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="built-in"):
    """A benchmark in this package; its paths are relative to the folder of the package."""

    title: str
    licence: str
    problems_file: str
    examples_file: str
    id_prefix: str = ""
    """Prefix of its task ids; empty where it must be read to know them."""
    citation: str = ""
    packages: tuple[str, ...] = ()


class Carrier(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An installable package that carries the file of a benchmark."""

    distribution: str
    """Name to install it by."""
    package: str
    """Name to import it by."""
    paths: tuple[str, ...]
    """Possible places of the file, relative to the folder of the package."""


class Published(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="published"
):
    """A benchmark that others publish, as one file at one address."""

    title: str
    licence: str
    citation: str
    file: str
    """File name in the cache."""
    sha256: str
    """Checksum of the file as published."""
    problems: int
    id_prefix: str
    """Prefix of its task ids; empty where they have none."""
    url: str = ""
    """Its public address; empty where none is known."""
    mirrors: tuple[str, ...] = ()
    """Other addresses, tried in their order."""
    origin: str = ""
    """The place that published it, in words."""
    version: str = ""
    md5: str = ""
    """md5 of the unpacked file, by which EvalPlus names a version in its results."""
    unpacked_sha256: str = ""
    """Checksum of the unpacked file, by which other packings of it are recognised."""
    problems_digest: str = ""
    """Digest of the problems in it, from ``formats.digest_problems``; empty where the checksums tell enough."""
    carrier: Carrier | None = None
    packages: tuple[str, ...] = ()
    """Distributions that its samples may import besides the standard library."""
    tasks: tuple[str, ...] = ()
    """Its tasks, where there are several: with one of them its name is ``NAME-TASK``."""

    def cached(self, name: str, cache_dir: Path) -> Path:
        """Return the path of the fetched copy, which may not exist."""
        return cache_dir / name / self.file

    def is_file(self, data: bytes) -> bool:
        """Tell whether these are the bytes of its file, packed as published or in another way."""
        if hashlib.sha256(data).hexdigest() == self.sha256:
            return True
        if not self.unpacked_sha256:
            return False
        try:
            return hashlib.sha256(unpack(data, self.file)).hexdigest() == self.unpacked_sha256
        except DataError:
            return False


Entry: TypeAlias = BuiltIn | Published
Catalog: TypeAlias = Mapping[str, Entry]


@functools.cache
def load_catalog() -> Catalog:
    """Return the catalog of this package, by name."""
    table = tomllib.loads(resources.files(__package__).joinpath("catalog.toml").read_text(encoding="utf-8"))
    return MappingProxyType(msgspec.convert(table, decodable(dict[str, Entry])))


def find_entry(name: str, catalog: Catalog) -> tuple[str, Entry] | None:
    """Return the entry of a name, which may end with ``@version``, and its name in the catalog."""
    if name in catalog:
        return name, catalog[name]
    bare, _, version = name.rpartition("@")
    entry = catalog.get(bare)
    if isinstance(entry, Published) and version and version.removeprefix("v") == entry.version:
        return bare, entry
    return (f"{bare}@{version[1:]}", catalog[f"{bare}@{version[1:]}"]) if f"{bare}@{version[1:]}" in catalog else None


def split_task(name: str, catalog: Catalog) -> tuple[str, str]:
    """Return a name without its task, and the task; an empty one where the name has none."""
    bare, _, task = name.rpartition("-")
    entry = catalog.get(bare)
    return (bare, task) if isinstance(entry, Published) and task in entry.tasks else (name, "")


def recognise(data: bytes, catalog: Catalog) -> tuple[str, Published] | None:
    """Return the name and the entry of the published file that has these bytes, packed or not; None for any other."""
    packed = hashlib.sha256(data).hexdigest()
    try:
        unpacked = hashlib.sha256(unpack(data, "file")).hexdigest()
    except DataError:
        unpacked = packed
    return find_by_hashes(packed, unpacked, catalog)


def find_by_hashes(packed: str, unpacked: str, catalog: Catalog) -> tuple[str, Published] | None:
    """Return the name and the entry of the published file with one of these sha256, as it is or unpacked."""
    for name, entry in catalog.items():
        if isinstance(entry, Published) and (entry.sha256 == packed or entry.unpacked_sha256 == unpacked):
            return name, entry
    return None


def unknown_benchmark(name: str, catalog: Catalog) -> UnknownNameError:
    """Return the error for a name that is not in the catalog."""
    hint = nearest(name, catalog)
    return UnknownNameError(f"unknown benchmark {name!r}{hint} (known: {', '.join(catalog)}; or name a file)")
