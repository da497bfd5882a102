"""TenantRetention: how long the memories of a whole tenant are kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from memoryos import arguments
from memoryos.caller import Action, Caller, doing
from memoryos.engine import Engine
from memoryos.errors import InvalidInput, NotFound
from memoryos.kinds import Kind
from memoryos.listing import Listing
from memoryos.operation.calls.door import door
from memoryos.operation.calls.hand import Hand
from memoryos.retention import RetentionRule
from memoryos.scope import ID_LIMIT, Scope
from memoryos.text import checked_text


@door
class TenantRetention:
    """The retention rules of whole tenants. All of it needs the right to administer the store."""

    def __init__(self, engine: Engine, caller: Caller) -> None:
        self._engine = engine
        self._caller = caller

    def add(
        self,
        name: str,
        *,
        ttl: timedelta | float | None = None,
        until: datetime | str | None = None,
        half_life: timedelta | float | None = None,
        kinds: Sequence[Kind | str] = (),
        tags: Sequence[str] = (),
        namespace: Sequence[str] | None = None,
        tenant: str = "default",
    ) -> RetentionRule:
        """Keep the memories of all users and agents of a tenant only so long, and return the rule.

        It is like a rule of `governance.retain`, and applies beside those of each owner, also of owners who come later.
        With a `namespace`, it is only about memories in it and in those below it. A job for each owner applies it to
        what is stored already. A rule of the same name is replaced. Raises InvalidInput, PermissionDenied.
        """
        self._engine.admit(Action.ADMINISTER)
        of, checked = checked_text("tenant", tenant, limit=ID_LIMIT), checked_text("name", name, limit=ID_LIMIT)
        self._engine.protection.check_names("name", [checked])
        rule = RetentionRule(
            checked,
            arguments.governed_kinds(kinds),
            self._tags(tags),
            None if ttl is None else arguments.lifetime("ttl", ttl),
            self._later("until", until),
            None if half_life is None else arguments.lifetime("half_life", half_life),
            of,
            None if namespace is None else _namespace(namespace),
        )
        self._apply(doing(Action.ADMINISTER, lambda: self._engine.vault.tenant_rules.put(of, rule)))
        return rule

    def list(self, *, tenant: str = "default") -> Listing[RetentionRule]:
        """List the retention rules of a tenant, by name; those of single owners are in `governance.retention`."""
        self._engine.admit(Action.ADMINISTER)
        return Listing(self._engine.vault.tenant_rules.listed(checked_text("tenant", tenant, limit=ID_LIMIT)))

    def remove(self, name: str, *, tenant: str = "default") -> None:
        """Remove a rule; what it has not ended yet gets the end that it has without it. Raises NotFound."""
        self._engine.admit(Action.ADMINISTER)
        wanted, of = checked_text("name", name, limit=ID_LIMIT), checked_text("tenant", tenant, limit=ID_LIMIT)
        owners = doing(Action.ADMINISTER, lambda: self._engine.vault.tenant_rules.remove(of, wanted))
        if owners is None:
            raise NotFound(f"there is no retention rule {wanted!r} of this tenant")
        self._apply(owners)

    def _later(self, name: str, given: datetime | str | None) -> datetime | None:
        """A moment to come: one that has passed would end everything at once."""
        moment = arguments.moment(name, given)
        if moment is not None and moment <= self._engine.clock():
            raise InvalidInput(name, "has passed: all of these memories would be removed at once", "Pass a later one")
        return moment

    def _apply(self, owners: Sequence[Scope]) -> None:
        for owner in owners:
            self._engine.housekeeping.queued(owner)

    def _tags(self, tags: Sequence[str]) -> tuple[str, ...]:
        """Check the tags. Those of memories may be stored with a pseudonym of each user, which no rule of all fits."""
        checked = arguments.tags(tags)
        self._engine.protection.check_names("tags", checked)
        return checked

    @property
    def _hand(self) -> Hand:
        return self._engine.hand


def _namespace(labels: Sequence[str]) -> tuple[str, ...]:
    named = (labels,) if isinstance(labels, str) else tuple(arguments.sequence("namespace", labels, str))
    if not named:
        raise InvalidInput("namespace", "is empty", "Pass e.g. ('team', 'support'), or none for all of the tenant")
    return tuple(checked_text("namespace", label, limit=ID_LIMIT) for label in named)
