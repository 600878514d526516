"""Models in this process: each sample is a draw of its own from the model's chances, whatever stands beside it."""

from __future__ import annotations

import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import tiny_models

from passcurve.errors import ModelError, RefusedError, TooLongError, UsageError
from passcurve.models.backend import SampleRequest, Settings
from passcurve.models.hf import HuggingFace
from passcurve.models.sampling import decode_continuation
from passcurve.types import Decoding, Message, Prompt

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("default")]

PROMPTS = [function.prompt for function in tiny_models.functions(4, seed=99)]


@pytest.fixture(scope="session")
def t5(llama, tmp_path_factory):
    """Return the folder of an encoder-decoder."""
    folder = tmp_path_factory.mktemp("t5")
    tiny_models.make_t5(folder)
    return folder


@pytest.fixture
def loaded():
    """Return how to open a model."""
    made = []

    def make(folder, style="base", concurrency=8, extra_body=None, **options):
        options = {name.replace("_", "-"): value for name, value in ({"threads": "1"} | options).items()}
        settings = Settings(style=style, concurrency=concurrency, extra_body=extra_body or {}, options=options)
        made.append(HuggingFace.open(str(folder), settings))
        return made[-1]

    yield make
    for backend in made:
        backend.close()


def ask(backend, count=4, prompt=0, *, in_one_request=True, **decoding):
    """Return the replies for samples of a prompt, asked for in one order or in one for each, one after another."""
    decoding = Decoding(**({"temperature": 0.8, "max_tokens": 16} | decoding))
    shown = Prompt(problem_id=f"p/{prompt}", text=PROMPTS[prompt], stub=PROMPTS[prompt])
    orders = [tuple(range(count))] if in_one_request else [(index,) for index in range(count)]
    return [
        reply
        for indices in orders
        for reply in backend.generate(SampleRequest(prompt=shown, decoding=decoding, indices=indices))
    ]


def texts(replies):
    """Return their texts."""
    return [reply.text for reply in replies]


def at_once(backend, count=4, **decoding):
    """Return the texts of each prompt, all prompts asked for at the same time."""
    with ThreadPoolExecutor(len(PROMPTS)) as pool:
        return list(pool.map(lambda at: texts(ask(backend, count, at, **decoding)), range(len(PROMPTS))))


def direct(folder, prompts, **words):
    """Return what transformers itself writes for prompts, without us."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    config = transformers.AutoConfig.from_pretrained(folder)
    of = transformers.AutoModelForSeq2SeqLM if config.is_encoder_decoder else transformers.AutoModelForCausalLM
    model = of.from_pretrained(folder).eval()
    written = []
    for prompt in prompts:
        inputs = tokenizer(prompt, return_tensors="pt", return_token_type_ids=False)
        with torch.inference_mode():
            rows = model.generate(**inputs, **words)
        start = 1 if config.is_encoder_decoder else inputs["input_ids"].shape[1]
        written.append(tokenizer.decode(rows[0, start:], skip_special_tokens=True))
    return written


def test_a_sample_does_not_depend_on_its_batch(llama, loaded):
    """Alone, in a batch, among other problems, on one copy of two: a sample is drawn by its own seed."""
    alone = [texts(ask(loaded(llama, batch="1"), prompt=number, in_one_request=False)) for number in range(4)]
    assert len(set(alone[0])) > 1
    assert alone == at_once(loaded(llama, concurrency=16))
    assert alone == at_once(loaded(llama, device="cpu,cpu", batch="3"))


def test_draws_have_the_chances_of_the_model(llama, loaded):
    """The first tokens of many samples have the frequencies of softmax(logits / temperature), cut at top-p."""
    import torch
    import transformers
    from scipy import stats

    tokenizer = transformers.AutoTokenizer.from_pretrained(llama)
    model = transformers.AutoModelForCausalLM.from_pretrained(llama).eval()
    with torch.inference_mode():
        ids = tokenizer(PROMPTS[0] + "    return", return_tensors="pt", return_token_type_ids=False)
        logits = model(**ids).logits[0, -1].double()
    chances = torch.softmax(logits / 1.5, -1).numpy()
    top = 0.9
    order = chances.argsort()[::-1]
    # The smallest set of the likeliest tokens whose chances reach top-p.
    kept = order[: int((chances[order].cumsum() < top).sum()) + 1]
    expected = {}
    for token in kept:
        text = tokenizer.decode([token], skip_special_tokens=True)
        expected[text] = expected.get(text, 0.0) + chances[token] / chances[kept].sum()
    shown = Prompt(problem_id="p", text=PROMPTS[0] + "    return", stub="")
    decoding = Decoding(temperature=1.5, top_p=top, max_tokens=1, seed=3)
    backend = loaded(llama, batch="500")
    drawn = texts(backend.generate(SampleRequest(prompt=shown, decoding=decoding, indices=tuple(range(2000)))))
    assert set(drawn) <= set(expected)
    counts = [drawn.count(text) for text in expected]
    assert 2000 == sum(counts)
    assert stats.chisquare(counts, [2000 * chance for chance in expected.values()]).pvalue > 1e-4


def test_temperature_0_is_what_transformers_writes(llama, loaded):
    """Without noise each sample is the greedy text, in a batch with prompts of other lengths."""
    expected = direct(llama, PROMPTS, do_sample=False, max_new_tokens=16)
    backend = loaded(llama)
    assert expected == [texts(ask(backend, 1, number, temperature=0.0))[0] for number in range(4)]
    assert expected[0] * 2 == "".join(texts(ask(backend, 2, 0, temperature=0.0)))


def test_a_text_ends_with_its_mark_its_stop_word_or_its_limit(llama, loaded):
    """The reason says which, and the tokens are those that were written."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(llama)
    backend = loaded(llama)
    (whole,) = ask(backend, 1, temperature=0.0)
    assert ("stop", "\n") == (whole.finish_reason, whole.text[-1])
    assert len(tokenizer(whole.text, add_special_tokens=False)["input_ids"]) + 1 == whole.completion_tokens
    assert len(tokenizer(PROMPTS[0])["input_ids"]) == whole.prompt_tokens
    (stopped,) = ask(backend, 1, temperature=0.0, stop=("return",))
    assert ("stop", True) == (stopped.finish_reason, stopped.completion_tokens < whole.completion_tokens)
    assert whole.text.startswith(stopped.text)
    assert stopped.text.endswith("return")
    (cut,) = ask(backend, 1, temperature=0.0, max_tokens=3)
    assert ("length", 3) == (cut.finish_reason, cut.completion_tokens)


def test_a_stop_word_does_not_begin_in_the_prompt(llama, loaded):
    """A word that only prompt and text together have ends nothing."""
    (reply,) = ask(loaded(llama), 1, temperature=0.0, stop=('"""\n    return',))
    assert "return" in reply.text


def test_a_context_that_is_too_short(llama, loaded):
    """Prompt and answer that do not fit are told before anything is written."""
    with pytest.raises(TooLongError, match=r"'p/0'.* 256\b.*--max-tokens"):
        ask(loaded(llama), max_tokens=250)


def test_a_conversation(llama, loaded):
    """Messages go through the model's own template, which is part of its identity."""
    backend = loaded(llama, style="chat")
    messages = (Message(role="user", content=tiny_models.BOS + PROMPTS[0]),)
    request = SampleRequest(
        prompt=Prompt(problem_id="p", messages=messages, stub=""),
        decoding=Decoding(temperature=0.0, max_tokens=16),
        indices=(0,),
    )
    (reply,) = backend.generate(request)
    assert texts(ask(loaded(llama), 1, temperature=0.0)) == [reply.text]
    assert "chat_template" in backend.identity


def test_a_model_without_a_template(t5, loaded):
    """A conversation with a model that knows none is refused when it is opened."""
    with pytest.raises(UsageError, match=r"template.*--prompt base"):
        loaded(t5, style="chat")


def test_an_encoder_decoder(t5, loaded):
    """The encoder reads the prompt, and the decoder writes what transformers has it write, in a batch too."""
    expected = direct(t5, PROMPTS, do_sample=False, max_new_tokens=12)
    assert len(set(expected)) > 1
    backend = loaded(t5)
    assert expected == [texts(ask(backend, 1, number, temperature=0.0, max_tokens=12))[0] for number in range(4)]
    assert 1 < len(set(texts(ask(backend, 6, max_tokens=12))))


def test_a_decoder_that_goes_on_with_the_prompt(t5, loaded):
    """With ``decoder-prompt`` the decoder has written the prompt already, however long the others in the batch are."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(t5)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(t5).eval()
    expected = []
    for prompt in PROMPTS:
        ids = tokenizer(prompt)["input_ids"]
        begin = torch.tensor([[0, *ids]])
        with torch.inference_mode():
            rows = model.generate(
                input_ids=torch.tensor([ids]), decoder_input_ids=begin, do_sample=False, max_new_tokens=12
            )
        expected.append(decode_continuation(tokenizer, ids, [t for t in rows[0, len(ids) + 1 :].tolist() if t != 2]))
    backend = loaded(t5, decoder_prompt="yes", batch="4")
    written = at_once(backend, 1, temperature=0.0, max_tokens=12)
    assert expected == [text for (text,) in written]


def test_a_space_at_the_begin_is_kept():
    """A tokenizer that drops the space before the first word of a text does not take one from an indentation."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    inner = tokenizers.Tokenizer(tokenizers.models.BPE())
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(prepend_scheme="first")
    inner.decoder = tokenizers.decoders.Metaspace(prepend_scheme="first")
    inner.train_from_iterator(
        ["def f():\n    return 1\n"] * 3, tokenizers.trainers.BpeTrainer(vocab_size=60, show_progress=False)
    )
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner)
    before, whole = (tokenizer(text)["input_ids"] for text in ("def f():\n", "def f():\n    return 1\n"))
    assert before == whole[: len(before)]
    assert "   return 1\n" == tokenizer.decode(whole[len(before) :])
    assert "    return 1\n" == decode_continuation(tokenizer, before, whole[len(before) :])


def test_a_type_of_numbers_may_be_asked_for(llama, loaded):
    """bfloat16 is used where it is asked for, and is part of the identity; on a processor the default is float32."""
    backend = loaded(llama, dtype="bf16")
    assert "bfloat16" == backend.identity["dtype"]
    assert "return" in texts(ask(backend, 1, temperature=0.0))[0]
    assert "float32" == loaded(llama, device="cpu").identity["dtype"]


def test_other_weights_have_another_identity(llama, loaded, tmp_path):
    """The identity follows the weights, not the folder."""
    copy = tmp_path / "copy"
    shutil.copytree(llama, copy)
    before = loaded(llama).identity["weights"]
    assert before == loaded(copy).identity["weights"]
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copy / "model.safetensors").write_bytes(weights)
    assert before != loaded(copy).identity["weights"]


def test_settings_of_transformers(llama, loaded):
    """``--extra-body`` sets what narrows the chances, which is part of the identity; a wrong name is told."""
    backend = loaded(llama, extra_body={"top_k": 1})
    assert "1" == backend.identity["top_k"]
    assert 1 == len(set(texts(ask(backend, 6))))
    with pytest.raises(UsageError, match=r"'top_kk'.*'top_k'"):
        loaded(llama, extra_body={"top_kk": 1})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "bfloat61"}, "dtype='bfloat61' .*auto, .*'bfloat16'"),
        ({"device": "cuda:7"}, "device='cuda:7'"),
        ({"device": ","}, "is empty"),
        ({"batch": "0"}, "batch='0'"),
        ({"decoder_prompt": "yes"}, "encoder.*decoder-prompt"),
        ({"trust_remote_code": "maybe"}, "'maybe'"),
    ],
)
def test_options_that_mean_nothing(llama, loaded, options, message):
    """What cannot be had is told in a line."""
    with pytest.raises(UsageError, match=message):
        loaded(llama, **options)


def test_a_model_that_is_not_there(llama, loaded, tmp_path, monkeypatch):
    """A folder that is none, and one without a model, are told with their name."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(RefusedError, match="'/no/such'"):
        loaded("/no/such")
    with pytest.raises(RefusedError, match=f"'{tmp_path}'"):
        loaded(tmp_path)


def test_closing_ends_a_batch(llama, loaded):
    """Who waits for a long text is let go at once when the run ends."""
    backend = loaded(llama, extra_body={"eos_token_id": 383})
    caught = []

    def wait():
        try:
            ask(backend, 64, max_tokens=220)
        except ModelError as error:
            caught.append(str(error))

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.1)
    began = time.monotonic()
    backend.close()
    thread.join(10)
    assert ["the run has ended"] == caught
    assert time.monotonic() - began < 5.0
