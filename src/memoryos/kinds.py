"""Kinds: the words that say what a cube is, where it lies, whose it is and what may be done with it."""

from __future__ import annotations

from enum import StrEnum


class MemoryType(StrEnum):
    """The three kinds of memory a model can use (MemOS paper, section 4.1)."""

    PLAINTEXT = "plaintext"
    ACTIVATION = "activation"
    PARAMETER = "parameter"


class Kind(StrEnum):
    """What a cube is; equal to the `type` of its payload."""

    PAGE = "page"  # one exchange of a dialogue
    SEGMENT = "segment"  # a topic: pages that belong together
    FACT = "fact"  # an entry of the user knowledge base or of the agent's traits
    TRAIT = "trait"  # a level on one dimension of the persona schema
    PROFILE = "profile"  # a static field of a persona: name, gender, birth year
    ACTIVATION = "activation"  # a KV cache
    PARAMETER = "parameter"  # an adapter such as LoRA


class Tier(StrEnum):
    """Where in the hierarchy a cube lives."""

    STM = "stm"  # short-term: the latest pages
    MTM = "mtm"  # mid-term: topic segments and their pages
    LPM = "lpm"  # long-term personal memory
    ARCHIVE = "archive"  # evicted; kept, searchable on request


class State(StrEnum):
    """Lifecycle state (MemOS paper, section 5.4.3)."""

    GENERATED = "generated"
    ACTIVATED = "activated"
    MERGED = "merged"  # another took its place; `as_of` still finds it
    ARCHIVED = "archived"
    EXPIRED = "expired"
    FROZEN = "frozen"  # a proposal that waits for an answer


class Origin(StrEnum):
    """Where a cube's content came from (origin signature)."""

    USER_INPUT = "user_input"
    INFERENCE = "inference"
    RETRIEVAL = "retrieval"
    FINETUNING = "finetuning"
    IMPORT = "import"


class SemanticType(StrEnum):
    """What a cube means to the reader."""

    DIALOGUE = "dialogue"
    TOPIC = "topic"
    FACT = "fact"
    PREFERENCE = "preference"
    TRAIT = "trait"
    PROFILE = "profile"
    TASK_PROMPT = "task_prompt"
    CAPABILITY = "capability"


class Role(StrEnum):
    """Who speaks in a turn."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class Subject(StrEnum):
    """Whose persona a statement describes."""

    USER = "user"
    AGENT = "agent"


class Level(StrEnum):
    """How strongly a trait shows."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class AccessMode(StrEnum):
    """Who besides the owner may use a cube."""

    PRIVATE = "private"
    SHARED = "shared"
    READ_ONLY = "read_only"


class Priority(StrEnum):
    """How much the scheduler should favour a cube."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    PINNED = "pinned"


class Decay(StrEnum):
    """How a cube ages when no expiry is set."""

    NONE = "none"
    HEAT = "heat"
