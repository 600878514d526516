"""Registers of a traced process: what is not as it was found ends in an error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from jailed import until

from passcurve.sandbox.zygote import kernel
from passcurve.sandbox.zygote.kept_process import cpu_clock_id
from passcurve.sandbox.zygote.tracing import WALL, Tracee, UncleanError

WAITS = r"""
import ctypes, mmap, os
code = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40, prot=7)
at = ctypes.addressof(ctypes.c_char.from_buffer(code))
# To the selector of 32-bit code, and there a jump to itself: push 0x23; push loop; retfq; loop: jmp loop.
loop = at + 16
code[:16] = (b"\x6a\x23\x68" + loop.to_bytes(4, "little") + b"\x48\xcb").ljust(16, b"\x90")
code[16:18] = b"\xeb\xfe"
jump = ctypes.CFUNCTYPE(None)(at)
while True:
    if os.read(0, 1) == b"3":
        os.write(1, b"3")
        jump()
"""
"""Waits for its first byte; at a 3 it loops in 32-bit code from then on."""

pytestmark = pytest.mark.skipif(kernel.MACHINE != "x86_64", reason="registers are written on x86-64 only")


@contextmanager
def traced() -> Iterator[tuple[subprocess.Popen[bytes], Tracee]]:
    """Run the program above as a traced process."""
    process = subprocess.Popen([sys.executable, "-S", "-c", WAITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        tracee = Tracee(process.pid)
        tracee.stop_at_read(0)
        yield process, tracee
    except UncleanError as error:
        if "Operation not permitted" in str(error):
            pytest.skip("processes cannot be traced here")
        raise
    finally:
        os.kill(process.pid, signal.SIGKILL)
        os.waitpid(process.pid, WALL)
        process.returncode = -signal.SIGKILL
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


def enter_32_bit_code(process: subprocess.Popen[bytes]) -> None:
    """Let the program go on into its loop of 32-bit code."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"3")
    process.stdin.flush()
    assert b"3" == process.stdout.read(1)


def test_registers_are_written_back() -> None:
    """A process that is stopped and resumed, wherever it is, waits where it waited."""
    with traced() as (process, tracee):
        for _ in range(100):
            tracee.resume()
            tracee.stop()
        tracee.resume()
        enter_32_bit_code(process)


def test_a_process_in_32_bit_code() -> None:
    """Registers of 64 bits cannot be written there, which is an error and not a half restored process.

    The kernel would take them for registers of 32 bits: the upper half of r11 for the selector of code.  That half is 0
    where a process waits in a system call, since r11 holds the flags then, and a selector of 0 is refused.
    """
    with traced() as (process, tracee):
        tracee.resume()
        enter_32_bit_code(process)
        # Its answer came before the jump, after which alone it takes so much time.
        clock = cpu_clock_id(process.pid)
        began_s = time.clock_gettime(clock)
        until(lambda: time.clock_gettime(clock) - began_s > 0.05, "the loop of 32-bit code")
        tracee.stop()
        with pytest.raises(UncleanError):
            tracee.resume()
