"""The persona schema: the dimensions on which a user is described.

The built-in schema has 90 dimensions in three groups (MemoryOS paper, section 3.2.3). The public
implementation names 51 of them (`source: paper`); the others are our completion (`source: memoryos`). A
deployment may bring its own file of the same form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from memoryos.errors import InvalidInput

_PACKAGE = "memoryos.operation.consolidation"
_BUILT_IN = "persona_dimensions.json"
BUILT_IN = ("children_tutor", "support_desk")  # schemas for a purpose, by name

_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


@dataclass(frozen=True, slots=True)
class Dimension:
    """One aspect of a persona, and the words that show it."""

    name: str
    description: str
    source: str = "memoryos"
    cues_en: tuple[str, ...] = ()
    cues_zh: tuple[str, ...] = ()

    @property
    def has_cues(self) -> bool:
        """Whether rules can find this dimension; the others need a model."""
        return bool(self.cues_en or self.cues_zh)


@dataclass(frozen=True, slots=True)
class DimensionGroup:
    """Dimensions that belong together."""

    name: str
    dimensions: tuple[Dimension, ...]


@dataclass(frozen=True, slots=True)
class PersonaSchema:
    """All dimensions, in groups."""

    groups: tuple[DimensionGroup, ...]

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The dimensions of all groups, in order."""
        return tuple(dimension for group in self.groups for dimension in group.dimensions)

    @classmethod
    def named(cls, name: str | None) -> PersonaSchema:
        """The built-in schema of that name, or the one in the file of that path; None is the one of the paper.

        Built-in are children_tutor and support_desk. Raises InvalidInput when the file is not a schema.
        """
        return cls.load(Path(name)) if name and name not in BUILT_IN else _built_in(name)

    @classmethod
    def load(cls, path: Path | None = None) -> PersonaSchema:
        """Read a schema file; None is the built-in one. Raises InvalidInput when the file is not a schema."""
        place = "persona schema" if path is None else str(path)
        try:
            groups = _SchemaFile.model_validate_json(_content(path, place)).groups
        except ValidationError as error:
            raise _unusable(place, error) from None
        schema = cls(tuple(DimensionGroup(group.name, tuple(map(_dimension, group.dimensions))) for group in groups))
        _check_names(schema, place)
        return schema


@cache
def _built_in(name: str | None) -> PersonaSchema:
    if not name:
        return PersonaSchema.load()
    with resources.as_file(resources.files(_PACKAGE).joinpath(f"persona_{name}.json")) as path:
        return PersonaSchema.load(path)


class _Cues(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)
    en: list[_Text] = []
    zh: list[_Text] = []


class _DimensionEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)
    name: _Text
    description: _Text
    source: Literal["paper", "memoryos", "custom"] = "custom"
    cues: _Cues = _Cues()


class _GroupEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)
    name: _Text
    dimensions: list[_DimensionEntry]


class _SchemaFile(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)
    groups: list[_GroupEntry]


def _content(path: Path | None, place: str) -> str:
    if path is None:
        return resources.files(_PACKAGE).joinpath(_BUILT_IN).read_text(encoding="utf-8")
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(place, f"cannot be read ({error.strerror})", "Name a readable JSON file") from None
    except UnicodeDecodeError:
        raise InvalidInput(place, "is not UTF-8 text", "Save the persona schema as UTF-8 JSON") from None


def _unusable(place: str, error: ValidationError) -> InvalidInput:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the file"
    fix = 'Use {"groups": [{"name": ..., "dimensions": [{"name": ..., "description": ...}]}]}'
    return InvalidInput(place, f"{where}: {first['msg']}", fix)


def _dimension(entry: _DimensionEntry) -> Dimension:
    return Dimension(entry.name, entry.description, entry.source, tuple(entry.cues.en), tuple(entry.cues.zh))


def _check_names(schema: PersonaSchema, place: str) -> None:
    """Refuse a name used twice: a trait names its dimension, so a name must mean one."""
    seen: set[str] = set()
    for dimension in schema.dimensions:
        if dimension.name.casefold() in seen:
            raise InvalidInput(place, f"two dimensions are named {dimension.name!r}", "Rename one of them")
        seen.add(dimension.name.casefold())
    if not seen:
        raise InvalidInput(place, "has no dimensions", "Add at least one")
