"""Parameter descriptions: what /openapi.json says of each parameter, once for each name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_AUDITED = ("store_audit_list", "store_audit_permissions")
_SAID = ("pages_list", "pages_count", "segments_list", "segments_count")
_MEM0_ENTITIES = tuple(f"delete_mem0_{version}entities_kind_name_" for version in ("", "v1_", "v2_"))


def _each(operations: Iterable[str], name: str) -> list[str]:
    return [f"{operation}.{name}" for operation in operations]


#: By the name of the parameter, with that of one operation in front of it where it means something else there.
DESCRIPTIONS: Mapping[str, str] = {
    "user": "Whose memory it is.",
    "agent": "Which agent has the memory.",
    "session": "The session of what is stored.",
    "namespace": "Labels of the purpose of the memory; default: private.",
    "branch": "A branch of the memory; default: the memory itself.",
    "tenant": "The tenant; a key opens its own alone.",
    "memory_id": "The id of the memory.",
    "cube_id": "The id of the memory.",
    "page_id": "The id of the page.",
    "id": "The id of the attachment.",
    "hold_id": "The id of the legal hold.",
    "delegation_id": "The id of the right that was passed on.",
    "proposal_id": "The id of the proposal.",
    "key_id": "The id of the key, which is not its secret.",
    "grant_id": "The id of the grant.",
    "name": "The name that it has.",
    "pipeline": "The name of the pipeline.",
    "field": "The field of the persona, such as name.",
    "limit": "Most items to return.",
    "cursor": "The `cursor` of the part before: the answer is the next part.",
    "latest": "Whether the latest comes first.",
    "since": "Only from this day or time on.",
    "until": "Only up to this day or time; a day counts whole.",
    "as_of": "As it was then: a time, the name of a snapshot, or `stored:` and a time.",
    "after": "Only changes with a higher number than this.",
    "tags": "Only what carries all of these tags.",
    "filters": 'Only what passes this filter, in JSON, such as {"any_tags": ["home"]}.',
    "tier": "Only this tier.",
    "segment": "Only the pages of the segment (topic) with this id.",
    "speaker": "Only what this person said.",
    "role": "Only where somebody in this role speaks.",
    "subject": "About whom the facts are.",
    "archive": "Whether those of the archive are meant, and not those of MTM.",
    "kind": "Only memories of this kind.",
    "states": "Only jobs in one of these states.",
    "source": "The form before the change.",
    "target": "The form after the change.",
    "older": "The number of the version before; default: the one before `newer`.",
    "newer": "The number of the version after; default: the latest.",
    "identity": "Only the grants of this identity.",
    "caller": "Only what this caller did.",
    "action": "Only calls that needed this right.",
    "operation": "Only calls of this operation, such as memory.search.",
    "decision": "Only calls with this decision.",
    "user_id": "The user whose memory it is.",
    "agent_id": "Only what was stored for this agent; without a user, the owner.",
    "run_id": "Only what was stored in this run; without a user and an agent, the owner.",
    "app_id": "Only what was stored for this application.",
    "top_k": "Most memories to return.",
    "model": "The name of the model.",
    **dict.fromkeys(_each(_SAID, "session"), "Only what was said in this session."),
    **dict.fromkeys(_each(_AUDITED, "user"), "Only what was done with the memory of this user."),
    **dict.fromkeys(_each(_AUDITED, "agent"), "Only what was done with the memory of this agent."),
    **dict.fromkeys(_each(_AUDITED, "memory_id"), "Only what was done with this memory."),
    "store_agents_list.user": "Only the agents of this user.",
    "forms_list.memory_id": "Only what was made of this memory, or told it.",
    "store_users_show.user": "The user.",
    "forget.session": "Forget what was said in this session alone.",
    "log_usage.since": "Only from this day on, in UTC.",
    **dict.fromkeys(_each(_AUDITED, "kind"), "Only calls that name a memory of this kind."),
    **dict.fromkeys(_each(_MEM0_ENTITIES, "kind"), "What it is: user, agent or run."),
    **dict.fromkeys(_each(_MEM0_ENTITIES, "name"), "Its id."),
}


def described(operation: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parameters of an operation. Each says what it means."""
    return [{**one, "description": _meaning(operation["operationId"], one)} for one in operation["parameters"]]


def _meaning(operation: str, parameter: Mapping[str, Any]) -> str:
    name = parameter["name"]
    own: str | None = DESCRIPTIONS.get(f"{operation}.{name}") or parameter.get("description")
    return own or DESCRIPTIONS.get(name, "")
