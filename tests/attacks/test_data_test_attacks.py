"""Programs that forge results where the tests are data: none passes, whatever it changes in its own process."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from passcurve.bench.languages import find_language, with_confirmation
from passcurve.judging.script_forms import find_data_tests
from passcurve.judging.scripts import make_script_job, missing_tools
from passcurve.judging.verdict import reach_verdict
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.startup import start_sandbox
from passcurve.types import Limits, SampleKey, Script, Verdict

LIMITS = Limits(timeout_s=5.0, memory_bytes=1 << 30)
TAGS = itertools.count(1)
JS_TESTS = """const assert = require('node:assert');

function test() {
  let candidate = answer;
  assert.deepEqual(candidate("first"), "kumquat");
  assert.deepEqual(candidate("second"), ["persimmon", 1709341]);
  assert.deepEqual(candidate("third"), true);
}

test();"""
JS_RIGHT = """function answer(word) {
  return {first: "kumquat", second: ["persimmon", 1709341], third: true}[word];
}
"""
RESULTS = "/tmp/.passcurve-results"
TOKEN = "process.env.PASSCURVE_TOKEN"

JS_ATTACKS = {
    "says that it is done": f"console.log({TOKEN}); process.exit(0);",
    "exits in a call": f"function answer() {{ console.log({TOKEN}); process.exit(0); }}",
    "guesses": f"""
require("fs").writeFileSync("{RESULTS}", '[0,"kumquats"]\\n[1,["persimmon",18]]\\n[2,true]\\n');
console.log({TOKEN}); process.exit(0);""",
    "records both answers": """
function answer(word) {
  if (word === "third") passcurve_record(2, false);
  return {first: "kumquat", second: ["persimmon", 1709341], third: true}[word];
}""",
    "leaves a result out": """
function answer(word) {
  if (word === "third") passcurve_record = 0;
  return {first: "kumquat", second: ["persimmon", 1709341]}[word];
}""",
    "writes more than anybody reads": f"""
function answer() {{
  require("fs").appendFileSync("{RESULTS}", '[0,"kumquat"]\\n'.repeat(100000));
  return "kumquat";
}}""",
    "nests without an end": f"""
function answer() {{ require("fs").appendFileSync("{RESULTS}", "[0," + "[".repeat(1000000)); return "kumquat"; }}""",
    "writes what is no record": f"""
function answer() {{
  require("fs").appendFileSync("{RESULTS}", '{{}}\\n[[],1]\\n[1e999,2]\\n\\0\\xff\\n7\\n');
  return 1;
}}""",
    "writes too much": """
function answer() { return "x".repeat(3 << 20); }""",
    "changes JSON": """
JSON.stringify = () => '[0,"kumquat"]'; function answer() { return 1; }""",
    "changes the files": """
require("fs").writeSync = () => 7; function answer() { return 1; }""",
    "changes the module": """
process.mainModule.require = () => ({ openSync: () => 1, writeSync: () => 7 }); function answer() { return 1; }""",
    "changes the function of functions": """
globalThis.Function = () => () => () => 7; function answer() { return 1; }""",
    "removes the file": f"""
function answer() {{ return 1; }}
process.on("exit", () => {{ require("fs").unlinkSync("{RESULTS}"); process.exitCode = 0; }});""",
    "equals everything": """
function answer() {
  const traps = { get: () => () => true, has: () => true, ownKeys: () => [], getPrototypeOf: () => Array.prototype };
  return new Proxy({}, traps);
}""",
    "converts to anything": """
function answer() { return { valueOf: () => "kumquat", toString: () => "kumquat", toJSON: () => "kumquat" }; }""",
    "ends with an error": JS_RIGHT + "process.on('exit', () => { process.exitCode = 3; });",
}
"""Programs by what they do."""

JS_SHARED = {
    "changes the library": """
for (const name of ["assert", "node:assert"]) require(name).deepEqual = () => {}; function answer() { return 1; }""",
    "reads its tests": r"""
const text = require("fs").readFileSync(__filename, "utf8").split("assert = ").pop();
function answer(word) {
  const match = new RegExp(`candidate\\("${word}"\\)\\s*,\\s*(.*?)\\);?\\n`).exec(text);
  return match ? JSON.parse(match[1]) : undefined;
}""",
    "exits when its tests fail": f"""
process.on("uncaughtException", () => {{ console.log({TOKEN}); process.exit(0); }});
function answer() {{ return 1; }}""",
}
"""Programs that pass where the tests run beside them."""


PHP_TESTS = """function candidate(...$args) {
    return answer(...$args);
}

function test(): void {
    if (candidate("first") !== "kumquat") { throw new Exception("Test failed!"); }
    if (candidate("second") !== array("persimmon", 1709341)) { throw new Exception("Test failed!"); }
    if (candidate("third") !== true) { throw new Exception("Test failed!"); }
}

test();"""
PHP_RIGHT = """function answer($word) {
    return ["first" => "kumquat", "second" => ["persimmon", 1709341], "third" => true][$word];
}
"""
PHP_ATTACKS = {
    "says that it is done": "function answer($word) { echo getenv('PASSCURVE_TOKEN'); exit(0); }",
    "guesses": f"""
file_put_contents("{RESULTS}", '[0,["s","a3VtcXVhdHM="]]\\n[1,["a",[]]]\\n[2,["b",true]]\\n');
echo getenv('PASSCURVE_TOKEN'); exit(0);""",
    "writes what is no record": f"""
function answer($word) {{
    file_put_contents("{RESULTS}", "[0,[]]\\n[1,{{}}]\\n[2,[\\"f\\",\\"00\\"]]\\n[0,[\\"s\\",\\"?\\"]]\\n");
}}""",
    "returns other types": "function answer($word) { return ['first' => 0, 'second' => [], 'third' => 1][$word]; }",
    "returns what converts to anything": """
class Any { function __toString() { return "kumquat"; } } function answer($word) { return new Any; }""",
    "defines the recorder": "function passcurve_record($number, $value) {} function answer($word) { return 1; }",
    "changes the functions of its namespace": """namespace Own;
function gettype($value) { return "string"; } function base64_encode($value) { return "a3VtcXVhdA=="; }
function answer($word) { return 1; }""",
    "changes the output": "ob_start(fn() => getenv('PASSCURVE_TOKEN')); function answer($word) { return 1; }",
    "puts a link in the place of the results": f"""
symlink("/etc/passwd", "{RESULTS}"); function answer($word) {{ return 1; }}""",
}
PHP_SHARED = {
    "exits when its tests fail": """
register_shutdown_function(function () { echo getenv('PASSCURVE_TOKEN'), "\\n"; exit(0); });
function answer($word) { return 1; }""",
    "reads its tests": """
function answer($word) {
    $text = file_get_contents(__FILE__);
    $pattern = '/candidate\\("' . $word . '"\\) !== (.*)\\) \\{ throw/';
    return preg_match($pattern, $text, $match) ? eval("return $match[1];") : 1;
}""",
}
SH_TESTS = """}

candidate() {
    answer "$@"
}

set -e
run_test() {
    [[ $(candidate "first") = "kumquat" ]]
    [[ $(candidate "second" "of two") = "persimmon 1709341" ]]
    [[ $(candidate "third") = "a \\"quoted\\" word" ]]
}

run_test"""
SH_RIGHT = """answer() {
    case $1 in
        first) echo kumquat ;;
        second) printf 'persimmon %s\\n\\n' 1709341 ;;
        third) echo 'a "quoted" word' ;;
    esac
"""
SH_ATTACKS = {
    "says that it is done": "echo $PASSCURVE_TOKEN; exit 0\nanswer() {\n:",
    "guesses": f"printf '0=a\\\\0001=b\\\\0002=c\\\\000' >{RESULTS}; echo $PASSCURVE_TOKEN; exit 0\nanswer() {{\n:",
    "accepts patterns": "shopt -s nocasematch extglob\nanswer() {\n    echo KUMQUAT",
    "changes what runs commands of the shell": "builtin() { printf '0=kumquat\\000'; }\nanswer() {\n:",
    "keeps the recorder from being defined": "passcurve_record() { :; }\nreadonly -f passcurve_record\nanswer() {\n:",
    "traps each command": "set -ET; trap 'echo $PASSCURVE_TOKEN; exit 0' DEBUG\nanswer() {\n:",
    "changes its source": "sed -i 's/passcurve_record 0.*/:/' \"$0\"\nanswer() {\n:",
    "writes from a call": f"answer() {{\n    printf '0=kumquats\\\\000' >>{RESULTS}",
}
SH_SHARED = {
    "exits when its tests fail": "trap 'echo $PASSCURVE_TOKEN; exit 0' EXIT\nanswer() {\n:",
    "reads its tests": """answer() {
    local line
    line=$(grep -F "candidate \\"$1\\"" "$0")
    [[ $line = *"= "* ]] || return 0
    line=${line#*= }
    eval "echo ${line% ]]}\"""",
}

LANGUAGES = {
    "js": (JS_TESTS, JS_RIGHT, JS_ATTACKS, JS_SHARED),
    "php": (PHP_TESTS, PHP_RIGHT, PHP_ATTACKS, PHP_SHARED),
    "sh": (SH_TESTS, SH_RIGHT, SH_ATTACKS, SH_SHARED),
}
"""Tests, a right program, programs that forge, and programs that pass where the tests run beside them."""

ALL = [(language, name) for language, (_, _, *programs) in LANGUAGES.items() for some in programs for name in some]
SHARED = [(language, name) for language, (*_, programs) in LANGUAGES.items() for name in programs]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """Return a pool of one worker."""
    with start_sandbox(LIMITS, level="full", commands=True) as sandbox, Pool(1, sandbox) as pool:
        yield pool


def check_of(language: str) -> Script:
    """Return the check of the tests; skip where the toolchain is not there."""
    if missing := missing_tools(find_language(language)):
        pytest.skip(f"{' and '.join(missing)} not installed here")
    tests = with_confirmation(find_language(language), LANGUAGES[language][0])
    assert tests is not None
    return Script(language=language, tests=tests)


def judge(pool: Pool, language: str, program: str, *, by_referee: bool = True) -> Verdict:
    """Judge one program, with the tests outside of its jail or beside it."""
    check = check_of(language)
    data_tests = find_data_tests(check)
    assert data_tests is not None
    job = make_script_job(check, program, LIMITS, next(TAGS), data_tests if by_referee else None)
    pool.start(0, job)
    while not (outcomes := pool.wait(1.0)):
        pass
    return reach_verdict(SampleKey(problem_id="T", sample_index=0), job, outcomes[0])


@pytest.mark.parametrize(("language", "name"), ALL)
def test_a_forger_fails_and_the_next_program_passes(pool: Pool, language: str, name: str) -> None:
    """It has another status than passed, by a referee, and leaves nothing that changes the verdict after it."""
    _, right, attacks, shared = LANGUAGES[language]
    verdict = judge(pool, language, (attacks | shared)[name])
    assert verdict.status in ("failed", "output"), verdict
    assert "referee" == verdict.mode
    after = judge(pool, language, right)
    assert ("passed", "referee", 3) == (after.status, after.mode, after.calls), after


@pytest.mark.parametrize(("language", "name"), SHARED)
def test_the_same_program_passes_beside_its_tests(pool: Pool, language: str, name: str) -> None:
    """These show what the referee is for: with the tests in its process, such a program passes."""
    verdict = judge(pool, language, LANGUAGES[language][3][name], by_referee=False)
    assert ("passed", "shared") == (verdict.status, verdict.mode), verdict


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_in_the_jail_says_what_is_expected(language: str) -> None:
    """The order for the jail has the calls and the token, and no expected value."""
    check = check_of(language)
    job = make_script_job(check, "", LIMITS, 1, find_data_tests(check))
    order = repr([step.setup for step in job.attempts[0]])
    assert 'candidate("first")' in order or 'candidate "first"' in order
    assert not [word for word in ("kumquat", "persimmon", "1709341") if word in order]


@pytest.mark.parametrize(
    ("language", "result", "expected"),
    [
        ("js", '["persimmon", [undefined, 0]]', '["persimmon", 1709341]'),
        ("php", "['persimmon', [1 => 2.5, 'a' => null]]", 'array("persimmon", 1709341)'),
        ("sh", "'persimmon [undefined, -0]'", '"persimmon 1709341"'),
    ],
)
def test_the_call_that_failed_is_told(pool: Pool, language: str, result: str, expected: str) -> None:
    """The verdict has the arguments, what came back, and what was expected."""
    wrong = {"js": "[undefined, -0]", "php": "[1 => 2.5, 'a' => null]", "sh": "'[undefined, -0]'"}[language]
    verdict = judge(pool, language, LANGUAGES[language][1].replace("1709341", wrong))
    assert verdict.call is not None
    assert (f"returned {result}", expected) == (verdict.call.outcome, verdict.call.expected)
    assert "second" in verdict.call.arguments
    assert f"wrong result: {verdict.call.arguments} returned {result}" == verdict.message
