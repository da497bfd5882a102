"""`memoryos tenants`: remove everything of a tenant."""

from __future__ import annotations

from typing import Annotated

import typer

from memoryos.interface.cli import people
from memoryos.interface.cli.options import Db, Json, Yes

# The tenant is stated in the command itself: the one that the environment names is not removed by a slip.
Name = Annotated[str, typer.Argument(help="The tenant to forget.")]


def forget(
    tenant: Name,
    yes: Yes = False,
    receipt: people.Receipt = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Remove everything of all users of a tenant, for good: memories with all versions, jobs and attachments."""
    what = f"everything of all users of tenant {tenant}"
    people.remove_all(what, lambda store: store.admin.forget_tenant(tenant), yes=yes, receipt=receipt, db=db, json=json)
