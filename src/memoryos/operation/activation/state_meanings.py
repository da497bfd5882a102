"""StateMeanings: what the texts of KV states are about, as directions, so that questions can be compared with them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock

import numpy as np

from memoryos.infrastructure.vault.records import Vector
from memoryos.models.remembered import Remembered
from memoryos.operation.placement.kv_keeper import KvBlock
from memoryos.operation.placement.placement_task import PlacementTask

MOST_STATES = 1_024  # whose directions are known
MOST_QUESTIONS = 64  # the latest, which are compared: those of all threads at once


class StateMeanings:
    """The directions of states, by the ids of their blocks. Threads may share it."""

    def __init__(self, questions: Remembered) -> None:
        self._questions = questions
        self._known: OrderedDict[str, Vector | None] = OrderedDict()
        self._asked: OrderedDict[str, Vector | None] = OrderedDict()
        self._lock = Lock()

    def knows(self, block: str) -> bool:
        """Whether the direction of this state is known."""
        return block in self._known

    def know(self, block: str, vectors: Iterable[Vector]) -> None:
        """Take the mean of its texts' vectors; a text without one does not count."""
        whole = np.sum(list(vectors), axis=0, dtype=np.float32)
        length = float(np.linalg.norm(whole))
        with self._lock:
            self._known[block] = np.asarray(whole / length, np.float32) if length else None
            while len(self._known) > MOST_STATES:
                self._known.popitem(last=False)

    def ask(self, query: str) -> None:
        """Know what a question is about, before it is compared; nothing, if its embedder fails."""
        try:
            found = self._questions.vector(query)
        except Exception:  # noqa: BLE001 - an embedder may be the code of somebody else
            found = None
        with self._lock:
            self._asked[query] = found
            while len(self._asked) > MOST_QUESTIONS:
                self._asked.popitem(last=False)

    def alike(self, block: KvBlock, task: PlacementTask) -> float:
        """The cosine of the question and the texts of a state of the same owner, 0 to 1.

        It is 0 to what belongs to others: the logs of others tell nothing of a question.
        """
        own = self._known.get(block.id) if block.owner == task.scope else None
        asked = self._asked.get(task.query)
        return 0.0 if own is None or asked is None else min(1.0, max(0.0, float(asked @ own)))

    def forget(self) -> None:
        """Know nothing any more: something was erased."""
        with self._lock:
            self._known.clear()
            self._asked.clear()
