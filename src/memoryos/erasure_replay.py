"""ErasureReplay: forgets again, in a store that is being restored, what was forgotten since its backup was made."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from memoryos.caller import SYSTEM, Action, acting, doing
from memoryos.clock import Clock
from memoryos.config import ExtractorKind, JobsRun, Settings
from memoryos.engine import Engine
from memoryos.infrastructure.vault.forgotten_list import Subject
from memoryos.infrastructure.vault.sql_vault import SqlVault
from memoryos.kinds import Kind
from memoryos.models.embedder import Embedder
from memoryos.operation.correction.brancher import Brancher
from memoryos.operation.correction.copies import Copies
from memoryos.scope import Scope

WasForgotten = Callable[[Subject], bool]


@dataclass(frozen=True, slots=True)
class ErasureReplay:
    """Forgets owners, sessions and memories of a store that nobody else uses yet."""

    was_forgotten: WasForgotten
    embedder: Embedder
    settings: Settings
    clock: Clock

    def run(self, vault: SqlVault) -> int:
        """Forget what was forgotten, close the vault, and return how many erasures had something to forget.

        Raises CubeProtected if any of it is frozen or on hold.
        """
        alone = {"audit": False, "policies": None, "candidates": None, "mounts": (), "jobs": JobsRun.WORKER}
        settings = self.settings.model_copy(update={**alone, "extractor": ExtractorKind.RULES})
        engine = Engine(vault, self.embedder, settings=settings, clock=self.clock)
        try:
            return acting(SYSTEM, lambda: doing(Action.DELETE, lambda: self._forget(engine)))
        finally:
            engine.close()

    def _forget(self, engine: Engine) -> int:
        applied: set[str] = set()  # a user or a tenant has several owners
        for owner in engine.vault.erasure.owners():
            if whole := list(filter(self.was_forgotten, _whole(owner))):
                engine.forget_unsigned(owner)
                applied.update(json.dumps(one, sort_keys=True) for one in whole)
            else:
                applied.update(self._forget_parts(engine, owner))
        return len(applied)

    def _forget_parts(self, engine: Engine, owner: Scope) -> list[str]:
        sessions = self._sessions(engine, owner)
        for session in sessions:
            engine.forget_unsigned(replace(owner, session=session))
        memories = self._memories(engine, owner)
        for memory in memories:
            engine.caught_up(owner)
            Copies(Brancher.of(engine.promoter, engine.forgetter, owner)).erased(memory)
        return [repr((owner, part)) for part in (*sessions, *memories)]

    def _sessions(self, engine: Engine, owner: Scope) -> list[str]:
        with engine.vault.read(owner) as reader:
            found = {one.scope.session for kind in (Kind.PAGE, Kind.FACT) for one in reader.cubes(kind)}
        known = (session for session in found if session is not None)
        return [one for one in known if self.was_forgotten(replace(owner, session=one).to_dict())]

    def _memories(self, engine: Engine, owner: Scope) -> list[str]:
        found: list[str] = []
        after = 0
        with engine.vault.read(owner) as reader:
            while some := reader.placed(after=after):
                found += [one.id for one in some if self.was_forgotten({**owner.to_dict(), "memory": one.id})]
                after = some[-1].position
        return found


def _whole(owner: Scope) -> list[Subject]:
    """The subjects with which all of an owner is forgotten."""
    return [{"tenant": owner.tenant}, {"tenant": owner.tenant, "user": owner.user}, owner.to_dict()]
