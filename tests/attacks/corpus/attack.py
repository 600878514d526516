"""Records of the corpus, and the programs of probes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

HELD = "held"
"""Value that a probe returns if everything it tried was refused."""

_PRELUDE = '''
import ctypes, errno, fcntl, os, resource, signal, socket, stat, sys, threading, time

libc = ctypes.CDLL(None, use_errno=True)


def checked(result):
    """Turn the -1 of the C library into an exception."""
    if result == -1:
        raise OSError(ctypes.get_errno(), "refused")
    return result


'''

_VERDICT = '''

def add(a, b):
    """Be right if, and only if, one of the attempts gets through."""
    for attempt in attempts:
        try:
            if attempt() is not False:
                return a + b
        except (OSError, ValueError, MemoryError):
            pass
    return "held"
'''


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A hostile sample, with the result that it must have in referee mode behind every wall."""

    name: str
    problem: str = "add"
    program: Any = None
    """A whole program; None where the attack is a completion."""
    completion: Any = None
    expected: Literal["fail", "any"] = "fail"
    """'any': it may pass; what counts is what it does to other samples."""
    statuses: tuple[str, ...] = ("failed",)
    """Statuses that show that the attack itself ran."""
    message: str = ""
    """Text that the message must then contain."""
    probe: bool = False
    """It passes if, and only if, one of its attempts succeeds, and returns HELD if not."""
    harmless: bool = False
    """A probe that may be run without walls, and succeeds there, which shows that it is real."""
    slow: bool = False
    """It runs until its time limit, as others do: only the matrix runs it."""
    late: bool = False
    """It is judged again at the end of the run, and needs a bystander that is too."""

    @property
    def is_program(self) -> bool:
        """True if it is a program that compiles."""
        return not {"compile", "no_code"} & set(self.statuses)

    @property
    def row(self) -> dict[str, Any]:
        """The row of the samples file."""
        text = {"completion": self.completion} if self.program is None else {"solution": self.program}
        return {"task_id": self.problem, **text}


@dataclass(frozen=True, kw_only=True)
class Control:
    """An odd but legal sample, which must pass."""

    name: str
    problem: str = "add"
    program: str | None = None
    completion: str | None = None
    needs_referee: bool = False
    """It passes only in referee mode, because it is flattened to plain data there."""

    @property
    def row(self) -> dict[str, Any]:
        """The row of the samples file."""
        text = {"completion": self.completion} if self.program is None else {"solution": self.program}
        return {"task_id": self.problem, **text}


def probe(name: str, *attempts: str, setup: str = "", harmless: bool = True, **fields: Any) -> Attack:
    """Return an attack that makes attempts: expressions that raise an exception or are False when they are refused."""
    lines = "".join(f"    lambda: {attempt},\n" for attempt in attempts)
    program = f"{_PRELUDE}{setup}\n\nattempts = [\n{lines}]\n{_VERDICT}"
    return Attack(name=name, program=program, probe=True, harmless=harmless, **fields)
