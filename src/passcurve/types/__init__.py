"""Records that travel between the rooms: frozen, keyword-only, with units in their names.

In: nothing.  Out: the records.  Refuses: to compute anything with them.
"""

from __future__ import annotations

from passcurve.types.generation import (
    Decoding,
    Generation,
    GenerationProgress,
    Message,
    Prices,
    Prompt,
    Reply,
)
from passcurve.types.languages import Build, Language, Tools
from passcurve.types.problems import (
    WITH_TYPING,
    Assertions,
    Benchmark,
    Cases,
    Check,
    Expression,
    FunctionTests,
    Problem,
    Script,
    Suite,
    UnitTests,
    pack_values,
    unpack_values,
)
from passcurve.types.samples import (
    Completion,
    Program,
    SampleKey,
)
from passcurve.types.scores import (
    Counts,
    Curve,
    Estimate,
    Interval,
    Metric,
)
from passcurve.types.verdicts import (
    DEFAULT_TIMEOUT_S,
    SCORED,
    STATUSES,
    Call,
    Clock,
    Header,
    Isolation,
    Jail,
    Limits,
    Mode,
    Reuse,
    Status,
    SuiteOutcome,
    Verdict,
)

__all__ = [
    "DEFAULT_TIMEOUT_S",
    "SCORED",
    "STATUSES",
    "WITH_TYPING",
    "Assertions",
    "Benchmark",
    "Build",
    "Call",
    "Cases",
    "Check",
    "Clock",
    "Completion",
    "Counts",
    "Curve",
    "Decoding",
    "Estimate",
    "Expression",
    "FunctionTests",
    "Generation",
    "GenerationProgress",
    "Header",
    "Interval",
    "Isolation",
    "Jail",
    "Language",
    "Limits",
    "Message",
    "Metric",
    "Mode",
    "Prices",
    "Problem",
    "Program",
    "Prompt",
    "Reply",
    "Reuse",
    "SampleKey",
    "Script",
    "Status",
    "Suite",
    "SuiteOutcome",
    "Tools",
    "UnitTests",
    "Verdict",
    "pack_values",
    "unpack_values",
]
