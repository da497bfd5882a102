"""`memoryos list` and `memoryos count`: what a store holds, some at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from memoryos.choice import Choice
from memoryos.errors import InvalidInput, PermissionDenied
from memoryos.interface.cli import render
from memoryos.interface.cli.hint import hint, whose
from memoryos.interface.cli.options import (
    Agent,
    AnyTags,
    AsOf,
    Db,
    Json,
    Meta,
    NoTags,
    Since,
    Tags,
    Tenant,
    Until,
    User,
    filters_of,
    memory_of,
    open_store,
)
from memoryos.interface.cli.stated_context import stated_branch
from memoryos.kinds import Role, Subject, Tier

if TYPE_CHECKING:
    from memoryos.listing import Listing
    from memoryos.memory import Memory
    from memoryos.memory_os import MemoryOS

CHARS = 200  # of a memory in the table


class Listed(Choice):
    """The things that can be listed."""

    PAGES = "pages"
    FACTS = "facts"
    SEGMENTS = "segments"
    USERS = "users"


Speaker = Annotated[str | None, typer.Option(help="Pages with a turn of this speaker.")]
By = Annotated[Role | None, typer.Option(help="Pages with a turn of this role.")]
In = Annotated[Tier | None, typer.Option(help="Pages or facts of this tier.")]
Of = Annotated[str | None, typer.Option("--session", help="Pages or segments of this session.", show_default=False)]
Archived = Annotated[bool, typer.Option("--archive", help="Segments: include the archive.")]
About = Annotated[Subject, typer.Option(help="Facts about the user or about the agent.")]


def list_(
    what: Annotated[Listed, typer.Argument(help="What to list.")],
    limit: Annotated[int, typer.Option(min=1, help="Most items to list.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="The cursor that the previous list printed.")] = None,
    since: Since = None,
    until: Until = None,
    tag: Tags = None,
    any_tag: AnyTags = None,
    no_tag: NoTags = None,
    meta: Meta = None,
    speaker: Speaker = None,
    role: By = None,
    tier: In = None,
    subject: About = Subject.USER,
    archive: Archived = False,
    session: Of = None,
    as_of: AsOf = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List pages, facts or segments of a user, or the users of the store, in the order in which they were added."""
    labels = {"tags": tag or (), "filters": filters_of(any_tag, no_tag, meta)}
    only = _only(what, since, until, labels, session, speaker, role, tier, subject, archive=archive)
    then = _then(what, as_of)
    with open_store(db, must_exist=True) as store:
        if what is Listed.USERS:
            found: Listing[Any] = store.admin.users(tenant=tenant, limit=limit, cursor=cursor)
        else:
            noun = _noun(memory_of(store, user, agent, tenant), what)
            found = noun.list(limit=limit, cursor=cursor, **then, **only)
        is_nothing = not found and what is not Listed.USERS
        others = _others(store, tenant) if is_nothing else ()
        nobody = hint(store, user, agent, tenant) if is_nothing else None
    if json:
        render.print_json({what.value: found.to_dict()["items"], "cursor": found.cursor, "hint": nobody})
    else:
        _print(what, found, whose(user, agent), others)


def count(
    what: Annotated[Listed, typer.Argument(help="What to count.")],
    since: Since = None,
    until: Until = None,
    tag: Tags = None,
    any_tag: AnyTags = None,
    no_tag: NoTags = None,
    meta: Meta = None,
    speaker: Speaker = None,
    role: By = None,
    tier: In = None,
    subject: About = Subject.USER,
    archive: Archived = False,
    session: Of = None,
    as_of: AsOf = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Count pages, facts or segments of a user, or the users of the store; the filters are those of `list`."""
    labels = {"tags": tag or (), "filters": filters_of(any_tag, no_tag, meta)}
    only = _only(what, since, until, labels, session, speaker, role, tier, subject, archive=archive)
    only |= _then(what, as_of)
    with open_store(db, must_exist=True) as store:
        number = _counted(store, what, user, agent, tenant, only)
        nobody = hint(store, user, agent, tenant) if not number and what is not Listed.USERS else None
    if json:
        render.print_json({"what": what.value, "count": number, "hint": nobody})
    else:
        things = what.value.removesuffix("s") if number == 1 else what.value
        render.console().print(f"{number:,} {things}{f'. {nobody}' if nobody else ''}", markup=False)


def _counted(store: MemoryOS, what: Listed, user: str, agent: str, tenant: str, only: dict[str, Any]) -> int:
    if what is Listed.USERS:
        return store.admin.count_users(tenant=tenant)
    return int(_noun(memory_of(store, user, agent, tenant), what).count(**only))


def _others(store: MemoryOS, tenant: str) -> Sequence[str]:
    """Some users, for a hint; none for a caller who may not list them."""
    try:
        return store.admin.users(tenant=tenant, limit=10)
    except PermissionDenied:
        return ()


def _noun(memory: Memory, what: Listed) -> Any:
    return getattr(memory, what.value)


def _then(what: Listed, as_of: str | None) -> dict[str, Any]:
    """The moment, if one was given. Raises InvalidInput for users, who have neither moments nor branches."""
    for option, given in (("--as-of", as_of), ("--branch", stated_branch())):
        if given is not None and what is Listed.USERS:
            raise InvalidInput(option, f"does not apply to {what}", "List pages, facts or segments")
    return {} if as_of is None else {"as_of": as_of}


def _only(
    what: Listed,
    since: str | None,
    until: str | None,
    labels: dict[str, Any],
    session: str | None,
    speaker: str | None,
    role: Role | None,
    tier: Tier | None,
    subject: Subject,
    *,
    archive: bool,
) -> dict[str, Any]:
    """The filters that were given. Raises BadParameter for one that does not apply."""
    given: dict[str, Any] = {
        "since": since,
        "until": until,
        "session": session,
        "speaker": speaker,
        "role": role,
        "tier": tier,
    }
    given |= {name: value or None for name, value in labels.items()}
    given |= {"subject": subject if subject is not Subject.USER else None, "archive": archive or None}
    told = {name: value for name, value in given.items() if value is not None}
    if foreign := [name for name in told if name not in _FILTERS[what]]:
        option = _OPTIONS.get(foreign[0], f"--{foreign[0]}")
        raise typer.BadParameter(f"{option} is not a filter of {what.value}")
    return told


_OPTIONS = {"tags": "--tag", "filters": "--any-tag, --no-tag or --meta"}
_DATED = {"since", "until", "tags", "filters", "tier"}
_FILTERS = {
    Listed.PAGES: _DATED | {"session", "speaker", "role"},
    Listed.FACTS: _DATED | {"subject"},
    Listed.SEGMENTS: _DATED - {"tier"} | {"session", "speaker", "role", "archive"},
    Listed.USERS: set(),
}


def _print(what: Listed, found: Listing[Any], asked: str, others: Sequence[str]) -> None:
    console = render.console()
    if not found:
        console.print(_nothing(what, asked, others), markup=False)
        return
    if what is Listed.USERS:
        for name in found:
            console.print(render.in_one_line(name), markup=False, soft_wrap=True)
    elif what is Listed.SEGMENTS:
        console.print(render.segments_table("Segments", found))
    else:
        console.print(_table(what, found))
    if found.cursor:
        console.print(f"More: --cursor {found.cursor}", markup=False, soft_wrap=True)


def _nothing(what: Listed, asked: str, others: Sequence[str]) -> str:
    if not others:
        return "There are no users yet." if what is Listed.USERS else f"No {what.value}: there are no users yet."
    return f"No {what.value}. You asked for {asked}; users in this store: {', '.join(others)}."


def _table(what: Listed, found: Listing[Any]) -> Table:
    table = Table(title=what.value.capitalize(), title_justify="left", expand=True)
    table.add_column("id", no_wrap=True, min_width=render.ID_CHARS)
    table.add_column("when", no_wrap=True)
    table.add_column("memory", ratio=1, overflow="fold")
    for cube in found:
        table.add_row(
            cube.id, f"{cube.descriptive.event_at:%Y-%m-%d %H:%M}", escape(render.shortened(cube.text, CHARS))
        )
    return table
