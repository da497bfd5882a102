"""Beneath: the labels of what a cube rests on, however many links lie between: they decide who may read it.

A KV state or an adapter holds the words of facts and topics, and these rest on pages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

# A cube, the stored labels of what it rests on, and the id of that if the cube holds its words.
Beneath = tuple[str, str | None, str | None]


def labels_beneath(
    known: Sequence[Beneath], ask: Callable[[Collection[str]], Iterable[Beneath]]
) -> Collection[tuple[str, str | None]]:
    """Each cube with the labels of all that is beneath it; `ask` tells what is directly beneath some sources."""
    found = dict.fromkeys((cube_id, labels) for cube_id, labels, _ in known)
    above: dict[str, set[str]] = {}  # the cubes that hold the words of each source
    pairs = [(cube_id, source) for cube_id, _, source in known if source]
    while reached := _reached(pairs, above):
        rows = list(ask(reached))
        found |= dict.fromkeys((cube_id, labels) for one, labels, _ in rows for cube_id in reached[one])
        pairs = [(cube_id, source) for one, _, source in rows if source for cube_id in reached[one]]
    return found


def _reached(pairs: Iterable[tuple[str, str]], above: dict[str, set[str]]) -> Mapping[str, Collection[str]]:
    """The sources, each with the cubes that were not yet known to rest on it; `above` knows them then."""
    new: dict[str, set[str]] = {}
    for cube_id, source in pairs:
        if cube_id not in above.setdefault(source, set()):
            above[source].add(cube_id)
            new.setdefault(source, set()).add(cube_id)
    return new
