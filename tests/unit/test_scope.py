from __future__ import annotations

import dataclasses

import pytest

from memoryos.errors import InvalidInput, MemoryOSError
from memoryos.scope import ID_LIMIT, PRIVATE, Scope


def test_a_user_is_enough():
    scope = Scope(user="alice")
    assert (scope.tenant, scope.agent, scope.session, scope.namespace) == ("default", "default", None, PRIVATE)


def test_a_scope_is_a_value():
    assert Scope(user="alice") == Scope(user="alice")
    assert len({Scope(user="alice"), Scope(user="alice"), Scope(user="Alice")}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        Scope(user="alice").user = "bob"


def test_the_owner_has_no_session():
    scope = Scope(user="alice", agent="coder", session="monday", tenant="acme", namespace=("team",))
    assert scope.owner == Scope(user="alice", agent="coder", tenant="acme", namespace=("team",))
    assert scope.owner.owner == scope.owner


def test_what_agents_share_names_no_agent():
    scope = Scope(user="alice", agent="coder", session="monday", tenant="acme")
    assert scope.across_agents == Scope(user="alice", agent=None, tenant="acme")


@pytest.mark.parametrize("field", ["user", "agent", "session", "tenant"])
@pytest.mark.parametrize("value", ["", " \t\n", 7, b"alice", "a\x00b", "\ud800", "x" * (ID_LIMIT + 1), ["alice"]])
def test_a_bad_id_is_refused_by_name(field, value):
    with pytest.raises(InvalidInput) as caught:
        Scope(**{"user": "alice", field: value})
    assert caught.value.field == f"scope.{field}"


@pytest.mark.parametrize("field", ["user", "tenant"])
def test_user_and_tenant_are_always_there(field):
    with pytest.raises(InvalidInput, match=f"scope.{field}"):
        Scope(**{"user": "alice", field: None})


@pytest.mark.parametrize("value", [(), "team", ["team"], None, ("",), ("team", 7), ("a\x00",), ("x" * 257,)])
def test_a_bad_namespace_is_refused(value):
    with pytest.raises(InvalidInput, match=r"scope\.namespace"):
        Scope(user="alice", namespace=value)


@pytest.mark.parametrize("value", ["../../x", "'; DROP TABLE cubes; --", "🦊", "%", "_", "x" * ID_LIMIT, " a "])
def test_an_id_is_kept_as_it_is(value):
    scope = Scope(user=value, agent=value, session=value, tenant=value, namespace=(value,))
    assert (scope.user, scope.agent, scope.session, scope.tenant, scope.namespace) == (*[value] * 4, (value,))


def test_a_slash_in_a_label_is_not_a_level():
    assert Scope(user="a", namespace=("team/a",)).path == "team%2Fa"
    assert Scope(user="a", namespace=("team", "a")).path == "team/a"


def test_an_error_says_what_to_do_and_can_be_caught_as_ours():
    with pytest.raises(MemoryOSError, match=r"scope\.user: is empty\. Pass at least one"):
        Scope(user="")
