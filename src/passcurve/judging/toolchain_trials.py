"""Trials of the toolchains of other languages: the shortest program of each, compiled and run in its jails."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from passcurve.bench.languages import languages, with_confirmation
from passcurve.judging.script_verdict import reach_script_status
from passcurve.judging.scripts import make_script_job, missing_tools, tool_version
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.startup import start_sandbox
from passcurve.types import Language, Limits, Script


class ToolchainTrial(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a trial of one language."""

    language: str
    title: str
    works: bool
    version: str = ""
    reason: str = ""
    """Why it does not work."""
    packages: tuple[str, ...] = ()
    """Packages of Debian that it needs, where something is missing."""


def try_toolchains(limits: Limits) -> Iterator[ToolchainTrial]:
    """Yield a trial of each language of the table.

    Raises IsolationError and SandboxError where commands cannot be isolated here.
    """
    with start_sandbox(limits, level="full", commands=True) as sandbox, Pool(1, sandbox) as pool:
        for tag, language in enumerate(languages().values()):
            yield _try(pool, language, limits, tag)


def _try(pool: Pool, language: Language, limits: Limits, tag: int) -> ToolchainTrial:
    trial = ToolchainTrial(language=language.name, title=language.title, works=False)
    if missing := missing_tools(language):
        reason = f"{' and '.join(missing)} not installed"
        return msgspec.structs.replace(trial, reason=reason, packages=language.packages)
    tests = with_confirmation(language, language.shortest)
    job = make_script_job(Script(language=language.name, tests=tests or "", compile_s=60.0), "", limits, tag)
    pool.start(0, job)
    while not (outcomes := pool.wait(1.0)):
        pass
    status, message = reach_script_status(job, outcomes[0])
    works = status == "passed"
    reason = "" if works else f"its shortest program: {status} ({message})"
    version = tool_version(language).removeprefix(f"{language.title}: ")
    return msgspec.structs.replace(trial, works=works, version=version, reason=reason)
