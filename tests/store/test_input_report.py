"""The report on samples: what is counted, what it costs, and that hints name the right option."""

from __future__ import annotations

import re
import time
import tracemalloc
from array import array

import msgspec
import pytest

from passcurve.bench.languages import find_language
from passcurve.diagnosis import InputReport
from passcurve.store.hints import code_field, empty_field_remedy, field_remedy, reference_field, suggest_id_map
from passcurve.store.input_report import InputObserver
from passcurve.store.repetition import multiplicity, repeated_part
from passcurve.store.samples import CUT_OFF, NO_CODE_FIELD
from passcurve.types import Cases, Completion, Expression, FunctionTests, Problem, SampleKey, Script, Status, Suite

PROBLEM = Problem(id="T/0", prompt='def f(x):\n    """Return x."""\n', entry_point="f", check=FunctionTests(source=""))
CODE = "    return x\n"


def completion(row: int, text: str | None, **fields) -> Completion:
    """Return a row of the problem; its digest is its number."""
    key = SampleKey(problem_id="T/0", sample_index=row)
    form = fields.pop("form", "completion")
    return Completion(key=key, row=row, line=row + 1, digest=f"{row:016x}", form=form, text=text, **fields)


def observed(
    *texts: str,
    status: Status = "compile",
    extract: str = "raw",
    form: str = "completion",
    problem: Problem = PROBLEM,
) -> InputReport:
    """Return the report on these texts of one problem, which all come to one status."""
    observer = InputObserver(extract)
    for row, text in enumerate(texts):
        observer.observe(problem, completion(row, text, form=form))
        observer.judge(row, status, error_of(text) if status == "compile" and form == "completion" else "")
    return observer.report(rows=len(texts))


def error_of(text: str) -> str:
    """Return what Python says of a completion, as a verdict has it; empty where it compiles."""
    try:
        compile(PROBLEM.prompt + text, "sample.py", "exec")
    except (SyntaxError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def names(report: InputReport) -> list[str]:
    """Return the names of the findings."""
    return [finding.name for finding in report.findings]


FENCED = "```python\ndef f(x):\n    return x\n```\n"


class TestFences:
    """Text around the code, which only a program that does not compile shows for sure."""

    @pytest.mark.parametrize(
        "text",
        [
            FENCED,
            f"Some words.\n{FENCED}",
            "~~~\n" + CODE + "~~~",
            "    ```\n" + CODE,
            "Sure! Here you are:\n\ndef f(x):\n    return x\n",
            CODE + "\nThis function returns its argument.\n",
            CODE + "\nHere's why it works.\n",
        ],
    )
    def test_odd(self, text):
        """Fences and prose count, and withhold the score."""
        (finding,) = observed(text).findings
        assert ("fenced", 1, True) == (finding.name, finding.rows, finding.withholds)

    @pytest.mark.parametrize("status", ["passed", "failed", "timeout", "crash"])
    def test_what_compiles(self, status):
        """A program that runs is not fenced, whatever its strings hold."""
        assert [] == names(observed(FENCED, status=status))

    @pytest.mark.parametrize(
        "text",
        [
            '    """\n```\nf(1)\n```\n    """\n    return x +\n    y\n',
            "    # Here is the code\n    return 1 1\n",
            "    s = 'Sure! Here is'\n    return 1 1\n",
            "    return `x`\n",
        ],
    )
    def test_not_odd(self, text):
        """Fences in docstrings and words in strings and comments do not count, though the program does not compile."""
        assert "fenced" not in names(observed(text))

    def test_another_policy(self):
        """Where fences are taken off nothing is said; where they are not, the score is not withheld."""
        assert [] == names(observed(FENCED, extract="auto"))
        assert [False] == [finding.withholds for finding in observed(FENCED, extract="stop-words:human-eval").findings]


QUESTION = Problem(
    id="T/0",
    prompt="",
    entry_point="f",
    check=Expression(code="def f(x): return x", asks="input", input="1", output="1"),
)


@pytest.mark.parametrize(
    ("text", "reason", "withholds"),
    [
        ("```python\nf(1)\n```", "SyntaxError: the answer is no call of f", True),
        ("Let's see.\n[ANSWER]f(1)[/ANSWER]", "SyntaxError: the answer is no call of f", True),
        ("f(1)\n[/ANSWER]", "SyntaxError: invalid syntax", True),
        # No policy takes an answer out of this one, and the last is one.
        ("Let's execute the code step by step: first", "SyntaxError: the answer is no call of f", False),
        ("f('[ANSWER]')", "AssertionError: '[ANSWER]' is not what was expected", False),
    ],
)
def test_answers_within_other_text(text, reason, withholds):
    """An answer that does not compile for its fence or its tags withholds the score; --extract answer takes it out."""
    observer = InputObserver("raw")
    observer.observe(QUESTION, completion(0, text))
    observer.judge(0, "failed", reason)
    findings = observer.report(rows=1).findings
    fenced = [finding for finding in findings if finding.name == "fenced"]
    assert [True] * withholds == [finding.withholds for finding in fenced]
    assert all(finding.text.endswith("use --extract answer") for finding in fenced)


def test_share_that_withholds():
    """Exactly one row of twenty does not withhold the score, one of nineteen does."""
    for rows, withholds in ((20, False), (19, True)):
        report = observed(FENCED, *(f"    return {n} 0\n" for n in range(1, rows)))
        assert [withholds] == [finding.withholds for finding in report.findings if finding.name == "fenced"]


def test_a_character_that_is_none():
    """A sample in shared mode can name a character that does not exist: that message is not taken for Python's."""
    observer = InputObserver("raw")
    for row, point in enumerate(("FFFFFF", "110000", "10FFFF")):
        observer.judge(row, "compile", f"SyntaxError: invalid character 'x' (U+{point})")
    (finding,) = observer.report(rows=3).findings
    assert ("stray_character", 1) == (finding.name, finding.rows)


def test_rows_that_do_not_compile():
    """Ten rows that do not compile are told where they are more than half, and withhold nothing."""
    texts = [f"    return {n} 0\n" for n in range(10)]
    assert [("broken", 10, False)] == [(f.name, f.rows, f.withholds) for f in observed(*texts).findings]
    assert [] == names(observed(*texts[:9]))


@pytest.mark.parametrize("extract", ["raw", "auto"])
def test_rows_without_the_field(extract):
    """Rows without a field for code withhold the score under any policy; those with an empty one do not."""
    observer = InputObserver(extract)
    observer.observe(PROBLEM, completion(0, None, missing=NO_CODE_FIELD, hints=("code", "use --field code")))
    observer.observe(PROBLEM, completion(1, None, missing="`completion` must be a string, got null"))
    findings = observer.report(rows=2).findings
    assert [("no_code_field", 1, True), ("empty_text", 1, False)] == [(f.name, f.rows, f.withholds) for f in findings]


def test_one_field_with_code_of_several_kinds():
    """Rows that have the same field count as such, whatever reads each best; others have no text."""
    observer = InputObserver("raw")
    kinds = [("code", "use --field code"), ("code", "use --field code:solution"), ("code", "use --field code"), ()]
    for row, hints in enumerate(kinds):
        observer.observe(PROBLEM, completion(row, None, missing=NO_CODE_FIELD, hints=hints))
    (finding,) = observer.report(rows=4).findings
    assert "3 rows have `code`, none has `completion` or `solution` (1 more has no text in it)" in finding.text
    assert finding.text.endswith("use --field code")


@pytest.mark.parametrize(
    "text",
    [
        "    return (1 +",
        "    y = [1,",
        "    if x:\n",
        "    def g():",
        "    y = 'ab",
        '    def g():\n        """Return the',
        "    y =",
        "    y = x +",
        "    return x if x else",
        "    y = x\n    for i, j",
    ],
)
def test_texts_that_are_cut(text):
    """A text that ends amid something counts as cut, unless it compiles or another policy reads it."""
    assert ["truncated"] == names(observed(text))
    assert [] == names(observed(text, status="failed"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("    if x:\n        return 0\n    y =", ["truncated"]),
        ("    return 0\n\ndef g(x):\n    y =", []),
        ("```python\ndef f(x):\n    return 0\n```\nThe list is", []),
    ],
)
def test_texts_of_which_the_cut_end_is_removed(text, expected):
    """A text cut amid a value counts as cut though `auto` removes that end; text behind the function does not count."""
    assert expected == names(observed(text, status="failed", extract="auto"))


@pytest.mark.parametrize(
    "text", ["    return 1 1\n", "\n\nx = 1\n", '    """\n    return x\n', "    # so:\n    return)\n"]
)
def test_texts_that_are_wrong(text):
    """A text that is wrong but whole does not count as cut."""
    assert [] == names(observed(text))


def test_limit_of_tokens():
    """A row whose model reached its limit counts once, whatever its status."""
    observer = InputObserver("raw")
    for row, status in enumerate(("passed", "compile")):
        observer.observe(PROBLEM, completion(row, "    return (", hints=CUT_OFF))
        observer.judge(row, status)
    assert [("truncated", 2)] == [(finding.name, finding.rows) for finding in observer.report(rows=2).findings]


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        (PROBLEM.prompt + CODE, "completion", ["holds_prompt"]),
        ("import os\n\ndef f(x):\n    return x\n", "completion", ["holds_prompt"]),
        ("    return f(x)\n", "completion", []),
        (PROBLEM.prompt + CODE, "solution", []),
        (CODE, "solution", ["lacks_function"]),
    ],
)
def test_prompts(text, form, expected):
    """A prompt stands in a solution, and not in a completion."""
    # A program without its function cannot pass.
    status: Status = "failed" if "lacks_function" in expected else "passed"
    assert expected == names(observed(text, form=form, status=status))


def test_programs_of_other_problems():
    """A program that begins with blank lines is no body, and what continues a prompt may be one of another problem."""
    problem = Problem(id="T/0", prompt="def double(x):\n", entry_point="double", check=FunctionTests(source=""))
    for form in ("solution", "completion"):
        observer = InputObserver("raw")
        observer.observe(problem, completion(0, "\n\ndef halve(x):\n    return x\n", form=form))
        observer.judge(0, "failed", "AssertionError")
        (finding,) = observer.report(rows=1, task_ids={"T/0": "double", "T/1": "halve"}).findings
        assert "lacks_function" == finding.name
        assert "--field" not in finding.text
        assert "that of 'T/0' is the function of 'T/1', so the ids do not belong to the texts" in finding.text
    assert "--field solution" in observed("\n\n    return x\n", form="solution", status="failed").findings[0].text


def test_a_name_that_all_programs_have():
    """A function that every program calls `solution` moves no ids, though one task calls its own so."""
    ids = {f"T/{number}": f"f{number}" for number in range(4)} | {"T/9": "solution"}
    assert "has 'solution' in its place: give it the name" in lacking(ids, dict.fromkeys(ids, "solution"))
    two = {"T/0": "solution", "T/1": "f0"}
    assert "is the function of 'T/9', so the ids do not belong to the texts" in lacking(ids, two)


@pytest.mark.parametrize(("right", "remedy"), [(0, "use --id-map 'T/{}=T/{-1}'"), (1, "write the id of its task")])
def test_ids_of_a_part_that_are_shifted(right, remedy):
    """An option that maps all ids is named only where all rows are shifted: it would spoil the others."""
    ids = {f"T/{number}": f"f{number}" for number in range(6)}
    shifted = {f"T/{number}": f"f{number - 1 + (number <= right)}" for number in range(1, 6)}
    assert remedy in lacking(ids, shifted)


@pytest.mark.parametrize(("right", "remedy"), [(0, "use --id-map 'T/{}=T/{-1}'"), (6, "write the id of its task")])
def test_prompts_of_other_problems(right, remedy):
    """The prompts of rows tell in every language, and where texts pass by chance, that their ids are of others."""
    observer = InputObserver("raw")
    for number in range(1, 20):
        task = msgspec.structs.replace(CPP, id=f"T/{number}", prompt=f"int f{number}() {{\n")
        prompt = task.prompt if number <= right else f"int f{number - 1}() {{"
        observer.observe(task, completion(number, "return 1; }", prompt=prompt))
        observer.judge(number, "compile" if number % 2 else "passed", "error: 'f1' was not declared")
    (finding,) = observer.report(rows=19).findings
    # The prompt of problem 0 is not known: it has no row.
    assert ("other_ids", 19 - max(right, 1)) == (finding.name, finding.rows)
    assert remedy in finding.text


def test_one_prompt_for_all_rows():
    """Where rows pass, the field has something else than their prompts, and the ids are right."""
    observer = InputObserver("raw")
    for number in range(6):
        task = msgspec.structs.replace(CPP, id=f"T/{number}", prompt=f"int f{number}() {{\n")
        observer.observe(task, completion(number, "return 1; }", prompt="int f0() {\n"))
        observer.judge(number, "passed" if number < 5 else "failed", "exit status 1")
    assert [] == names(observer.report(rows=6))


def test_equal_prompts_are_of_no_other_problem():
    """Problems that differ in their suffix alone may have one prompt; rows may have prompts in words."""
    observer = InputObserver("raw")
    for row, (task, prompt) in enumerate([("T/0", "def f(x):"), ("T/1", "def f(x):"), ("T/1", "Write f.")]):
        problem = msgspec.structs.replace(PROBLEM, id=task, prompt="def f(x):\n", suffix="    return y\n" * (row > 0))
        observer.observe(problem, completion(row, CODE, prompt=prompt))
    assert [] == names(observer.report(rows=3))


def test_classes_of_other_problems():
    """A class is named as a function is."""
    lacks = lacking(
        {"T/0": "Zero", "T/1": "One", "T/2": "Two"}, {"T/1": "Zero", "T/2": "One"}, "class {}:\n    x = 1\n"
    )
    assert "that of 'T/1' is the function of 'T/0'" in lacks
    lacks = lacking({"T/0": "Zero", "T/1": "One"}, {"T/0": "MyZero", "T/1": "MyOne"}, "class {}:\n    x = 1\n")
    assert "that of 'T/0' has 'MyZero' in its place" in lacks


def test_copies_for_some_problems():
    """The copies are those of all problems that have some; others may have more rows of their own."""
    observer = InputObserver("raw")
    # Three problems have a copy each, two have a second text.
    rows = [(number, 0) for number in range(12)] + [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1)]
    for row, (number, version) in enumerate(rows):
        task = msgspec.structs.replace(PROBLEM, id=f"T/{number}")
        observer.observe(task, completion(row, f"    return {number + 100 * version}\n"))
    (finding,) = observer.report(rows=len(rows)).findings
    assert ("duplicate_rows", 3) == (finding.name, finding.rows)
    assert "3 problems, such as 'T/0', have 3 rows more in all than most problems, which have 1, and" in finding.text


LEETCODE = "class Solution:\n    def {}(self, x):\n        def help(y):\n            return y\n        return help(x)\n"


def test_methods_of_other_problems():
    """Where the tests call a method, that of a program is named, and not its class or a function in it."""
    ids = {f"T/{number}": f"Solution.m{number}" for number in range(3)}
    assert "that of 'T/1' is the function of 'T/0'" in lacking(ids, {"T/1": "m0", "T/2": "m1"}, LEETCODE)
    assert "that of 'T/0' has 'solve' in its place" in lacking(ids, {"T/0": "solve", "T/1": "solve"}, LEETCODE)


def test_programs_that_read_standard_input():
    """Programs of contests for problems that ask for a function are told so, whatever they define."""
    ids = {f"T/{number}": f"Solution.m{number}" for number in range(2)}
    text = "import sys\n\ndef {}(x):\n    print(x)\n\nmain(sys.stdin.read())\n"
    assert "they read standard input, and the tests call a function" in lacking(ids, dict.fromkeys(ids, "main"), text)


HELPER = "def g(y):\n        return y\n\n    return g(x)"
"""The body of a function with a helper, as `strip()` leaves it."""


@pytest.mark.parametrize("text", [HELPER, "def g(y):\n    return y\n\nreturn g(x)\n", f"```python\n{HELPER}\n```\n"])
def test_helpers_in_stripped_bodies(text):
    """A body that begins with a helper is no program of another function: its indentation was lost."""
    task = Problem(id="T/0", prompt="def total(x):\n", entry_point="total", check=FunctionTests(source=""))
    assert [] == names(observed(text, status="passed", extract="auto", problem=task))
    assert ["fenced" if "```" in text else "lost_indentation"] == names(observed(text, problem=task))


@pytest.mark.parametrize(("passed", "expected"), [(0, ["truncated"]), (2, [])])
def test_fences_without_an_end(passed, expected):
    """Count them as cut off, unless such rows pass: then a stop word has taken the end of the fence."""
    observer = InputObserver("auto")
    for row in range(6):
        observer.observe(PROBLEM, completion(row, f"```python\ndef f(x):\n    y = {row}\n"))
        observer.judge(row, "passed" if row < passed else "failed", is_unclosed=True)
    findings = observer.report(rows=6).findings
    assert expected == [finding.name for finding in findings]
    assert all("6 rows end in a fence that is not closed; " in finding.text for finding in findings)


@pytest.mark.parametrize(("passed", "expected"), [(0, ["truncated"]), (8, ["broken"])])
def test_broken_programs_in_fences_without_an_end(passed, expected):
    """They are told once: as cut off, or where such rows pass as what does not compile."""
    observer = InputObserver("auto")
    for row in range(40):
        observer.observe(PROBLEM, completion(row, f"```python\ndef f(x):\n    y = {row} 1\n"))
        status: Status = "passed" if row < passed else "compile"
        observer.judge(row, status, "SyntaxError: invalid syntax" if status == "compile" else "", is_unclosed=True)
    assert expected == names(observer.report(rows=40))


@pytest.mark.parametrize(("extract", "rows", "expected"), [("auto", 11, ["broken"]), ("auto", 10, []), ("raw", 49, [])])
def test_replies_without_a_program(extract, rows, expected):
    """Where replies are taken apart, a tenth without a program is told: prose, sessions, numbered lines."""
    observer = InputObserver(extract)
    for row in range(100):
        observer.observe(PROBLEM, completion(row, f"    This adds {row}." if row < rows else CODE))
        observer.judge(row, "compile" if row < rows else "passed", "SyntaxError: invalid syntax" if row < rows else "")
    assert expected == names(observer.report(rows=100))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("   y = x\n    return y\n", ["lost_indentation"]),
        ("     y = x\n    return y\n", ["lost_indentation"]),
        ("   return x\n", ["lost_indentation"]),
        ("\n\n     return x\n", ["lost_indentation"]),
        ("    return 1 1\n", []),
        ("   # A comment.\n    return 1 1\n", []),
    ],
)
def test_indentation_that_is_not_that_of_the_body(text, expected):
    """A space that the first line or all lines lost or got is named; a comment is indented as anyone likes."""
    assert expected == names(observed(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>\nHm. We need", ["open_thinking"]),
        ("<|channel|>analysis<|message|>Hm. We need", ["open_thinking"]),
        ("<|start|>assistant<|channel|>analysis<|message|>Hm. We\nneed", ["open_thinking"]),
        ("analysisWe need f.\nHm", ["open_thinking"]),
        ("analysisData = 1 1\n", []),
        (f"analysisWe need f.assistantfinal{PROBLEM.prompt}    return 1 1", []),
    ],
)
def test_thinking_without_an_end(text, expected):
    """Thinking that is all there is counts as such, whatever marks it."""
    assert expected == names(observed(text, status="failed", extract="auto"))


@pytest.mark.parametrize("end", ["while x", "if x == 0", "def g", "with open"])
def test_texts_that_end_in_a_heading(end):
    """A line that is to open a block, and does not, is cut."""
    assert ["truncated"] == names(observed(f"    y = x\n    {end}"))


@pytest.mark.parametrize("extract", ["raw", "auto"])
@pytest.mark.parametrize("form", ["{:3} {}", "{:>6}\t{}", "{}: {}", "{:2}|{}", "{:03} | {}"])
def test_numbered_lines(extract, form):
    """The finding names what makes the program of them again."""
    code = "def f(x):\n    y = x\n    return y\n"
    lines = [form.format(number, line) for number, line in enumerate(code.splitlines(), start=1)]
    (finding,) = observed("\n".join(lines), form="solution", extract=extract).findings
    assert "line_numbers" == finding.name
    plain = eval(finding.text.partition("remove them: ")[2], {"re": re, "text": "\n".join(lines)})
    compile(plain, "sample.py", "exec")


def test_lists_have_no_numbered_lines():
    """The items of a list are no lines of a program."""
    assert [] == names(observed("1. Add one.\n2. Return it.\n3. Done.\n", extract="auto"))


@pytest.mark.parametrize("extract", ["raw", "auto"])
@pytest.mark.parametrize("call", ['<tool_call>\n{"name": "write"}\n</tool_call>', '[TOOL_CALLS] [{"name": "write"}]'])
def test_calls_of_tools(extract, call):
    """A call has no indentation to lose."""
    assert ["tool_calls"] == names(observed(call, extract=extract))
    assert ["tool_calls"] == names(observed(f"<think>\nHm.\n</think>\n{call}", extract="auto"))


def test_line_ends():
    """Lone carriage returns end lines, and line ends of two characters are named under `auto`, too."""
    two = Problem(id="T/0", prompt="def f(x):\n", entry_point="f", check=FunctionTests(source=""), reference="a\nb\n")
    assert [] == names(observed(*["    y = x\r    return y\r"] * 8, status="passed", problem=two))
    assert ["one_line"] == names(observed(*["    return x\n"] * 8, status="passed", problem=two))
    assert ["escaped_line_ends"] == names(observed("    y = x\\n    return y\\n", extract="auto"))


@pytest.mark.parametrize("extract", ["raw", "auto"])
@pytest.mark.parametrize("form", ["completion", "solution"])
@pytest.mark.parametrize("prompt", ['"""Return twice x."""\n', ""])
def test_bodies_without_a_first_line(extract, form, prompt):
    """No option makes programs of bodies where the prompt is a task in words, as in MBPP."""
    problem = Problem(id="T/0", prompt=prompt, entry_point="double", check=FunctionTests(source=""))
    report = observed("    y = x\n    return y + x\n", extract=extract, form=form, problem=problem)
    (finding,) = (finding for finding in report.findings if finding.name == "lacks_function")
    assert "ask for whole programs" in finding.text
    assert "--field" not in finding.text


@pytest.mark.parametrize("extract", ["raw", "auto"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import sys\n\ndef solve(n):\n    # Add.\n    return n\n", ["no_main"]),
        ("class Solution:\n    def solve(\n        self, n\n    ):\n        return n\n", ["no_main"]),
        ("def solve(\n    n\n):\n    return n\n\nsolve(input())\n", []),
        ("if True:\n    print(input())\n", []),
        ("n = int(input('How many? '))\nprint(n)\n", ["input_prompts"]),
        ("# n = int(input('How many? '))\nn = input('')\nprint(n)\n", []),
    ],
)
def test_definitions_in_place_of_a_program(extract, text, expected):
    """A program on standard input that calls nothing, or writes what it asks for, has not the output that is wanted."""
    check = Cases(suites=(Suite(name="tests", count=1),), inputs=b"", via="stdin")
    problem = Problem(id="T/0", prompt="", entry_point="", check=check)
    text = text if extract == "raw" else f"Here it is:\n\n```python\n{text}```\nIt is right.\n"
    assert expected == names(observed(text, status="failed", extract=extract, form="solution", problem=problem))
    assert [] == names(observed(text, status="passed", extract=extract, form="solution", problem=problem))


def test_a_diff_lacks_no_function():
    """One finding tells that a text is no program."""
    text = "--- a\n+++ b\n@@ -1 +1 @@\n def g(x):\n+    return x\n"
    assert ["diffs"] == names(observed(text, form="solution"))


@pytest.mark.parametrize("extract", ["raw", "auto"])
def test_methods(extract):
    """A method of `class Solution` is named under each policy: its name is right."""
    text = "class Solution:\n    def f(self, x):\n        return x\n"
    form = "solution" if extract == "raw" else "completion"
    assert ["method_only"] == names(observed(text, status="failed", extract=extract, form=form))


def lacking(ids: dict[str, str], programs: dict[str, str], form: str = "def {}(x):\n    return x\n") -> str:
    """Return the finding on programs with these functions, by the tasks of which they are samples."""
    observer = InputObserver("raw")
    for row, (task, name) in enumerate(programs.items()):
        problem = Problem(id=task, prompt="", entry_point=ids[task], check=FunctionTests(source=""))
        observer.observe(problem, completion(row, form.format(name), form="solution"))
        status: Status = "passed" if name == ids[task] else "failed"
        observer.judge(row, status, "" if status == "passed" else f"E{row}: x")
    (finding,) = observer.report(rows=len(programs), task_ids=ids).findings
    return finding.text


TYPE_ERROR = "TypeError: 'int' object is not iterable"


def raised_early(
    text: str, problem: Problem = PROBLEM, *, extract: str = "raw", form: str = "completion", message: str = TYPE_ERROR
) -> list[str]:
    """Return the names of the findings on a text that raises an exception before any test."""
    observer = InputObserver(extract)
    observer.observe(problem, completion(0, text, form=form))
    observer.judge(0, "failed", message, raised_early=True)
    return names(observer.report(rows=1))


@pytest.mark.parametrize(("lost", "expected"), [(10, ["one_reason"]), (9, [])])
def test_bodies_of_other_problems(lost, expected):
    """Where half of the rows lack names and hardly any passes, the ids do not belong to the texts."""
    observer = InputObserver("raw")
    for row in range(20):
        observer.observe(PROBLEM, completion(row, f"    return a{row}\n    # x\n"))
        if row < 19:
            observer.judge(row, "failed", f"NameError: name 'a{row}' is not defined" if row < lost else f"E{row}: x")
    findings = observer.report(rows=20).findings
    assert expected == [finding.name for finding in findings]
    assert all("look whether the task ids belong to these texts" in finding.text for finding in findings)


def test_an_end_that_raises():
    """Code behind the function is blamed only where the program raises an exception before the tests call it."""
    for end in ("print(f(1))", "assert f(1) == 2", "if __name__ == '__main__':\n    f(1)"):
        assert ["runs_on"] == raised_early(f"{CODE}\n\n{end}\n")
        assert [] == names(observed(f"{CODE}\n\n{end}\n", status="failed"))
    assert [] == raised_early(CODE)


@pytest.mark.parametrize("extract", ["raw", "auto"])
@pytest.mark.parametrize(
    "end", ["print(f(input()))", "assert f(1) == 2", "if __name__ == '__main__':\n    f(1)", "y = f(1)"]
)
def test_an_end_of_what_is_taken_as_it_stands(extract, end):
    """Under `auto` a text that is a program keeps its end, and so does a whole program: both may raise there."""
    program = f"def f(x):\n    return x\n\n\n{end}\n"
    assert ["runs_on"] == raised_early(program, extract=extract, form="solution")
    assert "runs_on" in raised_early(program, extract=extract)
    assert [] == raised_early(program, extract="pruned", form="solution")
    assert [] == raised_early(
        program, extract=extract, form="solution", message="NameError: name 'List' is not defined"
    )
    assert [] == raised_early("x = 1\n\ndef f(x):\n    return x\n", extract=extract, form="solution")
    if extract == "auto" and not end.startswith("y"):
        assert ["runs_on"] == raised_early(f"{CODE}\n\n{end}\n", extract=extract)


def test_whole_programs_do_not_run_on():
    """The function of a completion that is a whole program does not stand behind a function."""
    task = Problem(id="T/0", prompt='"""Return x."""\n', entry_point="f", check=FunctionTests(source=""))
    assert [] == raised_early("\ndef f(x: List):\n    return x\n", task)
    assert ["truncated"] == names(observed("\ndef f(x):\n    return (", problem=task))


CPP = Problem(
    id="T/0",
    prompt="/*\nThis function adds.\n*/\nint f(int x) {\n    int y = 1;\n",
    entry_point="",
    check=Script(language="cpp", tests=""),
)


@pytest.mark.parametrize(
    ("text", "form"),
    [(f"{CPP.prompt}return x }}", "solution"), ("return x }", "completion"), ("\treturn x }", "completion")],
)
def test_other_languages(text, form):
    """Comments of several lines are not taken for prose, nor white space for a fault: the program itself is wrong."""
    assert [] == names(observed(text, form=form, problem=CPP))


def test_prose_in_other_languages():
    """Prose outside comments counts, behind a comment too."""
    text = f"{CPP.prompt}return x; }}\n/* An end. */\nThis function adds.\n"
    assert ["fenced"] == names(observed(text, form="solution", problem=CPP))


def cut_script(*texts: str, language: str, message: str, tests: str = "", form: str = "completion") -> InputReport:
    """Return the report on texts in another language that all fail with that message."""
    problem = Problem(id="T/0", prompt="f(x) {\n", entry_point="", check=Script(language=language, tests=tests))
    observer = InputObserver("raw")
    for row, text in enumerate(texts):
        observer.observe(problem, completion(row, text, form=form), is_compiled=language == "cpp")
        observer.judge(row, "compile" if language == "cpp" else "failed", message)
    return observer.report(rows=len(texts))


@pytest.mark.parametrize(
    ("text", "form", "tests"),
    [
        ("    if (x) {\n        y = 1;\n", "completion", "}\nint main() {}\n"),
        ("    y = x", "completion", "}\nint main() {}\n"),
        ("f(x) {\n    y = 1;\n", "solution", "int main() {}\n"),
        ("f(x) {\n    if (x) {\n        y = 1;\n", "solution", "}\nint main() {}\n"),
    ],
)
def test_cut_texts_in_other_languages(text, form, tests):
    """Blocks that the tests do not end show that a text was cut off, whatever the compiler says."""
    message = "error: expected primary-expression before '}' token"
    assert ["truncated"] == names(cut_script(text, language="cpp", message=message, tests=tests, form=form))


@pytest.mark.parametrize("text", ['"\\' * (1 << 17), '"a\n' * (1 << 16), "'" * (1 << 18), "{" * (1 << 22)])
def test_hostile_texts_are_read_once(text):
    """Strings without an end, of which each quote might begin one, take time that grows with the text alone."""
    began = time.process_time()
    cut_script(text, language="cpp", message="error: stray")
    assert time.process_time() - began < 5


@pytest.mark.parametrize("language", ["cpp", "js"])
@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    return x",
        "from typing import List\n\ndef f(x: int) -> int:  # adds\n    return x\n",
        "import sys\nprint(1)",
        "a, b = map(int, input().split())\nprint(a + b)",
    ],
)
def test_python_in_place_of_another_language(text, language):
    """A text in Python was not cut off: it is in the wrong language."""
    (finding,) = cut_script(
        text, language=language, message="SyntaxError: Unexpected identifier", form="solution"
    ).findings
    assert "other_language" == finding.name
    assert "1 row seems to be in Python" in finding.text


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        ("test.cpp:9:3: error: 'f' was not declared in this scope", "look whether the task ids belong"),
        ("test.cpp:9:3: error: expected ';'", "passcurve autopsy compares"),
    ],
)
def test_names_that_a_compiler_lacks(message, remedy):
    """No policy of extraction finds a function that is not there."""
    texts = [f"    return {row};\n" for row in range(12)]
    (finding,) = cut_script(*texts, language="cpp", message=message, tests="}\nint main() {}\n").findings
    assert "broken" == finding.name
    assert remedy in finding.text


def test_repeated_prompts_explain_what_does_not_compile():
    """One line tells the cause, and none that so many rows do not compile."""
    texts = [f"f(x) {{\n    return {row};\n}}\n" for row in range(12)]
    report = cut_script(*texts, language="cpp", message="error: a function-definition is not allowed here")
    assert ["holds_prompt"] == names(report)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("    return y;\n", "completion"),
        ("    return y;\n    // as x\n", "completion"),
        ('    puts("{");\n', "completion"),
        ("f(x) {\n    return y;\n", "completion"),
        ("f(x) {\n    return y;\n}\n", "solution"),
    ],
)
def test_whole_texts_in_other_languages(text, form):
    """A function whose last brace is that of the tests is whole; so is one that repeats the prompt."""
    report = cut_script(
        text, language="cpp", message="error: 'y' was not declared", tests="}\nint main() {}\n", form=form
    )
    assert "truncated" not in names(report)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("SyntaxError: Unexpected end of input", ["truncated"]),
        ("TypeError: x is not a function", []),
        ("test 0: wrong result", []),
    ],
)
def test_scripts_that_are_cut(message, expected):
    """Nothing compiles a script: its message tells whether it is one."""
    assert expected == names(cut_script("    if (x) {\n", language="js", message=message))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class A:\n    # ... existing code ...\n\n    def f(x): ...\n", ["elided_code"]),
        ("# Rest of the code remains the same\n", ["elided_code"]),
        ("class A:\n    # \u2026 (unchanged)\n    x = 1\n", ["elided_code"]),
        ("# other methods stay as they are\n", ["elided_code"]),
        ("Keep it:\n```python\n# ... rest\n```\nIn full:\n```python\nx = 1\n```\n", []),
        ("# 1, 2, ... n, as the other numbers\n# The rest of the list is sorted.\nx = 1\n", []),
    ],
)
def test_code_that_is_left_out(text, expected):
    """A comment in the place of code is told where the program fails, however it fails."""
    problem = Problem(id="T/0", prompt="", entry_point="", check=FunctionTests(source=""))
    assert expected == names(observed(text, status="failed", extract="auto", problem=problem))
    assert [] == names(observed(text, status="passed", extract="auto", problem=problem))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("    for x in $1; do\n        echo $x\n", ["truncated"]),
        ("    case $1 in\n    a) echo '\n# }';;\n", ["truncated"]),
        ("    if true; then if true\n    then echo 1; fi", ["truncated"]),
        ('    echo "${1//a/b}"; while x; do y; done\n    done\n', []),
        ("    # Don't, or if not, for all: {\n    if)\n    fi\n", []),
        ('    echo "\n    if true\n    "; for((;;)); do x; done; (;)\n', []),
    ],
)
def test_bash_that_is_cut(text, expected):
    """Blocks of Bash have words around them, and its strings several lines."""
    message = "test.sh: line 3: syntax error near unexpected token `}'"
    assert expected == names(cut_script(text, language="sh", message=message, tests="}\nset -e\n"))


@pytest.mark.parametrize(
    ("message", "expected"), [("TypeError: '' is not a function", ["fenced"]), ("test 0: wrong result", [])]
)
def test_scripts_with_a_fence(message, expected):
    """A script that gives a wrong answer ran, so its backquotes are code."""
    assert expected == names(cut_script("```js\nf(1)\n```\n", language="js", message=message))


@pytest.mark.parametrize(
    ("extract", "remedy"), [("raw", "; use --extract answer; "), ("answer", "; ask for the answer ")]
)
def test_answers_in_sentences(extract, remedy):
    """A tenth of answers that are no expressions is told, though they are judged as answers that fail."""
    check = Expression(code="def f(x): return x", asks="output", input="1", output="1")
    problem = Problem(id="T/0", prompt="", entry_point="f", check=check)
    observer = InputObserver(extract)
    for row in range(60):
        observer.observe(problem, completion(row, f"It gives {row}." if row < 12 else f"{row}"))
        observer.judge(row, "failed" if row < 12 else "passed", "SyntaxError: invalid syntax" if row < 12 else "")
    (finding,) = observer.report(rows=60).findings
    assert "12 rows have an answer that cannot be read, most of all by SyntaxError" in finding.text
    assert remedy in finding.text


@pytest.mark.parametrize(("asks", "other"), [("input", "output"), ("output", "input")])
def test_answers_to_the_other_task(asks, other):
    """Answers to the other task repeat what the question shows; those that are wrong otherwise do not."""
    observer = InputObserver("answer")
    for row in range(40):
        check = Expression(code="def f(x): return -x", asks=asks, input=f"{row + 1}", output=f"-{row + 1}")
        problem = Problem(id="T/0", prompt="", entry_point="f", check=check)
        shown = check.output if asks == "input" else check.input
        observer.observe(problem, completion(row, shown if row < 12 else "0"))
        observer.judge(row, "failed", "AssertionError" if row < 39 else "TypeError: x")
    (finding,) = (one for one in observer.report(rows=40).findings if one.name == "other_task")
    assert f"12 rows answer with the very {other} that the question for the {asks} shows" in finding.text
    assert f"use --task {other}" in finding.text
    assert ["none_passes"] == names(observed(*["0"] * 40, status="failed", problem=problem))


@pytest.mark.parametrize("extract", ["raw", "answer"])
@pytest.mark.parametrize("text", ["'a\\nb\\n'", '{"a": 1}', '["a\\n", "print"]'])
def test_answers(text, extract):
    """A text, a dictionary or a list is an answer, though it is a wrong one."""
    check = Expression(code="def f(x): return x", asks="output", input="1", output="1")
    problem = Problem(id="T/0", prompt="", entry_point="f", check=check)
    assert [] == names(observed(text, extract=extract, status="failed", problem=problem))


def test_one_reason_names_its_exception():
    """The example is of the exception that most rows have, not the commonest message of any."""
    observer = InputObserver("raw")
    for row in range(20):
        observer.observe(PROBLEM, completion(row, f"    return a{row}\n    # x\n"))
        observer.judge(row, "failed", f"NameError: name 'a{row}' is not defined" if row > 1 else "AssertionError")
    (finding,) = observer.report(rows=20).findings
    assert "18 of 20 rows fail for one reason, NameError: name 'a2' is not defined" in finding.text


def test_one_reason_is_one_line():
    """A message of several lines, as unittest makes them, breaks no line of the finding."""
    observer = InputObserver("raw")
    for row in range(20):
        observer.observe(PROBLEM, completion(row, f"    return {row}\n"))
        observer.judge(row, "failed", "ValueError: first\n\n  second")
    (finding,) = observer.report(rows=20).findings
    assert "20 of 20 rows fail for one reason, ValueError: first second; " in finding.text


@pytest.mark.parametrize(("failing", "expected"), [(3, ["missing_package"]), (2, [])])
def test_a_package_that_some_rows_lack(failing, expected):
    """A package is named from three rows, and a tenth of all, on; where one of its modules is missing, it is there."""
    observer = InputObserver("raw")
    for row in range(30):
        observer.observe(PROBLEM, completion(row, f"    import pandas\n    return {row}\n"))
        status: Status = "failed" if row < 20 else "passed"
        name = "pandas" if row < failing else "pandas.no"
        observer.judge(row, status, f"ModuleNotFoundError: No module named '{name}'")
    findings = observer.report(rows=30).findings
    assert expected == [finding.name for finding in findings]
    assert all("3 of 30 rows fail because 'pandas' cannot be imported here" in finding.text for finding in findings)


@pytest.mark.parametrize(
    ("message", "name", "text"),
    [
        ("NameError: name 'math' is not defined", "missing_import", "12 of 12 rows fail because 'math' is not defined"),
        ("ModuleNotFoundError: No module named 'yaml'", "missing_package", "because 'yaml' cannot be imported here"),
        ("EOFError: EOF when reading a line", "one_reason", "one reason, EOFError: EOF when reading a line; they read"),
        (
            "NameError: name 'assistant' is not defined",
            "one_reason",
            "; a first line with nothing else is no code; use",
        ),
        ("wrong result", "none_passes", "none of 12 rows passes (12 wrong result)"),
    ],
)
def test_tests_that_are_data(message, name, text):
    """The test that a message begins with is no reason: what stands behind it is."""
    observer = InputObserver("raw")
    for row in range(12):
        observer.observe(PROBLEM, completion(row, f"    x = {row}\n    return x\n"))
        observer.judge(row, "failed", f"base test {row}: {message}")
    (finding,) = observer.report(rows=12).findings
    assert name == finding.name
    assert text in finding.text


@pytest.mark.parametrize(
    "message",
    [
        "a.out: test.cpp:{0}: int main(): Assertion `f({0}) == 1' failed.",
        "Error: Assertion failed: {0}",
        'Exception in thread "main" java.lang.AssertionError: {0}',
    ],
)
def test_assertions_of_other_languages(message):
    """Each failed assertion is a wrong answer of its own, although all messages begin alike, and there are many."""
    observer = InputObserver("raw")
    for row in range(300):
        observer.observe(CPP, completion(row, f"    return {row};\n}}\n"))
        observer.judge(row, "failed", message.format(row))
    (finding,) = observer.report(rows=300, language=find_language("cpp")).findings
    assert "none_passes" == finding.name
    assert "none of 300 rows passes (300 assertion failed)" in finding.text


def test_a_library_of_another_language():
    """A library that programs in another language lack is named with its package of Debian, if that is known."""
    message = "Problem.java:3: error: package org.javatuples does not exist"
    for language, expected in (("java", "apt install libjavatuples-java"), ("js", "is not installed here")):
        observer = InputObserver("raw")
        for row in range(4):
            observer.observe(CPP, completion(row, f"    return {row}; }}\n"))
            observer.judge(
                row, "compile", message if language == "java" else "Error: Cannot find module 'org.javatuples'"
            )
        (finding,) = observer.report(rows=4, language=find_language(language)).findings
        assert finding.text.startswith("4 of 4 rows fail because 'org.javatuples' is not installed here")
        assert finding.text.endswith(expected)


class TestRepetition:
    """Rows that stand in a file twice."""

    @staticmethod
    def part(text: str) -> tuple[int, int, int] | None:
        """Return the repeated part of rows that are written as letters; capitals are of another problem."""
        part = repeated_part(array("Q", map(ord, text)), array("H", [letter.isupper() for letter in text]))
        return tuple(part) if part is not None else None

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("abCDabCD", (4, 0, 4)),
            ("abCDabCDabCD", (4, 0, 8)),
            ("abCDab", None),
            ("abCDabC", (4, 0, 3)),
            ("xyzabCDabCD", (7, 3, 4)),
            ("aaaaBBBB", None),
            ("aabbCCDD", None),
            ("abab", None),
            ("abCD", None),
            ("a", None),
            ("", None),
        ],
    )
    def test_parts(self, text, expected):
        """A part counts that has rows of two problems; equal samples of one problem are no part."""
        assert expected == self.part(text)

    def test_multiplicity(self):
        """Sorted copies are seen by their numbers; one row without a copy is enough to see none."""
        assert 2 == multiplicity(array("Q", [n // 2 for n in range(40)]))
        assert 3 == multiplicity(array("Q", [n // 3 for n in range(60)]))
        assert 1 == multiplicity(array("Q", [0, *(n // 2 for n in range(2, 41))]))


def test_equal_programs():
    """Equal programs are named unless the temperature was 0."""
    observer = InputObserver("raw")
    for row in range(2):
        observer.observe(PROBLEM, completion(row, CODE))
    assert ["equal_programs"] == names(observer.report(rows=2, uniform=(1, 2)))
    assert ["equal_programs"] == names(observer.report(rows=2, uniform=(1, 2), temperature=0.8))
    assert [] == names(observer.report(rows=2, uniform=(1, 2), temperature=0.0))
    assert [] == names(observer.report(rows=2))


@pytest.mark.parametrize(
    ("fields", "field", "remedy"),
    [
        ({"generation": "    return x"}, "generation", "--field generation"),
        ({"response": "def f(x):\n    return x"}, "response", "--field response:solution"),
        ({"output": FENCED, "prompt": "x" * 99}, "output", "--field output --extract auto"),
        ({"canonical_solution": "    return x", "test": "x" * 99}, "", ""),
        ({"a": "short", "b": "    return x + 1"}, "b", "--field b"),
        ({"it's": "    return x + 1"}, "it's", "--field 'it'\"'\"'s'"),
        ({"outputs": ["    return x", ""]}, "outputs", "--field outputs"),
        ({"resps": ["def f(x):\n    return x"]}, "resps", "--field resps:solution"),
        ({"score": 1, "text": None}, "", ""),
        ({"test_list": ["assert f()"], "code": "def f():\n    return 1", "text": "Write f."}, "", ""),
        (
            {"test_list": ["assert f()"], "code": "def f():\n    return 1", "llm": "def f(): return 2"},
            "llm",
            ":solution",
        ),
        ({"code": "def f(x):\n    return x", "input": "1", "output": "'as long as one'"}, "", ""),
        ({"code": "def g(x):\n    return x", "input": "Write g.", "output": "Here:"}, "output", "--field output"),
        (
            {"skeleton": "class A: pass # long", "solution_code": "class A:\n    x = 1", "out": "class A: x"},
            "out",
            "out",
        ),
        ({"solution_code": "class A:\n    x = 1"}, "solution_code", ":solution"),
        ({"contract": "assert x > 0 and x < 9", "_id": "0123456789abcdef", "b": "    return 1"}, "b", "--field b"),
        ({"complete_prompt": "x" * 99, "description": "x" * 99, "b": "    return 1"}, "b", "--field b"),
    ],
)
def test_fields(fields, field, remedy):
    """The field with the code is named with the option that reads it; the reference never is."""
    assert field == code_field(fields)
    if field:
        assert remedy in field_remedy(field, fields[field])


@pytest.mark.parametrize(
    ("sample", "field"), [({}, "code"), ({"llm": "def f(): return 2"}, ""), ({"generation": "def f(): return 2"}, "")]
)
def test_rows_of_a_benchmark(sample, field):
    """A row of MBPP without a sample is the benchmark itself; an empty completion there is not told to use its code."""
    row = {"task_id": 2, "text": "Write f.", "code": "def f(): return 1", "test_list": ["assert f() == 1"]}
    assert field == reference_field(row | sample)
    assert empty_field_remedy(row) is None


KNOWN = [f"HumanEval/{number}" for number in range(164)]


@pytest.mark.parametrize(
    ("unknown", "option"),
    [
        (["Python/0", "Python/163"], "'Python/{}=HumanEval/{}'"),
        ([0, 1, 2], "'{}=HumanEval/{}'"),
        (["he_0_py", "he_9_py"], "'he_{}_py=HumanEval/{}'"),
        ([*range(1, 165)], "'{}=HumanEval/{-1}'"),
        (["HumanEval/164"], "'HumanEval/{}=HumanEval/{-1}'"),
        (["HumanEval/165"], ""),
        ([f"HumanEval/{number:03}" for number in range(100)], "'HumanEval/{}=HumanEval/{+0}'"),
        ([f"Python/{number}" for number in range(400)], "'Python/{}=HumanEval/{}'"),
        (["HumanEval_0_a", "HumanEval_1_b", "HumanEval_2_c"], ""),
        (["sum"], ""),
        ([], ""),
    ],
)
def test_id_maps(unknown, option):
    """Ids are mapped by their numbers where each of them has one that the benchmark has."""
    mapping = suggest_id_map(unknown, KNOWN)
    assert (mapping.option if mapping else "") == (f"--id-map {option}" if option else "")


@pytest.mark.nightly
def test_memory():
    """A row takes at most 16 bytes, in a report too."""
    rows = 50_000
    observer = InputObserver("raw")
    tracemalloc.start()
    try:
        for row in range(rows):
            observer.observe(PROBLEM, completion(row, "    return ("))
            observer.judge(row, "compile")
        observer.report(rows=rows)
        assert tracemalloc.get_traced_memory()[1] < 16 * rows
    finally:
        tracemalloc.stop()
