"""No table changes: a program that does not know what this store keeps for topics and branches may not open it.

It would leave the versions of a topic when a page goes, and find no copies of a page in branches of today.
"""

from __future__ import annotations

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Only the number is recorded."""
