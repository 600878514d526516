"""Python through ``/run_code``: output and end of a program are those of a new interpreter."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
import pytest

pytest.importorskip("uvicorn", reason="the extra serve is not installed")

with (Path(__file__).parent / "python_programs.toml").open("rb") as file:
    CASES = tomllib.load(file)
STDIN = "3 4\nrest\r\nand more\rend"
_VARIABLES = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "TZ": "UTC"}


@pytest.fixture(scope="module")
def client(shell_in, tmp_path_factory) -> Iterator[httpx.Client]:
    """Start a server for programs."""
    with shell_in(tmp_path_factory.mktemp("programs")).serve("--workers", 2) as (started, _):
        if started.get("/v1/ping").status_code != 200:
            pytest.skip("programs cannot be isolated here")
        yield started


DEPTHS = ("deepest class",)
"""Programs that print how deep they recurse through C: the limit of 3.12 is fixed, and counts our frames below too."""
IS_3_12 = sys.version_info[:2] == (3, 12)


def run_here(code: str, folder: Any, files: Mapping[str, str] = MappingProxyType({})) -> tuple[int, str, str]:
    """Return exit status, output and errors of a program of ours in a new interpreter."""
    for name, text in {"main.py": code, **files}.items():
        (folder / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    # As in a jail, HOME is the working folder.
    done = subprocess.run(
        [sys.executable, "-s", "main.py"],
        cwd=folder, input=STDIN.encode(), capture_output=True, timeout=60, check=False,
        env={**_VARIABLES, "HOME": str(folder)},
    )  # fmt: skip
    texts = [data.decode("utf-8", "replace").replace(str(folder), "/tmp") for data in (done.stdout, done.stderr)]
    return done.returncode, texts[0], texts[1]


LEFT_SET = re.compile(
    r"(Exception ignored on threading shutdown:\n)?"
    r"(Traceback .*\n(  .*\n)+ValueError: no text|OverflowError: .* C long)\n"
)
"""What 3.12.1 and 3.13.0 show besides: the error of their own conversion of an exit code."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.skipif(name in DEPTHS and IS_3_12, reason="3.12 has a fixed limit in C"))
        for name in CASES["programs"]
    ],
)
def test_a_program_ends_as_in_a_new_interpreter(client: httpx.Client, tmp_path, name):
    """Exit status, output and errors are those of the same interpreter started for this program."""
    code = CASES["programs"][name]
    answer = client.post("/run_code", json={"code": code, "language": "python", "stdin": STDIN})
    assert 200 == answer.status_code, answer.text
    result = answer.json()["run_result"]
    status, output, error = run_here(code, tmp_path)
    assert (status, output) == (result["return_code"], result["stdout"]), result["stderr"]
    assert LEFT_SET.sub("", _plain(error)) == _plain(result["stderr"])


def test_a_module_of_the_program_hides_another(client: httpx.Client, tmp_path):
    """An import finds a file beside the program first, but for what each interpreter has built in or frozen."""
    names = ("heapq", "ctypes", "json", "os", "time", "threading", "abc")
    files = {f"{name}.py": f"x = 'own {name}'" for name in names}
    code = "".join(f"import {name}\nprint(getattr({name}, 'x', None))\n" for name in names)
    request = {
        "code": code,
        "language": "python",
        "files": {name: base64.b64encode(text.encode()).decode() for name, text in files.items()},
    }
    result = client.post("/run_code", json=request).json()["run_result"]
    status, output, error = run_here(code, tmp_path, files)
    assert "own heapq\nown ctypes\nown json\nNone\nNone\nown threading\nNone\n" == output
    assert (status, output) == (result["return_code"], result["stdout"])
    # From 3.13 on only an interpreter that was started for it takes it for the folder of a script.
    assert re.sub(r" \(consider renaming .*\)", "", error) == result["stderr"]


def _plain(error: str) -> str:
    """Return what a program wrote to standard error without addresses, times and the path of the interpreter."""
    error = re.sub(r"0x[0-9a-f]+|\d+\.\d+s", "*", error)
    return re.sub(r'File "(?!/tmp/)[^"]*/', 'File "*/', error)


def test_nothing_stays(client: httpx.Client):
    """What a program changes in its interpreter is gone for the next, and random numbers are not repeated."""
    change = "import builtins, os, random\nbuiltins.x = os.x = 1\nopen('left', 'w').close()\nprint(random.random())\n"
    look = "import builtins, os\nprint(hasattr(builtins, 'x'), hasattr(os, 'x'), os.listdir())\n"
    drawn = set()
    for number in range(5):
        answer = client.post("/run_code", json={"code": change + f"# {number}", "language": "python"}).json()
        drawn.add(answer["run_result"]["stdout"])
        answer = client.post("/run_code", json={"code": look + f"# {number}", "language": "python"}).json()
        assert "False False ['main.py']\n" == answer["run_result"]["stdout"]
    assert 5 == len(drawn)


@pytest.mark.parametrize("name", CASES["attempts"])
def test_a_program_cannot_reach_what_reports_it(client: httpx.Client, name):
    """No program can read or write the process that reports its end; one that ends it has failed."""
    code = "import os\n" + CASES["attempts"][name] + "raise SystemExit(7)\n"
    answer = client.post("/run_code", json={"code": code, "language": "python", "run_timeout": 2}).json()
    assert "Failed" == answer["status"]
    assert "REACHED" not in answer["run_result"]["stdout"]


@pytest.mark.parametrize("number", [2, 3, 15])
def test_a_program_may_end_what_fetches_its_files(client: httpx.Client, number):
    """The process that waits for a program ends by any signal from it, and that is the program's own end."""
    # The sleep is cut short by the end of the parent; a signal that changes nothing would leave it to the time limit.
    code = f"import os, time\nos.kill(os.getppid(), {number})\ntime.sleep(9)\n"
    request = {"code": code, "language": "python", "fetch_files": ["a"], "run_timeout": 2}
    answer = client.post("/run_code", json=request).json()
    assert -number == answer["run_result"]["return_code"], answer


def test_a_program_whose_files_are_fetched_knows_its_thread(client: httpx.Client):
    """The number of the main thread is that of the process that runs the program, as for any other program."""
    code = "import os, threading\nprint(threading.main_thread().native_id == os.getpid())\n"
    answer = client.post("/run_code", json={"code": code, "language": "python", "fetch_files": ["a"]}).json()
    assert "True\n" == answer["run_result"]["stdout"], answer
