"""Honest programs in the real jail: they work as they do outside."""

from __future__ import annotations

import pytest
from jailed import Jailed

LEGAL = {
    "threads": (
        "import threading, queue\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "def f():\n"
        "    box = queue.Queue()\n"
        "    thread = threading.Thread(target=box.put, args=(5,))\n"
        "    thread.start(); thread.join()\n"
        "    with ThreadPoolExecutor(4) as pool:\n"
        "        return box.get() + sum(pool.map(lambda x: x * x, range(10)))\n",
        290,
    ),
    "asyncio": (
        "import asyncio\n"
        "async def twice(x):\n"
        "    await asyncio.sleep(0.01)\n"
        "    return 2 * x\n"
        "async def main():\n"
        "    return await asyncio.gather(*(twice(i) for i in range(5)), asyncio.to_thread(lambda: 9))\n"
        "def f():\n"
        "    return asyncio.run(main())\n",
        [0, 2, 4, 6, 8, 9],
    ),
    "deep recursion": ("def f(n=900):\n    return 0 if n == 0 else 1 + f(n - 1)\n", 900),
    "too deep recursion": (
        "def g(n):\n    return g(n + 1)\n"
        "def f():\n    try:\n        g(0)\n    except RecursionError:\n        return 'caught'\n",
        "caught",
    ),
    "much print": ("import sys\ndef f():\n    return [print('x' * 1_000_000) for _ in range(10)] and 1\n", 1),
    "output caught in a pipe": (
        "import os, sys\ndef f():\n    read, write = os.pipe()\n    saved = os.dup(1)\n    os.dup2(write, 1)\n"
        "    print('here', flush=True)\n    os.dup2(saved, 1)\n    return os.read(read, 100)\n",
        b"here\n",
    ),
    "output caught in a file": (
        "import os, tempfile\ndef f():\n    with tempfile.TemporaryFile() as file:\n        saved = os.dup(1)\n"
        "        os.dup2(file.fileno(), 1)\n        print('here', flush=True)\n        os.dup2(saved, 1)\n"
        "        file.seek(0)\n        return file.read()\n",
        b"here\n",
    ),
    "no standard error": ("import os\ndef f():\n    os.close(2)\n    print('here', flush=True)\n    return 1\n", 1),
    "numbers of the streams": (
        "import sys\ndef f():\n    return [stream.fileno() for stream in (sys.stdin, sys.stdout, sys.__stderr__)]\n",
        [0, 1, 2],
    ),
    "input": (
        "def f():\n    try:\n        return input()\n    except EOFError:\n        return 'nothing'\n",
        "nothing",
    ),
    "its own source": (
        "import inspect\ndef g():\n    return 1  # here\ndef f():\n    return inspect.getsource(g)\n",
        "def g():\n    return 1  # here\n",
    ),
    "its own name": ("x = __name__ == '__main__'\ndef f():\n    return x, __file__ is not None\n", (False, True)),
    "random": (
        "import random\ndef f():\n    random.seed(3)\n    return random.random() == random.Random(3).random()\n",
        True,
    ),
    "entropy": (
        "import os, secrets, uuid\ndef f():\n    return len(os.urandom(8)) + len(secrets.token_bytes(8))\n",
        16,
    ),
    "generators": ("def g():\n    yield from range(3)\ndef f():\n    return list(g())\n", [0, 1, 2]),
    "a signal to itself": (
        "import signal\n"
        "def f():\n"
        "    seen = []\n"
        "    signal.signal(signal.SIGALRM, lambda *_: seen.append(1))\n"
        "    signal.setitimer(signal.ITIMER_REAL, 0.01)\n"
        "    signal.pause()\n"
        "    signal.raise_signal(signal.SIGALRM)\n"
        "    return seen\n",
        [1, 1],
    ),
    "dataclasses and pickles": (
        "import dataclasses, pickle\n"
        "@dataclasses.dataclass\n"
        "class P:\n    x: int = 3\n"
        "def f():\n    return pickle.loads(pickle.dumps(P())).x\n",
        3,
    ),
    "the standard library": (
        "import json, sqlite3, decimal, statistics, hashlib, zlib, csv, unittest, logging, datetime, ssl\n"
        "def f():\n    return sqlite3.connect(':memory:').execute('select 2').fetchone()[0]\n",
        2,
    ),
    "a database in the scratch": (
        "import sqlite3\n"
        "def f():\n"
        "    with sqlite3.connect('a.db') as db:\n"
        "        db.execute('create table t (x)')\n"
        "        db.execute('insert into t values (4)')\n"
        "        return db.execute('select x from t').fetchone()[0]\n",
        4,
    ),
    "reading the library": ("import os\ndef f():\n    return 'def ' in open(os.__file__).read()\n", True),
    "unicode names": ("def größe(ñ):\n    return ñ\ndef f():\n    return größe('é')\n", "é"),
    "time zones": ("import time\ndef f():\n    return time.tzname[0], time.localtime(0).tm_hour\n", ("UTC", 0)),
    "the main guard": ("def f():\n    return 1\nif __name__ == '__main__':\n    raise SystemExit(3)\n", 1),
}


@pytest.mark.parametrize("what", LEGAL)
def test_honest_programs(jail: Jailed, what: str):
    """An honest program works as it does outside."""
    source, expected = LEGAL[what]
    assert expected == jail.value(source)


def test_copies_of_files(full: Jailed):
    """Files and folders are copied with what else they have: modes and times, and no extended attributes."""
    source = (
        "import os, shutil\n"
        "def f():\n"
        "    os.mkdir('from')\n"
        "    with open('from/a', 'w') as file:\n"
        "        file.write('abc')\n"
        "    shutil.copy2('from/a', 'from/b')\n"
        "    return sorted(os.listdir(shutil.copytree('from', 'to'))), os.listxattr('to/a')\n"
    )
    with pytest.raises(AssertionError, match="not supported"):
        full.value(source)
    assert ["a", "b"] == full.value(source.replace(", os.listxattr('to/a')", ""))


def test_numpy(jail: Jailed):
    """A program may use numpy when it is installed beside its interpreter."""
    if not any(name.startswith("numpy==") for name in jail.sandbox.toolchain.packages):
        pytest.skip("numpy is not installed here")
    source = (
        "import numpy as np\n"
        "def f():\n"
        "    a = np.arange(6.0).reshape(2, 3)\n"
        "    return float(np.linalg.norm(a @ a.T)), int(np.random.default_rng(0).integers(5, 6))\n"
    )
    norm, drawn = jail.value(source)
    assert 50 < norm < 60
    assert 5 == drawn


def test_the_seed_is_fixed(jail: Jailed):
    """Random numbers and hashes of text are the same in every run of the same program."""
    source = "import random\ndef f():\n    return random.random(), hash('text'), list({'a', 'b', 'c'})\n"
    assert jail.value(source) == jail.value(source)


def test_numpy_is_loaded_behind_the_walls(jail: Jailed):
    """No package of the samples is loaded before a sample asks for it."""
    assert not jail.value("import sys\ndef f():\n    return 'numpy' in sys.modules\n")
