"""Terms of mem0: ids and filters as owners and labels here, and memories as its records.

A user id names the owner of a memory. An agent id and an app id beside it are tags, and a run id is the session, so a
search by the user alone finds all of them. Without a user id, the agent or the run is an owner of its own, in another
namespace: an agent's id never opens what is known about a user.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memoryos.cube import MemCube, Page
from memoryos.errors import InvalidInput, NotFound
from memoryos.scope import PRIVATE, Scope
from memoryos.text import shown

IDS = ("user_id", "agent_id", "app_id", "run_id")
RAW = "mem0"  #: the source of what is stored with infer=False: a source keeps it from being read for facts

_OWNERS = {"user_id": PRIVATE, "agent_id": ("mem0", "agents"), "run_id": ("mem0", "runs")}
_TAGGED = ("agent_id", "app_id")
_BEHIND = "."  # between the id of a memory and its owner


@dataclass(frozen=True, slots=True)
class Mem0Ids:
    """Whose memories are meant, and which of them."""

    scope: Scope  #: of the owner, with the run as its session
    tags: tuple[str, ...] = ()

    @classmethod
    def of(cls, tenant: str, told: Mapping[str, Any]) -> Mem0Ids:
        """The owner and the labels that ids name. Raises InvalidInput if there is no owner."""
        ids = {name: _checked(name, told[name]) for name in IDS if told.get(name) is not None}
        kind = next((name for name in _OWNERS if name in ids), None)
        if kind is None:
            fix = "Pass user_id, agent_id or run_id, e.g. filters={'user_id': 'ann'}"
            raise InvalidInput("filters", "name no user, agent or run", fix)
        scope = Scope(user=ids[kind], tenant=tenant, namespace=_OWNERS[kind])
        session = ids.get("run_id") if kind != "run_id" else None
        tags = tuple(f"{name}={ids[name]}" for name in _TAGGED if name in ids and name != kind)
        return cls(replace(scope, session=session), tags)

    @property
    def is_whole(self) -> bool:
        """Whether all memories of the owner are meant."""
        return not self.tags and self.scope.session is None


@dataclass(frozen=True, slots=True)
class Mem0Filters:
    """What `filters` ask for: ids, and metadata."""

    ids: Mapping[str, Any]
    metadata: Mapping[str, Any]

    @classmethod
    def of(cls, filters: Mapping[str, Any] | None) -> Mem0Filters:
        """Read filters: equal values, lists of alternatives, and AND. Raises InvalidInput, which names any other."""
        told: dict[str, Any] = {}
        for name, value in _pairs(filters or {}):
            if name in told and told[name] != value:
                raise InvalidInput(f"filters.{name}", "is asked for twice", "Pass it once")
            told[name] = value
        ids = {name: value for name, value in told.items() if name in IDS}
        return cls(ids, {name: value for name, value in told.items() if name not in IDS})


def _pairs(filters: Any) -> list[tuple[str, Any]]:
    if not isinstance(filters, Mapping):
        raise InvalidInput("filters", f"expected a dict, got {type(filters).__name__}", "Pass {'user_id': 'ann'}")
    found: list[tuple[str, Any]] = []
    for name, value in filters.items():
        if name == "AND":
            several = value if isinstance(value, list | tuple) else [value]
            found += [pair for one in several for pair in _pairs(one)]
        elif name in ("OR", "NOT") or str(name).startswith("$"):
            raise InvalidInput(f"filters.{name}", "is not supported", "Pass equal values, lists of them, or AND")
        elif name == "metadata" and isinstance(value, Mapping):
            found += [(key, _value(key, one)) for key, one in value.items()]
        else:
            found.append((name, _value(name, value)))
    return found


def _value(name: str, value: Any) -> Any:
    """The value, or the list of values, that a condition names."""
    if not isinstance(value, Mapping):
        return value
    if len(value) == 1 and (known := value.keys() & {"eq", "in"}):
        return value[known.pop()]
    raise InvalidInput(f"filters.{name}", f"{shown(next(iter(value), ''))} is not supported", "Use 'eq' or 'in'")


def _checked(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or value == "*":
        raise InvalidInput(name, f"{shown(value)} names nobody", "Pass the id of one, as text")
    return value.strip()


def id_of(cube_id: str, owner: Scope) -> str:
    """The id of a memory that also names its owner, as mem0 asks for a memory by its id alone."""
    kind = next((name for name, namespace in _OWNERS.items() if namespace == owner.namespace), "user_id")
    name = base64.urlsafe_b64encode(owner.user.encode()).decode().rstrip("=")
    return f"{cube_id}{_BEHIND}{kind[0]}{name}"


def located(memory_id: str, tenant: str) -> tuple[str, Scope]:
    """The id of a memory and its owner. Raises NotFound for a text that is no such id."""
    cube_id, _, owner = str(memory_id).partition(_BEHIND)
    kind = next((name for name in _OWNERS if name[0] == owner[:1]), None)
    try:
        user = base64.urlsafe_b64decode(owner[1:] + "=" * (-len(owner[1:]) % 4)).decode()
        return cube_id, Scope(user=user, tenant=tenant, namespace=_OWNERS[kind or ""])
    except (KeyError, ValueError):  # no owner, or no text, or none that an owner may have
        raise NotFound(f"there is no memory {shown(memory_id)}") from None


def entity_of(scope: Scope) -> tuple[str, str] | None:
    """The type and the name of the entity whose memories are in a scope; None: they are not of this form."""
    kind = next((name for name, namespace in _OWNERS.items() if namespace == scope.namespace), None)
    return (kind.removesuffix("_id"), scope.user) if kind and scope.agent == "default" else None


def record_of(cube: MemCube, owner: Scope) -> dict[str, Any]:
    """A memory as mem0 tells it."""
    tagged = dict(tag.split("=", 1) for tag in cube.tags if tag.split("=", 1)[0] in _TAGGED and "=" in tag)
    kind, name = entity_of(owner) or ("user", owner.user)
    ids = {f"{kind}_id": name, **tagged, "run_id": cube.scope.session}
    turns = cube.payload.turns if isinstance(cube.payload, Page) else ()
    role = {"role": turns[0].role.value} if len(turns) == 1 else {}
    times = {"created_at": cube.descriptive.recorded_at, "updated_at": cube.descriptive.updated_at}
    return {
        "id": id_of(cube.id, owner),
        "memory": words_of(cube),
        "metadata": cube.metadata or None,
        "categories": None,
        **{name: at.isoformat() for name, at in times.items()},
        **{name: value for name, value in ids.items() if value is not None},
        **role,
    }


def words_of(cube: MemCube) -> str:
    """The text of a memory; of one message, its words alone."""
    turns = cube.payload.turns if isinstance(cube.payload, Page) else ()
    return turns[0].words if len(turns) == 1 else cube.text


def changes_of(versions: Sequence[MemCube], memory_id: str) -> list[dict[str, Any]]:
    """The versions of a memory as the changes that mem0 tells."""
    before: list[MemCube | None] = [None, *versions]
    return [
        {
            "id": f"{memory_id}:{number}",
            "memory_id": memory_id,
            "old_memory": words_of(old) if old else None,
            "new_memory": words_of(new),
            "event": "UPDATE" if old else "ADD",
            "created_at": new.descriptive.recorded_at.isoformat(),
            "updated_at": new.descriptive.updated_at.isoformat() if old else None,
            "is_deleted": False,
            "actor_id": None,
            "role": None,
        }
        for number, (old, new) in enumerate(zip(before, versions, strict=False), 1)
    ]
