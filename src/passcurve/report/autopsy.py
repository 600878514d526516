"""An autopsy as text: a table of policies, and the programs that differ side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from passcurve.report.records import Autopsy, Flip, Side
from passcurve.report.terminal import number, number_or_dash, printable

_LINES = 40
"""Largest number of lines of a program that are shown."""
_COMPARED = 400
_NARROW = 60
_NAMED = 4
"""Largest number of agreeing policies that are named; more are "all others"."""


def autopsy_lines(autopsy: Autopsy, flips_shown: int, width: int) -> Iterator[str]:
    """Return an autopsy: the table, the rate up to formatting, the problems that flip, and programs side by side."""
    problems = (
        f"{autopsy.attempted} of {autopsy.problems}" if autopsy.attempted < autopsy.problems else autopsy.problems
    )
    yield (
        f"{autopsy.benchmark}: {autopsy.samples:,} samples of {problems} problems, "
        f"{autopsy.programs:,} distinct programs"
    )
    yield from _table(autopsy)
    best = autopsy.up_to_formatting[0]
    first = autopsy.rulings[0]
    share = autopsy.passed_anywhere / autopsy.samples
    yield (
        f"  right up to formatting: {autopsy.passed_anywhere:,} of {autopsy.samples:,} samples ({number(share)}) pass "
        f"under some policy"
        + (f", pass@{best.k} {number(best.value)}" if best.value is not None else "")
        + f"; {first.policy} loses {autopsy.passed_anywhere - first.passed:,} of them"
    )
    if not autopsy.flips:
        yield "  no problem flips: every policy says the same of it"
        return
    yield f"  {len(autopsy.flips)} problems flip; passed of samples:"
    for flip in autopsy.flips:
        counts = _grouped(flip.passed)
        yield printable(f"    {flip.problem_id} (of {flip.n}): {counts}")
    for flip in autopsy.flips[:flips_shown]:
        yield ""
        yield from _side_by_side(flip, max(width, _NARROW))
    if len(autopsy.flips) > flips_shown:
        yield ""
        yield f"  ... and {len(autopsy.flips) - flips_shown} more problems (--flips N shows more, --json has all)"


def _table(autopsy: Autopsy) -> Iterator[str]:
    wide = max(len(ruling.policy) for ruling in autopsy.rulings)
    heads = "".join(f"{f'pass@{estimate.k}':>10}" for estimate in autopsy.rulings[0].estimates)
    yield f"  {'policy':<{wide}}{heads}   passed   no code   gained   lost"
    for ruling in autopsy.rulings:
        values = "".join(f"{number_or_dash(estimate.value):>10}" for estimate in ruling.estimates)
        changes = f"{ruling.rescued:>9,}{ruling.spoiled:>7,}"
        yield f"  {ruling.policy:<{wide}}{values}{ruling.passed:>9,}{ruling.no_code:>10,}{changes}"
    yield f"  gained and lost are against {autopsy.rulings[0].policy}"
    reasons = {estimate.reason: estimate.k for estimate in autopsy.rulings[0].estimates if estimate.value is None}
    for reason, k in reasons.items():
        yield f"  pass@{k}: {reason}"


def _grouped(passed: dict[str, int]) -> str:
    by_count: dict[int, list[str]] = {}
    for policy, count in passed.items():
        by_count.setdefault(count, []).append(policy)
    most = max(by_count.values(), key=len)
    named = {count: ", ".join(policies) for count, policies in by_count.items()}
    if len(most) > _NAMED:
        named[passed[most[0]]] = "all others"
    return "; ".join(f"{count} {named[count]}" for count in sorted(named, reverse=True))


def _side_by_side(flip: Flip, width: int) -> Iterator[str]:
    column = (width - 7) // 2
    yield printable(f"  {flip.problem_id} sample {flip.sample_index}")
    sides = (flip.wrong, flip.right)
    heads = [_wrapped(_head(side), column) for side in sides]
    for at in range(max(map(len, heads))):
        yield _row([head[at] if at < len(head) else "" for head in heads], " ", column)
    yield _row(["-" * column] * 2, "+", column)
    pairs = list(_aligned(*[_lines(side.program) for side in sides]))
    for left, mark, right in pairs[:_LINES]:
        yield _row([left, right], mark, column)
    if len(pairs) > _LINES:
        yield f"  ... and {len(pairs) - _LINES} more lines"


def _head(side: Side) -> list[str]:
    verdict = f"{side.policy}: {side.status}" + (f" - {side.message}" if side.message else "")
    return [verdict, "; ".join(side.steps)]


def _wrapped(texts: Sequence[str], column: int) -> list[str]:
    lines = []
    for text in texts:
        line = _plain(text)
        lines += [line[at : at + column] for at in range(0, min(len(line), 3 * column), column)]
    return lines


def _lines(program: str | None) -> list[str]:
    return ["(no program)"] if program is None else program.rstrip("\n").split("\n")[:_COMPARED]


def _aligned(left: list[str], right: list[str]) -> Iterator[tuple[str, str, str]]:
    import difflib  # most commands need it not, and it is slow to load

    for kind, a, b, c, d in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for at in range(max(b - a, d - c)):
            has_left, has_right = a + at < b, c + at < d
            mark = " " if kind == "equal" else "|" if has_left and has_right else "<" if has_left else ">"
            yield left[a + at] if has_left else "", mark, right[c + at] if has_right else ""


def _row(sides: Sequence[str], mark: str, column: int) -> str:
    left, right = (_cut(_plain(side), column) for side in sides)
    return f"  {left:<{column}} {mark} {right}".rstrip()


def _plain(text: str) -> str:
    return printable(text.replace("\r", "\\r").expandtabs(4)).replace("\n", " ")


def _cut(text: str, column: int) -> str:
    return text if len(text) <= column else text[: column - 1] + "…"
