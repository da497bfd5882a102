"""Beneath: the labels of what a cube rests on, however many links lie between: they decide who may read it.

A KV state or an adapter holds the words of facts and topics, and these rest on pages. A fact that an adapter told holds
the words of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

# A cube, the stored labels of what it rests on, and the id of that if the cube holds its words.
Beneath = tuple[str, str | None, str | None]

_FEW = 4  # sources of a cube that are asked by themselves: others may have them, too, as all that one adapter told


def labels_beneath(
    known: Iterable[Beneath], ask: Callable[[Collection[str]], Iterable[tuple[str, str | None]]]
) -> Mapping[str, Collection[str | None]]:
    """The labels of all that is beneath each cube; `ask` tells those of all that is beneath some cubes."""
    found: dict[str, dict[str | None, None]] = {}
    held: dict[str, list[str]] = {}
    for cube_id, labels, source in known:
        found.setdefault(cube_id, {})[labels] = None
        if source is not None:
            held.setdefault(cube_id, []).append(source)
    tops = {cube_id: some if len(some) <= _FEW else [cube_id] for cube_id, some in held.items()}
    below: dict[str, list[str | None]] = {}
    for top, labels in ask({top for some in tops.values() for top in some}):
        below.setdefault(top, []).append(labels)
    for cube_id, some in tops.items():
        found[cube_id].update((labels, None) for top in some for labels in below.get(top, ()))
    return found
