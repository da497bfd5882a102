"""Governance: what may be done with the memories of one owner."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from uuid_utils.compat import uuid7

from memoryos import arguments, expected
from memoryos.about import About, about
from memoryos.caller import NAME_LIMIT, Action, Caller, doing
from memoryos.cube import MemCube, Parameter
from memoryos.delegation import Delegation
from memoryos.errors import InvalidInput, NotFound, PermissionDenied
from memoryos.hold import HeldThing, LegalHold
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import JobKind, alone
from memoryos.kinds import MADE_OF_MEMORIES, AccessMode, Kind, State
from memoryos.lifecycle import Transition
from memoryos.listing import Listing
from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door
from memoryos.operation.calls.permission import check_all, check_hold, may_all, sees
from memoryos.operation.correction.copies import Copies
from memoryos.operation.correction.forget import Forgotten
from memoryos.operation.correction.kept_versions import kept_versions, numbered, version_before
from memoryos.operation.correction.new_labels import NewLabels
from memoryos.operation.correction.relabelled import Relabelling
from memoryos.operation.correction.revised import KeptPayload
from memoryos.operation.correction.states import expire, freeze, thaw
from memoryos.operation.recall.provenance import Provenance, provenance_of
from memoryos.operation.training.pinning import pin
from memoryos.policy.policy_decision import PolicyDecision
from memoryos.retention import RetentionRule, check_room
from memoryos.scope import ID_LIMIT, Scope
from memoryos.text import checked_text
from memoryos.version_diff import VersionDiff, version_diff

if TYPE_CHECKING:
    from memoryos.policy.policy_gate import PolicyGate

REVEALED_CHARS = 10_000_000  # of one text: pseudonyms are longer than what they stand for


@door
class MemGovernance(Noun):
    """The states of one owner's memories (MemLifecycle), how long they are kept, and legal holds."""

    def freeze(self, memory_id: str, *, reason: str = "freeze") -> MemCube:
        """Freeze a memory: nothing changes, deletes, evicts or expires it until it is thawed. Returns it.

        It is still found, and visits are counted. What would change it is refused with CubeProtected: an update, the
        deletion of a page that it rests on, `forget`. A statement that contradicts a frozen fact becomes a proposal.
        `reason` is kept with the transition; one that is frozen keeps its first. Raises NotFound, and CubeProtected if
        another one has taken it in: freeze that one, or give it back first (`duplicates.unmerge`).
        """
        checked, cause = arguments.cube_id(memory_id), self._reason(reason)
        self._engine.admit(Action.WRITE, self._scope)
        freeze(self._engine.vault, self._home(checked, Action.WRITE), checked, cause)
        corrector = self._engine.corrector(self._scope)
        return corrector.told(corrector.find(checked)[0])

    def thaw(self, memory_id: str, *, reason: str = "thaw") -> MemCube:
        """Give a frozen memory the state that it had before, and return it. The gate must admit ADMINISTER.

        One that is not frozen stays as it is: `state` of the answer tells. One whose end came while it was frozen
        expires with that. Raises NotFound, PermissionDenied.
        """
        self._engine.admit(Action.ADMINISTER, self._scope)
        checked, cause = arguments.cube_id(memory_id), self._reason(reason)
        corrector = self._engine.corrector(self._scope)
        known, home = corrector.find(checked, Action.ADMINISTER)
        told = corrector.told(known)
        thawed = doing(Action.ADMINISTER, lambda: thaw(self._engine.vault, home, checked, cause))
        for one in {self._scope.owner, thawed.scope.owner}:
            self._engine.housekeeping.queued(one)
        return replace(told, state=thawed.state)  # if its end has come, it may be gone by now

    def expire(self, memory_id: str, *, reason: str = "expire") -> MemCube:
        """Let a memory expire now: no search, list or context shows it again. Returns it.

        A background job then removes it from the store, with what rests on it alone, as `delete` would: the gate must
        admit WRITE and DELETE. What it has taken in (`duplicates.merge`) expires, too, and branches lose it at once.
        The pages of a segment go with it. Raises NotFound, PermissionDenied, and what `delete` would: CubeProtected or
        OnHold if something that would go or change is frozen or on hold. Nothing expires then.
        """
        self._engine.admit(Action.WRITE, self._scope)
        self._engine.admit(Action.DELETE, self._scope)
        checked, cause = arguments.cube_id(memory_id), self._reason(reason)
        home, corrector = self._home(checked, Action.WRITE), self._engine.corrector(self._scope)
        known = corrector.told(corrector.find(checked)[0])  # once it expires, a job may remove it at any moment
        going = [checked, *corrector.absorbed([checked])]
        for one in going:
            corrector.removable(one)
        corrector.refuse_ends(home, going)
        expire(self._engine.vault, home, going, cause)
        Copies(self._brancher).delete(going)
        self._engine.housekeeping.queued(home)
        return replace(known, state=State.EXPIRED)

    def relabel(
        self,
        memory_id: str,
        *,
        sensitivity: Sequence[str] = (),
        access: AccessMode | str | None = None,
        ttl: timedelta | float | None = None,
        expires_at: datetime | str | None = None,
        endless: bool = False,
        expected_version: int | None = None,
        reason: str = "",
    ) -> MemCube:
        """Change who may use a memory and when it ends, and return its new version. Its words stay.

        `sensitivity` joins what the memory has; `access`, and `ttl` (seconds or a timedelta) or `expires_at`, take the
        place of that; `endless` takes its end away. An earlier end by a retention rule counts all the same. What the
        memory took in (`duplicates.merge`) gets the same, with its tags and sensitivity, what was learned from a page
        ends with it, and copies in branches get what is stricter; a branch that is being made is discarded. It takes
        WRITE for the memory and what it took in, as they are and as they will be, SHARE if they are then shared or
        read-only, DELETE to let them end earlier, and ADMINISTER to open them: to share more, or to lift read-only.
        `reason` is kept with the event. Raises NotFound, StaleVersion if the stored version is not `expected_version`,
        PermissionDenied, CubeProtected, OnHold, and InvalidInput, also for what was derived from other memories, which
        follows them, and for another end of a page while agents share what is learned (`persona_sharing`).
        """
        checked, privacy = arguments.cube_id(memory_id), self._engine.privacy(self._scope)
        told = about(self._engine.clock(), ttl=ttl, expires_at=expires_at, sensitivity=sensitivity, access=access)
        is_endless = arguments.flag("endless", endless)
        if is_endless and told.expires_at:
            raise InvalidInput("endless", "is passed together with an end", "Pass one of them")
        if told == About() and not is_endless:
            problem = "is missing, and so are access, an end and endless"
            raise InvalidInput("sensitivity", problem, "Pass one of them")
        expected = arguments.optional("expected_version", expected_version, least=1)
        labels = NewLabels(privacy.value("", told).tagged(privacy.tags(told)), is_endless)
        self._engine.admit(Action.WRITE, self._scope)
        why = "" if isinstance(reason, str) and not reason else self._reason(reason)
        detail = json.dumps({"reason": why}, ensure_ascii=False) if why else None
        change = Relabelling(self._engine.corrector(self._scope), checked, labels, expected, detail)
        changed = Copies(self._brancher).relabelled(change)
        for one in {self._scope.owner, changed.scope.owner}:
            self._engine.housekeeping.queued(one)
        return changed

    def erase(self, memory_id: str) -> Forgotten:
        """Delete a memory with what rests on it alone, as `delete` does, and return counts and a signed `receipt`.

        Raises NotFound, CubeProtected if it is frozen or on hold, and ObjectsUnreachable if documents in an object
        store cannot be removed yet; call it again later.
        """
        wanted = arguments.cube_id(memory_id)
        return doing(Action.DELETE, lambda: self._engine.erase(self._scope, wanted))

    def transitions(self, memory_id: str) -> Listing[Transition]:
        """List the changes of a memory's state, oldest first: when, from what to what, by whom and why.

        Raises NotFound.
        """
        checked = arguments.cube_id(memory_id)
        with self._engine.vault.view(self._home(checked)) as reader:
            return Listing(reader.transitions(checked))

    def diff(self, memory_id: str, older: int | None = None, newer: int | None = None) -> VersionDiff:
        """Return what one version of a memory says that another one does not, by their numbers.

        Defaults: `newer` is the latest version, `older` the one before `newer`. Raises NotFound if there is no such
        memory, or if the version is not kept.
        """
        checked = arguments.cube_id(memory_id)
        first, last = (arguments.optional(name, one, least=1) for name, one in (("older", older), ("newer", newer)))
        if first and last and first > last:
            raise InvalidInput("older", f"{first} is later than `newer`", "Swap them")
        with self._engine.vault.view(self._home(checked)) as reader:
            versions = kept_versions(reader, checked, self._engine.clock())
        later = numbered(versions, last or max(versions))
        earlier = numbered(versions, first) if first else version_before(versions, later.number)
        return version_diff(earlier, later)

    def rollback(self, memory_id: str, version: int, *, reason: str = "") -> MemCube:
        """Make a new version of a memory that says what an earlier one said, and return it; both stay in the history.

        What follows is that of `update`: the index, what was derived of a page, and what is refused. All turns of a
        page are restored. Tags are not: the memory keeps those it has and gets those of the earlier version. `reason`
        is kept with the event (`log.events`). Of a segment, the summary comes back. Of an adapter, that version is used
        again, as by `adapters.rollback`. Raises NotFound if it is not kept, CubeProtected, and InvalidInput for a KV
        state, which has no words of its own.
        """
        checked = arguments.cube_id(memory_id)
        home = self._home(checked, Action.WRITE)
        number = arguments.natural("version", version, least=1, most=arguments.MOST)
        why = "" if isinstance(reason, str) and not reason else self._reason(reason)
        detail = json.dumps({"restored": number, "reason": why}, ensure_ascii=False)
        cube, _ = self._engine.corrector(self._scope).find(checked, Action.WRITE)
        if cube.kind in MADE_OF_MEMORIES:
            return self._earlier_build(home, cube, number, detail)
        with self._engine.vault.view(home) as reader:
            kept = alone(numbered(kept_versions(reader, checked, self._engine.clock()), number))
        privacy = self._engine.privacy(self._scope)
        labels = About((*kept.tags, *privacy.tags(kept.payload)), sensitivity=kept.governance.sensitivity)
        change = KeptPayload(privacy.value("version", kept.payload), number)
        return self._engine.revise(self._scope, checked, change, labels, detail)

    def provenance(self, memory_id: str) -> Provenance:
        """Return where a memory comes from, as a tree: origin, trust, versions, transitions, and what it rests on.

        What the caller may not read is left out and counted. The tree has 100 memories at most. Who created a memory
        is known if the audit log was on. Raises NotFound.
        """
        checked = arguments.cube_id(memory_id)
        corrector = self._engine.corrector(self._scope)
        home = corrector.find(checked)[1]
        return provenance_of(self._engine.vault, [*dict.fromkeys((home, *corrector.homes))], checked)

    def retain(
        self,
        name: str,
        *,
        ttl: timedelta | float | None = None,
        until: datetime | str | None = None,
        half_life: timedelta | float | None = None,
        kinds: Sequence[Kind | str] = (),
        tags: Sequence[str] = (),
    ) -> RetentionRule:
        """Keep memories of this owner only so long, and return the rule. It takes ADMINISTER for all of them.

        They expire `ttl` (seconds or a timedelta) after they were stored, or at `until`, or by decay: a `half_life`
        after the last use, and one more each time that 1 + the number of uses doubles. The rule is about `kinds`
        (page, fact, trait, profile; default: all of them) that have all of the `tags`. It applies to what is stored
        from now on, and a background job applies it to what is stored already. An earlier end counts, whether another
        rule or the caller set it. A rule of the same name is replaced. Raises InvalidInput, PermissionDenied.
        """
        self._engine.admit_all(Action.ADMINISTER, self._scope)
        checked = checked_text("name", name, limit=ID_LIMIT)
        self._engine.protection.check_names("name", [checked])
        seconds = None if ttl is None else arguments.lifetime("ttl", ttl)
        fading = None if half_life is None else arguments.lifetime("half_life", half_life)
        end = arguments.moment("until", until)
        labels = self._engine.privacy(self._scope).value("tags", arguments.tags(tags))  # as memories have them
        rule = RetentionRule(checked, arguments.governed_kinds(kinds), labels, seconds, end, fading)

        def write() -> None:
            with self._engine.vault.write(self._scope.owner) as writer:
                check_room(checked, writer.retention.own_rules())
                writer.retention.write_rule(rule)
                writer.enqueue(JobKind.RETAIN)

        doing(Action.ADMINISTER, write)
        self._engine.housekeeping.queued(self._scope)
        return rule

    def retention(self) -> Listing[RetentionRule]:
        """List the retention rules of this owner, by name."""
        with self._engine.vault.read(self._scope.owner) as reader:
            return Listing(reader.retention.rules())

    def unretain(self, name: str) -> None:
        """Remove a retention rule; what it has not ended yet keeps its own end. It takes ADMINISTER for every memory.

        Raises NotFound, PermissionDenied.
        """
        self._engine.admit_all(Action.ADMINISTER, self._scope)
        checked = checked_text("name", name, limit=ID_LIMIT)

        def drop() -> None:
            with self._engine.vault.write(self._scope.owner) as writer:
                if not writer.retention.drop_rule(checked):
                    raise NotFound(f"there is no retention rule {checked!r} of this user and agent")
                writer.enqueue(JobKind.RETAIN)

        doing(Action.ADMINISTER, drop)
        self._engine.housekeeping.queued(self._scope)

    def hold(self, *, reason: str, memory: str | None = None, session: str | None = None) -> LegalHold:
        """Place a legal hold on a memory, on a session, or (without both) on this owner, and return it.

        Until it is released, nothing on hold is deleted, updated, expired, swept or forgotten: that raises OnHold,
        which names the hold. So does the deletion of a page that a memory on hold rests on. What was derived from a
        page on hold is not on hold itself. Later memories of the session or owner are on hold, too. The gate must admit
        ADMINISTER, for a hold on a session or the owner for every memory. Raises InvalidInput, NotFound,
        PermissionDenied.
        """
        self._engine.admit(Action.ADMINISTER, self._scope)
        why = self._reason(reason)
        if memory is not None and session is not None:
            raise InvalidInput("memory", "is passed together with `session`", "Pass one of them")
        home, on, subject = self._scope.owner, HeldThing.OWNER, None
        if memory is not None:
            on, subject = HeldThing.MEMORY, arguments.cube_id(memory, field="memory")
            home = self._home(subject, Action.ADMINISTER)
        elif session is not None:
            on, subject = HeldThing.SESSION, checked_text("session", session, limit=ID_LIMIT)
        if on is not HeldThing.MEMORY:
            check_all(self._engine.vault, home, Action.ADMINISTER)
        hold = LegalHold(str(uuid7()), on, subject, why, self._caller.identity, self._engine.clock())

        def place() -> None:
            with self._engine.vault.write(home) as writer:
                if on is HeldThing.MEMORY and not writer.kinds([subject or ""]):
                    raise NotFound(f"there is no memory {subject!r} of this user and agent")
                writer.retention.place(hold)

        doing(Action.ADMINISTER, place)
        return hold

    def holds(self) -> Listing[LegalHold]:
        """List the legal holds of this owner, in the order in which they were placed.

        A caller who may not administer all of this memory sees those on what it may read completely.
        """
        found: list[LegalHold] = []
        for home in self._engine.corrector(self._scope).homes:
            with self._engine.vault.view(home) as reader:
                found += [hold for hold in reader.retention.holds() if self._is_shown(home, reader, hold)]
        return Listing(found)

    def release(self, hold_id: str) -> None:
        """Release a legal hold; a job removes what has expired meanwhile. The gate must admit ADMINISTER.

        It takes that for all that is on hold: of a session or the owner for every memory. Raises NotFound,
        PermissionDenied.
        """
        self._engine.admit(Action.ADMINISTER, self._scope)
        wanted = arguments.cube_id(hold_id, field="hold_id")
        home, hold = self._placed(wanted)
        with self._engine.vault.view(home) as reader:
            if hold.on is HeldThing.MEMORY and not self._is_shown(home, reader, hold):
                raise _no_hold(wanted)
            check_hold(self._engine.vault, home, reader, hold)

        def release() -> None:
            with self._engine.vault.write(home) as writer:
                if not writer.retention.release(wanted):
                    raise _no_hold(wanted)
                if writer.expired():
                    writer.enqueue(JobKind.EXPIRE)

        doing(Action.ADMINISTER, release)
        self._engine.housekeeping.queued(home)

    def explain(
        self,
        memory_id: str,
        caller: Caller,
        action: Action | str = Action.READ,
        *,
        policies: str | Path | None = None,
    ) -> PolicyDecision:
        """Return whether a caller may do something with a memory, and which policies say so. Nothing is done.

        `policies`, a .cedar file or a folder, are asked in place of those of the store. The gate must admit ADMINISTER.
        What was derived from several pages is decided for each of them, and the first refusal is returned. Raises
        NotFound, PermissionDenied, and InvalidInput if there are no policies.
        """
        self._engine.admit(Action.ADMINISTER, self._scope)
        expected.instance("caller", caller, Caller, "Pass Caller(...)")
        wanted = arguments.one_of("action", action, Action)
        ruling = self._policies(policies).ruling(caller, wanted, self._scope.tenant)
        checked = arguments.cube_id(memory_id)
        with self._engine.vault.read(self._home(checked)) as reader:
            classes = reader.classes([checked])[checked]
        decisions = [ruling.explained(*one) for one in classes]
        return next((one for one in decisions if not one.allowed), decisions[0])

    def delegate(
        self,
        to: str,
        actions: Iterable[Action | str] = (Action.READ,),
        *,
        ttl: timedelta | float | None = None,
        expires_at: datetime | str | None = None,
    ) -> Delegation:
        """Give another caller the rights of this caller on this user's memories, for a limited time.

        It has an effect only in a store with policies. It ends after `ttl` (a timedelta or seconds) or at `expires_at`;
        one of them is required. What a policy forbids the other caller stays forbidden, and the other caller cannot
        delegate further. The policies must permit SHARE, and a caller with an API key cannot delegate. Raises
        PermissionDenied and InvalidInput.
        """
        self._engine.admit(Action.SHARE, self._scope)
        if self._caller.key is not None:  # the right would be more than the key, and go on after it
            raise PermissionDenied(f"{self._caller.identity} may not pass rights on with a key")
        now = self._engine.clock()
        end = about(now, ttl=ttl, expires_at=expires_at).expires_at
        if end is None:
            raise InvalidInput("ttl", "is missing", "Pass e.g. ttl=3600, or expires_at")
        made = Delegation(
            id=str(uuid7()),
            tenant=self._scope.tenant,
            user=self._scope.user,
            by=self._caller.identity,
            roles=self._caller.roles,
            to=checked_text("to", to, limit=NAME_LIMIT),
            actions=arguments.actions(actions),
            created_at=now,
            expires_at=end,
        )
        self._engine.vault.delegations.put(made)
        return made

    def delegations(self) -> Listing[Delegation]:
        """List the rights about this user's memories that were passed on and have not ended, oldest first."""
        self._engine.admit(Action.SHARE, self._scope)
        return Listing(self._engine.vault.delegations.of(self._scope))

    def revoke(self, delegation_id: str) -> None:
        """End a right that was passed on, in every process at once. Raises NotFound."""
        self._engine.admit(Action.SHARE, self._scope)
        wanted = arguments.cube_id(delegation_id, field="delegation_id")
        if not self._engine.vault.delegations.remove(self._scope, wanted):
            raise NotFound(f"there is no delegation {delegation_id!r} about the memories of this user")

    def _policies(self, path: str | Path | None) -> PolicyGate:
        from memoryos.policy.policy_files import PolicyFiles  # only stores with policies need them
        from memoryos.policy.policy_gate import PolicyGate

        if path is not None:
            gate = PolicyGate(PolicyFiles(path), self._engine.clock)
            gate.rights = self._engine.vault.roles.rights
            return gate
        views = self._engine.vault.views
        if not isinstance(views, PolicyGate):
            raise InvalidInput("policies", "are not set", "Pass a .cedar file, or open the store with `policies`")
        return views

    def reveal(self, text: str) -> str:
        """Return a text with the pseudonyms of this user turned back. The gate must admit ADMINISTER and READ.

        Needs the setting `privacy_key` that they were made with. Pseudonyms of other users stay as they are. Raises
        InvalidInput if the text has pseudonyms and the key opens none of them, PermissionDenied, and MissingExtra
        without the extra `privacy`.
        """
        self._engine.admit(Action.ADMINISTER, self._scope)
        self._engine.admit(Action.READ, self._scope)  # it is a read in the audit log, too
        checked = checked_text("text", text, limit=REVEALED_CHARS)
        return self._engine.privacy(self._scope).revealed(checked)

    def _earlier_build(self, home: Scope, cube: MemCube, number: int, detail: str) -> MemCube:
        """Use an earlier version of an adapter. Raises NotFound, and InvalidInput for a KV state."""
        if not isinstance(cube.payload, Parameter):
            raise InvalidInput(
                "memory_id",
                "is a KV state, which holds what its memories say now",
                f"Roll these back, and build it again: memory.activations.build({cube.title!r}, ...)",
            )
        self._engine.admit(Action.WRITE, home)
        return pin(self._engine.vault, home, cube.payload.name, number, detail)

    def _home(self, memory_id: str, action: Action = Action.READ) -> Scope:
        return self._engine.corrector(self._scope).find(memory_id, action)[1]

    def _is_shown(self, home: Scope, reader: Reader, hold: LegalHold) -> bool:
        """Whether the caller may know of a hold."""
        return may_all(self._engine.vault, home, Action.ADMINISTER) or sees(reader, hold)

    def _placed(self, hold_id: str) -> tuple[Scope, LegalHold]:
        for home in self._engine.corrector(self._scope).homes:
            with self._engine.vault.read(home) as reader:
                for hold in reader.retention.holds():
                    if hold.id == hold_id:
                        return home, hold
        raise _no_hold(hold_id)

    def _reason(self, reason: str) -> str:
        return self._engine.said("reason", reason, self._scope, limit=arguments.REASON_CHARS)


def _no_hold(hold_id: str) -> NotFound:
    return NotFound(f"there is no legal hold {hold_id!r} of this user and agent")
