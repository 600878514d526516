"""The request to judge, from the options that ``judge`` and ``run`` share."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from passcurve import config
from passcurve.bench.profiles import find_profile, find_rules
from passcurve.cli.options import JudgingOptions, ScoreOptions
from passcurve.errors import UsageError
from passcurve.types import DEFAULT_TIMEOUT_S, Benchmark, Limits

if TYPE_CHECKING:
    from passcurve.judging.run import Request


class Gate(NamedTuple):
    """One ``--fail-under``: pass@k must be at least ``minimum``."""

    k: int
    minimum: float


class Setup(NamedTuple):
    """Options of a command, checked and fitted to the machine."""

    score: ScoreOptions
    options: JudgingOptions
    gates: tuple[Gate, ...]
    scores: config.ScoreOptions
    limits: Limits
    workers: int
    note: str
    """Explanation when something was reduced to fit the machine; else empty."""

    def request(self, *, samples: Path, benchmark: Benchmark, run: Path, results: Path | None, extract: str) -> Request:
        """Return the request to judge these samples."""
        from passcurve.judging.run import Request

        rules = find_rules(self.options.profile, benchmark)
        return Request(
            samples=samples,
            benchmark=benchmark,
            run=run,
            results=results,
            limits=self.limits,
            workers=self.workers,
            ks=self.scores.ks,
            ks_requested=self.scores.ks_requested,
            with_curve=self.scores.with_curve,
            metrics=self.scores.metrics,
            level=self.score.level,
            verdict=self.options.verdict.value,
            isolation=self.options.isolation.value,
            packages=config.parse_names(self.options.packages),
            python=self.options.python,
            problems=self.options.problems,
            dedup=self.options.dedup,
            reuse=self.options.reuse.value,
            extract=extract or rules.extract,
            prelude=self.options.prelude or rules.prelude,
            all_tests=self.options.all_tests,
            accept_input=self.score.accept_input,
            accept_benchmark=self.score.accept_benchmark,
            cache=config.cache_dir(),
        )

    def ks_above(self, n: int) -> tuple[int, ...]:
        """Return each k that was asked for by name, or by a gate, and that n samples of a problem cannot give."""
        ks = self.scores.ks if self.scores.ks_requested else tuple(gate.k for gate in self.gates)
        return tuple(k for k in ks if k > n)


def check_options(score: ScoreOptions, judging: JudgingOptions) -> Setup:
    """Return the options, checked and fitted to the machine.  Raises UsageError for what cannot be."""
    gates = tuple(_parse_gate(text) for text in score.fail_under)
    scores = config.parse_scores(score.k, score.metric, [gate.k for gate in gates])
    memory = config.parse_size(judging.memory) if judging.memory else None
    workers, memory_bytes, note = config.fit_to_machine(judging.workers, memory)
    profile_s = find_profile(judging.profile).timeout_s
    limits = Limits(
        timeout_s=profile_s if profile_s and judging.timeout == DEFAULT_TIMEOUT_S else judging.timeout,
        test_timeout_s=judging.test_timeout,
        clock=judging.clock.value,
        memory_bytes=memory_bytes,
    )
    return Setup(score, judging, gates, scores, limits, workers, note)


def _parse_gate(text: str) -> Gate:
    match = re.fullmatch(r"pass@([1-9][0-9]*)=(0?\.[0-9]+|0|1(?:\.0*)?)", text.strip())
    if match is None:
        raise UsageError(f"--fail-under {text!r} is not a gate; write it like pass@1=0.5")
    return Gate(int(match[1]), float(match[2]))
