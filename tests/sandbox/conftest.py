"""The pools that the tests of this room share: one for each level of isolation, per module."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from filters import MACHINES, Filters
from jailed import Jailed, has_level, jail_at

WITHOUT_WALLS = ("test_clock.py", "test_honest_programs.py", "test_rewind.py", "test_watch.py", "test_worker.py")
SECRET = "a-canary-of-the-supervisor"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the level ``restricted`` to CI where this machine has ``full``: nearly all the code is the same.

    Of a test that the default run leaves to CI altogether the night has it, and of files in which no wall is tried.
    """
    second = [item for item in items if isinstance(item, pytest.Function) and _is_restricted(item)]
    if second and has_level("full"):
        for item in second:
            is_second = item.get_closest_marker("ci") or item.path.name in WITHOUT_WALLS
            item.add_marker(pytest.mark.nightly if is_second else pytest.mark.ci)


def _is_restricted(item: pytest.Function) -> bool:
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return any("restricted" in (value if isinstance(value, tuple) else (value,)) for value in values)


@pytest.fixture(scope="module")
def secret() -> Iterator[str]:
    """Put a secret into the environment of the supervisor, and return it."""
    os.environ["PASSCURVE_TEST_SECRET"] = SECRET
    yield SECRET
    del os.environ["PASSCURVE_TEST_SECRET"]


@pytest.fixture(scope="module")
def public_folder() -> Iterator[Path]:
    """Return a folder of the host that everybody may read and write, so that only walls protect it."""
    path = Path(tempfile.mkdtemp(prefix="passcurve-test-"))
    path.chmod(0o777)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def full(secret: str) -> Iterator[Jailed]:
    """Return the jail with every layer."""
    with jail_at("full") as jail:
        yield jail


@pytest.fixture(scope="module")
def restricted(secret: str) -> Iterator[Jailed]:
    """Return the jail that does without namespaces."""
    with jail_at("restricted") as jail:
        yield jail


@pytest.fixture(params=["full", "restricted"])
def jail(request: pytest.FixtureRequest) -> Jailed:
    """Return the jail of each level in turn."""
    return request.getfixturevalue(request.param)


@pytest.fixture(
    params=[(machine, watched) for machine in MACHINES for watched in (False, True)],
    ids=lambda param: f"{param[0]}{'-watched' if param[1] else ''}",
    scope="module",
)
def filters(request: pytest.FixtureRequest) -> Filters:
    """Return the filters of each architecture in turn, with and without a watcher."""
    machine, watched = request.param
    return Filters(machine, watched=watched)
