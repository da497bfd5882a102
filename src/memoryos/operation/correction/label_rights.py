"""Label rights: what a caller must be permitted to, to change the labels and the end of a stored memory."""

from __future__ import annotations

from memoryos.about import About, about_of
from memoryos.caller import Action
from memoryos.cube import MemCube
from memoryos.errors import InvalidInput
from memoryos.kinds import AccessMode
from memoryos.operation.calls.permission import check_end, check_new, check_stored
from memoryos.operation.correction.correct import Corrector
from memoryos.retention import GOVERNED


def check_relabelling(corrector: Corrector, cube_id: str, labels: About) -> None:
    """Raise PermissionDenied unless the caller may give a memory these labels: it may store one that has them.

    Who changes the access of a memory that others may use must be permitted to share it, and who ends one earlier to
    delete it. Raises NotFound, and InvalidInput for a kind that has no such labels.
    """
    cube, home = corrector.find(cube_id, Action.WRITE)
    _check_kind(cube, labels)
    vault, becomes = corrector.promoter.vault, labels.relabel(cube)
    check_new(vault, home, cube.kind, about_of(becomes).labels)
    known, new = (one.governance for one in (cube, becomes))
    with vault.view(home) as reader:
        if known.access.mode not in (new.access.mode, AccessMode.PRIVATE):
            check_stored(vault, home, reader, [cube_id], Action.SHARE)
        ends, end = known.lifespan.expires_at, labels.expires_at
        if end is not None and (ends is None or end < ends):
            check_end(vault, home, reader, [cube_id])


def _check_kind(cube: MemCube, labels: About) -> None:
    told = {"sensitivity": labels.sensitivity, "access": labels.access, "expires_at": labels.expires_at}
    for field, one in told.items():
        if one and cube.kind not in GOVERNED:
            fix = "Change its pages" if cube.kind.value == "segment" else "Change the memories that it was made of"
            raise InvalidInput(
                field, f"cannot be changed of the kind {cube.kind.value}, which has that of its memories", fix
            )
