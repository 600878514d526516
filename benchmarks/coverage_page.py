"""The pages and the chart with the results of coverage.py."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

FLOOR = 0.93
"""What a default interval must cover in every cell."""
MOST_REJECTED = 0.055
"""How often a test at .05 may reject a true null, in every cell."""

A_NAMES = ("plus-two t", "t", "bootstrap", "Wilson")
B_NAMES = ("B: default", "B: unbiased", "B: pass^k")
RELATIVES = ("pass^k", "g-pass@k:0.5", "attempts@k")
SHOWN = {
    "plus-two t": "plus-two t (default A)",
    "t": "t",
    "bootstrap": "bootstrap",
    "Wilson": "Wilson (n = 1)",
    **{name: f"plus-two t of {name}" for name in RELATIVES},
    "B: default": "beta-binomial (default B)",
    "B: unbiased": "unbiased variance (B)",
    "B: pass^k": "beta-binomial of pass^k (B)",
}
"""How the chart calls the intervals, in its order."""

NEW_PROBLEMS = (
    "- plus-two t, t, bootstrap, Wilson: of pass@k; Wilson's where n = 1.",
    "- The last three columns: the plus-two t interval of [relatives of pass@k](metrics.md), where k > 1;",
    "  attempts are brought to the scale from 0 to 1.",
)
"""What the columns of the table for new problems are."""
THESE_PROBLEMS = (
    "- B: default: the beta-binomial interval of pass@k, or the bound where n = 1 or all samples are alike.",
    "- B: unbiased: with the unbiased variance, where 2k <= n.",
    "- B: pass^k: the beta-binomial interval of [pass^k](metrics.md#pass_hat_k), where k > 1.",
)
"""What the columns of the table for these problems are."""

PAIRED = (
    "## Differences of two runs",
    "",
    "The interval of `paired_difference` for these problems, two equally good runs, where k > 1.",
)
"""What stands above the table of comparisons."""

_LEFT, _WIDE, _ROW, _TOP = 210, 560, 26, 34
_LOWEST = 0.80


class Study(NamedTuple):
    """The results of coverage.py."""

    cells: Sequence[Any]
    pairs: Sequence[Any]
    fresh: Sequence[Any]
    """Cells for these problems, of the laws of ``cells`` and of two groups of problems."""
    fresh_pairs: Sequence[Any]
    sizes: Mapping[int, float]
    """True differences of the pairs."""
    groups: Sequence[tuple[int, Any, Any]]
    single: Sequence[tuple[int, int, float, float]]
    settings: str


def pages(study: Study, name: str) -> dict[str, str]:
    """Return the pages by name; the first has ``name``."""
    new, these = (*A_NAMES, *RELATIVES), B_NAMES
    common, groups = split_laws(study.cells, study.fresh)
    pairs = split_laws(study.cells, study.fresh_pairs)[1]
    return {
        name: _overview(study, name),
        f"{name}-new-problems": _every_cell(study.cells, name, "new problems", new, NEW_PROBLEMS),
        f"{name}-these-problems": _every_cell(common, name, "these problems", these, THESE_PROBLEMS),
        f"{name}-two-groups": _every_cell(groups, name, "two groups of problems", these, THESE_PROBLEMS)
        + "\n".join(["", *PAIRED, "", *_pair_table([cell for cell in pairs if cell.k > 1])])
        + "\n",
    }


def split_laws(cells: Sequence[Any], fresh: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return those of the laws of ``cells``, and those of two groups of problems."""
    laws = {cell.law for cell in cells}
    return [cell for cell in fresh if cell.law in laws], [cell for cell in fresh if cell.law not in laws]


def _every_cell(cells: Sequence[Any], name: str, target: str, names: Sequence[str], intervals: Sequence[str]) -> str:
    """Return the page with the intervals for one target in every cell."""
    lines = [
        f"# Measured coverage: {target}",
        "",
        f"With this page you can look up what an interval for {target} held in the cell that is most like your data.",
        f"[{name}.md]({name}.md) has the summary and the settings; both are written by `benchmarks/coverage.py`.",
        "",
        *intervals,
        "",
        *_table(cells, names),
    ]
    return "\n".join(lines) + "\n"


def _overview(study: Study, name: str) -> str:
    """Return the page with the summary, and the tables that have few cells."""
    cells, pairs, fresh, fresh_pairs, sizes, groups, single, settings = study
    common, two_groups = split_laws(cells, fresh)
    null = [cell for cell in pairs if cell.shift == 0.0]
    equal = [cell for cell in null if cell.n_a == cell.n_b]
    unequal = [cell for cell in null if cell.n_a != cell.n_b]
    lines = [
        "# Measured coverage",
        "",
        "After this page you know how often each interval held the truth, and what the tests found and rejected.",
        f"Every cell is in [{name}-new-problems.md]({name}-new-problems.md) for new problems,",
        f"in [{name}-these-problems.md]({name}-these-problems.md) for these problems,",
        f"and in [{name}-two-groups.md]({name}-two-groups.md) for these problems where they are two groups.",
        "",
        f"Written by `benchmarks/coverage.py`: {settings}.",
        "Level .95; in a cell stands the share of intervals that held the truth, and in brackets their mean width.",
        "An interval without width holds nothing.",
        "Four laws of difficulty are common ones; the fifth, rare passes, is there because it is hard.",
        "For these problems there are five more: problems that nearly never pass beside others that nearly always do.",
        "",
        "## Summary",
        "",
        *_summary(cells, A_NAMES),
        *_summary(common, B_NAMES)[2:],
        "",
        "The defaults are plus-two t for new problems and `B: default` for these problems,",
        "which is the beta-binomial interval, or the bound where n = 1 or all samples are alike.",
        "The same for these problems where they are two groups:",
        "",
        *_summary(two_groups, B_NAMES),
        "",
        f"The others are offered by name; those with cells below {_short(FLOOR)} are no defaults for that reason.",
        "",
        f"![Coverage of each interval, a dot for each cell]({name}.svg)",
        "",
        "Relatives of pass@k for new problems, the plus-two t interval of their scores, k > 1:",
        "",
        *_summary(cells, RELATIVES),
        "",
        "Differences of two runs, new problems:",
        "",
        *_summary(pairs, ("plus-two t", "paired t")),
        "",
        "Differences of two runs, these problems, the common laws and two groups:",
        "",
        *_summary(split_laws(cells, fresh_pairs)[0], ("B: paired",)),
        *_summary(split_laws(cells, fresh_pairs)[1], ("B: paired",))[2:],
        "",
        "Tests at .05 under a true null:",
        "",
        _most(equal, "rejected", "equal n, sign flips"),
        _most(unequal, "rejected", "unequal n, the larger p of sign flips and permutation within problems"),
        _most(unequal, "by_flips", "unequal n, sign flips alone, which is not what is reported"),
        "",
        "## Power of the sign-flip test",
        "",
        "Share of true differences found at .05, and in brackets how often the two intervals do not overlap,",
        "which is no test and has far less power.",
        "The true difference in pass@k stands before them; 0.000 is the rate of false rejections.",
        "",
        *_power(pairs, sizes),
        "",
        "## Clusters",
        "",
        "Four problems to a cluster that share one chance, uniform over clusters; n = 5, k = 1.",
        "Ignoring the clusters loses what the last column shows.",
        "",
        "| clusters | clustered t | plus-two t, clusters ignored |",
        "|---|---|---|",
        *(f"| {number} | {clustered} | {plain} |" for number, clustered, plain in groups),
        "",
        "## One problem",
        "",
        "`one_problem_interval`, by enumeration over p = .001 to .999.",
        "",
        "| n | k | least | mean |",
        "|---|---|---|---|",
        *(f"| {n} | {k} | {least:.4f} | {mean:.4f} |" for n, k, least, mean in single),
    ]
    return "\n".join(lines) + "\n"


def worst(cells: Sequence[Any], pairs: Sequence[Any]) -> tuple[float, float]:
    """Return the least coverage of the defaults, and the largest share of true nulls rejected."""
    least = min(coverage for name in ("plus-two t", "B: default") for coverage in _coverages(cells, name))
    return least, max(cell.rejected / cell.seen for cell in pairs if cell.shift == 0.0)


def chart(cells: Sequence[Any]) -> str:
    """Return a chart as SVG: a row for each interval, a dot for each cell at its coverage."""
    rows = [(text, _coverages(cells, name)) for name, text in SHOWN.items()]
    height = _TOP + _ROW * len(rows) + 34
    bottom = height - 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDE + 20} {height}" '
        'font-family="sans-serif" font-size="12" role="img">',
        "<title>Measured coverage of each interval at level .95, a dot for each cell</title>",
        f'<rect width="{_LEFT + _WIDE + 20}" height="{height}" fill="white"/>',
    ]
    for tick in (0.80, 0.85, 0.90, FLOOR, 0.95, 1.0):
        dash = ' stroke-dasharray="3 3"' if tick == FLOOR else ""
        shade = "#000" if tick in (FLOOR, 0.95) else "#ccc"
        at = _x(tick)
        parts.append(f'<line x1="{at}" x2="{at}" y1="{_TOP - 8}" y2="{bottom}" stroke="{shade}"{dash}/>')
        parts.append(f'<text x="{at}" y="{bottom + 16}" text-anchor="middle">{_short(tick)}</text>')
    for row, (text, results) in enumerate(rows):
        y = _TOP + _ROW * row + _ROW // 2 - 4
        parts.append(f'<text x="{_LEFT - 34}" y="{y + 4}" text-anchor="end">{escape(text)}</text>')
        below = sum(item < _LOWEST for item in results)
        if below:
            parts.append(f'<text x="{_LEFT - 4}" y="{y + 4}" text-anchor="end" fill="#b00">{below} &lt;</text>')
        parts += [
            f'<circle cx="{_x(item)}" cy="{y}" r="3" fill="{"#b00" if item < FLOOR else "#246"}" fill-opacity="0.35"/>'
            for item in results
            if item >= _LOWEST
        ]
    parts.append(f'<text x="{_LEFT}" y="16">share of intervals that held the truth; left of .80 only counted</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _x(coverage: float) -> float:
    return round(_LEFT + _WIDE * (coverage - _LOWEST) / (1.0 - _LOWEST), 1)


def _short(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")


def _coverages(cells: Sequence[Any], name: str) -> list[float]:
    return [cell.tallies[name].coverage for cell in cells if name in cell.tallies]


def _summary(cells: Sequence[Any], names: Sequence[str]) -> list[str]:
    lines = ["| interval | cells | worst | median | cells below .93 |", "|---|---|---|---|---|"]
    for name in names:
        result = sorted(_coverages(cells, name))
        middle = (result[len(result) // 2] + result[(len(result) - 1) // 2]) / 2
        below = sum(item < FLOOR for item in result)
        lines.append(f"| {name} | {len(result)} | {result[0]:.4f} | {middle:.4f} | {below} |")
    return lines


def _most(cells: Sequence[Any], counted: str, of: str) -> str:
    """Say where a test rejects a true null most often."""
    top = max(cells, key=lambda cell: getattr(cell, counted) / cell.seen)
    where = f"{top.law}, m = {top.m}, n = {top.n_a} and {top.n_b}, k = {top.k}"
    return f"- {of}: at most {getattr(top, counted) / top.seen:.4f} over {len(cells)} cells ({where})"


def _power(pairs: Sequence[Any], sizes: Mapping[int, float]) -> list[str]:
    """Return a table with a line for each comparison and a column for each size of the difference."""
    lines = ["| law | m | n of A, B | k | none | small | middle | large |", "|---" * 8 + "|"]
    for (law, m, n_a, n_b, k), cells in itertools.groupby(pairs, attrgetter("law", "m", "n_a", "n_b", "k")):
        results = " | ".join(
            f"{sizes[id(cell)]:.3f}: {cell.rejected / cell.seen:.4f} ({cell.disjoint / cell.seen:.4f})"
            for cell in cells
        )
        lines.append(f"| {law} | {m} | {n_a}, {n_b} | {k} | {results} |")
    return lines


def _pair_table(pairs: Sequence[Any]) -> list[str]:
    lines = ["| law | m | n of A, B | k | B: paired |", "|---" * 5 + "|"]
    return lines + [
        f"| {cell.law} | {cell.m} | {cell.n_a}, {cell.n_b} | {cell.k} | {cell.tallies['B: paired']} |" for cell in pairs
    ]


def _table(cells: Sequence[Any], names: Sequence[str]) -> list[str]:
    lines = [f"| law | m | n | k | {' | '.join(names)} |", "|---" * (4 + len(names)) + "|"]
    for cell in cells:
        results = " | ".join(str(cell.tallies.get(name, "")) for name in names)
        lines.append(f"| {cell.law} | {cell.m} | {cell.n} | {cell.k} | {results} |")
    return lines
