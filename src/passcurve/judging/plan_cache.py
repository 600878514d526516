"""Plans of problems whose reference solution has passed, and their compiled tests, kept in the user's cache folder.

The whole of very large expected results has a file of its own, which is read when one must be compared.
"""

from __future__ import annotations

import contextlib
import os
from hashlib import blake2b
from pathlib import Path

import msgspec

from passcurve.judging.plan import CheckPlan, ResultsFile
from passcurve.private_files import code_of, keep_newest, read_digest, read_private, write_private
from passcurve.sandbox.compiled_tests import CompiledTests
from passcurve.types import Cases, Header, Problem
from passcurve.types.decoding import decodable

MAX_FILES = 32
"""Files that are kept, one for each benchmark and way of judging; the oldest go first."""

_CODE = ("harness", "judging")
"""Rooms whose code decides what a plan holds."""

MAX_CODE_BYTES = 16 << 20
"""Size of the compiled tests of one benchmark that are kept."""


class _Content(msgspec.Struct, kw_only=True):
    """The content of a file."""

    plans: dict[str, CheckPlan] = {}
    """By the digest of the problem."""
    code: dict[str, bytes] = {}
    """By the key of the tests."""


class PlanCache:
    """The plans of one benchmark under one way of judging; a plan of a problem at fault is never kept."""

    def __init__(self, folder: Path, header: Header) -> None:
        self._path = folder / f"{_digest(header)}.plans"
        content = _read(self._path) or _Content()
        self._plans, self._code = content.plans, content.code
        self._is_changed = False
        if self._plans:
            # The files that nobody has used for longest go first.
            with contextlib.suppress(OSError):
                os.utime(self._path)

    def find(self, problem: Problem) -> CheckPlan | None:
        """Return the plan of a problem, or None."""
        if not self._plans:
            return None
        digest = _digest_problem(problem)
        plan = self._plans.get(digest)
        if plan is None or plan.whole_in is None:
            return plan
        file = msgspec.structs.replace(plan.whole_in, path=str(self._path_of(digest)))
        # Another run may have written other results there.
        is_ours = read_digest(Path(file.path)) == file.digest
        return msgspec.structs.replace(plan, whole_in=file) if is_ours else None

    def add(self, problem: Problem, plan: CheckPlan) -> None:
        """Keep the plan of a problem whose reference solution has passed."""
        digest = _digest_problem(problem)
        if not isinstance(problem.check, Cases):
            # Tests that are code may look at the time: what they said in one run need not hold in the next.
            plan = msgspec.structs.replace(plan, known_report=None)
        self._plans[digest] = plan
        self._is_changed = True

    def forget(self, problem: Problem) -> None:
        """Keep the plan of a problem no more."""
        self._is_changed |= self._plans.pop(_digest_problem(problem), None) is not None

    def _path_of(self, digest: str) -> Path:
        """Return the file with the whole of the results of a problem."""
        return self._path.with_name(f"{self._path.stem}-{digest}.results")

    def add_code_to(self, compiled_tests: CompiledTests) -> None:
        """Add the compiled tests that were kept."""
        for key, code in self._code.items():
            compiled_tests.add(key, code)

    def keep_code_of(self, compiled_tests: CompiledTests) -> None:
        """Keep compiled tests.  They run in the jail of tests only, as those do that were compiled in the same run."""
        size = sum(map(len, self._code.values()))
        for key, code in compiled_tests.items().items():
            if key not in self._code and size + len(code) <= MAX_CODE_BYTES:
                self._code[key] = code
                size += len(code)
                self._is_changed = True

    def save(self) -> None:
        """Write the plans to their file; do nothing where the folder cannot be written."""
        if not self._is_changed:
            return
        plans = {digest: self._without_whole(digest, plan) for digest, plan in self._plans.items()}
        content = _Content(plans={digest: plan for digest, plan in plans.items() if plan is not None}, code=self._code)
        with contextlib.suppress(OSError):
            write_private(self._path, msgspec.msgpack.encode(content))
        with contextlib.suppress(OSError):
            keep_newest(self._path.parent, "*.plans", MAX_FILES)
            for path in self._path.parent.glob("*.results"):
                # Its name begins with that of the file which it belongs to.
                owner = path.with_name(path.name.partition("-")[0] + self._path.suffix)
                if not owner.exists():
                    path.unlink(missing_ok=True)

    def _without_whole(self, digest: str, plan: CheckPlan) -> CheckPlan | None:
        """Write the whole of the results of a plan to a file; return the rest, or None where there is no room."""
        if not plan.whole:
            return plan
        path = self._path_of(digest)
        try:
            file = ResultsFile(path=str(path), digest=write_private(path, plan.whole))
        except OSError:
            return None
        return msgspec.structs.replace(plan, whole=b"", whole_in=file)


def _read(path: Path) -> _Content | None:
    """Return the content of a file; None where it is not there, is damaged, or could be another user's."""
    content = read_private(path)
    try:
        return msgspec.msgpack.decode(content, type=decodable(_Content)) if content is not None else None
    except (msgspec.MsgspecError, ValueError):
        return None


def _digest_problem(problem: Problem) -> str:
    return blake2b(msgspec.msgpack.encode(problem), digest_size=16).hexdigest()


def _digest(header: Header) -> str:
    """Return the digest of all that decides how a reference solution is judged, the problem itself aside."""
    digest = blake2b(digest_size=16)
    settings = (header.version, header.benchmark_digest, header.limits, header.verdict, header.seed, header.jail)
    digest.update(msgspec.json.encode(settings))
    for text in code_of(*_CODE):
        digest.update(text)
    return digest.hexdigest()
