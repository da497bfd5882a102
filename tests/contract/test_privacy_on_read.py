"""Privacy on read: what a method returns, and what a model is shown, has no personal data; the store keeps it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

import memoryos
from memoryos import Attachment, AugmentStep, Memory, Mount, Pipeline, RetrieveStep, Scope, Turn
from memoryos.errors import InvalidInput
from memoryos.models.chat import Answer, Usage
from memoryos.models.hashing import Hashing
from public import methods_of, store_of

WORD = "person7.x3f9c2@mailbox.org"
PARTS = ("person7", "x3f9c2")


class Listening:
    """A chat model that keeps what it was told."""

    def __init__(self) -> None:
        self.heard = ""

    def answer(self, messages: Any) -> Answer:
        self.heard += "".join(message["content"] for message in messages)
        return Answer("Noted.", Usage(1, 1), "listening")

    def stream(self, messages: Any) -> Iterator[str]:
        yield self.answer(messages).text


@pytest.fixture
def opened(place, clock):
    """opened(action, ...): a memory of Tom with that policy, and its model."""
    memories = []

    def call(action: str, **settings: Any) -> tuple[Memory, Listening]:
        model = Listening()
        knobs = memoryos.load_settings(privacy_on_read=action, short_term_capacity=2, audit=True, **settings)
        memories.append(memoryos.open(place, user="tom", settings=knobs, embedder=Hashing(), chat=model, clock=clock))
        return memories[-1], model

    yield call
    for memory in memories:
        memory.close()


def fill(memory: Memory) -> str:
    """Add memories with the word in each text, and return the id of a page."""
    page = memory.add_many(
        [
            Turn(
                role="user",
                text=f"Tea is good, and {WORD} is my address.",
                speaker=WORD,
                source_id=WORD,
                attachments=(
                    Attachment(
                        caption=f"photo of {WORD}", uri=f"https://example.org/{WORD}", media_type=f"a/b; {WORD}"
                    ),
                ),
            ),
            Turn(role="assistant", text=f"I noted {WORD}."),
        ],
        tags=[WORD],
        metadata={WORD: [WORD]},
        title=f"Tea by {WORD}",
        source=f"mailto:{WORD}",
    )[0]
    for number in range(6):
        memory.add(f"Cup {number} of tea goes to {WORD}, I said to {WORD}.", f"Tea for {WORD}.")
    memory.update(page, f"Tea is better, and {WORD} is still my address.")
    memory.facts.add(f"drinks tea with {WORD}")
    memory.profile.set("email", WORD)
    memory.proposals.publish([rule(4)], source="hr")
    memory.proposals.publish([rule(3)], source="hr")  # a proposal: it replaces the first
    store_of(memory).admin.register_job("call", lambda *_: None, check=lambda _: None)
    memory.jobs.add("call", {"to": WORD}, not_before=memory.pages.list()[0].at + timedelta(days=1))
    memory.governance.freeze(page, reason=f"asked by {WORD}")
    memory.governance.hold(reason=f"asked by {WORD}", memory=page)
    memory.governance.retain("rule", ttl=10**8, tags=[WORD])
    memory.mounts.add(Mount("team", None, Scope(user="tom", agent="team")))
    memory.of(Scope(user="tom", agent="team")).add(f"The team gives tea to {WORD}.")
    memory.wait()
    return page


def rule(cups: int) -> str:
    return f"Adults drink at most {cups} cups of tea a day, says {WORD}"


def a_page(memory: Memory) -> str:
    return memory.pages.list()[0].id


def thawed(memory: Memory) -> Any:
    found = memory.governance.thaw(a_page(memory), reason=f"asked by {WORD}")
    memory.governance.freeze(a_page(memory), reason="again")
    return found


def updated(memory: Memory) -> str:
    page = memory.add(f"Iced tea for {WORD}.")
    memory.update(page, f"Hot tea for {WORD}.")
    return page


READS: dict[str, Callable[[Memory], Any]] = {
    "requests.read": lambda memory: memory.requests.read(f"Who wrote to {WORD}?"),
    "requests.preview": lambda memory: memory.requests.preview("forget everything"),
    "requests.do": lambda memory: memory.requests.do("forget everything"),
    "pipelines.run": lambda memory: memory.pipelines.run(Pipeline("look", [RetrieveStep(query="tea"), AugmentStep()])),
    "search": lambda memory: memory.search("tea", kinds=["page", "fact", "profile", "segment"], explain=True),
    "context": lambda memory: memory.context("tea"),
    "digest": lambda memory: [memory.digest(tokens=tokens) for tokens in (64, 10_000)],
    "get": lambda memory: memory.get(a_page(memory)),
    "history": lambda memory: memory.history(a_page(memory)),
    "tagged": lambda memory: memory.tagged(WORD),
    "update": lambda memory: memory.update(memory.pages.list()[1].id, f"Cold tea for {WORD}."),
    "facts.list": lambda memory: memory.facts.list(),
    "pages.list": lambda memory: memory.pages.list(),
    "pages.attachments": lambda memory: memory.pages.attachments(a_page(memory)),
    "segments.list": lambda memory: memory.segments.list(),
    "profile.get": lambda memory: memory.profile.get(),
    "proposals.list": lambda memory: memory.proposals.list(),
    "proposals.publish": lambda memory: memory.proposals.publish([rule(2)], source=WORD),
    "proposals.reject": lambda memory: memory.proposals.reject(memory.proposals.list()[0].cube.id),
    "proposals.accept": lambda memory: memory.proposals.accept(memory.proposals.list()[0].cube.id),
    "governance.freeze": lambda memory: memory.governance.freeze(memory.facts.list()[0].id, reason=WORD),
    "governance.thaw": thawed,
    "governance.expire": lambda memory: memory.governance.expire(memory.add(f"Last tea of {WORD}."), reason=WORD),
    "governance.relabel": lambda memory: memory.governance.relabel(
        memory.add(f"A tea of {WORD}."), ttl=10**8, reason=WORD
    ),
    "governance.diff": lambda memory: memory.governance.diff(a_page(memory)),
    "governance.rollback": lambda memory: memory.governance.rollback(updated(memory), 1, reason=WORD),
    "governance.transitions": lambda memory: memory.governance.transitions(a_page(memory)),
    "governance.provenance": lambda memory: memory.governance.provenance(a_page(memory)),
    "governance.hold": lambda memory: memory.governance.hold(reason=WORD, session="other"),
    "governance.holds": lambda memory: memory.governance.holds(),
    "governance.retain": lambda memory: memory.governance.retain("other", ttl=10**8, tags=[WORD]),
    "governance.retention": lambda memory: memory.governance.retention(),
    "log.events": lambda memory: memory.log.events(),
    "jobs.list": lambda memory: memory.jobs.list(),
}


def twice(memory: Memory) -> list[str]:
    return [memory.add(f"Green tea for {WORD}.") for _ in range(2)]


def merged(memory: Memory) -> list[Any]:
    """The survivor of two pages, and both ways to see the other one."""
    survivor, other = twice(memory)
    told = [memory.duplicates.merge([survivor, other], reason=WORD), memory.duplicates.merged(survivor)]
    return [*told, memory.duplicates.unmerge(other)]


def branched(memory: Memory) -> Any:
    memory.branches.create("trial")
    branch = memory.branch("trial")
    branch.add(f"Iced tea for {WORD}.")
    found = [memory.branches.diff("trial"), branch.pages.list()]
    memory.branches.discard("trial")
    return found


def archiving(memory: Memory) -> list[Any]:
    return [memory.archiving.add("rule", unused=10**8, tags=[WORD]), memory.archiving.list()]


READS |= {
    "duplicates.list": lambda memory: (twice(memory), memory.duplicates.list())[1],
    **dict.fromkeys(("duplicates.merge", "duplicates.merged", "duplicates.unmerge"), merged),
    **dict.fromkeys(("branches.diff", "branch"), branched),
    **dict.fromkeys(("archiving.add", "archiving.list"), archiving),
}

_COUNTS = "counts, ids and names"
WITHOUT_CONTENT = {
    **dict.fromkeys(
        ("add", "add_many", "documents.add", "facts.add", "profile.set", "jobs.add", "jobs.retry"), _COUNTS
    ),
    **dict.fromkeys(("facts.count", "pages.count", "segments.count", "stats", "forget", "log.usage"), _COUNTS),
    **dict.fromkeys(("governance.erase", "pages.swept", "governance.explain"), _COUNTS),
    **dict.fromkeys(("governance.delegate", "governance.delegations"), _COUNTS),
    "governance.revoke": "nothing",
    **dict.fromkeys(("pipelines.check", "pipelines.list"), "what the caller passed, or a file has"),
    **dict.fromkeys(("snapshots.create", "snapshots.list", "snapshots.remove"), _COUNTS),
    **dict.fromkeys(("branches.create", "branches.list", "branches.named", "branches.discard"), _COUNTS),
    **dict.fromkeys(
        (f"adapters.{verb}" for verb in "train list get load unload rollback withdraw delete export add".split()),
        _COUNTS,
    ),
    **dict.fromkeys(
        ("adapters.ask", "adapters.recollect", "adapters.retire"), "tests/local has them: they need a model"
    ),
    **dict.fromkeys(("activations.build", "activations.list", "activations.get", "activations.delete"), _COUNTS),
    **dict.fromkeys(("forms.transform", "forms.outcome", "forms.cool", "forms.list"), "ids and names"),
    "activations.answer": "what the model says; tests/local shows what it was shown",
    "archiving.remove": "nothing",
    **dict.fromkeys(
        (f"schedule.{verb}" for verb in ("explain", "decide", "log", "moves")), "ids, names of forms, times and numbers"
    ),
    **dict.fromkeys(("governance.release", "governance.unretain"), "nothing"),
    **dict.fromkeys(("upkeep.index", "upkeep.repair", "upkeep.undo", "mounts.list"), _COUNTS),
    **dict.fromkeys(("close", "consolidate", "delete", "wait", "jobs.run"), "nothing"),
    **dict.fromkeys(("mounts.add", "mounts.remove", "upkeep.rebuild"), "nothing"),
    "export": "its file has a policy of its own",
    "of": "another memory",
    **dict.fromkeys(("respond", "respond_stream"), "what the model says; tested below is what it was shown"),
    "governance.reveal": "what the caller passed, turned back on purpose",
    "pages.attachment": "bytes",
}


def test_every_method_is_tested_or_returns_no_content():
    assert set(methods_of(Memory)) == {*READS, *WITHOUT_CONTENT}


def holding(result: Any) -> list[str]:
    data = pickle.dumps(result)
    return [word for word in (WORD, *PARTS) if word.encode() in data]


@pytest.mark.parametrize("action", ["mask", "off"])
def test_no_method_returns_what_is_masked(opened, action):
    memory, _ = opened(action)
    fill(memory)
    told = {read: holding(read(memory)) for read in dict.fromkeys(READS.values())}
    held = {name for name, read in READS.items() if told[read]}
    assert held == (set() if action == "mask" else {*READS})


def test_the_model_is_shown_what_a_caller_is_shown(opened):
    memory, model = opened("mask")
    fill(memory)
    memory.respond("Who gets tea?")
    list(memory.respond_stream("And who else gets tea?"))
    assert "[email]" in model.heard
    assert WORD not in model.heard


def test_the_store_keeps_what_it_has(opened):
    memory, _ = opened("mask")
    page = fill(memory)
    memory.close()
    other, _ = opened("off")
    assert WORD in other.get(page).text
    assert other.search(WORD).hits


def test_passages_are_the_same_with_other_words(opened):
    memory, _ = opened("off")
    sentences = (f"Chapter {number} about bees and honey, for {WORD} and others.\n" for number in range(400))
    memory.add("".join(sentences) + "The queen is called Beatrice.", title="Bees")
    memory.wait()
    plain = memory.search("What is the queen called?")
    memory.close()
    other, _ = opened("mask")
    shown = other.search("What is the queen called?")
    assert any(hit.is_part for hit in plain.turns)
    assert [hit.text for hit in shown.turns] == [hit.text.replace(WORD, "[email]") for hit in plain.turns]


def test_tags_are_added_to_what_is_shown_and_to_nothing_else(opened):
    memory, _ = opened("tag")
    page = memory.add(f"Mail {WORD} from 10.0.3.7.")
    assert memory.get(page).tags == ("privacy:email", "privacy:ip")
    assert memory.get(page).text == f"user: Mail {WORD} from 10.0.3.7."
    assert memory.pages.count(tags=["privacy:email"]) == 0


def test_the_kinds_that_are_named_are_masked(opened):
    memory, _ = opened("mask", privacy_kinds=("ip",))
    assert memory.get(memory.add(f"Mail {WORD} from 10.0.3.7.")).text == f"user: Mail {WORD} from [ip]."


def test_the_topic_of_a_hit_has_no_part_of_what_is_masked(opened):
    memory, _ = opened("off")
    fill(memory)
    shown = memory.search("tea", kinds=["page", "segment"])
    assert any(part in hit.topic for hit in shown.ranked for part in PARTS)
    memory.close()
    other, _ = opened("mask")
    topics = {hit.topic for hit in other.search("tea", kinds=["page", "segment"]).ranked}
    assert topics - {"", "recent"}
    assert not any(part in topic for topic in topics for part in PARTS)


def test_a_list_goes_on_where_it_ended(opened):
    memory, _ = opened("mask")
    ids = [memory.add(f"Mail {number} to {WORD}.") for number in range(3)]
    first = memory.pages.list(limit=2)
    rest = memory.pages.list(limit=2, cursor=first.cursor)
    assert [page.id for page in [*first, *rest]] == ids


def test_reads_name_their_memories_in_the_audit_log(opened):
    memory, _ = opened("mask")
    page = memory.add(f"Mail {WORD}.")
    memory.get(page)
    entry = store_of(memory).audit.list(operation="memory.get")[0]
    assert [cube.id for cube in entry.cubes] == [page]


def test_what_was_revealed_is_not_masked_again(opened):
    memory, _ = opened("mask", privacy_on_write="pseudonym", privacy_key="a key of thirty-two characters or more")
    text = memory.get(memory.add(f"Mail {WORD}.")).text
    assert memory.governance.reveal(text) == f"user: Mail {WORD}."


@pytest.mark.parametrize("action", ["pseudonym", "refuse"])
def test_a_policy_that_has_no_effect_on_reads_is_refused(action):
    with pytest.raises(InvalidInput, match=r"privacy_on_read: .*use off, mask or tag"):
        memoryos.load_settings(privacy_on_read=action)


def test_a_fact_that_is_told_in_the_place_of_what_is_left_out_is_masked(opened):
    memory, _ = opened("mask")
    memory.add(f"My email is {WORD}.", at="2025-01-01")
    new = memory.add("My email is carla.jones@mailbox.org now.", at="2026-01-01")
    memory.wait()
    memory.consolidate()
    told = memory.context("What is my email?", exclude=[new])
    assert "User's email is" in told.text
    assert holding(told) == []
