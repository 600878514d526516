"""Files in the folder of the user's cache: whole, and nobody else's."""

from __future__ import annotations

import os
from pathlib import Path

from passcurve.private_files import read_private, write_private


def test_a_draft_of_a_dead_process_with_our_number_is_in_nobodys_way(tmp_path: Path):
    """In a container each run has the same process numbers, and what one has left must not stop the next."""
    path = tmp_path / "folder" / "file"
    write_private(path, b"one")
    path.with_name(f".{path.name}.{os.getpid()}.tmp").write_bytes(b"")
    write_private(path, b"two")
    assert b"two" == read_private(path)
    assert [] == [left for left in path.parent.glob("*tmp") if left.stat().st_size]
