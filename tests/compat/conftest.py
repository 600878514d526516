"""Fixtures for tests with the callers themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from passcurve.compat.trainers.warm import close_judges


@pytest.fixture(autouse=True, scope="module")
def no_judge_left() -> Iterator[None]:
    """End the judges that stay warm for a trainer: tests of other modules look for processes that are left."""
    yield
    close_judges()


@pytest.fixture
def line_tokenizer() -> Callable[[Sequence[str]], Any]:
    """Return what makes a tokenizer whose tokens are lines: four special ones, and those of a list."""

    def make(lines: Sequence[str]) -> Any:
        import transformers
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers

        special = {"pad_token": "<pad>", "bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>"}
        words = {word: at for at, word in enumerate([*special.values(), *lines])}
        tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.Split("\n", "merged_with_previous")
        tokenizer.decoder = decoders.Fuse()
        return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)

    return make


@pytest.fixture
def two_problems(tmp_path, shell_in) -> str:
    """Write the problem B/0, and B/1 whose tests its own reference fails; return the file's path."""
    row = {"prompt": "def add(a, b):\n", "entry_point": "add", "canonical_solution": "    return a + b\n"}
    tests = {"B/0": "def check(candidate):\n    assert candidate(2, 3) == 5\n    assert candidate(-1, 1) == 0\n"}
    tests["B/1"] = tests["B/0"].replace("5", "7")
    rows = [row | {"task_id": task, "test": test} for task, test in tests.items()]
    return str(shell_in(tmp_path).write("two.jsonl", rows))


@pytest.fixture
def inspect(monkeypatch, tmp_path) -> Any:
    """Return inspect, in a folder of its own; skip the test without it."""
    module = pytest.importorskip("inspect_ai", reason="needs inspect_ai: pip install inspect-ai")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INSPECT_DISPLAY", "none")
    return module
