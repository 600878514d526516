"""Tests of ``passcurve autopsy``, which judges the same texts under several policies."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest
from evalplus_rows import EQUIVALENT

from passcurve.report import autopsy

WHOLE = "def boxes_needed(eggs: int, size: int) -> int:\n    return -(-eggs // size)\n"
FENCED = f"Here it is:\n\n```python\n{WHOLE}```\n\nIt rounds up.\n"
BODY = "    return -(-eggs // size)\n"
WRONG = "    return 0\n"


def replies():
    """Return the module that reads our own replies."""
    path = Path(__file__).resolve().parents[1] / "extract" / "test_replies.py"
    spec = importlib.util.spec_from_file_location("replies_for_autopsy", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(*texts: str) -> list[dict[str, str]]:
    """Return completions of the first problem."""
    return [{"task_id": "starter/0", "completion": text} for text in texts]


@pytest.mark.nightly
def test_our_own_replies(shell):
    """Every policy gets the documented program out of our own replies, and the programs pass as they were written to.

    The numbers were found by running the documented programs one by one in a bare interpreter.
    """
    own = replies()
    problems = [
        {"task_id": problem.id, "prompt": problem.prompt, "entry_point": problem.entry_point, "test": problem.test}
        for problem in own.PROBLEMS.values()
    ]
    shell.write("p.jsonl", problems)
    shell.write(
        "s.jsonl",
        [{"task_id": one.completion.key.problem_id, one.completion.form: one.completion.text} for one in own.REPLIES],
    )
    record = shell("autopsy", "s.jsonl", "--benchmark", "p.jsonl", "--json").record
    assert {
        "raw": 15,
        "stop-words:human-eval": 14,
        "stop-words:bigcode": 18,
        "stop-words:lm-eval": 14,
        "first-block": 17,
        "fence-first": 56,
        "fence-last": 55,
        "fence-longest": 57,
        "pruned": 72,
        "auto": 70,
    } == {ruling["policy"]: ruling["passed"] for ruling in record["rulings"]}
    assert 71 == record["passed_anywhere"]
    programs = {
        (program["task_id"], program["solution"])
        for program in map(json.loads, (shell.folder / "s.jsonl.autopsy" / "programs.jsonl").read_text().splitlines())
    }
    assert programs == {
        (one.completion.key.problem_id, text) for one in own.REPLIES for text in one.programs.values() if text
    }
    assert len(programs) == record["programs"]


@pytest.mark.ci
def test_the_record(shell):
    """The JSON object has the score under each policy, what flips, and the rate up to formatting."""
    shell.write("s.jsonl", rows(FENCED, BODY, WRONG, BODY + "\nassert boxes_needed(1, 1) == 2\n"))
    done = shell("autopsy", "s.jsonl", "--policies", "raw,auto, pruned", "--subset", "--k", "1,2", "--json")
    assert (0, "") == (done.code, done.err)
    record = done.record
    scores = {
        ruling["policy"]: (ruling["estimates"][0]["value"], ruling["passed"], ruling["rescued"], ruling["spoiled"])
        for ruling in record["rulings"]
    }
    assert {"raw": (0.25, 1, 0, 0), "auto": (0.5, 2, 1, 0), "pruned": (0.75, 3, 2, 0)} == scores
    assert [0.75, 1.0] == [estimate["value"] for estimate in record["up_to_formatting"]]
    assert (4, 1, 3) == (record["samples"], record["attempted"], record["passed_anywhere"])
    (flip,) = record["flips"]
    assert ("starter/0", 4, {"raw": 1, "auto": 2, "pruned": 3}) == (flip["problem_id"], flip["n"], flip["passed"])
    assert ("raw", "compile", ["joined to the prompt"]) == tuple(
        flip["wrong"][name] for name in ("policy", "status", "steps")
    )
    assert ("auto", "passed", WHOLE) == tuple(flip["right"][name] for name in ("policy", "status", "program"))
    assert "|extract:raw+auto+pruned|" in record["signature"]


def test_for_people(shell):
    """Standard output has the table, the rate and both programs side by side."""
    shell.write("s.jsonl", rows(FENCED, WRONG))
    done = shell("autopsy", "s.jsonl", "--policies", "raw,fence-first", "--subset")
    assert (0, "") == (done.code, done.err)
    lines = done.out.splitlines()
    assert "starter: 2 samples of 1 of 47 problems (--subset), 3 distinct programs" == lines[0]
    table = [" ".join(line.split()) for line in lines[1:5]]
    assert [
        "policy pass@1 passed no code gained lost",
        "raw 0.0000 0 0 0 0",
        "fence-first .5000 1 0 1 0",
        "gained and lost are against raw",
    ] == table
    assert (
        "  right up to formatting: 1 of 2 samples (.5000) pass under some policy, pass@1 .5000; raw loses 1 of them"
        in lines
    )
    assert "    starter/0 (of 2): 1 fence-first; 0 raw" in lines
    assert any(line.startswith("  raw: compile - ") and line.endswith("fence-first: passed") for line in lines)
    both = "    return -(-eggs // size)"
    assert any(line.count(both) == 2 for line in lines)
    assert any(line.split() == ["```", "<"] for line in lines)


CEIL = "    return math.ceil(eggs / size) if eggs < 10**6 else -(-eggs // size)\n"
"""Passes only where math is imported."""

CHAT = f"Sure:\n\n```python\ndef boxes_needed(eggs, size):\n{CEIL}```\n"


@pytest.mark.ci
def test_flips_are_grouped_by_how_they_fail(shell):
    """Samples that fail alike are one pattern with its problems and samples, and the largest explains most."""
    second = {"task_id": "starter/1", "completion": "Sure:\n```python\ndef first_repeated(w):\n    return w\n```\n"}
    shell.write("s.jsonl", [*rows(FENCED, FENCED + "1", WHOLE, BODY, BODY + "\n\nx = y\n", WRONG), second])
    done = shell("autopsy", "s.jsonl", "--policies", "raw,pruned", "--subset", "--flips", "1", "--json")
    record = done.record
    patterns = [
        {name: pattern[name] for name in ("gained", "failure", "problems", "samples", "names", "policies")}
        for pattern in record["patterns"]
    ]
    assert 2 == len(patterns)
    assert {
        "gained": True,
        "failure": "SyntaxError",
        "problems": 1,
        "samples": 2,
        "names": {},
        "policies": {"pruned": 2},
    } == patterns[0]
    assert ("NameError", {"y": 1}, 1) == tuple(patterns[1][name] for name in ("failure", "names", "samples"))
    assert [0] == [flip["pattern"] for flip in record["flips"]]
    lines = shell("autopsy", "s.jsonl", "--policies", "raw,pruned", "--subset").out.splitlines()
    assert "  pruned passes most: 3 samples more than raw" in lines
    assert "  explains most: SyntaxError, 2 of the 3 that it gains" in lines
    assert any(line.split() == "1 2 raw fails: SyntaxError; pruned passes".split() for line in lines)


def test_where_the_first_policy_is_best(shell):
    """No cause of a gain is named where nothing is gained; what is lost is explained."""
    blank = "    x = -(-eggs // size)\n\n    return x\n"
    shell.write("s.jsonl", rows(blank, blank + "\n", BODY))
    done = shell("autopsy", "s.jsonl", "--policies", "raw,first-block", "--subset")
    lines = done.out.splitlines()
    assert "  no policy passes more samples than raw; first-block passes the fewest, 2 less" in lines
    assert "  explains most: AssertionError, 2 of the 2 that first-block loses" in lines
    assert any("raw passes; first-block fails: AssertionError" in line for line in lines)


def test_what_is_lost_in_several_ways(shell):
    """A sample that policies fail in different ways counts for each way, under the policies that fail it so."""
    # What follows the words of bigcode closes a string; the first blank line ends the only statement.
    text = '    """\n    print\nprint\n    """\n    eggs += 0\n\n    return -(-eggs // size)\n'
    shell.write("s.jsonl", rows(text, text + "#", "    eggs += 0\n\n    return -(-eggs // size)\n"))
    words = ("autopsy", "s.jsonl", "--policies", "raw,stop-words:bigcode,first-block", "--subset", "--flips", "0")
    record = shell(*words, "--json").record
    assert [
        (False, "AssertionError", 3, {"first-block": 3}),
        (False, "SyntaxError", 2, {"stop-words:bigcode": 2}),
    ] == [
        (pattern["gained"], pattern["failure"], pattern["samples"], pattern["policies"])
        for pattern in record["patterns"]
    ]
    lines = shell(*words).out.splitlines()
    assert "  explains most: AssertionError, 3 of the 3 that first-block loses" in lines
    assert any("raw passes; stop-words:bigcode fails: SyntaxError" in line for line in lines)


def test_missing_imports_of_tests_that_are_data(shell):
    """The message names the test first there; the name that is missing stands behind it."""
    shell.write("s.jsonl", [{"task_id": "kinds/cases", "completion": "    return math.fsum(values)\n"}])
    words = ("autopsy", "s.jsonl", "--benchmark", "starter-kinds", "--subset", "--policies", "raw,auto", "--json")
    missing = shell(*words).record["missing_imports"]
    assert (1, {"math": 1}) == (missing["samples"], missing["names"])


@pytest.mark.ci
def test_a_prelude_is_a_second_dimension(shell):
    """Each policy is tried with each prelude; what needs an import passes only with one, and the split is told."""
    shell.write("s.jsonl", rows(CHAT, CEIL, BODY, WRONG))
    words = ("autopsy", "s.jsonl", "--policies", "raw,auto", "--subset")
    record = shell(*words, "--preludes", "none,humaneval-x,bigcode,multipl-e", "--json").record
    assert {
        ("raw", "none"): 1,
        ("auto", "none"): 1,
        ("raw", "humaneval-x"): 2,
        ("auto", "humaneval-x"): 3,
        ("raw", "bigcode"): 2,
        ("auto", "bigcode"): 3,
        ("raw", "multipl-e"): 1,
        ("auto", "multipl-e"): 1,
    } == {(ruling["extract"], ruling["prelude"]): ruling["passed"] for ruling in record["rulings"]}
    assert "|extract:raw+auto+prelude:none+humaneval-x+bigcode+multipl-e|" in record["signature"]
    # Four as they stand and the one in the fence; behind the lines the two that need them, and what cannot be read.
    assert 8 == record["programs"]
    assert record["missing_imports"] is None
    (flip,) = record["flips"]
    assert "raw" == flip["wrong"]["policy"]
    lines = shell(*words, "--preludes", "none,humaneval-x", "--run", "r").out.splitlines()
    assert (
        "  auto+prelude:humaneval-x passes most: 2 samples more than raw "
        "(+0 by extraction auto, +2 by prelude humaneval-x)"
    ) in lines


@pytest.mark.nightly
def test_what_is_explained_fits_eighty_columns(shell, lines_on_terminal):
    """On a terminal of 80 columns no line of the explanation is longer, and no word of it is lost."""
    shell.write("s.jsonl", rows(CHAT, CEIL, BODY, WRONG, FENCED))
    words = ("autopsy", "s.jsonl", "--subset", "--flips", "0", "--policies", "raw,auto,pruned,fence-last")
    words = (*words, "--preludes", "none,humaneval-x,livecodebench")
    lines = [line.rstrip() for line in lines_on_terminal(shell, 80, *words)]
    begin = next(at for at, line in enumerate(lines) if "passes most" in line)
    end = next(at for at, line in enumerate(lines) if "signature" in line)
    assert 80 >= max(map(len, lines[begin:end]))
    wide = shell(*words).out.split()
    assert (
        " ".join(lines[begin:end]).split()
        == wide[wide.index("passes") - 1 :][: len(" ".join(lines[begin:end]).split())]
    )


@pytest.mark.nightly
def test_a_profile_is_a_third_dimension(shell):
    """What a harness' rules let pass is a pattern of its own, and profiles with equal rules are judged once."""
    shell.write("p.jsonl", [EQUIVALENT])
    wrong = {"task_id": "Mbpp/164", "completion": "def are_equivalent(a, b):\n    return 7\n"}
    tail = {
        "task_id": "Mbpp/164",
        "completion": f"{EQUIVALENT['canonical_solution']}\nprint('done')\nimport no_module\n",
    }
    shell.write("s.jsonl", [wrong, wrong, tail])
    words = ("autopsy", "s.jsonl", "--benchmark", "p.jsonl")
    record = shell(*words, "--profiles", "native,evalplus,bigcode,lcb", "--json").record
    rulings = {ruling["profile"]: ruling for ruling in record["rulings"]}
    assert {"native": 0, "evalplus": 2, "bigcode": 1, "lcb": 0} == {
        name: ruling["passed"] for name, ruling in rulings.items()
    }
    assert ("stop-words:bigcode-mbpp", "livecodebench") == (rulings["bigcode"]["extract"], rulings["lcb"]["prelude"])
    # Two as they stand, which evalplus judges again, the one that is cut, and two behind the lines of lcb.
    assert 7 == record["programs"]
    patterns = [(pattern["failure"], pattern["samples"], pattern["policies"]) for pattern in record["patterns"]]
    assert [
        ("wrong result", 2, {"raw@evalplus": 2}),
        ("ModuleNotFoundError", 1, {"stop-words:bigcode-mbpp@bigcode": 1}),
    ] == patterns
    (flip,) = record["flips"]
    assert ("raw@native", "raw@evalplus") == (flip["wrong"]["policy"], flip["right"]["policy"])
    assert "|profile:native+evalplus+bigcode+lcb" in record["signature"]
    product = (*words, "--policies", "raw,stop-words:bigcode", "--profiles", "native,evalplus", "--run", "r")
    split = "(+1 by extraction stop-words:bigcode, +2 by the rules of evalplus)"
    assert split in " ".join(shell(*product).out.split())


@pytest.mark.nightly
def test_all_profiles_that_fit(shell):
    """A run under a profile comes first, before all others whose harness has checks of its kind."""
    shell.write("s.jsonl", rows(BODY))
    shell("judge", "s.jsonl", "--subset", "--profile", "lm-eval")
    record = shell("autopsy", "s.jsonl.passcurve", "--profiles", "all", "--json").record
    assert ["lm-eval", "native", "human-eval", "bigcode"] == [ruling["profile"] for ruling in record["rulings"]]
    assert "'evalplus'" in shell("autopsy", "s.jsonl", "--profiles", "native,evalplu").err


@pytest.mark.nightly
def test_a_missing_import_is_told(shell):
    """Without a prelude, samples that fail for want of an import name the prelude to try; with one they pass."""
    shell.write("s.jsonl", rows(CHAT, CEIL, BODY, "    return undefined_name\n"))
    words = ("autopsy", "s.jsonl", "--policies", "raw,auto", "--subset")
    missing = shell(*words, "--json").record["missing_imports"]
    assert ("auto", 2, {"math": 2}) == (missing["policy"], missing["samples"], missing["names"])
    assert {"humaneval-x": 2, "bigcode": 2, "livecodebench": 2, "apps": 2} == missing["preludes"]
    assert "--preludes none,humaneval-x" in " ".join(shell(*words).out.split())


@pytest.mark.nightly
def test_one_policy_with_two_preludes(shell):
    """A comparison of preludes alone needs one policy only, and a run brings its prelude."""
    shell.write("s.jsonl", rows(CEIL))
    record = shell("autopsy", "s.jsonl", "--policies", "raw", "--preludes", "none,bigcode", "--subset", "--json").record
    assert [0, 1] == [ruling["passed"] for ruling in record["rulings"]]
    shell("judge", "s.jsonl", "--subset", "--prelude", "livecodebench")
    record = shell("autopsy", "s.jsonl.passcurve", "--json").record
    assert {"livecodebench"} == {ruling["prelude"] for ruling in record["rulings"]}
    assert ("raw", 1) == (record["rulings"][0]["extract"], record["rulings"][0]["passed"])


@pytest.mark.ci
def test_a_run_brings_its_settings(shell):
    """A run directory supplies the samples, problems and limits, and its policy is the base."""
    shell.write("s.jsonl", [*rows(FENCED), {"task_id": "starter/1", "completion": "    return 1\n"}])
    words = ("--problems", "starter/0", "--timeout", "2", "--extract", "fence-last", "--json")
    run = shell("judge", "s.jsonl", *words).record["run"]
    record = shell("autopsy", run, "--json").record
    assert ("fence-last", 10) == (record["rulings"][0]["policy"], len(record["rulings"]))
    assert (1, 1) == (record["problems"], record["samples"])
    assert "|timeout:2s-own|" in record["signature"]
    assert (shell.folder / f"{run}.autopsy").is_dir()


@pytest.mark.nightly
def test_a_run_that_generated_its_samples(shell):
    """The texts of a run that generated its samples come from its store."""
    shell.write("s.jsonl", rows(BODY, FENCED))
    words = ("--model", "recorded:s.jsonl", "-n", "2", "--run", "r", "--problems", "starter/0", "--accept-input")
    assert 0 == shell("run", "starter", *words).code
    record = shell("autopsy", "r", "--policies", "raw,auto", "--json").record
    assert {"raw": 1, "auto": 2} == {ruling["policy"]: ruling["passed"] for ruling in record["rulings"]}
    ran = shell("show", "r", "--json").record["signature"]
    assert "|model:recorded:s.jsonl|prompt:base@" in record["signature"]
    own = [part for part in ran.split("|") if not part.startswith(("extract:", "verdict:", "dedup:", "problems:"))]
    assert [] == [part for part in own if part not in record["signature"].split("|")]


def test_no_program_at_all(shell):
    """Texts without a program under any policy are counted, and nothing is judged."""
    shell.write("s.jsonl", rows("", " \n"))
    done = shell("autopsy", "s.jsonl", "--subset", "--policies", "raw,auto", "--json")
    assert (0, [2, 2], 0) == (
        done.code,
        [ruling["no_code"] for ruling in done.record["rulings"]],
        done.record["programs"],
    )


@pytest.mark.nightly
def test_again(shell):
    """A second run of the same command prints the same output and says that no problem flips."""
    shell.write("s.jsonl", rows(BODY, WRONG))
    first, second = (shell("autopsy", "s.jsonl", "--policies", "raw,stop-words:lm-eval", "--subset").out for _ in "12")
    assert first == second
    assert "  no problem flips: every policy says the same of it" in first.splitlines()


def test_policies_that_agree_are_not_all_named():
    """Policies are grouped by their count for a problem, and the largest group is "the others"."""
    passed = {"raw": 2, "a": 1, "b": 2, "c": 2, "d": 2, "e": 2, "f": 3}
    assert "3 f; 2 all others; 1 a" == autopsy.group_counts(passed)
    assert "2 raw, b; 1 a" == autopsy.group_counts({"raw": 2, "a": 1, "b": 2})


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["s.jsonl", "--policies", "raw"], 2, "two policies.* 'raw'"),
        (["s.jsonl", "--policies", "raw,fence-lats"], 2, "'fence-lats'.*'fence-last'"),
        (["s.jsonl", "--preludes", "none,humaneval"], 2, "'humaneval'.*'humaneval-x'"),
        (["t.jsonl"], 2, "'t.jsonl'.*'s.jsonl'"),
        (["."], 2, "'.*' .*not a run directory"),
        (["s.jsonl", "--k", "x"], 2, "--k 'x'"),
        (["s.jsonl", "--problems", "nine"], 2, "--problems 'nine'"),
        (["s.jsonl", "--run", "s.jsonl"], 2, "'s.jsonl'"),
        (["s.jsonl", "--run", "a/b"], 2, "'a/b'"),
    ],
)
def test_what_cannot_be(shell, words, code, message):
    """Invalid input is refused in one line with its exit code."""
    shell.write("s.jsonl", rows(BODY))
    done = shell("autopsy", *words)
    assert (code, "", 1) == (done.code, done.out, done.err.count("\n"))
    assert re.search(message, done.err)


def test_the_samples_have_gone(shell):
    """A run without its samples file has no texts to examine."""
    shell.write("s.jsonl", rows(BODY))
    shell("judge", "s.jsonl", "--subset")
    (shell.folder / "s.jsonl").unlink()
    done = shell("autopsy", "s.jsonl.passcurve")
    assert (2, 1) == (done.code, done.err.count("\n"))
    assert re.search(r"s\.jsonl.* gone", done.err)


@pytest.mark.parametrize("command", ["autopsy", "profiles"])
def test_code_in_another_field(shell, command):
    """A file whose rows have their code elsewhere has to be judged first; its run is compared."""
    shell.write("s.jsonl", [{"task_id": "starter/0", "answer": BODY}])
    done = shell(command, "s.jsonl")
    assert (2, "", 1) == (done.code, done.out, done.err.count("\n"))
    assert re.search(r"'s\.jsonl' has `completion` or `solution`: judge it first", done.err)
    run = shell("judge", "s.jsonl", "--field", "answer", "--subset", "--json").record["run"]
    assert 0 == shell(command, run).code


def test_lines_that_are_no_rows(shell):
    """Malformed lines are counted and set the exit code to 2 after the table, in ``profiles`` too."""
    path = shell.write("s.jsonl", rows(BODY))
    path.write_text(path.read_text() + "nonsense\n")
    done = shell("autopsy", "s.jsonl", "--subset", "--policies", "raw,auto", "--json")
    assert (2, 1, 1) == (done.code, done.record["malformed"], done.record["samples"])
    assert "1 malformed line (" in done.err
    done = shell("profiles", "s.jsonl", "--subset", "--profiles", "native,human-eval", "--json")
    assert (2, 1) == (done.code, done.record["malformed"])
    assert "1 malformed line (" in done.err


def test_problems_without_samples(shell):
    """If problems have no samples, every estimate is null with the reason, as in judge."""
    shell.write("s.jsonl", rows(BODY))
    done = shell("autopsy", "s.jsonl", "--policies", "raw,auto", "--json")
    assert 2 == done.code
    assert done.record["rulings"][0]["estimates"][0]["value"] is None
    assert done.record["rulings"][0]["estimates"][0]["reason"]


@pytest.mark.nightly
def test_a_broken_reference_is_excluded(shell, starter):
    """A problem whose own reference fails counts under no policy, and withholds the scores where there are few."""
    problems = [starter.problems[f"starter/{number}"] for number in range(4)]
    shell.write("b.jsonl", [problems[0] | {"canonical_solution": "    return 'no'\n"}, *problems[1:]])
    shell.write("s.jsonl", [starter.right(f"starter/{number}") for number in range(4)])
    words = ("autopsy", "s.jsonl", "--benchmark", "b.jsonl", "--policies", "raw,auto", "--json")
    done = shell(*words)
    assert (2, None) == (done.code, done.record["rulings"][0]["estimates"][0]["value"])
    assert ["starter/0"] == [exclusion["task_id"] for exclusion in done.record["excluded"]]
    done = shell(*words, "--accept-benchmark")
    assert (0, 1.0, 3) == (done.code, done.record["rulings"][0]["estimates"][0]["value"], done.record["covered"])


def test_copies_have_no_score_for_larger_k(shell, starter):
    """Samples of a problem that are one program have pass@1 alone, as when they are judged."""
    shell.write("s.jsonl", [starter.right(f"starter/{at}") for at in range(10) for _ in range(3)])
    words = ("autopsy", "s.jsonl", "--benchmark", "starter", "--policies", "raw,auto", "--subset", "-k", "1,2")
    one, two = shell(*words, "--json").record["rulings"][0]["estimates"]
    assert 1.0 == one["value"]
    assert two["value"] is None
    assert "copies" in two["reason"]


def test_a_score_that_one_policy_lacks_has_its_reason(shell, starter):
    """Replies that differ in prose alone are copies under the policy that takes the code out: it is named."""
    problems = [starter.problems[f"starter/{at}"] for at in range(6)]
    code = [f"```python\n{row['prompt']}{row['canonical_solution']}```\n" for row in problems]
    replies = [
        {"task_id": row["task_id"], "solution": f"Version {at}:\n\n{block}"}
        for row, block in zip(problems, code, strict=True)
        for at in range(3)
    ]
    shell.write("s.jsonl", replies)
    done = shell("autopsy", "s.jsonl", "--subset", "--policies", "raw,auto,fence-first", "-k", "1,2,3", "--flips", "0")
    assert 2 == done.code
    text = " ".join(done.out.split())
    for k in (2, 3):
        assert f"pass@{k} under auto, fence-first: k={k}: all samples of a problem are copies" in text


def test_samples_without_code_are_no_copies(shell):
    """Samples without a program have the scores that ``judge`` gives them."""
    shell.write("s.jsonl", [{"task_id": f"starter/{at}", "completion": ""} for at in range(6) for _ in range(3)])
    words = ("s.jsonl", "--subset", "-k", "1,2", "--json")
    judged = shell("judge", *words).record
    done = shell("autopsy", *words, "--policies", "raw,auto")
    assert (0, 0.0) == (done.code, judged["pass@2"]["value"])
    for ruling in done.record["rulings"]:
        assert [0.0, 0.0] == [estimate["value"] for estimate in ruling["estimates"]]


def test_samples_of_excluded_problems_count_nowhere(shell, starter):
    """The headline, the share and the rulings are of the samples that the score covers."""
    problems = [starter.problems[f"starter/{number}"] for number in range(3)]
    shell.write("b.jsonl", [problems[0] | {"canonical_solution": "    return 'no'\n"}, *problems[1:]])
    shell.write("s.jsonl", [starter.right(f"starter/{number}") for number in range(3) for _ in range(2)])
    words = ("autopsy", "s.jsonl", "--benchmark", "b.jsonl", "--policies", "raw,auto", "--accept-benchmark")
    done = shell(*words)
    assert "4 samples of 2 of 3 problems (1 excluded)" in done.out
    assert "4 of 4 samples (1.0000)" in done.out
    record = shell(*words, "--json").record
    assert (4, 4) == (record["samples"], record["rulings"][0]["passed"])


def test_flips_behind_an_excluded_problem(shell, starter):
    """Each problem that flips is shown with its own sample, although samples of a problem before it do not count."""
    problems = [starter.problems[f"starter/{number}"] for number in range(3)]
    shell.write("b.jsonl", [problems[0] | {"canonical_solution": "    return 'no'\n"}, *problems[1:]])
    right = [starter.right(f"starter/{number}") for number in range(3)]
    fenced = [row | {"completion": f"```python\n{row['prompt']}{row['canonical_solution']}```\n"} for row in problems]
    rows = [{"task_id": row["task_id"], "completion": row["completion"]} for row in [*right, *fenced]]
    shell.write("s.jsonl", rows)
    words = ("autopsy", "s.jsonl", "--benchmark", "b.jsonl", "--policies", "raw,auto", "--accept-benchmark")
    done = shell(*words, "--json")
    assert 0 == done.code, done.err
    for flip, row in zip(done.record["flips"], problems[1:], strict=True):
        assert (row["task_id"], 1) == (flip["problem_id"], flip["sample_index"])
        assert f"{row['prompt']}{row['canonical_solution']}" == flip["right"]["program"]


def test_an_excluded_problem_without_a_program(shell, starter):
    """A problem whose reference fails counts nowhere, as when it is judged, although its samples are empty."""
    problems = [starter.problems[f"starter/{number}"] for number in range(3)]
    shell.write("b.jsonl", [problems[0] | {"canonical_solution": "    return 'no'\n"}, *problems[1:]])
    empty = {"task_id": "starter/0", "completion": ""}
    shell.write("s.jsonl", [empty, starter.right("starter/1"), starter.right("starter/2")])
    words = ("s.jsonl", "--benchmark", "b.jsonl", "--accept-benchmark", "--json")
    judged = shell("judge", *words).record
    record = shell("autopsy", *words, "--policies", "raw,auto").record
    assert 1.0 == judged["pass@1"]["value"] == record["rulings"][0]["estimates"][0]["value"]
    assert (2, 2, 2) == (judged["covered"], record["covered"], record["samples"])


@pytest.mark.nightly
def test_profiles_withhold_as_judge_does(shell, starter):
    """A score of too few problems is withheld under each profile, with the reason; a k without a value is said."""
    problems = [starter.problems[f"starter/{number}"] for number in range(3)]
    shell.write("b.jsonl", [problems[0] | {"canonical_solution": "    return 'no'\n"}, *problems[1:]])
    shell.write("s.jsonl", [starter.right(f"starter/{number}") for number in range(3)])
    words = ("profiles", "s.jsonl", "--benchmark", "b.jsonl", "--profiles", "native,human-eval")
    done = shell(*words)
    assert 2 == done.code
    assert 2 == done.out.count("2 of 2 passed  pass@1 -")
    assert "2 of 3 problems (1 excluded)" in done.out
    assert "no score:" in done.out
    done = shell(*words, "--accept-benchmark", "-k", "1,50")
    assert 2 == done.code
    assert "pass@1 1.0000  pass@50 -" in done.out
    assert 0 == shell(*words, "--accept-benchmark").code
