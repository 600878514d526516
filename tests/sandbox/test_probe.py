"""The levels of isolation: named after the walls that stand, refused with reasons, and always tried."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import shutil
import struct
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from jailed import LIMITS, jail_at, need

import passcurve
from passcurve.errors import IsolationError
from passcurve.sandbox import probe as isolation
from passcurve.sandbox import toolchain as tools
from passcurve.sandbox.layers.syscalls import numbers
from passcurve.sandbox.zygote_client import Walls

SOURCES = Path(passcurve.__file__).parent
SITE = str(Path(pytest.__file__).parent.parent)
FIND = """
import json, sys
from passcurve.errors import PasscurveError
from passcurve.sandbox import probe, toolchain
from passcurve.types import Limits
answers = {}
for wanted in sys.argv[1:]:
    try:
        found = probe.find_isolation(wanted, toolchain.find_toolchain(None, ()), Limits(memory_bytes=1 << 30))
        answers[wanted] = [found.jail.isolation, list(found.jail.layers), "; ".join(found.jail.missing)]
    except PasscurveError as error:
        answers[wanted] = [type(error).__name__, [], str(error)]
print(json.dumps(answers))
"""


def walls(namespaces: int, landlock: int, seccomp: int) -> Walls:
    """Return walls by three numbers."""
    return Walls(namespaces=bool(namespaces), landlock=bool(landlock), seccomp=bool(seccomp))


@pytest.mark.parametrize(
    ("level", "stand"),
    [
        ("full", (1, 1, 1)),
        ("restricted", (0, 1, 1)),
        ("restricted", (1, 0, 1)),
        ("none", (1, 1, 0)),
        ("none", (0, 0, 1)),
        ("none", (0, 1, 0)),
        ("none", (1, 0, 0)),
        ("none", (0, 0, 0)),
    ],
)
def test_names_of_levels(level: str, stand: tuple[int, int, int]):
    """All three walls are full, a filter with one of the others is restricted, and everything else is none."""
    assert level == isolation.level_of(walls(*stand))


@pytest.fixture(scope="module")
def toolchain() -> tools.Toolchain:
    """Return our own interpreter without packages."""
    return tools.find_toolchain(None, ())


@pytest.mark.parametrize("level", ["full", "restricted"])
def test_the_record_of_a_level(level: str):
    """A level that works is recorded by name, with its layers in order and what is missing."""
    with jail_at(level) as jail:
        jail_record = jail.probe.jail
        assert level == jail_record.isolation
        assert "seccomp" == jail_record.layers[-1]
        assert "rlimits" in jail_record.layers
        assert (level == "full") == any("namespaces" in layer for layer in jail_record.layers)
        assert (level == "full") == (jail_record.missing == ())
        assert jail_record.landlock_abi > 0
        assert jail_record.watched
        assert jail.probe.own_clock
        assert (level == "full") == (isolation.list_weaknesses(jail_record) == ())


def test_auto_is_the_best(toolchain: tools.Toolchain):
    """The level 'auto' is full where full is available."""
    need("full")
    assert "full" == isolation.find_isolation("auto", toolchain, LIMITS).jail.isolation


def test_an_interpreter_in_the_place_of_the_scratch(toolchain: tools.Toolchain):
    """Its library could not be read behind mounts of our own, so these do not count as working."""
    need("restricted")
    within = msgspec.structs.replace(toolchain, folders=(*toolchain.folders, "/tmp/python/lib/python3.13"))
    with pytest.raises(IsolationError, match=r"lies in /tmp, .*--python"):
        isolation.find_isolation("full", within, LIMITS)
    probe = isolation.find_isolation("auto", within, LIMITS)
    assert not probe.walls.namespaces
    assert any("lies in /tmp" in reason for reason in probe.jail.missing)


def test_none(toolchain: tools.Toolchain):
    """No isolation is given only on request, and the record says so."""
    jail_record = isolation.find_isolation("none", toolchain, LIMITS).jail
    assert ("none", ("rlimits",), ("all: --isolation none",)) == (
        jail_record.isolation,
        jail_record.layers,
        jail_record.missing,
    )


def test_survey(toolchain: tools.Toolchain):
    """Each layer is tried by itself and has either no reason or one in words."""
    survey = isolation.try_layers(toolchain, LIMITS)
    assert {"namespaces", "landlock", "seccomp"} == set(survey)
    assert all(isinstance(reason, str) for reason in survey.values())


# Kernels that lack something, made of this one: a filter over a child process answers as an older kernel would.


def answer_with(errors: dict[int, int]) -> None:
    """Have these system calls fail with these errors from now on, here and in every child."""
    code = struct.pack("<HBBI", 0x20, 0, 0, 0)
    for number, error in errors.items():
        code += struct.pack("<HBBI", 0x15, 0, 1, number) + struct.pack("<HBBI", 0x06, 0, 0, 0x00050000 | error)
    code += struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None)
    assert 0 == libc.prctl(38, 1, 0, 0, 0)
    assert 0 == libc.prctl(22, 2, header, 0, 0)


def find_on(missing: dict[str, int], *wanted: str) -> dict[str, list]:
    """Return what the probe finds, per level wanted, where these calls fail with these errors."""
    if platform.machine() not in ("x86_64", "aarch64") or not sys.platform.startswith("linux"):
        pytest.skip("no table of system calls for this machine")
    table = numbers(platform.machine())
    done = subprocess.run(
        [sys.executable, "-c", FIND, *wanted],
        preexec_fn=lambda: answer_with({table[name]: error for name, error in missing.items()}),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return json.loads(done.stdout)


NO_NAMESPACES = {"unshare": 1}
NO_LANDLOCK = {"landlock_create_ruleset": 38}


@pytest.mark.ci
def test_without_namespaces():
    """Where the kernel refuses namespaces, as in a container, auto is restricted and full refused, with the reason."""
    need("restricted")
    answers = find_on(NO_NAMESPACES, "auto", "restricted", "full")
    assert "restricted" == answers["auto"][0]
    assert "namespaces: " in answers["auto"][2]
    assert "restricted" == answers["restricted"][0]
    assert "IsolationError" == answers["full"][0]
    assert "--isolation full" in answers["full"][2]
    assert "namespaces: " in answers["full"][2]


def test_without_landlock():
    """Where there is no Landlock, namespaces and the filter are restricted, and what is missing is Landlock alone."""
    need("full")
    answers = find_on(NO_LANDLOCK, "auto", "restricted", "full")
    for wanted in ("auto", "restricted"):
        level, layers, missing = answers[wanted]
        assert "restricted" == level
        assert any("namespaces" in layer for layer in layers)
        assert "landlock: " in missing
        assert "namespaces" not in missing
    assert "IsolationError" == answers["full"][0]
    assert "landlock: " in answers["full"][2]


def test_with_neither():
    """Where there is neither, nothing is run: the refusal gives each reason and the remedy."""
    kind, _, message = find_on(NO_NAMESPACES | NO_LANDLOCK, "auto")["auto"]
    assert "IsolationError" == kind
    assert "landlock: " in message
    assert "namespaces: " in message
    assert isolation.REMEDY in message


def test_an_unknown_machine(toolchain: tools.Toolchain, monkeypatch: pytest.MonkeyPatch):
    """A machine whose system calls we do not know is refused by name, except for no isolation at all."""
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(IsolationError, match="riscv64"):
        isolation.find_isolation("auto", toolchain, LIMITS)


# Broken walls, made of ours: a copy of the package in which one layer does nothing must be caught by its self-test.


def mutant(folder: Path, edits: Iterable[tuple[str, str, str]]) -> Path:
    """Copy the package into a folder with one text replaced by another: (file, old, new) for each edit."""
    root = Path(tempfile.mkdtemp(dir=folder))
    root.chmod(0o755)
    shutil.copytree(SOURCES, root / "passcurve", ignore=shutil.ignore_patterns("__pycache__"))
    for name, old, new in edits:
        path = root / "passcurve" / name
        text = path.read_text("utf-8")
        assert old in text, f"{name} no longer has {old!r}"
        path.write_text(text.replace(old, new), "utf-8")
    return root


def run_mutant(root: Path, script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a script with that copy in place of ours."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), SITE]), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-c", script, *words], env=env, capture_output=True, text=True, timeout=60, check=False
    )


TRY = """
import json, sys
from passcurve.errors import PasscurveError
from passcurve.sandbox import probe, toolchain
from passcurve.sandbox.zygote_client import Walls
from passcurve.types import Limits
stand = Walls(**json.loads(sys.argv[1]))
try:
    ready = probe.try_walls(stand, toolchain.find_toolchain(None, ()), Limits(memory_bytes=1 << 30))
    print("the walls stand")
except PasscurveError as error:
    print(error)
"""
LANDLOCK = ("sandbox/layers/landlock.py", "_RESTRICT_SELF, rules, 0)", "_RESTRICT_SELF, rules, 0) if False else None")
NARROW = ("sandbox/zygote/confinement.py", "else (self._narrow, pid)", "else (None, pid)")
BROAD = ("sandbox/layers/watch.py", "seccomp.install_broad(processes=processes)", "pass")
UNWATCHED = ("sandbox/layers/watch.py", "if _can_answer():", "if False:")
RULES = ("sandbox/layers/landlock.py", "_allow(rules, path, allowed & rights)", "_allow(rules, '/', allowed & rights)")
WRITABLE = ("sandbox/layers/landlock.py", "_allow(rules, path, allowed & rights)", "_allow(rules, '/', rights)")
PID = ("sandbox/layers/seccomp.py", 'for name in ("kill", "tgkill"):', 'for name in ("tkill", "tgkill"):')
FORK = ("sandbox/layers/seccomp.py", "_threads(_REFUSE)", "_threads(ALLOW)")
SOCKET = ("sandbox/layers/seccomp.py", "allowed = SAMPLE_CALLS |", "allowed = {'socket'} | SAMPLE_CALLS |")
WATCHED_FORK = ("sandbox/layers/seccomp.py", "_threads(NOTIFY)", "_threads(ALLOW)")
WATCHED_SOCKET = (
    "sandbox/layers/seccomp.py",
    "sorted(suspicious - bounded",
    "sorted(suspicious - {'socket'} - bounded",
)
REFUSE_NOTHING = (
    "sandbox/layers/seccomp.py",
    "    program.ret(_REFUSE)\n    return program.code",
    "    program.ret(ALLOW)\n    return program.code",
)
ANYBODY = ("sandbox/layers/watch.py", "by_zygote = pid ==", "by_zygote = True or pid ==")
ANY_SIGNAL = ("sandbox/layers/watch.py", "return pid == self._page.head()[1] or", "return True or")


@pytest.mark.parametrize(
    ("edits", "stand", "caught"),
    [
        ([LANDLOCK], (0, 1, 1), ["read the host", "write outside"]),
        ([RULES], (0, 1, 1), ["read the host"]),
        ([WRITABLE], (0, 1, 1), ["read the host", "write outside"]),
        ([NARROW], (1, 0, 1), ["become dumpable"]),
        ([NARROW, UNWATCHED], (1, 0, 1), ["start a process", "signal the zygote", "become dumpable"]),
        ([NARROW, UNWATCHED], (0, 1, 1), ["start a process"]),
        ([PID, UNWATCHED], (1, 0, 1), ["signal the zygote"]),
        ([FORK, UNWATCHED], (1, 0, 1), ["start a process"]),
        ([BROAD, UNWATCHED], (1, 1, 1), ["open a socket"]),
        ([SOCKET, UNWATCHED], (1, 1, 1), ["open a socket"]),
        ([WATCHED_FORK], (1, 1, 1), ["start a process"]),
        ([WATCHED_SOCKET, REFUSE_NOTHING], (1, 1, 1), ["open a socket"]),
        ([ANYBODY], (1, 0, 1), ["open a socket", "start a process", "signal the zygote"]),
        ([ANY_SIGNAL], (1, 0, 1), ["signal the zygote"]),
    ],
)
def test_a_broken_wall_is_caught(
    public_folder: Path, edits: list[tuple[str, str, str]], stand: tuple[int, int, int], caught: list[str]
):
    """A wall that does nothing is found out by trying, and the refusal names what a sample could do."""
    need("full")
    root = mutant(public_folder, edits)
    words = dict(zip(("namespaces", "landlock", "seccomp"), map(bool, stand), strict=True))
    done = run_mutant(root, TRY, json.dumps(words))
    assert "the walls do not hold: a sample could" in done.stdout, done
    for what in caught:
        assert what in done.stdout


def test_an_unbroken_copy_stands(public_folder: Path):
    """The copy as such changes nothing: what is caught above is the broken wall."""
    need("full")
    done = run_mutant(
        mutant(public_folder, []), TRY, json.dumps({"namespaces": True, "landlock": True, "seccomp": True})
    )
    assert "the walls stand" == done.stdout.strip(), done


KILL = """
import json, os, sys
from passcurve.judging.plan import CheckPlan, make_job
from passcurve.sandbox import probe, toolchain
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.startup import start_sandbox
from passcurve.types import FunctionTests, Limits, Problem
limits = Limits(memory_bytes=1 << 30)
program = f'''
import fcntl, os, socket
def f():
    near, far = socket.socketpair()
    fcntl.fcntl(near, fcntl.F_SETSIG, 9)
    fcntl.fcntl(near, fcntl.F_SETOWN, {os.getpid()})
    fcntl.fcntl(near, fcntl.F_SETFL, os.O_ASYNC)
    far.send(b"x")
    return 1
'''
tests = FunctionTests(source="def check(candidate): assert candidate() == 1")
problem = Problem(id="T", prompt="", entry_point="f", check=tests)
with start_sandbox(limits, level="restricted") as sandbox, Pool(1, sandbox) as pool:
    pool.start(0, make_job(problem, program, CheckPlan(), limits, 0, 1))
    while not pool.wait(1):
        pass
print("alive")
"""


@pytest.mark.ci
def test_signals_under_an_older_landlock(public_folder: Path):
    """Where Landlock does not hold signals back (before Linux 6.12), a sample still cannot kill the supervisor."""
    need("restricted")
    root = mutant(public_folder, [("sandbox/layers/landlock.py", "if version >= 6:", "if version >= 60:")])
    done = run_mutant(root, KILL)
    assert (0, "alive") == (done.returncode, done.stdout.strip()), done.stderr


BESIDE = """
import sys
import msgspec
from passcurve.sandbox import probe, toolchain
from passcurve.types import Limits
found = toolchain.find_toolchain(None, ())
found = msgspec.structs.replace(found, folders=(*found.folders, sys.argv[1]))
print(probe.find_isolation("restricted", found, Limits(memory_bytes=1 << 30)).jail.isolation)
"""


def test_installed_in_an_environment(tmp_path: Path):
    """Installed into an environment of its own, restricted can be had as well."""
    need("restricted")
    venv.create(tmp_path / "env", symlinks=True, with_pip=False)
    packages = next((tmp_path / "env").glob("lib/python3*/site-packages"))
    shutil.copytree(SOURCES, packages / "passcurve", ignore=shutil.ignore_patterns("__pycache__"))
    (packages / "others.pth").write_text(SITE + "\n")
    done = subprocess.run(
        [str(tmp_path / "env" / "bin" / "python"), "-c", FIND, "restricted"],
        env={"PATH": os.environ.get("PATH", "")},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    level, _, message = json.loads(done.stdout)["restricted"]
    assert "restricted" == level, message


def test_installed_beside_the_library(public_folder: Path):
    """Installed into the site-packages of the interpreter itself, as in a container, restricted can be had as well."""
    need("restricted")
    library = public_folder / "library"
    root = mutant(public_folder, [])
    library.mkdir()
    root.rename(library / "site-packages")
    done = run_mutant(library / "site-packages", BESIDE, str(library))
    assert "restricted" == done.stdout.strip(), done.stderr


def test_settings_of_the_kernel_that_forbid_namespaces(tmp_path):
    """Each setting that forbids namespaces is named with the value that allows them, and no other."""
    for name, value in {
        "kernel/unprivileged_userns_clone": "0",
        "kernel/apparmor_restrict_unprivileged_userns": "1",
        "user/max_user_namespaces": "9000",
        "user/max_net_namespaces": "0",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{value}\n")
    assert (
        "kernel.unprivileged_userns_clone=1",
        "kernel.apparmor_restrict_unprivileged_userns=0",
        "user.max_net_namespaces=1000",
    ) == isolation.forbidding_sysctls(tmp_path)
    assert () == isolation.forbidding_sysctls(tmp_path / "none")
