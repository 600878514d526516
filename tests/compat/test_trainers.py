"""Rewards for trainers, against the contracts of their callers: called as these call, judged in the jail.

These are contract tests: the trainers themselves are not installed; slime is not on the package index.
"""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from argparse import Namespace

import pytest

from passcurve.compat.trainers import slime
from passcurve.compat.trainers.trl import make_reward
from passcurve.compat.trainers.verl import compute_score
from passcurve.errors import DataError, SandboxError, UsageError

CHEATS = ["    import sys; sys.exit(0)\n", "    print('passed')\n", "    import os; os._exit(0)\n"]
PARTLY = "    return 1\n"


@pytest.fixture
def unjudgeable(tmp_path, shell_in):
    """Write a benchmark whose reference fails its tests; return its path."""
    row = {"task_id": "B/0", "prompt": "def f(x):\n", "entry_point": "f", "canonical_solution": "    return 1\n"}
    test = "def check(candidate):\n    assert candidate(1) == 2\n"
    shell_in(tmp_path).write("b.jsonl", [row | {"test": test}])
    return str(tmp_path / "b.jsonl")


@pytest.mark.ci
def test_trl(starter, unjudgeable):
    """As GRPO calls it: keywords, every column as a list; texts or messages; None where nobody knows."""
    reward = make_reward("starter", workers=1)
    assert inspect.iscoroutinefunction(reward)
    assert reward.__name__ == "passcurve_reward"
    texts = [starter.right()["completion"], starter.bad()["completion"], *CHEATS]
    messages = [[{"role": "assistant", "content": text}] for text in texts]
    more = {"completion_ids": [[1]] * len(texts), "trainer_state": None, "log_extra": None, "log_metric": None}
    tasks = ["starter/0"] * len(texts)

    async def main() -> list[list[float | None]]:
        calls = (
            reward(prompts=["p"] * len(texts), completions=form, task_id=tasks, **more) for form in (texts, messages)
        )
        unknown = make_reward(unjudgeable, workers=1)
        last = unknown(prompts=["p"], completions=["    return 2\n"], task_id=["B/0"], **more)
        return list(await asyncio.gather(*calls, last))

    plain, chat, unknown = asyncio.run(main())
    assert [1.0, *[0.0] * 4] == plain == chat
    assert [None] == unknown
    # A dataset of several kinds has no id in some rows.
    mixed = reward(prompts=["p"] * 2, completions=[texts[0]] * 2, task_id=[None, "starter/0"])
    assert [None, 1.0] == asyncio.run(mixed)
    with pytest.raises(UsageError, match="task_id"):
        asyncio.run(reward(prompts=["p"], completions=["x"]))
    with pytest.raises(DataError, match="starter/999"):
        asyncio.run(reward(prompts=["p"], completions=["x"], task_id=["starter/999"]))


def test_ids_that_are_numbers(tmp_path, shell_in):
    """The ids of MBPP are numbers in its tables, and 7.0 where some row has none; they name its problems."""
    right = "def add(a, b):\n    return a + b"
    row = {"task_id": 7, "text": "Add.", "code": right, "test_list": ["assert add(1, 2) == 3"]}
    path = str(shell_in(tmp_path).write("mbpp.jsonl", [row | {"test_setup_code": "", "challenge_test_list": []}]))
    reward = make_reward(path, workers=1)
    assert [1.0, 1.0, None] == asyncio.run(reward(completions=[right] * 3, task_id=[7, 7.0, None]))
    scored = compute_score("mbpp", right, "", {"task_id": 7}, benchmark=path, options={"workers": 1})
    assert 1.0 == scored["score"]
    sample = Namespace(response=right, label=7, metadata=None)
    assert 1.0 == asyncio.run(slime.make_reward(path, workers=1)(None, sample))
    with pytest.raises(DataError, match="task_id"):
        asyncio.run(reward(completions=[right], task_id=[True]))


def test_trl_with_shares():
    """A reward in part is a number between those of wrong and right."""
    reward = make_reward("starter", share=True, workers=1)
    (part,) = asyncio.run(reward(prompts=["p"], completions=[PARTLY], task_id=["starter/0"]))
    assert part is not None
    assert 0 < part < 1


@pytest.mark.ci
def test_verl(starter, unjudgeable):
    """As the naive manager calls it: keywords, and ``reward_kwargs`` beside; ``void`` is told apart, never made up."""

    def score(text: str, task: str = "starter/0", **settings: object) -> dict[str, float]:
        return compute_score(
            data_source="starter",
            solution_str=text,
            ground_truth="",
            extra_info={"task_id": task, "index": 3},
            options={"workers": 1},
            reward_router_address=None,
            **settings,
        )

    assert {"score": 1.0, "passed": 1.0, "void": 0.0} == score(starter.right()["completion"])
    for cheat in CHEATS:
        assert {"score": 0.0, "passed": 0.0, "void": 0.0} == score(cheat)
    assert 0 < score(PARTLY, share=True)["score"] < 1
    with pytest.raises(SandboxError, match="void_score"):
        score("    return 2\n", "B/0", benchmark=unjudgeable)
    unknown = score("    return 2\n", "B/0", benchmark=unjudgeable, void_score=-1.0)
    assert {"score": -1.0, "passed": 0.0, "void": 1.0} == unknown
    with pytest.raises(UsageError, match="task_id"):
        compute_score("starter", "x", {"inputs": []})
    # Tables fill what a row lacks with None.
    named = compute_score("starter", starter.right()["completion"], "starter/0", {"task_id": None})
    assert 1.0 == named["score"]


@pytest.mark.ci
def test_slime(starter, unjudgeable):
    """As ``--custom-rm-path`` calls it: a sample or a batch; what nobody knows is out of the loss, or an error."""

    def sample(text: str, task: str = "starter/0", **fields: object) -> Namespace:
        return Namespace(response=text, label=task, metadata={}, remove_sample=False, reward=None, **fields)

    reward = slime.make_reward("starter", workers=1)
    assert inspect.iscoroutinefunction(reward)
    right = starter.right()["completion"]
    arguments = Namespace(reward_key=None)
    assert 1.0 == asyncio.run(reward(arguments, sample(right), evaluation=False))
    assert [1.0, 0.0, 0.0, 0.0] == asyncio.run(reward(arguments, [sample(text) for text in (right, *CHEATS)]))
    named = sample(PARTLY, "4")
    named.metadata = {"task_id": "starter/0"}
    assert 0 < asyncio.run(slime.make_reward("starter", share=True, workers=1)(arguments, named)) < 1
    named.metadata, named.label = {"task_id": None}, "starter/0"
    assert 0.0 == asyncio.run(reward(arguments, named))
    unknown = sample("    return 2\n", "B/0")
    with pytest.raises(SandboxError, match="void_reward"):
        asyncio.run(slime.make_reward(unjudgeable, workers=1)(arguments, unknown))
    assert not unknown.remove_sample
    placed = slime.make_reward(unjudgeable, void_reward=0.0, workers=1)
    assert [0.0] == asyncio.run(placed(arguments, [unknown]))
    assert unknown.remove_sample
    with pytest.raises(UsageError, match="label"):
        asyncio.run(reward(arguments, Namespace(response="x", label=None, metadata=None)))


@pytest.mark.ci
def test_a_process_ends_with_its_judge(starter):
    """A trainer that never closes anything ends, also after a fork that has judged for itself."""
    source = (
        "import os\n"
        "from passcurve.compat.trainers.verl import compute_score\n"
        f"call = lambda: compute_score('starter', {starter.right()['completion']!r}, 'starter/0',"
        " options={'workers': 1})\n"
        "assert call()['score'] == 1.0\n"
        "child = os.fork()\n"
        "assert call()['score'] == 1.0\n"
        "assert child == 0 or os.waitpid(child, 0)[1] == 0\n"
    )
    assert 0 == subprocess.run([sys.executable, "-c", source], timeout=60, check=False).returncode


@pytest.mark.ci
def test_a_sandbox_that_is_lost(starter):
    """While each new sandbox is killed nobody knows, and nothing is raised that ends the training."""
    source = (
        "import asyncio, os, signal, subprocess, sys, threading, time\n"
        "from passcurve.compat.trainers.trl import make_reward\n"
        "from passcurve.compat.trainers.verl import compute_score\n"
        "def kill():\n"
        "    while killing:\n"
        "        for task in os.listdir('/proc/self/task'):\n"
        "            try:\n"
        "                with open(f'/proc/self/task/{task}/children') as file: children = file.read().split()\n"
        "                for child in children: os.kill(int(child), signal.SIGKILL)\n"
        "            except OSError: pass\n"
        "        time.sleep(0.002)\n"
        f"right = {starter.right()['completion']!r}\n"
        "score = lambda: compute_score('starter', right, 'starter/0', void_score=-1.0, options={'workers': 1})\n"
        "reward = make_reward('starter', workers=1)\n"
        "call = lambda: asyncio.run(reward(completions=[right], task_id=['starter/0']))\n"
        "killing = True\n"
        "thread = threading.Thread(target=kill)\n"
        "thread.start()\n"
        "lost = (score()['score'], call())\n"
        "killing = False\n"
        "thread.join()\n"
        "print(lost, score()['score'], call())\n"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120, check=False)
    assert "(-1.0, [None]) 1.0 [1.0]\n" == done.stdout, done.stderr
