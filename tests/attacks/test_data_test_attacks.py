"""Programs that forge results where the tests are data: none passes, whatever it changes in its own process."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from passcurve.bench.languages import find_language, with_confirmation
from passcurve.judging.plan import REFEREE_ROLE
from passcurve.judging.script_forms import find_data_tests
from passcurve.judging.scripts import make_script_job, missing_tools
from passcurve.judging.verdict import reach_verdict
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.startup import start_sandbox
from passcurve.types import Limits, SampleKey, Script, Verdict

pytestmark = pytest.mark.skipif(bool(missing_tools(find_language("js"))), reason="node not installed here")

LIMITS = Limits(timeout_s=5.0, memory_bytes=1 << 30)
TAGS = itertools.count(1)
TESTS = """const assert = require('node:assert');

function test() {
  let candidate = answer;
  assert.deepEqual(candidate("first"), "kumquat");
  assert.deepEqual(candidate("second"), ["persimmon", 1709341]);
  assert.deepEqual(candidate("third"), true);
}

test();"""
RIGHT = """function answer(word) {
  return {first: "kumquat", second: ["persimmon", 1709341], third: true}[word];
}
"""
RESULTS = "/tmp/.passcurve-results"
TOKEN = "process.env.PASSCURVE_TOKEN"

ATTACKS = {
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
    "ends with an error": RIGHT + "process.on('exit', () => { process.exitCode = 3; });",
}
"""Programs by what they do."""

SEEN_IN_SHARED_MODE = {
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


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """Return a pool of one worker."""
    with start_sandbox(LIMITS, REFEREE_ROLE, level="full", commands=True) as sandbox, Pool(1, sandbox) as pool:
        yield pool


def judge(pool: Pool, program: str, *, by_referee: bool = True) -> Verdict:
    """Judge one program, with the tests apart from it or beside it."""
    check = Script(language="js", tests=with_confirmation(find_language("js"), TESTS) or "")
    data_tests = find_data_tests(check)
    assert data_tests is not None
    job = make_script_job(check, program, LIMITS, next(TAGS), data_tests if by_referee else None)
    pool.start(0, job)
    while not (outcomes := pool.wait(1.0)):
        pass
    return reach_verdict(SampleKey(problem_id="T", sample_index=0), job, outcomes[0])


@pytest.mark.parametrize("name", [*ATTACKS, *SEEN_IN_SHARED_MODE])
def test_a_forger_fails_and_the_next_program_passes(pool: Pool, name: str) -> None:
    """It has another status than passed, by a referee, and leaves nothing that changes the verdict after it."""
    verdict = judge(pool, (ATTACKS | SEEN_IN_SHARED_MODE)[name])
    assert verdict.status in ("failed", "output"), verdict
    assert "referee" == verdict.mode
    after = judge(pool, RIGHT)
    assert ("passed", "referee", 3) == (after.status, after.mode, after.calls)


@pytest.mark.parametrize("name", SEEN_IN_SHARED_MODE)
def test_the_same_program_passes_beside_its_tests(pool: Pool, name: str) -> None:
    """These show what the referee is for: with the tests in its process, such a program passes."""
    verdict = judge(pool, SEEN_IN_SHARED_MODE[name], by_referee=False)
    assert ("passed", "shared") == (verdict.status, verdict.mode)


def test_nothing_in_the_jail_says_what_is_expected() -> None:
    """The order for the jail has the calls and the token, and no expected value."""
    check = Script(language="js", tests=with_confirmation(find_language("js"), TESTS) or "")
    job = make_script_job(check, "", LIMITS, 1, find_data_tests(check))
    order = repr([step.setup for step in job.attempts[0]])
    assert 'candidate("first")' in order
    assert not [word for word in ("kumquat", "persimmon", "1709341") if word in order]


def test_the_call_that_failed_is_told(pool: Pool) -> None:
    """The verdict has the arguments, what came back, and what was expected."""
    verdict = judge(pool, RIGHT.replace("1709341", "[undefined, -0]"))
    assert verdict.call is not None
    assert ('candidate("second")', '["persimmon", 1709341]') == (verdict.call.arguments, verdict.call.expected)
    assert 'returned ["persimmon", [undefined, 0]]' == verdict.call.outcome
    assert 'wrong result: candidate("second") returned ["persimmon", [undefined, 0]]' == verdict.message
