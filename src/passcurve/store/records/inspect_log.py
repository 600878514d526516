"""Logs of inspect, version 2: a zip archive (``.eval``) or JSON."""

from __future__ import annotations

import json
import math
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from passcurve.store.records.sample import MalformedRecordError, Record, ScoredSample, expect, shorten
from passcurve.types.amounts import amount, have, part_of

_MAX_BYTES = 2 << 30
"""Largest log, unpacked, in bytes."""
_VALUES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}


def matches(document: Any) -> bool:
    """Tell whether a document is a log."""
    return isinstance(document, dict) and isinstance(document.get("eval"), dict) and "version" in document


def read(document: dict[str, Any]) -> Record:
    """Return the record of a log in JSON."""
    return _record(document, expect(document.get("samples") or [], list, "`samples`"))


def is_archive(path: Path) -> bool:
    """Tell whether a file is a log as a zip archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "header.json" in archive.namelist() or "_journal/start.json" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def read_archive(path: Path) -> Record:
    """Return the record of a log as a zip archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _MAX_BYTES:
                raise MalformedRecordError(f"the log is larger than {_MAX_BYTES >> 30} GiB")
            names = archive.namelist()
            if "header.json" not in names:
                raise MalformedRecordError("the log has no `header.json`: its evaluation did not come to its end")
            header = json.loads(archive.read("header.json"))
            chosen = [name for name in names if name.startswith("samples/") and name.endswith(".json")]
            return _record(expect(header, dict, "`header.json`"), (json.loads(archive.read(name)) for name in chosen))
    except (NotImplementedError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise MalformedRecordError(
            f"the archive cannot be read ({error}); write the log as JSON: inspect log convert --to json"
        ) from None


def _record(header: dict[str, Any], entries: Iterable[Any]) -> Record:
    if header.get("version") != 2:
        raise MalformedRecordError(f"expected a log of version 2, got {shorten(header.get('version'))}")
    order = {str(name): index for index, name in enumerate(_ids(header))}
    rows = [expect(entry, dict, "a sample") for entry in entries]
    rows.sort(key=lambda row: (order.get(str(row.get("id")), len(order)), _epoch(row)))
    if not rows:
        raise MalformedRecordError(
            f"the log has no samples (its status is {shorten(header.get('status'))}): evaluate again, without "
            "--no-log-samples"
        )
    scorer = _choose_scorer(header, rows)
    samples = tuple(_sample(row, scorer) for row in rows)
    about = {name: header["eval"].get(name) for name in ("task", "model", "created") if header["eval"].get(name)}
    notes = []
    if lacking := sum(not sample.status for sample in samples):
        notes.append(f"{part_of(lacking, len(samples), 'sample')} of the log {have(lacking)} no score")
    if partial := sum(sample.details == "partial" for sample in samples):
        notes.append(
            f"{amount(partial, 'sample')} with a partial score {'counts' if partial == 1 else 'count'} as failed"
        )
    names = {name for row in rows for name in _scores(row)}
    if len(names) > 1:
        notes.append(f"the scores are those of {scorer!r}, the first of {len(names)} scorers")
    withheld = _incomplete(header, len(rows))
    return Record(kind="inspect", samples=samples, head=about, notes=tuple(notes), withheld=withheld)


def _incomplete(header: dict[str, Any], count: int) -> str:
    """Return in what a log with so many samples is not that of a whole evaluation; empty where it is."""
    total = _total_samples(header)
    number = f"{count} of {total} samples" if total is not None and count < total else ""
    status = header.get("status", "success")
    if status != "success":
        has = f"the log has {number}, and its" if number else "the log's"
        return f"{has} status is {shorten(status)}: its evaluation did not come to its end; retry it with inspect"
    return f"the log has {number}: write it again with all of them" if number else ""


def _total_samples(header: dict[str, Any]) -> int | None:
    """Return the number of samples that an evaluation has, epochs included; None where the log does not say."""
    results = header.get("results")
    total = results.get("total_samples") if isinstance(results, dict) else None
    if isinstance(total, int) and total:
        return total
    config = header["eval"].get("config")
    config = config if isinstance(config, dict) else {}
    epochs = config.get("epochs") or 1
    # Where some of the samples were chosen, the ids may be those of all.
    if not isinstance(epochs, int) or config.get("limit") or config.get("sample_id") or not _ids(header):
        return None
    return epochs * len(_ids(header))


def _ids(header: dict[str, Any]) -> list[Any]:
    dataset = expect(header.get("eval"), dict, "`eval`").get("dataset")
    ids = dataset.get("sample_ids") if isinstance(dataset, dict) else None
    return ids if isinstance(ids, list) else []


def _choose_scorer(header: dict[str, Any], rows: Iterable[dict[str, Any]]) -> str:
    """Return the name of the scorer that the results name first, or that the first score has."""
    present = list(dict.fromkeys(name for row in rows for name in _scores(row)))
    return next((name for name in _scorers(header) if name in present), present[0] if present else "")


def _scorers(header: dict[str, Any]) -> Iterator[str]:
    results = header.get("results")
    scores = results.get("scores") if isinstance(results, dict) else None
    for score in scores if isinstance(scores, list) else []:
        if isinstance(score, dict):
            yield str(score.get("name"))
            yield str(score.get("scorer"))


def _epoch(row: dict[str, Any]) -> int:
    epoch: int = expect(row.get("epoch", 1), int, "`epoch` of a sample")
    return epoch


def _scores(row: dict[str, Any]) -> dict[str, Any]:
    scores: dict[str, Any] = expect(row.get("scores") or {}, dict, "`scores` of a sample")
    return scores


def _sample(row: dict[str, Any], scorer: str) -> ScoredSample:
    task = row.get("id")
    if not isinstance(task, str | int):
        raise MalformedRecordError(f"the `id` of a sample must be a text or a number, got {shorten(task)}")
    output = row.get("output")
    text = output.get("completion") if isinstance(output, dict) else None
    score = _scores(row).get(scorer)
    value = _number(score.get("value"), str(task)) if isinstance(score, dict) and not row.get("error") else None
    status = "" if value is None else "passed" if value == 1 else "failed"
    return ScoredSample(
        task_id=str(task),
        form="completion",
        text=text if isinstance(text, str) else _choice(output),
        status=status,
        message=str(score.get("explanation") or "") if isinstance(score, dict) and status == "failed" else "",
        details="partial" if value is not None and 0 < value < 1 else None,
    )


def _choice(output: Any) -> str | None:
    """Return the text of the first choice, which may be a list of parts."""
    choices = output.get("choices") if isinstance(output, dict) else None
    message = choices[0].get("message") if choices and isinstance(choices[0], dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else None


def _number(value: Any, task: str) -> float | None:
    """Return a score as a number; None for NaN, which inspect writes where a sample could not be scored."""
    if isinstance(value, str) and value in _VALUES:
        return _VALUES[value]
    if isinstance(value, bool | int | float):
        return None if math.isnan(value) else float(value)
    raise MalformedRecordError(f"the score of {task!r} is {shorten(value)}; expected C, I, P, N or a number")
