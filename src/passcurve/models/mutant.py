"""The back end ``mutant:``: no model at all, but mutations of the references, whose true pass rate can be known.

Theory of operation.  For each problem there is a small deck of programs, the same for the same seed: the reference, and
mutations of it, each of which differs in one place (a comparison, an operator, a constant, a return).  Each has a
weight; the reference's is drawn for each problem, so that some problems are easy and some are never solved.  A sample
is one draw from the deck.  Whether a mutation passes nobody knows beforehand, but a deck is finite: once each of its
programs is judged, the true pass rate of the problem is the sum of the weights of those that passed, exactly.  With a
temperature T the weights are raised to 1/T first: a cold model always writes its likeliest program, a hot one any.
"""

from __future__ import annotations

import ast
import functools
import random
from collections.abc import Iterator, Sequence
from typing import Self

import msgspec

from passcurve.errors import DataError, UsageError
from passcurve.models.backend import Remote, Settings, sample_seed
from passcurve.types import Prompt, Reply, SampleKey, SampleRequest

MUTATIONS = 8
"""At most so many in a deck."""
_SPREAD = 1.5
"""a + b of the beta distribution of the reference's weight: below 2, so that many problems are easy or hard."""

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
    """The chance that a sample is this one."""


class _Edit(msgspec.Struct, frozen=True):
    start: int
    end: int
    text: bytes


class Mutant:
    """Draws each sample from its problem's deck."""

    draws = False
    tempered = True
    options: tuple[str, ...] = ()
    remote: Remote | None = None

    def __init__(self, mean: float) -> None:
        self._mean = mean
        self.identity = {"reference_weight": f"{mean:g}"}
        self._deck = functools.lru_cache(maxsize=256)(self._made)

    @classmethod
    def open(cls, words: str, settings: Settings) -> Self:  # noqa: ARG003 - every back end is built alike
        """Take the mean weight of the reference, 0.4 when nothing stands behind the colon."""
        try:
            mean = float(words or "0.4")
        except ValueError:
            mean = -1.0
        if not 0.0 <= mean <= 1.0:
            raise UsageError(f"mutant:{words} has no share from 0 to 1 behind its name; write it like mutant:0.4")
        return cls(mean)

    def generate(self, order: SampleRequest) -> Iterator[Reply]:
        """Yield draws; raises DataError when a problem has no reference to mutate."""
        prompt = order.prompt
        cards = self._deck(order.decoding.seed, prompt.problem_id, prompt.stub, prompt.reference, prompt.suffix)
        weights = heated([card.weight for card in cards], order.decoding.temperature)
        for index in order.indices:
            seed = sample_seed(order.decoding.seed, prompt.problem_id, index)
            drawn = random.Random(seed).choices(cards, weights)[0]
            yield Reply(key=SampleKey(problem_id=prompt.problem_id, sample_index=index), text=drawn.text, seed=seed)

    def close(self) -> None:
        """Do nothing: it holds nothing."""

    def _made(self, seed: int, problem_id: str, stub: str, reference: str | None, suffix: str) -> tuple[Card, ...]:
        prompt = Prompt(problem_id=problem_id, stub=stub, reference=reference, suffix=suffix)
        return deck(prompt, seed, self._mean)


def deck(prompt: Prompt, seed: int, mean: float = 0.4) -> tuple[Card, ...]:
    """Return the programs of a problem and the chance of each, the reference first; the chances add up to 1.

    ``mean`` is what the reference's weight is on average over problems.
    Raises DataError when the problem has no reference, or one that is no Python.
    """
    if prompt.reference is None:
        raise DataError(f"mutant: problem {prompt.problem_id!r} has no reference solution to mutate")
    rng = random.Random(f"{seed}/{prompt.problem_id}")
    weight = mean if mean in (0.0, 1.0) else rng.betavariate(_SPREAD * mean, _SPREAD * (1.0 - mean))
    try:
        wrong = mutations(prompt.stub, prompt.reference, prompt.suffix)
    except SyntaxError as error:
        raise DataError(f"mutant: the reference of {prompt.problem_id!r} is no Python: {error.msg}") from None
    # What cannot be mutated can still be left out.
    chosen = rng.sample(wrong, min(MUTATIONS, len(wrong))) or ["    pass\n"]
    shares = [rng.expovariate(1.0) for _ in chosen]
    rest = (1.0 - weight) / sum(shares)
    return (
        Card(text=prompt.reference, weight=weight),
        *(Card(text=text, weight=share * rest) for text, share in zip(chosen, shares, strict=True)),
    )


def heated(weights: Sequence[float], temperature: float | None) -> list[float]:
    """Return weights in proportion to ``w^(1/T)``; at T = 0 the heaviest has all; without T they stay."""
    if temperature in (None, 1.0):
        return list(weights)
    largest = max(weights)
    if temperature == 0.0:
        return [float(each == largest) for each in weights]
    return [(each / largest) ** (1.0 / temperature) for each in weights]


def mutations(stub: str, reference: str, suffix: str = "") -> list[str]:
    """Return each completion that differs from the reference in one place and is still Python, in the order of places.

    Raises SyntaxError when stub, reference and suffix together are no Python.
    """
    source = (stub + reference + suffix).encode()
    begin, behind = len(stub.encode()), len(suffix.encode())
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: dict[str, None] = {}
    for node in _walk(ast.parse(source)):
        for edit in _edits(node, source, starts):
            if edit.start >= begin and edit.end <= len(source) - behind:
                whole = source[: edit.start] + edit.text + source[edit.end :]
                if _is_python(whole):
                    found[whole[begin : len(whole) - behind].decode()] = None
    found.pop(reference, None)
    return list(found)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all below it but ``while`` loops, most mutations of which would only never end."""
    if not isinstance(node, ast.While):
        yield node
        for each in ast.iter_child_nodes(node):
            yield from _walk(each)


def _is_python(source: bytes) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True


def _edits(node: ast.AST, source: bytes, starts: list[int]) -> Iterator[_Edit]:
    """Yield what can be changed at one node, by its place in the source."""

    def span(each: ast.AST) -> tuple[int, int]:
        first = starts[each.lineno - 1] + each.col_offset  # type: ignore[attr-defined]
        return first, starts[each.end_lineno - 1] + each.end_col_offset  # type: ignore[attr-defined]

    def between(left: ast.AST, right: ast.AST, text: str) -> _Edit:
        # The brackets around an operand are no part of it, but they are no part of an operator either.
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
