"""``passcurve judge --extract``: the policy decides what is run, and is told wherever the score is."""

from __future__ import annotations

import re

import pytest

from passcurve.extract.preludes import prelude_names

FENCED = "Here it is:\n\n```python\n{}```\n\nIt rounds up.\n"
WHOLE = "def boxes_needed(eggs: int, size: int) -> int:\n    return -(-eggs // size)\n"

RAW = ("--extract", "raw")


def reply(text: str, form: str = "completion") -> dict[str, str]:
    """Return a row of the first problem."""
    return {"task_id": "starter/0", form: text}


def results(shell, *words: str) -> list[dict]:
    """Judge the samples and return their rows with verdicts."""
    shell("judge", "s.jsonl", "--subset", "--json", *words)
    return shell.rows("s.jsonl_results.jsonl")


@pytest.mark.ci
def test_the_policy_decides_what_is_run(shell):
    """A chat reply fails unchanged and passes when its fenced block is extracted."""
    shell.write("s.jsonl", [reply(FENCED.format(WHOLE)), reply("    return -(-eggs // size)\n")])
    assert [["compile", "passed"], ["passed", "passed"]] == [
        [row["status"] for row in results(shell, "--extract", policy)] for policy in ("raw", "auto")
    ]


@pytest.mark.nightly
def test_the_default_policy_is_raw(shell):
    """Without the option the text is run unchanged, and the results have no extraction steps."""
    shell.write("s.jsonl", [reply("    return -(-eggs // size)\n"), reply(FENCED.format(WHOLE))])
    outcomes = [[(row["result"], "extraction" in row) for row in results(shell, *words)] for words in ([], RAW)]
    assert outcomes[0] == outcomes[1]
    assert [("passed", False), False] == [outcomes[0][0], outcomes[0][1][1]]


@pytest.mark.ci
def test_equal_programs_keep_the_steps_of_their_own_texts(shell):
    """Texts that give the same program share its verdict, and each row has the steps of its own text."""
    texts = [FENCED.format(WHOLE), WHOLE, "<think>Hm.</think>" + WHOLE, WHOLE]
    shell.write("s.jsonl", [reply(text) for text in texts])
    taken = "taken as a whole program"
    assert [
        (True, ["took block 1 of 1", taken]),
        (True, [taken]),
        (True, ["dropped thinking (18 characters)", taken]),
        (True, [taken]),
    ] == [(row["passed"], row["extraction"]) for row in results(shell, "--extract", "fence-first")]


@pytest.mark.nightly
def test_a_text_without_a_program_is_no_code(shell):
    """A reply that was truncated while thinking is no_code, with the reason."""
    shell.write("s.jsonl", [reply("<think>\nWell, " + WHOLE)])
    (row,) = results(shell, "--extract", "auto")
    message = "there is thinking and no answer after it"
    assert ("no_code", message, [message]) == (row["status"], row["message"], row["extraction"])


@pytest.mark.ci
def test_show_lists_the_steps(shell):
    """The signature names the policy, and ``show`` has the program with its steps, as text and as JSON."""
    shell.write("s.jsonl", [reply(FENCED.format(WHOLE))])
    record = shell("judge", "s.jsonl", "--subset", "--json", "--extract", "fence-last").record
    assert "|extract:fence-last|" in record["signature"]
    steps = ["took block 1 of 1", "taken as a whole program"]
    done = shell("show", "s.jsonl", "0", "0")
    assert f"program ({'; '.join(steps)}):\n    def boxes_needed" in done.out
    (verdict,) = shell("show", "s.jsonl", "0", "--json").record["verdicts"]
    assert (WHOLE, steps, steps) == (verdict["program"], verdict["steps"], verdict["extraction"])


@pytest.mark.nightly
def test_show_lists_the_steps_without_the_samples(shell):
    """``show`` lists the stored steps when the samples are gone."""
    shell.write("s.jsonl", [reply(FENCED.format(WHOLE))])
    shell("judge", "s.jsonl", "--subset", "--extract", "fence-last")
    (shell.folder / "s.jsonl").unlink()
    done = shell("show", "s.jsonl.passcurve", "0", "0")
    assert "it was made so:\n    took block 1 of 1\n    taken as a whole program\n" in done.out


@pytest.mark.ci
def test_results_can_be_judged_again_by_another_policy(shell):
    """The results of a new judgement have no extraction steps of an older one."""
    shell.write("s.jsonl", [reply(FENCED.format(WHOLE))])
    shell.write("again.jsonl", results(shell, "--extract", "auto"))
    shell("judge", "again.jsonl", "--subset")
    (row,) = shell.rows("again.jsonl_results.jsonl")
    assert ("compile", False) == (row["status"], "extraction" in row)


@pytest.mark.parametrize(("name", "hint"), [("fence-frist", "'fence-first'"), ("none", "raw, stop-words:human-eval, ")])
def test_an_unknown_policy(shell, name, hint):
    """An unknown policy is refused in one line with exit code 2, before anything is written."""
    shell.write("s.jsonl", [reply(WHOLE)])
    done = shell("judge", "s.jsonl", "--subset", "--extract", name)
    assert (2, "", 1) == (done.code, done.out, done.err.count("\n"))
    assert re.search(f"{name!r}.*{hint}", done.err)
    assert ["s.jsonl"] == [path.name for path in shell.folder.iterdir()]


CEIL = "    return math.ceil(eggs / size) if eggs < 10**6 else -(-eggs // size)\n"


@pytest.mark.ci
@pytest.mark.parametrize(
    ("prelude", "passed"),
    [
        ("humaneval-x", 2),
        *(
            pytest.param(*case, marks=pytest.mark.nightly)
            for case in (("none", 1), ("livecodebench", 2), ("multipl-e", 1))
        ),
    ],
)
def test_a_prelude_decides_what_is_imported(shell, prelude, passed):
    """An answer that forgets an import passes behind a prelude, and the signature names it, stored runs too."""
    shell.write("s.jsonl", [reply(CEIL), reply("    return -(-eggs // size)\n")])
    record = shell("judge", "s.jsonl", "--subset", "--json", "--prelude", prelude).record
    assert passed == sum(row["passed"] for row in shell.rows("s.jsonl_results.jsonl"))
    name = "raw" if prelude == "none" else f"raw+prelude:{prelude}"
    assert f"|extract:{name}|" in record["signature"]
    assert record["signature"] == shell("show", "s.jsonl", "--json").record["signature"]
    (first, _) = shell("show", "s.jsonl", "0", "--json").record["verdicts"]
    assert (passed == 2) == ("import math\n" in first["program"])


@pytest.mark.ci
def test_a_run_is_resumed_with_its_own_prelude_only(shell):
    """A run judged without a prelude is not mixed with verdicts behind one."""
    shell.write("s.jsonl", [reply(CEIL)])
    shell("judge", "s.jsonl", "--subset")
    second = shell("judge", "s.jsonl", "--subset", "--json", "--prelude", "bigcode")
    assert 1.0 == second.record["pass@1"]["value"]


def test_an_unknown_prelude(shell):
    """An unknown prelude is refused in one line with exit code 2, before anything is written."""
    shell.write("s.jsonl", [reply(WHOLE)])
    done = shell("judge", "s.jsonl", "--subset", "--prelude", "humanevalx")
    assert (2, "", 1) == (done.code, done.out, done.err.count("\n"))
    assert re.search("'humanevalx'.*'humaneval-x'", done.err)
    assert ["s.jsonl"] == [path.name for path in shell.folder.iterdir()]


@pytest.mark.parametrize("command", ["judge", "run"])
def test_the_help_names_each_prelude(shell, command):
    """The help of ``--prelude`` names each prelude that it takes."""
    text = shell(command, "--help").out.partition("--prelude")[2].partition("--all-tests")[0]
    assert [] == [name for name in prelude_names() if name != "none" and name not in text]
