"""The nouns of AsyncMemory and AsyncMemoryOS: those of `nouns/` with coroutines in place of methods.

There is one implementation; this side runs it in threads. A test compares both sides, name by name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, get_args

from memoryos import expected
from memoryos.nouns.activations import Activations
from memoryos.nouns.admin import Admin
from memoryos.nouns.agents import Agents
from memoryos.nouns.archiving import Archiving
from memoryos.nouns.audit import Audit
from memoryos.nouns.branches import Branches
from memoryos.nouns.documents import Documents
from memoryos.nouns.duplicates import Duplicates
from memoryos.nouns.facts import Facts
from memoryos.nouns.forms import MemoryForms
from memoryos.nouns.governance import MemGovernance
from memoryos.nouns.jobs import Jobs
from memoryos.nouns.keys import Keys
from memoryos.nouns.log import Log
from memoryos.nouns.lora_adapters import LoraAdapters
from memoryos.nouns.mounts import Mounts
from memoryos.nouns.pages import Pages
from memoryos.nouns.pipelines import Pipelines
from memoryos.nouns.profiles import Profiles
from memoryos.nouns.proposals import Proposals
from memoryos.nouns.requests import Requests
from memoryos.nouns.roles import Roles
from memoryos.nouns.schedule import MemScheduler
from memoryos.nouns.segments import Segments
from memoryos.nouns.snapshots import Snapshots
from memoryos.nouns.tenant_retention import TenantRetention
from memoryos.nouns.upkeep import Upkeep
from memoryos.nouns.users import Users

_Sync = TypeVar("_Sync")
_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")


class Awaited(Generic[_Sync]):
    """An object whose methods are coroutines; they run the methods of `sync` in a thread."""

    def __init__(self, sync: _Sync) -> None:
        """Raises InvalidInput if `sync` is not an instance of the class that this one wraps."""
        kind: type[_Sync] = get_args(type(self).__orig_bases__[0])[0]  # type: ignore[attr-defined]
        self.sync = expected.instance("sync", sync, kind, _made_by(type(self), kind))

    def __repr__(self) -> str:
        return f"Async{self.sync!r}"


def _made_by(ours: type, kind: type) -> str:
    """What to do instead: those that can be opened are seldom made from another one."""
    return (
        f"Call `await {ours.__name__}.open(...)`, or pass a {kind.__name__}"
        if hasattr(ours, "open")
        else f"Pass a {kind.__name__}"
    )


def awaited(
    method: Callable[Concatenate[_Sync, _Params], _Result],
) -> Callable[Concatenate[Awaited[_Sync], _Params], Coroutine[Any, Any, _Result]]:
    """The method as a coroutine that runs it in a thread."""

    @wraps(method)
    async def call(self: Awaited[_Sync], *args: _Params.args, **kwargs: _Params.kwargs) -> _Result:
        return await asyncio.to_thread(method, self.sync, *args, **kwargs)

    return cast("Callable[Concatenate[Awaited[_Sync], _Params], Coroutine[Any, Any, _Result]]", call)


class AsyncFacts(Awaited[Facts]):
    """The facts of one owner."""

    add = awaited(Facts.add)
    list = awaited(Facts.list)
    count = awaited(Facts.count)


class AsyncProfiles(Awaited[Profiles]):
    """Profile fields, traits and facts of the user and of the agent."""

    get = awaited(Profiles.get)
    set = awaited(Profiles.set)


class AsyncPages(Awaited[Pages]):
    """The dialogue pages of one owner."""

    list = awaited(Pages.list)
    count = awaited(Pages.count)
    swept = awaited(Pages.swept)
    attachments = awaited(Pages.attachments)
    attachment = awaited(Pages.attachment)


class AsyncDocuments(Awaited[Documents]):
    """The documents of one owner."""

    add = awaited(Documents.add)


class AsyncSegments(Awaited[Segments]):
    """The segments of one owner."""

    list = awaited(Segments.list)
    count = awaited(Segments.count)


class AsyncProposals(Awaited[Proposals]):
    """The proposals of one owner."""

    publish = awaited(Proposals.publish)
    list = awaited(Proposals.list)
    accept = awaited(Proposals.accept)
    reject = awaited(Proposals.reject)


class AsyncJobs(Awaited[Jobs]):
    """The background jobs of one owner."""

    list = awaited(Jobs.list)
    add = awaited(Jobs.add)
    retry = awaited(Jobs.retry)
    run = awaited(Jobs.run)


class AsyncRequests(Awaited[Requests]):
    """The requests of one owner, in plain English or Chinese."""

    read = awaited(Requests.read)
    preview = awaited(Requests.preview)
    do = awaited(Requests.do)


class AsyncMemScheduler(Awaited[MemScheduler]):
    """The decisions about one owner's memories: text, KV cache or adapter."""

    explain = awaited(MemScheduler.explain)
    decide = awaited(MemScheduler.decide)
    log = awaited(MemScheduler.log)
    moves = awaited(MemScheduler.moves)


class AsyncLog(Awaited[Log]):
    """The log of one owner."""

    events = awaited(Log.events)
    usage = awaited(Log.usage)


class AsyncMemGovernance(Awaited[MemGovernance]):
    """The states of one owner's memories (MemLifecycle), how long they are kept, and legal holds."""

    freeze = awaited(MemGovernance.freeze)
    thaw = awaited(MemGovernance.thaw)
    expire = awaited(MemGovernance.expire)
    relabel = awaited(MemGovernance.relabel)
    erase = awaited(MemGovernance.erase)
    reveal = awaited(MemGovernance.reveal)
    transitions = awaited(MemGovernance.transitions)
    diff = awaited(MemGovernance.diff)
    rollback = awaited(MemGovernance.rollback)
    provenance = awaited(MemGovernance.provenance)
    retain = awaited(MemGovernance.retain)
    retention = awaited(MemGovernance.retention)
    unretain = awaited(MemGovernance.unretain)
    hold = awaited(MemGovernance.hold)
    holds = awaited(MemGovernance.holds)
    release = awaited(MemGovernance.release)
    explain = awaited(MemGovernance.explain)
    delegate = awaited(MemGovernance.delegate)
    delegations = awaited(MemGovernance.delegations)
    revoke = awaited(MemGovernance.revoke)


class AsyncArchiving(Awaited[Archiving]):
    """The rules of one owner that archive pages by their use."""

    add = awaited(Archiving.add)
    list = awaited(Archiving.list)
    remove = awaited(Archiving.remove)


class AsyncDuplicates(Awaited[Duplicates]):
    """Equal and nearly equal memories of one owner."""

    list = awaited(Duplicates.list)
    merge = awaited(Duplicates.merge)
    unmerge = awaited(Duplicates.unmerge)
    merged = awaited(Duplicates.merged)


class AsyncSnapshots(Awaited[Snapshots]):
    """The snapshots of one owner."""

    create = awaited(Snapshots.create)
    list = awaited(Snapshots.list)
    remove = awaited(Snapshots.remove)


class AsyncLoraAdapters(Awaited[LoraAdapters]):
    """The adapters of one owner."""

    train = awaited(LoraAdapters.train)
    list = awaited(LoraAdapters.list)
    get = awaited(LoraAdapters.get)
    load = awaited(LoraAdapters.load)
    unload = awaited(LoraAdapters.unload)
    rollback = awaited(LoraAdapters.rollback)
    withdraw = awaited(LoraAdapters.withdraw)
    delete = awaited(LoraAdapters.delete)
    retire = awaited(LoraAdapters.retire)
    export = awaited(LoraAdapters.export)
    add = awaited(LoraAdapters.add)
    ask = awaited(LoraAdapters.ask)
    recollect = awaited(LoraAdapters.recollect)


class AsyncActivations(Awaited[Activations]):
    """The prefixes of one owner: text that is the same in many prompts, computed once."""

    build = awaited(Activations.build)
    list = awaited(Activations.list)
    get = awaited(Activations.get)
    delete = awaited(Activations.delete)
    answer = awaited(Activations.answer)


class AsyncMemoryForms(Awaited[MemoryForms]):
    """The forms of one owner's memories."""

    transform = awaited(MemoryForms.transform)
    outcome = awaited(MemoryForms.outcome)
    cool = awaited(MemoryForms.cool)
    list = awaited(MemoryForms.list)


class AsyncBranches(Awaited[Branches]):
    """The branches of one owner."""

    create = awaited(Branches.create)
    list = awaited(Branches.list)
    named = awaited(Branches.named)
    diff = awaited(Branches.diff)
    discard = awaited(Branches.discard)


class AsyncPipelines(Awaited[Pipelines]):
    """Chains of operations on one owner's memory."""

    run = awaited(Pipelines.run)
    check = awaited(Pipelines.check)
    list = awaited(Pipelines.list)


class AsyncUpkeep(Awaited[Upkeep]):
    """Maintenance of one owner's memory. Most of it also happens automatically."""

    repair = awaited(Upkeep.repair)
    undo = awaited(Upkeep.undo)
    rebuild = awaited(Upkeep.rebuild)
    index = awaited(Upkeep.index)


class AsyncMounts(Awaited[Mounts]):
    """The mounted memories of one store. A search includes the mounts that serve its owner."""

    list = awaited(Mounts.list)
    add = awaited(Mounts.add)
    remove = awaited(Mounts.remove)


class AsyncKeys(Awaited[Keys]):
    """The API keys of a store."""

    create = awaited(Keys.create)
    list = awaited(Keys.list)
    rotate = awaited(Keys.rotate)
    revoke = awaited(Keys.revoke)
    caller = awaited(Keys.caller)
    info = awaited(Keys.info)
    exist = awaited(Keys.exist)
    is_valid = awaited(Keys.is_valid)


class AsyncAgents(Awaited[Agents]):
    """The agents of a store."""

    list = awaited(Agents.list)


class AsyncUsers(Awaited[Users]):
    """The users of a store."""

    list = awaited(Users.list)
    show = awaited(Users.show)
    forget = awaited(Users.forget)


class AsyncRoles(Awaited[Roles]):
    """The roles that identities were granted."""

    grant = awaited(Roles.grant)
    list = awaited(Roles.list)
    revoke = awaited(Roles.revoke)


class AsyncTenantRetention(Awaited[TenantRetention]):
    """The retention rules of whole tenants. All of it needs the right to administer the store."""

    add = awaited(TenantRetention.add)
    list = awaited(TenantRetention.list)
    remove = awaited(TenantRetention.remove)


class AsyncAdmin(Awaited[Admin]):
    """Operations on the whole store."""

    scopes = awaited(Admin.scopes)
    users = awaited(Admin.users)
    count_users = awaited(Admin.count_users)
    work = awaited(Admin.work)
    register_job = awaited(Admin.register_job)
    cool = awaited(Admin.cool)
    export = awaited(Admin.export)
    load = awaited(Admin.load)
    forget = awaited(Admin.forget)
    forget_tenant = awaited(Admin.forget_tenant)
    verify_receipt = awaited(Admin.verify_receipt)
    encryption = awaited(Admin.encryption)
    rotate_encryption_key = awaited(Admin.rotate_encryption_key)
    verify_mark = awaited(Admin.verify_mark)
    verify_words = awaited(Admin.verify_words)


class AsyncAudit(Awaited[Audit]):
    """The audit log of one store."""

    list = awaited(Audit.list)
    export = awaited(Audit.export)
    access = awaited(Audit.access)
    permissions = awaited(Audit.permissions)
    verify = awaited(Audit.verify)
