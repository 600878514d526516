"""The row on which each program was judged, in twelve to twenty-four bytes per program."""

from __future__ import annotations

from array import array

_TAG = (1 << 32) - 1
_FIRST_SLOTS = 1 << 10


class ProgramTable:
    """A hash table of rows by program, without the programs: compare each hit with the stored line.

    Open addressing, at most two thirds full.  A slot holds the row and 32 bits of the program's hash, whose low bits
    also say where a search begins.  Of programs that agree in those bits it holds only the first.
    """

    def __init__(self) -> None:
        self._slots = _empty(_FIRST_SLOTS)
        self._taken = 0

    def __len__(self) -> int:
        """Return the number of programs in the table."""
        return self._taken

    def add(self, problem_id: str, digest: str, row: int) -> None:
        """Add the row, below 2**32 - 1, on which a program was judged, unless the table has one."""
        tag = _tag(problem_id, digest)
        at = _search(self._slots, tag)
        if self._slots[at]:
            return
        self._slots[at] = tag << 32 | (row + 1)
        self._taken += 1
        if 3 * self._taken > 2 * len(self._slots):
            self._grow()

    def row_of(self, problem_id: str, digest: str) -> int | None:
        """Return the row on which the program was judged, if any; rarely that of another program."""
        slot = self._slots[_search(self._slots, _tag(problem_id, digest))]
        return (slot & _TAG) - 1 if slot else None

    def _grow(self) -> None:
        slots = _empty(2 * len(self._slots))
        for slot in self._slots:
            if slot:
                slots[_search(slots, slot >> 32)] = slot
        self._slots = slots


def _tag(problem_id: str, digest: str) -> int:
    # Python seeds its hashes anew in each process, so nobody can write programs that collide.
    return hash((problem_id, digest)) & _TAG


def _empty(size: int) -> array[int]:
    return array("Q", bytes(8 * size))


def _search(slots: array[int], tag: int) -> int:
    """Return the slot of a tag, or the free slot where it belongs."""
    mask = len(slots) - 1
    at = tag & mask
    while (slot := slots[at]) and slot >> 32 != tag:
        at = (at + 1) & mask
    return at
