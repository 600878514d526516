"""Tests that a run directory keeps every complete line, however a run ends."""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

import passcurve
from passcurve.errors import DataError, StoreError, UsageError
from passcurve.store import codec
from passcurve.store.parts import LOCK, part_path
from passcurve.store.rundir import RunDir
from passcurve.store.settings_digest import SettingChange, changed_settings, settings_digest
from passcurve.store.verdicts import StoredVerdicts
from passcurve.types import Header, Jail, Limits

SOURCE = str(Path(passcurve.__file__).parents[1])
APPENDER = """
import random, sys
import msgspec
from passcurve.errors import StoreError
from passcurve.store.codec import VerdictLine
from passcurve.store.rundir import RunDir
from passcurve.types import Header, SampleKey, Verdict
path, header, seed = sys.argv[1:]
draw = random.Random(seed)
def line(row):
    key = SampleKey(problem_id=f"T/{row}", sample_index=0)
    verdict = Verdict(key=key, status="failed", mode="referee", message=f"{row} " * draw.randrange(4000))
    return VerdictLine(row=row, digest=f"{row:016x}", verdict=verdict)
with RunDir(__import__("pathlib").Path(path)).open_session(msgspec.json.decode(header, type=Header)) as run:
    rows = (row for row in range(10**9) if row not in run)
    try:
        while True:
            batch = [next(rows) for _ in range(draw.randrange(1, 40))]
            run.append(line(row) for row in batch)
            print(*batch, flush=True)
    except StoreError as error:
        print("ERROR", error, flush=True)
"""


@pytest.fixture
def rundir(tmp_path: Path) -> RunDir:
    """Return a run directory that does not exist yet."""
    return RunDir(tmp_path / "run")


def _error_with(limit: int, rundir: RunDir, header: Header) -> Exception | None:
    """Return what is raised when a session opens in a process with so many descriptors; None when nothing is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    try:
        rundir.open_session(header).close()
    except Exception as error:
        return error
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return None


def names(rundir: RunDir) -> list[str]:
    """Return the names of the files in a run directory."""
    return sorted(path.name for path in rundir.path.iterdir())


def with_timeout(header: Header, timeout_s: float) -> Header:
    """Return the header with another time limit."""
    return msgspec.structs.replace(header, limits=Limits(timeout_s=timeout_s))


def appender(path: Path, header: Header, seed: int = 0) -> list[str]:
    """Return the command of a process that appends until something stops it."""
    return [sys.executable, "-c", APPENDER, str(path), msgspec.json.encode(header).decode(), str(seed)]


class TestResuming:
    """Verdicts that are available when a run is opened again."""

    def test_what_is_appended_is_stored(self, rundir, header, line):
        """Every appended verdict is available at once and after the run is opened again."""
        lines = [line(row, "failed", message=str(row)) for row in (5, 0, 3)]
        with rundir.open_session(header) as run:
            run.append(lines)
            assert [lines[1], lines[2], lines[0]] == list(run.iter_lines())
        with rundir.open_session(header) as run:
            assert ([0, 3, 5], 3, 6, True) == (list(run.rows()), len(run), run.bound, run.resumed)
            assert [lines[1].verdict, lines[2].verdict, lines[0].verdict] == list(run.iter_verdicts())
            assert (lines[2].verdict, "failed", lines[2].digest) == (
                run.verdict_at(3),
                run.status_at(3),
                run.digest_at(3),
            )

    def test_rows_without_a_verdict(self, rundir, header, line):
        """A row that was never judged has no verdict, at any position."""
        with rundir.open_session(header) as run:
            run.append([line(2)])
            assert [None] * 4 == [run.verdict_at(row) for row in (-1, 1, 3, 10**12)]
            assert (False, True) == (1 in run, 2 in run)

    def test_lines_of_a_problem(self, rundir, header, line, verdict):
        """The problems stand in the order of their rows, and the lines of one are read back without the others."""
        rows = [line(4), line(0), line(6, "void"), *(line(row) for row in (2, 3, 1))]
        moved = [*rows[:-1], msgspec.structs.replace(rows[-1], verdict=verdict(4))]
        with rundir.open_session(header) as run:
            run.append(rows)
            assert [f"T/{row}" for row in range(5)] == run.problem_ids()
            run.append(moved)
            assert ["T/0", "T/4", "T/2", "T/3"] == run.problem_ids()
            assert [moved[-1], rows[0]] == list(run.lines_of("T/4"))
            assert [] == [*run.lines_of("T/1"), *run.lines_of("T/6"), *run.lines_of("T/9")]

    def test_void_is_owed(self, rundir, header, line):
        """A void verdict leaves its row owed and replaces no other verdict."""
        with rundir.open_session(header) as run:
            run.append([line(0, "void"), line(1, "passed"), line(1, "void")])
            assert [1] == list(run.rows())
        with rundir.open_session(header) as run:
            assert [1] == list(run.rows())

    def test_last_line_wins(self, rundir, header, line):
        """The last valid line of a row wins, within a session and across sessions."""
        with rundir.open_session(header) as run:
            run.append([line(0, "failed"), line(0, "timeout"), line(1, "failed")])
        with rundir.open_session(header) as run:
            assert "timeout" == run.status_at(0)
            run.append([line(0, "passed")])
        with rundir.open_session(header) as run:
            assert (["passed", "failed"], 2) == ([run.status_at(row) for row in (0, 1)], len(run))

    def test_what_is_counted(self, rundir, header, line, verdict):
        """Most verdicts are restored with status and mode; suspicious and slowest ones are restored whole."""
        lines = [
            line(0, "failed", message="no", own_s=9.0),
            line(1, own_s=0.5, calls=3),
            line(2, own_s=0.25, calls=3),
            line(3, "timeout", suspicious=("read /proc",)),
        ]
        with rundir.open_session(header) as run:
            run.append(lines)
        with rundir.open_session(header) as run:
            verdicts = [run.countable_at(row, verdict(row).key) for row in range(5)]
        assert [verdict(0, "failed"), lines[1].verdict, verdict(2), lines[3].verdict, None] == verdicts

    def test_what_is_counted_of_rows_with_two_lines(self, rundir, header, line, verdict):
        """The slowest pass is found even after a later line has replaced another."""
        with rundir.open_session(header) as run:
            run.append([line(0, own_s=2.0), line(0, own_s=0.5), line(1, own_s=1.0)])
        with rundir.open_session(header) as run:
            assert [0.5, 1.0] == [run.countable_at(row, verdict(row).key).own_s for row in (0, 1)]

    def test_statuses_are_counted(self, rundir, header, line):
        """Each row counts once, with the status of its last line."""
        with rundir.open_session(header) as run:
            run.append([line(0), line(0, "failed"), line(1, own_s=1.0), line(2), line(3, "crash", suspicious=("x",))])
            counts = {status: count for status, count in run.statuses().items() if count}
        assert {"passed": 2, "failed": 1, "crash": 1} == counts

    def test_a_program_that_was_judged(self, rundir, header, line):
        """A judged program is found for its own problem, in this session and in later ones."""
        failed_line = msgspec.structs.replace(line(4, "failed", message="no"), program="aa")
        with rundir.open_session(header) as run:
            assert run.find_verdict("T/4", "aa") is None
            run.append([failed_line, msgspec.structs.replace(line(5, "void"), program="bb")])
            assert failed_line.verdict == run.find_verdict("T/4", "aa")
        with rundir.open_session(header) as run:
            assert [failed_line.verdict] * 2 == [run.find_verdict("T/4", "aa"), run.find_verdict("T/4", "aa")]
            assert [None] * 3 == [
                run.find_verdict("T/5", "bb"),
                run.find_verdict("T/5", "aa"),
                run.find_verdict("T/4", "ab"),
            ]

    def test_programs_are_not_looked_for(self, rundir, header, line):
        """No program is found if equal programs do not share a verdict."""
        with rundir.open_session(msgspec.structs.replace(header, dedup=False)) as run:
            run.append([line(0)])
            assert run.find_verdict("T/0", "p") is None

    def test_many_programs(self, rundir, header, line):
        """Programs that exceed the memory limit are read back from the disk."""
        lines = [msgspec.structs.replace(line(row), program=f"{row:x}") for row in range(2500)]
        with rundir.open_session(header) as run:
            run.append(lines)
            for _ in range(2):
                verdicts = [run.find_verdict(f"T/{row}", f"{row:x}") for row in range(2500)]
                assert [stored_line.verdict for stored_line in lines] == verdicts

    def test_a_session_has_its_own_part(self, rundir, header, line):
        """Each session appends to its own file."""
        for row in range(3):
            with rundir.open_session(header) as run:
                run.append([line(row)])
        parts = [f"verdicts-0001-{session:03d}.jsonl" for session in (1, 2, 3)]
        assert [LOCK, *parts] == names(rundir)

    def test_every_cut_of_the_last_line(self, rundir, header, line):
        """Wherever the last line is torn, only its row has no verdict."""
        with rundir.open_session(header) as run:
            run.append([line(0), line(1)])
        (part,) = rundir.attempts()[0].parts
        whole = part.read_bytes()
        last = len(codec.encode(line(1)))
        for missing in range(1, last):
            part.write_bytes(whole[:-missing])
            with rundir.read() as stored:
                assert [0] == list(stored.rows())

    def test_garbage_between_lines(self, rundir, header, line):
        """Damaged lines are skipped, also lines with an impossible row number."""
        with rundir.open_session(header) as run:
            run.append([line(0)])
        (part,) = rundir.attempts()[0].parts
        garbage = b"\x00" * 50 + b"\n" + b"{}\n" + codec.encode(line(10**15))
        part.write_bytes(part.read_bytes() + garbage + codec.encode(line(1)))
        with rundir.read() as stored:
            assert [0, 1] == list(stored.rows())
            assert line(1).verdict == stored.verdict_at(1)

    def test_part_without_its_header(self, rundir, header, line):
        """A part without its header is skipped, and its name is not used again."""
        with rundir.open_session(header) as run:
            run.append([line(0)])
        part_path(rundir.path, 1, 2).write_bytes(b'{"format":')
        with rundir.open_session(header) as run:
            assert [0] == list(run.rows())
        assert "verdicts-0001-003.jsonl" in names(rundir)

    def test_line_damaged_in_use(self, rundir, header, line):
        """An error about a verdict damaged during the run names its place."""
        with rundir.open_session(header) as run:
            run.append([line(0, message="x")])
            (part,) = rundir.attempts()[0].parts
            part.write_bytes(part.read_bytes().replace(b'"message":"x"', b'"message":0  '))
            with pytest.raises(StoreError, match=r"row 0 .*001\.jsonl'.*byte \d"):
                run.verdict_at(0)

    def test_long_line(self, rundir, header, line):
        """A verdict longer than one read is read back completely."""
        with rundir.open_session(header) as run:
            run.append([line(0, message="x" * 100_000)])
            assert "x" * 100_000 == run.verdict_at(0).message

    def test_changed_row(self, rundir, header, line, completion):
        """A changed row is refused if it was judged; an unjudged row may change."""
        with rundir.open_session(header) as run:
            run.append([line(17, digest="a" * 16)])
            run.check_row(completion(17, digest="a" * 16))
            run.check_row(completion(16, digest="b" * 16))
            with pytest.raises(DataError, match=r"row 17 of 'samples\.jsonl' \(line 18\).*--run"):
                run.check_row(completion(17, digest="b" * 16))

    def test_shortened_file(self, rundir, header, line):
        """A samples file that has lost judged rows is refused."""
        with rundir.open_session(header) as run:
            run.append([line(4)])
            run.check_row_count(5)
            with pytest.raises(DataError, match=r"\b4 rows.*\brow 4\b"):
                run.check_row_count(4)


class TestDamage:
    """Lines that are not as they were written."""

    def finished(self, rundir, header, line) -> Path:
        """Return the only part of a finished run of four rows."""
        with rundir.open_session(header) as run:
            run.append([line(row, "failed", message="no") for row in range(4)])
            run.finish(planned=4)
        return next(rundir.path.glob("verdicts-*.jsonl"))

    def test_any_flipped_bit_is_seen(self, rundir, header, line):
        """A line with one is owed, wherever it is but in the line's own check, which may be taken for none."""
        with rundir.open_session(header) as run:
            run.append([line(0, "failed", message="no")])
        part = next(rundir.path.glob("verdicts-*.jsonl"))
        first, second = part.read_bytes().splitlines(keepends=True)
        for place in range(len(second) - 21):
            for bit in (0, 5):
                damaged = bytearray(second)
                damaged[place] ^= 1 << bit
                part.write_bytes(first + bytes(damaged))
                with StoredVerdicts(rundir.attempts()[-1]) as stored:
                    assert 0 not in stored, damaged

    def test_lines_of_earlier_versions_have_no_check(self, rundir, header, line):
        """They are read as before."""
        part = self.finished(rundir, header, line)
        part.write_bytes(re.sub(rb',"check":"[0-9a-f]{8}"', b"", part.read_bytes()))
        with rundir.read() as stored:
            assert 4 == len(stored)

    def test_a_finished_run_that_lost_verdicts_has_no_score(self, rundir, header, line):
        """It is refused by readers, and the next judging goes on with what is left."""
        part = self.finished(rundir, header, line)
        lines = part.read_bytes().splitlines(keepends=True)
        part.write_bytes(b"".join(lines[:3] + lines[4:]))
        with pytest.raises(StoreError, match="damaged: 3 of 4 verdicts can be read"):
            rundir.read()
        with rundir.open_session(header) as run:
            assert [0, 1, 3] == list(run.rows())
            run.append([line(2, "failed", message="no")])
            run.finish(planned=4)
        with rundir.read() as stored:
            assert 4 == len(stored)

    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
    def test_the_lock_ends_with_its_run(self, rundir, header, line):
        """A process that was forked meanwhile has the descriptor, and does not keep the lock."""
        run = rundir.open_session(header)
        child = os.fork()
        if child == 0:
            signal.pause()
            os._exit(0)
        try:
            run.close()
            rundir.open_session(header).close()
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def test_too_many_parts_for_the_descriptors(self, rundir, header, line, tmp_path):
        """The reason is told, whichever file is the first too many."""
        with rundir.open_session(header) as run:
            run.append([line(0)])
        # One after the other is free, until there are enough.
        copies = [RunDir(shutil.copytree(rundir.path, tmp_path / f"{number}")) for number in range(200)]
        errors = [error for limit, copy in enumerate(copies) if (error := _error_with(limit, copy, header))]
        assert 3 < len(errors) < len(copies)
        assert all(type(error) is StoreError and "Too many open files" in str(error) for error in errors), errors


class TestAttempts:
    """Rules for resuming a run or starting it again."""

    def test_finished_is_judged_afresh(self, rundir, header, line):
        """A finished attempt is not resumed, and its files stay until the next one is finished."""
        with rundir.open_session(header) as run:
            run.append([line(0)])
            footer = run.finish(planned=1, malformed=2)
        assert (1, 2, 1) == (footer.planned, footer.malformed, footer.statuses["passed"])
        assert footer == rundir.footer(rundir.attempts()[0])
        with rundir.open_session(header) as run:
            assert (False, 0, ()) == (run.resumed, len(run), run.abandoned)
            run.append([line(0, "failed")])
            assert "verdicts-0001-001.jsonl" in names(rundir)
            with rundir.read() as stored:
                assert "passed" == stored.status_at(0)
            run.finish(planned=1)
        assert ["finished-0002.json", LOCK, "verdicts-0002-001.jsonl"] == names(rundir)
        with rundir.read() as stored:
            assert "failed" == stored.status_at(0)

    def test_other_settings_begin_afresh(self, rundir, header, line):
        """Other settings start a new attempt, keep the unfinished one and report the difference."""
        with rundir.open_session(header) as run:
            run.append([line(0)])
        with rundir.open_session(with_timeout(header, 5.0)) as run:
            assert (SettingChange(field="limits.timeout_s", was="3.0", now="5.0"),) == run.abandoned
            assert (False, 0) == (run.resumed, len(run))
            run.append([line(0, "timeout")])
        assert ["passed", "timeout"] == [StoredVerdicts(attempt).status_at(0) for attempt in rundir.attempts()]

    def test_back_to_the_first_settings(self, rundir, header, line):
        """An unfinished attempt is resumed after others, and finishing it removes them."""
        with rundir.open_session(header) as run:
            run.append([line(0)])
        with rundir.open_session(with_timeout(header, 5.0)) as run:
            run.append([line(0, "failed")])
        with rundir.open_session(header) as run:
            assert (True, "passed", ()) == (run.resumed, run.status_at(0), run.abandoned)
            run.finish(planned=1)
        assert ["finished-0001.json", LOCK, "verdicts-0001-001.jsonl", "verdicts-0001-002.jsonl"] == names(rundir)

    def test_not_finished_with_owed_rows(self, rundir, header, line):
        """An attempt with owed rows cannot be finished."""
        with rundir.open_session(header) as run:
            run.append([line(0), line(1, "void")])
            with pytest.raises(StoreError, match="1 of 2 rows"):
                run.finish(planned=2)
        assert not rundir.attempts()[0].finished

    def test_damaged_footer(self, rundir, header, line):
        """An attempt with a damaged footer is resumed with no owed rows."""
        with rundir.open_session(header) as run:
            run.append([line(0)])
            run.finish(planned=1)
        (rundir.path / "finished-0001.json").write_bytes(b"{")
        with rundir.open_session(header) as run:
            assert (True, 1) == (run.resumed, len(run))

    def test_no_rows(self, rundir, header):
        """A run of an empty samples file can be finished."""
        with rundir.open_session(header) as run:
            assert 0 == run.finish(planned=0).planned
        with rundir.read() as stored:
            assert [] == list(stored.iter_verdicts())

    def test_header_is_kept(self, rundir, header):
        """The header of an attempt is read back unchanged."""
        rundir.open_session(header).close()
        (attempt,) = rundir.attempts()
        assert (header, settings_digest(header), False) == (attempt.header, attempt.digest, attempt.finished)


class TestStage:
    """Settings that decide whether verdicts are comparable."""

    @pytest.mark.parametrize(
        "fields",
        [
            {"version": "2"},
            {"benchmark_digest": "c" * 64},
            {"limits": Limits(memory_bytes=1 << 30)},
            {"verdict": "shared"},
            {"extract": "auto"},
            {"seed": 1},
            {"jail": Jail(isolation="none", layers=())},
        ],
    )
    def test_what_could_change_a_verdict(self, header, fields):
        """Each setting that can change a verdict changes the digest and is named."""
        other = msgspec.structs.replace(header, **fields)
        assert settings_digest(header) != settings_digest(other)
        assert {change.field.split(".")[0] for change in changed_settings(header, other)} == set(fields)

    @pytest.mark.parametrize("fields", [{"samples": "elsewhere.jsonl"}, {"dedup": False}, {"benchmark": "other name"}])
    def test_what_could_not(self, header, fields):
        """Settings that cannot change a verdict do not change the digest."""
        other = msgspec.structs.replace(header, **fields)
        assert (settings_digest(header), ()) == (settings_digest(other), changed_settings(header, other))


class TestPlace:
    """Rules for the location and the lock of a run."""

    def test_in_use(self, rundir, header):
        """A run in use is refused, and the message has the process id of its owner."""
        with (
            rundir.open_session(header),
            pytest.raises(StoreError, match=rf"process {os.getpid()}\b.*--run DIR"),
        ):
            rundir.open_session(header)
        rundir.open_session(header).close()

    def test_reading_needs_no_lock(self, rundir, header, line):
        """A run in use can be read."""
        with rundir.open_session(header) as run:
            run.append([line(0)])
            with rundir.read() as stored:
                assert 1 == len(stored)

    def test_folder_of_somebody_else(self, tmp_path, header):
        """A folder with foreign files is refused and left unchanged."""
        (tmp_path / "thesis.tex").touch()
        with pytest.raises(UsageError, match=r"'thesis\.tex'"):
            RunDir(tmp_path).open_session(header)
        assert [tmp_path / "thesis.tex"] == list(tmp_path.iterdir())

    def test_empty_folder(self, tmp_path, header):
        """An empty folder becomes a run directory."""
        RunDir(tmp_path).open_session(header).close()
        assert [LOCK, "verdicts-0001-001.jsonl"] == names(RunDir(tmp_path))

    def test_foreign_files_beside_ours(self, rundir, header, line):
        """Foreign files in a run directory are never removed."""
        rundir.open_session(header).close()
        (rundir.path / "notes.txt").touch()
        with rundir.open_session(with_timeout(header, 1.0)) as run:
            run.finish(planned=0)
        assert ["finished-0002.json", "notes.txt", LOCK, "verdicts-0002-001.jsonl"] == names(rundir)

    def test_an_attempt_without_verdicts_frees_none(self, rundir, header, line):
        """Verdicts on other samples are kept, though a later attempt was stopped before its first verdict."""
        with rundir.open_session(header) as run:
            run.append([line(0)])
            run.finish(planned=1)
        rundir.open_session(with_timeout(header, 1.0)).close()
        with pytest.raises(UsageError, match=r"has the verdicts on 'samples\.jsonl'.*--run DIR"):
            rundir.open_session(msgspec.structs.replace(header, samples="others.jsonl"))
        with rundir.read() as stored:
            assert "passed" == stored.status_at(0)

    def test_names_that_are_no_utf8(self, rundir, header, line):
        """A run of files whose names are no UTF-8 is resumed with these, and refuses others."""
        first, second = (os.fsdecode(name) for name in (b"/s\xff.jsonl", b"/t\xff.jsonl"))
        for fields in ({"samples": first}, {"samples": "/rows.jsonl", "sources": (first,)}):
            rundir = RunDir(rundir.path.with_name(fields["samples"][1]))
            own = msgspec.structs.replace(header, **fields)
            with rundir.open_session(own) as run:
                run.append([line(0)])
            rundir.check_sources(own.sources)
            with rundir.open_session(own) as run:
                assert run.resumed
            with pytest.raises(UsageError, match="has the verdicts on"):
                rundir.open_session(msgspec.structs.replace(header, samples=second))
        with pytest.raises(UsageError, match=r"verdicts on '/s"):
            rundir.check_sources((second,))

    def test_file_in_the_way(self, tmp_path, header):
        """A file cannot be used as a run directory."""
        (tmp_path / "run").touch()
        with pytest.raises(UsageError, match=r"run' .*--run DIR"):
            RunDir(tmp_path / "run").open_session(header)

    def test_missing_parent(self, tmp_path, header):
        """An error about a missing parent folder names it and gives the remedy."""
        with pytest.raises(StoreError, match=r"/missing'.*--run DIR"):
            RunDir(tmp_path / "missing" / "run").open_session(header)

    def test_place_that_cannot_be_written(self, header):
        """A read-only location is refused, and the message gives the remedy."""
        with pytest.raises(StoreError, match=r"'/sys/run'.*--run DIR"):
            RunDir(Path("/sys/run")).open_session(header)

    def test_nothing_to_read(self, rundir, tmp_path, header):
        """An error about a missing run says that there is no run."""
        with pytest.raises(StoreError, match=r"'.*run'.*No such file"):
            rundir.read()
        with pytest.raises(StoreError, match="not a run directory"):
            RunDir(tmp_path).read()

    def test_closed_run(self, rundir, header, line):
        """A closed run refuses verdicts, and a second close does nothing."""
        run = rundir.open_session(header)
        run.close()
        run.close()
        with pytest.raises(StoreError, match="is closed"):
            run.append([line(0)])


class TestSuddenEnds:
    """Killed processes and full disks."""

    @pytest.mark.ci
    def test_killed_at_any_moment(self, rundir, header):
        """After each of ten kills, every reported line is stored and the run resumes."""
        draw = random.Random(20)
        reported: set[int] = set()
        for seed in range(10):
            command = appender(rundir.path, header, seed)
            with subprocess.Popen(command, stdout=subprocess.PIPE, env={"PYTHONPATH": SOURCE}, text=True) as child:
                first = child.stdout.readline()
                time.sleep(draw.uniform(0, 0.05))
                child.kill()
                # A line that was cut while it was reported may name half a number.
                whole = [text for text in (first + child.stdout.read()).splitlines(keepends=True) if "\n" in text]
            assert -signal.SIGKILL == child.returncode
            rows = [int(word) for text in whole for word in text.split()]
            assert not reported & set(rows)
            reported |= set(rows)
            with rundir.read() as stored:
                assert reported <= set(stored.rows())
                for verdict, row in zip(stored.iter_verdicts(), stored.rows(), strict=True):
                    assert f"T/{row}" == verdict.key.problem_id
                    assert "" == verdict.message.replace(f"{row} ", "")
        with rundir.open_session(header) as run:
            assert (True, 10) == (run.resumed, len(rundir.attempts()[0].parts) - 1)

    def test_line_after_a_torn_one(self, rundir, header, line):
        """A failed append leaves a torn line that does not damage the next verdict."""
        with rundir.open_session(header) as run:
            run.append([line(0)])
            (part,) = rundir.attempts()[0].parts
            soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (part.stat().st_size + 300, hard))
            try:
                with pytest.raises(StoreError, match=r"001\.jsonl'.*File too large"):
                    run.append([line(1), line(2, message="x" * 1000)])
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            run.append([line(3)])
            assert ([0, 3], line(3).verdict) == (list(run.rows()), run.verdict_at(3))
        with rundir.read() as stored:
            assert [0, 1, 3] == list(stored.rows())

    def test_full_disk(self, rundir, header):
        """A full disk is an error that names the file and keeps the reported lines."""
        rundir.path.mkdir()
        copy = RunDir(Path(f"{rundir.path}.copy"))
        copy.path.mkdir()
        environment = {"PYTHONPATH": SOURCE, "PATH": os.environ["PATH"], "RUN": str(rundir.path)}
        small_disk = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
        mount = 'mount -t tmpfs -o size=512k tmpfs "$RUN"'
        try:
            subprocess.run([*small_disk, mount], env=environment, check=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("no small disk can be made here")
        words = [*small_disk, f'{mount} && "$@" && cp "$RUN"/* "$RUN.copy"', "sh", *appender(rundir.path, header)]
        output = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
        *reported, error = output.splitlines()
        assert re.match(r"ERROR .*\.jsonl'.*No space left on device", error)
        with copy.read() as stored:
            assert {int(word) for text in reported for word in text.split()} <= set(stored.rows())

    def test_lock_of_a_dead_process(self, rundir, header):
        """The lock of a killed process does not block the run."""
        with subprocess.Popen(
            appender(rundir.path, header), stdout=subprocess.PIPE, env={"PYTHONPATH": SOURCE}
        ) as child:
            child.stdout.readline()
            with pytest.raises(StoreError, match=rf"process {child.pid}\b"):
                rundir.open_session(header)
            child.kill()
        rundir.open_session(header).close()

    def test_disk_full_at_the_very_start(self, rundir, header):
        """A part whose header cannot be written is an error and does not block later sessions."""
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20, hard))
        try:
            with pytest.raises(StoreError, match="File too large"):
                rundir.open_session(header)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        with rundir.open_session(header) as run:
            assert not run.resumed
