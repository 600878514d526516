"""Literals of JavaScript and TypeScript: a scanner of tokens, and a reader of expressions without any name."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from passcurve.judging.js_values import UNDEFINED, BigInt, Value

_TOKEN = re.compile(
    r"""(?P<space>[\s\ufeff]+|//[^\n\r\u2028\u2029]*|/\*[\s\S]*?\*/)
    |(?P<number>(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?
        |\.[0-9]+(?:[eE][+-]?[0-9]+)?)n?(?![\w$]))
    |(?P<name>[A-Za-z_$][\w$]*)
    |(?P<text>"(?:[^"\\\n\r]|\\[\s\S])*"|'(?:[^'\\\n\r]|\\[\s\S])*'|`(?:[^`\\$]|\\[\s\S])*`)
    |(?P<sign>===|!==|=>|==|!=|<=|>=|\*\*|&&|\|\||\?\?|[-+*/%<>=(){}\[\],;:.!?&|^~])""",
    re.VERBOSE,
)
_ESCAPE = re.compile(
    r"\\(?:u\{(?P<point>[0-9a-fA-F]{1,6})\}|u(?P<unit>[0-9a-fA-F]{4})|x(?P<byte>[0-9a-fA-F]{2})"
    r"|(?P<line>\r\n|[\n\r\u2028\u2029])|(?P<zero>0(?![0-9]))|(?P<other>[^0-9xu]))"
)
_LINE_END = re.compile(r"[\n\r\u2028\u2029]")
_SINGLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "v": "\v", "f": "\f"}
_WORDS: dict[str, Value] = {
    "true": True,
    "false": False,
    "null": None,
    "undefined": UNDEFINED,
    "NaN": math.nan,
    "Infinity": math.inf,
}
_LAST_CODE_POINT = 0x10FFFF
_MOST_BITS = 53
_MOST_EXACT = float(1 << _MOST_BITS)
"""Integers up to this are exact."""


class NotLiteralError(ValueError):
    """A source that is something else than what is wanted here."""


class Token(NamedTuple):
    """A token and its place in the source."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """The place behind it."""
        return self.start + len(self.text)


def scan(source: str) -> list[Token]:
    """Return the tokens of a source, without space and comments.  Raises NotLiteralError for any other text."""
    tokens = []
    place = 0
    while place < len(source):
        match = _TOKEN.match(source, place)
        if match is None or match.lastgroup is None:
            raise NotLiteralError(source[place : place + 20])
        if match.lastgroup != "space":
            tokens.append(Token(match.lastgroup, match[0], place))
        place = match.end()
    return tokens


def remove_comments(source: str) -> str:
    """Return a source with a space in the place of each comment, or the end of a line where it has one."""
    return _TOKEN.sub(_without_comment, source)


def _without_comment(match: re.Match[str]) -> str:
    if not match[0].startswith(("//", "/*")):
        return match[0]
    return "\n" if _LINE_END.search(match[0]) else " "


class Reader:
    """Reads tokens one after another; making it raises NotLiteralError for what are no tokens of the language."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._tokens = [*scan(source), Token("end", "", len(source))]
        self._next = 0

    @property
    def token(self) -> Token:
        """The next token."""
        return self._tokens[self._next]

    @property
    def last_end(self) -> int:
        """The place behind the token that was taken last."""
        return self._tokens[self._next - 1].end if self._next else 0

    def peeks(self, *texts: str) -> bool:
        """Tell whether these tokens follow."""
        following = self._tokens[self._next : self._next + len(texts)]
        return tuple(token.text for token in following if token.kind != "text") == texts

    def kind_after(self, count: int) -> str:
        """Return the kind of the token behind so many others."""
        return self._tokens[min(self._next + count, len(self._tokens) - 1)].kind

    def accept(self, *texts: str) -> bool:
        """Take these tokens if they follow; tell whether they did."""
        if not self.peeks(*texts):
            return False
        self._next += len(texts)
        return True

    def expect(self, *texts: str) -> None:
        """Take these tokens.  Raises NotLiteralError where others follow."""
        if not self.accept(*texts):
            raise NotLiteralError(self.token.text)

    def take(self, kind: str) -> str:
        """Take a token of a kind, and return its text.  Raises NotLiteralError where another follows."""
        token = self.token
        if token.kind != kind:
            raise NotLiteralError(token.text)
        self._next += 1
        return token.text

    def read_value(self) -> Value:
        """Return the value of an expression of literals.  Raises NotLiteralError for any other."""
        value = self.read_product()
        while self.peeks("+") or self.peeks("-"):
            sign = self.take("sign")
            value = _combine(sign, value, self.read_product())
        return value

    def read_list(self, end: str) -> list[Value]:
        """Return the values up to a closing bracket, which is taken; the last one may have a comma behind it."""
        values = []
        while not self.accept(end):
            values.append(self.read_value())
            if not self.peeks(end):
                self.expect(",")
        return values

    def read_product(self) -> Value:
        """Return the value of factors of literals.  Raises NotLiteralError for anything else."""
        value = self._read_signed()
        while self.peeks("*") or self.peeks("/") or self.peeks("%"):
            sign = self.take("sign")
            value = _combine(sign, value, self._read_signed())
        return value

    def _read_signed(self, *, is_base: bool = True) -> Value:
        """Return the value of an operand with its signs; ``is_base``: it may have an exponent."""
        if self.accept("-"):
            value = self._read_signed(is_base=False)
            return BigInt(-value.value) if isinstance(value, BigInt) else -_number(value)
        if self.accept("+"):
            return _number(self._read_signed(is_base=False))
        value = self._read_operand()
        return _power(value, self._read_signed()) if is_base and self.accept("**") else value

    def _read_operand(self) -> Value:
        token = self.token
        if token.kind == "number":
            return _read_number(self.take("number"))
        if token.kind == "text":
            return _read_text(self.take("text"))
        if token.kind == "name" and token.text in _WORDS:
            return _WORDS[self.take("name")]
        if self.accept("["):
            return self.read_list("]")
        if self.accept("{"):
            return self._read_fields()
        self.expect("(")
        # Of several values in parentheses the last one counts.
        values = [self.read_value()]
        while self.accept(","):
            values.append(self.read_value())
        self.expect(")")
        return values[-1]

    def _read_fields(self) -> dict[str, Value]:
        fields = {}
        while not self.accept("}"):
            name = self._read_key()
            self.expect(":")
            fields[name] = self.read_value()
            if not self.peeks("}"):
                self.expect(",")
        return fields

    def _read_key(self) -> str:
        kind = self.token.kind
        if kind == "text" and not self.token.text.startswith("`"):
            key = _read_text(self.take("text"))
        elif kind == "number" and re.fullmatch("0|[1-9][0-9]{0,14}", self.token.text):
            key = self.take("number")
        else:
            key = self.take("name")
        if key == "__proto__":
            raise NotLiteralError(key)
        return key


def _combine(sign: str, left: Value, right: Value) -> Value:
    if sign == "+" and isinstance(left, str) and isinstance(right, str):
        return _join_surrogates(left + right)
    one, other = _number(left), _number(right)
    match sign:
        case "+":
            return one + other
        case "-":
            return one - other
        case "*":
            return one * other
        case "/" if other:
            return one / other
        case "%" if other and math.isfinite(one):
            return math.fmod(one, other)
    raise NotLiteralError(sign)


def _power(base: Value, exponent: Value) -> float:
    one, other = _number(base), _number(exponent)
    if not (one.is_integer() and other.is_integer() and abs(one) < _MOST_EXACT and 0 <= other < _MOST_BITS):
        raise NotLiteralError("**")
    power = int(one) ** int(other)
    if abs(power) > _MOST_EXACT:
        raise NotLiteralError("**")
    return float(power)


def _number(value: Value) -> float:
    """Return a number; raises NotLiteralError for what would become one."""
    if isinstance(value, float):
        return value
    raise NotLiteralError(repr(value))


def _read_number(text: str) -> Value:
    if text.endswith("n"):
        if not re.fullmatch(r"0n|[1-9][0-9]*n", text):
            raise NotLiteralError(text)
        return BigInt(int(text[:-1]))
    return float(int(text, 0)) if text[:2].lower() in ("0x", "0o", "0b") else float(text)


def _read_text(text: str) -> str:
    content = text[1:-1]
    if text.startswith("`"):
        content = content.replace("\r\n", "\n").replace("\r", "\n")
    parts = []
    place = 0
    while (at := content.find("\\", place)) >= 0:
        match = _ESCAPE.match(content, at)
        if match is None:
            raise NotLiteralError(text)
        parts += [content[place:at], _unescape(match)]
        place = match.end()
    return _join_surrogates("".join(parts) + content[place:])


def _unescape(match: re.Match[str]) -> str:
    if code := match["point"] or match["unit"] or match["byte"]:
        if int(code, 16) > _LAST_CODE_POINT:
            raise NotLiteralError(match[0])
        return chr(int(code, 16))
    if match["line"]:
        return ""
    return "\0" if match["zero"] else _SINGLE.get(match["other"], match["other"])


def _join_surrogates(text: str) -> str:
    """Return a text in which two halves of a character are one."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
