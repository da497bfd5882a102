"""Branches: copies of one owner's memory on which things can be tried."""

from __future__ import annotations

from datetime import timedelta

from memoryos import arguments
from memoryos.caller import Action, doing
from memoryos.errors import InvalidInput, NotFound
from memoryos.listing import Listing
from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door
from memoryos.operation.calls.permission import check_all
from memoryos.operation.correction.branch import Branch, new_branch_id
from memoryos.operation.correction.brancher import BranchDiff
from memoryos.text import checked_text

NAME_CHARS = 100
USUAL_LIFE = timedelta(days=7)


@door
class Branches(Noun):
    """The branches of one owner."""

    def create(self, name: str, *, ttl: timedelta | float = USUAL_LIFE) -> Branch:
        """Copy this memory into a new branch, and return it. `Memory.branch` opens it.

        The branch shows the memory as it is now and what is stored in it. Nothing that is done in it changes this
        memory, and it does not see what changes here, except that what is deleted, erased or expired here is deleted
        there. The copy takes as much disk as the memory itself. It is discarded after `ttl` (default: seven days), and
        at the latest after the setting `snapshot_days`. Raises InvalidInput, also if the name is taken, and
        NotFound if something of the memory is erased meanwhile.
        """
        self._engine.admit(Action.WRITE, self._scope)
        if self._scope.is_branch:
            raise InvalidInput("name", "would be a branch of a branch", "Make it of the memory itself")
        checked, now, settings = (
            self._engine.said("name", name, self._scope, limit=NAME_CHARS),
            self._engine.clock(),
            self._engine.settings,
        )
        longest = timedelta(days=settings.snapshot_days)
        life = min(longest, timedelta(seconds=arguments.lifetime("ttl", ttl)))
        self._engine.caught_up(self._scope)
        brancher = self._brancher
        known = brancher.all()
        for one in known:
            if one.name == checked and (not one.is_whole or one.expires_at <= now):
                doing(Action.DELETE, lambda one=one: brancher.discard(one))  # type: ignore[misc]
            elif one.name == checked:
                raise InvalidInput("name", f"{checked!r} is taken", "Choose another name, or discard that branch")
        if len(known) >= settings.most_snapshots:
            problem = f"would be one more than the {settings.most_snapshots} that the setting most_snapshots allows"
            raise InvalidInput("name", problem, "Discard a branch")
        made = brancher.create(Branch(new_branch_id(), checked, now, self._caller.identity, now + life))
        self._engine.housekeeping.written(made.scope(self._scope))
        self._engine.housekeeping.queued(self._scope)
        return made

    def list(self) -> Listing[Branch]:
        """List the branches of this owner, by name."""
        self._engine.admit(Action.READ, self._scope)
        now = self._engine.clock()
        return Listing(one for one in self._brancher.all() if one.is_whole and one.expires_at > now)

    def named(self, name: str) -> Branch:
        """Return a branch. Raises NotFound."""
        checked = checked_text("name", name, limit=NAME_CHARS)
        wanted = self._engine.privacy(self._scope).names(checked)
        known = self.list()
        for given in wanted:  # one from before the policy has the name that was typed
            for one in known:
                if one.name == given:
                    return one
        raise NotFound(f"there is no branch {checked!r} of this user and agent")

    def diff(self, name: str) -> BranchDiff:
        """Compare a branch with this memory as it is now: what was added, changed and removed in it, and what is newer.

        Pages, facts, traits and profile fields are compared. Raises NotFound.
        """
        branch = self.named(name)
        self._engine.caught_up(self._scope)
        return self._brancher.diff(branch)

    def discard(self, name: str) -> None:
        """Remove a branch with everything in it. It takes DELETE for every memory.

        Raises NotFound, PermissionDenied, and CubeProtected if something in it is frozen.
        """
        branch = self.named(name)
        for home in self._engine.corrector(self._scope).homes:  # it has copies of a persona that agents share, too
            check_all(self._engine.vault, home, Action.DELETE)
        doing(Action.DELETE, lambda: self._brancher.discard(branch))
