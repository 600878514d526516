"""Options that several commands share, each declared once with its help, bounds and choices."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Optional

import msgspec
import typer

from passcurve import config
from passcurve.bench.choose import join_dates
from passcurve.types import DEFAULT_TIMEOUT_S, LEAST_TIMEOUT_S, MOST_TIMEOUT_S


class VerdictMode(StrEnum):
    """Processes in which the tests may run."""

    auto = "auto"
    referee = "referee"
    shared = "shared"


class Reuse(StrEnum):
    """Ways to use a process again after a sample."""

    auto = "auto"
    rewind = "rewind"
    fork = "fork"


class Isolation(StrEnum):
    """Levels of isolation."""

    auto = "auto"
    full = "full"
    restricted = "restricted"
    none = "none"


class Clock(StrEnum):
    """Clocks that a time limit may count by."""

    own = "own"
    wall = "wall"


class Theme(StrEnum):
    """Background of a picture."""

    light = "light"
    dark = "dark"


class TableFormat(StrEnum):
    """Forms of a table of scores."""

    text = "text"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"
    json = "json"


Format = Annotated[TableFormat, typer.Option("--format", help="Form of the tables; json is --json.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show variances, all walls, the signature and a sentence for a paper.")
]
SampleFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="SAMPLES...",
        help="Samples: .jsonl(.gz), a JSON array, Parquet, files of bigcode, lm-eval or EvalPlus, "
        "a folder or several files; - for stdin; starter:examples.",
    ),
]
FieldName = Annotated[
    Optional[str],
    typer.Option(
        "--field",
        metavar="NAME",
        help="The field of each row that continues the prompt; NAME:solution for whole programs.",
    ),
]
IdMapping = Annotated[
    Optional[str],
    typer.Option(
        "--id-map",
        metavar="MAP",
        help="Task ids of the benchmark: 'Python/{}=HumanEval/{}' ({-1}: counted from 1), entry_point, or a JSON file.",
    ),
]
BenchmarkName = Annotated[
    Optional[str], typer.Option(help="A known name or a file of problems; default: by the task ids.")
]
Interpreter = Annotated[
    Optional[str], typer.Option(help="Interpreter of the samples; default: the one that runs passcurve.")
]
Level = Annotated[float, typer.Option(help="Level of the intervals.", min=0.5, max=0.9999)]
Metrics = Annotated[str, typer.Option(help="What to report, as in pass@k,pass^k,g-pass@k:0.5,attempts.")]
Packages = Annotated[str, typer.Option(help="Installed packages that samples may import, comma-separated.")]
Plots = Annotated[
    list[Path], typer.Option("--plot", help="Draw it into a .svg, .png or .pdf file; may be given more than once.")
]
PlotTheme = Annotated[Theme, typer.Option(help="Background of the picture.")]
Problems = Annotated[
    str, typer.Option(help="Only these problems, comma-separated: ids, wildcards and ranges, as in 1-5,'2?'.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random draws.")]
Stale = Annotated[bool, typer.Option("--stale", help="Use stored verdicts although their samples have changed since.")]
Subset = Annotated[bool, typer.Option(help="Score the problems that have samples, and say so.")]
AcceptInput = Annotated[bool, typer.Option("--accept-input", help="Report a score whatever is wrong with the samples.")]
AcceptBenchmark = Annotated[
    bool, typer.Option("--accept-benchmark", help="Report a score however many problems cannot be judged.")
]
Workers = Annotated[Optional[int], typer.Option(min=1, help="Samples judged at once; default: one per core.")]
Prelude = Annotated[
    str, typer.Option(help="Imports put in front, as by humaneval-x, bigcode, livecodebench, apps or multipl-e.")
]

Profile = Annotated[str, typer.Option(help="The harness whose rules are followed, as in evalplus; native: ours.")]
Task = Annotated[
    str,
    typer.Option(help="The task of a file that has two: input, output (CRUXEval), complete, instruct (BigCodeBench)."),
]
Language = Annotated[
    str, typer.Option(help="The language of the programs, where a file has several or leaves it open, as in cpp.")
]


class ScoreOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options that choose the scores to report and the scores to demand."""

    k: Annotated[
        Optional[str], typer.Option("--k", "-k", help="Values of k, as in 1,10,100 (the default), or all.")
    ] = None
    metric: Metrics = "pass@k"
    level: Level = 0.95
    accept_input: AcceptInput = False
    accept_benchmark: AcceptBenchmark = False
    fail_under: Annotated[
        list[str], typer.Option("--fail-under", help="Exit with 3 when below, as in pass@1=0.5; repeatable.")
    ] = []


class JudgingOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options that say how samples are run."""

    timeout: Annotated[
        float, typer.Option(min=LEAST_TIMEOUT_S, max=MOST_TIMEOUT_S, help="Seconds of time for each sample.")
    ] = DEFAULT_TIMEOUT_S
    clock: Annotated[Clock, typer.Option(help="own: the sample's own time; wall: as classic harnesses count.")] = (
        Clock.own
    )
    workers: Workers = None
    memory: Annotated[Optional[str], typer.Option(help="Memory of each sample, as in 4GiB (the default).")] = None
    problems: Problems = ""
    from_date: Annotated[
        str, typer.Option("--from", metavar="DATE", help="Only problems published on that day or later.")
    ] = ""
    to_date: Annotated[
        str, typer.Option("--to", metavar="DATE", help="Only problems published on that day or before.")
    ] = ""
    verdict: Annotated[
        VerdictMode,
        typer.Option(help="Where tests run: in a process of their own (referee), or beside the sample (shared)."),
    ] = VerdictMode.auto
    isolation: Annotated[
        Isolation, typer.Option(help="Require a level of isolation; none is used only when it is asked for.")
    ] = Isolation.auto
    packages: Packages = ""
    python: Interpreter = None
    dedup: Annotated[bool, typer.Option("--dedup/--no-dedup", help="Run identical programs of a problem once.")] = True
    reuse: Annotated[
        Reuse, typer.Option(help="rewind: processes are put back after each sample; fork: each sample gets new ones.")
    ] = Reuse.auto
    prelude: Prelude = ""
    all_tests: Annotated[
        bool, typer.Option("--all-tests", help="Go on after the first failure; store the outcome of each test.")
    ] = False
    test_timeout: Annotated[
        Optional[float],
        typer.Option(min=LEAST_TIMEOUT_S, max=MOST_TIMEOUT_S, help="Seconds for each test, where tests are counted."),
    ] = None
    profile: Profile = "native"
    task: Task = ""
    language: Language = ""

    def __post_init__(self) -> None:
        """Make dates a part of the pattern of problems, by which a filtered run is named."""
        if self.from_date or self.to_date:
            dates = join_dates(self.from_date, self.to_date)
            parts = [part for part in self.problems.split(",") if part.strip() and part.strip() != dates]
            msgspec.structs.force_setattr(self, "problems", ",".join([*parts, dates]))


def check_prices(path: Path | None) -> None:
    """Raise DataError for a file of prices that cannot be read, before it is known whether a run has tokens."""
    # A pipe can be read only once.
    if path is not None and not path.is_fifo():
        config.read_toml(f"--prices {str(path)!r}", path)
