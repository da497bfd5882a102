"""Policies: the Cedar policies of a store, read from files and checked against the schema.

Cedar (https://www.cedarpolicy.com) decides: what no policy permits is denied, and a `forbid` overrides every `permit`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from memoryos.errors import InvalidInput, MissingExtra
from memoryos.policy.policy_schema import SCHEMA
from memoryos.policy.policy_text import PolicyText, statements_of
from memoryos.regex import regex

if TYPE_CHECKING:
    import cedarpy

_NUMBER = regex(r"policy(\d+)")  # as Cedar names the policies of a text, in order
_NAMES_ITS_POLICY = regex(r"^for policy `policy\d+`, ")


@dataclass(frozen=True, slots=True, eq=False)
class Policies:
    """Checked policies."""

    texts: Sequence[PolicyText]
    parsed: cedarpy.PolicySet
    asks_time: bool  #: whether a decision depends on the minute
    fingerprint: str  #: SHA-256 of the files, with their names

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Policies:
        """Check the policies of these files. Raises InvalidInput, with file and line, and MissingExtra."""
        engine = cedar()
        found = [one for file, text in texts.items() for one in statements_of(file, text)]
        for one in found:
            _check_syntax(one)
        whole = "\n".join(one.text for one in found)
        checked = engine.validate_policies(whole, _schema())
        if faults := [_fault(found, error.policy_id, error.error) for error in checked.errors]:
            raise _refused(*dict.fromkeys(faults))
        forms = json.loads(engine.policies_to_json_str(whole))["staticPolicies"].values()
        fingerprint = sha256(json.dumps(dict(texts), sort_keys=True).encode()).hexdigest()
        return cls(found, engine.PolicySet.from_str(whole), any(map(_asks_time, forms)), fingerprint)

    def named(self, policy_ids: Sequence[str]) -> tuple[str, ...]:
        """The names of policies that Cedar gives as reasons, in the order of the files."""
        numbers = sorted(int(found[1]) for one in policy_ids if (found := _NUMBER.fullmatch(one)))
        return tuple(self.texts[number].name for number in numbers)


@cache
def cedar() -> Any:
    """The policy engine. Raises MissingExtra."""
    try:
        import cedarpy
    except ImportError:
        raise MissingExtra("A store with policies", "governance") from None
    return cedarpy


@cache
def _schema() -> Any:
    return cedar().Schema.from_str(SCHEMA)


def _check_syntax(one: PolicyText) -> None:
    try:
        parsed = cedar().PolicySet.from_str(one.text)
    except ValueError as error:
        raise _refused(f"{one.place}: {error}") from None
    if len(parsed) != 1 or parsed.templates():
        raise _refused(f"{one.place}: is not one policy without slots")


def _fault(found: Sequence[PolicyText], policy_id: str, problem: str) -> str:
    number = _NUMBER.fullmatch(policy_id)
    place = found[int(number[1])].place if number else "policies"
    return f"{place}: {_NAMES_ITS_POLICY.sub('', problem)}"


def _refused(*faults: str) -> InvalidInput:
    told = "; ".join(faults).replace("`", "'")  # in backticks, a door looks for its own arguments
    return InvalidInput("policies", told, "Correct the file; `memoryos policy schema` shows what exists")


def _asks_time(form: Any) -> bool:
    """Whether a policy reads the time: by its name, or the context as a whole."""
    return any(_is_time(one) for one in _nodes(form))


def _is_time(node: Mapping[str, Any]) -> bool:
    if isinstance(node.get("attr"), str):  # of `context.time` and `context has time`
        return node.get("left") == {"Var": "context"} and node["attr"] == "time"
    return {"Var": "context"} in node.values()


def _nodes(form: Any) -> Iterator[Mapping[str, Any]]:
    """All objects in a JSON value."""
    if isinstance(form, Mapping):
        yield form
        for value in form.values():
            yield from _nodes(value)
    elif isinstance(form, list):
        for value in form:
            yield from _nodes(value)
