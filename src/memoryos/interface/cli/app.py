"""The memoryos command: its parts, and how an error becomes a message."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
import typer.main

from memoryos.distribution import VERSION
from memoryos.errors import InvalidInput, MemoryOSError
from memoryos.infrastructure.vault.patience import apart, in_one_call
from memoryos.interface.cli.json_wanted import JsonFlag, is_json_wanted
from memoryos.interface.cli.lazy import LazyGroup, Places, group
from memoryos.interface.cli.stated_context import state, state_branch
from memoryos.interface.faults import exit_code

_NAME = "memoryos"  # however it was started: shells complete the command of this name


class _Commands(LazyGroup):
    places: ClassVar[Places] = {
        "demo": ("demo", "demo"),
        "doctor": ("doctor_command", "doctor"),
        "add": ("memory_command", "add"),
        "search": ("memory_command", "search"),
        "mounts": ("mounts_command", "mounts"),
        "tagged": ("mounts_command", "tagged"),
        "context": ("context_command", "context"),
        "digest": ("digest_command", "digest"),
        "chat": ("chat_command", "chat"),
        "ask": ("memory_command", "ask"),
        "request": ("request_command", "request"),
        "show": ("memory_command", "show"),
        "stats": ("memory_command", "stats"),
        "list": ("listing_command", "list_"),
        "count": ("listing_command", "count"),
        "get": ("lookup_command", "get"),
        "history": ("lookup_command", "history"),
        "update": ("correct_command", "update"),
        "delete": ("correct_command", "delete"),
        "worker": ("worker_command", "worker"),
        "serve": ("serve_command", "serve"),
        "mcp": ("mcp_command", "mcp"),
        "usage": ("usage", "usage"),
        "repair": ("repair_command", "repair"),
        "cold": ("cold", "cold"),
        "consolidate": ("upkeep_command", "consolidate"),
        "events": ("events_command", "events"),
        "attachments": ("attachment_command", "attachments"),
        "attachment": ("attachment_command", "attachment"),
        "rebuild": ("upkeep_command", "rebuild"),
        "reembed": ("upkeep_command", "reembed"),
        "backup": ("stores_command", "backup"),
        "restore": ("stores_command", "restore"),
        "copy": ("stores_command", "copy"),
        "verify": ("stores_command", "verify"),
        "scrub": ("stores_command", "scrub"),
        "documents": ("app", "documents"),
        "facts": ("app", "facts"),
        "profile": ("app", "profile"),
        "jobs": ("app", "jobs"),
        "proposals": ("app", "proposals"),
        "governance": ("app", "governance"),
        "snapshots": ("app", "snapshots"),
        "transform": ("forms_command", "transform"),
        "forms": ("forms_command", "forms"),
        "activations": ("app", "activations"),
        "branches": ("app", "branches"),
        "adapters": ("app", "adapters"),
        "duplicates": ("app", "duplicates"),
        "archiving": ("app", "archiving"),
        "schedule": ("app", "schedule"),
        "pipelines": ("app", "pipelines"),
        "audit": ("app", "audit"),
        "policy": ("app", "policy"),
        "keys": ("app", "keys"),
        "agents": ("app", "agents"),
        "users": ("app", "users"),
        "roles": ("app", "roles"),
        "retention": ("app", "retention"),
        "privacy": ("app", "privacy"),
        "encryption": ("app", "encryption"),
        "export": ("people", "export"),
        "forget": ("people", "forget"),
        "verify-receipt": ("people", "verify_receipt"),
        "verify-mark": ("mark_command", "verify_mark"),
        "import": ("app", "imports"),
        "bench": ("app", "benches"),
    }


class _FactCommands(LazyGroup):
    places: ClassVar[Places] = {"add": ("facts_command", "add")}


class _DocumentCommands(LazyGroup):
    places: ClassVar[Places] = {"add": ("documents_command", "add")}


class _Profile(LazyGroup):
    places: ClassVar[Places] = {"get": ("profile_command", "get"), "set": ("profile_command", "set_")}


class _Jobs(LazyGroup):
    places: ClassVar[Places] = {
        "list": ("jobs_command", "list_jobs"),
        "retry": ("jobs_command", "retry"),
        "wait": ("jobs_command", "wait"),
    }


class _Proposals(LazyGroup):
    places: ClassVar[Places] = {
        "list": ("proposals_command", "list_proposals"),
        "publish": ("proposals_command", "publish"),
        "accept": ("proposals_command", "accept"),
        "reject": ("proposals_command", "reject"),
    }


class _Governance(LazyGroup):
    places: ClassVar[Places] = {
        "freeze": ("governance_command", "freeze"),
        "thaw": ("governance_command", "thaw"),
        "expire": ("governance_command", "expire"),
        "transitions": ("governance_command", "transitions"),
        "diff": ("governance_command", "diff"),
        "rollback": ("governance_command", "rollback"),
        "erase": ("people", "erase"),
        "provenance": ("governance_command", "provenance"),
        "retain": ("retention_command", "retain"),
        "retention": ("retention_command", "retention"),
        "unretain": ("retention_command", "unretain"),
        "hold": ("retention_command", "hold"),
        "holds": ("retention_command", "holds"),
        "release": ("retention_command", "release"),
        "delegate": ("delegation_command", "delegate"),
        "delegations": ("delegation_command", "delegations"),
        "revoke": ("delegation_command", "revoke"),
    }


class _Snapshots(LazyGroup):
    places: ClassVar[Places] = {
        "create": ("snapshots_command", "create"),
        "list": ("snapshots_command", "list_snapshots"),
        "remove": ("snapshots_command", "remove"),
    }


class _Activations(LazyGroup):
    places: ClassVar[Places] = {
        "build": ("activations_command", "build"),
        "list": ("activations_command", "list_activations"),
        "show": ("activations_command", "show"),
        "delete": ("activations_command", "delete"),
        "answer": ("activations_command", "answer"),
    }


class _Branches(LazyGroup):
    places: ClassVar[Places] = {
        "create": ("branches_command", "create"),
        "list": ("branches_command", "list_branches"),
        "diff": ("branches_command", "diff"),
        "discard": ("branches_command", "discard"),
    }


class _Adapters(LazyGroup):
    places: ClassVar[Places] = {
        "train": ("adapters_command", "train"),
        "list": ("adapters_command", "list_adapters"),
        "show": ("adapters_command", "show"),
        "load": ("adapters_command", "load"),
        "unload": ("adapters_command", "unload"),
        "rollback": ("adapters_command", "rollback"),
        "withdraw": ("adapters_command", "withdraw"),
        "delete": ("adapters_command", "delete"),
        "retire": ("adapters_command", "retire"),
        "export": ("adapters_command", "export"),
        "add": ("adapters_command", "add"),
        "ask": ("adapters_command", "ask"),
        "recollect": ("adapters_command", "recollect"),
    }


class _Duplicates(LazyGroup):
    places: ClassVar[Places] = {
        "list": ("duplicates_command", "list_duplicates"),
        "merge": ("duplicates_command", "merge"),
        "merged": ("duplicates_command", "merged"),
        "unmerge": ("duplicates_command", "unmerge"),
    }


class _Archiving(LazyGroup):
    places: ClassVar[Places] = {
        "add": ("archiving_command", "add"),
        "list": ("archiving_command", "list_rules"),
        "remove": ("archiving_command", "remove"),
    }


class _Schedule(LazyGroup):
    places: ClassVar[Places] = {
        "explain": ("schedule_command", "explain"),
        "decide": ("schedule_command", "decide"),
        "log": ("schedule_command", "log"),
        "moves": ("schedule_command", "moves"),
    }


class _Pipelines(LazyGroup):
    places: ClassVar[Places] = {
        "run": ("pipelines_command", "run"),
        "check": ("pipelines_command", "check"),
        "list": ("pipelines_command", "list_pipelines"),
        "show": ("pipelines_command", "show"),
    }


class _Audit(LazyGroup):
    places: ClassVar[Places] = {
        "list": ("audit_command", "list_entries"),
        "export": ("audit_command", "export_entries"),
        "access": ("audit_command", "access"),
        "permissions": ("audit_command", "permissions"),
        "verify": ("audit_command", "verify_entries"),
    }


class _Policy(LazyGroup):
    places: ClassVar[Places] = {
        "check": ("policy_command", "check"),
        "explain": ("policy_command", "explain"),
        "schema": ("policy_command", "schema"),
    }


class _Keys(LazyGroup):
    places: ClassVar[Places] = {
        "create": ("keys_command", "create"),
        "list": ("keys_command", "list_keys"),
        "rotate": ("keys_command", "rotate"),
        "revoke": ("keys_command", "revoke"),
    }


class _Agents(LazyGroup):
    places: ClassVar[Places] = {"list": ("agents_command", "list_agents")}


class _Users(LazyGroup):
    places: ClassVar[Places] = {
        "list": ("users_command", "list_users"),
        "show": ("users_command", "show"),
        "forget": ("users_command", "forget"),
    }


class _Roles(LazyGroup):
    places: ClassVar[Places] = {
        "grant": ("roles_command", "grant"),
        "list": ("roles_command", "list_grants"),
        "revoke": ("roles_command", "revoke"),
    }


class _Retention(LazyGroup):
    places: ClassVar[Places] = {
        "add": ("tenant_rules_command", "add"),
        "list": ("tenant_rules_command", "list_rules"),
        "remove": ("tenant_rules_command", "remove"),
    }


class _Privacy(LazyGroup):
    places: ClassVar[Places] = {"find": ("privacy_command", "find"), "reveal": ("privacy_command", "reveal")}


class _Encryption(LazyGroup):
    places: ClassVar[Places] = {
        "new-key": ("encryption_command", "new_key"),
        "status": ("encryption_command", "status"),
        "encrypt": ("encryption_command", "encrypt"),
        "decrypt": ("encryption_command", "decrypt"),
        "rotate": ("encryption_command", "rotate"),
        "reencrypt": ("encryption_command", "reencrypt"),
    }


class _Imports(LazyGroup):
    places: ClassVar[Places] = {
        "locomo": ("importing", "locomo"),
        "gvd": ("importing", "gvd"),
        "memoryos": ("importing", "memoryos"),
        "export": ("importing", "export"),
    }

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command and its arguments. Raises InvalidInput for a file in the place of its format."""
        if args[0] not in self.places and Path(args[0]).exists():
            from shlex import quote

            kinds = ", ".join(sorted(self.places.keys() - {"export"}))
            fix = f"For a file of `memoryos export`: memoryos import export {quote(args[0])}; others: {kinds}"
            raise InvalidInput("FORMAT", f"is missing before the file {args[0]!r}", fix)
        return super().resolve_command(ctx, args)


class _Benches(LazyGroup):
    places: ClassVar[Places] = {
        "locomo": ("bench", "locomo"),
        "sweep": ("bench", "sweep"),
        "chinese": ("bench", "chinese"),
        "languages": ("bench", "languages"),
        "speed": ("bench", "speed"),
        "scale": ("bench", "scale"),
        "recall": ("bench_recall", "recall"),
        "locks": ("bench_locks", "locks"),
        "governance": ("bench_governance", "governance"),
        "abstention": ("bench_abstention", "abstention"),
        "purity": ("bench_purity", "purity"),
        "adapters": ("bench_adapters", "adapters"),
        "consolidation": ("bench_consolidation", "consolidation"),
        "extraction": ("bench_extraction", "extraction"),
        "compression": ("bench_compression", "compression"),
        "privacy": ("bench_privacy", "privacy"),
        "processes": ("bench_processes", "processes"),
        "answers": ("bench_answers", "answers"),
        "composed": ("bench_composed", "composed"),
        "rounded": ("bench_rounded", "rounded"),
        "watermark": ("bench_watermark", "watermark"),
        "kv": ("bench_kv", "kv"),
        "proxy": ("bench_proxy", "proxy"),
        "scheduler": ("bench_scheduler", "scheduler"),
        "kept-states": ("bench_kept_states", "kept_states"),
        "load": ("bench_load", "load"),
    }

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Each of its many calls has its own time to wait."""
        return apart(lambda: super(_Benches, self).invoke(ctx))


app = typer.Typer(
    cls=_Commands, pretty_exceptions_enable=False, context_settings={"help_option_names": ["--help", "-h"]}
)
facts = group(_FactCommands, "State a fact. `memoryos list facts` lists them, `update` and `delete` change them.")
documents = group(_DocumentCommands, "Documents of any length: add one from a file or from standard input.")
profile = group(_Profile, "What is known about the user and the agent: show it, set a field.")
jobs = group(_Jobs, "Background jobs: list them, retry dead ones, wait for them.")
proposals = group(_Proposals, "Proposed changes of facts: publish, list, accept or reject them.")
audit = group(_Audit, "The audit log: who did what to which memory. MEMORYOS_AUDIT=true switches it on.")
governance = group(_Governance, "The states of memories, how long they are kept, and legal holds.")
snapshots = group(_Snapshots, "Named moments of a memory, for --as-of: create, list and remove them.")
adapters = group(_Adapters, "What a local model learned from a memory: train, load, ask, export and delete adapters.")
activations = group(_Activations, "Prefixes of prompts whose KV states are kept for a model in this process.")
branches = group(_Branches, "Copies of a memory to try things on: create, list, compare and discard them.")
duplicates = group(_Duplicates, "Memories that say the same: list, merge, show what was merged, give back.")
archiving = group(_Archiving, "Rules that archive pages and facts that nobody uses: add, list and remove them.")
schedule = group(_Schedule, "Which memories take part in an answer, in which form: explain, decide, log, moves.")
pipelines = group(_Pipelines, "Chains of operations that change all or nothing: run, check, list and show them.")
policy = group(_Policy, "Policies: check files of them, and explain what they decide.")
keys = group(_Keys, "API keys of callers: create, list, rotate and revoke them.")
agents = group(_Agents, "Agents: list them with counts of users and memories, and last activity.")
users = group(_Users, "Users: list them with counts and last activity, show one, forget one.")
retention = group(_Retention, "How long the memories of a whole tenant are kept: add, list and remove rules.")
roles = group(_Roles, "Roles of callers by identity: grant, list and revoke them.")
privacy = group(_Privacy, "Personal data and secrets: find them in a text, turn pseudonyms back.")
encryption = group(_Encryption, "Encryption of the store's file: encrypt, decrypt, rotate the key, show the status.")
imports = group(_Imports, "Import conversations from other systems; repeating an import adds nothing twice.")
benches = group(_Benches, "Measure recall and speed in a temporary store.")


# Commands that work on a branch: what they read and change is in it alone.
_OF_A_BRANCH = frozenset(
    "add search context digest chat ask show stats list count get history update delete facts profile mcp "
    "documents duplicates attachments events proposals".split()
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(json.dumps({"name": _NAME, "version": VERSION}) if is_json_wanted() else f"{_NAME} {VERSION}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
    _json: JsonFlag = False,
    purpose: Annotated[
        str | None, typer.Option(help="Why you call, for policies (default: MEMORYOS_PURPOSE).", show_default=False)
    ] = None,
    application: Annotated[
        str | None, typer.Option(help="Your program (default: MEMORYOS_APPLICATION).", show_default=False)
    ] = None,
    caller_session: Annotated[
        str | None,
        typer.Option(help="The session in which you call (default: MEMORYOS_CALLER_SESSION).", show_default=False),
    ] = None,
    branch: Annotated[
        str | None, typer.Option(help="Work on this branch of the memory (`branches create`).", show_default=False)
    ] = None,
) -> None:
    """Memory for AI agents: layered, durable, searchable, in one file."""
    state(purpose=purpose, application=application, caller_session=caller_session)
    if branch is not None and context.invoked_subcommand not in _OF_A_BRANCH:
        fix = f"Leave it out, or use one of: {', '.join(sorted(_OF_A_BRANCH))}"
        raise InvalidInput("--branch", f"has no meaning for `{context.invoked_subcommand}`", fix)
    state_branch(branch)


@cache
def command() -> Callable[..., Any]:
    """The command. It is built only once, because that takes longer than many commands."""
    return typer.main.get_command(app)


def main() -> None:
    """Run the command; print errors of the memory in one line, and with `--json` every error as JSON."""
    try:
        if is_json_wanted():
            sys.exit(in_one_call(partial(command(), prog_name=_NAME, standalone_mode=False)))
        in_one_call(partial(command(), prog_name=_NAME))
    except MemoryOSError as error:
        sys.exit(_tell(error))
    except typer.TyperException as error:  # wrong usage, which Typer tells by itself where people read it
        _tell_as_json("UsageError", error.format_message())
        sys.exit(error.exit_code)


def _tell(error: MemoryOSError) -> int:
    from memoryos.interface.cli import render

    if is_json_wanted():
        _tell_as_json(type(error).__name__, str(error))
    else:
        render.error_console().print(f"Error: {error}", markup=False, soft_wrap=True)
    return exit_code(error)


def _tell_as_json(kind: str, message: str) -> None:
    from memoryos.interface.cli import render

    render.print_json({"error": {"type": kind, "message": message}})
