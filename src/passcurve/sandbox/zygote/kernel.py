"""Kernel calls that Python does not offer, through the C library, with errors raised as OSError."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
from typing import Any

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
CLONE_THREAD = 0x00010000

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_KEEPCAPS = 8
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_GET_TID_ADDRESS = 40
PR_SET_THP_DISABLE = 41

CLONE_PARENT = 0x00008000
CLONE_CHILD_CLEARTID = 0x00200000
CLONE_CHILD_SETTID = 0x01000000

ZYGOTE_MARK = 0x70617373 << 32
"""Mark of a call by the zygote or the template, in the high half of an argument of which the kernel reads the low half.

The filter of a sample refuses a call with this mark, whatever the broad filter says.
"""

_MADV_WIPEONFORK = 18

ADDR_NO_RANDOMIZE, ADDR_COMPAT_LAYOUT = 0x0040000, 0x0200000

MACHINE = platform.machine()

_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long
_mmap = _libc.mmap
_mmap.restype = ctypes.c_void_p


def check(result: int, name: str) -> int:
    """Return ``result``, or raise OSError with the name of the call."""
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (name, os.strerror(number)))
    return result


def syscall(name: str, number: int, *arguments: Any) -> int:
    """Make a system call by number; integers are passed as long, all else as it is."""
    boxed = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return check(_syscall(ctypes.c_long(number), *boxed), name)


def raw_calls() -> tuple[Any, Any]:
    """Return the C library's ``syscall`` and ``ioctl``, which take ctypes values and return -1 for an error."""
    return _syscall, _libc.ioctl


def prctl(option: int, second: int = 0, third: int = 0) -> int:
    """Call prctl(2); unused arguments are zero."""
    none = ctypes.c_ulong(0)
    result = _libc.prctl(option, ctypes.c_ulong(second), ctypes.c_ulong(third), none, none)
    return check(result, "prctl(%d)" % option)


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends; end it now if ``parent`` has ended already."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def map_memory(address: int, size: int, protection: int, flags: int, fd: int = -1, offset: int = 0) -> None:
    """Call mmap(2), and have the memory at that address."""
    mapped = _mmap(
        ctypes.c_void_p(address),
        ctypes.c_size_t(size),
        ctypes.c_int(protection),
        ctypes.c_int(flags),
        ctypes.c_int(fd),
        ctypes.c_long(offset),
    )
    if mapped != address:
        raise OSError(ctypes.get_errno(), "memory cannot be mapped at its address")


def wipe_on_fork(address: int, size: int) -> None:
    """Leave zeros there to each child."""
    result = _libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), ctypes.c_int(_MADV_WIPEONFORK))
    check(result, "madvise")


def unshare(flags: int) -> None:
    """Leave the namespaces named by ``flags``."""
    check(_libc.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Call mount(2) with text arguments."""

    def raw(text: str | None) -> bytes | None:
        return None if text is None else os.fsencode(text)

    check(_libc.mount(raw(source), raw(target), raw(kind), ctypes.c_ulong(flags), raw(data)), "mount on %s" % target)


def unmount(target: str, flags: int) -> None:
    """Call umount2(2)."""
    check(_libc.umount2(os.fsencode(target), ctypes.c_int(flags)), "umount %s" % target)


def pivot_root(new: str, old: str) -> None:
    """Make ``new`` the root and put the old one at ``old``."""
    number = {"x86_64": 155, "aarch64": 41}[MACHINE]
    syscall("pivot_root", number, os.fsencode(new), os.fsencode(old))


def fix_addresses() -> int | None:
    """Switch off address randomisation for programs that this thread starts; return the value to restore.

    Pass that value to ``personality``.  None where the kernel refuses, as in some containers.
    """
    number = {"x86_64": 135, "aarch64": 92}.get(MACHINE)
    if number is None:
        return None
    try:
        before = syscall("personality", number, 0xFFFFFFFF)
        syscall("personality", number, before & ~ADDR_COMPAT_LAYOUT | ADDR_NO_RANDOMIZE)
    except OSError:
        return None
    return before


def personality(value: int) -> None:
    """Set the execution domain of this thread."""
    syscall("personality", {"x86_64": 135, "aarch64": 92}[MACHINE], value)


def clone_sibling() -> int:
    """Fork this process, which has one thread, into a child of its own parent; return 0 in the child, else its pid."""
    # For each argument ctypes takes a block of memory, and it gives them back in that order, so that the next call gets
    # them the other way round, and so does the child.  A call before the other keeps their order.
    _syscall(*_ASK)
    return int(_syscall(*_CLONE))


def rehearse_clone() -> None:
    """Let ``clone_sibling`` only ask for the pid, until ``prepare_clone`` is called."""
    _ASK[:] = [ctypes.c_long({"x86_64": 39, "aarch64": 172}[MACHINE])]
    _CLONE[:] = _ASK


def prepare_clone() -> None:
    """Prepare the arguments of ``clone_sibling``: it makes no object itself, so each child finds the same memory."""
    address = ctypes.c_void_p()
    flags = CLONE_PARENT | 17 | ZYGOTE_MARK
    if _libc.prctl(PR_GET_TID_ADDRESS, ctypes.byref(address), 0, 0, 0) == 0 and address.value:
        # The C library keeps the id of the thread there, and signals itself by it.
        flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID
    number, long = {"x86_64": 56, "aarch64": 220}[MACHINE], ctypes.c_long
    tid = long(address.value or 0)
    none = long(0)
    # The order of the last two differs between the architectures.
    last = (tid, none) if MACHINE == "x86_64" else (none, tid)
    _CLONE[:] = [long(number), long(flags), none, none, *last]
    # The pid, for which the kernel looks at no argument.
    _ASK[1:] = _CLONE[1:]


_ASK: list[Any] = []
_CLONE: list[Any] = []


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _CapabilitySet(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


CAP_SYS_ADMIN = 21
_CAPABILITY_HEADER = _CapabilityHeader(0x20080522, 0)
_NO_CAPABILITIES = (_CapabilitySet * 2)()


def keep_capabilities(*numbers: int) -> None:
    """Keep some capabilities as permitted and effective; give up all others for good."""
    wanted = (_CapabilitySet * 2)()
    for number in numbers:
        wanted[number // 32].effective |= 1 << (number % 32)
        wanted[number // 32].permitted |= 1 << (number % 32)
    header = _CapabilityHeader(0x20080522, 0)
    check(_libc.capset(ctypes.byref(header), wanted), "capset")


def drop_capabilities() -> None:
    """Give up every capability; this is fast, because it is done for each sample."""
    check(_libc.capset(ctypes.byref(_CAPABILITY_HEADER), _NO_CAPABILITIES), "capset")


def empty_bounding_set() -> None:
    """Ensure that no later exec can bring a capability back."""
    for number in range(64):
        if _libc.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(number), 0, 0, 0) == -1:
            break


def seccomp_filter(header: Any) -> int:
    """Load a seccomp filter; return -1 and set errno where the kernel refuses."""
    return int(_libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(2), header, ctypes.c_ulong(0), ctypes.c_ulong(0)))
