"""Plans that are kept from run to run: only of problems that can be judged, and only for the same way of judging."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec
import pytest

from passcurve.judging import plan_cache
from passcurve.judging.plan import CheckPlan
from passcurve.judging.plan_cache import MAX_CODE_BYTES, MAX_FILES, PlanCache
from passcurve.private_files import read_private, write_private
from passcurve.sandbox.compiled_tests import CompiledTests
from passcurve.sandbox.job import KnownReport
from passcurve.types import Cases, FunctionTests, Header, Jail, Limits, Problem, Suite

LARGE_BYTES = 1 << 20
HEADER = Header(
    version="1",
    benchmark="b",
    benchmark_source="b.jsonl",
    benchmark_digest="d",
    samples="s.jsonl",
    limits=Limits(),
    verdict="auto",
    dedup=True,
    jail=Jail(isolation="full", layers=("rlimits",), python="3.11.1"),
)
PROBLEM = Problem(
    id="T/0",
    prompt="def f():\n",
    entry_point="f",
    check=FunctionTests(source="def check(c): c()"),
    reference="    pass\n",
)
PLAN = CheckPlan(mode="shared", calls=b"\x00\xff", note="as it is")


def save(folder: Path, header: Header = HEADER) -> Path:
    """Keep the plan of the problem; return its file."""
    cache = PlanCache(folder, header)
    cache.add(PROBLEM, PLAN)
    cache.save()
    return max(folder.glob("*.plans"), key=lambda path: path.stat().st_mtime_ns)


def test_a_plan_is_found_again(tmp_path: Path) -> None:
    """A plan comes back as it was, for the same problem only, and plans of other problems stay beside it."""
    save(tmp_path / "new")
    other = msgspec.structs.replace(PROBLEM, check=FunctionTests(source="def check(c): c(1)"))
    cache = PlanCache(tmp_path / "new", HEADER)
    assert (PLAN, None) == (cache.find(PROBLEM), cache.find(other))
    cache.add(other, CheckPlan())
    cache.save()
    cache = PlanCache(tmp_path / "new", HEADER)
    assert (PLAN, CheckPlan()) == (cache.find(PROBLEM), cache.find(other))


@pytest.mark.parametrize(
    "changes",
    [
        {"version": "2"},
        {"benchmark_digest": "e"},
        {"limits": Limits(timeout_s=2.0)},
        {"verdict": "referee"},
        {"seed": 1},
        {"jail": msgspec.structs.replace(HEADER.jail, python="3.12.0")},
        {"jail": msgspec.structs.replace(HEADER.jail, packages=("numpy==2.0",))},
        {"jail": msgspec.structs.replace(HEADER.jail, layers=())},
    ],
)
def test_another_way_of_judging(tmp_path: Path, changes: dict[str, object]) -> None:
    """Whatever could change a verdict on the reference solution has plans of its own."""
    save(tmp_path)
    assert PlanCache(tmp_path, msgspec.structs.replace(HEADER, **changes)).find(PROBLEM) is None


def test_what_changes_no_verdict(tmp_path: Path) -> None:
    """Samples, policies and the choice of problems share the plans."""
    save(tmp_path)
    changes = {"samples": "t.jsonl", "problems": "T/*", "extract": "auto", "subset": True, "dedup": False}
    assert PLAN == PlanCache(tmp_path, msgspec.structs.replace(HEADER, **changes)).find(PROBLEM)


def test_large_results(tmp_path: Path) -> None:
    """The whole of large results has a file of its own, without which the plan is not found."""
    others = [msgspec.structs.replace(PROBLEM, id=f"T/{number}") for number in (1, 2)]
    large = [CheckPlan(expected=b"digest", whole=bytes([number]) * LARGE_BYTES) for number in (1, 2)]
    cache = PlanCache(tmp_path, HEADER)
    cache.add(PROBLEM, PLAN)
    for other, plan in zip(others, large, strict=True):
        cache.add(other, plan)
    cache.save()
    (path,) = tmp_path.glob("*.plans")
    assert path.stat().st_size < 2000
    cache = PlanCache(tmp_path, HEADER)
    assert PLAN == cache.find(PROBLEM)
    for other, plan in zip(others, large, strict=True):
        kept = cache.find(other)
        assert kept is not None
        assert kept.whole_in is not None
        assert (plan.whole, b"digest", b"") == (read_private(Path(kept.whole_in.path)), kept.expected, kept.whole)
    first, second = sorted(tmp_path.glob("*.results"))
    first.unlink()
    cache = PlanCache(tmp_path, HEADER)
    (lost,) = (number for number in (0, 1) if cache.find(others[number]) is None)
    # What is found anew takes its place, and the other one is not lost.
    cache.add(others[lost], large[lost])
    cache.save()
    cache = PlanCache(tmp_path, HEADER)
    assert all(cache.find(problem) for problem in (PROBLEM, *others))
    assert {plan.whole for plan in large} == {read_private(path) for path in (first, second)}
    # A plan is not found without a file that can be ours, nor with results that another run has found.
    content = second.read_bytes()
    first.chmod(0o666)
    second.unlink()
    second.mkdir()
    assert not any(PlanCache(tmp_path, HEADER).find(problem) for problem in others)
    second.rmdir()
    write_private(second, bytes(LARGE_BYTES))
    assert not any(PlanCache(tmp_path, HEADER).find(problem) for problem in others)
    second.write_bytes(content)
    first.chmod(0o600)
    assert all(PlanCache(tmp_path, HEADER).find(problem) for problem in others)
    path.unlink()
    save(tmp_path)
    assert [PLAN, None, None] == [PlanCache(tmp_path, HEADER).find(problem) for problem in (PROBLEM, *others)]


def test_large_results_go_with_their_file(tmp_path: Path) -> None:
    """Where the file of a way of judging is removed, so are its large results."""
    for number in range(MAX_FILES + 1):
        cache = PlanCache(tmp_path, msgspec.structs.replace(HEADER, seed=number))
        cache.add(PROBLEM, CheckPlan(whole=bytes(LARGE_BYTES)))
        cache.save()
        for path in tmp_path.glob("*.plans"):
            os.utime(path, ns=(number, number))
    assert MAX_FILES == len(list(tmp_path.glob("*.plans"))) == len(list(tmp_path.glob("*.results")))


def test_large_results_without_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where large results cannot be written, the plans of other problems are kept all the same."""
    other = msgspec.structs.replace(PROBLEM, id="T/1")
    cache = PlanCache(tmp_path, HEADER)
    cache.add(other, CheckPlan(whole=bytes(LARGE_BYTES)))
    cache.add(PROBLEM, PLAN)

    def write(path: Path, content: bytes) -> bytes:
        if len(content) >= LARGE_BYTES:
            raise OSError(errno.ENOSPC, "no space left")
        return write_private(path, content)

    monkeypatch.setattr(plan_cache, "write_private", write)
    cache.save()
    cache = PlanCache(tmp_path, HEADER)
    assert (PLAN, None) == (cache.find(PROBLEM), cache.find(other))
    assert [] == list(tmp_path.glob("*.results"))


def test_a_plan_that_is_forgotten(tmp_path: Path) -> None:
    """It is not found again, in this run or the next."""
    save(tmp_path)
    cache = PlanCache(tmp_path, HEADER)
    cache.forget(PROBLEM)
    assert cache.find(PROBLEM) is None
    cache.save()
    assert PlanCache(tmp_path, HEADER).find(PROBLEM) is None


def test_what_tests_said_of_an_answer(tmp_path: Path) -> None:
    """It is kept where the tests are data, and not where they are code, which may look at the time."""
    report = KnownReport(key="k", bytes_read=1, digest=b"d", report={"status": "passed"})
    check = Cases(suites=(Suite(name="tests", count=1),), inputs=b"i", expected=b"e", comparator="equal")
    data = msgspec.structs.replace(PROBLEM, id="T/1", check=check)
    cache = PlanCache(tmp_path, HEADER)
    for problem in (PROBLEM, data):
        cache.add(problem, msgspec.structs.replace(PLAN, known_report=report))
    cache.save()
    plans = [PlanCache(tmp_path, HEADER).find(problem) for problem in (PROBLEM, data)]
    assert [None, report] == [plan and plan.known_report for plan in plans]


@pytest.mark.parametrize("data", [b"", b"\x80\x01", b"\x81\xa1a\xa1b", b"\xc1" * 100])
def test_a_damaged_file(tmp_path: Path, data: bytes) -> None:
    """A damaged file holds no plan, and is replaced."""
    path = save(tmp_path)
    path.write_bytes(data)
    assert PlanCache(tmp_path, HEADER).find(PROBLEM) is None
    save(tmp_path)
    assert PLAN == PlanCache(tmp_path, HEADER).find(PROBLEM)


@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.nightly)])
def test_a_flipped_bit(tmp_path: Path, step: int) -> None:
    """No file of which a bit has changed is believed: a plan that is changed, or code, would change verdicts."""
    path = save(tmp_path)
    whole = path.read_bytes()
    for bit in range(0, 8 * len(whole), step):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        assert PlanCache(tmp_path, HEADER).find(PROBLEM) is None
    path.write_bytes(whole)
    assert PLAN == PlanCache(tmp_path, HEADER).find(PROBLEM)


def test_what_is_used_stays(tmp_path: Path) -> None:
    """Where there are too many files, the least recently used one is removed."""
    first, *others = (save(tmp_path, msgspec.structs.replace(HEADER, seed=number)) for number in range(MAX_FILES))
    for number, path in enumerate((first, *others)):
        os.utime(path, ns=(number, number))
    assert PLAN == PlanCache(tmp_path, msgspec.structs.replace(HEADER, seed=0)).find(PROBLEM)
    save(tmp_path, msgspec.structs.replace(HEADER, seed=MAX_FILES))
    assert {first, *others[1:]} == {path for path in (first, *others) if path.exists()}


def test_a_file_that_others_can_write(tmp_path: Path) -> None:
    """A file that other users can write is not believed."""
    path = save(tmp_path)
    assert 0o600 == path.stat().st_mode & 0o777
    path.chmod(0o666)
    assert PlanCache(tmp_path, HEADER).find(PROBLEM) is None


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """Where nothing can be kept, nothing is, without an error."""
    (tmp_path / "file").write_bytes(b"")
    cache = PlanCache(tmp_path / "file", HEADER)
    cache.add(PROBLEM, PLAN)
    cache.save()
    assert PLAN == cache.find(PROBLEM)


def test_the_number_of_files(tmp_path: Path) -> None:
    """The oldest files go where there are too many."""
    for number in range(MAX_FILES + 2):
        path = save(tmp_path, msgspec.structs.replace(HEADER, seed=number))
        os.utime(path, ns=(number, number))
    names = {path.name for path in tmp_path.iterdir()}
    assert MAX_FILES + 1 >= len(names)
    assert path.name in names
    assert PlanCache(tmp_path, msgspec.structs.replace(HEADER, seed=0)).find(PROBLEM) is None


@pytest.mark.ci
def test_a_second_run(shell):
    """A second run takes the plans of the first, with the same verdicts; problems at fault are tried again."""
    problems = [
        {
            "task_id": f"T/{number}",
            "prompt": "def f(x):\n",
            "entry_point": "f",
            "canonical_solution": reference,
            "test": "def check(candidate):\n    assert candidate(1).x == 1\n",
        }
        for number, reference in enumerate(["    return type('A', (), {'x': 1})()\n", "    return x\n"])
    ]
    shell.write("b.jsonl", problems)
    shell.write("s.jsonl", [{"task_id": row["task_id"], "completion": row["canonical_solution"]} for row in problems])
    words = ("judge", "s.jsonl", "--benchmark", "b.jsonl", "--accept-benchmark", "--json")
    records = [shell(*words, "--run", f"run{number}").record for number in range(2)]
    (path,) = (shell.folder / "cache" / "plans").glob("*.plans")
    plans = msgspec.convert(msgspec.msgpack.decode(read_private(path))["plans"], dict[str, CheckPlan])
    assert ["shared"] == [plan.mode for plan in plans.values()]
    for name in ("notes", "excluded", "modes", "statuses", "pass@1"):
        assert records[0][name] == records[1][name]


def test_compiled_tests_are_found_again(tmp_path: Path) -> None:
    """Compiled tests come back as they were; many are bounded."""
    cache = PlanCache(tmp_path, HEADER)
    made = CompiledTests()
    made.add("T/0", b"\x00code")
    made.add("T/1", bytes(MAX_CODE_BYTES))
    cache.keep_code_of(made)
    cache.save()
    compiled = CompiledTests()
    PlanCache(tmp_path, HEADER).add_code_to(compiled)
    assert {"T/0": b"\x00code"} == compiled.items()


def test_compiled_tests_that_are_kept_leave_room_for_others(tmp_path: Path) -> None:
    """Compiled tests that are kept already count once, and those that are too large to be kept do not count."""
    sizes = {"T/0": MAX_CODE_BYTES // 2, "T/1": MAX_CODE_BYTES, "T/2": MAX_CODE_BYTES // 4, "T/3": MAX_CODE_BYTES // 4}
    for count in (1, len(sizes)):
        cache, compiled = PlanCache(tmp_path, HEADER), CompiledTests()
        cache.add_code_to(compiled)
        for key in list(sizes)[len(compiled.items()) : count]:
            compiled.add(key, bytes(sizes[key]))
        cache.keep_code_of(compiled)
        cache.save()
    kept = CompiledTests()
    PlanCache(tmp_path, HEADER).add_code_to(kept)
    assert ["T/0", "T/2", "T/3"] == list(kept.items())
