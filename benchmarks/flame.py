"""Where the CPU time of ``judge`` goes, as flame graphs: by process, in the kernel and in Python.

    python benchmarks/flame.py DATA OUT.svg [--checkout FOLDER] [--python PYTHON] [--limit ROWS]

DATA is the folder that ``performance.py`` takes; the rows are its light part.  ``--checkout`` is the state of this
project that judges, so that one before a change can be drawn beside one after it; ``--python`` an interpreter that has
what it needs.  ``perf`` and ``py-spy`` must be installed, and root must ask, who alone may look into the jail.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from perf import flames, icicle
from perf import rows as rowing

ROOT = Path(__file__).resolve().parents[1]
SET = "codegen16b_first20"


def main() -> None:
    """Judge under both profilers and draw what they saw."""
    options = parse()
    problems = rowing.rows_of(options.data / "HumanEval.jsonl.gz")
    verdicts = rowing.rows_of(options.data / f"{SET}_human_eval_verdicts.jsonl.gz")
    light = rowing.spread(rowing.light(rowing.rows_of(options.data / f"{SET}.jsonl.gz"), verdicts), options.limit)
    with tempfile.TemporaryDirectory(prefix="flame-") as folder:
        samples = rowing.write(Path(folder, "samples.jsonl"), light)
        tests = rowing.write(Path(folder, "problems.jsonl"), rowing.attempted(problems, light))
        command = [options.python, "-m", "passcurve", "judge", str(samples), "--benchmark", str(tests)]
        command += ["--k", "1", "--no-dedup", "--isolation", "full", "--verdict", "referee"]
        spent = flames.record(command, options.checkout / "src", Path(folder))
    total = sum(spent.values())
    title = f"{options.words}: {len(light):,} samples, {total:.1f} s of CPU"
    icicle.draw(options.out, title, spent)
    for role, seconds in flames.by_role(spent).items():
        print(f"{role:12} {seconds:6.2f} s")
    print(f"{'in all':12} {total:6.2f} s -> {options.out}")


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--checkout", type=Path, default=ROOT)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--words", default="light part, --no-dedup", help="what stands above the picture")
    parser.add_argument("--limit", type=int, help="only so many rows, evenly spread")
    options = parser.parse_args()
    for tool in ("perf", "py-spy"):
        if shutil.which(tool) is None:
            parser.error(f"{tool} is not installed")
    return options


if __name__ == "__main__":
    main()
