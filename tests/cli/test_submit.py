"""SandboxFusion's ``/submit`` with the rows of its benchmarks, NeMo-Gym's unit tests, and problems sent to ``/judge``.

The requests are those of their clients; the server is a real one on loopback.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

pytest.importorskip("uvicorn", reason="the extra serve is not installed")

ANSWER = {"id", "accepted", "extracted_code", "full_code", "test_code", "tests", "extracted_type", "extra"}
RUN = {"status", "message", "compile_result", "run_result", "executor_pod_name", "files"}
CONTEST = {
    "id": 3,
    "content": "Add two numbers.",
    "test": [
        {"input": {"stdin": "1 2\n"}, "output": {"stdout": "3\n"}},
        {"input": {"stdin": "5 5\n"}, "output": {"stdout": "10\n"}},
    ],
    "labels": {"programming_language": "python", "execution_language": "python"},
}
APPENDED = {
    "id": "add",
    "content": "Write add(a, b).",
    "test": {"code": "assert add(1, 2) == 3\nassert add(2, 2) == 4\n"},
    "labels": {"programming_language": "python", "execution_language": "python"},
}
HUMAN_EVAL = {
    "task_id": "H/1",
    "prompt": "def twice(x):\n",
    "canonical_solution": "    return 2 * x\n",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n",
    "entry_point": "twice",
}
MBPP = {
    "task_id": 7,
    "text": "Add.",
    "code": "def add(a, b):\n    return a + b",
    "test_list": ["assert add(1, 2) == 3", "assert add(2, 2) == 4"],
    "test_setup_code": "",
    "challenge_test_list": [],
}
MBPP_TABLE = {
    "id": 7,
    "content": "Add.",
    "test": MBPP["test_list"],
    "labels": {"test_setup_code": "import math", "execution_language": "python"},
}
MBPP_TEXTS = MBPP_TABLE | {"labels": json.dumps(MBPP_TABLE["labels"])}
ADD = "def add(a, b):\n    return a + b\n"
SUM = "print(sum(map(int, input().split())))\n"


@pytest.fixture(scope="module")
def client(shell_in, tmp_path_factory) -> Iterator[httpx.Client]:
    """Start a server without a benchmark that reads answers of chats."""
    with shell_in(tmp_path_factory.mktemp("submissions")).serve("--workers", 1, "--extract", "auto") as (started, _):
        yield started


def fenced(code: str, language: str = "python") -> str:
    """Return code as a chat model writes it."""
    return f"Here it is:\n\n```{language}\n{code}```\nIt works.\n"


def submit(client: httpx.Client, row: Any, text: str, kind: str | None = None, **config: Any) -> dict[str, Any]:
    """Submit as its client does; return the answer, each field of which must be there."""
    body = {
        "dataset": "any",
        "id": row["id"] if isinstance(row, dict) and "id" in row else 0,
        "completion": text,
        "config": {"dataset_type": kind, "provided_data": row, **config},
    }
    answer = client.post("/submit", json=body)
    assert 200 == answer.status_code, answer.text
    record: dict[str, Any] = answer.json()
    assert record.keys() == ANSWER
    for test in record["tests"]:
        assert test.keys() == {"passed", "exec_info", "test_info"}
        assert test["exec_info"].keys() == RUN
    assert record["accepted"] == all(test["passed"] for test in record["tests"])
    return record


@pytest.mark.parametrize(
    ("row", "kind", "text", "flags"),
    [
        (CONTEST, "CommonOJDataset", fenced(SUM), [True, True]),
        (CONTEST, None, fenced(SUM), [True, True]),
        (CONTEST, "CommonOJDataset", fenced("print(3)\n"), [True, False]),
        (CONTEST, "CommonOJDataset", fenced("import sys; sys.exit(0)\n"), [False]),
        (APPENDED, "AutoEvalDataset", fenced(ADD), [True]),
        (APPENDED, "AutoEvalDataset", fenced("import os; os._exit(0)\n"), [False]),
        (APPENDED, "AutoEvalDataset", fenced("import sys\ndef add(a, b):\n    sys.exit(0)\n"), [False]),
        (HUMAN_EVAL, "HumanEvalDataset", "    return 2 * x\n", [True]),
        (HUMAN_EVAL, "HumanEvalDataset", fenced("def twice(x):\n    return x\n"), [False]),
        (MBPP, "MBPPDataset", fenced(ADD), [True, True]),
        (MBPP_TABLE, "MBPPDataset", fenced(ADD), [True, True]),
        (MBPP_TEXTS, "MBPPDataset", fenced("def add(a, b):\n    return 3\n"), [True, False]),
        (MBPP, "MBPPDataset", fenced("def add(a, b):\n    return 3\n"), [True, False]),
    ],
)
def test_a_row_with_its_tests(client: httpx.Client, row, kind, text, flags):
    """The tests that have run, in order; leaving early is no way to pass one."""
    assert flags == [test["passed"] for test in submit(client, row, text, kind)["tests"]]
    wrapped = {**row, "test": json.dumps(row["test"])} if "labels" in row else row
    assert flags == [test["passed"] for test in submit(client, [wrapped], text, kind)["tests"]]


@pytest.mark.parametrize(
    ("text", "kind"),
    [(fenced(SUM), "fenced"), (f"```python\n{SUM}", "incomplete_fenced"), (SUM, "heuristic"), ("", "empty")],
)
def test_how_code_was_extracted(client: httpx.Client, text, kind):
    """The code, and where it stood."""
    answer = submit(client, CONTEST, text, "CommonOJDataset")
    assert (kind, SUM.strip() if text else "") == (answer["extracted_type"], answer["extracted_code"].strip())


@pytest.mark.ci
def test_a_limit_of_time(client: httpx.Client):
    """A submission has its own; what it exceeds is told as a program's end is."""
    answer = submit(client, CONTEST, fenced("while True: pass\n"), "CommonOJDataset", run_timeout=0.5)
    (test,) = answer["tests"]
    assert "TimeLimitExceeded" == test["exec_info"]["run_result"]["status"]


@pytest.mark.ci
@pytest.mark.skipif(not shutil.which("g++"), reason="g++ is not installed")
def test_another_language(client: httpx.Client):
    """The same tests for a program in C++, and tests that stand behind a function."""
    program = "#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b; }\n"
    right = submit(client, CONTEST, fenced(program, "cpp"), "CommonOJDataset", language="cpp")
    assert [True, True] == [test["passed"] for test in right["tests"]]
    broken = submit(client, CONTEST, fenced("int main() {", "cpp"), "CommonOJDataset", language="cpp")
    assert broken["tests"][0]["exec_info"]["compile_result"]["stderr"]
    labels = {"programming_language": "cpp", "execution_language": "cpp"}
    tests = "#include <cassert>\nint main() { assert(add(1, 2) == 3); return 0; }\n"
    row = {"id": 1, "test": {"code": tests}, "labels": labels}
    programs = {"return a + b;": True, "return a * b;": False, "exit(0);": False}
    for body, accepted in programs.items():
        text = fenced(f"#include <cstdlib>\nint add(int a, int b) {{ {body} }}\n", "cpp")
        assert accepted == submit(client, row, text, "AutoEvalDataset")["accepted"]
    row["test"] = {"code": "int main() { return add(1, 2) != 3; }\n"}
    request = {"dataset": "x", "id": 1, "completion": "", "config": {"provided_data": row}}
    assert "return 0" in client.post("/submit", json=request).json()["error"]


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ([], "submission"),
        ({"dataset": "x", "id": 1, "completion": "x"}, "provided_data"),
        ({"dataset": "x", "id": 1, "completion": "x", "config": {"provided_data": {"a": 1}}}, "entry_point"),
        (
            {"dataset": "x", "id": 1, "completion": "x", "config": {"provided_data": {"test": {}, "labels": {}}}},
            "no row of AutoEval: KeyError",
        ),
        (
            {"dataset": "x", "id": 1, "completion": "", "config": {"custom_extract_logic": "1", "provided_data": {}}},
            "custom_extract_logic",
        ),
        (
            {"dataset": "x", "id": 1, "completion": "", "config": {"dataset_type": "CommonOJDataset",
             "provided_data": {"id": 1, "test": 5, "labels": {}}}},
            "test",
        ),
        (
            {"dataset": "x", "id": 1, "completion": "", "config": {"dataset_type": "AutoEvalDataset",
             "provided_data": {**APPENDED, "test": {"code": "", "asset": {"a": "eA=="}}}}},
            "asset",
        ),
    ],
)  # fmt: skip
def test_what_is_no_submission(client: httpx.Client, body, named):
    """422 with a line that says why, and no path of this machine."""
    answer = client.post("/submit", json=body)
    assert 422 == answer.status_code, answer.text
    assert named in answer.json()["error"]
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    ("tests", "text", "reward"),
    [
        ({"inputs": ["2\n", "5\n"], "outputs": ["4\n", "10\n"]}, "print(2 * int(input()))\n", 1.0),
        ({"inputs": ["2\n", "5\n"], "outputs": ["4\n", "10\n"]}, "print(4)\n", 0.0),
        (
            {"inputs": ["2\n3"], "outputs": ["5"], "fn_name": "f"},
            "class Solution:\n    def f(self, a, b): return a + b\n",
            1.0,
        ),
        ({"inputs": ["2\n3"], "outputs": ["5"], "fn_name": "f"}, "def f(a, b): return a + b\n", 1.0),
        ({"inputs": ["2\n3"], "outputs": ["5"], "fn_name": "f"}, "import sys; sys.exit(0)\n", 0.0),
    ],
)  # fmt: skip
def test_unit_tests_of_nemo_gym(client: httpx.Client, tests, text, reward):
    """Texts to read and write, or calls of a function, as its requests bring them."""
    body = {"response": {"output_text": fenced(text)}, "verifier_metadata": {"unit_tests": tests, "difficulty": "easy"}}
    answer = client.post("/verify", json=body).json()
    assert (reward, [bool(reward)]) == (answer["reward"], answer["result"])


def test_judge_with_problems(client: httpx.Client):
    """``/judge`` takes rows with their problems; the server lists no benchmark."""
    rows = [
        {"problem": HUMAN_EVAL, "completion": "    return 2 * x\n"},
        {"problem": HUMAN_EVAL, "completion": "    return x\n"},
    ]
    answer = client.post("/judge", json={"samples": rows}).json()
    assert [("H/1", True), ("H/1", False)] == [(one["task_id"], one["passed"]) for one in answer["results"]]
    assert [] == client.get("/list_datasets").json()
    wrong = client.post("/judge", json={"samples": [{"problem": {"id": 5}, "completion": ""}]})
    assert 422 == wrong.status_code


@pytest.mark.ci
def test_published_rows(client: httpx.Client, data):
    """Of CanItEdit each reference is accepted where its packages are there, and leaving early never is."""
    path = data / "benchmarks" / "sandboxfusion_code_eval_can_it_edit.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"there is no {path.name}")
    rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    judged = 0
    for row in rows:
        body = {"dataset": "x", "id": row["id"], "completion": fenced(row["canonical_solution"] + "\n")}
        config = {"dataset_type": "AutoEvalDataset", "provided_data": row}
        answer = client.post("/submit", json=body | {"config": config})
        if answer.status_code == 422:
            assert "it needs" in answer.json()["error"]
            continue
        judged += 1
        assert answer.json()["accepted"], row["id"]
        assert not submit(client, row, fenced("import sys; sys.exit(0)\n"), "AutoEvalDataset")["accepted"]
    assert judged >= 15
