"""passcurve: what a code-generation model can really do.

Judge samples in a jail, estimate pass@k without bias, and compare models:

    import passcurve as pc

    run = pc.judge("samples.jsonl", "humaneval", k=(1, 10))
    run["pass@1"].value             # float(run["pass@1"]) is the same, or an error with the reason
    run["pass@1"].new_problems.low  # 95% interval for problems like these
    run.problems, run.samples       # tables, with .pandas() and .arrow()
    run.signature, run.digest       # everything that could change the score, in a line and in twelve characters
    run.plot("curve.svg")           # pass@k against k

    pc.generate("humaneval", model="openai:NAME", n=20, temperature=0.8)  # a model writes, each sample is judged
    pc.evaluate(function, "starter", n=20)                                # a function of yours is the model
    pc.load("samples.jsonl")                                              # what was judged before
    pc.compare("a.passcurve", "b.passcurve")["pass@1"].difference         # the same problems, two models
    pc.load_benchmark("starter").problems                                 # the problems themselves
    pc.stats.pass_at_k(20, 3, 10)                                         # the estimators on plain numbers

Every call raises a PasscurveError that says what is wrong, where, and what to do.  ``judge_async``, ``generate_async``
and ``evaluate_async`` are the same for an event loop.  Importing the package loads the standard library only; each name
is loaded when it is first used.
"""

from __future__ import annotations

__version__ = "0.1.0"

# What type checkers take for true; the module that has it takes ten times as long to load as this one.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from passcurve import stats
    from passcurve.analysis.compare import Comparison
    from passcurve.analysis.notebook import Run, Table, load
    from passcurve.api import (
        AsyncJudge,
        Judge,
        Judgement,
        compare,
        evaluate,
        evaluate_async,
        generate,
        generate_async,
        judge,
        judge_async,
        load_benchmark,
    )
    from passcurve.errors import PasscurveError
    from passcurve.stats.estimate import estimate
    from passcurve.types import Benchmark, Counts, Estimate, Problem

__all__ = [
    "AsyncJudge",
    "Benchmark",
    "Comparison",
    "Counts",
    "Estimate",
    "Judge",
    "Judgement",
    "PasscurveError",
    "Problem",
    "Run",
    "Table",
    "__version__",
    "compare",
    "estimate",
    "evaluate",
    "evaluate_async",
    "generate",
    "generate_async",
    "judge",
    "judge_async",
    "load",
    "load_benchmark",
    "stats",
]


def __getattr__(name: str) -> object:
    from passcurve.registry import PUBLIC, load

    if name not in PUBLIC:
        raise AttributeError(f"module 'passcurve' has no attribute {name!r}")
    return load(PUBLIC[name])


def __dir__() -> list[str]:
    return __all__
