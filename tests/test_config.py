"""Settings: the texts of options and the environment, as values or as one clear refusal."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passcurve import config
from passcurve.errors import UsageError
from passcurve.sandbox.layers import rlimits
from passcurve.sandbox.zygote import memory

GIB = 1 << 30


def test_what_a_sample_is_promised():
    """The limits that ours are compared with are those that samples get."""
    assert config.SAMPLE_OPEN_FILES == rlimits.OPEN_FILES
    assert config.SAMPLE_THREADS == rlimits.PROCESSES
    assert config.SAMPLE_STACK_BYTES == memory.STACK_BYTES


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GiB", 4 * GIB),
        ("4gib", 4 * GIB),
        (" 4 GiB ", 4 * GIB),
        ("4Gi", 4 * GIB),
        ("2G", 2 * 10**9),
        ("2GB", 2 * 10**9),
        ("512MiB", 512 << 20),
        ("512M", 512 * 10**6),
        ("0.5GiB", GIB // 2),
        ("65536KiB", 64 << 20),
        ("1073741824", GIB),
        ("1073741824B", GIB),
    ],
)
def test_a_size_in_words(text, size):
    """A size is a number and a unit: bare letters are powers of ten, those with an i powers of two."""
    assert size == config.parse_size(text)


@pytest.mark.parametrize(
    "text", ["", "nonsense", "-4GiB", "4XiB", "4 4", "GiB", "1e9", "inf", "nan", "4GiBs", "0x10", "²GiB", "4,5GiB"]
)
def test_what_is_no_size_is_refused(text):
    """Anything else is a usage error that quotes the words and shows how to write it."""
    with pytest.raises(UsageError, match="4GiB") as caught:
        config.parse_size(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["0", "1", "63MiB", "10M"])
def test_too_little_memory_for_an_interpreter_is_refused(text):
    """Less than 64 MiB is a usage error that says so."""
    with pytest.raises(UsageError, match="64MiB"):
        config.parse_size(text)


def test_a_size_of_too_many_digits_is_refused():
    """A size beyond all numbers is a usage error like any other."""
    with pytest.raises(UsageError, match="--memory"):
        config.parse_size("9" * 400 + "GiB")


@given(st.text())
def test_any_words_for_a_size_are_a_size_or_refused(text):
    """Whatever is written, the answer is a number of bytes or a usage error."""
    with contextlib.suppress(UsageError):
        assert 64 << 20 <= config.parse_size(text)


@pytest.mark.parametrize(
    ("text", "ks"),
    [
        ("1", (1,)),
        ("1,10,100", (1, 10, 100)),
        ("1 10 100", (1, 10, 100)),
        ("1, 10,\t100,", (1, 10, 100)),
        ("[1,10]", (1, 10)),
        ("(1, 10)", (1, 10)),
        ("10,1,10", (10, 1)),
        ("007", (7,)),
    ],
)
def test_spellings_of_k(text, ks):
    """The values of k are whole numbers with commas or blanks between them, each once, in the order asked."""
    assert ks == config.parse_ks(text)


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "ten", "1,x", "1;10", "1e2", "²", "k=1"])
def test_what_is_no_k_is_refused(text):
    """A part that is not a positive integer is a usage error that quotes it."""
    with pytest.raises(UsageError) as caught:
        config.parse_ks(text)
    assert f": {text.split(',')[-1]!r}" in str(caught.value)


@pytest.mark.parametrize("text", ["", " ", ",", "[]", "( )"])
def test_no_k_at_all_is_refused(text):
    """A list without any k is a usage error."""
    with pytest.raises(UsageError, match=r"empty.*--k"):
        config.parse_ks(text)


def test_a_k_of_too_many_digits_is_refused():
    """A k beyond all numbers that Python reads is a usage error like any other."""
    with pytest.raises(UsageError, match=r"--k.* at most 15 digits"):
        config.parse_ks("9" * 5000)


@given(st.text())
def test_any_words_for_k_are_counts_or_refused(text):
    """Whatever is written, the answer is counts from 1 on or a usage error."""
    with contextlib.suppress(UsageError):
        assert min(config.parse_ks(text)) >= 1


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    """PASSCURVE_CACHE precedes XDG_CACHE_HOME, which precedes the home folder; an empty or relative path is ignored."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("PASSCURVE_CACHE", str(tmp_path / "own"))
    assert tmp_path / "own" == config.cache_dir()
    monkeypatch.setenv("PASSCURVE_CACHE", "")
    assert tmp_path / "xdg" / "passcurve" == config.cache_dir()
    for none in ("", "cache"):
        monkeypatch.setenv("XDG_CACHE_HOME", none)
        assert tmp_path / "home" / ".cache" / "passcurve" == config.cache_dir()


def test_asking_for_the_cache_makes_no_folder(monkeypatch, tmp_path):
    """Where the cache is can be asked without a trace on the disk."""
    monkeypatch.setenv("PASSCURVE_CACHE", str(tmp_path / "own"))
    config.cache_dir()
    assert [] == list(tmp_path.iterdir())


def test_cores_are_those_of_this_process():
    """A process that is bound to some cores has only those."""
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert 1 == config.cores()
    finally:
        os.sched_setaffinity(0, before)
    assert len(before) == config.cores()


@pytest.fixture
def machine(monkeypatch):
    """Return how to say what this machine has: that many cores and bytes."""

    def has(cores: int, memory: int | None) -> None:
        monkeypatch.setattr(config, "cores", lambda: cores)
        monkeypatch.setattr("passcurve.machine.total_memory_bytes", lambda: memory)

    return has


def test_by_default_one_worker_for_each_core(machine):
    """Without wishes there is one worker per core, 4 GiB each, and nothing to say."""
    machine(4, 64 * GIB)
    assert (4, 4 * GIB, "") == config.fit_to_machine(None, None)


def test_workers_are_as_many_as_fit(machine):
    """Without wishes fewer workers than cores run where memory is short, and that is no news."""
    machine(16, 16 * GIB)
    assert (3, 4 * GIB, "") == config.fit_to_machine(None, None)


def test_workers_that_do_not_fit_are_fewer_and_it_is_said(machine):
    """Workers that were asked for and do not fit are lowered with a note that names both numbers."""
    machine(2, 16 * GIB)
    workers, memory, note = config.fit_to_machine(8, None)
    assert (3, 4 * GIB) == (workers, memory)
    assert "3 workers instead of 8" in note
    assert "--memory" in note


def test_less_memory_lets_more_workers_in(machine):
    """Asking for less memory each admits as many workers as were asked for."""
    machine(2, 16 * GIB)
    assert (8, GIB, "") == config.fit_to_machine(8, GIB)


def test_a_small_machine_lowers_the_default_memory(machine):
    """Where the default limit does not fit even once, it is lowered for a single worker, and it is said."""
    machine(2, 2 * GIB)
    workers, memory, note = config.fit_to_machine(None, None)
    assert 1 == workers
    assert GIB < memory < 2 * GIB
    assert "lowered" in note


def test_a_small_machine_is_no_excuse_for_lower_limits():
    """On a small machine, too, inherited limits are compared with those that samples are promised."""
    code = (
        "from passcurve import config, machine\nmachine.total_memory_bytes = lambda: 2 << 30\n"
        "config.fit_to_machine(None, None)"
    )
    command = ["sh", "-c", 'ulimit -n 32; exec "$@"', "sh", sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "ulimit -n" in done.stderr.splitlines()[-1]


def test_memory_that_was_asked_for_is_never_lowered(machine):
    """A limit that was asked for and does not fit even once is refused."""
    machine(2, 2 * GIB)
    with pytest.raises(UsageError, match=r"--memory .*1\.8 GiB"):
        config.fit_to_machine(None, 4 * GIB)


def test_no_worker_is_refused(machine):
    """Less than one worker is a usage error."""
    machine(2, 16 * GIB)
    with pytest.raises(UsageError, match=r"--workers.* 0"):
        config.fit_to_machine(0, None)


def test_unknown_memory_admits_what_is_asked(machine):
    """Where the memory cannot be known, every wish is granted."""
    machine(2, None)
    assert (8, 4 * GIB, "") == config.fit_to_machine(8, None)
