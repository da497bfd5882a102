"""StateMeanings: what the texts of KV states are about, as directions, so that questions can be compared with them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from threading import Lock

import numpy as np

from memoryos.errors import MemoryOSError
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.records import Vector
from memoryos.models.remembered import Remembered
from memoryos.operation.activation.prefix_state import PrefixState
from memoryos.operation.hierarchy.page_entries import page_vectors
from memoryos.operation.placement.kv_keeper import KvBlock
from memoryos.operation.placement.placement_policy import PlacementPolicy, asks_for_similarity
from memoryos.operation.placement.placement_task import PlacementTask

MOST_STATES = 1_024  # whose directions are known
MOST_QUESTIONS = 64  # the latest, which are compared: those of all threads at once


class StateMeanings:
    """The directions of states, by the ids of their blocks. Threads may share it."""

    def __init__(self, questions: Remembered, vault: Vault) -> None:
        self._questions, self._vault = questions, vault
        self._known: OrderedDict[str, Vector | None] = OrderedDict()
        self._asked: OrderedDict[str, Vector | None] = OrderedDict()
        self._epoch = 0  # how many times all was forgotten
        self._lock = Lock()

    @classmethod
    def of(cls, policy: PlacementPolicy | None, questions: Remembered, vault: Vault) -> StateMeanings | None:
        """Those that a policy needs; None if it does not ask how similar states are to a question."""
        return cls(questions, vault) if asks_for_similarity(policy) else None

    def compare(self, query: str, states: Iterable[PrefixState]) -> None:
        """Know what a question and these states are about, so that `alike` tells it."""
        epoch = self._epoch
        with suppress(MemoryOSError):  # an answer that is computed is not lost to it
            self.learn(states)
        self.ask(query, epoch)

    def learn(self, states: Iterable[PrefixState]) -> None:
        """Know what these states are about."""
        epoch = self._epoch  # before the first is read
        for one in states:
            if not self.knows(one.key):
                vectors = list[Vector]()
                with suppress(ValueError), self._vault.read(one.owner) as reader:  # of a vector that is damaged
                    vectors += page_vectors(reader, one.sources).values()
                self.know(one.key, vectors, epoch)

    def knows(self, block: str) -> bool:
        """Whether the direction of this state is known."""
        with self._lock:
            return block in self._known

    def know(self, block: str, vectors: Iterable[Vector], epoch: int) -> None:
        """Take the mean of its texts' vectors; a text without one does not count.

        What was read in an earlier epoch may have been erased since: it is not kept.
        """
        sound = [vector for vector in vectors if vector.shape == (self._questions.dim,)]
        whole = np.sum(sound, axis=0, dtype=np.float32)
        length = float(np.linalg.norm(whole))
        with self._lock:
            if epoch != self._epoch:
                return
            self._known[block] = np.asarray(whole / length, np.float32) if length else None
            self._known.move_to_end(block)
            while len(self._known) > MOST_STATES:
                self._known.popitem(last=False)

    def ask(self, query: str, epoch: int) -> None:
        """Know what a question is about, before it is compared; nothing, if its embedder fails."""
        try:
            found = self._questions.vector(query)
        except Exception:  # noqa: BLE001 - an embedder may be the code of somebody else
            found = None
        if found is not None and found.shape != (self._questions.dim,):
            found = None
        with self._lock:
            if epoch != self._epoch:
                return
            self._asked[query] = found
            self._asked.move_to_end(query)
            while len(self._asked) > MOST_QUESTIONS:
                self._asked.popitem(last=False)

    def alike(self, block: KvBlock, task: PlacementTask) -> float:
        """The cosine of the question and the texts of a state of the same owner, 0 to 1.

        It is 0 to what belongs to others: the logs of others tell nothing of a question.
        """
        with self._lock:
            own = self._known.get(block.id) if block.owner == task.scope else None
            asked = self._asked.get(task.query)
            if own is not None:
                self._known.move_to_end(block.id)
        return 0.0 if own is None or asked is None else min(1.0, max(0.0, float(asked @ own)))

    def forget(self) -> None:
        """Know nothing any more: something was erased."""
        with self._lock:
            self._epoch += 1
            self._known.clear()
            self._asked.clear()
