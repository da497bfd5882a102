"""Privacy: finds personal data and secrets in text, and masks, replaces or refuses them before they are stored."""

from __future__ import annotations
