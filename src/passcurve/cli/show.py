"""``passcurve show``: the scores of stored verdicts, all verdicts on a problem in a line each, or one in full."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import msgspec
import typer

from passcurve import config
from passcurve.cli.output import handle_errors, terminal_width, write, write_json, write_lines
from passcurve.errors import DataError
from passcurve.store.locate import find_run_dir


def show(
    run: Path = typer.Argument(
        ..., help="A run directory, the file of samples that was judged, or (for scores) a file of results."
    ),
    problem: Optional[str] = typer.Argument(
        None, help="The problem's id; its last part will do: 32 for HumanEval/32; default: the scores of all."
    ),
    index: Optional[int] = typer.Argument(None, help="Which of its samples, from 0; default: all, in a line each."),
    k: Optional[str] = typer.Option(None, "--k", help="Of the scores: 1,10,100 (the default) or any list, or all."),
    metric: str = typer.Option("pass@k", help="What to report, as in pass@k,pass^k,g-pass@k:0.5,attempts."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Show what is stored: scores, or the verdicts on a problem with prompt, program, failing call, exception."""
    with handle_errors(as_json):
        if problem is None:
            raise typer.Exit(_scores(run, k, metric, as_json))
        from passcurve.analysis import inspect
        from passcurve.report import terminal

        looks = inspect.inspect_problem(find_run_dir(run), problem, config.cache_dir())
        if index is not None:
            chosen = [look for look in looks if look.verdict.key.sample_index == index]
            if not chosen:
                name = looks[0].problem.id
                raise DataError(f"{name!r} has no judged sample {index}; it has {_ranges(looks)}")
            looks = chosen
        if as_json:
            write_json({"verdicts": [_record(look) for look in looks]})
        elif len(looks) == 1:
            one = looks[0]
            write(
                terminal.verdict_text(
                    one.problem, one.program, one.verdict, one.header.limits, one.header.jail, one.missing
                ).rstrip("\n")
            )
        else:
            for look in looks:
                verdict = look.verdict
                line = f"{verdict.key.problem_id} {verdict.key.sample_index:>3}  {verdict.status:<8} {verdict.message}"
                write(terminal.printable(line.replace("\n", " ").rstrip()))


def _scores(run: Path, k: str | None, metric: str, as_json: bool) -> int:
    """Print the scores of stored verdicts and return the exit code."""
    wanted = config.parse_scores(k, metric)
    from passcurve.analysis import score
    from passcurve.report import methods, scores, terminal
    from passcurve.stats.metrics import ScoreRequest, lacks_requested_value

    found = score.score_run(
        run, ScoreRequest(metrics=wanted.metrics, ks=wanted.ks, every_k=wanted.every_k), config.cache_dir()
    )
    unmet = lacks_requested_value(found.estimates, wanted.metrics, ks_requested=wanted.ks_asked)
    code = 2 if unmet or not found.finished or found.attempted < found.problems else 0
    benchmark = found.header.benchmark if found.header is not None else ""
    said = methods.judged(found.estimates, found.curve, found.counts, benchmark, found.header)
    if as_json:
        write_json(
            {
                **scores.score_record(found.estimates, found.curve),
                "methods": said,
                "source": found.source,
                "kind": found.kind,
                "benchmark": benchmark,
                "problems": found.problems,
                "attempted": found.attempted,
                "samples": found.samples,
                "finished": found.finished,
                "notes": list(found.notes),
                "signature": found.signature,
            }
        )
        return code
    of = f"{found.attempted} of {found.problems}" if found.attempted < found.problems else str(found.problems)
    lines = [
        f"{benchmark or found.source}: {found.samples:,} sample{'s' if found.samples != 1 else ''} "
        f"of {of} problem{'s' if found.problems != 1 else ''}",
        *scores.score_lines(found.estimates, found.curve, terminal_width()),
        *(f"  note: {note}" for note in found.notes),
        *([f"  for a paper: {said}"] if said else []),
        *([f"  signature: {found.signature}"] if found.signature else []),
    ]
    write_lines(terminal.printable(line) for line in lines)
    return code


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
