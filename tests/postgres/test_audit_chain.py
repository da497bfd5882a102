"""The chain of the store in the audit log: who adds to it waits for no writer, and no writer for it."""

from __future__ import annotations

from memoryos.caller import OPERATOR, Action
from memoryos.infrastructure.vault.audit_entry import Deed
from memoryos.scope import Scope

ANN, BEN = Scope(user="ann"), Scope(user="贝恩", tenant="acme")


def test_an_entry_of_the_store_waits_for_no_writer_and_no_writer_for_it(open_vault, clock):
    vault, other = open_vault(), open_vault(patience=1.0)
    deed = Deed(None, clock(), OPERATOR, Action.ADMINISTER, "stores.verify")
    with vault.write(ANN):
        other.audit.write([deed])
    with vault._chaining(), other.write(BEN) as writer:
        writer.write_note("key", "value")
    vault.audit.write([deed])
    report = vault.audit.report()
    assert report.is_sound
    assert [(head.scope, head.number) for head in report.heads] == [(None, 2)]
