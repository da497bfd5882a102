"""The back end for many machines: a PostgreSQL database. What talks to it needs an extra; its schema needs none."""

from __future__ import annotations
