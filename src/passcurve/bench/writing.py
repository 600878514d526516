"""The way that models write each language: fences, declarations, and the words that follow a function."""

from __future__ import annotations

from functools import cache
from importlib import resources

import msgspec

from passcurve.bench.languages import languages
from passcurve.errors import UnknownNameError, UsageError, nearest
from passcurve.types import Problem, Script

PYTHON = ("python", "py", "python3")
"""Names of the language that is not in the table."""


class Writing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One language as models write it; ``languages/writing.toml`` describes the fields."""

    names: tuple[str, ...]
    """Names of its fences, in lower case; prompts use the first."""
    defines: str = ""
    """Pattern of the declaration of the function ``NAME``."""
    imports: str = ""
    """Pattern of the lines of a prompt that a whole answer needs too."""
    main: str = ""
    """Pattern of the beginning of a program's own main function."""
    container: str = ""
    """Pattern of the declaration of what a function stands in; its group is the name."""
    closers: int = 1
    """Number of braces that prompts leave open, where the tests close them."""
    quotes: bool = False
    """Whether single quotes enclose texts of any length."""
    ending: str = ""
    """Pattern of what ends a program and may not stand before tests."""
    stops: tuple[str, ...] = ()
    """Words that can only follow the function."""


@cache
def writings() -> dict[str, Writing]:
    """Return how each language is written, by its name in the table of languages."""
    text = resources.files("passcurve").joinpath("languages", "writing.toml").read_bytes()
    return msgspec.toml.decode(text, type=dict[str, Writing])


def find_writing(language: str) -> Writing:
    """Return how a language is written; one that only its own name is known of has no more."""
    return writings().get(language) or Writing(names=(language,))


def language_name(name: str) -> str:
    """Return the name of a language in our table; raise UnknownNameError with the nearest where there is none."""
    plain = name.strip().lower()
    if plain in PYTHON:
        return PYTHON[0]
    for language, writing in writings().items():
        if plain in (language, *writing.names) and language in languages():
            return language
    if plain in languages():
        return plain
    names = (PYTHON[0], *languages())
    spoken = {other for language, writing in writings().items() for other in (language, *writing.names)}
    raise UnknownNameError(f"unknown language {name!r}{nearest(plain, {*names, *spoken})} (known: {', '.join(names)})")


def choose_language(problems: tuple[Problem, ...], language: str, source: str) -> tuple[tuple[Problem, ...], bool]:
    """Return the problems of a language, and whether they are others than before.

    Raises UsageError where there is none.
    """
    chosen = tuple(problem for problem in problems if _language_of(problem) == language)
    if not chosen:
        there = dict.fromkeys(_language_of(problem) for problem in problems)
        raise UsageError(f"--language {language}: {source!r} has no problem in it, but in {', '.join(there)}")
    return chosen, len(chosen) < len(problems)


def _language_of(problem: Problem) -> str:
    return problem.check.language if isinstance(problem.check, Script) else PYTHON[0]
