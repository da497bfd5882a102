"""Privacy: how right the detection is on labelled texts, and what a policy adds to the time of an add."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

from memoryos.bench.extraction import Count
from memoryos.bench.labels import Language, Split
from memoryos.bench.made_up_dialogue import Dialogue
from memoryos.bench.progress_callback import Progress, each, unwatched
from memoryos.bench.sensitive_texts import sensitive_texts
from memoryos.bench.timing import milliseconds, percentiles
from memoryos.config import Settings, load_settings
from memoryos.memory_os import open as open_memory
from memoryos.privacy.detector import detect
from memoryos.privacy.sensitive import PrivacyAction, SensitiveKind

_POLICIES = (PrivacyAction.OFF, PrivacyAction.TAG, PrivacyAction.MASK)


@dataclass(frozen=True, slots=True)
class Detection:
    """What was found in one half. A place counts as right only with the exact first and last character."""

    texts: int
    labelled: int
    decoys: int
    counts: Mapping[tuple[Language, SensitiveKind], Count] = field(default_factory=dict)

    @property
    def overall(self) -> Count:
        """All kinds and languages together."""
        return sum(self.counts.values(), Count())

    def of_language(self, language: Language) -> Count:
        """One language, all kinds together."""
        return sum((count for (spoken, _), count in self.counts.items() if spoken is language), Count())

    def of_kind(self, kind: SensitiveKind) -> Count:
        """One kind, in all languages."""
        return sum((count for (_, found), count in self.counts.items() if found is kind), Count())


def measure_detection(split: Split) -> Detection:
    """Find what is in the texts of a half, and compare it with the labels."""
    counts: defaultdict[tuple[Language, SensitiveKind], Count] = defaultdict(Count)
    texts = list(sensitive_texts(split))
    for told in texts:
        found = frozenset(detect(told.text))
        for span in found | told.wanted:
            is_found, is_wanted = span in found, span in told.wanted
            both = is_found and is_wanted
            counts[told.language, span.kind] += Count(is_found, both, is_wanted, both)
    labelled = sum(len(told.wanted) for told in texts)
    return Detection(len(texts), labelled, sum(told.decoys for told in texts), dict(counts))


def measure_adds(exchanges: int, progress: Progress = unwatched) -> Mapping[PrivacyAction, Mapping[str, float]]:
    """Time adds under each policy in turn, so that all meet the machine as it is at that moment; p50 and p95, ms."""
    times: dict[PrivacyAction, list[float]] = {action: [] for action in _POLICIES}
    with ExitStack() as opened:
        memories = {
            action: opened.enter_context(open_memory(":memory:", user="ann", settings=_settings(action)))
            for action in _POLICIES
        }
        for exchange in each(Dialogue(7).exchanges(exchanges), "adds", progress):
            for action, memory in memories.items():
                times[action].append(milliseconds(partial(memory.add, *exchange)))
    return {action: percentiles(taken, 50, 95) for action, taken in times.items()}


def _settings(action: PrivacyAction) -> Settings:
    return load_settings(mounts=(), privacy_on_write=action)
