"""The memory of a machine or a container: what the kernel says, within every limit around this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from passcurve import machine

MIB = 1 << 20


def test_the_memory_is_within_what_the_kernel_says():
    """The memory is at most what is installed, and some of it is left."""
    installed = int(Path("/proc/meminfo").read_text("ascii").split()[1]) << 10
    total, free = machine.total_memory_bytes(), machine.free_memory_bytes()
    assert 64 << 20 < (total or 0) <= installed
    assert 0 < (free or 0) <= (total or 0)


@pytest.fixture
def groups(monkeypatch, tmp_path):
    """Return how to say which control groups there are: lines of the process, and files by path."""

    def have(lines: str, files: dict[str, str]) -> None:
        (tmp_path / "cgroup").write_text(lines)
        for name, text in files.items():
            path = tmp_path / "groups" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        monkeypatch.setattr(machine, "_GROUPS_OF_PROCESS", tmp_path / "cgroup")
        monkeypatch.setattr(machine, "_GROUPS", tmp_path / "groups")

    return have


def test_the_limit_of_a_group_around_the_process_counts(groups):
    """The least limit is the memory, and the least that is left, cache that can be taken back aside, is free."""
    groups(
        "0::/user.slice/judge.scope\n",
        {
            "user.slice/memory.max": f"{900 * MIB}\n",
            "user.slice/memory.current": f"{800 * MIB}\n",
            "user.slice/memory.stat": f"anon 7\ninactive_file {300 * MIB}\n",
            "user.slice/judge.scope/memory.max": f"{500 * MIB}\n",
            "user.slice/judge.scope/memory.current": f"{10 * MIB}\n",
        },
    )
    assert (500 * MIB, 400 * MIB) == (machine.total_memory_bytes(), machine.free_memory_bytes())


def test_groups_of_the_first_version(groups):
    """A container that sees the path of its host finds its own limit at the root."""
    groups(
        "4:memory:/docker/abc\n0::/\n1:cpu:/\n",
        {
            "memory/memory.limit_in_bytes": f"{600 * MIB}\n",
            "memory/memory.usage_in_bytes": f"{200 * MIB}\n",
            "memory/memory.stat": f"inactive_file 1\ntotal_inactive_file {100 * MIB}\n",
        },
    )
    assert (600 * MIB, 500 * MIB) == (machine.total_memory_bytes(), machine.free_memory_bytes())


def test_a_group_without_a_limit_limits_nothing(groups, monkeypatch, tmp_path):
    """Then the memory that the kernel calls available is free, and nothing is known where it says nothing."""
    groups("0::/a\n", {"a/memory.max": "max\n", "a/memory.current": "1\n"})
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   2048 kB\n")
    monkeypatch.setattr(machine, "_MEMINFO", tmp_path / "meminfo")
    assert 2 * MIB == machine.free_memory_bytes()
    monkeypatch.setattr(machine, "_MEMINFO", tmp_path / "none")
    assert machine.free_memory_bytes() is None
