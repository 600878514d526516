"""Other processes: starting them, ending them, tracing them, and writing into their memory."""

from __future__ import annotations

from corpus.attack import Attack, probe

_WORDS = "[b'/bin/sh', b'-c', b'true', None]"
_START = '''
def waited(pid):
    """End the child at once; tell the parent that it was made."""
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return True


def peeled(pid):
    """Read a word of another process's memory by the call for it."""
    class Part(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
    text = ctypes.create_string_buffer(8)
    mine = Part(ctypes.addressof(text), 8)
    theirs = Part(id(os), 8)
    return checked(libc.process_vm_readv(pid, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0))


def poked(pid):
    """Write a word of another process's memory by the call for it."""
    class Part(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
    text = ctypes.create_string_buffer(ctypes.string_at(id(os), 8), 8)
    mine = Part(ctypes.addressof(text), 8)
    theirs = Part(id(os), 8)
    return checked(libc.process_vm_writev(pid, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0))


def opened(pid, mode):
    """Open another process's memory and read at an address that is there in every fork."""
    with open("/proc/%d/mem" % pid, mode, 0) as memory:
        memory.seek(id(os))
        word = memory.read(8)
        if "+" in mode:
            memory.seek(id(os))
            memory.write(word)
    return True
'''


def _probe(name: str, *attempts: str, **fields: object) -> Attack:
    return probe(name, *attempts, setup=_START, **fields)  # type: ignore[arg-type]


PROCESSES = (
    _probe("a fork", "waited(os.fork())"),
    _probe("a fork of the C library", "waited(checked(libc.fork()))", "waited(checked(libc.vfork()))", harmless=False),
    _probe("a fork with a terminal", "waited(os.forkpty()[0])"),
    _probe(
        "a clone by number",
        "waited(checked(libc.syscall(56, 17, 0, 0, 0, 0)))",
        "waited(checked(libc.syscall(435, 0, 0)))",
        harmless=False,
    ),
    _probe("a shell", "os.system('true') == 0", "os.popen('echo 1').read() == '1\\n'"),
    _probe("a subprocess", "__import__('subprocess').run(['true'], check=True)"),
    _probe("a spawned program", "os.waitpid(os.posix_spawn('/bin/sh', ['sh', '-c', 'true'], {}), 0)"),
    _probe(
        "a pool of processes",
        "__import__('concurrent.futures').futures.ProcessPoolExecutor(1).submit(abs, -1).result() == 1",
        harmless=False,
    ),
    _probe(
        "a process of multiprocessing",
        "__import__('multiprocessing').get_context('fork').Process(target=abs, args=(1,)).start() is None",
    ),
    _probe(
        "a program in its own place",
        "os.execv('/proc/self/exe', ['python', '-c', 'pass'])",
        "os.execve(os.open(sys.executable, os.O_RDONLY), ['python', '-c', 'pass'], {})",
        harmless=False,
    ),
    _probe(
        "a program from the scratch",
        "(open('run', 'w').write('#!/bin/sh\\n'), os.chmod('run', 0o700), os.posix_spawn('./run', ['run'], {}))",
        "(open('lib.so', 'wb').write(open(__import__('_ctypes').__file__, 'rb').read()), ctypes.CDLL('./lib.so'))",
        harmless=False,
    ),
    _probe(
        "memory that can be written and executed from a file",
        "(open('code', 'wb').write(bytes(4096)), __import__('mmap').mmap(os.open('code', os.O_RDWR), 4096, prot=5))",
        harmless=False,
    ),
    _probe("a daemon", "waited(os.fork())", "os.setsid()", "os.setpgid(0, 0)", harmless=False),
    _probe("the parent looked for", "os.kill(os.getppid(), 0)"),
    _probe("the parent stopped", "os.kill(os.getppid(), signal.SIGSTOP)", harmless=False),
    _probe(
        "the parent ended",
        "os.kill(os.getppid(), signal.SIGKILL)",
        "os.kill(os.getppid(), signal.SIGTERM)",
        harmless=False,
    ),
    _probe("everybody ended", "os.kill(-1, signal.SIGKILL)", harmless=False),
    _probe(
        "its group ended",
        "os.kill(0, signal.SIGKILL)",
        "os.killpg(os.getpgid(0), signal.SIGKILL)",
        "os.killpg(os.getpgid(os.getppid()) or 1, signal.SIGKILL)",
        harmless=False,
    ),
    _probe("process 1 ended", "os.kill(1, signal.SIGKILL)", harmless=False),
    _probe("the one who runs the tests ended", "os.kill(@HOST@, signal.SIGKILL)", "os.kill(@HOST@, 0)", harmless=False),
    _probe(
        "neighbours signalled by number",
        "any(not os.kill(pid, 0) for pid in range(2, 200) if pid != os.getpid())",
        harmless=False,
    ),
    _probe("a thread of the parent ended", "checked(libc.tgkill(os.getppid(), os.getppid(), 9))", harmless=False),
    _probe("a signal queued", "checked(libc.sigqueue(os.getppid(), 0, ctypes.c_void_p()))", harmless=False),
    _probe("a descriptor of the parent", "os.pidfd_open(os.getppid())", "os.pidfd_open(1)"),
    _probe(
        "a descriptor of itself to signal by",
        "signal.pidfd_send_signal(os.pidfd_open(os.getppid()), 0)",
        "os.pidfd_open(os.getpid())",
    ),
    _probe(
        "signals by an owner of a descriptor",
        "fcntl.fcntl(socket.socketpair()[0], fcntl.F_SETOWN, os.getppid())",
        "fcntl.fcntl(socket.socketpair()[0], fcntl.F_SETSIG, 9)",
    ),
    _probe(
        "a lease",
        "(open('lease', 'w'), fcntl.fcntl(os.open('lease', os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK))",
        harmless=False,
    ),
    _probe(
        "the parent traced",
        "checked(libc.ptrace(16, os.getppid(), 0, 0))",
        "checked(libc.ptrace(0x4206, os.getppid(), 0, 0))",
        harmless=False,
    ),
    _probe("itself traced", "checked(libc.ptrace(0, 0, 0, 0))", harmless=False),
    _probe("the parent's memory read", "peeled(os.getppid())", "opened(os.getppid(), 'rb')", harmless=False),
    _probe("the parent's memory written", "poked(os.getppid())", "opened(os.getppid(), 'r+b')", harmless=False),
    _probe("the memory of process 1 written", "poked(1)", "opened(1, 'r+b')", harmless=False),
    _probe(
        "the memory of neighbours read",
        "any(opened(int(p), 'rb') for p in os.listdir('/proc') if p.isdigit() and int(p) != os.getpid())",
        harmless=False,
    ),
    _probe(
        "the memory of processes by number",
        *(f"opened({pid}, 'r+b')" for pid in (2, 3, 4, 5)),
        "opened(@HOST@, 'r+b')",
        harmless=False,
    ),
    _probe("the parent's environment", "open('/proc/%d/environ' % os.getppid(), 'rb').read()"),
    _probe("the parent's map", "open('/proc/%d/maps' % os.getppid()).read()"),
    _probe(
        "the parent's words",
        "b'supervisor' in open('/proc/%d/cmdline' % os.getppid(), 'rb').read()",
        "os.readlink('/proc/%d/exe' % os.getppid())",
        harmless=False,
    ),
    _probe(
        "the parent's descriptors",
        "os.listdir('/proc/%d/fd' % os.getppid())",
        "os.open('/proc/%d/fd/3' % os.getppid(), os.O_RDWR)",
    ),
    _probe(
        "the parent's root",
        "os.listdir('/proc/%d/root/etc' % os.getppid())",
        "os.listdir('/proc/1/root/etc')",
        "os.listdir('/proc/%d/cwd/' % os.getppid())",
    ),
    _probe("the parent's limits", "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (3, 3))", harmless=False),
    _probe("the parent's core", "os.sched_setaffinity(os.getppid(), {0})", harmless=False),
    _probe("the parent's priority", "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)", harmless=False),
    _probe(
        "comparison with the parent", "checked(libc.syscall(312, os.getpid(), os.getppid(), 1, 0, 0))", harmless=False
    ),
    _probe(
        "events of the machine",
        "checked(libc.syscall(298, ctypes.create_string_buffer(128), 0, -1, -1, 0))",
        harmless=False,
    ),
    _probe(
        "programs of the kernel", "checked(libc.syscall(321, 0, ctypes.create_string_buffer(128), 128))", harmless=False
    ),
    _probe("a ring of system calls", "checked(libc.syscall(425, 4, ctypes.create_string_buffer(128)))", harmless=False),
    _probe("faults of memory caught by hand", "checked(libc.syscall(323, 0))", harmless=False),
    _probe(
        "keys of the kernel",
        "checked(libc.syscall(248, b'user', b'@MARK@', b'x', 1, -3))",
        "checked(libc.syscall(250, 0, -3, 0))",
        harmless=False,
    ),
    _probe(
        "namespaces of its own",
        "checked(libc.unshare(0x10000000))",
        "checked(libc.unshare(0x20000))",
        "checked(libc.unshare(0x40000000))",
        harmless=False,
    ),
    _probe(
        "namespaces of somebody else",
        "checked(libc.setns(os.open('/proc/1/ns/mnt', os.O_RDONLY), 0))",
        "checked(libc.setns(0, 0))",
        harmless=False,
    ),
    _probe(
        "another user",
        "os.setuid(0)",
        "os.setresuid(12345, 12345, 12345)",
        "os.setgroups([0])",
        "os.setresgid(12345, 12345, 12345)",
        harmless=False,
    ),
    _probe(
        "capabilities",
        "checked(libc.capset(ctypes.create_string_buffer(bytes([0x22, 5, 8, 0x20, 0, 0, 0, 0])), ctypes.create_string_buffer(b'\\xff' * 24)))",
        harmless=False,
    ),
    _probe(
        "a dump of itself",
        "checked(libc.prctl(4, 1, 0, 0, 0))",
        "checked(libc.prctl(36, 1, 0, 0, 0))",
        "checked(libc.prctl(1, 0, 0, 0, 0))",
    ),
    _probe("another personality", "checked(libc.personality(0x0040000))", harmless=False),
    _probe("the clock of the machine", "time.clock_settime(time.CLOCK_REALTIME, 1.0)", harmless=False),
    _probe(
        "the name of the machine",
        "socket.sethostname('@MARK@')",
        "checked(libc.setdomainname(b'@MARK@', 4))",
        harmless=False,
    ),
    _probe("the end of the machine", "checked(libc.reboot(0))", "checked(libc.swapon(b'/none', 0))", harmless=False),
    _probe(
        "the log of the machine",
        "checked(libc.klogctl(3, ctypes.create_string_buffer(4096), 4096))",
        "open('/dev/kmsg')",
        harmless=False,
    ),
)
