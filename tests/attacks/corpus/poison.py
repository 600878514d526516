"""Changes that one sample could leave for the next, which the same worker judges."""

from __future__ import annotations

from corpus.attack import Attack, probe


def _left(name: str, code: str, statuses: tuple[str, ...] = ("failed",), **fields: object) -> Attack:
    """Return an attack that changes something that others might share, and is wrong itself."""
    program = f"import builtins, ctypes, os, resource, signal, sys, threading, time\n\n{code}\n\n\ndef add(a, b):\n    return 0\n"
    return Attack(name=name, program=program, statuses=statuses, **fields)  # type: ignore[arg-type]


POISON = (
    _left(
        "left in sys.modules",
        "import json, math\nsys.modules['math'] = sys.modules['random'] = json\nsys.modules['sample2'] = json",
    ),
    _left(
        "left in builtins",
        "builtins.sum = builtins.abs = builtins.len = lambda *_: 42\nbuiltins.left = 1",
        ("failed", "crash", "timeout"),
    ),
    _left(
        "left in a module's function",
        "import math, random, json, re\nmath.isclose = lambda *_, **__: True\nrandom.choice = lambda _: 'a'\nre.match = None",
    ),
    _left("left in sys.path", "sys.path[:] = ['/tmp']\nsys.path_hooks.clear()\nsys.meta_path.clear()"),
    _left(
        "left as a module in the scratch",
        "for name in ('math', 'random', 'json', 'collections', 'sitecustomize', 'usercustomize'):\n    with open(name + '.py', 'w') as file:\n        file.write('raise SystemExit(0)')\nos.mkdir('numpy')\nopen('numpy/__init__.py', 'w').write('raise SystemExit(0)')",
    ),
    _left(
        "left in the cache of lines",
        "import linecache\nlinecache.cache['sample.py'] = (1, None, ['passed'], 'sample.py')\nlinecache.getlines = None",
    ),
    _left(
        "left in the environment",
        "os.environ['PYTHONPATH'] = os.environ['LD_PRELOAD'] = '/tmp/@MARK@'\nos.environ['HOME'] = '/@MARK@'\nos.environ.pop('PYTHONHASHSEED', None)",
    ),
    _left("left as working folder", "os.mkdir('elsewhere')\nos.chdir('elsewhere')"),
    _left("left as a working folder that is gone", "os.mkdir('gone')\nos.chdir('gone')\nos.rmdir('../gone')"),
    _left("left as umask", "os.umask(0o777)"),
    _left(
        "left as ignored signals",
        "for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGALRM, signal.SIGPIPE):\n    signal.signal(number, signal.SIG_IGN)",
    ),
    _left("left as blocked signals", "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))"),
    _left(
        "left as a pending alarm",
        "signal.alarm(1)\nsignal.setitimer(signal.ITIMER_REAL, 0.005)\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)",
    ),
    _left(
        "left as a timer that ends",
        "signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)\nx = sum(range(10 ** 6))",
        ("crash", "failed"),
    ),
    _left(
        "left as lower limits",
        "for kind in (resource.RLIMIT_AS, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_STACK):\n    try:\n        resource.setrlimit(kind, (4, 4))\n    except (OSError, ValueError):\n        pass",
        ("failed", "crash", "memory"),
    ),
    _left("left as a lower limit of CPU", "resource.setrlimit(resource.RLIMIT_CPU, (1, 1))"),
    _left("left as a lower priority", "try:\n    os.nice(19)\nexcept OSError:\n    pass"),
    _left("left as a core", "try:\n    os.sched_setaffinity(0, {0})\nexcept OSError:\n    pass"),
    _left(
        "left as a thread",
        "def late():\n    while True:\n        builtins.sum = None\n        time.sleep(0.001)\nthreading.Thread(target=late, daemon=True).start()",
    ),
    _left(
        "left as a thread that ends the interpreter",
        "threading.Timer(0.02, os._exit, (0,)).start()",
        ("failed", "crash"),
    ),
    _left("left as the end of the interpreter", "import atexit\natexit.register(time.sleep, 1000)\nsys.exit"),
    _left(
        "left as a hook of forks", "os.register_at_fork(after_in_child=lambda: os._exit(0), before=lambda: os._exit(0))"
    ),
    _left(
        "left as a hook of audits",
        "def no(event, args):\n    if event in ('import', 'compile', 'exec'):\n        raise KeyError(event)\nsys.addaudithook(no)",
    ),
    _left(
        "left as a trace",
        "sys.settrace(lambda *_: None)\nsys.setprofile(lambda *_: None)\nthreading.settrace(lambda *_: None)",
    ),
    _left(
        "left as limits of the interpreter",
        "sys.setrecursionlimit(60)\nsys.setswitchinterval(100)\nsys.set_int_max_str_digits(640)",
        ("failed", "crash"),
    ),
    _left("left as interned numbers", "a = ctypes.c_int.from_address(id(42) + 24)\na.value = 41", ("failed", "crash")),
    _left(
        "left as interned numbers in a call",
        "b = ctypes.c_long.from_address(id(True))\nb.value = 7",
        ("failed", "crash"),
    ),
    _left(
        "left in shared code",
        "def other(*_): return 'x'\nimport random\nrandom.Random.choice.__code__ = other.__code__",
    ),
    _left(
        "left in the garbage collector",
        "import gc\ngc.disable()\ngc.freeze()\ngc.callbacks.append(lambda *_: os._exit(0))",
        ("failed", "crash"),
    ),
    _left("left as warnings that are errors", "import warnings\nwarnings.simplefilter('error')"),
    _left("left as closed streams", "sys.stdout.close()\nsys.stderr.close()\nos.close(0)\nos.close(1)\nos.close(2)"),
    _left(
        "left as a locale",
        "import locale\ntry:\n    locale.setlocale(locale.LC_ALL, 'tr_TR.UTF-8')\nexcept locale.Error:\n    pass\nos.environ['TZ'] = 'Asia/Tokyo'\ntime.tzset()",
    ),
    _left(
        "left as a context of decimals",
        "import decimal\ndecimal.getcontext().prec = 1\ndecimal.DefaultContext.prec = 1\ndecimal.setcontext(decimal.DefaultContext)",
    ),
    _left("left in numpy", "import numpy\nnumpy.add = numpy.sum = None\nnumpy.seterr(all='raise')"),
    _left(
        "left as a lock that is held",
        "import logging, importlib._bootstrap as b\nlogging._acquireLock() if hasattr(logging, '_acquireLock') else logging._lock.acquire()\n__import__('_imp').acquire_lock()",
    ),
    _left("left as rights of the scratch", "try:\n    os.chmod('.', 0)\nexcept OSError:\n    pass"),
    _left(
        "left as a scratch that is unwritable",
        "open('x', 'w').close()\ntry:\n    os.chmod('x', 0)\n    os.chmod('.', 0o500)\nexcept OSError:\n    pass",
    ),
    _left(
        "left as memory shared with the zygote",
        "import mmap\nwith open('/proc/self/maps') as maps:\n    shared = [line for line in maps if 'rw-s' in line]\nfor line in shared:\n    start, end = (int(part, 16) for part in line.split()[0].split('-'))\n    ctypes.memset(start, 0xff, end - start)",
        ("failed", "crash"),
    ),
    _left(
        "left on inherited descriptors",
        "for fd in range(64):\n    try:\n        os.lseek(fd, 0, 2)\n        os.ftruncate(fd, 0)\n        os.set_blocking(fd, False)\n    except OSError:\n        pass\nfor fd in range(3):\n    os.set_blocking(fd, False)",
    ),
    _left(
        "left in the line to the tests",
        "import socket\nfor fd in range(3, 64):\n    try:\n        line = socket.socket(fileno=os.dup(fd))\n        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, bytes(8) + bytes(8))\n        line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)\n        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)\n    except OSError:\n        pass",
        ("failed", "crash"),
    ),
    Attack(
        name="the referee kept busy by a list",
        problem="evens",
        program="def evens(numbers):\n    return [2, 4] + [0] * 1_000_000\n",
        statuses=("failed", "output", "timeout"),
    ),
    Attack(
        name="the referee's memory used up",
        problem="counts",
        program="def counts(words):\n    return {i: [] for i in range(1_500_000)}\n",
        statuses=("failed", "output", "timeout", "memory"),
        late=True,
    ),
    Attack(
        name="the referee's random numbers guessed",
        problem="unfold",
        program="import random\nstate = random.getstate()\ndef unfold(text):\n    random.setstate(state)\n"
        "    out = ''.join(random.choice('abcdef') for _ in range(random.randint(4, 12)))\n    return out[:len(text) - 3]\n",
    ),
    Attack(
        name="the tests' arguments changed",
        problem="evens",
        program="def evens(numbers):\n    numbers.clear()\n    numbers.append(2)\n    return numbers\n",
    ),
    Attack(
        name="the tests' callback called without an end",
        problem="twice",
        program="def twice(f, x):\n    while True:\n        f(x)\n",
        statuses=("timeout",),
        late=True,
    ),
    Attack(
        name="the tests' callback called from threads",
        problem="twice",
        program="import threading\ndef twice(f, x):\n    for _ in range(5):\n        threading.Thread(target=f, args=(x,), daemon=True).start()\n    return 7\n",
        statuses=("failed", "crash", "timeout", "output"),
    ),
    Attack(
        name="the tests' callback given something odd",
        problem="twice",
        program="def twice(f, x):\n    class Odd(int):\n        __add__ = __radd__ = lambda *_: 7\n    f(Odd(1))\n    return 7\n",
    ),
    Attack(
        name="the tests' callback recursing into the sample",
        problem="twice",
        program="def twice(f, x):\n    def again(y):\n        return twice(f, y)\n    return again(x)\n",
        message="RecursionError",
    ),
    probe(
        "what somebody left in the scratch",
        "[n for n in os.listdir('.')][0] if os.listdir('.') else False",
        harmless=False,
    ),
    probe(
        "what somebody left in the interpreter",
        "'sample2' in sys.modules",
        "hasattr(__builtins__, 'left') or 'left' in getattr(__builtins__, '__dict__', __builtins__)",
        "'@MARK@' in os.environ.get('LD_PRELOAD', '')",
        harmless=False,
    ),
)
