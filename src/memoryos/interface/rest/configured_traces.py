"""Configured traces: those of a server that the settings and the variables of OpenTelemetry ask for."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from memoryos.config import Settings
from memoryos.errors import InvalidInput, MissingExtra
from memoryos.interface.rest.server_traces import ServerTraces

# Variables of OpenTelemetry, of which the first one that is set counts; what they may say, and what to do.
_VARIABLES: Sequence[tuple[Sequence[str], Callable[[str], bool], str]] = (
    (["OTEL_TRACES_EXPORTER"], lambda value: value == "otlp", "Set it to otlp, or to none"),
    (
        ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"],
        lambda value: value == "http/protobuf",
        "Set it to http/protobuf, and the endpoint to that of OTLP over HTTP, usually port 4318",
    ),
    (
        ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"],
        lambda value: value.startswith(("http://", "https://")),
        "Set it to e.g. http://localhost:4318",
    ),
)


def traces_of(settings: Settings) -> ServerTraces:
    """What the settings ask for. Raises MissingExtra, and InvalidInput for variables of OpenTelemetry."""
    if not settings.traces or _is_switched_off():
        return ServerTraces()
    _check_variables()
    try:
        from memoryos.interface.rest.recorded_traces import RecordedTraces
    except ImportError:
        raise MissingExtra("Traces of the server", "telemetry") from None
    return RecordedTraces.exported()


def _is_switched_off() -> bool:
    """Whether OpenTelemetry is told to send no traces, whatever a program asks for."""
    return os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or os.environ.get("OTEL_TRACES_EXPORTER") == "none"


def _check_variables() -> None:
    """Refuse what would be ignored, and an address to which nothing could be sent. Raises InvalidInput."""
    for names, is_known, fix in _VARIABLES:
        name, value = next(((one, os.environ[one]) for one in names if os.environ.get(one)), ("", ""))
        if name and not is_known(value):
            raise InvalidInput(name, "is not supported by traces of MemoryOS", fix)
