"""Whether generating and judging overlap: a run takes little more than the slower of the two alone.

    python benchmarks/overlap.py [--each 20]

The samples are those of ``mutant:``, as many distinct programs as there are samples.  J is what ``judge`` needs for
them alone.  Then a program is the model that writes them one after another, in T seconds altogether for several T, and
the whole ``run`` is timed.  It should take at most max(T, J) + 10 % + 1 s.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from passcurve import load_benchmark
from passcurve.bench.prompts import prompts, style
from passcurve.models.backend import Settings
from passcurve.models.mutant import Mutant
from passcurve.types import Decoding, Order

MODEL = """
import json, sys, time
rows = map(json.loads, open(sys.argv[1]))
texts = {(row["task_id"], row["sample_index"]): json.dumps(row["completion"]).encode() for row in rows}
began, pause, written = time.monotonic(), float(sys.argv[2]), 0
for line in sys.stdin.buffer:
    asked = json.loads(line)
    written += 1
    time.sleep(max(0.0, began + written * pause - time.monotonic()))
    text = texts[asked["task_id"], asked["sample_index"]]
    sys.stdout.buffer.write(b'{"id": %d, "completion": %b}\\n' % (asked["id"], text))
    sys.stdout.buffer.flush()
"""
"""Takes as little of the machine as may be: what writes samples is mostly elsewhere."""
SHARES = (0.5, 1.0, 2.0)
"""T as a multiple of J."""


def main() -> None:
    """Time judging alone, then whole runs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--each", type=int, default=20, help="samples of each problem")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = write(folder, words.each)
        alone = timed(folder, "judge", "samples.jsonl", "--benchmark", "starter", "--run", "alone")
        print(f"{count} samples, judged alone in J = {alone:.1f} s")
        for share in SHARES:
            pause = alone * share / count
            model = f"command:{sys.executable} model.py samples.jsonl {pause}"
            took = timed(folder, "run", "starter", "--model", model, "-n", words.each, "--run", f"run{share}")
            bound = 1.1 * max(alone * share, alone) + 1.0
            said = "within" if took <= bound else "BEYOND"
            print(f"T = {alone * share:5.1f} s: the whole took {took:5.1f} s, {said} the bound of {bound:.1f} s")


def write(folder: Path, each: int) -> int:
    """Write the model and its samples, no two alike; return how many there are."""
    backend = Mutant.open("", Settings())
    rows = []
    for prompt in prompts(load_benchmark("starter", cache_dir=folder).problems, style("base")):
        order = Order(prompt=prompt, decoding=Decoding(), indices=tuple(range(each)))
        for reply in backend.generate(order):
            index = reply.key.sample_index
            text = f"    # {index}\n{reply.text}"
            rows.append({"task_id": prompt.problem_id, "sample_index": index, "completion": text})
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (folder / "model.py").write_text(MODEL, "utf-8")
    return len(rows)


def timed(folder: Path, *words: object) -> float:
    """Run a command to its end; return the seconds."""
    began = time.monotonic()
    command = [sys.executable, "-m", "passcurve", *map(str, words), "--json"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return time.monotonic() - began


if __name__ == "__main__":
    main()
