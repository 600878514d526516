"""The host's files: reading, writing, removing, mounting, and what the environment tells."""

from __future__ import annotations

from corpus.attack import Attack, probe

_SETUP = '''
def said(path):
    """Read a file and say whether the secret is in it."""
    with open(path, "rb") as file:
        return b"a secret of the host" in file.read(1 << 20)


def locked(fd):
    """Lock a file for a moment."""
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(fd)
    return True


def held_open():
    """Return the descriptors beside the three standard ones."""
    found = []
    for fd in range(3, 64):
        try:
            os.fstat(fd)
        except OSError:
            continue
        found.append(fd)
    return found


def made(path):
    """Make a file."""
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    return True
'''


def _probe(name: str, *attempts: str, **fields: object) -> Attack:
    return probe(name, *attempts, setup=_SETUP, **fields)  # type: ignore[arg-type]


FILES = (
    _probe(
        "a file of the host read",
        "said('@CANARY@')",
        "said('/proc/self/root@CANARY@')",
        "said('/proc/1/root@CANARY@')",
        "said('/../../..@CANARY@')",
    ),
    _probe(
        "a file of the host read by a link",
        "(os.symlink('@CANARY@', 'link'), said('link'))[1]",
        "(os.link('@CANARY@', 'hard'), said('hard'))[1]",
        harmless=False,
    ),
    _probe(
        "a file of the host read by the importer",
        "__import__('importlib.machinery').machinery.SourceFileLoader('x', '@CANARY@').get_data('@CANARY@')",
    ),
    _probe(
        "a file of the host read by a handle",
        "checked(libc.open_by_handle_at(os.open('/', os.O_RDONLY), ctypes.create_string_buffer(bytes([8, 0, 0, 0, 1, 0, 0, 0]) + bytes(8)), 0))",
        harmless=False,
    ),
    _probe("a file of the host mapped", "__import__('mmap').mmap(os.open('@CANARY@', os.O_RDONLY), 0, prot=1)[:8]"),
    _probe("a file of the host appended to", "open('@CANARY@', 'a')", harmless=False),
    _probe(
        "a file of the host overwritten",
        "open('@CANARY@', 'r+').write('changed')",
        "open('@CANARY@', 'w').write('changed')",
        harmless=False,
    ),
    _probe(
        "a file of the host cut",
        "os.truncate('@CANARY@', 0)",
        "os.open('@CANARY@', os.O_RDONLY | os.O_TRUNC)",
        harmless=False,
    ),
    _probe(
        "a file of the host removed",
        "os.unlink('@CANARY@')",
        "os.rename('@CANARY@', '@CANARY@-moved')",
        "os.replace('@CANARY@', 'mine')",
        harmless=False,
    ),
    _probe(
        "rights of a file of the host",
        "os.chmod('@CANARY@', 0)",
        "os.chown('@CANARY@', os.getuid(), os.getgid())",
        harmless=False,
    ),
    _probe("times of a file of the host", "os.utime('@CANARY@', (0, 0))", harmless=False),
    _probe(
        "attributes of a file of the host",
        "os.setxattr('@CANARY@', 'user.left', b'x')",
        "os.getxattr('@CANARY@', 'user.left')",
        "os.setxattr('.', 'user.left', b'x')",
        harmless=False,
    ),
    _probe(
        "locks on a file of the host",
        "locked(os.open('@CANARY@', os.O_RDONLY))",
    ),
    _probe("a file of the host seen", "os.stat('@CANARY@')", "os.access('@CANARY@', os.F_OK)"),
    _probe("a folder of the host listed", "os.listdir('@FOLDER@')", "os.scandir('@FOLDER@').__next__()"),
    _probe(
        "a folder of the host watched",
        "checked(libc.inotify_add_watch(checked(libc.inotify_init()), b'@FOLDER@', 2))",
        "fcntl.fcntl(os.open('@FOLDER@', os.O_RDONLY), fcntl.F_NOTIFY, 2)",
    ),
    _probe("a folder of the host entered", "os.chdir('@FOLDER@')", harmless=False),
    _probe(
        "a file made on the host",
        "made('@FOLDER@/@MARK@')",
        "os.mkdir('@FOLDER@/@MARK@d')",
        "os.symlink('x', '@FOLDER@/@MARK@s')",
        harmless=False,
    ),
    _probe(
        "a file moved to the host",
        "(made('mine'), os.rename('mine', '@FOLDER@/@MARK@r'))",
        "(made('mine'), os.link('mine', '@FOLDER@/@MARK@l'))",
        harmless=False,
    ),
    _probe(
        "a file made in places for all",
        "made('/var/tmp/@MARK@')",
        "made('/dev/shm/@MARK@')",
        "made('/run/@MARK@')",
        harmless=False,
    ),
    _probe("a file made in the root", "made('/@MARK@')", "os.mkdir('/@MARK@d')", harmless=False),
    _probe(
        "a file made in system folders",
        "made('/etc/@MARK@')",
        "made('/usr/@MARK@')",
        "made('/usr/bin/@MARK@')",
        "made('/dev/@MARK@')",
        "made('/proc/@MARK@')",
        harmless=False,
    ),
    _probe(
        "a file made beside the scratch",
        "made('../@MARK@')",
        "made(os.path.dirname(os.getcwd()) + '/@MARK@')",
        harmless=False,
    ),
    _probe(
        "a file made in the library",
        "made(os.path.dirname(os.__file__) + '/@MARK@.py')",
        "made(os.path.dirname(os.__file__) + '/site-packages/@MARK@.pth')",
        "made(os.path.dirname(os.__file__) + '/__pycache__/@MARK@.pyc')",
        harmless=False,
    ),
    _probe(
        "the library written",
        "open(os.__file__, 'a')",
        "os.utime(os.__file__, (0, 0))",
        "os.fchmod(os.open(os.__file__, os.O_RDONLY), 0o666)",
        harmless=False,
    ),
    _probe(
        "the interpreter written",
        "open(sys.executable or '/proc/self/exe', 'r+b')",
        "open('/proc/self/exe', 'r+b')",
        harmless=False,
    ),
    _probe("numpy written", "open(__import__('numpy').__file__, 'a')", harmless=False),
    _probe(
        "the home of the user", "os.listdir('@HOME@')", "said('@HOME@/secret')", "made('@HOME@/@MARK@')", harmless=False
    ),
    _probe("the homes of all", "os.listdir('/home')", "os.listdir('/root')", harmless=False),
    _probe("the users", "open('/etc/shadow')", "open('/etc/sudoers')", harmless=False),
    _probe(
        "the environment",
        "any('@MARK@' in value for value in os.environ.values())",
        "any(name in os.environ for name in ('ATTACK_SECRET', 'PASSCURVE_CACHE', 'PATH', 'TMPDIR'))",
        "b'@MARK@' in open('/proc/self/environ', 'rb').read()",
        harmless=False,
    ),
    _probe(
        "inherited descriptors",
        "len(held_open()) > 1 or not all(stat.S_ISSOCK(os.fstat(fd).st_mode) for fd in held_open())",
        "any(os.fstat(fd).st_rdev != os.stat('/dev/null').st_rdev for fd in range(3))",
        harmless=False,
    ),
    _probe(
        "the results",
        "open('@RUN@/s.jsonl_results.jsonl', 'a')",
        "os.listdir('@RUN@/s.jsonl.passcurve')",
        "open('@RUN@/s.jsonl', 'r')",
        harmless=False,
    ),
    _probe("the benchmark", "open('@RUN@/problems.jsonl').read()", harmless=False),
    _probe(
        "the sandbox's own code",
        "__import__('importlib.util').util.find_spec('passcurve') is not None",
        "open('@PASSCURVE@')",
        harmless=False,
    ),
    _probe("packages that were not allowed", "open('@MSGSPEC@', 'rb').read()", harmless=False),
    _probe(
        "a mount",
        "checked(libc.mount(b'tmpfs', b'/tmp', b'tmpfs', 0, None))",
        "checked(libc.mount(b'/', b'/tmp', None, 4096, None))",
        "checked(libc.umount2(b'/tmp', 2))",
        "checked(libc.mount(None, b'/', None, 32 | 4096, None))",
        harmless=False,
    ),
    _probe(
        "a mount by the newer calls",
        "checked(libc.syscall(430, b'tmpfs', 0))",
        "checked(libc.syscall(428, -100, b'/', 1))",
        "checked(libc.syscall(429, -1, b'', -100, b'/tmp', 4))",
        harmless=False,
    ),
    _probe(
        "the old root",
        "os.chroot('/proc/1/root')",
        "os.chroot('.')",
        "checked(libc.pivot_root(b'/tmp', b'/tmp')) if hasattr(libc, 'pivot_root') else False",
        "os.listdir('/proc/1/cwd')",
        harmless=False,
    ),
    _probe(
        "devices",
        "any(open('/dev/' + name, 'rb') for name in ('mem', 'kmem', 'port', 'sda', 'vda', 'kvm', 'fuse', 'tty', 'console', 'ptmx'))",
        "open('/dev/tty')",
        "open('/dev/ptmx')",
        "open('/dev/mem', 'rb')",
        "open('/dev/fuse', 'rb')",
        harmless=False,
    ),
    _probe(
        "a device of its own",
        "os.mknod('device', 0o600 | stat.S_IFBLK, os.makedev(8, 0))",
        "os.mknod('device', 0o600 | stat.S_IFCHR, os.makedev(1, 1))",
        harmless=False,
    ),
    _probe("a pipe with a name", "os.mkfifo('@MARK@')", harmless=False),
    _probe(
        "a program with rights",
        "(made('s'), os.chmod('s', 0o4755), os.stat('s').st_mode & 0o4000 and os.posix_spawn('s', ['s'], {}))[2]",
        harmless=False,
    ),
    _probe(
        "the machine's switches",
        "open('/proc/sys/kernel/core_pattern', 'w')",
        "open('/proc/sysrq-trigger', 'w')",
        "open('/sys/power/state', 'w')",
        "open('/proc/sys/vm/drop_caches', 'w')",
        harmless=False,
    ),
    _probe(
        "the kernel's tables",
        "open('/proc/kcore', 'rb')",
        "open('/proc/kallsyms').read(10)",
        "open('/proc/config.gz', 'rb')",
        "os.listdir('/sys/kernel')",
        harmless=False,
    ),
    _probe("groups of control", "os.listdir('/sys/fs/cgroup')", "os.mkdir('/sys/fs/cgroup/@MARK@')", harmless=False),
    _probe(
        "the table of mounts",
        "b'@FOLDER@' in open('/proc/self/mountinfo', 'rb').read()",
        "'@RUN@' in open('/proc/mounts').read()",
        harmless=False,
    ),
    _probe(
        "processes in sight",
        "[p for p in os.listdir('/proc') if p.isdigit() and int(p) not in (1, os.getpid())][0] if len([p for p in os.listdir('/proc') if p.isdigit()]) > 2 else False",
    ),
)
