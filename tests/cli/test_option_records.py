"""Commands that take records of options."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest
import typer
from typer.testing import CliRunner

from passcurve.cli.command import Commands
from passcurve.cli.main import make_app

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


def test_one_vocabulary():
    """A letter means the same option in every command that has it, and -h explains each of them."""
    short: dict[str, set[str]] = {}

    def visit(command) -> None:
        for below in getattr(command, "commands", {}).values():
            visit(below)
        for option in command.params:
            for letter in (name for name in option.opts if len(name) == 2 and name.startswith("-")):
                short.setdefault(letter, set()).add(next(name for name in option.opts if name.startswith("--")))
            long_names = [name for name in option.opts if len(name) == 3 and name.startswith("--")]
            assert all(f"-{name[-1]}" in option.opts for name in long_names), (command.name, long_names)

    visit(typer.main.get_command(make_app()))
    assert {"-k": {"--k"}, "-n": {"--n"}, "-v": {"--verbose"}}.items() <= short.items()
    assert all(len(names) == 1 for names in short.values())


@pytest.mark.ci
def test_h_is_help(shell):
    """-h explains the command, a group and each command in a group."""
    for words in ((), ("judge",), ("lab",), ("lab", "urn"), ("bench", "check")):
        assert shell(*words, "--help") == shell(*words, "-h")


@pytest.mark.ci
def test_the_level_of_the_intervals(shell, starter):
    """--level sets the level of every interval of judge and of show."""
    shell.write("s.jsonl", [starter.right(), starter.bad()])
    for words in (("judge", "s.jsonl", "--subset", "--run", "r"), ("show", "r")):
        record = shell(*words, "--level", "0.8", "-k", "1", "--json").record["pass@1"]
        assert 0.8 == record["new_problems"]["level"] == record["these_problems"]["level"]
