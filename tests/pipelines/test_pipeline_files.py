"""Pipelines from files and from Python: what is wrong is found when they are read, and the error tells where."""

from __future__ import annotations

import copy
import json
import pickle
import re
import sys
from dataclasses import asdict

import pytest

import memoryos
from memoryos import (
    AddStep,
    ArchiveStep,
    AugmentStep,
    FieldType,
    GenerateStep,
    ListStep,
    Pipeline,
    PipelineParameter,
    RetrieveStep,
    TagStep,
    UpdateStep,
)
from memoryos.errors import InvalidInput, MissingExtra, NotFound
from memoryos.frozen_dict import FrozenDict
from memoryos.operation.pipelines.pipeline_file import TEMPLATES, pipeline_of, read_pipeline

from .conftest import SETTINGS, WHOLE

pytestmark = pytest.mark.once

WRONG = {
    "- retrieve: {mst: 3}": r"own.yaml: step 1 (retrieve).mst: is unknown. Did you mean most?",
    "- retreive: {}": "own.yaml: step 1: 'retreive' is no step. Use retrieve",
    "- retrieve: {most: 500}": "own.yaml: step 1 (retrieve).most: is 500. Pass 1 to 64",
    "- retrieve: {most: many}": "own.yaml: step 1 (retrieve).most: expected a whole number from 0 on, got 'many'",
    "- retrieve: {most: true}": "own.yaml: step 1 (retrieve).most: expected a whole number from 0 on, got True",
    "- retrieve: {kinds: [pages]}": "own.yaml: step 1 (retrieve).kinds: 'pages' is unknown. Use page, fact",
    "- retrieve: {query: '{question}'}": "step 1 (retrieve).query: {question} is no parameter. Declare it",
    "- retrieve: {query: 'a { b'}": "step 1 (retrieve).query: has a single brace. Write {{",
    "- retrieve: {most: '{query}'}": "step 1 (retrieve).most: is a count, and {query} is a text. Use a parameter of",
    "- retrieve: 5": "own.yaml: step 1 (retrieve): has no fields but a value",
    "- retrieve": "own.yaml: step 1: is no step with its fields",
    "- archive: {}": "own.yaml: step 1 (archive): needs memories, which no step before it makes. Put a retrieve",
    "- retrieve: {}\n- archive: {}": "step 2 (archive): takes pages, and the retrieve step finds others, too. Write",
    "- retrieve: {}\n- generate: {}": "step 2 (generate): needs prompt, which no step before it makes; the step",
    "- retrieve: {}\n- augment: {}\n- generate: {}": "step 3 (generate): needs prompt, which no step before it makes; ",
    "- list: {}\n- augment: {}": "step 2 (augment): needs what a search found, and the step before it lists",
    "- retrieve: {}\n- augment: {role: a bee}": "step 2 (augment).role: is passed without `form: prompt`",
    "- retrieve: {}\n- augment: {form: song}": "step 2 (augment).form: 'song' is unknown. Use one of: text, prompt",
    "- retrieve: {}\n- add: {query: '{answer}'}": "step 2 (add).query: {answer} is not made before it. Put a generate",
    "- retrieve: {}\n- add: {}": "step 2 (add).query: is missing, and so is response",
    "- retrieve: {}\n- update: {}": "step 2 (update).text: is missing. Write it",
    "- retrieve: {}\n- update: {text: a, mode: swap}": "step 2 (update).mode: 'swap' is unknown. Use one of: overwrite",
    "- retrieve: {}\n- tag: {tags: []}": "step 2 (tag).tags: is empty. Name at least one tag",
    "- retrieve: {}\n- tag: {tags: a}": "step 2 (tag).tags: expected a list of at most 100 texts, got 'a'",
    "- list: {}\n- archive: {}\n- list: {}": "step 3 (list): comes after a step that changes something. Put it before",
    "- retrieve: {}\n- tag: {tags: [a]}\n- update: {text: b}": "step 3 (update): is the second step with other words",
    "- list: {}\n" * 17: "own.yaml: steps: are no list of 1 to 16 steps",
    "[]": "own.yaml: steps: are no list of 1 to 16 steps",
    "- list: {until: yesterday}": "step 1 (list).until: expected a time, such as 2026-05-01, got 'yesterday'",
    "- list: {at_least: 5, most: 2}": "step 1 (list).at_least: is 5, and most is 2. Raise most, or lower it",
    "- list: {most: 3, most: 9}": "own.yaml: has the key 'most' twice. Correct line 4",
    "- list: {most: !!int ''}": "own.yaml: is not YAML of texts, numbers and lists. Correct line 4: it has a tag",
    "- list: {since: !!timestamp foo}": "own.yaml: is not YAML of texts, numbers and lists. Correct line 4: it has a",
    "- list: {until: !!bool foo}": "own.yaml: is not YAML of texts, numbers and lists. Correct line 4: it has a tag",
    "- " + "[" * 40_000: "own.yaml: has more than 20 lists in each other. Correct line 4",
    "- !!python/object/apply:os.system [ls]": "own.yaml: is not YAML of texts, numbers and lists. Correct line",
    "- &a {list: {}}\n- *a": "own.yaml: has an alias (*name). Write the value where it is used",
    "- [": "own.yaml: is not YAML of texts, numbers and lists. Correct line",
}


def written(folder, steps, name="own"):
    path = folder / f"{name}.yaml"
    lines = "\n".join(f"  {line}" for line in steps.splitlines())
    path.write_text(f"name: {name}\nparameters: {{query: text, n: count}}\nsteps:\n{lines}\n", "utf-8")
    return path


@pytest.mark.parametrize(("steps", "told"), WRONG.items(), ids=range(len(WRONG)))
def test_what_is_wrong_is_told_with_its_place_and_a_fix(tmp_path, steps, told):
    with pytest.raises(InvalidInput, match=re.escape(told)):
        read_pipeline(written(tmp_path, steps))


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ([], "pipeline: is no mapping"),
        ({"name": "a"}, "steps: is missing"),
        ({"name": "Own!", "steps": [{"list": {}}]}, "name: 'Own!' is no name of a pipeline"),
        ({"name": "a", "version": 0, "steps": [{"list": {}}]}, "version: 0 is no version"),
        (
            {"name": "a", "parameters": {"answer": "text"}, "steps": [{"list": {}}]},
            "'answer' is no name of a parameter",
        ),
        ({"name": "a", "parameters": {"b": "txt"}, "steps": [{"list": {}}]}, "parameters.b: 'txt' is unknown"),
        ({"name": "a", "parameters": {"b": {"type": "count", "default": "x"}}, "steps": []}, "parameters.b.default"),
        ({"name": "a", "parameters": {"b": {"type": ["text"]}}, "steps": []}, "parameters.b.type: list is unknown"),
        ({"name": "a", "parameters": {"b": {"type": "text", "description": [1]}}, "steps": []}, "b.description: exp"),
        ({"name": "a", "description": "\ud800", "steps": [{"list": {}}]}, "description: expected a text"),
        ({"name": "a", "code": "1", "steps": [{"list": {}}]}, "pipeline.code: is unknown"),
    ],
)
def test_so_is_what_is_wrong_around_the_steps(document, told):
    with pytest.raises(InvalidInput, match=re.escape(told)):
        pipeline_of(document)


def test_a_pipeline_is_read_as_it_is_written(tmp_path):
    for suffix in (".json", ".yaml"):  # JSON is YAML, too
        path = tmp_path / f"whole{suffix}"
        path.write_text(json.dumps(WHOLE.to_dict()), "utf-8")
        assert read_pipeline(path) == WHOLE
    assert read_pipeline(TEMPLATES / "tidy-old.json").to_dict()["steps"] == [
        {"list": {"most": "{most}", "until": "{until}"}},
        {"archive": {"reason": "said until {until}"}},
    ]


def test_a_key_that_stands_twice_is_refused_in_json_too(tmp_path):
    path = tmp_path / "own.json"
    path.write_text('{"name": "own", "steps": [{"list": {}}], "steps": []}', "utf-8")
    with pytest.raises(InvalidInput, match=r"own\.json: has the key 'steps' twice"):
        read_pipeline(path)


def test_without_pyyaml_json_is_read_and_yaml_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    (tmp_path / "whole.json").write_text(json.dumps(WHOLE.to_dict()), "utf-8")
    with memoryos.open(tmp_path / "memory.db", user="ann", settings=SETTINGS) as memory:
        assert [one.name for one in memory.pipelines.list()] == ["answer-and-remember", "respond", "tidy-old"]
        assert memory.pipelines.check(tmp_path / "whole.json") == WHOLE
        with pytest.raises(MissingExtra) as told:
            memory.pipelines.check(written(tmp_path, "- list: {}"))
    assert str(told.value) == (
        "The pipeline file own.yaml needs an extra: pip install 'memoryos-engine[yaml]'; a .json file needs none"
    )


def test_in_python_the_same_is_checked():
    told = PipelineParameter(FieldType.COUNT, 5)
    made = Pipeline("own", [ListStep(most="{n}"), ArchiveStep()], parameters={"n": told})
    assert made.arguments({}) == {"n": 5}
    assert made.arguments({"n": 7}) == {"n": 7}
    with pytest.raises(InvalidInput, match=re.escape("step 1 (generate): needs prompt")):
        Pipeline("own", [GenerateStep()])
    with pytest.raises(InvalidInput, match="step 1: is a str"):
        Pipeline("own", ["retrieve"])
    for wrong in (AddStep, lambda: TagStep(tags=()), lambda: RetrieveStep(min_score=2)):
        with pytest.raises(InvalidInput):
            wrong()
    with pytest.raises(InvalidInput, match="tokens"):
        AugmentStep(form="prompt", tokens=5)
    assert UpdateStep(text="a").to_dict() == {"update": {"text": "a"}}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "parameters.query: is missing: whole needs it. Pass a text"),
        ({"query": 5}, "parameters.query: expected a text"),
        ({"query": "a", "quer": "b"}, "parameters.quer: whole has no such parameter. Did you mean query?"),
    ],
)
def test_arguments_are_checked(given, told):
    with pytest.raises(InvalidInput, match=re.escape(told)):
        WHOLE.arguments(given)


def test_own_files_stand_beside_ours_and_before_them(tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    written(folder, "- list: {}", "mine")
    written(folder, "- list: {most: '{n}'}", "tidy-old")
    (folder / "notes.txt").write_text("no pipeline")
    settings = SETTINGS.model_copy(update={"pipelines": folder})
    with memoryos.open(tmp_path / "memory.db", user="ann", settings=settings) as memory:
        names = [one.name for one in memory.pipelines.list()]
        assert names == ["answer-and-remember", "mine", "respond", "tidy-old"]
        assert len(memory.pipelines.check("tidy-old").steps) == 1
        with pytest.raises(NotFound, match="there is no pipeline 'tidy': did you mean"):
            memory.pipelines.check("tidy")
        for name in ("../own/mine", "mine.yaml", str(folder / "mine.yaml"), ""):
            with pytest.raises(NotFound, match="there is no pipeline"):
                memory.pipelines.run(name)
        assert memory.pipelines.check(folder / "mine.yaml").name == "mine"
        with pytest.raises(NotFound, match="cannot be read"):
            memory.pipelines.check(folder / "none.yaml")
        with pytest.raises(InvalidInput, match="expected a Pipeline or a name, got int"):
            memory.pipelines.check(5)
        (folder / "bad.yaml").write_text("steps: []")
        found = memory.pipelines.list()
        assert [one.name for one in found] == names
        assert [*found.broken] == ["bad.yaml"]
        assert found.broken["bad.yaml"].startswith("bad.yaml: name: is missing")
        assert found.to_dict()["broken"] == found.broken
        (folder / "bad.yaml").write_text("name: good\nsteps: [list: {}]")
        assert "name: is 'good', and the file is bad.yaml" in memory.pipelines.list().broken["bad.yaml"]
        (folder / "large.yaml").write_text("#" * 200_000)
        with pytest.raises(InvalidInput, match=r"large\.yaml: has more than 100,000 bytes"):
            memory.pipelines.check("large")
        (folder / "large.yaml").write_bytes(b"\xff")
        with pytest.raises(InvalidInput, match=r"large\.yaml: is not UTF-8"):
            memory.pipelines.check("large")
    gone = SETTINGS.model_copy(update={"pipelines": tmp_path / "gone"})
    with (
        memoryos.open(tmp_path / "memory.db", user="ann", settings=gone) as memory,
        pytest.raises(NotFound, match="the folder of pipelines"),
    ):
        memory.pipelines.list()


CHANGES = {
    "set": lambda one: one.__setitem__("query", "count"),
    "delete": lambda one: one.__delitem__("query"),
    "merge": lambda one: one.__ior__({"n": "count"}),
    "update": lambda one: one.update(n="count"),
    "setdefault": lambda one: one.setdefault("n", "count"),
    "pop": lambda one: one.pop("query"),
    "popitem": lambda one: one.popitem(),
    "clear": lambda one: one.clear(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_nobody_changes_the_parameters_of_a_pipeline(change):
    asked = {"query": "text"}
    pipeline = Pipeline("asks", [ListStep()], parameters=asked)
    with pytest.raises(TypeError, match="cannot be changed"):
        CHANGES[change](pipeline.parameters)
    asked["more"] = "text"
    assert pipeline.parameters == {"query": PipelineParameter("text")}


def test_frozen_parameters_are_pickled_copied_and_merged():
    pipeline = Pipeline("asks", [ListStep()], parameters={"query": "text"})
    for again in (pickle.loads(pickle.dumps(pipeline)), copy.deepcopy(pipeline), copy.copy(pipeline)):
        assert again == pipeline and type(again.parameters) is FrozenDict
    assert asdict(pipeline)["parameters"]["query"]["type"] is FieldType.TEXT
    assert type(pipeline.parameters | {"n": "count"}) is dict
