"""The pages on statistics: their examples run and give what they say, and each estimator is explained."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = ("statistics.md", "metrics.md", "intervals.md", "comparing.md")
SECTIONS = {
    heading: text
    for name in ("statistics.md", "metrics.md")
    for heading, text in re.findall(r"^### (.*)\n((?:(?!^##).*\n)*)", (DOCS / name).read_text("utf-8"), re.MULTILINE)
}
ESTIMATORS = """
    pass_at_k fail_at_k log_fail_at_k pass_curve exact_pass_at_k var_pass_at_k jackknife_var_pass_at_k
    plug_in_at_k plug_in_bias naive_variance unbiased_variance
    pass_hat_k g_pass_at_k mg_pass_at_k cover_at_tau best_of_k max_at_k min_at_k maj_at_k n_at_k ranked_top_k
    expected_attempts distinct_at_k pkpo_rewards pass_at_k_advantages
""".split()


@pytest.mark.parametrize("name", PAGES)
def test_the_examples_give_what_they_say(name):
    """Every Python example of the page, run in order, prints what stands below it."""
    page = (DOCS / name).read_text("utf-8")
    blocks = [
        (page[: example.start(1)].count("\n"), example[1])
        for example in re.finditer(r"```python\n(.*?)```", page, re.S)
    ]
    space: dict[str, object] = {}
    message: list[str] = []
    runner = doctest.DocTestRunner()
    for line, code in blocks:
        example = doctest.DocTestParser().get_doctest(code, space, name, name, line)
        runner.run(example, out=message.append, clear_globs=False)
        space = example.globs
    assert len(blocks) > 8
    assert "" == "".join(message)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_each_estimator_has_a_section(name):
    """Each estimator has a heading with formula, assumption, when not to use it, and an example that calls it."""
    (text,) = [text for heading, text in SECTIONS.items() if f"`{name}`" in heading]
    assert [] == [part for part in ("**Formula.**", "**Assumption.**", "**Not for**", "```python") if part not in text]
    assert f"{name}(" in text.partition("```python")[2]
