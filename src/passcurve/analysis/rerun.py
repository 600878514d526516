"""One stored sample, judged again: the same program, tests and settings, in a jail of today."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from passcurve import config
from passcurve.analysis.inspect import InspectedSample
from passcurve.errors import DataError, SandboxError
from passcurve.judging import run as judging
from passcurve.store.rundir import RunDir
from passcurve.types import Benchmark, Limits, Verdict


class Rerun(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict that is stored, and the one of now."""

    stored: Verdict
    fresh: Verdict
    limits: Limits
    """Those of now."""

    @property
    def is_same(self) -> bool:
        """Tell whether both have one status."""
        return self.stored.status == self.fresh.status


def judge_again(sample: InspectedSample, timeout_s: float | None = None) -> Rerun:
    """Judge exactly this sample again; nothing that is stored changes.

    ``timeout_s`` replaces the time limit of the run.  Raises DataError where the program is not at hand, and what
    ``judging.judge`` raises; SandboxError when the judging itself fails.
    """
    key, header = sample.verdict.key, sample.header
    name = f"{key.problem_id} sample {key.sample_index}"
    if sample.program is None:
        raise DataError(f"{name} cannot be judged again: {sample.missing}")
    if sample.program.text is None:
        raise DataError(f"{name} has no code to judge: {'; '.join(sample.program.steps)}")
    limits, problem = sample.limits, sample.problem
    if timeout_s is not None:
        limits = msgspec.structs.replace(limits, timeout_s=timeout_s)
        # The limit that the benchmark sets would come first.
        problem = msgspec.structs.replace(problem, timeout_s=None)
    benchmark = Benchmark(
        name=header.benchmark,
        source=header.benchmark_source,
        digest=header.benchmark_digest,
        problems=(problem,),
        packages=problem.packages,
        profile=header.profile,
        task=header.task,
        language=header.language,
    )
    with TemporaryDirectory(prefix="passcurve-") as folder:
        samples = Path(folder, "samples.jsonl")
        samples.write_text(json.dumps({"task_id": key.problem_id, "solution": sample.program.text}) + "\n", "ascii")
        request = judging.Request(
            samples=samples,
            benchmark=benchmark,
            run=Path(folder, "run"),
            results=None,
            limits=limits,
            workers=1,
            ks=(1,),
            verdict=header.verdict,
            reuse=header.jail.reuse,
            packages=tuple(package.partition("==")[0] for package in header.jail.packages),
            subset=True,
            seed=header.seed,
            all_tests=header.all_tests,
            accept_input=True,
            accept_benchmark=True,
            cache=config.cache_dir(),
        )
        judging.judge(request)
        with RunDir(request.run).read() as stored:
            fresh = stored.verdict_at(0)
    if fresh is None:
        raise SandboxError(f"judging {name} again failed; run the command again")
    return Rerun(stored=sample.verdict, fresh=msgspec.structs.replace(fresh, key=key), limits=limits)
