"""Snapshots: named moments of one owner's log, for `as_of`."""

from __future__ import annotations

from datetime import datetime, timedelta

from memoryos import arguments
from memoryos.caller import Action
from memoryos.clock import parse_end, parse_moment
from memoryos.errors import InvalidInput, NotFound
from memoryos.infrastructure.vault.snapshot import Snapshot, snapshots, write_snapshots
from memoryos.listing import Listing
from memoryos.nouns.looking_back import STORED, last_event
from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door
from memoryos.scope import ID_LIMIT
from memoryos.text import checked_text


@door
class Snapshots(Noun):
    """The snapshots of one owner."""

    def create(self, name: str, *, at: datetime | str | None = None, ttl: timedelta | float | None = None) -> Snapshot:
        """Name a moment of the log (default: now) for `as_of`, and return the snapshot. Nothing is copied.

        Searches, contexts and lists with `as_of=name` then see the memory as the store held it at that moment. What is
        deleted, erased or expired later is gone from snapshots, too. A snapshot ends after `ttl`, at the latest after
        the setting `snapshot_days`; there are at most `most_snapshots`. Raises InvalidInput, also if the name is taken.
        """
        self._engine.admit(Action.WRITE, self._scope)
        checked, now = self._engine.privacy(self._scope).text("name", _name(name)), self._engine.clock()
        moment = now if at is None else parse_moment("at", at, now=now)
        sequence = last_event(self._engine, self._scope, None if at is None else moment)
        settings = self._engine.settings
        longest = timedelta(days=settings.snapshot_days)
        life = longest if ttl is None else min(longest, timedelta(seconds=arguments.lifetime("ttl", ttl)))
        made = Snapshot(checked, moment, sequence, self._caller.identity, now + life)
        with self._engine.vault.write(self._scope.owner) as writer:
            known = snapshots(writer, now)
            if any(one.name == checked for one in known):
                raise InvalidInput("name", f"{checked!r} is taken", "Choose another name, or remove that snapshot")
            if len(known) >= settings.most_snapshots:
                problem = f"would be one more than the {settings.most_snapshots} that the setting most_snapshots allows"
                raise InvalidInput("name", problem, "Remove a snapshot")
            write_snapshots(writer, [*known, made])
        return made

    def list(self) -> Listing[Snapshot]:
        """List the snapshots of this owner, by their moments."""
        with self._engine.vault.read(self._scope.owner) as reader:
            return Listing(snapshots(reader, self._engine.clock()))

    def remove(self, name: str) -> None:
        """Remove a snapshot; the memories stay as they are. It takes WRITE for all of them. Raises NotFound."""
        self._engine.admit_all(Action.WRITE, self._scope)
        checked, now = checked_text("name", name, limit=ID_LIMIT), self._engine.clock()
        wanted = self._engine.privacy(self._scope).names(checked)
        with self._engine.vault.write(self._scope.owner) as writer:
            known = snapshots(writer, now)
            names = {one.name for one in known}
            doomed = next((name for name in wanted if name in names), None)
            left = [one for one in known if one.name != doomed]
            if left == known:
                raise NotFound(f"there is no snapshot {checked!r} of this user and agent")
            write_snapshots(writer, left)


def _name(name: str) -> str:
    """The name of a snapshot; a moment would be none. Raises InvalidInput."""
    checked = checked_text("name", name, limit=ID_LIMIT)
    try:
        parse_end("name", checked.removeprefix(STORED))
    except InvalidInput:
        return checked
    raise InvalidInput("name", "is a moment", "Choose a name that `as_of` cannot take for a time")
