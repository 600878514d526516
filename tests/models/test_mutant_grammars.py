"""Mutations of programs in other languages than Python: one place, still a program, and judged like any."""

from __future__ import annotations

import shutil

import pytest

from passcurve.errors import DataError
from passcurve.models.mutant import deck
from passcurve.models.mutant_grammars import mutations
from passcurve.types import Prompt

CPP = (
    "#include <string>\nint f(int x) {\n",
    "    if (x > 3 && x != 9) return x + 1;\n    while (x < 2) x++;\n    return 0;\n}\n",
)
JAVA = (
    "class P {\n    static boolean f(int x) {\n",
    '        String s = "a";\n        return x >= 3 && true;\n    }\n}\n',
)
JS = ("function f(x) {\n", "  let y = [];\n  y.push(x - 1);\n  return -x === 3 ? 'ab' : '';\n}\n")


@pytest.fixture(autouse=True)
def grammars():
    """Skip without the grammars."""
    for name in ("tree_sitter", "tree_sitter_cpp", "tree_sitter_java", "tree_sitter_javascript"):
        pytest.importorskip(name, reason=f"needs {name}: pip install '.[mutants]'")


def test_places():
    """Comparisons, operators, constants, texts, conditions and statements change, loops that may not end do not."""
    cpp = mutations("cpp", *CPP, "")
    for changed in ("x >= 3", "||", "x == 9", "x - 1", "return {};", "if (false)", "return 1;"):
        assert any(changed in text for text in cpp), changed
    assert all("while (x < 2) x++;" in text for text in cpp)
    java = mutations("java", *JAVA, "")
    for changed in ('""', "x > 3", "false", "(2)"):
        assert any(changed in text for text in java), changed
    js = mutations("js", *JS, "")
    for changed in ("x + 1", "!==", "return x ===", "''", "' '", "undefined", "\n  ;\n"):
        assert any(changed in text for text in js), changed
    for made, (_, reference) in ((cpp, CPP), (java, JAVA), (js, JS)):
        assert reference not in made
        assert len(set(made)) == len(made)


def test_deck_of_another_language():
    """A language without a grammar is refused with those that have one."""
    with pytest.raises(DataError, match="cpp"):
        deck(Prompt(problem_id="p", stub="", reference="x", language="rkt"), 1)
    cards = deck(Prompt(problem_id="p", stub="function f() {\n", reference="}\n", language="js"), 1)
    assert ["}\n", "}\n"] == [card.text for card in cards]


@pytest.mark.skipif(not shutil.which("node"), reason="needs node: apt install nodejs")
def test_run(shell):
    """The true rate of a problem shows in a run: some draws pass, some fail, and the reference passes."""
    row = {
        "id": "own/0",
        "kind": "script",
        "language": "js",
        "prompt": "function f(x) {\n",
        "reference": "  return x > 2 ? 1 : 0;\n}\n",
        "tests": "if (f(3) !== 1 || f(2) !== 0) throw new Error('wrong');",
    }
    shell.write("b.jsonl", [row])
    done = shell("run", "b.jsonl", "--model", "mutant:0.5", "-n", 8, "--run", "r", "--json")
    assert 0 == done.code, done.err
    assert 0 < done.record["statuses"]["passed"] < 8 == done.record["samples"]
