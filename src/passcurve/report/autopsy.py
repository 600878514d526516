"""An autopsy as text: a table of policies, what explains their difference, and programs side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from passcurve.report.diagnosis import coverage
from passcurve.report.records import Autopsy, Flip, MissingImports, Pattern, Ruling, Side
from passcurve.report.terminal import number, number_or_dash, printable
from passcurve.types.amounts import amount, part_of

_LINES = 40
"""Largest number of lines of a program that are shown."""
_COMPARED = 400
_NARROW = 60
_NAMED = 4
"""Largest number of agreeing policies that are named; more are "all others"."""
_PATTERNS = 12
"""Largest number of patterns that are shown."""
_NAMES = 5
"""Largest number of missing names that are shown."""


def autopsy_lines(autopsy: Autopsy, flips_shown: int, width: int) -> Iterator[str]:
    """Return an autopsy: the table, the rate up to formatting, the problems that flip, and programs side by side."""
    sound = autopsy.attempted - len(autopsy.diagnosis.scope.excluded)
    yield (
        f"{autopsy.benchmark}: {amount(autopsy.samples, 'sample')} of {coverage(autopsy.diagnosis.scope, sound)}, "
        f"{amount(autopsy.programs, 'distinct program')}"
    )
    yield from _table(autopsy, width)
    best = autopsy.up_to_formatting[0]
    first = autopsy.rulings[0]
    share = number(autopsy.passed_anywhere / autopsy.samples) if autopsy.samples else "-"
    heading = "right up to formatting" if len({ruling.profile for ruling in autopsy.rulings}) == 1 else "right anywhere"
    yield (
        f"  {heading}: {part_of(autopsy.passed_anywhere, autopsy.samples, 'sample')} ({share}) pass "
        f"under some policy"
        + (f", pass@{best.k} {number(best.value)}" if best.value is not None else "")
        + f"; {first.policy} loses {autopsy.passed_anywhere - first.passed:,} of them"
    )
    if not autopsy.flips:
        yield "  no problem flips: every policy says the same of it"
    else:
        yield from _fitted(_explanation(autopsy), width)
        yield from _fitted(_patterns(autopsy), width)
    if autopsy.missing_imports is not None:
        yield from _fitted(_missing_imports(autopsy.missing_imports), width)
    examples = _examples(autopsy.flips)
    for flip in examples[:flips_shown]:
        yield ""
        yield printable(f"    {flip.problem_id} (of {flip.n}): {group_counts(flip.passed)}")
        yield from _side_by_side(flip, max(width, _NARROW))
    if len(examples) > flips_shown:
        yield ""
        yield f"  ... and {amount(len(examples) - flips_shown, 'more problem')} (--flips N shows more, --json has all)"


def _fitted(lines: Iterable[str], width: int) -> Iterator[str]:
    """Yield the lines, those that are too long in several, which stand further in."""
    for line in lines:
        indent = len(line) - len(line.lstrip())
        yield from textwrap.wrap(
            line,
            max(width, _NARROW),
            subsequent_indent=" " * (indent + 4),
            break_long_words=False,
            break_on_hyphens=False,
            drop_whitespace=True,
        )


def _explanation(autopsy: Autopsy) -> Iterator[str]:
    """Yield what explains most of the difference between the first policy and the others."""
    first = autopsy.rulings[0]
    best = max(autopsy.rulings, key=lambda ruling: ruling.passed)
    if best.passed == first.passed:
        worst = min(autopsy.rulings, key=lambda ruling: ruling.passed)
        yield f"  no policy passes more samples than {first.policy}" + (
            f"; {worst.policy} passes the fewest, {first.passed - worst.passed:,} less" if worst is not best else ""
        )
        cause = _cause(autopsy.patterns, worst.policy, gained=False)
        share = f"{cause[1]:,} of the {worst.spoiled:,} that {worst.policy} loses" if cause else ""
    else:
        yield (
            f"  {best.policy} passes most: {amount(best.passed - first.passed, 'sample')} more than {first.policy}"
            + _split(autopsy.rulings, first, best)
        )
        cause = _cause(autopsy.patterns, best.policy, gained=True)
        share = f"{cause[1]:,} of the {best.rescued:,} that it gains" if cause else ""
    if cause:
        whole = best.rescued if best.passed > first.passed else worst.spoiled
        part = "explains most" if 2 * cause[1] > whole else "the largest part"
        yield printable(f"  {part}: {_failure(cause[0])}, {share}")


def _split(rulings: Sequence[Ruling], first: Ruling, best: Ruling) -> str:
    """Return which part of a gain is due to which dimension, where several differ and the steps between are there."""
    steps = (
        ("extraction", best.extract, (best.extract, first.prelude, first.profile)),
        ("prelude", best.prelude, (best.extract, best.prelude, first.profile)),
        ("the rules of", best.profile, (best.extract, best.prelude, best.profile)),
    )
    by_place = {(ruling.extract, ruling.prelude, ruling.profile): ruling.passed for ruling in rulings}
    last, parts = (first.extract, first.prelude, first.profile), []
    for dimension, name, place in steps:
        if place == last:
            continue
        if place not in by_place:
            return ""
        parts.append(f"{by_place[place] - by_place[last]:+,} by {dimension} {name}")
        last = place
    return f" ({', '.join(parts)})" if len(parts) > 1 else ""


def _cause(patterns: Sequence[Pattern], policy: str, *, gained: bool) -> tuple[Pattern, int] | None:
    """Return the pattern with most of the samples that a policy gains or loses, and how many."""
    counts = [(pattern.policies.get(policy, 0), pattern) for pattern in patterns if pattern.gained == gained]
    samples, pattern = max(counts, key=lambda count: count[0], default=(0, None))
    return (pattern, samples) if pattern is not None and samples else None


def _patterns(autopsy: Autopsy) -> Iterator[str]:
    yield f"  {amount(len(autopsy.flips), 'problem')} flip, by what fails (problems, samples):"
    for pattern in autopsy.patterns[:_PATTERNS]:
        yield printable(f"    {pattern.problems:>5,} {pattern.samples:>7,}  {_pattern_text(pattern, autopsy.rulings)}")
    rest = autopsy.patterns[_PATTERNS:]
    if rest:
        samples = sum(pattern.samples for pattern in rest)
        yield f"    ... and {amount(len(rest), 'rarer pattern')}, {amount(samples, 'sample')} (--json has all)"


def _pattern_text(pattern: Pattern, rulings: Sequence[Ruling]) -> str:
    """Return a pattern in words: the policies where all its samples do alike, else each count with its policies."""
    first, failure = rulings[0].policy, _failure(pattern)
    head, tail = (f"{first} fails: {failure}", "") if pattern.gained else (f"{first} passes", f": {failure}")
    by_count: dict[int, list[Ruling]] = {}
    for ruling in rulings[1:]:
        if count := pattern.policies.get(ruling.policy, 0):
            by_count.setdefault(count, []).append(ruling)
    if list(by_count) == [pattern.samples]:
        named, singular = _named(by_count[pattern.samples], rulings)
        does = ("passes" if singular else "pass") if pattern.gained else ("fails" if singular else "fail")
        return f"{head}; {named} {does}{tail}"
    counts = "; ".join(f"{count:,} {_named(by_count[count], rulings)[0]}" for count in sorted(by_count, reverse=True))
    return f"{head}; {'pass' if pattern.gained else 'fail'} under {counts}{tail}"


def _named(some: Sequence[Ruling], rulings: Sequence[Ruling]) -> tuple[str, bool]:
    """Return the names of some policies, short where they are all that have certain preludes, and if they are one."""
    policies = list(dict.fromkeys(ruling.extract for ruling in some))
    preludes = list(dict.fromkeys(ruling.prelude for ruling in some))
    is_product = len(some) == len(policies) * len(preludes) and len({ruling.profile for ruling in rulings}) == 1
    if len(some) == 1 or not is_product or len({ruling.prelude for ruling in rulings}) == 1:
        names = [ruling.policy for ruling in some]
        return (", ".join(names) if len(names) <= _NAMED else f"{len(names)} others"), len(names) == 1
    every = len(policies) == len({ruling.extract for ruling in rulings})
    shown = "all policies" if every else ", ".join(policies) if len(policies) <= _NAMED else f"{len(policies)} policies"
    if len(preludes) < len({ruling.prelude for ruling in rulings}):
        shown += f" with prelude {' or '.join(preludes)}"
    return shown, False


def _failure(pattern: Pattern) -> str:
    return pattern.failure + (f" ({_shortened(list(pattern.names))})" if pattern.names else "")


def _missing_imports(missing: MissingImports) -> Iterator[str]:
    best = next(iter(missing.preludes))
    covered = ", ".join(f"{prelude} ({samples:,})" for prelude, samples in missing.preludes.items())
    yield printable(
        f"  missing imports: {amount(missing.samples, 'sample')} under {missing.policy} "
        f"{'ends' if missing.samples == 1 else 'end'} in NameError for {_shortened(list(missing.names))}"
    )
    yield f"  harnesses that import such names: {covered}; --preludes none,{best} shows the score with them"


def _shortened(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMES]) + (", ..." if len(names) > _NAMES else "")


def _examples(flips: Sequence[Flip]) -> list[Flip]:
    """Return the flips in an order that shows the first of each pattern before the second of any."""
    seen: dict[int, int] = {}
    ranked = []
    for flip in flips:
        ranked.append((seen.setdefault(flip.pattern, 0), flip.pattern, flip))
        seen[flip.pattern] += 1
    return [flip for _, _, flip in sorted(ranked, key=lambda item: item[:2])]


def _table(autopsy: Autopsy, width: int) -> Iterator[str]:
    wide = max(len(ruling.policy) for ruling in autopsy.rulings)
    heads = "".join(f"{f'pass@{estimate.k}':>10}" for estimate in autopsy.rulings[0].estimates)
    yield f"  {'policy':<{wide}}{heads}   passed   no code   gained   lost"
    for ruling in autopsy.rulings:
        values = "".join(f"{number_or_dash(estimate.value):>10}" for estimate in ruling.estimates)
        changes = f"{ruling.rescued:>9,}{ruling.spoiled:>7,}"
        yield f"  {ruling.policy:<{wide}}{values}{ruling.passed:>9,}{ruling.no_code:>10,}{changes}"
    yield f"  gained and lost are against {autopsy.rulings[0].policy}"
    yield from _fitted(map(printable, _reasons(autopsy.rulings)), width)


def _reasons(rulings: Sequence[Ruling]) -> Iterator[str]:
    """Yield why scores of the table have no value, with the policies where others have one."""
    policies: dict[tuple[str, str], list[str]] = {}
    for ruling in rulings:
        for estimate in ruling.estimates:
            if estimate.value is None:
                policies.setdefault((estimate.reason, estimate.name), []).append(ruling.policy)
    names: dict[tuple[str, str], list[str]] = {}
    for (reason, name), without in policies.items():
        under = f" under {', '.join(without)}" if len(without) < len(rulings) else ""
        names.setdefault((reason, under), []).append(name)
    for (reason, under), missing in names.items():
        yield f"  {', '.join(missing)}{under}: {reason}"


def group_counts(passed: Mapping[str, int]) -> str:
    """Return the counts of one problem by policy as text, the largest first."""
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
