"""Upkeep: repair and rebuild of one owner's memory."""

from __future__ import annotations

from memoryos import arguments
from memoryos.caller import Action
from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door
from memoryos.operation.maintenance.repairer import RepairReport
from memoryos.progress import Progress


@door
class Upkeep(Noun):
    """Maintenance of one owner's memory. Most of it also happens automatically."""

    def repair(self) -> RepairReport:
        """Move pages that are in the wrong segment, split mixed segments and merge similar ones, now.

        Each segment that it changes gets a new version.
        """
        self._engine.admit_all(Action.WRITE, self._scope)
        owner = self._engine.caught_up(self._scope)
        report = self._engine.repairer.repair(owner)
        self._engine.housekeeping.queued(owner)
        return report

    def undo(self, *sequences: int) -> RepairReport:
        """Undo these events of a repair: move the pages back to where they were. No later repair moves them again.

        Raises NotFound for an event that does not belong to a repair, InvalidInput if a page has moved since.
        """
        self._engine.admit_all(Action.WRITE, self._scope)
        owner = self._engine.caught_up(self._scope)
        wanted = [arguments.natural("sequences", one, least=-arguments.HIGHEST) for one in sequences]
        report = self._engine.repairer.undo(owner, wanted)
        self._engine.housekeeping.queued(owner)
        return report

    def rebuild(self, *, progress: Progress | None = None, timeout: float | None = None) -> None:
        """Derive everything again from the raw pages and wait for it, for example after a change of the rules.

        The result is the segments, facts, traits and profile that the same pages would give if they were all added now,
        one after the other. Pages that LPM had read are read again, hot or not. Pages keep their visits; what the user
        stated, imported or corrected stays. A deleted fact comes back if a page still states it; delete the page to
        prevent this. Derived memories get new ids and no visits. Searches and writes go on, but inferred memories are
        missing for a while. An interrupted rebuild continues where it stopped. `progress` is called with the number of
        pages done and of all pages; extraction follows after the last page. Raises StillRunning after `timeout`
        seconds; the work goes on.
        """
        arguments.callback("progress", progress)
        self._engine.admit_all(Action.WRITE, self._scope)
        self._engine.finish(lambda until: self._engine.housekeeping.rebuild(self._scope, progress, until), timeout)

    def index(self) -> bool:
        """Move the turns from memory to the store's candidate index now. Large memories do this automatically.

        Returns False if the store has no candidate index: a file has one only if the settings name it.
        """
        self._engine.admit_all(Action.WRITE, self._scope)
        return self._engine.sources.move_out(self._scope.owner)
