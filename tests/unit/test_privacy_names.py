"""Names of persons, found by a spaCy pipeline: here one of rules, because a trained one has to be downloaded."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import forked
import memoryos
from memoryos import Scope, SensitiveKind, detect, load_settings
from memoryos.errors import InvalidInput, MissingExtra
from memoryos.models.hashing import Hashing
from memoryos.privacy import names
from memoryos.privacy.names import name_finder
from memoryos.privacy.protection import Protection
from memoryos.privacy.sensitive import PrivacyAction

EVERY = frozenset(SensitiveKind)


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A pipeline that knows some persons and a town."""
    import spacy  # with torch, where it is installed: seconds that those who only collect tests do not need

    folder = tmp_path_factory.mktemp("rules")
    nlp = spacy.blank("en")
    title = {"LOWER": {"IN": ["dr.", "ms.", "mr."]}, "OP": "?"}
    persons = [[title, {"TEXT": "Ada"}, {"TEXT": "Lovelace", "OP": "?"}], [{"TEXT": "Quixana"}]]
    rules = [{"label": "PERSON", "pattern": one} for one in persons]
    nlp.add_pipe("entity_ruler").add_patterns([*rules, {"label": "GPE", "pattern": "Oslo"}])
    nlp.to_disk(folder)
    return str(folder)


def masked(text: str, pipeline: str | None, kinds: frozenset[SensitiveKind] = EVERY) -> str:
    policy = Protection.of(PrivacyAction.MASK, kinds, None, pipeline)
    return policy.for_owner(Scope(user="ann")).text("text", text)


def test_names_are_found_with_a_pipeline_and_not_without(pipeline):
    text = "Ada Lovelace lives in Oslo, and Quixana knows her."
    assert masked(text, None) == text
    assert masked(text, pipeline) == "[name] lives in Oslo, and [name] knows her."
    assert masked(text, pipeline, EVERY - {SensitiveKind.NAME}) == text
    assert [(one.kind.value, text[one.start : one.end]) for one in detect(text, name_finder(pipeline))] == [
        ("name", "Ada Lovelace"),
        ("name", "Quixana"),
    ]


def test_what_else_is_found_comes_first_and_masks_stay(pipeline):
    assert masked("Write to Ada@example.com or to Ada.", pipeline) == "Write to [email] or to [name]."
    assert masked("[name] and [email] met Quixana.", pipeline) == "[name] and [email] met [name]."


def test_a_long_text_is_read_in_parts(pipeline, monkeypatch):
    monkeypatch.setattr(names, "_AT_ONCE", 50)
    text = "Once more: Quixana met Ada near the old mill. " * 20
    assert masked(text, pipeline) == text.replace("Quixana", "[name]").replace("Ada", "[name]")


def test_what_is_stored_and_asked_has_no_name(tmp_path, pipeline):
    settings = load_settings(embedder="hashing", privacy_on_write="mask", privacy_names=pipeline)
    with memoryos.open(tmp_path / "memory.db", user="ann", settings=settings, embedder=Hashing()) as memory:
        memory.add("I met Ada Lovelace yesterday.", "Who is Ada?")
        memory.facts.add("knows Quixana")
        assert memory.search("Ada Lovelace").query == "[name]"
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"[name]" in held
    assert not [one for one in (b"Lovelace", b"Quixana") if one in held]


def test_a_pipeline_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidInput, match=r"privacy_names: .*'no_such_pipeline'.*spacy download no_such_pipeline"):
        name_finder("no_such_pipeline")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInput, match="privacy_names"):
        name_finder(str(tmp_path / "empty"))


def test_without_the_extra_the_command_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtra, match=r"pip install 'memoryos-engine\[privacy-names\]'"):
        name_finder("another_pipeline")


def test_who_has_set_none_loads_nothing(tmp_path: Path):
    program = (
        "import sys, memoryos\n"
        "settings = memoryos.load_settings(embedder='hashing', privacy_on_write='mask')\n"
        "with memoryos.open('memory.db', user='ann', settings=settings) as memory:\n"
        "    memory.add('Call 555-867-5309.')\n"
        "print('spacy' in sys.modules)"
    )
    done = forked.python("-c", program, cwd=tmp_path)
    assert done.stdout == "False\n", done.stderr


@pytest.mark.parametrize("policy", ["privacy_on_write", "privacy_on_export", "privacy_on_read"])
def test_names_cannot_be_asked_for_without_a_pipeline(policy, pipeline):
    for kinds in (("name",), ("email", "name")):
        with pytest.raises(InvalidInput, match=r"privacy_names: is not set.*spaCy pipeline.*privacy_kinds"):
            load_settings(**{policy: "mask"}, privacy_kinds=kinds)
        assert load_settings(**{policy: "mask"}, privacy_kinds=kinds, privacy_names=pipeline).privacy_kinds == kinds
    assert load_settings(**{policy: "mask"}).privacy_names is None
    assert load_settings(privacy_kinds=("name",)).privacy_names is None
