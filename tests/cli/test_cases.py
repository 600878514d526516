"""Benchmarks whose tests are data, in suites: EvalPlus' HumanEval+ and MBPP+."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
ADD = 'def add(a, b):\n    """Return the sum."""\n'
MEAN = 'def mean(values):\n    """Return the mean."""\n'
SPLIT = 'def halves(values):\n    """Return both halves."""\n'
PROBLEMS = [
    {
        "task_id": "Own/0",
        "prompt": ADD,
        "entry_point": "add",
        "canonical_solution": "    return a + b\n",
        "base_input": [[1, 2], [3, 4]],
        "plus_input": [[0, 0], [10**30, 1], [-5, 5], [7, 7], [2, -9]],
        "atol": 0,
        "contract": "",
    },
    {
        "task_id": "Own/1",
        "prompt": MEAN,
        "entry_point": "mean",
        "canonical_solution": "    return sum(values) / len(values)\n",
        "base_input": [[[1.0, 2.0]]],
        "plus_input": [[[0.1, 0.2, 0.3]]],
        "atol": 0,
        "contract": "",
    },
    {
        "task_id": "Own/2",
        "prompt": SPLIT,
        "entry_point": "halves",
        "canonical_solution": "    return values[:1], values[1:]\n",
        "base_input": [[[1, 2, 3]]],
        "plus_input": [[[]]],
        "atol": 0,
        "contract": "",
    },
]
POWERS = {
    "task_id": "Own/5",
    "prompt": "def powers(count):\n",
    "entry_point": "powers",
    "canonical_solution": "    return [10**8 + item for item in range(count)]\n",
    "base_input": [[0], [1]],
    "plus_input": [[2]],
    "atol": 0,
}
MANY = {
    "task_id": "Own/3",
    "prompt": "def many(first):\n",
    "entry_point": "many",
    "canonical_solution": "    return [first] * 1600000\n",
    "base_input": [[1]],
    "plus_input": [[2]],
    "atol": 0,
}
RANDOM = "__import__('random').Random(first).randbytes(1 << 20)"
LARGE = MANY | {"canonical_solution": f"    return {RANDOM}\n", "plus_input": [[2], [3]]}
SETS = {
    "id": "Own/4",
    "kind": "cases",
    "entry_point": "items",
    "inputs": [[1]],
    "expected": [[1]],
    "comparator": "same-set",
}
FORGED = """
class Equal(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = int.__hash__
"""
EXPECTED = {
    # name: task, program, status, base, plus
    "right": (0, "def add(a, b): return a + b", "passed", True, True),
    "half": (0, "def add(a, b): return a + b if abs(a) < 9 else 0", "failed", True, False),
    "added only": (0, "def add(a, b): return 0 if a in (1, 3) else a + b", "failed", False, False),
    "raises": (0, "def add(a, b): raise ValueError(a)", "failed", False, False),
    "missing": (0, "def sub(a, b): return a - b", "failed", False, False),
    "no code": (0, "def add(a, b:", "compile", False, False),
    "close": (1, "def mean(values): return sum(v / len(values) for v in values)", "passed", True, True),
    "far": (1, "def mean(values): return sum(values) / len(values) + 1e-5", "failed", False, False),
    "an integer": (1, "def mean(values): return 0", "failed", False, False),
    "a list": (2, "def halves(values): return [values[:1], values[1:]]", "failed", False, False),
    "a tuple": (2, "def halves(values): return values[:1], values[1:]", "passed", True, True),
    "equal to all": (0, FORGED + "def add(a, b): return Equal(1)", "failed", False, False),
    "exits": (0, "import os\ndef add(a, b): os._exit(0)", "crash", False, False),
    "reads frames": (
        0,
        "import sys\ndef add(a, b):\n    f = sys._getframe()\n    while f.f_back: f = f.f_back\n"
        "    return f.f_locals.get('expected', [0])[0]",
        "failed",
        False,
        False,
    ),
    "changes the wire": (
        0,
        "def add(a, b):\n    import os\n    os.write(3, b'x' * 9)\n    return 3",
        "crash",
        False,
        False,
    ),
}
LATER = "def add(a, b):\n    while a == 10**30: pass\n    return a + b if a else -1"


@pytest.fixture(scope="module")
def whole(shell_in, tmp_path_factory):
    """All programs, judged with all tests."""
    shell = shell_in(tmp_path_factory.mktemp("cases"))
    shell.write("own.jsonl", PROBLEMS)
    programs = [(task, text) for task, text, *_ in EXPECTED.values()] + [(0, LATER)]
    shell.write("s.jsonl", ({"task_id": f"Own/{task}", "solution": text} for task, text in programs))
    words = ("judge", "s.jsonl", "--benchmark", "own.jsonl", "--all-tests", "--test-timeout", "0.3", "--json")
    done = shell(*words, "--accept-input")
    return done, dict(zip([*EXPECTED, "later"], shell.rows("s.jsonl_results.jsonl"), strict=True)), shell


@pytest.mark.parametrize("name", EXPECTED)
def test_each_program(whole, name: str):
    """Each program has its status, and its verdict by each suite; a suite counts only where those before it hold."""
    _, _, status, base, plus = EXPECTED[name]
    row = whole[1][name]
    assert (status, "referee") == (row["status"], row["mode"]), row
    assert {"base": base, "plus": plus} == row["suites"]


def test_every_test_is_counted(whole):
    """With all tests, those after a failure run too, and the outcome of each is stored."""
    rows = whole[1]
    tests = rows["added only"]["tests"]
    assert (0, 5) == (tests["base"]["passed"], tests["plus"]["passed"])
    tests = rows["half"]["tests"]["plus"]
    assert (5, 5, 4, 1) == (tests["tests"], tests["ran"], tests["passed"], tests["first_failed"])
    assert 0b10111000 == base64.b64decode(tests["outcomes"])[0]


@pytest.mark.parametrize("profile", ["native", "evalplus"])
def test_an_empty_list_is_no_float(shell, profile: str):
    """After an empty list whole numbers must still be equal (``is_floats`` of EvalPlus 0.3.1)."""
    shell.write("own.jsonl", [POWERS])
    text = "def powers(count): return [10**8 + item + (item == {}) for item in range(count)]"
    shell.write("s.jsonl", ({"task_id": "Own/5", "solution": text.format(item)} for item in ("0", "1", "2")))
    done = shell("judge", "s.jsonl", "--benchmark", "own.jsonl", "--profile", profile, "--accept-input")
    assert done.code == 0, done
    suites = [row["suites"] for row in shell.rows("s.jsonl_results.jsonl")]
    assert [(False, False), (True, False), (True, True)] == [(row["base"], row["plus"]) for row in suites]


HALVES = {
    "task_id": "Own/6",
    "prompt": "def halves(count):\n",
    "entry_point": "halves",
    "canonical_solution": "    return [item / 2 for item in range(count)]\n",
    "base_input": [[2]],
    "plus_input": [[3]],
    "atol": 0,
}


@pytest.mark.parametrize(("profile", "passes"), [("native", [True, True, True]), ("evalplus", [False, True, False])])
def test_what_was_no_plain_data(shell, profile: str, passes: list[bool]):
    """A deque or a class of its own that is nearly equal is right natively, and not with EvalPlus; a list is."""
    shell.write("own.jsonl", [HALVES, {**HALVES, "task_id": "Own/7", "canonical_solution": "    return count / 3\n"}])
    rows = [
        {
            "task_id": "Own/6",
            "solution": "import collections\ndef halves(n): return collections.deque([0.0, .5, 1.0][:n])",
        },
        {
            "task_id": "Own/6",
            "solution": "class F(float): pass\ndef halves(n): return [F(i / 2 + 1e-9) for i in range(n)]",
        },
        {"task_id": "Own/7", "solution": "class F(float): pass\ndef halves(n): return F(n / 3 + 1e-9)"},
    ]
    shell.write("s.jsonl", rows)
    done = shell("judge", "s.jsonl", "--benchmark", "own.jsonl", "--profile", profile, "--accept-input")
    assert done.code == 0, done
    assert passes == [row["passed"] for row in shell.rows("s.jsonl_results.jsonl")]


def test_every_test_is_counted_in_the_first_run(shell):
    """With all tests, a sample that answers as a program tried before, the reference or a wrong one, has all outcomes.

    Such programs are tried until the first failure, and no more where the plans of the problems are kept.
    """
    own = {"prompt": "def f(x):\n", "entry_point": "f", "reference": "    return x + 1\n"}
    cases = {"id": "c", "kind": "cases", "inputs": [[1], [2], [3]], "expected": [2, 3, 4]}
    assertions = {"id": "a", "kind": "assertions", "tests": ["assert f(1) == 2", "assert f(2) == 3"]}
    shell.write("own.jsonl", [own | cases, own | assertions])
    first_failed = {"raise NotImplementedError": 0, "return x + 1": None}
    programs = [(task, body) for task in "ca" for body in first_failed]
    shell.write("s.jsonl", ({"task_id": task, "completion": f"    {body}\n"} for task, body in programs))
    for number in range(2):
        shell("judge", "s.jsonl", "--benchmark", "own.jsonl", "--all-tests", "--run", f"run{number}")
        rows = shell.rows("s.jsonl_results.jsonl")
        for (task, body), row in zip(programs, rows, strict=True):
            (tests,) = row["tests"].values()
            assert ({"c": 3, "a": 2}[task], first_failed[body]) == (tests["ran"], tests.get("first_failed")), row
            passed = (1 << tests["ran"]) - 1 if first_failed[body] is None else 0
            assert passed == _bits(tests["outcomes"]) >> (8 - tests["ran"]), row


def _bits(outcomes: str) -> int:
    return base64.b64decode(outcomes)[0]


def test_large_results_are_read_for_a_comparison_only(shell):
    """They have a file of their own; where that is damaged or removed, the reference computes them once more."""
    shell.write("own.jsonl", [LARGE])
    bodies = {
        "right": (RANDOM, "passed", None),
        "wrong at the end": (f"{RANDOM} if first < 3 else {RANDOM}[1:]", "failed", "plus test 1: wrong result"),
        "wrong": ("first", "failed", "base test 0: wrong result"),
        "raising": (f"{RANDOM} if first != 2 else 1 / 0", "failed", "plus test 0: ZeroDivisionError"),
    }
    samples = [
        {"task_id": "Own/3", "solution": f"def many(first):\n    return {body}\n"} for body, *_ in bodies.values()
    ]
    shell.write("s.jsonl", samples)
    words = ("judge", "s.jsonl", "--benchmark", "own.jsonl")

    def check_rows() -> None:
        for name, row in zip(bodies, shell.rows("s.jsonl_results.jsonl"), strict=True):
            _, status, message = bodies[name]
            assert status == row["status"], (name, row)
            assert row.get("message", "").startswith(message or ""), (name, row)
            assert message is None or row["call"]["expected"].startswith("b"), (name, row)

    assert 0 == shell(*words, "--run", "first").code
    check_rows()
    (path,) = (shell.folder / "cache" / "plans").glob("*.results")
    content = path.read_bytes()
    assert len(content) > 3 << 20
    assert 0 == shell(*words, "--run", "second").code
    check_rows()
    path.write_bytes(content[:-1] + b"x")
    assert 0 == shell(*words, "--run", "third").code
    check_rows()
    assert content == path.read_bytes()


def test_first_failure(whole):
    """A row says which test failed first, with its input, what was expected and what came."""
    row = whole[1]["half"]
    assert "plus test 1" in row["message"]
    assert str(10**30 + 1) == row["call"]["expected"]
    assert "returned 0" == row["call"]["outcome"]


def test_limit_of_one_test(whole):
    """A test that does not end is a timeout, and the tests before it are counted."""
    row = whole[1]["later"]
    assert "timeout" == row["status"]
    assert (2, 1, 0) == (row["tests"]["base"]["passed"], row["tests"]["plus"]["ran"], row["tests"]["plus"]["passed"])


@pytest.mark.ci
def test_limit_of_one_test_in_new_processes(shell):
    """The limit of a test holds for a program that no kept process can run, however long that of all tests is."""
    problem = {"id": "a", "kind": "stdin", "inputs": ["1"], "outputs": ["1"], "test_timeout_s": 0.2, "timeout_s": 60}
    shell.write("own.jsonl", [problem])
    busy = "import threading\nfrom time import process_time as now\nend = now() + %s\nwhile now() < end:\n    pass\n"
    busy += "print(input())"
    shell.write("s.jsonl", ({"task_id": "a", "solution": busy % text} for text in ("0", "0.5")))
    shell("judge", "s.jsonl", "--benchmark", "own.jsonl")
    assert ["passed", "timeout"] == [row["status"] for row in shell.rows("s.jsonl_results.jsonl")]


def test_scores_of_suites(whole):
    """The record has the number of samples that pass each suite, and their pass@1."""
    done, rows, _ = whole
    for suite in ("base", "plus"):
        assert sum(row["suites"][suite] for row in rows.values()) == done.record["suites"][suite]["passed"]
    assert done.record["pass@1"]["value"] == done.record["suites"]["plus"]["pass@1"]["value"]
    assert done.record["statuses"]["passed"] == done.record["suites"]["plus"]["passed"]


@pytest.mark.ci
def test_first_failure_ends_the_tests(whole):
    """Without --all-tests nothing runs after a failure; --profile evalplus runs each suite until its own."""
    shell = whole[2]
    shell.write("one.jsonl", [{"task_id": "Own/0", "solution": EXPECTED["added only"][1]}])
    words = ("judge", "one.jsonl", "--benchmark", "own.jsonl", "--subset", "--results", "r.jsonl")
    shell(*words)
    assert [0] == [row["tests"]["plus"]["ran"] for row in shell.rows("r.jsonl")]
    shell(*words, "--profile", "evalplus")
    (row,) = shell.rows("r.jsonl")
    assert (1, 5, {"base": False, "plus": False}) == (
        row["tests"]["base"]["ran"],
        row["tests"]["plus"]["passed"],
        row["suites"],
    )


@pytest.mark.ci
def test_results_of_very_many_items(shell):
    """A result that is too large to leave its process is compared by a digest, which that of another result is not."""
    shell.write("own.jsonl", [MANY])
    same = "def many(first):\n    return [first for _ in range(1600000)]\n"
    programs = [same, same.replace("[first", "[3 - first"), same.replace("1600000", "1600001"), f"{same}    #"]
    shell.write("s.jsonl", ({"task_id": "Own/3", "solution": text} for text in programs))
    shell("judge", "s.jsonl", "--benchmark", "own.jsonl")
    assert [True, False, False, True] == [row["passed"] for row in shell.rows("s.jsonl_results.jsonl")]


@pytest.mark.ci
def test_results_that_only_look_like_items(shell):
    """A result that is compared as a set is right or wrong, and breaks nothing, also where it cannot be taken whole."""
    shell.write("own.jsonl", [SETS])
    results = ("range(10**12)", "range(1, 2)", "(n for n in (1,))", "(1 // (1 - n) for n in (0, 1))", "{1: {}[2]}")
    texts = [f"def items(_):\n    return {result}\n" for result in results]
    texts.append("def items(_):\n    yield 1\n    raise KeyError\n")
    shell.write("s.jsonl", ({"task_id": "Own/4", "solution": text} for text in texts))
    shell("judge", "s.jsonl", "--benchmark", "own.jsonl", "--accept-input")
    statuses = [row["status"] for row in shell.rows("s.jsonl_results.jsonl")]
    assert ["failed", "passed", "passed", "failed", "failed", "failed"] == statuses


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"base_input": "x"}, "base_input"),
        ({"plus_input": [3]}, "plus_input"),
        ({"atol": "0"}, "atol"),
        ({"canonical_solution": None}, "canonical_solution"),
        ({"task_id": "Mbpp/2"}, "base_input"),
    ],
)
def test_wrong_rows(shell, change, problem: str):
    """A row of another form is refused with its place and the field."""
    shell.write("own.jsonl", [PROBLEMS[0] | change])
    done = shell("bench", "check", "own.jsonl")
    assert 2 == done.code
    assert re.search(f"line 1: .*{problem}", done.err)


@pytest.mark.ci
def test_a_reference_that_is_wrong_or_lives(shell):
    """A reference that raises, or returns what cannot leave its process, is a fault of its problem alone."""
    raising = PROBLEMS[0] | {"task_id": "Own/3", "canonical_solution": "    raise KeyError(a)\n"}
    living = PROBLEMS[0] | {"task_id": "Own/4", "canonical_solution": "    return object()\n"}
    shell.write("own.jsonl", [PROBLEMS[0], raising, living])
    done = shell("bench", "check", "own.jsonl", "--json")
    assert [False, True, True] == [problem["faulty"] for problem in done.record["checked"]]


PUBLISHED = [
    ("humaneval_plus_v0.1.9", "chatgpt_cot", 116, 106),
    # One of its samples takes nearly the 60 s that EvalPlus gives, and more than that on a slow machine.
    ("mbpp_plus_v0.1.0", "qwen1.5b", 276, 234),
]


@pytest.mark.nightly
@pytest.mark.parametrize(("benchmark", "model", "base", "plus"), PUBLISHED)
def test_published_results(shell, benchmark: str, model: str, base: int, plus: int):
    """The profile evalplus gives the published counts, by each suite, and the published verdict of each sample."""
    if not (SHARED / "scored").is_dir():
        pytest.skip(f"no published samples in {SHARED}")
    name = f"{benchmark}_{model}"
    shell.write("s.jsonl", [gzip.decompress((SHARED / "scored" / f"{name}.jsonl.gz").read_bytes())])
    path = SHARED / "benchmarks" / f"{benchmark}.jsonl.gz"
    words = ("judge", "s.jsonl", "--benchmark", path, "--profile", "evalplus", "--json", "--accept-input")
    with shell.start(*words, env=shell.env) as session:
        out, err = session.communicate(timeout=1800)
    assert 0 == session.returncode, err
    assert (base, plus) == tuple(json.loads(out)["suites"][suite]["passed"] for suite in ("base", "plus"))
    record = json.loads(gzip.decompress((SHARED / "scored" / f"{name}_eval_results.json.gz").read_bytes()))["eval"]
    for row in shell.rows("s.jsonl_results.jsonl"):
        of = record[row["task_id"]]
        published = {"base": of["base"][0][0], "plus": of["plus"][0][0]} if isinstance(of, dict) else None
        published = published or {suite: of[0][f"{suite}_status"] for suite in ("base", "plus")}
        passes = {suite: status in ("success", "pass") for suite, status in published.items()}
        assert {"base": passes["base"], "plus": passes["base"] and passes["plus"]} == row["suites"], row["task_id"]


@pytest.mark.ci
def test_profiles_name_each_disagreement(shell):
    """Samples judged under two profiles: both scores, and the sample on which they differ with its reasons."""
    shell.write("own.jsonl", PROBLEMS)
    block = "    return a + b\nprint('done')\nimport no_such_module\n"
    shell.write("s.jsonl", [{"task_id": "Own/0", "completion": text} for text in ("    return a + b\n", block)])
    words = ("profiles", "s.jsonl", "--benchmark", "own.jsonl", "--subset", "--profiles")
    done = shell(*words, "native,bigcode", "--json")
    assert [1, 2] == [score["passed"] for score in done.record["scores"]]
    (one,) = done.record["disagreements"]
    assert (1, "passed") == (one["sample_index"], one["rulings"]["bigcode"]["status"])
    assert "no_such_module" in one["rulings"]["native"]["reason"]
    assert "native: failed" in shell(*words, "native,bigcode").out
    assert 2 == shell(*words, "native").code
    assert "'bigcode'" in shell(*words, "native,bigcodes").err


def test_profiles_without_samples(shell):
    """Without samples the profiles are listed."""
    names = [line.partition(":")[0] for line in shell("profiles").out.splitlines()]
    assert {"native", "evalplus"} <= set(names)
    assert names == [entry["profile"] for entry in shell("profiles", "--json").record["profiles"]]
