"""A clean interpreter, forked from a stem, that builds its walls once and then has jailed children forked.

The process that the stem forked only waits, and watches what is refused; its child, process 1 of a process namespace of
its own, is the zygote.

Frames in:  {'do': 'run', 'tag': ...} with descriptors for a child that runs one job, {'do': 'end'} to have it killed;
            {'do': 'keep'} with descriptors for a child that waits for jobs; after each of these
            {'do': 'rewind', 'tag': ...} has it put back, or {'do': 'replace', 'tag': ...}, with descriptors, replaced;
            {'do': 'clock'} to have either timed.
Frames out: {'ready': ...} or {'failed': ...} once; then what ``exits`` packs once for each run and each rewind, and
            once, with tag 0, when the child that is kept is lost between two; {'kept': ...} for each order to keep one;
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
from typing import Any, NoReturn

from passcurve.harness import framing, wire
from passcurve.sandbox import copy_stub, exit_status, kernel, wall_checks
from passcurve.sandbox.copy_stub import Stub
from passcurve.sandbox.kept import Kept, Single
from passcurve.sandbox.layers import landlock, mounts, namespaces, rlimits, scratch, seccomp, seccomp_strict, watch
from passcurve.sandbox.rewind import WALL, UncleanError
from passcurve.sandbox.template import FIRST, Role, Template, begin

ORDER_BYTES = 1 << 16
"""An order is a few words; what a child is to run goes to it alone."""

WALK_MS = 20
"""How often a scratch that no mount bounds is measured, and a process that is kept is looked at."""

LOOK_NS = 20_000_000
"""A child that ended sooner is not timed: the difference between the clocks is smaller than anybody's limit."""

_LINUX = sys.platform.startswith("linux")

Config = dict[str, Any]


def start(line: socket.socket, config: Config, parent: int, roles: dict[str, Role]) -> None:
    """Leave the host, and serve until the line is closed or the process ``parent`` ends."""
    try:
        _start(line, config, parent, roles)
    except BaseException as error:
        text = "%s: %s" % (type(error).__name__, error)
        framing.send_frame(line.fileno(), wire.encode({"failed": text[:500]}))
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
    """The loop of process 1: have children forked, watch them, put back the one that is kept, clean up, report.

    What a child is to run never enters this process.
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
        self._narrow: seccomp.NarrowFilter | None = None
        self._strict: seccomp_strict.StrictFilter | None = None
        self._pid = os.getpid()
        self._child = 0
        self._tag = 0
        self._pidfd = -1
        self._kept: Kept | Single | None = None
        self._hot: frozenset[int] = frozenset()
        self._place: tuple[int, ...] | None = None
        """Where in its code the first process that was kept waited for its first job."""
        self._poll = select.poll()
        self._poll.register(line.fileno(), select.POLLIN)
        self._scratch: scratch.Mounted | scratch.Folder
        self._template: Template | None = None
        self._stub: Stub | None = None
        self._proc = "/proc" if os.path.exists("/proc/self/schedstat") else ""

    def build_walls(self, kind: str) -> None:
        """Apply every layer that was asked for, then prove them from a child."""
        config = self._config
        if config["seccomp"] and copy_stub.AVAILABLE:
            self._stub = Stub()
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
            self._narrow = seccomp.NarrowFilter(own_files=self._apart, watched=self._watched)
            self._strict = seccomp_strict.StrictFilter()
        self._watcher.close()
        if _LINUX:
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        gc.collect()
        gc.freeze()
        broken = self._self_test()
        if _LINUX:
            self._template = Template(
                self._roles, self._enter_jail, self._forget, track=config["rewinds"] and config["seccomp"]
            )
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

    def _forget(self) -> None:
        """Let go of what no sample may have, in a process that forks samples."""
        self._page.close()
        self._scratch.leave()
        if self._stub is not None:
            copy_stub.attach(self._stub.readable)

    def serve(self) -> None:
        """Answer frames until the supervisor is gone."""
        while True:
            # One event at a time: what the first one leads to may make the second one stale.
            walks = self._kept is not None or (self._child and not self._apart)
            ready = [fd for fd, _ in self._poll.poll(WALK_MS if walks else None)]
            if self._child and self._pidfd in ready:
                self._finish()
            elif self._line.fileno() in ready:
                self._obey()
            elif self._kept is not None and self._kept.has_ended():
                self._lose_kept(0)
            elif self._child and not self._overfull and self._scratch.is_over():
                self._overfull = True
                self._kill()

    def _obey(self) -> None:
        try:
            data, descriptors = framing.receive_frame_and_descriptors(self._line, ORDER_BYTES)
        except framing.ConnectionClosed:
            self._leave()
        # From the supervisor alone, so the interpreter's own format will do.
        order = marshal.loads(data)
        if order["do"] == "run":
            self._run(order, descriptors)
        elif order["do"] == "end":
            self._end()
        elif order["do"] == "rewind":
            self._rewind(order["tag"], typical=order["typical"])
        elif order["do"] == "replace":
            self._replace(order, descriptors)
        elif order["do"] == "keep":
            self._keep(order, descriptors)
        else:
            self._tell_clock(order["kept"])

    def _tell_clock(self, of_kept: bool) -> None:
        if of_kept:
            clock, since, tag = self._kept.clock() if self._kept is not None else None, 0, 0
            pid = self._kept.pid if self._kept is not None else 0
        else:
            clock, since, tag, pid = self._clock(), self._since, self._tag, self._child
        answer = {"clock": clock, "since": since, "at": time.monotonic_ns(), "tag": tag, "kept": of_kept}
        self._say({**answer, "held": self._is_stopped(pid)})

    def _leave(self) -> NoReturn:
        if self._child:
            self._kill()
            os.waitpid(self._child, 0)
        os._exit(0)

    def _say(self, record: dict[str, Any]) -> None:
        self._send(wire.encode(record))

    def _send(self, data: bytes) -> None:
        try:
            framing.send_frame(self._line.fileno(), data)
        except framing.ConnectionClosed:
            self._leave()

    def _fork(self, order: dict[str, Any], descriptors: list[int]) -> tuple[int, int]:
        """Return the pid of a new child and the descriptor by which its writes can be noted; it waits for ``release``.

        Where there is no template it goes on at once.
        """
        order = {**order, "scratch": self._scratch.path, "ruled": self._rules >= 0}
        descriptors = [self._rules, *descriptors] if self._rules >= 0 else descriptors
        if self._template is not None:
            pid = self._template.fork()
            if not order["kept"]:
                # One that is kept may be made while a job runs; its filter ends it at any call that would be noted.
                self._page.enter(pid)
            return pid, self._template.order(pid, order, descriptors)
        pid = os.fork()
        if pid == 0:
            try:
                self._forget()
                begin(order, descriptors, self._roles, self._enter_jail)
            except BaseException:
                os._exit(99)
            os._exit(0)
        return pid, -1

    def _release(self) -> None:
        if self._template is not None:
            self._template.release()

    def _run(self, order: dict[str, Any], descriptors: list[int]) -> None:
        # An order to run never overtakes one to end, but a child may have died in between.
        self._end()
        self._page.begin()
        self._overfull = False
        self._since = time.monotonic_ns()
        pipe, alive = (-1, -1) if hasattr(os, "pidfd_open") else os.pipe()
        pid, tracker = self._fork({"role": order["role"], "kept": False, "lowest": 0}, descriptors)
        if tracker >= 0:
            os.close(tracker)
        for descriptor in descriptors:
            os.close(descriptor)
        if alive >= 0:
            os.close(alive)
        if order["cpu"]:
            rlimits.limit_cpu(pid, order["cpu"])
        self._child, self._tag = pid, order["tag"]
        self._pidfd = os.pidfd_open(pid) if pipe < 0 else pipe
        self._poll.register(self._pidfd, select.POLLIN)
        self._release()

    def _keep(self, order: dict[str, Any], descriptors: list[int]) -> None:
        self._say({"kept": self._make_kept(order["role"], descriptors)})
        for descriptor in descriptors:
            # Kept's line is a copy.
            os.close(descriptor)

    def _make_kept(self, role: str, descriptors: list[int]) -> str:
        """Have a process forked that is put back or replaced after each job; return why there is none, or nothing.

        Its lines must be new: what an earlier process has left on its own would be read before the snapshot.
        """
        if self._strict is None or self._template is None:
            return "it takes seccomp"
        order = {"role": role, "kept": True, "lowest": FIRST + len(descriptors)}
        pid, tracker = self._fork(order, descriptors)
        if not self._config["rewinds"]:
            self._kept = Single(pid)
            return ""
        try:
            if tracker < 0 or self._stub is None:
                raise UncleanError("the kernel does not note writes (it takes Linux 6.7 and userfaultfd)")
            line = os.dup(descriptors[0])
            self._kept = Kept(pid, tracker, line, FIRST, self._stub, self._hot)
            self._release()
            place = self._kept.begin()
            if self._place not in (None, place):
                raise UncleanError("it waits elsewhere than the one before it")
            self._place = place
        except (OSError, UncleanError) as error:
            self._drop_kept(pid)
            return str(error)
        return ""

    def _rewind(self, tag: int, *, typical: bool) -> None:
        if not isinstance(self._kept, Kept):
            self._tell_kept(tag)
            return
        try:
            cpu_s, memory_bytes = self._kept.rewind(typical=typical)
        except UncleanError:
            self._lose_kept(tag)
            return
        self._tell_kept(tag, cpu_s, memory_bytes, clean=True)

    def _replace(self, order: dict[str, Any], descriptors: list[int]) -> None:
        """End the process that is kept, and have another one take its place if it was as it must be."""
        clean, cpu_s, memory_bytes = False, 0.0, 0
        if isinstance(self._kept, Single):
            clean, cpu_s, memory_bytes = self._kept.end()
            self._kept = None
        self._tell_kept(order["tag"], cpu_s, memory_bytes, clean=clean)
        if clean and (reason := self._make_kept(order["role"], descriptors)):
            self._say({"kept": reason})
        for descriptor in descriptors:
            os.close(descriptor)

    def _lose_kept(self, tag: int) -> None:
        """End the process that is kept, and say so."""
        if self._kept is None:
            return
        self._hot = self._kept.hot
        self._drop_kept(self._kept.pid)
        self._tell_kept(tag)

    def _tell_kept(self, tag: int, cpu_s: float = 0.0, memory_bytes: int = 0, *, clean: bool = False) -> None:
        at = time.monotonic_ns()
        self._send(exit_status.pack(0, tag, 0, at, None, cpu_s, memory_bytes, False, (), kept=True, clean=clean))

    def _drop_kept(self, pid: int) -> None:
        try:
            os.kill(pid, signal.SIGKILL)
            while not _is_end(os.waitpid(pid, WALL)[1]):
                pass
        except OSError:
            pass  # it has ended and was reaped
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _enter_jail(self, order: dict[str, Any], rules: int) -> None:
        """Put up the walls of one child: they must be its own, so that it can reach nothing of its parent."""
        if _LINUX and not self._apart:
            # Without a process namespace nobody else would end it when its zygote is killed.
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != self._pid:
                os._exit(99)
        if rules >= 0:
            landlock.restrict(rules)
            os.close(rules)
        if self._apart or self._narrow is not None:
            kernel.drop_capabilities()
        pid = os.getpid()
        layer, number = (self._strict, order["lowest"]) if order["kept"] else (self._narrow, pid)
        if layer is not None:
            layer.install(number)

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
        """Reap the child, clean the scratch, report."""
        if not hasattr(os, "pidfd_open"):
            self._kill()
        self._poll.unregister(self._pidfd)
        os.close(self._pidfd)
        at = time.monotonic_ns()
        # A child that has ended and is not reaped still has its clocks; below a look nobody asks for them.
        clock = self._clock() if at - self._since > LOOK_NS else None
        _, status, used = os.wait4(self._child, 0)
        self._child = 0
        self._clean_scratch()
        self._send(
            exit_status.pack(
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

    def _clean_scratch(self) -> None:
        if not self._scratch.clean():
            return
        if self._rules >= 0:
            # A rule belongs to the folder it was made for, and that one is gone.
            os.close(self._rules)
            self._write_rules()
        # The one that is kept stands in the old folder.
        self._lose_kept(0)

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

    def _is_stopped(self, pid: int) -> bool:
        """Say whether somebody has stopped the child: that is neither its running nor its sleeping."""
        if not pid or not self._proc:
            return False
        try:
            with open("/proc/%d/stat" % pid, "rb") as file:
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
                self._page.enter(os.getpid())
                self._forget()
                self._enter_jail({"kept": False, "lowest": 0}, self._rules)
                broken = wall_checks.broken(self._config)
            finally:
                os.write(write, json.dumps(broken).encode())
                os._exit(0)
        os.close(write)
        with open(read, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(pid, 0)
        self._clean_scratch()
        return json.loads(answer)  # type: ignore[no-any-return]


def _is_end(status: int) -> bool:
    return os.WIFEXITED(status) or os.WIFSIGNALED(status)
