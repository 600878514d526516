"""Mounts: a root of our own that holds the interpreter, three devices and a bounded scratch, and nothing else."""

from __future__ import annotations

import os

from passcurve.sandbox.zygote import kernel

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_NOATIME = 1, 2, 4, 8, 32, 1024
MS_BIND, MS_REC, MS_PRIVATE, MS_RELATIME = 4096, 16384, 1 << 18, 1 << 21
MNT_DETACH = 2
_O_PATH = 0o10000000
_INHERITED = {1: MS_RDONLY, 2: MS_NOSUID, 4: MS_NODEV, 8: MS_NOEXEC, 1024: MS_NOATIME, 2048: 2048, 4096: MS_RELATIME}
"""statvfs flag -> mount flag: a user namespace may add restrictions to a mount but never clear one."""

SCRATCH = "/tmp"
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
_PASSWD = b"sandbox:x:1000:1000::/tmp:/bin/false\n"


class Sources:
    """The host's folders by descriptor, opened before the identity that may reach them is given up."""

    def __init__(self, binds: list[list[str]]) -> None:
        kernel.mount(None, "/", None, MS_REC | MS_PRIVATE)
        self.opened = [(os.open(source, _O_PATH), target) for source, target in binds]
        self.opened += [(os.open(device, _O_PATH), device) for device in DEVICES]


def enter(sources: Sources, links: list[list[str]], masks: list[str], scratch: str) -> None:
    """Build the new root and make it the only one; it has no /proc where the kernel refuses that."""
    new = "/tmp" if os.path.isdir("/tmp") else "/mnt"
    kernel.mount("tmpfs", new, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,nr_inodes=512,mode=0755")
    for name in ("etc", "dev", "proc", "tmp"):
        os.mkdir("%s/%s" % (new, name), 0o755)
    with open(new + "/etc/passwd", "wb") as file:
        file.write(_PASSWD)
    for target, text in links:
        os.makedirs(os.path.dirname(new + target), exist_ok=True)
        os.symlink(text, new + target)
    for fd, target in sources.opened:
        # A read-only device still takes data; its own attributes, such as times, belong to the host.
        _bind(fd, new + target, MS_RDONLY)
        os.close(fd)
    for target in masks:
        if os.path.isdir(new + target):
            kernel.mount(
                "tmpfs", new + target, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "size=4k,nr_inodes=1,mode=0555"
            )
    try:
        kernel.mount("proc", new + "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    except OSError:
        pass  # some containers hide parts of /proc; then no process has its own clock
    os.chdir(new)
    kernel.pivot_root(".", ".")
    kernel.unmount(".", MNT_DETACH)
    os.chdir("/")
    kernel.mount(None, "/", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)
    mount_scratch(scratch)


def mount_scratch(options: str) -> None:
    """Mount a clean scratch and make it the working folder."""
    # Without times of reading, which would tell the next sample something.
    kernel.mount("tmpfs", SCRATCH, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME, options)
    os.chdir(SCRATCH)


def renew_scratch(options: str) -> None:
    """Unmount the scratch with all its files and mount a clean one."""
    os.chdir("/")
    kernel.unmount(SCRATCH, MNT_DETACH)
    mount_scratch(options)


def _bind(fd: int, target: str, extra: int) -> None:
    source = "/proc/self/fd/%d" % fd
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o444))
    kernel.mount(source, target, None, MS_BIND)
    present = os.statvfs(target).f_flag
    flags = MS_NOSUID | extra
    for status_flag, flag in _INHERITED.items():
        if present & status_flag:
            flags |= flag
    if target.endswith(DEVICES):
        flags &= ~MS_NODEV
    else:
        flags |= MS_NODEV
    kernel.mount(None, target, None, MS_REMOUNT | MS_BIND | flags)
