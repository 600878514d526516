"""SkyRL Gym itself, as it is installed: it makes our environment by its registry."""

from __future__ import annotations

from typing import Any

import pytest

from passcurve.errors import SandboxError, UsageError

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("default")]

PARTLY = "```python\ndef add(a, b):\n    return 5\n```"
TEXTS = {
    "```python\ndef add(a, b):\n    return a + b\n```": 1.0,
    PARTLY: 0.0,
    "```python\ndef add(a, b):\n    import sys; sys.exit(0)\n```": 0.0,
}


@pytest.fixture
def make(two_problems) -> Any:
    """Register our environment; return what makes one for a row."""
    skyrl_gym = pytest.importorskip("skyrl_gym", reason="needs skyrl_gym: pip install skyrl-gym")
    settings = {"benchmark": two_problems, "options": {"workers": 1}}
    skyrl_gym.register(id="passcurve", entry_point="passcurve.compat.trainers.skyrl:make_env", kwargs=settings)

    def make_one(extras: dict[str, Any], **more: Any) -> Any:
        return skyrl_gym.make("passcurve", env_config=None, extras=extras, **more)

    yield make_one
    skyrl_gym.envs.registration.registry.pop("passcurve")


def test_a_step(make):
    """An answer ends the episode with its reward; leaving early earns nothing; metrics are averaged by the gym."""
    metrics = []
    for text, reward in TEXTS.items():
        env = make({"reward_spec": {"method": "rule", "ground_truth": "B/0"}})
        prompt = [{"role": "user", "content": "Write add."}]
        assert (prompt, {}) == env.init(prompt)
        step = env.step(text)
        assert ([], reward, True) == (step["observations"], step["reward"], step["done"])
        assert reward == step["metadata"]["passed"]
        metrics.append(env.get_metrics())
        env.close()
    aggregate = pytest.importorskip("skyrl_gym.metrics").aggregate_for_environment
    assert pytest.approx(1 / 3) == aggregate("passcurve", metrics)["passed"]
    assert 0.5 == make({"extra_info": {"task_id": "B/0"}}, share=True).step(PARTLY)["reward"]


def test_what_nobody_knows(make):
    """A step is an error, or has the reward that was set and a mark; a row must name a problem."""
    text = next(iter(TEXTS))
    with pytest.raises(SandboxError, match="void_reward"):
        make({"task_id": "B/1"}).step(text)
    step = make({"task_id": "B/1"}, void_reward=-1.0).step(text)
    assert (-1.0, 1.0) == (step["reward"], step["metadata"]["void"])
    with pytest.raises(UsageError, match="task_id"):
        make({"reward_spec": {"ground_truth": None}})
