from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from memoryos.errors import InvalidInput
from memoryos.operation.consolidation.persona import PersonaSchema

PAPER = """Extraversion Openness Agreeableness Conscientiousness Neuroticism Physiological_Needs Need_for_Security
Need_for_Belonging Need_for_Self-Esteem Cognitive_Needs Aesthetic_Appreciation Self-Actualization Need_for_Order
Need_for_Autonomy Need_for_Power Need_for_Achievement Helpfulness Honesty Safety Instruction_Compliance Truthfulness
Coherence Complexity Conciseness Science_Interest Education_Interest Psychology_Interest Family_Concern Fashion_Interest
Art_Interest Health_Concern Financial_Management_Interest Sports_Interest Food_Interest Travel_Interest Music_Interest
Literature_Interest Film_Interest Social_Media_Activity Tech_Interest Environmental_Concern History_Interest
Political_Concern Religious_Interest Gaming_Interest Animal_Concern Emotional_Expression Sense_of_Humor
Information_Density Language_Style Practicality"""


@pytest.fixture(scope="module")
def built_in() -> PersonaSchema:
    return PersonaSchema.load()


def written(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_the_built_in_schema_has_90_dimensions_in_three_groups(built_in: PersonaSchema) -> None:
    assert [len(group.dimensions) for group in built_in.groups] == [28, 20, 42]
    assert len({dimension.name for dimension in built_in.dimensions}) == 90


def test_the_papers_51_dimensions_are_marked_as_such(built_in: PersonaSchema) -> None:
    names = {dimension.name for dimension in built_in.dimensions if dimension.source == "paper"}
    assert names == {name.replace("_", " ") for name in PAPER.split()}
    assert {dimension.source for dimension in built_in.dimensions} == {"paper", "memoryos"}


def test_every_dimension_has_one_sentence_of_description(built_in: PersonaSchema) -> None:
    for dimension in built_in.dimensions:
        assert re.fullmatch(r"[A-Z][^.]+\.", dimension.description), dimension.name


def test_no_cue_stands_twice_in_a_dimension(built_in: PersonaSchema) -> None:
    for dimension in built_in.dimensions:
        cues = [cue.casefold() for cue in (*dimension.cues_en, *dimension.cues_zh)]
        assert len(cues) == len(set(cues)), dimension.name


def test_a_deployment_brings_its_own_file(tmp_path: Path) -> None:
    cues = {"en": ["sailing"], "zh": ["帆船"]}
    dimensions = [
        {"name": "Boats", "description": "Likes boats.", "cues": cues},
        {"name": "Trains", "description": "-"},
    ]
    path = written(tmp_path / "schema.json", {"groups": [{"name": "Vehicles", "dimensions": dimensions}]})
    boats, trains = PersonaSchema.load(path).dimensions
    assert (boats.cues_en, boats.cues_zh, boats.source) == (("sailing",), ("帆船",), "custom")
    assert boats.has_cues
    assert not trains.has_cues


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("not json", "Invalid JSON"),
        ({}, "groups: Field required"),
        ({"groups": []}, "has no dimensions"),
        ({"groups": [{"name": "A", "dimensions": [{"name": "B"}]}]}, "groups.0.dimensions.0.description"),
        ({"groups": [{"name": "A", "dimensions": [{"name": " ", "description": "C"}]}]}, "groups.0.dimensions.0.name"),
        ({"groups": [{"name": "A", "dimensions": [{"name": "B", "description": "C", "cue": {}}]}]}, "dimensions.0.cue"),
        ({"groups": [{"name": "A", "dimensions": [{"name": n, "description": "C"} for n in ("B", "b")]}]}, "two dimen"),
    ],
)
def test_a_malformed_file_names_the_place_and_the_fix(tmp_path: Path, content: object, problem: str) -> None:
    path = written(tmp_path / "schema.json", content)
    with pytest.raises(InvalidInput, match=re.escape(problem)) as error:
        PersonaSchema.load(path)
    assert error.value.field == str(path)
    assert error.value.fix


def test_a_missing_or_undecodable_file_is_invalid_input(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        PersonaSchema.load(tmp_path / "none.json")
    path = tmp_path / "latin.json"
    path.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(InvalidInput, match="UTF-8"):
        PersonaSchema.load(path)
