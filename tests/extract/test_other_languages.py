"""Texts of models in other languages than Python become programs that fit the prompt and the tests."""

from __future__ import annotations

import time
from typing import Literal

import msgspec
import pytest

from passcurve.bench.languages import languages
from passcurve.bench.writing import choose_language, find_writing, language_name
from passcurve.errors import UnknownNameError, UsageError
from passcurve.extract import extract
from passcurve.extract.braces import blank_texts
from passcurve.judging.whole_programs import make_program_steps
from passcurve.types import Completion, Limits, Problem, SampleKey, Script

CPP = Problem(
    id="cpp/0",
    prompt="#include <vector>\n// two(1) calls it: returns twice x\nlong twice(long x) {\n",
    entry_point="",
    check=Script(language="cpp", tests="}\nint main() {\n    if (twice(2) != 4) return 1;\n}\n"),
    stop=("\n}",),
)
JAVA = Problem(
    id="java/0",
    prompt="import java.util.*;\nclass Problem {\n    // Return twice x.\n    public static long twice(long x) {\n",
    entry_point="",
    check=Script(language="java", tests="    }\n    public static void main(String[] args) {\n    }\n}\n"),
    stop=("\n    }\n",),
)
JS = Problem(
    id="js/0",
    prompt="// Return twice x.\nfunction twice(x){\n",
    entry_point="",
    check=Script(language="js", tests="if (twice(2) !== 4) throw new Error();\n"),
    stop=("\nfunction ", "\n//"),
)
GO = Problem(
    id="go/0",
    prompt='package twice_test\n\nimport (\n    "testing"\n)\n\nfunc twice(x int) int {\n',
    entry_point="",
    check=Script(language="go", tests="func TestTwice(t *testing.T) {}\n"),
)


def script(language: str, prompt: str, tests: str) -> Problem:
    """Return a problem whose tests are a script in a language."""
    return Problem(id=f"{language}/0", prompt=prompt, entry_point="", check=Script(language=language, tests=tests))


def program(
    problem: Problem, text: str, policy: str = "auto", form: Literal["completion", "solution"] = "completion"
) -> str:
    """Return the program of a text."""
    key = SampleKey(problem_id=problem.id, sample_index=0)
    made = extract(problem, Completion(key=key, row=0, line=1, digest="d", form=form, text=text, missing=""), policy)
    assert made.text is not None
    return made.text


def test_continuation_is_cut() -> None:
    """A text that goes on is cut before the first stop word, with or without the prompt in front."""
    text = "    return 2 * x;\n}\nint main() { return 3; }\n"
    for form, whole in (("completion", text), ("solution", CPP.prompt + text)):
        assert CPP.prompt + "    return 2 * x;" == program(CPP, whole, form=form)
    js = "    return 2 * x;\n}\n\nfunction more() {}\n"
    assert JS.prompt + "    return 2 * x;\n}\n" == program(JS, js)


@pytest.mark.parametrize("name", ["cpp", "c++", "C++"])
def test_fence_of_the_language(name: str) -> None:
    """The fence that names the language counts; a whole function keeps what only the prompt has, and stays open."""
    code = "long half(long x) { return x / 2; }\nlong twice(long x) {\n    return 2 * x; // }\n}\n"
    text = f"Build it:\n```bash\nmake\n```\n```{name}\n{code}\nint main() {{\n  if (1) {{ }}\n}}\n```\nDone }}."
    assert "#include <vector>\n" + code.removesuffix("}\n") == program(CPP, text)


def test_first_fence_without_a_name() -> None:
    """Without a fence of the language the first that declares the function counts, else the first."""
    assert "    return 2;" in program(CPP, "```\n    return 2;\n```\n```\nrest\n```")
    assert "    return 3;" in program(CPP, "```\n    return 2;\n```\n```\nlong twice(long x) {\n    return 3;\n}\n```")
    assert "    return 2;" in program(CPP, "```cpp\n    return 1;\n```\n```cpp\n    return 2;\n```", "fence-last")


def test_the_last_version_of_a_function_counts() -> None:
    """A correction replaces a draft; an outline, an import of the function and a version that is cut off do not."""
    draft, right = (f"```js\nfunction twice(x) {{\n  return {body};\n}}\n```\n" for body in ("x", "2 * x"))
    assert "return 2 * x;" in program(JS, f"First:\n{draft}Wait, corrected:\n{right}")
    for other in (
        "```js\nfunction twice(x) {\n  // your code\n}\n```\n",
        "```js\nconst twice = require('./twice');\nconsole.log(twice(2));\n```\n",
        "```js\nfunction twice(x) {\n  return x\n",
        "```js\nconsole.log(twice(2));\n```\n",
    ):
        assert "return 2 * x;" in program(JS, f"{right}\nThe other:\n{other}")
    # Alone an outline is what the model wrote.
    assert "// your code" in program(JS, "```js\nfunction twice(x) {\n  // your code\n}\n```\n")
    assert "x + x" in program(JS, f"{draft}Shorter:\n```js\nconst twice = x => x + x;\nlet o = {{}};\n```\n")


def test_java_class() -> None:
    """A class keeps its other methods and loses its main and its last braces; one of another name is renamed."""
    body = "    public static long twice(long x) {\n        return add(x, x);\n    }\n"
    more = "    static long add(long a, long b) {\n        return a + b;\n    }\n"
    main = '    public static void main(String[] args) {\n        System.out.println("}");\n    }\n'
    made = program(JAVA, f"```java\npublic class Solution {{\n{body}{main}{more}}}\n```")
    assert made.startswith("import java.util.*;\nclass Problem {\n")
    assert "main" not in made
    assert made.endswith("return a + b;\n")
    bare = program(JAVA, f"```java\n{body}```")
    assert bare.startswith(JAVA.prompt.rpartition("    public")[0])
    assert bare.endswith("add(x, x);\n")


def test_go_imports() -> None:
    """A whole file gets the package and the imports of the prompt, each import once."""
    made = program(
        GO,
        '```go\npackage main\n\nimport (\n\t"strings"\n\t"testing"\n)\n\n'
        "func twice(x int) int { return len(strings.Repeat(string(rune(x)), 2)) }\n```",
    )
    assert made.startswith('package twice_test\n\nimport (\n    "testing"\n)\nimport "strings"\n')
    assert 1 == made.count("testing")


def test_helpers_of_the_prompt() -> None:
    """A function that only the prompt has stands in front of a whole answer, behind the imports of a Go file."""
    helper = "func add(a int, b int) int {\n    return a + b\n}\n\n"
    problem = msgspec.structs.replace(GO, prompt=GO.prompt.replace("func twice", helper + "func twice"))
    made = program(problem, '```go\nimport "sort"\nfunc twice(x int) int { return add(x, x) }\n```')
    assert made.index("testing") < made.index("sort") < made.index("func add") < made.index("func twice")
    assert 1 == program(problem, f"```go\n{helper}func twice(x int) int {{ return add(x, x) }}\n```").count("func add")


def test_rust_imports() -> None:
    """An import whose names the prompt brings already is dropped, and so is the main function."""
    prompt = "fn main(){}\n\nuse std::{cmp::max, collections::{HashMap, HashSet}};\n\nfn twice(x: i32) -> i32 {\n"
    problem = Problem(
        id="rs/0", prompt=prompt, entry_point="", check=Script(language="rs", tests="#[test]\nfn t() {}\n")
    )
    code = "use std::collections::HashMap;\nuse std::fmt;\nfn twice(x: i32) -> i32 { 2 * x }\nfn main() { twice(1); }\n"
    made = program(problem, f"```rust\n{code}```")
    assert (1, 1, 1) == (made.count("HashMap"), made.count("use std::fmt;"), made.count("fn main"))


MAIN = "public class Main { public static void main(String[] a) { } }\n"


@pytest.mark.parametrize("unit", ["@A\n", "@A(\n", "@A(x)\n\n", f"@{'a' * 50}\n", "class A\n", "public\n", "'\\"])
def test_names_of_classes_take_no_time(unit: str) -> None:
    """The classes of a whole program are looked for whatever its length, before it runs in any jail."""
    began = time.process_time()
    steps = make_program_steps(languages()["java"], MAIN + unit * (300_000 // len(unit)), 10.0, Limits())
    assert any("Main.java" in str(step.setup) for step in steps)
    assert time.process_time() - began < 2.0


@pytest.mark.parametrize("unit", ["'\\", "'a\n", "'{\n", "'\\'", "'\\\n"])
def test_quotes_that_do_not_end_take_no_time(unit: str) -> None:
    """In languages whose single quotes enclose texts of any length each of these looked for its end."""
    began = time.process_time()
    for language in ("scala", "js", "php"):
        assert blank_texts(unit * (60_000 // len(unit)), find_writing(language))
    assert time.process_time() - began < 3.0


def test_raw_changes_nothing() -> None:
    """The default policy neither cuts nor looks for fences."""
    text = "```cpp\n}\n```\n}\n}"
    assert CPP.prompt + text == program(CPP, text, "raw")


@pytest.mark.parametrize("text", ["{" * 60000, '"' * 60001, "twice(" * 10000, "/*" * 30000, "long twice(" * 6000])
def test_hostile_text_takes_no_time(text: str) -> None:
    """Every text becomes some program; patterns that go back and forth would never end on these."""
    assert program(CPP, f"```cpp\nlong twice(long x) {{\n{text}\n}}\n```")
    assert program(JAVA, text)


def test_names_of_languages() -> None:
    """Usual names are known; an unknown one is refused with the nearest, and so is one that a file has not."""
    names = {"C++": "cpp", "javascript": "js", "bash": "sh", "C#": "cs", "py": "python"}
    assert list(names.values()) == [language_name(name) for name in names]
    with pytest.raises(UnknownNameError, match="'java'"):
        language_name("jaav")
    assert ((CPP,), True) == choose_language((CPP, JS), "cpp", "x.jsonl")
    with pytest.raises(UsageError, match="cpp, js"):
        choose_language((CPP, JS), "java", "x.jsonl")


def test_whole_program_without_a_prompt_is_not_cut() -> None:
    """Where there is no prompt to go on from, a whole program keeps what stands behind a stop word."""
    problem = msgspec.structs.replace(CPP, prompt="", stop=("\nlong ",))
    text = "#include <vector>\nlong twice(long x) {\n    return 2 * x;\n}\n"
    for form in ("completion", "solution"):
        assert "long twice" in program(problem, text, form=form)


def test_an_import_of_go_goes_with_the_main_that_used_it() -> None:
    """An import that nothing uses would keep the program from compiling; one that it never used is the model's."""
    text = 'package main\n\nimport (\n    "fmt"\n    "math"\n    m2 "math/rand/v2"\n)\n\n' + (
        "func twice(x int) int {\n    return int(math.Abs(float64(2 * x)))\n}\n\n"
    )
    main = "func main() {\n    fmt.Println(twice(2), m2.Int())\n}\n"
    whole = program(GO, f"```go\n{text}{main}```\n")
    assert 'import "math"\n' in whole
    assert "fmt" not in whole
    assert "m2" not in whole
    assert 'import "fmt"\n' in program(GO, f"```go\n{text}```\n")


def test_an_example_with_a_name_does_not_hide_a_program_without_one() -> None:
    """Where no block that names the language declares the function, the block that does is the program."""
    whole = f"{JS.prompt}    return 2 * x;\n}}\n"
    text = f"```\n{whole}```\nUse it:\n```js\nconsole.log(twice(2));\n```\n"
    assert whole.rstrip() == program(JS, text).rstrip()


@pytest.mark.parametrize("name", ["js", "JavaScript "])
@pytest.mark.parametrize("end", ["", "```", "```\nIt doubles.\n"])
def test_the_language_in_front_where_the_prompt_opened_the_fence(name: str, end: str) -> None:
    """A first line that only names the language is the rest of a fence; another word is part of the program."""
    whole = f"{JS.prompt}    return 2 * x;\n}}\n"
    assert whole.rstrip() == program(JS, f"{name}\n{whole}{end}").rstrip()
    assert program(JS, f"python\n{whole}").startswith("python\n")


def test_a_closing_fence_that_the_prompt_opened() -> None:
    """The text before the first fence is the program where it ends as code does, and what follows is not."""
    body = "    return 2 * x;\n"
    for more in ("", "\nIt works for all x.\n", "\nUse it:\n```js\nconsole.log(twice(2));\n```\n"):
        assert JS.prompt + body + "}\n" == program(JS, f"{body}}}\n```\n{more}").rstrip("\n") + "\n"
        assert "return 2 * x;" in program(CPP, f"{body}```\n{more}")
    whole = f"{JS.prompt}{body}}}\n"
    assert whole.rstrip() == program(JS, f"{whole}```\nDone.").rstrip()
    assert "return 3 * x;" in program(JS, f"Here it is (in JavaScript)\n```\n{whole.replace('2', '3')}```")
    assert "return 3;" in program(JS, "Here is the body:\n```\n    return 3;\n}\n```")


@pytest.mark.parametrize(
    "prose",
    [
        "This function returns twice x.",
        "**Explanation**\n\nIt doubles.",
        "### How it works",
        "Explanation:\n- twice",
        "1. Take the number.",
    ],
)
def test_prose_behind_a_program_is_dropped(prose: str) -> None:
    """What a model says behind its program without a fence is not code, and whatever is code stays."""
    code = "    return 2 * x;\n}\n\nconst MORE = { a: 1 };\n"
    problem = msgspec.structs.replace(JS, stop=())
    assert JS.prompt + code == program(problem, f"{code}\n{prose}\n{{x}}").rstrip("\n") + "\n"
    assert "return 2 * x;" in program(problem, f"{JS.prompt}{code}\n{prose}")
    assert prose.split("\n", maxsplit=1)[0] not in program(problem, f"{JS.prompt}{code}\n{prose}")


@pytest.mark.parametrize(
    "code",
    [
        "    return `\n)\nThis text has words in it\n`;\n}\n",
        "    /*\n    f(x)\nThis text has words in it\n    */\n    return 1;\n}\n",
        "    return f(\n        x)\n}\nMath.max(1, 2)\nSet a;\nBig numbers are {\n}\n",
    ],
)
def test_code_is_no_prose(code: str) -> None:
    """Lines within comments and texts, and statements that begin with a capital letter, stay."""
    problem = msgspec.structs.replace(JS, stop=())
    assert JS.prompt + code == program(problem, code)


@pytest.mark.parametrize(
    "prose",
    [
        "Here is the function:\n",
        "Sure! Here is the code.\nIt doubles its argument, and\nreturns it.\n\n",
        "**Solution**\n\n- It is short.\n* It is right.\n\n",
    ],
)
@pytest.mark.parametrize(
    "code", ["function twice(x) {\n    return 2 * x;\n}\n", "// Twice.\nconst twice = x =>\n    2 * x;\n"]
)
def test_prose_in_front_of_a_program_is_dropped(prose: str, code: str) -> None:
    """Prose in front of a program without a fence is dropped, and prose behind it, too."""
    assert code == program(JS, prose + code)
    assert code == program(JS, f"{prose}{code}\nThis function takes one number.\n").rstrip("\n") + "\n"
    assert f"{JS.prompt}    return 2 * x;\n}}\n" == program(JS, "    return 2 * x;\n}\n")


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("rb", "## Return the length.\nEXTRA = 0\ndef size(s)\n  s.length + EXTRA\nend\n"),
        ("r", "## Return the length.\nEXTRA <- 0\nsize <- function(s) {\n  nchar(s) + EXTRA\n}\n"),
    ],
)
def test_a_remark_is_no_prose(language: str, code: str) -> None:
    """A program that begins with a comment loses nothing, whatever Markdown would make of it."""
    problem = script(language, code.partition("\n")[0] + "\n", "size('a')\n")
    assert code == program(problem, code, form="solution").rstrip("\n") + "\n"


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("lua", "local extra = 0\nlocal function size(s)\n    return #s + extra\nend\n"),
        ("cpp", "template <typename T>\nT size(T s) {\n    return s;\n}\n"),
        ("jl", "const EXTRA = 0\n\nfunction size(s)\n    length(s) + EXTRA\nend\n"),
    ],
)
@pytest.mark.parametrize(
    "prose", ["Here is the code you asked for.\n\n", "Here is the code:\n", "Sure!\nHere it is.\n\n- It is short;\n\n"]
)
def test_what_stands_before_a_function_is_kept(language: str, code: str, prose: str) -> None:
    """Code begins a paragraph, or stands behind a colon, whatever it begins with."""
    prose = prose.replace("Sure!\nHere it is.", "Sure! Here it is.")
    assert code == program(script(language, "", "size(1)\n"), prose + code, form="solution").rstrip("\n") + "\n"


def test_last_return_of_lua() -> None:
    """A module's last statement may not stand before tests; a function's stays."""
    lua = script("lua", "-- Return twice x.\nlocal function twice(x)\n", "print(twice(1))\n")
    code = "local function twice(x)\n    return 2 * x\nend\n"
    assert code == program(lua, f"{code}\nreturn twice\n", form="solution").rstrip("\n") + "\n"
    assert code == program(lua, code, form="solution")


def test_program_is_left_open_once() -> None:
    """Braces go until the tests can close as many as they do, and none of a text that was cut before its last."""
    open_text = f"{CPP.prompt}    if (x) {{\n        return 1;\n    }}\n"
    assert open_text == program(CPP, open_text, form="solution")
    whole = "long twice(long x) {\n    if (x) {\n        return 1;\n    }\n}\n// O(1) {constant}\n"
    assert program(CPP, f"```cpp\n{whole}```").endswith("return 1;\n    }\n")
    sh = script("sh", "#!/bin/bash\n# twice\ntwice() {\n", "}\n[[ $(twice 1) = 2 ]]\n")
    shell = "twice() {\n    local x=${1//a/b} # it's {\n    echo $((2 * x))\n}\n"
    for usage in ("", "\n# Example\ntwice 3\n", "\nif true; then\n    twice 4\nfi\n"):
        assert program(sh, f"```bash\n{shell}{usage}```").endswith("echo $((2 * x))\n")


def test_java_of_replies() -> None:
    """A class for main, a package, a helper class behind, and a method with its imports become what the tests need."""
    method = "    public static long twice(long x) {\n        return 2 * x;\n    }\n"
    main = "public class Main {\n    public static void main(String[] args) {\n    }\n}\n"
    helper = "class Helper {\n    int value;\n}\n"
    made = program(JAVA, f"```java\npackage a.b;\n\npublic class Problem {{\n{method}}}\n\n{helper}\n{main}```")
    assert "package" not in made
    assert "Main" not in made
    assert made.index("class Helper") < made.index("class Problem")
    assert made.endswith("return 2 * x;\n")
    closed = Script(language="java", tests="public class Main {\n    public static void main(String[] a) {}\n}\n")
    problem = msgspec.structs.replace(JAVA, check=closed)
    bare = program(problem, f"```java\nimport java.util.function.*;\n{method}```")
    assert bare.startswith("import java.util.function.*;\nimport java.util.*;\nclass Problem {\n")
    assert bare.endswith("return 2 * x;\n    }\n}\n")


def test_own_tests_go() -> None:
    """Tests that a model adds to its program have the names of the benchmark's, so they go, and so do two mains."""
    rust = script(
        "rs", "fn main(){}\n\nfn twice(x: i32) -> i32 {\n", "#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() {}\n}\n"
    )
    whole = "fn twice(x: i32) -> i32 {\n    2 * x\n}\n"
    tests = "#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn works() {}\n}\n"
    made = program(rust, f"```rust\nfn main(){{}}\n{whole}\nfn main() {{\n    twice(1);\n}}\n\n{tests}```")
    assert (1, 0) == (made.count("fn main"), made.count("mod tests"))
    go = "func twice(x int) int {\n    return 2 * x\n}\n\nfunc TestTwice(t *testing.T) {\n    t.Fail()\n}\n"
    assert "Fail" not in program(GO, f"```go\n{go}```")


def test_exports_and_ends() -> None:
    """What hands names to other modules, or ends a program before the tests, goes."""
    for line in ("export ", "export default ", "export async "):
        assert "export" not in program(JS, f"```js\n{line}function twice(x) {{ return 2 * x; }}\n```")
    for line in ("export { twice };", "export default twice;", "export {\n    twice\n};"):
        assert "export" not in program(JS, f"```js\nfunction twice(x) {{ return 2 * x; }}\n{line}\n```")
    perl = script("pl", "# twice\nsub twice {\n", "exit(twice(1) != 2);\n")
    assert program(perl, "```perl\nsub twice {\n    2 * $_[0]\n}\n1;\n__END__\n=head1 Twice\n```").endswith("1;\n")


def test_a_call_is_no_declaration() -> None:
    """A line that calls the function again, or a prototype, declares nothing: the text goes on from the prompt."""
    text = "    return x == 0 ? 0\n        : 2 +\n        1 * twice(x - 1);\n"
    assert CPP.prompt + text.rstrip("\n") == program(CPP, text).rstrip("\n")


TEXTS = {
    "cpp": 'const char *HELP = R"(Usage: twice [x] (y)\nPrints the double of it\n)";\n',
    "sh": "usage() {\n  cat <<EOF\nUsage: twice [x]\nPrints the double of it\nEOF\n}\n",
    "pl": "=head1 SYNOPSIS\n\n  twice($x);\n\nReturns the double of it.\n\n=cut\n",
    "rb": "TEXT = <<-EOS\nCall twice(x)\nReturns the double of it\nEOS\n",
    "lua": "--[==[\ntwice(x)\nReturns the double of it\n]==]\n",
    "rkt": "#|\n(twice 2)\nReturns the double of it\n|#\n",
    "r": 'help <- "twice(x)\nReturns the double of it"\n',
}


@pytest.mark.parametrize("language", TEXTS)
def test_sentences_inside_a_program_stay(language: str) -> None:
    """Texts and comments of several lines hold sentences, in front of the function and behind it, fenced or not."""
    problem = script(language, "", "tests\n")
    for text in (f"first(x)\n{TEXTS[language]}last\n", f"```\nfirst(x)\n{TEXTS[language]}last\n```\n"):
        assert TEXTS[language] in program(problem, text, form="solution")


@pytest.mark.parametrize(
    "remark", ["    // Example usage\n", "    /** Runs it: { */\n", "    } // end\n    static int x;\n    {\n"]
)
def test_remarks_above_a_dropped_main(remark: str) -> None:
    """A comment above a program's own main, or behind its last method, is no code that stands behind it."""
    method = "    public static long twice(long x) {\n        return 2 * x;\n    }\n"
    main = "    public static void main(String[] args) {\n        twice(1);\n    }\n"
    made = program(JAVA, f"```java\nclass Problem {{\n{method}{remark}{main}}} // Problem\n```")
    depth = made.count("{") - made.count("}")
    assert 2 == depth - ("Runs it: {" in made)


def test_a_program_without_a_brace_to_leave_open_gets_a_block() -> None:
    """Where the tests begin by closing a block and the program ends with none, an empty one is opened for them."""
    scala = script(
        "scala",
        "object Problem {\n    // Twice.\n    def twice(x : Long) : Long = {\n",
        "    }\n    def main(args: Array[String]) = {\n    }\n}\n",
    )
    made = program(scala, "```scala\nobject Problem {\n  def twice(x: Long): Long = x + x\n}\n```")
    assert made.endswith("x + x\nlocally {\n")
    made = program(CPP, "```cpp\nlong twice(long x) { return 2 * x; }\nstruct Unused { int a; };\n```")
    assert made.endswith("struct Unused { int a; };\nstatic void unused_() {\n")


@pytest.mark.parametrize("unit", [" ", "\t", " \n", "; ;", "\n;\n", '"\\', "/* ", "{ ", "} ", "'", "import (\n"])
@pytest.mark.parametrize("problem", [CPP, JAVA, JS, GO])
def test_a_text_that_repeats_takes_no_time(unit: str, problem: Problem) -> None:
    """Base models repeat themselves; each of these took up to a minute and a half."""
    began = time.process_time()
    for text in (f"```\n{unit * (60_000 // len(unit))}", f"{problem.prompt}{unit * (30_000 // len(unit))}x\n}}\n}}\n"):
        program(problem, text + "x")
    assert time.process_time() - began < 5.0
