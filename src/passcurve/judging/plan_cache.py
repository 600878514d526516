"""Plans of problems whose reference solution has passed, kept from run to run in the user's cache folder."""

from __future__ import annotations

import contextlib
from hashlib import blake2b
from importlib import resources
from pathlib import Path

import msgspec

from passcurve.bench.formats import digest_problems
from passcurve.judging.plan import CheckPlan
from passcurve.sandbox.private_files import oldest_first, read_private, write_private
from passcurve.types import Header, Problem

MAX_FILES = 32
"""Files that are kept, one for each benchmark and way of judging; the oldest go first."""

_CODE = ("harness", "judging")
"""Rooms whose code decides what a plan holds."""


class PlanCache:
    """The plans of one benchmark under one way of judging; a plan of a problem at fault is never kept."""

    def __init__(self, folder: Path, header: Header) -> None:
        self._path = folder / f"{_digest(header)}.plans"
        self._plans = _read(self._path)
        self._is_changed = False

    def find(self, problem: Problem) -> CheckPlan | None:
        """Return the plan of a problem, or None."""
        return self._plans.get(digest_problems([problem])) if self._plans else None

    def add(self, problem: Problem, plan: CheckPlan) -> None:
        """Keep the plan of a problem whose reference solution has passed."""
        self._plans[digest_problems([problem])] = plan
        self._is_changed = True

    def save(self) -> None:
        """Write the plans to their file; do nothing where the folder cannot be written."""
        if not self._is_changed:
            return
        with contextlib.suppress(OSError):
            write_private(self._path, msgspec.msgpack.encode(self._plans))
            for path, _ in oldest_first(self._path.parent.glob("*.plans"))[:-MAX_FILES]:
                path.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, CheckPlan]:
    """Return the plans in a file; none where it is not there, is damaged, or could be another user's."""
    content = read_private(path)
    try:
        return msgspec.msgpack.decode(content, type=dict[str, CheckPlan]) if content is not None else {}
    except (msgspec.MsgspecError, ValueError):
        return {}


def _digest(header: Header) -> str:
    """Return the digest of all that decides how a reference solution is judged, the problem itself aside."""
    digest = blake2b(digest_size=16)
    settings = (header.version, header.benchmark_digest, header.limits, header.verdict, header.seed, header.jail)
    digest.update(msgspec.json.encode(settings))
    for room in _CODE:
        for file in sorted(resources.files(f"passcurve.{room}").iterdir(), key=lambda file: file.name):
            if file.name.endswith(".py"):
                digest.update(file.read_bytes())
    return digest.hexdigest()
