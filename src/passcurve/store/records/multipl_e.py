"""MultiPL-E: a folder with a file of results for each problem, and the details that Qwen's harness keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from passcurve.errors import DataError
from passcurve.store.documents import read_document
from passcurve.store.records.sample import MalformedRecordError, Record, ScoredSample, expect

KIND = "multipl-e"
SUFFIXES = (".results.json", ".results.json.gz")
_STATUSES = {"OK": "passed", "Timeout": "timeout", "SyntaxError": "compile", "Exception": "failed"}
_WORDS = {"passed": "OK", "timeout": "Timeout", "compile": "SyntaxError"}
_REQUIRED = ("name", "language", "tests", "results")
_MESSAGE_CHARS = 300


class ScriptRow(NamedTuple):
    """The row of a problem in the benchmark."""

    language: str
    prompt: str
    tests: str


def matches(document: Any) -> bool:
    """Tell whether a document has the results of one problem, or the details of all."""
    if not isinstance(document, dict) or not document:
        return False
    return document.keys() >= set(_REQUIRED) or _is_details(document)


def read(document: dict[str, Any]) -> Record:
    """Return the record of a document."""
    if document.keys() >= set(_REQUIRED):
        return Record(kind=KIND, samples=tuple(_samples(document)))
    return Record(kind="multipl-e-details", samples=tuple(_details(document)))


def result_files(folder: Path) -> list[Path]:
    """Return the files with results of a folder, by name."""
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIXES) and path.is_file())
    except OSError:
        return []


def read_folder(folder: Path) -> Record | None:
    """Return the record of a folder of results; None where it holds none.  Raises DataError for a damaged file."""
    files = result_files(folder)
    samples: list[ScoredSample] = []
    kinds: dict[str, Path] = {}
    for path in files:
        try:
            document = json.loads(read_document(path))
            if not matches(document):
                raise MalformedRecordError(f"expected an object with {', '.join(map(repr, _REQUIRED))}")
            check_kind(document, path, kinds)
            samples += read(document).samples
        except (MalformedRecordError, ValueError, RecursionError) as error:
            raise DataError(f"{str(path)!r}: {error}") from None
    return Record(kind=KIND, samples=tuple(samples)) if files else None


def task_of(document: dict[str, Any]) -> str:
    """Return the task of a file with one problem: its name, or the id that CanItEdit's own evaluation keeps."""
    if kind_of(document) and isinstance(document.get("id"), str | int):
        return str(document["id"])
    name: str = expect(document["name"], str, "`name`")
    return name


def kind_of(document: dict[str, Any]) -> str:
    """Return the kind of instruction that CanItEdit gave for a file; empty for a file of MultiPL-E."""
    return str(document.get("instr_kind") or "")


def check_kind(document: dict[str, Any], path: Path, kinds: dict[str, Path]) -> None:
    """Take the kind of a file, and raise DataError where files before it, which the table has, are of another."""
    kinds.setdefault(kind_of(document), path)
    if len(kinds) > 1:
        one, other = (name or "none" for name in kinds)
        first = next(iter(kinds.values()))
        raise DataError(
            f"{first.name!r} and {path.name!r} in {str(path.parent)!r} are for two kinds of instructions, {one} and "
            f"{other}: name files of one kind, or copy those into a folder of their own"
        )


def _samples(document: dict[str, Any]) -> list[ScoredSample]:
    task = task_of(document)
    tests = expect(document["tests"], str, f"`tests` of {task!r}")
    samples = []
    for index, result in enumerate(expect(document["results"], list, f"`results` of {task!r}")):
        place = f"result {index} of {task!r}"
        row = expect(result, dict, place)
        program = expect(row.get("program"), str, f"`program` of {place}")
        word = expect(row.get("status"), str, f"`status` of {place}")
        if not program.rstrip().endswith(tests.rstrip()):
            raise MalformedRecordError(f"the program of {place} does not end with the problem's tests")
        text = program.rstrip().removesuffix(tests.rstrip()).removesuffix("\n")
        # ``OK`` counts with exit status 0 alone (``pass_k.py``).
        has_failed = word == "OK" and row.get("exit_code", 0) != 0
        status = "failed" if has_failed else _STATUSES.get(word, "failed")
        message = "" if status == "passed" else _first_line(row.get("stderr")) or _first_line(row.get("stdout"))
        details = {name: value for name, value in row.items() if name not in ("program", "status")}
        samples.append(ScoredSample(task_id=task, text=text, status=status, message=message, details=details))
    return samples


def _first_line(text: Any) -> str:
    lines = text.strip().splitlines() if isinstance(text, str) else []
    return lines[0][:_MESSAGE_CHARS] if lines else ""


def _is_details(document: dict[str, Any]) -> bool:
    first = next(iter(document.values()))
    if not (isinstance(first, list) and first and isinstance(first[0], list) and len(first[0]) == 2):
        return False
    row = first[0][1]
    return isinstance(row, dict) and {"task_id", "completion_id", "result", "passed"} <= row.keys()


def _details(document: dict[str, Any]) -> list[ScoredSample]:
    """Return the verdicts of a file of details; its programs hold more than a model wrote, so there are none."""
    samples = []
    for task, pairs in document.items():
        for pair in expect(pairs, list, f"the entry of {task!r}"):
            row = pair[1] if isinstance(pair, list) and len(pair) == 2 else None
            row = expect(row, dict, f"a result of {task!r}")
            passed = expect(row.get("passed"), bool, f"`passed` of {task!r}")
            result = str(row.get("result", ""))
            samples.append(
                ScoredSample(
                    task_id=task,
                    status="passed" if passed else _status(result),
                    message="" if passed else _first_line(result.removeprefix("failed: ")),
                )
            )
    return samples


def _status(result: str) -> str:
    if "timed out" in result or result == "timeout":
        return "timeout"
    return "compile" if result.startswith("failed: compilation error") else "failed"


def write(record: Record, scripts: Mapping[str, ScriptRow], time_s: int) -> dict[str, str]:
    """Return the files of a folder of results, by name."""
    files = {}
    for task, samples in record.by_task().items():
        script = _script_of(task, scripts)
        document = {
            "name": task,
            "language": script.language,
            "prompt": script.prompt,
            "tests": script.tests,
            "results": [_result(sample, script.tests, time_s) for sample in samples],
        }
        files[f"{task.replace('/', '_')}.results.json"] = json.dumps(document)
    return files


def _script_of(task: str, scripts: Mapping[str, ScriptRow]) -> ScriptRow:
    if task not in scripts:
        raise DataError(f"the benchmark has no problem {task!r}: name the right one with --benchmark")
    return scripts[task]


def _result(sample: ScoredSample, tests: str, time_s: int) -> dict[str, Any]:
    stored = sample.details if isinstance(sample.details, dict) else {}
    default = {"passed": 0, "timeout": -1}.get(sample.status, 1)
    return {
        "program": f"{sample.text}\n{tests}",
        "timestamp": stored.get("timestamp", time_s),
        "stdout": stored.get("stdout", ""),
        "stderr": stored.get("stderr", sample.message),
        "exit_code": stored.get("exit_code", default),
        "status": _WORDS.get(sample.status, "Exception"),
    }


def write_output(record: Record, scripts: Mapping[str, ScriptRow]) -> list[dict[str, Any]]:
    """Return the rows of ``pred_LANGUAGE_output.jsonl``, whose programs hold the prompt.

    Raises DataError for a problem that the benchmark lacks.
    """
    return [
        {
            "task_id": sample.task_id,
            "generation": sample.text,
            "prompt": _script_of(sample.task_id, scripts).prompt,
            "wholecode": sample.text,
        }
        for sample in record.samples
    ]
