"""Attempts of a jailed program on the host: expressions, each refused with an error as long as the walls stand."""

from __future__ import annotations

REFUSED = ("EPERM", "EACCES", "ENOENT", "ESRCH", "EROFS", "ENOSYS", "EINVAL", "ENXIO", "EXDEV")
FLAG_STREAMS = "[fcntl.fcntl(n, fcntl.F_SETFL, os.O_APPEND | os.O_NONBLOCK) for n in range(3)]"
"""An expression that sets flags of the files behind the standard streams."""
TRIED = '''
import ctypes, errno, fcntl, os, resource, signal, socket, stat, sys, time

libc = ctypes.CDLL(None, use_errno=True)


def call(number, *args):
    """Make a system call by number."""
    result = libc.syscall(ctypes.c_long(number), *(a if isinstance(a, bytes) else ctypes.c_long(a) for a in args))
    if result == -1:
        raise OSError(ctypes.get_errno(), "")
    return result


def tried(attempt):
    try:
        return "worked: %r" % (attempt(),)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    except (ValueError, MemoryError, RuntimeError) as error:
        return type(error).__name__


def f():
    return tried(attempt)
'''

FILES = {
    "read a file of the host": "open({canary!r}).read()",
    "read it through a link": "(os.symlink({canary!r}, 'link'), open('link').read())",
    "read it through the root of process 1": "open('/proc/1/root' + {canary!r}).read()",
    "read it through a hard link": "(os.link({canary!r}, 'hard'), open('hard').read())",
    "list a folder of the host": "os.listdir(os.path.dirname({canary!r}))",
    "move out of the scratch": "(open('mine', 'w').close(), os.rename('mine', {canary!r} + '-moved'))",
    "write beside the scratch": "open(os.path.dirname(os.getcwd()) + '/passcurve-was-here', 'w')",
    "write to the root": "open('/passcurve-was-here', 'w')",
    "write beside a file of the host": "open(os.path.dirname({canary!r}) + '/passcurve-was-here', 'w')",
    "write to a file of the host": "open({canary!r}, 'a')",
    "remove a file of the host": "os.unlink({canary!r})",
    "write to /etc": "open('/etc/passcurve-was-here', 'w')",
    "write to /dev/shm": "open('/dev/shm/passcurve-was-here', 'w')",
    "write to /var/tmp": "open('/var/tmp/passcurve-was-here', 'w')",
    "write to the standard library": "open(os.__file__, 'a')",
    "date a device": "os.utime('/dev/null')",
    "date a device by standard input": "os.utime(0)",
    "date a device by standard output": "os.utime(1)",
    "date a device by standard error": "os.utime(2)",
    "date the standard library": "os.utime(os.__file__)",
    "read the sandbox's own source": "open({ours!r}).read()",
    "read the packages of the sandbox": "open({theirs!r}, 'rb').read()",
    "read the shadow file": "open('/etc/shadow').read()",
    "read a disk": "[open('/dev/' + d, 'rb') for d in ('sda', 'vda', 'nvme0n1', 'mem', 'kmsg')]",
    "open the terminal": "open('/dev/tty')",
    "make a device": "os.mknod('device', 0o600 | stat.S_IFBLK, os.makedev(8, 0))",
    "make a pipe with a name": "os.mkfifo('fifo')",
    "make a socket with a name": "os.mknod('socket', 0o600 | stat.S_IFSOCK)",
    "change the rights of a file of the host": "os.chmod({canary!r}, 0o600)",
    "change the times of a file of the host": "os.utime({canary!r}, (0, 0))",
    "cut a file of the host": "os.truncate({canary!r}, 0)",
    "change the rights of the standard library": "os.fchmod(os.open(os.__file__, os.O_RDONLY), 0o666)",
    "change the times of the standard library": "os.utime(os.open(os.__file__, os.O_RDONLY), (0, 0))",
    "give a file away": "(open('mine', 'w').close(), os.chown('mine', 0, 0))",
    "set an extended attribute": "os.setxattr('.', 'user.left', b'behind')",
}
PROCESSES = {
    "fork": "os.fork()",
    "fork with a terminal": "os.forkpty()",
    "spawn": "os.posix_spawn(sys.executable, ['python'], {{}})",
    "execute": "os.execv(sys.executable, ['python', '-c', 'pass'])",
    "execute from memory": "os.execve(0, ['python'], {{}})",
    "kill the parent": "os.kill(os.getppid(), signal.SIGKILL)",
    "stop the parent": "os.kill(os.getppid(), signal.SIGSTOP)",
    "look for the parent": "os.kill(os.getppid(), 0)",
    "kill process 1": "os.kill(1, signal.SIGKILL)",
    "kill everybody": "os.kill(-1, signal.SIGKILL)",
    "kill its group": "os.kill(0, signal.SIGKILL)",
    "kill a thread of the parent": "call({tkill}, os.getppid(), signal.SIGKILL)",
    "kill the parent by thread": "call({tgkill}, os.getppid(), os.getppid(), signal.SIGKILL)",
    "queue a signal": "call({rt_sigqueueinfo}, os.getppid(), signal.SIGTERM, bytes(128))",
    "hold the parent": "os.pidfd_open(os.getppid())",
    "trace the parent": "call({ptrace}, 16, os.getppid(), 0, 0)",
    "be traced": "call({ptrace}, 0, 0, 0, 0)",
    "read the parent's memory": "call({process_vm_readv}, os.getppid(), bytes(16), 1, bytes(16), 1, 0)",
    "write the parent's memory": "call({process_vm_writev}, os.getppid(), bytes(16), 1, bytes(16), 1, 0)",
    "open the parent's memory": "open('/proc/%d/mem' % os.getppid(), 'r+b')",
    "open the memory of process 1": "open('/proc/1/mem', 'r+b')",
    "read the parent's environment": "open('/proc/%d/environ' % os.getppid(), 'rb').read()",
    "read the parent's map": "open('/proc/%d/maps' % os.getppid()).read()",
    "list the parent's descriptors": "os.listdir('/proc/%d/fd' % os.getppid())",
    "limit the parent": "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (3, 3))",
    "move the parent to another core": "os.sched_setaffinity(os.getppid(), {{0}})",
    "leave its session": "os.setsid()",
    "be first in line": "os.nice(-5)",
}
NETWORK = {
    "make an internet socket": "socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
    "make a datagram socket": "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)",
    "make a unix socket": "socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)",
    "make a netlink socket": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "make a packet socket": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "make a socket to the hypervisor": "socket.socket(40, socket.SOCK_STREAM)",
    "make a pair of datagram sockets": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
    "connect to loopback": "socket.create_connection(('127.0.0.1', {port}), 1)",
    "connect one of a pair": "socket.socketpair()[0].connect({abstract!r})",
    "bind one of a pair": "socket.socketpair()[0].bind(chr(0) + 'passcurve-was-here')",
    "send to an address": "socket.socketpair()[0].sendto(b'x', {abstract!r})",
    "send a descriptor": "socket.send_fds(socket.socketpair()[0], [b'x'], [0])",
}
RIGHTS = {
    "become root": "os.setuid(0)",
    "become somebody else": "os.setresuid(12345, 12345, 12345)",
    "join a group": "os.setgroups([0])",
    "raise its memory": "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
    "raise its files": "resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))",
    "raise its file size": "resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))",
    "mount": "call({mount}, b'tmpfs', b'/tmp', b'tmpfs', 0, 0)",
    "unmount": "call({umount2}, b'/tmp', 2)",
    "change the root": "os.chroot('.')",
    "leave its user namespace": "call({unshare}, 0x10000000)",
    "leave nothing": "call({unshare}, 0)",
    "enter another namespace": "call({setns}, 0, 0)",
    "have memory without a limit": "os.memfd_create('hidden')",
    "have shared memory": "call({shmget}, 0, 4096, 0o1600)",
    "lay another filter": "call({seccomp}, 1, 0, bytes(16))",
    "be dumpable": "call({prctl}, 4, 1, 0, 0, 0)",
    "have a message on death": "call({prctl}, 1, 9, 0, 0, 0)",
    "have capabilities": "call({capset}, bytes(8), bytes(24))",
    "set the clock": "time.clock_settime(time.CLOCK_REALTIME, 0)",
    "name the host": "socket.sethostname('mine')",
}
ATTEMPTS = {**FILES, **PROCESSES, **NETWORK, **RIGHTS}
