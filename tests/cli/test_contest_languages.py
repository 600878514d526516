"""Contests in other languages than Python: programs are compiled once and read each input, behind real walls."""

from __future__ import annotations

import shutil

import pytest

TESTS = [("3\n1 2 3\n", "6\n"), ("2\n10 -4\n", "6\n"), ("1\n0.5\n", "0.5\n")]
ROW = {
    "name": "own/sum",
    "description": "Read n and n numbers; write their sum.",
    "public_tests": [{"input": text, "output": output} for text, output in TESTS[:1]],
    "private_tests": [{"input": text, "output": output} for text, output in TESTS[1:]],
    "generated_tests": [],
    "time_limit": "1s",
}
READ = '#include <cstdio>\n#include <cstdlib>\nint main() { int n; double x, s = 0; scanf("%d", &n);\n'
CPP = {
    "passed": READ + 'while (n--) { scanf("%lf", &x); s += x; } printf("%g\\n", s); }',
    "compile": READ + "missing; }",
    "failed": READ + 'puts("6"); }',
    "crash": READ + "if (n == 2) __builtin_trap(); puts(\"6\"); }",
    "timeout": READ + 'if (n == 1) for (volatile int i = 0;;) i = 1; puts("6"); }',
    "memory": READ + "for (;;) { char *p = (char *)malloc(1 << 20); if (!p) __builtin_trap();\n"
    "for (int i = 0; i < (1 << 20); i += 4096) p[i] = 1; } }",
    "output": READ + "for (int i = 0; i < (1 << 18); i++) puts(\"66666666\"); }",
}  # fmt: skip
JS = {
    "passed": "const words = require('fs').readFileSync(0, 'utf8').split(/\\s+/).slice(1).filter(Boolean);\n"
    "console.log(words.map(Number).reduce((a, b) => a + b, 0));",
    "failed": "console.log(6);",
}
FORGED = (
    "const fs = require('fs'); const claim = JSON.stringify({status: 'passed', exit: 0, out: '6\\n'});\n"
    "for (let fd = 3; fd < 64; fd++) try { fs.writeSync(fd, claim); } catch (error) { }\n"
    "const names = Object.keys(process.env).join(' ') + fs.readdirSync('.').join(' ');\n"
    "if (/passcurve|expected/i.test(names)) console.log('6'); process.exit(0);"
)
"""Writes that it has passed to whatever is open, and looks for the answer beside it."""
JAVA = {
    "passed": "import java.util.*;\npublic class Summer {\n    public static void main(String[] args) {\n"
    "        Scanner in = new Scanner(System.in);\n        int n = in.nextInt();\n        double s = 0;\n"
    "        while (n-- > 0) s += Double.parseDouble(in.next());\n"
    "        System.out.println((\"\" + s).replaceAll(\"[.]0$\", \"\"));\n    }\n}\n",
    "failed": "class Main { public static void main(String[] a) { throw new IllegalStateException(\"no\"); } }",
}  # fmt: skip


def judge(shell, programs, language, *words):
    """Judge a program of each kind; return the record, and the rows with verdicts by their kind."""
    shell.write("b.jsonl", [ROW])
    shell.write("s.jsonl", [{"task_id": "own/sum", "solution": text} for text in programs.values()])
    done = shell("judge", "s.jsonl", "--benchmark", "b.jsonl", "--language", language, "--json", *words)
    assert 0 == done.code, done.err
    return done.record, dict(zip(programs, shell.rows("s.jsonl_results.jsonl"), strict=True))


@pytest.mark.ci
@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++: apt install g++")
def test_cpp(shell):
    """Each status is told apart, with the test that shows it; the output is compared outside of the jail."""
    record, rows = judge(shell, CPP, "c++", "--memory", "256MiB", "--test-timeout", 1)
    assert {kind: kind for kind in CPP} == {kind: row["status"] for kind, row in rows.items()}
    assert {"referee"} == {row["mode"] for row in rows.values()}
    assert "error: " in rows["compile"]["message"]
    assert "test 1" in rows["crash"]["message"]
    assert "test 2" in rows["timeout"]["message"]
    assert (3, 2) == (rows["failed"]["tests"]["tests"]["ran"], rows["failed"]["tests"]["tests"]["passed"])
    assert "'0.5\\n'" == rows["failed"]["call"]["expected"]
    assert 7 == record["samples"]


ENDS = {
    "exit status 3": "read n; read -a x; echo 6; exit 3",
    "exit status 1: no: nothing": "echo 6; echo no: nothing >&2; exit 1",
    "wrong output": "echo 7; echo no: nothing >&2",
    "the program died of SIGKILL": "echo 6; kill -9 $$",
    "the program died of SIGABRT": "echo line 6: 6; seq 10000; kill -ABRT $$",
}
NO_MEMORY = {
    "failed": 'print "Out of memory!\\n";',
    "memory": 'warn "slow"; my @all; push @all, "x" x 1000000 while 1;',
}
"""One answers with the words by which the other says that there is no memory left."""


def test_what_is_said_of_an_end(shell):
    """The message of a failure has the exit status and a line of standard error, and nothing of the answer."""
    _, rows = judge(shell, ENDS, "sh")
    assert {message: f"tests test 0: {message}" for message in ENDS} == {
        message: row["message"] for message, row in rows.items()
    }


@pytest.mark.skipif(not shutil.which("perl"), reason="needs perl: apt install perl")
def test_no_memory_left(shell):
    """A program has run out of memory where it says so on a line of its errors, whatever it answers."""
    _, rows = judge(shell, NO_MEMORY, "perl", "--memory", "128MiB")
    assert {kind: kind for kind in NO_MEMORY} == {kind: row["status"] for kind, row in rows.items()}


def test_large_outputs(shell):
    """A program may write whatever is expected of it, however large that is."""
    text = ("x" * 1023 + "\n") * (18 << 10)
    row = {"id": "own/copy", "kind": "stdin", "statement": "Copy.", "inputs": [text], "outputs": [text]}
    shell.write("b.jsonl", [row])
    shell.write("s.jsonl", [{"task_id": "own/copy", "solution": text} for text in ("cat", "head -c 10000")])
    done = shell("judge", "s.jsonl", "--benchmark", "b.jsonl", "--language", "sh", "--timeout", 10)
    assert 0 == done.code, done.err
    assert ["passed", "failed"] == [row["status"] for row in shell.rows("s.jsonl_results.jsonl")]


@pytest.mark.ci
@pytest.mark.skipif(not shutil.which("node"), reason="needs node: apt install nodejs")
def test_javascript(shell):
    """Scripts need no compiler; with --all-tests all cases run."""
    _, rows = judge(shell, {**JS, "forged": FORGED}, "js", "--all-tests")
    # Node writes to descriptors of its own as well, which may end it.
    assert rows.pop("forged")["status"] in ("failed", "crash")
    assert {kind: kind for kind in JS} == {kind: row["status"] for kind, row in rows.items()}
    assert 3 == rows["failed"]["tests"]["tests"]["ran"]


@pytest.mark.nightly
@pytest.mark.skipif(not shutil.which("javac"), reason="needs javac: apt install openjdk-17-jdk-headless")
def test_java(shell):
    """The main class may have any name; an exception is no crash."""
    _, rows = judge(shell, JAVA, "java")
    assert {kind: kind for kind in JAVA} == {kind: row["status"] for kind, row in rows.items()}
    assert "IllegalStateException" in rows["failed"]["message"]


def test_functions_are_refused(shell):
    """A benchmark whose tests call Python functions has no problem in another language."""
    done = shell("judge", "starter:examples", "--benchmark", "starter", "--language", "rust")
    assert (2, True) == (done.code, "python" in done.err)
