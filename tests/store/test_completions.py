"""Tests that stored completions are complete, unique and of one generation."""

from __future__ import annotations

import json
import threading

import pytest

from passcurve.errors import StoreError, UsageError
from passcurve.store.completions import Completions, SessionConfig, stored_completions
from passcurve.types import Decoding, Generation, Reply, SampleKey


def config(model="mutant:", temperature=0.8, n=2):
    """Return the configuration of a session."""
    generation = Generation(
        version="1",
        benchmark="b",
        benchmark_digest="d",
        model=model,
        identity={"at": "here"},
        prompt="base",
        prompt_digest="e",
        decoding=Decoding(temperature=temperature),
    )
    return SessionConfig(started_at="now", generation=generation, n=n, settings={})


def reply(problem="p/0", index=0, text="    return 1\n", **fields):
    """Return a reply of a back end."""
    return Reply(key=SampleKey(problem_id=problem, sample_index=index), text=text, **fields)


def test_what_was_stored_is_there(tmp_path):
    """A second session finds the rows, keys and texts that the first one stored."""
    with_first = Completions(tmp_path, config())
    made = [with_first.append(reply(index=index, text=f"x{index}"), f"x{index}") for index in (2, 0, 1)]
    with_first.close()
    reopened = Completions(tmp_path, config())
    assert made == list(reopened.earlier_completions())
    assert [True, True, True, False] == [reopened.has("p/0", index) for index in range(4)]
    assert 3 == reopened.append(reply(index=3), "    return 1\n").row
    reopened.close()
    assert [2, 0, 1, 3] == [row.key.sample_index for row in stored_completions(tmp_path)]


def test_a_torn_line_is_no_row(tmp_path):
    """A torn last line is dropped, and the rows before it keep their numbers."""
    first = Completions(tmp_path, config())
    for index in range(3):
        first.append(reply(index=index), "a")
    first.close()
    part = tmp_path / "completions-001.jsonl"
    whole = part.read_bytes()
    start = whole[:-1].rindex(b"\n") + 1
    for cut in range(start, len(whole)):
        part.write_bytes(whole[:cut])
        store = Completions(tmp_path, config())
        assert [0, 1] == [completion.row for completion in store.earlier_completions()]
        assert not store.has("p/0", 2)
        assert 2 == store.append(reply(index=2), "a").row
        store.close()
        for path in tmp_path.glob("*-002*"):
            path.unlink()


def test_the_first_line_of_a_sample_counts(tmp_path):
    """If a sample is stored twice, only the first line counts."""
    store = Completions(tmp_path, config())
    store.append(reply(text="a"), "a")
    store.append(reply(text="b"), "b")
    store.append(reply(index=1, text="c"), "c")
    store.close()
    assert ["a", "c"] == [row.text for row in stored_completions(tmp_path)]


def test_the_raw_text_is_kept(tmp_path):
    """If a stop word cut the text, the raw text is stored too, and the cut is not a truncation."""
    store = Completions(tmp_path, config())
    store.append(reply(text="a\ndef b", finish_reason="length"), "a")
    store.append(reply(index=1, text="a", finish_reason="length"), "a")
    store.close()
    rows = [json.loads(line) for line in (tmp_path / "completions-001.jsonl").read_bytes().splitlines()]
    assert [("a", "a\ndef b"), ("a", None)] == [(row["completion"], row.get("raw")) for row in rows]
    assert 1 == store.totals.truncated


def test_half_a_surrogate_pair_survives(tmp_path):
    """A text with a lone surrogate is stored and read back unchanged."""
    store = Completions(tmp_path, config())
    store.append(reply(text="\ud83d"), "\ud83d")
    store.close()
    assert ["\ud83d"] == [row.text for row in stored_completions(tmp_path)]


def test_totals_are_of_all_sessions(tmp_path):
    """The totals include the tokens, retries and time of earlier sessions."""
    for index in range(2):
        store = Completions(tmp_path, config())
        store.append(reply(index=index, prompt_tokens=5, completion_tokens=7, attempts=3, latency_s=0.5), "a")
        store.close()
    totals = store.totals
    assert (2, 10, 14, 4, 1.0) == (
        totals.samples,
        totals.prompt_tokens,
        totals.completion_tokens,
        totals.retried,
        totals.latency_s,
    )


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (config(temperature=0.2), r"decoding\.temperature .*0\.8.*0\.2"),
        (config(model="openai:x"), "model .*'mutant:'.*'openai:x'"),
    ],
)
def test_another_generation_is_refused(tmp_path, other, message):
    """Samples of another configuration are refused, and the message names the difference."""
    Completions(tmp_path, config()).close()
    with pytest.raises(UsageError, match=message):
        Completions(tmp_path, other)


def test_n_may_change(tmp_path):
    """A different n continues the same generation, and each session's configuration is kept."""
    for n in (2, 5):
        Completions(tmp_path, config(n=n)).close()
    assert [2, 5] == [json.loads((tmp_path / f"config-00{k}.json").read_bytes())["n"] for k in (1, 2)]


def test_many_threads(tmp_path):
    """Rows that several threads store at once are complete and have unique numbers."""
    store = Completions(tmp_path, config())
    rows = []

    def work(problem):
        rows.extend(store.append(reply(problem, index, "x" * 500), "x" * 500).row for index in range(50))

    threads = [threading.Thread(target=work, args=(f"p/{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()
    assert list(range(400)) == sorted(rows)
    assert 400 == sum(1 for _ in stored_completions(tmp_path))


def test_a_closed_store_takes_nothing(tmp_path):
    """A closed store refuses a late reply, so that no row is half written."""
    store = Completions(tmp_path, config())
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.append(reply(), "a")


def test_what_is_of_a_request_counts_once(tmp_path):
    """Attempts and tokens count once per request; a request without token counts is uncounted."""
    store = Completions(tmp_path, config())
    store.append(reply(index=0, attempts=3, completion_tokens=21, prompt_tokens=5), "a")
    store.append(reply(index=1, attempts=3, choice=1), "b")
    store.append(reply(index=2, attempts=2), "c")
    store.append(reply(index=3, attempts=2, choice=1), "d")
    totals = store.totals
    assert (3, 21, 5, 1) == (totals.retried, totals.completion_tokens, totals.prompt_tokens, totals.uncounted)
    store.close()


def test_problems_with_one_text_are_counted(tmp_path):
    """The store counts problems with repeated samples, and those with one text only, across sessions."""
    store = Completions(tmp_path, config())
    for number, (problem, text) in enumerate([("p/0", "a"), ("p/1", "a"), ("p/0", "a"), ("p/2", "a"), ("p/1", "b")]):
        store.append(reply(problem=problem, index=number), text)
    assert (2, 1) == (store.totals.repetition.repeated_problems, store.totals.repetition.uniform_problems)
    store.append(reply(problem="p/1", index=9), "a")
    store.append(reply(problem="p/2", index=9), "a")
    assert (3, 2) == (store.totals.repetition.repeated_problems, store.totals.repetition.uniform_problems)
    store.append(reply(problem="p/0", index=10), "c")
    assert (3, 1) == (store.totals.repetition.repeated_problems, store.totals.repetition.uniform_problems)
    store.close()
    reopened = Completions(tmp_path, config())
    assert (3, 1) == (reopened.totals.repetition.repeated_problems, reopened.totals.repetition.uniform_problems)
    reopened.close()
