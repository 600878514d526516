"""Namespaces: without the processes, network, System V objects and names of the host."""

from __future__ import annotations

import errno
import os
import socket

from passcurve.sandbox.zygote import kernel

INSIDE_ID = 1000
NO_MAP = "uid_map: refused"
"""The error where the kernel lets nobody name the users of a namespace."""
"""The uid and gid that a sample sees as its own; never 0, so that no program takes itself for root."""

_NAMESPACES = (
    kernel.CLONE_NEWNS
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWNET
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUTS
    | kernel.CLONE_NEWCGROUP
)


def enter(host_id: int | None) -> str:
    """Leave the host's namespaces; the next fork is process 1 of the new ones.

    ``host_id`` is the unprivileged uid and gid to become, which only root can choose; None keeps the user's own.
    Returns 'user' when a user namespace confines the capabilities, 'root' when root had to do without one.
    Raises OSError where the kernel refuses.
    """
    outside = os.getuid() if host_id is None else host_id
    outside_group = os.getgid() if host_id is None else host_id
    # Under its number in the /proc that is mounted, which may be that of another namespace.
    mapper = _Mapper(os.readlink("/proc/self"), outside, outside_group) if host_id is not None else None
    try:
        kernel.unshare(kernel.CLONE_NEWUSER | _NAMESPACES)
    except OSError:
        if mapper is not None:
            mapper.end()
        if os.geteuid() != 0 or host_id is None:
            raise
        kernel.unshare(_NAMESPACES)
        return "root"
    if mapper is not None:
        mapper.write()
    else:
        write_maps("self", outside, outside_group)
    return "user"


def check_proc() -> None:
    """Raise OSError where /proc shows another namespace of processes: ours have other numbers there, or none."""
    if os.readlink("/proc/self") != str(os.getpid()):
        raise OSError("/proc shows the processes of another namespace; mount one of this (unshare --mount-proc)")


def become(kind: str, host_id: int | None) -> None:
    """Take the unprivileged identity for good; keep the capability to mount a clean scratch."""
    target = INSIDE_ID if kind == "user" else host_id
    if target is None:
        raise OSError(errno.EINVAL, "no unprivileged identity was chosen")
    socket.sethostname("sandbox")
    kernel.empty_bounding_set()
    kernel.prctl(kernel.PR_SET_KEEPCAPS, 1)
    if kind == "root":
        os.setgroups([])
    os.setresgid(target, target, target)
    os.setresuid(target, target, target)
    kernel.keep_capabilities(kernel.CAP_SYS_ADMIN)


def drop_to(host_id: int) -> None:
    """Give up root for an unprivileged identity, without namespaces."""
    kernel.empty_bounding_set()
    os.setgroups([])
    os.setresgid(host_id, host_id, host_id)
    os.setresuid(host_id, host_id, host_id)


def write_maps(pid: str, uid: int, gid: int) -> None:
    """Map the one identity of a user namespace onto ``uid`` and ``gid`` of the host."""
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", "%d %d 1" % (INSIDE_ID, uid)),
        ("gid_map", "%d %d 1" % (INSIDE_ID, gid)),
    ):
        fd = os.open("/proc/%s/%s" % (pid, name), os.O_WRONLY)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)


class _Mapper:
    """A helper left behind in the old user namespace: only from there may root map another uid."""

    def __init__(self, pid: str, uid: int, gid: int) -> None:
        wait, self._go = os.pipe()
        self._done, report = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._go)
            answer = b"0"
            try:
                if os.read(wait, 1):
                    write_maps(pid, uid, gid)
                    answer = b"1"
            finally:
                os.write(report, answer)
                os._exit(0)
        os.close(wait)
        os.close(report)

    def write(self) -> None:
        """Have the maps written; raises OSError where that is refused."""
        os.write(self._go, b"1")
        answer = os.read(self._done, 1)
        self.end()
        if answer != b"1":
            raise OSError(errno.EPERM, NO_MAP)

    def end(self) -> None:
        """End the helper."""
        os.close(self._go)
        os.close(self._done)
        os.waitpid(self._pid, 0)


def choose_host_id(wanted: int) -> int | None:
    """Return an unprivileged uid that root may become here, ``wanted`` if mapped; None for an ordinary user."""
    if os.geteuid() != 0:
        return None
    with open("/proc/self/uid_map", encoding="ascii") as file:
        ranges = [tuple(map(int, line.split())) for line in file]
    best = None
    for inside, _, count in ranges:
        if inside <= wanted < inside + count:
            return wanted
        if count > 1:
            best = inside + count - 1 - wanted % min(count - 1, 4096)
    return best
