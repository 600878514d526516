"""The queue in front of slots: the order, and who runs alone."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from passcurve.judging.fair_queue import FairQueue
from passcurve.judging.scheduler import MAX_BATCH, Scheduler


class Slots:
    """Slots that take items in one piece, finish what they are told to, and write down what was started where."""

    def __init__(self, count: int, cores: int | None = None) -> None:
        self.count = count
        self.cores = count if cores is None else cores
        self.running: dict[int, list[str]] = {}
        self.pieces: list[tuple[str, ...]] = []
        self.to_finish: int | None = None
        self.most = 0
        self.quiet: list[bool] = []

    @property
    def started(self) -> list[str]:
        """All items, in the order in which they were started."""
        return [item for piece in self.pieces for item in piece]

    @property
    def under_way(self) -> list[str]:
        """The items that a slot has and has not ended."""
        return [item for items in self.running.values() for item in items]

    def idle(self, *, quiet: bool = False) -> Sequence[int]:
        """Return each free slot."""
        self.quiet.append(quiet)
        return [slot for slot in range(self.count) if slot not in self.running]

    def start(self, slot: int, /, *items: str) -> None:
        """Take items on a free slot, to be run one after another."""
        assert slot not in self.running
        self.running[slot] = list(items)
        self.pieces.append(items)
        self.most = max(self.most, len(self.running))

    def wait(self, at_most_s: float) -> Sequence[str]:
        """End the next item of the first few slots that run one."""
        ended = [(slot, self.running[slot].pop(0)) for slot in sorted(self.running)[: self.to_finish]]
        self.running = {slot: items for slot, items in self.running.items() if items}
        return [item for _, item in ended]


def run_all(scheduler: Scheduler[str, str]) -> list[str]:
    """Run until nothing is left; return the items in the order in which they ended."""
    ended: list[str] = []
    for _ in range(10_000):
        if scheduler.is_empty:
            return ended
        ended += scheduler.run(0.0)
    raise AssertionError("it never got empty")


def put(scheduler: Scheduler[str, str], *items: str) -> None:
    """Queue items that may run beside others."""
    for item in items:
        scheduler.put(item)


def test_the_order():
    """What came first is started first."""
    slots = Slots(2)
    scheduler: Scheduler[str, str] = Scheduler(slots)
    put(scheduler, "a", "b", "c", "d", "e")
    run_all(scheduler)
    assert ["a", "b", "c", "d", "e"] == slots.started


def test_what_goes_on_is_started_first():
    """An item that is put first goes before those that came earlier, and none for the end does."""
    slots = Slots(1)
    scheduler: Scheduler[str, str] = Scheduler(slots)
    scheduler.put("last", at_end=True)
    put(scheduler, "a", "b")
    scheduler.put("c", first=True)
    run_all(scheduler)
    assert ["c", "a", "b", "last"] == slots.started


def test_last_items_wait():
    """What is queued for the end starts when nothing of the first kind is queued or running."""
    slots = Slots(2)
    scheduler: Scheduler[str, str] = Scheduler(slots)
    scheduler.put("last:1", at_end=True)
    put(scheduler, "a:1", "a:2", "a:3")
    slots.to_finish = 1
    while not scheduler.is_empty:
        before, started = set(slots.under_way), set(slots.started)
        scheduler.run(0.0)
        if "last:1" in set(slots.started) - started:
            assert set() == before
    assert "last:1" == slots.started[-1]


def test_first_items_go_before_last_ones_again():
    """An item of the first kind that comes while last ones run is the next when they have ended."""
    slots = Slots(2, cores=1)
    scheduler: Scheduler[str, str] = Scheduler(slots)
    scheduler.put("last:1", at_end=True)
    scheduler.put("last:2", at_end=True)
    slots.to_finish = 0
    scheduler.run(0.0)
    put(scheduler, "a:1")
    scheduler.run(0.0)
    assert ["last:1"] == slots.started, "a first item started beside one that runs alone"
    slots.to_finish = None
    assert ["last:1", "a:1", "last:2"] == run_all(scheduler)


def test_first_items_do_not_wait_for_all_last_ones():
    """While one of those that run alone has ended and another runs on, no further one starts before what has come."""
    slots = Slots(2)
    scheduler: Scheduler[str, str] = Scheduler(slots)
    for number in range(4):
        scheduler.put(f"last:{number}", at_end=True)
    slots.to_finish = 1
    assert ["last:0"] == list(scheduler.run(0.0))
    put(scheduler, "a:1")
    slots.to_finish = None
    assert ["last:1", "a:1", "last:2", "last:3"] == run_all(scheduler)


def test_last_items_go_alone():
    """A slot takes several items of the first kind at once, and one that runs alone by itself."""
    slots = Slots(1)
    scheduler: Scheduler[str, str] = Scheduler(slots)
    put(scheduler, "a", "b", "c")
    scheduler.put("last:1", at_end=True)
    scheduler.put("last:2", at_end=True)
    run_all(scheduler)
    assert [("a", "b", "c"), ("last:1",), ("last:2",)] == slots.pieces


def test_no_slot_takes_more_than_its_share():
    """What is queued is shared among the slots that are idle, and none takes more at once than is good for the end."""
    slots = Slots(2)
    scheduler: Scheduler[str, str] = Scheduler(slots)
    put(scheduler, *(f"a:{number}" for number in range(7)))
    run_all(scheduler)
    assert [4, 3] == [len(piece) for piece in slots.pieces]
    put(scheduler, *(f"a:{number}" for number in range(100)))
    run_all(scheduler)
    assert MAX_BATCH == max(len(piece) for piece in slots.pieces)
    assert [f"a:{number}" for number in range(100)] == [item for piece in slots.pieces[2:] for item in piece]


def test_a_long_item_keeps_none_waiting():
    """A slot takes a long item alone, whatever stands before and behind it."""
    slots = Slots(1)
    scheduler: Scheduler[str, str] = Scheduler(slots, goes_alone=lambda item: item.startswith("long"))
    put(scheduler, "a", "b", "long:1", "long:2", "c", "d")
    run_all(scheduler)
    assert [("a", "b"), ("long:1",), ("long:2",), ("c", "d")] == slots.pieces


def test_one_to_a_core():
    """With more slots than cores, items for the end run on as many slots as there are cores."""
    slots = Slots(6, cores=2)
    scheduler: Scheduler[str, str] = Scheduler(slots)
    for number in range(5):
        scheduler.put(f"last:{number}", at_end=True)
    slots.to_finish = 0
    scheduler.run(0.0)
    assert {0, 1} == set(slots.running)
    slots.to_finish = None
    assert 5 == len(run_all(scheduler))
    assert 2 == slots.most


def test_the_last_ask_for_quiet_slots():
    """Slots that are still cleaning up serve items of the first kind and not those that run alone."""
    slots = Slots(1)
    scheduler: Scheduler[str, str] = Scheduler(slots)
    put(scheduler, "a:1")
    scheduler.put("last:1", at_end=True)
    run_all(scheduler)
    assert [False, True] == slots.quiet


def test_first_items_use_every_slot():
    """Items of the first kind use all slots, also more than there are cores."""
    slots = Slots(6, cores=2)
    scheduler: Scheduler[str, str] = Scheduler(slots)
    put(scheduler, *map(str, range(60)))
    run_all(scheduler)
    assert 6 == slots.most


def test_waiting_and_empty():
    """What is queued is counted, and nothing is empty while something runs."""
    slots = Slots(1)
    slots.to_finish = 0
    scheduler: Scheduler[str, str] = Scheduler(slots)
    assert scheduler.is_empty
    put(scheduler, "a:1", "b:1")
    scheduler.put("last:1", at_end=True)
    assert (2, False) == (scheduler.waiting, scheduler.is_empty)
    scheduler.run(0.0)
    assert (0, False) == (scheduler.waiting, scheduler.is_empty)
    slots.to_finish = None
    run_all(scheduler)
    assert (0, True) == (scheduler.waiting, scheduler.is_empty)


def test_items_put_while_running():
    """An item that is queued again when it ends is run again."""
    slots = Slots(1)
    scheduler: Scheduler[str, str] = Scheduler(slots)
    put(scheduler, "a:1")
    assert ["a:1"] == list(scheduler.run(0.0))
    scheduler.put("a:1 again", at_end=True)
    put(scheduler, "b:1")
    assert ["b:1", "a:1 again"] == run_all(scheduler)


@settings(max_examples=150)
@given(st.lists(st.booleans(), max_size=60), st.integers(1, 5), st.integers(1, 5), st.integers(1, 3))
def test_nothing_is_lost_or_run_twice(items: list[bool], count: int, cores: int, ending: int):
    """Whatever is queued ends exactly once, never more at a time than there are slots."""
    slots = Slots(count, cores)
    slots.to_finish = ending
    scheduler: Scheduler[str, str] = Scheduler(slots)
    for number, last in enumerate(items):
        scheduler.put(str(number), at_end=last)
    assert sorted(map(str, range(len(items)))) == sorted(run_all(scheduler))
    assert slots.most <= count
    kinds = [items[int(item)] for item in slots.started]
    assert sorted(kinds) == kinds


def test_owners_take_turns_at_the_end():
    """At the end one item of each owner runs, then the next of each; those that are forgotten never start."""
    slots = Slots(1)
    gone = {"a3", "c1"}
    scheduler: Scheduler[str, str] = Scheduler(slots, owner_of=lambda item: (item[0],), forget=gone.__contains__)
    for item in ("a1", "a2", "a3", "a4", "b1", "c1", "b2"):
        scheduler.put(item, at_end=True)
    assert ["a1", "b1", "a2", "b2", "a4"] == run_all(scheduler)


def test_what_nobody_waits_for_beside_a_client_without_a_name():
    """An item at the end that has lost its owner waits beside the batches of a client whose name is empty."""
    owners = {"a1": ("", 1), "a2": ("", 1), "b1": ("", 2), "none": None}
    scheduler: Scheduler[str, str] = Scheduler(Slots(1), owner_of=owners.__getitem__)
    for item in ("a1", "a2", "none", "b1"):
        scheduler.put(item, at_end=True)
    assert ["a1", "none", "b1", "a2"] == run_all(scheduler)


def test_items_for_the_end_have_turns_while_others_come():
    """With patience an item for the end runs while ordinary ones come without an end; those run too."""
    slots = Slots(2)
    scheduler: Scheduler[str, str] = Scheduler(slots, patience_s=0.0)
    for number in range(4):
        scheduler.put(f"end {number}", at_end=True)
    for number in range(40):
        put(scheduler, f"ordinary {number}")
        scheduler.run(0.0)
    assert {f"end {number}" for number in range(4)} <= set(slots.started)
    assert sum(item.startswith("ordinary") for item in slots.started) > 10
    for piece in slots.pieces:
        assert 1 == len({item.split()[0] for item in piece})


def test_a_fair_queue():
    """The order within an owner stays, and nothing is lost."""
    queue: FairQueue[int] = FairQueue()
    for number in range(12):
        queue.put(number, (number // 4,))
    assert 12 == len(queue)
    assert [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11] == [queue.pop() for _ in range(12)]
    assert not queue


def test_how_many_a_slot_takes():
    """A slot takes one item at a time where each goes alone."""
    slots = Slots(2)
    scheduler: Scheduler[str, str] = Scheduler(slots, goes_alone=lambda _: True)
    for number in range(9):
        scheduler.put(str(number))
    assert list("012345678") == run_all(scheduler)
    assert all(len(piece) == 1 for piece in slots.pieces)
