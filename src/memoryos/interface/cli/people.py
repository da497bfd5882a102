"""`memoryos export` and `memoryos forget`: everything about a person, to take along or to remove."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from memoryos.errors import InvalidInput, NotFound
from memoryos.interface.cli import render
from memoryos.interface.cli.completion import names
from memoryos.interface.cli.options import (
    Agent,
    Db,
    Json,
    Session,
    Tenant,
    User,
    Yes,
    open_memory,
    open_store,
    others_in,
)
from memoryos.interface.cli.private_file import new_file

if TYPE_CHECKING:
    from memoryos.memory import Memory
    from memoryos.memory_os import MemoryOS
    from memoryos.operation.correction.forget import Forgotten

Whose = Annotated[
    str | None,
    typer.Option(
        "--agent",
        help="Only this agent's memory (default: all agents).",
        show_default=False,
        autocompletion=names("agent"),
    ),
]
# The user is stated in the command itself: whom the environment names is not removed by a slip.
Whom = Annotated[str, typer.Option("--user", help="The user to forget.", autocompletion=names("user"))]
Receipt = Annotated[Path | None, typer.Option(help="Write the signed receipt to this new file.")]
CHARS = 200  # of a memory in the question
_NAMES = {"profile": "profile field"}  # of kinds, where a memory is called something else


def export(
    path: Annotated[Path, typer.Argument(help="A new file; - is standard output.")],
    user: User,
    agent: Whose = None,
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Write everything about a user as JSON Lines, which `memoryos import export` reads."""
    is_stream = str(path) == "-"
    if is_stream and json:
        raise InvalidInput("--json", "and - both need standard output", "Name a file")
    target = sys.stdout if is_stream else path
    with open_store(db, must_exist=True) as store:
        if agent is None:
            done = store.admin.export(target, user=user, tenant=tenant)
        else:
            done = _known(store, user, agent, tenant).export(target)
    if json:
        render.print_json({"file": str(path), **done.to_dict()})
    elif not is_stream:
        told = counts_of(done.memories)
        render.console().print(f"Exported {told} of {user} to {path}.", markup=False)


def forget(
    user: Whom,
    agent: Whose = None,
    session: Session = None,
    tenant: Tenant = "default",
    yes: Yes = False,
    receipt: Receipt = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Remove everything about a user, or one session, for good: memories with all versions, jobs and attachments."""

    def remove(store: MemoryOS) -> Forgotten:
        return _forgotten(store, user, agent, session, tenant)

    remove_all(_what(user, agent, session), remove, yes=yes, receipt=receipt, db=db, json=json)


def remove_all(
    what: str, remove: Callable[[MemoryOS], Forgotten], *, yes: bool, receipt: Path | None, db: str | None, json: bool
) -> None:
    """Remove all of this from the store after the consent of the person, write the receipt, and tell what is gone."""
    if not yes:
        _confirm(what, json=json)
    with new_file("--receipt", receipt) as file, open_store(db, must_exist=True) as store:
        done = remove(store)
        _write(done, file)
    _tell(done, f"Forgot {what}", json=json)


def erase(
    memory_id: Annotated[str, typer.Argument(help="Its id, as `search` and the lists show it.")],
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    yes: Yes = False,
    receipt: Receipt = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Remove a memory with all its versions and what rests on it alone, for good, and give a receipt."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        text = memory.get(memory_id).text
        if not yes:
            _confirm(render.shortened(text, CHARS), json=json)
        with new_file("--receipt", receipt) as file:
            done = memory.governance.erase(memory_id)
            _write(done, file)
    _tell(done, f"Erased {memory_id}", json=json)


def _write(done: Forgotten, file: TextIO | None) -> None:
    if file is not None and done.receipt is not None:
        file.write(done.receipt.to_json() + "\n")


def _tell(done: Forgotten, what: str, *, json: bool) -> None:
    if json:
        render.print_json({**done.to_dict(), "is_complete": done.is_complete})
    else:
        render.console().print(f"{what}: {counts_of(done.memories)}.", markup=False)
        for copy in done.receipt.copies if done.receipt else ():
            if copy.not_noted:
                told = f"A restore of {copy.place} brings it back: it was not noted there ({copy.not_noted})."
                render.console().print(told, markup=False)
    if not done.is_complete:
        raise typer.Exit(1)


def verify_receipt(
    path: Annotated[Path, typer.Argument(help="A file with the JSON of a receipt of `forget`.")],
    db: Db = None,
    json: Json = False,
) -> None:
    """Check that this store signed a receipt of `forget`, and that it was not changed since."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput("path", f"cannot be read: {type(error).__name__}", "Name the file of a receipt") from None
    with open_store(db, must_exist=True) as store:
        told = store.admin.verify_receipt(text)
    if json:
        render.print_json({"valid": True, "receipt": told})
    else:
        named = ", ".join(f"{name} {value}" for name, value in told["subject"].items() if value)
        render.console().print(f"This store signed it at {told['at']}: forgotten were {named}.", markup=False)


def _forgotten(store: MemoryOS, user: str, agent: str | None, session: str | None, tenant: str) -> Forgotten:
    if agent is None and session is None:
        return store.admin.forget(user, tenant=tenant)
    done = _known(store, user, agent or "default", tenant, session).forget()
    if session is not None and not done.memories:
        raise NotFound(f"the user {user!r} has no session {session!r} with the agent {agent or 'default'!r}")
    return done


def _known(store: MemoryOS, user: str, agent: str, tenant: str, session: str | None = None) -> Memory:
    """The memory of an owner. Raises NotFound if the store holds none, as far as the caller may know."""
    known = others_in(store, tenant)
    if known and all((one.user, one.agent) != (user, agent) for one in known):
        raise NotFound(f"the user {user!r} has no memory with the agent {agent!r} in this store")
    return store.memory(user, agent=agent, session=session, tenant=tenant)


def _what(user: str, agent: str | None, session: str | None) -> str:
    parts = [f"session {session} of" if session else "everything about", user]
    return " ".join([*parts, f"(agent {agent})"] if agent else parts)


def _confirm(what: str, *, json: bool) -> None:
    if json or not sys.stdin.isatty():
        raise InvalidInput("--yes", f"is missing: this would remove {what} for good", "Add --yes")
    typer.confirm(f"Remove {what} for good?", abort=True)


def counts_of(memories: Mapping[str, int]) -> str:
    """How many memories of each kind, in words."""
    named = {_NAMES.get(kind, kind): count for kind, count in sorted(memories.items())}
    names = [f"{count:,} {name}{'' if count == 1 else 's'}" for name, count in named.items()]
    return ", ".join(names) or "nothing"
