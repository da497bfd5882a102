"""Permission: whether the caller may do something with a memory that it names, or store a new one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from memoryos.caller import Action, View, current, current_action
from memoryos.errors import PermissionDenied
from memoryos.filter import ACCESS_LABEL
from memoryos.hold import HeldThing, LegalHold
from memoryos.infrastructure.vault.contract import Reader, Vault
from memoryos.infrastructure.vault.records import tags_text
from memoryos.infrastructure.vault.viewed import limited
from memoryos.kinds import Kind
from memoryos.scope import Scope


@dataclass(frozen=True, slots=True)
class _Joint:
    """A view of what each of some views admits; without one, of nothing."""

    views: Sequence[View]
    mark: object = field(default_factory=object)

    def has_all(self, scope: Scope) -> bool:
        return bool(self.views) and all(view.has_all(scope) for view in self.views)

    def admits(self, scope: Scope, kind: str, *labels: str | None) -> bool:
        return bool(self.views) and all(view.admits(scope, kind, *labels) for view in self.views)

    def admits_anew(self, scope: Scope, kind: str, *labels: str | None) -> bool:
        told = [view.admits_anew(scope, kind, *labels) for view in self.views]  # each takes as long for every class
        return bool(told) and all(told)

    def decided(self, scope: Scope, sequence: int, are_same: Callable[[int], bool]) -> dict[str, bool]:  # noqa: ARG002
        return {}

    def takes_as_long(self, scope: Scope) -> None:
        for view in self.views:
            view.takes_as_long(scope)


def changeable(vault: Vault, scope: Scope, reader: Reader) -> Reader:
    """What the caller may read and change of this snapshot; the snapshot itself, if that is everything.

    What a caller states is compared with this alone: it must neither learn of the rest nor change it.
    """
    if not _reads_with_key(vault, scope):
        return limited(reader, _Joint(()))
    views = [view for action in (Action.READ, current_action()) if (view := vault.seen(scope, action))]
    return limited(reader, _Joint(views)) if views else reader


def _reads_with_key(vault: Vault, scope: Scope) -> bool:
    """Whether the caller has no key, or one that lets it read."""
    caller = current()
    known = vault.keys.find(caller.key) if caller.key is not None else None
    return caller.key is None or (known is not None and known[0].opens(caller, Action.READ, scope))


def check_new(vault: Vault, scope: Scope, kind: Kind, labels: Sequence[str]) -> None:
    """Raise PermissionDenied unless the caller may store a memory of that kind with these labels.

    One that others may use also takes the right to share.
    """
    is_shared = any(label.startswith(ACCESS_LABEL) for label in labels)
    for action in (Action.WRITE, Action.SHARE) if is_shared else (Action.WRITE,):
        view = _limits(vault, scope, action)
        if view is not None and not view.admits(scope.owner, kind.value, tags_text(labels)):
            raise _denied(action, f"a {kind.value} with these labels")


def check_stored(
    vault: Vault, home: Scope, reader: Reader, ids: Iterable[str], action: Action, what: str | None = None
) -> None:
    """Raise PermissionDenied unless the caller may do this with all of these memories; `what` names them together.

    The gate is asked here: what refuses it later, such as a frozen memory, is then in the audit log as this action.
    """
    vault.admit(action, home)
    view = vault.seen(home, action)
    if view is None:
        return
    for cube_id, classes in reader.whole.classes(ids).items():
        if not all(view.admits(*one) for one in classes):
            raise _denied(action, what or f"the memory {cube_id}")


def check_all(vault: Vault, scope: Scope, action: Action) -> None:
    """Raise PermissionDenied unless the caller may do this with every memory of the scope."""
    if _limits(vault, scope, action) is not None:
        raise _denied(action, "all of this memory, only parts of it")


def may_all(vault: Vault, scope: Scope, action: Action) -> bool:
    """Whether policies let the caller do this with every memory of the scope."""
    return vault.views is not None and vault.seen(scope, action) is None


def sees(reader: Reader, hold: LegalHold) -> bool:
    """Whether the caller may read all that is on hold."""
    if reader.whole is reader:
        return True
    on = [hold.subject or ""] if hold.on is HeldThing.MEMORY else []
    if hold.on is HeldThing.SESSION:
        on = _of_session(reader.whole, hold.subject)
    return bool(on) and len(reader.permitted(on)) == len(on)


def check_hold(vault: Vault, home: Scope, reader: Reader, hold: LegalHold) -> None:
    """Raise PermissionDenied unless the caller may administer all that is on hold, also what is stored later."""
    if hold.on is HeldThing.MEMORY:
        check_stored(vault, home, reader, [hold.subject or ""], Action.ADMINISTER)
    else:
        check_all(vault, home, Action.ADMINISTER)


def _of_session(reader: Reader, session: str | None) -> list[str]:
    found: list[str] = []
    after = 0
    while some := reader.placed(after=after, session=session):
        found += [one.id for one in some]
        after = some[-1].position
    return found


def check_end(vault: Vault, scope: Scope, reader: Reader, ids: Iterable[str]) -> None:
    """Raise PermissionDenied unless the caller may remove these memories, which end earlier by what it states."""
    if ended := list(ids):
        vault.admit(Action.DELETE, scope)
        check_stored(vault, scope, reader, ended, Action.DELETE)


def check_opened(vault: Vault, scope: Scope, reader: Reader, ids: Iterable[str]) -> None:
    """Raise PermissionDenied unless the caller may administer these memories, which it opens by what it states."""
    if opened := list(ids):
        check_stored(vault, scope, reader, opened, Action.ADMINISTER)


def _limits(vault: Vault, scope: Scope, action: Action) -> View | None:
    """What decides for which memories of the scope the caller may do this; None: for all."""
    view = vault.seen(scope, action)
    if view is not None:
        vault.admit(action, scope)  # it would be asked later; then a refusal here had no entry in the audit log
    return view


def _denied(action: Action, what: str) -> PermissionDenied:
    return PermissionDenied(f"{current().identity} may not {action.value} {what}; nothing was changed")
