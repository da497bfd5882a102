"""Groups: the commands of each noun, loaded when one of them is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault.patience import apart
from memoryos.interface.cli.lazy import LazyGroup, Places, group


class _Pages(LazyGroup):
    places: ClassVar[Places] = {
        "list": ("pages_command", "list_pages"),
        "count": ("pages_command", "count_pages"),
        "attachments": ("pages_command", "attachments"),
        "attachment": ("pages_command", "attachment"),
    }


class _Segments(LazyGroup):
    places: ClassVar[Places] = {
        "list": ("segments_command", "list_segments"),
        "count": ("segments_command", "count_segments"),
    }


class _FactCommands(LazyGroup):
    places: ClassVar[Places] = {
        "add": ("facts_command", "add"),
        "list": ("facts_command", "list_facts"),
        "count": ("facts_command", "count_facts"),
    }


class _Documents(LazyGroup):
    places: ClassVar[Places] = {"add": ("documents_command", "add")}


class _Profile(LazyGroup):
    places: ClassVar[Places] = {"get": ("profile_command", "get"), "set": ("profile_command", "set_")}


class _Requests(LazyGroup):
    places: ClassVar[Places] = {
        "read": ("requests_command", "read"),
        "preview": ("requests_command", "preview"),
        "do": ("requests_command", "do"),
    }


class _Log(LazyGroup):
    places: ClassVar[Places] = {"events": ("log_command", "events"), "usage": ("log_command", "usage")}


class _Upkeep(LazyGroup):
    places: ClassVar[Places] = {
        "repair": ("upkeep_command", "repair"),
        "undo": ("upkeep_command", "undo"),
        "rebuild": ("upkeep_command", "rebuild"),
    }


class _Jobs(LazyGroup):
    places: ClassVar[Places] = {
        "list": ("jobs_command", "list_jobs"),
        "retry": ("jobs_command", "retry"),
        "run": ("jobs_command", "run"),
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
        "relabel": ("governance_command", "relabel"),
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
        "explain": ("policy_command", "explain"),
        "reveal": ("privacy_command", "reveal"),
    }


class _Snapshots(LazyGroup):
    places: ClassVar[Places] = {
        "create": ("snapshots_command", "create"),
        "list": ("snapshots_command", "list_snapshots"),
        "remove": ("snapshots_command", "remove"),
    }


class _FormCommands(LazyGroup):
    places: ClassVar[Places] = {
        "transform": ("forms_command", "transform"),
        "outcome": ("forms_command", "outcome"),
        "cool": ("forms_command", "cool"),
        "list": ("forms_command", "list_forms"),
    }


class _Activations(LazyGroup):
    places: ClassVar[Places] = {
        "build": ("activations_command", "build"),
        "list": ("activations_command", "list_activations"),
        "get": ("activations_command", "get"),
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
        "get": ("adapters_command", "get"),
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


class _Mounts(LazyGroup):
    places: ClassVar[Places] = {"list": ("mounts_command", "list_mounts")}


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
        "count": ("users_command", "count_users"),
        "show": ("users_command", "show"),
        "forget": ("users_command", "forget"),
    }


class _Tenants(LazyGroup):
    places: ClassVar[Places] = {"forget": ("tenants_command", "forget")}


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
    places: ClassVar[Places] = {"find": ("privacy_command", "find")}


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


pages = group(_Pages, "What was said, page by page: list and count pages, get the files that came with them.")
documents = group(_Documents, "Documents of any length: add one from a file or from standard input.")
segments = group(_Segments, "The topics that pages were sorted into: list and count them.")
facts = group(_FactCommands, "State a fact, list and count facts; `update` and `delete` change them.")
profile = group(_Profile, "What is known about the user and the agent: show it, set a field.")
requests = group(_Requests, "What a person asks in plain words: read it, preview what it would do, do it.")
log = group(_Log, "The changes of memories, and what model calls took.")
jobs = group(_Jobs, "Background jobs: list them, retry dead ones, run those that wait.")
upkeep = group(_Upkeep, "Move pages that lie in the wrong segment, undo that, derive everything again.")
proposals = group(_Proposals, "Proposed changes of facts: publish, list, accept or reject them.")
audit = group(_Audit, "The audit log: who did what to which memory. MEMORYOS_AUDIT=true switches it on.")
governance = group(_Governance, "The states of memories, how long they are kept, legal holds, and who may do what.")
snapshots = group(_Snapshots, "Named moments of a memory, for --as-of: create, list and remove them.")
adapters = group(_Adapters, "What a local model learned from a memory: train, load, ask, export and delete adapters.")
forms = group(_FormCommands, "Memories as text, as KV states and as adapters: change the form, list what was made.")
activations = group(_Activations, "Prefixes of prompts whose KV states are kept for a model in this process.")
branches = group(_Branches, "Copies of a memory to try things on: create, list, compare and discard them.")
duplicates = group(_Duplicates, "Memories that say the same: list, merge, show what was merged, give back.")
archiving = group(_Archiving, "Rules that archive pages and facts that nobody uses: add, list and remove them.")
schedule = group(_Schedule, "Which memories take part in an answer, in which form: explain, decide, log, moves.")
pipelines = group(_Pipelines, "Chains of operations that change all or nothing: run, check, list and show them.")
mounts = group(_Mounts, "The mounted memories, which searches include.")
policy = group(_Policy, "Policies: check files of them, and say what they decide.")
keys = group(_Keys, "API keys of callers: create, list, rotate and revoke them.")
agents = group(_Agents, "Agents: list them with counts of users and memories, and last activity.")
users = group(_Users, "Users: list them with counts and last activity, count them, show one, forget one.")
tenants = group(_Tenants, "Tenants: forget one, with all its users.")
retention = group(_Retention, "How long the memories of a whole tenant are kept: add, list and remove rules.")
roles = group(_Roles, "Roles of callers by identity: grant, list and revoke them.")
privacy = group(_Privacy, "Personal data and secrets: find them in a text; `governance reveal` turns pseudonyms back.")
encryption = group(_Encryption, "Encryption of the store's file: encrypt, decrypt, rotate the key, show the status.")
imports = group(_Imports, "Import conversations from other systems; repeating an import adds nothing twice.")
benches = group(_Benches, "Measure recall and speed in a temporary store.")
