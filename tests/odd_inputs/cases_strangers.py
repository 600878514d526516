"""Inputs that a stranger tried: other layouts of JSON, code beside an empty field, tokens of a model, other ids."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from case import JUDGE, Case, benchmark, own, right, write_rows, wrong

FOUR = [right(n) for n in range(4)]
ROWS = [json.dumps(row) for row in FOUR]


def text(content: str) -> Callable[[Path], None]:
    """Return what writes this text as the samples."""

    def make(folder: Path) -> None:
        write_rows(folder / "b.jsonl", benchmark())
        (folder / "s.jsonl").write_text(content, "utf-8")

    return make


def refusal(name: str, content: str, *says: str) -> Case:
    """Return the case of a text that is refused with these words."""
    return Case(name, text(content), JUDGE, 2, refused=True, says=("s.jsonl", *says))


def withheld(name: str, *says: str, finding: str, **fields: Any) -> Case:
    """Return the case of rows with these fields, whose score is withheld."""
    return Case(name, own(row | fields for row in FOUR), JUDGE, 2, findings=(finding,), says=says)


WITHOUT_TASK = {"completion": "    return 1\n"}
TABLE = json.dumps({name: [row[name] for row in FOUR] for name in FOUR[0]})
TOKENS = [row | {"completion": f"{row['completion'].rstrip()}<|endoftext|>"} for row in FOUR]

CASES = [
    withheld("code beside an empty solution", "--field completion", finding="no_code_field", solution=""),
    withheld("an object for code", "an object", finding="list_of_code", completion={"text": "return 1"}),
    Case("tokens of a model", own(TOKENS), JUDGE, value=0.0, findings=("special_tokens",), says=("skip_special",)),
    refusal("objects over several lines", "\n".join(json.dumps(row, indent=1) for row in FOUR), "jq -c"),
    refusal("objects without lines", "".join(ROWS), "jq -c"),
    refusal("a comma after each row", ",\n".join(ROWS) + ",\n", "comma"),
    refusal("rows within an object", json.dumps({"model": "m", "samples": FOUR}), "'.samples[]'"),
    refusal(
        "patches of repositories", 2 * (json.dumps({"instance_id": "a__b-1", "model_patch": "d"}) + "\n"), "SWE-bench"
    ),
    refusal("rows by number", json.dumps({str(n): row for n, row in enumerate(FOUR)}), "jq -c '.[]'"),
    refusal("rows by task", json.dumps({row["task_id"]: WITHOUT_TASK for row in FOUR}), "{task_id: .key} + .value'"),
    refusal("lists of rows by task", json.dumps({"Own/0": 2 * [WITHOUT_TASK]}), "{task_id: .key} + .value[]'"),
    refusal(
        "predictions of OpenCompass",
        json.dumps({str(n): {"prediction": "x", "gold": f"Own/{n}"} for n in range(4)}),
        "{task_id: .gold, completion: .prediction}",
    ),
    refusal(
        "predictions of OpenCompass for tests",
        json.dumps({"0": {"prediction": "x", "gold": "assert f(1) == 1"}}),
        "'0'",
    ),
    refusal("rows of a viewer", json.dumps({"features": [], "rows": [{"row": row} for row in FOUR]}), "'.rows[].row'"),
    refusal("rows within rows", "".join(json.dumps({"row_idx": 0, "row": row}) + "\n" for row in FOUR), "jq -c '.row'"),
    refusal(
        "metadata within rows", 2 * (json.dumps({"meta": {"task_id": "Own/0"}, "text": "x"}) + "\n"), ".meta.task_id'"
    ),
    refusal("a table by columns", TABLE, "orient='records'"),
    refusal("a pointer of Git LFS", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
    refusal("a page in HTML", "<!DOCTYPE html>\n<html>404</html>\n", "HTML"),
    refusal("rows of a batch", 2 * (json.dumps({"custom_id": "Own/0", "body": {}}) + "\n"), "`custom_id`"),
    Case(
        "ids with the number of the sample",
        own(right(n, task_id=f"Own/{n}_0") for n in range(4)),
        JUDGE,
        2,
        refused=True,
        says=("'Own/{}_*=Own/{}'",),
    ),
    Case(
        "ids that a table wrote as fractions",
        own([*(right(n, task_id=float(n)) for n in range(3)), wrong(3, task_id=3.0)]),
        (*JUDGE, "--id-map", "{}=Own/{}"),
        value=0.75,
    ),
]
