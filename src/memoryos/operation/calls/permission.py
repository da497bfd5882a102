"""Permission: whether the caller may do something with a memory that it names, or store a new one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memoryos.caller import Action, View, current
from memoryos.errors import PermissionDenied
from memoryos.filter import ACCESS_LABEL
from memoryos.infrastructure.vault.contract import Reader, Vault
from memoryos.infrastructure.vault.records import tags_text
from memoryos.kinds import Kind
from memoryos.scope import Scope


def check_new(vault: Vault, scope: Scope, kind: Kind, labels: Sequence[str]) -> None:
    """Raise PermissionDenied unless the caller may store a memory of that kind with these labels.

    One that others may use also takes the right to share.
    """
    is_shared = any(label.startswith(ACCESS_LABEL) for label in labels)
    for action in (Action.WRITE, Action.SHARE) if is_shared else (Action.WRITE,):
        view = _limits(vault, scope, action)
        if view is not None and not view.admits(scope.owner, kind.value, tags_text(labels)):
            raise _denied(action, f"a {kind.value} with these labels")


def check_stored(vault: Vault, home: Scope, reader: Reader, ids: Iterable[str], action: Action) -> None:
    """Raise PermissionDenied unless the caller may do this with all of these memories."""
    view = _limits(vault, home, action)
    if view is None:
        return
    for cube_id, classes in reader.whole.classes(ids).items():
        if not all(view.admits(*one) for one in classes):
            raise _denied(action, f"the memory {cube_id}")


def check_all(vault: Vault, scope: Scope, action: Action) -> None:
    """Raise PermissionDenied unless the caller may do this with every memory of the scope."""
    if _limits(vault, scope, action) is not None:
        raise _denied(action, "all of this memory, only parts of it")


def _limits(vault: Vault, scope: Scope, action: Action) -> View | None:
    """What decides for which memories of the scope the caller may do this; None: for all."""
    view = vault.seen(scope, action)
    if view is not None:
        vault.admit(action, scope)  # it would be asked later; then a refusal here had no entry in the audit log
    return view


def _denied(action: Action, what: str) -> PermissionDenied:
    return PermissionDenied(f"{current().identity} may not {action.value} {what}; nothing was changed")
