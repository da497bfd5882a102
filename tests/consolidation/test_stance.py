"""A fact is believed when the words it rests on are meant so: not denied, supposed or asked, nor another's."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from consolidation import (
    chinese_adversaries,
    chinese_stances,
    english_adversaries,
    english_stances,
    left_out_sentences,
)
from consolidation.test_faults import facts, statements
from consolidation.told import told
from generation.scripted_model import says
from memoryos import Role, Scope, Turn
from memoryos.cube import Behaviour, Descriptive, MemCube, Page
from memoryos.kinds import Origin, SemanticType, Tier
from memoryos.operation.consolidation.assertion import Stance
from memoryos.operation.consolidation.grounding import Evidence, Flaw
from memoryos.operation.consolidation.stance import Said, stance

BELIEVED = english_stances.BELIEVED + chinese_stances.BELIEVED
NOT_BELIEVED = english_stances.NOT_BELIEVED + chinese_stances.NOT_BELIEVED
OTHERS = [*BELIEVED[16::32], *NOT_BELIEVED[12::24]]
SAMPLE = [*BELIEVED[::32], *NOT_BELIEVED[::24], *(pytest.param(*one, marks=pytest.mark.long) for one in OTHERS)]
ADVERSARIES = (english_adversaries, chinese_adversaries)
AT = datetime(2024, 5, 6, 12, tzinfo=UTC)
STANCES = {Flaw.DENIED, Flaw.SUPPOSED, Flaw.OTHERS}


def page(said: str, speaker: str | None = None) -> MemCube:
    return MemCube(
        id="page",
        scope=Scope(user="carla"),
        tier=Tier.STM,
        payload=Page(turns=(Turn(role=Role.USER, text=said, speaker=speaker),)),
        descriptive=Descriptive(
            event_at=AT, recorded_at=AT, updated_at=AT, origin=Origin.USER_INPUT, semantic_type=SemanticType.DIALOGUE
        ),
        behaviour=Behaviour(last_access=AT),
    )


def flaw(said: str, quote: str, fact: str, speaker: str | None = None) -> Flaw | None:
    evidence = Evidence.of([page(said, speaker)])
    source = evidence.quoted(quote)
    return Flaw.QUOTE if source is None else evidence.flaw(fact, quote, source)


@pytest.mark.parametrize(("said", "quote", "fact"), BELIEVED)
def test_what_is_meant_is_believed(said, quote, fact):
    assert flaw(said, quote, fact) is None


@pytest.mark.parametrize(("said", "quote", "fact"), NOT_BELIEVED)
def test_what_is_not_meant_is_not(said, quote, fact):
    assert flaw(said, quote, fact) in STANCES


@pytest.mark.parametrize(("said", "quote", "fact"), left_out_sentences.BELIEVED)
def test_what_is_meant_is_believed_beside_what_is_left_out_or_far_off(said, quote, fact):
    assert flaw(said, quote, fact) is None


@pytest.mark.parametrize(("said", "quote", "fact"), left_out_sentences.REJECTED)
def test_what_is_left_out_tried_for_or_far_off_is_not_believed(said, quote, fact):
    assert stance(fact, quote, Said(said)) is not Stance.STATED


# As a reviewer wrote them.
REVIEWED = [
    ("我老板说：“我讨厌狗”。", "讨厌狗", "讨厌狗。"),
    ("我老板说：“我讨厌狗”。", "讨厌狗", "用户讨厌狗。"),
    ("小王说他讨厌狗。", "讨厌狗", "用户讨厌狗。"),
    ("小王讨厌狗。", "讨厌狗", "用户讨厌狗。"),
    ("小王讨厌狗。", "讨厌狗", "讨厌狗。"),
    ("I like jazz... not!", "I like jazz", "The user likes jazz."),
    ("In the novel the hero says I am a doctor.", "I am a doctor", "The user is a doctor."),
    ("I doubt that I will move to Berlin", "I will move to Berlin", "The user moves to Berlin."),
    ("I lack a car", "a car", "The user has a car."),
    ("Tom: I hate dogs\nMe: really?", "I hate dogs", "The user hates dogs."),
    ("我哪里喜欢咖啡", "喜欢咖啡", "用户喜欢咖啡。"),
]


@pytest.mark.parametrize(("said", "quote", "fact"), [row for rows in ADVERSARIES for row in rows.BELIEVED])
def test_what_is_meant_is_believed_beside_what_is_not(said, quote, fact):
    assert flaw(said, quote, fact) is None


@pytest.mark.parametrize(
    ("said", "quote", "fact"), [*REVIEWED, *(row for rows in ADVERSARIES for row in rows.NOT_BELIEVED)]
)
def test_what_is_taken_back_handed_on_or_made_up_is_not_believed(said, quote, fact):
    assert flaw(said, quote, fact) in STANCES


@pytest.mark.parametrize(("said", "quote", "fact"), [row for rows in ADVERSARIES for row in rows.LATER_BELIEVED])
def test_what_is_meant_is_believed_in_sentences_that_the_rules_had_not_met(said, quote, fact):
    assert flaw(said, quote, fact) is None


@pytest.mark.parametrize(("said", "quote", "fact"), [row for rows in ADVERSARIES for row in rows.LATER_NOT_BELIEVED])
def test_what_is_not_meant_is_not_believed_there_either(said, quote, fact):
    assert flaw(said, quote, fact) in STANCES


@pytest.mark.parametrize(
    ("said", "quote", "fact"),
    [
        ("He told me, quote, I love opera, unquote.", "I love opera", "The user loves opera."),
        ("He said, and I quote, I love opera.", "I love opera", "The user loves opera."),
        ("She said and I quote: I love opera.", "I love opera", "The user loves opera."),
        ("His exact words were I hate dogs.", "I hate dogs", "The user hates dogs."),
        ("Tom's message: I moved to Berlin.", "I moved to Berlin", "The user moved to Berlin."),
        ("他的原话是我讨厌狗。", "我讨厌狗", "用户讨厌狗。"),
    ],
)
def test_words_that_are_said_to_be_quoted_are_anothers_without_marks_too(said, quote, fact):
    assert flaw(said, quote, fact) is Flaw.OTHERS
    facts, fields = told(said)
    assert not any(word in text for text in [*facts, *fields.values()] for word in ("opera", "dogs", "Berlin", "狗"))


def test_what_others_would_think_is_supposed():
    assert flaw("You'd think I like jazz.", "I like jazz", "The user likes jazz.") is Flaw.SUPPOSED
    assert flaw("You'd think otherwise, but I like jazz.", "I like jazz", "The user likes jazz.") is None


@pytest.mark.parametrize(
    ("said", "quote", "fact"),
    [
        ("I asked for a quote and I live in Berlin.", "I live in Berlin", "The user lives in Berlin."),
        ("The quote was too high, I rent my flat in Berlin.", "I rent my flat in Berlin", "The user rents a flat."),
        ("My own words were I love opera.", "I love opera", "The user loves opera."),
        ("I got Tom's text. I live in Berlin.", "I live in Berlin", "The user lives in Berlin."),
        ("I love poetry and I quote Rilke all day, I live in Berlin.", "I live in Berlin", "The user lives in Berlin."),
        (
            "I got a quote, I live in Berlin, and I need an end quote.",
            "I live in Berlin",
            "The user lives in Berlin.",
        ),
        ("我的原话是我讨厌狗。", "我讨厌狗", "用户讨厌狗。"),
    ],
)
def test_a_quote_of_another_kind_and_ones_own_words_are_meant(said, quote, fact):
    assert flaw(said, quote, fact) is None


@pytest.mark.parametrize(
    "ahead",
    [
        "It's my last post:",
        "There's one note:",
        "Let's note:",
        "That's my note:",
        "What's in the letter:",
        "Here's one more note:",
        "TODAY'S message:",
        "Tonight's post:",
        "This week's note:",
        "Monday's note:",
        "Please add this to tomorrow's note:",
        "Add this to Ann's note:",
        "Please put it in her e-mail:",
        "I work. Write in my boss's letter:",
        "My daughter's first words were on Monday and",
        "Her first words were mama and",
        "Their last words were angry,",
    ],
)
def test_words_behind_no_quotation_are_the_users(ahead):
    assert flaw(f"{ahead} I live in Berlin.", "I live in Berlin", "The user lives in Berlin.") is None
    assert told(f"{ahead} I live in Berlin.")[1]["location"] == "Berlin"


@pytest.mark.parametrize(
    "ahead",
    [
        "Ann's note:",
        "Tom put in his message:",
        "Add Tom. Ann's note:",
        "Her first words were",
        "Ann's last words were,",
    ],
)
def test_words_behind_a_text_of_anothers_are_not_the_users(ahead):
    assert flaw(f"{ahead} I live in Berlin.", "I live in Berlin", "The user lives in Berlin.") is Flaw.OTHERS


def test_a_line_of_a_pasted_talk_is_the_users_where_it_has_their_name():
    said = "Carla: I live in Porto\nTom: I hate dogs"
    assert flaw(f"{said}\nTom: yes", "I live in Porto", "The user lives in Porto.", "Carla") is None
    assert flaw(f"{said}\nTom: yes", "I hate dogs", "The user hates dogs.", "Carla") is Flaw.OTHERS


def test_what_is_taken_back_may_be_told_as_denied():
    assert flaw("I like jazz... not!", "I like jazz", "The user does not like jazz.") is None


@pytest.mark.once
@pytest.mark.parametrize(("said", "quote", "fact"), SAMPLE)
def test_the_memory_keeps_of_a_models_answer_what_is_meant(opened, model, said, quote, fact):
    memory = opened()
    memory.add(said, "I see.")
    memory.add("Good night.", "Good night!")
    model.otherwise = statements({"page": 1, "fact": fact, "quote": quote})
    memory.consolidate()
    is_meant = (said, quote, fact) in BELIEVED
    assert facts(memory) == ([fact] if is_meant else [])
    assert sum(memory.stats().rejected.values()) == (0 if is_meant else 1)


@pytest.mark.once
def test_a_denied_name_and_a_quoted_trait_are_not_believed_either(opened, model):
    def answer(request):
        if '"profile"' not in request["messages"][0]["content"]:
            return says(json.dumps({"facts": [], "topics": []}))
        name = {"page": 1, "field": "name", "value": "Bob", "quote": "My name is not Bob"}
        home = {"page": 1, "field": "location", "value": "Porto", "quote": "I live in Porto"}
        trait = {"page": 1, "dimension": "Extraversion", "quote": "I love parties"}
        return says(json.dumps({"profile": [name, home], "traits": [trait]}))

    model.otherwise = answer
    memory = opened()
    memory.add("My name is not Bob. I live in Porto. My boss says 'I love parties'.")
    memory.add("Good night.")
    memory.consolidate()
    profile = memory.profile.get().user
    assert dict(profile.fields) == {"location": "Porto"}
    assert profile.traits == ()
    assert memory.stats().rejected == {"denied": 1, "others": 1}


def test_a_fact_goes_when_its_page_comes_to_deny_it(opened, model):
    memory = opened()
    first = memory.add("I like jazz a lot.", "Good.")
    memory.add("Good night.", "Good night!")
    model.otherwise = statements({"page": 1, "fact": "The user likes jazz.", "quote": "like jazz"})
    memory.consolidate()
    assert facts(memory) == ["The user likes jazz."]
    memory.update(first, "I do not like jazz at all.")
    assert facts(memory) == []


def test_the_speaker_goes_by_their_name():
    assert flaw("I live in Porto.", "I live in Porto", "Carla lives in Porto.", "Carla") is None
    assert flaw("Tom says 'I live in Porto'.", "I live in Porto", "Carla lives in Porto.", "Carla") is Flaw.OTHERS
    assert flaw("Tom says 'I live in Porto'.", "I live in Porto", "Tom lives in Porto.", "Carla") is None


def test_a_word_cannot_be_hidden_from_the_rules_by_signs_that_nobody_sees():
    assert flaw("I do n\u200bot like jazz.", "like jazz", "The user likes jazz.") is Flaw.DENIED
    assert flaw("I do ｎｏｔ like jazz.", "like jazz", "The user likes jazz.") is Flaw.DENIED
    assert flaw("I lo\u00adve jazz.", "I love jazz", "The user loves jazz.") is None


@pytest.mark.parametrize(
    "said",
    [
        "I like jazz" + " " * 30_000 + "and blues.",
        "I like jazz. " + "that x and I " * 2_000,
        "I like jazz. " + "'" * 30_000,
        "I like jazz. " + "(" * 30_000,
        "I like jazz, " + "my " * 10_000,
        "I like jazz " * 2_000,
        "I like jazz. " + "Tom: I\n" * 4_000,
        "I like jazz, " + "in the novel " * 2_000,
        "I like jazz, what " + ", what is" * 3_000,
        "The " + "big " * 6_000 + "I like jazz",
        "我喜欢爵士乐。" + "小王：我\n" * 6_000,
        "我喜欢爵士乐。" + "说" * 30_000,
        "我喜欢爵士乐，" * 3_000,
    ],
)
def test_a_hostile_page_takes_no_longer_than_a_long_one(said):
    quote, fact = ("我喜欢爵士乐", "用户喜欢爵士乐。") if "我" in said else ("I like jazz", "The user likes jazz.")
    assert Said(said).places(quote)
    assert flaw(said, quote, fact) in {None, *STANCES}  # what grows with the square takes hours
