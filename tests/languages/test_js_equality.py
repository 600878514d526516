"""Equality of JavaScript outside of JavaScript: what node says of each pair of values, and what we say of a record."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path

import pytest

from passcurve.judging.js_literals import Reader
from passcurve.judging.js_values import holds, is_close, is_deeply_equal, show, to_json
from passcurve.judging.preparation import read_text
from passcurve.sandbox.command_layout import find_program

RESULTS = (
    *"0 -0 1 5 1.5 NaN Infinity -Infinity 1e21 1e-7 5n 10n -5n true false null undefined".split(),
    *("0.1+0.2", "123456789012345680000", "-1.5e300", '"5"', '" 5 "', '""', '"abc"', '"0x10"', '"1e3"', '"NaN"'),
    *('"Infinity"', '"\\ud800"', '"\\u{1F600}"', '"\\u2028\\u0001"', '"true"', '"5n"', '"0b101"', '"1_000"', '".5"'),
    *("[]", "[0]", "[1, 2]", "[1, , 2]", "[undefined]", "[null]", '["1", 2]', "[[1], [2]]", "[NaN]", "[-0]", "[5]"),
    *("new Array(3)", "Object.assign([1, 2], {x: 1})", '"a1".match(/(\\d)/)', "(class extends Array {}).of(1, 2)"),
    *("{}", "{a: 1}", "{a: 1, b: undefined}", "{b: 2, a: 1}", "{2: 1, 1: 2}", "{5: 'banana'}", "{a: {b: [1]}}"),
    *("Object.create(null)", "Object.create({a: 1})", "Object.assign(Object.create(null), {a: 1})", "{a: '1'}"),
    *("new (class { constructor() { this.a = 1 } })", "{a: 1, [Symbol.iterator]: 1}", "{get a() { return 1 }}"),
    *('Object.defineProperty({}, "a", {value: 1})', "new Proxy([1, 2], {})", "new Proxy({a: 1}, {})", "[1, 2, 3]"),
    *('new Map([["a", 1]])', "new Set([1, 2])", "new Date(0)", "/a/", "new Number(5)", 'new String("abc")'),
    *("new Boolean(true)", "new Uint8Array([1, 2])", "(function () { return arguments })(1, 2)", 'new Error("x")'),
    *(
        "Promise.resolve(5)",
        "{valueOf() { return 5 }}",
        '{toString() { return "abc" }}',
        "{toJSON() { return [1, 2] }}",
    ),
    *("() => 1", "Symbol.iterator", '{[Symbol.toStringTag]: "Array"}', "Object.create(Array.prototype)"),
)
"""Expressions of what a program may return."""

EXPECTED = (
    *"0 -0 1 5 -5 1.5 NaN Infinity true false null undefined 16 1000 1e21 1e-7 5n 0.30000000000000004".split(),
    *("'5'", '""', '"abc"', "'\\ud800'", "`\\u{1F600}`", "'\\u2028\\x01'", "(1, 5)", "2 ** 4", "0.1 + 0.2"),
    *("[]", "[0]", "[1, 2]", "[undefined]", "[null]", "['1', 2]", "[[1], [2]]", "[NaN]", "[-0]", "[1, 2, 3,]"),
    *("{}", "{a: 1}", "{a: 1, b: undefined}", "{a: 1, b: 2}", "{1: 2, 2: 1}", "{5: 'banana',}", "{'a': {b: [1]}}"),
)
"""Literals that tests may expect."""

NODE = """
const assert = require("assert");
const record = Function("place", RECORDER)(PLACE);
const passes = (compare) => { try { compare(); return true; } catch (error) { return false; } };
const results = [RESULTS], expected = [EXPECTED];
results.forEach((make, number) => {
  record(3 * number, make());
  for (const [index, view] of [[1, "primitive"], [2, "number"]]) {
    try { record(3 * number + index, make(), view); } catch (error) {}
  }
});
const rows = results.map((make) => expected.map((other) => [
  passes(() => assert.deepEqual(make(), other())),
  passes(() => assert.deepStrictEqual(make(), other())),
  passes(() => assert(make() == other())),
  passes(() => assert(make() === other())),
  passes(() => assert.equal(make(), other())),
  passes(() => assert.strictEqual(make(), other())),
  passes(() => assert(Math.abs(make() - other()) < 1e-6)),
]));
const texts = expected.map((other) => { try { return JSON.stringify(other()); } catch (error) { return undefined; } });
console.log(JSON.stringify([rows, texts]));
"""


def lazily(sources: tuple[str, ...]) -> str:
    """Return functions, each of which makes a new value of an expression."""
    return ", ".join(f"() => ({source})" for source in sources)


def test_a_record_is_equal_where_node_says_so(tmp_path: Path) -> None:
    """All comparisons of tests, for each result and each literal."""
    node = find_program("node")
    if node is None:
        pytest.skip("node not installed here")
    place = tmp_path / "results"
    recorder = read_text("@record.js").decode()
    script = NODE.replace("RECORDER", json.dumps(recorder)).replace("PLACE", json.dumps(str(place)))
    script = script.replace("[RESULTS]", f"[{lazily(RESULTS)}]").replace("[EXPECTED]", f"[{lazily(EXPECTED)}]")
    (tmp_path / "compare.js").write_text(script)
    done = subprocess.run([node, tmp_path / "compare.js"], capture_output=True, check=True)
    rows, texts = json.loads(done.stdout)
    records = dict(json.loads(line, parse_int=float) for line in place.read_bytes().split(b"\n")[:-1])
    values = [Reader(source).read_value() for source in EXPECTED]
    assert texts == [to_json(value) for value in values]
    wrong = []
    for (number, result), (column, value) in itertools.product(enumerate(RESULTS), enumerate(values)):
        plain = records[3 * number]
        primitive, as_number = (records.get(3 * number + index, {"x": "raised"}) for index in (1, 2))
        is_object = isinstance(value, list | dict)
        claims = {
            "deepEqual": is_deeply_equal(value, plain, strict=False),
            "deepStrictEqual": is_deeply_equal(value, plain, strict=True),
            "==": None if is_object else holds("==", value, primitive),
            "===": None if is_object else holds("===", value, plain),
            "equal": None if is_object else holds("assert.equal", value, primitive),
            "strictEqual": None if is_object else holds("assert.strictEqual", value, plain),
            "close": is_close(value, 1e-6, as_number) if isinstance(value, float) else None,
        }
        for (name, claim), truth in zip(claims.items(), rows[number][column], strict=True):
            if claim is not None and claim != truth:
                wrong.append((name, result, EXPECTED[column], truth))
    assert [] == wrong


@pytest.mark.parametrize(
    ("record", "shown"),
    [
        ([1.0, "a", None, {"u": 0}, {"n": "NaN"}, {"b": "7"}], '[1, "a", null, undefined, NaN, 7n]'),
        ({"o": [["a", {"a": [True]}]]}, "{a: [true]}"),
        ({"x": "function"}, "function"),
        ({"n": "-0"}, "0"),
        ({"c": "nonsense"}, "a hole"),
        ({"b": "1" * 2000}, "a hole"),
    ],
)
def test_a_record_is_shown_as_javascript(record: object, shown: str) -> None:
    """Values look as in a program; what nobody could have recorded looks like nothing."""
    assert shown == show(record)
