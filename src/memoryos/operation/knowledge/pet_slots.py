"""Pet slots: what is told of a pet by its name ends when it dies: "my dog Rex loves the beach", "Rex died"."""

from __future__ import annotations

from dataclasses import replace

from memoryos.language.pets import DIED, PET, PET_NAME
from memoryos.operation.knowledge.filling import LIFE, NO, YES, Filling, Slot
from memoryos.regex import regex

_WHOSE = r"(?:(?:[Tt]he )?[Uu]ser's |[Mm]y |[Oo]ur )"
_OF_ONE = regex(rf"^{_WHOSE}(?:\w+ )?{PET},? {PET_NAME}\b(?!'s)")
_HAS_ONE = regex(
    rf"^(?:[Tt]he )?(?:[Uu]ser|I|[Ww]e) (?:has|have|owns?|got) an? (?:\w+ )?{PET} (?:named|called) {PET_NAME}\b"
)
_DEAD = regex(rf"^{PET_NAME} {DIED}")


def of_pet(text: str, found: Filling | None) -> Filling | None:
    """The slot that a statement fills, one of the family of the pet's name if it tells of one."""
    if dead := _DEAD.match(text):
        return Filling(_life(dead["name"]), NO)  # when it was said: nothing said before holds, whenever the pet died
    told = _OF_ONE.match(text) or _HAS_ONE.match(text)
    if told is None or (found and found.value == NO and found.slot.relation == "have"):
        return found  # "my dog Rex died" ends that there is a dog
    if found is None:
        return Filling(_life(told["name"]), YES)
    return replace(found, slot=replace(found.slot, pet=told["name"].casefold()))


def _life(name: str) -> Slot:
    return Slot("", LIFE, pet=name.casefold())
