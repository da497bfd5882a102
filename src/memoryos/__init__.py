"""MemoryOS: a memory operating system for AI agents."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memoryos.distribution import VERSION
from memoryos.exports import MODULES

if TYPE_CHECKING:
    from memoryos.about import AboutArguments
    from memoryos.api_key import ApiKey, NewApiKey
    from memoryos.arguments import ListFilters, Only, PageFilters
    from memoryos.async_answer_stream import AsyncAnswerStream
    from memoryos.async_memory import AsyncMemory, AsyncMemoryOS
    from memoryos.async_nouns import (
        AsyncActivations,
        AsyncAdmin,
        AsyncAgents,
        AsyncArchiving,
        AsyncAudit,
        AsyncBranches,
        AsyncDocuments,
        AsyncDuplicates,
        AsyncFacts,
        AsyncJobs,
        AsyncKeys,
        AsyncLog,
        AsyncLoraAdapters,
        AsyncMemGovernance,
        AsyncMemoryForms,
        AsyncMemScheduler,
        AsyncMounts,
        AsyncPages,
        AsyncPipelines,
        AsyncProfiles,
        AsyncProposals,
        AsyncRequests,
        AsyncRoles,
        AsyncSegments,
        AsyncSnapshots,
        AsyncTenantRetention,
        AsyncUpkeep,
        AsyncUsers,
    )
    from memoryos.built_memory import AdapterStage, GateResult, QuestionOrigin
    from memoryos.caller import Action, CallContext, Caller, Gate
    from memoryos.clock import Clock
    from memoryos.compat import Memoryos
    from memoryos.config import Settings, load_settings
    from memoryos.cube import Attachment, MemCube, Turn
    from memoryos.delegation import Delegation
    from memoryos.errors import MemoryOSError
    from memoryos.hold import LegalHold
    from memoryos.infrastructure.vault.audit_entry import AuditedCube, AuditEntry, Decision
    from memoryos.infrastructure.vault.audit_part import AuditReport, ChainBreak, ChainHead
    from memoryos.infrastructure.vault.key_file import EncryptionStatus
    from memoryos.infrastructure.vault.records import Event, Job, JobState, Spending
    from memoryos.infrastructure.vault.snapshot import Snapshot
    from memoryos.kinds import AccessMode, Kind, MemoryType, Origin, Role, State, Subject, Tier, Trust, UpdateMode
    from memoryos.label_change import LabelChange
    from memoryos.lifecycle import Transition
    from memoryos.listing import Listing
    from memoryos.memory import Memory
    from memoryos.memory_os import (
        MemoryOS,
        open,  # noqa: A004 - as `gzip.open`
    )
    from memoryos.models.chat import Answer, ChatModel, Message, Usage
    from memoryos.models.embedder import Embedder
    from memoryos.models.local.lora_recipe import TrainingRecipe
    from memoryos.models.local.watermark_evidence import WatermarkEvidence, WatermarkResult
    from memoryos.models.reranker import Reranker
    from memoryos.mount import Mount
    from memoryos.nouns.activations import Activations
    from memoryos.nouns.admin import Admin
    from memoryos.nouns.agents import AgentInfo, Agents
    from memoryos.nouns.archiving import Archiving
    from memoryos.nouns.audit import Audit, AuditFilters, ExportFormat
    from memoryos.nouns.branches import Branches
    from memoryos.nouns.caller_access import CallerAccess
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
    from memoryos.nouns.requests import RequestOutcome, Requests
    from memoryos.nouns.roles import Roles
    from memoryos.nouns.schedule import MemScheduler
    from memoryos.nouns.segments import Segments
    from memoryos.nouns.snapshots import Snapshots
    from memoryos.nouns.tenant_retention import TenantRetention
    from memoryos.nouns.upkeep import Upkeep
    from memoryos.nouns.users import UserInfo, Users
    from memoryos.operation.activation.activated import ActivatedAnswer, ActivationView
    from memoryos.operation.activation.transformation import FormOutcome, FormState, MadeForm, Transformation
    from memoryos.operation.answer.answer_stream import AnswerStream
    from memoryos.operation.attachments.attached_file import AttachedFile, FileBytes
    from memoryos.operation.consolidation.propose import Proposal
    from memoryos.operation.correction.branch import Branch
    from memoryos.operation.correction.brancher import BranchChange, BranchDiff
    from memoryos.operation.correction.forget import Forgotten
    from memoryos.operation.correction.merging import DuplicateGroup
    from memoryos.operation.intake.messages import Messages
    from memoryos.operation.intake.text_source import TextSource
    from memoryos.operation.maintenance.cooler import Cooled
    from memoryos.operation.maintenance.repairer import RepairReport
    from memoryos.operation.pipelines.pipeline import Pipeline, PipelineParameter
    from memoryos.operation.pipelines.pipeline_listing import PipelineListing
    from memoryos.operation.pipelines.pipeline_run import MadeChange, PipelineRun, RunOutcome, StepTrace
    from memoryos.operation.pipelines.pipeline_steps import (
        AddStep,
        ArchiveStep,
        AugmentStep,
        ExpireStep,
        FreezeStep,
        GenerateStep,
        ListStep,
        RetrieveStep,
        StepPart,
        TagStep,
        UpdateStep,
    )
    from memoryos.operation.pipelines.step_field import FieldType
    from memoryos.operation.placement.answer_mode import AnswerMode, ModeDecision, ModeReason
    from memoryos.operation.placement.form_log import FormDecision
    from memoryos.operation.placement.form_moves import FormMove, MoveGrounds, MoveReason
    from memoryos.operation.placement.kv_keeper import KeepingGrounds, KeepingReason
    from memoryos.operation.placement.memory_block import MemoryForm
    from memoryos.operation.placement.placement_log import LoggedDecision, LoggedPlacement
    from memoryos.operation.placement.placement_plan import PlacementDecision, PlacementPlan, PlacementReason
    from memoryos.operation.placement.state_log import StateDecision
    from memoryos.operation.placement.unchanged_forms import UnchangedForm, UnchangedReason
    from memoryos.operation.portability.content_marks import MarkReport
    from memoryos.operation.portability.export import Exported
    from memoryos.operation.portability.export_file import ExportTarget
    from memoryos.operation.portability.load_export import LoadedExport
    from memoryos.operation.recall.context import Context
    from memoryos.operation.recall.digest import Digest
    from memoryos.operation.recall.fusion import Weights
    from memoryos.operation.recall.hit import Hit, Recall, Strategy, TurnHit
    from memoryos.operation.recall.overview import Profile, SegmentView, Stats
    from memoryos.operation.recall.provenance import Provenance, VersionChange, VersionNote
    from memoryos.operation.requests.memory_call import CallReach, MemoryCall, MemoryOperation, ReadBy
    from memoryos.operation.requests.request_preview import ListedMemory, RequestPreview
    from memoryos.operation.scheduler.job_kinds import JobFunction, PayloadCheck
    from memoryos.operation.training.adapter_gate import GateBounds
    from memoryos.operation.training.adapter_status import AdapterAnswer, AdapterStatus, AdapterVersion, Recollection
    from memoryos.policy.policy_decision import PolicyDecision
    from memoryos.privacy.detector import detect
    from memoryos.privacy.names import NameFinder
    from memoryos.privacy.sensitive import PrivacyAction, SensitiveKind, SensitiveSpan
    from memoryos.progress import Progress
    from memoryos.retention import RetentionRule, UnusedRule
    from memoryos.role_grant import RoleGrant
    from memoryos.scope import Namespace, Scope
    from memoryos.signing import ContentMark
    from memoryos.version_diff import FieldChange, VersionDiff

__version__ = VERSION

__all__ = [
    "AboutArguments",
    "AccessMode",
    "Action",
    "ActivatedAnswer",
    "ActivationView",
    "Activations",
    "AdapterAnswer",
    "AdapterStage",
    "AdapterStatus",
    "AdapterVersion",
    "AddStep",
    "Admin",
    "AgentInfo",
    "Agents",
    "Answer",
    "AnswerMode",
    "AnswerStream",
    "ApiKey",
    "ArchiveStep",
    "Archiving",
    "AsyncActivations",
    "AsyncAdmin",
    "AsyncAgents",
    "AsyncAnswerStream",
    "AsyncArchiving",
    "AsyncAudit",
    "AsyncBranches",
    "AsyncDocuments",
    "AsyncDuplicates",
    "AsyncFacts",
    "AsyncJobs",
    "AsyncKeys",
    "AsyncLog",
    "AsyncLoraAdapters",
    "AsyncMemGovernance",
    "AsyncMemScheduler",
    "AsyncMemory",
    "AsyncMemoryForms",
    "AsyncMemoryOS",
    "AsyncMounts",
    "AsyncPages",
    "AsyncPipelines",
    "AsyncProfiles",
    "AsyncProposals",
    "AsyncRequests",
    "AsyncRoles",
    "AsyncSegments",
    "AsyncSnapshots",
    "AsyncTenantRetention",
    "AsyncUpkeep",
    "AsyncUsers",
    "AttachedFile",
    "Attachment",
    "Audit",
    "AuditEntry",
    "AuditFilters",
    "AuditReport",
    "AuditedCube",
    "AugmentStep",
    "Branch",
    "BranchChange",
    "BranchDiff",
    "Branches",
    "CallContext",
    "CallReach",
    "Caller",
    "CallerAccess",
    "ChainBreak",
    "ChainHead",
    "ChatModel",
    "Clock",
    "ContentMark",
    "Context",
    "Cooled",
    "Decision",
    "Delegation",
    "Digest",
    "Documents",
    "DuplicateGroup",
    "Duplicates",
    "Embedder",
    "EncryptionStatus",
    "Event",
    "ExpireStep",
    "ExportFormat",
    "ExportTarget",
    "Exported",
    "Facts",
    "FieldChange",
    "FieldType",
    "FileBytes",
    "Forgotten",
    "FormDecision",
    "FormMove",
    "FormOutcome",
    "FormState",
    "FreezeStep",
    "Gate",
    "GateBounds",
    "GateResult",
    "GenerateStep",
    "Hit",
    "Job",
    "JobFunction",
    "JobState",
    "Jobs",
    "KeepingGrounds",
    "KeepingReason",
    "Keys",
    "Kind",
    "LabelChange",
    "LegalHold",
    "ListFilters",
    "ListStep",
    "ListedMemory",
    "Listing",
    "LoadedExport",
    "Log",
    "LoggedDecision",
    "LoggedPlacement",
    "LoraAdapters",
    "MadeChange",
    "MadeForm",
    "MarkReport",
    "MemCube",
    "MemGovernance",
    "MemScheduler",
    "Memory",
    "MemoryCall",
    "MemoryForm",
    "MemoryForms",
    "MemoryOS",
    "MemoryOSError",
    "MemoryOperation",
    "MemoryType",
    "Memoryos",
    "Message",
    "Messages",
    "ModeDecision",
    "ModeReason",
    "Mount",
    "Mounts",
    "MoveGrounds",
    "MoveReason",
    "NameFinder",
    "Namespace",
    "NewApiKey",
    "Only",
    "Origin",
    "PageFilters",
    "Pages",
    "PayloadCheck",
    "Pipeline",
    "PipelineListing",
    "PipelineParameter",
    "PipelineRun",
    "Pipelines",
    "PlacementDecision",
    "PlacementPlan",
    "PlacementReason",
    "PolicyDecision",
    "PrivacyAction",
    "Profile",
    "Profiles",
    "Progress",
    "Proposal",
    "Proposals",
    "Provenance",
    "QuestionOrigin",
    "ReadBy",
    "Recall",
    "Recollection",
    "RepairReport",
    "RequestOutcome",
    "RequestPreview",
    "Requests",
    "Reranker",
    "RetentionRule",
    "RetrieveStep",
    "Role",
    "RoleGrant",
    "Roles",
    "RunOutcome",
    "Scope",
    "SegmentView",
    "Segments",
    "SensitiveKind",
    "SensitiveSpan",
    "Settings",
    "Snapshot",
    "Snapshots",
    "Spending",
    "State",
    "StateDecision",
    "Stats",
    "StepPart",
    "StepTrace",
    "Strategy",
    "Subject",
    "TagStep",
    "TenantRetention",
    "TextSource",
    "Tier",
    "TrainingRecipe",
    "Transformation",
    "Transition",
    "Trust",
    "Turn",
    "TurnHit",
    "UnchangedForm",
    "UnchangedReason",
    "UnusedRule",
    "UpdateMode",
    "UpdateStep",
    "Upkeep",
    "Usage",
    "UserInfo",
    "Users",
    "VersionChange",
    "VersionDiff",
    "VersionNote",
    "WatermarkEvidence",
    "WatermarkResult",
    "Weights",
    "__version__",
    "detect",
    "load_settings",
    "open",
]


def __getattr__(name: str) -> Any:
    """Import the module of a name when it is first used: a program that needs only the errors loads no database."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
