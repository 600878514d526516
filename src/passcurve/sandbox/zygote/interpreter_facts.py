"""Facts about an interpreter.  Imported by our own interpreter, run by path under any other."""

from __future__ import annotations

import json
import os
import sys
import sysconfig


def own_executable() -> str:
    """Return the path of the running interpreter, without its virtual environment."""
    return getattr(sys, "_base_executable", None) or sys.executable


def read_facts() -> dict[str, object]:
    """Return version, executable and folders of the running interpreter, without its virtual environment."""
    # Not from sysconfig: on some distributions it returns the folder of the virtual environment.
    folders = {os.path.dirname(os.__file__)}
    folders.update(os.path.dirname(path) for path in sys.path if os.path.basename(path) == "lib-dynload")
    return {
        "version": "%d.%d.%d" % sys.version_info[:3],
        "implementation": sys.implementation.name,
        "executable": own_executable(),
        "stdlib": sorted(folders),
        "libdir": sysconfig.get_config_var("LIBDIR") if sysconfig.get_config_var("Py_ENABLE_SHARED") else None,
        "path": [path for path in sys.path if path.endswith("-packages") and os.path.isdir(path)],
    }


if __name__ == "__main__":
    print(json.dumps(read_facts()))  # noqa: T201 - the answer is the output
