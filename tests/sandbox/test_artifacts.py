"""What compilers have made, in memory: within a bound, and open as long as anybody uses it."""

from __future__ import annotations

from io import BufferedIOBase

from passcurve.sandbox.artifacts import Artifacts, new_file, seal
from passcurve.sandbox.job import CommandJail, Step


def step(number: int) -> Step:
    """Return a step of a compiler, another for each number."""
    jail = CommandJail(key="compiler", programs=())
    return Step(name="compile", jail=jail, setup={}, timeout_s=1.0, makes=f"source {number}")


def sealed_file(content: bytes) -> BufferedIOBase:
    """Return a sealed file as a compiler leaves it."""
    file = new_file()
    file.write(content)
    return seal(file)


def test_files_that_are_dropped_are_closed() -> None:
    """Beyond the bound the file that was unused for longest goes: at once, or when its last user is done."""
    artifacts = Artifacts(max_bytes=800)
    files = [sealed_file(bytes(200)) for _ in range(6)]
    used = files[1]
    for number, file in enumerate(files):
        artifacts.add(step(number), file)
        if file is used:
            assert artifacts.find(step(number)) is used
        artifacts.release(file)
    assert [True, False, False, False, False, False] == [file.closed for file in files]
    assert [None, None] == [artifacts.find(step(number)) for number in (0, 1)]
    artifacts.release(used)
    assert used.closed
    artifacts.close()
    assert all(file.closed for file in files)


def test_a_file_that_is_not_kept_is_closed_by_its_user() -> None:
    """One that is too large, of a step that makes nothing, or of a source that is kept already."""
    artifacts = Artifacts(max_bytes=800)
    kept, second, large = sealed_file(b"kept"), sealed_file(b"again"), sealed_file(bytes(201))
    for number, file in ((0, kept), (0, second), (1, large)):
        artifacts.add(step(number), file)
        artifacts.release(file)
    unknown = new_file()
    artifacts.release(unknown)
    assert [False, True, True, True] == [file.closed for file in (kept, second, large, unknown)]
    artifacts.close()
