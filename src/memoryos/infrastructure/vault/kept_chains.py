"""KeptChains: what earlier versions of pages tell of the pages that these continued, as older programs kept it.

It goes before the first page of an owner does. Nearly always nothing of that kind is stored, and to find that out takes
as long as to read all versions: so they are read once, beside other writers, and only those that tell of a chain are
changed under the lock, the versions of one page at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy import Connection

from memoryos.infrastructure.vault.tables import owner_row
from memoryos.infrastructure.vault.version_part import VersionPart
from memoryos.scope import Scope


class KeptChains:
    """The versions of a vault's pages."""

    def __init__(
        self,
        reading: Callable[[str | None], AbstractContextManager[Connection]],
        writing: Callable[[Scope], AbstractContextManager[Connection]],
    ) -> None:
        self._reading = reading
        self._writing = writing

    def forget(self, owner: Scope) -> None:
        """Let no version of the owner's pages tell of a chain, unless that was seen to before."""
        row = owner_row(owner)
        with self._reading(owner.tenant) as connection:
            telling = VersionPart(connection, row).telling()
        if telling is None:
            return
        for page in telling:
            with self._writing(owner) as connection:
                VersionPart(connection, row).unchain([page])
        with self._writing(owner) as connection:
            VersionPart(connection, row).end_chains()
