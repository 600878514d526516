"""``/run_code`` as SandboxFusion has it, by requests like those of verl's client, behind real walls."""

from __future__ import annotations

import base64
import itertools
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

pytest.importorskip("uvicorn", reason="the extra serve is not installed")

ANSWER = {"status", "message", "compile_result", "run_result", "executor_pod_name", "files"}
RESULT = {"status", "execution_time", "return_code", "stdout", "stderr"}


@pytest.fixture(scope="module")
def client(shell_in, tmp_path_factory) -> Iterator[httpx.Client]:
    """Start a server for programs."""
    shell = shell_in(tmp_path_factory.mktemp("programs"))
    with shell.serve("--memory", "512MiB", "--workers", 2) as (started, _):
        if started.get("/v1/ping").status_code != 200:
            pytest.skip("programs cannot be isolated here")
        yield started


def run(client: httpx.Client, code: str, language: str = "python", **fields: Any) -> dict[str, Any]:
    """Send all eight fields, as verl does, and return the answer, each field of which must be there."""
    request = {
        "compile_timeout": 20,
        "run_timeout": 2,
        "code": code,
        "stdin": "3 4\n",
        "memory_limit_MB": 1024,
        "language": language,
        "files": {},
        "fetch_files": [],
    }
    answer = client.post("/run_code", json=request | fields)
    assert 200 == answer.status_code, answer.text
    record: dict[str, Any] = answer.json()
    assert record.keys() == ANSWER
    for result in (record["compile_result"], record["run_result"]):
        assert result is None or result.keys() == RESULT
    return record


@pytest.mark.parametrize(
    ("code", "status", "run_status", "return_code", "stdout"),
    [
        ("print(sum(map(int, input().split())))", "Success", "Finished", 0, "7\n"),
        ("import sys; sys.exit(3)", "Failed", "Finished", 3, ""),
        ("print(1); 1 / 0", "Failed", "Finished", 1, "1\n"),
        ("import os; os.kill(os.getpid(), 9)", "Failed", "Finished", -9, ""),
        ("while True: pass", "Failed", "TimeLimitExceeded", None, ""),
        ("print('\\u00e9\\x00')", "Success", "Finished", 0, "\u00e9\x00\n"),
        ("print('x' * 1_000_000)", "Success", "Finished", 0, "x" * 1_000_000 + "\n"),
        ("import os; os.write(1, bytes(range(128, 256)))", "Success", "Finished", 0, None),
        ("", "Success", "Finished", 0, ""),
        ("(", "Failed", "Finished", 1, ""),
    ],
)
def test_ends_of_a_program(client: httpx.Client, code, status, run_status, return_code, stdout):
    """Each end has the status, the return code and the output that clients expect."""
    answer = run(client, code)
    result = answer["run_result"]
    assert (status, run_status, return_code) == (answer["status"], result["status"], result["return_code"])
    assert stdout is None or stdout == result["stdout"]


@pytest.mark.ci
@pytest.mark.parametrize(
    ("code", "return_codes"),
    [
        ("x = b'x' * (1 << 30)", {1}),
        # Together they hold too much, each alone does not.
        ("import os\nos.fork(); os.fork()\nx = b'x' * (300 << 20)\nwhile True: pass", {137}),
    ],
)
def test_too_much_memory(client: httpx.Client, code, return_codes):
    """A program over the limit fails, and the message says why for machines."""
    answer = run(client, code, run_timeout=10)
    assert ("Failed", "memory") == (answer["status"], answer["message"])
    assert answer["run_result"]["return_code"] in return_codes


def test_files_of_a_request(client: httpx.Client):
    """Files stand in the working folder; names that lead out of it are refused, and so is what is no base64."""
    files = {"a/b.txt": base64.b64encode(b"hello").decode(), "empty": None}
    code = "import os; print(open('a/b.txt').read(), os.path.getsize('empty'))"
    assert "hello 0\n" == run(client, code, files=files)["run_result"]["stdout"]
    for name in ("../x", "/etc/x", "", "a/../../x", "a\x00", ".", "./", "\u00e9" * 190, ".stdin", ".stdin/x"):
        body = {"code": "", "language": "python", "files": {name: ""}}
        assert 422 == client.post("/run_code", json=body).status_code, name
    body = {"code": "", "language": "python", "files": {"a": "", "a/b": ""}}
    assert 422 == client.post("/run_code", json=body).status_code
    deep = {f"{number:x}/" + "a/" * 90 + "b": "" for number in range(100)}
    body = {"code": "", "language": "python", "files": deep}
    assert 422 == client.post("/run_code", json=body).status_code
    body = {"code": "", "language": "python", "files": {"x": "*"}}
    assert 422 == client.post("/run_code", json=body).status_code


@pytest.mark.parametrize(
    ("language", "name"), [("python", "main.py"), ("python", "./main.py"), ("bash", "test.sh"), ("java", "classes")]
)
def test_files_in_the_place_of_our_own(client: httpx.Client, language, name):
    """A file with the name of the program, or of a file that its compiler makes, is refused; the error names it."""
    if language == "java" and not shutil.which("javac"):
        pytest.skip("needs javac: apt install openjdk-17-jdk-headless")
    body = {"code": "", "language": language, "files": {name: ""}}
    answer = client.post("/run_code", json=body)
    assert (422, True) == (answer.status_code, name.removeprefix("./") in answer.json()["error"])


@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++: apt install g++")
def test_files_of_a_compiler(client: httpx.Client):
    """A compiler finds the files of a request beside the source, and compiles it again with others."""
    code = '#include <cstdio>\n#include "data/answer.h"\nint main() { std::printf("%d", ANSWER); }\n'
    for number in (5, 6):
        header = base64.b64encode(f"#define ANSWER {number}\n".encode()).decode()
        answer = run(client, code, "cpp", files={"data/answer.h": header})
        assert (str(number), 0) == (answer["run_result"]["stdout"], answer["compile_result"]["return_code"])


@pytest.mark.ci
def test_files_that_are_fetched(client: httpx.Client):
    """What a program leaves comes back in base64; what is no file, too large or not there is left out."""
    code = """
import os
open('a.txt', 'w').write('hello')
os.mkdir('d')
open('d/b', 'wb').write(bytes(range(256)))
for make in (lambda: os.symlink('/etc/passwd', 'link'), lambda: os.mkfifo('pipe')):
    try:
        make()
    except OSError:
        pass
open('large', 'w').write('x' * (3 << 20))
print('done')
raise SystemExit(3)
"""
    names = ["a.txt", "d/b", "d", "link", "pipe", "large", "none"]
    answer = run(client, code, fetch_files=names)
    assert (3, "done\n") == (answer["run_result"]["return_code"], answer["run_result"]["stdout"])
    assert {"a.txt": b"hello", "d/b": bytes(range(256))} == {
        name: base64.b64decode(text) for name, text in answer["files"].items()
    }
    assert {} == run(client, code)["files"]
    killed = run(client, "open('a', 'w').write('1')\nimport os\nos.abort()", fetch_files=["a"])
    assert (-6, {"a": "MQ=="}) == (killed["run_result"]["return_code"], killed["files"])
    assert {} == run(client, "while True: pass", fetch_files=["a"], run_timeout=0.5)["files"]
    assert {"a": "eAo="} == run(client, "echo x > a", "bash", fetch_files=["a"])["files"]


@pytest.mark.parametrize(
    "body",
    [{"code": "", "language": "cobol"}, {"language": "python"}, [], {"code": 5, "language": "python"},
     {"code": "", "language": "python", "run_timeout": -1}, {"code": "", "language": "python", "run_timeout": 1e-9},
     {"code": "", "language": "python", "run_timeout": 1e9},
     {"code": "", "language": "python", "fetch_files": ["../x"]}],
)  # fmt: skip
def test_what_is_no_request(client: httpx.Client, body):
    """422 for what can never be run, with a reason."""
    answer = client.post("/run_code", json=body)
    assert 422 == answer.status_code
    assert answer.json()["error"]


def test_nothing_of_the_host(client: httpx.Client, tmp_path):
    """A program sees no file of ours, no process and no network, and leaves nothing to the next."""
    secret = tmp_path / "secret"
    secret.write_text("secret")
    secret.chmod(0o644)
    attempts = f"""
import os, socket
def tries(name, function):
    try:
        function()
        print(name)
    except Exception:
        pass
tries("file", lambda: open({str(secret)!r}).read())
tries("passwd", lambda: open("/etc/shadow").read())
tries("network", lambda: socket.create_connection(("127.0.0.1", {client.base_url.port}), 1))
tries("kill", lambda: os.kill(1, 9))
tries("before", lambda: open("left").read())
open("left", "w").write("x")
"""
    for _ in range(3):
        assert "" == run(client, attempts)["run_result"]["stdout"]


@pytest.mark.ci
@pytest.mark.parametrize(
    ("tool", "language", "right", "wrong"),
    [
        (
            "g++",
            "cpp",
            "#include <iostream>\nint main(){int a,b;std::cin>>a>>b;std::cout<<a+b<<std::endl;}",
            "int main({",
        ),
        (
            "node",
            "nodejs",
            "const [a,b]=require('fs').readFileSync(0,'utf8').split(' ').map(Number);console.log(a+b)",
            "(",
        ),
        ("bash", "bash", "read a b; echo $((a+b))", "if"),
        (
            "javac",
            "java",
            "import java.util.*; public class Main { public static void main(String[] x) {"
            " Scanner s = new Scanner(System.in); System.out.println(s.nextInt() + s.nextInt()); } }",
            "class",
        ),
    ],
)
def test_other_languages(client: httpx.Client, tool, language, right, wrong):
    """A right program writes the sum; a wrong one fails where its compiler or its interpreter says so."""
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    answer = run(client, right, language, run_timeout=10)
    assert ("Success", "7\n") == (answer["status"], answer["run_result"]["stdout"])
    answer = run(client, wrong, language, run_timeout=10)
    assert "Failed" == answer["status"]
    failed = answer["compile_result"] or answer["run_result"]
    assert 0 != failed["return_code"]
    assert failed["stderr"]


@pytest.mark.ci
def test_many_at_once(client: httpx.Client):
    """Each of a hundred requests at once has its own answer."""
    wrong: list[object] = []

    def ask(number: int) -> None:
        answer = run(client, f"print({number} + int(input().split()[0]))", run_timeout=10)
        if f"{number + 3}\n" != (answer["run_result"] or {}).get("stdout"):
            wrong.append((number, answer))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == wrong


@pytest.mark.parametrize("language", ["python", "bash"])
def test_a_program_whose_client_has_gone(client: httpx.Client, language):
    """Programs that run or wait are ended with their clients: the next client's begins at once."""
    endless = {"python": "while True: pass", "bash": "while :; do :; done"}[language]

    def ask_and_go(number: int) -> None:
        body = {"code": f"{endless}  # {number}", "language": language, "compile_timeout": 10, "run_timeout": 60}
        with pytest.raises(httpx.ReadTimeout):
            client.post("/run_code", json=body, timeout=1.0)

    threads = [threading.Thread(target=ask_and_go, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    began = time.monotonic()
    assert "7\n" == run(client, "print(sum(map(int, input().split())))  # next", run_timeout=30)["run_result"]["stdout"]
    assert time.monotonic() - began < 15.0


@pytest.mark.nightly
def test_a_deadline_is_504(client: httpx.Client):
    """What cannot begin in time is answered with the one status that clients repeat, shortly before they go."""
    statuses: Counter[int] = Counter()

    def ask(code: str, seconds: float, patience_s: float = 60.0) -> None:
        body = {"code": code, "language": "python", "compile_timeout": 0.1, "run_timeout": seconds}
        statuses[client.post("/run_code", json=body, timeout=patience_s).status_code] += 1

    # As many as run at once are busy for longer than the others may wait: those are refused after some 9 s, and are
    # sent when these have slept for a second or more.
    slow = [threading.Thread(target=ask, args=(f"import time; time.sleep(15); {number}", 17)) for number in range(4)]
    for thread in slow:
        thread.start()

    def ask_until_busy() -> None:
        for number in itertools.count(2):
            ask(f"print({number})", 0.5, patience_s=1.0)

    # What must end sooner goes first, so the others wait until these have begun; what has an answer gets it again.
    with pytest.raises(httpx.ReadTimeout):
        ask_until_busy()
    statuses.clear()
    quick = [threading.Thread(target=ask, args=("print(1)", 0.5)) for _ in range(4)]
    for thread in quick:
        thread.start()
    for thread in (*slow, *quick):
        thread.join()
    assert {200: 4, 504: 4} == statuses
    assert "pong" == client.get("/v1/ping").json()
