"""A scorer and a sandbox for inspect (inspect_ai); the only file that imports inspect_ai."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from passcurve.errors import SandboxError, UsageError

if TYPE_CHECKING:
    from passcurve.api import Judgement
    from passcurve.judging.jailed_folder import JailedFolder
    from passcurve.judging.program_runner import ProgramRunner

_COMMAND_S = 600.0
"""Time of a command that has no limit of its own."""


def passcurve_scorer(
    benchmark: str,
    share: bool = False,
    raise_void: bool = False,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Return the scorer ``passcurve/passcurve_scorer`` for a task: C or I, or the share of tests that passed.

    The problem is ``task_id`` of the sample's metadata, else the sample's id; ``options`` are those of ``Judge``, and
    texts become programs by the policy ``auto``.  Where nobody knows, the sample is left unscored, or, with
    ``raise_void``, SandboxError is raised, which inspect can try again.  Raises UsageError without inspect_ai.
    """
    return _scorer_factory()(benchmark, share, raise_void, options)


def __getattr__(name: str) -> object:
    # The entry point of inspect: what it loads must have registered both.
    if name == "registered":
        return _scorer_factory(), _sandbox_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _scorer_factory() -> Callable[..., Any]:
    """Return the scorer as inspect has registered it."""
    try:
        from inspect_ai import scorer as inspect
    except ImportError:
        raise UsageError("passcurve.compat.inspect_ai needs inspect_ai: pip install inspect-ai") from None

    def make_scorer(
        benchmark: str, share: bool = False, raise_void: bool = False, options: Mapping[str, Any] | None = None
    ) -> Any:
        settings = {"extract": "auto", "all_tests": share, **(options or {})}

        async def score(state: Any, _: object) -> Any:
            text = state.output.completion
            named = (state.metadata or {}).get("task_id")
            task = str(state.sample_id if named is None else named)
            judgement = await _judge(benchmark, settings, task, text)
            facts = _describe(judgement)
            if judgement.passed is None:
                if raise_void:
                    raise SandboxError(f"{task!r} could not be judged: {facts['explanation']}")
                return inspect.Score.unscored(reason="scoring_failed", answer=text, **facts)
            verdict = inspect.CORRECT if judgement.passed else inspect.INCORRECT
            return inspect.Score(value=judgement.share if share else verdict, answer=text, **facts)

        return score

    decorate = inspect.scorer(metrics=[inspect.accuracy(), inspect.stderr()], name="passcurve_scorer")
    factory: Callable[..., Any] = decorate(make_scorer)
    return factory


async def _judge(benchmark: str, settings: Mapping[str, Any], task: str, text: str) -> Judgement:
    from passcurve.compat.trainers.warm import judge_rows

    def judge_one() -> Judgement:
        (judgement,) = judge_rows(benchmark, settings, [{"task_id": task, "completion": text}])
        return judgement

    judged: Judgement = await _in_thread(judge_one)
    return judged


def _describe(judgement: Judgement) -> dict[str, Any]:
    """Return the fields of a score that say why."""
    facts = {
        "status": judgement.status,
        "mode": judgement.mode,
        "tests": judgement.tests,
        "tests_passed": judgement.tests_passed,
        "suspicious": list(judgement.suspicious),
    }
    return {"explanation": judgement.excluded or judgement.message or judgement.status, "metadata": facts}


class _SandboxMethods:
    """The files of one sample; each command has a jail of its own, which ends with it."""

    inspect: Any
    """``inspect_ai.util``."""
    folder: JailedFolder

    @classmethod
    async def sample_init(cls, *_: object, **__: object) -> dict[str, Any]:
        """Return the sandboxes of a sample."""
        return {"default": await _in_thread(cls)}

    @classmethod
    async def sample_cleanup(cls, *_: object, **__: object) -> None:
        """Nothing is left of a sample but its files in memory."""

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,  # noqa: A002 - inspect names it so
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        **_: object,
    ) -> Any:
        """Run a command.  Raises what inspect asks of a sandbox."""
        if user is not None:
            raise self.inspect.SandboxUserUnsupportedError(f"there is one user, and it is not {user!r}")
        stdin = input.encode() if isinstance(input, str) else input or b""
        abandoned = threading.Event()
        try:
            ended = await _in_thread(lambda: self.folder.run(cmd, stdin, cwd or "", env, timeout, abandoned))
        except SandboxError as error:
            raise self.inspect.SandboxUnavailableError(str(error)) from error
        finally:
            # Where the caller has been cancelled the command goes on.
            abandoned.set()
        most = self.inspect.SandboxEnvironmentLimits
        out, err = (data.decode("utf-8", "replace") for data in (ended.out, ended.err))
        if max(len(ended.out), len(ended.err)) > most.MAX_EXEC_OUTPUT_SIZE:
            raise self.inspect.OutputLimitExceededError(most.MAX_EXEC_OUTPUT_SIZE_STR, out)
        return self.inspect.ExecResult(ended.exit_code == 0, ended.exit_code, out, err)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Write a file."""
        self.folder.write(file, contents.encode() if isinstance(contents, str) else contents)

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        """Return the content of a file."""
        data = self.folder.read(file)
        most = self.inspect.SandboxEnvironmentLimits
        if len(data) > most.MAX_READ_FILE_SIZE:
            raise self.inspect.OutputLimitExceededError(most.MAX_READ_FILE_SIZE_STR, None)
        return data.decode() if text else data


@cache
def _sandbox_class() -> Any:
    """Return the sandbox ``passcurve`` as inspect has registered it."""
    from inspect_ai import util

    from passcurve.judging.jailed_folder import JailedFolder
    from passcurve.types import Limits

    # The base is untyped where inspect is not installed.
    class PasscurveSandbox(_SandboxMethods, util.SandboxEnvironment):  # type: ignore[misc]
        inspect = util

        def __init__(self) -> None:
            super().__init__()
            most_bytes = util.SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
            self.folder = JailedFolder(_runner(), Limits(timeout_s=_COMMAND_S), most_bytes)

    return util.sandboxenv(name="passcurve")(PasscurveSandbox)


async def _in_thread(function: Callable[[], Any]) -> Any:
    """Return what a function returns that waits; inspect runs on asyncio or on trio."""
    import anyio.to_thread

    return await anyio.to_thread.run_sync(function, abandon_on_cancel=True)


_runners: dict[int, ProgramRunner] = {}
_runners_lock = threading.Lock()


def _runner() -> ProgramRunner:
    """Return the warm sandbox of this process, which ends with it; one that was lost is started again."""
    from passcurve import config
    from passcurve.judging.program_runner import ProgramRunner
    from passcurve.types import Limits

    with _runners_lock:
        # A forked process has none of the threads and workers of its parent.
        runner = _runners.get(os.getpid())
        if runner is None:
            resources = config.fit_to_machine(None, None)
            runner = ProgramRunner(Limits(memory_bytes=resources.memory_bytes), resources.workers)
            atexit.register(runner.close)
            _runners[os.getpid()] = runner
        elif not runner.is_alive:
            runner.revive()
        return runner
