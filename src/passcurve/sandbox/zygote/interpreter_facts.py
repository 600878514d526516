"""Facts about an interpreter.  Imported by our own interpreter, run by path under any other."""

from __future__ import annotations

import json
import os
import sys
import sysconfig


def own_executable() -> str:
    """Return the path of the running interpreter, without its virtual environment."""
    return getattr(sys, "_base_executable", None) or sys.executable


def conda_libraries(executable: str) -> str:
    """Return the folder of the shared libraries of conda, where an interpreter is from there, or an empty string.

    What conda installs finds them by its own place, and packages have another one in the jail.
    """
    prefix = os.path.dirname(os.path.dirname(executable))
    return os.path.join(prefix, "lib") if os.path.isdir(os.path.join(prefix, "conda-meta")) else ""


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


def explain_missing() -> str:
    """Return which module that the sandbox needs this interpreter was built without, or an empty string."""
    try:
        import ctypes, fcntl, mmap, resource, select, socket, struct  # noqa: E401, F401, I001 - it only tries them
    except ImportError as error:
        return "%s (%s)" % ((error.name or "").lstrip("_"), error)
    return ""


if __name__ == "__main__":
    print(json.dumps({**read_facts(), "missing": explain_missing()}))  # noqa: T201 - the answer is the output
