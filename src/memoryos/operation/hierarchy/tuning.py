"""Tuning: theta, tau, m, k and w of a scope, read off its own scores instead of off somebody else's data.

The paper's values were chosen for its embedder and its benchmark. An F_score of 0.6 says something else with another
embedder, another language or another way of talking. So each number is the answer to a question that a scope's own
pages can decide, kept within fixed bounds around the paper's value, and the paper's value until there are enough
samples:

- theta lies halfway between what neighbouring pages reach half of the time and what pages of different sittings stay
  below nine times of ten;
- tau is the highest at which four of five pages lie in a segment that got hot;
- m is how many segments the first stage must pass on, so that no probe loses anything of what a search of all pages
  would put into a context;
- k is how many pages must be returned, so that three of four answers are found by the turn that they answer;
- w is how much shared keywords count beside the cosine when pages are ranked: as the answers come nearest to what they
  answer. With 0 pages are ranked by the cosine alone, as in the paper, with 1 by the F_score, as segments are.

Pure functions: scores in, values out. Where the scores come from is in `calibrator.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import numpy as np
from pydantic import TypeAdapter

from memoryos.config import Settings
from memoryos.plain import Plain

GROWTH = 1.5  # a scope is calibrated again when it has grown, or shrunk, by this factor
YOUNG_GROWTH = 1.25  # the same while it is young: then values change most, and a calibration costs least
FIRST_PAGES = 16  # placed in MTM before the first calibration
YOUNG_PAGES = 64  # of a scope whose segments are formed anew when theta changes
FAR_OFF = 0.05  # of theta

NEAR_QUANTILE = 0.5
FAR_QUANTILE = 0.9
HOT_SHARE = 0.8  # of the pages
FOUND_SHARE = 0.75  # of the answers
WEIGHTS = (0.0, 0.5, 1.0)  # of keywords; between these, no sample of this size can tell
CONTEXT_PAGES = 85  # that `context` asks for when it may fill 2,048 tokens


@dataclass(frozen=True, slots=True)
class Range:
    """How far a value may go, and how many samples it needs."""

    low: float
    high: float
    least: int  #: samples; with fewer the default stays


#: by the field of Settings
RANGES: Mapping[str, Range] = MappingProxyType(
    {
        "segment_threshold": Range(0.35, 0.85, least=12),  # pairs, of both kinds
        "heat_threshold": Range(3.0, 8.0, least=10),  # segments
        "recall_segments": Range(5, 40, least=40),  # probes
        "recall_pages": Range(5, 30, least=24),  # answers
        "keyword_weight": Range(WEIGHTS[0], WEIGHTS[-1], least=24),  # answers
    }
)


@dataclass(frozen=True, slots=True)
class Tuned(Plain):
    """One value that a scope uses, and why."""

    name: str  #: the field of Settings
    value: float  #: the value in use
    default: float  #: the value of the paper or of the settings
    low: float  #: least value
    high: float  #: greatest value
    samples: int  #: number of samples that it rests on
    reason: str  #: why, in one sentence


@dataclass(frozen=True, slots=True)
class Calibration:
    """The values of a scope when it had so many pages."""

    pages: int
    formed_by: float  #: the theta that the segments were formed by when they were last formed anew
    values: tuple[Tuned, ...]

    @property
    def asks_for_other_segments(self) -> bool:
        """Whether a small scope stands by a theta far from its own."""
        return self.pages <= YOUNG_PAGES and abs(self.values[0].value - self.formed_by) >= FAR_OFF

    def is_due(self, pages: int) -> bool:
        """Whether a scope of that many pages is too far from the one that was calibrated, or a value is missing."""
        growth = YOUNG_GROWTH if self.pages <= YOUNG_PAGES else GROWTH
        is_whole = {one.name for one in self.values} >= RANGES.keys()  # an older program had fewer values
        return not (is_whole and self.pages / growth < pages < self.pages * growth)

    def to_json(self) -> str:
        """Return it as the JSON that a store keeps."""
        return _noted().dump_json(self).decode()

    @classmethod
    def from_json(cls, text: str | None) -> Calibration | None:
        """Read the stored JSON; None if there is none or it has another format."""
        try:
            found = _noted().validate_json(text) if text else None
        except ValueError:
            return None  # it is made again when the scope grows
        return found if found and found.values else None


@cache
def _noted() -> TypeAdapter[Calibration]:
    return TypeAdapter(Calibration)


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of a calibration."""

    near: Sequence[float]  #: F_scores of pages that follow each other in a sitting
    far: Sequence[float]  #: F_scores of pages of different sittings
    heats: Sequence[tuple[float, int]]  #: of each segment, without recency and had it never been extracted; its pages
    depths: Sequence[int]  #: of each probe: in how many of the best segments its nearest pages lie
    ranks: Mapping[float, Sequence[int]]  #: by weight of keywords: of each answer for what it answers, from 1


def calibrated(samples: Samples, pages: int, formed_by: float) -> Calibration:
    """The values that these samples of a scope of `pages` pages give."""
    values = (_theta(samples), _tau(samples), _segments(samples), _pages(samples), _weight(samples))
    return Calibration(pages, formed_by, values)


def tuned(settings: Settings, calibration: Calibration | None) -> Settings:
    """The settings with the values of the scope in the place of the defaults; what was set by hand stays."""
    free = adjustable(settings)
    if calibration is None or not free:
        return settings
    return settings.model_copy(
        update={one.name: _like_default(one.name, one.value) for one in calibration.values if one.name in free}
    )


def adjustable(settings: Settings) -> Collection[str]:
    """The fields that may be tuned: those that nobody set; none when tuning is off."""
    return RANGES.keys() - settings.model_fields_set if settings.self_tuning else ()


def explained(settings: Settings, calibration: Calibration | None) -> tuple[Tuned, ...]:
    """The values in use, each with its reason."""
    known = {one.name: one for one in calibration.values} if calibration else {}
    free = adjustable(settings)
    return tuple(known[name] if name in free and name in known else _fixed(name, settings) for name in RANGES)


def _fixed(name: str, settings: Settings) -> Tuned:
    if name in settings.model_fields_set:
        reason = "set by hand"
    elif settings.self_tuning:
        reason = f"the paper's value, until {FIRST_PAGES} pages are in MTM"
    else:
        reason = "the paper's value: self-tuning is off"
    return _value(name, float(getattr(settings, name)), 0, reason)


def _theta(samples: Samples) -> Tuned:
    name, count = "segment_threshold", min(len(samples.near), len(samples.far))
    if count < RANGES[name].least:
        return _default(name, count, "pairs of pages")
    near = float(np.quantile(samples.near, NEAR_QUANTILE))
    far = float(np.quantile(samples.far, FAR_QUANTILE))
    reason = (
        f"halfway between what half of {len(samples.near)} pairs of neighbouring pages reach ({near:.2f}) "
        f"and what 9 of 10 of {len(samples.far)} pairs of different sittings stay below ({far:.2f})"
    )
    return _bounded(name, (near + far) / 2, len(samples.near) + len(samples.far), reason)


def _tau(samples: Samples) -> Tuned:
    name, count = "heat_threshold", len(samples.heats)
    if count < RANGES[name].least:
        return _default(name, count, "segments")
    total = sum(pages for _, pages in samples.heats)
    covered, value = 0, 0.0
    for heat, pages in sorted(samples.heats, reverse=True):
        covered, value = covered + pages, heat
        if covered >= HOT_SHARE * total:
            break
    return _bounded(name, value, count, f"{HOT_SHARE:.0%} of the pages lie in segments that get hotter")


def _segments(samples: Samples) -> Tuned:
    name, count = "recall_segments", len(samples.depths)
    if count < RANGES[name].least:
        return _default(name, count, "probes")
    reason = f"the {CONTEXT_PAGES} pages that fit a turn best lie in so many of its best segments, or fewer"
    return _bounded(name, float(max(samples.depths)), count, reason)


def _pages(samples: Samples) -> Tuned:
    name, ranks = "recall_pages", samples.ranks[best_weight(samples.ranks)]
    if len(ranks) < RANGES[name].least:
        return _default(name, len(ranks), "answers")
    value = float(np.quantile(ranks, FOUND_SHARE, method="higher"))
    reason = f"{FOUND_SHARE:.0%} of the answers are among so many pages that fit best what they answer"
    return _bounded(name, value, len(ranks), reason)


def _weight(samples: Samples) -> Tuned:
    name, weight = "keyword_weight", best_weight(samples.ranks)
    count = len(samples.ranks[weight])
    if count < RANGES[name].least:
        return _default(name, count, "answers")
    ranks = ", ".join(f"{_mean_rank(ranks):.1f} with {one:g}" for one, ranks in samples.ranks.items())
    return _bounded(name, weight, count, f"answers lie nearest to what they answer; their mean rank is {ranks}")


def best_weight(ranks: Mapping[float, Sequence[int]]) -> float:
    """The weight by which answers lie nearest to what they answer; the paper's when there are too few to tell.

    `ranks` holds the answers' ranks by weight, and no more than the weight that somebody set when somebody did.
    """
    weights = sorted(ranks)
    if len(weights) > 1 and len(ranks[weights[0]]) < RANGES["keyword_weight"].least:
        return _paper("keyword_weight")
    return min(weights, key=lambda weight: _mean_rank(ranks[weight]))


def _mean_rank(ranks: Sequence[int]) -> float:
    """Their geometric mean: from the second place to the first is as far as from the twentieth to the tenth."""
    return float(np.exp(np.log(np.sort(ranks)).mean())) if len(ranks) else 1.0  # sorted: the order must not tell


def _default(name: str, count: int, what: str) -> Tuned:
    reason = f"the paper's value: {RANGES[name].least} {what} are needed to tell"
    return _value(name, _paper(name), count, reason)


def _bounded(name: str, value: float, samples: int, reason: str) -> Tuned:
    within = min(max(value, RANGES[name].low), RANGES[name].high)
    held = "" if within == value else f"; that would be {value:.2f}, and the bound holds"
    return _value(name, round(within, 4), samples, reason + held)


def _value(name: str, value: float, samples: int, reason: str) -> Tuned:
    bounds = RANGES[name]
    return Tuned(name, value, _paper(name), bounds.low, bounds.high, samples, reason)


def _paper(name: str) -> float:
    return float(Settings.model_fields[name].default)


def _like_default(name: str, value: float) -> float:
    """Counts are whole."""
    return int(value) if isinstance(Settings.model_fields[name].default, int) else value
