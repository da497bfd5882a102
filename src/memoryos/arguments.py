"""Arguments: the checks of what callers pass. Each check returns the value or raises InvalidInput."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime, timedelta
from enum import StrEnum
from io import TextIOBase
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from memoryos.caller import Action
from memoryos.clock import parse_end, parse_time
from memoryos.config import LONGEST_WAIT
from memoryos.errors import InvalidInput
from memoryos.expected import instance
from memoryos.filter import checked_tags
from memoryos.infrastructure.vault.place import Place, database_url, is_url
from memoryos.items import items
from memoryos.kinds import Kind, Role, Tier, Trust, UpdateMode
from memoryos.operation.portability.export_file import ExportTarget
from memoryos.operation.recall.filters import EVERYWHERE, SEARCHABLE, UNASKED
from memoryos.operation.recall.fusion import DEFAULT_WEIGHTS, Weights
from memoryos.retention import GOVERNED
from memoryos.scope import ID_LIMIT
from memoryos.text import checked_text, shown

IN_MEMORY = ":memory:"  # as SQLite calls it; only `open` knows it
PATH_CHARS = 4_000
QUERY_CHARS = 10_000  # a longer question is a document: add it instead
NAME_BYTES = 247  # of a file or a folder; SQLite adds up to 8 to the name of the file

REASON_CHARS = 256
MOST = 2**31 - 1  # pages, tokens
HIGHEST = 2**63 - 1  # sequence of an event, as a store can hold it
LONGEST_DAYS = 36_500.0

_Choice = TypeVar("_Choice", bound=StrEnum)
_Item = TypeVar("_Item")


class Only(TypedDict, total=False):
    """The filters of `Memory.search`, as keyword arguments of other operations."""

    since: datetime | str | None  #: only what was said since then
    until: datetime | str | None  #: only what was said until then; a day counts whole
    as_of: datetime | str | None  #: only what had been said, or was stored, by then
    tags: Sequence[str]  #: only what has all of these tags
    filters: Mapping[str, Any] | None  #: only what passes: any_tags, no_tags and metadata
    tiers: Sequence[Tier | str]  #: only these tiers
    kinds: Sequence[Kind | str]  #: only these kinds
    session: str | None  #: only this session
    cold: bool  #: whether the object store is searched, too
    mounts: Sequence[str] | None  #: only these mounts; None: all
    min_trust: Trust | str | None  #: only what has at least this trust


class ListFilters(TypedDict, total=False):
    """The keyword arguments that filter `list` and `count`."""

    since: datetime | str | None  #: only what was said since then
    until: datetime | str | None  #: only what was said until then; a day counts whole
    tags: Sequence[str]  #: only what has all of these tags
    filters: Mapping[str, Any] | None  #: only what passes: any_tags, no_tags and metadata, as in a search


class PageFilters(ListFilters, total=False):
    """The filters of `ListFilters`, and those that only pages have."""

    session: str | None  #: only this session
    speaker: str | None  #: pages with a turn of this speaker
    role: Role | str | None  #: pages with a turn of this role


@contextmanager
def naming(field: str) -> Iterator[None]:
    """Let errors about the place of a store name the argument that gave it."""
    try:
        yield
    except InvalidInput as error:
        if error.field != "path":
            raise
        raise InvalidInput(field, error.problem, error.fix) from None


def store_place(value: str | Path) -> Place:
    """Check the name of a store's file, or the URL of its database."""
    if not isinstance(value, str | Path) or not str(value).strip() or "\x00" in str(value):
        raise InvalidInput("path", "is not a file name", "Pass e.g. 'memory.db'")
    if str(value) == IN_MEMORY:
        raise InvalidInput("path", "a store in memory is gone when it is closed", "Pass a file, e.g. memory.db")
    checked_text("path", str(value), limit=PATH_CHARS)
    if isinstance(value, str) and is_url(value):
        return database_url(value)
    return _file_path(Path(value))


def _file_path(value: Path) -> Path:
    try:
        path = value.expanduser()
    except RuntimeError:
        raise InvalidInput("path", f"the home folder of {value.parts[0]!r} is unknown", "Pass the full path") from None
    if not path.name:
        raise InvalidInput("path", f"{path} is a folder", "Name a file in it, e.g. memory.db")
    if max(len(part.encode()) for part in path.parts) > NAME_BYTES:
        raise InvalidInput("path", f"has a name of more than {NAME_BYTES} bytes", "Choose a shorter one")
    return path


def question(value: str) -> str:
    """Check the text of a question."""
    return checked_text("query", value, limit=QUERY_CHARS)


def cube_id(value: str, *, field: str = "id") -> str:
    """Check the form of an id; the memory may not exist."""
    if not isinstance(value, str):
        raise InvalidInput(field, f"expected text, got {type(value).__name__}", "Pass the id of one memory")
    # A lone surrogate has no UTF-8 form and PostgreSQL takes no NUL, and no id has one: it can only be unknown.
    return value.replace("\x00", "?").encode(errors="replace").decode()


def idempotency_key(value: str | None) -> str | None:
    """Check the idempotency key of a call, if there is one."""
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or len(value) > ID_LIMIT or not value.isprintable():
        problem = f"is not a text of 1 to {ID_LIMIT} visible characters"
        raise InvalidInput(
            "idempotency_key", problem, "Give this call a key of its own, e.g. a UUID or the id of the message"
        )
    return value


def one_of(field: str, value: _Choice | str, choices: type[_Choice]) -> _Choice:
    """Check that a value belongs to an enum."""
    if isinstance(value, choices):
        return value
    if isinstance(value, str):
        with suppress(ValueError):
            return choices(value)
    known = ", ".join(choice.value for choice in choices)
    raise InvalidInput(field, f"{shown(value)} is unknown", f"Use one of: {known}")


def positive(field: str, value: int | None, default: int) -> int:
    """Check a count; None gives the default."""
    if value is None:
        return default
    return natural(field, value, least=1, most=MOST)


def optional(field: str, value: int | None, *, least: int = 0) -> int | None:
    """Check a count that may be left out."""
    return None if value is None else natural(field, value, least=least, most=MOST)


def natural(field: str, value: int, *, least: int = 0, most: int = HIGHEST) -> int:
    """Check a whole number."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidInput(field, f"{shown(value)} is not a whole number in range", f"Pass {least} to {most:,}")
    return value


def duration(field: str, value: float, *, most: float) -> float:
    """Check a duration; the caller decides the unit."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= most:  # which no NaN is
        raise InvalidInput(field, f"{shown(value)} is not a number in range", f"Pass 0 to {most:,.0f}")
    return float(value)


def share(field: str, value: float) -> float:
    """Check a number from 0 to 1."""
    return duration(field, value, most=1.0)


def timeout(value: float | None) -> float:
    """Check a timeout in seconds; None means no timeout."""
    return math.inf if value is None else duration("timeout", value, most=LONGEST_WAIT)


_PARTS = {
    "embedder": ("name", "dim", "embed"),
    "chat": ("answer",),
    "reranker": ("scores",),
    "gate": ("admit",),
    "settings": ("model_copy", "model_fields_set", "embedder"),
}

# What callers pass that names a part, or holds the values of one.
_PASSED_ELSEWHERE: dict[tuple[str, type], str] = {
    ("embedder", str): "Pass its name as settings=load_settings(embedder=...)",
    ("chat", str): "Pass its name as settings=load_settings(llm_model=...)",
    ("settings", dict): "Pass settings=load_settings(**values)",
}


def part(field: str, value: object) -> None:
    """Check that a part that the caller made (an embedder, a model, settings) has the required methods."""
    names = _PARTS[field]
    missing = [name for name in names if not hasattr(value, name)]
    if missing:
        if fix := _PASSED_ELSEWHERE.get((field, type(value))):
            raise InvalidInput(field, f"is a {type(value).__name__}", fix)
        raise InvalidInput(field, f"{type(value).__name__} has no {missing[0]!r}", f"It needs {', '.join(names)}")


def parts(**given: object) -> None:
    """Check the parts that were passed, except those that are None."""
    for field, value in given.items():
        if value is not None:
            part(field, value)


def callback(field: str, value: object) -> None:
    """Check an optional function."""
    if value is not None and not callable(value):
        raise InvalidInput(field, f"expected a function, got {type(value).__name__}", "Pass one, or leave it out")


def function(field: str, value: object) -> None:
    """Check a required function."""
    if not callable(value):
        raise InvalidInput(field, f"expected a function, got {type(value).__name__}", "Pass one")


def flag(field: str, value: bool) -> bool:
    """Check a switch."""
    return instance(field, value, bool, "Pass True or False")


def tier(value: Tier | str, holds: str, *among: Tier) -> Tier:
    """Check the tier of a list; the tiers `among` are those that have what it `holds`."""
    chosen = one_of("tier", value, Tier)
    if chosen not in among:
        known = ", ".join(one.value for one in among)
        raise InvalidInput("tier", f"{chosen.value} holds no {holds}", f"Use one of: {known}")
    return chosen


def weights(value: Weights | None) -> Weights:
    """Check the weights of a score; None gives the default."""
    return DEFAULT_WEIGHTS if value is None else instance("weights", value, Weights, "Pass Weights(...)")


def day(field: str, value: date | None) -> date | None:
    """Check an optional day."""
    if isinstance(value, datetime):
        raise InvalidInput(field, "is a moment", "Pass the day alone, e.g. moment.date()")
    return None if value is None else instance(field, value, date, "Pass a datetime.date")


def sequence(field: str, value: Iterable[_Item], kind: type[_Item]) -> tuple[_Item, ...]:
    """Check a list of values of one type. A single value or a string is an error."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidInput(field, f"expected a list of {kind.__name__}, got {type(value).__name__}", "Pass a list")
    found: list[_Item] = []
    for index, item in enumerate(items(field, value)):
        if not isinstance(item, kind):
            problem = f"expected {kind.__name__}, got {type(item).__name__}"
            raise InvalidInput(f"{field}[{index}]", problem, f"Pass memoryos.{kind.__name__}(...)")
        found.append(item)
    return tuple(found)


def trust(field: str, value: Trust | str | None, default: Trust) -> Trust:
    """Check the name of a trust; None is the default."""
    return one_of(field, default if value is None else value, Trust)


def tags(value: Iterable[str]) -> tuple[str, ...]:
    """Check tags."""
    return checked_tags("tags", value)


def said_at(value: datetime | str | None, mode: UpdateMode) -> datetime | None:
    """Check when the words of a merge were said. Raises InvalidInput for another mode."""
    if value is not None and mode is not UpdateMode.MERGE:
        raise InvalidInput("at", f"has no meaning with the mode {mode.value!r}", "Leave it out, or use mode='merge'")
    return moment("at", value)


def ids(field: str, value: Iterable[str]) -> tuple[str, ...]:
    """Check the form of a list of ids; the memories may not exist."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput(field, f"expected a list of ids, got {type(value).__name__}", "Pass e.g. [hit.id]")
    return tuple(checked_text(field, one, limit=ID_LIMIT) for one in items(field, value))


def actions(value: Iterable[Action | str]) -> frozenset[Action]:
    """Check the actions that a caller gets a right to; a name alone is one of them."""
    named = (value,) if isinstance(value, str) else sequence("actions", value, str)
    if not named:
        raise InvalidInput("actions", "is empty", "Name at least one action")
    return frozenset(one_of("actions", one, Action) for one in named)


def tiers(value: Iterable[Tier | str], archive: bool | None, *, default: bool) -> frozenset[Tier]:
    """The tiers to search: those named, or all. If all, `archive` decides whether the archive is included."""
    named = _choices("tiers", value, tuple(Tier))
    if named and archive is not None:
        raise InvalidInput("archive", "cannot be combined with `tiers`", "Pass only `tiers`")
    in_archive = default if archive is None else flag("archive", archive)
    return named or (EVERYWHERE if in_archive else EVERYWHERE - {Tier.ARCHIVE})


def kinds(value: Iterable[Kind | str]) -> frozenset[Kind]:
    """The kinds to search: those named, or the default kinds."""
    return _choices("kinds", value, SEARCHABLE) or UNASKED


def governed_kinds(value: Iterable[Kind | str]) -> tuple[Kind, ...]:
    """The kinds that a retention rule names."""
    named = _choices("kinds", value, GOVERNED)
    return tuple(kind for kind in GOVERNED if kind in named)


def lifetime(field: str, value: timedelta | float) -> float:
    """Check how long memories are kept, and return it in seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float | timedelta):
        raise InvalidInput(field, f"expected a timedelta or seconds, got {type(value).__name__}", "Pass e.g. 3600")
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if not 0 < seconds <= LONGEST_DAYS * 86_400:  # which no NaN is
        problem = f"{shown(value)} is not a positive time of at most {LONGEST_DAYS:,.0f} days"
        raise InvalidInput(field, problem, "Pass seconds or a timedelta, e.g. 3600")
    return float(seconds)


def mounts(value: Iterable[str] | None) -> tuple[str, ...] | None:
    """Check the names of mounts; None means all that serve the owner."""
    return None if value is None else sequence("mounts", value, str)


def session(value: str | None) -> str | None:
    """Check the label of a session."""
    return None if value is None else checked_text("session", value, limit=ID_LIMIT)


def _choices(field: str, value: Iterable[_Choice | str], choices: Sequence[_Choice]) -> frozenset[_Choice]:
    if isinstance(value, tuple) and not value:  # as it mostly is
        return frozenset()
    known = ", ".join(choice.value for choice in choices)
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput(field, f"expected a list, got {type(value).__name__}", f"Pass some of: {known}")
    named = set[str]()
    for one in items(field, value):
        if not isinstance(one, str) or one not in choices:
            raise InvalidInput(field, f"{shown(one)} is unknown", f"Use some of: {known}")
        named.add(one)
    return frozenset(choice for choice in choices if choice in named)


def period(since: datetime | str | None, until: datetime | str | None) -> tuple[datetime | None, datetime | None]:
    """Check both ends of a period and return them in UTC. Raises InvalidInput if it ends before it begins."""
    start, end = moment("since", since), last_moment("until", until)
    if start and end and end < start:
        raise InvalidInput("until", f"{end.isoformat()} is before `since`", "Swap them")
    return start, end


def moment(field: str, value: datetime | str | None) -> datetime | None:
    """Check an optional time and return it in UTC."""
    return None if value is None else parse_time(field, value)


def file_name(field: str, value: str | Path) -> Path:
    """Check the name of a file."""
    if not isinstance(value, str | Path) or not str(value).strip() or "\x00" in str(value):
        raise InvalidInput(field, "is not a file name", "Pass e.g. 'alice.jsonl'")
    return Path(checked_text(field, str(value), limit=PATH_CHARS))


def target(value: ExportTarget) -> ExportTarget:
    """Check where an export is written: a file or a text stream."""
    if not isinstance(value, TextIOBase):
        return file_name("target", value)  # type: ignore[arg-type]
    if value.closed or not value.writable():
        raise InvalidInput("target", "cannot be written", "Pass a stream of text that is open for writing")
    return value


def last_moment(field: str, value: datetime | str | None) -> datetime | None:
    """Check an optional end time and return it in UTC; a day counts whole."""
    return None if value is None else parse_end(field, value)
