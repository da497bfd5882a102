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
    """What keeps one owner's memory in order; most of it is done without being asked for."""

    def repair(self) -> RepairReport:
        """Move pages that lie in the wrong segment, split mixed segments and merge twins, now."""
        self._engine.admit(Action.WRITE, self._scope)
        owner = self._engine.caught_up(self._scope)
        report = self._engine.repairer.repair(owner)
        self._engine.housekeeping.queued(owner)
        return report

    def undo(self, *sequences: int) -> RepairReport:
        """Put pages back where they lay before these events of a repair; no repair moves them again.

        Raises NotFound for an event that is none of a repair, InvalidInput when a page has moved since.
        """
        self._engine.admit(Action.WRITE, self._scope)
        owner = self._engine.caught_up(self._scope)
        wanted = [arguments.natural("sequences", one, least=-arguments.HIGHEST) for one in sequences]
        report = self._engine.repairer.undo(owner, wanted)
        self._engine.housekeeping.queued(owner)
        return report

    def rebuild(self, *, progress: Progress | None = None) -> None:
        """Derive everything again from the raw pages, and wait for it: after an update of the rules, or to repair.

        It gives the segments, facts, traits and profile that the same pages would give if all of them came in now,
        one after the other; what LPM had read before it reads again, hot or not. Kept are the pages with their
        visits, and what was stated, imported or corrected by the user. A fact that was deleted comes back when a page
        still says it: delete the page. Derived memories get new ids and start without visits. Searches and writes go
        on; what was inferred is missing for a while. A rebuild that was cut off goes on where it was. `progress` is
        told pages of all pages; extraction comes after the last.
        """
        arguments.callback("progress", progress)
        self._engine.admit(Action.WRITE, self._scope)
        self._engine.responder.wait()
        self._engine.housekeeping.rebuild(self._scope, progress)

    def index(self) -> bool:
        """Move the turns from memory to the store's candidate index, as is done by itself when they are many.

        Returns whether there is one; a file has none unless the settings name it.
        """
        self._engine.admit(Action.WRITE, self._scope)
        self._engine.check_open()
        return self._engine.sources.move_out(self._scope.owner)
