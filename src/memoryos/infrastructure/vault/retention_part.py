"""RetentionPart: the part of a session that keeps an owner's retention rules and legal holds, each in a note.

The rules of a whole tenant, which lie in the table `meta`, apply beside those of the owner.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlalchemy import Connection, bindparam, select

from memoryos.caller import acting_caller
from memoryos.hold import HeldThing, HoldAct, LegalHold
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.guard import check_hold_act
from memoryos.infrastructure.vault.ledger import Ledger
from memoryos.infrastructure.vault.note import Note, as_json
from memoryos.infrastructure.vault.records import Entry
from memoryos.infrastructure.vault.statements import ask, chunks
from memoryos.infrastructure.vault.tables import OWNER, RULE_KEYS, UNUSED_KEYS, rules_of
from memoryos.kinds import Kind
from memoryos.regex import regex
from memoryos.retention import RetentionRule, UnusedRule, governed
from memoryos.scope import namespace_from_path

T = TypeVar("T")
_Held = tuple[str, str | None]  # what a hold is on: kind, and id or name

HOLD_KEYS = ("hold:", "hold;")  # the first key, and one behind the last

RULES = Note(RULE_KEYS[0], as_json(RetentionRule), has_many=True)
TENANT_RULES = Note(tables.TENANT_RULES, as_json(RetentionRule), has_many=True, table="meta")
UNUSED_RULES = Note(UNUSED_KEYS[0], as_json(UnusedRule), has_many=True)
HOLDS = Note(HOLD_KEYS[0], as_json(LegalHold), has_many=True)
# How a hold on a memory or session begins: of thousands, this tells what each is on in a quarter of the time.
_USUAL = regex(r'\{"id": "[\w-]+", "on": "(memory|session)", "subject": "([^"\\]+)", "reason": "')

_cubes, _notes, _meta = tables.cubes, tables.notes, tables.meta
_NOTED = (
    select(_notes.c.key, _notes.c.value)
    .where(*(_notes.c[name] == bindparam(name) for name in OWNER))
    .where(_notes.c.key >= bindparam("first"), _notes.c.key < bindparam("behind"))
    .order_by(_notes.c.key)
)
_NOTED_OF_TENANT = (
    select(_meta.c.key, _meta.c.value)
    .where(_meta.c.key >= bindparam("first"), _meta.c.key < bindparam("behind"))
    .order_by(_meta.c.key)
)
_PLACED = (
    select(_cubes.c.id, _cubes.c.kind, _cubes.c.session_id)
    .where(*(_cubes.c[name] == bindparam(name) for name in OWNER))
    .where(_cubes.c.id.in_(bindparam("ids", expanding=True)))
)


class RetentionPart:
    """The rules and holds of one owner, within one transaction."""

    def __init__(self, connection: Connection, owner: dict[str, str], ledger: Ledger) -> None:
        self._connection = connection
        self._owner = owner
        self._ledger = ledger
        self._rules: list[RetentionRule] | None = None  # once they were asked for
        self._holding: dict[_Held, tuple[str, str]] | None = None  # the same

    def rules(self) -> list[RetentionRule]:
        """The rules that apply: those of the owner, by name, then those of the tenant."""
        if self._rules is None:
            namespace = namespace_from_path(self._owner["namespace"])
            of_tenant = tenant_rules(self._connection, self._owner["tenant"])
            self._rules = [*self.own_rules(), *(rule for rule in of_tenant if rule.covers(namespace))]
        return self._rules

    def own_rules(self) -> list[RetentionRule]:
        """The rules of the owner alone, by name."""
        return self._noted(RULES, RULE_KEYS)

    def governed(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """The entries with the ends that the rules give them."""
        rules = self.rules()
        return [_governed(entry, rules) for entry in entries]

    def write_rule(self, rule: RetentionRule) -> None:
        """Store a rule, in the place of one with its name."""
        self._rules = None
        self._ledger.write_note(RULE_KEYS[0] + rule.name, rule.written())

    def drop_rule(self, name: str) -> bool:
        """Remove a rule; whether there was one."""
        self._rules = None
        return self._dropped(RULE_KEYS[0] + name)

    def unused_rules(self) -> list[UnusedRule]:
        """The rules about what is not used, by name."""
        return self._noted(UNUSED_RULES, UNUSED_KEYS)

    def write_unused_rule(self, rule: UnusedRule) -> None:
        """Store such a rule, in the place of one with its name."""
        self._ledger.write_note(UNUSED_KEYS[0] + rule.name, rule.to_json())

    def drop_unused_rule(self, name: str) -> bool:
        """Remove such a rule; whether there was one."""
        return self._dropped(UNUSED_KEYS[0] + name)

    def holds(self) -> list[LegalHold]:
        """The holds, in the order in which they were placed."""
        return self._noted(HOLDS, HOLD_KEYS)

    def place(self, hold: LegalHold) -> None:
        """Store a hold."""
        check_hold_act(HoldAct.PLACE, acting_caller())
        self._holding = None
        self._ledger.write_note(HOLD_KEYS[0] + hold.id, hold.to_json())

    def release(self, hold_id: str) -> bool:
        """Remove a hold; return whether there was one."""
        check_hold_act(HoldAct.RELEASE, acting_caller())
        self._holding = None
        return self._dropped(HOLD_KEYS[0] + hold_id)

    def held(self, ids: Iterable[str]) -> dict[str, LegalHold]:
        """Those of these memories that are on hold, each with the first hold."""
        return {cube_id: hold for cube_id, _, hold in self._held(list(ids))}

    def check_deletion(self, ids: Sequence[str]) -> None:
        """Refuse to delete pages on hold, and what is on hold by itself. Raises OnHold.

        What was derived from pages on hold may be derived again, so the program may replace it.
        """
        for cube_id, hold in self.undeletable(ids).items():
            raise hold.refusal(cube_id)

    def undeletable(self, ids: Sequence[str]) -> dict[str, LegalHold]:
        """Those of these memories that `check_deletion` refuses, each with its hold."""
        held = self._held(ids)
        return {one: hold for one, kind, hold in held if kind is Kind.PAGE or hold.on is HeldThing.MEMORY}

    def check_ends(self, ids: Sequence[str]) -> None:
        """Refuse to let memories on hold expire. Raises OnHold."""
        for cube_id, hold in self.held(ids).items():
            raise hold.refusal(cube_id)

    def refuse_all(self, undone: str) -> None:
        """Refuse what is about everything of the owner, if anything is on hold: nothing is `undone`. Raises OnHold."""
        for hold in self.holds():
            raise hold.general_refusal(undone)

    def _held(self, ids: Sequence[str]) -> list[tuple[str, Kind, LegalHold]]:
        named = self._named() if ids else {}
        if not named:
            return []
        found = []
        for chunk in chunks(ids):
            for cube_id, kind, session in ask(self._connection, _PLACED, self._owner, chunk):
                things = (HeldThing.MEMORY, cube_id), (HeldThing.SESSION, session or ""), (HeldThing.OWNER, None)
                if noted := next((named[thing] for thing in things if thing in named), None):
                    key, text = noted
                    found.append((cube_id, Kind(kind), HOLDS.read(text, key.removeprefix(HOLD_KEYS[0]))))
        return found

    def _named(self) -> dict[_Held, tuple[str, str]]:
        """What is on hold, each with the key and text of its first hold: to read thousands takes too long in a step."""
        if self._holding is None:
            self._holding = {}
            for key, text in self._texts(HOLD_KEYS):
                self._holding.setdefault(_what(key, text), (key, text))
        return self._holding

    def _dropped(self, key: str) -> bool:
        if self._ledger.note(key) is None:
            return False
        self._ledger.write_note(key, None)
        return True

    def _noted(self, note: Note[T], keys: tuple[str, str]) -> list[T]:
        return [note.read(value, key.removeprefix(keys[0])) for key, value in self._texts(keys)]

    def _texts(self, keys: tuple[str, str]) -> Iterator[tuple[str, str]]:
        first, behind = keys
        return ask(self._connection, _NOTED, {**self._owner, "first": first, "behind": behind})


def tenant_rules(connection: Connection, tenant: str) -> list[RetentionRule]:
    """The rules of a whole tenant, by name."""
    first, behind = rules_of(tenant)
    found = ask(connection, _NOTED_OF_TENANT, {"first": first, "behind": behind})
    return [TENANT_RULES.read(value, key.removeprefix(tables.TENANT_RULES)) for key, value in found]


def _governed(entry: Entry, rules: Sequence[RetentionRule]) -> Entry:
    cube = governed(entry.cube, rules)
    return entry if cube is entry.cube else replace(entry, cube=cube, document=None)


def _what(key: str, text: str) -> _Held:
    """What a hold is on. Raises StoreCorrupt."""
    if (told := _USUAL.match(text)) and text.endswith("}"):
        return told[1], told[2]
    hold = HOLDS.read(text, key.removeprefix(HOLD_KEYS[0]))
    return hold.on, hold.subject
