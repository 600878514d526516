"""Rewards over HTTP with the requests and answers of callers: NeMo-Gym, OpenRLHF, slime, SandboxFusion's ``/submit``.

Each names a problem by its id, and has its own way to say that nobody knows: a mark in the answer, or 503, which its
client tries again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from statistics import fmean
from typing import Annotated, Any, NamedTuple

import msgspec

from passcurve.api import Judgement
from passcurve.serve.bodies import BodyError, decode
from passcurve.serve.requests import MAX_ROWS, RequestError
from passcurve.serve.submissions import answer_submission, contest_row, read_submission

Rows = list[dict[str, Any]]


class _Slime(msgspec.Struct):
    response: str
    label: str | int


class _OpenRlhf(msgspec.Struct):
    query: list[str]
    prompts: list[str]
    labels: list[str | int]


class _UnitTests(msgspec.Struct):
    inputs: list[str]
    outputs: list[str]
    fn_name: str | None = None


class _Metadata(msgspec.Struct):
    task_id: str | int | None = None
    unit_tests: _UnitTests | None = None


class _Verify(msgspec.Struct):
    response: dict[str, Any]
    verifier_metadata: _Metadata


class _Verified(msgspec.Struct):
    reward: Annotated[float, msgspec.Meta(ge=-1e100, le=1e100)] | None = None
    mask_sample: bool | None = None
    failure: str | None = msgspec.field(default=None, name="_ng_failure_class")
    task: int | str | None = msgspec.field(default=None, name="_ng_task_index")


class _Aggregate(msgspec.Struct):
    verify_responses: list[_Verified]


_TASK, _MEAN = "_ng_task_index", "mean/reward"


class Question(NamedTuple):
    """The rows of a request, and what makes their judgements its answer."""

    rows: Rows
    answer: Callable[[list[Judgement]], Any]
    """Raises RequestError with 503 where it cannot say that nobody knows."""
    streams: bool = False
    """Whether each row is answered as soon as it is known, in a line of its own."""


Read = Callable[[bytes, tuple[str, ...]], Question]
"""Reads a body, beside the ids of the problems that are served; raises RequestError with 422."""


def _decode(body: bytes, kind: Any, what: str) -> Any:
    try:
        return decode(body, kind)
    except BodyError as error:
        raise RequestError(422, f"no request of {what}: {error}") from None


def _read_slime(body: bytes) -> Rows:
    request = _decode(body, _Slime, "slime, whose label is the id of a problem")
    return [{"task_id": request.label, "completion": request.response}]


def _answer_slime(judgements: list[Judgement]) -> float:
    return _rewards(judgements)[0]


def _read_openrlhf(body: bytes) -> Rows:
    request = _decode(body, _OpenRlhf, "OpenRLHF, whose labels are the ids of problems")
    if not len(request.query) == len(request.prompts) == len(request.labels) <= MAX_ROWS:
        raise RequestError(422, f"query, prompts and labels must have one length, of {MAX_ROWS:,} at most")
    columns = zip(request.query, request.prompts, request.labels, strict=True)
    return [{"task_id": label, "completion": query.removeprefix(prompt)} for query, prompt, label in columns]


def _answer_openrlhf(judgements: list[Judgement]) -> dict[str, Any]:
    rewards = _rewards(judgements)
    passed = [float(judgement.passed or False) for judgement in judgements]
    return {"rewards": rewards, "scores": rewards, "extra_logs": {"passed": passed}}


def _read_verify(body: bytes) -> Rows:
    what = "NeMo-Gym, whose verifier_metadata has the task_id of a problem, or unit_tests"
    request = _decode(body, _Verify, what)
    # The answer repeats it whole: what cannot be must be said before it is judged.
    _decode(body, dict[str, Any], what)
    metadata, text = request.verifier_metadata, _output_text(request.response)
    tests = metadata.unit_tests
    if tests is None:
        if metadata.task_id is None:
            raise RequestError(422, "verifier_metadata has neither task_id nor unit_tests")
        return [{"task_id": metadata.task_id, "completion": text}]
    if not 0 < len(tests.inputs) == len(tests.outputs):
        raise RequestError(422, "verifier_metadata.unit_tests must have as many outputs as inputs, one at least")
    return [{"problem": contest_row(tests.inputs, tests.outputs, tests.fn_name), "completion": text}]


def _answer_verify(body: bytes, judgements: list[Judgement]) -> dict[str, Any]:
    (judgement,) = judgements
    request: dict[str, Any] = decode(body, dict[str, Any])
    reward = judgement.reward
    answer = request | {
        "reward": reward or 0.0,
        "extracted_model_output": _output_text(request["response"]),
        "extracted_model_code": None,
        "result": [] if judgement.passed is None else [judgement.passed],
        "metadata": {"status": judgement.status, "message": judgement.message, "suspicious": judgement.suspicious},
        "unit_tests_time_taken": judgement.own_s,
    }
    if reward is not None:
        return answer
    config = request.get("instance_config")
    masked = {**(config if isinstance(config, dict) else {}), "mask_sample": True}
    return answer | {"_ng_failure_class": "judge_failed", "mask_sample": True, "instance_config": masked}


def _output_text(response: Mapping[str, Any]) -> str:
    """Return the text of a response: its field, or what stands in its messages."""
    if isinstance(text := response.get("output_text"), str):
        return text
    messages = response.get("output")
    contents = (
        [item.get("content") for item in messages if isinstance(item, dict)] if isinstance(messages, list) else []
    )
    parts = [part for content in contents if isinstance(content, list) for part in content if isinstance(part, dict)]
    texts = [part.get("text") for part in parts if part.get("type") == "output_text"]
    return "".join(text for text in texts if isinstance(text, str))


def _rewards(judgements: list[Judgement]) -> list[float]:
    """Return the rewards; raise RequestError with 503 where one is not known."""
    unknown = next((judgement for judgement in judgements if judgement.reward is None), None)
    if unknown is not None:
        # The reason of a failure of ours may name places of this machine.
        reason = f": {unknown.excluded}" if unknown.excluded else ""
        named = f"{unknown.task_id[:80]!r} could not be judged{reason}"
        raise RequestError(503, f"{named}; this says nothing about the answers")
    return [float(judgement.passed or False) for judgement in judgements]


def aggregate(body: bytes) -> dict[str, Any]:
    """Return the means of rewards, of all and of each task, as NeMo-Gym asks for them; masked answers do not count."""
    request = _decode(body, _Aggregate, "NeMo-Gym, which sends verify_responses")
    rewards: dict[int | str | None, list[float]] = {}
    for one in request.verify_responses:
        if one.reward is not None and not (one.mask_sample or one.failure):
            rewards.setdefault(one.task, []).append(one.reward)
    every = [reward for some in rewards.values() for reward in some]
    means = {_MEAN: fmean(every)} if every else {}
    groups = [{_TASK: task, _MEAN: fmean(some)} for task, some in rewards.items() if task is not None]
    return {"group_level_metrics": groups, "agent_metrics": means, "key_metrics": means}


def _ask_submission(body: bytes, problems: tuple[str, ...]) -> Question:
    submission = read_submission(body, problems)
    return Question([submission.row], lambda judgements: answer_submission(submission, judgements[0]))


CONTRACTS: dict[str, Read] = {
    "/verify": lambda body, _: Question(_read_verify(body), partial(_answer_verify, body)),
    "/openrlhf": lambda body, _: Question(_read_openrlhf(body), _answer_openrlhf),
    "/slime": lambda body, _: Question(_read_slime(body), _answer_slime),
    "/submit": _ask_submission,
}
"""How callers ask, by path."""
