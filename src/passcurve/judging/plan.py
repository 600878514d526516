"""The job that checks a Python program in the HumanEval form, in referee mode or in shared mode."""

from __future__ import annotations

import secrets
import zlib
from typing import Any, Literal

import msgspec

from passcurve.sandbox.job import Job, Referee
from passcurve.types import DEFAULT_TIMEOUT_S, Limits, Problem, UnitTests

REFEREE_ROLE = "passcurve.harness.referee"
SAMPLE_ROLE = "passcurve.harness.sample"
SHARED_ROLE = "passcurve.harness.shared"
UNIT_TEST_ROLE = "passcurve.harness.unit_tests"


Fault = Literal["reference", "tests", "package"]
"""What keeps the samples of a problem from being judged: the kinds of an exclusion."""


class CheckPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The way in which all samples of one problem are checked."""

    mode: Literal["referee", "shared"] = "referee"
    write_back: bool = False
    """Copy what a sample does to its arguments back into the objects of the tests."""
    calls: bytes = b""
    """The calls that the tests make whatever a sample returns, as the tests recognise them."""
    replayed: bytes = b""
    """The same calls as a sample gets them, all at once."""
    whole: bool = False
    """The tests make no other calls."""
    note: str = ""
    """Fault of the problem, or the reason why it is not in referee mode."""
    fault: Fault | None = None
    """Why no sample of the problem counts: its reference solution or its tests are wrong, or it needs a package."""


def make_job(
    problem: Problem,
    program: str,
    plan: CheckPlan,
    limits: Limits,
    seed: int,
    tag: int,
    *,
    record: bool = False,
) -> Job:
    """Return the job that checks ``program`` against the tests of ``problem``.

    With ``record``, the report of the job lists the calls that a plan can hold.
    """
    problem_seed = _problem_seed(problem, seed)
    limits = fit_limits(problem, limits)
    if isinstance(problem.check, UnitTests):
        return _make_unit_test_job(problem, problem.check, program, limits, problem_seed, tag)
    setup: dict[str, Any] = {
        "program": _encode(program),
        "entry_point": problem.entry_point,
        "seed": problem_seed,
        "output_bytes": limits.output_bytes,
        "replayed": plan.replayed,
    }
    if plan.mode == "shared":
        token = secrets.token_hex(16)
        return Job(
            tag=tag,
            role=SHARED_ROLE,
            setup={**setup, "test": _encode(problem.test), "token": token},
            referee=None,
            limits=limits,
            slice_s=limits.timeout_s,
            allow_kept=False,
        )
    referee = Referee(
        key=f"{problem.id} {plan.write_back}",
        role=REFEREE_ROLE,
        setup={
            "prompt": _encode(_context(problem)),
            "test": _encode(problem.test),
            "entry_point": problem.entry_point,
            "seed": problem_seed,
            "write_back": plan.write_back,
        },
    )
    return Job(
        tag=tag,
        role=SAMPLE_ROLE,
        setup=setup,
        referee=referee,
        limits=limits,
        slice_s=limits.timeout_s,
        replayed=plan.calls,
        whole=plan.whole,
        record=record,
    )


def _context(problem: Problem) -> str:
    """Return the source that defines what the tests may use besides the function."""
    # Before a gap there may be no whole statement; the names around it are the same in every program.
    return (reference_program(problem) if problem.has_gap else None) or problem.prompt


def fit_limits(problem: Problem, limits: Limits) -> Limits:
    """Return the limits of a problem's samples: its own time limit counts unless the user has set another."""
    if problem.timeout_s is None or limits.timeout_s != DEFAULT_TIMEOUT_S:
        return limits
    return msgspec.structs.replace(limits, timeout_s=problem.timeout_s)


def _make_unit_test_job(problem: Problem, check: UnitTests, program: str, limits: Limits, seed: int, tag: int) -> Job:
    text = f"{check.quoted} = {program!r}\n" if check.quoted else check.prefix + program
    return Job(
        tag=tag,
        role=UNIT_TEST_ROLE,
        setup={
            "program": _encode(text),
            "entry_point": problem.entry_point,
            "seed": seed,
            "output_bytes": limits.output_bytes,
            "replayed": b"",
            "test": _encode(check.source),
            "token": secrets.token_hex(16),
            "classes": list(check.classes),
            "suites": [(suite.name, suite.alone) for suite in check.suites],
            "all_tests": False,
            "any_skip": check.any_skip,
            "class_s": check.timeout_s or 0.0,
        },
        referee=None,
        limits=limits,
        slice_s=limits.timeout_s,
        allow_kept=False,
    )


def reference_program(problem: Problem) -> str | None:
    """Return the reference solution as a whole program, or None."""
    return None if problem.reference is None else problem.prompt + problem.reference + problem.suffix


def _problem_seed(problem: Problem, seed: int) -> int:
    return zlib.crc32(f"{seed} {problem.id}".encode("utf-8", "surrogatepass"))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
