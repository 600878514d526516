"""Answers that forget their imports: they pass behind the prelude of a harness, and the score says which."""

from __future__ import annotations

import sys

from case import JUDGE, Case, own, right

FORGETFUL = right(0, completion="    return math.floor(x)\n")
ALIAS = right(1, completion="    return int(np.int64(x) + 1)\n")
ANNOTATED = right(2, completion="    def g(y: Optional[int]):\n        return y + 2\n    return g(x)\n")
RECURSIVE = right(
    3, completion="    def g(n):\n        return n and 1 + g(n - 1)\n    return g(20000) - 20000 + x + 3\n"
)
SAMPLES = [FORGETFUL, ANNOTATED, right(1), right(3)]
WITHOUT_PRELUDE = 0.75 if sys.version_info >= (3, 14) else 0.5
"""From 3.14 on annotations are looked up when something asks for them."""

CASES = [
    Case("forgotten imports", own(SAMPLES), JUDGE, value=WITHOUT_PRELUDE),
    Case("forgotten imports behind humaneval-x", own(SAMPLES), (*JUDGE, "--prelude", "humaneval-x"), value=1.0),
    Case("forgotten imports behind bigcode", own(SAMPLES), (*JUDGE, "--prelude", "bigcode"), value=1.0),
    Case("forgotten imports behind livecodebench", own(SAMPLES), (*JUDGE, "--prelude", "livecodebench"), value=1.0),
    Case("forgotten imports behind multipl-e", own(SAMPLES), (*JUDGE, "--prelude", "multipl-e"), value=WITHOUT_PRELUDE),
    Case("numpy by its short name", own([ALIAS]), (*JUDGE, "--subset", "--prelude", "humaneval-x"), value=1.0),
    Case("deep recursion", own([RECURSIVE]), (*JUDGE, "--subset"), value=0.0),
    Case(
        "deep recursion behind livecodebench",
        own([RECURSIVE]),
        (*JUDGE, "--subset", "--prelude", "livecodebench"),
        value=1.0,
    ),
    Case(
        "a prelude within the policy",
        own(SAMPLES),
        (*JUDGE, "--extract", "auto+prelude:humaneval-x"),
        value=1.0,
    ),
    Case(
        "fences behind a prelude",
        own([right(n, completion=f"```python\ndef f(x):\n    return x + {n}\n```\n") for n in range(4)]),
        (*JUDGE, "--prelude", "humaneval-x"),
        2,
        findings=("fenced",),
        says=("--extract auto",),
    ),
    Case(
        "two preludes",
        own(SAMPLES),
        (*JUDGE, "--extract", "auto+prelude:humaneval-x", "--prelude", "bigcode"),
        2,
        refused=True,
        says=("bigcode",),
    ),
    Case(
        "a prelude that no harness has",
        own(SAMPLES),
        (*JUDGE, "--prelude", "human-eval-x"),
        2,
        refused=True,
        says=("humaneval-x", "livecodebench"),
    ),
    Case(
        "an autopsy of one policy",
        own(SAMPLES),
        ("autopsy", "s.jsonl", "--benchmark", "b.jsonl", "--policies", "auto", "--preludes", "none"),
        2,
        refused=True,
    ),
]
