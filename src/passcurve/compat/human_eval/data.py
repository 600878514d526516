"""Files of rows, and the file of HumanEval's problems."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from passcurve import config
from passcurve.bench import catalog, resolve
from passcurve.errors import DataError
from passcurve.types import Benchmark

Row: TypeAlias = dict[str, Any]

_NAME = "humaneval"
_ENTRY = catalog.load_catalog()[_NAME]
assert isinstance(_ENTRY, catalog.Published)

HUMAN_EVAL = str(_ENTRY.cached(_NAME, config.cache_dir()))
"""Where ``passcurve bench fetch humaneval`` puts the problems; wherever it is given as a file of problems, the copy
that an installed human_eval carries serves as well."""


def read_problems(evalset_file: str = HUMAN_EVAL) -> dict[str, Row]:
    """Return the problems of a file by task id, each as its row stands; raises DataError when HumanEval is not here."""
    path = load_benchmark(evalset_file).source if _is_default(evalset_file) else evalset_file
    return {row["task_id"]: row for row in stream_jsonl(path)}


def stream_jsonl(filename: str) -> Iterator[Row]:
    """Yield the row of each line that is not blank; a name that ends with .gz is read as gzip."""
    opened = gzip.open if _is_gzip(filename) else open
    with opened(filename, "rt", encoding="utf-8", newline="\n") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def write_jsonl(filename: str, data: Iterable[Row], append: bool = False) -> None:
    """Write a line for each row, in place of what is there or behind it; a name that ends with .gz is compressed."""
    opened = gzip.open if _is_gzip(filename) else open
    with opened(Path(filename).expanduser(), "at" if append else "wt", encoding="utf-8", newline="\n") as file:
        for row in data:
            file.write(json.dumps(row) + "\n")


def load_benchmark(problem_file: str) -> Benchmark:
    """Return the benchmark in a file of problems; raises DataError when it is not there or not that."""
    if _is_default(problem_file):
        try:
            return resolve.load(_NAME, config.cache_dir())
        except DataError as error:
            # The same advice, with this command's name of the option.
            raise DataError(str(error).replace("--benchmark", "--problem_file")) from None
    # A file with the name of a known benchmark is still a file.
    name = str(problem_file)
    return resolve.load(name if "/" in name else f"./{name}", config.cache_dir())


def _is_default(problem_file: str) -> bool:
    return problem_file == HUMAN_EVAL


def _is_gzip(filename: str) -> bool:
    return str(filename).endswith(".gz")
