"""Samples in the files of other tools, and files that hold none."""

from __future__ import annotations

import bz2
import gzip
import json
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from case import JUDGE, Case, Row, benchmark, own, problem, right, write_rows, wrong

MIXED = [right(0), right(1), wrong(2), right(3)]
TEXTS = [row["completion"] for row in MIXED]
PROGRAMS = [f"def f(x):\n{text}" for text in TEXTS]


def judge(*samples: str, words: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the command that judges these samples."""
    return ("judge", *samples, "--benchmark", "b.jsonl", "--k", "1", *words)


def file(name: str, content: str | bytes | object) -> Callable[[Path], None]:
    """Return what writes a file beside the benchmark; what is no text as JSON."""

    def make(folder: Path) -> None:
        write_rows(folder / "b.jsonl", benchmark())
        if isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")

    return make


def both(first: Callable[[Path], None], second: Callable[[Path], None]) -> Callable[[Path], None]:
    """Return what writes the files of one and then of the other."""

    def make(folder: Path) -> None:
        first(folder)
        second(folder)

    return make


def saved_data_set(folder: Path) -> None:
    """Write what `datasets` saves to a folder, beside the benchmark."""
    write_rows(folder / "b.jsonl", benchmark())
    (folder / "d").mkdir()
    for name in ("data-00000-of-00001.arrow", "dataset_info.json", "state.json"):
        (folder / "d" / name).write_bytes(b"{}")


def files(**contents: Iterable[Row]) -> Callable[[Path], None]:
    """Return what writes several files of rows beside the benchmark."""

    def make(folder: Path) -> None:
        write_rows(folder / "b.jsonl", benchmark())
        for name, rows in contents.items():
            path = folder / name.replace("__", "/")
            path.parent.mkdir(exist_ok=True)
            write_rows(path.with_suffix(".jsonl"), rows)

    return make


def programs(folder: Path) -> None:
    """Write a folder of programs as EvalPlus keeps them."""
    write_rows(folder / "b.jsonl", benchmark())
    for number, program in enumerate(PROGRAMS):
        place = folder / "model" / f"Own_{number}"
        place.mkdir(parents=True)
        for index in range(11):
            # Sorted as text, 10 would come before 2.
            (place / f"{index}.py").write_text(program if index else "pass\n")


def lm_eval(number: int, **fields: Any) -> dict[str, Any]:
    """Return a row as lm-eval writes it for a task whose filter builds whole programs."""
    doc = problem(number)
    row = {
        "doc_id": number,
        "doc": doc,
        "target": "check(f)",
        "arguments": {"gen_args_0": {"arg_0": doc["prompt"], "arg_1": {"until": ["\nclass"]}}},
        "resps": [[TEXTS[number]]],
        "filtered_resps": [[doc["prompt"] + TEXTS[number]]],
        "filter": "create_test",
        "metrics": ["pass@1"],
        "pass@1": float(number != 2),
    }
    return row | fields


def zipped(folder: Path) -> None:
    """Write a zip archive."""
    write_rows(folder / "b.jsonl", benchmark())
    with zipfile.ZipFile(folder / "s.eval", "w") as archive:
        archive.writestr("a.json", "{}")


def parquet(folder: Path) -> None:
    """Write a Parquet file, or what begins as one where pyarrow is missing."""
    write_rows(folder / "b.jsonl", benchmark())
    (folder / "s.parquet").write_bytes(b"PAR1 and no more")


def change(folder: Path) -> None:
    """Change a program of an array."""
    (folder / "s.json").write_text(json.dumps([wrong(0), *MIXED[1:]]))


LM_ROWS = [lm_eval(number) for number in range(4)]
JSON_LINES = "".join(json.dumps(row) + "\n" for row in MIXED)

CASES = [
    Case("an array of rows", file("s.json", MIXED), judge("s.json"), value=0.75),
    Case("an array in a file named as lines", file("s.jsonl", MIXED), JUDGE, value=0.75),
    Case("an array on many lines", file("s.json", json.dumps(MIXED, indent=2)), judge("s.json"), value=0.75),
    Case(
        "a compressed array",
        file("s.json.gz", gzip.compress(json.dumps(MIXED).encode())),
        judge("s.json.gz"),
        value=0.75,
    ),
    Case(
        "an array with NaN and a raw line separator",
        file("s.json", json.dumps([row | {"p": float("nan"), "s": "\u2028\x85"} for row in MIXED], ensure_ascii=False)),
        judge("s.json"),
        value=0.75,
    ),
    Case(
        "rows with raw line separators",
        file("s.jsonl", "".join(json.dumps(row | {"s": "\u2028\x85\x0b"}, ensure_ascii=False) + "\n" for row in MIXED)),
        JUDGE,
        value=0.75,
    ),
    Case("an array that was cut off", file("s.json", json.dumps(MIXED)[:-9]), judge("s.json"), 2, refused=True),
    Case("an empty array", file("s.json", []), judge("s.json"), 2, refused=True, says=("s.json",)),
    Case("an array of texts", file("s.json", TEXTS), judge("s.json"), 2, refused=True, says=("element 0",)),
    Case(
        "an array that changed after it was judged",
        file("s.json", MIXED),
        judge("s.json"),
        value=0.5,
        before=(judge("s.json"),),
        between=change,
    ),
    Case("lists of programs", file("g.json", [[text] for text in PROGRAMS]), judge("g.json"), value=0.75),
    Case(
        "two programs each",
        file("g.json", [[text, "def f(x):\n    return None\n"] for text in PROGRAMS]),
        judge("g.json"),
        value=0.375,
    ),
    Case(
        "lists of programs without a benchmark",
        file("g.json", [[text] for text in PROGRAMS]),
        ("judge", "g.json"),
        2,
        refused=True,
        says=("--benchmark",),
    ),
    Case(
        "more lists than problems",
        file("g.json", [[text] for text in PROGRAMS * 2]),
        judge("g.json"),
        2,
        refused=True,
        says=("8", "4", "--benchmark"),
    ),
    Case(
        "lists of programs for other functions",
        file("g.json", [[f"def other_{n}(y):\n    return y\n"] for n in range(4)]),
        judge("g.json"),
        2,
        refused=True,
        says=("Own/0", "--benchmark"),
    ),
    Case("rows of lm-eval", files(s=LM_ROWS), JUDGE, value=0.75),
    Case("an array of lm-eval", file("s.jsonl", LM_ROWS), JUDGE, value=0.75),
    Case(
        "rows of lm-eval with unfiltered answers",
        files(s=[row | {"filtered_resps": row["resps"]} for row in LM_ROWS]),
        JUDGE,
        value=0.75,
    ),
    Case("rows of lm-eval, by their raw answers", files(s=LM_ROWS), (*JUDGE, "--field", "resps"), value=0.75),
    Case(
        "rows of lm-eval through two filters",
        files(s=[row | {"filter": name} for row in LM_ROWS for name in ("a", "b")]),
        JUDGE,
        2,
        refused=True,
        says=("'a'", "'b'"),
    ),
    Case(
        "rows of lm-eval without ids in their documents",
        files(s=[row | {"doc": {**row["doc"], "task_id": None}} for row in LM_ROWS]),
        JUDGE,
        value=0.75,
    ),
    Case("a folder of programs", programs, judge("model/"), value=0.75 * 10 / 11, findings=("lacks_function",)),
    Case(
        "programs in EvalPlus' lines",
        files(s=[{"task_id": f"Own/{n}", "solution": text} for n, text in enumerate(PROGRAMS)]),
        JUDGE,
        value=0.75,
    ),
    Case("a file in two parts", files(a=MIXED[:2], b_=MIXED[2:]), judge("a.jsonl", "b_.jsonl"), value=0.75),
    Case("a folder of parts", files(d__1=MIXED[:2], d__2=MIXED[2:]), judge("d"), value=0.75),
    Case("a file named twice", files(s=MIXED), judge("s.jsonl", "./s.jsonl"), 2, refused=True, says=("twice",)),
    Case(
        "a file beside the folder that holds it",
        files(d__1=MIXED[:2], d__2=MIXED[2:]),
        judge("d/1.jsonl", "d"),
        2,
        refused=True,
        says=("'d/1.jsonl' is named twice",),
    ),
    Case(
        "a folder with a link to what it holds",
        both(files(d__1=MIXED), lambda folder: (folder / "d" / "latest.jsonl").symlink_to("1.jsonl")),
        judge("d"),
        2,
        refused=True,
        says=("'d/latest.jsonl' is named twice",),
    ),
    Case(
        "a folder with raw and sanitized samples",
        both(files(d__a=MIXED), lambda folder: write_rows(folder / "d" / "a.raw.jsonl", MIXED)),
        judge("d"),
        2,
        refused=True,
        says=("a.raw.jsonl", "a.jsonl"),
    ),
    Case(
        "a data set that was saved to a folder",
        saved_data_set,
        ("judge", "d", "--benchmark", "b.jsonl"),
        2,
        refused=True,
        says=("load_from_disk", "data-00000-of-00001.arrow"),
    ),
    Case(
        "a folder without samples",
        both(file("x.txt", "x"), lambda folder: (folder / "d").mkdir()),
        judge("d"),
        2,
        refused=True,
        says=("'d'", ".jsonl"),
    ),
    Case(
        "a run directory",
        own(MIXED),
        judge("s.jsonl.passcurve"),
        2,
        refused=True,
        before=(JUDGE,),
        says=("passcurve show",),
    ),
    Case(
        "code in another field, named",
        files(s=[{"task_id": f"Own/{n}", "generation": text} for n, text in enumerate(TEXTS)]),
        (*JUDGE, "--field", "generation"),
        value=0.75,
    ),
    Case(
        "programs in another field, named, beside a completion",
        files(s=[wrong(n, answer=text) for n, text in enumerate(PROGRAMS)]),
        (*JUDGE, "--field", "answer:solution"),
        value=0.75,
    ),
    Case(
        "a list of programs in another field, named",
        files(s=[{"task_id": f"Own/{n}", "codes": [text, text + "\n"]} for n, text in enumerate(PROGRAMS)]),
        (*JUDGE, "--field", "codes:solution"),
        value=0.75,
    ),
    Case(
        "a field that no row has",
        files(s=MIXED),
        (*JUDGE, "--field", "generatoin"),
        2,
        refused=True,
        says=("generatoin", "`completion`"),
    ),
    Case(
        "ids of another tool, mapped",
        files(s=[row | {"task_id": f"Python/{n}"} for n, row in enumerate(MIXED)]),
        (*JUDGE, "--id-map", "Python/{}=Own/{}"),
        value=0.75,
    ),
    Case(
        "numbers as ids, mapped",
        files(s=[row | {"task_id": n} for n, row in enumerate(MIXED)]),
        (*JUDGE, "--id-map", "{}=Own/{}"),
        value=0.75,
    ),
    Case(
        "a map that fits nothing",
        files(s=MIXED),
        (*JUDGE, "--id-map", "Python/{}=Own/{}"),
        2,
        refused=True,
        says=("Python/{}=Own/{}", "Own/0"),
    ),
    Case(
        "a map without a hole",
        files(s=MIXED),
        (*JUDGE, "--id-map", "Python=Own"),
        2,
        refused=True,
        says=("--id-map", "{}"),
    ),
    Case(
        "a map that joins two ids",
        both(files(s=MIXED), file("m.json", {"a": "Own/0", "b": "Own/0"})),
        (*JUDGE, "--id-map", "m.json"),
        2,
        refused=True,
        says=("'a'", "'b'", "Own/0"),
    ),
    Case(
        "rows in Latin-1",
        file("s.jsonl", JSON_LINES.replace("return", "# caf\u00e9\\n    return").encode("latin-1")),
        JUDGE,
        2,
        refused=True,
        says=("line 1: not UTF-8: byte 0xe9",),
    ),
    Case("UTF-32", file("s.jsonl", JSON_LINES.encode("utf-32")), JUDGE, 2, refused=True, says=("UTF-32", "iconv")),
    Case("an Arrow file", file("s.jsonl", b"ARROW1\0\0"), JUDGE, 2, refused=True, says=("to_json",)),
    Case("UTF-16", file("s.jsonl", JSON_LINES.encode("utf-16")), JUDGE, 2, refused=True, says=("UTF-16", "iconv")),
    Case(
        "UTF-16 without a mark",
        file("s.jsonl", JSON_LINES.encode("utf-16-le")),
        JUDGE,
        2,
        refused=True,
        says=("UTF-16",),
    ),
    Case("a mark of UTF-8", file("s.jsonl", b"\xef\xbb\xbf" + JSON_LINES.encode()), JUDGE, value=0.75),
    Case("lines that end as on Windows", file("s.jsonl", JSON_LINES.replace("\n", "\r\n")), JUDGE, value=0.75),
    Case(
        "CSV",
        file("s.csv", "task_id,completion\nOwn/0,return 1\n"),
        judge("s.csv"),
        2,
        refused=True,
        says=("CSV", "to_json"),
    ),
    Case("a zip archive", zipped, judge("s.eval"), 2, refused=True, says=("zip",)),
    Case("bzip2", file("s.jsonl.bz2", bz2.compress(b"{}")), judge("s.jsonl.bz2"), 2, refused=True, says=("bzip2",)),
    Case("a broken Parquet file", parquet, judge("s.parquet"), 2, refused=True, says=("s.parquet",)),
    Case(
        "EvalPlus' record of verdicts",
        file("r.json", {"date": "2024-01-01", "hash": "0", "eval": {"Own/0": []}}),
        judge("r.json"),
        2,
        refused=True,
        says=("passcurve show",),
    ),
    Case(
        "texts by a task id that is none",
        file("s.json", json.dumps({f"text_{n}": [text] for n, text in enumerate(TEXTS)}, indent=1)),
        judge("s.json"),
        2,
        refused=True,
        says=("text_0", "--id-map"),
    ),
    Case(
        "continuations by task id",
        file("s.json", {f"Own/{n}": [text, TEXTS[2]] for n, text in enumerate(TEXTS)}),
        judge("s.json"),
        value=0.375,
    ),
    Case(
        "programs by task id, one each, that count from 1",
        file("s.json", json.dumps({n + 1: f"import os\n{text}" for n, text in enumerate(PROGRAMS)}, indent=1)),
        judge("s.json", words=["--id-map", "{}=Own/{-1}"]),
        value=0.75,
    ),
    Case(
        "an object of objects",
        file("s.json", {f"Own/{n}": {"text": text} for n, text in enumerate(TEXTS)}),
        judge("s.json"),
        2,
        refused=True,
        says=("Own/0", "task_id"),
    ),
    Case("space alone", file("s.jsonl", "\n \n"), JUDGE, 2, refused=True, says=("s.jsonl",)),
    Case("empty, without a benchmark", file("s.jsonl", ""), ("judge", "s.jsonl"), 2, refused=True, says=("s.jsonl",)),
    Case(
        "a foreign file that is to be followed",
        file("s.json", MIXED),
        judge("s.json", words=["--follow"]),
        2,
        refused=True,
        says=("--follow",),
    ),
]
