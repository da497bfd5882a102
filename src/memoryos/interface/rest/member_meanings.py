"""Member meanings: what the comments behind the members of a class say. /openapi.json and docs/reference tell them.

A comment stands on the line of its member, or on the last line of one that takes several. They are read when they are
asked for, from the text of the module: to parse it takes twenty times as long.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

from memoryos.regex import regex

_CLASS = regex(r"class (\w{1,100})")
_MEMBER = regex(r" {4}(\w{1,100})(?::| =) ")
_COMMENT = regex(r"  #:? (.{1,200})$")
_INDENT = 4  # of a member


def comments(*kinds: type) -> dict[str, str]:
    """What the comments behind the members of classes say, by name: of a later class in the place of an earlier."""
    ours = [kind for kind in kinds if kind.__module__.startswith("memoryos")]
    return {name: said for kind in ours for name, said in _by_class(kind.__module__).get(kind.__name__, {}).items()}


def first_paragraph(thing: object) -> str:
    """The first paragraph of what is said of a class or a function."""
    return (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")


def sentence(words: str) -> str:
    """What a comment says, as a sentence."""
    return words and f"{words[0].upper()}{words[1:].removesuffix('.')}."


def with_meanings(schema: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, Any]:
    """The schema of an object whose members say what they mean, as far as it is known."""
    members = schema.get("properties", {})
    told = {name: {**one, **({"description": known[name]} if known.get(name) else {})} for name, one in members.items()}
    return {**schema, "properties": told}


@cache
def _by_class(module: str) -> Mapping[str, Mapping[str, str]]:
    """The comments of a module, by class and member; none if it has no text, as where only bytecode is installed."""
    found: dict[str, dict[str, str]] = {}
    members: dict[str, str] = {}
    name = ""
    for line in _text(module).splitlines():
        if line[:1].strip():  # outside a class, names with a comment are of no member
            begun = _CLASS.match(line)
            members = found.setdefault(begun[1], {}) if begun else {}
        elif line[:_INDENT].strip() == "" and line[_INDENT : _INDENT + 1].strip():
            name = _name_at(line, name)
            if name and (said := _COMMENT.search(line)):
                members[name] = said[1]
    return found


def _name_at(line: str, before: str) -> str:
    """The name of the member that is on a line or ends there; empty: none."""
    if line[_INDENT] in ")]}":
        return before
    member = _MEMBER.match(line)
    return member[1] if member else ""


def _text(module: str) -> str:
    try:
        return inspect.getsource(sys.modules[module])
    except (OSError, TypeError):
        return ""
