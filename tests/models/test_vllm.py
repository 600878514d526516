"""The same trained Llama through vLLM, where that is installed; CI does not install it."""

from __future__ import annotations

import json

import pytest
from tiny_models import write_benchmark

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("default")]

ENGINE = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "TORCHDYNAMO_DISABLE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}
OPTIONS = ("dtype=float32", "enforce-eager=yes", "max-model-len=256")


def test_a_run(shell, llama):
    """pass@k rises with k, stdout has our JSON and nothing of the engine's."""
    pytest.importorskip("vllm", reason="needs vLLM: pip install '.[vllm]'")
    write_benchmark(shell.folder / "tiny.jsonl")
    words = ["run", "tiny.jsonl", "--model", f"vllm:{llama}", "-n", 10, "--k", "1,5,10", "--json", "--run", "r"]
    words += ["--concurrency", 32, *(word for option in OPTIONS for word in ("--model-option", option))]
    # The engine alone takes a minute to begin.
    session = shell.start(*words, "--max-tokens", 24, env=shell.env | ENGINE)
    out, err = session.communicate(timeout=600)
    assert 0 == session.returncode, err.decode()
    record = json.loads(out)
    one, five, ten = (record[f"pass@{k}"]["value"] for k in (1, 5, 10))
    assert 0.1 < one < five < ten
    assert 100 == record["generated"]["fresh"]
    rows = shell.rows("r/completions-001.jsonl")
    assert 100 == len({(row["task_id"], row["seed"]) for row in rows})
    assert {"stop", "length"} >= {row["finish_reason"] for row in rows}
