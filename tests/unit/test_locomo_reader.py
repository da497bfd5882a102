from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos.cube import Attachment
from memoryos.errors import InvalidInput
from memoryos.importers.dialogue import DEFAULT_AGENT, TURN_STEP, Conversation, Session
from memoryos.importers.locomo import read_locomo
from memoryos.kinds import Role

SHANGHAI = timezone(timedelta(hours=8))
MAY_8 = "1:56 pm on 8 May, 2023"


def turn(dia_id="D1:1", speaker="Ann", text="Hi Bo!", **more):
    return {"speaker": speaker, "dia_id": dia_id, "text": text, **more}


def sample(sample_id="conv-1", **conversation):
    base = {"speaker_a": "Ann", "speaker_b": "Bo"}
    return {"sample_id": sample_id, "qa": [{"question": "?"}], "conversation": base | conversation}


def one_session(*turns, date=MAY_8):
    return sample(session_1_date_time=date, session_1=list(turns))


@pytest.fixture
def read(tmp_path):
    def written(content, **options):
        path = tmp_path / "talk.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return read_locomo(path, **options)

    return written


def only_turn(conversations):
    (conversation,) = conversations
    (session,) = conversation.sessions
    (found,) = session.turns
    return found


def test_a_sample_becomes_a_conversation_of_its_own_user(read):
    content = [one_session(turn(), turn("D1:2", "Bo", "Hi Ann!")), sample("conv-2")]

    first, second = read(content)

    assert (first.user, first.agent, first.turn_count) == ("conv-1", DEFAULT_AGENT, 2)
    assert second == Conversation("conv-2", DEFAULT_AGENT, ())
    a, b = first.sessions[0].turns
    assert (a.role, a.speaker, a.text, a.source_id) == (Role.USER, "Ann", "Hi Bo!", "D1:1")
    assert (b.role, b.speaker, b.text, b.source_id) == (Role.ASSISTANT, "Bo", "Hi Ann!", "D1:2")


def test_the_file_may_hold_one_sample(read):
    assert read(one_session(turn())) == read([one_session(turn())])


def test_turns_of_a_session_follow_its_date_one_step_apart(read):
    (conversation,) = read(one_session(*(turn(f"D1:{n}") for n in range(100))))

    times = [turn.at for turn in conversation.sessions[0].turns]
    assert times[0] == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert {later - earlier for earlier, later in pairwise(times)} == {TURN_STEP}
    assert timedelta(0) < TURN_STEP


def test_session_dates_are_local_to_the_zone(read):
    found = only_turn(read(one_session(turn()), zone=SHANGHAI))

    assert found.at == datetime(2023, 5, 8, 5, 56, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12:09 am on 13 September, 2023", datetime(2023, 9, 13, 0, 9, tzinfo=UTC)),
        ("12:09 pm on 1 January, 2024", datetime(2024, 1, 1, 12, 9, tzinfo=UTC)),
        ("11:59 PM on 31 December, 2024", datetime(2024, 12, 31, 23, 59, tzinfo=UTC)),
        ("9:05 am on 29 February, 2024", datetime(2024, 2, 29, 9, 5, tzinfo=UTC)),
    ],
)
def test_dates_as_the_data_writes_them(read, text, expected):
    assert only_turn(read(one_session(turn(), date=text))).at == expected


@given(st.datetimes(min_value=datetime(1000, 1, 1), max_value=datetime(9000, 1, 1)))
def test_every_minute_of_the_calendar_is_read(tmp_path_factory, moment):
    moment = moment.replace(second=0, microsecond=0, fold=0)
    path = tmp_path_factory.mktemp("locomo") / "talk.json"
    clock = f"{moment.hour % 12 or 12}:{moment:%M} {'pm' if moment.hour >= 12 else 'am'}"
    path.write_text(json.dumps(one_session(turn(), date=f"{clock} on {moment.day} {moment:%B}, {moment.year}")))

    assert only_turn(read_locomo(path)).at == moment.replace(tzinfo=UTC)


def test_sessions_are_in_numeric_order_and_empty_ones_are_left_out(read):
    content = sample(
        session_10=[turn("D10:1")],
        session_10_date_time="1:00 pm on 3 June, 2023",
        session_2=[turn("D2:1")],
        session_2_date_time="1:00 pm on 2 June, 2023",
        session_3=[],
        session_3_date_time="1:00 pm on 4 June, 2023",
        session_11_date_time="4:10 pm on 26 October, 2023",
    )

    (conversation,) = read(content)

    assert [session.name for session in conversation.sessions] == ["session_2", "session_10"]


def test_an_image_is_kept_with_caption_and_first_address(read):
    picture = turn(text="Look!", blip_caption="a dog on a beach", img_url=["https://a/1.jpg", "https://a/2.jpg"])

    found = only_turn(read(one_session(picture)))

    assert found.text == "Look!"
    assert found.attachments == (Attachment(caption="a dog on a beach", uri="https://a/1.jpg", media_type="image"),)


@pytest.mark.parametrize("more", [{}, {"img_url": []}, {"img_url": None}])
def test_an_image_may_have_no_address(read, more):
    (attachment,) = only_turn(read(one_session(turn(blip_caption="a cup", **more)))).attachments

    assert (attachment.caption, attachment.uri) == ("a cup", None)


def test_an_image_without_a_caption_is_not_lost(read):
    found = only_turn(read(one_session(turn(img_url=["https://a/1.jpg"], blip_caption=None))))

    assert [item.uri for item in found.attachments] == ["https://a/1.jpg"]
    assert found.words == "Hi Bo! [image]"


def test_a_turn_without_an_image_has_no_attachment(read):
    assert only_turn(read(one_session(turn(blip_caption=" ")))).attachments == ()


def test_a_captioned_turn_without_text_is_kept(read):
    assert only_turn(read(one_session(turn(text="", blip_caption="a red bike")))).words == "[a red bike]"


def test_chinese_text_is_kept_as_it_is(read):
    content = sample(
        "对话一",
        speaker_a="小明",
        speaker_b="阿丽",
        session_1=[],
        session_2=[turn(speaker="小明", text="你好，世界！🙂")],
    )
    content["conversation"]["session_2_date_time"] = MAY_8

    (conversation,) = read(content)

    assert conversation.user == "对话一"
    assert only_turn([conversation]).text == "你好，世界！🙂"
    assert only_turn([conversation]).speaker == "小明"


def test_a_byte_order_mark_is_no_error(read):
    assert only_turn(read("\ufeff" + json.dumps(one_session(turn())))).text == "Hi Bo!"


@pytest.mark.parametrize("empty", [{"text": ""}, {"text": " \n"}, {"text": "", "blip_caption": " "}])
def test_a_turn_with_neither_text_nor_caption_is_reported(read, empty):
    with pytest.raises(InvalidInput, match=r"talk\.json at conv-1 D1:7: has neither text nor caption"):
        read(one_session(turn(), turn("D1:7") | empty))


@pytest.mark.parametrize(
    ("content", "place", "problem"),
    [
        ("", r"talk\.json", "Invalid JSON"),
        ('[{"sample_id": "conv-1", "conv', r"talk\.json", "Invalid JSON"),
        ('"text"', r"talk\.json at 0", "should be an? "),
        ([one_session(turn()), 3], r"talk\.json at 1", "should be an? "),
        ({"conversation": {}}, r"talk\.json at 0\.sample_id", "required"),
        ({"sample_id": "c"}, r"talk\.json at 0\.conversation", "required"),
        ({"sample_id": "c", "conversation": []}, r"talk\.json at 0\.conversation", "should be an? "),
        ({"sample_id": "c", "conversation": {"speaker_a": "A"}}, r"0\.conversation\.speaker_b", "required"),
        (sample(session_1="hello"), r"conversation\.sessions\.session_1", "should be a valid "),
        (one_session(turn(), {"speaker": "Ann", "dia_id": "D1:2"}), r"session_1\.1\.text", "required"),
        (one_session({"speaker": "Ann", "text": "x"}), r"session_1\.0\.dia_id", "required"),
        (one_session(turn(text=5)), r"session_1\.0\.text", "valid string"),
        (one_session(turn(text="a\x00b")), r"session_1\.0\.text", "NUL"),
        (one_session(turn(speaker="Cy")), "conv-1 D1:1", "neither speaker_a nor speaker_b"),
        (sample(speaker_b="Ann"), "conv-1", "the same"),
        (sample(session_4=[turn()]), "conv-1 session_4_date_time", "has no date"),
        (one_session(turn(), date="yesterday"), "conv-1 session_1_date_time", "'yesterday' is not a date"),
        (one_session(turn(), date="1:56 pm on 8 Mai, 2023"), "session_1_date_time", "is not a date"),
        (one_session(turn(), date="1:56 pm on 30 February, 2023"), "session_1_date_time", "is not a date"),
        (one_session(turn(), date="13:56 pm on 8 May, 2023"), "session_1_date_time", "is not a date"),
        (one_session(*[turn()] * 61, date="11:59 pm on 31 December, 9999"), "session_1_date_time", "outside the years"),
        (sample(" "), "user id", "is empty"),
        ([sample("c"), sample("c")], r"talk\.json", "'c' twice"),
    ],
)
def test_malformed_input_names_the_place_and_the_fix(read, content, place, problem):
    with pytest.raises(InvalidInput) as caught:
        read(content)

    caught.match(place)
    caught.match(problem)
    assert caught.value.field.count("talk.json") == 1
    assert caught.value.fix


def test_a_date_before_the_calendar_begins_in_utc_is_reported(read):
    with pytest.raises(InvalidInput, match="is not a date"):
        read(one_session(turn(), date="1:00 am on 1 January, 0001"), zone=SHANGHAI)


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(InvalidInput, match=r"none\.json: cannot be read"):
        read_locomo(tmp_path / "none.json")


def test_conversations_are_values():
    assert Conversation("u", "a", (Session("s", ()),)) == Conversation("u", "a", (Session("s", ()),))
    with pytest.raises(AttributeError):
        Session("s", ()).name = "t"
