"""The client of OpenAI-compatible servers, against a server that does what real ones did."""

from __future__ import annotations

import threading
import time
from itertools import pairwise

import pytest

from passcurve.errors import ModelError, RefusedError, TooLongError, UsageError
from passcurve.models.backend import ServerSettings, Settings, sample_seed
from passcurve.models.openai import OpenAI, _Choice, _is_unfinished, _Tokens, _used_tokens
from passcurve.types import Message, Prompt


@pytest.fixture
def client(server):
    """Return how to make a client of the server."""
    made = []

    def make(model="tiny-coder", extra_body=None, timeout_s=5.0, concurrency=8, style="base", **server_settings):
        server_settings = {"base_url": server.url, "max_retries": 3, "first_wait_s": 0.05} | server_settings
        settings = Settings(
            server=ServerSettings(**server_settings),
            request_timeout_s=timeout_s,
            extra_body=extra_body or {},
            concurrency=concurrency,
            style=style,
        )
        made.append(OpenAI.open(model, settings))
        return made[-1]

    yield make
    for backend in made:
        backend.close()


def texts(client, sample_request):
    """Return the texts of an order's replies."""
    return [reply.text for reply in client.generate(sample_request)]


def test_a_reply_has_all_that_the_server_said(client, server, sample_request):
    """Text, tokens, finish, model and fingerprint of an answer are in the reply, with what we know ourselves."""
    (reply,) = client().generate(sample_request(3, seed=5))
    assert ("    return 0\n", "stop", 20, 7, 2, 16) == (
        reply.text,
        reply.finish_reason,
        reply.prompt_tokens,
        reply.completion_tokens,
        reply.reasoning_tokens,
        reply.cached_tokens,
    )
    assert ("tiny-coder-0", "fp1", 1, 3) == (
        reply.server_model,
        reply.fingerprint,
        reply.attempts,
        reply.key.sample_index,
    )
    assert sample_seed(5, "p/0", 3) == reply.seed == server.requests[0]["seed"]
    assert 16 == len(reply.request)


def test_what_is_not_set_is_not_sent(client, server, sample_request):
    """A setting that nobody named is left to the server, and n is sent only when it is more than one."""
    texts(client(), sample_request())
    assert {"model", "prompt", "seed", "path"} == server.requests[0].keys()


def test_settings_are_sent(client, server, sample_request):
    """Temperature, top-p, the limit of tokens, at most four stops and what the user adds are in the request."""
    stops = ("\na", "\nb", "\nc", "\nd", "\ne")
    request = sample_request(temperature=0.0, top_p=0.5, max_tokens=9, stop=stops)
    texts(client(extra_body={"top_k": 3}), request)
    body = server.requests[0]
    assert (0.0, 0.5, 9, 3) == (body["temperature"], body["top_p"], body["max_tokens"], body["top_k"])
    assert list(stops[:4]) == body["stop"]


def test_samples_have_seeds_of_their_own(client, server, sample_request):
    """Two samples of a problem, and the same sample of two problems, are asked for with different seeds."""
    backend = client()
    for request in (sample_request(0), sample_request(1), sample_request(0, problem="p/1")):
        texts(backend, request)
    assert 3 == len({body["seed"] for body in server.requests})
    assert all(0 <= body["seed"] < 2**31 for body in server.requests)


def test_a_seed_is_the_same_on_every_machine():
    """The seed of a sample follows from run seed, problem and index alone."""
    # int.from_bytes(hashlib.blake2b(b"0\\0HumanEval/0\\x000", digest_size=4).digest(), "big") >> 1
    assert 830187739 == sample_seed(0, "HumanEval/0", 0)


def test_several_samples_in_one_request(client, server, sample_request):
    """With n the choices become the samples in order, and the tokens of the request are told once."""
    replies = list(client().generate(sample_request(4, 5, 6)))
    assert [4, 5, 6] == [reply.key.sample_index for reply in replies]
    assert ["    return 0\n", "    return 1\n", "    return 2\n"] == [reply.text for reply in replies]
    assert [21, None, None] == [reply.completion_tokens for reply in replies]
    assert 1 == len(server.requests)


def test_a_server_that_ignores_n(client, server, sample_request):
    """When fewer choices come than were asked for, the rest is asked for one by one, and n is not sent again."""
    server.fault = lambda number, body: "n ignored"
    backend = client()
    assert [0, 1, 2] == [reply.key.sample_index for reply in backend.generate(sample_request(0, 1, 2))]
    texts(backend, sample_request(0, 1, problem="p/1"))
    assert [3, None, None, None, None] == [body.get("n") for body in server.requests]


def test_a_choice_that_the_server_has_not_finished(client, server, sample_request):
    """A choice that the server has aborted is requested again; the other choices are kept."""
    server.fault = lambda number, body: "one aborted" if number == 0 else ""
    replies = list(client().generate(sample_request(0, 1, 2)))
    assert [(0, "stop"), (1, "stop"), (2, "stop")] == [(one.key.sample_index, one.finish_reason) for one in replies]
    assert ["    return 0\n", "    return 2\n", "    return 0\n"] == [reply.text for reply in replies]
    assert [3, None] == [body.get("n") for body in server.requests]


def test_an_unfinished_choice_more_than_was_requested(client, server, sample_request):
    """The choice that the server has finished is taken, wherever it stands."""
    server.fault = lambda number, body: "an aborted one more"
    (reply,) = client().generate(sample_request(3))
    assert (3, "    return 0\n", "stop") == (reply.key.sample_index, reply.text, reply.finish_reason)
    assert 1 == len(server.requests)


def test_a_choice_without_a_text_costs_no_other(client, server, sample_request):
    """The choices that have a text are taken before the error."""
    server.fault = lambda number, body: "one without a text"
    replies = client().generate(sample_request(0, 1, 2))
    assert ["    return 1\n", "    return 2\n"] == [next(replies).text, next(replies).text]
    with pytest.raises(ModelError, match="without a text"):
        next(replies)


@pytest.mark.parametrize("fault", ["429", "500", "drop", "bad json", "no choices", "broken off"])
def test_what_may_pass_is_tried_again(client, server, sample_request, fault):
    """After an error that may pass the request is sent again, and the reply says how often."""
    server.fault = lambda number, body: fault if number < 2 else ""
    (reply,) = client().generate(sample_request())
    assert (3, "    return 0\n") == (reply.attempts, reply.text)
    assert server.requests[0] == server.requests[2]


@pytest.mark.ci
def test_retry_after_is_honoured(client, server, sample_request):
    """A server that names a time to wait is not asked before it has passed."""
    server.retry_after = "0.7"
    server.fault = lambda number, body: "429" if number == 0 else ""
    texts(client(), sample_request())
    assert 0.7 <= server.at[1] - server.at[0] < 2.5


def test_a_rate_limit_is_waited_for_longer(client, server, sample_request):
    """Without a word of the server, a rate limit that lasts longer than another failure may is no reason to give up."""
    server.retry_after = ""
    server.fault = lambda number, body: "429" if server.at[number] < server.at[0] + 0.6 else ""
    (reply,) = client().generate(sample_request())
    assert "    return 0\n" == reply.text


def test_a_server_that_asks_for_an_hour_is_left(client, server, sample_request):
    """A wait beyond five minutes ends the order at once, with what the server said and how long it asks to wait."""
    server.retry_after = "3600"
    server.fault = lambda number, body: "429"
    with pytest.raises(ModelError, match=r"\b1 attempt.*429: slow down \(Retry-After: 3600\)"):
        texts(client(), sample_request())


def test_attempts_are_counted(client, server, sample_request):
    """After the last retry the order fails with the last reason."""
    server.fault = lambda number, body: "500"
    with pytest.raises(ModelError, match=r"\b3 attempts.*500: it broke"):
        texts(client(max_retries=2), sample_request())
    assert 3 == len(server.requests)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("400", "400: top_p must be below 2"),
        ("401", r"\bKEY\b.*401: wrong key"),
        ("404", "'tiny-code'.*'tiny-coder'"),
        ("422", "422: no such field"),
    ],
)
def test_a_refusal_is_final(client, server, sample_request, fault, message):
    """What would be refused again is asked for once, and the message says what was refused."""
    server.fault = lambda number, body: fault
    with pytest.raises(RefusedError, match=message):
        texts(client("tiny-code", api_key_name="KEY"), sample_request())
    assert 1 == len(server.requests)


def test_the_key_is_sent_and_not_told(client, server, sample_request):
    """The key goes to the server as a bearer token and into no message."""
    server.fault = lambda number, body: "401"
    with pytest.raises(RefusedError, match="MY_KEY") as caught:
        texts(client(api_key="s3cret", api_key_name="MY_KEY"), sample_request())
    assert "Bearer s3cret" == server.headers[0]["authorization"]
    assert "s3cret" not in str(caught.value)


def test_a_prompt_that_is_too_long(client, server, sample_request):
    """A full context is told as such, with the problem and what to do."""
    server.fault = lambda number, body: "too long"
    with pytest.raises(TooLongError, match=r"'p/0'.*--max-tokens"):
        texts(client(), sample_request())


def test_the_limit_by_its_other_name(client, server, sample_request):
    """A server that wants max_completion_tokens gets it, from then on at once."""
    server.fault = lambda number, body: "other limit" if "max_tokens" in body else ""
    backend = client()
    texts(backend, sample_request(max_tokens=5))
    texts(backend, sample_request(max_tokens=5))
    names = [sorted(body.keys() & {"max_tokens", "max_completion_tokens"}) for body in server.requests]
    assert [["max_tokens"], ["max_completion_tokens"], ["max_completion_tokens"]] == names


@pytest.mark.parametrize("key", ["x", "token", "max_tokens"])
def test_a_key_that_is_part_of_words(client, server, sample_request, key):
    """A key that is a word or a letter, as for local servers, hides no part of a message that is read or shown."""
    server.fault = lambda number, body: "other limit" if "max_tokens" in body else "too long"
    with pytest.raises(TooLongError, match=r"maximum context length is 256 tokens\."):
        texts(client(api_key=key), sample_request(max_tokens=5))
    assert 2 == len(server.requests)


def test_a_missing_usage_is_not_known(client, server, sample_request):
    """Without usage the numbers of tokens are unknown, not 0."""
    server.fault = lambda number, body: "no usage"
    (reply,) = client().generate(sample_request())
    assert (None, None) == (reply.prompt_tokens, reply.completion_tokens)


def test_a_trickle_is_cut_off(client, server, sample_request):
    """An answer that never ends is given up when the time of the request is over, though bytes keep coming."""
    server.fault = lambda number, body: "slow"
    began = time.monotonic()
    with pytest.raises(ModelError, match=r"\b0\.3 s"):
        texts(client(timeout_s=0.3, max_retries=0), sample_request())
    assert time.monotonic() - began < 2.0


def test_a_server_that_is_not_there(sample_request):
    """When nobody has ever answered, a refused connection is told at once."""
    backend = OpenAI.open("m", Settings(server=ServerSettings(base_url="http://127.0.0.1:9/v1")))
    began = time.monotonic()
    with pytest.raises(RefusedError, match=r"http://127\.0\.0\.1:9/v1"):
        texts(backend, sample_request())
    assert time.monotonic() - began < 2.0
    backend.close()


@pytest.mark.parametrize(
    "url",
    ["ftp://x/v1", "127.0.0.1:8000/v1", "http://[::1/v1", "http:///v1", "http://", "http://a..b/v1", "http://xn--/"],
)
def test_an_address_that_is_none(url):
    """An address that no request can go to is a wrong usage."""
    with pytest.raises(UsageError, match="--base-url"):
        OpenAI.open("m", Settings(server=ServerSettings(base_url=url)))


def test_an_answer_that_the_server_calls_created(client, server, sample_request):
    """Every status of success has an answer: some frameworks send 201 for each POST."""
    server.fault = lambda number, body: "created"
    assert ["    return 0\n"] == texts(client(max_retries=0), sample_request())


def test_chat(client, server, sample_request):
    """A conversation goes to the other endpoint, and what was thought comes apart from what was said."""
    messages = (Message(role="system", content="be brief"), Message(role="user", content="write f"))
    request = sample_request()
    request = type(request)(
        prompt=Prompt(problem_id="p/0", messages=messages, stub=""), decoding=request.decoding, indices=(0,)
    )
    (reply,) = client(style="chat").generate(request)
    assert ("    return 0\n", "let me think") == (reply.text, reply.reasoning)
    assert ["system", "user"] == [message["role"] for message in server.requests[0]["messages"]]
    assert "/v1/chat/completions" == server.requests[0]["path"]


def test_requests_a_minute(client, server, sample_request):
    """With a limit no request begins before the one before it has had its share of the minute, whoever asks."""
    backend = client(requests_per_minute=120)
    threads = [threading.Thread(target=texts, args=(backend, sample_request(at))) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    gaps = [later - earlier for earlier, later in pairwise(sorted(server.at))]
    # What the way to the server takes differs from request to request.
    assert 3 == len(gaps)
    assert min(gaps) > 0.2
    assert sum(gaps) > 1.2


def test_tokens_a_minute(client, server, sample_request):
    """With a limit of tokens, what the server counted decides, not what was thought beforehand."""
    # Thought: 9 // 3 + 6400 tokens a request, which is 96 s for the five gaps; counted: 20 + 7, which is 0.41 s.
    backend = client(tokens_per_minute=20_000)
    for at in range(6):
        texts(backend, sample_request(at, max_tokens=6400))
    assert 5 * 27 * 60 / 20_000 * 0.95 < server.at[-1] - server.at[0] < 48.0


def test_what_a_server_refuses_takes_no_tokens(client, server, sample_request):
    """A refused prompt, and a request that is sent again with another body, hold nobody up."""
    server.fault = lambda number, body: {0: "other limit", 2: "too long"}.get(number, "")
    # Thought: 6400 tokens a request, which is 19 s.
    backend = client(tokens_per_minute=20_000)
    texts(backend, sample_request(0, max_tokens=6400))
    with pytest.raises(TooLongError):
        texts(backend, sample_request(1, max_tokens=6400))
    texts(backend, sample_request(2, max_tokens=6400))
    assert 4 == len(server.at)
    assert server.at[-1] - server.at[0] < 15.0


def test_requests_that_wait_know_what_others_used(client, server, sample_request):
    """An estimate that was far too high holds nobody up once it is corrected."""
    backend = client(tokens_per_minute=20_000)
    threads = [threading.Thread(target=texts, args=(backend, sample_request(at, max_tokens=6400))) for at in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert 6 == len(server.at)
    assert 5 * 27 * 60 / 20_000 * 0.95 < max(server.at) - min(server.at) < 15.0


@pytest.mark.ci
def test_a_wait_that_a_server_asks_for_is_everybodys(client, server, sample_request):
    """After Retry-After nobody asks before that time is over."""
    server.retry_after = "0.6"
    server.fault = lambda number, body: "429" if number == 0 else ""
    backend = client()
    first = threading.Thread(target=texts, args=(backend, sample_request(0)))
    first.start()
    while not server.requests:
        time.sleep(0.01)
    time.sleep(0.1)
    texts(backend, sample_request(1))
    first.join(10)
    assert min(server.at[1:]) - server.at[0] >= 0.6


def test_closing_ends_a_wait(client, server, sample_request):
    """Who waits to ask again is let go when the client is closed."""
    server.retry_after = "60"
    server.fault = lambda number, body: "429"
    backend = client()
    caught = []

    def ask():
        try:
            texts(backend, sample_request())
        except ModelError as error:
            caught.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    while not server.requests:
        time.sleep(0.01)
    backend.close()
    thread.join(5)
    assert not thread.is_alive()
    assert 1 == len(caught)


def test_a_null_in_the_extra_body_takes_a_field_away(client, server, sample_request):
    """Servers that refuse a seed, and other fields, get none."""
    list(client(extra_body={"seed": None, "top_k": 5}).generate(sample_request(0)))
    sent = server.requests[-1]
    assert "seed" not in sent
    assert 5 == sent["top_k"]


def test_the_number_of_choices_is_no_field_of_the_users(client):
    """Choices that nobody has asked for would be paid and dropped; 1 changes nothing."""
    with pytest.raises(UsageError, match="--per-request"):
        client(extra_body={"n": 3})
    client(extra_body={"n": 1})


@pytest.mark.parametrize("seed", [None, 7])
def test_the_seed_of_a_reply_is_the_one_that_was_sent(client, server, sample_request, seed):
    """Without the field no seed is stored; a seed that the user sets is stored for every sample."""
    replies = list(client(extra_body={"seed": seed}).generate(sample_request(0, 1)))
    assert [seed, seed] == [reply.seed for reply in replies]
    assert seed == server.requests[-1].get("seed")


def test_tokens_in_one_sense():
    """Cached tokens beside the others, thinking in the sum alone, and no count of the prompt at all."""
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 5000}}
    assert (5010, 5000) == (_Tokens.parse(usage).read, _Tokens.parse(usage).cached)
    # The whole prompt was cached, or it was not counted: no part of it is known then.
    whole, uncounted = _Tokens.parse(usage | {"prompt_tokens": 0}), _Tokens.parse(usage | {"prompt_tokens": None})
    assert (5000, 5000, None, None) == (whole.read, whole.cached, uncounted.read, uncounted.cached)
    assert 900 == _Tokens.parse({"prompt_tokens": 1000, "prompt_cache_hit_tokens": 900}).cached
    assert 1010 == _Tokens.parse({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 1110}).written
    assert _Tokens.parse({"prompt_tokens": 0, "completion_tokens": 0}).read is None


@pytest.mark.parametrize("reason", ["length", "model_length", "MAX_TOKENS"])
def test_names_of_a_text_that_was_cut_off(reason):
    """A text that ended at a limit is told by one name, whatever the server calls it."""
    assert "length" == _Choice.parse({"text": "a", "finish_reason": reason}).finish_reason


def test_thinking_in_the_sum_alone_beside_cached_tokens():
    """Grok counts thinking apart from the completion, also where a part of the prompt was cached."""
    usage = {
        "prompt_tokens": 10120,
        "completion_tokens": 1499,
        "total_tokens": 14428,
        "prompt_tokens_details": {"cached_tokens": 128},
        "completion_tokens_details": {"reasoning_tokens": 2809},
    }
    assert _Tokens(read=10120, written=4308, reasoning=2809, cached=128) == _Tokens.parse(usage)
    assert 14428 == _used_tokens({"usage": usage})
    # Without a count of thinking, cached tokens may be what is beyond the others.
    del usage["completion_tokens_details"]
    assert 1499 == _Tokens.parse(usage).written


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        ({"message": {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}}, "ab"),
        ({"message": {"content": "a", "reasoning": {"steps": 3}}}, "a"),
        ({"message": {"content": None, "reasoning": "hm"}, "finish_reason": "stop"}, ""),
    ],
)
def test_forms_of_a_message(choice, text):
    """Parts are one text, and thinking in an unknown form is left out."""
    assert not _is_unfinished(choice)
    assert text == _Choice.parse(choice).text


@pytest.mark.parametrize(
    "choice",
    [
        {"message": {"role": "assistant"}, "finish_reason": None},
        {"message": {"content": ""}, "finish_reason": "ERROR"},
        {"text": "", "finish_reason": None},
    ],
)
def test_a_choice_with_nothing_in_it_is_no_answer(choice):
    """A server that broke off is asked again."""
    assert _is_unfinished(choice)
