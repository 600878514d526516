"""The name of a run directory: short, with the prompt, and those of earlier versions are found."""

from __future__ import annotations

import os

import pytest

from passcurve.generation.setup import run_directory

WORDS = ("run", "starter", "--model", "mutant:", "-n", "1", "--problems", "0-1", "--k", "1", "--json")


def test_names():
    """The prompt is named unless it is base; a long name of a model is cut, and differs from others like it."""
    assert "b-openai-m-t0.8.passcurve" == run_directory("b", "openai:m", 0.8)
    assert "b-openai-m-chat-t0.8.passcurve" == run_directory("b", "openai:m", 0.8, "chat")
    assert "b-m-fim-qwen.passcurve" == run_directory("b", "m", None, "fim:qwen")
    one, other = (run_directory("b", f"hf:{'folder/' * 9}{name}", None) for name in "xy")
    assert one != other
    assert len(one) < 60


def test_a_file_in_place_of_the_directory(shell):
    """A file is refused as a run directory, with the option that names another."""
    (shell.folder / "file").touch()
    done = shell(*WORDS[:-1], "--run", "file")
    assert (2, "") == (done.code, done.out)
    assert "'file'" in done.err
    assert "--run DIR" in done.err


@pytest.mark.ci
def test_prompts_do_not_share_a_directory(shell):
    """Runs with two prompts stand beside each other."""
    base, chat = shell(*WORDS), shell(*WORDS, "--prompt", "chat")
    assert (0, 0) == (base.code, chat.code)
    assert ["starter-mutant.passcurve", "starter-mutant-chat.passcurve"] == [base.record["run"], chat.record["run"]]


@pytest.mark.nightly
def test_a_directory_of_an_earlier_version(shell):
    """A run that an earlier version named without its prompt goes on in its directory; another run does not."""
    shell(*WORDS, "--prompt", "chat", "--run", "starter-mutant.passcurve")
    assert "starter-mutant.passcurve" == shell(*WORDS, "--prompt", "chat").record["run"]
    other = shell(*WORDS, "--prompt", "chat", "--seed", "9")
    assert (0, "starter-mutant-chat.passcurve") == (other.code, other.record["run"])


@pytest.mark.ci
def test_all_temperatures_are_checked_before_the_first_is_run(shell):
    """Where one of several runs cannot start, none does."""
    shell(*WORDS, "--temperature", "0.8", "--seed", "9", "--run", "starter-mutant-t0.8.passcurve")
    for words in (("0.2,0.8",), ("0.2,101",)):
        done = shell(*WORDS, "--temperature", *words)
        assert 2 == done.code
        assert not (shell.folder / "starter-mutant-t0.2.passcurve").exists()
    (shell.folder / "starter-mutant-t0.4.passcurve").touch()
    assert 2 == shell(*WORDS, "--temperature", "0.2,0.4").code
    assert not (shell.folder / "starter-mutant-t0.2.passcurve").exists()


@pytest.mark.nightly
def test_a_completion_that_was_lost_is_asked_for_again(shell):
    """Verdicts on other rows are owed then, whatever is lost: a line amid others, or the last ones with the footer."""
    words = ("run", "starter", "--model", "mutant:", "-n", "2", "--problems", "0-3", "--k", "1", "--json", "--run", "r")
    first = shell(*words)
    for damage in ("a line", "the end"):
        path = shell.folder / "r" / "completions-001.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join([lines[0], b"#" + lines[1][1:], *lines[2:]] if damage == "a line" else lines[:-3]))
        if damage == "the end":
            next((shell.folder / "r").glob("finished-*")).unlink()
        second = shell(*words)
        assert 0 == second.code, second.err
        assert first.record["samples"] == second.record["samples"]
        assert 0 == shell("show", "r", "--k", "1").code


def test_a_refused_run_leaves_a_finished_one_as_it_was(shell):
    """Another temperature, seed or model is refused before anything of the finished run is touched."""
    words = ("run", "starter", "--model", "mutant:", "-n", 2, "--problems", "0-1", "--k", 1)
    assert 0 == shell(*words, "--run", "r").code
    before = {path.name: path.read_bytes() for path in (shell.folder / "r").iterdir()}
    for other in (("--seed", 5), ("--temperature", 0.5), ("--model", "mutant:0.7")):
        assert 2 == shell(*words, *other, "--run", "r").code
    assert before == {path.name: path.read_bytes() for path in (shell.folder / "r").iterdir()}
    assert 0 == shell("show", "r", "--k", 1).code


def test_names_that_are_no_utf8(shell, starter):
    """A run whose directory and benchmark have such names is stored, resumed, and shown with its signature."""
    odd = os.fsdecode(b"\xff")
    shell.write(f"{odd}.jsonl", [starter.problems["starter/0"]])
    words = ("run", f"{odd}.jsonl", "--model", "mutant:", "--k", "1", "--run", f"{odd}.run")
    first, second = (shell(*words, "-n", n, "--json") for n in (1, 2))
    assert (0, 0) == (first.code, second.code)
    assert 1 == second.record["resumed"]
    shown = shell("show", f"{odd}.run", "--k", "1", "--json")
    assert second.record["signature_digest"] == shown.record["signature_digest"]


def test_recorded_samples_of_a_name_that_is_no_utf8(shell, starter):
    """The signature, which has the digest of the back end, is the one that is shown later."""
    odd = os.fsdecode(b"\xff.jsonl")
    shell.write(odd, [starter.right("starter/0")])
    words = ("--model", f"recorded:{odd}", "-n", 1, "--problems", "0-0", "--run", "r")
    done = shell("run", "starter", *words, "-k", "1", "--json")
    assert done.record["signature"] == shell("show", "r", "-k", "1", "--json").record["signature"]
