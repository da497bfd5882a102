"""Streams of many readers at once: slow ones, idle ones, cancelled ones, and ones that a signal ends."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
import time
from contextlib import aclosing

import pytest

import forked
import memoryos
from memoryos import Action, AnswerStream, AsyncAnswerStream, AsyncMemory, Caller, MemoryOS, load_settings
from memoryos.errors import BudgetSpent, ModelError, PermissionDenied, Refused
from memoryos.infrastructure.vault.key_part import KeyPart
from memoryos.models.flow import Flow
from memoryos.operation.answer import answer_stream

from .scripted_model import Reply, says

SOON = 60.0  # seconds: a test that takes longer hangs
LONG = 20.0  # seconds that the model is silent: nobody may wait for it
STORY = ("Once ", "upon ", "a time.")


@pytest.fixture
def opened(tmp_path, settings):
    """opened(...): a memory with other settings."""
    memories = []

    def make(**changes):
        values = settings.model_dump(exclude_unset=True) | {"llm_timeout_seconds": 25} | changes
        memories.append(memoryos.open(tmp_path / "m.db", user="tom", settings=load_settings(**values)))
        return memories[-1]

    yield make
    for memory in memories:
        memory.close()


def run(talk):
    """What the coroutine returns; it must not hang."""
    return asyncio.run(asyncio.wait_for(talk, SOON))


async def read(memory, number=0, pause=0.0):
    """The pieces of an answer, taken one by one."""
    pieces = []
    async for piece in memory.respond_stream(f"Tell me story number {number}."):
        pieces.append(piece)
        await asyncio.sleep(pause)
    return pieces


def answers(memory):
    """The stories that are stored."""
    memory.wait()
    return [page.text for page in memory.pages.list() if "story number" in page.text]


def streaming():
    return [thread for thread in threading.enumerate() if thread.name == "memoryos-stream"]


def until(is_so):
    """Return when it is so, and fail when it never is."""
    end = time.monotonic() + SOON
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("at_once", [1, 4])
def test_ten_at_once_all_end(opened, model, at_once):
    model.otherwise = lambda _: says(*STORY)
    memory = opened(llm_concurrency=at_once)

    async def talk():
        both = AsyncMemory(memory)
        return await asyncio.gather(*[read(both, number) for number in range(10)])

    assert run(talk()) == [list(STORY)] * 10
    assert len(answers(memory)) == 10


@pytest.mark.once
def test_very_many_at_once_all_end(opened, model, long):
    model.otherwise = lambda _: says(*STORY)
    memory, readers = opened(), 200 if long else 40  # many more than there are threads

    async def talk():
        both = AsyncMemory(memory)
        return await asyncio.gather(*[read(both, number, pause=0.01) for number in range(readers)])

    assert run(talk()) == [list(STORY)] * readers
    assert len(answers(memory)) == readers


@pytest.mark.once
def test_very_many_idle_readers_hold_no_thread_and_keep_nobody_waiting(opened, model, long):
    model.otherwise = lambda _: says(*STORY)
    memory, readers = opened(llm_concurrency=2), 200 if long else 50

    async def talk():
        both = AsyncMemory(memory)
        idle = [both.respond_stream(f"Tell me story number {number}.") for number in range(readers)]
        begun = await asyncio.gather(*[anext(stream) for stream in idle])
        while streaming():
            await asyncio.sleep(0.01)
        other = (await both.respond("Are you there?")).text
        for stream in idle:
            await stream.aclose()
        return begun, other

    begun, other = run(talk())
    assert begun == [STORY[0]] * readers
    assert other == "".join(STORY)
    assert answers(memory) == []


def test_a_thread_may_stop_in_the_middle_and_ask_something_else(opened, model):
    model.will(says(*STORY), says("I am here."))
    memory = opened(llm_concurrency=1)
    story = memory.respond_stream("Tell me story number 1.")
    assert next(story) == STORY[0]
    assert memory.respond("Are you there?").text == "I am here."
    assert list(story) == list(STORY[1:])
    assert len(answers(memory)) == 1


def test_a_reader_may_take_longer_than_the_model_may(opened, model):
    model.will(says(*STORY))
    memory = opened(llm_timeout_seconds=1)
    pieces = []
    for piece in memory.respond_stream("Tell me story number 1."):
        pieces.append(piece)
        time.sleep(0.6)
    assert pieces == list(STORY)
    assert len(answers(memory)) == 1


def test_a_cancelled_reader_leaves_room_at_once_and_nothing_stored(opened, model):
    model.will(Reply(STORY, delay_seconds=LONG), says("I am here."))
    memory = opened(llm_concurrency=1)

    async def talk():
        both = AsyncMemory(memory)
        task = asyncio.create_task(read(both))
        while not model.requests:
            await asyncio.sleep(0.01)
        begin = time.monotonic()
        task.cancel()
        text = (await both.respond("Are you there?")).text
        assert task.cancelled()
        return text, time.monotonic() - begin

    text, seconds = run(talk())
    assert text == "I am here."
    assert seconds < 0.9 * LONG
    assert answers(memory) == []


@pytest.mark.once
def test_those_that_wait_may_be_cancelled_and_the_others_end(opened, model):
    model.otherwise = lambda _: Reply(STORY, delay_seconds=0.05)
    memory = opened(llm_concurrency=1)

    async def talk():
        both = AsyncMemory(memory)
        tasks = [asyncio.create_task(read(both, number)) for number in range(40)]
        while not model.requests:
            await asyncio.sleep(0.01)
        for task in tasks[10:]:
            task.cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    ended = run(talk())
    assert ended[:10] == [list(STORY)] * 10
    assert all(isinstance(one, asyncio.CancelledError) for one in ended[10:])
    assert len(answers(memory)) == 10
    assert len(model.requests) < 40


@pytest.mark.once
def test_a_stream_that_nobody_holds_any_more_ends(opened, model):
    model.will(Reply(STORY, delay_seconds=LONG))
    memory = opened(llm_concurrency=1)

    async def talk():
        async with aclosing(AsyncMemory(memory).respond_stream("Tell me story number 1.")) as stream:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(stream), 0.3)

    begin = time.monotonic()
    run(talk())
    until(lambda: not streaming())
    assert time.monotonic() - begin < 0.9 * LONG


@pytest.mark.once
def test_what_was_never_read_asks_nobody(opened, model):
    memory = opened()
    memory.respond_stream("Tell me story number 1.")
    assert streaming() == []
    assert model.requests == []


def test_closing_the_memory_ends_a_stream_with_an_error(opened, model):
    model.will(Reply(STORY, delay_seconds=LONG))
    memory = opened()
    stream = memory.respond_stream("Tell me story number 1.")
    errors = []

    def listen():
        try:
            next(stream)
        except ModelError as error:
            errors.append(str(error))

    reader = threading.Thread(target=listen)
    reader.start()
    until(lambda: model.requests)
    begin = time.monotonic()
    memory.close()
    reader.join(SOON)
    assert time.monotonic() - begin < 0.9 * LONG
    assert errors == ["the memory was closed before the answer was complete; nothing was stored"]


@pytest.mark.once
def test_an_error_comes_once_and_then_the_end(opened, model):
    model.will(Reply(STORY, resets_after=1))
    stream = opened(llm_retries=0).respond_stream("Tell me story number 1.")
    with pytest.raises(ModelError, match="nothing was stored"):
        list(stream)
    assert list(stream) == []


@pytest.mark.once
def test_a_spent_budget_is_told_to_the_reader(opened, model):
    memory = opened(llm_tokens_per_day=10)
    with pytest.raises(BudgetSpent):
        next(memory.respond_stream("Tell me story number 1."))
    assert model.requests == []


@pytest.mark.once
def test_a_stream_that_was_left_is_paid_for_as_far_as_it_went(opened, model):
    model.will(says(*STORY))
    memory = opened()
    stream = memory.respond_stream("Tell me story number 1.")
    next(stream)
    until(lambda: not streaming())
    stream.close()
    (spent,) = memory.log.usage()
    assert (spent.calls, spent.completion_tokens) == (1, 5)


READS = """
import asyncio, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell may have had us ignore
import memoryos
from memoryos import AsyncMemory
def here(piece):
    print(piece, flush=True)
def threaded(memory):
    for piece in memory.respond_stream("Tell me story number 1."):
        here(piece)
async def awaited(memory):
    async for piece in AsyncMemory(memory).respond_stream("Tell me story number 1."):
        here(piece)
with memoryos.open(sys.argv[1], user="tom") as memory:
    memory.add("My boat is called Aurora.", "A fine name.")
    here("begun")
    asyncio.run(awaited(memory)) if sys.argv[2] == "awaited" else threaded(memory)
"""


@pytest.mark.file
@pytest.mark.parametrize("way", ["threaded", "awaited"])
def test_a_stop_signal_in_mid_stream_ends_the_program_and_harms_nothing(tmp_path, model, way):
    model.will(Reply(STORY, delay_seconds=LONG))
    wanted = {"MEMORYOS_EMBEDDER": "hashing", "MEMORYOS_LLM_MODEL": "m", "MEMORYOS_LLM_BASE_URL": model.url}
    command = [forked.executable(), "-c", READS, str(tmp_path / "m.db"), way]
    with subprocess.Popen(command, env={**os.environ, **wanted}, stdout=-1, stderr=-1, text=True) as program:
        assert program.stdout.readline() == "begun\n"
        until(lambda: model.requests)
        begin = time.monotonic()
        program.send_signal(signal.SIGINT)
        _, told = program.communicate(timeout=SOON)
    assert time.monotonic() - begin < 0.9 * LONG
    assert told.strip().endswith("KeyboardInterrupt")
    with memoryos.open(tmp_path / "m.db", user="tom", settings=load_settings(embedder="hashing")) as memory:
        assert [page.text for page in memory.pages.list()] == [
            "user: My boat is called Aurora.\nassistant: A fine name."
        ]
        memory.add("It is white.", "I see.")


@pytest.mark.once
@pytest.mark.parametrize("seconds", [0.0, answer_stream.CHECK_AFTER])
def test_a_revoked_key_gets_no_more_and_stores_nothing(tmp_path, settings, model, monkeypatch, seconds):
    """The next piece after a second is refused, and the end in any case."""
    model.otherwise = lambda _: says(*STORY)
    monkeypatch.setattr(answer_stream, "CHECK_AFTER", seconds)
    with MemoryOS.open(tmp_path / "keys.db", settings=settings) as store:
        made = [store.keys.create("tom") for _ in range(2)]
        first, second = (store.memory("tom", caller=store.keys.caller(one.key)) for one in made)
        stream, got = first.respond_stream("Tell me a story."), []
        got.append(next(stream))
        store.keys.revoke(made[0].info.id)
        with pytest.raises(PermissionDenied, match="with its key"):
            got.extend(stream)
        assert got == list(STORY)[: 3 if seconds else 1]

        async def talk():
            read = []
            with pytest.raises(PermissionDenied, match="with its key"):
                async for piece in second.respond_stream("Tell me a story."):
                    read.append(piece)
                    store.keys.revoke(made[1].info.id)
            return read

        assert run(talk()) == got
        store.wait()
        assert store.memory("tom").pages.count() == 0


@pytest.mark.once
def test_a_stream_that_ends_because_its_key_was_revoked_is_noted(tmp_path, settings, model):
    model.otherwise = lambda _: says(*STORY)
    audited = settings.model_copy(update={"audit": True})
    with MemoryOS.open(tmp_path / "keys.db", settings=audited) as store:
        made = store.keys.create("李")
        stream = store.memory("tom", caller=store.keys.caller(made.key)).respond_stream("Tell me a story.")
        next(stream)
        store.keys.revoke(made.info.id)
        with pytest.raises(PermissionDenied):
            list(stream)
        (refused,) = store.audit.list(decision="refused")
        assert (refused.operation, refused.caller, refused.action) == ("memory.respond_stream", "李", "read")
        assert (refused.reason, refused.scope.user) == ("PermissionDenied", "tom")


@pytest.mark.once
def test_a_loop_goes_on_while_a_key_is_looked_up(tmp_path, settings, model, monkeypatch):
    """Also after the last piece, when the store was read in the loop."""
    model.otherwise = lambda _: says(*STORY)
    find, went_on = KeyPart.find, []
    with MemoryOS.open(tmp_path / "keys.db", settings=settings) as store:
        memory = store.memory("tom", caller=store.keys.caller(store.keys.create("tom").key))

        async def talk():
            loop, stream = asyncio.get_running_loop(), memory.respond_stream("Tell me a story.")

            def found(keys, key_id):
                turned = threading.Event()
                loop.call_soon_threadsafe(turned.set)
                went_on.append(turned.wait(SOON))
                return find(keys, key_id)

            with monkeypatch.context() as patched:
                patched.setattr(KeyPart, "find", found)
                pieces = [piece async for piece in stream]
                await asyncio.to_thread(store.wait)
                return pieces

        assert run(talk()) == list(STORY)
    assert went_on
    assert all(went_on)


@pytest.mark.once
def test_an_answer_that_is_closed_while_its_key_is_looked_up_is_not_stored(tmp_path, settings, model, monkeypatch):
    model.otherwise = lambda _: says(*STORY)
    find = KeyPart.find
    with MemoryOS.open(tmp_path / "keys.db", settings=settings) as store:
        memory = store.memory("tom", caller=store.keys.caller(store.keys.create("tom").key))
        stream = memory.respond_stream("Tell me a story.")

        def found(keys, key_id):
            stream.close()
            return find(keys, key_id)

        with monkeypatch.context() as patched:
            patched.setattr(KeyPart, "find", found)
            patched.setattr(answer_stream, "CHECK_AFTER", SOON * SOON)
            assert list(stream) == list(STORY)
        assert stream.answer is None
        store.wait()
        assert memory.pages.count() == 0


def spoken(flow):
    for piece in STORY:
        flow.put(piece)
    flow.end()


@pytest.mark.once
def test_a_second_thread_is_refused_while_one_waits_for_a_piece():
    flow, heard = Flow(), []
    stream = AnswerStream(lambda: flow, lambda text: text)
    first = threading.Thread(target=lambda: heard.extend(stream), daemon=True)
    first.start()
    until(lambda: flow._wanted is not None)
    teller = threading.Timer(SOON / 4, spoken, [flow])  # should the second wait, it does not wait for ever
    teller.start()
    with pytest.raises(Refused, match="read by another thread or task"):
        next(stream)
    teller.cancel()
    spoken(flow)
    first.join(SOON)
    assert (tuple(heard), stream.answer) == (STORY, "Once upon a time.")


@pytest.mark.once
def test_a_second_task_is_refused_while_one_waits_for_a_piece(opened, model):
    model.otherwise = lambda _: says(*STORY)

    async def talk():
        stream = AsyncMemory(opened()).respond_stream("Tell me story number 1.")

        async def heard():
            return [piece async for piece in stream]

        tasks = [asyncio.create_task(heard()) for _ in range(2)]
        _, waiting = await asyncio.wait(tasks, timeout=SOON / 4)
        assert not waiting
        return await asyncio.gather(*tasks, return_exceptions=True)

    first, second = run(talk())
    assert first == list(STORY)
    assert isinstance(second, Refused)


@pytest.mark.once
def test_what_is_closed_while_a_piece_is_awaited_is_no_answer():
    flow, answers = Flow(), []
    flow.put("Once ")
    stream = AnswerStream(lambda: flow, answers.append)

    async def talk():
        assert await anext(stream) == "Once "
        waiting = asyncio.ensure_future(anext(stream, "the end"))
        await asyncio.sleep(0)
        stream.close()
        return await waiting

    assert run(talk()) == "the end"
    assert answers == []


@pytest.mark.once
def test_what_is_closed_while_the_memory_is_searched_asks_nobody(opened, model):
    memory, begun, go_on = opened(), threading.Event(), threading.Event()

    def begin():
        begun.set()
        go_on.wait(SOON)
        return memory.respond_stream("Tell me a story.")

    async def talk():
        stream = AsyncAnswerStream(begin)
        waiting = asyncio.ensure_future(anext(stream, "the end"))
        await asyncio.to_thread(begun.wait, SOON)
        await stream.aclose()
        go_on.set()
        return await waiting

    assert run(talk()) == "the end"
    assert model.requests == []


class NoWrites:
    """A gate that lets kim only read."""

    def admit(self, caller, action, scope):
        if caller.identity == "kim" and action is not Action.READ:
            raise PermissionDenied(f"{caller.identity} may not {action.value}")


@pytest.mark.once
def test_what_a_caller_may_not_store_is_told_to_that_caller_alone(tmp_path, settings, model):
    model.otherwise = lambda _: says(*STORY)
    with MemoryOS.open(tmp_path / "gate.db", settings=settings, gate=NoWrites()) as store:
        tom, kim = store.memory("tom"), store.memory("tom", caller=Caller("kim"))
        assert kim.respond("Tell me a story.").text == "".join(STORY)
        tom.wait()
        assert tom.search("story").hits == ()
        store.wait()
        with pytest.raises(PermissionDenied, match="kim may not write"):
            kim.wait()
        kim.wait()  # it is told once
