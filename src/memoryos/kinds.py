"""Kinds: the enums for the kind, tier, state and origin of a cube."""

from __future__ import annotations

from memoryos.choice import Choice


class MemoryType(Choice):
    """The three kinds of memory a model can use (MemOS paper, section 4.1)."""

    PLAINTEXT = "plaintext"  # words
    ACTIVATION = "activation"  # KV states of a prefix
    PARAMETER = "parameter"  # weights of an adapter


class Kind(Choice):
    """The kind of a cube; equal to the `type` of its payload."""

    PAGE = "page"  # one exchange of a dialogue
    SEGMENT = "segment"  # a topic: pages that belong together
    FACT = "fact"  # an entry of the user knowledge base or of the agent's traits
    TRAIT = "trait"  # a level on one dimension of the persona schema
    PROFILE = "profile"  # a static field of a persona: name, gender, birth year
    ACTIVATION = "activation"  # a KV cache
    PARAMETER = "parameter"  # an adapter such as LoRA


MADE_OF_MEMORIES = (Kind.ACTIVATION, Kind.PARAMETER)  # not copied and not exported: they are built again


class Tier(Choice):
    """The place of a cube in the hierarchy. A move changes only the tier."""

    STM = "stm"  # short-term: the latest pages
    MTM = "mtm"  # mid-term: topic segments and their pages
    LPM = "lpm"  # long-term personal memory
    ARCHIVE = "archive"  # evicted; kept, searchable on request


class State(Choice):
    """What may be done with a cube (MemOS paper, section 5.4.3). A move does not change the state."""

    GENERATED = "generated"  # stored and not used yet
    ACTIVATED = "activated"  # a search returned it
    MERGED = "merged"  # another took its place, or its words were corrected; `as_of` still finds it
    ARCHIVED = "archived"  # not used for long; a search with `archive=False` does not find it
    EXPIRED = "expired"  # no search, list or context shows it
    FROZEN = "frozen"  # nobody may change or delete it


class Origin(Choice):
    """Where the content of a cube came from (origin signature)."""

    USER_INPUT = "user_input"  # the user or the caller said it
    INFERENCE = "inference"  # derived from other memories
    RETRIEVAL = "retrieval"  # found elsewhere
    FINETUNING = "finetuning"  # made by training
    IMPORT = "import"  # taken from another system


class UpdateMode(Choice):
    """What an update does with the old words."""

    OVERWRITE = "overwrite"  # the new words take their place
    APPEND = "append"  # the new words follow them, on a new line
    MERGE = "merge"  # what the memory does not say yet is added; of a fact, the later statement counts


class Trust(Choice):
    """How far the content of a memory can be relied on, from the most to the least."""

    STATED = "stated"  # the user or the caller said it
    INFERRED = "inferred"  # rules or a model derived it from other memories
    IMPORTED = "imported"  # taken from another system
    OUTSIDE = "outside"  # others wrote it: a document, the output of a tool, a mounted memory

    @property
    def level(self) -> int:
        """The trust as a number: higher is better, 0 is the least."""
        return len(Trust) - 1 - list(Trust).index(self)


class SemanticType(Choice):
    """What a cube means to the reader."""

    DIALOGUE = "dialogue"
    TOPIC = "topic"
    FACT = "fact"
    PREFERENCE = "preference"
    TRAIT = "trait"
    PROFILE = "profile"
    TASK_PROMPT = "task_prompt"
    CAPABILITY = "capability"


class Role(Choice):
    """The role of the speaker of a turn."""

    USER = "user"  # the person
    ASSISTANT = "assistant"  # the agent
    SYSTEM = "system"  # instructions to the agent
    TOOL = "tool"  # the result of a tool call


class Subject(Choice):
    """Whom a persona or a statement describes."""

    USER = "user"  # the person
    AGENT = "agent"  # the agent


class Level(Choice):
    """How strong a trait is."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class AccessMode(Choice):
    """Who besides the owner may use a cube."""

    PRIVATE = "private"  # the owner alone, unless policies permit others more
    SHARED = "shared"  # others, as far as policies permit
    READ_ONLY = "read_only"  # the same, but nobody changes its words

    @property
    def openness(self) -> int:
        """How far the cube is open to others: higher is more, 0 is private."""
        return _BY_OPENNESS.index(self)


_BY_OPENNESS = (AccessMode.PRIVATE, AccessMode.READ_ONLY, AccessMode.SHARED)
