"""The pages on pass@k: their commands print what they say, and draw the pictures that stand beside them."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ET

import pytest

pytest.importorskip("passatk", reason="the benchmarks are not beside the tests")

import passatk

BLOCKS = list(passatk.blocks())
ON_DATA = passatk.needs_data(BLOCKS)
EXTRAS = ("matplotlib", "sacrebleu", "rouge_score", "rapidfuzz", "codebleu")


def settled(output: str) -> str:
    """Return an output without the versions of packages, which change nothing but their own name."""
    return re.sub(r"version:\S+", "version:any", output)


def words(picture) -> list[str]:
    """Return the words in a picture."""
    return [item.text for item in ET.parse(picture).iter("{http://www.w3.org/2000/svg}text")]


def check(which, folder):
    """Run commands of the pages in order and compare what they print and draw with what stands there."""
    for extra in EXTRAS:
        pytest.importorskip(extra, reason="the commands of the pages need every extra")
    for at in which:
        block = BLOCKS[at]
        assert settled(block.output) == settled(passatk.run(block.command, folder)), block.command
        if block.picture:
            assert words(passatk.DOCS / f"{block.picture}.svg") == words(folder / f"{block.picture}.svg")


@pytest.mark.nightly
def test_commands_that_need_little_print_what_the_pages_say(tmp_path):
    """Each command prints what stands below it, and its picture has the words of the one on its page."""
    cheap = [at for at, block in enumerate(BLOCKS) if re.match(r"passcurve (lab urn|bench list)", block.command)]
    assert len(cheap) > 3
    assert any(BLOCKS[at].picture for at in cheap)
    check(cheap, tmp_path)


@pytest.mark.nightly
def test_the_commands_that_need_no_data_print_what_the_pages_say(tmp_path):
    """The same for all that need nothing but the package."""
    check([at for at in range(len(BLOCKS)) if at not in ON_DATA], tmp_path)


@pytest.mark.nightly
def test_the_commands_on_published_samples_print_what_the_pages_say(tmp_path, data):
    """The same for the commands that judge published completions, in the order of the pages."""
    for name in passatk.DATA:
        if not (data / name).is_file():
            pytest.skip(f"there is no {name} in {str(data)!r} (PASSCURVE_TEST_DATA)")
        shutil.copy(data / name, tmp_path)
    check(sorted(ON_DATA), tmp_path)


@pytest.mark.parametrize("page", passatk.PAGES, ids=lambda page: page.name)
def test_every_picture_of_a_page_is_made_by_a_command_beside_it(page):
    """Each picture stands right below the command that draws it, light and dark."""
    drawn = [block.picture for block in BLOCKS if block.picture and block.page == page]
    assert len(drawn) > 1
    text = page.read_text("utf-8")
    shown = re.findall(r'srcset="([a-z-]+)-dark\.svg">\n<img alt="[^"]+" src="([a-z-]+)\.svg">', text)
    assert [(picture, picture) for picture in drawn] == shown
    for picture in drawn:
        light, dark = (passatk.DOCS / f"{picture}{ending}.svg" for ending in ("", "-dark"))
        assert words(light) == words(dark)


def test_blocks_on_data_are_known():
    """A command that reads a run which an earlier one made of published data needs that data too."""
    made = [BLOCKS[at].command for at in sorted(ON_DATA)]
    assert any("match" in command and "mutants" in command for command in made)
    assert len(BLOCKS) > len(made) > 5
