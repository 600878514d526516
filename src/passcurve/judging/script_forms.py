"""The tests of a problem in another language than Python, as data where they are no more than that."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from passcurve.bench.languages import find_language
from passcurve.judging.data_tests import RESULTS, DataTests, TestsSource
from passcurve.judging.js_tests import read_js_tests
from passcurve.judging.php_tests import read_php_tests
from passcurve.judging.preparation import read_text
from passcurve.judging.sh_tests import read_sh_tests
from passcurve.sandbox.layers import mounts
from passcurve.types import Script

_READERS: dict[str, Callable[[TestsSource], DataTests]] = {
    "javascript": read_js_tests,
    "php": read_php_tests,
    "bash": read_sh_tests,
}
"""By the name of the syntax in the table of languages."""


def find_data_tests(check: Script) -> DataTests | None:
    """Return the tests as calls with literal arguments and what is expected of them; None for any other tests."""
    return _read(check.language, check.before, check.tests) if check.accepts == "token" and not check.line else None


@lru_cache(maxsize=1024)
def _read(name: str, before: str, tests: str) -> DataTests | None:
    language = find_language(name)
    recorder = language.recorder
    end = f"\n{language.confirm}\n"
    if recorder is None or not tests.endswith(end):
        return None
    text = read_text(recorder.source).decode()
    source = TestsSource(tests.removesuffix(end), before, text, f"{mounts.SCRATCH}/{RESULTS}")
    try:
        data_tests = _READERS[recorder.syntax](source)
    except (ValueError, OverflowError, RecursionError):
        return None
    return data_tests._replace(source=f"{data_tests.source}{end}")
