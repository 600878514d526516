"""First code of a fork server, run by path with its line as standard input: it finds our package and hands over."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    del sys.path[0]  # this folder, whose module names would shadow those of the standard library

    import json
    import os
    import socket

    # Its number is not among the arguments: those lie on the stack, and move what comes after them.
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, os.dup(0))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    size = int.from_bytes(line.recv(4, socket.MSG_WAITALL), "little")
    config = json.loads(line.recv(size, socket.MSG_WAITALL))
    # Last, so that the standard library wins, and for this one import only.
    sys.path.append(config["root"])
    from passcurve.sandbox.zygote import forkserver

    forkserver.serve(line, config)
