"""Using up what is there: memory, threads, processor, disk, descriptors, output."""

from __future__ import annotations

from corpus.attack import Attack, probe

_RUN_OUT = ("memory", "crash", "failed")


def _fills(name: str, code: str, statuses: tuple[str, ...] = _RUN_OUT, **fields: object) -> Attack:
    """Return an attack whose function fills something and then is wrong."""
    body = "".join(f"    {line}\n" for line in code.splitlines())
    program = f"import mmap, os, sys, threading, time\n\ndef add(a, b):\n{body}    return 0\n"
    return Attack(name=name, program=program, statuses=statuses, **fields)  # type: ignore[arg-type]


RESOURCES = (
    _fills("memory at once", "x = bytearray(8 << 30)", ("memory",)),
    _fills("memory by and by", "x = []\nwhile True: x.append(bytearray(16 << 20))", ("memory",), late=True),
    _fills(
        "memory swallowed and tried again",
        "x = []\nfor _ in range(2000):\n    try: x.append(bytearray(16 << 20))\n    except MemoryError: pass",
        ("failed", "memory", "timeout"),
        slow=True,
    ),
    _fills(
        "memory mapped and shared",
        "x = []\nfor _ in range(600): x.append(mmap.mmap(-1, 16 << 20)); x[-1][0] = 1",
        ("failed", "memory"),
    ),
    _fills(
        "memory of the C library",
        "import ctypes\nc = ctypes.CDLL(None)\nc.malloc.restype = ctypes.c_void_p\nwhile c.malloc(1 << 20): pass",
        ("failed", "memory", "crash"),
    ),
    _fills("memory in an int", "x = 1 << 60_000_000_000", ("memory", "failed")),
    _fills("memory in a range made a list", "x = list(range(10 ** 10))", ("memory", "timeout")),
    _fills("memory in text", "x = 'x'\nwhile True: x += x", ("memory",)),
    _fills(
        "memory in small objects", "x = []\nwhile True: x.append(object())", ("memory", "timeout", "crash"), slow=True
    ),
    _fills(
        "memory at load and for ever", "globals()['x'] = bytearray(300 << 20)\ntime.sleep(0.01)", ("failed", "memory")
    ),
    _fills(
        "threads without an end",
        "for _ in range(10_000):\n    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
        ("failed", "memory", "crash"),
        late=True,
    ),
    _fills(
        "threads that start threads",
        "def more():\n    while True:\n        try: threading.Thread(target=more, daemon=True).start()\n        except RuntimeError: pass\nmore()",
        ("timeout", "memory", "crash", "failed"),
        late=True,
        slow=True,
    ),
    _fills("processes without an end", "while True:\n    try: os.fork()\n    except OSError: break", ("failed",)),
    _fills(
        "descriptors without an end",
        "x = []\nfor _ in range(100_000): x.append(os.open('/dev/null', os.O_RDONLY))",
        ("failed",),
        message="Errno 24",
    ),
    _fills(
        "pipes filled",
        "x = []\nwhile True:\n    r, w = os.pipe()\n    os.set_blocking(w, False)\n    x.append(os.write(w, bytes(1 << 20)))",
        ("failed", "crash"),
    ),
    _fills(
        "the scratch filled",
        "with open('full', 'wb') as f:\n    while True: f.write(bytes(1 << 20))",
        ("failed", "crash"),
    ),
    _fills(
        "the scratch filled by many files",
        "for i in range(200):\n    with open(f'full{i}', 'wb') as f: f.write(bytes(1 << 20))",
        ("failed", "crash"),
    ),
    _fills("files without an end", "for i in range(5000): open(f'file{i}', 'w').close()", ("failed",)),
    _fills("folders without an end", "for i in range(5000): os.mkdir(f'folder{i}')", ("failed",)),
    _fills(
        "folders in one another", "while True:\n    os.mkdir('d')\n    os.chdir('d')", ("failed", "crash", "timeout")
    ),
    _fills(
        "folders that nobody may enter",
        "for i in range(50):\n    os.mkdir('d')\n    os.chdir('d')\nfor i in range(50):\n    try: os.chmod('.', 0)\n    except OSError: pass\n    os.chdir('..')",
    ),
    _fills("links in a ring", "os.symlink('a', 'b')\nos.symlink('b', 'a')\nopen('a')", ("failed",)),
    _fills("a file with holes", "with open('holes', 'wb') as f: f.truncate(1 << 45)", ("failed", "crash")),
    _fills(
        "files that have no name any more",
        "x = []\nfor i in range(40):\n    x.append(open('gone', 'w+b'))\n    os.unlink('gone')\n    x[-1].write(bytes(8 << 20))\n    x[-1].flush()",
        ("failed",),
    ),
    _fills(
        "half a gigabyte of output",
        "block = 'x' * (1 << 20)\nfor _ in range(500): sys.stdout.write(block)\nsys.stdout.flush()",
        ("failed",),
    ),
    _fills(
        "half a gigabyte of errors", "block = b'x' * (1 << 20)\nfor _ in range(500): os.write(2, block)", ("failed",)
    ),
    _fills(
        "warnings without an end",
        "import warnings\nwarnings.simplefilter('always')\nfor i in range(20_000): warnings.warn('x' * 1000)",
        ("failed", "timeout"),
    ),
    _fills("a loop without an end", "while True: pass", ("timeout",)),
    _fills("a sleep without an end", "time.sleep(1e6)", ("timeout",), slow=True),
    _fills(
        "a lock that is taken twice", "lock = threading.Lock()\nlock.acquire()\nlock.acquire()", ("timeout",), slow=True
    ),
    _fills("a read of standard input", "sys.stdin.read()\ninput()", ("failed",)),
    _fills("a C function without an end", "return sum(iter(int, 1))", ("timeout",), slow=True),
    _fills("a thread that stays behind", "threading.Thread(target=time.sleep, args=(1000,)).start()", ("failed",)),
    _fills("a power without an end", "return 9 ** 9 ** 9", ("timeout", "memory"), slow=True),
    _fills(
        "timers by the thousand",
        "import signal\nsignal.setitimer(signal.ITIMER_REAL, 1e-6, 1e-6)\nwhile True: pass",
        ("crash", "timeout"),
        message="",
    ),
    probe("memory beside its limit, nameless", "os.memfd_create('hidden')"),
    probe("memory beside its limit, secret", "checked(libc.syscall(447, 0))", harmless=False),
    probe("memory beside its limit, System V", "checked(libc.shmget(0x@KEY@, 1 << 20, 0o1666))", harmless=False),
    probe("messages of System V", "checked(libc.msgget(0x@KEY@, 0o1666))", harmless=False),
    probe("semaphores of System V", "checked(libc.semget(0x@KEY@, 1, 0o1666))", harmless=False),
    probe(
        "a queue of messages",
        "checked(libc.mq_open(b'/@MARK@', 0o102, 0o600, None))",
        setup="libc = ctypes.CDLL('librt.so.1', use_errno=True)",
        harmless=False,
    ),
    probe(
        "shared memory with a name",
        "open('/dev/shm/@MARK@', 'w')",
        "__import__('multiprocessing.shared_memory').shared_memory.SharedMemory('@MARK@2', True, 4096)",
        harmless=False,
    ),
    probe("locked memory", "checked(libc.mlock(ctypes.create_string_buffer(8192), 8192))", "checked(libc.mlockall(3))"),
    probe(
        "its own limits raised",
        "resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (100_000, 100_000))",
        "resource.setrlimit(resource.RLIMIT_NPROC, (100_000, 100_000))",
        "resource.setrlimit(resource.RLIMIT_CORE, (1 << 30, 1 << 30))",
        harmless=False,
    ),
    probe(
        "first in line",
        "os.nice(-10)",
        "os.setpriority(os.PRIO_PROCESS, 0, -10)",
        "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
        harmless=False,
    ),
    probe("another core", "os.sched_setaffinity(0, range(os.cpu_count()))"),
    probe(
        "out of the reach of the killer of processes",
        "open('/proc/self/oom_score_adj', 'w').write('-1000')",
        harmless=False,
    ),
)
