"""Short names and where they live: the only file in which a module is named by a string and loaded on use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from passcurve.errors import UnknownNameError, UsageError, nearest

PUBLIC: dict[str, str] = {
    "AsyncJudge": "passcurve.api:AsyncJudge",
    "Benchmark": "passcurve.types:Benchmark",
    "Comparison": "passcurve.analysis.compare:Comparison",
    "Counts": "passcurve.types:Counts",
    "Estimate": "passcurve.types:Estimate",
    "Judge": "passcurve.api:Judge",
    "Judgement": "passcurve.api:Judgement",
    "PasscurveError": "passcurve.errors:PasscurveError",
    "Problem": "passcurve.types:Problem",
    "Run": "passcurve.analysis.notebook:Run",
    "Table": "passcurve.analysis.notebook:Table",
    "compare": "passcurve.api:compare",
    "estimate": "passcurve.stats.estimate:estimate",
    "evaluate": "passcurve.api:evaluate",
    "evaluate_async": "passcurve.api:evaluate_async",
    "generate": "passcurve.api:generate",
    "generate_async": "passcurve.api:generate_async",
    "judge": "passcurve.api:judge",
    "judge_async": "passcurve.api:judge_async",
    "load": "passcurve.analysis.notebook:load",
    "load_benchmark": "passcurve.api:load_benchmark",
    "stats": "passcurve.stats",
}
"""The public names of the package, each with its module and attribute."""

BACKENDS: dict[str, str] = {
    "anthropic": "passcurve.models.anthropic:Anthropic",
    "command": "passcurve.models.command:Command",
    "hf": "passcurve.models.hf:HuggingFace",
    "mutant": "passcurve.models.mutant:Mutant",
    "openai": "passcurve.models.openai:OpenAI",
    "recorded": "passcurve.models.recorded:Recorded",
    "vllm": "passcurve.models.vllm:Vllm",
}
"""The back ends, by the name before the colon in ``--model``."""

COMMANDS: dict[str, str] = {
    "judge": "passcurve.cli.judge:judge",
    "run": "passcurve.cli.run:run",
    "show": "passcurve.cli.show:show",
    "report": "passcurve.cli.report:report",
    "view": "passcurve.cli.view:view",
    "serve": "passcurve.cli.serve:serve",
    "compare": "passcurve.cli.compare:compare",
    "convert": "passcurve.cli.convert:convert",
    "autopsy": "passcurve.cli.autopsy:autopsy",
    "profiles": "passcurve.cli.profiles:profiles",
    "plan": "passcurve.cli.compare:plan",
    "match": "passcurve.cli.match:match",
    "lab": "passcurve.cli.lab:app",
    "bench": "passcurve.cli.bench:app",
    "doctor": "passcurve.cli.doctor:doctor",
}
"""The commands, in the order in which the help names them: a function each, or an app with commands of its own."""


def backend(spec: str) -> tuple[Any, str]:
    """Return the class and the argument that ``--model name:argument`` names.

    Raises UnknownNameError with all names for an unknown one, UsageError when there is no colon.
    """
    name, colon, argument = spec.partition(":")
    if name not in BACKENDS:
        names = ", ".join(f"{backend}:" for backend in BACKENDS)
        hint = nearest(name, BACKENDS) if colon else f"; is it openai:{spec}?"
        raise UnknownNameError(f"--model {spec!r}: {name!r} is not a back end{hint} (known: {names})")
    if not colon:
        raise UsageError(f"--model {spec!r} needs a colon; write it like {name}:")
    return load(BACKENDS[name]), argument


def load(target: str) -> object:
    """Return what ``module:attribute`` names, or the module where no attribute is named."""
    module, _, attribute = target.partition(":")
    loaded = import_module(module)
    return getattr(loaded, attribute) if attribute else loaded
