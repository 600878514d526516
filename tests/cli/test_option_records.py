"""Commands that take records of options."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest
import typer
from typer.testing import CliRunner

from passcurve.cli.command import Commands

RECEIVED: list[tuple[object, ...]] = []


class Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the command under test."""

    low: Annotated[int, typer.Option(min=1, help="The lowest.")] = 2
    names: Annotated[list[str], typer.Option("--name")] = []
    factor: Annotated[float, typer.Option()] = 1.0


def collect(
    *, path: Annotated[str, typer.Argument()], numbers: Numbers, quiet: Annotated[bool, typer.Option()]
) -> None:
    """Collect what the command receives."""
    RECEIVED.append((path, numbers, quiet))


@pytest.fixture
def invoke():
    """Return a function that runs the command with arguments."""
    app = Commands()
    app.command()(collect)
    RECEIVED.clear()
    return lambda *words: CliRunner().invoke(app, words)


def test_fields_of_a_record_become_options(invoke):
    """A command receives its record, made of the options and their defaults."""
    assert 0 == invoke("a", "--quiet").exit_code
    assert 0 == invoke("--low", "3", "--name", "x", "a", "--name", "y", "--no-quiet").exit_code
    assert [("a", Numbers(), True), ("a", Numbers(low=3, names=["x", "y"]), False)] == RECEIVED


def test_options_keep_their_order_and_help(invoke):
    """The help lists the options in the order of parameters and fields."""
    text = invoke("--help").output
    places = [text.index(option) for option in ("--low", "--name", "--factor", "--quiet")]
    assert places == sorted(places)
    assert "The lowest." in text


@pytest.mark.parametrize("words", [("--low", "0"), ("--factor", "nan"), ("--factor", "-inf"), ("--low", "x")])
def test_values_out_of_bounds_are_refused(invoke, words):
    """A value out of bounds, NaN and infinity are usage errors that name the option."""
    done = invoke("a", "--quiet", *words)
    assert (2, []) == (done.exit_code, RECEIVED)
    assert words[0] in done.output
