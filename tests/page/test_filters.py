"""Filters, addresses and a telephone's width in a real browser: what is filtered can be seen and cleared."""

from __future__ import annotations

from typing import Any

import pytest
from pages import Made, Tab

pytestmark = pytest.mark.nightly


def chips(opened: Tab, view: str) -> list[str]:
    """Return the texts of the chips of a view."""
    texts: list[str] = opened.page.locator(f"#{view} .chips .chip").all_inner_texts()
    return texts


def test_a_filter_of_a_link_is_seen_and_cleared(two_runs: Made, tab: Any):
    """Where a link filters by what has no control, a chip says so, and a click on it shows everything again."""
    opened = tab(two_runs)
    everything = opened.made.record["runs"][0]["samples"] + opened.made.record["runs"][1]["samples"]
    opened.show("resources")
    opened.page.click("#resources a[href='#samples?near=1']")
    opened.page.wait_for_selector("#samples .chip:has-text('over half of the time limit')")
    assert opened.count() < everything
    opened.page.click("#samples .chip >> nth=0")
    assert everything == opened.count()
    assert [] == chips(opened, "samples")
    assert opened.page.url.endswith("#samples")


def test_all_filters_are_cleared_at_once(two_runs: Made, tab: Any):
    """Each filter has a chip, of controls as of links; the last button clears all, the controls too."""
    opened = tab(two_runs)
    opened.open("samples?run=1&status=failed&cause=AssertionError&near=1")
    filters = ["run seed2", "status failed", "AssertionError", "over half of the time limit"]
    assert [*(f"{name} \N{MULTIPLICATION SIGN}" for name in filters), "clear all"] == chips(opened, "samples")
    opened.page.click("#samples .chip:has-text('clear all')")
    assert sum(run["samples"] for run in two_runs.record["runs"]) == opened.count()
    assert "" == opened.page.input_value("#sample-run") == opened.page.input_value("#sample-status")
    assert [] == chips(opened, "samples")


def test_filters_stay_and_stand_in_the_address(two_runs: Made, tab: Any):
    """What is filtered is in the address, is still there after a sample was looked at, and goes with another link."""
    opened = tab(two_runs)
    opened.open("samples?status=failed")
    opened.page.select_option("#sample-run", "1")
    opened.until("location.hash === '#samples?run=1&status=failed'")
    left = opened.count()
    opened.page.locator("#samples .grid .body [role=row]").first.click()
    opened.page.wait_for_selector("#inspector:not([hidden])")
    opened.page.click("#inspector button:has-text('Close')")
    opened.until("location.hash === '#samples?run=1&status=failed'")
    assert left == opened.count()
    opened.page.evaluate("location.hash = '#samples?status=passed'")
    passed = sum(run["statuses"]["passed"] for run in two_runs.record["runs"])
    opened.until(f"document.querySelector('#sample-count').textContent.startsWith('{passed} of')")


def test_every_way_to_fail_leads_to_its_samples(two_runs: Made, tab: Any):
    """A row of the table leads to as many samples as it counts."""
    opened = tab(two_runs)
    for row in two_runs.record["runs"][1]["failures"]:
        opened.open(f"samples?run=1&status={row['status']}&cause={row['cause'].replace(' ', '+')}")
        assert row["samples"] == opened.count()
    links = opened.page.locator("#overview a[href*='cause=']").count()
    assert sum(len(run["failures"]) for run in two_runs.record["runs"]) == links


def test_a_place_of_the_scatter_can_be_cleared(two_runs: Made, tab: Any):
    """The problems of a dot have a chip with the shares of both runs."""
    opened = tab(two_runs)
    opened.show("compare")
    opened.page.locator('#compare svg a[href^="#problems?"]').first.dispatch_event("click")
    opened.page.wait_for_selector("#problems .chip")
    assert chips(opened, "problems")[0].startswith("seed1 ")
    opened.page.click("#problems .chip:has-text('clear all')")
    problems = len(two_runs.record["problems"])
    opened.until(f"document.querySelector('#problem-count').textContent === '{problems} of {problems} problems'")


def test_no_result_says_so(two_runs: Made, tab: Any):
    """Where filters leave nothing, or a pattern is none, the list is empty and says why."""
    opened = tab(two_runs)
    opened.open("samples?text=nothing+has+this")
    assert 0 == opened.count()
    assert "No sample is left" in opened.page.locator("#samples .nothing").inner_text()
    opened.open("problems?text=%2F(%2F")
    assert [] == opened.rows("problems")
    assert "/(/ is no pattern" in opened.page.locator("#problems .nothing").inner_text()


def test_groups_are_not_called_samples(two_runs: Made, tab: Any):
    """With samples of one program as one row, the samples are counted still, and the groups beside them."""
    opened = tab(two_runs)
    opened.open("samples?group=program")
    everything = sum(run["samples"] for run in two_runs.record["runs"])
    text = opened.page.locator("#sample-count").inner_text()
    assert text.startswith(f"{everything} of {everything} samples, in ")
    assert "groups of the same run" in text


def test_an_unknown_address_is_called_so(two_runs: Made, tab: Any):
    """An address that names nothing of this report shows the overview and says so; the skip link is no address."""
    opened = tab(two_runs)
    opened.open("Absent/7")
    assert 'no view, problem or sample "Absent/7"' in opened.page.locator("#trouble").inner_text()
    opened.show("problems")
    assert opened.page.locator("#trouble").is_hidden()
    opened.page.locator("a.skip").dispatch_event("click")
    opened.page.wait_for_timeout(100)
    assert opened.page.locator("section#problems").is_visible()


def test_equal_rows_keep_the_order_of_the_benchmark(two_runs: Made, tab: Any):
    """Sorted by spread, problems that differ alike stand as in the benchmark."""
    opened = tab(two_runs)
    opened.show("problems")
    opened.page.click("#problems [role=columnheader] button:has-text('spread')")
    rows = [row.split("\n") for row in opened.rows("problems")]
    order = [(-float(row[-1]), two_runs.record["problems"].index(row[0])) for row in rows]
    assert sorted(order) == order
    assert len({size for size, _ in order}) < len(order)


def test_copying_a_link_moves_no_button(two_runs: Made, tab: Any):
    """What is said after a click on Copy link stands behind all buttons."""
    opened = tab(two_runs)
    opened.open("starter/5/1")
    before = opened.page.locator("#inspector .tools button").evaluate_all("all => all.map((one) => one.offsetLeft)")
    opened.page.click("#inspector button:has-text('Copy link')")
    opened.page.wait_for_selector("#inspector .tools [role=status]:not(:empty)")
    after = opened.page.locator("#inspector .tools button").evaluate_all("all => all.map((one) => one.offsetLeft)")
    assert before == after


def test_filters_stay_in_sight_of_a_sample(two_runs: Made, tab: Any):
    """On a wide screen an opened sample leaves the filters that led to it in sight."""
    opened = tab(two_runs)
    opened.open("samples?status=failed")
    opened.page.locator("#samples .grid .body [role=row]").nth(3).click()
    opened.page.wait_for_selector("#inspector:not([hidden])")
    for place in ("#sample-status", "#inspector h2"):
        box = opened.page.locator(place).bounding_box()
        assert 40 < box["y"] < 600


@pytest.mark.parametrize("view", ["overview", "compare", "resources", "generation", "provenance"])
def test_a_telephone_shows_every_value_of_a_table(two_runs: Made, tab: Any, view: str):
    """At a telephone's width no cell of a wide table lies beyond the edge, and each has its heading beside it."""
    opened = tab(two_runs, width=390)
    opened.show(view)
    cells = opened.page.locator(f"#{view} table.cards tbody td:visible")
    assert cells.count() > 3
    ends = cells.evaluate_all("all => all.map((one) => one.getBoundingClientRect().right)")
    assert max(ends) <= 390
    assert all(cells.evaluate_all("all => all.map((one) => one.dataset.label)"))
    if view == "overview":
        top = opened.page.locator("#overview .big").first.bounding_box()
        assert top["x"] + top["width"] <= 390
        assert top["y"] < 400


@pytest.mark.parametrize("view", ["problems", "samples"])
def test_a_telephone_shows_every_column_of_a_grid(two_runs: Made, tab: Any, view: str):
    """At a telephone's width each cell that is shown ends within the screen, messages in a line of their own."""
    opened = tab(two_runs, width=390)
    opened.open("samples?status=!passed" if view == "samples" else view)
    row = opened.page.locator(f"#{view} .grid .body [role=row]").first
    boxes = [cell.bounding_box() for cell in row.locator("[role=cell]:visible").all()]
    assert all(box["x"] + box["width"] <= 390 for box in boxes)
    assert len(boxes) > 3
    cells = row.locator("[role=cell]:visible:not(.below)")
    assert not any(cells.evaluate_all("all => all.map((one) => one.scrollWidth > one.clientWidth)"))
    if view == "samples":
        assert boxes[-1]["y"] > boxes[0]["y"]
        assert "Error" in row.inner_text()
