"""From raw pages to summaries, facts and traits."""

from __future__ import annotations
