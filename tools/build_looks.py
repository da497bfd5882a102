"""Write src/memoryos/language/looks.json: which characters read as an ASCII letter, a bracket, a colon or a slash.

Run it only to take newer data; users get the result as package data. It needs

    pip install confusable-homoglyphs

which ships the confusables of UTS #39 (Unicode 15.1). A character also reads as a letter when its Unicode name says
that it is one ("NEGATIVE SQUARED LATIN CAPITAL LETTER M"), or when the other case of it does. What NFKD reads is left
out. Characters that this Python's Unicode does not know are left out, too.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import product
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "src" / "memoryos" / "language" / "looks.json"
FIRST = 0x80  # characters below read as themselves

_LETTER = re.compile(
    r"(?:LATIN|REGIONAL INDICATOR SYMBOL)\b(?: \w+)*? LETTER(?: SMALL| CAPITAL| DOTLESS| SIDEWAYS| TURNED| REVERSED"
    r"| INVERTED| SCRIPT| LONG| CLOSED| INSULAR| BARRED| STRETCHED| BLACKLETTER)*\ (?P<letter>[A-Z])(?: WITH .*)?$"
)
_NEGATIVE = re.compile(r"(?:NEGATIVE|CROSSED) .*LETTER (?P<letter>[A-Z])$")
_BLANK = re.compile(r"\b(?:FILLER|BLANK|NULL NOTEHEAD|OBJECT REPLACEMENT)\b")
_SHOWN_BLANK = re.compile(r"SYMBOL|OPEN BOX")
_PAIRED = r"(?:LEFT|LEFT-POINTING|HEAVY LEFT-POINTING|MEDIUM LEFT-POINTING|MATHEMATICAL LEFT)"
_ANGLE = re.compile(rf"\b{_PAIRED}\b.*\b(?:ANGLE|ANGLED)\b|\bLEFT ANGLE BRACKET\b")
_SEVERAL = re.compile(r"\b(?:DOUBLE|MUCH|TRIPLE)\b")
_RELATION = re.compile(
    rf"LESS-THAN|\bPRECEDES\b|\bLEFT-POINTING\b.*\b(?:TRIANGLE|POINTER)\b|\bLEFT (?:ARROWHEAD|DOUBLE ANGLE)\b"
    rf"|\b{_PAIRED}\b.*\b(?:ANGLE|ANGLED|ARROWHEAD|CHEVRON)\b"
)
_SQUARE = re.compile(r"\bLEFT\b.*\b(?:SQUARE|LENTICULAR|TORTOISE SHELL) BRACKET\b")
_SIGNS = {"slash": "/\\", "pipe": "|", "colon": ":", "close": ">", "hash": "#"}


@cache
def neighbours() -> dict[str, set[str]]:
    """What each character or string is confusable with, directly."""
    listed = json.loads(files("confusable_homoglyphs").joinpath("confusables.json").read_text("utf-8"))
    found: dict[str, set[str]] = defaultdict(set)
    for one, others in listed.items():
        for other in others:
            found[bare(one)].add(bare(other["c"]))
            found[bare(other["c"])].add(bare(one))
    return found


def bare(text: str) -> str:
    """A text without marks and what cannot be seen; a mark by itself stays."""
    kept = "".join(sign for sign in unicodedata.normalize("NFD", text) if unicodedata.category(sign)[0] not in "CM")
    return kept or text


@cache
def alike(text: str) -> frozenset[str]:
    """All that is confusable with a text, over any number of steps."""
    found, ahead = {text}, [text]
    while ahead:
        for other in neighbours().get(ahead.pop(), ()):
            if other not in found:
                found.add(other)
                ahead.append(other)
    return frozenset(found)


def readings(sign: str, depth: int = 3) -> frozenset[str]:
    """How a character reads in small ASCII letters; nothing when it does not."""
    if sign.isascii():
        return frozenset(sign.lower() if sign.isalpha() else "")
    found = {one.lower() for one in alike(sign) if one.isascii() and one.isalpha()}
    forms = {sign.casefold(), sign.upper(), *neighbours().get(sign, ()), *neighbours().get(sign.upper(), ())} - {sign}
    for form in forms if depth else ():
        read = [sorted(readings(one, depth - 1)) for one in bare(unicodedata.normalize("NFKD", form))]
        found.update(map("".join, product(*read)))
    name = unicodedata.name(sign, "")
    if named := _LETTER.search(name) or _NEGATIVE.search(name):
        found.add(named["letter"].lower())
    return frozenset(one for one in found if len(one) in {1, 2})


def assigned() -> Iterator[str]:
    for code in range(FIRST, sys.maxunicode + 1):
        if unicodedata.category(chr(code)) not in {"Cn", "Cs", "Co"}:
            yield chr(code)


def is_read_already(sign: str) -> bool:
    """Whether NFKD and case folding make ASCII of it."""
    plain = bare(unicodedata.normalize("NFKD", sign).casefold())
    return plain.isascii()


def table() -> dict[str, dict[str, str]]:
    """The characters that read as each letter, and as each kind of sign, in order."""
    read: dict[str, list[str]] = defaultdict(list)
    signs: dict[str, list[str]] = defaultdict(list)
    for sign in assigned():
        for kind in kinds(sign):
            signs[kind].append(sign)
        if unicodedata.category(sign)[0] in "LMNS" and not is_read_already(sign):
            for reading in readings(sign):
                read[reading].append(sign)
    return {"letters": joined(read), "signs": joined(signs)}


def kinds(sign: str) -> Iterator[str]:
    """Which kinds of signs a character reads as."""
    name, category = unicodedata.name(sign, ""), unicodedata.category(sign)
    like = alike(sign) | {unicodedata.normalize("NFKD", sign)}
    if _BLANK.search(name) and not _SHOWN_BLANK.search(name):
        yield "blank"
    if "<" in like or (category[0] in "PS" and _ANGLE.search(name) and not _SEVERAL.search(name)):
        yield "angle"
    elif category[0] in "PS" and _RELATION.search(name):
        yield "relation"
    elif category[0] in "PS" and _SQUARE.search(name):
        yield "square"
    for kind, plain in _SIGNS.items():
        if like & set(plain) and category[0] != "M" and (kind != "pipe" or category[0] in "PS"):
            yield kind


def joined(found: dict[str, list[str]]) -> dict[str, str]:
    return {key: "".join(found[key]) for key in sorted(found)}


def main() -> None:
    TARGET.write_text(json.dumps(table(), indent=1, ensure_ascii=True) + "\n")


if __name__ == "__main__":
    main()
