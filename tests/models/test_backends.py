"""The back ends that are no server: mutations, recorded samples, functions; and stop words."""

from __future__ import annotations

import ast
import asyncio
import json
import random
import threading

import msgspec
import pytest

from passcurve.bench.resolve import load
from passcurve.errors import DataError, ModelError, UnknownNameError, UsageError
from passcurve.models.backend import ServerSettings, Settings
from passcurve.models.function import Function
from passcurve.models.mutant import Mutant, apply_temperature, deck, mutations
from passcurve.models.recorded import Recorded
from passcurve.models.retry import is_retryable, retry_delay
from passcurve.models.stops import HUMAN_EVAL, MBPP, PROGRAM, cut_at_stop, default_stops
from passcurve.registry import backend
from passcurve.types import Assertions, Cases, Check, FunctionTests, Problem, Prompt, UnitTests

SETTINGS = Settings(request_timeout_s=5.0)


@pytest.mark.parametrize(
    ("url", "stored"),
    [
        ("https://me:s3cr3t@host/v1?api-version=1", "https://host/v1?api-version=1"),
        ("https://host/v1?subscription-key=s3cr3t&api-version=1", "https://host/v1?subscription-key=...&api-version=1"),
        ("https://host?code=s3cr3t", "https://host?code=..."),
        ("http://host?user=a@b", "http://host?user=a@b"),
    ],
)
def test_no_key_of_an_address_is_stored(url, stored):
    """Neither a password nor a key among the fields of an address; the rest of it is kept."""
    record = Settings(server=ServerSettings(base_url=url, api_key="k3y")).to_record()
    assert stored == record["base_url"]
    assert "k3y" not in str(record)


def texts(replies):
    """Return the texts of some replies."""
    return [reply.text for reply in replies]


def test_a_text_ends_before_its_first_stop_word():
    """The first stop word in the text ends it, whichever it is, and a second cut changes nothing."""
    text = "    return 1\n\nprint(f())\n\ndef g():\n"
    assert "    return 1\n" == cut_at_stop(text, HUMAN_EVAL)
    assert "    return 1\n" == cut_at_stop(cut_at_stop(text, HUMAN_EVAL), HUMAN_EVAL)
    assert text == cut_at_stop(text, ())


@pytest.mark.parametrize(
    ("prompt", "check", "stops"),
    [
        ("def f(x):\n", FunctionTests(source=""), HUMAN_EVAL),
        ('"""Tools."""\n\ndef f(x):\n', FunctionTests(source=""), HUMAN_EVAL),
        ("", Assertions(tests=("assert f(1) == 1",)), MBPP),
        # MBPP+ has its task in words as a prompt.
        ('"""\nReturn x.\n"""\n', Cases(suites=(), inputs=b"", via="call"), MBPP),
        ("", Cases(suites=(), inputs=b"", via="call"), PROGRAM),
        ("import sys\n", Cases(suites=(), inputs=b"", via="stdin"), PROGRAM),
        ("", UnitTests(source="", classes=()), PROGRAM),
    ],
)
def test_stop_words_of_what_is_asked_for(prompt: str, check: Check, stops: tuple[str, ...]):
    """The words that end the body of a function do not end a program, which may begin with any of them."""
    assert stops == default_stops(Problem(id="p", prompt=prompt, entry_point="f", check=check))


def test_what_is_tried_again():
    """Overload and failures of a server may pass; refusals do not."""
    assert [True] * 6 == [is_retryable(status) for status in (408, 409, 429, 500, 503, 529)]
    assert [False] * 5 == [is_retryable(status) for status in (400, 401, 403, 404, 422)]


def test_waits_grow_and_differ():
    """Without a word of the server the wait doubles up to half a minute, less a random part."""
    rng = random.Random(7)
    waits = [retry_delay(attempt, None, rng).seconds for attempt in range(1, 12)]
    assert all(0.25 * 2**at <= wait <= 0.5 * 2**at for at, wait in enumerate(waits[:6]))
    assert all(15.0 <= wait <= 30.0 for wait in waits[7:])


def test_a_wait_until_a_date():
    """Retry-After may be a date; one that has passed means at once."""
    delay = retry_delay(1, "Wed, 21 Oct 2015 07:28:00 GMT", None)
    assert (0.0, True) == (delay.seconds, delay.is_from_server)


@pytest.mark.parametrize("text", ["Wed, 21 Oct 99999999999999999999 07:28:00 GMT", "soon"])
def test_a_wait_that_is_none(text: str):
    """A Retry-After that cannot be read is ignored."""
    assert not retry_delay(1, text, random.Random(1)).is_from_server


def test_the_chances_of_a_deck_add_up():
    """The chances of a deck's programs add up to 1, the reference is first, and no program is in it twice."""
    for problem in load("starter", cache_dir=None).problems:
        prompt = Prompt(problem_id=problem.id, stub=problem.prompt, reference=problem.reference)
        cards = deck(prompt, 3)
        assert sum(card.weight for card in cards) == pytest.approx(1.0)
        assert problem.reference == cards[0].text
        assert len(cards) == len({card.text for card in cards}) >= 2
        assert cards == deck(prompt, 3)


def test_mutations_differ_in_one_place_and_are_python():
    """Each mutation is Python, differs from the reference, and leaves the prompt alone."""
    stub = 'def f(a, b):\n    """Sum ä, 1 < 2."""\n'
    reference = "    if a < b and b:\n        return (a) + (b)  # ä\n    return a - 1\n"
    completions = mutations(stub, reference)
    assert "    if a <= b and b:\n        return (a) + (b)  # ä\n    return a - 1\n" in completions
    assert "    if a < b or b:\n        return (a) + (b)  # ä\n    return a - 1\n" in completions
    assert "    if a < b and b:\n        return (a) - (b)  # ä\n    return a - 1\n" in completions
    assert "    if a < b and b:\n        return None  # ä\n    return a - 1\n" in completions
    assert "    if a < b and b:\n        return (a) + (b)  # ä\n    return a - 2\n" in completions
    assert reference not in completions
    for text in completions:
        ast.parse(stub + text)


def test_texts_in_f_strings():
    """A text in an f-string is replaced with the whole of it, by every interpreter; an expression in it is mutated."""
    changed = mutations("def f(x):\n    return ", """(f"{x - 1:>{x}} of {x:.3f}", f"{f'{x}c'}d")\n""")
    assert [
        """None\n""",
        """(f"{x + 1:>{x}} of {x:.3f}", f"{f'{x}c'}d")\n""",
        """(f"{x - 2:>{x}} of {x:.3f}", f"{f'{x}c'}d")\n""",
        """(f"{x - (0):>{x}} of {x:.3f}", f"{f'{x}c'}d")\n""",
        """('', f"{f'{x}c'}d")\n""",
        """(f"{x - 1:>{x}} of {x:.3f}", f"{''}d")\n""",
        """(f"{x - 1:>{x}} of {x:.3f}", '')\n""",
    ] == changed


def test_mutations_of_a_gap():
    """Where a suffix follows, what is mutated is the gap and not what stands behind it."""
    completions = mutations("def f(a):\n    b = ", "a + 1", "\n    return b + 1\n")
    assert {"a - 1", "a + 2", "a + (0)"} == set(completions)


def test_the_starter_mutates():
    """Every problem of the shipped benchmark has several mutations."""
    few = [p.id for p in load("starter", cache_dir=None).problems if len(mutations(p.prompt, p.reference)) < 2]
    assert [] == few


def test_mutant_draws_what_its_seed_says(sample_request):
    """The same order gives the same texts, another seed others, and the chances are kept to."""
    backend = Mutant.open("0.5", SETTINGS)
    request = sample_request(*range(400), text="def f(a):\n", seed=1)
    drawn = texts(backend.generate(request))
    assert drawn == texts(backend.generate(request))
    assert drawn != texts(backend.generate(sample_request(*range(400), text="def f(a):\n", seed=2)))
    cards = deck(request.prompt, 1, 0.5)
    for card in cards:
        assert drawn.count(card.text) / 400 == pytest.approx(card.weight, abs=0.1)


def test_threads_that_want_the_same_deck_have_it_made_once(sample_request):
    """The samples of a problem, which are asked for at the same time, share the work of making its deck."""
    model, barrier = Mutant(0.5), threading.Barrier(8)
    long = Prompt(problem_id="p/0", stub="def f(a):\n", reference="    return a + 1 < 2\n" * 100)
    request = msgspec.structs.replace(sample_request(seed=7), prompt=long)

    def draw(index: int) -> None:
        barrier.wait()
        list(model.generate(msgspec.structs.replace(request, indices=(index,))))

    threads = [threading.Thread(target=draw, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 == model._deck.cache_info().misses  # noqa: SLF001 - nothing else tells it apart


def test_mutant_draws_by_temperature(sample_request):
    """Weights are raised to 1/T: at 1 as without, cold the heaviest alone, hot each as often as any other."""
    assert [0.5, 0.3, 0.2] == apply_temperature([0.5, 0.3, 0.2], None) == apply_temperature([0.5, 0.3, 0.2], 1.0)
    assert [1.0, 0.0, 0.0] == apply_temperature([0.5, 0.3, 0.2], 0.0)
    assert [1.0, 0.36, 0.16] == pytest.approx(apply_temperature([0.5, 0.3, 0.2], 0.5), rel=1e-12)
    backend = Mutant.open("0.5", SETTINGS)
    request = sample_request(*range(200), text="def f(a):\n", seed=1)
    heaviest = max(deck(request.prompt, 1, 0.5), key=lambda card: card.weight)
    kinds = []
    for degree in (0.0, 0.3, 1.0, 50.0):
        decoding = msgspec.structs.replace(request.decoding, temperature=degree)
        drawn = texts(backend.generate(msgspec.structs.replace(request, decoding=decoding)))
        kinds.append(len(set(drawn)))
        if degree == 0.0:
            assert {heaviest.text} == set(drawn)
    assert sorted(kinds) == kinds
    assert kinds[-1] > 1


def test_mutant_needs_references(sample_request):
    """A problem without a reference is told by name."""
    prompt = Prompt(problem_id="p/9", stub="def f():\n")
    with pytest.raises(DataError, match=r"'p/9'.*reference"):
        deck(prompt, 0)


@pytest.mark.parametrize("words", ["2", "-1", "nan", "much"])
def test_mutant_takes_a_share(words):
    """What is no share is refused, with how to write it."""
    with pytest.raises(UsageError, match=r"mutant:0\.4"):
        Mutant.open(words, SETTINGS)


@pytest.fixture
def recorded(tmp_path):
    """Return how to open a file of recorded rows."""
    made = []

    def make(*rows):
        path = tmp_path / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        made.append(Recorded.open(str(path), SETTINGS))
        return made[-1]

    yield make
    for source in made:
        source.close()


def test_recorded_gives_row_i_as_sample_i(recorded, sample_request):
    """The i-th row of a problem is its sample i, in whatever order they are asked for."""
    rows = [{"task_id": f"p/{n % 2}", "completion": f"    return {n}\n"} for n in range(6)]
    backend = recorded(*rows, {"task_id": "p/0", "solution": "def f(): ...\n"})
    assert ["    return 4\n", "    return 0\n"] == texts(backend.generate(sample_request(2, 0)))
    (reply,) = backend.generate(sample_request(3))
    assert ("solution", "def f(): ...\n") == (reply.form, reply.text)
    with pytest.raises(ModelError, match=r"\b3 .*'p/1'.*\b4\b"):
        list(backend.generate(sample_request(3, problem="p/1")))


def test_recorded_takes_a_task_id_that_is_a_number(recorded, sample_request):
    """As ``judge`` does: the problems of MBPP have numbers."""
    backend = recorded({"task_id": 11, "completion": "a"}, {"task_id": "11", "completion": "b"})
    assert ["a", "b"] == texts(backend.generate(sample_request(0, 1, problem="11")))


@pytest.mark.parametrize(
    ("text", "message"),
    [(b"{oops\n", "line 1"), (b"\x1f\x8bxx", "compressed"), (b'{"completion": ""}\n', "task_id")],
)
def test_recorded_refuses_what_is_no_file_of_samples(tmp_path, text, message):
    """A file that is damaged, compressed or of another kind is told when it is opened."""
    (tmp_path / "bad.jsonl").write_bytes(text)
    with pytest.raises(DataError, match=message):
        Recorded.open(str(tmp_path / "bad.jsonl"), SETTINGS)


def test_functions_of_every_kind(sample_request):
    """One prompt or many, sync or async: the texts are those that the function returned."""

    async def later(prompt):
        await asyncio.sleep(0.01)
        return prompt + "b"

    async def many_later(prompts):
        return [f"{prompt}{number}" for number, prompt in enumerate(prompts)]

    for call, many, expected in (
        (lambda prompt: prompt + "a", False, ["xa", "xa"]),
        (later, False, ["xb", "xb"]),
        (lambda prompts: [prompt + "c" for prompt in prompts], True, ["xc", "xc"]),
        (many_later, True, ["x0", "x1"]),
    ):
        function = Function(call, many=many)
        assert expected == texts(function.generate(sample_request(0, 1, text="x")))
        function.close()


def test_closing_cancels_async_calls(sample_request):
    """No thread waits for ever for a call of a run that has ended, and a call can clean up."""
    begun, cleaned = threading.Event(), threading.Event()
    errors = []

    async def sleep(prompt):
        begun.set()
        try:
            await asyncio.sleep(600)
        finally:
            cleaned.set()

    function = Function(sleep)

    def ask():
        try:
            texts(function.generate(sample_request(0)))
        except ModelError as error:
            errors.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    assert begun.wait(30)
    function.close()
    thread.join(30)
    assert (False, True, 1) == (thread.is_alive(), cleaned.is_set(), len(errors))


def _raise_foreign_text(prompt):
    raise ValueError("half a pair: \ud83d")


@pytest.mark.parametrize(
    ("call", "many", "message"),
    [
        (lambda prompt: None, False, "'NoneType'"),
        (_raise_foreign_text, False, r"ValueError: half a pair: \?"),
        (lambda prompts: ["a"], True, r"\b2 .*'list' of 1"),
        (lambda prompt: 1 / 0, False, "ZeroDivisionError"),
    ],
)
def test_functions_that_fail(sample_request, call, many, message):
    """What a function raises, and what it returns instead of texts, is told."""
    with pytest.raises(ModelError, match=message):
        list(Function(call, many=many).generate(sample_request(0, 1)))


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        (
            "opena:x",
            UnknownNameError,
            r"'openai'\?.*anthropic:, command:, hf:, mutant:",
        ),
        ("gpt-4", UnknownNameError, "openai:gpt-4"),
        ("mutant", UsageError, "mutant:"),
        ("hg:x", UnknownNameError, "'hg'"),
    ],
)
def test_a_back_end_that_is_none(spec, error, message):
    """A name that no back end has gives the nearest and all there are."""
    with pytest.raises(error, match=message):
        backend(spec)
