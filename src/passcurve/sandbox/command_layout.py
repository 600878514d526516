"""The content of the root of a jail of commands: programs, the libraries that they load, and named folders."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from passcurve.sandbox.job import CommandJail
from passcurve.sandbox.toolchain import STREAM_LINKS, RootLayout

_LOADERS = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")
_LIST_S = 20.0
_VERSION_S = 60.0
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
_LOADED = re.compile(rb"(/\S+) \(0x[0-9a-f]+\)")
_MERGED = ("/bin", "/sbin", "/lib", "/lib64", "/lib32")
"""Folders that are links to those in ``/usr`` on most systems."""


def command_layout(jail: CommandJail) -> RootLayout:
    """Return what the root of a jail holds; what is not there is left out."""
    links = dict(STREAM_LINKS)
    for folder in _MERGED:
        if os.path.islink(folder):
            links[folder] = os.readlink(folder)
    binds: dict[str, str] = {}
    for pattern in jail.folders:
        for path in expand_path(pattern):
            _add(path, binds, links)
    for program in jail.programs:
        _add(program, binds, links)
        for library in loaded_libraries(os.path.realpath(program)):
            _add(library, binds, links)
    for loader in _LOADERS:
        _add(loader, binds, links)
    if jail.shared is not None:
        binds[jail.shared[1]] = jail.shared[0]
    outer = [place for place in binds if not _is_inside(place, binds)]
    inner_links = {place: text for place, text in links.items() if not _is_inside(place, binds)}
    return RootLayout(
        [[binds[place], place] for place in outer],
        [[place, text] for place, text in inner_links.items()],
        [folder for folder in jail.hidden if _is_inside(folder, binds)],
    )


def find_program(name: str) -> str | None:
    """Return the path of a program of the system, or None."""
    return shutil.which(name, path="/usr/local/bin:/usr/bin:/bin")


def find_command(argv: Sequence[str]) -> list[str]:
    """Return a command with the path of its program, where that is a program of the system."""
    return [find_program(argv[0]) or argv[0], *argv[1:]]


@functools.cache
def first_line(argv: tuple[str, ...]) -> str:
    """Return the first line that a program of the system writes; the empty string where it writes none."""
    try:
        done = subprocess.run(
            find_command(argv), capture_output=True, timeout=_VERSION_S, check=False, env=_ENVIRONMENT, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = (done.stdout + b"\n" + done.stderr).decode("utf-8", "replace").splitlines()
    return next((line.strip() for line in lines if line.strip()), "")


def expand_path(pattern: str) -> list[str]:
    """Return the paths that a pattern stands for."""
    return sorted(str(path) for path in Path("/").glob(pattern.lstrip("/")))


@functools.lru_cache(maxsize=256)
def loaded_libraries(program: str) -> tuple[str, ...]:
    """Return the libraries that the loader finds for a program of the system; none where it is no dynamic program."""
    loader = next((path for path in _LOADERS if os.path.exists(path)), None)
    if loader is None:
        return ()
    try:
        listing = subprocess.run(
            [loader, "--list", program], capture_output=True, timeout=_LIST_S, check=False, env={}, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(os.fsdecode(path) for path in _LOADED.findall(listing.stdout)) if not listing.returncode else ()


def _add(path: str, binds: dict[str, str], links: dict[str, str]) -> None:
    """Add a file or folder at its own path, with the links on the way to it."""
    for _ in range(16):
        folder = os.path.realpath(os.path.dirname(path))
        path = os.path.join(folder, os.path.basename(path))
        if not os.path.lexists(path):
            return
        if not os.path.islink(path):
            binds[path] = path
            return
        target = os.readlink(path)
        links[path] = target
        path = os.path.normpath(os.path.join(folder, target))


def _is_inside(place: str, binds: dict[str, str]) -> bool:
    folder = os.path.dirname(place)
    while folder != "/":
        if folder in binds:
            return True
        folder = os.path.dirname(folder)
    return False
