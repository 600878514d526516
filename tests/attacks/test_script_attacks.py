"""Hostile scripts, behind real walls: none is right by anything but what it writes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from passcurve.judging.case_trials import plan_cases
from passcurve.judging.plan import make_job
from passcurve.judging.verdict import reach_verdict
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.startup import start_sandbox
from passcurve.types import Cases, Limits, Problem, SampleKey, Suite, Verdict, pack_values

LIMITS = Limits(timeout_s=2.0)
CHECK = Cases(
    suites=(Suite(name="tests", count=3),),
    inputs=pack_values([("1 2",), ("10 -4",), ("7 35",)]),
    expected=pack_values(["3\n", "6\n", "42\n"]),
    comparator="tokens",
    via="stdin",
)
PROBLEM = Problem(id="sum", prompt="", entry_point="", check=CHECK)
RIGHT = "print(sum(map(int, input().split())))"

ATTACKS = {
    "fake stdout": "import sys\nclass Out:\n    def write(self, text): return 0\n    flush = lambda self: None\n"
    "    def __eq__(self, other): return True\nsys.stdout = Out()\nprint(0)",
    "a text that equals all": "class Text(str):\n    __eq__ = lambda *_: True\n    split = lambda *_: ['3']\n"
    "import sys\nsys.stdout.write(Text('0'))",
    "other descriptors": "import os\nfor number in range(3, 64):\n    try:\n        os.write(number, b'3\\n')\n"
    "    except OSError:\n        pass",
    "a reply on the wire": "import os, struct\nfrom passcurve.harness.framing import make_frame\n"
    "from passcurve.harness.wire import Encoder\nframe = make_frame(Encoder().encode({'value': '3'}))\n"
    "for number in range(3, 64):\n    try:\n        os.write(number, frame * 3 + make_frame(b''))\n"
    "    except OSError:\n        pass",
    "sitting on the wire": "import os, sys\nfor number in range(3, 20):\n    try:\n        os.dup2(1, number)\n"
    "    except OSError:\n        pass\nprint(3)",
    "early exit": "import os\nos._exit(0)",
    "an exit of the C library": "import ctypes\nctypes.CDLL(None)._exit(0)",
    "an exit at the exit": "import atexit, os\natexit.register(os._exit, 0)\nprint(0)",
    "patched builtins": "import builtins\nbuiltins.len = lambda _: 0\nbuiltins.all = lambda _: True\n"
    "builtins.str = type('S', (str,), {'__eq__': lambda *_: True})\nprint(0)",
    "the runner from frames": "import sys\nframe = sys._getframe()\nwhile frame:\n"
    "    for value in list(frame.f_locals.values()):\n        if hasattr(value, '_run'):\n"
    "            type(value).__call__ = lambda self, text: '3'\n    frame = frame.f_back\nprint(0)",
    "expected values in memory": "import gc\nfound = [o for o in gc.get_objects() if isinstance(o, (list, tuple))"
    " and '42\\n' in o]\nprint(42 if found else 0)",
    "its own verdict": "print({'status': 'passed', 'passed': True})",
    "all outputs at once": "print('3\\n6\\n42')",
    "the state of the test before": "import sys\nsys.n = getattr(sys, 'n', 0) + 1\nprint([3, 6, 0][sys.n - 1])",
    **{
        f"a runner that returns {value}": "import sys\nrunner = sys.modules['passcurve.harness.script'].ScriptRunner\n"
        f"runner.__call__ = lambda *_: {value}\nprint(0)"
        for value in ("3", "['3']", "b'3'", "{'3', '6', '42'}", "lambda *_: True", "None")
    },
    "a thread that does not end": "import sys, threading\ndef go_on():\n    while True:\n        try:\n"
    "            while True:\n                sys.stdout.write('')\n        except BaseException:\n            pass\n"
    "threading.Thread(target=go_on, daemon=True).start()\nprint(0)",
    "no return to the state before": "import sys\n"
    "sys.modules['passcurve.harness.script_state'].InterpreterState.restore = lambda _: None\nsys.modules.clear()\n"
    "print(0)",
    "the end of all replies": "import os\nfor number in range(3, 64):\n    try:\n        os.write(number, bytes(4))\n"
    "    except OSError:\n        pass\nprint(0)",
    "output of a later thread": "import threading, time\ndef late():\n    time.sleep(9)\n    print(3)\n"
    "threading.Thread(target=late, daemon=True).start()",
}


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """Return a pool of one worker."""
    with start_sandbox(LIMITS, level="full") as sandbox:
        pool = Pool(1, sandbox)
        yield pool
        pool.close()


TAGS = itertools.count(1)


def judge(pool: Pool, program: str) -> Verdict:
    """Return the verdict on a script."""
    job = make_job(PROBLEM, program, plan_cases(CHECK), LIMITS, 0, next(TAGS))
    pool.start(0, job)
    while not (outcomes := pool.wait(1.0)):
        pass
    return reach_verdict(SampleKey(problem_id="sum", sample_index=0), job, outcomes[0])


@pytest.mark.parametrize("name", ATTACKS)
def test_attack(pool: Pool, name: str):
    """The attack does not pass, and the right program after it does."""
    verdict = judge(pool, ATTACKS[name])
    assert verdict.status in ("failed", "crash", "timeout", "output"), verdict
    assert judge(pool, RIGHT).passed
