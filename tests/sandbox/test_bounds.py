"""The bounds of a jailed program: its threads, its memory, and its scratch, which is clean for the next one."""

from __future__ import annotations

import resource
import subprocess
import threading
import warnings

import pytest
from jailed import IS_ONE, LIMITS, MIB, ONE, Jailed, descendants, jail_at, zygotes

from passcurve.sandbox.layers import rlimits

CHURN = "while :; do /bin/true & done"


@pytest.mark.parametrize("churns", [False, True])
def test_threads_are_counted_while_processes_end(churns: bool):
    """All threads of this user count, and a process that ends meanwhile leaves nothing behind in memory."""
    gate = threading.Event()
    threads = [threading.Thread(target=gate.wait) for _ in range(40)]
    for thread in threads:
        thread.start()
    others = subprocess.Popen(["bash", "-c", CHURN if churns else "read"], stdin=subprocess.PIPE)
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            counts = [rlimits.processes_of_user() for _ in range(300)]
    finally:
        others.kill()
        others.communicate()
        gate.set()
    assert 42 <= min(counts)
    assert [] == seen


FILES = "import resource\ndef f():\n    return resource.getrlimit(resource.RLIMIT_NOFILE)\n"


def test_descriptors_are_bounded_for_programs_alone(full: Jailed):
    """Zygotes have more: the kernel compares the limit with what all of a user have under way between processes."""
    for kept in (True, False):
        assert (64, 64) == full.value(FILES, allow_kept=kept)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for client in zygotes(full.pool).values():
        zygote, *children = descendants(client.pid)
        limits = [resource.prlimit(process.pid, resource.RLIMIT_NOFILE)[0] for process in (zygote, *children)]
        # The child that is kept has the limit of programs.
        assert [64, min(hard, 4096), min(hard, 4096)] == sorted(limits)


def test_threads_are_bounded(full: Jailed):
    """A program that starts threads without end gets some and then none, and harms nobody."""
    assert 1 <= full.value(THREAD_BOMB) <= 64
    assert full.check(ONE, IS_ONE).passed


@pytest.mark.ci
def test_threads_are_bounded_by_memory(restricted: Jailed):
    """Without a uid of its own it is the limit of memory that ends a thread bomb."""
    assert 1 <= restricted.value(THREAD_BOMB) < 1000
    assert restricted.check(ONE, IS_ONE).passed


THREAD_BOMB = """
import threading
def f():
    gate = threading.Event()
    started = 0
    try:
        while started < 1000:
            threading.Thread(target=gate.wait, daemon=True).start()
            started += 1
    except (RuntimeError, MemoryError):
        pass
    gate.set()
    return started
"""


def test_memory_is_bounded(jail: Jailed):
    """More memory than the limit is a MemoryError, and says so in the verdict."""
    assert "memory" == jail.check("def f():\n    return len(bytearray(2 << 30))\n", IS_ONE).status
    assert "memory" == jail.check("x = bytearray(2 << 30)\n" + ONE, IS_ONE).status


def test_cpu_and_core_files(jail: Jailed):
    """Nothing can be left as a core file, locked in memory or queued as messages."""
    names = ("RLIMIT_CORE", "RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE")
    source = f"import resource\ndef f():\n    return [resource.getrlimit(getattr(resource, n)) for n in {names}]\n"
    assert [(0, 0)] * 3 == jail.value(source)


CLEAN = """
import os, tempfile
def f():
    found = os.listdir(".")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        with open(path, "w") as file:
            file.write("text")
        with open(path) as file:
            return file.read(), os.path.dirname(folder) == os.getcwd(), found
"""


def test_scratch_is_usable(jail: Jailed):
    """The current folder is where temporary files go, and can be written."""
    assert ("text", True, []) == jail.value(CLEAN)


DIRT = {
    "a file": "open('file', 'w').write('x')",
    "an open file without a name": "globals().update(kept=open('file', 'w')), os.unlink('file')",
    "a hidden folder without rights": "os.makedirs('.a/b/c'), open('.a/b/c/d', 'w').close(), "
    "perhaps(os.chmod, '.a/b', 0), perhaps(os.chmod, '.a', 0)",
    "a folder that cannot be changed": "os.makedirs('a/b'), perhaps(os.chmod, 'a', 0o555)",
    "a file without rights": "open('file', 'w').close(), perhaps(os.chmod, 'file', 0)",
    "links to nowhere and to itself": "os.symlink('/nowhere', 'a'), os.symlink('b', 'b'), os.symlink('/usr', 'c')",
    "names that are no text": r"os.mkdir(b'\xff'), open(b'\xff/\n\x01', 'w').close()",
    "a scratch with other times": "perhaps(os.utime, '.', (0, 0))",
    "a nested tree": "os.makedirs('/'.join('d' * 30))",
    "many files": "[open(str(i), 'w').close() for i in range(150)]",
    "a full disk": "fill()",
}
FILL = """
import os
def perhaps(change, *arguments):
    try:
        change(*arguments)
    except PermissionError:
        pass  # without mounts of its own a program may change no file's mode
def fill():
    try:
        with open("full", "wb") as file:
            while True:
                file.write(bytes(1 << 16))
    except OSError:
        pass
"""


LEAVE = """
def f():
    before = len(os.listdir())
    os.mkdir("folder")
    with open("folder/{number}", "w") as file:
        file.write(str(before))
    return open("folder/{number}").read()
"""


@pytest.mark.parametrize("dirt", DIRT)
def test_scratch_is_clean_for_the_next(jail: Jailed, dirt: str):
    """Whatever a program leaves in the scratch, the next one finds it empty and usable."""
    assert 1 == jail.value(FILL + f"def f():\n    {DIRT[dirt]}\n    return 1\n")
    assert ("text", True, []) == jail.value(CLEAN)


@pytest.mark.nightly
def test_every_scratch_of_many_is_new(full: Jailed):
    """However many scratches came before, the present one can be written, and none before it is there."""
    assert ["0"] * 40 == [full.value(f"import os\n{LEAVE.format(number=number)}") for number in range(40)]


@pytest.mark.parametrize("rights", [0, 0o100, 0o555])
@pytest.mark.parametrize("level", ["full", "restricted"])
def test_rights_of_the_scratch(level: str, rights: int):
    """A program that takes the rights of the scratch away takes them from nobody but itself."""
    program = FILL + f"def f():\n    open('x', 'w').close()\n    perhaps(os.chmod, '.', {rights})\n    return 1\n"
    with jail_at(level) as jail:
        assert 1 == jail.value(program)
        assert ("text", True, []) == jail.value(CLEAN)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("levels", "name"),
    [
        *(pytest.param(levels, "d", marks=pytest.mark.nightly) for levels in (100, 1500)),
        (1100, "d" * 50),
    ],
)
@pytest.mark.parametrize("level", ["full", "restricted"])
def test_deep_trees(level: str, levels: int, name: str):
    """A tree too deep for open files, for recursion or for a path is no fault of ours and not there for the next."""
    source = (
        "import os\n"
        "def f():\n"
        "    try:\n"
        f"        for _ in range({levels}):\n"
        f"            os.mkdir({name!r})\n"
        f"            os.chdir({name!r})\n"
        "    except OSError:\n"
        "        pass\n"
        "    return 1\n"
    )
    with jail_at(level) as jail:
        outcome = jail.run(jail.job(source, IS_ONE))
        assert "" == outcome.fault
        assert ("text", True, []) == jail.value(CLEAN)


WRITE = """
import errno, os
def f():
    written = 0
    try:
        for name in range({files}):
            with open(str(name), "wb", buffering=0) as file:
                for _ in range({size}):
                    written += file.write(bytes(1 << 20))
    except OSError as error:
        return written >> 20, errno.errorcode[error.errno]
"""


def test_a_file_is_bounded(jail: Jailed):
    """One file ends at the size of the scratch."""
    written, why = jail.value(WRITE.format(files=1, size=100))
    assert written <= LIMITS.scratch_bytes // MIB
    assert why in ("ENOSPC", "EFBIG")


def test_the_scratch_is_bounded(full: Jailed):
    """All files together end at the size of the scratch."""
    written, why = full.value(WRITE.format(files=100, size=3))
    assert LIMITS.scratch_bytes // MIB - 1 <= written <= LIMITS.scratch_bytes // MIB
    assert "ENOSPC" == why


def test_files_are_counted(full: Jailed):
    """No more files fit into the scratch than the limit says."""
    made, why = full.value(
        "import errno, os\n"
        "def f():\n"
        "    made = 0\n"
        "    try:\n"
        "        while made < 10_000:\n"
        "            open(str(made), 'w').close()\n"
        "            made += 1\n"
        "    except OSError as error:\n"
        "        return made, errno.errorcode[error.errno]\n"
    )
    assert LIMITS.scratch_files - 10 <= made < LIMITS.scratch_files
    assert "ENOSPC" == why


FILLS = {
    "bytes": "open('f%d' % i, 'wb').write(bytes(1 << 20))",
    "files": "open('f%d' % i, 'w').close()",
    "folders": "os.mkdir('d%d' % i)",
    "deep folders": "(os.mkdir('d'), os.chdir('d'))",
}


@pytest.mark.ci
@pytest.mark.parametrize("what", FILLS)
def test_a_scratch_without_a_mount_is_measured(what: str):
    """Where no mount bounds the scratch, a program that fills it is ended and told so; the next has it clean."""
    with jail_at("restricted") as jail:
        loop = f"    for i in range(10**6):\n        {FILLS[what]}\n        time.sleep(0.001)\n"
        program = f"import os, time\ndef f():\n{loop}    return 1\n"
        verdict = jail.check(program, IS_ONE)
        assert ("failed", "more files or bytes than its scratch may hold") == (verdict.status, verdict.message)
        assert [] == jail.value("import os\ndef f():\n    return os.listdir('.')\n")


def test_the_limit_of_cpu_time_stands_before_the_program():
    """A program can see it, and what it sees does not depend on how soon it runs."""
    program = "import resource\nSEEN = resource.getrlimit(resource.RLIMIT_CPU)\ndef f():\n    return SEEN\n"
    with jail_at("full", reuse="fork") as jail:
        assert 1 == len({jail.value(program) for _ in range(40)})
