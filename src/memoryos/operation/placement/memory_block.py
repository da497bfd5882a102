"""MemoryBlock: one memory in one form, as a task may use it."""

from __future__ import annotations

from dataclasses import dataclass

from memoryos.choice import Choice
from memoryos.plain import Plain
from memoryos.scope import Scope


class MemoryForm(Choice):
    """A form in which a memory takes part in an answer."""

    TEXT = "text"  # plaintext: it is read each time
    KV = "kv"  # activation: what the model computed from the text, loaded
    ADAPTER = "adapter"  # parameter: weights trained on the text, loaded


class BlockFault(Choice):
    """Why a memory takes no part, whatever the budget."""

    NOT_PERMITTED = "not_permitted"  # the caller may not read it, or one of its sources
    EXPIRED = "expired"  # its lifespan has ended
    STALE = "stale"  # one of its sources has changed since it was built
    OTHER_MODEL = "other_model"  # it was built for another model


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBlock(Plain):
    """One candidate: a text, or KV or an adapter that stands for the texts it was built from."""

    id: str  #: id of the cube
    scope: Scope  #: its owner
    form: MemoryForm = MemoryForm.TEXT
    tokens: int  #: that its texts take of the model's context; 0 for an adapter
    size_bytes: int = 0  #: to be loaded, for KV and adapters
    covers: tuple[str, ...] = ()  #: ids of the texts that it stands for, in its order; empty for a text
    similarity: float = 0.0  #: to the question, 0 to 1
    labels: frozenset[str] = frozenset()  #: its tags
    is_loaded: bool = False  #: whether it is in memory already
    fault: BlockFault | None = None  #: why it may not be used
