"""The signature: one line with every setting that could change a score."""

from __future__ import annotations

import msgspec
import pytest

from passcurve.signature import signature
from passcurve.types import Decoding, Generation, Header, Jail, Limits

HEADER = Header(
    version="1.0",
    benchmark="starter",
    benchmark_digest="0123456789abcdef" * 4,
    samples="/a/samples.jsonl",
    limits=Limits(),
    verdict="auto",
    dedup=True,
    jail=Jail(isolation="full", layers=("rlimits", "seccomp"), python="3.11.7", packages=("numpy==2.0", "x==1")),
)

GENERATION = Generation(
    version="1.0",
    benchmark="starter",
    benchmark_digest=HEADER.benchmark_digest,
    model="openai:m",
    identity={"endpoint": "chat"},
    prompt="chat",
    prompt_digest="ab" * 32,
    decoding=Decoding(temperature=0.8, top_p=0.9, max_tokens=64, stop=("\ndef",), seed=3),
)


def change_header(**fields: object) -> Header:
    """Return the header with other fields; those of limits and jail are named ``limits__...``."""
    parts: dict[str, dict[str, object]] = {"": {}, "limits": {}, "jail": {}}
    for name, value in fields.items():
        part, _, inner = name.rpartition("__")
        parts[part][inner] = value
    return msgspec.structs.replace(
        HEADER,
        limits=msgspec.structs.replace(HEADER.limits, **parts["limits"]),
        jail=msgspec.structs.replace(HEADER.jail, **parts["jail"]),
        **parts[""],
    )


def test_the_whole_signature():
    """The signature is name:value pairs with bars between them, in a fixed order."""
    expected = (
        "benchmark:starter@0123456789ab|timeout:3s-own|memory:4GiB|extract:raw|verdict:auto|isolation:full|python:3.11.7|"
        "packages:numpy-2.0+x-1|seed:0|dedup:yes|passcurve:1.0"
    )
    assert expected == signature(HEADER)


@pytest.mark.parametrize(
    "fields",
    [
        {"version": "1.1"},
        {"benchmark": "other"},
        {"benchmark_digest": "f" * 64},
        {"limits__timeout_s": 3.5},
        {"limits__clock": "wall"},
        {"limits__memory_bytes": 2 << 30},
        {"verdict": "shared"},
        {"extract": "auto"},
        {"dedup": False},
        {"jail__isolation": "none"},
        {"jail__python": "3.12.0"},
        {"jail__packages": ()},
        {"problems": "starter/1*"},
        {"seed": 7},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_setting_that_could_change_a_score_changes_the_signature(fields):
    """Each setting that could change a verdict is in the signature."""
    assert signature(HEADER) != signature(change_header(**fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"model": "openai:n"},
        {"identity": {"endpoint": "chat", "extra_body": '{"top_k": 1}'}},
        {"identity": {}},
        {"prompt": "think"},
        {"prompt_digest": "cd" * 32},
        {"decoding": {"temperature": 0.7}},
        {"decoding": {"top_p": 0.8}},
        {"decoding": {"max_tokens": 65}},
        {"decoding": {"stop": ("\nclass",)}},
        {"decoding": {"stop": ()}},
        {"decoding": {"seed": 4}},
    ],
    ids=str,
)
def test_a_setting_of_the_model_changes_the_signature(fields):
    """Each setting that could change the texts of a model is in the signature."""
    decoding = msgspec.structs.replace(GENERATION.decoding, **fields.get("decoding", {}))
    changed = msgspec.structs.replace(GENERATION, **(fields | {"decoding": decoding}))
    one, other = (signature(msgspec.structs.replace(HEADER, generation=made)) for made in (GENERATION, changed))
    assert one != other


def test_the_path_of_the_samples_does_not_matter():
    """The signature does not depend on the path of the samples."""
    assert signature(HEADER) == signature(change_header(samples="/b/other.jsonl"))


def test_a_pattern_of_problems_is_in_the_signature():
    """A score over some of the problems has their pattern in its signature."""
    assert signature(change_header(problems="starter/1*")).endswith("|problems:starter/1*")


def test_no_packages():
    """A jail without packages has the value ``none``."""
    assert "|packages:none|" in signature(change_header(jail__packages=()))


def test_fractions_are_written_short():
    """Limits are written without needless digits."""
    line = signature(change_header(limits__timeout_s=0.25, limits__memory_bytes=768 << 20, limits__clock="wall"))
    assert "|timeout:0.25s-wall|memory:0.75GiB|" in line
