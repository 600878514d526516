"""Hugging Face's evaluate, as it is installed: a metric of its own that hands everything on to our ``compute``.

The script of ``code_eval`` is on a hub and is not fetched: that ours has its arguments and results is the contract test
beside this file.
"""

from __future__ import annotations

import pytest

from passcurve.compat.code_eval import compute

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("default")]

SCRIPT = '''
"""A metric with the columns of code_eval."""
import datasets
import evaluate

from passcurve.compat.code_eval import compute


class CodeEval(evaluate.Metric):
    def _info(self):
        columns = {"predictions": datasets.Sequence(datasets.Value("string")), "references": datasets.Value("string")}
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="", features=datasets.Features(columns)
        )

    def _compute(self, predictions, references, **options):
        return compute(predictions, references, **options)
'''


def test_a_metric(tmp_path, monkeypatch):
    """Columns of evaluate are what ``compute`` takes, and its own example has its own result."""
    # Read when it is imported.
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    evaluate = pytest.importorskip("evaluate", reason="needs evaluate: pip install evaluate")
    (tmp_path / "own_code_eval").mkdir()
    (tmp_path / "own_code_eval" / "own_code_eval.py").write_text(SCRIPT)
    metric = evaluate.load(str(tmp_path / "own_code_eval"), cache_dir=str(tmp_path / "cache"))
    # The example of code_eval's documentation.
    columns = {
        "references": ["assert add(2,3)==5"],
        "predictions": [["def add(a,b): return a*b", "def add(a, b): return a+b"]],
    }
    scores, results = metric.compute(**columns, k=[1, 2], num_workers=1)
    assert {"pass@1": 0.5, "pass@2": 1.0} == scores
    assert [False, True] == [row["passed"] for _, row in results[0]]
    assert (scores, results) == compute(**columns, k=[1, 2], num_workers=1)
