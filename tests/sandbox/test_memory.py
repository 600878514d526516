"""What a process does to its own memory before the first fork."""

from __future__ import annotations

import subprocess
import sys

import pytest

from passcurve.sandbox.zygote import kernel

DROPPABLE = """
import ctypes, mmap, os
from passcurve.sandbox.zygote import kernel, memory

AT, SIZE, DROPPABLE = 0x7E0000000000, 8192, 0x08
try:
    kernel.map_memory(AT, SIZE, mmap.PROT_READ | mmap.PROT_WRITE, DROPPABLE | mmap.MAP_ANONYMOUS)
    tracker = memory.open_userfaultfd()
except OSError as error:
    print("none:", error)
    raise SystemExit

def can_track():
    try:
        memory.register_area(tracker, AT, AT + SIZE)
    except OSError:
        return False
    return True

byte = ctypes.c_ubyte.from_address(AT + 5000)
byte.value = 7
memory.enable_tracking(tracker)
could_track = can_track()
memory.replace_droppable()
flags = [line for line in open("/proc/self/smaps") if line.startswith("VmFlags:") and " dp" in line]
after = byte.value
byte.value = 9
child = os.fork()
if child == 0:
    os._exit(byte.value)
print(could_track, flags, after, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), byte.value, can_track())
"""


def test_memory_that_the_kernel_may_drop_is_replaced() -> None:
    """It cannot be tracked, and glibc has such from 2.41 on; what replaces it can, and is empty in each child, too."""
    done = subprocess.run([sys.executable, "-c", DROPPABLE], capture_output=True, text=True, check=True)
    if done.stdout.startswith("none:"):
        pytest.skip(done.stdout)
    assert "False [] 0 0 9 True" == done.stdout.strip()


HISTORY = """
import random, sys
from passcurve.sandbox.zygote import memory

memory.lay_out()
# As modules that are imported for all samples.
loaded = [bytes(size % 470) for size in range(int(sys.argv[2]))]
if loaded:
    memory.mark_pools()
choice = random.Random(sys.argv[1])
kept, made = [], []
for _ in range(3):
    made += [bytes(choice.randrange(1, 470, 15)) for _ in range(choice.randrange(150, 300))]
    made += [bytes(choice.choice((600, 1_200, 5_000))) for _ in range(choice.randrange(20, 100))]
    choice.shuffle(made)
    kept += made[: choice.randrange(60)]
    made.clear()
# How many blocks are free shows in their count, so no more than places are compared.
memory.use_up_free_blocks()
made = [bytes(size) for size in range(1, 470, 16)], [[number] for number in range(3_000)], type("_", (), {})()
print([*map(id, made[0])], [*map(id, made[1])][::100], id(made[2]))
large = type("_", (), {}), *(bytes(size) for size in (600, 1_000, 4_000, 20_000))
print([*map(id, large)])
"""


@pytest.mark.parametrize("loaded", [0, 28_000])
def test_what_was_freed_before_moves_nothing(loaded: int) -> None:
    """Objects lie where they lie whatever a process has made, and in whatever order it has freed that."""
    before = kernel.fix_addresses()
    if before is None:
        pytest.skip("address randomisation cannot be switched off here")
    try:
        command = [sys.executable, "-c", HISTORY]
        runs = [
            subprocess.run([*command, seed, str(loaded)], capture_output=True, text=True, check=True)
            for seed in "1234567"
        ]
    finally:
        kernel.personality(before)
    first, *others = (run.stdout.split() for run in runs)
    assert 60 < len(first)
    for other in others:
        assert not [pair for pair in zip(first, other, strict=True) if pair[0] != pair[1]]
