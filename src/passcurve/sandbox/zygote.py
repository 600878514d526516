"""A clean interpreter, forked from a stem, that builds its walls once and then forks one jailed child for each order.

The process that the stem forked only waits, and watches what is refused; its child, process 1 of a process namespace of
its own, is the zygote.

Frames in:  {'do': 'run', 'tag': ...} with descriptors for the child, {'do': 'end'} to have the child killed,
            {'do': 'clock'} to have it timed.
Frames out: {'ready': ...} or {'failed': ...} once; then what ``exits`` packs exactly once for each run, and
            {'clock': ..., 'tag': ...} for each question.
"""

from __future__ import annotations

import gc
import json
import marshal
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from passcurve.sandbox import exits, kernel, wire
from passcurve.sandbox.layers import landlock, mounts, namespaces, rlimits, scratch, seccomp, watch

ORDER_BYTES = 1 << 16
"""An order is a few words; what a child is to run goes to it alone."""

WALK_MS = 20
"""How often a scratch that no mount bounds is measured while a sample runs."""

LOOK_NS = 20_000_000
"""A child that ended sooner is not timed: the difference between the clocks is smaller than anybody's limit."""

_LINUX = sys.platform.startswith("linux")

Config = dict[str, Any]
Role = Callable[[list[int]], None]


def start(line: socket.socket, config: Config, parent: int, roles: dict[str, Role]) -> None:
    """Leave the host, and serve until the line is closed or the process ``parent`` ends."""
    try:
        _start(line, config, parent, roles)
    except BaseException as error:
        text = "%s: %s" % (type(error).__name__, error)
        wire.send_frame(line.fileno(), wire.encode({"failed": text[:500]}))
        os._exit(1)


def _start(line: socket.socket, config: Config, parent: int, roles: dict[str, Role]) -> None:
    if _LINUX:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        try:
            with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
                file.write("1000")
        except OSError:
            pass  # it only steers the kernel's choice when the whole machine is out of memory
    kind = ""
    if config["namespaces"]:
        kind = namespaces.enter(config["host_id"])
    page = watch.Page()
    ours, theirs = socket.socketpair()
    if config["namespaces"] or config["seccomp"]:
        starter = os.getpid()
        if pid := os.fork():
            line.close()
            theirs.close()
            watch.serve(ours, page, pid)
        if not config["namespaces"]:
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != starter:
                os._exit(1)
    ours.close()
    zygote = Zygote(line, config, roles, page, theirs)
    zygote.build_walls(kind)
    zygote.serve()


class Zygote:
    """The loop of process 1: fork for an order, watch, clean up, report.

    What a child is to run never enters this process: whatever lies in it at a fork can be read by the next sample.
    """

    def __init__(
        self, line: socket.socket, config: Config, roles: dict[str, Role], page: watch.Page, watcher: socket.socket
    ) -> None:
        self._line = line
        self._page = page
        self._watcher = watcher
        self._watched = False
        self._overfull = False
        self._since = 0
        self._config = config
        self._roles = roles
        self._apart = bool(config["namespaces"])
        self._rules = -1
        self._narrow: seccomp.Narrow | None = None
        self._pid = os.getpid()
        self._child = 0
        self._tag = 0
        self._pidfd = -1
        self._poll = select.poll()
        self._poll.register(line.fileno(), select.POLLIN)
        self._scratch: scratch.Mounted | scratch.Folder
        self._proc = "/proc" if os.path.exists("/proc/self/schedstat") else ""

    def build_walls(self, kind: str) -> None:
        """Apply every layer that was asked for, then prove them from a child."""
        config = self._config
        if self._apart:
            sources = mounts.Sources(config["binds"])
            namespaces.become(kind, config["host_id"])
            if not mounts.enter(sources, config["links"], config["masks"], config["scratch"]):
                self._proc = ""
            self._scratch = scratch.Mounted(config["scratch"])
        else:
            if config["own_id"] is not None:
                namespaces.drop_to(config["own_id"])
            self._scratch = scratch.Folder(config["scratch_dir"], *config["scratch_limits"])
        if config["packages_path"]:
            sys.path.append(config["packages_path"])
        rlimits.apply_to_zygote(config["file_bytes"], config["memory"])
        rlimits.limit_processes(0 if self._apart or config["own_id"] is not None else rlimits.processes_of_user())
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        abi = 0
        if config["landlock"]:
            abi = landlock.abi()
            self._write_rules()
        if _LINUX:
            kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
            kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        if config["seccomp"]:
            self._watched = watch.begin(self._watcher)
            self._narrow = seccomp.Narrow(own_files=self._apart, watched=self._watched)
        self._watcher.close()
        if _LINUX:
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        gc.collect()
        gc.freeze()
        broken = self._self_test()
        self._say(
            {
                "ready": True,
                "kind": kind,
                "landlock": abi,
                "clock": bool(self._proc),
                "watched": self._watched,
                "broken": broken,
                "python": "%d.%d.%d" % sys.version_info[:3],
                "dropped": config["host_id"] is not None if self._apart else config["own_id"] is not None,
            }
        )

    def serve(self) -> None:
        """Answer frames until the supervisor is gone."""
        while True:
            # One event at a time: what the first one leads to may make the second one stale.
            ready = [fd for fd, _ in self._poll.poll(None if self._apart or not self._child else WALK_MS)]
            if self._child and self._pidfd in ready:
                self._finish()
            elif self._line.fileno() in ready:
                self._obey()
            elif not self._overfull and self._scratch.is_over():
                self._overfull = True
                self._kill()

    def _obey(self) -> None:
        try:
            data, descriptors = wire.receive_frame_and_descriptors(self._line, ORDER_BYTES)
        except wire.Closed:
            self._leave()
        # From the supervisor alone, so the interpreter's own format will do.
        order = marshal.loads(data)
        if order["do"] == "run":
            self._run(order, descriptors)
        elif order["do"] == "end":
            self._end()
        else:
            self._say(
                {
                    "clock": self._clock(),
                    "since": self._since,
                    "at": time.monotonic_ns(),
                    "tag": self._tag,
                    "held": self._is_stopped(),
                }
            )

    def _leave(self) -> NoReturn:
        if self._child:
            self._kill()
            os.waitpid(self._child, 0)
        os._exit(0)

    def _say(self, record: dict[str, Any]) -> None:
        self._send(wire.encode(record))

    def _send(self, data: bytes) -> None:
        try:
            wire.send_frame(self._line.fileno(), data)
        except wire.Closed:
            self._leave()

    def _run(self, order: dict[str, Any], descriptors: list[int]) -> None:
        # An order to run never overtakes one to end, but a child may have died in between.
        self._end()
        pipe, alive = (-1, -1) if hasattr(os, "pidfd_open") else os.pipe()
        self._page.begin()
        self._overfull = False
        self._since = time.monotonic_ns()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(self._line.fileno())
                self._page.enter()
                if order.get("schedstat") and self._proc:
                    # Opened while it can be: behind Landlock a process cannot read its own.
                    descriptors.append(os.open("/proc/self/schedstat", os.O_RDONLY))
                self._enter_jail()
                self._roles[order["role"]](descriptors)
            except BaseException:
                os._exit(99)
            os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)
        if alive >= 0:
            os.close(alive)
        if order["cpu"]:
            rlimits.limit_cpu(pid, order["cpu"])
        self._child, self._tag = pid, order["tag"]
        self._pidfd = os.pidfd_open(pid) if pipe < 0 else pipe
        self._poll.register(self._pidfd, select.POLLIN)

    def _enter_jail(self) -> None:
        """Put up the walls of one child: they must be its own, so that it can reach nothing of its parent."""
        if _LINUX and not self._apart:
            # Without a process namespace nobody else would end it when its zygote is killed.
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != self._pid:
                os._exit(99)
        self._scratch.leave()
        if self._rules >= 0:
            landlock.restrict(self._rules)
            os.close(self._rules)
        if self._apart or self._narrow is not None:
            kernel.drop_capabilities()
        if self._narrow is not None:
            self._narrow.install(os.getpid())

    def _end(self) -> None:
        if self._child:
            self._kill()
            self._finish()

    def _kill(self) -> None:
        """Kill the child, in the one way that needs no answer from the watcher."""
        if hasattr(os, "pidfd_open"):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        else:
            # What is watched is a pipe that the child held; it may have closed it and live on.
            os.kill(self._child, signal.SIGKILL)

    def _finish(self) -> None:
        """Reap the child and whatever it left, clean the scratch, report."""
        if not hasattr(os, "pidfd_open"):
            self._kill()
        self._poll.unregister(self._pidfd)
        os.close(self._pidfd)
        at = time.monotonic_ns()
        # A child that has ended and is not reaped still has its clocks; below a look nobody asks for them.
        clock = self._clock() if at - self._since > LOOK_NS else None
        _, status, used = os.wait4(self._child, 0)
        self._child = 0
        if self._apart:
            self._end_orphans()
        self._clean_scratch()
        self._send(
            exits.pack(
                status,
                self._tag,
                self._since,
                at,
                clock,
                used.ru_utime + used.ru_stime,
                used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
                self._overfull,
                self._page.noted(),
            )
        )

    def _end_orphans(self) -> None:
        """End what the child left behind: here, everybody whose parent has ended becomes ours."""
        try:
            while True:
                if os.waitpid(-1, os.WNOHANG) == (0, 0):
                    os.kill(-1, signal.SIGKILL)
                    os.waitpid(-1, 0)
        except ChildProcessError:
            pass

    def _clean_scratch(self) -> None:
        if self._scratch.clean() and self._rules >= 0:
            # A rule belongs to the folder it was made for, and that one is gone.
            os.close(self._rules)
            self._write_rules()

    def _write_rules(self) -> None:
        config = self._config
        self._rules = landlock.ruleset(landlock.abi(), config["readable"], config["listable"], self._scratch.path)

    def _clock(self) -> tuple[int, int] | None:
        """Return CPU of all threads, and the longest CPU + waiting of one thread, of the child in ns; or None."""
        if not self._child or not self._proc:
            return None
        longest = 0
        folder = "/proc/%d/task" % self._child
        try:
            # The process's clock also holds the time of threads that have ended.
            total = time.clock_gettime_ns((~self._child << 3) | 2)
            for thread in os.listdir(folder):
                with open("%s/%s/schedstat" % (folder, thread), encoding="ascii") as file:
                    ran, waited, _ = map(int, file.read().split())
                longest = max(longest, ran + waited)
        except OSError:
            return None
        return total, longest

    def _is_stopped(self) -> bool:
        """Say whether somebody has stopped the child: that is neither its running nor its sleeping."""
        if not self._child or not self._proc:
            return False
        try:
            with open("/proc/%d/stat" % self._child, "rb") as file:
                return file.read().rpartition(b") ")[2][:1] == b"T"
        except OSError:
            return False

    def _self_test(self) -> list[str]:
        """Try from a child what must fail; return the names of what did not."""
        read, write = os.pipe()
        self._page.begin()
        pid = os.fork()
        if pid == 0:
            broken = ["self-test"]
            try:
                self._page.enter()
                self._enter_jail()
                broken = _attempts(self._config)
            finally:
                os.write(write, json.dumps(broken).encode())
                os._exit(0)
        os.close(write)
        with open(read, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(pid, 0)
        self._clean_scratch()
        return json.loads(answer)  # type: ignore[no-any-return]


def _attempts(config: Config) -> list[str]:
    """Try each forbidden thing by doing it; a name is returned for each that worked."""
    walls = [wall for wall in ("namespaces", "landlock", "seccomp") if config[wall]]

    def read_the_host() -> None:
        os.close(os.open(config["canary"], os.O_RDONLY))

    def write_outside() -> None:
        if not config["namespaces"]:
            # The root refuses an ordinary user anyway; the folder of all temporary files does not.
            place = os.path.dirname(os.path.dirname(config["scratch_dir"])) + "/passcurve-was-here-%d" % os.getpid()
            try:
                os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            except OSError:
                pass
            else:
                os.unlink(place)
                return
        os.close(os.open("/passcurve-was-here", os.O_CREAT | os.O_WRONLY, 0o600))
        os.unlink("/passcurve-was-here")

    def open_a_socket() -> None:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()

    def start_a_process() -> None:
        if os.fork() == 0:
            os._exit(0)

    def write_to_the_zygote() -> None:
        os.close(os.open("/proc/%d/mem" % os.getppid(), os.O_RDWR))

    def signal_the_zygote() -> None:
        os.kill(os.getppid(), signal.SIGCONT)

    def become_dumpable() -> None:
        kernel.prctl(kernel.PR_SET_DUMPABLE, 1)

    forbidden = []
    if "namespaces" in walls or "landlock" in walls:
        forbidden += [read_the_host, write_outside, write_to_the_zygote]
    if "seccomp" in walls:
        forbidden += [open_a_socket, start_a_process, signal_the_zygote, become_dumpable]
    broken = []
    for attempt in forbidden:
        try:
            attempt()
        except OSError:
            continue
        broken.append(attempt.__name__)
    try:
        with open("self-test", "w") as file:
            file.write("x")
    except OSError:
        broken.append("use_the_scratch")
    return broken
