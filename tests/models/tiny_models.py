"""Models of a few hundred kilobytes, made on the spot: a Llama that is trained in ten seconds, and a T5 that is not.

The Llama writes one-line functions of the kinds below.  Three in ten of the bodies that it is shown are wrong, so that
it errs, and pass@k rises with k.  It is trained once and kept in ``PASSCURVE_TEST_CACHE``, else in the user's cache
folder, under the digest of this file and the versions of what trained it.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

BOTH = {
    "the sum of {a} and {b}": "{a} + {b}",
    "the product of {a} and {b}": "{a} * {b}",
    "{a} less {b}": "{a} - {b}",
    "the larger of {a} and {b}": "max({a}, {b})",
    "the smaller of {a} and {b}": "min({a}, {b})",
    "whether {a} equals {b}": "{a} == {b}",
    "{a} divided by {b}, rounded down": "{a} // {b}",
    "the rest of {a} divided by {b}": "{a} % {b}",
}
ONE = {
    "twice {a}": "2 * {a}",
    "the square of {a}": "{a} * {a}",
    "whether {a} is even": "{a} % 2 == 0",
    "the successor of {a}": "{a} + 1",
    "the text of {a}": "str({a})",
    "the opposite of {a}": "-{a}",
    "the size of {a}": "abs({a})",
    "half of {a}": "{a} / 2",
}
"""What a function returns, and its expression, with two arguments and with one."""
NAMES = ("f", "g", "h", "solve", "run", "calc")
LETTERS = "abcdefghknmpqrstuvwxyz"
WRONG = 0.3
STEPS, BATCH, RATE, WARM_UP = 350, 24, 8e-3, 30
PAD, BOS, EOS = "<|pad|>", "<|bos|>", "<|eos|>"
CHAT = "{% for m in messages %}{{ m['content'] }}{% endfor %}"


class Function(NamedTuple):
    """A function to be written."""

    name: str
    prompt: str
    body: str
    arguments: int


def functions(count: int, seed: int, wrong: float = 0.0) -> list[Function]:
    """Draw functions; a share of them has the body of another."""
    rng = random.Random(seed)
    kinds = [(text, body, 2) for text, body in BOTH.items()] + [(text, body, 1) for text, body in ONE.items()]
    made = []
    for _ in range(count):
        text, body, arguments = rng.choice(kinds)
        a, b = rng.sample(LETTERS, 2)
        name = rng.choice(NAMES)
        if rng.random() < wrong:
            body = rng.choice([other for _, other, needs in kinds if needs <= arguments])
        words = f"{a}, {b}" if arguments == 2 else a
        prompt = f'def {name}({words}):\n    """Return {text.format(a=a, b=b)}."""\n'
        made.append(Function(name, prompt, f"    return {body.format(a=a, b=b)}\n", arguments))
    return made


def write_benchmark(path: Path, count: int = 10) -> None:
    """Write problems that the Llama can partly solve, each with tests that its own reference has made."""
    rows = []
    for number, function in enumerate(functions(count, seed=99)):
        names: dict[str, Any] = {}
        exec(function.prompt + function.body, names)
        calls = [(7, 3), (-4, 5), (6, 6), (12, -5), (0, 1), (9, 2)]
        checks = [f"    assert candidate(*{args!r}) == {names[function.name](*args)!r}\n" for args in
                  (call[: function.arguments] for call in calls)]  # fmt: skip
        rows.append(
            {
                "task_id": f"tiny/{number}",
                "prompt": function.prompt,
                "entry_point": function.name,
                "canonical_solution": function.body,
                "test": "def check(candidate):\n" + "".join(checks),
            }
        )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def cache() -> Path:
    """Return where what takes time to make is kept."""
    named = os.environ.get("PASSCURVE_TEST_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(named) if named else Path(base, "passcurve-tests")


def tiny_llama() -> Path:
    """Return the folder of the trained Llama; make it where it is not there."""
    import torch
    import transformers

    made_of = f"{torch.__version__} {transformers.__version__}".encode() + Path(__file__).read_bytes()
    folder = cache() / f"tiny-llama-{hashlib.sha256(made_of).hexdigest()[:12]}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=folder.parent))
        try:
            _train(draft)
            draft.replace(folder)
        except OSError:
            # Another run was faster.
            if not folder.is_dir():
                raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return folder


def tokenizer_of(texts: list[str], *, begins: bool) -> Any:
    """Return a byte-level tokenizer that is trained on texts; with ``begins`` each text begins with a mark."""
    import tokenizers
    from transformers import PreTrainedTokenizerFast

    inner = tokenizers.Tokenizer(tokenizers.models.BPE())
    inner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=384,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[PAD, BOS, EOS],
        show_progress=False,
    )
    inner.train_from_iterator(texts, trainer)
    if begins:
        inner.post_processor = tokenizers.processors.TemplateProcessing(single=f"{BOS} $A", special_tokens=[(BOS, 1)])
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token=PAD, bos_token=BOS, eos_token=EOS)


def _train(folder: Path) -> None:
    import torch
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = functions(3000, 1, WRONG)
    tokenizer = tokenizer_of([row.prompt + row.body for row in rows], begins=True)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=176,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=256,
            tie_word_embeddings=True,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
        )
    )
    # Prompt and body apart, as they will be: together, the end of the one and the begin of the other are one token.
    ids = [
        tokenizer(row.prompt)["input_ids"] + tokenizer(row.body, add_special_tokens=False)["input_ids"] + [2]
        for row in rows
    ]
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    rng = random.Random(0)
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / WARM_UP) * (1 - step / STEPS)
        batch = rng.choices(ids, k=BATCH)
        width = max(map(len, batch))
        tokens = torch.tensor([row + [0] * (width - len(row)) for row in batch])
        seen = (tokens != 0).long()
        loss = model(input_ids=tokens, attention_mask=seen, labels=tokens.masked_fill(tokens == 0, -100)).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    torch.set_num_threads(threads)
    # transformers serve draws only where the model's own settings say so.
    model.generation_config = GenerationConfig(
        do_sample=True, top_k=0, temperature=1.0, pad_token_id=0, bos_token_id=1, eos_token_id=2
    )
    model.save_pretrained(folder)
    tokenizer.chat_template = CHAT
    tokenizer.save_pretrained(folder)


def make_t5(folder: Path) -> None:
    """Make an encoder-decoder with weights as they were drawn."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(1)
    rows = functions(200, 1)
    tokenizer = tokenizer_of([row.prompt + row.body for row in rows], begins=False)
    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(tokenizer),
            d_model=32,
            d_kv=8,
            d_ff=64,
            num_layers=2,
            num_decoder_layers=2,
            num_heads=4,
            decoder_start_token_id=0,
            pad_token_id=0,
            eos_token_id=2,
            initializer_factor=3.0,
        )
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
