"""Pipeline file: a pipeline as YAML or JSON. No file runs code: it has names, numbers, texts and lists."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import partial
from pathlib import Path
from typing import Any

from memoryos.errors import InvalidInput, NotFound
from memoryos.operation.pipelines.pipeline import Pipeline, PipelineParameter
from memoryos.operation.pipelines.pipeline_steps import STEPS, PipelineStep
from memoryos.operation.pipelines.step_field import names_told
from memoryos.operation.pipelines.yaml_document import yaml_document
from memoryos.text import nearest, shown

FILE_BYTES = 100_000
SUFFIXES = (".yaml", ".yml", ".json")
TEMPLATES = Path(__file__).parent / "templates"  # those that we ship

_KEYS = ("name", "version", "description", "parameters", "steps")


def read_pipeline(path: Path) -> Pipeline:
    """The pipeline in a file. Raises NotFound, and InvalidInput, which names the file, the step and the field.

    Raises MissingExtra for a YAML file without the extra `yaml`.
    """
    try:
        if path.stat().st_size > FILE_BYTES:
            raise InvalidInput(path.name, f"has more than {FILE_BYTES:,} bytes", "Shorten it")
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput(path.name, "is not UTF-8", "Save it as UTF-8") from None
    except OSError as error:
        raise NotFound(f"the pipeline file {path} cannot be read: {error.strerror}") from None
    try:
        return _named(path, pipeline_of(_parsed(path, text)))
    except InvalidInput as error:
        where = error.field if error.field == path.name else f"{path.name}: {error.field}"
        raise InvalidInput(where, error.problem, error.fix) from None


def _named(path: Path, found: Pipeline) -> Pipeline:
    """The pipeline, if it has the name of its file, by which it is run."""
    if found.name != path.stem:
        raise InvalidInput("name", f"is {found.name!r}, and the file is {path.name}", "Give both the same name")
    return found


def pipeline_of(document: Any) -> Pipeline:
    """The pipeline in a document. Raises InvalidInput, which names the step and the field."""
    if not isinstance(document, Mapping):
        raise InvalidInput("pipeline", "is no mapping", f"Write the keys {names_told(_KEYS)}")
    _check_keys("pipeline", document, _KEYS)
    for key in ("name", "steps"):
        if key not in document:
            raise InvalidInput(key, "is missing", f"Write it; the keys are {names_told(_KEYS)}")
    steps = document["steps"]
    if not isinstance(steps, list):
        raise InvalidInput("steps", "are no list", "Write e.g. - retrieve: {}")
    made = [_step(number, one) for number, one in enumerate(steps, 1)]
    parameters = _parameters(document.get("parameters") or {})
    about = {key: document[key] for key in ("version", "description") if key in document}
    return Pipeline(document["name"], made, parameters=parameters, **about)


def named_pipeline(name: str, own: Path | None) -> Pipeline:
    """The pipeline of that name: that of a folder, or ours. Raises NotFound, and like `read_pipeline`."""
    files = named_files(own)
    if name not in files:
        hint = " or ".join(nearest(name, tuple(files)))
        told = f": did you mean {hint}?" if hint else f"; there are {', '.join(sorted(files))}"
        raise NotFound(f"there is no pipeline {shown(name)}{told}")
    return read_pipeline(files[name])


def named_files(own: Path | None) -> Mapping[str, Path]:
    """The files of the pipelines that have a name, by it: ours, and those of a folder. Raises NotFound."""
    return {path.stem: path for folder in (TEMPLATES, own) if folder for path in pipeline_files(folder)}


def pipeline_files(folder: Path) -> Iterator[Path]:
    """The files with pipelines in a folder, by name. Raises NotFound."""
    if not folder.is_dir():
        raise NotFound(f"the folder of pipelines {folder} does not exist")
    return iter(sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES and path.is_file()))


def _parsed(path: Path, text: str) -> Any:
    if path.suffix != ".json":
        return yaml_document(path.name, text)
    try:
        return json.loads(text, object_pairs_hook=partial(_mapping, path.name))
    except InvalidInput:
        raise
    except (ValueError, RecursionError):
        raise InvalidInput(path.name, "is not JSON", "Correct it") from None


def _mapping(name: str, pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        [(key, _), *_] = Counter(key for key, _ in pairs).most_common(1)
        raise InvalidInput(name, f"has the key {shown(key)} twice", "Keep one of them")
    return found


def _step(number: int, given: Any) -> PipelineStep:
    if not isinstance(given, Mapping) or len(given) != 1:
        raise InvalidInput(f"step {number}", "is no step with its fields", "Write e.g. - retrieve: {most: 5}")
    [(verb, told)] = given.items()
    if verb not in STEPS:
        hint = " or ".join(nearest(str(verb), tuple(STEPS))) or names_told(tuple(STEPS))
        raise InvalidInput(f"step {number}", f"{shown(verb)} is no step", f"Use {hint}")
    named = f"step {number} ({verb})"
    if told is not None and not isinstance(told, Mapping):
        raise InvalidInput(named, "has no fields but a value", f"Write e.g. - {verb}: {{}}")
    kind = STEPS[verb]
    _check_keys(named, told or {}, tuple(one.name for one in fields(kind)))
    for one in fields(kind):
        if one.default is MISSING and one.name not in (told or {}):
            raise InvalidInput(f"{named}.{one.name}", "is missing", "Write it")
    try:
        return kind(**(told or {}))
    except InvalidInput as error:
        raise InvalidInput(f"{named}.{error.field}", error.problem, error.fix) from None


def _parameters(given: Any) -> dict[str, PipelineParameter | str]:
    if not isinstance(given, Mapping):
        raise InvalidInput("parameters", "are no mapping", "Write e.g. query: {type: text}")
    found: dict[str, PipelineParameter | str] = {}
    for name, one in given.items():
        if not isinstance(one, Mapping):
            found[name] = one
            continue
        field = f"parameters.{name}"
        _check_keys(field, one, ("type", "default", "description"))
        try:
            found[name] = PipelineParameter(**{"type": "", **one})
        except InvalidInput as error:
            raise InvalidInput(f"{field}.{error.field}", error.problem, error.fix) from None
    return found


def _check_keys(named: str, given: Mapping[Any, Any], known: tuple[str, ...]) -> None:
    for key in given:
        if key not in known:
            hint = " or ".join(nearest(str(key), known))
            fix = f"Did you mean {hint}?" if hint else f"It has {names_told(known)}"
            raise InvalidInput(f"{named}.{key}", "is unknown", fix)
