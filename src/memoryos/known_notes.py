"""KnownNotes: all notes whose values are read, so that `verify` can look at each."""

from __future__ import annotations

from typing import Any

from memoryos.infrastructure.vault.cold_part import PACKS
from memoryos.infrastructure.vault.making_note import MAKING
from memoryos.infrastructure.vault.note import Note
from memoryos.infrastructure.vault.retention_part import HOLDS, RULES, TENANT_RULES, UNUSED_RULES
from memoryos.infrastructure.vault.snapshot import SNAPSHOTS
from memoryos.operation.activation.recipe import RECIPES
from memoryos.operation.consolidation.promotion import REJECTED
from memoryos.operation.correction.branch import BRANCHES
from memoryos.operation.correction.retention_job import PROGRESS
from memoryos.operation.intake.arrival import ADDED
from memoryos.operation.knowledge.tally import TALLIES
from memoryos.operation.maintenance.archive_job import WAITING
from memoryos.operation.maintenance.rebuild import READ, STAGE
from memoryos.operation.maintenance.repairer import KEPT
from memoryos.operation.paging.departure import DEPARTURES
from memoryos.operation.placement.form_log import FORM_LOG
from memoryos.operation.placement.placement_log import HISTORY, LOGGED
from memoryos.operation.placement.state_log import STATE_LOG
from memoryos.operation.placement.unchanged_forms import UNCHANGED
from memoryos.operation.training.wanted_adapter import WANTED

KNOWN_NOTES: tuple[Note[Any], ...] = (
    *(PACKS, HOLDS, RULES, TENANT_RULES, UNUSED_RULES, SNAPSHOTS, BRANCHES, MAKING),
    *(
        ADDED,
        TALLIES,
        REJECTED,
        DEPARTURES,
        WAITING,
        PROGRESS,
        STAGE,
        READ,
        KEPT,
        RECIPES,
        HISTORY,
        LOGGED,
        FORM_LOG,
        STATE_LOG,
        UNCHANGED,
        WANTED,
    ),
)  # a calibration that cannot be read is made again
