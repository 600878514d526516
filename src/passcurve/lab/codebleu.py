"""CodeBLEU of a program and a reference (Ren et al. 2020, arXiv:2009.10297), by the package ``codebleu``.

It is an extra of its own because 0.7.0, its last version, needs an old tree-sitter.  A body alone is not Python, so one
that is indented is put under a ``def`` line before it is parsed.  What the package does and a reader should know: a
data-flow match of 0 is taken for 1; and it goes through sets, so that the third digit of a mean depends on the order
of Python's hashes, which is another in each process unless PYTHONHASHSEED=0 is set.
"""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable

SIGNATURE = (
    "codebleu|lang:python|weights:.25,.25,.25,.25|tok:space|body:under-def|"
    f"hash-seed:{'random' if sys.flags.hash_randomization else '0'}|version:0.7.0"
)


def code_bleu() -> Callable[[str, str], float]:
    """Return the metric; NaN is what the package cannot work out.  Raises ImportError where it is not installed."""
    import warnings

    with warnings.catch_warnings():
        # The old tree-sitter warns of its own next version.
        warnings.simplefilter("ignore")
        import tree_sitter_python  # noqa: F401 - without the grammar the package fails only once it is called
        from codebleu import calc_codebleu

    quiet = _Quiet()

    def score(program: str, reference: str) -> float:
        root = logging.getLogger()
        root.addFilter(quiet)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = calc_codebleu([_as_function(reference)], [_as_function(program)], "python")
        except Exception:
            # What models write breaks its parser in ways that it does not name.
            return math.nan
        finally:
            root.removeFilter(quiet)
        return float(result["codebleu"])

    return score


class _Quiet(logging.Filter):
    """Holds back what the package says of each reference without a data flow."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "data-flow" not in record.getMessage()


def _as_function(text: str) -> str:
    return f"def f():\n{text}" if text[:1].isspace() else text
