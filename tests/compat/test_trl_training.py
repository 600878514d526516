"""TRL's GRPOTrainer with our reward: ten steps of a tiny model that is made here, on the CPU."""

from __future__ import annotations

from typing import Any

import pytest

from passcurve.compat.trainers.trl import make_reward

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("default")]

PROMPT = "def add(a, b):\n"
RIGHT = "    return a + b\n"
LINES = [PROMPT, RIGHT, "    return a - b\n", "    import sys; sys.exit(0)\n"]
"""The vocabulary: the model writes a body by choosing one line of it."""


@pytest.fixture
def trl(monkeypatch) -> Any:
    """Return TRL; skip the test without it."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("torch", "transformers", "datasets", "trl"):
        module = pytest.importorskip(name, reason=f"needs {name}: pip install torch trl")
    return module


def make_model(tokenizer: Any) -> Any:
    """Return a Llama of some thousand random weights."""
    import torch
    import transformers

    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    tokens = {"vocab_size": len(tokenizer), "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, **tokens))


def test_training(trl, two_problems, line_tokenizer, tmp_path):
    """Each step's reward is that of the right programs among those judged, and the model learns to write them."""
    import datasets

    seen: list[str] = []

    def expected(*, completions: list[str], task_id: list[str], **_: Any) -> list[float | None]:
        seen.extend(completions)
        return [
            None if task == "B/1" else float(text == RIGHT) for text, task in zip(completions, task_id, strict=True)
        ]

    settings = trl.GRPOConfig(
        output_dir=str(tmp_path / "trained"),
        max_steps=10,
        per_device_train_batch_size=32,
        num_generations=16,
        max_completion_length=1,
        learning_rate=0.05,
        use_cpu=True,
        bf16=False,
        seed=1,
        # The second function only looks on.
        reward_weights=[1.0, 0.0],
        report_to=[],
        save_strategy="no",
        logging_steps=1,
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    tokenizer = line_tokenizer(LINES)
    trainer = trl.GRPOTrainer(
        model=make_model(tokenizer),
        reward_funcs=[make_reward(two_problems, workers=1), expected],
        args=settings,
        train_dataset=datasets.Dataset.from_list([{"prompt": PROMPT, "task_id": task} for task in ("B/0", "B/1")]),
        processing_class=tokenizer,
    )
    trainer.train()
    steps = [step for step in trainer.state.log_history if "rewards/expected/mean" in step]
    assert 10 == len(steps)
    ours = [step["rewards/passcurve_reward/mean"] for step in steps]
    assert [step["rewards/expected/mean"] for step in steps] == ours
    # A random model draws each line once in eight times; nobody knows of half the batch, and TRL leaves it out.
    assert set(LINES[1:]) <= set(seen)
    assert 0 < sum(ours[:2]) < 1.2
    assert sum(ours[-2:]) > 1.5
