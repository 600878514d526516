"""Forks the children of a zygote, and has one of them test the walls."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any

from passcurve.sandbox.layers import rlimits, watch
from passcurve.sandbox.zygote import memory, wall_checks
from passcurve.sandbox.zygote.confinement import IS_LINUX, Confinement
from passcurve.sandbox.zygote.copy_stub import Stub
from passcurve.sandbox.zygote.template import FAILED_EXIT, Role, Spec, Template, end_here, enter_role


class Launcher:
    """Forks children from a template, or from the zygote itself where there is none."""

    def __init__(
        self, roles: dict[str, Role], confinement: Confinement, page: watch.Page, stub: Stub | None, *, keeps: bool
    ) -> None:
        """``stub``: made before any wall stands, for processes that are rewound.

        ``keeps``: some children may be kept for many jobs.
        """
        self._roles = roles
        self._confinement = confinement
        self._page = page
        self.stub = stub
        self._keeps = keeps
        self._template: Template | None = None

    def start_template(self, *, track: bool) -> None:
        """Fork the template; ``track``: its children's writes can be tracked."""
        if IS_LINUX:
            if self.stub is not None:
                with suppress(OSError):  # a process cannot be rewound then
                    self.stub.lay_out(memory.read_own_areas())
            self._template = Template(self._roles, self._confinement.enter, self._close_private, track=track)
            self._page.set_own(self._template.pid, 0)

    def skip_number(self) -> None:
        """Use up the process number that the trial has in its zygote: a program can see its own number."""
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)

    @property
    def allows_kept(self) -> bool:
        """True if a process can be kept for many jobs."""
        return self._template is not None and self._confinement.allows_kept

    @property
    def template_pid(self) -> int:
        """Pid of the template; 0 where there is none."""
        return self._template.pid if self._template is not None else 0

    def _close_private(self) -> None:
        """Close what no sample may have, in a process that forks samples."""
        self._page.close()
        self._confinement.scratch.leave()
        if self.stub is not None:
            self.stub.attach()

    def fork(self, spec: Spec, descriptors: list[int], *, cpu_s: int = 0) -> tuple[int, int]:
        """Fork a child that waits for ``release``; where none is tracked, and without a template, it goes on at once.

        ``cpu_s``: its limit of CPU time, which a program can see, so it stands before that begins; 0 for none.
        Return its pid and its userfaultfd, which is -1 where its writes cannot be tracked.
        """
        rules = self._confinement.rules
        # Those that are not kept make the same calls as those that are, to find the same memory after them.
        spec = {**spec, "scratch": self._confinement.scratch.path, "ruled": rules >= 0, "offers": self._keeps}
        descriptors = [rules, *descriptors] if rules >= 0 else descriptors
        if self._template is not None:
            pid = self._template.fork()
            if spec["kept"]:
                # It may be made while a job runs; its filter ends it at any call that would be noted.
                self._page.set_own(self._template.pid, pid)
            else:
                self._page.set_child(pid)
            if cpu_s:
                rlimits.limit_cpu(pid, cpu_s)
            return pid, self._template.send_spec(pid, spec, descriptors)
        pid = os.fork()
        if pid == 0:
            try:
                self._close_private()
                self._roles[spec["role"]](enter_role(spec, descriptors, self._confinement.enter))
            except BaseException:
                end_here(FAILED_EXIT)
            end_here(0)
        if cpu_s:
            rlimits.limit_cpu(pid, cpu_s)
        return pid, -1

    def has_failed(self, pid: int) -> bool:
        """Tell whether a child that has ended with ``FAILED_EXIT`` said that it failed before its role began."""
        return self._template is not None and self._template.has_failed(pid)

    def forget(self, pid: int) -> None:
        """Close what was sent to a child that has ended before it read it."""
        if self._template is not None:
            self._template.forget(pid)

    def release(self) -> None:
        """Let the new child go on."""
        if self._template is not None:
            self._template.release()

    def test_walls(self, config: dict[str, Any]) -> list[str]:
        """Have a child try what must fail; return the names of the attempts that worked.

        Raises OSError when the child ended before it could tell.
        """
        read, write = os.pipe()
        self._page.start_run()
        pid = os.fork()
        if pid == 0:
            broken = ["self-test"]
            try:
                self._page.set_child(os.getpid())
                self._close_private()
                self._confinement.enter({"kept": False, "lowest": 0}, self._confinement.rules)
                broken = wall_checks.broken(config)
            finally:
                os.write(write, json.dumps(broken).encode())
                os._exit(0)
        os.close(write)
        with open(read, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(pid, 0)
        self._confinement.clean_scratch()
        if not answer:
            raise OSError("the process that tests the walls was ended from outside; run the same command again")
        return json.loads(answer)  # type: ignore[no-any-return]
