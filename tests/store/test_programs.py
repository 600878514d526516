"""Tests of the table of judged programs."""

from __future__ import annotations

import tracemalloc

from passcurve.store.programs import ProgramTable


def make_table(count: int) -> ProgramTable:
    """Return a table with this number of programs of three problems; the row of each is its number."""
    table = ProgramTable()
    for number in range(count):
        table.add(f"T/{number % 3}", f"{number:024x}", number)
    return table


def test_every_program_is_found():
    """The table finds the row of each program, however often it has grown, and no row for others."""
    table = make_table(20_000)
    # Two that agree in 32 bits of a hash are rare; the second is then unknown, which costs one judgement.
    rows = [table.row_of(f"T/{number % 3}", f"{number:024x}") for number in range(20_000)]
    assert 3 > sum(row != number for number, row in enumerate(rows))
    assert 3 > sum(table.row_of("T/3", f"{number:024x}") is not None for number in range(20_000))
    assert 19_997 < len(table) <= 20_000


def test_the_first_row_stays():
    """A program keeps its first row; the same text for another problem is another program."""
    table = ProgramTable()
    table.add("T/0", "aa", 5)
    table.add("T/0", "aa", 9)
    table.add("T/1", "aa", 0)
    assert (5, 0, 2) == (table.row_of("T/0", "aa"), table.row_of("T/1", "aa"), len(table))


def test_programs_that_agree_in_the_tag():
    """For programs with equal hashes the table returns the first, so the caller must compare."""
    many = ProgramTable()
    for number in range(1 << 22):
        digest = f"{number:024x}"
        row = many.row_of("T/0", digest)
        if row is not None:
            break
        many.add("T/0", digest, number)
    other = f"{row:024x}"
    table = ProgramTable()
    table.add("T/0", other, 5)
    table.add("T/0", digest, 9)
    assert (5, 5, 1) == (table.row_of("T/0", other), table.row_of("T/0", digest), len(table))


def test_size():
    """A large table uses at most 24 bytes per program."""
    tracemalloc.start()
    table = make_table(30_000)
    size_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 30_000 >= len(table) > 29_990
    assert 24 * 30_000 + 4096 >= size_bytes
