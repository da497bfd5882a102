"""A model's summary of a topic is a version of it, and is not written over the words of a person."""

from __future__ import annotations

import json

from generation.scripted_model import Reply, says
from memoryos import Memory
from memoryos.bench.scripted_reader import reply

KETTLE = (
    "My old kettle whistles in the kitchen.",
    "My old kettle in the kitchen leaks.",
    "My old kettle in the kitchen is green.",
    "My old kettle in the kitchen was a gift.",
    "My old kettle in the kitchen has a dent.",
)


def says_of_topics(words: str):
    """A model that says this of every topic, and is right in all else."""

    def answer(request: dict) -> Reply:
        said = reply(request["messages"])
        for topic in said.get("topics", ()):
            topic["summary"] = words
        return says(json.dumps(said, ensure_ascii=False))

    return answer


def read(memory: Memory, *texts: str) -> str:
    """Add pages, have the model read them, and return the topic."""
    for text in texts:
        memory.add(text)
    memory.consolidate()
    (view,) = memory.segments.list()
    return view.cube.id


def test_what_a_model_writes_is_a_version(opened, model):
    memory = opened()
    model.otherwise = says_of_topics("The old kettle leaks in the kitchen.")
    topic = read(memory, *KETTLE[:3])
    before, after = memory.history(topic)
    assert (before.payload.written, after.payload.written) == ("", "The old kettle leaks in the kitchen.")
    assert before.payload.pages == after.payload.pages
    note = memory.governance.provenance(topic).versions[-1]
    assert (note.by, note.reason) == ("memoryos", "a model summarised it")
    assert note.at == after.descriptive.updated_at
    read(memory, KETTLE[3])
    joined = memory.history(topic)[2]
    assert joined.text.startswith("The old kettle leaks in the kitchen.")
    assert joined.payload.pages == before.payload.pages + 1
    assert len(memory.history(topic)) == 3, "the model wrote the same again"


def test_a_person_is_not_written_over_by_a_model(opened, model):
    memory = opened()
    model.otherwise = says_of_topics("The old kettle leaks in the kitchen.")
    topic = read(memory, *KETTLE[:3])
    memory.update(topic, "About the kettle.")
    model.otherwise = says_of_topics("The old kettle in the kitchen was a gift.")
    read(memory, *KETTLE[3:])
    assert memory.get(topic).text.startswith("About the kettle.")
    assert memory.get(topic).payload.written == "About the kettle."
    memory.governance.rollback(topic, 2)
    assert memory.get(topic).payload.written.startswith("The old kettle leaks in the kitchen.")
