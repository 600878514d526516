"""Find the isolation that this host can give by building it, and the reason for each layer that is missing."""

from __future__ import annotations

import platform
import sys
from contextlib import closing, nullcontext
from pathlib import Path

import msgspec

from passcurve.errors import IsolationError, SandboxError
from passcurve.harness.framing import FrameBuffer
from passcurve.harness.rewind_trial import CLEAN
from passcurve.sandbox.forkserver_client import SAMPLE_ROLES, TRIAL_ROLE, ForkServerClient, KilledError
from passcurve.sandbox.layers import landlock, mounts
from passcurve.sandbox.spare_zygote import SpareZygote
from passcurve.sandbox.toolchain import Toolchain
from passcurve.sandbox.zygote import kept_jobs
from passcurve.sandbox.zygote.kept_jobs import JobOrder, JobResult
from passcurve.sandbox.zygote_client import Ready, Walls, ZygoteClient, ZygoteSettings
from passcurve.types import Isolation, Jail, Limits, Reuse

REMEDY = "use a Linux machine or a Linux container or VM; --isolation none runs samples with no wall at all"

NO_PROC = "/proc is not mounted here (mount -t proc proc /proc)"

TRIAL_S = 10.0
"""Time in which a process must be rewound: thousands of times what it takes."""

TRIAL_BYTES = 1000
"""Longest answer in it."""

TRIAL_ROUNDS = 3
"""Number of rewinds in a trial: what was restored once must be restored again."""

_LOST = "the trial of rewinding was lost"
"""Beginning of a reason that says nothing about the host: a process of the trial may have been killed."""


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """The best walls that stand, and what is reported about them."""

    walls: Walls
    jail: Jail
    own_clock: bool
    """True if a sample's own time can be measured here; otherwise its wall time counts."""

    @property
    def reuse(self) -> Reuse:
        """Return what becomes of a process after each sample: it is rewound, or replaced."""
        return self.jail.reuse


def level_of(walls: Walls) -> Isolation:
    """Return the level of isolation that these walls make."""
    if walls.namespaces and walls.landlock and walls.seccomp:
        return "full"
    return "restricted" if walls.seccomp and (walls.landlock or walls.namespaces) else "none"


def find_isolation(
    wanted: str,
    toolchain: Toolchain,
    limits: Limits,
    fork_server: ForkServerClient | None = None,
    reuse: str = "auto",
    spare: SpareZygote | None = None,
) -> Probe:
    """Build the best walls at the level ``wanted`` ('auto': the best above none).

    ``fork_server``: where zygotes come from; by default one that is started for this call.
    ``reuse``: 'rewind' demands that processes can be rewound, 'fork' does without, 'auto' finds out.
    ``spare``: where the zygote that was built is left; by default it is ended.
    Raises IsolationError with the reason for each missing layer and the remedy.
    """
    probe = _find(wanted, toolchain, limits, fork_server, reuse, spare)
    if reuse == "rewind" and probe.jail.reuse != "rewind":
        raise IsolationError(
            f"--reuse rewind is not available here ({probe.jail.no_rewind}); --reuse fork works anywhere"
        )
    return probe


def _find(
    wanted: str,
    toolchain: Toolchain,
    limits: Limits,
    fork_server: ForkServerClient | None,
    reuse: str,
    spare: SpareZygote | None,
) -> Probe:
    if wanted == "none":
        return _none(toolchain, limits, fork_server)
    if not sys.platform.startswith("linux"):
        raise IsolationError(f"{platform.system()} has neither namespaces nor Landlock nor seccomp: {REMEDY}")
    if platform.machine() not in ("x86_64", "aarch64"):
        raise IsolationError(f"no system-call list for {platform.machine()!r} (x86-64 and aarch64 only): {REMEDY}")
    missing: list[str] = []
    has_landlock = landlock.abi() > 0
    if not has_landlock:
        missing.append("landlock: this kernel has none, or it is switched off")
    candidates = [Walls(namespaces=True, landlock=has_landlock, seccomp=True)]
    if has_landlock:
        candidates.append(Walls(namespaces=False, landlock=True, seccomp=True))
    if wanted == "restricted":
        candidates.reverse()
    for walls in candidates:
        try:
            ready = try_walls(walls, toolchain, limits, fork_server, rewind=reuse != "fork", spare=spare)
        except KilledError:
            raise
        except SandboxError as error:
            missing.append(f"{'namespaces' if walls.namespaces else 'landlock and seccomp'}: {error}")
            continue
        reached = level_of(walls)
        if wanted == "full" and reached != "full":
            break
        if wanted == "restricted" and not walls.namespaces:
            missing.append("namespaces: not asked for")
        return Probe(walls=walls, jail=_jail(walls, ready, toolchain, missing), own_clock=ready.clock)
    reasons = "; ".join(missing)
    if wanted == "auto":
        raise IsolationError(f"no isolation is possible here ({reasons}): {REMEDY}")
    raise IsolationError(f"--isolation {wanted} is not available here ({reasons}); `passcurve doctor` explains")


def try_walls(
    walls: Walls,
    toolchain: Toolchain,
    limits: Limits,
    fork_server: ForkServerClient | None = None,
    *,
    rewind: bool = False,
    spare: SpareZygote | None = None,
) -> Ready:
    """Build these walls once and test them from inside.  Raises SandboxError when one fails or does not hold.

    ``rewind``: try whether a process behind them can be rewound; ``spare``: as for ``find_isolation``.
    """
    if sys.platform.startswith("linux") and not Path("/proc/self").exists():
        raise SandboxError(NO_PROC)
    if walls.namespaces and any(path.startswith(f"{mounts.SCRATCH}/") for path in toolchain.folders):
        raise SandboxError(
            f"the interpreter {toolchain.executable!r} lies in {mounts.SCRATCH}, where each sample has a folder of its "
            "own instead; use one that lies elsewhere (--python)"
        )
    settings = ZygoteSettings(walls=walls, toolchain=toolchain, limits=limits, rewinds=rewind)
    own = nullcontext(fork_server) if fork_server else closing(ForkServerClient(toolchain.executable, SAMPLE_ROLES))
    with own as server:
        try:
            ready = _build(server, settings, spare)
            is_lost = ready.no_rewind.startswith(_LOST)
        except KilledError:
            is_lost = True
        if is_lost:
            ready = _build(server, settings, spare)
    if ready.broken:
        raise SandboxError("the walls do not hold: a sample could " + ", ".join(ready.broken).replace("_", " "))
    return ready


def _build(fork_server: ForkServerClient, settings: ZygoteSettings, spare: SpareZygote | None) -> Ready:
    cpu = spare.cpu if spare is not None else None
    zygote = ZygoteClient("jail", fork_server, settings, cpu, is_for_trial=settings.rewinds)
    is_sound = False
    try:
        ready = zygote.wait_ready()
        no_rewind = try_to_rewind(zygote) if settings.rewinds else ""
        is_sound = not (ready.broken or no_rewind)
    finally:
        if spare is not None and is_sound:
            spare.put(zygote, settings)
        else:
            zygote.close()
    return msgspec.structs.replace(
        ready, no_rewind=no_rewind, rewinds=settings.rewinds, fixed_addresses=fork_server.has_fixed_addresses
    )


def try_to_rewind(zygote: ZygoteClient) -> str:
    """Have a process corrupt its own interpreter and rewind it; return why that does not work, or an empty string."""
    answer = zygote.ask({"do": "keep", "role": TRIAL_ROLE, "lines": 1}, TRIAL_S)
    if not isinstance(answer, dict) or answer.get("kept", True):
        fields = answer if isinstance(answer, dict) else {}
        return str(fields.get("kept") or f"{_LOST}, its zygote: {fields.get('failed', 'no answer')}")
    for number in range(1, TRIAL_ROUNDS + 1):
        job = JobOrder(
            tag=number,
            data=b"?",
            is_interactive=False,
            is_typical=True,
            limit_ns=int(TRIAL_S * 1e9),
            counts_waiting=False,
            answer_bytes=TRIAL_BYTES,
        )
        result = zygote.ask({"do": "jobs", "jobs": [tuple(job)]}, TRIAL_S)
        if not isinstance(result, JobResult) or result.end != kept_jobs.ANSWERED or not result.is_clean:
            return f"{_LOST}, its process: no answer, or not the one that was expected"
        (state, _) = FrameBuffer(TRIAL_BYTES).feed(result.answer)
        if state != CLEAN:
            return f"a program found {state.decode()} what the one before it had changed"
    return ""


def allow_processes(probe: Probe) -> Probe:
    """Return the same walls with processes allowed inside, where a process namespace ends them with their sample."""
    if not probe.walls.namespaces or not probe.walls.seccomp:
        return probe
    walls = msgspec.structs.replace(probe.walls, processes=True)
    jail = msgspec.structs.replace(probe.jail, layers=(*probe.jail.layers, "processes allowed"))
    return msgspec.structs.replace(probe, walls=walls, jail=jail)


def _none(toolchain: Toolchain, limits: Limits, fork_server: ForkServerClient | None) -> Probe:
    walls = Walls(namespaces=False, landlock=False, seccomp=False)
    ready = try_walls(walls, toolchain, limits, fork_server)
    return Probe(walls=walls, jail=_jail(walls, ready, toolchain, ["all: --isolation none"]), own_clock=ready.clock)


def _jail(walls: Walls, ready: Ready, toolchain: Toolchain, missing: list[str]) -> Jail:
    layers = ["rlimits"]
    if walls.namespaces:
        layers = [*(["user namespace"] if ready.kind == "user" else []), "mount pid net ipc uts cgroup namespaces"]
        layers += ["own root", "scratch tmpfs", "rlimits"]
    if walls.landlock:
        layers.append(f"landlock {ready.landlock}")
    if walls.seccomp:
        layers.append("seccomp")
    return Jail(
        isolation=level_of(walls),
        layers=tuple(layers),
        missing=tuple(missing),
        landlock_abi=ready.landlock,
        watched=ready.watched,
        own_uid=ready.dropped,
        python=ready.python,
        packages=toolchain.packages,
        reuse="rewind" if ready.rewinds and not ready.no_rewind else "fork",
        no_rewind=ready.no_rewind,
        fixed_addresses=ready.fixed_addresses,
    )


def list_weaknesses(jail: Jail) -> tuple[str, ...]:
    """Return what a sample can do behind these walls that it could not do at level full, one line each."""
    if jail.isolation == "full":
        return ()
    if jail.isolation == "none":
        return ("a sample can do whatever you can, within its limits of memory, time and open files",)
    if any("namespaces" in layer for layer in jail.layers):
        return ("a sample can list and read all of its own root, which holds the interpreter and packages",)
    lines = [
        "a sample can ask whether a file of the host exists, and its size and dates, but not read it",
        "the scratch is a folder of the host, measured 50 times a second: what is written in between, and files that "
        "are held open after they were removed (64 at most, 64 MiB each), are not bounded by it",
        "machine code in the scratch can be loaded and run, within the filter of system calls",
        "a sample can enter folders of the host, but not list them or read in them",
        "names of the host, its kernel, its processes' count and its load can be seen",
    ]
    if not jail.own_uid:
        lines.append("a sample runs under your own user id, and its threads count as yours")
    return tuple(lines)


_SYSCTLS = (
    ("kernel/unprivileged_userns_clone", "1", "0"),
    ("kernel/apparmor_restrict_unprivileged_userns", "0", "1"),
    *((f"user/max_{kind}_namespaces", "1000", "0") for kind in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")),
)
"""Settings of the kernel that forbid namespaces: where each is, its value that allows them, and that which forbids."""


def forbidding_sysctls(root: Path = Path("/proc/sys")) -> tuple[str, ...]:
    """Return the settings of this kernel that forbid namespaces, as arguments of ``sysctl`` that allow them."""
    arguments = []
    for place, allowing, forbidding in _SYSCTLS:
        try:
            value = (root / place).read_text("ascii").strip()
        except (OSError, ValueError):
            continue
        if value == forbidding:
            arguments.append(f"{place.replace('/', '.')}={allowing}")
    return tuple(arguments)


def try_layers(toolchain: Toolchain, limits: Limits) -> dict[str, str]:
    """Try each layer by itself; return why it does not work by its name, or an empty string."""
    single_layers = {
        "namespaces": Walls(namespaces=True, landlock=False, seccomp=False),
        "landlock": Walls(namespaces=False, landlock=True, seccomp=False),
        "seccomp": Walls(namespaces=False, landlock=False, seccomp=True),
    }
    reasons = {}
    for name, walls in single_layers.items():
        if not sys.platform.startswith("linux"):
            reasons[name] = f"{platform.system()} has none"
            continue
        if name == "landlock" and not landlock.abi():
            reasons[name] = "this kernel has none, or it is switched off"
            continue
        try:
            try_walls(walls, toolchain, limits)
            reasons[name] = ""
        except SandboxError as error:
            reasons[name] = str(error)
    return reasons
