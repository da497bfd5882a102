"""What add and search accept; what they refuse names the field and leaves the store as it was."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memoryos import Attachment, Memory, Role, Scope, Turn
from memoryos.errors import InvalidInput, NotFound
from memoryos.operation.intake.ingest import paginate
from public import store_of

from .world import START, World, texts

LONG = "x" * 4_000_001

BAD_ADDS = [
    ({}, "query"),
    ({"query": ""}, "query"),
    ({"query": " \n\t　"}, "query"),
    ({"response": ""}, "response"),
    ({"query": "ok", "response": "  "}, "response"),
    ({"query": LONG}, "query"),
    ({"query": "a\x00b"}, "query"),
    ({"query": "a\ud800b"}, "query"),
    ({"response": "\udfff"}, "response"),
    ({"query": 5}, "query"),
    ({"query": b"tea"}, "query"),
    ({"query": ["tea"]}, "messages[0]"),
    ({"response": {}}, "response"),
    ({"query": "ok", "at": "yesterday"}, "at"),
    ({"query": "ok", "at": "昨天"}, "at"),
    ({"query": "ok", "at": ""}, "at"),
    ({"query": "ok", "at": 1_700_000_000}, "at"),
    ({"query": "ok", "at": START + timedelta(minutes=6)}, "at"),
    ({"query": "ok", "at": "9999-12-31T23:59:59-12:00"}, "at"),
    ({"query": "ok", "tags": [""]}, "tags"),
    ({"query": "ok", "tags": [5]}, "tags"),
    ({"query": "ok", "tags": "abc"}, "tags"),
    ({"query": "ok", "tags": 5}, "tags"),
    ({"query": "ok", "attachments": "abc"}, "attachments"),
    ({"query": "ok", "attachments": [5]}, "attachments[0]"),
    ({"query": "ok", "attachments": [Attachment(caption=" ")]}, "caption"),
    ({"query": "ok", "attachments": [Attachment(caption="cat", uri="\x00")]}, "uri"),
]

BAD_SEARCHES = [
    ({"query": ""}, "query"),
    ({"query": " "}, "query"),
    ({"query": None}, "query"),
    ({"query": 5}, "query"),
    ({"query": LONG}, "query"),
    ({"query": "a\x00"}, "query"),
    ({"query": "\ud800"}, "query"),
    ({"query": "ok", "strategy": "psychic"}, "strategy"),
    ({"query": "ok", "strategy": None}, "strategy"),
    ({"query": "ok", "pages": 0}, "pages"),
    ({"query": "ok", "pages": -1}, "pages"),
    ({"query": "ok", "pages": "3"}, "pages"),
    ({"query": "ok", "pages": True}, "pages"),
]


@pytest.fixture
def memory(world: World) -> Memory:
    memory = world.open(short_term_capacity=1)
    memory.add("🍵 tea")
    memory.add("🚲 bike")
    return memory


def name_of(case: object) -> str:
    return str(case)[:40].encode("ascii", "backslashreplace").decode()


@pytest.mark.once
@pytest.mark.parametrize(("call", "field"), BAD_ADDS, ids=name_of)
def test_a_bad_add_names_the_field_and_stores_nothing(memory: Memory, call, field):
    before = (memory.pages.list(), memory.log.events())
    with pytest.raises(InvalidInput) as caught:
        memory.add(**call)
    assert caught.value.field.split(".")[-1] == field
    assert field in str(caught.value)
    assert (memory.pages.list(), memory.log.events()) == before


@pytest.mark.once
@pytest.mark.parametrize(("call", "field"), BAD_SEARCHES, ids=name_of)
def test_a_bad_search_names_the_field(memory: Memory, call, field):
    before = memory.log.events()
    with pytest.raises(InvalidInput) as caught:
        memory.search(**call)
    assert caught.value.field == field
    assert memory.log.events() == before


def test_an_unknown_argument_is_refused(memory: Memory):
    with pytest.raises(TypeError, match="timestamp"):
        memory.add("ok", timestamp="2026-01-01")
    with pytest.raises(TypeError, match="top_k"):
        memory.search("ok", top_k=3)
    assert len(memory.pages.list()) == 2


@pytest.mark.once
@pytest.mark.parametrize("tokens", [0, -5, "many", 1.5])
def test_a_bad_budget_names_the_field(memory: Memory, tokens):
    with pytest.raises(InvalidInput) as caught:
        memory.context("tea", tokens=tokens)
    assert caught.value.field == "tokens"


@pytest.mark.once
@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda memory: memory.add_many(5), "turns"),
        (lambda memory: memory.add_many(["hello"]), "turns[0]"),
        (lambda memory: memory.facts.add("Ann sails.", subject="nobody"), "subject"),
        (lambda memory: memory.pages.list(tier="attic"), "tier"),
        (lambda memory: memory.update("x", "new", role="choir"), "role"),
        (lambda memory: memory.get(["x"]), "id"),
    ],
)
def test_a_value_of_the_wrong_kind_names_the_argument(memory: Memory, call, field):
    before = memory.log.events()
    with pytest.raises(InvalidInput) as caught:
        call(memory)
    assert caught.value.field == field
    assert memory.log.events() == before


@pytest.mark.parametrize("unknown", ["", "nope", "\ud800", "'; DROP TABLE cubes; --", "../../etc"])
def test_an_unknown_id_is_not_found(memory: Memory, unknown):
    for call in (memory.get, memory.history, memory.delete, lambda cube_id: memory.update(cube_id, "new")):
        with pytest.raises(NotFound):
            call(unknown)
    assert len(memory.pages.list()) == 2


def test_one_bad_turn_refuses_the_whole_dialogue(memory: Memory):
    turns = [Turn(role=Role.USER, text="fine"), Turn(role=Role.ASSISTANT, text=" "), Turn(role=Role.USER, text="fine")]
    with pytest.raises(InvalidInput) as caught:
        memory.add_many(turns)
    assert caught.value.field == "turns[1].text"
    assert len(memory.pages.list()) == 2


@pytest.mark.parametrize("scope", [None, "bob", 5])
def test_another_owner_is_named_by_a_scope(world: World, scope):
    memory = world.open()
    for whole in (memory, store_of(memory)):
        with pytest.raises(InvalidInput) as caught:
            whole.of(scope)
        assert caught.value.field == "scope"


@pytest.mark.parametrize(
    "text",
    ["x" * 100_000, "ok" * 9 + "!", "🍵", "e\u0301", "'; DROP TABLE cubes; --", "a\u202eb", "茶" * 9000, "\ufeffx"],
)
def test_unusual_text_comes_back_as_it_was(memory: Memory, text):
    page = memory.add(text, "fine")
    memory.add("next")
    assert memory.get(page).payload.turns[0].text == text
    memory.search(text[:1000])
    memory.search(text[:1000], strategy="bm25")


def test_a_time_with_any_zone_is_kept_as_that_moment(memory: Memory):
    page = memory.add("ok", at="2026-01-01T08:00:00+08:00")
    assert memory.get(page).descriptive.event_at.isoformat() == "2026-01-01T00:00:00+00:00"


def test_a_clock_slightly_ahead_is_forgiven(memory: Memory):
    memory.add("ok", at=START + timedelta(minutes=4))
    assert len(memory.pages.list()) == 3


@pytest.mark.parametrize("user", ["../../x", "'; DROP TABLE cubes; --", "用户/一", "a" * 256])
def test_any_visible_user_id_is_just_a_name(world: World, user):
    memory = world.open(scope=Scope(user=user))
    memory.add("🍵 mine")
    assert texts(memory.pages.list()) == ["🍵 mine"]
    assert store_of(memory).admin.scopes() == [Scope(user=user)]
    assert {path.name.split("-")[0] for path in world.folder.iterdir()} <= {"memory.db"}


def turns(spelled: str) -> list[Turn]:
    role = {"u": Role.USER, "a": Role.ASSISTANT, "s": Role.SYSTEM, "t": Role.TOOL}
    return [Turn(role=role[letter], text=f"{index}") for index, letter in enumerate(spelled)]


@pytest.mark.parametrize(
    ("dialogue", "pages"),
    [
        ("uaua", ["ua", "ua"]),
        ("uua", ["u", "ua"]),
        ("auaa", ["a", "ua", "a"]),
        ("sutta", ["sutta"]),
        ("uatua", ["uat", "ua"]),
        ("", []),
    ],
)
def test_turns_become_pages_of_one_exchange(dialogue, pages):
    found = paginate(turns(dialogue))
    assert ["".join(turn.role.value[0] for turn in page.turns) for page in found] == pages
    assert [turn.text for page in found for turn in page.turns] == [str(index) for index in range(len(dialogue))]
