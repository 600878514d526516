"""``passcurve run`` on benchmarks in other languages: prompts, stop words and programs, with a server and compilers."""

from __future__ import annotations

import shutil

import pytest

CPP_TESTS = "}\nint main() {\n    auto candidate = twice;\n    assert(candidate(2) == 4);\n}\n"
ROWS = [
    {
        "name": "own_0_twice",
        "language": "cpp",
        "prompt": "#include<assert.h>\n// Return twice x.\nlong twice(long x) {\n",
        "tests": CPP_TESTS,
        "stop_tokens": ["\n}"],
    },
    {
        "name": "own_1_twice",
        "language": "js",
        "prompt": "// Return twice x.\nfunction twice(x){\n",
        "tests": "const assert = require('node:assert');\nassert.deepEqual(twice(2), 4);\n",
        "stop_tokens": ["\nfunction ", "\n//"],
    },
]


@pytest.fixture
def words(shell, server):
    """Return the words of a run against the server."""
    shell.write("two.jsonl", ROWS)

    def make(*more):
        return ("run", "two.jsonl", "--model", "openai:tiny", "--base-url", server.url, "-n", 1, "--json", *more)

    return make


@pytest.mark.ci
@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++: apt install g++")
def test_text_to_continue(shell, server, words):
    """The model gets the row's prompt and its stop words; what goes beyond them does not count."""
    server.text = lambda body, choice: "    return 2 * x;\n}\nint main() { return 1; }\n"
    server.fault = lambda number, body: "stop left in"
    done = shell(*words("--language", "c++"))
    assert 0 == done.code, done.err
    assert (1, 1) == (done.record["problems"], done.record["statuses"]["passed"])
    (request,) = server.requests
    assert (ROWS[0]["prompt"], ["\n}"]) == (request["prompt"], request["stop"])


@pytest.mark.ci
@pytest.mark.skipif(not shutil.which("node"), reason="needs node: apt install nodejs")
def test_conversation(shell, server, words):
    """The message names the language and has the prompt in its fence; the fence of the answer is the program."""
    code = "function twice(x){\n    return 2 * x;\n}"
    server.text = lambda body, choice: f"Run `make`:\n```sh\nmake\n```\n```javascript\n{code}\n```\n"
    done = shell(*words("--language", "js", "--prompt", "chat"))
    assert 0 == done.code, done.err
    assert 1 == done.record["statuses"]["passed"]
    (message,) = server.requests[0]["messages"]
    assert "JavaScript function" in message["content"]
    assert f"```js\n{ROWS[1]['prompt'].rstrip()}\n```" in message["content"]
    shown = shell("show", next(shell.folder.glob("*.passcurve")), "own_1_twice", 0)
    assert 0 == shown.code, shown.err


def test_wrong_language(shell, server, words):
    """A language that is unknown, or that the file has not, is refused before the first request."""
    for name, hint in (("javascrpt", "javascript"), ("java", "cpp, js")):
        done = shell(*words("--language", name))
        assert (2, False) == (done.code, "Traceback" in done.err)
        assert hint in done.err + done.out
    assert not server.requests
