"""MemoryParts: the parts of a Memory that have verbs of their own."""

from __future__ import annotations

from typing import cast

from memoryos.caller import Caller
from memoryos.config import Settings
from memoryos.engine import Engine
from memoryos.nouns.activations import Activations
from memoryos.nouns.archiving import Archiving
from memoryos.nouns.branches import Branches
from memoryos.nouns.documents import Documents
from memoryos.nouns.duplicates import Duplicates
from memoryos.nouns.facts import Facts
from memoryos.nouns.forms import MemoryForms
from memoryos.nouns.governance import MemGovernance
from memoryos.nouns.jobs import Jobs
from memoryos.nouns.log import Log
from memoryos.nouns.lora_adapters import LoraAdapters
from memoryos.nouns.memory_verbs import MemoryVerbs
from memoryos.nouns.mounts import Mounts
from memoryos.nouns.pages import Pages
from memoryos.nouns.pipelines import Pipelines
from memoryos.nouns.profiles import Profiles
from memoryos.nouns.proposals import Proposals
from memoryos.nouns.requests import Requests
from memoryos.nouns.schedule import MemScheduler
from memoryos.nouns.segments import Segments
from memoryos.nouns.snapshots import Snapshots
from memoryos.nouns.upkeep import Upkeep
from memoryos.scope import Scope


class MemoryParts:
    """The nouns of one owner's memory."""

    _engine: Engine
    _scope: Scope
    _caller: Caller

    @property
    def scope(self) -> Scope:
        """The owner of this memory."""
        return self._scope

    @property
    def caller(self) -> Caller:
        """The caller who uses this memory."""
        return self._caller

    @property
    def settings(self) -> Settings:
        """The settings of the store."""
        return self._engine.settings

    @property
    def facts(self) -> Facts:
        """The facts about the user and the agent."""
        return Facts(self._engine, self._scope, self._caller)

    @property
    def profile(self) -> Profiles:
        """The profile of the user and of the agent."""
        return Profiles(self._engine, self._scope, self._caller)

    @property
    def pages(self) -> Pages:
        """The dialogue, page by page."""
        return Pages(self._engine, self._scope, self._caller)

    @property
    def documents(self) -> Documents:
        """Texts of any length, stored part by part."""
        return Documents(self._engine, self._scope, self._caller)

    @property
    def segments(self) -> Segments:
        """The topic segments of MTM and of the archive."""
        return Segments(self._engine, self._scope, self._caller)

    @property
    def proposals(self) -> Proposals:
        """The proposed changes of facts that wait for a decision."""
        return Proposals(self._engine, self._scope, self._caller)

    @property
    def jobs(self) -> Jobs:
        """The background jobs of this owner."""
        return Jobs(self._engine, self._scope, self._caller)

    @property
    def log(self) -> Log:
        """The log of changes and the usage of models."""
        return Log(self._engine, self._scope, self._caller)

    @property
    def governance(self) -> MemGovernance:
        """The states of memories, how long they are kept, and legal holds."""
        return MemGovernance(self._engine, self._scope, self._caller)

    @property
    def upkeep(self) -> Upkeep:
        """Repair and rebuild."""
        return Upkeep(self._engine, self._scope, self._caller)

    @property
    def requests(self) -> Requests:
        """What people ask of this memory in plain words."""
        return Requests(self._engine, self._scope, self._caller, cast("MemoryVerbs", self))

    @property
    def schedule(self) -> MemScheduler:
        """Which memories take part in an answer, in which form, and why."""
        return MemScheduler(self._engine, self._scope, self._caller, cast("MemoryVerbs", self))

    @property
    def forms(self) -> MemoryForms:
        """The memories as text, as KV states and as adapters, and the ways between these forms."""
        return MemoryForms(self._engine, self._scope, self._caller, cast("MemoryVerbs", self))

    @property
    def mounts(self) -> Mounts:
        """The memories that searches include beside this one. A mount belongs to the whole store."""
        return Mounts(self._engine, self._caller)

    @property
    def archiving(self) -> Archiving:
        """The rules that archive pages by their use."""
        return Archiving(self._engine, self._scope, self._caller)

    @property
    def duplicates(self) -> Duplicates:
        """The memories that say the same."""
        return Duplicates(self._engine, self._scope, self._caller)

    @property
    def snapshots(self) -> Snapshots:
        """The named moments of the log, for `as_of`."""
        return Snapshots(self._engine, self._scope, self._caller)

    @property
    def pipelines(self) -> Pipelines:
        """The chains of operations that run as one."""
        return Pipelines(self._engine, self._scope, self._caller)

    @property
    def branches(self) -> Branches:
        """The copies of this memory on which things can be tried."""
        return Branches(self._engine, self._scope, self._caller)

    @property
    def adapters(self) -> LoraAdapters:
        """What a local model learned from this memory, as adapters."""
        return LoraAdapters(self._engine, self._scope, self._caller)

    @property
    def activations(self) -> Activations:
        """The prefixes of prompts whose KV states are kept for a model in this process."""
        return Activations(self._engine, self._scope, self._caller)
