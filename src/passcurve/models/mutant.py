"""The back end ``mutant:``: no model, but mutations of the references, whose true pass rate can be computed.

Theory of operation.  Each problem has a small deck of programs, the same for the same seed: the reference and mutations
of it.  A mutation differs in one place (a comparison, an operator, a constant, a return).  Each program has a weight.
The reference's weight is drawn for each problem, so that some problems are easy and some are never solved.  A sample
is one draw from the deck.  A mutation may pass, but a deck is finite: once all its programs are judged, the true
pass rate of the problem is exactly the sum of the weights of those that passed.  With a temperature T the weights are
raised to 1/T first: at T = 0 the model always writes its likeliest program, at a high T any of them.
"""

from __future__ import annotations

import ast
import functools
import random
import threading
from collections.abc import Iterator, Sequence
from typing import Self

import msgspec

from passcurve.errors import DataError, UsageError
from passcurve.models import mutant_grammars
from passcurve.models.backend import SampleRequest, ServerDefaults, Settings, sample_seed
from passcurve.types import Prompt, Reply, SampleKey, trees

MAX_MUTATIONS = 8
"""Largest number of mutations in a deck."""
_SPREAD = 1.5
"""Sum a + b of the beta distribution of the reference's weight; below 2, so that many problems are easy or hard."""

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.Div: "//",
    ast.FloorDiv: "/",
    ast.Mod: "//",
    ast.Pow: "*",
    ast.BitAnd: "|",
    ast.BitOr: "&",
    ast.BitXor: "&",
    ast.LShift: ">>",
    ast.RShift: "<<",
}


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One program of a deck, as a completion of the problem's prompt."""

    text: str
    weight: float
    """Probability that a sample is this program."""


class _Edit(msgspec.Struct, frozen=True):
    start: int
    end: int
    text: bytes


class Mutant:
    """Draws each sample from its problem's deck."""

    supports_sampling = False
    supports_temperature = True
    options: tuple[str, ...] = ()
    server_defaults: ServerDefaults | None = None

    def __init__(self, mean: float) -> None:
        self._mean = mean
        self.identity = {"reference_weight": f"{mean:g}"}
        self._deck = functools.lru_cache(maxsize=256)(self._make_deck)
        self._one_at_a_time = threading.Lock()

    @classmethod
    def open(cls, argument: str, settings: Settings) -> Self:  # noqa: ARG003 - every back end is opened so
        """Take the mean weight of the reference; 0.4 when nothing stands behind the colon."""
        try:
            mean = float(argument or "0.4")
        except ValueError:
            mean = -1.0
        if not 0.0 <= mean <= 1.0:
            raise UsageError(
                f"mutant:{argument} must have a number from 0 to 1 behind the colon; write it like mutant:0.4"
            )
        return cls(mean)

    def generate(self, request: SampleRequest) -> Iterator[Reply]:
        """Yield draws; raises DataError when a problem has no reference to mutate."""
        prompt = request.prompt
        facts = (prompt.problem_id, prompt.stub, prompt.reference, prompt.suffix, prompt.language)
        # The samples of a problem are asked for at the same time, and each thread would make its deck.
        with self._one_at_a_time:
            cards = self._deck(request.decoding.seed, *facts)
        weights = apply_temperature([card.weight for card in cards], request.decoding.temperature)
        for index in request.indices:
            seed = sample_seed(request.decoding.seed, prompt.problem_id, index)
            card = random.Random(seed).choices(cards, weights)[0]
            yield Reply(key=SampleKey(problem_id=prompt.problem_id, sample_index=index), text=card.text, seed=seed)

    def close(self) -> None:
        """Do nothing: it holds nothing."""

    def _make_deck(
        self, seed: int, problem_id: str, stub: str, reference: str | None, suffix: str, language: str
    ) -> tuple[Card, ...]:
        prompt = Prompt(problem_id=problem_id, stub=stub, reference=reference, suffix=suffix, language=language)
        return deck(prompt, seed, self._mean)


def deck(prompt: Prompt, seed: int, mean: float = 0.4) -> tuple[Card, ...]:
    """Return the programs of a problem with their probabilities, the reference first; the probabilities add up to 1.

    ``mean`` is the mean of the reference's weight over problems.
    Raises DataError when the problem has no reference, or one that is not valid Python, or in a
    language without a grammar.
    """
    if prompt.reference is None:
        raise DataError(f"mutant: problem {prompt.problem_id!r} has no reference solution to mutate")
    rng = random.Random(f"{seed}/{prompt.problem_id}")
    weight = mean if mean in (0.0, 1.0) else rng.betavariate(_SPREAD * mean, _SPREAD * (1.0 - mean))
    mutated, empty = _mutate(prompt, prompt.reference)
    # A reference without a place to mutate is replaced by an empty body.
    chosen = rng.sample(mutated, min(MAX_MUTATIONS, len(mutated))) or [empty]
    shares = [rng.expovariate(1.0) for _ in chosen]
    rest = (1.0 - weight) / sum(shares)
    return (
        Card(text=prompt.reference, weight=weight),
        *(Card(text=text, weight=share * rest) for text, share in zip(chosen, shares, strict=True)),
    )


def _mutate(prompt: Prompt, reference: str) -> tuple[list[str], str]:
    """Return the mutations of a reference, and a completion with an empty body."""
    if prompt.language:
        if prompt.language not in mutant_grammars.LANGUAGES:
            others = ", ".join(mutant_grammars.LANGUAGES)
            raise DataError(
                f"mutant: {prompt.problem_id!r} is in the language {prompt.language!r}; it mutates Python, {others}"
            )
        mutated = mutant_grammars.mutations(prompt.language, prompt.stub, reference, prompt.suffix)
        return mutated, mutant_grammars.empty_body(reference)
    try:
        return mutations(prompt.stub, reference, prompt.suffix), "    pass\n"
    except SyntaxError as error:
        raise DataError(f"mutant: the reference of {prompt.problem_id!r} is not valid Python: {error.msg}") from None


def apply_temperature(weights: Sequence[float], temperature: float | None) -> list[float]:
    """Return weights in proportion to ``w^(1/T)``; at T = 0 all on the heaviest; without T unchanged."""
    if temperature in (None, 1.0):
        return list(weights)
    largest = max(weights)
    if temperature == 0.0:
        return [float(weight == largest) for weight in weights]
    return [(weight / largest) ** (1.0 / temperature) for weight in weights]


def mutations(stub: str, reference: str, suffix: str = "") -> list[str]:
    """Return each completion that differs from the reference in one place and is valid Python, in source order.

    Raises SyntaxError when stub, reference and suffix together are not valid Python.
    """
    source = (stub + reference + suffix).encode()
    begin, end = len(stub.encode()), len(source) - len(suffix.encode())
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    completions: dict[str, None] = {}
    for node in _walk(trees.parse(source)):
        for edit in _edits(node, source, starts):
            if edit.start >= begin and edit.end <= end:
                whole = source[: edit.start] + edit.text + source[edit.end :]
                if _is_python(whole):
                    completions[whole[begin : len(whole) - (len(source) - end)].decode()] = None
    completions.pop(reference, None)
    return list(completions)


def _walk(node: ast.AST, text: ast.JoinedStr | None = None) -> Iterator[ast.AST]:
    """Yield a node and all below it except ``while`` loops, most mutations of which would never end.

    The parts of ``text`` get the place of the whole, which they have in Python 3.11.  Later ones tell their own places,
    and some have empty parts; a deck does not depend on the interpreter.
    """
    if isinstance(node, ast.While):
        return
    if text is not None and isinstance(node, ast.Constant):
        if not node.value:
            return
        ast.copy_location(node, text)
    yield node
    if isinstance(node, ast.JoinedStr):
        text = text or node
    for child in ast.iter_child_nodes(node):
        # An expression in braces is no part of the text, and what describes its format is.
        is_value = isinstance(node, ast.FormattedValue) and child is node.value
        yield from _walk(child, None if is_value else text)


def _is_python(source: bytes) -> bool:
    try:
        trees.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True


def _edits(node: ast.AST, source: bytes, starts: list[int]) -> Iterator[_Edit]:
    """Yield the edits of one node, by their place in the source."""

    def span(part: ast.AST) -> tuple[int, int]:
        first = starts[part.lineno - 1] + part.col_offset  # type: ignore[attr-defined]
        return first, starts[part.end_lineno - 1] + part.end_col_offset  # type: ignore[attr-defined]

    def between(left: ast.AST, right: ast.AST, text: str) -> _Edit:
        # Brackets around an operand belong neither to its node nor to the operator.
        start, end = span(left)[1], span(right)[0]
        gap = source[start:end]
        opened = gap.find(b"(")
        return _Edit(start + gap.rfind(b")") + 1, end if opened < 0 else start + opened, f" {text} ".encode())

    match node:
        case ast.Compare(left=left, ops=[op, *_], comparators=[right, *_]):
            yield between(left, right, _COMPARISONS[type(op)])
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            yield between(left, right, _OPERATORS[type(op)])
        case ast.BoolOp(op=op, values=[left, right, *_]):
            yield between(left, right, "or" if isinstance(op, ast.And) else "and")
        case ast.Constant(value=bool() as value):
            yield _Edit(*span(node), str(not value).encode())
        case ast.Constant(value=int() as value):
            yield _Edit(*span(node), str(value + 1).encode())
            yield _Edit(*span(node), f"({value - 1})".encode())
        case ast.Constant(value=str() as value) if len(value) < 40:
            yield _Edit(*span(node), b"''" if value else b"' '")
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield _Edit(span(node)[0], span(operand)[0], b"")
        case ast.Return(value=ast.expr() as value):
            yield _Edit(*span(value), b"None")
        case ast.Assign() | ast.AugAssign() | ast.Expr():
            yield _Edit(*span(node), b"pass")
        case ast.If(test=test) | ast.IfExp(test=test):
            yield _Edit(*span(test), b"False")
        case _:
            return
