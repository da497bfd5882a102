"""What somebody asks and answers at once, and what is shouted."""

from __future__ import annotations

import pytest

from consolidation.told import told


@pytest.mark.parametrize(
    ("said", "facts", "fields"),
    [
        ("Do you know where I live? In Oslo.", ["User lives in Oslo."], {"location": "Oslo"}),
        ("Guess where I live now? Porto!", ["User lives in Porto."], {"location": "Porto"}),
        ("Guess where I work? At Siemens.", ["User works at Siemens."], {}),
        ("You know what my name is? Ann.", [], {"name": "Ann"}),
        ("你猜我住哪儿？青岛！", ["用户住在青岛。"], {"location": "青岛"}),
        ("I LIVE IN OSLO!!!", ["User lives in Oslo."], {"location": "Oslo"}),
        ("Do you know where I live? I forgot.", [], {}),
        ("Do you know where I live? Maybe.", [], {}),
        ("Do you know where I live? Yes or no?", [], {}),
    ],
)
def test_a_question_with_its_answer_is_a_statement(said, facts, fields):
    assert told(said) == (facts, fields)


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("I work at Google as an engineer.", ["User works at Google.", "User works as an engineer."]),
        (
            "I'm working for Acme Corp as a clerk in Oslo.",
            ["User is working for Acme Corp.", "User is working as a clerk in Oslo."],
        ),
        ("I work as a nurse at Bosch.", ["User works as a nurse at Bosch."]),
    ],
)
def test_employer_and_occupation_are_two_facts(said, facts):
    assert told(said)[0] == facts
