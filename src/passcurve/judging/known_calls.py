"""The calls of a problem's tests that are known before any program is judged."""

from __future__ import annotations

from passcurve.harness import recording
from passcurve.sandbox.job import Outcome
from passcurve.types import Verdict


class KnownCalls:
    """The calls that tests make whatever they get.  They are recorded without any program.

    A reference solution, and after it each sample, gets all of them at once.  Where the tests make others of the
    reference, or it passes only without them, none are known.
    """

    def __init__(self) -> None:
        self._calls: list[bytes] = []
        self.are_recorded = False
        self.are_in_doubt = False
        """They could not be recorded, or the reference not be judged with them though the tests make no others."""
        self.are_aside = False
        """The reference solution has failed with them, and is judged without."""
        self.pass_without: Verdict | None = None
        """The verdict on it without them, where it has passed so; then it is judged with them once more."""

    def take(self, calls: list[bytes] | None) -> None:
        """Take what was recorded; None where that failed."""
        self._calls, self.are_recorded = calls or [], True
        self.are_in_doubt = calls is None

    def try_again(self, verdict: Verdict) -> None:
        """Have the reference solution, which has passed without them, judged with them."""
        self.pass_without, self.are_aside = verdict, False

    def drop(self) -> None:
        """Forget them."""
        self._calls = []

    def take_failure(self, outcome: Outcome) -> None:
        """Forget them after this outcome of the reference solution, which shows nothing."""
        self.drop()
        self.are_in_doubt |= (outcome.report or {}).get("status") != "diverged"

    def keep_made(self, outcome: Outcome) -> None:
        """Keep those that the tests have made of the reference solution, whose results may have ended them earlier."""
        made = (outcome.report or {}).get("calls")
        self._calls = self._calls[: made if type(made) is int and made > 0 else 0]

    def pack(self) -> bytes:
        """Return them as a plan holds them."""
        return b"" if self.are_aside else recording.pack_calls(self._calls)
