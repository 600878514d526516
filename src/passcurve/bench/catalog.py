"""What is known of each benchmark that has a name, read from ``catalog.toml`` on first use."""

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
    """A benchmark that is shipped in this package; its files are named from the package's folder."""

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
    """A benchmark that others publish: one file at one address, with its checksums."""

    title: str
    licence: str
    citation: str
    url: str
    file: str
    """Its name in the cache."""
    sha256: str
    """Of the file as published."""
    problems_digest: str
    """Of the problems in it, as ``formats.digest_of`` gives it."""
    problems: int
    id_prefix: str
    """How its task ids begin; used in advice, never to decide."""
    carrier: Carrier
    packages: tuple[str, ...] = ()
    """Distributions that its samples may import beyond the standard library."""

    def cached(self, name: str, cache_dir: Path) -> Path:
        """Return where the fetched copy lies, whether or not it is there."""
        return cache_dir / name / self.file


Entry: TypeAlias = BuiltIn | Published
Catalog: TypeAlias = Mapping[str, Entry]


@functools.cache
def shipped() -> Catalog:
    """Return the catalog of this package, by name."""
    table = tomllib.loads(resources.files(__package__).joinpath("catalog.toml").read_text(encoding="utf-8"))
    return MappingProxyType(msgspec.convert(table, dict[str, Entry]))


def unknown(name: str, catalog: Catalog) -> UnknownNameError:
    """Return the error to raise for a name that the catalog does not have."""
    known = ", ".join(catalog)
    return UnknownNameError(f"unknown benchmark {name!r}{nearest(name, catalog)} (known: {known}; or give a file)")
