"""Write docs/reference/ from the code: the API, the settings, the commands, the errors, the doors, the tools of MCP.

python tools/build_reference.py            # write
python tools/build_reference.py --check    # exit 1 when a page does not say what the code says
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import memoryos
from memoryos import Settings, errors
from memoryos.exports import MODULES
from memoryos.interface.faults import EXIT_CODES
from memoryos.interface.rest.problems import STATUSES
from reference_commands import commands_page, exit_codes
from reference_doors import doors_page
from reference_mcp import mcp_page
from reference_values import undescribed, value_names, values_page

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
GENERATED = "<!-- Written by tools/build_reference.py from the code: change the code, and run it again. -->"
FUNCTIONS = ("open", "load_settings", "detect")
CLASSES = ("MemoryOS", "Memory", "AsyncMemoryOS", "AsyncMemory", "Memoryos")


def settings_page() -> str:
    """Every setting: its environment variable, type, default and meaning."""
    rows = [
        f"| `{name}` | `MEMORYOS_{name.upper()}` | {_type(field.annotation)} | {_default(field)} | {_meaning(field)} |"
        for name, field in Settings.model_fields.items()
    ]
    head = [
        "# Settings",
        "",
        GENERATED,
        "",
        "Pass them to `load_settings(...)`, or set the environment variable. `load_settings` refuses an unknown name;",
        "of unknown variables that begin with `MEMORYOS_`, a warning is logged once, and `memoryos doctor` names them.",
        "",
        "| setting | environment | type | default | meaning |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*head, *rows, ""])


def api_page() -> str:
    """Every public class with its methods, and every other public name."""
    parts = ["# API", "", GENERATED, "", "[Values](values.md) has the fields of what these return.", ""]
    for name in FUNCTIONS:
        parts += _method("##", f"memoryos.{name}", getattr(memoryos, name))
    for name in CLASSES:
        parts += _class(name, getattr(memoryos, name))
    parts += ["## Other names", "", "| name | what it is |", "|---|---|"]
    for name in sorted(set(memoryos.__all__) - {*CLASSES, *FUNCTIONS, "__version__"}):
        thing = getattr(memoryos, name)
        parts.append(f"| {_linked(name)} | {_first(thing) if inspect.isclass(thing) else alias_meaning(name)} |")
    return "\n".join([*parts, ""])


def _class(name: str, kind: type) -> list[str]:
    parts = [f"## {name}", "", _first(kind), ""]
    for verb, function in _methods(kind):
        parts += _method("###", verb, function)
    for noun, held in _nouns(kind):
        parts += [f"### {name}.{noun}", "", _first(held), ""]
        for verb, function in _methods(held):
            parts += _method("####", f"{noun}.{verb}", function)
    return parts


def _method(level: str, name: str, function: Any) -> list[str]:
    """The signature and the documentation of a method."""
    plain = inspect.unwrap(function)
    shown = [one for one in inspect.signature(plain).parameters.values() if one.name not in ("self", "cls")]
    arguments = ", ".join(_parameters(shown))
    told = inspect.getdoc(plain) or ""
    returned = _returned(inspect.signature(plain).return_annotation)
    return [f"{level} `{name}({arguments})`", "", told, "", *([f"Returns {returned}.", ""] if returned else [])]


def _returned(annotation: Any) -> str:
    """The type of a result, with links to the values in it."""
    text = annotation.replace("memoryos.", "") if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    if text in ("", "None", "_empty", "Self"):
        return ""
    parts = re.split(r"(\w+)", text)
    return "".join(_linked(part) if index % 2 else part.replace("[", "\\[") for index, part in enumerate(parts))


@cache
def _linked(name: str) -> str:
    return f"[{name}](values.md#{name.lower()})" if name in value_names() else f"`{name}`"


def _parameters(shown: list[inspect.Parameter]) -> Iterator[str]:
    is_keyword = False
    for one in shown:
        if one.kind is one.KEYWORD_ONLY and not is_keyword:
            is_keyword = True
            yield "*"
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        default = "" if one.default is one.empty else f"={_value(one.default)}"
        yield f"{stars}{one.name}{default}"


def _methods(kind: type) -> list[tuple[str, Any]]:
    own = {name: value for name, value in inspect.getmembers_static(kind) if not name.startswith("_")}
    found = [(name, getattr(kind, name)) for name, value in own.items() if not isinstance(value, property)]
    return [(name, value) for name, value in found if callable(value) and not inspect.isclass(value)]


def _nouns(kind: type) -> Iterator[tuple[str, type]]:
    for name, value in inspect.getmembers_static(kind, lambda one: isinstance(one, property)):
        held = inspect.get_annotations(value.fget, eval_str=True).get("return") if value.fget else None
        if not name.startswith("_") and inspect.isclass(held) and _is_noun(held):
            yield name, held


def _is_noun(kind: type) -> bool:
    return kind.__module__.startswith(("memoryos.nouns", "memoryos.async_"))


def _first(thing: Any) -> str:
    """The first sentence of what is said of it."""
    told = inspect.getdoc(thing) or ""
    return told.split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def alias_meaning(name: str) -> str:
    """What the comment behind an exported alias says."""
    module = import_module(f"memoryos.{MODULES[name]}")
    found = re.search(rf"^{name} = .*  #: (.+)$", inspect.getsource(module), re.MULTILINE)
    if found is None:
        raise SystemExit(f"{name} has no description: add `#: ...` behind it")
    return f"{found[1][0].upper()}{found[1][1:]}."


def _type(annotation: Any) -> str:
    name = annotation.__name__ if inspect.isclass(annotation) else str(annotation)
    name = re.sub(r"Annotated\[(\w+), FieldInfo\(.*?\)\]\)\]", r"\1", name)  # the meaning tells its bounds
    return name.replace("typing.", "").replace("memoryos.", "").replace("|", "\\|")


def _default(field: Any) -> str:
    return "required" if field.is_required() else f"`{_value(field.get_default(call_default_factory=True))}`"


def _value(value: Any) -> str:
    if inspect.isfunction(value):
        return value.__name__
    return repr(value.value) if isinstance(value, Enum) else repr(value)


def _meaning(field: Any) -> str:
    return (field.description or "").replace("|", "\\|")


_SERVED = (
    "`memoryos serve` adds [errors of its own](../how-to/serve.md#errors). One is about an `Idempotency-Key`: 409 "
    "`StillRunning` while the first request with it runs."
)


def errors_page() -> str:
    """Every error with its base and default message, the exit codes of the command, and the statuses of HTTP."""
    head = [
        "# Errors and exit codes",
        "",
        GENERATED,
        "",
        "Import them from `memoryos.errors`. `MemoryOSError` is the base of all, and `memoryos` exports it.",
        "",
        "| error | is a | default message | exit code | HTTP |",
        "|---|---|---|---|---|",
    ]
    rows = [
        f"| `{kind.__name__}` | {_bases(kind)} | {_first(kind)} | {_code(kind)} | {_status(kind)} |"
        for kind in _errors()
    ]
    codes = [f"| {code} | {meaning} |" for code, meaning in exit_codes()]
    middle = ["", "## Exit codes", "", "The command exits with one of these.", "", "| code | meaning |", "|---|---|"]
    more = ["", _SERVED]
    return "\n".join([*head, *rows, *more, *middle, *codes, ""])


def _errors() -> list[type]:
    return [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, errors.MemoryOSError)]


def _code(kind: type) -> int:
    return next(code for listed, code, _ in EXIT_CODES if issubclass(kind, listed))


def _status(kind: type) -> int:
    return next(status for listed, status in STATUSES if issubclass(kind, listed))


def _bases(kind: type) -> str:
    return ", ".join(f"`{base.__name__}`" for base in kind.__bases__)


def main() -> int:
    """Write the pages, or say which differ, or which fields have no description."""
    if missing := undescribed():
        sys.stderr.write("".join(f"{name} has no description: add `#: ...` behind it\n" for name in missing))
        return 1
    texts = {
        "api": api_page(),
        "values": values_page(GENERATED),
        "settings": settings_page(),
        "commands": commands_page(GENERATED),
        "errors": errors_page(),
        "doors": doors_page(GENERATED),
        "mcp": mcp_page(GENERATED),
    }
    pages = {FOLDER / f"{name}.md": text for name, text in texts.items()}
    if "--check" in sys.argv:
        wrong = [path.name for path, text in pages.items() if not path.exists() or path.read_text("utf-8") != text]
        sys.stderr.write("".join(f"{name} is out of date: run python tools/build_reference.py\n" for name in wrong))
        return 1 if wrong else 0
    FOLDER.mkdir(exist_ok=True)
    for path, text in pages.items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
