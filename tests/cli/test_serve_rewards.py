"""The rewards of ``passcurve serve``, asked for as trainers do: contract tests against a real server on loopback."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("uvicorn", reason="the extra serve is not installed")

RIGHT = "    return 2\n"
RAW_VERIFY = b'{"response": {}, "verifier_metadata": {"task_id": "B/0"}, "x": %s}'
DEEP = 100_000
FORGED = "    import sys; print(2); sys.exit(0)\n"


@pytest.fixture(scope="module")
def server(shell_in, tmp_path_factory) -> Iterator[tuple[httpx.Client, subprocess.Popen[bytes]]]:
    """Start a server of two problems, the second of which cannot be judged; return a client of it and its process."""
    shell = shell_in(tmp_path_factory.mktemp("rewards"))
    test = "def check(candidate):\n    assert candidate(1) == 2\n"
    row = {"prompt": "def f(x):\n", "entry_point": "f", "test": test}
    references = {"B/0": RIGHT, "B/1": "    return 1\n"}
    shell.write("b.jsonl", [row | {"task_id": task, "canonical_solution": text} for task, text in references.items()])
    with shell.serve("b.jsonl", "--workers", 1) as started:
        yield started


@pytest.fixture
def client(server: tuple[httpx.Client, subprocess.Popen[bytes]]) -> httpx.Client:
    """Return the client of the server."""
    return server[0]


def used_s(pid: int) -> float:
    """Return the CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def verify(client: httpx.Client, text: str, task: str = "B/0", **more: Any) -> httpx.Response:
    """Ask as NeMo-Gym does."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    response = {"id": "r", "output": [{"type": "reasoning"}, {"type": "message", "content": content}]}
    parameters = {"input": [{"role": "user", "content": "f"}]}
    body = {"responses_create_params": parameters, "response": response, "verifier_metadata": {"task_id": task}}
    return client.post("/verify", content=json.dumps(body | more))


@pytest.mark.ci
def test_nemo_gym(client: httpx.Client):
    """The request comes back with a reward; what nobody knows has a class of failure and a mask."""
    answer = verify(client, RIGHT, agent_ref={"name": "a"}).json()
    assert (1.0, [True], RIGHT) == (answer["reward"], answer["result"], answer["extracted_model_output"])
    assert {"name": "a"} == answer["agent_ref"]
    assert {"task_id": "B/0"} == answer["verifier_metadata"]
    assert "_ng_failure_class" not in answer
    assert (0.0, [False]) == (lambda wrong: (wrong["reward"], wrong["result"]))(verify(client, FORGED).json())
    got = verify(client, RIGHT, "B/1", instance_config={"a": 1})
    assert 200 == got.status_code
    half = verify(client, RIGHT, agent_ref={"name": "\ud800"}).json()
    assert (1.0, {"name": "\ud800"}) == (half["reward"], half["agent_ref"])
    unknown = got.json()
    assert ("judge_failed", 0.0, []) == (unknown["_ng_failure_class"], unknown["reward"], unknown["result"])
    assert {"a": 1, "mask_sample": True} == unknown["instance_config"]


def test_sessions_of_nemo_gym(client: httpx.Client):
    """Agents begin and end each rollout, and ask for the means of rewards at the end; masked ones do not count."""
    for path in ("/seed_session", "/close_session"):
        answer = client.post(path, json={"responses_create_params": {"input": []}})
        assert (200, {}) == (answer.status_code, answer.json())
    sent = [
        {"_ng_task_index": task, "_ng_rollout_index": 0, "reward": reward} for task, reward in ((0, 1), (0, 0), (1, 1))
    ]
    masked = verify(client, RIGHT, "B/1").json()
    assert masked["mask_sample"] is True
    means = client.post(
        "/aggregate_metrics", json={"verify_responses": [*sent, {**masked, "_ng_task_index": 1}]}
    ).json()
    assert [{"_ng_task_index": 0, "mean/reward": 0.5}, {"_ng_task_index": 1, "mean/reward": 1.0}] == means.pop(
        "group_level_metrics"
    )
    assert {name: {"mean/reward": pytest.approx(2 / 3)} for name in ("agent_metrics", "key_metrics")} == means
    none = client.post("/aggregate_metrics", json={"verify_responses": []}).json()
    assert {"group_level_metrics": [], "agent_metrics": {}, "key_metrics": {}} == none
    assert 422 == client.post("/aggregate_metrics", json={}).status_code


def test_a_submission_with_the_rows_of_others(client: httpx.Client):
    """A submission with rows is judged by the row with its id; without such a row it is refused."""
    tests = ("assert f(1) == 3", "assert f(1) == 4")
    rows = [{"task_id": number, "text": "f", "test_list": [test]} for number, test in enumerate(tests, start=5)]

    def submit(name: int | str, text: str) -> httpx.Response:
        config = {"provided_data": rows, "dataset_type": "MBPPDataset"}
        return client.post("/submit", json={"dataset": "x", "id": name, "completion": text, "config": config})

    program = "def f(x):\n    return 4\n"
    assert [False, True, True] == [submit(name, program).json()["accepted"] for name in (5, 6, "6")]
    refused = submit("B/0", RIGHT)
    assert (422, True) == (refused.status_code, "none of the 2 rows" in refused.text)


def test_openrlhf(client: httpx.Client):
    """A reward for each query; 503, which is asked again, where one is not known."""

    def post(*pairs: tuple[str, str]) -> httpx.Response:
        prompts = ["write f:\n"] * len(pairs)
        query = [prompt + text for prompt, (text, _) in zip(prompts, pairs, strict=True)]
        labels = [task for _, task in pairs]
        return client.post("/openrlhf", json={"query": query, "prompts": prompts, "labels": labels})

    answer = post((RIGHT, "B/0"), (FORGED, "B/0")).json()
    assert [1.0, 0.0] == answer["rewards"] == answer["scores"] == answer["extra_logs"]["passed"]
    unknown = post((RIGHT, "B/0"), (RIGHT, "B/1"))
    assert 503 == unknown.status_code
    assert "Retry-After" in unknown.headers
    assert "'B/1' could not be judged: the reference solution does not pass" in unknown.json()["error"]


def test_slime(client: httpx.Client):
    """The answer is a bare number; 503 where it is not known."""

    def post(text: str, task: str = "B/0") -> httpx.Response:
        return client.post("/slime", json={"prompt": "write f", "response": text, "label": task})

    assert [1.0, 0.0] == [post(RIGHT).json(), post(FORGED).json()]
    assert 503 == post(RIGHT, "B/1").status_code


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("/slime", {"prompt": "", "response": "x", "label": "B/9"}, "B/9"),
        ("/slime", {"prompt": "", "response": "x", "label": None}, "label"),
        ("/slime", {"prompt": "", "response": "x", "label": 9}, "no problem '9'"),
        ("/verify", {"response": {}, "verifier_metadata": {"task_id": 9}}, "no problem '9'"),
        ("/openrlhf", {"query": ["x"], "prompts": [], "labels": ["B/0"]}, "length"),
        ("/verify", {"response": {}, "verifier_metadata": {"unit_tests": {"inputs": [], "outputs": []}}}, "unit_tests"),
        ("/verify", {"response": {}, "verifier_metadata": {}}, "task_id"),
        ("/verify", {"response": {}, "verifier_metadata": {"task_id": "B/9"}}, "B/9"),
        ("/verify", [], "NeMo"),
        ("/slime", {"response": "x", "label": "B/" * 4_000_000}, "no problem"),
        ("/verify", RAW_VERIFY % b"1e400", "out of range"),
        ("/aggregate_metrics", {"verify_responses": [{"reward": 10**400}]}, "out of range"),
        ("/aggregate_metrics", {"verify_responses": [{"reward": 1e308}] * 2}, "reward"),
        ("/aggregate_metrics", {"verify_responses": [{"reward": 1, "_ng_task_index": [1]}]}, "_ng_task_index"),
        ("/verify", RAW_VERIFY % (b"9" * 5000), "out of range"),
        ("/verify", RAW_VERIFY % (b"[" * DEEP + b"]" * DEEP), "while deserializing"),
    ],
)
def test_no_request(server: tuple[httpx.Client, subprocess.Popen[bytes]], path: str, body: Any, named: str):
    """The server refuses at once, and never scores, a body that is no request or names no problem."""
    client, process = server
    before_s = used_s(process.pid)
    answer = client.post(path, json=body) if not isinstance(body, bytes) else client.post(path, content=body)
    assert 422 == answer.status_code
    assert named in answer.json()["error"]
    assert len(answer.text) < 1000
    assert used_s(process.pid) - before_s < 2
    assert "Traceback" not in answer.text
