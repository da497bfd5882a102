"""The vault's tables, in portable SQL.

The tenant leads every key, so that a partitioned or distributed database can split by it. `document`
is the cube; the columns beside it are its index, written by `cube_row` together with it and by
nothing else. Moments are microseconds since the epoch, UTC.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)

from memoryos.clock import micros
from memoryos.cube import MemCube, to_json
from memoryos.infrastructure.vault import checksum
from memoryos.infrastructure.vault.records import LinkKind, labels_text
from memoryos.scope import Scope, namespace_from_path
from memoryos.text_cache import text_cache

metadata = MetaData()

EVERY_AGENT = ""  # stored for Scope.agent = None; never a valid id

# Compared byte by byte, as SQLite does, so that both order alike and no locale can change an index.
_Text = Text().with_variant(Text(collation="C"), "postgresql")

# SQLite numbers rows by itself only in a column declared exactly INTEGER PRIMARY KEY.
_Sequence = BigInteger().with_variant(Integer, "sqlite")


def _owner() -> list[Column[Any]]:
    return [
        Column("tenant", _Text, nullable=False),
        Column("user_id", _Text, nullable=False),
        Column("agent_id", _Text, nullable=False),
        Column("namespace", _Text, nullable=False),
    ]


def _checksum() -> Column[Any]:
    return Column("checksum", BigInteger)  # of `checksum`; NULL of what an older program wrote


def _to_cube(*columns: str) -> list[ForeignKeyConstraint]:
    return [
        ForeignKeyConstraint(["tenant", column], ["cubes.tenant", "cubes.id"], ondelete="CASCADE") for column in columns
    ]


RULE_KEYS = ("retain:", "retain;")  # of notes with retention rules: the first key, and one behind the last
TENANT_RULES = "tenant rule:"  # before the tenant of a rule, in the table `meta`
UNUSED_KEYS = ("archive:", "archive;")  # the same of rules about what is not used

OWNER = ("tenant", "user_id", "agent_id", "namespace")

meta = Table(  # what the store itself is: one row per fact, e.g. which embedder made the vectors
    "meta",
    metadata,
    Column("key", _Text, primary_key=True),
    Column("value", _Text, nullable=False),
)

BEHIND_POSITIONS = 2**62  # no owner has so many cubes; SQLite keeps text and bytes, too, which are more than any number

cubes = Table(
    "cubes",
    metadata,
    *_owner(),
    Column("id", _Text, nullable=False),
    Column("position", BigInteger, nullable=False),  # order of insertion within the owner: FIFO
    Column("kind", _Text, nullable=False),
    Column("subject", _Text),
    Column("tier", _Text, nullable=False),
    Column("state", _Text, nullable=False),
    Column("mark", _Text),
    Column("session_id", _Text),
    Column("event_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("tags", _Text),  # the labels of `memoryos.filter` as a JSON list; NULL: none
    Column("version", Integer, nullable=False),
    Column("document", _Text, nullable=False),  # the cube as JSON
    _checksum(),
    PrimaryKeyConstraint("tenant", "id"),
    Index("cubes_by_owner", *OWNER, "kind", "tier", "position"),
    Index("cubes_by_position", *OWNER, "position", unique=True),
    # What ends, of the few that do; where a PostgreSQL is made, the same conditions hold there.
    Index("cubes_by_end", *OWNER, "expires_at", sqlite_where=text("expires_at IS NOT NULL")),
    Index("cubes_expired", *OWNER, sqlite_where=text("state = 'expired'")),
)

versions = Table(  # what a cube was before each revision
    "versions",
    metadata,
    Column("tenant", _Text, nullable=False),
    Column("cube_id", _Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("document", _Text, nullable=False),  # empty if it is packed
    _checksum(),
    Column("packed", LargeBinary),  # the difference to another version; NULL: the document is whole
    Column("base", Integer),  # the number of that version; NULL: compressed by itself
    PrimaryKeyConstraint("tenant", "cube_id", "version"),
    *_to_cube("cube_id"),
)

links = Table(
    "links",
    metadata,
    Column("tenant", _Text, nullable=False),
    Column("source", _Text, nullable=False),
    Column("kind", _Text, nullable=False),
    Column("target", _Text, nullable=False),
    PrimaryKeyConstraint("tenant", "source", "kind", "target"),
    *_to_cube("source", "target"),
    Index("links_by_target", "tenant", "target", "kind", "source"),
    # A page is in one segment, once: the database refuses the second membership.
    Index(
        "links_one_segment",
        "tenant",
        "source",
        unique=True,
        sqlite_where=text(  # and where a PostgreSQL is made: its options here would load its drivers
            f"kind = '{LinkKind.MEMBER_OF.value}'"
        ),
    ),
)

vectors = Table(
    "vectors",
    metadata,
    Column("tenant", _Text, nullable=False),
    Column("cube_id", _Text, nullable=False),
    Column("part", Integer, nullable=False),  # 0: the whole cube
    Column("data", LargeBinary, nullable=False),  # little-endian float32
    _checksum(),
    PrimaryKeyConstraint("tenant", "cube_id", "part"),
    *_to_cube("cube_id"),
)

passages = Table(  # the turns of pages, long ones in parts, as search knows them
    "passages",
    metadata,
    Column("tenant", _Text, nullable=False),
    Column("cube_id", _Text, nullable=False),
    Column("part", Integer, nullable=False),  # 1.. in the order they were said
    Column("said_at", BigInteger, nullable=False),
    Column("speaker", _Text),
    Column("marks", Integer, nullable=False),
    Column("words", _Text, nullable=False),  # separated by spaces, unstemmed
    Column("vector", LargeBinary, nullable=False),  # little-endian float16
    Column("turn", Integer),  # index in the page; NULL, like the others, of an older program's: part - 1, all of it
    Column("start", Integer),  # characters of the turn's words
    Column("end", Integer),
    _checksum(),
    PrimaryKeyConstraint("tenant", "cube_id", "part"),
    *_to_cube("cube_id"),
)

next_vectors = Table(  # of the embedder that the store changes to
    "next_vectors",
    metadata,
    Column("tenant", _Text, nullable=False),
    Column("cube_id", _Text, nullable=False),
    Column("part", Integer, nullable=False),  # 0: the whole cube, float32; 1..: the passages, float16
    Column("version", Integer, nullable=False),  # of the cube whose words were embedded
    Column("data", LargeBinary, nullable=False),
    PrimaryKeyConstraint("tenant", "cube_id", "part"),
    *_to_cube("cube_id"),
)

events = Table(
    "events",
    metadata,
    Column("sequence", _Sequence, primary_key=True, autoincrement=True),
    *_owner(),
    Column("at", BigInteger, nullable=False),
    Column("operation", _Text, nullable=False),
    Column("kind", _Text, nullable=False),
    Column("cube_id", _Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("detail", _Text),  # what undoing it needs, as JSON
    Index("events_by_owner", *OWNER, "sequence"),
    Index("events_by_cube", "tenant", "cube_id", "sequence"),
    sqlite_autoincrement=True,  # a sequence number is never used again, even after a deletion
)

jobs = Table(
    "jobs",
    metadata,
    *_owner(),
    Column("id", _Text, nullable=False),
    Column("kind", _Text, nullable=False),
    Column("cube_id", _Text),  # NULL: it is about the scope
    Column("state", _Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("lease_until", BigInteger),
    Column("error", _Text),
    Column("priority", Integer, nullable=False, server_default="0"),  # the highest goes first
    Column("not_before", BigInteger),
    Column("payload", _Text),  # a JSON object; NULL when the kind needs none
    PrimaryKeyConstraint("tenant", "id"),
    *_to_cube("cube_id"),
    Index("jobs_by_owner", *OWNER, "state", "created_at"),
    Index("jobs_by_state", "state", *OWNER),  # which owners have work, for workers
)

notes = Table(  # what is known of a scope and is no memory: counters, calibration, how far a rebuild got
    "notes",
    metadata,
    *_owner(),
    Column("key", _Text, nullable=False),
    Column("value", _Text, nullable=False),
    PrimaryKeyConstraint(*OWNER, "key"),
)

usage = Table(  # what model calls took, by day and purpose
    "usage",
    metadata,
    *_owner(),
    Column("day", BigInteger, nullable=False),  # days since the epoch, UTC
    Column("purpose", _Text, nullable=False),
    Column("model", _Text, nullable=False),
    Column("calls", BigInteger, nullable=False),
    Column("prompt_tokens", BigInteger, nullable=False),
    Column("completion_tokens", BigInteger, nullable=False),
    Column("cost", BigInteger, nullable=False),  # millionths of the currency that prices are in
    Column("cached_tokens", BigInteger, nullable=False, server_default="0"),  # of the prompts, had already
    PrimaryKeyConstraint(*OWNER, "day", "purpose", "model"),
)


blobs = Table(  # bytes in the object store, one row per object; of a copy, the same bytes have other objects
    "blobs",
    metadata,
    *_owner(),
    Column("name", _Text, nullable=False),  # of the object
    Column("sha256", _Text, nullable=False),
    Column("size", BigInteger, nullable=False),  # bytes
    Column("media_type", _Text),
    Column("remove_at", BigInteger),  # NULL: a cube refers to it; 0: it is being removed
    PrimaryKeyConstraint("tenant", "name"),
    Index("blobs_by_owner", *OWNER, "sha256"),
)

attached = Table(  # which cubes refer to which bytes, in any of their versions
    "attached",
    metadata,
    Column("tenant", _Text, nullable=False),
    Column("cube_id", _Text, nullable=False),
    Column("sha256", _Text, nullable=False),
    PrimaryKeyConstraint("tenant", "cube_id", "sha256"),
    *_to_cube("cube_id"),
    Index("attached_by_blob", "tenant", "sha256"),
)

audit = Table(  # who did what to which memory; an entry names the one before it by its hash
    "audit",
    metadata,
    *_owner(),  # all empty: an operation on the whole store
    Column("number", BigInteger, nullable=False),  # 1.. in the chain of the owner
    Column("at", BigInteger, nullable=False),
    Column("caller", _Text, nullable=False),
    Column("context", _Text),  # roles, purpose and the like as JSON; NULL: none
    Column("action", _Text, nullable=False),
    Column("operation", _Text, nullable=False),  # the method that was called
    Column("change", _Text),  # the operation of the events; NULL: nothing was changed
    Column("cubes", _Text),  # a JSON list of [id, kind, version]; NULL: none, or not known
    Column("decision", _Text, nullable=False),
    Column("reason", _Text),  # the name of the error; NULL: none
    Column("hash", _Text, nullable=False),
    PrimaryKeyConstraint(*OWNER, "number"),
    Index("audit_by_time", "tenant", "at"),
)

audit_heads = Table(  # the last entry of each chain, so that a missing end is noticed
    "audit_heads",
    metadata,
    *_owner(),
    Column("number", BigInteger, nullable=False),
    Column("hash", _Text, nullable=False),
    PrimaryKeyConstraint(*OWNER),
)


keys = Table(  # of callers; a key itself is only known to who has it
    "keys",
    metadata,
    Column("tenant", _Text, nullable=False),  # whose memories it opens
    Column("id", _Text, nullable=False),
    Column("hash", _Text, nullable=False),  # of the secret part
    Column("identity", _Text, nullable=False),
    Column("roles", _Text, nullable=False),  # a JSON list
    Column("actions", _Text, nullable=False),  # a JSON list
    Column("users", _Text),  # a JSON list of owners; NULL: all of the tenant
    Column("created_by", _Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    Column("purposes", _Text),  # a JSON list of what its caller may call for; NULL: it may state none
    Column("application", _Text),  # of its caller
    Column("session", _Text),  # in which its caller acts; NULL: the one that the caller states
    PrimaryKeyConstraint("tenant", "id"),
    Index("keys_by_id", "id"),
)


delegations = Table(  # rights that callers passed on to others, for a while
    "delegations",
    metadata,
    Column("tenant", _Text, nullable=False),
    Column("id", _Text, nullable=False),
    Column("user_id", _Text, nullable=False),  # whose memories they are about
    Column("delegator", _Text, nullable=False),
    Column("roles", _Text, nullable=False),  # of the delegator, a JSON list
    Column("delegate", _Text, nullable=False),
    Column("actions", _Text, nullable=False),  # a JSON list
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("tenant", "id"),
    Index("delegations_by_delegate", "tenant", "delegate"),
)


role_grants = Table(  # roles that identities have beside those with which they call
    "role_grants",
    metadata,
    Column("tenant", _Text, nullable=False),  # for whose memories they count
    Column("id", _Text, nullable=False),
    Column("identity", _Text, nullable=False),
    Column("name", _Text, nullable=False),
    Column("roles", _Text, nullable=False),  # a JSON list
    Column("granted_by", _Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    PrimaryKeyConstraint("tenant", "id"),
    Index("role_grants_by_identity", "tenant", "identity"),
)


def owner_row(scope: Scope) -> dict[str, str]:
    """The owner columns of a scope."""
    agent = EVERY_AGENT if scope.agent is None else scope.agent
    return {"tenant": scope.tenant, "user_id": scope.user, "agent_id": agent, "namespace": scope.path}


@text_cache(1024)  # each add asks for it
def rules_of(tenant: str) -> tuple[str, str]:
    """The first key that a retention rule of the tenant can have in the table `meta`, and one behind the last."""
    begin = TENANT_RULES + quote(tenant, safe="")
    return f"{begin}/", f"{begin}0"


def scope_of(tenant: str, user: str, agent: str, path: str) -> Scope:
    """The scope of the owner columns."""
    return Scope(tenant=tenant, user=user, agent=agent or None, namespace=namespace_from_path(path))


def cube_row(cube: MemCube, document: str | None = None, labels: str | None = "") -> dict[str, Any]:
    """The columns of a cube, without its position; `document` and `labels` are stored if they were made before."""
    expires_at, document = cube.governance.lifespan.expires_at, document or to_json(cube)
    return {
        **owner_row(cube.scope),
        "id": cube.id,
        "kind": cube.kind.value,
        "subject": cube.subject.value if cube.subject else None,
        "tier": cube.tier.value,
        "state": cube.state.value,
        "mark": cube.mark and cube.mark.value,
        "session_id": cube.scope.session,
        "event_at": micros(cube.descriptive.event_at),
        "expires_at": micros(expires_at) if expires_at else None,
        "tags": labels_text(cube) if labels == "" else labels,
        "version": cube.version.number,
        "document": document,
        "checksum": checksum.of_text(document),
    }


def is_position(told: object) -> bool:
    """Whether it is a position that a program wrote."""
    return isinstance(told, int) and 0 < told < BEHIND_POSITIONS
