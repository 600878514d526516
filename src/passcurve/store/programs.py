"""On which row each program was judged, in twelve to twenty-four bytes for each program."""

from __future__ import annotations

from array import array

_TAG = (1 << 32) - 1
_FIRST_SLOTS = 1 << 10


class Programs:
    """A table of rows by program, without the programs: what it finds must be compared with what is stored.

    Open addressing, at most two thirds full.  A slot holds 32 bits of the program's hash, whose low bits also say where
    a search begins, and the row.  Of programs that agree in those bits only the first is known.
    """

    def __init__(self) -> None:
        self._slots = _empty(_FIRST_SLOTS)
        self._taken = 0

    def __len__(self) -> int:
        """Return how many programs are known."""
        return self._taken

    def add(self, problem_id: str, digest: str, row: int) -> None:
        """Note the row, less than 2**32 - 1, on which a program was judged, unless one is known."""
        tag = _tag(problem_id, digest)
        at = _search(self._slots, tag)
        if self._slots[at]:
            return
        self._slots[at] = tag << 32 | (row + 1)
        self._taken += 1
        if 3 * self._taken > 2 * len(self._slots):
            self._grow()

    def row_of(self, problem_id: str, digest: str) -> int | None:
        """Return the row on which the program was judged, if it was: rarely that of another program."""
        held = self._slots[_search(self._slots, _tag(problem_id, digest))]
        return (held & _TAG) - 1 if held else None

    def _grow(self) -> None:
        slots = _empty(2 * len(self._slots))
        for held in self._slots:
            if held:
                slots[_search(slots, held >> 32)] = held
        self._slots = slots


def _tag(problem_id: str, digest: str) -> int:
    # Python keys its hashes anew in each process, so nobody can write programs that crowd one place.
    return hash((problem_id, digest)) & _TAG


def _empty(size: int) -> array[int]:
    return array("Q", bytes(8 * size))


def _search(slots: array[int], tag: int) -> int:
    """Return the place of a tag, or the free one where it belongs."""
    mask = len(slots) - 1
    at = tag & mask
    while (held := slots[at]) and held >> 32 != tag:
        at = (at + 1) & mask
    return at
