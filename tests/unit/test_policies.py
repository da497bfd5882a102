"""Policies as files: checked when they are read, with file and line of what is wrong."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import cedarpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos import Action, Caller, MemoryOS, Role, Scope, Turn, load_settings
from memoryos.errors import InvalidInput, MissingExtra
from memoryos.filter import labels_about
from memoryos.kinds import AccessMode
from memoryos.models.hashing import Hashing
from memoryos.policy import policies as loading
from memoryos.policy.policies import Policies
from memoryos.policy.policy_files import PolicyFiles
from memoryos.policy.policy_request import PolicyRequest
from memoryos.policy.ruling import Reach, Ruling

NOW = datetime(2026, 6, 1, tzinfo=UTC)
ANN = Scope(user="ann")
GOOD = '// A comment; with a semicolon.\npermit (principal, action, resource)\nwhen { "a;b" != "//" };\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD + "permit (principal, action, resource) when { resource.owner == };", "a.cedar:4: unexpected token"),
        (
            GOOD + "\n\npermit (principal, action, resource is Cube) when { resource.colour == 1 };",
            "a.cedar:6: .*colour",
        ),
        ('permit (principal, action == Action::"reed", resource);', "a.cedar:1: .*unrecognized action"),
        ("permit (principal, action, resource)", "a.cedar:1: "),
        ("permit (principal == ?principal, action, resource);", "a.cedar:1: .*slots"),
        ('permit (principal, action, resource) when { context.purpose == "x" };', "a.cedar:1: .*purpose"),
        ("nonsense", "a.cedar:1: "),
    ],
)
def test_a_wrong_policy_is_named_with_file_and_line(tmp_path, text, said):
    (tmp_path / "a.cedar").write_text(text)
    with pytest.raises(InvalidInput, match=said) as caught:
        PolicyFiles(tmp_path)
    assert caught.value.field == "policies"


def test_policies_of_several_files_count_together(tmp_path):
    (tmp_path / "b.cedar").write_text('@id("all read")\npermit (principal, action == Action::"read", resource);')
    (tmp_path / "a.cedar").write_text('forbid (principal == User::"eve", action, resource);')
    (tmp_path / "notes.txt").write_text("no policy")
    policies = PolicyFiles(str(tmp_path)).policies()
    assert [one.name for one in policies.texts] == ["a.cedar:1", "all read"]
    told = {name: Ruling(policies, PolicyRequest(Caller(name), Action.READ, NOW)) for name in ("ann", "eve")}
    assert told["ann"].decision(ANN, "page", ()).policies == ("all read",)
    assert told["eve"].decision(ANN, "page", ()).reason == "forbidden by a.cedar:1"


@pytest.mark.parametrize("path", ["", " ", "a\x00b", 5, None])
def test_a_path_that_is_none_is_refused(path):
    with pytest.raises(InvalidInput, match="policies: is not a file"):
        PolicyFiles(path)


def test_what_cannot_be_read_is_refused(tmp_path):
    (tmp_path / "latin.cedar").write_bytes(b"// caf\xe9")
    for path, said in ((tmp_path / "none.cedar", "No such file"), (tmp_path / "latin.cedar", "not UTF-8")):
        with pytest.raises(InvalidInput, match=said):
            PolicyFiles(path)


def test_no_store_is_made_with_wrong_policies(tmp_path):
    (tmp_path / "a.cedar").write_text("nonsense")
    with pytest.raises(InvalidInput, match=r"a\.cedar:1"):
        MemoryOS.open(tmp_path / "a.db", policies=tmp_path / "a.cedar")
    with pytest.raises(InvalidInput, match="gate: cannot be combined with policies"):
        MemoryOS.open(tmp_path / "a.db", policies=tmp_path / "a.cedar", gate=Everybody())
    assert not (tmp_path / "a.db").exists()


class Everybody:
    def admit(self, caller, action, scope):
        pass


def test_the_extra_is_named_when_it_is_missing(tmp_path, monkeypatch):
    (tmp_path / "a.cedar").write_text(GOOD)
    monkeypatch.setitem(sys.modules, "cedarpy", None)
    loading.cedar.cache_clear()
    with pytest.raises(MissingExtra, match=r"pip install 'memoryos-engine\[governance\]'"):
        PolicyFiles(tmp_path / "a.cedar")
    loading.cedar.cache_clear()


@pytest.mark.parametrize(
    ("condition", "asks"),
    [
        ('context.time > datetime("2026-01-01")', True),
        ("context has time", True),
        ("context == context", True),
        ('context has purpose && context.purpose == "time"', False),
        ('resource.tags.contains("time")', False),
    ],
)
def test_whether_decisions_depend_on_the_minute_is_known(condition, asks):
    policies = Policies.of({"a.cedar": f"permit (principal, action, resource is Cube) when {{ {condition} }};"})
    assert policies.asks_time is asks


CONDITIONS = [
    "resource.owner == principal",
    'resource.tags.contains("work")',
    "resource.sensitivity.isEmpty()",
    'resource.access == "shared"',
    'resource.kind == "page"',
    'principal in Role::"doctor"',
    'context has purpose && context.purpose == "care"',
    'resource.owner == User::"ann" || resource.tags.contains("open")',
    'resource.namespace like "private*"',
]


@given(data=st.data())
def test_what_is_decided_for_a_whole_scope_holds_for_each_cube(data):
    """The partial answer (nothing, everything) agrees with the answers for all classes."""
    effects = st.tuples(st.sampled_from(["permit", "forbid"]), st.sampled_from(["when", "unless"]))
    heads = st.sampled_from(["action", 'action == Action::"read"', 'action in [Action::"read", Action::"write"]'])
    lines = st.tuples(effects, heads, st.sampled_from(CONDITIONS)).map(
        lambda one: f"{one[0][0]} (principal, {one[1]}, resource is Cube) {one[0][1]} {{ {one[2]} }};"
    )
    text = "\n".join(data.draw(st.lists(lines, min_size=1, max_size=4)))
    roles = st.frozensets(st.sampled_from(["doctor", "nurse"]), max_size=1)
    caller = data.draw(st.builds(Caller, st.sampled_from(["ann", "bob"]), roles, st.sampled_from([None, "care"])))
    ruling = Ruling(Policies.of({"a.cedar": text}), PolicyRequest(caller, data.draw(st.sampled_from(Action)), NOW))
    answers = {
        ruling.decision(ANN, kind, labels_about(tags, sensitivity, access)).allowed
        for kind in ("page", "fact")
        for tags in ((), ("work",), ("open", "work"))
        for sensitivity in ((), ("diagnosis",))
        for access in AccessMode
    }
    allowed = {Reach.NOTHING: {False}, Reach.EVERYTHING: {True}, Reach.SOME: {True, False}}
    assert answers <= allowed[ruling.reach(ANN)]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12).filter(str.strip))
def test_any_name_is_only_itself(name):
    policies = Policies.of(
        {"a.cedar": "permit (principal, action, resource is Cube) when { resource.owner == principal };"}
    )
    ruling = Ruling(policies, PolicyRequest(Caller(name, frozenset({name})), Action.READ, NOW))
    assert ruling.decision(Scope(user=name), "page", [name]).allowed
    assert ruling.reach(Scope(user=name)) is not Reach.NOTHING
    assert not ruling.decision(Scope(user=name + "x"), "page", [name]).allowed


@pytest.mark.parametrize("pages", [20, 200])
def test_a_search_decides_about_classes_of_memories_and_not_about_each(tmp_path, monkeypatch, pages):
    """So 100,000 memories are not asked one by one: two combinations of labels are two decisions, once."""
    rules = tmp_path / "clinic.cedar"
    rules.write_text(
        "permit (principal, action, resource is Cube) when { resource.owner == principal };\n"
        'permit (principal == User::"kim", action == Action::"read", resource) when { resource.sensitivity.isEmpty() };'
    )
    asked = []
    decide = cedarpy.is_authorized
    monkeypatch.setattr(cedarpy, "is_authorized", lambda *told: asked.append(told) or decide(*told))
    settings = load_settings(embedder="hashing")
    with MemoryOS.open(tmp_path / "m.db", policies=rules, settings=settings, embedder=Hashing()) as store:
        ann, kim = store.memory("ann"), store.memory("ann", caller=Caller("kim"))
        for sensitivity in ([], ["diagnosis"]):
            said = [Turn(role=Role.USER, text=f"Bee {number} hums.") for number in range(pages // 2)]
            ann.add_many(said, sensitivity=sensitivity)
        store.wait()
        asked.clear()
        assert kim.search("bee", pages=5).hits
        assert 0 < len(asked) <= 4
        asked.clear()
        assert kim.search("hums", pages=5).hits
        assert asked == []
