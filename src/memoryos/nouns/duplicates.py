"""Duplicates: memories that say the same, merged into one and given back."""

from __future__ import annotations

from collections.abc import Sequence

from memoryos import arguments
from memoryos.caller import Action
from memoryos.cube import MemCube
from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault.absorption import absorbed_into
from memoryos.kinds import Kind
from memoryos.listing import Listing
from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door
from memoryos.operation.correction.merging import MERGEABLE, DuplicateGroup, duplicates, merge, unmerge

MOST_IDS = 100  # merged by one call


@door
class Duplicates(Noun):
    """Equal and nearly equal memories of one owner."""

    def list(self, *, kind: Kind | str = Kind.PAGE) -> Listing[DuplicateGroup]:
        """List the groups of pages or facts that say the same, without changing anything.

        The latest 2,000 memories of the kind are compared. They say the same if they have the same words apart from
        case, spaces and punctuation (`is_exact`), or if one says nothing that the other does not say. They also have
        the same speaker, tags, metadata, document and end.
        """
        wanted = arguments.one_of("kind", kind, Kind)
        if wanted not in MERGEABLE:
            raise InvalidInput("kind", f"a {wanted.value} has no duplicates", "Pass page or fact")
        found = []
        for home in self._engine.corrector(self._scope).homes if wanted is Kind.FACT else [self._scope.owner]:
            with self._engine.vault.view(home) as reader:
                found += duplicates(reader, wanted, self._engine.clock())
        return Listing(found)

    def merge(self, ids: Sequence[str], *, reason: str = "merge") -> MemCube:
        """Merge memories that say the same into the first one, and return it. `unmerge` undoes it.

        The others get the state merged: no search finds them, except one with `as_of` before the merge. They keep their
        words, versions and sources, and what was derived from them stays. When the first one is deleted, they are found
        again. `reason` is kept with the transitions. Raises NotFound, CubeProtected, and InvalidInput if they do not
        say the same.
        """
        self._engine.admit(Action.WRITE, self._scope)
        checked = list(dict.fromkeys(arguments.cube_id(one) for one in arguments.ids("ids", ids)))
        if not 1 < len(checked) <= MOST_IDS:
            raise InvalidInput("ids", f"names {len(checked)} memories", f"Pass 2 to {MOST_IDS} ids")
        cause = self._engine.said("reason", reason, self._scope, limit=arguments.REASON_CHARS)
        corrector = self._engine.corrector(self._scope)
        homes = {corrector.find(one, Action.WRITE)[1] for one in checked}
        if len(homes) > 1:
            raise InvalidInput("ids", "name memories of different agents", "Take them from `duplicates.list`")
        merge(self._engine.vault, homes.pop(), checked, cause, self._engine.clock())
        return corrector.find(checked[0])[0]

    def unmerge(self, memory_id: str) -> MemCube:
        """Give back a memory that was merged into another one, and return it. Raises NotFound."""
        self._engine.admit(Action.WRITE, self._scope)
        checked = arguments.cube_id(memory_id)
        home = self._engine.corrector(self._scope).find(checked, Action.WRITE)[1]
        with self._engine.vault.write(home) as writer:
            unmerge(writer, checked)
        return self._engine.corrector(self._scope).find(checked)[0]

    def merged(self, memory_id: str) -> Listing[MemCube]:
        """List the memories that this one took in. Raises NotFound."""
        cube, home = self._engine.corrector(self._scope).find(arguments.cube_id(memory_id))
        with self._engine.vault.view(home) as reader:
            return Listing(absorbed_into(reader, [cube.id]))
