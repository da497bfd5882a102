"""Run by a test in a process of its own: append pages to a store.

python -m contract.append BACK_END FOLDER LABEL COUNT
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

from contract.back_ends import BACK_ENDS
from memoryos.clock import system_clock
from memoryos.cube import Page, Turn
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.records import Entry
from memoryos.kinds import Kind, Origin, Role
from memoryos.operation.intake.ingest import page_cube
from memoryos.scope import Scope


def append(vault: Vault, label: str, number: int) -> None:
    """Add one page whose text is its label and how many pages there were before it."""
    scope = Scope(user="alice")
    now = datetime(2026, 6, 1, tzinfo=UTC)
    with vault.write(scope) as writer:
        before = writer.census().of(Kind.PAGE)
        page = Page(turns=(Turn(role=Role.USER, text=f"{label} {number} {before}", at=now),))
        writer.insert([Entry(page_cube(page, scope, now=now, origin=Origin.USER_INPUT))])


if __name__ == "__main__":
    back_end, folder, name, count = sys.argv[1:]
    opened = BACK_ENDS[back_end](Path(folder), system_clock)
    for index in range(int(count)):
        append(opened, name, index)
    opened.close()
