"""Pets: the words for them in English, as parts of patterns, and how their death is told."""

from __future__ import annotations

PET = (
    r"(?:dog|cat|puppy|kitten|pup|pet|parrot|budgie|canary|bird|rabbit|bunny|hamster|gerbil|guinea pig|rat|mouse|ferret"
    r"|chinchilla|horse|pony|donkey|goat|hen|turtle|tortoise|lizard|gecko|snake|fish|goldfish)"
)
PET_NAME = r"(?P<name>[A-Z][a-z]+)"
DIED = r"(?:(?:has )?(?:died|passed away)|(?:was|had to be) put (?:down|to sleep)|is no longer with us)"
