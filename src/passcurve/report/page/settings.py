"""The settings of a run in words: what each means, and its value as a reader wants it."""

from __future__ import annotations

from markupsafe import Markup, escape

_MEANINGS = {
    "judged": "when the judging began",
    "version": "of passcurve",
    "benchmark_digest": "SHA-256 of the problems, however their file is packed",
    "benchmark_source": "the file that was read",
    "limits.timeout_s": "time limit of a sample",
    "limits.test_timeout_s": "time limit of each test",
    "limits.clock": "which time counts: the sample's own, or wall time",
    "limits.memory_bytes": "memory limit of a sample",
    "limits.scratch_bytes": "limit of what a sample writes to files",
    "limits.scratch_files": "limit of the number of its files",
    "limits.output_bytes": "limit of the results that a sample returns in one check",
    "own_limits": "whether the benchmark sets a time limit for each problem",
    "verdict": "where the tests run; auto decides it for each problem",
    "dedup": "whether equal programs of a problem ran once",
    "jail.isolation": "how well samples were isolated",
    "jail.layers": "the walls, in the order in which they were built",
    "jail.missing": "walls that this machine could not build",
    "jail.landlock_abi": "version of the kernel's file restrictions",
    "jail.watched": "whether refused system calls were recorded",
    "jail.own_uid": "whether samples ran as another user",
    "jail.python": "the interpreter that ran the samples",
    "jail.packages": "the packages that samples saw",
    "jail.toolchains": "the compilers and interpreters of other languages",
    "jail.reuse": "after a sample: rewind restores its process, fork makes a new one",
    "jail.no_rewind": "why processes were not restored",
    "jail.fixed_addresses": "whether objects had the same addresses for every sample",
    "subset": "whether only problems with samples are scored",
    "problems": "pattern of the chosen problems",
    "seed": "of random numbers in samples and tests",
    "extract": "how texts became programs; raw takes them unchanged and joins completions to the prompt",
    "profile": "the harness whose rules were followed; native is passcurve",
    "all_tests": "whether tests went on after the first failure",
    "generation.identity.reference_weight": "share of mutants that are the reference solution",
    "generation.prompt": "how problems were put to the model",
    "generation.prompt_digest": "SHA-256 of all prompts as they are sent",
    "generation.decoding.seed": "of the sampling",
    "generation.decoding.temperature": "of the sampling",
    "generation.decoding.max_tokens": "longest text of the model",
}
_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def meaning(name: str) -> str:
    """Return what a setting means; empty where its name says it."""
    return _MEANINGS.get(name, "")


def setting(value: str, name: str) -> str:
    """Return the value of a setting: bytes in their largest whole unit, yes and no, seconds with their unit."""
    if name.endswith("_bytes") and value.isascii() and value.isdigit():
        size = int(value)
        unit = next(((least, word) for least, word in _UNITS if size and size % least == 0), None)
        return f"{size // unit[0]} {unit[1]}" if unit else f"{size:,} bytes"
    if name.endswith("_s"):
        return f"{value.removesuffix('.0')} s"
    return {"True": "yes", "False": "no"}.get(value, value)


def breakable(name: str) -> Markup:
    """Return a name that may be broken after its points and underscores, and nowhere else."""
    return Markup(str(escape(name)).replace(".", ".<wbr>").replace("_", "_<wbr>"))  # noqa: S704 - escaped
