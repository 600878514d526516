"""What the workers of a pool have learned of problems, each for all: it saves trying, and changes no verdict."""

from __future__ import annotations

TRIED_JOBS = 16
"""So many programs of a problem in a row that could not stay in the commons, and no more of it are tried."""


class Learned:
    """Knows problems by the keys of their referees."""

    def __init__(self) -> None:
        self.closed: dict[str, bool] = {}
        """Whether a problem's tests are closed, as its referee has said."""
        self._alone: dict[str, int] = {}

    def note(self, key: str, status: str) -> None:
        """Take note of what came of a program that was tried in the commons."""
        self._alone[key] = self._alone.get(key, 0) + 1 if status == "alone" else 0

    def is_hopeless(self, key: str) -> bool:
        """Say whether programs need not be tried there: what keeps one away keeps most of its problem."""
        return self._alone.get(key, 0) >= TRIED_JOBS
