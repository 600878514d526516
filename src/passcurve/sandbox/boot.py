"""First code of a stem, run by path: ``python -S -s boot.py DESCRIPTOR``.  Finds our package, then hands over."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    del sys.path[0]  # this folder, whose module names would shadow those of the standard library

    import json
    import socket

    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, int(sys.argv[1]))
    size = int.from_bytes(line.recv(4, socket.MSG_WAITALL), "little")
    config = json.loads(line.recv(size, socket.MSG_WAITALL))
    del sys.argv[1:]
    # Last, so that the standard library wins; and only for this one import.
    sys.path.append(config["root"])
    from passcurve.sandbox import stem

    stem.serve(line, config)
