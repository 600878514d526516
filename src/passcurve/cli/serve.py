"""``passcurve serve``: the judge as a server for trainers."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from passcurve import config
from passcurve.cli.output import warn, write_now
from passcurve.errors import DataError, IsolationError
from passcurve.types import LEAST_TIMEOUT_S, MOST_TIMEOUT_S, Limits

if TYPE_CHECKING:
    from passcurve.judging.program_runner import ProgramRunner

_MIN_TOKEN = 16
_LANES = 2
"""Programs at once for each worker: while one ends, another runs."""


def serve(
    benchmark: Annotated[
        Optional[str],
        typer.Argument(
            help="A known benchmark, or a file of problems; default: problems that come with their samples."
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen at; others than loopback need a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    token_file: Annotated[
        Optional[Path], typer.Option(help="File with the token that requests must know, of 16 characters or more.")
    ] = None,
    queue: Annotated[int, typer.Option(min=1, help="Samples that may wait; a request beyond gets 503.")] = 20_000,
    workers: Annotated[
        Optional[int], typer.Option("--workers", "-j", help="Processes that judge; default: the cores.")
    ] = None,
    timeout: Annotated[
        Optional[float], typer.Option(min=LEAST_TIMEOUT_S, max=MOST_TIMEOUT_S, help="Seconds for each sample.")
    ] = None,
    memory: Annotated[Optional[str], typer.Option(help="Memory of each sample, as in 1GiB.")] = None,
    extract: Annotated[Optional[str], typer.Option(help="How texts become programs, as for judge.")] = None,
    all_tests: Annotated[
        bool, typer.Option("--all-tests", help="Go on after the first failure, for shares of tests.")
    ] = False,
) -> None:
    """Judge samples that come over HTTP, until SIGTERM or Ctrl-C."""
    from passcurve.api import AsyncJudge
    from passcurve.serve.server import ServeOptions
    from passcurve.serve.server import serve as run

    settings = {"workers": workers, "timeout_s": timeout, "memory": memory, "extract": extract}
    options: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    judge = AsyncJudge(benchmark, all_tests=all_tests, **options)
    token = _read_token(token_file)
    resources = config.fit_to_machine(workers, config.parse_size(memory) if memory else None)
    if resources.note:
        warn(resources.note)

    def announce(address: str) -> None:
        what = benchmark or "problems that come with samples"
        write_now(f"judging {what}, and running programs, at {address} (SIGTERM or Ctrl-C ends)")

    limits = Limits(memory_bytes=resources.memory_bytes)
    place = ServeOptions(
        host=host, port=port, token=token, queue=queue, limits=limits, benchmark=judge.benchmark if benchmark else ""
    )
    with contextlib.ExitStack() as stack:
        stack.enter_context(judge)
        runner = _start_runner(limits, _LANES * resources.workers)
        if runner is not None:
            stack.callback(runner.close)
        run(judge, runner, place, announce)


def _start_runner(limits: Limits, workers: int) -> ProgramRunner | None:
    """Return a runner of programs; None where they cannot be isolated here, as samples can be."""
    from passcurve.judging.program_runner import ProgramRunner

    try:
        return ProgramRunner(limits, workers)
    except IsolationError as error:
        warn(f"/run_code is not offered: {error}")
        return None


def _read_token(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        token = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"--token-file {str(path)!r} cannot be read: {error}") from None
    if len(token) < _MIN_TOKEN or "/" in token or " " in token:
        raise DataError(
            f"--token-file {str(path)!r} must have {_MIN_TOKEN} characters or more, none of them / or blank"
        )
    return token
