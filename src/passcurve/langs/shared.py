"""Tests and sample in one jailed process, as the classic harnesses do: the declared fallback for live objects.

The supervisor reads the report, not a referee.  A pass needs the job's token, which only the last line of the harness
sends; a program that inspects its own interpreter can still find it, and the documentation says so.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from passcurve.langs.referee import TEST_NAME, TEXT_CHARACTERS, pack_report, test_line
from passcurve.sandbox.inside import SOURCE_NAME, describe, limit_recursion, prepare
from passcurve.sandbox.wire import read_file, send_frame


def main(descriptors: list[int]) -> None:
    """Run program and tests, then send one report."""
    line, file = descriptors
    _say = _reporter(line)
    setup = read_file(file)
    token = setup.pop("token")
    test = setup["test"].decode("utf-8", "surrogatepass")
    entry_point = setup["entry_point"]
    module, text = prepare(setup)
    names = module.__dict__
    try:
        code = compile(text, SOURCE_NAME, "exec", dont_inherit=True)
    except BaseException as error:
        _say(_ended("compile", error, ""))
        return
    limit_recursion()
    try:
        exec(code, names)
        exec(compile(test, TEST_NAME, "exec", dont_inherit=True), names)
        names["check"](names[entry_point])
    except BaseException as error:
        _say(_ended("memory" if isinstance(error, MemoryError) else "failed", error, test))
        return
    _say({"status": "passed", "message": "", "token": token})


def _reporter(descriptor: int) -> Callable[[dict[str, Any]], None]:
    """Bind what a report needs before the sample can replace it."""
    write, pack, send, leave = os.write, pack_report, send_frame, os._exit

    def say(report: dict[str, Any]) -> None:
        send(descriptor, pack(report), write)
        leave(0)

    return say


def _ended(status: str, error: BaseException, test: str) -> dict[str, Any]:
    sys.setrecursionlimit(10_000)
    said = describe(error)
    message = "%s: %s" % (said["type"], said["message"]) if said["message"] else said["type"]
    return {
        "status": status,
        "message": message[:TEXT_CHARACTERS],
        "exception": said["type"],
        "test_line": test_line(error, test) if test else "",
    }
