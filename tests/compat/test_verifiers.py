"""verifiers itself, as it is installed: its own scoring of a task calls our reward."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from passcurve.compat.trainers.verifiers import make_reward

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("default")]

RIGHT = "```python\ndef add(a, b):\n    return a + b\n```"
PARTLY = "```python\ndef add(a, b):\n    return 5\n```"
LEAVES = "```python\ndef add(a, b):\n    import sys; sys.exit(0)\n```"


@pytest.fixture
def vf() -> Any:
    """Return verifiers; skip the test without it."""
    return pytest.importorskip("verifiers.v1", reason="needs verifiers: pip install 'verifiers>=0.4'")


def trace_of(vf: Any, data: Any, text: str) -> Any:
    """Return the trace of an agent that has replied."""
    from verifiers.v1.trace import AgentInfo, TraceTask

    task, agent = TraceTask(type="Task", data=data), AgentInfo(config=vf.AgentConfig())
    return vf.Trace(task=task, agent=agent, root_reply=text)


def test_a_plugged_reward(vf, two_problems, tmp_path):
    """A configuration names a file and a function; each trace is scored, and leaving early earns nothing."""
    source = f"make_reward({two_problems!r}, share=True, workers=1)"
    (tmp_path / "rewards.py").write_text(
        f"from passcurve.compat.trainers.verifiers import make_reward\n\nreward = {source}\n"
    )
    config = vf.TaskConfig(rewards={"tests": {"fn": f"{tmp_path}/rewards.py:reward", "weight": 2.0}})

    async def score(text: str) -> Any:
        data = vf.TaskData(id="B/0", prompt="Write add.")
        trace = trace_of(vf, data, text)
        await vf.Task(data, config).score(trace)
        return trace

    async def main() -> list[Any]:
        return list(await asyncio.gather(*map(score, (RIGHT, PARTLY, LEAVES))))

    traces = asyncio.run(main())
    assert [2.0, 1.0, 0.0] == [trace.reward for trace in traces]
    assert [1.0, 0.5, 0.0] == [trace.rewards["tests"].score for trace in traces]


def test_what_nobody_knows(vf, two_problems):
    """The trace has verifiers' own SandboxError and no reward, so that it is left out."""

    class OwnData(vf.TaskData):
        task_id: str

    class OwnTask(vf.Task[OwnData]):
        @vf.reward
        async def passes(self, trace: Any) -> float:
            return await make_reward(two_problems, workers=1)(self.data, trace)

    data = OwnData(task_id="B/1", prompt="Write add.")
    trace = trace_of(vf, data, RIGHT)
    with pytest.raises(vf.SandboxError, match="B/1") as caught:
        asyncio.run(OwnTask(data).score(trace))
    assert {"passes": None} == trace.rewards
    trace.record_error(caught.value)
    assert trace.has_error
    assert "sandbox_error" == trace.stop_condition
