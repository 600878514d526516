"""Kinds of tokens in a program, by pygments, as a text that is short and that a page can turn into elements."""

from __future__ import annotations

from functools import cache
from itertools import groupby

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType, is_token_subtype
from pygments.util import ClassNotFound

LONGEST = 20_000
"""Longest program that gets colours, in characters."""
_PLAIN = "."
_KINDS: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "c"),
    (String, "s"),
    (Number, "m"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Builtin, "b"),
    (Name.Exception, "b"),
    (Name.Decorator, "d"),
)
_ALIASES = {"": "python", "cs": "csharp", "d": "d", "rkt": "racket", "jl": "julia"}


def find_lexer(language: str) -> Lexer | None:
    """Return the lexer of a language of ``languages/table.toml``, Python for none; None where there is no lexer."""
    try:
        return get_lexer_by_name(_ALIASES.get(language, language))
    except ClassNotFound:
        return None


def token_runs(text: str, lexer: Lexer) -> str:
    """Return the kind and the length of each run of tokens, as ``k3.1f5``; lengths count UTF-16 units."""
    if len(text) > LONGEST:
        return ""
    # ``get_tokens`` would change the ends of lines.
    kinds = ((_kind(token), _units(part)) for _, token, part in lexer.get_tokens_unprocessed(text))
    runs = ((kind, sum(size for _, size in parts)) for kind, parts in groupby(kinds, lambda pair: pair[0]))
    return "".join(f"{kind}{size}" for kind, size in runs)


@cache
def _kind(token: _TokenType) -> str:
    return next((kind for group, kind in _KINDS if is_token_subtype(token, group)), _PLAIN)


def _units(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)
