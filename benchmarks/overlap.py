"""Whether generating and judging overlap: a run takes little more than the slower of the two alone.

    python benchmarks/overlap.py [--each 20] [--rounds 3]

The samples are those of ``mutant:``, as many distinct programs as there are samples.  J is what ``judge`` needs for
them alone.  Then a program is the model that writes them one after another, in T seconds altogether for several T, and
the whole ``run`` is timed.  It should take at most max(T, J) + 10 % + 1 s.  All take turns, and each run is
held against the J of its own round.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from passcurve import load_benchmark
from passcurve.bench.prompts import find_style, make_prompts
from passcurve.models.backend import SampleRequest, Settings
from passcurve.models.mutant import Mutant
from passcurve.types import Decoding

MODEL = """
import json, sys, time
rows = map(json.loads, open(sys.argv[1]))
texts = {(row["task_id"], row["sample_index"]): json.dumps(row["completion"]).encode() for row in rows}
began, pause, written = time.monotonic(), float(sys.argv[2]), 0
for line in sys.stdin.buffer:
    request = json.loads(line)
    written += 1
    time.sleep(max(0.0, began + written * pause - time.monotonic()))
    text = texts[request["task_id"], request["sample_index"]]
    sys.stdout.buffer.write(b'{"id": %d, "completion": %b}\\n' % (request["id"], text))
    sys.stdout.buffer.flush()
"""
"""Takes as little of the machine as may be: what writes samples is mostly elsewhere."""
SHARES = (0.5, 1.0, 1.25, 2.0)
"""T as a multiple of J."""


def main() -> None:
    """Time judging alone, then whole runs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--each", dest="per_problem", metavar="EACH", type=int, default=20, help="samples of each problem"
    )
    parser.add_argument("--rounds", type=int, default=3)
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = write(folder, words.per_problem)
        rounds = [measure_round(folder, count, words.per_problem, turn) for turn in range(words.rounds)]
    print(f"{count} samples, {words.rounds} rounds; medians, and of each run whether it is within its bound:")
    judging = statistics.median(alone for alone, _ in rounds)
    print(f"judged alone in J = {judging:.1f} s ({', '.join(f'{alone:.1f}' for alone, _ in rounds)})")
    for at, share in enumerate(SHARES):
        took = [whole[at] for _, whole in rounds]
        bounds = [1.1 * max(alone * share, alone) + 1.0 for alone, _ in rounds]
        outcomes = [
            f"{one:.1f} {'within' if one <= bound else 'BEYOND'} {bound:.1f}"
            for one, bound in zip(took, bounds, strict=True)
        ]
        print(f"T = {share:4.2f} J: the whole took {statistics.median(took):5.1f} s ({', '.join(outcomes)})")


def measure_round(folder: Path, count: int, per_problem: int, turn: int) -> tuple[float, list[float]]:
    """Return the seconds of judging alone and those of a whole run for each share."""
    alone = run_timed(folder, "judge", "samples.jsonl", "--benchmark", "starter", "--run", f"alone{turn}")
    whole = []
    for share in SHARES:
        model = f"command:{sys.executable} model.py samples.jsonl {alone * share / count}"
        whole.append(
            run_timed(folder, "run", "starter", "--model", model, "-n", per_problem, "--run", f"run{turn}-{share}")
        )
    return alone, whole


def write(folder: Path, per_problem: int) -> int:
    """Write the model and its distinct samples; return their number."""
    backend = Mutant.open("", Settings())
    rows = []
    for prompt in make_prompts(load_benchmark("starter", cache_dir=folder).problems, find_style("base")):
        order = SampleRequest(prompt=prompt, decoding=Decoding(), indices=tuple(range(per_problem)))
        for reply in backend.generate(order):
            index = reply.key.sample_index
            text = f"    # {index}\n{reply.text}"
            rows.append({"task_id": prompt.problem_id, "sample_index": index, "completion": text})
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (folder / "model.py").write_text(MODEL, "utf-8")
    return len(rows)


def run_timed(folder: Path, *words: object) -> float:
    """Run a command and return its duration in seconds."""
    began = time.monotonic()
    command = [sys.executable, "-m", "passcurve", *map(str, words), "--json"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return time.monotonic() - began


if __name__ == "__main__":
    main()
