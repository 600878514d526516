"""lm-evaluation-harness itself, as it is installed, with a task that is its ``humaneval`` but for the functions."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import math
from pathlib import Path
from typing import Any

import pytest

from passcurve.compat import lm_eval as ours
from passcurve.errors import DataError, UsageError

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("default")]

CHECK = "def check(candidate):\n    assert candidate(2, 3) == 5\n"
NAMES = ("add", "total", "plus")
TASK = """
task: own_humaneval
dataset_path: json
dataset_kwargs: {data_files: {test: %s}}
unsafe_code: true
output_type: generate_until
test_split: test
doc_to_text: "{{prompt}}"
doc_to_target: "{{test}}\\ncheck({{entry_point}})"
metric_list:
  - metric: !function utils.pass_at_k
    aggregation: nanmean
    higher_is_better: true
    k: [1, 2]
    void: nan
generation_kwargs: {until: ["\\nclass"], max_gen_toks: 1024, do_sample: true}
repeats: 2
filter_list:
  - name: create_test
    filter: [{function: custom, filter_fn: !function utils.build_predictions}]
metadata: {version: 1.0}
"""


@pytest.fixture(scope="module")
def harness() -> Path:
    """Return the folder of the installed harness; skip the test without it."""
    package = importlib.util.find_spec("lm_eval")
    if package is None or not package.submodule_search_locations:
        pytest.skip("needs lm_eval: pip install lm_eval")
    return Path(package.submodule_search_locations[0])


def test_the_signatures_are_those_of_the_task(harness):
    """Each function of its ``utils.py`` takes what that one takes; ours may take more by keyword."""
    tree = ast.parse((harness / "tasks/humaneval/utils.py").read_text())
    theirs = {node.name: [arg.arg for arg in node.args.args] for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {"pass_at_k", "build_predictions", "build_predictions_instruct"} == theirs.keys()
    for name, arguments in theirs.items():
        parameters = inspect.signature(getattr(ours, name)).parameters.values()
        assert arguments == [one.name for one in parameters if one.kind is not one.KEYWORD_ONLY]


def test_an_evaluation(harness, tmp_path, monkeypatch):
    """The harness prints pass@k over the problems that could be judged; leaving early earns nothing."""
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    rows = [{"task_id": name, "prompt": f"def {name}(a, b):\n", "entry_point": name, "test": CHECK} for name in NAMES]
    # Tests that call nothing judge nobody.
    rows[2]["test"] = "def check(candidate):\n    pass\n"
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "own.yaml").write_text(TASK % json.dumps(str(tmp_path / "rows.jsonl")))
    (tmp_path / "utils.py").write_text("from passcurve.compat.lm_eval import build_predictions, pass_at_k\n")
    right, leaves = "    return a + b\n", "    import sys; sys.exit(0)\n"
    answers = {"def add": [right, right], "def total": [right, leaves], "def plus": [right, right]}

    class Recorded(LM):
        def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
            return [answers[request.args[0].partition("(")[0]].pop() for request in requests]

        def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
            raise NotImplementedError

        def loglikelihood_rolling(self, requests: list[Any]) -> list[float]:
            raise NotImplementedError

    tasks = TaskManager(include_path=str(tmp_path), include_defaults=False)
    results = simple_evaluate(
        Recorded(), tasks=["own_humaneval"], task_manager=tasks, confirm_run_unsafe_code=True, bootstrap_iters=10
    )
    assert results
    scores = results["results"]["own_humaneval"]
    assert pytest.approx((1 + 1 / 2) / 2) == scores["pass@1,create_test"]
    assert pytest.approx(1.0) == scores["pass@2,create_test"]


def test_what_nobody_knows():
    """Tests that judge nobody are an error, or NaN; a metric without k is wrong."""
    programs = [["def add(a, b):\n    return a + b\n"]]
    with pytest.raises(DataError):
        ours.pass_at_k(["assert True"], programs, [1])
    assert math.isnan(ours.pass_at_k(["assert True"], programs, 1, void="nan")["pass@1"])
    with pytest.raises(UsageError, match="k"):
        ours.pass_at_k(["assert True"], programs)


def test_predictions():
    """A program is the prompt and what follows; a fence ends it where the prompt has opened one."""
    docs = [{"prompt": "def f():\n"}]
    assert [["def f():\n    return 1\n"]] == ours.build_predictions([["    return 1\n"]], docs)
    assert [["def f():\n    return 1\n"]] == ours.build_predictions_instruct([["    return 1\n```\nThat is it."]], docs)
