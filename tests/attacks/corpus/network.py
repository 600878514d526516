"""Sockets of every family, connections to those who listen, and listening itself."""

from __future__ import annotations

from corpus.attack import Attack, probe

_SETUP = '''
def reached(family, kind, address):
    """Send something to those who listen on the host."""
    with socket.socket(family, kind) as line:
        line.settimeout(1)
        line.connect(address)
        line.send(b"x")
    return True


def listening(family, address):
    """Listen for a moment."""
    line = socket.socket(family, socket.SOCK_STREAM)
    line.bind(address)
    line.listen()
    globals().setdefault("kept", []).append(line)
    return True


def line():
    """Return the descriptor of the line to the tests."""
    for fd in range(3, 64):
        try:
            os.fstat(fd)
        except OSError:
            continue
        return fd
    raise NameError("there is no line")


def sent_away(pair):
    """Send a descriptor over a pair of sockets."""
    return socket.send_fds(pair[0], [b"x"], [0])


def any_family(kind):
    """Say whether a socket of any family can be made."""
    made = []
    for family in (1, 2, 10, 15, 16, 17, 29, 31, 38, 40, 44):
        try:
            made.append(socket.socket(family, kind))
        except OSError:
            pass
    return bool(made)
'''


def _probe(name: str, *attempts: str, **fields: object) -> Attack:
    return probe(name, *attempts, setup=_SETUP, **fields)  # type: ignore[arg-type]


NETWORK = (
    _probe("a stream socket of any family", "any_family(socket.SOCK_STREAM)"),
    _probe("a datagram socket of any family", "any_family(socket.SOCK_DGRAM)"),
    _probe("a raw socket of any family", "any_family(socket.SOCK_RAW)", harmless=False),
    _probe("a packet socket of any family", "any_family(socket.SOCK_SEQPACKET)"),
    _probe(
        "a connection to loopback", "reached(socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', @PORT@))", harmless=False
    ),
    _probe(
        "a connection to loopback by the newer protocol",
        "reached(socket.AF_INET6, socket.SOCK_STREAM, ('::1', @PORT@))",
        "reached(socket.AF_INET6, socket.SOCK_STREAM, ('::ffff:127.0.0.1', @PORT@))",
        harmless=False,
    ),
    _probe(
        "a datagram to loopback", "reached(socket.AF_INET, socket.SOCK_DGRAM, ('127.0.0.1', @PORT@))", harmless=False
    ),
    _probe(
        "a connection to a socket with a path", "reached(socket.AF_UNIX, socket.SOCK_STREAM, '@UNIX@')", harmless=False
    ),
    _probe(
        "a connection to an abstract name",
        "reached(socket.AF_UNIX, socket.SOCK_STREAM, chr(0) + '@ABSTRACT@')",
        harmless=False,
    ),
    _probe(
        "a connection by a library",
        "__import__('urllib.request').request.urlopen('http://127.0.0.1:@PORT@/', timeout=1)",
        "__import__('http.client').client.HTTPConnection('127.0.0.1', @PORT@, timeout=1).connect()",
        harmless=False,
    ),
    _probe("names looked up", "socket.create_connection(('localhost', @PORT@), 1)", harmless=False),
    _probe("listening on a port", "listening(socket.AF_INET, ('', @FREE@))", harmless=False),
    _probe("listening on an abstract name", "listening(socket.AF_UNIX, chr(0) + '@MARK@')", harmless=False),
    _probe(
        "listening on a path",
        "listening(socket.AF_UNIX, '@FOLDER@/@MARK@')",
        "listening(socket.AF_UNIX, '@MARK@')",
        harmless=False,
    ),
    _probe(
        "one of a pair connected elsewhere",
        "socket.socketpair()[0].connect(chr(0) + '@ABSTRACT@')",
        "socket.socketpair()[0].bind(chr(0) + '@MARK@')",
        harmless=False,
    ),
    _probe(
        "one of a pair that sends elsewhere",
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', chr(0) + '@ABSTRACT@')",
        "socket.socketpair()[0].sendto(b'x', chr(0) + '@ABSTRACT@')",
        harmless=False,
    ),
    _probe(
        "a descriptor sent away",
        "sent_away(socket.socketpair())",
        "sent_away([socket.socket(fileno=os.dup(line()))])",
    ),
    _probe("who is at the other end of a line", "socket.socketpair()[0].getsockopt(socket.SOL_SOCKET, 17, 12)"),
    _probe(
        "who is at the other end of the tests' line",
        "[socket.socket(fileno=os.dup(line())).getsockopt(socket.SOL_SOCKET, 17, 12)]",
        harmless=False,
    ),
    _probe("a tunnel", "os.open('/dev/net/tun', os.O_RDWR)", "open('/dev/vsock')", "open('/dev/tap0')", harmless=False),
    _probe(
        "a table of the network",
        "'@PORT@' in open('/proc/net/tcp').read() or ('%04X' % @PORT@) in open('/proc/net/tcp').read()",
        "'@ABSTRACT@' in open('/proc/net/unix').read()",
    ),
    _probe(
        "a server of asyncio",
        "__import__('asyncio').run(__import__('asyncio').start_server(print, '', @FREE@)).sockets != ()",
        harmless=False,
    ),
)
