"""Values of JavaScript as data: what a program has recorded, what tests expect, and when both are equal.

A recorded value is JSON as ``languages/record.js`` writes it: what JSON has stands for itself, an array for an array,
and an object with one key for all else.  A stranger wrote it: comparing goes no further than the expected value does.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, NamedTuple, TypeAlias


class Undefined(Enum):
    """The value ``undefined``."""

    UNDEFINED = "undefined"


class BigInt(NamedTuple):
    """An integer of any size, which is of another type than numbers."""

    value: int


UNDEFINED = Undefined.UNDEFINED

Primitive: TypeAlias = bool | float | str | BigInt | Undefined | None
Operator: TypeAlias = Literal["===", "==", "assert.equal", "assert.strictEqual"]
Value: TypeAlias = "Primitive | list[Value] | dict[str, Value]"

_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "-0": -0.0}
_WHITE = "\t\n\v\f\r \xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"
_DECIMAL = re.compile(r"[+-]?(?:Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_RADIX = re.compile(r"0(?:[xX]([0-9a-fA-F]+)|[oO]([0-7]+)|[bB]([01]+))")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MOST_DIGITS = 21
"""Numbers with more digits before the point are written with an exponent."""

_MOST_ZEROS = 6
_MOST_BIGINT_DIGITS = 1000
_MOST_SHOWN_DEPTH, _MOST_SHOWN_ITEMS = 20, 200


class _Other(Enum):
    """A recorded value that is no data; it is equal to nothing."""

    OTHER = "other"


def is_deeply_equal(expected: Value, recorded: Any, *, strict: bool) -> bool:
    """Tell whether ``assert.deepEqual`` accepts a recorded value, or with ``strict`` ``assert.deepStrictEqual``."""
    if isinstance(expected, list):
        items = recorded if strict or isinstance(recorded, list) else _field(recorded, "a")
        return (
            isinstance(items, list)
            and len(items) == len(expected)
            and all(is_deeply_equal(*pair, strict=strict) for pair in zip(expected, items, strict=True))
        )
    if isinstance(expected, dict):
        pairs = _field(recorded, "o")
        if pairs is None and not strict:
            pairs = _field(recorded, "c")
        fields = _read_pairs(pairs)
        return (
            fields is not None
            and fields.keys() == expected.keys()
            and all(is_deeply_equal(expected[name], fields[name], strict=strict) for name in expected)
        )
    value = _primitive(recorded)
    if isinstance(value, _Other):
        return False
    both_nan = _is_nan(value) and _is_nan(expected)
    return both_nan or (is_same(value, expected) if strict else _is_loosely_equal(value, expected))


def is_same(value: Primitive, expected: Primitive) -> bool:
    """Tell whether ``Object.is`` holds for two primitive values."""
    if isinstance(value, float) and isinstance(expected, float):
        same_sign = math.copysign(1.0, value) == math.copysign(1.0, expected)
        return (value == expected and same_sign) or (math.isnan(value) and math.isnan(expected))
    return type(value) is type(expected) and value == expected


def holds(operator: Operator, expected: Primitive, recorded: Any) -> bool:
    """Tell whether a comparison with a primitive value holds."""
    value = _primitive(recorded)
    if isinstance(value, _Other):
        return False
    match operator:
        case "===":
            return type(value) is type(expected) and value == expected
        case "==":
            return _is_loosely_equal(value, expected)
        case "assert.equal":
            return _is_loosely_equal(value, expected) or (_is_nan(value) and _is_nan(expected))
        case "assert.strictEqual":
            return is_same(value, expected)


def is_close(expected: float, tolerance: float, recorded: Any) -> bool:
    """Tell whether a recorded number differs by less than ``tolerance``."""
    value = _primitive(recorded)
    return isinstance(value, float) and abs(value - expected) < tolerance


def _is_loosely_equal(value: Primitive, expected: Primitive) -> bool:
    if value in (None, UNDEFINED) or expected in (None, UNDEFINED):
        return value in (None, UNDEFINED) and expected in (None, UNDEFINED)
    if isinstance(value, str) and isinstance(expected, str):
        return value == expected
    return _to_number(value) == _to_number(expected)


def _to_number(value: Primitive) -> float | int:
    if isinstance(value, BigInt):
        return value.value
    if isinstance(value, str):
        return text_to_number(value)
    return float(value) if isinstance(value, bool | float) else math.nan


def text_to_number(text: str) -> float:
    """Return the number of a text as ``Number`` does."""
    text = text.strip(_WHITE)
    if not text:
        return 0.0
    if match := _RADIX.fullmatch(text):
        base = 16 if match[1] else 8 if match[2] else 2
        return _to_float(int(match[1] or match[2] or match[3], base))
    return float(text.replace("Infinity", "inf")) if _DECIMAL.fullmatch(text) else math.nan


def _to_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _primitive(recorded: Any) -> Primitive | _Other:
    """Return the primitive value that was recorded."""
    if recorded is None or isinstance(recorded, bool | str | float):
        return recorded
    if isinstance(number := _field(recorded, "n"), str) and number in _NUMBERS:
        return _NUMBERS[number]
    if isinstance(digits := _field(recorded, "b"), str) and re.fullmatch(r"-?[0-9]+", digits):
        return BigInt(int(digits)) if len(digits) <= _MOST_BIGINT_DIGITS else _Other.OTHER
    return UNDEFINED if _field(recorded, "u") is not None else _Other.OTHER


def _field(recorded: Any, name: str) -> Any:
    return recorded.get(name) if isinstance(recorded, dict) and len(recorded) == 1 else None


def _read_pairs(pairs: Any) -> dict[str, Any] | None:
    """Return the fields of a recorded object; None for any other value."""
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        return None
    return {name: value for name, value in pairs if isinstance(name, str)}


def _is_nan(value: Primitive) -> bool:
    return isinstance(value, float) and math.isnan(value)


def show(recorded: Any, depth: int = 0) -> str:
    """Return a recorded value as a reader expects it."""
    if depth > _MOST_SHOWN_DEPTH:
        return "..."
    value = _primitive(recorded)
    if isinstance(value, Undefined):
        return "undefined"
    if isinstance(value, BigInt):
        return f"{value.value}n"
    if isinstance(value, float):
        return (
            _number_text(value) if math.isfinite(value) else str(value).replace("inf", "Infinity").replace("nan", "NaN")
        )
    if not isinstance(value, _Other):
        return json.dumps(value)
    items = recorded if isinstance(recorded, list) else _field(recorded, "a")
    if isinstance(items, list):
        return f"[{', '.join(show(item, depth + 1) for item in items[:_MOST_SHOWN_ITEMS])}]"
    fields = _read_pairs(_field(recorded, "o") or _field(recorded, "c"))
    if fields is not None:
        shown = (f"{name}: {show(fields[name], depth + 1)}" for name in list(fields)[:_MOST_SHOWN_ITEMS])
        return f"{{{', '.join(shown)}}}"
    return str(_field(recorded, "x") or "a hole")


def to_json(value: Value) -> str | None:
    """Return what ``JSON.stringify`` makes of a value; None where that is no text."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return _number_text(value) if math.isfinite(value) else "null"
        case str():
            text = json.dumps(value, ensure_ascii=False)
            return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
        case list():
            return f"[{','.join(to_json(item) or 'null' for item in value)}]"
        case dict():
            fields = ((to_json(name), to_json(value[name])) for name in _key_order(value))
            return f"{{{','.join(f'{name}:{text}' for name, text in fields if text is not None)}}}"
        case _:
            return None


def _key_order(value: dict[str, Value]) -> list[str]:
    """Return the keys in the order of JavaScript: indices first."""
    indices = [key for key in value if re.fullmatch("0|[1-9][0-9]{0,8}", key)]
    return sorted(indices, key=int) + [key for key in value if key not in indices]


def _number_text(number: float) -> str:
    if not number:
        return "0"
    sign, figures, exponent = Decimal(repr(number)).normalize().as_tuple()
    digits = "".join(map(str, figures))
    point = len(digits) + int(exponent)
    if len(digits) <= point <= _MOST_DIGITS:
        text = digits + "0" * (point - len(digits))
    elif 0 < point <= _MOST_DIGITS:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -_MOST_ZEROS < point <= 0:
        text = f"0.{'0' * -point}{digits}"
    else:
        text = f"{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{point - 1:+d}"
    return f"-{text}" if sign else text
