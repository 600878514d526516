"""The queue of several clients: turns, and what is due first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passcurve.judging.fair_queue import FairQueue


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5)), max_size=40))
def test_turns(arrivals):
    """Clients take turns as long as they have items; of one client's items the one due first goes, then the older."""
    queue: FairQueue[tuple[int, str, int]] = FairQueue()
    for number, (client, due) in enumerate(arrivals):
        queue.put((number, client, due), (client,), due)
    assert len(arrivals) == len(queue)
    taken = [queue.pop() for _ in arrivals]
    assert 0 == len(queue)
    with pytest.raises(IndexError):
        queue.pop()
    assert sorted(taken) == [(number, *arrival) for number, arrival in enumerate(arrivals)]
    for client in "abc":
        own = [(due, number) for number, name, due in taken if name == client]
        assert sorted(own) == own
    counts = {client: sum(name == client for _, name, _ in taken) for client in "abc"}
    for place, (_, client, _) in enumerate(taken):
        before = {name: sum(one == name for _, one, _ in taken[:place]) for name in "abc"}
        # Nobody has had more turns than one who still waits, but for the turn of this round.
        assert all(before[client] <= before[name] for name in "abc" if before[name] < counts[name])


def test_a_client_with_many_batches_has_one_turn():
    """Clients take turns however many batches each has, and so do the batches of one."""
    queue: FairQueue[str] = FairQueue()
    for batch in range(3):
        for number in range(2):
            queue.put(f"a{batch}{number}", ("a", batch))
    queue.put("b00", ("b", 0))
    queue.put("b01", ("b", 0))
    assert ["a00", "b00", "a10", "b01", "a20", "a01", "a11", "a21"] == [queue.pop() for _ in range(8)]
