"""Exchange labels: what an exchange has of the memories that the model was shown, for its answer may repeat them.

It is as sensitive as all of these together. It is private, the strictest access, unless somebody says otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from memoryos.about import About
from memoryos.filter import SENSITIVITY_LABEL
from memoryos.infrastructure.vault.contract import Reader, Vault
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.kinds import Kind
from memoryos.operation.answer.respond import Prompt
from memoryos.scope import Scope


def inherited(vault: Vault, homes: Iterable[Scope], prompt: Prompt) -> About:
    """The sensitivity of an exchange about this prompt; `homes` hold the memories of its owner."""
    found = {name: None for cube in prompt.shown for name in cube.governance.sensitivity}
    adapted = (source for cube in prompt.shown if cube.kind is Kind.PARAMETER for source in cube.descriptive.provenance)
    ids = [*(cube.id for cube in prompt.shown), *adapted]  # an adapter may say what it was trained on
    for home in dict.fromkeys(homes):
        with vault.read(home) as reader:
            before = _chain(reader, prompt.summarised.id) if prompt.summarised else ()
            found |= dict.fromkeys(_sensitivity(reader, [*ids, *before]))
    return About(sensitivity=tuple(sorted(found)))


def _sensitivity(reader: Reader, ids: Iterable[str]) -> Iterator[str]:
    """What makes these memories, or the pages beneath them, sensitive."""
    stored = {text for some in reader.whole.classes(ids).values() for one in some for text in one[2:] if text}
    labels = (label for text in stored for label in json.loads(text))
    return (label.removeprefix(SENSITIVITY_LABEL) for label in labels if label.startswith(SENSITIVITY_LABEL))


def _chain(reader: Reader, page: str) -> set[str]:
    """The pages that the summary of a page's chain speaks of: all before it, and the page."""
    found, left = set[str](), {page}
    while left:
        found |= left
        left = {link.target for link in reader.whole.targets(left, LinkKind.CHAIN)} - found
    return found
