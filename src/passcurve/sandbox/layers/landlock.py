"""Landlock: the rights of a process on files, sockets and other processes, whatever its mounts and its uid."""

from __future__ import annotations

import ctypes
import os
import struct

from passcurve.sandbox.zygote import kernel

_CREATE, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = 1, 2, 4, 8, 16, 32
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = 64, 128, 256, 512, 1024, 2048, 4096
REFER, TRUNCATE, IOCTL_DEV = 8192, 16384, 32768

_READ = READ_FILE | READ_DIR
_SCRATCH = _READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SYM | REFER | TRUNCATE
_FILE_ONLY = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV


def abi() -> int:
    """Return the version of the interface, 0 where there is none."""
    try:
        return kernel.syscall("landlock", _CREATE, None, 0, 1)
    except OSError:
        return 0


def handled(version: int) -> int:
    """Return every file-system right that this version of the interface knows."""
    rights = (1 << 13) - 1
    if version >= 2:
        rights |= REFER
    if version >= 3:
        rights |= TRUNCATE
    if version >= 5:
        rights |= IOCTL_DEV
    return rights


def ruleset(version: int, readable: list[str], listable: list[str], *, execute: bool = False) -> int:
    """Prepare the rules and return their descriptor: read ``readable``, list ``listable``.

    ``execute``: programs in ``readable`` may be run.
    """
    rights = handled(version)
    allowed = _READ | EXECUTE if execute else _READ
    attributes = struct.pack("<Q", rights)
    if version >= 4:
        attributes += struct.pack("<Q", 3)  # bind and connect of TCP: handled, and allowed nowhere
    if version >= 6:
        attributes += struct.pack("<Q", 3)  # abstract unix sockets and signals stay inside
    rules = kernel.syscall("landlock_create_ruleset", _CREATE, attributes, len(attributes), 0)
    for path in readable:
        _allow(rules, path, allowed & rights)
    for path in listable:
        _allow(rules, path, READ_DIR)
    _allow(rules, "/dev/null", (READ_FILE | WRITE_FILE | TRUNCATE) & rights)
    for device in ("/dev/zero", "/dev/urandom"):
        _allow(rules, device, READ_FILE)
    return rules


def allow_scratch(rules: int, version: int, scratch: str) -> None:
    """Add a scratch to the rules: its files may be written, and more."""
    _allow(rules, scratch, _SCRATCH & handled(version))


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, 0o10000000)
    except FileNotFoundError:
        return
    try:
        if not os.path.isdir(path):
            rights &= _FILE_ONLY
        rule = ctypes.create_string_buffer(struct.pack("<Qi", rights, fd))
        kernel.syscall("landlock_add_rule", _ADD_RULE, rules, 1, rule, 0)
    finally:
        os.close(fd)


def restrict(rules: int) -> None:
    """Put this process under the rules for good, in a domain of its own."""
    kernel.syscall("landlock_restrict_self", _RESTRICT_SELF, rules, 0)
