"""One language: the words that were retired are gone, and names say what a thing is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "benchmarks", "docs")
TEXTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(path for folder in FOLDERS for kind in ("*.py", "*.md") for path in (ROOT / folder).rglob(kind)),
    ]
)
CODE = [path for path in TEXTS if path.suffix == ".py"]

RETIRED = re.compile(
    r"(?<![.\w])(stems?|commons|keepers?|guests?|bells?|testers?|checkup|second look|"
    r"asked_one_by_one|needs_second_run|_Road|Stems?|Bell|Tester|Alike|Standing|Generating)(?!\w|\(|:)"
)
"""Words of earlier versions, each of which has a standard term now: see docs/glossary.md."""

PARTICIPLES = set("said asked found each given known told learned together apart again".split())
"""Words that say what happened to a thing and not what it is: no name of a variable, function, class or attribute."""


def lines_with_retired_words(path: Path) -> Iterator[str]:
    """Yield the place of each line that has a retired word."""
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if match := RETIRED.search(line):
            yield f"{path.relative_to(ROOT)}:{number}: {match[0]}"


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield each name that a file gives to a thing, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def test_retired_words_are_gone():
    """No line of code or documentation has a word that has been replaced by a standard term."""
    texts = [path for path in TEXTS if path.name not in {"glossary.md", Path(__file__).name}]
    assert [] == [place for path in texts for place in lines_with_retired_words(path)]


def test_no_name_is_a_bare_participle():
    """No variable, argument, attribute, function or class is called by what happened to it alone."""
    wrong = []
    for path in CODE:
        for line, name in names(ast.parse(path.read_text("utf-8"))):
            if name.strip("_") in PARTICIPLES:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {name}")
    assert [] == wrong


def test_docstrings_begin_like_a_manual():
    """No docstring begins with "Of", "What", "How", "Whether" or "Says"."""
    wrong = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
                text = (ast.get_docstring(node) or "").lstrip()
                if re.match(r"(Of|What|How|Whether|Says?)\b", text):
                    wrong.append(f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}: {text[:50]}")
    assert [] == wrong


def test_the_test_finds_what_it_looks_for(tmp_path):
    """A text with a retired word and code with a bare participle are found."""
    assert RETIRED.search("the stem forks")
    assert not RETIRED.search("path.stem")
    assert [(1, "found")] == [pair for pair in names(ast.parse("found = 1")) if pair[1] in PARTICIPLES]
