"""The knowledge base of LPM: facts, each once, and of those that exclude each other the one that holds.

A fact said again adds its pages to the support, also in other words. A fact that contradicts another by what it says
(`slot`), or by a judge's verdict, takes its place in their succession; what gave way leaves LPM, and only its time
finds it. What is protected is not changed, but a change proposed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType

from uuid_utils.compat import uuid7

from memoryos.cube import Fact, MemCube, Mention
from memoryos.errors import CubeProtected
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import Entry, LinkKind, Operation, Vector
from memoryos.kinds import Kind, Origin, Subject, Tier
from memoryos.language.words import keywords
from memoryos.lifecycle import PROPOSALS, CubeMark
from memoryos.operation.hierarchy.changes import Changes
from memoryos.operation.knowledge.denial import denies
from memoryos.operation.knowledge.fact_values import (
    candidate_of,
    fact_of,
    filling_of,
    fresh_mentions,
    in_order,
    is_guarded,
    is_same,
    is_same_slot,
    proposal_names,
    support_of,
    surer,
)
from memoryos.operation.knowledge.filling import Filling, Slot
from memoryos.operation.knowledge.frozen import described, frozen_that_change, refuse_statement
from memoryos.operation.knowledge.lesson import Identity, Lesson, identities, identity
from memoryos.operation.knowledge.likeness import (
    NEAR,
    Nearest,
    Pair,
    Verdict,
    Verdicts,
    differs_in_detail,
    more_specific,
    says_the_same,
)
from memoryos.operation.knowledge.rivals import Chain
from memoryos.operation.knowledge.slot import filled
from memoryos.operation.knowledge.succession import Succession, is_former, is_superseded, mentions_of, succession
from memoryos.operation.knowledge.tally import Tally
from memoryos.scope import Scope


class Knowledge:
    """The facts of one owner, as a plan leaves them."""

    def __init__(
        self,
        reader: Reader,
        changes: Changes,
        scope: Scope,
        now: datetime,
        facts: Iterable[MemCube],
        verdicts: Verdicts | None = None,
        carried: Iterable[Chain] = (),
    ) -> None:
        self._reader = reader
        self._changes = changes
        self._scope = scope
        self._now = now
        self._verdicts = verdicts or {}
        self._open: dict[str, MemCube] = {}  # in LPM, in the order of their insertion
        self._ids: dict[Identity, str] = {}
        self._fillers: dict[tuple[Subject | None, Slot], dict[str, None]] = {}  # in LPM, by the family of their slot
        self.chains = list(carried)  #: facts that exclude each other, as they will be
        self._heirs: set[str] = set()  # what superseded one of those that changed, before or after it did
        self._near: dict[Subject, Nearest] = {}
        self._known_proposals: set[Hashable] | None = None  # what names each
        self.tally = Tally()
        for cube in facts:
            if not cube.has_expired(now):  # what is said again is learned again
                self._hold(cube)

    def learn(self, lesson: Lesson) -> None:
        """Take in a fact."""
        lesson = self._dated(lesson)
        payload = fact_of(lesson)
        found = filled(payload.text, lesson.event_at)
        known = self._open.get(self._ids.get(identity(payload), ""))
        verdict = Verdict.SAME
        chain = self._chain(payload.subject, found.slot.family) if found else Chain()
        former = chain.called(identity(payload))
        if known is None and former is None:
            known, verdict = self._like(lesson, found, chain)
        if known and verdict is Verdict.UPDATES:
            self._take_place(
                lesson, candidate_of(lesson, payload, self._scope, self._now), self._chain_of([known.id]), None
            )
            return
        words = fact_of(former) if former else payload
        if known and known.is_frozen:
            refuse_statement(known, lesson)
            return
        if former and not known:
            described(self._reader, former, lesson, self._now)
        if known:
            known = self._described(known, lesson)
            known = self._reworded(known, lesson)
            words = fact_of(known)
            found = filled(words.text, lesson.event_at)
        if found:
            candidate = candidate_of(lesson, words, self._scope, self._now)
            family = found.slot.family
            self._take_place(lesson, candidate, self._chain(payload.subject, family) if known else chain, family)
        elif known:
            self._support(known, lesson)
        else:
            self._add(candidate_of(lesson, payload, self._scope, self._now, keep_mentions=False), lesson.vector)

    def overflow(self, subject: Subject, capacity: int) -> None:
        """First in, first out."""
        facts = [cube for cube in self._open.values() if cube.subject is subject and not cube.is_frozen]
        overflow = facts[: max(0, len(facts) - capacity)]
        for cube in overflow:
            self._release(cube)
        self._changes.move(overflow, Tier.ARCHIVE)

    def accept(self, proposal: MemCube) -> None:
        """Make the change that was proposed: it is said now that it holds."""
        agreed = Mention(said=self._now, source=str(uuid7()), at=self._now)
        descriptive = replace(
            proposal.descriptive,
            origin=Origin.USER_INPUT,
            mentions=(*mentions_of(proposal), agreed),
            updated_at=self._now,
        )
        cube = replace(proposal, tier=Tier.LPM, mark=None, descriptive=descriptive)
        links = self._reader.targets([proposal.id], LinkKind.SUPERSEDES)
        targets = [link.target for link in links]
        whole = self._reader.whole.targets([proposal.id], LinkKind.SUPERSEDES)
        self._changes.unlink(link for link in whole if link not in links)  # it replaces nothing that is hidden
        found = filled(cube.text, self._now)
        chain = self._chain_of([target for target in targets if target in self._open])
        if found and cube.subject:
            chain = Chain(*chain.cubes.values(), *self._chain(cube.subject, found.slot.family).cubes.values())
        family = found.slot.family if found else None
        after = succession([*in_order(chain.cubes), cube], family, self._now)
        self._apply(Chain(*chain.cubes.values(), proposal), after, None, None)

    def resettle(self, cubes: Sequence[MemCube]) -> None:
        """Put facts into their order again, of which some were removed."""
        present = {cube.id: cube for cube in self._changes.left(cubes)}
        if not present:
            return
        found = next(filter(None, (filled(cube.text, cube.descriptive.event_at) for cube in present.values())), None)
        family = found.slot.family if found else None
        subject = next(iter(present.values())).subject
        if family and subject:
            present |= self._chain(subject, family, present).cubes
        self._apply(Chain(*present.values()), succession(in_order(present), family, self._now), None, None)

    def close(self) -> None:
        """Put into order again what was carried, where facts of it were removed or changed before the plan."""
        for chain in [one for one in self.chains if not self._changes.touched.isdisjoint(one.cubes)]:
            gone, mine = self._changes.gone & chain.cubes.keys(), self._changes.touched & chain.cubes.keys()
            if around := chain.close(gone, self._changes.get(mine - gone)):
                after = succession(around.cubes, chain.family, self._now, former=around.former, heir=around.heir)
                if not (after.copied or after.gone):
                    self._apply(chain, after, None, None, around.place)
                    continue
            self.chains.remove(chain)
            self.resettle(list(chain.cubes.values()))

    def settle(self) -> None:
        """Give links to the facts that exclude each other; to be called last."""
        changed = self._changes.touched | self._changes.added | self._heirs
        for chain in self.chains:
            mine = changed & chain.cubes.keys()
            self._relink(chain, mine)
            chain.put(*self._changes.get(mine))  # some left LPM since

    def _dated(self, lesson: Lesson) -> Lesson:
        """The lesson with the moments of its pages, as far as they are at hand, if it tells none."""
        if lesson.moments or len(lesson.pages) < 2:
            return lesson
        pages = self._reader.get(lesson.pages)
        said = (pages[page].descriptive.event_at if page in pages else lesson.event_at for page in lesson.pages)
        return replace(lesson, moments=tuple(said))

    # The same in other words

    def _like(self, lesson: Lesson, found: Filling | None, chain: Chain) -> tuple[MemCube | None, Verdict]:
        """The known fact that is closest, and what the lesson is to it."""
        payload = fact_of(lesson)
        close = self._nearest(payload.subject).to(lesson.vector) if lesson.vector is not None else []
        present = [(self._open[cube_id], cosine) for cube_id, cosine in close if cube_id in self._open]
        if alike := self._of_value(payload.subject, found, chain):
            return alike, Verdict.SAME
        for cube, cosine in present:
            if cosine >= NEAR and says_the_same(cube.text, payload.text) and is_same_slot(cube, found):
                return cube, Verdict.SAME
        if not present or (found and (found.is_exclusive or chain.concerns(found))):
            return None, Verdict.DIFFERENT  # what rules know needs no opinion
        if denied := next((cube for cube, _ in present if denies(cube.text, payload.text)), None):
            return denied, Verdict.UPDATES
        closest = present[0][0]
        if lesson.is_published and differs_in_detail(closest.text, payload.text):
            return closest, Verdict.UPDATES
        self.tally += Tally(unsure=1)
        verdict = self._verdicts.get((closest.text, payload.text), Verdict.DIFFERENT)
        return (None if verdict is Verdict.DIFFERENT else closest), verdict

    def _of_value(self, subject: Subject, found: Filling | None, chain: Chain) -> MemCube | None:
        """The fact of the chain that holds and says the same value, if the value is all that such facts say."""
        if found is None or not found.is_whole:
            return None
        holding = (self._open[one] for one in self._fillers.get((subject, found.slot.family), ()) if one in chain)
        return next((cube for cube in holding if is_same(filling_of(cube), found)), None)

    def _nearest(self, subject: Subject) -> Nearest:
        if subject not in self._near:
            ids = [cube.id for cube in self._open.values() if cube.subject is subject]
            self._near[subject] = Nearest(self._changes.vectors(ids))
        return self._near[subject]

    def _described(self, known: MemCube, lesson: Lesson) -> MemCube:
        """The known fact with what is said of it beside its words."""
        cube = described(self._reader, known, lesson, self._now)
        if cube == known:
            return known
        self._open[cube.id] = cube
        for chain in self.chains:
            if cube.id in chain:
                chain.put(cube)
        self._changes.renew(known, Entry(cube))
        return cube

    def _reworded(self, known: MemCube, lesson: Lesson) -> MemCube:
        """The known fact with the lesson's words as a wording; the fuller text stands, unless it is read-only."""
        old, new = fact_of(known), fact_of(lesson)
        if identity(new) in identities(old):
            return known
        text = old.text if known.is_read_only else more_specific(old.text, new.text)
        revised = text != old.text
        payload = replace(
            old,
            text=text,
            quote=new.quote if revised else old.quote,
            wordings=(*old.wordings, old.text if revised else new.text),
            confidence=surer(old.confidence, new.confidence),
        )
        cube = replace(
            known,
            payload=payload,
            descriptive=replace(known.descriptive, updated_at=self._now),
            behaviour=replace(known.behaviour, fingerprint=keywords(text)),
            version=replace(known.version, number=known.version.number + revised),
        )
        self._release(known)
        self._hold(cube)
        for chain in self.chains:
            if cube.id in chain:
                chain.put(cube)
        self._changes.renew(known, Entry(cube, lesson.vector if revised else None))
        if revised and lesson.vector is not None:
            self._nearest(new.subject).put(cube.id, lesson.vector)
        self.tally += Tally(merged=1)
        return cube

    def _support(self, known: MemCube, lesson: Lesson) -> None:
        """Add the lesson's pages to what supports a fact that excludes no other."""
        heard = set(known.descriptive.provenance)
        fresh = [page for page in lesson.pages if page not in heard]
        # What is stated outright stays when the pages go that say it too.
        origin = known.descriptive.origin if lesson.pages else lesson.origin
        if not fresh and origin is known.descriptive.origin:
            return
        descriptive = replace(
            known.descriptive,
            provenance=(*known.descriptive.provenance, *fresh),
            origin=origin,
            updated_at=self._now,
            event_at=max(known.descriptive.event_at, lesson.event_at),
            valid_from=min(known.descriptive.valid_from or known.descriptive.event_at, lesson.first_at),
        )
        cube = replace(known, descriptive=descriptive)
        self._open[cube.id] = cube
        self._changes.rest(cube, fresh)

    # Facts that exclude each other

    def _chain(self, subject: Subject, family: Slot, known: Mapping[str, MemCube] = MappingProxyType({})) -> Chain:
        """The facts that fill the slots of a family, those that gave way among them."""
        return self._chain_of(self._fillers.get((subject, family), ()), known)

    def _chain_of(self, ids: Iterable[str], known: Mapping[str, MemCube] = MappingProxyType({})) -> Chain:
        """These facts with all that exclude them, as they will be; those that are `known` are not read again."""
        left = set(ids)
        chain = next((one for one in self.chains if one.cubes.keys() >= left), None) if left else None
        if chain:
            return chain
        chain = Chain()
        while left:
            for other in self.chains:
                if not other.cubes.keys().isdisjoint(left):
                    chain.put(*other.cubes.values())
            strangers = left - chain.cubes.keys()  # what is in a chain is excluded by nothing that is stored elsewhere
            stored = self._reader.successions(strangers) - chain.cubes.keys() if strangers else strangers
            read = self._changes.get((stored | strangers) - known.keys())
            found = [*read, *(known[one] for one in (stored | strangers) & known.keys())]
            reached = sorted(filter(is_former, found), key=lambda cube: cube.id)
            chain.put(*reached)
            left = {cube.id for cube in reached} - left
        return chain

    def _take_place(self, lesson: Lesson, candidate: MemCube, chain: Chain, family: Slot | None) -> None:
        """Put a fact into its place among those that it excludes, or propose that."""
        fresh = fresh_mentions(candidate, lesson, chain.of(identity(candidate.payload)))
        if not fresh:
            return
        candidate = replace(candidate, descriptive=replace(candidate.descriptive, mentions=fresh))
        is_free = not any(is_guarded(cube, lesson) for cube in (candidate, *chain.last))
        _, *later = parts = chain.parts(candidate, family) if is_free else [fresh]
        ids = [candidate.id, *(str(uuid7()) for _ in later)]
        for cube_id, mentions in zip(ids, parts, strict=True):
            descriptive = replace(candidate.descriptive, mentions=mentions)
            chain = self._put(lesson, replace(candidate, id=cube_id, descriptive=descriptive), chain, family)

    def _put(self, lesson: Lesson, candidate: MemCube, chain: Chain, family: Slot | None) -> Chain:
        """Put a fact among those that it excludes, or propose it; returns all of them."""
        after, place = self._ordered(chain, candidate, family)
        victims = [
            chain.cubes[cube.id]
            for cube in after.cubes
            if cube.id in chain and is_superseded(cube) and not is_superseded(chain.cubes[cube.id])
        ]
        frozen = frozen_that_change(chain, after)
        guarded = [*frozen, *(cube for cube in victims if is_guarded(cube, lesson) and cube not in frozen)]
        if guarded:
            self._propose(lesson, candidate, guarded)
            return chain
        return self._apply(chain, after, candidate, lesson.vector, place)

    def _ordered(self, chain: Chain, candidate: MemCube, family: Slot | None) -> tuple[Succession, slice | None]:
        """The facts in order with one more: those around it, with their place among all, or all of them."""
        if around := chain.around(candidate, family):
            some = [*around.cubes, candidate]
            after = succession(some, family, self._now, former=around.former, heir=around.heir)
            if not after.copied and not any(cube_id in chain for cube_id in after.gone):
                return after, around.place
        return succession([*in_order(chain.cubes), candidate], family, self._now), None

    def _apply(
        self,
        chain: Chain,
        after: Succession,
        candidate: MemCube | None,
        vector: Vector | None,
        place: slice | None = None,
    ) -> Chain:
        """Make the facts what they are afterwards: all of the chain, or those in one place; returns the chain then.

        Raises CubeProtected if a frozen one would change.
        """
        for cube in frozen_that_change(chain, after):
            raise CubeProtected(
                f"the fact {cube.id} is frozen, and nothing was changed: thaw it first", memory_id=cube.id
            )
        models = dict(after.copied)
        for cube in after.cubes:
            before = chain.cubes.get(cube.id)
            if cube != before:
                self._heirs.update(one.version.superseded_by or cube.id for one in (cube, before) if one)
            if before is None:
                model = models.get(cube.id)
                known = vector if model is None or (candidate and model == candidate.id) else self._vector(model)
                self._add(cube, known, is_linked=False)
            elif cube != before:
                moved = cube.tier is not before.tier
                self._changes.change(Entry(cube), Operation.MOVE if moved else Operation.REFRESH)
                self._place(cube)
            if is_superseded(cube) and not (before and is_superseded(before)):
                self.tally += Tally(superseded=1)
        for cube_id in after.gone:
            if cube_id in chain:
                self._release(chain.cubes[cube_id])
                self._changes.remove(cube_id)
        if place is None:
            self.chains = [known for known in self.chains if known.cubes.keys().isdisjoint(chain.cubes)]
            chain = Chain()
            self.chains.append(chain)
        chain.put_in_order(after, place or slice(None))
        return chain

    def _vector(self, cube_id: str) -> Vector | None:
        return self._changes.vectors([cube_id]).get(cube_id)

    def _place(self, cube: MemCube) -> None:
        """Keep a fact among those of LPM, or no more."""
        if cube.id in self._open:
            self._release(self._open[cube.id]) if cube.tier is not Tier.LPM else self._open.update({cube.id: cube})
        elif cube.tier is Tier.LPM:
            self._hold(cube)

    def _relink(self, chain: Chain, changed: Set[str]) -> None:
        """Let the links of what changed say what the facts say: what supersedes what, and what rests on which page."""
        for kind, wanted in (
            (LinkKind.SUPERSEDES, chain.former_of(changed)),
            (LinkKind.DERIVED_FROM, support_of(chain.cubes[one] for one in changed)),
        ):
            stored = set(self._reader.targets(changed, kind))
            self._changes.unlink(link for link in stored if link not in wanted)
            for link in wanted - stored:
                self._changes.link(link.source, link.kind, link.target)

    # Proposals

    def _propose(self, lesson: Lesson, candidate: MemCube, victims: Sequence[MemCube]) -> None:
        """Keep the change for somebody to decide on, unless it was proposed before."""
        names = proposal_names(candidate)
        if not names.isdisjoint(self._proposals):
            return
        proposal = replace(
            candidate,
            tier=Tier.ARCHIVE,
            mark=CubeMark.PROPOSED,
            version=replace(candidate.version, supersedes=victims[0].id),
        )
        self._changes.add(Entry(proposal, lesson.vector))
        self._derive(proposal, lesson.pages)
        for cube in victims:
            self._changes.link(proposal.id, LinkKind.SUPERSEDES, cube.id)
        self._proposals.update(names)
        self.tally += Tally(proposed=1)

    @property
    def _proposals(self) -> set[Hashable]:
        """What names those that wait or were rejected."""
        if self._known_proposals is None:
            stored = self._reader.cubes(Kind.FACT, tiers=[Tier.ARCHIVE], marks=sorted(PROPOSALS))
            self._known_proposals = set().union(*map(proposal_names, self._changes.left(stored)))
        return self._known_proposals

    # Parts of the above

    def _add(self, cube: MemCube, vector: Vector | None, *, is_linked: bool = True) -> None:
        self._changes.add(Entry(cube, vector))
        if is_linked:
            self._derive(cube, cube.descriptive.provenance)
        if cube.tier is Tier.LPM:
            self._hold(cube)
            if vector is not None and cube.subject:
                self._nearest(cube.subject).put(cube.id, vector)
        self.tally += Tally(kept=1)

    def _hold(self, cube: MemCube) -> None:
        self._open[cube.id] = cube
        for name in identities(cube.payload):
            self._ids.setdefault(name, cube.id)
        if found := filling_of(cube):
            self._fillers.setdefault((cube.subject, found.slot.family), {})[cube.id] = None

    def _release(self, cube: MemCube) -> None:
        self._open.pop(cube.id, None)
        if found := filling_of(cube):
            self._fillers.get((cube.subject, found.slot.family), {}).pop(cube.id, None)
        for name in identities(cube.payload):
            if self._ids.get(name) == cube.id:
                del self._ids[name]

    def _derive(self, cube: MemCube, pages: Sequence[str]) -> None:
        for page in pages:
            self._changes.link(cube.id, LinkKind.DERIVED_FROM, page)


def doubts(reader: Reader, lessons: Iterable[Lesson], now: datetime) -> list[Pair]:
    """The pairs of a known fact and a lesson that only a judge can tell; to be asked before the transaction."""
    facts = {cube.id: cube for cube in reader.cubes(Kind.FACT, tiers=[Tier.LPM]) if not cube.has_expired(now)}
    known = {name for cube in facts.values() for name in identities(cube.payload)}
    vectors = reader.vectors(facts)
    pairs = []
    for lesson in lessons:
        payload = lesson.payload
        if not isinstance(payload, Fact) or lesson.vector is None or identity(payload) in known:
            continue
        if (found := filled(payload.text, lesson.event_at)) and found.is_exclusive:
            continue
        mine = {cube_id: vector for cube_id, vector in vectors.items() if facts[cube_id].subject is payload.subject}
        close = [(facts[cube_id], cosine) for cube_id, cosine in Nearest(mine).to(lesson.vector)]
        if close and not any(cosine >= NEAR and says_the_same(cube.text, payload.text) for cube, cosine in close):
            pairs.append((close[0][0].text, payload.text))
    return pairs
