"""Tests in JavaScript that are data: the forms that are read, the source of the calls, and all that is left alone."""

from __future__ import annotations

import math
import time

import msgspec
import pytest

from passcurve.bench.formats.human_eval_scripts import THROWING_ASSERT
from passcurve.bench.languages import find_language, with_confirmation
from passcurve.judging.data_tests import DataTests
from passcurve.judging.js_literals import NotLiteralError, Reader
from passcurve.judging.js_values import UNDEFINED, BigInt, text_to_number, to_json
from passcurve.judging.script_forms import find_data_tests
from passcurve.judging.script_trials import script_plans
from passcurve.types import Script

LIBRARY = "const assert = require('node:assert');\n"


def read(tests: str, language: str = "js", before: str = "") -> DataTests | None:
    """Return tests as data, as the tests of a problem are read."""
    confirmed = with_confirmation(find_language(language), tests)
    assert confirmed is not None
    return find_data_tests(Script(language=language, tests=confirmed, before=before))


def calls(tests: DataTests) -> str:
    """Return the source of the calls without the recorder and the end."""
    return tests.source.partition("\n")[2].rpartition("\n")[0].rpartition("\n")[0]


def test_the_form_of_multipl_e():
    """Each assertion is a record of its call, and everything else stands as it stood."""
    body = "\n\nfunction test() {\n  let candidate = f;\n  %s;\n  %s;\n}\n\ntest();"
    assertions = ('assert.deepEqual(candidate("a", [1]),[2.0, -1])', "assert.deepEqual(candidate({x: 1}),null)")
    for start, language in ((LIBRARY, "js"), ("declare var require: any;\n" + LIBRARY, "ts")):
        tests = read(start + body % assertions, language)
        assert tests is not None
        records = ('passcurve_record(0, candidate("a", [1]))', "passcurve_record(1, candidate({x: 1}))")
        assert start + body % records == calls(tests)
        assert ("[2.0, -1]", "null") == tuple(one.expected for one in tests.expectations)
        assert [True, False] == [tests.expectations[0].accepts(value) for value in ([2.0, -1.0], [2.0, 1.0])]


def test_the_form_of_humaneval_pack():
    """Assertions of the console count where they throw; JSON is made beside the program and compared as text."""
    text = """const testF = () => {
  console.assert(
    JSON.stringify(f([1.5, 'a'])) ===
      JSON.stringify([1.0, "\\u00e9"])
  )
  console.assert(4 == f(2), 'a message') // 3 == 3
  console.assert(Math.abs(f(1.5) - 2.0 / 3.0) < 1e-6,)
}

testF()
"""
    assert read(text) is None
    tests = read(text, before=THROWING_ASSERT)
    assert tests is not None
    assert "passcurve_record(0, JSON.stringify(f([1.5, 'a'])))" in tests.source
    assert 'passcurve_record(1, f(2), "primitive")' in tests.source
    assert 'passcurve_record(2, f(1.5), "number")' in tests.source
    values = (('[1,"é"]', '[1, "é"]'), ("4", 5.0), (2 / 3, 0.6))
    assert [(True, False)] * 3 == [
        tuple(map(one.accepts, pair)) for one, pair in zip(tests.expectations, values, strict=True)
    ]


def test_no_comment_is_left():
    """A comment may say what is expected; what looks like one in a text stays."""
    text = """// yields kumquat
/* kumquat, persimmon
*/ function test() {
  assert.equal(f('//', /* kumquat */ "/* 1 */"), "kumquat") /* kumquat
  */ assert.equal(f(2), "persimmon")  // persimmon
}
test()"""
    tests = read(LIBRARY + text)
    assert tests is not None
    body = """ \n\n function test() {
  passcurve_record(0, f('//',   "/* 1 */"), "primitive") \n passcurve_record(1, f(2), "primitive")   \n}
test()"""
    assert LIBRARY + body == calls(tests)


@pytest.mark.parametrize(
    "assertion",
    [
        "assert(f(1) === 2)",
        "assert.ok(f(1) == '2')",
        "assert.equal(2, f(1))",
        "assert.strictEqual(f(1), 2, 'why')",
        "assert.deepStrictEqual(f(1), [2, {'a b': undefined, 3: 4n}])",
        "assert.deepEqual(f(), (1, 2 ** 3 - 4 * -5 % 6))",
        "assert.deepEqual(JSON.stringify(f(1)), '[1]')",
        "assert.deepEqual(f(`a\\`\n${''}`.length), 2)".replace("${''}`.length", "`"),
    ],
)
def test_other_forms_that_are_read(assertion):
    """Every comparison of the library, with the call on either side."""
    assert read(f"{LIBRARY}{assertion};\n") is not None


@pytest.mark.parametrize(
    "tests",
    [
        "",
        "f(1);",
        "assert.deepEqual(f(1), 2);",
        LIBRARY + "assert.deepEqual(f(g(1)), 2);",
        LIBRARY + "assert.deepEqual(f(x), 2);",
        LIBRARY + "assert.deepEqual(f(1), x);",
        LIBRARY + "assert.deepEqual(f(1).y, 2);",
        LIBRARY + "assert.deepEqual(new f(1), 2);",
        LIBRARY + "assert.deepEqual(f(1), f(1));",
        LIBRARY + "assert.deepEqual(f`1`, 2);",
        LIBRARY + "assert.deepEqual(f(...[1]), 2);",
        LIBRARY + "assert.deepEqual(f([1,,2]), 2);",
        LIBRARY + "assert.deepEqual(f(`${x}`), 2);",
        LIBRARY + 'assert.deepEqual(f("a\nb"), 2);',
        LIBRARY + "assert.deepEqual(f({__proto__: 1}), 2);",
        LIBRARY + "assert.deepEqual(f(010), 2);",
        LIBRARY + "assert.deepEqual(f(1_0), 2);",
        LIBRARY + "assert.deepEqual(f('\\08'), 2);",
        LIBRARY + "assert.strictEqual(f(1), [2]);",
        LIBRARY + "assert.notEqual(f(1), 2);",
        LIBRARY + "assert.throws(() => f(1));",
        LIBRARY + "assert(f(1) === 2 && g(1) === 2);",
        LIBRARY + "assert(f(1) !== 2);",
        LIBRARY + "assert(!f(1));",
        LIBRARY + "assert.deepEqual(f(1), 2); if (x) {}",
        LIBRARY + "for (let i = 0; i < 3; i++) assert.deepEqual(f(1), 2);",
        LIBRARY + "function test() { assert.deepEqual(f(1), 2); }",
        LIBRARY + "function test() { assert.deepEqual(f(1), 2); } test(); test();",
        LIBRARY + "function test() { return; assert.deepEqual(f(1), 2); } test();",
        LIBRARY + "function test() { function g() {} assert.deepEqual(f(1), 2); } test();",
        LIBRARY + "let x = f(2); assert.deepEqual(f(1), 2);",
        "const assert = require('./assert'); assert.deepEqual(f(1), 2);",
        LIBRARY + f"assert.deepEqual(f({'[' * 5000}), 2);",
        LIBRARY + f"assert.deepEqual(f(1), {'9' * 5000}n);",
    ],
)
def test_everything_else_is_left_alone(tests):
    """A statement, a name or a sign that is not known leaves the whole problem with its tests beside the program."""
    assert read(tests) is None


def test_only_rules_of_our_own_are_read():
    """What another harness accepts by exit status or silence stays as that harness has it."""
    tests = with_confirmation(find_language("js"), LIBRARY + "assert.deepEqual(f(1), 2);")
    check = Script(language="js", tests=tests or "")
    assert find_data_tests(check) is not None
    for accepts in ("exit", "silence", "no-fail"):
        assert find_data_tests(msgspec.structs.replace(check, accepts=accepts)) is None
    assert find_data_tests(Script(language="cpp", tests="int main() {}")) is None
    modes = {mode: [plan.mode for plan in script_plans(check, mode)] for mode in ("auto", "referee", "shared")}
    assert {"auto": ["referee", "shared"], "referee": ["referee"], "shared": ["shared"]} == modes
    other = Script(language="cpp", tests="")
    assert [["shared"], []] == [[plan.mode for plan in script_plans(other, mode)] for mode in ("auto", "referee")]


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("-0x1F + .5e1", -26.0),
        ("'\\x41\\u{1F600}\\\n\\0\\q'", "A\U0001f600\0q"),
        ("'\\ud83d' + '\\ude00'", "\U0001f600"),
        ("[1, [], {a: 'b', \"c\": 1, 7: null,},]", [1.0, [], {"a": "b", "c": 1.0, "7": None}]),
        ("[undefined, true, -Infinity, 12n, -3n]", [UNDEFINED, True, -math.inf, BigInt(12), BigInt(-3)]),
        ("/* a */ (1 - 2 - 3) // b", -4.0),
        ("7 % 4 / 2", 1.5),
    ],
)
def test_values_of_literals(source, value):
    """Numbers, texts, lists, objects and signs have the values that JavaScript gives them."""
    assert value == Reader(source).read_value()


@pytest.mark.parametrize("source", ["1 / 0", "1 + 'a'", "-'a'", "2 ** -1", "-2 ** 2", "x", "[1", "1 % 0", "8 ** 60"])
def test_values_that_are_not_read(source):
    """What is converted, is no number, or may be rounded otherwise elsewhere is no literal for us."""
    reader = Reader(f"({source})")
    with pytest.raises(NotLiteralError):
        reader.read_value()


def test_json_is_written_as_javascript_writes_it():
    """Numbers have their shortest form, indices come first, and what has no JSON is left out."""
    numbers = [0.0, -0.0, 1e21, 1e20, 1.5e-7, 0.000001, 123456.789, -2.5e30, math.nan, 5e-324]
    assert "[0,0,1e+21,100000000000000000000,1.5e-7,0.000001,123456.789,-2.5e+30,null,5e-324]" == to_json(numbers)
    assert '{"1":2,"10":3,"b":null,"a":"\\"\\ud800"}' == to_json(
        {"b": None, "10": 3.0, "a": '"\ud800', "1": 2.0, "c": UNDEFINED}
    )
    assert to_json(UNDEFINED) is None


def test_texts_become_numbers_as_in_javascript():
    """White space is dropped, prefixes count, and anything else is not a number."""
    texts = ("", " \ufeff12\n", "0xff", "-Infinity", ".5", "1e", "0x", "1_0", "inf", "5n")
    values = [text_to_number(text) for text in texts]
    assert [0.0, 12.0, 255.0, -math.inf, 0.5] == values[:5]
    assert all(math.isnan(value) for value in values[5:])


def test_blanks_within_a_text_take_no_time():
    """A result may be a text of two million blanks between two letters."""
    began = time.process_time()
    assert math.isnan(text_to_number(f"x{' ' * 2_000_000}x"))
    assert 7.0 == text_to_number(f"\u2003{' ' * 2_000_000}7\ufeff\u200a")
    assert time.process_time() - began < 1.0
