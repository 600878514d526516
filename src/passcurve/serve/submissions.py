"""Problems that come with a request in the layout of others: SandboxFusion's ``/submit``, and the tests of NeMo-Gym."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from passcurve.api import Judgement
from passcurve.bench.formats.entry_points import find_entry_point
from passcurve.bench.inline import read_inline
from passcurve.errors import DataError
from passcurve.extract import extract
from passcurve.serve.bodies import BodyError, decode
from passcurve.serve.requests import RequestError
from passcurve.serve.run_code import KILLED, CommandResult, RunCodeAnswer
from passcurve.types import Completion, SampleKey

Fields = dict[str, Any]
_RETURNS = re.compile(r"\breturn\s++(?!0\s*;)[^;{}]{1,2000}+;\s*(?:\}\s*)+\Z")
_SHOWN_BYTES = 1 << 12


class Config(msgspec.Struct, kw_only=True):
    """The settings of a submission; those that change no verdict are ignored, as unknown ones are there."""

    dataset_type: str | None = None
    language: str | None = None
    compile_timeout: float | None = None
    run_timeout: float | None = None
    custom_extract_logic: str | None = None
    provided_data: dict[str, Any] | list[dict[str, Any]] | None = None


class Submit(msgspec.Struct, kw_only=True):
    """A request of SandboxFusion's ``/submit``."""

    dataset: str
    id: int | str
    completion: str
    config: Config = msgspec.field(default_factory=Config)


class TestAnswer(msgspec.Struct, kw_only=True):
    """One test that has run."""

    passed: bool
    exec_info: RunCodeAnswer
    test_info: None = None


class SubmitAnswer(msgspec.Struct, kw_only=True):
    """The answer to a submission, every field of which a client may read."""

    id: int | str
    accepted: bool
    extracted_code: str
    full_code: str | None = None
    test_code: str | None = None
    tests: list[TestAnswer]
    extracted_type: Literal["fenced", "incomplete_fenced", "heuristic", "empty"] | None = None
    extra: dict[str, Any] | None = None


class Submission(msgspec.Struct, kw_only=True):
    """A submission as a row for the judge, and what was made of its text."""

    request: Submit
    row: Fields
    code: str
    kind: Literal["fenced", "incomplete_fenced", "heuristic", "empty"]


def read_submission(body: bytes, problems: tuple[str, ...]) -> Submission:
    """Return a submission; raise RequestError with 422 for what is none.

    ``problems``: the ids of the served benchmark, of which a submission without data may name one.
    """
    try:
        request: Submit = decode(body, Submit)
    except BodyError as error:
        raise RequestError(422, f"no submission: {error}") from None
    config = request.config
    if config.custom_extract_logic:
        raise RequestError(422, "custom_extract_logic is code for this server, which runs none of its clients' outside")
    data = _find_data(request)
    if data is None:
        return _of_benchmark(request, problems)
    row: Fields = {"problem": convert_row(data, request.id, config.dataset_type or "")}
    if language := _language(data, config):
        row["language"] = language
    if config.run_timeout:
        row["timeout_s"] = config.run_timeout
    try:
        inline = read_inline(row["problem"], row.get("language", ""), row.get("timeout_s"))
    except DataError as error:
        raise RequestError(422, str(error)) from None
    completion = Completion(
        key=SampleKey(problem_id=inline.problem.id, sample_index=0),
        row=0,
        line=1,
        digest="",
        form="completion",
        text=request.completion,
    )
    program = extract(inline.problem, completion, "auto").text
    row["solution"] = program
    return Submission(request=request, row=row, code=program or "", kind=_kind(request.completion, program))


def _find_data(request: Submit) -> Fields | None:
    """Return the row that came with a submission; None where none came.

    Raises RequestError with 422 where several came, and none has the id of the submission.
    """
    data = request.config.provided_data
    rows = data if isinstance(data, list) else [data] if data else []
    if len(rows) <= 1:
        return rows[0] if rows else None
    name = str(request.id)
    row = next((row for row in rows if str(row.get("id", row.get("task_id"))) == name), None)
    if row is None:
        raise RequestError(422, f"none of the {len(rows)} rows of provided_data has the id {name[:80]!r}")
    return row


def _of_benchmark(request: Submit, problems: tuple[str, ...]) -> Submission:
    name = str(request.id)
    matches = [one for one in problems if one == name] or [one for one in problems if one.rpartition("/")[2] == name]
    if len(matches) != 1:
        raise RequestError(422, f"no problem {name[:80]!r} is served here: send it as config.provided_data")
    row = {"task_id": matches[0], "completion": request.completion}
    return Submission(request=request, row=row, code="", kind="heuristic")


def answer_submission(submission: Submission, judgement: Judgement) -> SubmitAnswer:
    """Return the answer; raise RequestError with 503 where nobody knows, 422 where the problem cannot be judged."""
    if judgement.excluded:
        raise RequestError(422, f"the problem cannot be judged: {judgement.excluded}")
    if judgement.passed is None:
        raise RequestError(503, "it could not be judged, which says nothing about it")
    failed = [] if judgement.passed else [_failed_test(judgement)]
    good = RunCodeAnswer(status="Success", run_result=CommandResult(status="Finished", return_code=0, stdout=""))
    count = judgement.tests_passed if judgement.tests else int(judgement.passed)
    return SubmitAnswer(
        id=submission.request.id,
        accepted=judgement.passed,
        extracted_code=submission.code,
        tests=[*(TestAnswer(passed=True, exec_info=good) for _ in range(count)), *failed],
        extracted_type=submission.kind,
        extra={"status": judgement.status, "tests": judgement.tests, "suspicious": list(judgement.suspicious)},
    )


def _failed_test(judgement: Judgement) -> TestAnswer:
    """Return the test at which the judging has ended."""
    is_late, is_full = judgement.status == "timeout", judgement.status == "memory"
    result = CommandResult(
        status="TimeLimitExceeded" if is_late else "Finished",
        execution_time=judgement.own_s,
        return_code=None if is_late else KILLED if is_full else 1,
        stdout="",
        stderr=judgement.message[:_SHOWN_BYTES],
    )
    is_compiler = judgement.status == "compile"
    answer = RunCodeAnswer(
        status="Failed",
        message="memory" if is_full else "",
        compile_result=result if is_compiler else None,
        run_result=None if is_compiler else result,
    )
    return TestAnswer(passed=False, exec_info=answer)


def _kind(text: str, program: str | None) -> Literal["fenced", "incomplete_fenced", "heuristic", "empty"]:
    if not program:
        return "empty"
    if _has_closed_fence(text):
        return "fenced"
    return "incomplete_fenced" if "```" in text else "heuristic"


def _has_closed_fence(text: str) -> bool:
    is_open = False
    for line in text.split("\n"):
        if line.startswith(("```", "~~~")):
            if is_open and not line[3:].strip():
                return True
            is_open = True
    return False


def convert_row(data: Mapping[str, Any], name: int | str, dataset_type: str) -> Fields:
    """Return a row that our formats read; one whose type has no rule of its own is read by its fields.

    Raises RequestError with 422 for a row that is none of its type.
    """
    row = dict(data)
    kind = dataset_type.removesuffix("Dataset") or _guess_type(row)
    if "id" not in row and "task_id" not in row:
        row["id"] = name
    convert = _CONVERTERS.get(kind)
    if convert is None:
        return row
    try:
        return convert(row)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RequestError(422, f"provided_data is no row of {kind}: {type(error).__name__}: {error}") from None


def _guess_type(row: Fields) -> str:
    """Return the type of a row in one of its own layouts, where nobody names it; empty for any other."""
    if not {"test", "labels"} <= row.keys():
        return ""
    test = row["test"]
    if isinstance(test, list) or (isinstance(test, str) and test.lstrip()[:1] == "["):
        return "CommonOJ"
    is_object = isinstance(test, dict) or (isinstance(test, str) and test.lstrip()[:1] == "{")
    return "AutoEval" if is_object else ""


def _contest(row: Fields) -> Fields:
    texts = {field: _as_json(row[field]) for field in ("test", "labels")}
    return {"content": "", **row, **texts}


def _appended(row: Fields) -> Fields:
    """Return the row of tests that stand behind the program."""
    test, labels = _as_object(row["test"]), _as_object(row.get("labels") or {})
    if test.get("asset"):
        raise RequestError(422, "files beside the tests (asset) are not offered")
    language = str(labels.get("execution_language") or labels.get("programming_language") or "python").lower()
    common = {"id": str(row["id"]), "statement": str(row.get("content") or "")}
    solution, code = row.get("canonical_solution"), test["code"]
    if solution:
        common["reference"] = str(solution)
    if language == "python":
        # A reference shows how the tests can be judged; without one the function that they call must be known.
        name = "" if solution else find_entry_point((code,), setup=code)
        return {**common, "kind": "assertions", "entry_point": name, "tests": [code]}
    if _RETURNS.search(code):
        raise RequestError(422, "the tests return whether they passed, as the program could: assert, and return 0")
    return {**common, "kind": "script", "language": _ALIASES.get(language, language), "tests": code}


def _human_eval(row: Fields) -> Fields:
    fields = ("prompt", "entry_point", "test")
    reference = {"canonical_solution": row["canonical_solution"]} if "canonical_solution" in row else {}
    return {"task_id": str(row.get("task_id", row.get("id"))), **{name: row[name] for name in fields}, **reference}


def _mbpp(row: Fields) -> Fields:
    """Return a row of MBPP, whose tests and setup may stand where SandboxFusion's tables have them."""
    if "test_list" in row:
        return {**row, "task_id": row.get("task_id", row.get("id"))}
    tests, labels = row["test"], _as_object(row.get("labels") or {})
    tests = json.loads(tests) if isinstance(tests, str) else tests
    text = str(row.get("content") or row.get("text") or "")
    setup = str(labels.get("test_setup_code") or "")
    return {"task_id": str(row["id"]), "text": text, "test_list": tests, "test_setup_code": setup}


_CONVERTERS: dict[str, Callable[[Fields], Fields]] = {
    "CommonOJ": _contest,
    "LiveCodeBench": _contest,
    "AutoEval": _appended,
    "HumanEval": _human_eval,
    "MBPP": _mbpp,
}
_ALIASES = {"typescript": "ts", "javascript": "js", "nodejs": "js", "c++": "cpp", "c#": "cs", "csharp": "cs"}


def _language(data: Mapping[str, Any], config: Config) -> str:
    """Return the language of the programs, where a contest problem leaves it open."""
    if (config.dataset_type or "").removesuffix("Dataset") not in ("CommonOJ", "LiveCodeBench"):
        return ""
    labels = _as_object(data.get("labels") or {})
    language = config.language or labels.get("execution_language") or labels.get("programming_language") or ""
    return _ALIASES.get(str(language).lower(), str(language).lower())


def _as_json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _as_object(value: Any) -> Fields:
    try:
        value = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise RequestError(422, "labels and test of provided_data must be objects, or objects as JSON")
    return value


def contest_row(inputs: list[str], outputs: list[str], function: str | None) -> Fields:
    """Return the row of a contest problem: texts to read and to write, or arguments and results of a function."""
    kind = "functional" if function else "stdin"
    tests = [{"input": text, "output": result, "testtype": kind} for text, result in zip(inputs, outputs, strict=True)]
    return {
        "question_id": "sent",
        "question_content": "",
        "public_test_cases": json.dumps(tests),
        "private_test_cases": "[]",
        "metadata": json.dumps({"func_name": function} if function else {}),
    }
