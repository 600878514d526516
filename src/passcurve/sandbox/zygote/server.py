"""A fork of the fork server that builds its walls once and then has jailed children forked.

The process that the fork server forked only waits, and watches what is refused.  Its child, process 1 of a process
namespace of its own, is the zygote.

Frames in:  {'do': 'run', 'tag': ...} with descriptors for a child that runs one job, {'do': 'end'} to have it killed,
            {'do': 'clock'} to have it timed; {'do': 'keep'} for a child that is kept for jobs, {'do': 'jobs'} with
            these (``kept_jobs``), {'do': 'data'} with bytes for one, {'do': 'finish'} to have one ended.
Frames out: {'ready': ...} or {'failed': ...} once; then one packed ``ProcessExit`` for each run; {'kept': ...} with
            the reason why no child is kept, or none; packed results of jobs and pieces of answers (``kept_jobs``);
            {'clock': ..., 'tag': ...} for each question.
"""

from __future__ import annotations

import gc
import marshal
import os
import select
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from passcurve.harness import framing, wire
from passcurve.sandbox.layers import namespaces, rlimits, watch
from passcurve.sandbox.zygote import copy_stub, exit_status, kernel, memory
from passcurve.sandbox.zygote.confinement import IS_LINUX, Confinement
from passcurve.sandbox.zygote.copy_stub import Stub
from passcurve.sandbox.zygote.job_process import HAS_PIDFD, JobProcess, end_others
from passcurve.sandbox.zygote.kept_jobs import JobOrder
from passcurve.sandbox.zygote.kept_slot import KeptSlot
from passcurve.sandbox.zygote.launcher import Launcher
from passcurve.sandbox.zygote.template import FAILED_EXIT, Role

REQUEST_BYTES = 64 << 20
"""Largest request: jobs, which pass through this process unread; no child is forked from it."""

POLL_MS = 20
"""Time between two looks at a scratch that no mount bounds, and at the memory of several processes."""

KEPT_POLL_MS = 10
"""Time between two looks at the job of the process that is kept."""

SMALL_MEMORY_BYTES = 160 << 20
"""A limit below which an interpreter with what is loaded for samples, and the copies of its memory, may not fit."""

FAILED_STATUS = FAILED_EXIT << 8

Config = dict[str, Any]


def start(
    line: socket.socket, config: Config, parent: int, roles: dict[str, Role], preload: Callable[[list[str]], None]
) -> None:
    """Leave the host, and serve until the line is closed or the process ``parent`` ends.

    ``preload`` imports the modules that the configuration names, as soon as the walls stand.
    """
    try:
        _start(line, config, parent, roles, preload)
    except BaseException as error:
        text = "%s: %s" % (type(error).__name__, error)
        if config["memory"] < SMALL_MEMORY_BYTES:
            text += " (a memory limit of %d MiB may be too little for it)" % (config["memory"] >> 20)
        framing.send_frame(line.fileno(), wire.encode({"failed": text[:500]}))
        os._exit(1)


def _start(
    line: socket.socket, config: Config, parent: int, roles: dict[str, Role], preload: Callable[[list[str]], None]
) -> None:
    if IS_LINUX:
        kernel.die_with_parent(parent)
        try:
            with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
                file.write("1000")
        except OSError:
            pass  # it only steers the kernel's choice when the whole machine is out of memory
    kind = namespaces.enter(config["host_id"]) if config["namespaces"] else ""
    page = watch.Page()
    ours, theirs = socket.socketpair()
    if config["namespaces"] or config["seccomp"]:
        watcher = os.getpid()
        if pid := os.fork():
            line.close()
            theirs.close()
            watch.serve(ours, page, pid, processes=config["processes"])
        if not config["namespaces"]:
            kernel.die_with_parent(watcher)
    ours.close()
    # Before any wall stands, which would not let it be made.
    stub = Stub() if config["keeps"] and config["seccomp"] and copy_stub.AVAILABLE else None
    confinement = Confinement(config)
    launcher = Launcher(roles, confinement, page, stub, keeps=config["keeps"])
    zygote = Zygote(line, confinement, page, launcher, rewinds=config["rewinds"])
    confinement.build(kind, theirs)
    preload(config["preload"])
    gc.collect()
    gc.freeze()
    if config["preload"] and config["keeps"]:
        memory.mark_pools()
    broken = launcher.test_walls(config)
    launcher.start_template(track=config["rewinds"] and config["seccomp"])
    if config["skips_number"]:
        launcher.skip_number()
    zygote.serve({**confinement.facts(kind), "broken": broken})


class Zygote:
    """The loop of process 1: have children forked, watch them, clean up, report."""

    def __init__(
        self, line: socket.socket, confinement: Confinement, page: watch.Page, launcher: Launcher, *, rewinds: bool
    ) -> None:
        self._line = line
        self._confinement = confinement
        self._page = page
        self._launcher = launcher
        self._poll = select.poll()
        self._poll.register(line.fileno(), select.POLLIN)
        self._unsent = b""
        """What the supervisor has not taken yet."""
        self._kept = KeptSlot(launcher, self._poll, self._send, rewinds=rewinds)
        self._tick_ns = 0
        """When the job of the process that is kept was last looked at."""
        self._job: JobProcess | None = None
        self._last_job: JobProcess | None = None
        """The present job, else the one before."""

    def serve(self, facts: dict[str, Any]) -> NoReturn:
        """Report the facts about the walls, then answer frames until the supervisor is gone."""
        self._send_record({"ready": True, **facts, "python": "%d.%d.%d" % sys.version_info[:3]})
        while True:
            self._wait()

    def _wait(self) -> None:
        """Wait for one event and handle it: what it leads to may make a second one stale."""
        job, kept = self._job, self._kept
        can_be_over = not self._confinement.has_namespaces or self._confinement.allows_processes
        timeout = KEPT_POLL_MS if kept.must_tick else POLL_MS if job is not None and can_be_over else None
        ready = dict(self._poll.poll(timeout))
        if job is not None and job.end_descriptor in ready:
            self._finish(job)
        elif events := ready.get(self._line.fileno(), 0):
            if events & ~select.POLLOUT:
                self._handle_request()
            if self._unsent:
                self._write(self._unsent)
        elif ready:
            kept.handle(*ready.popitem())
        elif job is not None and not job.overfull:
            self._kill_if_overfull(job)
        now = time.monotonic_ns()
        if now - self._tick_ns > KEPT_POLL_MS * 1_000_000:
            self._tick_ns = now
            kept.tick()

    def _kill_if_overfull(self, job: JobProcess) -> None:
        is_scratch_over = self._confinement.scratch.is_over()
        job.holds_too_much = not is_scratch_over and job.holds_over(self._confinement.memory_bytes)
        job.overfull = is_scratch_over or job.holds_too_much
        if job.overfull:
            job.kill()

    def _handle_request(self) -> None:
        try:
            data, descriptors = framing.receive_frame_and_descriptors(self._line, REQUEST_BYTES)
        except framing.ConnectionClosed:
            self._exit()
        # From the supervisor alone, so the interpreter's own format will do.
        request = marshal.loads(data)
        action = request["do"]
        if action == "run":
            self._run(request, descriptors)
        elif action == "end":
            self._end()
        elif action == "jobs":
            self._kept.add([JobOrder(*job) for job in request["jobs"]])
        elif action == "data":
            self._kept.forward(request["tag"], request["data"])
        elif action == "finish":
            self._kept.end(request["tag"])
        elif action == "keep":
            self._kept.keep(request["role"], request["lines"])
        else:
            self._tell_clock()
        for descriptor in descriptors:
            # The children have copies.
            os.close(descriptor)

    def _tell_clock(self) -> None:
        process, job = self._job, self._last_job
        clock = process.clock() if process is not None else None
        since, tag = (job.since_ns, job.tag) if job is not None else (0, 0)
        is_stopped = process is not None and _is_stopped(process.pid)
        self._send_record({"clock": clock, "since": since, "at": time.monotonic_ns(), "tag": tag, "held": is_stopped})

    def _exit(self) -> NoReturn:
        if self._job is not None:
            self._job.kill()
            os.waitpid(self._job.pid, 0)
        os._exit(0)

    def _send_record(self, record: dict[str, Any]) -> None:
        self._send(wire.encode(record))

    def _send(self, data: bytes) -> None:
        """Send a frame, now or when the supervisor takes it: while it writes to us, it may not read."""
        frame = framing.make_frame(data)
        if self._unsent:
            self._unsent += frame
        else:
            self._write(frame)

    def _write(self, data: bytes) -> None:
        rest = data
        try:
            rest = data[self._line.send(data, socket.MSG_DONTWAIT) :]
        except BlockingIOError:
            pass  # it takes nothing now
        except OSError:
            self._exit()
        if bool(rest) != bool(self._unsent):
            self._poll.modify(self._line.fileno(), select.POLLIN | (select.POLLOUT if rest else 0))
        self._unsent = rest

    def _run(self, request: dict[str, Any], descriptors: list[int]) -> None:
        # A request to run never overtakes one to end, but a child may have died in between.
        self._end()
        self._page.start_run()
        pipe, alive = (-1, -1) if HAS_PIDFD else os.pipe()
        spec = {"role": request["role"], "kept": False, "lowest": 0}
        pid, tracker = self._launcher.fork(spec, descriptors, cpu_s=request["cpu"])
        for descriptor in (tracker, alive):
            if descriptor >= 0:
                os.close(descriptor)
        if self._confinement.runs_commands:
            rlimits.lower_priority(pid)
        others = self._own_processes if self._confinement.allows_processes else None
        # It has waited until now, for its zygote and its template, which others may keep from a core.
        since_ns = time.monotonic_ns()
        self._job = self._last_job = JobProcess(pid, request["tag"], since_ns, pipe, others)
        self._poll.register(self._job.end_descriptor, select.POLLIN)
        self._launcher.release()

    def _end(self) -> None:
        if self._job is not None:
            self._job.kill()
            self._finish(self._job)

    def _own_processes(self) -> set[int]:
        """Return the processes that are of no job."""
        return {os.getpid(), self._launcher.template_pid, self._kept.pid}

    def _finish(self, job: JobProcess) -> None:
        """Reap the child, clean the scratch, report."""
        self._poll.unregister(job.end_descriptor)
        end = job.reap()
        if end.status == FAILED_STATUS and self._launcher.has_failed(job.pid):
            end = end._replace(has_begun=False)
        if self._confinement.allows_processes:
            end_others(self._own_processes())
        # Whoever reads what the child was to write waits for the end of it.
        self._launcher.forget(job.pid)
        self._job = None
        if self._confinement.clean_scratch():
            # The one that is kept stands in the old folder.
            self._kept.lose()
        self._send(exit_status.pack(end._replace(refused=self._page.read_entries())))


def _is_stopped(pid: int) -> bool:
    """Tell whether somebody has stopped a process: it neither runs nor sleeps then."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            return file.read().rpartition(b") ")[2][:1] == b"T"
    except OSError:
        return False
