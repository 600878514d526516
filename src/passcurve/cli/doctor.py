"""``passcurve doctor``: report the isolation that this machine supports."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import typer

from passcurve import __version__, config
from passcurve.cli.options import AsJson, Interpreter
from passcurve.cli.output import write, write_json
from passcurve.errors import IsolationError, UsageError
from passcurve.types import Limits

_LAYERS = {
    "namespaces": "no process, network, mount or user of the host can be seen",
    "landlock": "files outside the interpreter and the scratch cannot be opened, whatever the mounts",
    "seccomp": "only the system calls of honest programs are answered",
}
_REMEDIES = {
    "namespaces": (
        "run as root; in a container, start it with --security-opt seccomp=unconfined; no sysctl of this kernel "
        "forbids namespaces"
    ),
    "landlock": "a kernel from 5.13 on, with landlock in its list of security modules (lsm=landlock,...)",
    "seccomp": "a kernel with CONFIG_SECCOMP_FILTER on x86-64 or aarch64",
}


_Languages = Annotated[
    bool, typer.Option("--languages", help="Try the toolchains of other languages than Python instead.")
]


_Serve = Annotated[bool, typer.Option("--serve", help="Start a server on loopback and try what callers ask instead.")]


def doctor(
    python: Interpreter = None, languages: _Languages = False, serve: _Serve = False, as_json: AsJson = False
) -> None:
    """Try which isolation this machine supports, and say how to enable a layer that is missing."""
    from passcurve.sandbox import probe, toolchain

    if languages and serve:
        raise UsageError("--languages and --serve try different things: choose one")
    if languages:
        _try_languages(as_json)
        return
    if serve:
        _try_server(as_json)
        return

    limits = Limits()
    tools = toolchain.find_toolchain(python, (), toolchain.OPTIONAL)
    workers, memory_bytes, note = config.fit_to_machine(None, None)
    record: dict[str, Any] = {
        "passcurve": __version__,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": {
            "runs_passcurve": platform.python_version(),
            "runs_samples": f"{tools.version} {tools.executable}",
        },
        "packages": list(tools.packages),
        "workers": workers,
        "memory_bytes": memory_bytes,
        "cache": str(config.cache_dir()),
    }
    layers = probe.try_layers(tools, limits)
    try:
        strongest = probe.find_isolation("auto", tools, limits)
        record["isolation"] = strongest.jail.isolation
        record["jail"] = msgspec.to_builtins(strongest.jail)
        record["own_clock"] = strongest.own_clock
        record["weaknesses"] = list(probe.list_weaknesses(strongest.jail))
        failure = None
    except IsolationError as error:
        record["isolation"] = "none"
        failure = str(error)
    record["sysctls"] = list(probe.forbidding_sysctls()) if layers["namespaces"] else []
    record["layers"] = {name: reason or "works" for name, reason in layers.items()}
    if as_json:
        write_json(record)
    else:
        _write_report(record, layers, failure, note)
    raise typer.Exit(0 if failure is None else 1)


def _try_languages(as_json: bool) -> None:
    """Compile and run the shortest program of each language, and tell what works; exit code 1 where one fails."""
    from passcurve.bench.languages import find_language
    from passcurve.judging.toolchain_trials import try_toolchains

    trials = []
    for trial in try_toolchains(Limits(timeout_s=10.0)):
        trials.append(trial)
        if as_json:
            continue
        word = "works  " if trial.works else "MISSING" if trial.packages else "FAILS  "
        write(f"  {word} {trial.title}: {trial.version if trial.works else trial.reason}")
        if not find_language(trial.language).is_tested:
            write("          never tried: Debian has no package of it")
        elif trial.packages:
            write(f"          remedy: apt install {' '.join(trial.packages)}")
    if as_json:
        write_json({"languages": msgspec.to_builtins(trials)})
    raise typer.Exit(1 if any(not trial.works and not trial.packages for trial in trials) else 0)


def _try_server(as_json: bool) -> None:
    """Ask a server for what callers rely on; exit code 1 where anything fails."""
    from passcurve.serve.trials import try_server
    from passcurve.serve.web import import_web

    import_web("serve")
    trials = []
    for trial in try_server():
        trials.append(trial)
        if not as_json:
            write(f"  {'works  ' if trial.works else 'FAILS  '} {trial.name}: {trial.detail}")
    if as_json:
        write_json({"serve": [trial._asdict() for trial in trials]})
    raise typer.Exit(0 if all(trial.works for trial in trials) else 1)


def _write_report(record: dict[str, Any], layers: dict[str, str], failure: str | None, note: str) -> None:
    write(f"passcurve {record['passcurve']} on {record['system']}")
    write(f"  samples run under Python {record['python']['runs_samples']}")
    write(f"  they may import: the standard library{''.join(', ' + package for package in record['packages'])}")
    write(f"  {record['workers']} at once, {record['memory_bytes'] >> 20} MiB each{'; ' + note if note else ''}")
    write(f"  fetched benchmarks: {record['cache']}")
    for name, reason in layers.items():
        write(f"  {'works  ' if not reason else 'MISSING'} {name}: {reason or _LAYERS[name]}")
        if reason:
            write(f"          remedy: {_remedy(name, reason, record['sysctls'])}")
    if failure is None:
        clock = (
            "a sample's own time" if record["own_clock"] else "wall time (a sample's own time cannot be measured here)"
        )
        write(f"isolation: {record['isolation']}; limits count {clock}")
        if not record["jail"]["watched"]:
            write("  refused attempts of samples cannot be reported here; they are refused all the same")
        for weakness in record["weaknesses"]:
            write(f"  weaker than full: {weakness}")
    else:
        write(f"isolation: {failure}")


def _remedy(layer: str, reason: str, sysctls: Sequence[str]) -> str:
    """Return what makes a missing layer work; of namespaces, the settings of this kernel that forbid them."""
    from passcurve.sandbox.layers.namespaces import NO_MAP
    from passcurve.sandbox.probe import NO_PROC

    if reason == NO_PROC:
        return "mount -t proc proc /proc"
    if reason.endswith(NO_MAP) and os.geteuid() == 0:
        return "run as another user than root, or give root the capabilities SETUID and SETGID (--cap-add)"
    if layer == "namespaces" and sysctls:
        return f"run as root, or allow namespaces: sudo sysctl -w {' '.join(sysctls)}"
    return _REMEDIES[layer]
