"""The functions of ``import passcurve``: judge, generate, evaluate and compare, with their async twins.

In: samples, or what writes them; a benchmark; options of judging as keywords.
Out: a Run, or a Comparison of two.
Refuses: what the commands refuse, with the same errors; keywords that no function has, as TypeError.
"""

from passcurve.api.comparison import compare
from passcurve.api.generation import evaluate, generate
from passcurve.api.judgement import Judgement
from passcurve.api.live import AsyncJudge, Judge
from passcurve.api.options import JudgingOptions, load_benchmark
from passcurve.api.samples import judge
from passcurve.api.twins import async_twin

judge_async = async_twin(judge)
generate_async = async_twin(generate)
evaluate_async = async_twin(evaluate)

__all__ = [
    "AsyncJudge",
    "Judge",
    "Judgement",
    "JudgingOptions",
    "compare",
    "evaluate",
    "evaluate_async",
    "generate",
    "generate_async",
    "judge",
    "judge_async",
    "load_benchmark",
]
