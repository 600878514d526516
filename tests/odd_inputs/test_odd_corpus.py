"""The corpus of odd inputs as a whole.  Its cases are tested in files beside this one, which can run side by side."""

from __future__ import annotations

from collections import Counter

import odd_input
import test_odd_benchmarks
import test_odd_files
import test_odd_texts


def test_each_name_is_used_once():
    """No case hides another."""
    names = Counter(case.name for cases in odd_input.CASES.values() for case in cases)
    assert [] == [name for name, count in names.items() if count > 1]


def test_each_file_of_cases_is_tested_once():
    """No case is left out."""
    tested = (*test_odd_benchmarks.FILES, *test_odd_files.FILES, *test_odd_texts.FILES)
    assert sorted(odd_input.CASES) == sorted(tested)
