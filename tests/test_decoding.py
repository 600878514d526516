"""Records are decoded by several threads at once: passcurve.types.decoding."""

from __future__ import annotations

import subprocess
import sys

THREADS = """
import sys, threading, types
import msgspec
from passcurve.types.decoding import decodable

RECORDS = '''
import msgspec
class Plan(msgspec.Struct):
    calls: "list[int] | None" = None
    times: "dict[str, tuple[int, ...]]" = {}
    text: "bytes" = b""
class Content(msgspec.Struct):
    plans: "dict[str, Plan]" = {}
    code: "dict[str, bytes]" = {}
'''
data = msgspec.msgpack.encode({"plans": {"a": {}}, "code": {"key": b"x"}})
# Threads take turns as often as they can.
sys.setswitchinterval(1e-6)
read = []
for number in range(300):
    module = sys.modules[f"m{number}"] = types.ModuleType(f"m{number}")
    exec(RECORDS, module.__dict__)
    gate = threading.Barrier(4)

    def decode():
        gate.wait()
        read.append(msgspec.msgpack.decode(data, type=decodable(module.Content)))

    threads = [threading.Thread(target=decode) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(len(read))
"""


def test_first_decoded_by_threads() -> None:
    """Records that four threads decode at once, and none before, are read; without the lock the process dies."""
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=False)
    assert (0, "1200\n") == (done.returncode, done.stdout), done.stderr


FORK = """
import os, signal, threading, time
import msgspec
from passcurve.types.decoding import decodable

def slow():
    looked.set()
    time.sleep(0.3)
    return int

class Record(msgspec.Struct):
    number: "slow()" = 0

looked = threading.Event()
threading.Thread(target=decodable, args=(Record,)).start()
looked.wait()
if child := os.fork():
    print(os.waitpid(child, 0)[1])
else:
    signal.alarm(5)
    os._exit(msgspec.json.decode(b'{"number": 3}', type=decodable(Record)).number)
"""


def test_a_fork_while_a_thread_looks() -> None:
    """A process that is forked meanwhile can decode the record, and others."""
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=False)
    assert (0, f"{3 << 8}\n") == (done.returncode, done.stdout), done.stderr
