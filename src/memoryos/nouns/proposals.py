"""Proposals: changes of facts that wait for a decision."""

from __future__ import annotations

from collections.abc import Sequence

from memoryos import arguments
from memoryos.caller import Action
from memoryos.cube import MemCube
from memoryos.filter import labels_about
from memoryos.kinds import AccessMode, Kind, Subject
from memoryos.listing import Listing
from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door
from memoryos.operation.calls.permission import check_new
from memoryos.operation.consolidation.propose import Proposal, accept, proposals, publish, published, reject
from memoryos.operation.knowledge.stated import VALUE_CHARS


@door
class Proposals(Noun):
    """The proposals of one owner."""

    def publish(self, facts: Sequence[str], *, source: str, subject: Subject = Subject.USER) -> Listing[Proposal]:
        """Add facts of a trusted source: new facts are learned, and contradictions become proposals.

        Returns the proposals that wait for a decision. No known fact changes before `accept`. The facts are stored 32
        at a time: after a crash, call it again with the same facts; what was stored is not stored twice.
        """
        about = arguments.one_of("subject", subject, Subject)
        limit = min(self._engine.settings.max_text_chars, VALUE_CHARS)
        told = arguments.sequence("facts", facts, str)
        texts = [self._engine.said("facts", text, self._scope, limit=limit) for text in told]
        lessons = published(
            self._engine.promoter, texts, self._engine.said("source", source, self._scope, limit=256), about
        )
        lessons = [lesson.protected(self._engine.privacy(self._scope)) for lesson in lessons]
        home = self._engine.home(self._scope, about)
        self._engine.admit(Action.READ, home)  # before anything is stored: the proposals are read at the end
        check_new(self._engine.vault, home, Kind.FACT, labels_about((), (), AccessMode.READ_ONLY))
        publish(self._engine.promoter, home, lessons)
        with self._engine.vault.view(home) as reader:
            return Listing(proposals(reader))

    def list(self) -> Listing[Proposal]:
        """List the proposals that wait for a decision, oldest first."""
        found: list[Proposal] = []
        for home in dict.fromkeys(self._engine.home(self._scope, subject) for subject in Subject):
            with self._engine.vault.view(home) as reader:
                found += proposals(reader)
        return Listing(found)

    def accept(self, proposal_id: str) -> MemCube:
        """Accept a proposal. The fact that it replaces stays readable in the archive. Raises NotFound."""
        _, home = self._engine.corrector(self._scope).find(arguments.cube_id(proposal_id), Action.WRITE)
        return accept(self._engine.promoter, home, proposal_id)

    def reject(self, proposal_id: str) -> MemCube:
        """Reject a proposal. The same change is not proposed again. Raises NotFound."""
        _, home = self._engine.corrector(self._scope).find(arguments.cube_id(proposal_id), Action.WRITE)
        with self._engine.vault.write(home) as writer:
            return reject(writer, proposal_id)
