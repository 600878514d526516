"""``passcurve show``: one verdict in full, or all verdicts on a problem in a line each."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import msgspec
import typer

from passcurve import config
from passcurve.bench import resolve
from passcurve.cli.output import say, say_json, told
from passcurve.errors import DataError
from passcurve.types import Benchmark, Header


def show(
    run: Path = typer.Argument(..., help="A run directory, or the file of samples that was judged."),
    problem: str = typer.Argument(..., help="The problem's id; its last part will do: 32 for HumanEval/32."),
    index: Optional[int] = typer.Argument(None, help="Which of its samples, from 0; default: all, in a line each."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Show a verdict in full: prompt, program, failing call, exception."""
    with told(as_json):
        from passcurve import evidence
        from passcurve.report import terminal

        folder = run if run.is_dir() else Path(f"{str(run).replace(':', '-')}.passcurve")
        looks = evidence.look(folder, _benchmark, problem)
        if index is not None:
            chosen = [look for look in looks if look.verdict.key.sample_index == index]
            if not chosen:
                name = looks[0].problem.id
                raise DataError(f"{name!r} has no judged sample {index}; it has {_ranges(looks)}")
            looks = chosen
        if as_json:
            say_json({"verdicts": [_record(look) for look in looks]})
        elif len(looks) == 1:
            one = looks[0]
            say(
                terminal.verdict_text(
                    one.problem, one.program, one.verdict, one.header.limits, one.header.jail, one.missing
                ).rstrip("\n")
            )
        else:
            for look in looks:
                verdict = look.verdict
                line = f"{verdict.key.problem_id} {verdict.key.sample_index:>3}  {verdict.status:<8} {verdict.message}"
                say(terminal.printable(line.replace("\n", " ").rstrip()))


def _benchmark(header: Header) -> Benchmark:
    """Find the benchmark of a run again: where it was, or by its name."""
    source = Path(header.benchmark_source)
    named = str(source) if header.benchmark_source and source.is_file() else header.benchmark
    found = resolve.load(named, config.cache_dir())
    if found.digest != header.benchmark_digest:
        raise DataError(
            f"the benchmark {named!r} is not the one that the run was judged with: its problems have changed"
        )
    return found


def _ranges(looks: list) -> str:  # type: ignore[type-arg]
    numbers = [look.verdict.key.sample_index for look in looks]
    return f"{numbers[0]} to {numbers[-1]}"


def _record(look) -> dict[str, object]:  # type: ignore[no-untyped-def]
    program = look.program
    return {
        **msgspec.to_builtins(look.verdict),
        "prompt": look.problem.prompt,
        "program": program.text if program is not None else None,
        "steps": list(program.steps) if program is not None else [],
        "limits": msgspec.to_builtins(look.header.limits),
        "isolation": look.header.jail.isolation,
    }
