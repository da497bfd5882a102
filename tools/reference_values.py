"""The reference of values: the fields, properties and methods of each public value, and of what its fields hold."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, get_args, get_type_hints, is_typeddict

import memoryos
from memoryos.interface.rest.member_meanings import comments, first_paragraph
from memoryos.listing import Listing


def values_page(generated: str) -> str:
    """Every public value, enum and group of arguments."""
    kinds = [getattr(memoryos, name) for name in sorted(memoryos.__all__)]
    classes = [kind for kind in kinds if inspect.isclass(kind)]
    head = [
        "# Values",
        "",
        generated,
        "",
        "What the methods of the [API](api.md) return and take. Values are frozen. Those with `to_dict()` and",
        "`to_json()` convert to JSON data: times in ISO 8601, enums as their values. A search returns",
        "[Recall](#recall), which holds [Hit](#hit) and [TurnHit](#turnhit).",
        "",
    ]
    parts = [*head, *_section("Results and arguments", [*filter(_is_value, classes), Listing])]
    parts += _section("Parts of values", _held(filter(_is_value, classes)))
    parts += [*_heading("Enums"), *(line for kind in classes if issubclass(kind, Enum) for line in _enum(kind))]
    groups = [kind for kind in classes if is_typeddict(kind)]
    parts += [*_heading("Keyword arguments that methods share"), *(line for kind in groups for line in _group(kind))]
    return "\n".join(parts)


def value_names() -> set[str]:
    """The names that have a heading on the page."""
    kinds = [kind for name in memoryos.__all__ if inspect.isclass(kind := getattr(memoryos, name))]
    values = [kind for kind in kinds if _is_value(kind)]
    others = [kind for kind in kinds if kind is Listing or issubclass(kind, Enum) or is_typeddict(kind)]
    return {kind.__name__ for kind in (*values, *others, *_held(values))}


def undescribed() -> list[str]:
    """The public fields without a description."""
    kinds = [kind for name in memoryos.__all__ if inspect.isclass(kind := getattr(memoryos, name))]
    values = [kind for kind in kinds if _is_value(kind)]
    rows = [(kind, row) for kind in (*values, *_held(values)) for row in _fields(kind)]
    rows += [(kind, row) for kind in kinds if is_typeddict(kind) for row in _fields(kind)]
    return [f"{kind.__name__}.{name}" for kind, (name, _, meaning) in rows if not meaning]


def _is_value(kind: type) -> bool:
    return is_dataclass(kind) and not issubclass(kind, Enum)


def _heading(title: str) -> list[str]:
    return [f"## {title}", ""]


def _section(title: str, kinds: list[type]) -> list[str]:
    return [*_heading(title), *(line for kind in sorted(kinds, key=lambda one: one.__name__) for line in _value(kind))]


def _held(kinds: Any) -> list[type]:
    """The values in the fields of these, and in theirs, that are not public names themselves."""
    found: dict[type, None] = {}
    waiting = list(kinds)
    while waiting:
        for held in _classes_in(waiting.pop()):
            if held not in found and held.__name__ not in memoryos.__all__:
                found[held] = None
                waiting.append(held)
    return list(found)


def _classes_in(kind: type) -> Iterator[type]:
    waiting = list(get_type_hints(kind).values())
    while waiting:
        one = waiting.pop()
        waiting += get_args(one)
        if inspect.isclass(one) and one.__module__.startswith("memoryos") and is_dataclass(one):
            yield one


def _value(kind: type) -> Iterator[str]:
    rows = [*_fields(kind), *_properties(kind)]
    yield from (f"### {kind.__name__}", "", first_paragraph(kind), "")
    yield from _table("attribute", rows)
    methods = [f"- `{name}{_arguments(function)}`: {first_paragraph(function)}" for name, function in _methods(kind)]
    yield from ([*methods, ""] if methods else ())


def _table(first: str, rows: list[tuple[str, str, str]]) -> Iterator[str]:
    yield from (f"| {first} | type | meaning |", "|---|---|---|")
    for name, kind, meaning in rows:
        yield f"| `{name}` | {f'`{_cell(kind)}`' if kind else ''} | {_cell(meaning)} |"
    yield ""


def _fields(kind: type) -> list[tuple[str, str, str]]:
    known = comments(*_bases(kind))
    names = [one.name for one in fields(kind)] if is_dataclass(kind) else list(kind.__annotations__)
    shown = [name for name in names if not name.startswith("_")]
    return [(name, _type(_annotations(kind)[name]), known.get(name, "")) for name in shown]


def _annotations(kind: type) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in reversed([kind] if is_typeddict(kind) else kind.__mro__):
        found |= inspect.get_annotations(one)
    return found


def _properties(kind: type) -> list[tuple[str, str, str]]:
    found = inspect.getmembers_static(kind, lambda one: isinstance(one, property))
    getters = [(name, held.fget) for name, held in found if not name.startswith("_")]
    return [(name, _type(get.__annotations__["return"]), first_paragraph(get)) for name, get in getters]


def _methods(kind: type) -> list[tuple[str, Any]]:
    found = inspect.getmembers_static(kind, inspect.isfunction)
    return [(name, one) for name, one in found if not name.startswith("_") and not hasattr(list, name)]


def _arguments(function: Any) -> str:
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    return f"({', '.join(names)})"


def _enum(kind: type[Enum]) -> Iterator[str]:
    known = comments(*_bases(kind))
    yield from (f"### {kind.__name__}", "", first_paragraph(kind), "", "| value | meaning |", "|---|---|")
    for one in kind:
        yield f"| `{one.value}` | {_cell(known.get(one.name, ''))} |"
    yield ""


def _group(kind: type) -> Iterator[str]:
    yield from (f"### {kind.__name__}", "", first_paragraph(kind), "")
    yield from _table("argument", _fields(kind))


def _bases(kind: type) -> Sequence[type]:
    """What the class inherits from, which a TypedDict does not tell, and the class."""
    if not is_typeddict(kind):
        return kind.__mro__[::-1]
    groups = [group for name in memoryos.__all__ if is_typeddict(group := getattr(memoryos, name))]
    return [*(group for group in groups if group.__annotations__.keys() < kind.__annotations__.keys()), kind]


def _type(annotation: Any) -> str:
    """An annotation as it is written, without what checks it."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__forward_arg__", None)
    text = text or (annotation.__name__ if inspect.isclass(annotation) else str(annotation))
    text = re.sub(r"Annotated\[(\w+), Field\(.*\)\]", r"\1", text)
    return text.replace("AwareDatetime", "datetime").replace("FiniteFloat", "float")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
