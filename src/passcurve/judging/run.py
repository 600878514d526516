"""The two ways to start a run: judge a file of samples, or generate samples and judge them as they come."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from passcurve import __version__
from passcurve.bench.choose import choose_problems
from passcurve.errors import Interrupted
from passcurve.extract import NO_PRELUDE, find_policy, fit_to_packages, with_prelude
from passcurve.generation.engine import GenerationEngine, GenerationRequest
from passcurve.generation.sources import FileSource, ModelSource, Source
from passcurve.judging.collector import VerdictCollector
from passcurve.judging.conclusion import FinishedRun, conclude
from passcurve.judging.early_import import EarlyImport
from passcurve.judging.jail_needs import needs_processes, preload_modules
from passcurve.judging.judge_run import JudgeRun
from passcurve.judging.plan import CheckPlan, limits_of
from passcurve.judging.plan_cache import PlanCache
from passcurve.judging.request import Progress, Request, Result
from passcurve.judging.scripts import needs_commands, with_toolchains
from passcurve.models.backend import Backend, FileBackend
from passcurve.sandbox import probe as isolation
from passcurve.sandbox.artifact_store import ArtifactStore
from passcurve.sandbox.forkserver_client import ForkServerClient
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.startup import start_sandbox
from passcurve.store.completions import Completions, SessionConfig, check_generation
from passcurve.store.results import check_results_file
from passcurve.store.rundir import JudgingSession, RunDir
from passcurve.store.samples_file import file_state
from passcurve.types import Generation, Header, Problem
from passcurve.types.amounts import are, part_of

__all__ = ["Progress", "Request", "Result", "judge", "run"]


def judge(
    request: Request,
    watch: Callable[[Progress], None] = lambda _: None,
    fork_server: ForkServerClient | None = None,
) -> Result:
    """Judge a file of samples, or resume an interrupted run of the same request.

    ``fork_server``: one that was started early, as for ``start_sandbox``.
    Raises Interrupted when the user stops it (finished verdicts are stored), and the errors of each room.
    """
    ids = [problem.id for problem in request.benchmark.problems]
    source = FileSource(request.samples, ids, strict=request.strict, follow_s=request.follow_s, ended=request.ended)
    return _judge(request, lambda: source, watch, fork_server=fork_server)


def run(
    request: Request,
    generation_request: GenerationRequest,
    config: SessionConfig,
    backend: Backend,
    watch: Callable[[Progress], None] = lambda _: None,
) -> Result:
    """Generate samples into the run directory, which is ``request.samples`` too, and judge each as it comes.

    Samples that are stored there are not generated again, and verdicts that are stored are not reached again.  When
    the back end gives up, the samples that came are judged, the rest is owed, and the result has the reason.  Closes
    the back end.  Raises as ``judge`` does.
    """

    def begin() -> Source:
        completions = Completions(request.run, config)
        return ModelSource(request.run, GenerationEngine(generation_request, completions, backend))

    with contextlib.closing(backend):
        # Before a session begins, which would make a finished run an unfinished one.
        check_generation(request.run, config.generation, is_opened=True)
        inputs = [backend.path] if isinstance(backend, FileBackend) else []
        return _judge(request, begin, watch, config.generation, inputs=inputs)


def _judge(
    request: Request,
    begin: Callable[[], Source],
    watch: Callable[[Progress], None],
    generation: Generation | None = None,
    fork_server: ForkServerClient | None = None,
    inputs: Sequence[Path] = (),
) -> Result:
    begun = file_state(request.samples) if request.follow_s is None else None
    problems = choose_problems(request.benchmark, request.problems)
    policy = with_prelude(request.extract, request.prelude)
    find_policy(policy)
    if request.results is not None:
        inputs = [*inputs, request.samples, *map(Path, request.sources), Path(request.benchmark.source)]
        check_results_file(request.results, inputs, request.run)
    with start_sandbox(
        request.limits,
        python=request.python,
        packages=request.packages,
        optional=request.benchmark.packages,
        level=request.isolation,
        reuse=request.reuse,
        preload=preload_modules(problems),
        processes=needs_processes(problems),
        commands=needs_commands(problems),
        early=fork_server,
    ) as sandbox:
        policy = fit_to_packages(policy, sandbox.probe.jail.packages)
        request = msgspec.structs.replace(request, extract=policy, prelude=NO_PRELUDE)
        probe = with_toolchains(sandbox.probe, problems)
        header = _header(request, problems, probe, generation)
        with (
            RunDir(request.run).open_session(header, reopen=generation is not None) as store,
            contextlib.closing(begin()) as source,
            # No more workers than there are rows: each holds interpreters in memory.
            Pool(max(1, source.count_rows(request.workers)), sandbox, _artifact_store(request, header)) as pool,
        ):
            finished = _judge_rows(request, problems, header, store, source, pool, watch)
            # They end while the scores are worked out.
            pool.request_exit()
            return conclude(finished, header, probe, begun)


def _judge_rows(
    request: Request,
    problems: tuple[Problem, ...],
    header: Header,
    store: JudgingSession,
    source: Source,
    pool: Pool,
    watch: Callable[[Progress], None],
) -> FinishedRun:
    """Judge all rows, with what is stored already."""
    cache = PlanCache(request.cache / "plans", header) if request.cache is not None else None
    if cache is not None:
        cache.add_code_to(pool.compiled_tests)
    collector = VerdictCollector(store, request.extract)
    libraries = EarlyImport()

    def watch_and_load(progress: Progress) -> None:
        libraries.watch(progress.judged)
        watch(progress)

    judge_run = JudgeRun(request, problems, source, store, pool, watch_and_load, cache, collector)
    try:
        judge_run.judge()
    except KeyboardInterrupt:
        collector.flush()
        tally = collector.tally
        raise Interrupted(
            f"{part_of(tally.scored, tally.planned, 'row')} read {are(tally.scored)} judged and stored in "
            f"{str(request.run)!r}; run the same command again to resume"
        ) from None
    finally:
        if cache is not None:
            cache.keep_code_of(pool.compiled_tests)
            cache.save()
    plans = {problem_id: plan for problem_id, plan in judge_run.plans.items() if plan is not None}
    return FinishedRun(request, judge_run.problems, source, store, collector, plans)


def _artifact_store(request: Request, header: Header) -> ArtifactStore | None:
    """Return where the files that compilers make are kept, if anywhere."""
    if request.cache is None or not header.jail.toolchains:
        return None
    jail = header.jail
    return ArtifactStore(request.cache / "binaries", (header.version, jail.isolation, *jail.layers, *jail.toolchains))


def _from_any_folder(source: str) -> str:
    """Return the place of a file; what is no file, as ``built-in``, stays as it is."""
    return str(Path(source).absolute()) if source and Path(source).exists() else source


def _header(
    request: Request, problems: tuple[Problem, ...], probe: isolation.Probe, generation: Generation | None
) -> Header:
    times = {limits_of(problem, CheckPlan(), request.limits).timeout_s for problem in problems}
    common = {"timeout_s": min(times)} if len(times) == 1 else {}
    return Header(
        own_limits=len(times) > 1,
        version=__version__,
        benchmark=request.benchmark.name,
        benchmark_source=_from_any_folder(request.benchmark.source),
        benchmark_digest=request.benchmark.digest,
        samples=str(request.samples.resolve()),
        limits=msgspec.structs.replace(request.limits, **common),
        verdict=request.verdict,
        dedup=request.dedup,
        jail=probe.jail,
        subset=request.subset,
        problems=request.problems,
        seed=request.seed,
        extract=request.extract,
        reading=request.reading,
        sources=tuple(request.sources),
        profile=request.benchmark.profile,
        task=request.benchmark.task,
        language=request.benchmark.language,
        all_tests=request.all_tests,
        generation=generation,
    )
