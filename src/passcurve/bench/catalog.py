"""The catalog of named benchmarks, read from ``catalog.toml`` on first use."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from passcurve.errors import UnknownNameError, nearest


class BuiltIn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="built-in"):
    """A benchmark in this package; its paths are relative to the folder of the package."""

    title: str
    licence: str
    problems_file: str
    examples_file: str
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
    url: str
    file: str
    """File name in the cache."""
    sha256: str
    """Checksum of the file as published."""
    problems_digest: str
    """Digest of the problems in it, from ``formats.digest_problems``."""
    problems: int
    id_prefix: str
    """Prefix of its task ids; used in advice, never to decide."""
    carrier: Carrier
    packages: tuple[str, ...] = ()
    """Distributions that its samples may import besides the standard library."""

    def cached(self, name: str, cache_dir: Path) -> Path:
        """Return the path of the fetched copy, which may not exist."""
        return cache_dir / name / self.file


Entry: TypeAlias = BuiltIn | Published
Catalog: TypeAlias = Mapping[str, Entry]


@functools.cache
def load_catalog() -> Catalog:
    """Return the catalog of this package, by name."""
    table = tomllib.loads(resources.files(__package__).joinpath("catalog.toml").read_text(encoding="utf-8"))
    return MappingProxyType(msgspec.convert(table, dict[str, Entry]))


def unknown_benchmark(name: str, catalog: Catalog) -> UnknownNameError:
    """Return the error for a name that is not in the catalog."""
    hint = nearest(name, catalog)
    return UnknownNameError(f"unknown benchmark {name!r}{hint} (known: {', '.join(catalog)}; or name a file)")
