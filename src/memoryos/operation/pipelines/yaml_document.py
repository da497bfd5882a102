"""YAML document: a value of texts, numbers and lists from YAML, without what else YAML can do.

An alias can stand for a document of any size, a tag makes other values than are written, and PyYAML takes a time that
grows with the square of the depth of nested lists. So all three are refused where they begin.
"""

from __future__ import annotations

from typing import Any

from memoryos.errors import InvalidInput, MissingExtra

MOST_DEPTH = 20  # of lists and mappings in each other


def yaml_document(name: str, text: str) -> Any:
    """The value in the YAML file of that name. Raises InvalidInput, and MissingExtra without PyYAML."""
    try:
        import yaml
    except ImportError:
        raise MissingExtra(f"The pipeline file {name}", "yaml", without="a .json file") from None
    try:
        _check_events(name, yaml, text)
        _check_keys(name, yaml.compose(text, yaml.SafeLoader))
        return yaml.safe_load(text)
    except InvalidInput:
        raise
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}" if mark else "it"
        raise InvalidInput(name, "is not YAML of texts, numbers and lists", f"Correct {line}") from None


def _check_events(name: str, yaml: Any, text: str) -> None:
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        line = f"line {event.start_mark.line + 1}"
        if isinstance(event, yaml.AliasEvent):
            raise InvalidInput(name, "has an alias (*name)", f"Write the value where it is used: {line}")
        if getattr(event, "tag", None) not in (None, "!"):  # "!" is what a text in quotes has in some versions
            raise InvalidInput(name, "is not YAML of texts, numbers and lists", f"Correct {line}: it has a tag (!)")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_DEPTH:
            raise InvalidInput(name, f"has more than {MOST_DEPTH} lists in each other", f"Correct {line}")


def _check_keys(name: str, node: Any) -> None:
    """Raise InvalidInput for a key that stands twice in one mapping: the last would win without a word."""
    if node is None or isinstance(node.value, str):
        return
    seen: set[str] = set()
    for part in node.value:
        key, value = part if isinstance(part, tuple) else (None, part)
        if key is not None and isinstance(key.value, str):
            if key.value in seen:
                fix = f"Correct line {key.start_mark.line + 1}"
                raise InvalidInput(name, f"has the key {key.value[:80]!r} twice", fix)
            seen.add(key.value)
        _check_keys(name, value)
