"""The pages on intervals and comparisons explain every interval and test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = "".join((DOCS / name).read_text("utf-8") for name in ("intervals.md", "comparing.md"))
SECTIONS = dict(re.findall(r"^### (.*)\n((?:(?!^##).*\n)*)", PAGE, re.MULTILINE))
NAMES = """
    plus_two_t wilson clopper_pearson one_problem_interval dataset_interval bootstrap_interval clustered_se
    sampling_variance beta_binomial_fit beta_posterior_pass_at_k simultaneous_band
    paired_difference sign_flip_p mcnemar_exact stratified_permutation_p holm max_t_p
    plan problems_needed minimum_detectable extrapolate temperature_hull
""".split()


@pytest.mark.parametrize("name", NAMES)
def test_each_interval_and_test_has_a_section(name: str) -> None:
    """Each has a heading with formula, assumption, when not to use it, and an example that calls it."""
    (text,) = [text for heading, text in SECTIONS.items() if f"`{name}`" in heading]
    assert [] == [part for part in ("**Formula.**", "**Assumption.**", "**Not for**", "```python") if part not in text]
    assert f"{name}(" in text.partition("```python")[2]
