"""The reader of recall sets: what it takes, what it makes up, and what it refuses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bench.allotment import CONVERSATIONS, QUESTIONS, SPRING, SUMMER, ask, recall_set, talk, turn
from memoryos.errors import InvalidInput
from memoryos.importers.dialogue import TURN_STEP
from memoryos.importers.recall_set import BETWEEN_SESSIONS, FIRST_DAY, read_recall_set
from memoryos.kinds import Role

DAWN, DUSK = "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59Z"


@pytest.fixture
def read(tmp_path):
    """read(conversations, questions): what the reader makes of a file of these."""

    def make(conversations=CONVERSATIONS, questions=QUESTIONS, **more):
        return read_recall_set(recall_set(tmp_path / "garden.json", conversations, questions, **more))

    return make


def times(session):
    return [turn.at for turn in session.turns]


def test_turns_as_they_stand_in_the_file(read):
    (mara,) = read().conversations
    assert [(session.name, len(session.turns)) for session in mara.sessions] == [("spring", 3), ("summer", 2)]
    said, reply, photo = mara.sessions[0].turns
    assert (said.role, said.speaker, said.source_id, said.text) == (Role.USER, "Mara", "a1", SPRING[0]["text"])
    assert (reply.role, reply.speaker) == (Role.ASSISTANT, None)
    assert photo.words == "Look at this. [a raised bed made of oak]"


def test_questions_with_their_groups_and_without_their_answers(read):
    first, second = read().questions
    assert (first.user, first.type, first.evidence) == ("mara", "two steps", (("a1",), ("b1",)))
    assert second.evidence == (("a3",),)
    assert "Eaten" not in repr(first)


def test_the_name_is_that_of_the_file_unless_it_says_another(read):
    assert read().name == "garden"
    assert read(name="allotment").name == "allotment"


@pytest.mark.parametrize("name", ["a\nb", "a\u2028b", "\x1b[31mred"])
def test_a_name_is_one_line(read, name):
    with pytest.raises(InvalidInput, match="at name: Value error, contains a line feed"):
        read(name=name)


@pytest.mark.parametrize("at", ["2024-05-06", "2024-05-06T00:00", "2024-05-06 02:00:00.0+02:00"])
def test_times_are_iso_8601(read, at):
    assert read(questions=[ask("Who?", ["a1"], at=at)]).questions[0].at == datetime(2024, 5, 6, tzinfo=UTC)


def test_a_turn_without_a_time_follows_the_one_before(read):
    (mara,) = read().conversations
    start = datetime(2024, 3, 2, 9, tzinfo=UTC)
    assert times(mara.sessions[0]) == [start, start + TURN_STEP, start + 2 * TURN_STEP]


def test_a_turn_without_a_time_precedes_the_first_one_that_has_one(read):
    turns = [turn("1", "Rain."), turn("2", "Sun.", at="2024-05-01T10:00:00+02:00")]
    (session,) = read([talk("mara", ("s", turns))]).conversations[0].sessions
    known = datetime(2024, 5, 1, 8, tzinfo=UTC)
    assert times(session) == [known - TURN_STEP, known]


def test_a_file_without_times_gets_days_in_the_order_of_its_sessions(read):
    one, two = [turn("1", "Rain."), turn("2", "Sun.")], [turn("3", "Snow.")]
    first, second = read([talk("mara", ("x", one), ("y", two))]).conversations[0].sessions
    assert times(first) == [FIRST_DAY, FIRST_DAY + TURN_STEP]
    assert times(second) == [FIRST_DAY + TURN_STEP + BETWEEN_SESSIONS]


def test_a_session_may_have_the_time_for_its_turns(read):
    dated = {"user": "mara", "sessions": [{"at": "2023-01-05T07:00:00", "turns": [turn("1", "Frost.")]}]}
    (session,) = read([dated]).conversations[0].sessions
    assert times(session) == [datetime(2023, 1, 5, 7, tzinfo=UTC)]
    assert session.name == "session_1"


def test_several_conversations_of_a_user_become_one_in_the_order_of_time(read):
    found = read([talk("mara", ("s", SUMMER)), talk("ben", ("s", SPRING)), talk("mara", ("s", SPRING))]).conversations
    assert [one.user for one in found] == ["mara", "ben"]
    assert [(session.name, session.turns[0].source_id) for session in found[0].sessions] == [
        ("s (2)", "a1"),
        ("s", "b1"),
    ]
    assert times(found[0].sessions[0])[0] + timedelta(days=101) < times(found[0].sessions[1])[0]


def test_ids_may_be_numbers(read):
    found = read([talk("mara", ("s", [turn(7, "Rain.")]))], [ask("Rain?", [7])])
    assert found.conversations[0].sessions[0].turns[0].source_id == "7"
    assert found.questions[0].evidence == (("7",),)


@pytest.mark.parametrize(
    ("conversations", "questions", "told"),
    [
        ([talk("mara", ("s", [turn("1", "Hi.", "robot")]))], [], "conversations.0.sessions.0.turns.0.role"),
        ([talk("mara", ("s", [turn("1", "Hi.", "robot")]))], [], "'user', 'assistant', 'system' or 'tool'"),
        ([talk("mara", ("s", [{"role": "user", "text": "Hi."}]))], [], "turns.0.id: Field required"),
        ([talk("mara", ("s", [turn("1", " ")]))], [], "sessions.0.turns.0: has neither text nor caption"),
        ([talk("mara", ("s", [turn("1", "Hi.", at="soon")]))], [], "conversations.0.sessions.0.turns.0.at"),
        (
            [talk("mara", ("s", [turn("1", "Hi.", at=DAWN)]))],
            [],
            "sessions.0.turns.0.at: is outside the years 1 to 9999",
        ),
        ([talk("mara", ("s", [turn("1", "Hi."), turn("2", "Ho.", at="0001-01-01T00:00Z")]))], [], "turns.1.at: is out"),
        ([talk("mara", ("s", [turn("1", "Hi.", at=DUSK), turn("2", "Ho.")]))], [], "sessions.0.turns.1.at: is outside"),
        (
            [talk("mara", ("s", [turn("1", "Hi.", at=DUSK)]), ("t", [turn("2", "Ho.")]))],
            [],
            "sessions.1.at: is outside",
        ),
        ([{"user": "mara", "sessions": [{"at": DAWN, "turns": SPRING}]}], [], "conversations.0.sessions.0.at: is outs"),
        (CONVERSATIONS, [ask("Who?", ["a1"], at=DAWN)], "questions.0.at: is outside the years 1 to 9999"),
        ([talk("mara", ("s", [turn("1", "Hi."), turn("1", "Ho.")]))], [], "user mara: has turn id '1' twice"),
        ([talk("mara", ("s", SPRING)), talk("mara", ("t", SPRING))], [], "has turn id 'a1' twice"),
        ([{"user": "mara"}], [], "conversations.0.sessions: Field required"),
        (CONVERSATIONS, [ask("Who?", ["a1"], user="ben")], "questions.0.user: 'ben' has no conversation"),
        (CONVERSATIONS, [ask(" ", ["a1"])], "questions.0.text"),
        (CONVERSATIONS, [ask("Who? " * 2001, ["a1"])], "questions.0.text: String should have at most 10000 characters"),
        (CONVERSATIONS, [ask("Who?", ["a1"], type="a\nb")], "questions.0.type: Value error, contains a line feed"),
        (CONVERSATIONS, [ask("Who?", ["a1"], at=5)], "questions.0.at: Value error, is not ISO 8601"),
        (CONVERSATIONS, [ask("Who?", ["a1"], at="1700000000")], "questions.0.at: Value error, is not ISO 8601"),
        ([talk("mara", ("s", [turn("1", "Hi.", at=5)]))], [], "turns.0.at: Value error, is not ISO 8601"),
        ([{"user": "mara", "sessions": [{"at": 5, "turns": SPRING}]}], [], "sessions.0.at: Value error, is not ISO"),
        (CONVERSATIONS, [ask("Who?", "a1")], "questions.0.evidence.0: Input should be a valid array"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(read, conversations, questions, told):
    with pytest.raises(InvalidInput) as refused:
        read(conversations, questions)
    assert told in str(refused.value)
    assert "garden.json" in str(refused.value)
