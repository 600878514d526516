"""CPU of a script's tests above compiling and running the same text in a warm process.

Run: python benchmarks/script_cost.py [--rounds 200]
"""

from __future__ import annotations

import argparse
import io
import statistics
import sys
import time

from passcurve.judging.case_trials import plan_cases
from passcurve.judging.plan import make_job
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.startup import start_sandbox
from passcurve.types import Cases, Limits, Problem, Suite, pack_values

LIMITS = Limits()
TESTS = 10
PROGRAMS = {
    "streams": "n = int(input())\nprint(sum(map(int, input().split())) + n)\n",
    "descriptors": "import os\nn, *rest = map(int, os.read(0, 1 << 20).split())\nprint(sum(rest) + n)\n",
    "a thread": "import threading\ndef main():\n    n = int(input())\n    print(sum(map(int, input().split())) + n)\n"
    "threading.Thread(target=main).start()\n",
}


def warm_cpu_s(program: str, text: str) -> float:
    """Return the CPU that compiling a text and running it once for each test take in this process."""
    stdin, stdout = sys.stdin, sys.stdout
    began = time.process_time()
    code = compile(program, "sample.py", "exec")
    for _ in range(TESTS):
        sys.stdin, sys.stdout = io.StringIO(text), io.StringIO()
        exec(code, {"__name__": "__main__"})
    used = time.process_time() - began
    sys.stdin, sys.stdout = stdin, stdout
    return used


def main() -> None:
    """Print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    rounds: int = parser.parse_args().rounds
    text = "3\n1 2 3\n"
    check = Cases(
        suites=(Suite(name="tests", count=TESTS),),
        inputs=pack_values([(text,)] * TESTS),
        expected=pack_values(["9\n"] * TESTS),
        comparator="lines",
        via="stdin",
    )
    problem = Problem(id="cost", prompt="", entry_point="", check=check)
    with start_sandbox(LIMITS) as sandbox:
        pool = Pool(1, sandbox)
        for name, program in PROGRAMS.items():
            used, passed = [], 0
            for tag in range(rounds):
                # Another text each time, so that no answer is known already.
                pool.start(0, make_job(problem, f"{program}# {tag}\n", plan_cases(check), LIMITS, 0, tag + 1))
                while not (outcomes := pool.wait(1.0)):
                    pass
                used.append(outcomes[0].cpu_s)
                passed += (outcomes[0].report or {}).get("status") == "passed"
            warm = statistics.median(warm_cpu_s(program, text) for _ in range(rounds)) if name == "streams" else 0.0
            print(
                f"{name}: {passed} of {rounds} passed; CPU of the sample {statistics.median(used) * 1e3:.2f} ms for "
                f"{TESTS} tests, warm {warm * 1e3:.2f} ms"
            )
        pool.close()


if __name__ == "__main__":
    main()
