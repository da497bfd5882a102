"""KeptStates: KV states in memory, the latest used first, up to a number of bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import NamedTuple

from memoryos.models.asker import Asker
from memoryos.models.local.local_engine import KVState, shared
from memoryos.models.local.weighted_adapter import Adapters

_LEAST = 16  # tokens that must be the same: fewer spare nothing


class _Kept(NamedTuple):
    state: KVState
    asker: Asker | None


class KeptStates:
    """States under keys. The ones that were not used for longest give way."""

    def __init__(self, most_bytes: int, on_clear: Callable[[], object] = bool) -> None:
        """Keep up to that many bytes; `on_clear` is called after all were let go."""
        self.most_bytes, self._on_clear = most_bytes, on_clear
        self._epoch = 0
        self._lock = Lock()
        self._states: OrderedDict[str, _Kept] = OrderedDict()

    @property
    def epoch(self) -> int:
        """How many times all states were let go. Take it before what a state is computed from is read."""
        with self._lock:
            return self._epoch

    def keep(self, key: str, state: KVState, epoch: int | None = None, asker: Asker | None = None) -> None:
        """Keep a state under that key, for that user, unless it is too large; others give way.

        One that was begun in an earlier epoch may hold what was erased since: it is not kept.
        """
        with self._lock:
            if epoch is not None and epoch != self._epoch:
                return
            self._states.pop(key, None)
            if state.nbytes > self.most_bytes:
                return
            self._states[key] = _Kept(state, asker)
            while self._bytes() > self.most_bytes:
                self._states.popitem(last=False)

    def get(self, key: str) -> KVState | None:
        """The state under that key."""
        with self._lock:
            if key not in self._states:
                return None
            self._states.move_to_end(key)
            return self._states[key].state

    def nearest(
        self, tokens: Sequence[int], asker: Asker | None = None, adapters: Adapters = ()
    ) -> tuple[str, KVState] | None:
        """The state of that user with these adapters that has the most of the first tokens, with its key.

        None if none has enough.
        """
        with self._lock:
            own = {key: one.state for key, one in self._states.items() if one.asker == asker}
            counted = {key: shared(tokens, state, adapters) for key, state in own.items()}
            best = max(counted, key=counted.__getitem__, default=None)
            if best is None or counted[best] < _LEAST:
                return None
            self._states.move_to_end(best)
            return best, own[best]

    def drop(self, *keys: str) -> None:
        """Let states go."""
        with self._lock:
            for key in keys:
                self._states.pop(key, None)

    def clear(self) -> None:
        """Let all states go."""
        with self._lock:
            self._states.clear()
            self._epoch += 1
        self._on_clear()

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys, the least recently used first."""
        with self._lock:
            return tuple(self._states)

    @property
    def nbytes(self) -> int:
        """Bytes of all states."""
        with self._lock:
            return self._bytes()

    def _bytes(self) -> int:
        return sum(one.state.nbytes for one in self._states.values())
