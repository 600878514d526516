"""Host: its state before and after a run, and listeners that no sample may reach."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import stat
import tempfile
import threading
import time
import uuid
from pathlib import Path
from typing import Self

SECRET = "a secret of the host"
PATIENCE_S = 10.0
PR_SET_CHILD_SUBREAPER = 36
FOLDERS = ("/", "/tmp", "/var/tmp", "/dev/shm", "/dev", "/run", "/etc", "/usr", "/usr/bin", "/home", "/root")


def parents() -> dict[int, int]:
    """Return the parent of each living process."""
    parent_of = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                state, parent = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state not in "ZX":
                parent_of[int(folder.name)] = int(parent)
    return parent_of


def living_descendants(ancestor: int) -> set[int]:
    """Return the living descendants of a process."""
    parent_of, pids, level = parents(), set(), {ancestor}
    while level:
        level = {pid for pid, parent in parent_of.items() if parent in level}
        pids |= level
    return pids


def mounts() -> list[str]:
    """Return the mounts that this process sees."""
    return sorted(line.split()[4] for line in Path("/proc/self/mountinfo").read_text("utf-8").splitlines())


def system_v() -> set[str]:
    """Return kind and key of each System V object."""
    kinds = ("shm", "msg", "sem")
    lines = ((kind, line) for kind in kinds for line in Path("/proc/sysvipc", kind).read_text("ascii").splitlines()[1:])
    return {f"{kind} {int(line.split()[0]) & 0xFFFFFFFF:x}" for kind, line in lines}


OWN_PROCESSES = 2
"""The command and the fork server."""

WORKER_PROCESSES = 10
"""Of each worker, once for samples and once for tests: the parent of the zygote, the zygote, its template, the process
that is kept, and one for a job."""


class Host:
    """A folder that everybody may read and write, listeners, and the state of the host before a run."""

    def __init__(self, run: Path, workers: int) -> None:
        self.run = run
        self._most_processes = OWN_PROCESSES + workers * WORKER_PROCESSES
        self.mark = f"passcurve-attack-{uuid.uuid4().hex[:12]}"
        self.folder = Path(tempfile.mkdtemp(prefix="passcurve-test-"))
        self.folder.chmod(0o777)
        self.canary = self.folder / "canary"
        self.canary.write_text(SECRET, "ascii")
        self.canary.chmod(0o666)
        os.utime(self.canary, (1_000_000_000, 1_000_000_000))
        for name in ("home", "tmp"):
            (run / name).mkdir()
        (run / "home" / "secret").write_text(SECRET, "ascii")
        self.max_processes = 0
        self.reached: list[str] = []
        self._ended = threading.Event()
        self._listen()
        self._processes = living_descendants(os.getpid())
        self._mounts = mounts()
        self._limits = Path("/proc/self/limits").read_text("ascii")

    def _listen(self) -> None:
        loopback = socket.create_server(("127.0.0.1", 0))
        self.port = loopback.getsockname()[1]
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind(("127.0.0.1", self.port))
        self._listeners = {"tcp": loopback, "udp": datagrams}
        for kind, address in (("path", str(self.folder / "line")), ("abstract", f"\0{self.mark}-ear")):
            line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            line.bind(address)
            line.listen()
            self._listeners[kind] = line
        (self.folder / "line").chmod(0o777)
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            self.free = unused.getsockname()[1]
        self._threads = [threading.Thread(target=self._hear, args=pair) for pair in self._listeners.items()]
        self._threads.append(threading.Thread(target=self._watch))

    def _hear(self, kind: str, line: socket.socket) -> None:
        line.settimeout(0.2)
        while not self._ended.is_set():
            try:
                if line.type == socket.SOCK_DGRAM:
                    line.recv(1)
                else:
                    line.accept()[0].close()
            except TimeoutError:
                continue
            self.reached.append(kind)

    def _watch(self) -> None:
        while not self._ended.wait(0.25):
            self.max_processes = max(self.max_processes, len(living_descendants(os.getpid()) - self._processes))

    def __enter__(self) -> Self:
        # Orphans become children of this process, so that none can hide.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()
        for line in self._listeners.values():
            line.close()
        for pid in living_descendants(os.getpid()) - self._processes:
            os.kill(pid, signal.SIGKILL)
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        shutil.rmtree(self.folder)

    @property
    def placeholders(self) -> dict[str, str]:
        """Placeholders in the programs, with their values."""
        return {
            "@CANARY@": str(self.canary),
            "@FOLDER@": str(self.folder),
            "@MARK@": self.mark,
            "@HOST@": str(os.getpid()),
            "@PORT@": str(self.port),
            "@FREE@": str(self.free),
            "@UNIX@": str(self.folder / "line"),
            "@ABSTRACT@": f"{self.mark}-ear",
            "@KEY@": self.mark[-7:],
            "@RUN@": str(self.run),
            "@HOME@": str(self.run / "home"),
        }

    @property
    def environment(self) -> dict[str, str]:
        """Additional variables in the environment of the run."""
        return {"HOME": str(self.run / "home"), "TMPDIR": str(self.run / "tmp"), "ATTACK_SECRET": f"{self.mark} secret"}

    def findings(self) -> dict[str, object]:
        """Return the changes by invariant; an invariant that holds has an empty value."""
        deadline = time.monotonic() + PATIENCE_S
        while (left := living_descendants(os.getpid()) - self._processes) and time.monotonic() < deadline:
            time.sleep(0.05)
        status = self.canary.stat()
        kept = (self.canary.read_text("ascii"), stat.S_IMODE(status.st_mode), status.st_mtime, status.st_nlink)
        key = f"{int(self.mark[-7:], 16):x}"
        wide = (socket.AF_INET, self.free), (socket.AF_INET6, self.free)
        return {
            "no process is left": sorted(left),
            "never more processes than the walls have": max(0, self.max_processes - self._most_processes),
            "nobody was reached": sorted(self.reached),
            "nobody listens": [family.name for family, port in wide if _answers(family, port)] + _names(self.mark),
            "the canary is what it was": [] if kept == (SECRET, 0o666, 1_000_000_000, 1) else kept,
            "the canary is not alone": sorted(_in(self.folder) - {"canary", "line"}),
            "no mark is left": self._marks(),
            "no mount is left": sorted(set(mounts()) - set(self._mounts)),
            "nothing of System V is left": sorted(name for name in system_v() if name.endswith(f" {key}")),
            "the folder for temporary files is empty": sorted(_in(self.run / "tmp")),
            "the home is what it was": sorted(_in(self.run / "home") - {"secret"}),
            "our own limits are what they were": Path("/proc/self/limits").read_text("ascii") != self._limits,
        }

    def _marks(self) -> list[str]:
        paths = []
        library = Path(os.__file__).parent
        for folder in (*FOLDERS, self.run, library, library / "__pycache__", library / "site-packages"):
            try:
                names = _in(Path(folder))
            except OSError:
                continue
            paths += [f"{folder}/{name}" for name in names if self.mark in name]
        return paths


def _in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _answers(family: socket.AddressFamily, port: int) -> bool:
    try:
        with socket.socket(family) as line:
            line.settimeout(1)
            return line.connect_ex(("localhost" if family == socket.AF_INET else "::1", port)) == 0
    except OSError:
        return False


def _names(mark: str) -> list[str]:
    lines = Path("/proc/net/unix").read_text("utf-8", "replace").splitlines()
    return [line for line in lines if mark in line and not line.endswith("-ear")]
