"""Tool schema: the arguments that a model passes to a tool: their check, and their JSON Schema."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from memoryos.errors import InvalidInput
from memoryos.refusal import Refusal


class ToolArguments(BaseModel):
    """The arguments of a tool. Unknown ones are refused."""

    model_config = ConfigDict(extra="forbid")

    @classmethod
    def read(cls, arguments: dict[str, Any]) -> Self:
        """Check what a client sent. Raises InvalidInput, which names the argument and not its value."""
        try:
            return cls.model_validate(arguments)
        except ValidationError as error:
            refusal = Refusal.of(error, cls.model_fields)
            fix = refusal.fix or f"This tool takes: {', '.join(cls.model_fields) or 'no arguments'}"
            raise InvalidInput(refusal.place or "arguments", refusal.problem, fix) from None

    def given(self) -> dict[str, Any]:
        """Those that were passed, by name."""
        return self.model_dump(exclude_unset=True, exclude_none=True)


def schema_of(kind: type[ToolArguments]) -> dict[str, Any]:
    """The JSON Schema of the arguments, in the plain form that all clients read: an optional one may be left out."""
    made = kind.model_json_schema()
    fields = {name: _plainly(one) for name, one in made.get("properties", {}).items()}
    needed = {"required": made["required"]} if "required" in made else {}
    return {"type": "object", "properties": fields, **needed, "additionalProperties": False}


def _plainly(field: dict[str, Any]) -> dict[str, Any]:
    kinds = [one for one in field.get("anyOf", ()) if one != {"type": "null"}]
    told = {name: value for name, value in field.items() if name not in ("anyOf", "title")}
    told |= kinds[0] if kinds else {}
    return told if told.get("default") is not None else {name: one for name, one in told.items() if name != "default"}
