"""From messages to page cubes: checking, paginating, embedding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from uuid_utils.compat import uuid7

from memoryos.about import NOTHING, About
from memoryos.clock import parse_moment
from memoryos.cube import Attachment, Behaviour, Descriptive, MemCube, Page, Turn
from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault.records import Entry
from memoryos.kinds import Origin, Role, SemanticType, Tier
from memoryos.models.embedder import Embedder
from memoryos.operation.attachments.data_url import decoded, is_data_url
from memoryos.operation.hierarchy.page_entries import page_entries
from memoryos.progress import Progress
from memoryos.scope import Scope
from memoryos.text import checked_text

TURNS_PER_PAGE = 16  # a page of tool messages without a dialogue turn must end somewhere
SPLIT = "Split it into several turns"

EMBED_BATCH = 256  # pages embedded between two progress reports


def turns_of(
    query: str | None,
    response: str | None,
    *,
    at: datetime | str | None,
    attachments: tuple[Attachment, ...],
    now: datetime,
    limit: int,
) -> list[Turn]:
    """Check one exchange and return its turns, with the stated time or now.

    Raises InvalidInput with the field, also if there is neither query nor response.
    """
    if query is None and response is None and not attachments:
        raise InvalidInput("query", "neither it nor the response is given", "Pass at least one of them")
    said_at = now if at is None else parse_moment("at", at, now=now)
    for index, attachment in enumerate(attachments):
        check_attachment(attachment, limit, f"attachments[{index}]")
    turns = []
    if query is not None or response is None:
        text = "" if attachments and not query else checked_text("query", query, limit=limit, fix=SPLIT)
        turns.append(Turn(role=Role.USER, text=text, at=said_at, attachments=attachments))
    if response is not None:
        own = () if turns else attachments
        text = "" if own and not response else checked_text("response", response, limit=limit, fix=SPLIT)
        turns.append(Turn(role=Role.ASSISTANT, text=text, at=said_at, attachments=own))
    return turns


def checked_turn(turn: Turn, *, now: datetime, limit: int, field: str = "turn") -> Turn:
    """Return the turn with its time in UTC (default: now). Raises InvalidInput with the field."""
    if turn.text.strip() or not turn.attachments:
        checked_text(f"{field}.text", turn.text, limit=limit, fix=SPLIT)
    for attachment in turn.attachments:
        check_attachment(attachment, limit, f"{field}.attachments")
    if turn.speaker is not None:
        checked_text(f"{field}.speaker", turn.speaker, limit=256)
    if turn.source_id is not None:
        checked_text(f"{field}.source_id", turn.source_id, limit=256)
    said_at = now if turn.at is None else parse_moment(f"{field}.at", turn.at, now=now)
    return turn if said_at is turn.at else replace(turn, at=said_at)


def check_attachment(attachment: Attachment, limit: int, field: str) -> None:
    """Check the texts of an attachment. Raises InvalidInput with the field."""
    checked_text(f"{field}.caption", attachment.caption, limit=limit)
    if attachment.uri is not None:  # bytes are counted when they are taken out
        most = len(attachment.uri) if is_data_url(attachment.uri) else limit
        checked_text(f"{field}.uri", attachment.uri, limit=most)
        if is_data_url(attachment.uri):
            decoded(attachment.uri, f"{field}.uri")  # later, nobody knows whose it was
    if attachment.media_type is not None:
        checked_text(f"{field}.media_type", attachment.media_type, limit=limit)


def paginate(turns: Iterable[Turn]) -> list[Page]:
    """Group turns into pages of at most one query and one response; nothing is dropped.

    A page closes when a turn of a role that it already has arrives, or a user turn after a response. System and tool
    messages join the open page, up to TURNS_PER_PAGE. What an assistant says after a tool message goes on with its
    response.
    """
    pages: list[list[Turn]] = []
    for turn in turns:
        if not pages or _closes(pages[-1], turn):
            pages.append([])
        pages[-1].append(turn)
    return [Page(turns=tuple(group)) for group in pages]


def _closes(page: Sequence[Turn], turn: Turn) -> bool:
    roles = {present.role for present in page}
    if turn.role is Role.USER:
        return bool(roles & {Role.USER, Role.ASSISTANT})
    if turn.role is Role.ASSISTANT:
        return Role.ASSISTANT in roles and page[-1].role is not Role.TOOL
    return len(page) >= TURNS_PER_PAGE


def page_cube(page: Page, scope: Scope, *, now: datetime, origin: Origin, about: About = NOTHING) -> MemCube:
    """Make a new cube in STM for a page with checked turns."""
    moments = [turn.at for turn in page.turns if turn.at]
    said_at = min(moments)
    cube = MemCube(
        id=str(uuid7()),
        scope=scope,
        tier=Tier.STM,
        payload=page,
        descriptive=Descriptive(
            event_at=said_at,
            recorded_at=now,
            updated_at=now,
            origin=origin,
            semantic_type=SemanticType.DIALOGUE,
            source_ids=tuple(turn.source_id for turn in page.turns if turn.source_id),
        ),
        behaviour=Behaviour(last_access=said_at),
    )
    return about.describe(cube) if about != NOTHING else cube


def embedded(cubes: Sequence[MemCube], embedder: Embedder, progress: Progress | None = None) -> list[Entry]:
    """The pages with their vectors and passages."""
    entries: list[Entry] = []
    for start in range(0, len(cubes), EMBED_BATCH):
        entries += page_entries(cubes[start : start + EMBED_BATCH], embedder)
        if progress:
            progress(len(entries), len(cubes))
    return entries
