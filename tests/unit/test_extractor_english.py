from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memoryos.cube import Behaviour, Descriptive, Fact, MemCube, Page, ProfileField, Trait, Turn
from memoryos.kinds import Level, Origin, Role, SemanticType, Subject, Tier
from memoryos.operation.consolidation.extractor import Extractor, RuleExtractor
from memoryos.operation.consolidation.finding import Finding
from memoryos.scope import Scope

MONDAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
EXTRACTOR: Extractor = RuleExtractor()


def page(*turns: Turn, id: str = "p1", at: datetime = MONDAY) -> MemCube:  # noqa: A002 - the name of the field
    return MemCube(
        id=id,
        scope=Scope(user="tom"),
        tier=Tier.STM,
        payload=Page(turns=turns),
        descriptive=Descriptive(
            event_at=at,
            recorded_at=at,
            updated_at=at,
            origin=Origin.USER_INPUT,
            semantic_type=SemanticType.DIALOGUE,
        ),
        behaviour=Behaviour(last_access=at),
    )


def user(text: str, speaker: str | None = "Tom", at: datetime | None = MONDAY) -> Turn:
    return Turn(role=Role.USER, text=text, speaker=speaker, at=at)


def assistant(text: str, speaker: str | None = None) -> Turn:
    return Turn(role=Role.ASSISTANT, text=text, speaker=speaker, at=MONDAY)


def facts(findings: Sequence[Finding]) -> list[Fact]:
    return [finding.payload for finding in findings if isinstance(finding.payload, Fact)]


def texts(*turns: Turn) -> list[str]:
    return [fact.text for fact in facts(EXTRACTOR.extract([page(*turns)]))]


def profile(*turns: Turn) -> dict[str, str]:
    payloads = [finding.payload for finding in EXTRACTOR.extract([page(*turns)])]
    return {payload.field: payload.value for payload in payloads if isinstance(payload, ProfileField)}


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("I work as a data scientist in San Francisco.", "Tom works as a data scientist in San Francisco."),
        ("I'm from Sweden.", "Tom is from Sweden."),
        ("I'm allergic to peanuts!", "Tom is allergic to peanuts."),
        ("i love hiking in the alps", "Tom loves hiking in the alps."),
        ("I don't eat meat.", "Tom doesn't eat meat."),
        ("I never eat meat.", "Tom never eats meat."),
        ("I can't stand olives.", "Tom can't stand olives."),
        ("I have two cats.", "Tom has two cats."),
        ("I’ve lived in Madrid for ten years.", "Tom has lived in Madrid for ten years."),
        ("I used to smoke.", "Tom used to smoke."),
        ("I study at night with my wife.", "Tom studies at night with their wife."),
        ("I was born in Rome.", "Tom was born in Rome."),
        ("My sister Anna lives in Porto.", "Tom's sister Anna lives in Porto."),
        ("My wife's name is Anna.", "Tom's wife's name is Anna."),
        ("I've been vegan since 2020.", "Tom has been vegan since 2020."),
        ("I'm scared of flying.", "Tom is scared of flying."),
        ("My dog is a golden retriever named Max.", "Tom's dog is a golden retriever named Max."),
        ("My favorite author is Ursula Le Guin.", "Tom's favorite author is Ursula Le Guin."),
        ("Yeah, I painted that lake sunrise last year!", "Tom painted that lake sunrise last year (2022)."),
        ("Hey Mel, I adopted a puppy yesterday.", "Tom adopted a puppy yesterday (7 May 2023)."),
        ("Yesterday I went to the dentist.", "Yesterday (7 May 2023) Tom went to the dentist."),
        ("I'm going to Paris next month.", "Tom is going to Paris next month (June 2023)."),
        ("It was a hard week, but I got promoted.", "Tom got promoted."),
        ("We bought a house last year.", 'Tom: "We bought a house last year." (2022)'),
        ("I like tea and often drink it hot.", 'Tom: "I like tea and often drink it hot."'),
        ("I moved here after I lost my job.", 'Tom: "I moved here after I lost my job."'),
    ],
)
def test_a_durable_statement_becomes_a_fact(said: str, text: str) -> None:
    assert texts(user(said)) == [text]


@pytest.mark.parametrize(
    "said",
    [
        "Do you like tea?",
        "I went to the zoo, didn't I?",
        "Hi! How are you? Thanks a lot!",
        "I think so.",
        "I see.",
        "I'm fine, thanks.",
        "I'm tired.",
        "I'm a bit tired.",
        "I'm doing OK, cheers for asking.",
        "I hope to see the sea.",
        "I want you to book a table.",
        "I'd like a recommendation.",
        "I need help with my code.",
        "I'm looking for a restaurant.",
        "I have a question about taxes.",
        "I have an idea.",
        "If I had a dog, I would call it Max.",
        "Imagine I own a castle.",
        'He said "I love cats".',
        'She told me: "That is it. I love cats."',
        "Tom said he hates me.",
        "I love you.",
        "I love it!",
        "I love this!",
        "I love how you painted that.",
        "I like the colors.",
        "I made it for them.",
        "I'm working on something.",
        "I won't quit.",
        "I'm going to the store.",
        "I ran.",
        "My boss is so annoying.",
        "Your sister Anna lives in Porto.",
        "She works in Rome.",
        "My wife's name is on the list.",
        "My friend's name is a secret.",
        "I'm scared of losing you.",
        "I visit often.",
        "I visit every Friday.",
        "I'm married to the sea.",
    ],
)
def test_what_is_not_durable_or_not_about_the_speaker_is_left_out(said: str) -> None:
    assert texts(user(said)) == []


def test_a_negation_stays_one() -> None:
    assert texts(user("I don't like spicy food.")) == ["Tom doesn't like spicy food."]


@pytest.mark.parametrize(
    ("said", "semantic_type"),
    [("I prefer tea over coffee.", SemanticType.PREFERENCE), ("I work in Rome.", SemanticType.FACT)],
)
def test_tastes_are_preferences(said: str, semantic_type: SemanticType) -> None:
    [finding] = [item for item in EXTRACTOR.extract([page(user(said))]) if isinstance(item.payload, Fact)]
    assert finding.semantic_type is semantic_type


def test_the_quote_is_what_was_said() -> None:
    [fact] = facts(EXTRACTOR.extract([page(user("Oh wow. Yeah, I’ve lived in Madrid for ten years! You?"))]))
    assert fact.quote == "I’ve lived in Madrid for ten years!"


def test_without_a_name_the_role_stands_in() -> None:
    assert texts(user("I have two cats.", speaker=None)) == ["User has two cats."]


def test_a_pasted_document_is_not_read() -> None:
    assert texts(user("I have two cats " + "and more text " * 40)) == []


@pytest.mark.parametrize(
    ("said", "fields"),
    [
        ("My name is Anna Lee.", {"name": "Anna Lee"}),
        ("Hi, I'm Tom.", {"name": "Tom"}),
        ("I'm Tom, a baker.", {"name": "Tom", "occupation": "baker"}),
        ("You can call me Al.", {"name": "Al"}),
        ("I'm a woman.", {"gender": "woman"}),
        ("As a trans woman I feel safe there.", {"gender": "trans woman"}),
        ("I'm a 30-year-old guy from Texas.", {"gender": "man", "birth_year": "about 1993"}),
        ("I was born in 1995.", {"birth_year": "1995"}),
        ("I was born on May 3, 1995.", {"birth_year": "1995", "birthday": "3 May"}),
        ("I'm 28 years old.", {"birth_year": "about 1995"}),
        ("I just turned 30.", {"birth_year": "about 1993"}),
        ("My birthday is on the 3rd of May.", {"birthday": "3 May"}),
        ("I work as a data scientist in Oslo.", {"occupation": "data scientist"}),
        ("I'm a software engineer at Acme.", {"occupation": "software engineer"}),
        ("I live in New York City with my wife.", {"location": "New York City"}),
        ("I just moved to Berlin.", {"location": "Berlin"}),
    ],
)
def test_profile_fields_are_what_was_said_outright(said: str, fields: dict[str, str]) -> None:
    assert profile(user(said)) == fields


@pytest.mark.parametrize(
    "said",
    [
        "I'm Happy.",
        "I'm Tired.",
        "I'm in.",
        "I'm Swedish.",
        "I'm Vegan, by the way.",
        "I'm from Sweden.",
        "I'm 28 minutes away.",
        "I'm not a man.",
        "I'm a fast runner.",
        "My sister's name is Anna.",
        "My sister lives in Porto.",
        "If my name is Bob, call the shop.",
        "I'm a fan of Tom.",
        "Is it true that I live in Rome?",
        "Please call me later.",
    ],
)
def test_profile_fields_are_not_guessed(said: str) -> None:
    assert profile(user(said)) == {}


def test_a_sentence_that_only_names_the_speaker_is_no_fact() -> None:
    assert texts(user("Hi, my name is Tom.")) == []


def test_an_assistant_speaks_of_itself_only_in_what_it_is_and_did() -> None:
    said = "I'm an AI companion. I recommend Dune. I love hiking in Norway. Can I help? You work in Rome."
    found = EXTRACTOR.extract([page(assistant(said))])
    assert [fact.text for fact in facts(found)] == ["Assistant is an AI companion.", "Assistant recommends Dune."]
    assert {fact.subject for fact in facts(found)} == {Subject.AGENT}


def test_a_promise_to_the_user_is_quoted() -> None:
    assert texts(assistant("I'll remind you tomorrow.")) == ['Assistant: "I\'ll remind you tomorrow." (9 May 2023)']


def test_a_named_human_in_the_assistants_place_is_read_like_a_user() -> None:
    found = EXTRACTOR.extract([page(assistant("My name is Mel. I love hiking in Norway.", speaker="Mel"))])
    assert [fact.text for fact in facts(found)] == ["Mel loves hiking in Norway."]
    assert {finding.payload.subject for finding in found} == {Subject.AGENT}
    assert any(isinstance(finding.payload, ProfileField) for finding in found)


@pytest.mark.parametrize("speaker", ["Assistant", "AI", "chatgpt", " AI  assistant "])
def test_a_generic_display_name_is_no_human(speaker: str) -> None:
    assert texts(assistant("I love hiking in Norway.", speaker=speaker)) == []


@pytest.mark.parametrize("role", [Role.SYSTEM, Role.TOOL])
def test_system_and_tool_turns_are_ignored(role: Role) -> None:
    assert EXTRACTOR.extract([page(Turn(role=role, text="I live in Rome. I love painting.", at=MONDAY))]) == []


def test_a_turn_without_a_time_takes_the_pages() -> None:
    [finding] = EXTRACTOR.extract([page(user("I fell off my bike yesterday.", at=None))])
    assert finding.event_at == MONDAY
    assert finding.payload.text == "Tom fell off their bike yesterday (7 May 2023)."


def test_a_repeat_adds_its_page() -> None:
    later = MONDAY + timedelta(days=1)
    pages = [page(user("I have two ferrets.")), page(user("Yeah, I have two ferrets!", at=later), id="p2", at=later)]
    [finding] = EXTRACTOR.extract(pages)
    assert (finding.pages, finding.event_at) == (("p1", "p2"), later)


def test_the_same_words_of_two_speakers_stay_apart() -> None:
    turns = (user("I have two ferrets.", speaker="Sam"), assistant("I have two ferrets.", speaker="Sam"))
    subjects = [fact.subject for fact in facts(EXTRACTOR.extract([page(*turns)]))]
    assert subjects == [Subject.USER, Subject.AGENT]


@pytest.mark.parametrize(("count", "level"), [(1, Level.LOW), (2, Level.LOW), (3, Level.MEDIUM), (5, Level.HIGH)])
def test_a_trait_grows_with_the_pages_that_show_it(count: int, level: Level) -> None:
    pages = [page(user("What about pottery?"), id=f"p{number}") for number in range(count)]
    [finding] = EXTRACTOR.extract(pages)
    assert isinstance(finding.payload, Trait)
    assert (finding.payload.dimension, finding.payload.level) == ("Art Interest", level)
    assert "pottery" in finding.payload.reason
    assert len(finding.pages) == count


def test_confidence_in_a_trait_rises_but_never_reaches_certainty() -> None:
    def confidence(count: int) -> float:
        [finding] = EXTRACTOR.extract([page(user("What about pottery?"), id=f"p{n}") for n in range(count)])
        assert isinstance(finding.payload, Trait)
        return finding.payload.confidence

    assert 0 < confidence(1) < confidence(3) < confidence(9) < 1


def test_dislike_and_the_agents_words_show_no_interest() -> None:
    turns = (
        user("Honestly pottery is boring. Meh, do I have to like sushi? I can't stand ramen."),
        assistant("Pottery!"),
    )
    traits = [item.payload for item in EXTRACTOR.extract([page(*turns)]) if isinstance(item.payload, Trait)]
    assert [trait.dimension for trait in traits if not trait.counter] == ["Food Interest"]  # sushi, in a question
    assert [trait.dimension for trait in traits if trait.counter] == ["Art Interest"]  # pottery, which bores


def test_extraction_is_deterministic() -> None:
    pages = [page(user("I love jazz and painting. I live in Rome."), assistant("I recommend Dune."))]
    assert EXTRACTOR.extract(pages) == RuleExtractor().extract(pages)


PHRASES = [
    "I love ",
    "I'm ",
    "My sister ",
    "went to ",
    "Rome",
    " yesterday",
    ". ",
    "我",
    "喜欢",
    "昨天",
    "，",
    "。",
    '"',
    "“",
    "’",
    "😊",
    "\n",
]


@given(st.lists(st.sampled_from(PHRASES) | st.text(max_size=5), max_size=25).map("".join), st.sampled_from(list(Role)))
@example("I’m Tom, and I love “Dune”. My sister’s from Rome.", Role.USER)
def test_any_text_is_read_and_quotes_are_exact(text: str, role: Role) -> None:
    turn = Turn(role=role, text=text, speaker="Tom", at=MONDAY)
    for finding in EXTRACTOR.extract([page(turn)]):
        assert finding.pages == ("p1",)
        if isinstance(finding.payload, Fact | ProfileField):
            assert finding.payload.quote
            assert finding.payload.quote in text


@pytest.mark.parametrize(
    "piece", ["a", ".", "I love Rome. ", "我" + "最近" * 190 + "。", "I really " * 40 + ". ", "😊", '"']
)
def test_very_many_characters_are_no_trouble(piece: str) -> None:
    text = (piece * 40_000)[:40_000]
    assert all(len(finding.pages) == 1 for finding in EXTRACTOR.extract([page(user(text))]))
