"""`memoryos backup`, `restore`, `copy`, `verify` and `scrub`: whole stores, all tenants."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from memoryos import stores
from memoryos.caller import acting
from memoryos.config import load_settings
from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault.damage import Damage, Fault, Report
from memoryos.interface.cli import render
from memoryos.interface.cli.key_check import check_key
from memoryos.interface.cli.options import Db, Json

SHOWN = 20  # damages in a table; --json has all

_STORE = "A file or postgresql://..."


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write; it must not exist.")],
    db: Db = None,
    json: Json = False,
) -> None:
    """Write the current state of the whole store to one file, while the store is in use."""
    place = db or load_settings().db
    caller = check_key(place, "stores.backup")
    with render.counted("backing up", quiet=json) as progress:
        manifest = acting(caller, lambda: stores.backup(place, file, progress=progress))
    if json:
        render.print_json({"file": str(file), **asdict(manifest)})
    else:
        _print(f"{file} holds {manifest.rows:,} rows of {manifest.store}.")


def restore(
    file: Annotated[Path, typer.Argument(help="A file of `memoryos backup`.")],
    store: Annotated[str, typer.Argument(help=f"{_STORE}; new, or an empty database.")],
    json: Json = False,
) -> None:
    """Restore a backup into a new store, after checking that the backup is unchanged."""
    caller = check_key(file, "stores.restore")
    with render.counted("restoring", quiet=json) as progress:
        restored = acting(caller, lambda: stores.restore(file, store, progress=progress))
    if json:
        render.print_json({"rows": restored.rows, "forgotten_again": restored.forgotten_again})
    else:
        again = restored.forgotten_again
        erasures = "1 erasure" if again == 1 else f"{again:,} erasures"
        _print(f"Restored {restored.rows:,} rows of {file}. Applied {erasures} again.")


def copy(
    source: Annotated[str, typer.Argument(help=_STORE)],
    target: Annotated[str, typer.Argument(help=f"{_STORE}; new, or an empty database.")],
    json: Json = False,
) -> None:
    """Copy a whole store to another file or database; an interrupted copy continues when you run it again."""
    caller = check_key(source, "stores.copy")
    with render.counted("copying", quiet=json) as progress:
        copied = acting(caller, lambda: stores.copy(source, target, progress=progress))
    if json:
        render.print_json(asdict(copied))
        return
    _print(f"Copied {copied.rows:,} rows.")
    if copied.behind:
        _print(f"{copied.behind:,} later events of the source are not in the copy: stop the writers and copy again.")


def verify(
    store: Annotated[str | None, typer.Argument(help=f"{_STORE}, or a backup (default: MEMORYOS_DB).")] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Correct what is derived from the memories.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Check that a store or a backup is consistent; exit code 1 if it is not."""
    place = _place(store, db)
    caller = check_key(place, "stores.verify")
    with render.counted("verifying", quiet=json) as progress:
        report = acting(caller, lambda: stores.verify(place, repair=repair, progress=progress))
    if json:
        render.print_json(_document(report))
    else:
        _tell(report)
    if not report.is_sound:
        raise typer.Exit(1)


def scrub(
    store: Annotated[str | None, typer.Argument(help=f"{_STORE} (default: MEMORYOS_DB).")] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Overwrite the remains of deleted memories in the store's files; exit code 1 if some of it was refused."""
    place = _place(store, db)
    caller = check_key(place, "stores.scrub")
    with render.counted("scrubbing", quiet=json) as progress:
        scrubbed = acting(caller, lambda: stores.scrub(place, progress=progress))
    if json:
        render.print_json({"complete": scrubbed.is_complete, **asdict(scrubbed)})
    else:
        _print(
            f"Rewrote {len(scrubbed.done):,} parts: {scrubbed.nbytes_before:,} bytes, now {scrubbed.nbytes_after:,}."
        )
        for refused in scrubbed.refused:
            _print(f"  not done: {refused}")
    if not scrubbed.is_complete:
        raise typer.Exit(1)


def _place(store: str | None, db: str | None) -> str | Path:
    """The store of a command that takes it as an argument or as an option. Raises InvalidInput if it has both."""
    if store and db:
        raise InvalidInput("--db", "is passed together with the argument STORE", "Name the store once")
    return store or db or load_settings().db


def _document(report: Report) -> dict[str, Any]:
    damages = [_fields(damage) for damage in report.damages]
    return {"sound": report.is_sound, "checked": dict(report.checked), "repaired": report.repaired, "damages": damages}


def _fields(damage: Damage) -> dict[str, Any]:
    owner = asdict(damage.owner) if damage.owner else None
    return {
        "fault": damage.fault.value,
        "detail": damage.detail,
        "id": damage.id,
        "scope": owner,
        "can_be_repaired": damage.can_be_repaired,
    }


def _tell(report: Report) -> None:
    _print(f"Checked {sum(report.checked.values()):,} rows, {report.checked['cubes']:,} of them memories.")
    if report.repaired:
        _print(f"Repaired {report.repaired:,} faults.")
    if report.is_sound:
        _print("Everything is consistent.")
        return
    for fault, number in Counter(damage.fault for damage in report.damages).items():
        _print(f"{number:,} x {fault.value}")
    for damage in report.damages[:SHOWN]:
        _print(f"  {damage.fault.value} {damage.id} {damage.detail}")
    if any(damage.can_be_repaired for damage in report.damages):
        _print("`memoryos verify --repair` corrects what is derived from the memories.")
    if any(damage.fault is Fault.DOCUMENT for damage in report.damages):
        _print(
            "A damaged document: restore the store from a backup, or `memoryos delete ID` with the user of the memory."
        )


def _print(line: str) -> None:
    render.console().print(line, markup=False, soft_wrap=True)
