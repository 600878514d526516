"""Objects of a script lie at the same addresses in a kept process and in a new one."""

from __future__ import annotations

import ast

import msgspec
import pytest
from jailed import Jailed, jail_at

from passcurve.judging.case_trials import plan_cases
from passcurve.judging.plan import make_job
from passcurve.judging.verdict import reach_verdict
from passcurve.sandbox import kept_process_client
from passcurve.types import Cases, Limits, Problem, SampleKey, Suite, pack_values

INPUTS = ("3\n1 2 3\n", "2\n10 -4\n", "3\n1 2 3\n", "1\n400\n")
LIMITS = Limits(timeout_s=20.0, memory_bytes=1 << 30)

WAYS = {
    "input": "n = int(input())\nrest = input().split()",
    "stdin.read": "import sys\ndata = sys.stdin.read().split()",
    "buffer": "import sys\nread = sys.stdin.buffer.readline\nread(); rest = sys.stdin.buffer.read().split()",
    "lines": "import sys\nlines = [line.split() for line in sys.stdin]",
    "a flush": "for item in input():\n    print(item, flush=True)",
    "os.read and os.write": "import os\ndata = os.read(0, 1 << 20).split()\nos.write(1, data[0])",
    "an exit": "import atexit\natexit.register(print, input())",
}
"""Ways to read and write before the objects are made."""

PLACES = """
import zlib
class Item:
    def __init__(self, number):
        self.number = number
def function():
    pass
order = [item.number for item in {Item(number) for number in range(40)}]
made = [object(), Item(0), [], {}, "-" * len(order), b"-" * (100 + len(order)), function, Item, type("Other", (), {})]
import sys
in_memory = hasattr(sys.__stdin__.buffer.raw, "_descriptors")
print("in memory:", "01"[in_memory], "places:", zlib.crc32(repr((order, list(map(id, made)))).encode()))
"""


def outputs(jail: Jailed, program: str, *, allow_kept: bool) -> list[str]:
    """Return what a program writes at the end of each test: a verdict shows the first one that is not expected."""
    seen: list[str] = []
    while len(seen) < len(INPUTS):
        check = Cases(
            suites=(Suite(name="tests", count=len(INPUTS)),),
            inputs=pack_values([(text,) for text in INPUTS]),
            expected=pack_values([*seen, *["no output"] * (len(INPUTS) - len(seen))]),
            comparator="lines",
            via="stdin",
        )
        problem = Problem(id="P", prompt="", entry_point="", check=check)
        job = make_job(problem, program, plan_cases(check), LIMITS, 0, next(jail.tags))
        assert job.referee is not None
        # Reports are kept by the key, and other results are expected each time.
        referee = msgspec.structs.replace(job.referee, key=f"{job.tag}")
        job = msgspec.structs.replace(job, allow_kept=allow_kept, referee=referee)
        verdict = reach_verdict(SampleKey(problem_id="P", sample_index=0), job, jail.run(job))
        assert verdict.call is not None, verdict
        assert verdict.message == f"tests test {len(seen)}: wrong result", verdict
        seen.append(ast.literal_eval(verdict.call.outcome.removeprefix("returned ")))
    return seen


@pytest.mark.parametrize("reuse", ["rewind", pytest.param("fork", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", WAYS)
def test_objects_lie_at_the_same_addresses_with_files_and_without(
    name: str, reuse: str, monkeypatch: pytest.MonkeyPatch
):
    """In each test of a program, and after other programs in the same process."""
    # On a busy machine a program is not done by then, and goes on in a new process.
    monkeypatch.setattr(kept_process_client, "KEPT_S", LIMITS.timeout_s)
    with jail_at("full", reuse=reuse, limits=LIMITS) as jail:
        program = WAYS[name] + PLACES
        kept = outputs(jail, program, allow_kept=True)
        new = outputs(jail, program, allow_kept=False)
        outputs(jail, "held = [[] for _ in range(9999)]\nprint(input())" + PLACES, allow_kept=True)
        assert kept == outputs(jail, program, allow_kept=True)
    assert all("in memory: 1" in output for output in kept)
    assert new == [output.replace("in memory: 1", "in memory: 0") for output in kept]
