"""Runtime faults: what torch raises, as one line for an error of our own."""

from __future__ import annotations


def first_line(error: BaseException) -> str:
    """The first line of an error; its name if it says nothing."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def fault(error: BaseException) -> str:
    """What went wrong in torch: memory ran out, which it tells by several kinds of errors, or something else."""
    told = first_line(error)
    is_memory = isinstance(error, MemoryError) or "alloc" in told or "out of memory" in told
    return f"{'ran out of memory' if is_memory else 'failed'}: {told}"
