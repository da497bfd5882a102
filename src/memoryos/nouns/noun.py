"""Noun: a part of a Memory with verbs of its own, such as `memory.facts.add`."""

from __future__ import annotations

from memoryos.caller import Caller
from memoryos.engine import Engine
from memoryos.operation.calls.hand import Hand
from memoryos.operation.correction.brancher import Brancher
from memoryos.scope import Scope


class Noun:
    """A part of one owner's memory."""

    __slots__ = ("_caller", "_engine", "_scope")

    def __init__(self, engine: Engine, scope: Scope, caller: Caller) -> None:
        self._engine = engine
        self._scope = scope
        self._caller = caller

    @property
    def _brancher(self) -> Brancher:
        return Brancher.of(self._engine.promoter, self._engine.forgetter, self._scope)

    @property
    def _hand(self) -> Hand:
        return self._engine.hand
