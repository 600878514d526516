"""Python problems in the HumanEval form: which job checks a program, and in which mode."""

from __future__ import annotations

import secrets
import zlib
from typing import Any, Literal

import msgspec

from passcurve.sandbox.job import Job, Outcome, Referee
from passcurve.types import Limits, Problem

REFEREE_ROLE = "passcurve.harness.referee"
SAMPLE_ROLE = "passcurve.harness.sample"
SHARED_ROLE = "passcurve.harness.shared"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How the samples of one problem are checked, the same for all of them."""

    mode: Literal["referee", "shared"] = "referee"
    write_back: bool = False
    """What a sample does to its arguments is made true of the tests' own objects."""
    calls: bytes = b""
    """What the tests ask whatever is returned, as they recognise it."""
    asked: bytes = b""
    """The same as a sample is asked it, all at once."""
    whole: bool = False
    """The tests ask nothing else."""
    note: str = ""
    """What is wrong with the problem, or why it is not in referee mode."""
    fault: bool = False
    """The reference solution fails, or breaks: the benchmark's fault or ours, not a sample's."""


def job(
    problem: Problem,
    program: str,
    plan: Plan,
    limits: Limits,
    seed: int,
    tag: int,
    *,
    record: bool = False,
) -> Job:
    """Return the job that checks ``program`` against the tests of ``problem`` as ``plan`` says.

    ``record``: its report is to tell the calls that a plan can hold.
    """
    number = _seed(problem, seed)
    setup: dict[str, Any] = {
        "program": _bytes(program),
        "entry_point": problem.entry_point,
        "seed": number,
        "output_bytes": limits.output_bytes,
        "replayed": plan.asked,
    }
    if plan.mode == "shared":
        token = secrets.token_hex(16)
        return Job(
            tag=tag,
            role=SHARED_ROLE,
            setup={**setup, "test": _bytes(problem.test), "token": token},
            referee=None,
            limits=limits,
            slice_s=limits.timeout_s,
            reuse=False,
        )
    referee = Referee(
        key=f"{problem.id} {plan.write_back}",
        role=REFEREE_ROLE,
        setup={
            "prompt": _bytes(problem.prompt),
            "test": _bytes(problem.test),
            "entry_point": problem.entry_point,
            "seed": number,
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


def asked_one_by_one(job: Job) -> Job:
    """Return the same job with each call made when the tests come to it: what a job at first is only if it must be."""
    return msgspec.structs.replace(job, setup={**job.setup, "replayed": b""}, replayed=b"")


def settles(outcome: Outcome) -> bool:
    """Say whether a job whose calls were made at once has shown what it would have shown one by one.

    The tests took the outcomes in order, and stopped where they stop.  A program that did not come to the end of all
    calls may have been stopped by one that the tests would never have come to.
    """
    said = (outcome.report or {}).get("status")
    return said in ("passed", "failed", "compile", "benchmark") and outcome.ended == "report" and not outcome.doubt


def reference_program(problem: Problem) -> str | None:
    """Return the reference solution as a whole program, or None."""
    return None if problem.reference is None else problem.prompt + problem.reference + problem.suffix


def _seed(problem: Problem, seed: int) -> int:
    return zlib.crc32(f"{seed} {problem.id}".encode("utf-8", "surrogatepass"))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
