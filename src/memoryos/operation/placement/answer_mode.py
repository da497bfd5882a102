"""AnswerMode: whether an answer uses one KV state exactly, or several that are put together, and who decided that.

Exact is the default. The caller decides, else a setting, else the policy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from memoryos.choice import Choice
from memoryos.operation.placement.placement_policy import ComposingPolicy, HeldBlock, PlacementPolicy
from memoryos.operation.placement.placement_task import PlacementTask
from memoryos.plain import Plain


class AnswerMode(Choice):
    """How KV states take part in an answer."""

    EXACT = "exact"  # one at most, at the beginning: the answer is that of the text
    COMPOSED = "composed"  # several, put together: the answer is not exactly that of the text


class ModeReason(Choice):
    """Why an answer has its mode."""

    DEFAULT = "default"  # nobody asked for another one
    ONE_STATE = "one_state"  # there are not several that it could use
    ASKED = "asked"  # the caller said so
    SETTING = "setting"  # `compose_states` says so
    POLICY = "policy"  # the policy of `placement` said so
    NOT_POSSIBLE = "not_possible"  # what computes the model cannot put states together
    FAILED = "failed"  # the policy failed, so the answer is exact


@dataclass(frozen=True, slots=True)
class ModeDecision(Plain):
    """The mode of an answer."""

    mode: AnswerMode = AnswerMode.EXACT  #: exact or composed
    reason: ModeReason = ModeReason.DEFAULT  #: why it was decided so

    @property
    def is_composed(self) -> bool:
        """Whether states are to be put together."""
        return self.mode is AnswerMode.COMPOSED


EXACTLY = ModeDecision()


@dataclass(frozen=True, slots=True)
class Composing:
    """Those who may decide."""

    policy: PlacementPolicy | None  #: None: the scheduler is off
    setting: bool  #: `compose_states`
    asked: bool | None = None  #: what the caller said; None: nothing
    priorities: Mapping[str, int] = field(default_factory=dict, hash=False)  #: of tags, by the settings

    def decided(self, needed: int, states: Callable[[], Sequence[HeldBlock]], task: PlacementTask) -> ModeDecision:
        """The mode of an answer that would need so many states; a policy is told about those that there are.

        Raises InvalidInput if the policy fails.
        """
        if needed < 2:
            return ModeDecision(reason=ModeReason.ONE_STATE)
        if self.asked is not None:
            return _decision(self.asked, ModeReason.ASKED)
        if self.setting:
            return _decision(True, ModeReason.SETTING)
        if isinstance(self.policy, ComposingPolicy):
            found = states()
            if len(found) == needed and self.policy.composes(found, task):
                return _decision(True, ModeReason.POLICY)
        return EXACTLY


def _decision(is_composed: bool, reason: ModeReason) -> ModeDecision:
    return ModeDecision(AnswerMode.COMPOSED if is_composed else AnswerMode.EXACT, reason)
