from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from memoryos.errors import InvalidInput
from memoryos.importers.dialogue import DEFAULT_AGENT, TURN_STEP
from memoryos.importers.gvd import read_gvd
from memoryos.kinds import Role


def bank(user="Emily", **days):
    history = {day.removeprefix("d").replace("_", "-"): exchanges for day, exchanges in days.items()}
    return {user: {"name": user, "summary": {}, "personality": {}, "history": history}}


def said(query, response):
    return {"query": query, "response": response}


@pytest.fixture
def read(tmp_path):
    def written(content, **options):
        path = tmp_path / "bank.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return read_gvd(path, **options)

    return written


def test_each_exchange_becomes_a_user_turn_and_an_assistant_turn(read):
    (conversation,) = read(bank(d2023_04_27=[said("Hello", "Hi Emily"), said("Bye", "See you")]))

    assert (conversation.user, conversation.agent, conversation.turn_count) == ("Emily", DEFAULT_AGENT, 4)
    (session,) = conversation.sessions
    assert session.name == "2023-04-27"
    assert [(turn.role, turn.text, turn.speaker, turn.source_id) for turn in session.turns] == [
        (Role.USER, "Hello", "Emily", "2023-04-27#1q"),
        (Role.ASSISTANT, "Hi Emily", None, "2023-04-27#1r"),
        (Role.USER, "Bye", "Emily", "2023-04-27#2q"),
        (Role.ASSISTANT, "See you", None, "2023-04-27#2r"),
    ]


def test_a_day_starts_at_noon_of_the_zone_and_turns_are_one_step_apart(read):
    content = bank(d2023_04_27=[said("a", "b"), said("c", "d")])

    (conversation,) = read(content, zone=timezone(timedelta(hours=8)))

    noon = datetime(2023, 4, 27, 4, tzinfo=UTC)
    assert [turn.at for turn in conversation.sessions[0].turns] == [noon + n * TURN_STEP for n in range(4)]
    assert read(content)[0].sessions[0].turns[0].at == datetime(2023, 4, 27, 12, tzinfo=UTC)


def test_days_are_in_order_and_empty_ones_are_left_out(read):
    day = [said("a", "b")]

    (conversation,) = read(bank(d2023_05_01=day, d2023_04_29=[], d2023_04_28=day))

    assert [session.name for session in conversation.sessions] == ["2023-04-28", "2023-05-01"]


def test_a_half_exchange_is_one_turn_and_numbers_stay(read):
    (conversation,) = read(bank(d2023_04_27=[said("a", ""), said(" ", "b"), said("c", "d")]))

    assert [turn.source_id[-2:] for turn in conversation.sessions[0].turns] == ["1q", "2r", "3q", "3r"]


def test_every_user_has_a_conversation_and_names_lose_stray_blanks(read):
    found = read(bank(" Jason ") | bank("王芳", d2023_04_27=[said("我喜欢爬山。", "真好！")]))

    assert [(conversation.user, conversation.turn_count) for conversation in found] == [("Jason", 0), ("王芳", 2)]
    assert [turn.text for turn in found[1].sessions[0].turns] == ["我喜欢爬山。", "真好！"]
    assert found[1].sessions[0].turns[0].speaker == "王芳"


def test_an_empty_exchange_is_reported(read):
    with pytest.raises(InvalidInput, match=r"bank\.json at Emily 2023-04-27#2: has neither query nor response"):
        read(bank(d2023_04_27=[said("a", "b"), said("", "\t")]))


@pytest.mark.parametrize(
    ("content", "place", "problem"),
    [
        ("", r"bank\.json", "Invalid JSON"),
        ('{"Emily": {"history": {"2023-', r"bank\.json", "Invalid JSON"),
        ("[]", r"bank\.json", "should be an? "),
        ({"Emily": {"name": "Emily"}}, r"bank\.json at Emily\.history", "required"),
        (bank(d2023_04_27={}), r"Emily\.history\.2023-04-27", "should be a valid "),
        (bank(d2023_04_27=[{"query": "a"}]), r"history\.2023-04-27\.0\.response", "required"),
        (bank(d2023_04_27=[said("a", None)]), r"2023-04-27\.0\.response", "valid string"),
        (bank(d2023_04_27=[said("a\x00", "b")]), r"2023-04-27\.0\.query", "NUL"),
        (bank(dsomeday=[said("a", "b")]), r"Emily\.history\.someday", "match pattern"),
        (bank(d2023_02_30=[said("a", "b")]), "Emily 2023-02-30", "is not a day"),
        (bank(" "), "user id", "is empty"),
        (bank("Emily") | bank("Emily "), r"bank\.json", "'Emily' twice"),
    ],
)
def test_malformed_input_names_the_place_and_the_fix(read, content, place, problem):
    with pytest.raises(InvalidInput) as caught:
        read(content)

    caught.match(place)
    caught.match(problem)
    assert caught.value.field.count("bank.json") == 1
    assert caught.value.fix


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(InvalidInput, match=r"none\.json: cannot be read"):
        read_gvd(tmp_path / "none.json")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_gvd(tmp_path)
