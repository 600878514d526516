"""The client of Anthropic's Messages API, against a server of our own that speaks its format."""

from __future__ import annotations

import pytest

from passcurve.errors import ModelError, RefusedError, TooLongError
from passcurve.models.anthropic import Anthropic
from passcurve.models.backend import SampleRequest, ServerSettings, Settings
from passcurve.types import Decoding, Message, Prompt


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
        made.append(Anthropic.open(model, settings))
        return made[-1]

    yield make
    for backend in made:
        backend.close()


@pytest.fixture
def conversation():
    """Return how to ask for samples of a conversation."""

    def make(*indices, system="", **decoding):
        first = (Message(role="system", content=system),) if system else ()
        prompt = Prompt(problem_id="p/0", messages=(*first, Message(role="user", content="write f")), stub="")
        return SampleRequest(prompt=prompt, decoding=Decoding(**decoding), indices=indices or (0,))

    return make


def test_a_message(client, server, conversation):
    """Text, thinking, tokens and reason come from where that API has them, one request for each sample."""
    replies = list(client(api_key="s3cret").generate(conversation(0, 1)))
    assert [0, 1] == [reply.key.sample_index for reply in replies]
    reply = replies[0]
    assert ("    return 0\n", "let me think", "stop", "tiny-coder-0") == (
        reply.text,
        reply.reasoning,
        reply.finish_reason,
        reply.server_model,
    )
    # All that was read, of which 16 came from the server's cache.
    assert (20, 7, 16, None) == (reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens, reply.seed)
    assert ("s3cret", "2023-06-01") == (server.headers[0]["x-api-key"], server.headers[0]["anthropic-version"])
    assert "authorization" not in server.headers[0]
    assert "/v1/messages" == server.requests[0]["path"]


def test_settings_are_sent(client, server, conversation):
    """Each setting has that API's name, and the system's words have a field of their own; no seed is sent."""
    request = conversation(system="be brief", temperature=0.5, top_p=0.9, max_tokens=9, stop=("\nclass",))
    list(client(extra_body={"top_k": 3}).generate(request))
    assert {
        "model": "tiny-coder",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "write f"}],
        "system": "be brief",
        "temperature": 0.5,
        "top_p": 0.9,
        "stop_sequences": ["\nclass"],
        "top_k": 3,
        "path": "/v1/messages",
    } == server.requests[0]


def test_a_null_in_the_extra_body_takes_a_field_away(client, server, conversation):
    """Newer models refuse a temperature, whatever it is."""
    list(client(extra_body={"temperature": None}).generate(conversation(temperature=0.8)))
    assert "temperature" not in server.requests[0]


@pytest.mark.parametrize(("fault", "reason"), [("cut off", "length"), ("filtered", "content_filter")])
def test_a_message_that_was_cut_off(client, server, conversation, fault, reason):
    """The end at the limit of tokens, or by a filter, is told as by any other back end."""
    server.fault = lambda number, body: fault
    (reply,) = client().generate(conversation())
    assert reason == reply.finish_reason


def test_a_message_with_nothing_in_it(client, server, conversation):
    """A message without a block is an empty text, not a failure: the model chose to say nothing."""
    server.fault = lambda number, body: "nothing said"
    (reply,) = client().generate(conversation())
    assert ("", "") == (reply.text, reply.reasoning)


@pytest.mark.parametrize("fault", ["529", "429", "500", "drop", "bad json", "broken off"])
def test_what_may_pass_is_tried_again(client, server, conversation, fault):
    """After an error that may pass, overload (529) among them, the request is sent again."""
    server.fault = lambda number, body: fault if number < 2 else ""
    (reply,) = client().generate(conversation())
    assert (3, "    return 0\n") == (reply.attempts, reply.text)


@pytest.mark.ci
def test_retry_after_is_honoured(client, server, conversation):
    """An overloaded server that names a time to wait is not asked before it has passed."""
    server.retry_after = "0.6"
    server.fault = lambda number, body: "529" if number == 0 else ""
    list(client().generate(conversation()))
    assert 0.6 <= server.at[1] - server.at[0] < 2.5


def test_a_server_that_stays_overloaded(client, server, conversation):
    """After the last retry the order fails with what the server said."""
    server.fault = lambda number, body: "529"
    with pytest.raises(ModelError, match=r"\b3 .*529: Overloaded"):
        list(client(max_retries=2).generate(conversation()))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("400", "400: top_p must be below 2"),
        ("401", "ANTHROPIC_API_KEY .401: wrong key"),
        ("404", "'tiny-code'.*'tiny-coder'"),
    ],
)
def test_a_refusal_is_final(client, server, conversation, fault, message):
    """What would be refused again is asked for once, and the message says what was refused, without the key."""
    server.fault = lambda number, body: fault
    with pytest.raises(RefusedError, match=message) as caught:
        list(client("tiny-code", api_key="s3cret", api_key_name="ANTHROPIC_API_KEY").generate(conversation()))
    assert 1 == len(server.requests)
    assert "s3cret" not in str(caught.value)


def test_a_prompt_that_is_too_long(client, server, conversation):
    """A full context is told as such, in that API's words."""
    server.fault = lambda number, body: "prompt too long"
    with pytest.raises(TooLongError, match="'p/0'"):
        list(client().generate(conversation()))


def test_a_run(shell, server, starter):
    """``run`` asks by a conversation without being told to, and a prompt to be continued is refused."""
    row = starter.problems["starter/0"]
    server.text = lambda body, choice: f"```python\n{row['prompt']}{row['canonical_solution']}```"
    words = ("run", "starter", "--model", "anthropic:tiny-coder", "--base-url", server.url, "--problems", 0, "-n", 2)
    done = shell(*words, "--json", ANTHROPIC_API_KEY="s3cret")
    assert (0, 2) == (done.code, done.record["statuses"]["passed"]), done.err
    assert "s3cret" == server.headers[0]["x-api-key"]
    other = shell(*words, "--prompt", "base", "--run", "r")
    assert (2, True) == (other.code, "--prompt chat" in other.err)
