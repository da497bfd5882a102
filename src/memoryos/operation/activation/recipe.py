"""Recipe: what a prefix is made of. It names memories and holds none, so it survives them."""

from __future__ import annotations

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.infrastructure.vault.note import Note
from memoryos.kinds import Kind

KNOWN = (Kind.PROFILE, Kind.TRAIT, Kind.FACT)  #: what a prefix tells of the persona, in this order

MOST_RECIPES = 100  # of an owner


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The ingredients of one prefix."""

    name: str
    role: str  #: as whom the model answers
    kinds: tuple[Kind, ...] = KNOWN  #: all memories of these kinds
    ids: tuple[str, ...] = ()  #: further memories: pages, segments, parts of documents
    bits: int | None = None  #: 8 for a smaller state that is not exact


_ADAPTER = TypeAdapter(dict[str, Recipe])

RECIPES: Note[dict[str, Recipe]] = Note("activations", _ADAPTER.validate_json)


def recipes(reader: Reader) -> dict[str, Recipe]:
    """The recipes of an owner, by name."""
    return RECIPES.of(reader) or {}


def write_recipes(writer: Writer, known: dict[str, Recipe]) -> None:
    """Store the recipes of an owner. Raises InvalidInput for a new one beyond `MOST_RECIPES`."""
    if len(known) > max(MOST_RECIPES, len(recipes(writer))):
        raise InvalidInput("name", f"would be one of more than {MOST_RECIPES} activations", "Delete one first")
    writer.write_note(RECIPES.key, _ADAPTER.dump_json(known).decode() if known else None)
