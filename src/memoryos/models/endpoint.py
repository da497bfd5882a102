"""Endpoints: servers that speak the OpenAI API, how they are reached, and what their failures become."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import SecretStr

from memoryos.errors import InvalidInput, MissingExtra, ModelError, ModelUnavailable

if TYPE_CHECKING:
    from openai import OpenAI

OPENAI_URL = "https://api.openai.com/v1"
_BUSY = (408, 409, 425, 429)  # HTTP: later it may work
_SERVER_ERRORS = 500
SECRET_CHARS = 8  # a shorter key is a placeholder for a local server, such as "none"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is served, and how patiently it is asked."""

    what: str  #: the model, as messages call it
    url: str
    key: str = field(repr=False)
    timeout_seconds: float
    retries: int

    def connect(self) -> OpenAI:
        """Return a client, which sends nothing yet. Raises MissingExtra without the SDK."""
        try:
            from openai import OpenAI
        except ImportError:
            raise MissingExtra(f"The {self.what}", "llm") from None
        # Key and URL are always given: left out, the SDK would read the environment behind our settings.
        return OpenAI(api_key=self.key, base_url=self.url, timeout=self.timeout_seconds, max_retries=self.retries)

    @contextmanager
    def mapped_errors(self, *, quoting: bool = True) -> Iterator[None]:
        """Raise what fails inside as ModelError, the key masked; the server's own words only when `quoting`."""
        from openai import OpenAIError

        try:
            yield
        except (OpenAIError, ValueError, AttributeError, TypeError, OverflowError) as error:
            # The SDK does not check what it gets: a body that is no JSON, or of another shape, shows only when used.
            problem = self._masked(_quoted(error) if quoting else _unquoted(error))
            message = f"the {self.what} failed ({problem}); nothing was stored"
            if _may_pass(error):
                raise ModelUnavailable(message, _retry_after(error)) from None
            raise ModelError(message) from None

    def _masked(self, text: str) -> str:
        # Servers quote a key that they refuse.
        return text.replace(self.key, "***") if len(self.key) >= SECRET_CHARS else text


def checked_key(name: str, secret: SecretStr | None) -> str:
    """The key from the setting `name`; what could not be sent is refused, because the SDK's error would quote it."""
    key = secret.get_secret_value().strip() if secret else "none"
    if not key.isascii() or not key.isprintable():
        raise InvalidInput(name, "holds characters that no key has", "Copy it again from your provider")
    return key


def _may_pass(error: Exception) -> bool:
    """Whether the same call may succeed later: no connection, no answer in time, too busy, out of order."""
    from openai import APIConnectionError, APIStatusError

    if isinstance(error, APIStatusError):
        return error.status_code in _BUSY or error.status_code >= _SERVER_ERRORS
    return isinstance(error, APIConnectionError)


def _retry_after(error: Exception) -> float | None:
    """The seconds that a busy server asked for; a date in their place is left to our own patience."""
    response = getattr(error, "response", None)
    asked = response.headers.get("retry-after", "") if response is not None else ""
    return float(asked) if asked.isascii() and asked.isdigit() else None


def _quoted(error: Exception) -> str:
    problem = f"{type(error).__name__}: {error}"
    return f"{problem} {error.__cause__}" if error.__cause__ else problem


def _unquoted(error: Exception) -> str:
    """What failed without a word of the answer: servers quote the text that they refuse."""
    from openai import APIConnectionError, APIStatusError

    if isinstance(error, APIConnectionError):
        return _quoted(error)  # there was no answer
    status = f", HTTP {error.status_code}" if isinstance(error, APIStatusError) else ""
    return type(error).__name__ + status
