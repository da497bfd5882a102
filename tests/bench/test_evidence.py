from __future__ import annotations

import json

import pytest

from memoryos.bench.evidence import Malformed, Question, read_questions, turn_ids
from memoryos.errors import InvalidInput

from .talk import SESSIONS, talk

KNOWN = {"D1:1", "D1:26", "D8:6", "D9:17", "D11:26", "D30:5", "D10:10"}
TURNS = {"conv-1": {dia_id for turns in SESSIONS.values() for dia_id, _ in turns}}


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        (["D1:1"], ["D1:1"]),
        (["D8:6; D9:17"], ["D8:6", "D9:17"]),
        (["D8:6 D9:17,D1:1"], ["D8:6", "D9:17", "D1:1"]),
        (["D:11:26"], ["D11:26"]),
        (["D30:05", "D01:001"], ["D30:5", "D1:1"]),
        (["(d1:1)", "'D8:6'."], ["D1:1", "D8:6"]),
        (["D10:10"], ["D10:10"]),
        (["D1:1", "D1:1; D01:1"], ["D1:1"]),
    ],
)
def test_evidence_that_names_turns(entries, found):
    assert turn_ids(entries, KNOWN) == (found, [])


@pytest.mark.parametrize(
    ("entry", "lost"),
    [("D", "D"), ("D10:19", "D10:19"), ("", ""), (";", ";"), ("D1", "D1"), ("1:1", "1:1"), ("D1:1:1", "D1:1:1")],
)
def test_evidence_that_names_no_turn_is_kept_as_written(entry, lost):
    assert turn_ids([entry, "D1:26"], KNOWN) == (["D1:26"], [lost])


def test_the_part_that_is_malformed_is_told_apart_from_the_rest():
    assert turn_ids(["D8:6; D99:1"], KNOWN) == (["D8:6"], ["D99:1"])


def test_an_id_that_only_looks_malformed_is_taken_as_it_is():
    assert turn_ids(["D30:05"], {"D30:05", "D30:5"}) == (["D30:05"], [])


def test_the_questions_of_the_file(locomo):
    found = read_questions(locomo(), TURNS)
    assert found.asked == (
        Question("conv-1", "Which animal came up twice?", 1, ("D1:1", "D2:2")),
        Question("conv-1", "How long does the ferry take?", 2, ("D2:3",)),
        Question("conv-1", "Does the parrot talk?", 4, ("D1:2",)),
    )
    assert found.malformed == (
        Malformed("conv-1", "Does the parrot talk?", "D9:9", is_asked=True),
        Malformed("conv-1", "Would Ann like a cat?", "D", is_asked=False),
    )
    assert found.without_evidence == 1


def test_questions_of_other_conversations_are_not_read(locomo):
    assert read_questions(locomo(talk(), talk("conv-2")), TURNS) == read_questions(locomo(talk()), TURNS)


@pytest.mark.parametrize(
    ("qa", "told"),
    [
        ([{"question": "?", "category": 6}], "category"),
        ([{"question": "?", "category": 1, "evidence": "D1:1"}], "evidence"),
        ([{"category": 1}], "question"),
        ([{"question": "?" * 10_001, "category": 1}], "0.qa.0.question"),
        ({}, "qa"),
    ],
)
def test_a_file_of_another_shape_is_refused(tmp_path, qa, told):
    path = tmp_path / "questions.json"
    path.write_text(json.dumps([{**talk(), "qa": qa}]), "utf-8")
    with pytest.raises(InvalidInput, match=told):
        read_questions(path, TURNS)
