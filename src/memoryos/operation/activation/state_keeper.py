"""StateKeeper: which KV states of prefixes stay in memory, as the scheduler decides, and which are loaded in pauses.

It is off without the setting `placement_states`. What an answer used is held at once; the log is written, and what the
owner's next question probably uses is loaded, behind the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from memoryos.caller import SYSTEM, acting, current
from memoryos.clock import Clock, micros
from memoryos.config import Settings
from memoryos.errors import MemoryOSError
from memoryos.infrastructure.vault.contract import Vault
from memoryos.models.local.kept_states import KeptStates
from memoryos.models.local.local_engine import KVState
from memoryos.operation.activation.prefix_state import PrefixState
from memoryos.operation.activation.recipe import recipes
from memoryos.operation.activation.state_meanings import StateMeanings
from memoryos.operation.placement.cost_model import SMOLLM2
from memoryos.operation.placement.foresight import Learned
from memoryos.operation.placement.kv_keeper import KeepingDecision, KvBlock, KvKeeper
from memoryos.operation.placement.kv_pool import KvPool
from memoryos.operation.placement.placement_policy import policy_named
from memoryos.operation.placement.placement_task import PlacementBudget, PlacementTask
from memoryos.operation.placement.state_log import STATE_LOG, StateDecision, StateLog, write_state_log
from memoryos.scope import Scope

OFF = "off"
MOST_LOADED = 8  # states that a pause loads, at most
PAUSE_MS = 20_000.0  # that loading them may take, by the rates of the cost model


@dataclass(frozen=True)
class StateKeeper:
    """Decides for the states of one store, in this process."""

    vault: Vault
    clock: Clock
    states: KeptStates
    later: Callable[[Callable[[], None]], None]  #: runs a task in the background
    keeper: KvKeeper
    learned: Learned
    meanings: StateMeanings | None  #: None: the policy does not ask how similar they are to a question
    priorities: Mapping[str, int]  #: of tags

    @classmethod
    def of(
        cls,
        settings: Settings,
        vault: Vault,
        clock: Clock,
        later: Callable[..., None],
        states: KeptStates,
        meanings: StateMeanings | None,
    ) -> StateKeeper | None:
        """The one of the settings; None if the last used states stay. Raises InvalidInput for an unknown policy."""
        if not settings.placement_states or settings.placement == OFF:
            return None
        learned, policy = Learned(), policy_named(settings.placement)
        alike = None if meanings is None else meanings.alike
        keeper = KvKeeper(KvPool(states.most_bytes, policy), learned, alike=alike)
        return cls(vault, clock, states, later, keeper, learned, meanings, settings.placement_priorities)

    def used(
        self,
        owner: Scope,
        query: str,
        taken: Mapping[str, tuple[PrefixState, KVState]],
        epoch: int,
        find: Callable[[str], PrefixState | None],
    ) -> None:
        """An answer to the owner's question used these states, by the names of prefixes; `find` finds the others."""
        with suppress(MemoryOSError):  # the answer is there; without this, the next one only takes longer
            self._learn(owner)
            self.keeper.retain(self.states.keys)
            found = {one.key: state for one, state in taken.values()}
            owed = {
                name: 0.0 if one.key in self.keeper.kept else SMOLLM2.saved_ms(one.tokens)
                for name, (one, _) in taken.items()
            }
            self.learned.asked(owner, owed)
            blocks = [one.block(state.nbytes) for one, state in taken.values()]
            if not self.keeper.has_room(blocks):  # otherwise nothing is compared, and no answer waits for an embedder
                self._compare(query, (one for one, _ in taken.values()))
            task = self._task(owner, query, blocks)
            decisions = self.keeper.used(blocks, task)
            self._carried_out(decisions, found, epoch)
            caller = current()
            self.later(lambda: acting(caller, lambda: self._rest(task, taken, owed, decisions, find)))

    def forget(self) -> None:
        """Know nothing of the owners any more but what the store has: something was erased."""
        self.learned.forget()
        self.keeper.retain(())

    def _rest(
        self,
        task: PlacementTask,
        taken: Mapping[str, tuple[PrefixState, KVState]],
        owed: Mapping[str, float],
        decisions: list[KeepingDecision],
        find: Callable[[str], PrefixState | None],
    ) -> None:
        """What no answer waits for: to load what comes next, and to write it all down."""
        with suppress(MemoryOSError):
            self._compare(task.query, (one for one, _ in taken.values()))
            compared = replace(task)  # of which the keeper has no numbers yet
            self._log(task.scope, owed, [*decisions, *self._preloaded(compared, find)])

    def _preloaded(self, task: PlacementTask, find: Callable[[str], PrefixState | None]) -> list[KeepingDecision]:
        owner, epoch = task.scope, self.states.epoch  # before the first is read
        self.keeper.retain(self.states.keys)
        found, loaded = dict[str, PrefixState](), dict[str, KVState]()

        def likely() -> Iterator[KvBlock]:
            for name in islice(self.learned.likely(owner), MOST_LOADED):
                if self.learned.chance(owner, name) > 0 and (one := find(name)) is not None:
                    found[one.key] = one
                    if self.meanings is not None:
                        self.meanings.learn([one])
                    yield one.block()

        def ready(block: KvBlock) -> KvBlock | None:
            if (state := found[block.id].load()) is None:
                return None
            loaded[block.id] = state
            return found[block.id].block(state.nbytes)

        decisions = []
        for one in self.keeper.preloaded(likely(), PAUSE_MS, task, ready):
            self._carried_out([one], loaded, epoch)
            decisions.append(one)
        return decisions

    def _carried_out(self, decisions: Iterable[KeepingDecision], found: Mapping[str, KVState], epoch: int) -> None:
        for one in decisions:
            if one.is_kept:
                self.states.keep(one.block.id, found[one.block.id], epoch)
            else:
                self.states.drop(one.block.id)

    def _compare(self, query: str, states: Iterable[PrefixState]) -> None:
        """Know what a question and these states are about, if the policy asks how similar they are."""
        if self.meanings is not None:
            self.meanings.compare(query, states)

    def _task(self, owner: Scope, query: str, used: Iterable[KvBlock]) -> PlacementTask:
        """A question that prefers what has the tags of the prefixes that it was asked behind."""
        labels = frozenset[str]().union(*(block.labels for block in used))
        return PlacementTask(query, owner, PlacementBudget(0), labels=labels, priorities=self.priorities)

    def _learn(self, owner: Scope) -> None:
        """Know what this process, an earlier one or another one has noted of the owner."""
        if not self.learned.knows(owner):
            with self.vault.read(owner) as reader:
                self.learned.know(owner, (STATE_LOG.of(reader) or StateLog()).history)

    def _log(self, owner: Scope, owed: Mapping[str, float], decisions: list[KeepingDecision]) -> None:
        """Write the decisions to the logs of those whose states they are about."""
        if not self.vault.is_writable:
            return
        told: dict[Scope, list[KeepingDecision]] = {owner: []}
        for one in decisions:
            told.setdefault(one.block.owner, []).append(one)
        for other, known in told.items():
            acting(SYSTEM, partial(self._write, other, owed if other == owner else {}, known))

    def _write(self, owner: Scope, owed: Mapping[str, float], decisions: list[KeepingDecision]) -> None:
        at = self.clock()
        with self.vault.write(owner) as writer:
            names, log = recipes(writer), STATE_LOG.of(writer) or StateLog()
            found = [(_memory_of(one.block.id), one) for one in decisions]
            there = writer.kinds([memory_id for memory_id, _ in found])
            told = [
                StateDecision(one, at, made.is_kept, made.reason, made.grounds) for one, made in found if one in there
            ]
            if not names and not log.decisions:  # it was erased meanwhile
                return
            history = log.history.only(names)
            known = {name: saved for name, saved in owed.items() if name in names}
            history = history.after(known, micros(at)) if known else history
            write_state_log(writer, StateLog(history, log.decisions).decided(told))
        self.learned.know(owner, history)


def _memory_of(key: str) -> str:
    return key.rpartition("]")[2]  # with which the place ends
