"""Programs that are wrong for every problem: tests that pass them check nothing."""

from __future__ import annotations

_HEAD = "def {}(*_, **__):\n    "
_RAISING = f"{_HEAD}raise NotImplementedError\n"
_VALUES = (f"{_HEAD}return ('no', 'answer', 0.1234567)\n", f"{_HEAD}return None\n")
"""Two unlike values: sound tests can allow one of them, but not both."""

_WHOLE = ("raise NotImplementedError\n", "pass\n", "result = None\n")
"""The same where a program has no function that is called."""


class WrongPrograms:
    """The wrong programs for one problem, each tried where those before leave its tests in doubt."""

    def __init__(self, entry_point: str) -> None:
        self._programs = [text.format(entry_point) for text in (_RAISING, *_VALUES)] if entry_point else list(_WHOLE)
        self._number = 0
        self.first_fails = False
        """The first has failed, without a sample."""
        self.is_alone = False
        """The next is to be tried without a sample."""
        self.cannot_cross = False
        """The tests passed the first what cannot cross."""

    @property
    def is_first(self) -> bool:
        """True for the one that raises."""
        return self._number == 0

    @property
    def program(self) -> str:
        """The program to try."""
        return self._programs[self._number]

    def take(self, *, passed: bool) -> bool | None:
        """Take what became of the program; return whether the tests are vacuous, or None to try the next program."""
        is_raising, is_last = self._number == 0, self._number == len(self._programs) - 1
        if is_last or is_raising == passed:
            return passed
        self._number += 1
        return None
