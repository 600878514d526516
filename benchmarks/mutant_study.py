"""Whether the interval for these problems holds the truth as often as it says, on a model whose truth is known.

    python benchmarks/mutant_study.py [--runs 200] [-n 20] [--benchmark starter]

Every mutation of every reference is judged once, in the jail, so that the true pass rate of each deck of ``mutant:`` is
known exactly.  Then as many runs are drawn as asked, each with a seed and so with decks of its own; the samples are
those that ``passcurve run --model mutant: --seed S`` gets, and each has the verdict that its program got.  Printed is
in how many runs the true mean over the problems lies in the interval for these problems.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import passcurve as pc
from passcurve.bench.prompts import find_style, make_prompts
from passcurve.models.backend import SampleRequest, Settings
from passcurve.models.mutant import Mutant, deck, mutations
from passcurve.stats.estimate import estimate
from passcurve.types import Benchmark, Counts, Decoding, Prompt

KS = (1, 10)


def main() -> None:
    """Judge all mutations, draw the runs, print the shares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("-n", type=int, default=20)
    parser.add_argument("--benchmark", default="starter")
    parser.add_argument("--workers", type=int, default=2)
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        benchmark = pc.load_benchmark(words.benchmark)
        passes = census(benchmark, Path(folder), words.workers)
    print(f"{len(passes)} programs of {len(benchmark.problems)} problems judged, {sum(passes.values())} passed")
    prompts = make_prompts(benchmark.problems, find_style("base"))
    backend = Mutant.open("", Settings())
    inside, widths = dict.fromkeys(KS, 0), dict.fromkeys(KS, 0.0)
    for seed in range(words.runs):
        counts = [draw_counts(backend, prompt, seed, words.n, passes) for prompt in prompts]
        rates = [sum(c.weight for c in deck(prompt, seed) if passes[prompt.problem_id, c.text]) for prompt in prompts]
        for pass_at_k in estimate(counts, KS):
            truth = sum(1.0 - (1.0 - rate) ** pass_at_k.k for rate in rates) / len(rates)
            span = pass_at_k.these_problems
            inside[pass_at_k.k] += span.low <= truth <= span.high
            widths[pass_at_k.k] += (span.high - span.low) / words.runs
    for k in KS:
        share = inside[k] / words.runs
        print(f"pass@{k}: truth inside in {inside[k]} of {words.runs} runs ({share:.3f}), mean width {widths[k]:.4f}")


def census(benchmark: Benchmark, folder: Path, workers: int) -> dict[tuple[str, str], bool]:
    """Return whether each program of any deck passes."""
    programs = [
        (problem.id, text)
        for problem in benchmark.problems
        for text in dict.fromkeys(
            [problem.reference, *(mutations(problem.prompt, problem.reference) or ["    pass\n"])]
        )
    ]
    samples = folder / "programs.jsonl"
    rows = (json.dumps({"task_id": task, "completion": text}) for task, text in programs)
    samples.write_text("".join(row + "\n" for row in rows), "utf-8")
    results = folder / "results.jsonl"
    pc.judge(samples, benchmark, k=1, workers=workers, run=folder / "run", results=results)
    rows = map(json.loads, results.read_text("utf-8").splitlines())
    return {(row["task_id"], row["completion"]): row["passed"] for row in rows}


def draw_counts(backend: Mutant, prompt: Prompt, seed: int, n: int, passes: dict[tuple[str, str], bool]) -> Counts:
    """Return n and c of one problem in one run."""
    order = SampleRequest(prompt=prompt, decoding=Decoding(seed=seed), indices=tuple(range(n)))
    passed = sum(passes[prompt.problem_id, reply.text] for reply in backend.generate(order))
    return Counts(problem_id=prompt.problem_id, n=n, c=passed)


if __name__ == "__main__":
    main()
