"""Commands on one user's memory: add, search, respond, show, stats."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from memoryos.choice import Choice
from memoryos.errors import InvalidInput
from memoryos.interface.cli import render
from memoryos.interface.cli.attach import attachments_of
from memoryos.interface.cli.chat_messages import messages_in
from memoryos.interface.cli.hint import hint, named, whose
from memoryos.interface.cli.options import (
    Agent,
    AnyTags,
    Archive,
    Db,
    Json,
    Meta,
    Mounts,
    NoTags,
    Question,
    SearchedAsOf,
    Session,
    Since,
    Tags,
    Tenant,
    Until,
    User,
    filters_of,
    memory_of,
    metadata_of,
    open_memory,
    open_store,
    others_in,
    seconds_of,
)
from memoryos.interface.cli.private_file import new_file
from memoryos.kinds import AccessMode, Tier
from memoryos.operation.intake.decoded import Decoded
from memoryos.operation.recall.hit import Recall, Strategy

if TYPE_CHECKING:
    from memoryos.memory import Memory
    from memoryos.models.chat import Answer


Marked = Annotated[
    Path | None,
    typer.Option(help="Write the answer with its signed mark to this new file, for verify-mark.", show_default=False),
]


class Searched(Choice):
    """The kinds of memory that a search finds."""

    PAGE = "page"
    FACT = "fact"
    TRAIT = "trait"
    PROFILE = "profile"
    SEGMENT = "segment"


def add(
    query: Annotated[
        str | None, typer.Argument(help="What the user said; - reads it from standard input.", show_default=False)
    ] = None,
    response: Annotated[str | None, typer.Argument(help="What the agent answered.", show_default=False)] = None,
    at: Annotated[
        str | None, typer.Option(help="Time of the exchange, e.g. 2026-05-08T13:56:00+00:00 (default: now).")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag; may be repeated.")] = None,
    meta: Meta = None,
    ttl: Annotated[str | None, typer.Option(help="Time until it expires, e.g. 90 (seconds), 12h, 7d.")] = None,
    expires_at: Annotated[str | None, typer.Option(help="When it expires, e.g. 2027-01-01.")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the document; shown with each part of it.")] = None,
    source: Annotated[str | None, typer.Option(help="Origin, e.g. a URL; shown with each part of it.")] = None,
    sensitivity: Annotated[
        list[str] | None, typer.Option(help="What makes it sensitive, e.g. diagnosis; may be repeated.")
    ] = None,
    access: Annotated[AccessMode | None, typer.Option(help="What policies may let others do.")] = None,
    attach: Annotated[
        list[str] | None, typer.Option(help="A file or a URL to attach; may be repeated.", metavar="FILE|URL")
    ] = None,
    messages: Annotated[
        Path | None,
        typer.Option(
            help="Chat messages, as JSON or JSON Lines, in the place of QUERY; - is standard input.",
            metavar="FILE|-",
            show_default=False,
        ),
    ] = None,
    idempotency_key: Annotated[
        str | None, typer.Option(help="Key of this call; a second call with the same key adds nothing.")
    ] = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    session: Session = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Store one exchange, a document (`memoryos add - < notes.md`), or chat messages (`--messages chat.json`)."""
    said_now = _spoken(query, response, attach, messages)
    with open_memory(db, user=user, agent=agent, tenant=tenant, session=session) as memory:
        said: dict[str, Any] = {"ttl": seconds_of(ttl) if ttl else None, "expires_at": expires_at, "title": title}
        said |= {"tags": tag or (), "metadata": metadata_of(meta), "source": source}
        said |= {"sensitivity": sensitivity or (), "access": access}
        files = attachments_of(attach, memory.settings.max_attachment_bytes)
        stored = memory.add(said_now, response, at=at, attachments=files, idempotency_key=idempotency_key, **said)
    if json:
        render.print_json({"ids": stored} if isinstance(stored, list) else {"id": stored})
    else:
        pages = ", ".join(stored) if isinstance(stored, list) else stored
        render.console().print(f"Stored as {pages}." if pages else "There was nothing new.")


def _spoken(query: str | None, response: str | None, attach: list[str] | None, messages: Path | None) -> Any:
    """What `add` stores: a text, or messages. Raises InvalidInput for both, and for neither."""
    if messages is None:
        if query is None:
            raise InvalidInput("QUERY", "is missing", "Pass what the user said, or --messages FILE")
        return _standard_input() if query == "-" else query
    if query is not None or response is not None or attach:
        raise InvalidInput("--messages", "has the texts and files itself", "Leave out QUERY, RESPONSE and --attach")
    return messages_in(messages)


def _standard_input() -> str:
    return "".join(Decoded([sys.stdin.buffer.read()], "standard input"))


def search(
    query: Question,
    limit: Annotated[int, typer.Option(min=1, help="How many pages to show.")] = 10,
    strategy: Annotated[Strategy, typer.Option(help="Search strategy.")] = Strategy.HYBRID,
    archive: Annotated[
        bool | None,
        typer.Option(help="Also search evicted memories (default: yes, except with two_stage).", show_default=False),
    ] = None,
    since: Since = None,
    until: Until = None,
    as_of: SearchedAsOf = None,
    tag: Tags = None,
    any_tag: AnyTags = None,
    no_tag: NoTags = None,
    meta: Meta = None,
    tier: Annotated[list[Tier] | None, typer.Option(help="Only this tier; may be repeated.")] = None,
    kind: Annotated[list[Searched] | None, typer.Option(help="Only this kind of memory; may be repeated.")] = None,
    cold: Annotated[bool, typer.Option("--cold", help="Also search the object store.")] = False,
    mount: Mounts = None,
    session: Session = None,
    min_score: Annotated[float, typer.Option(min=0, max=1, help="Least relevance of a hit, 0 to 1.")] = 0.0,
    explain: Annotated[bool, typer.Option("--explain", help="Show the parts of each score.")] = False,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Find the pages and facts that bear on a question."""
    with open_store(db, must_exist=True) as store:
        found = memory_of(store, user, agent, tenant).search(
            query,
            strategy=strategy,
            pages=limit,
            archive=archive,
            since=since,
            until=until,
            as_of=as_of,
            tags=tag or (),
            filters=filters_of(any_tag, no_tag, meta),
            tiers=tier or (),
            kinds=[one.value for one in kind or ()],
            session=session,
            cold=cold,
            mounts=mount,
            min_score=min_score,
            explain=explain,
        )
        nobody = None if found.ranked or found.profile else hint(store, user, agent, tenant)
    if json:
        render.print_json({**_recall_json(found, limit), "hint": nobody})
    elif nobody:
        render.console().print(nobody, markup=False)
    else:
        _print_recall(found, limit, persona=bool(kind))


def respond(
    query: Question,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    session: Session = None,
    mark: Marked = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Answer with the chat model and the memory, in pieces (needs MEMORYOS_LLM_MODEL)."""
    opened = open_memory(db, user=user, agent=agent, tenant=tenant, session=session)
    with opened as memory, new_file("--mark", mark) as file:
        answer = memory.respond(query) if json else _said(memory, query)
        if file is not None:
            file.write(answer.to_json() + "\n")
    if json:
        told = {"answer": answer.text, "model": answer.model, "usage": asdict(answer.usage)}
        forms = {"adapters": answer.adapters, "adapters_left_out": answer.adapters_left_out}
        render.print_json(told | forms | {"mark": answer.mark.to_dict() if answer.mark else None})


def _said(memory: Memory, query: str) -> Answer:
    """Print the answer in pieces, and return it."""
    pieces = memory.respond_stream(query)
    for piece in pieces:
        render.say(piece, ends=False)
    render.say("")
    assert pieces.answer is not None  # noqa: S101 - after the last piece
    return pieces.answer


def show(
    archive: Archive = False,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Show the tiers: recent pages, segments with their heat, the profile."""
    with open_store(db, must_exist=True) as store:
        memory = memory_of(store, user, agent, tenant)
        recent = memory.pages.list(tier=Tier.STM)
        segments = memory.segments.list(archive=archive)
        profile = memory.profile.get()
        is_empty = not (recent or segments) and profile.user.is_empty and profile.agent.is_empty
        nobody = hint(store, user, agent, tenant) if is_empty else None
    if json:
        render.print_json(
            {
                "stm": [page.to_dict() for page in recent],
                "segments": [view.to_dict() for view in segments],
                "profile": profile.to_dict(),
                "hint": nobody,
            }
        )
        return
    console = render.console()
    if nobody:
        console.print(nobody, markup=False)
        return
    console.print(render.pages_table("Short-term memory", recent))
    console.print(render.segments_table("Mid-term memory", segments))
    console.print(render.profile_table(profile))


def stats(
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Show the sizes of the tiers, the waiting work, and the tuned values with their reasons."""
    with open_store(db, must_exist=True) as store:
        counts = asdict(found := memory_of(store, user, agent, tenant).stats())
        scopes = others_in(store, tenant)
        nobody = hint(store, user, agent, tenant)
    if json:
        users = [{"user": scope.user, "agent": scope.agent} for scope in scopes]
        render.print_json({"user": user, "agent": agent, **counts, "scopes": users, "hint": nobody})
        return
    table = Table(title=f"Memory of {whose(user, agent)}", title_justify="left")
    table.add_column("what")
    table.add_column("how many", justify="right")
    learned, flaws, _ = counts.pop("facts"), counts.pop("rejected"), counts.pop("tuning")
    rejected = {f"  for its {flaw}": times for flaw, times in flaws.items()}
    for name, value in {**counts, **{f"facts {name}": value for name, value in learned.items()}, **rejected}.items():
        table.add_row(name.replace("_", " "), str(value))
    console = render.console()
    console.print(table)
    console.print(render.tuning_table(found.tuning))
    console.print(f"In this store: {named(scopes)}.", markup=False)


def _recall_json(found: Recall, limit: int) -> dict[str, object]:
    return {
        "query": found.query,
        "confidence": round(found.confidence, 6),
        "hits": [render.page_json(hit, found.turns) for hit in found.hits[:limit]],
        "user_facts": [hit.to_dict() for hit in found.user_facts],
        "agent_facts": [hit.to_dict() for hit in found.agent_facts],
        "profile": [cube.to_dict() for cube in found.profile],
        "traits": [cube.to_dict() for cube in found.traits],
        "segments": [hit.to_dict() for hit in found.segments],
        "knowledge": [hit.to_dict() for hit in found.knowledge],
        "missing": list(found.missing),
        "ranked": found.to_dict()["ranked"],
    }


def _print_recall(found: Recall, limit: int, *, persona: bool) -> None:
    """Print the hits as tables; profile and traits, which do not depend on the question, only on demand."""
    console = render.console()
    facts = sorted((*found.user_facts, *found.agent_facts, *found.knowledge), key=lambda hit: -hit.score)
    tables = {"Pages": found.hits, "Topics": found.segments, "Facts": facts}
    for title, hits in tables.items():
        if hits:
            console.print(render.hits_table(title, hits[:limit], found.turns))
    known = (*found.profile, *found.traits) if persona else ()
    if known:
        console.print(render.persona_table(known))
    if found.missing:
        console.print(f"Not searched, because they did not answer: {', '.join(found.missing)}.", markup=False)
    console.print(f"Confidence that this bears on the question: {found.confidence:.2f}.")
    if not any((*tables.values(), known)):
        console.print("Nothing was found. `memoryos stats` lists the users; filters may hide memories.")
