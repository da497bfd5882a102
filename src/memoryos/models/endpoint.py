"""Endpoints: servers that speak the OpenAI API, how they are reached, and what their failures become.

A call has one deadline, from the connection to the last byte of the answer, with all its tries.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import finalize

from pydantic import SecretStr

from memoryos.errors import InvalidInput, MissingExtra, ModelError, ModelUnavailable
from memoryos.models import loop
from memoryos.models.flow import Flow
from memoryos.models.shapes import MOST_JSON, parsed
from memoryos.regex import regex

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from memoryos.config import Settings
    from memoryos.models.body import Body

OPENAI_URL = "https://api.openai.com/v1"
DONE = "[DONE]"  # comes last in a stream that its server ended
_FIRST_PAUSE = 0.5  # seconds before the second try; it doubles with each
_LONGEST_PAUSE = 8.0
_SECONDS = regex(r"[0-9]{1,6}(\.[0-9]{1,6})?")
_BUSY = (408, 409, 425, 429)  # HTTP: later it may work
_SERVER_ERRORS = 500
# What servers call an error about one prompt. The status does not tell: a wrong key or model is HTTP 400, too.
_REFUSALS = ("content_filter", "content_policy_violation", "invalid_prompt", "context_length_exceeded")
_QUOTED_CHARS = 300  # of an error: servers may send any number
SECRET_CHARS = 8  # a shorter key is a placeholder for a local server, such as "none"

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a model, with timeouts and retries."""

    what: str  #: the model, as messages call it
    url: str
    key: str = field(repr=False)
    timeout_seconds: float
    retries: int

    def connect(self) -> Connection:
        """Return a connection, which sends nothing yet. Raises MissingExtra without the SDK."""
        return Connection(self)

    def client(self) -> AsyncOpenAI:
        """An SDK client without retries, with a size limit and without redirects to other origins."""
        try:
            from openai import AsyncOpenAI, DefaultAsyncHttpx2Client

            from memoryos.models.body import checked
        except ImportError:
            raise MissingExtra(f"The {self.what}", "llm") from None
        http = DefaultAsyncHttpx2Client(timeout=self.timeout_seconds, event_hooks={"response": [checked(self.what)]})
        # Key and URL are always given: left out, the SDK would read the environment behind our settings.
        return AsyncOpenAI(
            api_key=self.key,
            base_url=self.url,
            timeout=self.timeout_seconds,
            max_retries=0,
            default_headers={"Accept-Encoding": "gzip"},
            http_client=http,
        )

    @asynccontextmanager
    async def deadline(self) -> AsyncIterator[float]:
        """Cancel the block when the call's time is over; yield the deadline by the loop's clock."""
        try:
            async with asyncio.timeout(self.timeout_seconds) as limit:
                yield cast("float", limit.when())
        except TimeoutError:
            problem = f"no whole answer within llm_timeout_seconds ({self.timeout_seconds:g})"
            raise ModelUnavailable(f"the {self.what} failed ({problem}); nothing was stored", was_asked=True) from None

    @contextmanager
    def mapped_errors(self, *, quoting: bool = True) -> Iterator[None]:
        """Raise failures inside the block as ModelError with the key masked; quote the server only if `quoting`."""
        from openai import OpenAIError

        try:
            yield
        except (OpenAIError, ValueError, AttributeError, TypeError, OverflowError, RuntimeError) as error:
            # The SDK does not check what it gets: a body that is not JSON, or of another shape, shows only when used.
            # RuntimeError: the store was closed meanwhile, or an answer is nested too deep.
            problem = _shortened(self._masked(_quoted(error) if quoting else _unquoted(error)))
            message = f"the {self.what} failed ({problem}); nothing was stored"
            if _may_pass(error):
                raise ModelUnavailable(message, _retry_after(error)) from None
            raise ModelError(message, is_of_prompt=_is_refusal(error)) from None

    def bounded(self, sent: bytes, most: int) -> bytes:
        """The JSON that a server sent. Raises ModelError for more than so many bytes, which would be parsed at once."""
        if len(sent) > most:
            raise ModelError(f"the {self.what} sent more than {most:,} bytes of JSON; nothing was stored")
        return sent

    def _masked(self, text: str) -> str:
        # Servers quote a key that they refuse.
        return text.replace(self.key, "***") if len(self.key) >= SECRET_CHARS else text


class Connection:
    """Calls to one endpoint. Threads may share it; each process has connections of its own."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._process = os.getpid()
        self._client = self._connected()
        self._inherited: list[AsyncOpenAI] = []  # of the process before a fork, which closes them

    def ask(self, path: str, body: Mapping[str, Any], *, quoting: bool = True, most: int = MOST_JSON) -> Any:
        """Return the JSON of the answer, of at most so many bytes.

        Raises ModelError, which quotes the server only if `quoting`.
        """
        return loop.result_of(self._asked(path, body, quoting, most))

    def reach(self, *, with_key: bool = True) -> None:
        """Ask the server for its models, and send nothing else. Raises ModelError if it does not answer.

        A server without such a list answers, too, and so does, without a key of our own, one that asks for a key.
        """
        loop.result_of(self._reached(with_key))

    def stream(self, path: str, body: Mapping[str, Any]) -> Flow[Any]:
        """Yield the events of the answer as JSON, and DONE if the server ends with it."""
        flow: Flow[Any] = Flow()
        call = loop.start(self._streamed(flow, path, body))
        call.add_done_callback(lambda done: flow.end(_error_of(done)))
        flow.tells(call.cancel)
        return flow

    def close(self) -> None:
        """Close the connections."""
        _close(self._client, self._process)

    @property
    def is_closed(self) -> bool:
        """Whether the connection was closed."""
        return self._client.is_closed()

    def _own_client(self) -> AsyncOpenAI:
        if self._process != os.getpid():
            self._inherited.append(self._client)
            self._process = os.getpid()
            self._client = self._connected()
        return self._client

    def _connected(self) -> AsyncOpenAI:
        client = self._endpoint.client()
        finalize(self, _close, client, self._process)
        return client

    async def _reached(self, with_key: bool) -> None:
        from httpx2 import Response
        from openai import AuthenticationError, NotFoundError, PermissionDeniedError

        answered = (NotFoundError,) if with_key else (NotFoundError, AuthenticationError, PermissionDeniedError)
        async with self._endpoint.deadline():
            with self._endpoint.mapped_errors(quoting=False), suppress(*answered):
                await self._own_client().get("/models", cast_to=Response)

    async def _asked(self, path: str, body: Mapping[str, Any], quoting: bool, most: int) -> Any:
        from httpx2 import Response

        async def post() -> Any:
            with self._endpoint.mapped_errors(quoting=quoting):
                answer = await self._own_client().post(path, body=body, cast_to=Response)
                return parsed(self._endpoint.bounded(answer.content, most))

        async with self._endpoint.deadline() as ends:
            return await self._tried(post, ends)

    async def _streamed(self, flow: Flow[Any], path: str, body: Mapping[str, Any]) -> None:
        from memoryos.models.server_events import ServerEvents

        async def post() -> ServerEvents:
            with self._endpoint.mapped_errors():
                return await self._own_client().post(
                    path, body=body, cast_to=object, stream=True, stream_cls=ServerEvents
                )

        async with self._endpoint.deadline() as ends:
            events = await self._tried(post, ends)
            with self._endpoint.mapped_errors():
                await events.each(flow.put)
        if cast("Body", events.response.stream).is_done:
            flow.put(DONE)

    async def _tried(self, call: Callable[[], Awaitable[_Result]], ends: float) -> _Result:
        """The result of the call, with retries while failures are temporary and time is left."""
        for tries in range(self._endpoint.retries):
            try:
                return await call()
            except ModelUnavailable as error:
                pause = max(error.retry_after or 0.0, _pause(tries))
                if self.is_closed or asyncio.get_running_loop().time() + pause >= ends:
                    raise
            await asyncio.sleep(pause)
        return await call()


def _close(client: AsyncOpenAI, process: int) -> None:
    if process == os.getpid():
        loop.finish(client.close())


def _pause(tries: int) -> float:
    """Seconds before the next try, with jitter so that failed calls do not return together."""
    return min(_FIRST_PAUSE * 2.0**tries, _LONGEST_PAUSE) * random.uniform(0.75, 1.0)  # noqa: S311 - guards nothing


def _error_of(call: Future[None]) -> BaseException | None:
    return ModelError("the answer was stopped; nothing was stored") if call.cancelled() else call.exception()


def upstream_key(settings: Settings) -> str | None:
    """The key for the server behind the proxy; None: each caller sends its own. Raises InvalidInput."""
    same = (settings.llm_base_url or OPENAI_URL).rstrip("/") == (settings.upstream or "").rstrip("/")
    secret = settings.upstream_api_key or (settings.llm_api_key if same else None)
    return checked_key("upstream_api_key", secret) if secret else None


def checked_key(name: str, secret: SecretStr | None) -> str:
    """The key from the setting `name`; what could not be sent is refused, because the SDK's error would quote it."""
    key = secret.get_secret_value().strip() if secret else "none"
    if not key.isascii() or not key.isprintable():
        raise InvalidInput(name, "contains characters that keys do not have", "Copy it again from your provider")
    return key


def _may_pass(error: Exception) -> bool:
    """Whether a retry may succeed: no connection, one that was closed here, timeout, overload or a server error."""
    from openai import APIConnectionError, APIStatusError

    if isinstance(error, APIStatusError):
        return error.status_code in _BUSY or error.status_code >= _SERVER_ERRORS
    is_closed = isinstance(error, RuntimeError) and "closed" in str(error)
    return is_closed or isinstance(error, APIConnectionError)


def _is_refusal(error: Exception) -> bool:
    """Whether the server says that it refuses this prompt, and not all of them."""
    return getattr(error, "code", None) in _REFUSALS


def _retry_after(error: Exception) -> float | None:
    """The seconds of a Retry-After header; a date is ignored."""
    response = getattr(error, "response", None)
    asked = response.headers.get("retry-after", "") if response is not None else ""
    return float(asked) if _SECONDS.fullmatch(asked) else None


def _quoted(error: Exception) -> str:
    problem = f"{type(error).__name__}: {error}"
    return f"{problem} {_reason(error) or error.__cause__}" if error.__cause__ else problem


def _shortened(problem: str) -> str:
    return problem if len(problem) <= _QUOTED_CHARS else f"{problem[:_QUOTED_CHARS]}..."


def _reason(error: BaseException) -> str:
    """The operating system's message for a failed connection, which asyncio wraps in several errors."""
    reason, below = "", error.__cause__
    while below is not None:
        if isinstance(below, OSError) and below.errno is not None and below.errno > 0:
            reason = os.strerror(below.errno)
        below = below.exceptions[0] if isinstance(below, BaseExceptionGroup) else below.__cause__ or below.__context__
    return reason


def _unquoted(error: Exception) -> str:
    """The error without text from the answer, because servers quote the text that they refuse."""
    from openai import APIStatusError

    named = type(error).__name__
    if isinstance(error, APIStatusError):
        return f"{named}, HTTP {error.status_code}"
    return f"{named}: {reason}" if (reason := _reason(error)) else named
