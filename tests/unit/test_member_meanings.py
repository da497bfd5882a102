"""What comments say of members is read from the text of the module, and missing where there is none."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from memoryos.interface.rest.answer_meanings import in_json
from memoryos.interface.rest.member_meanings import comments, sentence, with_meanings

TEXT = '''
from dataclasses import dataclass, field

LIMIT = 3  #: of no class


@dataclass(frozen=True)
class Bee:
    """A bee.

    name: is no member
    """

    name: str  #: how it is called
    hive: (
        str | None
    )  #: where it lives; None: nowhere
    legs: int = 6  # how many there are
    wings: int = 4

    def fly(
        self,
    ) -> None:  # of no member
        here: int = 1  #: of no member
        del here


def sting() -> None:
    venom: int = 1  #: of no class
    del venom


class Drone(Bee):
    name: str  #: how the others call it
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "bees.py").write_text(TEXT)
    monkeypatch.syspath_prepend(tmp_path)
    import bees

    monkeypatch.setitem(sys.modules, "memoryos.bees", bees)
    monkeypatch.setattr(bees.Bee, "__module__", "memoryos.bees")
    monkeypatch.setattr(bees.Drone, "__module__", "memoryos.bees")
    yield bees
    del sys.modules["bees"]


def test_a_comment_is_of_the_member_on_whose_last_line_it_stands(module):
    own = {"name": "how it is called", "hive": "where it lives; None: nowhere", "legs": "how many there are"}
    assert comments(module.Bee) == own
    assert comments(*reversed(module.Drone.__mro__)) == own | {"name": "how the others call it"}


def test_without_the_text_of_a_module_nothing_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "memoryos.wasps", ModuleType("memoryos.wasps"))
    assert comments(type("Wasp", (), {"__module__": "memoryos.wasps"})) == {}


def test_a_meaning_is_a_sentence_in_terms_of_json():
    assert sentence("when it ends; None: never") == "When it ends; None: never."
    assert in_json("None: never. True if Nones end.") == "`null`: never. `true` if Nones end."
    told = with_meanings({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}}, {"a": "The first."})
    assert told["properties"] == {"a": {"type": "string", "description": "The first."}, "b": {}}
