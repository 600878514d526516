"""Makes the pages on pass@k say what their commands print: runs each in order and writes the output below it.

    python benchmarks/passatk.py --data FOLDER

FOLDER has HumanEval.jsonl.gz and codegen16b_first20.jsonl.gz (CodeGen-16B-mono at temperature 0.8, the first 20
completions of each problem, published with CodeT); they are copied beside the commands.  The pictures are drawn twice,
light by the command that the page shows, dark by the same with ``--theme dark``, and go into docs/.
It takes about a minute of two cores.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = (DOCS / "passatk.md", DOCS / "passatk-practice.md")
"""The pages, in the order in which they are read: the later one reads runs that the earlier one makes."""
DATA = ("HumanEval.jsonl.gz", "codegen16b_first20.jsonl.gz")
_BLOCK = re.compile(r"^```console\n\$ (?P<command>.*)\n(?P<output>(?:(?!```).*\n)*)```$", re.MULTILINE)
_PICTURE = re.compile(r"--plot (\S+)\.svg")
PATIENCE_S = 600


class Block(NamedTuple):
    """A command of a page and what it prints."""

    page: Path
    command: str
    output: str
    start: int
    """Where the output begins in its page."""

    @property
    def picture(self) -> str:
        """The name of the picture that it draws, without its ending; empty for none."""
        result = _PICTURE.search(self.command)
        return result[1] if result else ""


def blocks() -> Iterator[Block]:
    """Yield the commands of the pages, in order."""
    for page in PAGES:
        for match in _BLOCK.finditer(page.read_text("utf-8")):
            yield Block(page, match["command"], match["output"], match.start("output"))


def needs_data(commands: list[Block]) -> set[int]:
    """Return which blocks stand on published data, directly or through a run that an earlier one made of it."""
    made: set[str] = set()
    result = set()
    for at, block in enumerate(commands):
        words = block.command.split()
        if made & set(words) or any(name in block.command for name in DATA):
            result.add(at)
            made |= {words[i + 1] for i, word in enumerate(words) if word == "--run"}
    return result


def run(command: str, folder: Path) -> str:
    """Run a command of a page in a folder and return what it prints; RuntimeError when it fails."""
    env = {name: value for name, value in os.environ.items() if name in ("LANG", "LC_ALL", "TMPDIR")}
    env |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(folder)}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    # A reader like head goes away before everything is written.
    if done.returncode not in (0, 141):
        raise RuntimeError(f"{command!r} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def main() -> None:
    """Write the pages anew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with " + " and ".join(DATA))
    folder = Path(tempfile.mkdtemp(prefix="passatk-"))
    try:
        for name in DATA:
            shutil.copy(parser.parse_args().data / name, folder)
        commands = list(blocks())
        outputs = [run(block.command, folder) for block in commands]
        for block in commands:
            if block.picture:
                dark = block.command.replace(".svg", "-dark.svg").replace("--plot", "--theme dark --plot")
                run(dark, folder)
        for block, output in reversed(list(zip(commands, outputs, strict=True))):
            text = block.page.read_text("utf-8")
            end = block.start + len(block.output)
            block.page.write_text(text[: block.start] + output + text[end:], "utf-8")
        for picture in folder.glob("*.svg"):
            shutil.copy(picture, DOCS)
        print(f"{len(commands)} commands, {len(list(folder.glob('*.svg')))} pictures")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
