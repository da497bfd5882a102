"""`memoryos segments`: list and count the topics that pages were sorted into."""

from __future__ import annotations

from typing import Any

from memoryos.interface.cli.listed_memories import By, Cursor, Limit, Listed, Speaker, labels
from memoryos.interface.cli.options import (
    Agent,
    AnyTags,
    Archive,
    AsOf,
    Db,
    Json,
    Meta,
    NoTags,
    Session,
    Since,
    Tags,
    Tenant,
    Until,
    User,
)


def list_segments(
    limit: Limit = 50,
    cursor: Cursor = None,
    since: Since = None,
    until: Until = None,
    tag: Tags = None,
    any_tag: AnyTags = None,
    no_tag: NoTags = None,
    meta: Meta = None,
    speaker: Speaker = None,
    role: By = None,
    archive: Archive = False,
    session: Session = None,
    as_of: AsOf = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List the segments of a user in the order in which they were made."""
    said: dict[str, Any] = {"since": since, "until": until, "session": session, "speaker": speaker, "role": role}
    said |= {"archive": archive, "as_of": as_of, **labels(tag, any_tag, no_tag, meta)}
    Listed("segments", db, user, agent, tenant, json=json).list(limit=limit, cursor=cursor, **said)


def count_segments(
    since: Since = None,
    until: Until = None,
    tag: Tags = None,
    any_tag: AnyTags = None,
    no_tag: NoTags = None,
    meta: Meta = None,
    speaker: Speaker = None,
    role: By = None,
    archive: Archive = False,
    session: Session = None,
    as_of: AsOf = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Count the segments of a user; the filters are those of `segments list`."""
    said: dict[str, Any] = {"since": since, "until": until, "session": session, "speaker": speaker, "role": role}
    said |= {"archive": archive, "as_of": as_of, **labels(tag, any_tag, no_tag, meta)}
    Listed("segments", db, user, agent, tenant, json=json).count(**said)
