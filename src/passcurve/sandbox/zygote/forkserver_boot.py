"""First code of a fork server, run by path with its line as standard input: it finds our package and hands over."""

from __future__ import annotations

import sys

STACK_BYTES = 8 << 20
"""Limit of the stack that most systems give: by the one of its start the kernel places all mappings of a process.

It is that of ``memory.py``, which cannot be imported before the place of our package is known.
"""

if __name__ == "__main__":
    del sys.path[0]  # this folder, whose module names would shadow those of the standard library

    import json
    import os
    import resource
    import socket
    import time
    import types

    limit, most = resource.getrlimit(resource.RLIMIT_STACK)
    wanted = STACK_BYTES if most == resource.RLIM_INFINITY else min(STACK_BYTES, most)
    if limit != wanted and sys.platform.startswith("linux"):
        # That of the user's shell: samples would find other addresses than under another shell.
        resource.setrlimit(resource.RLIMIT_STACK, (wanted, most))
        os.execv(sys.executable, [sys.executable, "-S", "-s", sys.argv[0]])

    began_ns = time.time_ns()

    # Its number is not among the arguments: those lie on the stack, and move what comes after them.
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, os.dup(0))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    # It stays on the line until it is used: this process may have to start again.
    size = 4 + int.from_bytes(line.recv(4, socket.MSG_PEEK | socket.MSG_WAITALL), "little")
    config = json.loads(line.recv(size, socket.MSG_PEEK | socket.MSG_WAITALL)[4:])
    # By its own folder: what else lies beside it would be listed, and show in the memory of all samples.
    package = types.ModuleType("passcurve")
    package.__path__ = [config["package"]]
    sys.modules["passcurve"] = package
    from passcurve.sandbox.zygote import forkserver

    forkserver.serve(line, config, size, began_ns)
