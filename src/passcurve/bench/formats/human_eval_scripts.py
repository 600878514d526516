"""HumanEval-X and HumanEvalPack in languages other than Python: what stands around a program."""

from __future__ import annotations

import re
from typing import Literal

from passcurve.bench.formats.rows import Row
from passcurve.bench.languages import find_language, with_confirmation
from passcurve.types import Script

LANGUAGES = {"CPP": "cpp", "Java": "java", "JavaScript": "js", "Go": "go", "Rust": "rs"}
"""Our name of each language by that in task ids."""

THROWING_ASSERT = (
    "Object.defineProperty(console, 'assert', { value: (isTrue, ...rest) => "
    "{ if (!isTrue) throw new Error('Assertion failed' + rest.map(String).join(' ')); } });\n"
)
"""JavaScript's tests use ``console.assert``, which only writes a line."""

_GO_PACKAGES = "math strings fmt strconv time bytes regexp sort math/rand crypto/md5".split()
"""What Go's programs have imported where they use it, besides what the tests import."""

_GO_IMPORT = re.compile(r'"([\w./-]+)"')

RUST_END = r"{token}\nok\n+test result: ok\. 1 passed"
"""What the library of Rust's tests writes after the last test."""


def make_prompt(row: Row, language: str) -> str:
    """Return what a completion continues; in Rust and Go it lacks what the tests need."""
    prompt, declaration = row.text("prompt"), row.text("declaration")
    # HumanEval-X has the imports of Rust in the declaration alone.
    if language == "rs" and "fn " not in prompt:
        return prompt + declaration
    return prompt


def make_check(row: Row, language: str) -> Script:
    """Return the check of a row."""
    test = row.text("test")
    confirmed = with_confirmation(find_language(language), test, braces=2 if language == "rs" else None)
    tests = test if confirmed is None else confirmed
    accepts: Literal["token", "exit"] = "exit" if confirmed is None else "token"
    if language == "cpp":
        return Script(language="cpp", tests=tests, accepts=accepts, builds=("crypto",), compile_s=60.0)
    if language == "java":
        return Script(language="java", tests=tests, accepts=accepts, builds=("main",), compile_s=60.0)
    if language == "js":
        return Script(language="js", tests=tests, before=THROWING_ASSERT, accepts=accepts)
    if language == "go":
        setup = row.text("test_setup")
        packages = dict.fromkeys((*_GO_IMPORT.findall(setup), *_GO_PACKAGES))
        return Script(
            language="go",
            tests=tests,
            before=setup.partition("import")[0],
            cut=row.optional_text("import"),
            # An import that is not used does not compile.
            if_used={rf"\b{name.rpartition('/')[2]}\.[A-Z]": f'import "{name}"' for name in packages},
            accepts=accepts,
            builds=("testify",),
            compile_s=60.0,
        )
    end = RUST_END if confirmed is not None else ""
    return Script(language="rs", tests=tests, accepts=accepts, builds=("crates",), line=end, compile_s=60.0)
