"""Right and wrong programs for published contest problems, judged by the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "benchmarks"

pytestmark = pytest.mark.ci

CONTESTS = "sandboxfusion_code_eval_code_contests.jsonl.gz"
LIVE = "sandboxfusion_code_eval_live_code_bench_v1.jsonl.gz"
APPS = "apps_selected150.jsonl.gz"

PROGRAMS: dict[str, list[tuple[str, str, str]]] = {
    # The problem, a right program, and what to put in place of what in it to make it wrong.
    CONTESTS: [
        (
            "17",
            "s, m = input().strip(), input().strip()\nd = sorted(s)\n"
            "i = next((i for i, c in enumerate(d) if c != '0'), 0)\nd[0], d[i] = d[i], d[0]\n"
            "print('OK' if ''.join(d) == m else 'WRONG_ANSWER')",
            "d[0], d[i] = d[i], d[0] -> pass",
        ),
        (
            "19",
            "import sys\nit = iter(sys.stdin.buffer.read().split())\nnext_int = lambda: int(next(it))\n"
            "for _ in range(next_int()):\n    a, b, q = next_int(), next_int(), next_int()\n    n = a * b\n"
            "    p = [0]\n    for x in range(n):\n        p.append(p[-1] + (x % a % b != x % b % a))\n"
            "    f = lambda x: x // n * p[n] + p[x % n]\n    out = []\n"
            "    for _ in range(q):\n        l, r = next_int(), next_int()\n        out.append(f(r + 1) - f(l))\n"
            "    print(*out)",
            "f(r + 1) -> f(r)",
        ),
        (
            "2",
            "from collections import deque\ns = input().strip()\nn = len(s)\nat = {}\n"
            "for i, c in enumerate(s):\n    at.setdefault(c, []).append(i)\ndist = [-1] * n\ndist[0] = 0\n"
            "queue = deque([0])\nwhile queue:\n    i = queue.popleft()\n"
            "    for j in [i - 1, i + 1] + at.pop(s[i], []):\n"
            "        if 0 <= j < n and dist[j] < 0:\n            dist[j] = dist[i] + 1\n            queue.append(j)\n"
            "print(dist[n - 1])",
            "dist[i] + 1 -> dist[i] + 2",
        ),
    ],
    APPS: [
        (
            "1607",
            "s = input()\nq = a = n = 0\nfor c in s:\n    if c == 'Q':\n        q += 1\n        n += a\n"
            "    elif c == 'A':\n        a += q\nprint(n)",
            "n += a -> n += q",
        ),
        (
            "2130",
            "from math import comb\nn, r = 0, 1\nfor _ in range(int(input())):\n    c = int(input())\n    n += c\n"
            "    r = r * comb(n - 1, c - 1) % (10 ** 9 + 7)\nprint(r)",
            "n - 1 -> n",
        ),
        (
            "2133",
            "n = int(input())\nprint(max(sum(c == '1' for c in day) for day in zip(*(input() for _ in range(n)))))",
            "max -> min",
        ),
        (
            "2190",
            "n = int(input())\nstack, best = [], 0\nfor x in map(int, input().split()):\n    t = 0\n"
            "    while stack and stack[-1][0] < x:\n        t = max(t, stack.pop()[1])\n"
            "    t = t + 1 if stack else 0\n    best = max(best, t)\n    stack.append((x, t))\nprint(best)",
            "t + 1 -> t + 2",
        ),
        (
            "4724",
            "def drop_cap(s):\n    return ' '.join(w.capitalize() if len(w) > 2 else w for w in s.split(' '))",
            "> 2 -> > 3",
        ),
        ("3554", "def get_score(dice):\n    raise NotImplementedError", ""),
    ],
    LIVE: [
        (
            "1",
            "for _ in range(int(input())):\n    s = input()\n"
            "    print('YES' if sum(a != b for a, b in zip(s, 'abc')) <= 2 else 'NO')",
            "<= 2 -> <= 3",
        ),
        (
            "10",
            "class Solution:\n    def countSeniors(self, d):\n        return sum(int(x[11:13]) > 60 for x in d)",
            "> 60 -> >= 60",
        ),
        (
            "191",
            "n = int(input())\ns = input()\nt, a = s.count('T'), s.count('A')\n"
            "print('T' if t > a or (t == a and s[-1] == 'A') else 'A')",
            "'A') else -> 'T') else",
        ),
    ],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(shell: Any, name: str):
    """The right program passes, and fails with one change."""
    if not (FOLDER / name).exists():
        pytest.skip(f"no {FOLDER / name}")
    rows: list[dict[str, Any]] = []
    for problem, right, change in PROGRAMS[name]:
        if change:
            old, _, new = change.partition(" -> ")
            assert old in right
            rows.append({"task_id": problem, "solution": right, "right": True})
            rows.append({"task_id": problem, "solution": right.replace(old, new), "right": False})
        else:
            rows.append({"task_id": problem, "solution": right, "right": False})
        rows.append({"task_id": problem, "solution": "import sys; sys.exit(0)", "right": False})
    shell.write("s.jsonl", rows)
    session = shell.start("judge", "s.jsonl", "--benchmark", str(FOLDER / name), "--subset", "--json", env=shell.env)
    out, err = session.communicate(timeout=600)
    assert session.returncode in (0, 2), (out, err)
    results = [json.loads(line) for line in (shell.folder / "s.jsonl_results.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == len(results)
    wrong = [row for row in results if row["passed"] != row["right"]]
    assert not wrong
