"""Fillings: the value that a statement gives a slot, and when it is valid."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memoryos.language.occupations import is_one

YES, NO = "yes", "no"  # the values of a slot that asks whether
# Relations that a statement about another one may end: who quits a job has neither occupation nor employer left.
WORK, NONE_LEFT = "work", "none"
MARRIED = frozenset({"married", "engaged", "已婚", "订婚"})  # a break-up ends each of them
MEAT = "meat"  # what a diet leaves out: it ends together with whether somebody eats that
_WHOLE = frozenset({"e-mail", "phone"})
_FAMILIES = {
    "occupation": WORK,
    "employer": WORK,
    "diet": "taste",
    "like": "taste",
    "eat": "taste",
    "drink": "taste",
    "喜欢": "taste",
    "吃": "taste",
    "喝": "taste",
    "have": "possession",
    "drive": "possession",
    "有": "possession",
    "养": "possession",
    "开": "possession",
}


@dataclass(frozen=True, slots=True)
class Slot:
    """Something of which only one value can hold at a time."""

    holder: str  #: whose it is, lower case; empty is whom the persona describes
    relation: str  #: "residence", "favourite", "like" ...
    of: str = ""  #: what kind of object: the color of a favourite color

    @property
    def family(self) -> Slot:
        """The family of slots that may end together with it."""
        of = MEAT if self.relation == "diet" else self.of
        return Slot(self.holder, _FAMILIES.get(self.relation, self.relation), of)


@dataclass(frozen=True, slots=True)
class Filling:
    """A slot with the value that a statement gives it."""

    slot: Slot
    value: str
    is_denied: bool = False  #: says that this is not, or no longer, the value
    is_change: bool = False  #: tells of the change ("moved to") rather than of the state ("lives in")
    ends: tuple[str, ...] = ()  #: relations of the family whose values are over with it: "quit my job" ends an employer
    employer: str = ""  #: of an occupation, lower case: where somebody has it, if the words tell

    def denies(self, value: str) -> bool:
        """Whether that value of its slot is over with it: who left teaching is no maths teacher."""
        if not self.is_denied:
            return False
        relation, told = self.slot.relation, self.value
        is_meant = relation == "occupation" and is_one(value, told)
        return value == told or is_meant or (relation == "marital status" and {value, told} <= MARRIED)

    def ends_other(self, known: Filling) -> bool:
        """Whether it ends what fills another slot of the family: "left Mercy" ends a nurse at Mercy."""
        left = self.value if self.is_denied and self.slot.relation == "employer" else ""
        return known.slot.relation in self.ends or (known.employer != "" and known.employer == left)

    @property
    def is_exclusive(self) -> bool:
        """Whether there is one value of many, rather than yes or no."""
        return self.value not in (YES, NO)

    @property
    def is_whole(self) -> bool:
        """Whether the value is all that such a statement says, in whatever words it says so: an address, a number."""
        return self.slot.relation in _WHOLE and not self.is_denied


@dataclass(frozen=True, slots=True)
class Term:
    """When a statement holds."""

    at: datetime  #: the moment that it speaks of
    start: datetime | None = None  #: stated: "since 2019"
    end: datetime | None = None  #: stated: "until last May"; the first moment that no longer belongs
