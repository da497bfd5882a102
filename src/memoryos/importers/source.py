"""Reading JSON of other programs: an error names the file, the place in it and what to do."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Annotated, BinaryIO, TypeVar

from pydantic import AfterValidator, BeforeValidator, FailFast, Field, TypeAdapter, ValidationError

from memoryos.arguments import QUERY_CHARS
from memoryos.errors import InvalidInput
from memoryos.json_size import has_more_values
from memoryos.regex import regex

T = TypeVar("T")

_CONTROL = regex(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_DAY = regex(r"\d{4}-\d\d-\d\d")

Listed = Annotated[list[T], FailFast()]  #: a list that is refused at its first wrong item

MOST_BYTES = 256_000_000  # of one file, which is read whole
MOST_VALUES = 1_000_000  # in one file; each takes some 200 bytes of memory, however short it is
MOST_FAULTS = 1_000  # of which the first is named: each takes memory, too

_SPLIT = "Split it into several files, and import one after the other"
_BROKEN = "The file is truncated or is not JSON: export it again or restore it from a backup"


def _without_nul(text: str) -> str:
    if "\x00" in text:
        raise ValueError("contains a NUL byte")
    return text


def _without_controls(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("contains a line feed or another control character")
    return text


def _as_iso(value: object) -> object:
    """Pydantic would also take a number, for the seconds since 1970."""
    if not isinstance(value, str) or not _DAY.match(value):
        raise ValueError("is not ISO 8601, such as 2024-05-06T10:00Z")
    return value


Text = Annotated[str, AfterValidator(_without_nul)]  #: text that the store can hold
OneLine = Annotated[Text, AfterValidator(_without_controls)]  #: text in one line of a table
QuestionText = Annotated[
    str, Field(pattern=r"\S", max_length=QUERY_CHARS), AfterValidator(_without_nul)
]  #: text that may be searched for
IsoTime = Annotated[datetime, BeforeValidator(_as_iso)]  #: a time, or the start of a day


def read_json(path: Path, shape: TypeAdapter[T], *, fix: str) -> T:
    """Read a JSON file of the given shape. Raises InvalidInput; a broken file is never read as empty."""
    data = read_bytes(path)
    try:
        return shape.validate_json(data)
    except ValidationError as error:
        if (faults := error.error_count()) > MOST_FAULTS:
            raise InvalidInput(str(path), f"has the wrong structure in {faults:,} places", fix) from None
        first = error.errors(include_url=False, include_input=False)[0]
        advice = _BROKEN if first["type"] == "json_invalid" else fix
        raise InvalidInput(_place(path, first["loc"]), first["msg"], advice) from None


def read_bytes(path: Path) -> bytes:
    """Read a JSON file. Raises InvalidInput if it cannot be read, or if its values would take too much memory."""
    with readable(path), path.open("rb") as file:
        return read_bounded(file, str(path))


def read_bounded(file: BinaryIO, name: str) -> bytes:
    """Read the JSON of an open file, such as standard input; errors call it by that name.

    Raises InvalidInput if its values would take too much memory. Pydantic limits the depth of nesting.
    """
    read = file.read(MOST_BYTES + 1)
    if len(read) > MOST_BYTES:
        raise InvalidInput(name, f"has more than {MOST_BYTES // 10**6} MB", _SPLIT)
    data = read.removeprefix(BOM_UTF8)
    if has_more_values(data, MOST_VALUES):
        raise InvalidInput(name, f"has more than {MOST_VALUES:,} values", _SPLIT)
    return data


@contextmanager
def in_file(path: Path) -> Iterator[None]:
    """Name the file in errors about what it holds, such as a text that is too long for the store."""
    try:
        yield
    except InvalidInput as error:
        if error.field.startswith(str(path)):
            raise
        raise InvalidInput(f"{path} at {error.field}", error.problem, error.fix) from None


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn an error of the file system into InvalidInput."""
    try:
        yield
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
        raise InvalidInput(str(error.filename or path), problem, "Check the path and its permissions") from None


def _place(path: Path, keys: tuple[int | str, ...]) -> str:
    return f"{path} at {'.'.join(str(key) for key in keys)}" if keys else str(path)


def to_utc(moment: datetime, zone: tzinfo) -> datetime:
    """Convert to UTC; a moment without a zone is local to `zone`. Raises OverflowError outside the calendar."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)


@contextmanager
def in_calendar(place: str) -> Iterator[None]:
    """Turn a time outside the calendar into InvalidInput."""
    try:
        yield
    except OverflowError:
        problem = "is outside the years 1 to 9999 in UTC, or what is said around it without a time is"
        raise InvalidInput(place, problem, "Write a time inside the calendar") from None
