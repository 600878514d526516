"""inspect itself, as it is installed, with a model that says what it is told: our scorer and our rows of scores."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from passcurve.compat.inspect_ai import passcurve_scorer

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("default")]

RIGHT = "```python\ndef add(a, b):\n    return a + b\n```"
PARTLY = "```python\ndef add(a, b):\n    return 5\n```"
LEAVES = "```python\ndef add(a, b):\n    import sys; sys.exit(0)\n```"


def evaluate(inspect: Any, scorer: Any, answers: dict[str, tuple[str, str]], **options: Any) -> Any:
    """Return the log of a task, in which the model gives each sample, by its id, an answer to a problem."""
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    texts = {f"Write {name}.": text for name, (_, text) in answers.items()}

    def answer(messages: list[Any], *_: object) -> ModelOutput:
        output = ModelOutput.from_content("mockllm/model", texts[messages[-1].text])
        # Without it inspect counts tokens, and fetches a vocabulary for that.
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    samples = [
        Sample(id=name, input=f"Write {name}.", metadata={"task_id": task}) for name, (task, _) in answers.items()
    ]
    task = inspect.Task(dataset=samples, scorer=scorer)
    (log,) = inspect.eval(task, model=get_model("mockllm/model", custom_outputs=answer), **options)
    return log
    return log


def values(log: Any) -> dict[str, Any]:
    """Return the value of each sample that has a score."""
    return {sample.id: next(iter(sample.scores.values())).value for sample in log.samples}


def test_scores(inspect, two_problems):
    """C and I in a real evaluation; leaving early is I; the log has what made the scorer, and why."""
    answers = {"right": ("B/0", RIGHT), "partly": ("B/0", PARTLY), "leaves": ("B/0", LEAVES)}
    log = evaluate(inspect, passcurve_scorer(two_problems, options={"workers": 1}), answers)
    assert "success" == log.status
    assert {"right": "C", "partly": "I", "leaves": "I"} == values(log)
    (scores,) = log.results.scores
    assert pytest.approx(1 / 3) == scores.metrics["accuracy"].value
    assert "passcurve_scorer" == log.eval.scorers[0].name
    assert two_problems == log.eval.scorers[0].options["benchmark"]
    (partly,) = [next(iter(sample.scores.values())) for sample in log.samples if sample.id == "partly"]
    assert "AssertionError" in partly.explanation
    assert "failed" == partly.metadata["status"]


def test_shares(inspect, two_problems):
    """With ``share`` a value is the share of tests that passed."""
    scorer = passcurve_scorer(two_problems, share=True, options={"workers": 1})
    log = evaluate(inspect, scorer, {"right": ("B/0", RIGHT), "partly": ("B/0", PARTLY)})
    assert {"right": 1.0, "partly": 0.5} == values(log)
    assert 0.75 == log.results.scores[0].metrics["accuracy"].value


def test_what_nobody_knows(inspect, two_problems):
    """A sample that could not be judged is left out of the metric, or is an error."""
    answers = {"right": ("B/0", RIGHT), "unknown": ("B/1", RIGHT)}
    log = evaluate(inspect, passcurve_scorer(two_problems, options={"workers": 1}), answers)
    assert 1.0 == log.results.scores[0].metrics["accuracy"].value
    assert 1 == log.results.scores[0].unscored_samples
    scorer = passcurve_scorer(two_problems, raise_void=True, options={"workers": 1})
    log = evaluate(inspect, scorer, answers, fail_on_error=False)
    errors = {sample.id: sample.error and sample.error.message for sample in log.samples}
    assert errors["right"] is None
    assert "reference solution" in errors["unknown"]


def test_inspect_score(inspect, two_problems, tmp_path):
    """The command ``inspect score`` finds the scorer by its name in the installed package."""
    from inspect_ai.scorer import match

    log = evaluate(inspect, match(), {"right": ("B/0", RIGHT), "leaves": ("B/0", LEAVES)})
    words = ["score", log.location, "--scorer", "passcurve/passcurve_scorer", "-S", f"benchmark={two_problems}"]
    words += ["--action", "overwrite", "--output-file", str(tmp_path / "again.eval")]
    command = Path(sys.executable).with_name("inspect")
    done = subprocess.run([command, *words], capture_output=True, text=True, timeout=120, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr
    assert {"right": "C", "leaves": "I"} == values(inspect.log.read_eval_log(str(tmp_path / "again.eval")))


def test_precomputed_scores(inspect, shell, two_problems):
    """Rows that ``convert`` writes are the scores of a log: by epoch, and none for a sample without a verdict."""
    from inspect_ai.scorer import precomputed_scores

    texts = {"C": "    return a + b\n", "I": "    import sys; sys.exit(0)\n"}
    shell.write("s.jsonl", [{"task_id": "B/0", "completion": text} for text in texts.values()])
    judged = shell("judge", "s.jsonl", "--benchmark", two_problems, "--subset", "--results", "r.jsonl")
    assert 0 == judged.code, judged.err
    assert 0 == shell("convert", "r.jsonl", "scores.jsonl", "--to", "inspect-scores").code
    rows = [json.loads(line) for line in (shell.folder / "scores.jsonl").read_text().splitlines()]
    assert [("B/0", 1), ("B/0", 2)] == [(row["id"], row["epoch"]) for row in rows]
    answers = {"B/0": ("B/0", RIGHT), "B/1": ("B/1", RIGHT)}
    scorer = precomputed_scores(str(shell.folder / "scores.jsonl"))
    log = evaluate(inspect, scorer, answers, epochs=2)
    assert [("B/0", 1, "C"), ("B/0", 2, "I")] == [
        (sample.id, sample.epoch, next(iter(sample.scores.values())).value) for sample in log.samples if sample.scores
    ]
