"""Calibration: the reference solution decides, once per problem, in which mode its samples are judged."""

from __future__ import annotations

from typing import Literal

from passcurve.langs.python import Plan, reference_program
from passcurve.types import Problem, Verdict

_LADDER = {
    "auto": (Plan(), Plan(write_back=True), Plan(mode="shared")),
    "referee": (Plan(), Plan(write_back=True)),
    "shared": (Plan(mode="shared"),),
}
"""Ways of checking, best first: the first one under which the reference solution passes is taken."""


class Calibration:
    """One problem's climb down the ladder.

    ``program`` is to be judged under ``trial``; ``take`` says what comes of it.
    """

    def __init__(self, problem: Problem, wanted: Literal["auto", "referee", "shared"]) -> None:
        self._ladder = _LADDER[wanted]
        self._step = 0
        self._failures: list[str] = []
        self.program = reference_program(problem)

    @property
    def trial(self) -> Plan:
        """The way under trial."""
        return self._ladder[self._step]

    def without_reference(self) -> Plan:
        """Return the plan of a problem that has no reference solution."""
        first = self._ladder[0]
        return Plan(mode=first.mode, note="no reference solution to calibrate with")

    def take(self, verdict: Verdict) -> Plan | None:
        """Return the plan, or None when the next way is to be tried."""
        trial = self.trial
        if verdict.passed:
            return Plan(mode=trial.mode, write_back=trial.write_back, note=self._reason(trial))
        self._failures.append(f"{verdict.status} in {trial.mode} mode ({verdict.message})")
        if verdict.status in ("failed", "compile", "output", "memory") and self._step + 1 < len(self._ladder):
            self._step += 1
            return None
        # A reference that hangs or breaks says nothing about the mode: it is an error to be shown.
        return Plan(mode=self._ladder[0].mode, fault=True, note=f"the reference solution does not pass: {self._failures[0]}")

    def _reason(self, trial: Plan) -> str:
        if trial.write_back:
            return "arguments changed in place are handed back to the tests"
        return f"shared mode: the reference solution {self._failures[0]}" if self._failures else ""
