"""Texts with personal data and secrets, made up and labelled by hand, in English and Chinese.

One text a line of `labelled/sensitive_*.jsonl`. In it, `⟦email|...⟧` is to be found as this kind, and `⟦-order|...⟧`
looks similar and is not: order numbers, versions, dates, hashes, ISBNs, loopback addresses, placeholders. Secrets are
cut by `¦`, so that scanners of repositories do not take them for real ones.

The half `held_out` was written before any pattern. Nothing but totals by kind was looked at there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

from memoryos.bench.labels import Language, Split
from memoryos.privacy.sensitive import SensitiveKind, SensitiveSpan
from memoryos.regex import regex

_PACKAGE = "memoryos.bench.labelled"
_LABEL = regex(r"⟦(-?)([a-z0-9_ ]+)\|([^⟧]*)⟧")
_CUT = "¦"


@dataclass(frozen=True, slots=True)
class SensitiveText:
    """A text with what is to be found in it."""

    language: Language
    text: str
    wanted: frozenset[SensitiveSpan]
    decoys: int  #: what only looks like personal data


def sensitive_texts(split: Split) -> Iterator[SensitiveText]:
    """All texts of a half."""
    content = resources.files(_PACKAGE).joinpath(f"sensitive_{split.value}.jsonl").read_text(encoding="utf-8")
    for line in content.splitlines():
        told = json.loads(line)
        yield _read(Language(told["language"]), told["text"])


def _read(language: Language, marked: str) -> SensitiveText:
    text, at, decoys = "", 0, 0
    wanted: set[SensitiveSpan] = set()
    for label in _LABEL.finditer(marked):
        text += marked[at : label.start()]
        start, at = len(text), label.end()
        text += label[3].replace(_CUT, "")
        if label[1]:
            decoys += 1
        else:
            wanted.add(SensitiveSpan(SensitiveKind(label[2]), start, len(text)))
    return SensitiveText(language, text + marked[at:], frozenset(wanted), decoys)
