"""The walls of a zygote and of its children: built once around the zygote, completed in each child."""

from __future__ import annotations

import os
import signal
import socket
import sys
from typing import Any

from passcurve.sandbox.layers import landlock, mounts, namespaces, rlimits, scratch, seccomp, seccomp_strict, watch
from passcurve.sandbox.zygote import kernel
from passcurve.sandbox.zygote.template import Spec

_MOST_SCRATCHES = 16
"""Folders in one set of rules.  A new set begins with a rule for each path of the root; each rule delays a child."""

IS_LINUX = sys.platform.startswith("linux")


class Confinement:
    """The walls that the supervisor asked for.  ``config``: as the supervisor sends it."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self.has_namespaces = bool(config["namespaces"])
        self.is_watched = False
        """True if a watcher notes the suspicious calls that are refused."""
        self.rules = -1
        """Descriptor of the Landlock rules, which each child applies to itself."""
        self._scratches = 0
        """Folders that the rules allow as scratch."""
        self._narrow: seccomp.NarrowFilter | None = None
        self._strict: seccomp_strict.StrictFilter | None = None
        self._zygote = os.getpid()
        self.scratch: scratch.Mounted | scratch.Folder

    @property
    def allows_kept(self) -> bool:
        """True if a process can be kept for many jobs, within the strict filter."""
        return self._strict is not None

    @property
    def allows_processes(self) -> bool:
        """True if a sample may start processes, which may outlive it."""
        return bool(self._config["processes"])

    @property
    def runs_commands(self) -> bool:
        """True if its children run compilers and programs that may start many processes."""
        return bool(self._config["commands"])

    @property
    def memory_bytes(self) -> int:
        """The memory that a sample may have."""
        return int(self._config["memory"])

    def build(self, kind: str, watcher: socket.socket) -> None:
        """Build the zygote's own walls and prepare those of its children.

        ``kind``: as ``namespaces.enter`` returned it; ``watcher``: the line to the watcher, closed here.
        """
        config = self._config
        if self.has_namespaces:
            sources = mounts.Sources(config["binds"])
            namespaces.become(kind, config["host_id"])
            mounts.enter(sources, config["links"], config["masks"], config["scratch"])
            self.scratch = scratch.Mounted(config["scratch"])
        else:
            if IS_LINUX:
                namespaces.check_proc()
            if config["own_id"] is not None:
                namespaces.drop_to(config["own_id"])
            self.scratch = scratch.Folder(config["scratch_dir"], *config["scratch_limits"])
        if config["packages_path"]:
            sys.path.append(config["packages_path"])
            if config["processes"]:
                # The interpreters that a sample starts find them, too.
                os.environ["PYTHONPATH"] = config["packages_path"]
        if config["libraries"]:
            # For the same interpreters: the fork server has cleared the environment that it was started with.
            os.environ["LD_LIBRARY_PATH"] = config["libraries"]
        rlimits.apply_to_zygote(config["file_bytes"], config["memory"], commands=config["commands"])
        has_own_id = self.has_namespaces or config["own_id"] is not None
        rlimits.limit_processes(0 if has_own_id else rlimits.processes_of_user(), commands=config["commands"])
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        if config["landlock"]:
            self._write_rules()
        if IS_LINUX:
            kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
            kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        if config["seccomp"]:
            self.is_watched = watch.load_filter(watcher, processes=config["processes"])
            self._narrow = seccomp.NarrowFilter(
                own_files=self.has_namespaces,
                watched=self.is_watched,
                processes=config["processes"],
                compiles=config["compiles"],
            )
            self._strict = seccomp_strict.StrictFilter()
        watcher.close()
        if IS_LINUX:
            # A change of identity has cleared it.
            kernel.die_with_parent(os.getppid())

    def facts(self, kind: str) -> dict[str, Any]:
        """Return what the zygote reports of its walls."""
        config = self._config
        return {
            "kind": kind,
            "landlock": landlock.abi() if config["landlock"] else 0,
            "clock": os.path.exists("/proc/self/schedstat"),
            "watched": self.is_watched,
            "dropped": (config["host_id"] if self.has_namespaces else config["own_id"]) is not None,
        }

    def enter(self, spec: Spec, rules: int) -> None:
        """Complete the walls in a child: some must be its own, so that it can reach nothing of its parent.

        ``rules``: its copy of the descriptor of the Landlock rules, closed here.
        """
        if IS_LINUX and not self.has_namespaces:
            # Without a process namespace nobody else would end it when its zygote is killed.
            kernel.die_with_parent(self._zygote)
        rlimits.limit_files(commands=self.runs_commands)
        if rules >= 0:
            landlock.restrict(rules)
            os.close(rules)
        if self.has_namespaces or self._narrow is not None:
            kernel.drop_capabilities()
        pid = os.getpid()
        layer, number = (self._strict, spec["lowest"]) if spec["kept"] else (self._narrow, pid)
        if layer is not None:
            layer.install(number)

    def clean_scratch(self) -> bool:
        """Empty the scratch; return whether it is a new folder, which children from before cannot use."""
        if not self.scratch.clean():
            return False
        if self.rules >= 0:
            # A rule belongs to the folder that it was made for.  A mount that is gone cannot be reached by it.
            if not self.has_namespaces or self._scratches == _MOST_SCRATCHES:
                os.close(self.rules)
                self._write_rules()
            else:
                self._allow_scratch()
        return True

    def _write_rules(self) -> None:
        config = self._config
        self.rules = landlock.ruleset(
            landlock.abi(), config["readable"], config["listable"], execute=config["processes"]
        )
        self._scratches = 0
        self._allow_scratch()

    def _allow_scratch(self) -> None:
        landlock.allow_scratch(self.rules, landlock.abi(), self.scratch.path)
        self._scratches += 1
