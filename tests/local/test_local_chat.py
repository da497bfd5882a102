"""A chat model in this process: `respond` and streams without a server, and states that turns share."""

from __future__ import annotations

from os import utime
from shutil import copytree
from threading import Thread
from weakref import ref

import pytest

import memoryos
from memoryos import load_settings
from memoryos.errors import InvalidInput, MissingExtra, ModelError, PromptTooLong
from memoryos.models.chosen_chat import chat_of
from memoryos.models.local.kept_states import KeptStates
from memoryos.models.local.llamacpp_state import LlamacppState
from memoryos.models.local.local_chat import LocalChat, RememberedGeneration, StatedChat
from memoryos.models.local.local_engine import Sampling
from memoryos.models.local.model_files import ModelFiles
from memoryos.models.local.unpacked_gguf import unpacked

PARTS = {"llm_max_tokens": 8, "local_threads": 1, "prompt_tokens": 256, "context_tokens": 64}
HELLO = [{"role": "user", "content": "I live in Oslo and I like tea."}]


@pytest.fixture(params=["transformers", "llamacpp"])
def settings(request, tiny_long):
    place = tiny_long if request.param == "transformers" else tiny_long.with_suffix(".gguf")
    return load_settings(llm_model=f"local:{place}", **PARTS)


def test_respond_runs_without_a_server(settings):
    with memoryos.open(":memory:", user="ann", settings=settings) as memory:
        answer = memory.respond("I live in Oslo and like tea.")
        assert answer.text
        assert answer.model == "local:tiny"
        assert answer.usage.prompt_tokens > answer.usage.completion_tokens > 0
        stream = memory.respond_stream("我住在哪里？")
        assert "".join(stream).strip() == stream.answer.text
        memory.wait()
        assert [page.text.split("\n")[0] for page in memory.pages.list()] == [
            "user: I live in Oslo and like tea.",
            "user: 我住在哪里？",
        ]
        (spent,) = memory.log.usage()
        assert (spent.model, spent.calls) == (settings.llm_model, 2)
        assert stream.answer.usage.cached_tokens > 0, "the instructions, whose state the first answer left"
        assert spent.cached_tokens == answer.usage.cached_tokens + stream.answer.usage.cached_tokens


def test_the_next_turn_computes_only_what_is_new(settings):
    chat = chat_of(settings)
    assert isinstance(chat, LocalChat)
    asked = [{"role": "system", "content": "You remember. " * 20}, {"role": "user", "content": "Where is Oslo?"}]
    first = chat.answer(asked)
    asked += [{"role": "assistant", "content": first.text}, {"role": "user", "content": "And Bergen?"}]
    second = chat.answer(asked)
    assert first.usage.cached_tokens == 0
    assert second.usage.cached_tokens >= first.usage.prompt_tokens - 1
    assert len(chat.states.keys) == 1  # the conversation has one, and not one for each turn
    alone = chat_of(settings)
    assert alone.answer(asked).text == second.text
    chat.close()
    assert chat.states.nbytes == 0


def test_conversations_that_begin_alike_keep_a_state_each(settings):
    chat = chat_of(settings)
    rules = {"role": "system", "content": "You remember."}
    first, second = ([rules, {"role": "user", "content": one * 20}] for one in ("Where is Oslo? ", "我住在哪里？"))
    chat.answer(first)
    assert chat.answer(second).usage.cached_tokens > 16
    assert len(chat.states.keys) == 2
    again = chat.answer(first).usage
    assert again.cached_tokens == again.prompt_tokens - 1


def test_an_answer_with_a_known_state_keeps_no_copy_of_it(settings):
    chat = chat_of(settings)
    rules = [{"role": "system", "content": "You remember. " * 4}]
    asked = [*rules, *HELLO]
    state = chat.engine.prefill(chat.engine.chat_tokens(rules, answers=False))
    known = StatedChat(chat, state)
    assert known.answer(asked).usage.cached_tokens == len(state.tokens)
    assert "".join(known.stream(asked))
    assert chat.states.keys == ()
    assert StatedChat(chat, None).answer(asked).usage.cached_tokens == 0
    assert StatedChat(chat, None).answer(asked).usage.cached_tokens > len(state.tokens)


def test_a_prompt_beyond_the_window_is_a_clear_error(settings):
    chat = chat_of(settings.model_copy(update={"local_window": 128}))
    with pytest.raises(PromptTooLong, match="the model's window 128"):
        chat.answer([{"role": "user", "content": "tea " * 300}])


def test_a_model_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidInput, match="no model at"):
        chat_of(load_settings(llm_model=f"local:{tmp_path / 'nothing'}"))
    with (
        pytest.raises(InvalidInput, match="no model at"),
        memoryos.open(":memory:", user="a", settings=load_settings(llm_model="local:/nowhere.gguf")) as memory,
    ):
        memory.respond("Hello?")


def test_a_model_that_vanishes_before_it_is_asked_is_an_error(tiny, tmp_path):
    copy = tmp_path / "gone.gguf"
    copy.write_bytes(tiny.with_suffix(".gguf").read_bytes())
    chat = chat_of(load_settings(llm_model=f"local:{copy}"))
    copy.unlink()
    with pytest.raises(InvalidInput, match="no model at"):
        chat.answer([{"role": "user", "content": "Hello?"}])


@pytest.mark.parametrize("runtime", ["llamacpp", "transformers"])
@pytest.mark.parametrize("count", [5, 21, 40, 1000])
def test_a_damaged_model_file_is_an_error(tiny, tmp_path, runtime, count):
    (tmp_path / "broken.gguf").write_bytes(tiny.with_suffix(".gguf").read_bytes()[:count])
    chat = chat_of(load_settings(llm_model=f"local:{tmp_path / 'broken.gguf'}", local_runtime=runtime))
    with pytest.raises(ModelError, match=r"cannot load|local model"):
        chat.answer([{"role": "user", "content": "Hello?"}])


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("model.safetensors", "no tensors"),
        ("config.json", "[]"),
        ("config.json", '{"model_type": "unknown"}'),
        ("config.json", '{"model_type": "llama", "hidden_size": "x"}'),
        ("tokenizer.json", "{}"),
        ("tokenizer.json", "no data"),
        ("tokenizer_config.json", "[]"),
    ],
)
def test_a_damaged_folder_is_an_error(tiny, tmp_path, file, content):
    copy = copytree(tiny, tmp_path / "damaged")
    (copy / file).write_text(content)
    with pytest.raises(ModelError, match="local model"):
        chat_of(load_settings(llm_model=f"local:{copy}")).answer(HELLO)


def test_a_file_that_cannot_be_read_is_an_error(tiny, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("memoryos.models.local.fingerprint.file_digest", refuse)
    for place in (tiny, tiny.with_suffix(".gguf")):
        chat = chat_of(load_settings(llm_model=f"local:{place}", local_window=64))
        with pytest.raises(ModelError, match="cannot be read"):
            chat.answer(HELLO)


def test_a_template_that_refuses_the_messages_is_an_error(tiny, tmp_path):
    copy = copytree(tiny, tmp_path / "strict")
    (copy / "chat_template.jinja").write_text("{{ raise_exception('roles must alternate') }}")
    with pytest.raises(ModelError, match="roles must alternate"):
        chat_of(load_settings(llm_model=f"local:{copy}")).answer(HELLO)


def test_weights_that_the_fingerprint_does_not_have_are_refused(tiny, tmp_path):
    copy = copytree(tiny, tmp_path / "pickled")
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    with pytest.raises(InvalidInput, match=r"no \*\.safetensors"):
        chat_of(load_settings(llm_model=f"local:{copy}"))


def test_the_fingerprint_has_all_parts_of_a_model(tmp_path):
    first, second = (tmp_path / f"a[1]-0000{one}-of-00002.gguf" for one in (1, 2))
    first.write_text("first")
    with pytest.raises(InvalidInput, match=r"a\[1\]-00002-of-00002.gguf is missing"):
        ModelFiles.named(f"local:{first}")
    second.write_text("second")
    assert ModelFiles.named(f"local:{first}").weights == [first, second]
    for name in ("b-1-of-2.gguf", "b-00001-of-00000.gguf"):
        (tmp_path / name).write_text("whole")
        assert ModelFiles.named(f"local:{tmp_path / name}").weights == [tmp_path / name]


def test_what_a_killed_process_left_in_the_cache_is_removed(tiny, tmp_path):
    left, under_way = tmp_path / "unpacking-left", tmp_path / "unpacking-now"
    for draft in (left, under_way):
        draft.mkdir()
        (draft / "model.safetensors").write_text("half of it")
    utime(left, (0, 0))
    whole = unpacked(ModelFiles(tiny.with_suffix(".gguf")), tmp_path)
    assert set(tmp_path.iterdir()) == {whole, under_way}


def test_a_missing_extra_is_named(tiny, monkeypatch):
    monkeypatch.setattr("memoryos.models.local.opened_engines.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"memoryos-engine\[local\]"):
        chat_of(load_settings(llm_model=f"local:{tiny}"))


def test_the_short_variable_names_the_model(monkeypatch):
    monkeypatch.setenv("MEMORYOS_LLM", "local:")
    assert load_settings().llm_model == "local:"
    monkeypatch.setenv("MEMORYOS_LLM_MODEL", "other")
    assert load_settings().llm_model == "other"


class _State:
    def __init__(self, tokens, nbytes=10):
        self.tokens, self.nbytes, self.adapters = tuple(tokens), nbytes, ()


def test_states_give_way_when_there_are_too_many_bytes():
    kept = KeptStates(25)
    for key in "abc":
        kept.keep(key, _State(range(30)))
    assert kept.keys == ("b", "c")
    assert kept.get("b") is not None
    kept.keep("d", _State(range(30)))
    assert kept.keys == ("b", "d")
    kept.keep("large", _State(range(30), 26))
    assert kept.keys == ("b", "d")
    kept.drop("b", "unknown")
    assert (kept.keys, kept.nbytes) == (("d",), 10)


def test_the_nearest_state_has_most_of_the_prompt():
    kept = KeptStates(100)
    kept.keep("short", _State(range(20)))
    kept.keep("long", _State([*range(40), 99]))
    kept.keep("other", _State(range(5, 40)))
    assert kept.nearest(range(60))[0] == "long"
    assert kept.nearest(range(10)) is None
    assert KeptStates(10).nearest(range(60)) is None


def test_a_state_is_near_for_its_own_user_alone():
    kept = KeptStates(100)
    kept.keep("ann's", _State(range(40)), asker=("acme", "ann"))
    assert kept.nearest(range(60), ("acme", "ann"))[0] == "ann's"
    assert [kept.nearest(range(60), one) for one in (("acme", "bob"), ("other", "ann"), None)] == [None] * 3


def test_no_user_learns_how_the_prompt_of_another_began(tiny_long):
    settings = load_settings(llm_model=f"local:{tiny_long}", **PARTS)
    with memoryos.MemoryOS.open(":memory:", settings=settings) as store:
        secret = "I live in Oslo and my code is 4711."
        spared = {}
        for tenant, user in (("a", "ann"), ("a", "bob"), ("b", "ann"), ("a", "ann")):
            memory = store.memory(user, tenant=tenant)
            spared[tenant, user] = memory.respond(secret).usage.cached_tokens
            assert "".join(memory.respond_stream(secret))
            memory.wait()
    assert spared["a", "bob"] == spared["b", "ann"] == 0 < spared["a", "ann"]


def test_an_answer_stays_if_its_state_cannot_be_saved(tiny_long, monkeypatch):
    chat = chat_of(load_settings(llm_model=f"local:{tiny_long.with_suffix('.gguf')}", **PARTS))
    text = chat.answer(HELLO).text
    chat.states.clear()

    def refuse(name):
        raise OSError(28, "No space left on device", name)

    with monkeypatch.context() as patched:
        patched.setattr("os.memfd_create", refuse)
        assert chat.answer(HELLO).text == text
        with pytest.raises(ModelError, match="No space left"):
            chat.engine.prefill([5, 6, 7])
    monkeypatch.setattr(type(chat.engine), "has_states", False)  # as off Linux
    assert chat.answer(HELLO).text == text
    assert chat.states.keys == ()


def test_an_answer_under_way_keeps_nothing_that_was_erased(settings):
    chat = chat_of(settings)
    told = chat.ask(HELLO)
    next(told)
    chat.states.clear()
    assert "".join(told)
    assert chat.states.keys == ()
    assert chat.answer(HELLO).usage.cached_tokens == 0
    assert len(chat.states.keys) == 1


def test_llamacpp_forgets_its_last_prompt(tiny_long):
    chat = chat_of(load_settings(llm_model=f"local:{tiny_long.with_suffix('.gguf')}", **PARTS))
    chat.answer(HELLO)
    server = chat.engine.server
    assert len(LlamacppState.of(server.saved(), ()).tokens) > 16
    chat.states.clear()
    assert LlamacppState.of(server.saved(), ()).tokens == ()
    told = chat.engine.generate(chat.engine.chat_tokens(HELLO), sampling=Sampling(64))
    next(told)
    chat.states.clear()  # waits for nobody
    assert "".join(told)
    assert told.state is None
    assert LlamacppState.of(server.saved(), ()).tokens == ()


def test_an_engine_keeps_no_generation(engine):
    told = engine.generate(engine.chat_tokens(HELLO), sampling=Sampling(4))
    "".join(told)
    alive = ref(told)
    del told
    assert alive() is None


def test_an_answer_of_llamacpp_that_fails_ends(tiny_long, monkeypatch):
    chat = chat_of(load_settings(llm_model=f"local:{tiny_long.with_suffix('.gguf')}", **PARTS))
    told = chat.ask(HELLO)
    monkeypatch.setattr(chat.engine.server, "complete", {}.__getitem__)
    caught = []

    def read():
        try:
            next(told)
        except ModelError as error:
            caught.append(str(error))

    reader = Thread(target=read, daemon=True)
    reader.start()
    reader.join(60)
    assert caught == ["llama.cpp failed: TypeError"]


def test_without_memory_for_states_none_is_copied(settings):
    chat = chat_of(settings.model_copy(update={"local_state_mb": 0}))
    told = chat.ask(HELLO)
    assert "".join(told)
    assert not isinstance(told, RememberedGeneration)
    assert chat.answer(HELLO).usage.cached_tokens == 0
