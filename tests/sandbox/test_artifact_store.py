"""What compilers have made, on disk: found for the same source and toolchain only, and never where it is unsafe."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from jailed import command_job

from passcurve.sandbox.artifact_store import MAX_ENTRY_BYTES, ArtifactStore
from passcurve.sandbox.command_layout import find_program
from passcurve.sandbox.job import CommandJail, Outcome, Step
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.startup import start_sandbox
from passcurve.types import Limits

CONTEXT = ("0.1.0", "full", "C: gcc 12")
LIMITS = Limits(timeout_s=5.0)
SHELL = CommandJail(key="shell", programs=tuple(path for name in ("sh", "cat", "ls") if (path := find_program(name))))
TAGS = itertools.count(1)


@pytest.fixture
def step(tmp_path: Path) -> Step:
    """Return a step of a compiler whose toolchain is one file."""
    toolchain = tmp_path / "toolchain"
    toolchain.mkdir()
    (toolchain / "header.h").write_text("int x;")
    jail = CommandJail(key="compiler", programs=(), folders=(str(toolchain),))
    return Step(name="compile", jail=jail, setup={}, timeout_s=1.0, makes="digest of the source")


def entries(folder: Path) -> list[Path]:
    """Return the entries of a store."""
    return sorted(folder.glob("*.made"))


def test_what_a_step_has_made_is_found_in_a_later_run(tmp_path: Path, step: Step) -> None:
    """It comes back to the byte, and only its owner can read it."""
    ArtifactStore(tmp_path / "made", CONTEXT).write(step, b"\0binary")
    assert b"\0binary" == ArtifactStore(tmp_path / "made", CONTEXT).read(step)
    (entry,) = entries(tmp_path / "made")
    assert (0o600, 0o700) == (entry.stat().st_mode & 0o777, entry.parent.stat().st_mode & 0o777)


def test_other_sources_and_toolchains_have_other_entries(tmp_path: Path, step: Step) -> None:
    """Another source, version, wall or file of the toolchain finds nothing, even where the version is the same."""
    ArtifactStore(tmp_path / "made", CONTEXT).write(step, b"binary")
    other = msgspec.structs.replace(step, makes="digest of another source")
    assert ArtifactStore(tmp_path / "made", CONTEXT).read(other) is None
    for context in (("0.1.1", *CONTEXT[1:]), ("0.1.0", "restricted", "C: gcc 12"), (*CONTEXT[:2], "C: gcc 13")):
        assert ArtifactStore(tmp_path / "made", context).read(step) is None
    (tmp_path / "toolchain" / "header.h").write_text("int yy;")
    assert ArtifactStore(tmp_path / "made", CONTEXT).read(step) is None


def test_a_toolchain_that_cannot_be_looked_through(tmp_path: Path, step: Step) -> None:
    """Nothing is kept of a compiler of which it cannot be told whether it has changed."""
    jail = CommandJail(key="compiler", programs=(), shared=("/prepared", str(tmp_path / "gone")))
    step = msgspec.structs.replace(step, jail=jail)
    store = ArtifactStore(tmp_path / "made", CONTEXT)
    store.write(step, b"binary")
    assert store.read(step) is None
    assert [] == entries(tmp_path / "made")


@pytest.mark.parametrize("damage", [b"", b"binary", b"\0" * 32 + b"binary"], ids=["empty", "cut", "changed"])
def test_a_damaged_entry_is_replaced(tmp_path: Path, step: Step, damage: bytes) -> None:
    """It is not used, so that the source is compiled again, and the new entry is whole."""
    store = ArtifactStore(tmp_path / "made", CONTEXT)
    store.write(step, b"binary")
    entries(tmp_path / "made")[0].write_bytes(damage)
    assert store.read(step) is None
    store.write(step, b"binary")
    assert b"binary" == store.read(step)


def test_an_entry_under_the_name_of_another_is_not_read(tmp_path: Path, step: Step) -> None:
    """What one source has become never serves another, wherever its file is moved."""
    store = ArtifactStore(tmp_path / "made", CONTEXT)
    other = msgspec.structs.replace(step, makes="digest of another source")
    store.write(other, b"of another")
    (moved,) = entries(tmp_path / "made")
    store.write(step, b"binary")
    (own,) = {*entries(tmp_path / "made")} - {moved}
    moved.replace(own)
    assert store.read(step) is None


def test_files_that_others_could_have_written_are_not_read(tmp_path: Path, step: Step) -> None:
    """A file of another user, one that others may write to, a link, a pipe and a folder count as missing."""
    store = ArtifactStore(tmp_path / "made", CONTEXT)
    store.write(step, b"binary")
    (entry,) = entries(tmp_path / "made")
    entry.chmod(0o622)
    assert store.read(step) is None
    entry.chmod(0o600)
    assert b"binary" == store.read(step)
    if not os.getuid():
        os.chown(entry, 65534, 65534)
        assert store.read(step) is None
    aside = entry.replace(tmp_path / "aside")
    entry.symlink_to(aside)
    assert store.read(step) is None
    entry.unlink()
    os.mkfifo(entry, 0o600)
    assert store.read(step) is None
    entry.unlink()
    entry.mkdir()
    assert store.read(step) is None


def test_the_folder_is_bounded_and_what_was_used_stays(tmp_path: Path, step: Step) -> None:
    """Entries unused for longest go first; what is too large for an entry is not written."""
    store = ArtifactStore(tmp_path / "made", CONTEXT, max_bytes=1000)
    steps = [msgspec.structs.replace(step, makes=f"source {number}") for number in range(40)]
    store.write(steps[0], bytes(100))
    (first,) = entries(tmp_path / "made")
    for number, later in enumerate(steps[1:], 1):
        os.utime(first, ns=(number, number))
        assert store.read(steps[0]) is not None, number
        store.write(later, bytes(100))
    store.trim()
    sizes = [path.stat().st_size for path in entries(tmp_path / "made")]
    assert 3 <= len(sizes)
    assert sum(sizes) <= 1000
    assert store.read(steps[1]) is None
    assert store.read(steps[-1]) is not None
    large = msgspec.structs.replace(step, makes="a large one")
    store.write(large, bytes(251))
    assert store.read(large) is None
    roomy = ArtifactStore(tmp_path / "roomy", CONTEXT)
    roomy.write(large, bytes(MAX_ENTRY_BYTES + 1))
    assert roomy.read(large) is None


def test_drafts_of_processes_that_are_gone_are_removed(tmp_path: Path, step: Step) -> None:
    """A draft is left where a process is killed while it writes; another process may be writing now."""
    store = ArtifactStore(tmp_path / "made", CONTEXT)
    store.write(step, b"binary")
    gone, living = (tmp_path / "made" / f".{name}.made.{pid}.tmp" for name, pid in (("a", 1 << 30), ("b", os.getpid())))
    for draft in (gone, living):
        draft.write_bytes(b"half")
    store.trim()
    assert [False, True] == [draft.exists() for draft in (gone, living)]


def test_a_place_that_cannot_be_written_costs_only_time(tmp_path: Path, step: Step) -> None:
    """A file stands where the folder should be: nothing is kept, and nothing fails."""
    (tmp_path / "made").write_text("")
    store = ArtifactStore(tmp_path / "made", CONTEXT)
    store.write(step, b"binary")
    store.trim()
    assert store.read(step) is None


@contextmanager
def pool_with(folder: Path) -> Iterator[Pool]:
    """Yield a pool whose products are kept in a folder."""
    with (
        start_sandbox(LIMITS, commands=True) as sandbox,
        Pool(1, sandbox, ArtifactStore(folder, CONTEXT)) as pool,
    ):
        yield pool


def make(pool: Pool, script: str, source: str) -> Outcome:
    """Run a script of the shell as a compiler, and show what it has made."""
    setup = {
        "argv": [find_program("sh"), "-c", script],
        "files": {},
        "env": {"PATH": "/usr/bin:/bin"},
        "stdin": b"",
        "keep": ["out"],
        "makes_binary": False,
        "is_binary": False,
        "unpack": False,
    }
    show = {**setup, "argv": [find_program("cat"), "out"], "keep": [], "unpack": True}
    steps = (
        Step(name="compile", jail=SHELL, setup=setup, timeout_s=5.0, makes=source),
        Step(name="run", jail=SHELL, setup=show, timeout_s=5.0),
    )
    pool.start(0, command_job(next(TAGS), LIMITS, steps))
    while not (outcomes := pool.wait(1.0)):
        pass
    return outcomes[0]


RANDOM = "cat /proc/sys/kernel/random/uuid >out"


def test_a_later_run_does_not_compile_again(tmp_path: Path) -> None:
    """What the first run has made crosses to the second; another source is compiled."""
    texts = []
    for _ in range(2):
        with pool_with(tmp_path / "made") as pool:
            texts.append([(make(pool, RANDOM, source).report or {})["out"] for source in ("a", "b")])
    assert 36 < len(texts[0][0])
    assert texts[0][0] != texts[0][1]
    assert texts[0] == texts[1]


def test_a_compiler_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """Its source is compiled anew in each run."""
    for _ in range(2):
        with pool_with(tmp_path / "made") as pool:
            outcome = make(pool, "echo half >out; exit 1", "a")
            assert ("compile", 1) == (outcome.step, (outcome.report or {})["exit"])
    assert [] == entries(tmp_path / "made")


def test_no_jail_reaches_the_entries(tmp_path: Path) -> None:
    """A compiler that knows the place of the folder can neither see nor write it."""
    with pool_with(tmp_path / "made") as pool:
        make(pool, RANDOM, "a")
        (entry,) = entries(tmp_path / "made")
        before = entry.read_bytes()
        script = f"ls {entry.parent} >out; echo x >{entry} || echo refused >>out; true"
        other = (make(pool, script, "b").report or {})["out"]
    assert "refused\n" in other
    assert entry.name not in other
    assert before == entry.read_bytes()
