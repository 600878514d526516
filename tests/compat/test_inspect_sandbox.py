"""inspect's sandbox ``passcurve``: the checks that inspect has for every sandbox, and an evaluation with tools."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from passcurve.compat import inspect_ai as ours

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("default")]

CANNOT = {
    "test_cwd_custom": "folders of the system cannot be listed",
    "test_exec_as_user": "there is one user",
}
"""Checks of inspect that this sandbox does not pass, with the reason."""


def test_checks_of_inspect(inspect):
    """Every check that inspect has for a sandbox passes, but for those that name what is not offered."""
    from inspect_ai.util._sandbox import self_check

    _, sandbox = ours.registered
    checks = {name: check for name, check in vars(self_check).items() if name.startswith("test_")}
    assert 30 < len(checks)

    async def run(check: Any) -> str:
        environments = await sandbox.sample_init("task", None, {})
        try:
            await check(environments["default"])
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:300]
        return ""

    failures = {name: text for name, check in checks.items() if (text := asyncio.run(run(check)))}
    assert {} == {name: text for name, text in failures.items() if name not in CANNOT}
    assert CANNOT.keys() == failures.keys()


def test_an_evaluation(inspect):
    """A model's tools run in the jail: files stay from call to call, the host and its network are out of reach."""
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import Score, accuracy, scorer
    from inspect_ai.solver import generate, use_tools
    from inspect_ai.tool import bash, python
    from inspect_ai.util import sandbox

    listener = socket.create_server(("127.0.0.1", 0))
    address = listener.getsockname()
    calls = [
        ("bash", {"command": "cat given.txt; echo 42 > kept.txt"}),
        ("python", {"code": "print(int(open('kept.txt').read()) + 1)"}),
        ("bash", {"command": "cat /etc/shadow"}),
        ("python", {"code": f"import socket; socket.create_connection({address!r}, 1); print('reached')"}),
    ]
    outputs = [ModelOutput.for_tool_call("mockllm/model", name, arguments) for name, arguments in calls]
    outputs.append(ModelOutput.from_content("mockllm/model", "done"))
    for output in outputs:
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)

    @scorer(metrics=[accuracy()])
    def kept() -> Any:
        async def score(state: Any, target: object) -> Any:
            return Score(value="C" if await sandbox().read_file("kept.txt") == "42\n" else "I")

        return score

    task = inspect.Task(
        dataset=[Sample(input="Write 42.", files={"given.txt": "hello"})],
        solver=[use_tools([bash(timeout=20), python(timeout=20)]), generate()],
        scorer=kept(),
        sandbox="passcurve",
    )
    (log,) = inspect.eval(task, model=get_model("mockllm/model", custom_outputs=outputs))
    assert "success" == log.status, log.error
    answers = [message.text for message in log.samples[0].messages if message.role == "tool"]
    assert ["hello", "43"] == [text.strip() for text in answers[:2]]
    assert "root:" not in answers[2]
    assert "reached" not in answers[3]
    assert {"kept": "C"} == {name: score.value for name, score in log.samples[0].scores.items()}
    listener.settimeout(0)
    with pytest.raises(BlockingIOError):
        listener.accept()
    listener.close()
