"""A problem of EvalPlus whose results compare in another way by its own rules than by ours."""

EQUIVALENT = {
    "task_id": "Mbpp/164",
    "prompt": '"""Tell whether the sums of divisors are equal."""\n',
    "entry_point": "are_equivalent",
    "canonical_solution": "def are_equivalent(a, b):\n    return a == b\n",
    "base_input": [[1, 2], [3, 3]],
    "plus_input": [[5, 5]],
    "atol": 0,
    "contract": "",
}
