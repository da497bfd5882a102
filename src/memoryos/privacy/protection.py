"""Protection: what a policy does with personal data and secrets in texts, and in all texts of a value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar, cast

from memoryos.errors import InvalidInput, PrivacyRefused
from memoryos.privacy.detector import detect
from memoryos.privacy.json_text import is_json, replaced_in_json, with_replaced
from memoryos.privacy.names import NameFinder, name_finder
from memoryos.privacy.pseudonyms import Pseudonyms
from memoryos.privacy.sensitive import PrivacyAction, SensitiveKind, SensitiveSpan
from memoryos.privacy.walk import Walk
from memoryos.scope import Scope

TAG = "privacy:"  # before the kind, in the tags of a memory

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Protection:
    """The policy of one store."""

    action: PrivacyAction = PrivacyAction.OFF
    kinds: frozenset[SensitiveKind] = frozenset(SensitiveKind)  #: what it applies to
    pseudonyms: Pseudonyms | None = None
    names: NameFinder | None = None  #: finds names of persons; None: they are not looked for

    @classmethod
    def of(
        cls, action: PrivacyAction, kinds: frozenset[SensitiveKind], key: str | None, pipeline: str | None = None
    ) -> Protection:
        """Make the policy; `pipeline` finds names.

        Raises InvalidInput for a missing or short key or a pipeline that is not there, and MissingExtra for a key or a
        pipeline without its extra.
        """
        needs_key = action is PrivacyAction.PSEUDONYM or key is not None
        needs_names = pipeline and action is not PrivacyAction.OFF and SensitiveKind.NAME in kinds
        names = name_finder(pipeline) if pipeline and needs_names else None
        return cls(action, kinds, Pseudonyms.of(key) if needs_key else None, names)

    def for_owner(self, owner: Scope) -> OwnerProtection:
        """The policy for what one user says."""
        return OwnerProtection(self, owner)

    def found(self, text: str) -> list[SensitiveSpan]:
        """What the policy applies to in a text."""
        return [span for span in detect(text, self.names) if span.kind in self.kinds]

    def check_names(self, field: str, texts: Iterable[str]) -> None:
        """Refuse personal data in names that tell things apart, also where it is masked. Raises InvalidInput."""
        if self.action not in (PrivacyAction.OFF, PrivacyAction.TAG) and any(map(self.found, texts)):
            raise InvalidInput(field, "has personal data, which this store does not keep", "Leave it out")

    def tags(self, *values: object) -> tuple[str, ...]:
        """The tags that these values get; none unless the policy is to tag."""
        if self.action is not PrivacyAction.TAG:
            return ()
        kinds: set[SensitiveKind] = set()

        def look(_: str, text: str) -> str:
            kinds.update(span.kind for span in self.found(text))
            return text

        for value in values:
            Walk(look).value("", value)
        return tuple(f"{TAG}{kind.value}" for kind in SensitiveKind if kind in kinds)


UNPROTECTED = Protection()


@dataclass(frozen=True, slots=True)
class OwnerProtection:
    """The policy of a store for the memories of one user."""

    policy: Protection
    owner: Scope

    @property
    def is_off(self) -> bool:
        """Whether nothing is searched for."""
        return self.policy.action is PrivacyAction.OFF

    @property
    def rewrites(self) -> bool:
        """Whether other words are stored than those that were said."""
        return self.policy.action in (PrivacyAction.MASK, PrivacyAction.PSEUDONYM)

    @property
    def refuses(self) -> bool:
        """Whether what holds such data is not stored at all."""
        return self.policy.action is PrivacyAction.REFUSE

    def text(self, field: str, text: str) -> str:
        """Return the text as it may be stored. Raises PrivacyRefused."""
        return text if self.is_off else self._stored(field, text)

    def value(self, field: str, value: _Value) -> _Value:
        """Return a value with all of its texts as they may be stored. Raises PrivacyRefused."""
        if self.is_off or self.policy.action is PrivacyAction.TAG:
            return value
        return cast("_Value", Walk(self._stored).value(field, value))

    def tags(self, *values: object) -> tuple[str, ...]:
        """The tags that these values get; none unless the policy is to tag."""
        return self.policy.tags(*values)

    def names(self, name: str) -> tuple[str, ...]:
        """The names under which something may be stored that was given this one: before the policy, as it was."""
        return name, self.question(name)

    def question(self, text: str) -> str:
        """Return a question in the words that memories have. It is never refused, because it is not stored."""
        return text if self.policy.action in (PrivacyAction.OFF, PrivacyAction.TAG) else self.masked(text)

    def masked(self, text: str) -> str:
        """Return the text with pseudonyms or masks, never refused."""
        return self._without(text, self.policy.found(text))

    def replaced(self, text: str) -> list[tuple[SensitiveSpan, str]]:
        """What is found in the text, with the words that `masked` puts in its place."""
        return self._replaced(text, self.policy.found(text))

    def revealed(self, text: str) -> str:
        """Return the text with the pseudonyms of this user turned back. Raises InvalidInput."""
        return (self.policy.pseudonyms or Pseudonyms.of(None)).revealed(text, self.owner)

    def _stored(self, field: str, text: str) -> str:
        if self.policy.action is PrivacyAction.TAG or not (found := self.policy.found(text)):
            return text
        if self.policy.action is PrivacyAction.REFUSE:
            raise PrivacyRefused(field, [span.kind.value for span in found])
        return self._without(text, found)

    def _without(self, text: str, found: list[SensitiveSpan]) -> str:
        return with_replaced(text, self._replaced(text, found)) if found else text

    def _replaced(self, text: str, found: list[SensitiveSpan]) -> list[tuple[SensitiveSpan, str]]:
        if found and is_json(text):  # what reads it must still be able to
            return replaced_in_json(text, found, self._instead)
        return [(span, self._instead(span.kind, text[span.start : span.end])) for span in found]

    def _instead(self, kind: SensitiveKind, text: str) -> str:
        if self.policy.action is PrivacyAction.PSEUDONYM and self.policy.pseudonyms is not None:
            return self.policy.pseudonyms.hidden(kind, text, self.owner)
        return f"[{kind.value}]"
