"""passcurve: what a code-generation model can really do.

Importing the package loads the standard library only; each public name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from passcurve.bench.resolve import load as load_benchmark
    from passcurve.errors import PasscurveError
    from passcurve.pipeline import Request, Result, judge
    from passcurve.stats import exact_pass_at_k, fail_at_k, pass_at_k, pass_curve
    from passcurve.stats.estimate import estimate
    from passcurve.types import Benchmark, Counts, Estimate, Limits, Problem, Verdict

__all__ = [
    "Benchmark",
    "Counts",
    "Estimate",
    "Limits",
    "PasscurveError",
    "Problem",
    "Request",
    "Result",
    "Verdict",
    "__version__",
    "estimate",
    "exact_pass_at_k",
    "fail_at_k",
    "judge",
    "load_benchmark",
    "pass_at_k",
    "pass_curve",
]


def __getattr__(name: str) -> object:
    from passcurve.registry import PUBLIC, load

    if name not in PUBLIC:
        raise AttributeError(f"module 'passcurve' has no attribute {name!r}")
    return load(PUBLIC[name])


def __dir__() -> list[str]:
    return __all__
