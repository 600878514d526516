"""The next program in the same worker, after one that changed or ended its own process."""

from __future__ import annotations

import msgspec
import pytest
from jailed import IS_ONE, LIMITS, ONE, Jailed

POISON = {
    "the recursion limit": "sys.setrecursionlimit(60)",
    "builtins": "[setattr(builtins, n, None) for n in ('len', 'print', 'sorted', 'isinstance', '__import__')]",
    "operators of the library": "math.sqrt = random.random = lambda *_: 7",
    "the table of modules": "sys.modules.clear()",
    "other modules in the table": "sys.modules.update(math=None, bisect=builtins)",
    "the folder": "os.chdir('/')",
    "the mask of new files": "os.umask(0o777)",
    "the mask of signals": "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 60))",
    "ignored signals": "[signal.signal(n, signal.SIG_IGN) for n in (2, 10, 12, 14, 15)]",
    "an alarm": "signal.alarm(1)",
    "the environment": "os.environ.update(HOME='/nowhere', LEFT='behind')",
    "a lower limit": "resource.setrlimit(resource.RLIMIT_AS, (1 << 26, 1 << 26))",
    "a lower limit of files": "resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5))",
    "a trace function": "sys.settrace(lambda *_: 1 / 0), threading.settrace(lambda *_: 1 / 0)",
    "a hook at the end": "atexit.register(lambda: os._exit(3))",
    "an import hook": "sys.meta_path.insert(0, None), sys.path.clear()",
    "the seed": "random.seed(1)",
    "the source cache": "linecache.cache.clear()",
    "frozen memory": "gc.disable()",
    "the locale": "locale.setlocale(locale.LC_ALL, 'C')",
    "the clock": "time.time = time.monotonic = time.perf_counter = lambda: 0",
}
STATE = """
import bisect, builtins, gc, linecache, locale, math, os, random, resource, signal, sys, threading, time
def f():
    def deep(n):
        return 0 if n == 0 else 1 + deep(n - 1)
    return (
        deep(300), sorted([3, 1, 2]), math.sqrt(4.0), bisect.bisect([1, 2, 3], 2), len(sys.modules) > 40,
        os.getcwd(), os.umask(0o22), sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        [signal.getsignal(n) == signal.SIG_DFL for n in (10, 12, 14)], signal.alarm(0), dict(os.environ),
        resource.getrlimit(resource.RLIMIT_AS), resource.getrlimit(resource.RLIMIT_NOFILE),
        sys.gettrace() is None, len(sys.meta_path), len(sys.path), random.random(), gc.isenabled(),
        locale.setlocale(locale.LC_ALL), time.time() > 1,
    )
"""


@pytest.mark.parametrize("poison", POISON)
def test_the_next_program_is_not_poisoned(jail: Jailed, poison: str):
    """Whatever a program changes in its process, the next one finds everything as the first one of all did."""
    before = jail.value(STATE)
    imports = "import atexit, builtins, gc, linecache, locale, math, os, random, resource, signal, sys, threading, time"
    jail.run(jail.job(f"{imports}\n{POISON[poison]}\ndef f():\n    return 1\n", IS_ONE))
    assert before == jail.value(STATE)


def test_a_program_that_breaks_its_own_line(jail: Jailed):
    """A program that closes every descriptor is a crash, and the next one passes."""
    verdict = jail.check("import os\ndef f():\n    os.closerange(0, 64)\n    return 1\n", IS_ONE)
    assert "crash" == verdict.status
    assert jail.check(ONE, IS_ONE).passed


DEATHS = {
    "exit": ("os._exit(0)", "crash"),
    "exit with a code": ("os._exit(7)", "crash"),
    "abort": ("os.abort()", "crash"),
    "a fault of memory": ("__import__('ctypes').string_at(1)", "crash"),
    "its own kill": ("os.kill(os.getpid(), signal.SIGTERM)", "crash"),
    "its own stop for ever": ("signal.pause()", "timeout"),
    "an endless thread": ("threading.Thread(target=signal.pause).start(), os._exit(0)", "crash"),
}


@pytest.mark.parametrize("death", DEATHS)
def test_deaths(jail: Jailed, death: str):
    """However a program dies, it is its own verdict, and the next one in the same worker passes."""
    code, status = DEATHS[death]
    limits = msgspec.structs.replace(LIMITS, timeout_s=0.3 if status == "timeout" else 20.0)
    source = f"import os, signal, threading\ndef f():\n    {code}\n    return 1\n"
    assert status == jail.check(source, IS_ONE, limits=limits).status
    assert jail.check(ONE, IS_ONE).passed
