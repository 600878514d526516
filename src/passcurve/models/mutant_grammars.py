"""Mutations of programs in C++, Java and JavaScript, by the grammars of tree-sitter."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from passcurve.errors import UsageError

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

LANGUAGES = ("cpp", "java", "js")

_OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "===": "!==", "!==": "===",
    "+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "&&": "||", "||": "&&", "&": "|", "|": "&", "^": "&",
}  # fmt: skip
_NUMBERS = ("number_literal", "decimal_integer_literal", "number")
_TEXTS = ("string_literal", "string")
_LOOPS = ("while_statement", "do_statement")
_STATEMENTS = ("assignment_expression", "call_expression", "method_invocation")
_NOTHING = {"cpp": "{}", "js": "undefined"}
"""What a mutation returns; in Java nothing fits every type."""
_MAX_TEXT = 40


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


def mutations(language: str, stub: str, reference: str, suffix: str) -> list[str]:
    """Return each completion that differs from the reference in one place and parses as well as it, in source order.

    Raises UsageError where the grammars are not installed.
    """
    parser = _parser(language)
    source = (stub + reference + suffix).encode()
    begin, end = len(stub.encode()), len(source) - len(suffix.encode())
    root = parser.parse(source).root_node
    completions: dict[str, None] = {}
    for node in _walk(root):
        for edit in _edits(node, language):
            if begin <= edit.start <= edit.end <= end:
                whole = source[: edit.start] + edit.text.encode() + source[edit.end :]
                if parser.parse(whole).root_node.has_error <= root.has_error:
                    completions[whole[begin : len(whole) - (len(source) - end)].decode()] = None
    completions.pop(reference, None)
    return list(completions)


def empty_body(reference: str) -> str:
    """Return the end of a reference that closes what the prompt has opened."""
    match = re.search(r"[}\s]*\Z", reference)
    return (match[0] if match else "") or reference


@cache
def _parser(language: str) -> Parser:
    try:
        from tree_sitter import Parser

        return Parser(_language_of(_load_grammar(language)))
    except ImportError as error:
        raise UsageError(
            f"mutant: needs {error.name or 'tree_sitter'}, which is not installed: pip install 'passcurve[mutants]'"
        ) from None


def _language_of(grammar: Any) -> Language:
    """Return the language of a grammar; tree-sitter 0.22, which codebleu needs, takes no capsule but its address."""
    from tree_sitter import Language

    try:
        return Language(grammar)
    except TypeError:
        address = ctypes.pythonapi.PyCapsule_GetPointer
        address.restype, address.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        return Language(address(grammar, b"tree_sitter.Language"))


def _load_grammar(language: str) -> Any:
    match language:
        case "cpp":
            import tree_sitter_cpp

            return tree_sitter_cpp.language()
        case "java":
            import tree_sitter_java

            return tree_sitter_java.language()
        case _:
            import tree_sitter_javascript

            return tree_sitter_javascript.language()


def _walk(node: Node) -> Iterator[Node]:
    """Yield a node and all below it except loops, most mutations of which would never end."""
    if node.type in _LOOPS:
        return
    yield node
    for child in node.children:
        yield from _walk(child)


def _edits(node: Node, language: str) -> Iterator[_Edit]:
    """Yield the edits of one node."""
    text = (node.text or b"").decode("utf-8", "replace")
    first = node.child_by_field_name("operator")
    if node.type == "binary_expression" and first is not None and (other := _OPERATORS.get(_text(first))):
        yield _Edit(first.start_byte, first.end_byte, other)
    elif node.type == "unary_expression" and first is not None and _text(first) in ("!", "-"):
        yield _Edit(first.start_byte, first.end_byte, "")
    elif node.type in _NUMBERS and text.isdecimal():
        yield _Edit(node.start_byte, node.end_byte, str(int(text) + 1))
        yield _Edit(node.start_byte, node.end_byte, f"({int(text) - 1})")
    elif node.type in _TEXTS and len(text) < _MAX_TEXT:
        yield _Edit(node.start_byte, node.end_byte, f"{text[0]}{' ' * (len(text) == 2)}{text[-1]}")
    elif node.type in ("true", "false"):
        yield _Edit(node.start_byte, node.end_byte, "false" if node.type == "true" else "true")
    elif node.type == "if_statement" and (condition := node.child_by_field_name("condition")) is not None:
        yield _Edit(condition.start_byte, condition.end_byte, "(false)")
    elif node.type == "return_statement" and language in _NOTHING and node.named_children:
        value = node.named_children[0]
        yield _Edit(value.start_byte, value.end_byte, _NOTHING[language])
    elif node.type == "expression_statement" and node.named_children and node.named_children[0].type in _STATEMENTS:
        yield _Edit(node.start_byte, node.end_byte, ";")


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
