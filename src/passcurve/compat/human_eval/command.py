"""The command of human-eval, with every way to write its options."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from passcurve import config
from passcurve.compat.human_eval.data import HUMAN_EVAL
from passcurve.compat.human_eval.evaluation import describe_faults, evaluate, scores
from passcurve.errors import PasscurveError, UsageError, nearest
from passcurve.interruption import interrupt_on_sigterm
from passcurve.types import DEFAULT_TIMEOUT_S

_DEFAULTS = {"k": "1,10,100", "n_workers": "4", "timeout": str(DEFAULT_TIMEOUT_S), "problem_file": HUMAN_EVAL}


class Options(NamedTuple):
    """Options of the command, in the order in which positional arguments fill them."""

    sample_file: str
    k: tuple[int, ...]
    n_workers: int
    timeout: float
    problem_file: str


class _Parser(argparse.ArgumentParser):
    """Parser that raises UsageError instead of leaving."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; by default with the arguments of the process."""
    with interrupt_on_sigterm():
        try:
            _judge_and_print(parse(arguments))
            sys.stdout.flush()
        except PasscurveError as error:
            _warn(" ".join([str(error), *getattr(error, "__notes__", ())]))
            return error.exit_code
        except BrokenPipeError:
            # The reader has gone; Python must not report at exit what it still holds for it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def parse(arguments: Sequence[str] | None) -> Options:
    """Return the options; positional arguments fill those that are not named, in order.

    Raises UsageError for arguments that cannot be understood.
    """
    namespace, unknown = _parser().parse_known_intermixed_args(arguments)
    if unknown:
        flags = [f"--{name}" for name in Options._fields]
        raise UsageError(f"unknown option {unknown[0]!r}{nearest(unknown[0].partition('=')[0], flags)}")
    positional = list(namespace.positional)
    values = {}
    for name in Options._fields:
        text = getattr(namespace, name)
        if text is None:
            text = positional.pop(0) if positional else _DEFAULTS.get(name)
        if text is None:
            raise UsageError("no file of samples; write python -m passcurve.compat.human_eval SAMPLES")
        values[name] = _convert(name, text)
    if positional:
        raise UsageError(f"unexpected argument {positional[0]!r}: SAMPLE_FILE [K [N_WORKERS [TIMEOUT [PROBLEM_FILE]]]]")
    return Options(**values)


def _judge_and_print(options: Options) -> None:
    from passcurve.report.live import Display

    with Display() as display:
        result = evaluate(*options, watch=display.show_progress)
    if result.jail.isolation != "full":
        _warn(f"isolation {result.jail.isolation}: {'; '.join(result.jail.missing)}")
    if text := describe_faults(result):
        _warn(text)
    for estimate in result.estimates:
        if estimate.value is None:
            _warn(f"pass@{estimate.k} is left out: {estimate.reason}")
    sys.stdout.write(f"{scores(result)}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m passcurve.compat.human_eval",
        description="Judge a file of samples in the jail and print pass@k, as human-eval's command does.",
        usage="%(prog)s SAMPLE_FILE [K [N_WORKERS [TIMEOUT [PROBLEM_FILE]]]] [options]",
        allow_abbrev=False,
    )
    parser.add_argument("positional", nargs="*", help=argparse.SUPPRESS)
    for name in Options._fields:
        spellings = dict.fromkeys([f"-{name[0]}", f"--{name}", f"--{name.replace('_', '-')}"])
        default = f"default: {_DEFAULTS[name]}" if name in _DEFAULTS else "results go to SAMPLE_FILE_results.jsonl"
        parser.add_argument(*spellings, dest=name, help=default.replace("%", "%%"))
    return parser


def _parse_ks(text: str) -> tuple[int, ...]:
    return config.parse_ks(text.strip("'\" "))


_CONVERTERS: dict[str, Callable[[str], Any]] = {"k": _parse_ks, "n_workers": int, "timeout": float}


def _convert(name: str, text: str) -> Any:
    try:
        return _CONVERTERS.get(name, str)(text)
    except ValueError:
        kind = "a number" if name == "timeout" else "an integer"
        raise UsageError(f"--{name} must be {kind}, got {text!r}") from None


def _warn(text: str) -> None:
    sys.stderr.write(f"passcurve: {text}\n")
