"""Samples that fail for one reason, that are no programs, or that are of several models."""

from __future__ import annotations

import json
from typing import Any

from case import JUDGE, Case, benchmark, own, problem, right, wrong

AUTO = (*JUDGE, "--extract", "auto")


def texts(name: str, completion: str, finding: str, *says: str, words: tuple[str, ...] = JUDGE) -> Case:
    """Return the case of four rows with this text for a completion, none of which passes, with what is said of it."""
    rows = [right(n, completion=completion.replace("N", str(n))) for n in range(4)]
    return Case(name, own(rows), words, value=0.0, findings=(finding,), says=says)


def whole(name: str, solution: str, *findings: str, says: tuple[str, ...], rounds: int = 1) -> Case:
    """Return the case of rows with this text for a whole program, none of which passes."""
    rows = [
        {"task_id": f"Own/{n}", "solution": solution.replace("N", str(n)).replace("R", str(r))}
        for r in range(rounds)
        for n in range(4)
    ]
    return Case(name, own(rows), JUDGE, value=0.0, findings=findings, says=says)


SOME = [right(0), right(1), right(2)]

NO_PROGRAMS = [
    texts("diffs", "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n+    return x + N\n", "diffs", "a diff"),
    texts("sessions", ">>> def f(x):\n...     return x + N\n", "doctest_prompts", ">>>"),
    texts("another language", "function f(x) {\n  return x + N;\n}\n", "other_language", "another language"),
    texts("no-break spaces", "\u00a0\u00a0\u00a0 return x + N\n", "no_break_spaces", "U+00A0"),
    texts(
        "no-break spaces that are cut off",
        "    y = 1\n\u00a0\u00a0\u00a0 return x + N\n",
        "no_break_spaces",
        "U+00A0",
        words=AUTO,
    ),
    texts("typographic quotes", "    return x + len(\u2019N\u2019)\n", "typographic_quotes", "typographic"),
    texts(
        "entities that are cut off",
        "    y = x\n    if x &lt; 0:\n        return N\n    return x + N\n",
        "html_entities",
        "html.unescape",
        words=AUTO,
    ),
    texts("quoted bytes", repr(b"    y = 1\n    return x + N\n"), "quoted_text", "ast.literal_eval"),
    texts("quoted texts", repr("    y = 1\n    return x + N\n"), "quoted_text", "ast.literal_eval"),
    texts("JSON for code", json.dumps({"code": "def f(x):\n    return x + N\n"}), "json_text", "fromjson"),
    texts("JSON in a fence", '```json\n{"code": "def f(x): return x + N"}\n```', "json_text", "gsub("),
    texts("a list as text", json.dumps(["def f(x):\n    return x + N\n"]), "json_text", "fromjson | .[0]"),
    texts("a comment above lost indentation", "# N\nreturn x + N\n", "lost_indentation", "--extract auto"),
    Case(
        "error messages for answers",
        own([*SOME, right(3, completion="Error: Rate limit exceeded (429). Please try again later.")]),
        JUDGE,
        value=0.75,
        findings=("error_messages",),
        says=("1 row is error messages of an API and no answers; ask for these again",),
    ),
    Case(
        "refusals",
        own([*SOME, right(3, completion="I'm sorry, but I can't help with that request.")]),
        JUDGE,
        value=0.75,
        findings=("refusals",),
        says=("1 row refuses to answer",),
    ),
]

NAMED = [problem(n, entry_point=f"f{n}", prompt=f"def f{n}(x):\n") for n in range(5)]
SHIFTED = [{"task_id": f"Own/{n + 1}", "solution": f"def f{n}(x):\n    return x + {n}\n"} for n in range(4)]
CROSSED = [row | {"task_id": f"Own/{3 - n}"} for n, row in enumerate(SHIFTED)]
IMPORTS = [
    right(n, completion=f"    y: List = {r}\n    z = List\n    return x + {n}\n") for n in range(4) for r in range(2)
]
CHATS = [right(n, completion=f"Here:\n\n```python\ndef f(x):\n    return x + {n}\n```\n") for n in range(3)]

REASONS = [
    whole(
        "another name for the function",
        'def g(x):\n    """Return f(x)."""\n    return x + N\n',
        "lacks_function",
        says=("has 'g' in its place: give it the name that the tests call",),
    ),
    Case(
        "ids that count from 1, of the first tasks",
        own(SHIFTED, NAMED),
        (*JUDGE, "--subset"),
        value=0.0,
        findings=("lacks_function",),
        says=("they count from 1, use --id-map 'Own/{}=Own/{-1}'",),
    ),
    Case(
        "ids in another order",
        own(CROSSED, NAMED[:4]),
        JUDGE,
        value=0.0,
        findings=("lacks_function",),
        says=("is the function of 'Own/0', so the ids do not belong to the texts",),
    ),
    Case(
        "an import that is missing",
        own(IMPORTS),
        JUDGE,
        value=0.0,
        findings=("missing_import",),
        says=("8 of 8 rows fail because 'List' is not defined", "--prelude"),
    ),
    Case(
        "calls after the function that raise",
        own([*SOME, right(3, completion="    return x + 3\n\n\nprint(f(None))\n")]),
        JUDGE,
        value=0.75,
        findings=("runs_on",),
        says=("1 row goes on after the function, and that end raises an exception", "--extract pruned"),
    ),
    Case(
        "replies that were cut off behind a whole line",
        own([*CHATS, right(3, completion="Here:\n\n```python\ndef f(x):\n    y = x + 3\n")]),
        AUTO,
        value=0.75,
        findings=("truncated",),
        says=("1 row ends in a fence that is not closed; if the model was cut off, generate with more tokens",),
    ),
    Case(
        "a package that is not there",
        own(
            [
                right(n, completion=f"    import pandas.{m}\n    return x + {n}\n")
                for n in range(4)
                for m in ("io", "api")
            ]
        ),
        JUDGE,
        value=0.0,
        findings=("missing_package",),
        says=("8 of 8 rows fail because 'pandas' cannot be imported here", "--packages pandas"),
    ),
    whole(
        "programs that read standard input",
        "x = int(input())\n\ndef f(x):\n    return x + N\n",
        "one_reason",
        says=("4 of 4 rows fail for one reason, EOFError", "standard input"),
    ),
    texts(
        "thinking without an end",
        "<think>\nWe need N more\n",
        "open_thinking",
        "4 rows begin with thinking that does not end",
        words=AUTO,
    ),
    whole(
        "samples none of which passes",
        "def f(x):\n    return str(R)\n",
        "none_passes",
        says=("none of 12 rows passes (12 AssertionError)", "task ids"),
        rounds=3,
    ),
    whole(
        "one error of syntax",
        "def f(x):\n    print x\n    return x + R\n",
        "broken",
        says=("12 rows do not compile, most of all by SyntaxError: Missing parentheses",),
        rounds=3,
    ),
]


def made(n: int, r: int) -> dict[str, Any]:
    """Return a right sample that differs from the others of its task."""
    return right(n, completion=f"    y = {r}\n    return x + {n}\n")


MODELS = [made(n, r) | {"model": "ab"[r]} for r in range(2) for n in range(4)]

MIXTURES = [
    Case(
        "two models in one file",
        own(MODELS),
        JUDGE,
        value=1.0,
        findings=("mixture",),
        says=("`model` has 2 values, a (4 rows), b (4 rows): the score is a mixture", 'select(.model == \\"a\\")'),
    ),
    Case(
        "two temperatures in one file",
        own(made(n, r) | {"temperature": 0.8 * r} for r in range(2) for n in range(4)),
        JUDGE,
        value=1.0,
        findings=("mixture",),
        says=("`temperature` has 2 values, 0 (4 rows), 0.8 (4 rows)", "select(.temperature == 0.0)"),
    ),
    Case(
        "models in the names of rows",
        own(made(n, r) | {"_identifier": f"Own/{n} {'ab'[r]}"} for r in range(2) for n in range(4)),
        JUDGE,
        value=1.0,
        findings=("mixture",),
        says=("`_identifier` has 2 values, a (4 rows)",),
    ),
    Case("one model in all rows", own(row | {"model": "a"} for row in MODELS), JUDGE, value=1.0),
    Case("a name of its own in each row", own(made(n, 0) | {"model": f"m{n}"} for n in range(4)), JUDGE, value=1.0),
    Case("a failure of some", own([*SOME, wrong(3)], benchmark()), JUDGE, value=0.75),
]

CASES = [*NO_PROGRAMS, *REASONS, *MIXTURES]
