"""The two records of the corpus, and how the program of a probe is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

HELD = "held"
"""What a probe returns when everything that it tried was refused."""

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
    """A hostile sample: what it is, on which problem, and how it must end behind every wall, tests apart."""

    name: str
    problem: str = "add"
    program: Any = None
    """A whole program; None where the attack is a completion."""
    completion: Any = None
    expected: Literal["fail", "any"] = "fail"
    """'any': it may be right, and what it does to others is what counts."""
    ends: tuple[str, ...] = ("failed",)
    """The statuses that show that the attack itself was reached, in referee mode at full isolation."""
    says: str = ""
    """Words that the message must then have."""
    probe: bool = False
    """It is right if, and only if, its probe got through, and returns HELD if not."""
    harmless: bool = False
    """A probe that may be run without walls, and gets through there: so it is a real one."""
    slow: bool = False
    """It needs its whole limit as others do: left to the matrix."""
    late: bool = False
    """It is run again at the end, after the bystanders, and needs one that is late too."""

    @property
    def is_program(self) -> bool:
        """Whether it compiles; others are none on purpose."""
        return not {"compile", "no_code"} & set(self.ends)

    @property
    def row(self) -> dict[str, Any]:
        """Return the sample."""
        text = {"completion": self.completion} if self.program is None else {"solution": self.program}
        return {"task_id": self.problem, **text}


@dataclass(frozen=True, kw_only=True)
class Control:
    """An odd but legal sample, which must pass."""

    name: str
    problem: str = "add"
    program: str | None = None
    completion: str | None = None
    apart: bool = False
    """It passes only where the tests are apart, because it was flattened to plain data."""

    @property
    def row(self) -> dict[str, Any]:
        """Return the sample."""
        text = {"completion": self.completion} if self.program is None else {"solution": self.program}
        return {"task_id": self.problem, **text}


def probe(name: str, *attempts: str, setup: str = "", harmless: bool = True, **fields: Any) -> Attack:
    """Return an attack that makes attempts, each an expression that raises or is False when it was refused."""
    listed = "".join(f"    lambda: {attempt},\n" for attempt in attempts)
    program = f"{_PRELUDE}{setup}\n\nattempts = [\n{listed}]\n{_VERDICT}"
    return Attack(name=name, program=program, probe=True, harmless=harmless, **fields)
