"""Labelling: changes of what policies and the sweep decide cubes by, as events of their own tell them.

These are tags, sensitivity, access and end. They change with another operation, which may make no version: a fact that
is learned again joins the tags of its page, and a retention rule sets ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from memoryos.clock import from_micros
from memoryos.filter import ACCESS_LABEL, RESERVED, SENSITIVITY_LABEL, read_labels
from memoryos.infrastructure.vault.authors import read_author
from memoryos.kinds import State
from memoryos.label_change import LabelChange


class Standing(NamedTuple):
    """What is known of a stored cube without its document."""

    state: State
    tags: str | None  #: its labels, as `tables.cube_row` writes them
    expires_at: int | None  #: microseconds since the epoch


def label_details(rows: Iterable[Mapping[str, Any]], stored: Mapping[str, Standing]) -> dict[str, str]:
    """What the events of those say, by id, whose labels or end will be others, given the columns as they will be."""
    found = {}
    for row in rows:
        before = stored.get(row["id"])
        if before and (before.tags, before.expires_at) != (row["tags"], row["expires_at"]):
            old, new = _named(before.tags), _named(row["tags"])
            ends = before.expires_at, row["expires_at"]
            told = {"added": [one for one in new if one not in old], "removed": [one for one in old if one not in new]}
            if any(told.values()) or ends[0] != ends[1]:  # else only the metadata changed
                places = {"places": [old[one] for one in told["removed"]]} if told["removed"] else {}
                found[row["id"]] = json.dumps({**told, **places, "ends": ends}, ensure_ascii=False)
    return found


def read_label_change(at: int, detail: str) -> LabelChange:
    """The change that such an event tells."""
    told, author = json.loads(detail), read_author(detail)
    before, after = (None if end is None else from_micros(end) for end in told["ends"])
    added, removed, places = (tuple(told.get(name, ())) for name in ("added", "removed", "places"))
    return LabelChange(from_micros(at), added, removed, before, after, told["by"], told["call"], author.context, places)


def read_label_changes(rows: Iterable[tuple[int, str, str]]) -> dict[str, list[LabelChange]]:
    """The changes that such events tell, each given with its cube."""
    found: dict[str, list[LabelChange]] = {}
    for at, detail, cube_id in rows:
        found.setdefault(cube_id, []).append(read_label_change(at, detail))
    return found


def _named(tags: str | None) -> dict[str, int]:
    """The names of the labels that decide something, each with its place among them; none of damaged ones."""
    found = dict[str, int]()
    for label in read_labels(tags) or ():
        if not label.startswith(RESERVED):
            found.setdefault(f"tag:{label}", len(found))
        elif label.startswith((SENSITIVITY_LABEL, ACCESS_LABEL)):
            found.setdefault(label.removeprefix(RESERVED), len(found))
    return found
