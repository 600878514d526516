"""The queue in front of slots: affinity, the order, and who runs alone."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from passcurve.sched.local import OVERDUE_S, PATIENCE_S, TOGETHER, Local


class Slots:
    """Slots that finish what they are told to, and write down what was started where."""

    def __init__(self, count: int, cores: int | None = None) -> None:
        self.cores = count if cores is None else cores
        self.running: dict[int, str] = {}
        self.affinity = [""] * count
        self.started: list[tuple[int, str]] = []
        self.to_finish: int | None = None
        self.most = 0
        self.quiet: list[bool] = []

    def idle(self, *, quiet: bool = False) -> Sequence[tuple[int, str]]:
        """Return each free slot with what it served last."""
        self.quiet.append(quiet)
        return [(slot, name) for slot, name in enumerate(self.affinity) if slot not in self.running]

    def suits(self, slot: int, affinity: str) -> bool:
        """Prefer what begins as that did which a slot served last."""
        return self.affinity[slot][:1] == affinity[:1]

    def start(self, slot: int, job: str, /) -> None:
        """Take an item on a free slot."""
        assert slot not in self.running
        self.running[slot] = job
        self.affinity[slot] = job.partition(":")[0]
        self.started.append((slot, job))
        self.most = max(self.most, len(self.running))

    def wait(self, at_most_s: float) -> Sequence[str]:
        """End the first few of what runs."""
        ended = sorted(self.running)[: self.to_finish]
        return [self.running.pop(slot) for slot in ended]


def run_all(local: Local[str, str], *, coming: bool = False) -> list[str]:
    """Run until nothing is left; return the items in the order in which they ended."""
    ended: list[str] = []
    for _ in range(10_000):
        if local.empty:
            return ended
        ended += local.run(0.0, coming=coming)
    raise AssertionError("it never got empty")


def put(local: Local[str, str], *items: str) -> None:
    """Queue items by the affinity that stands before the colon."""
    for item in items:
        local.put(item, item.partition(":")[0])


def test_affinity():
    """A slot goes on with the affinity that it served last, whatever came in between."""
    slots = Slots(2)
    slots.affinity = ["b", "a"]
    local: Local[str, str] = Local(slots)
    put(local, "a:1", "b:1", "a:2", "b:2", "a:3", "b:3")
    run_all(local)
    assert ["b:1", "b:2", "b:3"] == [job for slot, job in slots.started if slot == 0]
    assert ["a:1", "a:2", "a:3"] == [job for slot, job in slots.started if slot == 1]


def test_a_slot_that_is_done_helps_the_others():
    """A slot whose affinity is used up takes what is left of another."""
    slots = Slots(2)
    slots.affinity = ["a", "b"]
    local: Local[str, str] = Local(slots)
    put(local, "a:1", "b:1", "b:2", "b:3")
    run_all(local)
    assert [(0, "a:1"), (1, "b:1"), (1, "b:2"), (0, "b:3")] == slots.started


def test_slots_keep_to_different_affinities():
    """A slot that is done begins what no other slot is at, though that is not the oldest: it is prepared for once."""
    slots = Slots(2)
    local: Local[str, str] = Local(slots)
    put(local, "a:1", "a:2", "a:3", "b:1", "b:2")
    run_all(local)
    assert [(0, "a:1"), (1, "b:1"), (0, "a:2"), (1, "b:2"), (0, "a:3")] == slots.started


def test_a_slot_goes_on_with_what_suits_it():
    """A slot that is done prefers what it is prepared for to what came before, unless that has waited for long."""
    now = 100.0
    slots = Slots(1)
    slots.affinity = ["x1"]
    local: Local[str, str] = Local(slots, clock=lambda: now)
    put(local, "y1:1", "y1:2", "x2:1", "x3:1", "x3:2", "y1:3", "z1:1")
    assert ["x2:1"] == [*local.run(0.0)]
    now += 2 * OVERDUE_S
    put(local, "y4:1")
    assert ["y1:1", "y1:2", "y1:3", "x3:1", "x3:2", "z1:1", "y4:1"] == run_all(local)


def crowd(coming: bool, count: int, affinity: str = "a", for_s: float = 0.0) -> set[int]:
    """Let one slot be at an affinity of which so many items wait, for so long; return the slots at work then."""
    now = 100.0
    slots = Slots(3)
    slots.to_finish = 0
    local: Local[str, str] = Local(slots, clock=lambda: now)
    put(local, f"{affinity}:0")
    local.run(0.0, coming=coming)
    put(local, *(f"{affinity}:{number}" for number in range(1, 1 + count)))
    local.run(0.0, coming=coming)
    now += for_s
    local.run(0.0, coming=coming)
    return set(slots.running)


def test_a_slot_does_not_crowd_another():
    """While more is to come a slot leaves to another, for a moment, what that can take at once; or else it helps."""
    assert {0} == crowd(coming=True, count=TOGETHER)
    assert {0, 1} == crowd(coming=True, count=TOGETHER + 1)
    assert {0, 1, 2} == crowd(coming=True, count=TOGETHER, for_s=2 * PATIENCE_S), "all that are free help at once"
    assert {0, 1, 2} == crowd(coming=False, count=2)
    assert {0, 1, 2} == crowd(coming=True, count=2, affinity=""), "what has no affinity is prepared for by nobody"


def test_help_comes_though_the_other_goes_on():
    """The moment is over for what has waited, also when the slot that is at it takes an item of it now and then."""
    now = 100.0
    slots = Slots(2)
    slots.to_finish = 1
    local: Local[str, str] = Local(slots, clock=lambda: now)
    put(local, *(f"a:{number}" for number in range(TOGETHER)))
    for _ in range(3):
        local.run(0.0, coming=True)
        assert {0} == {slot for slot, _ in slots.started}
        now += 0.4 * PATIENCE_S
    local.run(0.0, coming=True)
    assert {0, 1} == {slot for slot, _ in slots.started}


def test_one_slot_keeps_to_its_affinity():
    """A single slot finishes one affinity before it begins the next, in order of arrival within it."""
    slots = Slots(1)
    local: Local[str, str] = Local(slots)
    put(local, "a:1", "b:1", "c:1", "b:2", "a:2", "c:2")
    assert ["a:1", "a:2", "b:1", "b:2", "c:1", "c:2"] == run_all(local)


def test_a_slot_without_its_affinity_takes_the_oldest():
    """A slot for whose affinity nothing is queued takes what came first."""
    slots = Slots(1)
    slots.affinity = ["gone"]
    local: Local[str, str] = Local(slots)
    put(local, "b:1", "a:1")
    assert ["b:1", "a:1"] == run_all(local)


def test_last_items_wait():
    """What is queued for the end starts when nothing of the first kind is queued or running."""
    slots = Slots(2)
    local: Local[str, str] = Local(slots)
    local.put_last("last:1")
    put(local, "a:1", "a:2", "a:3")
    slots.to_finish = 1
    seen: list[str] = []
    while not local.empty:
        running_before = set(slots.running.values())
        local.run(0.0)
        seen = [job for _, job in slots.started]
        if "last:1" in seen and "last:1" not in running_before:
            assert set() == {job for job in running_before if not job.startswith("last")}
    assert "last:1" == seen[-1]


def test_first_items_go_before_last_ones_again():
    """An item of the first kind that comes while last ones run is the next when they have ended."""
    slots = Slots(2, cores=1)
    local: Local[str, str] = Local(slots)
    local.put_last("last:1")
    local.put_last("last:2")
    slots.to_finish = 0
    local.run(0.0)
    put(local, "a:1")
    local.run(0.0)
    assert ["last:1"] == [job for _, job in slots.started], "a first item started beside one that runs alone"
    slots.to_finish = None
    assert ["last:1", "a:1", "last:2"] == run_all(local)


def test_first_items_do_not_wait_for_all_last_ones():
    """While one of those that run alone has ended and another runs on, no further one starts before what has come."""
    slots = Slots(2)
    local: Local[str, str] = Local(slots)
    for number in range(4):
        local.put_last(f"last:{number}")
    slots.to_finish = 1
    assert ["last:0"] == list(local.run(0.0))
    put(local, "a:1")
    slots.to_finish = None
    assert ["last:1", "a:1", "last:2", "last:3"] == run_all(local)


class Carriages(Slots):
    """Slots that take several items in one piece."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.pieces: list[tuple[str, ...]] = []

    def start(self, slot: int, /, *jobs: str) -> None:
        """Take items that go together."""
        assert slot not in self.running
        self.pieces.append(jobs)
        self.affinity[slot] = jobs[0].partition(":")[0]
        self.running[slot] = " ".join(jobs)

    def wait(self, at_most_s: float) -> Sequence[str]:
        """End what runs."""
        return [job for jobs in map(self.running.pop, sorted(self.running)) for job in jobs.split()]


def alike(one: str, other: str) -> bool:
    """Say whether two items end with the same letter."""
    return one[-1] == other[-1]


def test_items_go_together():
    """A slot takes at once what stands together, goes together and has one affinity, in order; last ones go alone."""
    slots = Carriages(1)
    local: Local[str, str] = Local(slots, alike)
    put(local, "a:1x", "a:2x", "a:3y", "a:4x", "b:1x")
    local.put_last("c:1x")
    local.put_last("c:2x")
    run_all(local)
    assert [("a:1x", "a:2x"), ("a:3y",), ("a:4x",), ("b:1x",), ("c:1x",), ("c:2x",)] == slots.pieces


def test_no_slot_takes_more_than_its_share():
    """What is queued is shared among the slots that are idle, and none takes more at once than is good for the end."""
    slots = Carriages(2)
    local: Local[str, str] = Local(slots, alike)
    put(local, *(f"a:{number}x" for number in range(7)))
    run_all(local)
    assert [4, 3] == [len(piece) for piece in slots.pieces]
    put(local, *(f"a:{number}x" for number in range(100)))
    run_all(local)
    assert TOGETHER == max(len(piece) for piece in slots.pieces)
    assert [f"a:{number}x" for number in range(100)] == [job for piece in slots.pieces[2:] for job in piece]


def test_one_to_a_core():
    """With more slots than cores, items for the end run on as many slots as there are cores."""
    slots = Slots(6, cores=2)
    local: Local[str, str] = Local(slots)
    for number in range(5):
        local.put_last(f"last:{number}")
    slots.to_finish = 0
    local.run(0.0)
    assert {0, 1} == set(slots.running)
    slots.to_finish = None
    assert 5 == len(run_all(local))
    assert 2 == slots.most


def test_the_last_ask_for_quiet_slots():
    """Slots that are still cleaning up serve items of the first kind and not those that run alone."""
    slots = Slots(1)
    local: Local[str, str] = Local(slots)
    put(local, "a:1")
    local.put_last("last:1")
    run_all(local)
    assert [False, True] == slots.quiet


def test_first_items_use_every_slot():
    """Items of the first kind use all slots, also more than there are cores."""
    slots = Slots(6, cores=2)
    local: Local[str, str] = Local(slots)
    put(local, *(f"{name}:1" for name in "abcdefgh"))
    run_all(local)
    assert 6 == slots.most


def test_waiting_and_empty():
    """What is queued is counted, and nothing is empty while something runs."""
    slots = Slots(1)
    slots.to_finish = 0
    local: Local[str, str] = Local(slots)
    assert local.empty
    put(local, "a:1", "b:1")
    local.put_last("last:1")
    assert (2, False) == (local.waiting, local.empty)
    local.run(0.0)
    assert (1, False) == (local.waiting, local.empty)
    slots.to_finish = None
    run_all(local)
    assert (0, True) == (local.waiting, local.empty)


def test_items_put_while_running():
    """An item that is queued again when it ends is run again."""
    slots = Slots(1)
    local: Local[str, str] = Local(slots)
    put(local, "a:1")
    assert ["a:1"] == list(local.run(0.0))
    local.put_last("a:1 again")
    put(local, "b:1")
    assert ["b:1", "a:1 again"] == run_all(local)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", "c", ""]), st.booleans()), max_size=30),
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(1, 3),
    st.booleans(),
)
def test_nothing_is_lost_or_run_twice(items: list[tuple[str, bool]], count: int, cores: int, ending: int, coming: bool):
    """Whatever is queued ends exactly once, never more at a time than there are slots."""
    slots = Slots(count, cores)
    slots.to_finish = ending
    local: Local[str, str] = Local(slots)
    for number, (name, last) in enumerate(items):
        if last:
            local.put_last(f"{name}:{number}")
        else:
            local.put(f"{name}:{number}", name)
    wanted = sorted(f"{name}:{number}" for number, (name, _) in enumerate(items))
    assert wanted == sorted(run_all(local, coming=coming))
    assert slots.most <= count
    kinds = [items[int(job.partition(":")[2])][1] for _, job in slots.started]
    assert sorted(kinds) == kinds
