"""How the command reports an error: the exit code of each class of errors."""

from __future__ import annotations

from memoryos.errors import InvalidInput, MemoryOSError, ModelError, NotFound, Refused

UNCONFIRMED = 6  # what would be lost was only shown
INTERRUPTED = 130  # as shells report SIGINT; Typer exits with it on Ctrl-C

# The first class that fits decides.
EXIT_CODES: tuple[tuple[type[MemoryOSError], int, str], ...] = (
    (InvalidInput, 2, "Wrong usage or wrong input."),
    (NotFound, 3, "There is no such user, session, memory, job or proposal."),
    (ModelError, 4, "A model failed."),
    (Refused, 5, "Refused: the caller may not do this, or the memory is frozen, read-only or has another version."),
    (MemoryOSError, 1, "The store or the machine failed."),
)


def exit_code(error: MemoryOSError) -> int:
    """The exit code for an error."""
    return next(code for kind, code, _ in EXIT_CODES if isinstance(error, kind))
